"""The quick step of a robot under a held input does what the general one does, bit by bit."""

from __future__ import annotations

import pytest

from ukctrl import Scenario, simulate
from ukctrl.mechanics.integrate.held_step import HeldStep
from ukctrl.simulation.loop import Loop

SHORT = {"timing.duration": 0.05}


@pytest.mark.parametrize("method", ["RK4", "semi_implicit_euler"])
@pytest.mark.parametrize("step", [1e-3, 4e-4])
def test_the_quick_step_gives_the_same_bits(monkeypatch, method, step):
    changes = {**SHORT, "integrator.method": method, "integrator.step": step}
    scenario = Scenario.load("panda-pose-sampled", changes)
    quick = simulate(scenario)
    monkeypatch.setattr(HeldStep, "suits", staticmethod(lambda plant: False))
    plain = simulate(scenario)
    for name in ("q", "v", "a", "u", "phi", "beta"):
        assert quick[name].tobytes() == plain[name].tobytes()
    # The power is summed in another order.
    assert quick.metric("energy_drift") == pytest.approx(plain.metric("energy_drift"), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "suits"),
    [("panda-pose-sampled", True), ("five-bar", False), ("quadrotor-hover", False)],
)
def test_only_a_robot_that_nothing_else_drives_gets_it(name, suits):
    assert HeldStep.suits(Loop(Scenario.load(name, SHORT)).truth) is suits
