"""A loop that runs again gives what a new one gives, to the last bit."""

from __future__ import annotations

import pytest

from ukctrl import Scenario
from ukctrl.core.files import catalog
from ukctrl.robot import Robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.step.simulation_run import SimulationRun

SHORT = 0.02
"""Of a whole run this share is tried."""
SLOW = pytest.mark.slow
MISMATCH = {"kind": "mismatch", "name": "off", "mass": 0.1, "com": 0.01}


def ready(scenario, robot):
    loop = Loop(scenario, robot)
    run = SimulationRun(loop, Recorder(loop))
    run.allocate()
    return run


def run(loop):
    status = loop.run(lambda reached, duration: None)
    arrays = {name: array.tobytes() for name, array in loop.recorder.samples().items()}
    halving = loop.loop.plants.step_halving()
    return status, arrays, loop.ticks, halving, loop.recorder.weakest_authority()


def shortened(name):
    scenario = Scenario.load(name)
    return scenario.replace({"timing.duration": SHORT * scenario.timing.duration})


QUICK = (
    "coordinated-arms", "five-bar", "flexible-joint-arm-motor", "panda-pose", "quadrotor-hover",
    "scara-helix-bench", "two-mass-spring-far",
)  # fmt: skip
"""Laws with memory, passive rows, elastic joints, sensors, both kinds of integrators."""
OTHERS = [name for name in catalog.names("scenarios") if name not in QUICK]


@pytest.mark.slow(but=["five-bar", "panda-pose", "scara-helix-bench"])
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(n, marks=SLOW) for n in OTHERS)])
def test_every_scenario_of_the_catalogue_that_runs_again(name):
    scenario = shortened(name)
    robot = true_robot(scenario.robot)
    loop = ready(scenario, robot)
    first = run(loop)
    if not loop.is_reusable or not loop.reuse_for(scenario, robot):
        pytest.skip("it is built anew for each run")
    assert run(loop) == first
    assert loop.reuse_for(scenario.replace({"seed": 5}), robot)
    assert run(loop) == run(ready(scenario.replace({"seed": 5}), robot))


@pytest.mark.slow(only=["panda-pose-sampled", "five-bar"])
@pytest.mark.parametrize("name", ["panda-pose-sampled", "scara-helix", "ur5-pose", "five-bar"])
def test_other_masses_are_those_of_a_new_loop(name):
    scenario = shortened(name).replace({"effect": [MISMATCH]})
    robot = true_robot(scenario.robot)
    loop = ready(scenario, robot)
    run(loop)
    for seed in (3, 1, 3):
        other = scenario.replace({"seed": seed, "effect": [{**MISMATCH, "mass": 0.1 * seed}]})
        assert loop.reuse_for(other, robot)
        assert run(loop) == run(ready(other, robot))


def test_the_first_state_is_evaluated_with_the_new_masses():
    scenario = shortened("panda-pose-sampled").replace({"start": {}})  # where snapshots begin
    robot = true_robot(scenario.robot)
    loop = ready(scenario, robot)
    run(loop)
    other = scenario.replace({"seed": 7})
    assert loop.reuse_for(other, robot)
    assert run(loop) == run(ready(other, robot))


@pytest.mark.parametrize(
    "changes",
    [
        {"controller.allocation.null_space.kp": 40.0},
        {"start.spread": 0.01},
        {"effect": [{"kind": "noise", "std": 1e-3}]},
        {"effect": [{**MISMATCH, "friction": 0.1}]},
        {"effect": []},
        {"timing.duration": 0.2},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_differs_in_more_needs_a_new_one(changes):
    scenario = shortened("panda-pose-sampled")
    robot = true_robot(scenario.robot)
    loop = ready(scenario, robot)
    run(loop)
    assert not loop.reuse_for(scenario.replace(changes), robot)
    assert not loop.reuse_for(scenario, Robot.load("panda"))
