"""What laws refuse at the start of a task: each sentence, whole."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Robot, Task, UkctrlError
from ukctrl.control import IoLinearisation, PolePlacement, SwingUp
from ukctrl.control.feedback.feedback import _by_name
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.robot import Lagrangian


def masses(count=2, **given):
    """Return masses that move apart, pushed one by one unless `inputs` says otherwise."""
    names = [f"x{k}" for k in range(count)]
    return Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(names, "m"),
            kinetic=[f"v.{name}**2/2" for name in names],
            **{"potential": "x0**2/2", **given},
        ),
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
NOTHING = masses(inputs={})
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
    assert _by_name({"b": 2.0, "a": 1.0}, stack("a", "b"), "alpha").tolist() == [1.0, 2.0]
    cases = [
        ({"a": 1.0}, ("a", "b"), "gain 'alpha' must name every block; 'b' is missing."),
        ({"c": 1.0}, ("a", "b"),
         "no block of servo rows (in gain 'alpha') named 'c'. Known: a, b."),
    ]  # fmt: skip
    for gain, names, says in cases:
        with pytest.raises(UkctrlError) as caught:
            _by_name(gain, stack(*names), "alpha")
        assert str(caught.value) == says


def test_rows_of_one_name_in_two_blocks_cannot_be_told_apart_by_it():
    both = stack("one.x", "two.x")
    with pytest.raises(UkctrlError) as caught:
        _by_name({"x": 1.0}, both, "alpha")
    assert str(caught.value) == (
        "gain 'alpha' must tell rows apart; several are named 'x'. Give a list with one number a "
        "row."
    )
