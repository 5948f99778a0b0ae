"""A law with modes: the loop finds the moment of each switch, and says so."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from ukctrl import Command, Controller, Law, Robot, Scenario, Task, simulate
from ukctrl.control.controller import ZenoSwitching
from ukctrl.core.fields import Number, spec
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Lagrangian

MASS, FORCE, HALF = 2.0, 3.0, 0.4
TURN = np.sqrt(2.0 * HALF * MASS / FORCE)
"""When a mass at rest, pushed by the force, has gone half of the way."""
ATOL = 1e-9
"""Of times and places; the integrator's own tolerance."""

CART = Robot.build(
    Lagrangian(coordinates={"x": "m"}, kinetic="0.5*m*v.x**2", parameters={"m": MASS}), name="cart"
)


@spec
class Bang(Controller):
    """Push until half of the way, brake until the mass stands, and let go."""

    half: Number = HALF
    """Where to brake [m]."""

    def start(self, task: Task) -> Law:
        return BangLaw(self, task)


class BangLaw(Law):
    switches: ClassVar[bool] = True

    def __init__(self, gains, task):
        super().__init__(task)
        self.gains = gains
        self.memory = np.zeros(1)

    def guard(self, dynamics, memory):
        s = dynamics.snapshot
        return float((self.gains.half - s.q[0], s.v[0], 1.0)[int(memory[0])])

    def switched(self, dynamics, memory):
        return memory + 1.0

    def step(self, dynamics, memory):
        return Command(np.array([(FORCE, -FORCE, 0.0)[int(memory[0])]]), np.zeros(1))


@spec
class Stuck(Bang):
    """Its modes hand over to each other for ever."""

    def start(self, task: Task) -> Law:
        return StuckLaw(self, task)


class StuckLaw(BangLaw):
    def guard(self, dynamics, memory):
        return 0.3 - dynamics.snapshot.q[0]

    def step(self, dynamics, memory):
        return Command(np.array([FORCE]), np.zeros(1))


def scenario(controller: Controller, changes: dict[str, object] | None = None) -> Scenario:
    hold = JointFollows(joints=("x",), path=Constant(value=(0.0,)))
    base = Scenario(
        title="Push, brake, let go",
        robot=CART,
        servo=(hold,),
        controller=controller,
        timing={"duration": 2.0, "sample": 0.25},
    )
    return base.replace(changes or {})


METHODS = {
    "DOP853": {},
    "Radau": {"integrator.method": "Radau"},
    "RK4": {"integrator": {"method": "RK4", "step": 0.05}},
}


@pytest.mark.parametrize("changes", METHODS.values(), ids=METHODS)
def test_the_moments_of_the_switches_are_those_of_the_closed_form(changes):
    run = simulate(scenario(Bang(), changes))
    assert run.status == "completed"
    np.testing.assert_allclose(run.provenance["switches"], [TURN, 2.0 * TURN], rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(run["q"][-1, 0], 2.0 * HALF, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(run["u"][:, 0], [3, 3, 3, -3, -3, -3, 0, 0, 0])
    np.testing.assert_allclose(run.time, 0.25 * np.arange(9))


def test_a_switch_that_falls_on_a_sample_shows_the_new_mode_in_it():
    run = simulate(scenario(Bang(half=0.75 * 0.5**2), {"timing.duration": 1.0}))
    np.testing.assert_allclose(run.provenance["switches"][0], 0.5, rtol=0.0, atol=ATOL)
    assert run["u"][1, 0] == FORCE
    assert run["u"][3, 0] == -FORCE
    assert len(run.time) == 5


def test_under_a_hold_the_law_switches_at_the_first_tick_after_the_crossing():
    period = 0.01
    run = simulate(scenario(Bang(), {"timing.control": period}))
    found = run.provenance["switches"]
    assert found[0] == pytest.approx(np.ceil(TURN / period) * period)
    assert run.status == "completed"


@pytest.mark.parametrize("control", [{}, {"timing.control": 0.01}], ids=["continuous", "sampled"])
def test_modes_that_hand_over_without_end_stop_the_run_by_name(control):
    run = simulate(scenario(Stuck(), control))
    assert run.status == "diverged"
    assert "StuckLaw switched 8 times" in run.message
    assert len(run.time) > 1


def test_a_law_in_ones_own_loop_hands_back_the_memory_after_a_switch():
    task = scenario(Bang())
    law = task.controller.start(Task(robot=CART, servo=task.servo, q=np.zeros(1), v=np.zeros(1)))
    before = law.command(0.0, np.array([0.1]), np.ones(1), law.memory)
    after = law.command(0.0, np.array([0.5]), np.ones(1), law.memory)
    assert (before.u[0], before.memory[0]) == (FORCE, 0.0)
    assert (after.u[0], after.memory[0]) == (-FORCE, 1.0)
    with pytest.raises(ZenoSwitching, match="hysteresis"):
        StuckLaw(Stuck(), law.task).command(0.0, np.array([0.5]), np.ones(1), law.memory)
