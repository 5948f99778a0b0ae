"""Implicit methods: their Jacobian by an independent route, and coordinates that nothing feels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ukctrl import Loop, Scenario, simulate
from ukctrl.core.algebra.finite_differences import jacobian

CASES = Path(__file__).parent / "integrators"
EVERY = sorted(path.stem for path in (Path(__file__).parents[2] / "scenarios").glob("*.toml"))
KINKED = {
    "quadrotor-upside-down": "motors at their limits from the first moment",
    "scara-pick-and-place": "rows that no state nearby can serve",
    "two-mass-spring-far": "rows that no input moves",
}
"""Scenarios whose rates have no derivative at the start."""
RTOL = 1e-6
"""Of the largest entry: what central differences of the parts without closed form are good for."""


SHARP = {"scara-helix-bench": 0.25}
"""Its friction turns over within 0.002 rad/s: differences need a shorter step than elsewhere."""


def both(name, changes=None):
    """Return the Jacobian that an implicit method gets, and sixth-order differences of the rates.

    At a state near the start of a scenario, with the input that is held there if it is.
    """
    scenario = Scenario.load(name, {"integrator": {"method": "Radau"}, **(changes or {})})
    return both_of(scenario, SHARP.get(name, 1.0))


def both_of(scenario, step=1.0):
    """Return the same of a scenario that is there, by so many of the usual steps."""
    loop = Loop(scenario)
    q, v, memory = loop.state
    v = v + 0.01 * np.random.default_rng(0).standard_normal(len(v))
    if scenario.timing.control is not None:
        loop.believed_model.move(loop.t0, q, v)
        loop.held_input[:] = loop.law.step(loop.believed_model, memory).u
        memory = np.zeros(1)
    elif loop.integrates_energy:
        memory = np.append(memory, 0.0)
    method, y = loop.plants.integrator, np.concatenate([q, v, memory])
    reference = (
        jacobian(lambda d: method.system.time_derivative(loop.t0, y + step * d), len(y)) / step
    )
    return method._slopes(loop.t0, y), reference


def check(name, changes=None):
    found, reference = both(name, changes)
    size = max(np.abs(reference).max(), 1.0)
    np.testing.assert_allclose(found, reference, rtol=0.0, atol=RTOL * size)


@pytest.mark.slow(only=["elastic-two-link"])
@pytest.mark.parametrize(
    "name",
    ["two-mass-spring", "scara-helix", "panda-pose-sampled", "elastic-two-link", "five-bar",
     "quadrotor-attitude"],
)  # fmt: skip
def test_the_jacobian_is_that_of_differences_of_high_order(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EVERY if name not in KINKED])
def test_the_jacobian_of_every_scenario_is_that_of_differences_of_high_order(name):
    check(name)


LINEAR = """
title = "Springs, dampers and friction under a linear feedback"
start.v = [0.3, -0.2]
timing = { duration = 1.0 }
integrator = { method = "Radau" }
controller = { kind = "lqr", Q = 10.0, R = 0.1 }
[[servo]]
kind = "expression"
phi = "shoulder - 0.2"
[[servo]]
kind = "expression"
phi = "elbow - 0.1"
[robot]
use = "two_link"
[[robot.force]]
kind = "joint_spring"
joint = "shoulder"
stiffness = 30.0
damping = 1.5
[[robot.force]]
kind = "joint_damper"
joint = "elbow"
damping = 2.0
[[robot.force]]
kind = "dry_friction"
joint = "elbow"
level = 0.4
velocity_scale = 0.1
"""


@pytest.mark.parametrize("control", ["", "timing.control = 0.01\n"], ids=["continuous", "held"])
def test_springs_dampers_and_friction_under_a_linear_feedback(control):
    scenario = Scenario.from_toml(
        LINEAR.replace("timing = { duration = 1.0 }", "timing.duration = 1.0\n" + control)
    )
    found, reference = both_of(scenario)
    np.testing.assert_allclose(found, reference, rtol=0.0, atol=1e-8 * np.abs(reference).max())


def test_the_rates_of_a_cyclic_coordinate_do_not_feel_it_at_all():
    """The column is zero to the last bit, however far the cart has gone."""
    for changes in ({}, {"start.q": {"cart": 1e4, "pole": "90*deg"}}):
        found, _ = both(CASES / "radau_cyclic.toml", changes)
        assert not found[:, 0].any()


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_implicit_methods_find_the_motion_of_the_explicit_one(method):
    changes = {"timing.duration": 2.0, "integrator.rtol": 1e-9, "integrator.atol": 1e-11}
    runs = [
        simulate(Scenario.load(CASES / "radau_cyclic.toml", {**changes, "integrator.method": m}))
        for m in (method, "DOP853")
    ]
    assert [run.status for run in runs] == ["completed"] * 2
    np.testing.assert_allclose(runs[0]["v"], runs[1]["v"], rtol=0.0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rtol"), [("radau_cyclic", 1e-8), ("flyball", 1e-8), ("flyball", 1e-10)]
)
def test_radau_passes_a_coordinate_that_nothing_feels(name, rtol):
    run = simulate(
        Scenario.load(
            CASES / f"{name}.toml", {"integrator.rtol": rtol, "integrator.atol": 0.1 * rtol}
        )
    )
    assert (run.status, run.belief.verdict) == ("completed", "ok")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_the_arm_of_a_furuta_pendulum_is_such_a_coordinate(method):
    run = simulate(
        Scenario.from_toml(
            'title = "Let go"\nrobot = "furuta"\nstart.v = [3.0, 1.0]\n'
            "timing = { duration = 60.0 }\n"
            f'integrator = {{ method = "{method}", rtol = 1e-8, atol = 1e-9 }}'
        )
    )
    assert run.status == "completed"
