"""Random walls across random ways of six robots: arms, and robots with loops and feet."""

from typing import Any

import numpy as np
import tomli_w

from ukctrl import Robot, Scenario
from ukctrl.mechanics.constraints.constraint import FrameProbe
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.assemble import Loop

PERIOD = 4e-3
POLE = 10.0  # 1/s, of the walls' barriers
LEVEL = {"kind": "constant", "rpy": [0.0, 0.0, 0.0]}
START = {
    "scara": [0.5, -0.9, 0.4, 0.0],
    "ur5": [0.2, -1.2, 1.5, -0.4, 0.8, 0.3],
    "panda": [0.1, -0.4, 0.2, -2.0, 0.3, 1.8, 0.5],
}
RADIUS = {"two_pandas": 0.15, "a1": 0.06, "coordinated_arms": 0.12}
BEGIN = {"two_pandas": [0.45, 0.0, 0.5], "a1": [0.0, 0.0, 0.26], "coordinated_arms": [0.0, 0.0]}
FRAME = {"two_pandas": "bar", "a1": "trunk", **dict.fromkeys(START, "tool")}
ROBOTS = (*START, *RADIUS)
BAR = {"x": "l1*cos(theta1) + l2*cos(theta2) + l3/2*cos(theta3) - 1.5*l3",
       "y": "l1*sin(theta1) + l2*sin(theta2) + l3/2*sin(theta3)"}  # fmt: skip
ARMS = {"theta1": "60*deg", "theta2": "-60*deg", "theta3": 0.0, "theta4": "60*deg",
        "theta5": "-60*deg"}  # fmt: skip


def place_of_tool(robot: Robot, q: list[float]) -> np.ndarray:
    probe = FrameProbe(robot, "tool")
    probe.move(robot.snapshot(np.array(q), np.zeros(robot.nv)))
    return probe.p.copy()


def _way(robot: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[Any], Any]:
    """Return where a way begins and ends [m], the rows that lead along it, and how it starts."""
    if robot in START:
        model = Robot.load(robot)
        q = np.array(START[robot]) + 0.2 * rng.standard_normal(model.nq)
        goal = q + rng.uniform(-1.0, 1.0, model.nq)
        path = {"kind": "constant", "value": goal.tolist()}
        rows = [{"kind": "joint_follows", "joints": list(model.dofs), "path": path}]
        return (place_of_tool(model, q), place_of_tool(model, goal), rows,
                {"q": q.tolist(), "v": [0.0] * model.nv})  # fmt: skip
    begin = np.array(BEGIN[robot])
    way = rng.standard_normal(len(begin))
    way *= RADIUS[robot] * rng.uniform(0.5, 1.0) / np.linalg.norm(way)
    points = [begin.tolist(), (begin + way).tolist()]
    path = {"kind": "rest_to_rest", "points": points, "duration": 0.6}
    if robot == "coordinated_arms":
        level = {"kind": "expression", "name": "level", "phi": "theta3", "unit": "rad"}
        place = {"kind": "expression", "name": "place", "phi": list(BAR.values()), "path": path,
                 "unit": "m"}  # fmt: skip
        return begin, begin + way, [place, level], {"q": ARMS}
    pose = {"kind": "pose_follows", "frame": FRAME[robot], "path": path, "orientation": LEVEL}
    return begin, begin + way, [pose], {"solve": True}


def _wall(robot: str, point: np.ndarray, normal: np.ndarray) -> dict[str, Any]:
    if robot == "coordinated_arms":
        n, c = normal.tolist(), float(normal @ point)
        text = f"{n[0]!r}*({BAR['x']}) + {n[1]!r}*({BAR['y']}) - ({c!r})"
        return {"kind": "expression", "name": "wall", "h": text, "unit": "m"}
    place = {"point": point.tolist(), "normal": normal.tolist()}
    return {"kind": "half_space", "name": "wall", "frame": FRAME[robot], **place}


def through_a_wall(
    robot: str, seed: int, margin: float = 0.0, /, **more: Any
) -> tuple[Scenario, float]:
    """Return a scenario that leads a robot through a wall half way, and the length of its way [m].

    Args:
        robot: One of the six.
        seed: Of the way and of the slant of the wall.
        margin: To keep from the wall [m].
        more: Of the scenario's file.
    """
    rng = np.random.default_rng(seed)
    begin, end, servo, start = _way(robot, rng)
    way = end - begin
    slant = rng.standard_normal(len(begin))
    normal = -way / np.linalg.norm(way) + 0.3 * slant / np.linalg.norm(slant)
    normal /= np.linalg.norm(normal)
    wall = _wall(robot, begin + 0.5 * way, normal) | {"margin": margin, "decay": 1.0 / POLE}
    gains = {"alpha": 8.0, "beta": 16.0} if robot in START else {"alpha": 12.0, "beta": 36.0}
    table = {
        "title": "through a wall", "robot": robot, "servo": servo, "start": start, "keep": [wall],
        "controller": {"kind": "servo", "feedback": {"kind": "baumgarte", **gains}},
        "timing": {"duration": 1.0, "sample": PERIOD / 10, "control": PERIOD},
        "integrator": {"method": "RK4", "step": PERIOD / 10},
        **more,
    }  # fmt: skip
    return Scenario.from_toml(tomli_w.dumps(table)), float(np.linalg.norm(way))


def lowest(kept: Scenario, run: Any, every: int = 10) -> float:
    """Return the least of what one scenario keeps, in the run of another."""
    loop = Loop(kept)
    keeper, snapshot = loop.law.keeper, loop.plant.snapshot
    stack = keeper.stack_on(loop.robot)
    states = zip(run["q"][::every], run["v"][::every], run.time[::every], strict=True)
    found = []
    for q, v, t in states:
        snapshot.move(q, v, float(t))
        found.append(float(keeper.margins_at(stack.write(snapshot))[0].min()))
    return min(found)


def what_errors_cost(kept: Scenario, run: Any, std: float = 0.0, v_std: float = 0.0) -> float:
    r"""Return the margin that theory asks for: $\delta / p^2$ of the model's acceleration of the
    row, and what noise of the coordinates and velocities shifts of $h$ and of $\dot h / p$, twice.
    """
    loop = Loop(kept)
    true, believed = Dynamics(loop.robot), Dynamics(loop.law.task.robot)
    stack, delta, length = loop.law.keeper.stack_on(loop.robot), 0.0, 0.0
    samples = zip(*(run[name][::10] for name in ("q", "v", "u")), strict=True)
    for q, v, u in samples:
        true.move(0.0, q, v)
        believed.move(0.0, q, v)
        A = stack.write(true.snapshot).A[0]
        delta = max(delta, abs(A @ (true.acceleration(u) - believed.acceleration(u))))
        length = max(length, float(np.linalg.norm(A)))
    return float(delta / POLE**2 + length * (std + 2.0 * v_std / POLE))
