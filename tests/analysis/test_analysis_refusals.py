"""What analyses say where they cannot go on: each sentence, whole, mostly of made-up failures."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot, Scenario
from ukctrl.analysis.check import start_diagnostics, task_motion
from ukctrl.analysis.check.check_result import Diagnostic
from ukctrl.analysis.check.check_scenario import _internal
from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.start_diagnostics import _first_input
from ukctrl.analysis.internal_dynamics import internal_dynamics
from ukctrl.analysis.internal_dynamics.internal_dynamics import _frozen_time
from ukctrl.analysis.linear import design
from ukctrl.analysis.linear.equilibria import equilibria
from ukctrl.analysis.linear.linear_loop import _notes
from ukctrl.analysis.linear.operating_point import operating_point
from ukctrl.control.feedforward.nominal_motion import MotionKnot
from ukctrl.core.errors import InfeasibleConstraint, InputError
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.robot import Lagrangian
from ukctrl.simulation.assemble import Loop

SERVO = {"kind": "servo", "feedback": {"kind": "baumgarte", "alpha": 3.0, "beta": 2.0}}
INTERNAL = sys.modules[_frozen_time.__module__]


def masses(potential="0*x", **inputs):
    """Return two masses, each on its own."""
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="(v.x**2 + v.y**2)/2",
            potential=potential,
            inputs=inputs,
        ),
        name="masses",
    )


PUSHED, LOOSE = masses(F={"x": 1.0}), masses("9.81*x")


def scenario(robot=PUSHED, phi="x", **given):
    servo = [{"kind": "expression", "phi": phi, "unit": "m", "name": "a"}] if phi else []
    table = {"title": "t", "robot": robot, "servo": servo, "controller": SERVO}
    return Scenario(**{**table, "timing": {"duration": 2.0}, **given})


def refuse(*_, **__):
    raise InputError("no.")


# The start


@pytest.mark.parametrize(
    ("psi", "said"),
    [
        (("v.x",), "velocity row 'r0' says that x stays constant; written as phi it would hold a "
         "value."),
        (("cos(th)*v.y - sin(th)*v.x",), "velocity rows do not all integrate: d omega ^ omega has "
         "the component -1 along dx ^ dy ^ dth."),
        (("v.x - 1", "v.x - 2"), "the velocity rows cannot be classified: no velocity meets all "
         "constraints: 'r1' contradicts the others."),
    ],
)  # fmt: skip
def test_what_velocity_rows_come_to_is_told(psi, said):
    plane = Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m", "th": "rad"}, kinetic="v.x**2+v.y**2+v.th**2")
    )
    rows = [Expression(psi=text, unit="m/s", name=f"r{k}") for k, text in enumerate(psi)]
    *_, notes = start_diagnostics.classify_velocity_rows(Stack((), plane), Stack(rows, plane))
    assert [note.text for note in notes] == [said]


def test_a_controller_without_a_first_input_says_why():
    def told(error):
        def command(*_):
            raise error

        state = type("State", (tuple,), {"memory": None})((0.0, 0.0, None))
        return _first_input(SimpleNamespace(state=state, command=command, t0=0.0))

    assert told(InputError("no.")) == ({}, ["the controller cannot start: no."])
    assert told(ZeroDivisionError("by 0")) == ({}, ["the controller cannot start: by 0"])
    missed = InfeasibleConstraint(["a"], [1.0], 0, 1)
    assert told(missed) == ({}, [str(missed)])


def test_internal_dynamics_that_cannot_be_found_are_a_note(monkeypatch):
    monkeypatch.setattr(sys.modules[_internal.__module__], "internal_dynamics", refuse)
    text = "the internal dynamics is not known: no."
    loop = Loop(scenario())
    assert _internal(loop, ContactSchedule(loop)) == (None, [Diagnostic("note", "internal", text)])


# The motion


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "the motion cannot begin at t = 0 s: it has no finite acceleration there."),
        (3, "the motion cannot be continued after t = 0.5 s: its steps become ever smaller."),
    ],
)
def test_a_motion_that_a_law_cannot_continue_says_from_when(count, said, monkeypatch):
    still = np.zeros(2)
    knots = [MotionKnot(0.25 * k, still, still, still, still[:1]) for k in range(count)]
    monkeypatch.setattr(task_motion, "simulate_knots", lambda *_: iter(knots))
    slip = Expression(name="slip", psi="x*v.x - 0.1*v.y", unit="m/s")
    moves = task_motion.task_motion(Loop(scenario(servo=(slip,))))
    assert (moves.kind, len(moves.t)) == ("law" if count else "none", count)
    assert (moves.early_end.why, moves.early_end.text) == ("law", said)


# Internal dynamics


def test_a_path_without_a_periodic_motion_says_which_is_missing(monkeypatch):
    moving = scenario(masses("2*y**2", F={"x": 1.0}), "x - 0.2*sin(3*t)")
    notes = []
    for period in (None, 1.25):
        monkeypatch.setattr(INTERNAL, "path_period", lambda held, q, period=period: period)
        monkeypatch.setattr(INTERNAL, "periodic_orbit", lambda *_: None)
        found = internal_dynamics(moving, simulate=False, floquet=True)
        assert found.periodic is None
        notes += found.notes
    assert notes == [
        "the path does not repeat itself within the run.",
        "the path repeats itself after 1.25 s; no periodic motion was found.",
    ]


def test_a_motion_is_looked_at_up_to_where_it_can_be(monkeypatch):
    looks = iter(["first", "second"])

    def near_motion(held, t, q, v):
        for found in looks:
            return found
        raise InputError("no.")

    monkeypatch.setattr(INTERNAL, "at_frozen_time", near_motion)
    run = SimpleNamespace(times=np.linspace(0.0, 2.0, 101), q=np.zeros(101), v=np.zeros(101))
    notes = []
    held = SimpleNamespace(scenario=scenario())
    found = _frozen_time(held, run, None, None, notes)
    third = run.times[np.unique(np.linspace(0, 100, INTERNAL.FROZEN_TIMES).astype(int))[2]]
    assert found == ("first", "second")
    assert notes == [f"the motion could not be looked at where t = {third:.4g} s: no."]


def test_without_rows_nothing_is_left_by_them():
    with pytest.raises(InputError) as caught:
        internal_dynamics(scenario(phi=None, controller={"kind": "none"}))
    assert str(caught.value) == (
        "internal dynamics is what servo rows leave; this scenario has no [[servo]]."
    )


# Linear analysis


@pytest.mark.parametrize(
    ("guesses", "where"), [(1, "the start"), (3, "the start and 2 guesses around it")]
)
def test_a_robot_that_can_rest_nowhere_is_told_the_nearest(guesses, where):
    """It falls with 9.81, which counts beside 1 + 9.81."""
    with pytest.raises(InputError) as caught:
        equilibria(scenario(LOOSE, phi=None, controller={"kind": "none"}), guesses=guesses)
    assert str(caught.value) == (
        f"robot 'masses' must rest somewhere; from {where} no equilibrium is found; at the nearest "
        "no input balances 90.7% of the accelerations. Start nearer."
    )


@pytest.mark.parametrize("at", [-1.0, 0.0, 2.01])
def test_a_time_outside_the_run_cannot_be_looked_at(at):
    with pytest.raises(InputError) as caught:
        operating_point(scenario(), at)
    assert str(caught.value) == (
        f"the time to look at must be within the run, above 0 s and at most 2 s; got {at:g} s."
    )


def test_a_start_whose_law_has_no_input_is_looked_at_where_it_accelerates_least():
    falling = masses("9.81*x", F={"x": 2.0})  # and the motor does not move the row
    found = operating_point(scenario(falling, "y", start={"v": {"y": 0.5}}))
    assert found.source == "the start, with the input that leaves least acceleration"
    np.testing.assert_allclose(found.u, [4.905])


def test_what_a_linear_loop_leaves_out_is_told():
    def told(switches, rough, edge=False):
        loop = SimpleNamespace(law=SimpleNamespace(switches=switches), estimator=None)
        linear = SimpleNamespace(set_changes=edge, nonsmoothness=rough)
        return _notes(SimpleNamespace(effect=()), None, loop, linear)

    assert told(False, 0.0) == []
    (one_sided,) = told(False, 0.0, edge=True)
    assert "just at the border of being active" in one_sided
    assert told(True, 0.25) == [
        "the law switches; the analysis takes the mode that is active here.",
        "the law is not smooth here: its slopes change by 0.25 of the largest with the step of the "
        "differences.",
    ]


@pytest.mark.parametrize("timing", [{}, {"control": 0.01, "sample": 0.02}])
def test_a_loop_that_no_period_makes_unstable_has_no_longest(timing, monkeypatch):
    """Periods grow from 0.02/4 s by 25 %, eighty times."""
    loop = SimpleNamespace(rates=lambda: np.array([-4.0, -0.5]), inputs=("F",))
    monkeypatch.setattr(design, "linear_loop", lambda *_, **__: loop)
    monkeypatch.setattr(design, "loop_growth_rate", lambda loop: -1.0)
    with pytest.raises(InputError) as caught:
        design.largest_period(scenario(timing={"duration": 2.0, **timing}))
    assert str(caught.value) == (
        f"no period up to {0.005 * 1.25**80:.3g} s loses the margin; there is no limit."
    )
