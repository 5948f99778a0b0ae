"""What laws refuse at the start of a task: each sentence, whole."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot, Task, UkctrlError
from ukctrl.control import (
    Baumgarte,
    Bounded,
    Chen,
    Feedforward,
    InternalForce,
    IoLinearisation,
    LeastNorm,
    Lqi,
    Lqr,
    PolePlacement,
    Prioritized,
    Servo,
    SlotineLi,
    SlotineLiAdaptive,
    SwingUp,
)
from ukctrl.control.allocation.input_metric import InputMetric
from ukctrl.control.controller import Law
from ukctrl.control.feedback.feedback import _row_gains_by_name
from ukctrl.control.feedback.sliding_surface import require_small_mismatch
from ukctrl.control.regulators.pole_placement import place_poles
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import JointMotor, Lagrangian, Options


def masses(count=2, options=None, **given):
    """Return masses that move apart, pushed one by one unless `inputs` says otherwise."""
    names = [f"x{k}" for k in range(count)]
    return Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(names, "m"),
            kinetic=[f"v.{name}**2/2" for name in names],
            **{"potential": "x0**2/2", **given},
        ),
        options or Options(),
        name="masses",
    )


def task(robot, *servo, **given):
    return Task(
        robot=robot,
        servo=servo,
        q=robot.neutral,
        v=np.zeros(robot.nv),
        **{"duration": 1.0, **given},
    )


ROW = Expression(phi="x0", unit="m", name="a")
OTHER = Expression(phi="x1", unit="m", name="b")
NOTHING = masses(inputs={})
FIRST = masses(inputs={"F": {"x0": 1.0}})
"""The second mass goes its own way."""
FREE = masses(1, potential="0*x0")
TIE = {"kind": "expression", "phi": "x0 - x1", "name": "tie"}
TIED = masses(inputs={"F": {"x1": 1.0}}, options=Options(passive=[TIE]))
CLOSED = (
    "whose virtual velocity its passive constraints would not allow; it has 'tie'. Use the card "
    "'servo-baumgarte'."
)
RUNS = masses(inputs={"F": {"x0": 1.0}}, potential="-x1**4", neutral={"x1": 1.0})
"""The second mass is at infinity after 0.93 s."""
REFUSED = [
    (
        IoLinearisation(alpha=4.0, beta=4.0), task(masses()),
        'servo must have rows for kind = "io_linearisation"; got none.',
    ),
    (
        SwingUp(alpha=1.0, beta=1.0), task(NOTHING, ROW),
        "robot 'masses' must have motors on its joints for kind = \"swing_up\"; it has none.",
    ),
    (
        PolePlacement(settling=1.0), task(NOTHING),
        "a regulator needs a robot with inputs; this one has none.",
    ),
    (
        PolePlacement(settling=1.0), task(FIRST),
        "pole placement needs inputs that move every mode; they have no grip on one in 'v.x1'. Add "
        'an actuator, hold those freedoms, or use kind = "lqr", which leaves alone what decays by '
        "itself.",
    ),
    (
        Lqr(), task(FIRST),
        "the inputs F must be able to make every mode decay; they have no grip on the one with s = "
        "0 1/s, in 'v.x1'. Add an actuator, hold those freedoms, or linearise elsewhere.",
    ),
    (
        Lqr(R={"x0": 0.0}), task(masses()),
        "R must be positive definite, or inputs would cost nothing; give every one of x0, x1 a "
        "weight above zero.",
    ),
    (
        Lqr(Q=(0.0, 1.0)), task(FREE),
        "Q must weigh every mode that does not decay by itself; the one with s = 0 1/s, in 'x0', "
        "costs nothing.",
    ),
    (
        Lqi(), task(FIRST, ROW, OTHER),
        "the task must have at most one row an input, 1, for their integrals to be kept at rest; "
        'got 2. Use kind = "lqr".',
    ),
    (
        SlotineLi(kappa=1.0, kd=1.0), task(TIED),
        f"robot 'masses' must be an open chain for kind = \"slotine_li\", {CLOSED}",
    ),
    (
        SlotineLiAdaptive(kappa=1.0, kd=1.0, gamma=1.0), task(TIED),
        f"robot 'masses' must be an open chain for kind = \"slotine_li_adaptive\", {CLOSED}",
    ),
    (
        Feedforward(along=Servo(feedback=Baumgarte(alpha=4.0, beta=4.0))), task(RUNS, ROW),
        "the motion of controller.along must last as long as the run; it ends at t = 0.92 s. Where "
        'what the rows leave grows without bound, use along.kind = "stable_inversion".',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("law", "given", "says"), REFUSED)
def test_a_task_that_a_law_cannot_serve_is_refused(law, given, says):
    with pytest.raises(UkctrlError) as caught:
        law.start(given)
    assert str(caught.value) == says


def stack(*names):
    rows = [Expression(phi=f"x{k}", unit="m", name=name) for k, name in enumerate(names)]
    return Stack(rows, masses(len(names)))


def test_gains_by_name_name_every_block_or_row_once():
    assert _row_gains_by_name({"b": 2.0, "a": 1.0}, stack("a", "b"), "alpha").tolist() == [1.0, 2.0]
    cases = [
        ({"a": 1.0}, ("a", "b"), "gain 'alpha' must name every block; 'b' is missing."),
        ({"c": 1.0}, ("a", "b"),
         "no block of servo rows (in gain 'alpha') named 'c'. Known: a, b."),
    ]  # fmt: skip
    for gain, names, says in cases:
        with pytest.raises(UkctrlError) as caught:
            _row_gains_by_name(gain, stack(*names), "alpha")
        assert str(caught.value) == says


def test_rows_of_one_name_in_two_blocks_cannot_be_told_apart_by_it():
    both = stack("one.x", "two.x")
    with pytest.raises(UkctrlError) as caught:
        _row_gains_by_name({"x": 1.0}, both, "alpha")
    assert str(caught.value) == (
        "gain 'alpha' must tell rows apart; several are named 'x'. Give a list with one number a "
        "row."
    )


# Allocations, and the parts of laws.


def asked(allocation, robot, row=ROW):
    """Return the input for one row's demand of 1, from a law that never looks back."""
    given = task(robot, row, period=0.05)
    dynamics = Dynamics(robot)
    dynamics.move(0.0, given.q, given.v)
    rows = Stack(given.servo, robot).write(dynamics.snapshot)
    return allocation.attach(given, (row.name,)).input(rows, np.ones(1), dynamics)


