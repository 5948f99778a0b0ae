"""Random walls across random ways of six robots, sampled at a tenth of a tick."""

import dataclasses as dc

import pytest

from tests.shared.random_walls import ROBOTS, lowest, through_a_wall, what_errors_cost
from ukctrl import simulate

TOLERANCE = 2e-6  # m: the prediction of a tick misses terms of order T^4
STD, V_STD, SURE = 1e-5, 1e-3, 5.0  # rad, rad/s; a sample is beyond 5 deviations once in a million
LOOPS = ("two_pandas", "a1", "coordinated_arms")


def seeds(fast, arms, loops):
    """Return robots with their seeds; those after the first few are slow."""
    return [
        pytest.param(robot, seed, marks=() if seed < fast.get(robot, 0) else pytest.mark.slow)
        for robot in ROBOTS
        for seed in range(loops if robot in LOOPS else arms)
    ]


@pytest.mark.slow(only=["two_pandas-0", "a1-0"])
@pytest.mark.parametrize(("robot", "seed"), seeds(dict.fromkeys(ROBOTS, 1), 12, 40))
def test_what_is_led_through_a_wall_stays_before_it(robot, seed):
    kept, way = through_a_wall(robot, seed)
    run = simulate(kept)
    assert run.status == "completed", run.message
    assert not run["keep_missed"].any()
    assert -TOLERANCE < run["keep"].min() < 0.05 * way  # it does go there
    assert lowest(kept, simulate(dc.replace(kept, keep=()))) < -0.05 * way  # without it, through


@pytest.mark.slow(only=["scara-0-0.9"])
@pytest.mark.parametrize("scale", [0.9, 1.1])
@pytest.mark.parametrize(("robot", "seed"), seeds({"scara": 1, "ur5": 1}, 12, 6))
def test_wrong_masses_and_noise_cost_no_more_than_their_bound_and_a_margin_of_it_nothing(
    robot, seed, scale
):
    noise = [{"kind": "noise", "std": STD, "v_std": V_STD}]
    believed = {"mass_scale": scale}
    if robot == "coordinated_arms":  # of formulas
        believed = {"parameters": {f"{of}{k}": scale for of in "mI" for k in range(1, 6)}}
    errors = {"believed": believed, "effect": noise, "seed": seed}
    kept, _ = through_a_wall(robot, seed, **errors)
    run = simulate(kept)
    assert run.status == "completed", run.message
    assert not run["keep_missed"].any()
    bound = what_errors_cost(kept, run, SURE * STD, SURE * V_STD)
    assert 0.0 < bound < 0.1
    assert run["keep"].min() > -bound
    assert simulate(through_a_wall(robot, seed, bound, **errors)[0])["keep"].min() > 0.0
    free = simulate(dc.replace(kept, keep=()))
    assert lowest(kept, free) < run["keep"].min() - 0.004  # the wall is in its way
