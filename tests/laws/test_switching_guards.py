"""Guards of laws are asked by machine code where their parts can be, else by Python: same bits."""

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.control.controller import Law
from ukctrl_laws.switching import _SwitchingLaw

SHORT = {"timing.duration": 6.0, "timing.sample": 0.05}


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{}, {"timing.control": 0.005}, {"integrator": {"method": "RK4", "step": 0.002}}],
    ids=["continuous", "sampled", "fixed steps"],
)
def test_machine_code_and_python_find_the_same_switches(monkeypatch, change):
    scenario = Scenario.load("cart-pole-swing-up", {**SHORT, **change})
    by_kernels = simulate(scenario)
    monkeypatch.setattr(_SwitchingLaw, "guard_steps", Law.guard_steps)
    by_python = simulate(scenario)
    assert by_kernels.status == "completed"
    assert by_kernels.switches
    assert by_kernels.switches == by_python.switches
    assert by_kernels.provenance["loop"]["compiled"] == ("integrator" not in change)
    assert not by_python.provenance["loop"]["compiled"]
    for name in ("q", "v", "u"):
        np.testing.assert_array_equal(by_kernels.samples[name], by_python.samples[name])


def test_a_sample_at_the_moment_of_a_switch_is_kept_once():
    switch = simulate(Scenario.load("cart-pole-swing-up", SHORT)).switches[0]
    run = simulate(Scenario.load("cart-pole-swing-up", {**SHORT, "timing.duration": switch + 0.2}))
    assert np.all(np.diff(run.samples["time"]) > 0.0)
    assert run.samples["time"][-1] == pytest.approx(switch + 0.2)


class Elsewhere(Law):
    """A law whose error is Python's."""

    def __init__(self) -> None:
        pass

    def error(self, dynamics):
        return 0.25


def test_an_error_of_ones_own_is_asked_in_python():
    measure = np.zeros(1)
    (step,) = Elsewhere().error_steps(None, measure)
    step()
    assert measure[0] == 0.25
