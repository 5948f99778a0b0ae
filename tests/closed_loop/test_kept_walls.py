"""Random walls across random ways, of robots with loops and feet, sampled at a tenth of a tick."""

import dataclasses as dc

import numpy as np
import pytest
import tomli_w

from ukctrl import Scenario, simulate
from ukctrl.simulation.loop import Loop

PERIOD = 4e-3
TOLERANCE = 2e-6  # m: the prediction of a tick misses terms of order T^4
LEVEL = {"kind": "constant", "rpy": [0.0, 0.0, 0.0]}
RADIUS = {"two_pandas": 0.15, "a1": 0.06, "coordinated_arms": 0.12}
BEGIN = {"two_pandas": [0.45, 0.0, 0.5], "a1": [0.0, 0.0, 0.26], "coordinated_arms": [0.0, 0.0]}
FRAME = {"two_pandas": "bar", "a1": "trunk"}
BAR = {"x": "l1*cos(theta1) + l2*cos(theta2) + l3/2*cos(theta3) - 1.5*l3",
       "y": "l1*sin(theta1) + l2*sin(theta2) + l3/2*sin(theta3)"}  # fmt: skip
ARMS = {"theta1": "60*deg", "theta2": "-60*deg", "theta3": 0.0, "theta4": "60*deg",
        "theta5": "-60*deg"}  # fmt: skip


def led(robot, begin, end):
    """Return rows that lead a bar or a trunk from place to place, and how it starts there."""
    points = [begin.tolist(), end.tolist()]
    path = {"kind": "rest_to_rest", "points": points, "duration": 0.6}
    if robot == "coordinated_arms":
        level = {"kind": "expression", "name": "level", "phi": "theta3", "unit": "rad"}
        place = {"kind": "expression", "name": "place", "phi": list(BAR.values()), "path": path,
                 "unit": "m"}  # fmt: skip
        return [place, level], {"q": ARMS}
    pose = {"kind": "pose_follows", "frame": FRAME[robot], "path": path, "orientation": LEVEL}
    return [pose], {"solve": True}


def wall(robot, point, normal):
    if robot == "coordinated_arms":
        n, c = normal.tolist(), float(normal @ point)
        text = f"{n[0]!r}*({BAR['x']}) + {n[1]!r}*({BAR['y']}) - ({c!r})"
        return {"kind": "expression", "name": "wall", "h": text, "unit": "m"}
    place = {"point": point.tolist(), "normal": normal.tolist()}
    return {"kind": "half_space", "name": "wall", "frame": FRAME[robot], **place}


@pytest.mark.parametrize("robot", RADIUS)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 40))]
)
def test_what_is_led_through_a_wall_stays_before_it(robot, seed):
    rng, begin = np.random.default_rng(seed), np.array(BEGIN[robot])
    way = rng.standard_normal(len(begin))
    way *= RADIUS[robot] * rng.uniform(0.5, 1.0) / np.linalg.norm(way)
    slant = rng.standard_normal(len(begin))
    normal = -way / np.linalg.norm(way) + 0.3 * slant / np.linalg.norm(slant)
    normal /= np.linalg.norm(normal)
    servo, start = led(robot, begin, begin + way)
    kept = Scenario.from_toml(tomli_w.dumps({
        "title": "through a wall", "robot": robot, "servo": servo, "start": start,
        "keep": [wall(robot, begin + 0.5 * way, normal)],
        "controller": {"kind": "servo",
                       "feedback": {"kind": "baumgarte", "alpha": 12.0, "beta": 36.0}},
        "timing": {"duration": 0.8, "sample": PERIOD / 10, "control": PERIOD},
        "integrator": {"method": "RK4", "step": PERIOD / 10},
        "monitor": {"frames": [FRAME[robot]] if robot in FRAME else []},
    }))  # fmt: skip
    run = simulate(kept)
    assert run.status == "completed", run.message
    assert not run["keep_missed"].any()
    assert -TOLERANCE < run["keep"].min() < 0.05 * np.linalg.norm(way)  # it does go there
    free = simulate(dc.replace(kept, keep=()))
    loop = Loop(kept)
    keeper, snapshot = loop.law.keeper, loop.truth.snapshot
    snapshot.move(free["q"][-1], free["v"][-1], float(free.time[-1]))
    beyond, _ = keeper.state_of(keeper.stack_on(loop.robot).write(snapshot))
    assert beyond[0] < -0.2 * np.linalg.norm(way)  # without it, through