def refused(call):
    with pytest.raises(UkctrlError) as caught:
        call()
    return str(caught.value)


def test_a_rate_limit_without_the_last_input_is_refused():
    slow = masses(1, Options(actuator=[JointMotor(joint="x0", limit=6.0, rate_limit=40.0)]))
    assert refused(lambda: asked(Bounded(), slow)) == (
        "a rate limit needs the input of the last tick; a law of one's own must call "
        'allocator.look_back(memory) before every input, or say allocation.rate_limits = "ignore".'
    )


@pytest.mark.slow
def test_an_allocation_that_looks_too_narrowly_names_the_one_that_does_not():
    """The motor pushes the other mass: it moves this one by the tie alone."""
    said = refused(lambda: asked(Chen(), TIED))
    assert said.endswith(
        "; rank 0 of 1 rows). The motors do reach them, but not within the row space of A M^-1 B, "
        'where this allocation looks; use controller.allocation.kind = "least_norm".'
    )
    assert np.isfinite(asked(LeastNorm(), TIED)).all()


@pytest.mark.parametrize(
    "allocation", [LeastNorm(), Bounded(limit=9.0), Prioritized(order=("a",))], ids=str
)
def test_a_metric_that_fails_at_a_state_is_refused(allocation, monkeypatch):
    monkeypatch.setattr(InputMetric, "_build_metric", lambda *_: (-np.eye(2), ()))
    assert refused(lambda: asked(allocation, masses())) == (
        'metric must be positive definite on the inputs; it is not. Use metric = "effort".'
    )


def test_poles_that_are_missed_are_refused(monkeypatch):
    """Without gains the pole of x' = x + u stays at 1, away from -1 by twice its size."""
    none = SimpleNamespace(gain_matrix=np.zeros((1, 1)))
    monkeypatch.setattr("scipy.signal.place_poles", lambda *_: none)
    one = np.ones((1, 1))
    assert refused(lambda: place_poles(one, one, np.array([-1.0 + 0.0j]), ("x",))) == (
        "no gains are found that place the poles; one is off by 200.0%. Ask for another settling "
        "time or damping."
    )


@pytest.mark.parametrize("mismatch", [1.0, 1.5, np.nan])
def test_a_mismatch_that_leaves_no_direction_is_refused(mismatch):
    assert refused(lambda: require_small_mismatch(mismatch)) == (
        "mismatch must be below 1, so that a demand still acts in its own direction; got "
        f"{mismatch:g}."
    )


def test_an_internal_force_of_no_row_or_of_one_twice_is_refused():
    path = Constant(value=(1.0,))
    assert refused(lambda: InternalForce(rows=(), path=path)) == (
        "InternalForce: rows must name at least one passive row; got none."
    )
    assert refused(lambda: InternalForce(rows=("a", "a"), path=path)) == (
        "InternalForce: rows must name every passive row once; got 'a', 'a'."
    )


class Restless(Law):
    """A law whose every mode has ended before it begins."""

    def step(self, dynamics, memory):
        raise NotImplementedError

    def guard(self, dynamics, memory):
        return 0.0

    def switched(self, dynamics, memory):
        return memory


def test_modes_that_never_stop_handing_over_are_refused():
    dynamics = Dynamics(FREE)
    dynamics.move(0.25, np.zeros(1), np.zeros(1))
    law = Restless(task(FREE, ROW))
    assert refused(lambda: law.settled(dynamics, law.memory)) == (
        "the modes of a law must not hand over to each other at once; Restless switched 8 times at "
        "t = 0.25 s. Let a mode end later than it begins (hysteresis)."
    )
