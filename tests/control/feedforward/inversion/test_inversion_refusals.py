"""What inversions refuse or do not find: each sentence, whole, mostly from made-up equations."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot, Task, UkctrlError
from ukctrl.control import Feedforward, Flat, IoLinearisation, ServoDae, StableInversion
from ukctrl.control.feedforward.inversion.boundary_value_problem import (
    BoundaryCondition,
    BoundaryValueSolver,
)
from ukctrl.control.feedforward.inversion.collocation import (
    CollocationSolver,
    CollocationStep,
    radau_scheme,
)
from ukctrl.control.feedforward.inversion.servo_dae_equations import DaeTerms, ServoDaeEquations
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression
from ukctrl.robot import Lagrangian


def masses(count, potential, *pushed):
    names = [f"x{k}" for k in range(count)]
    return Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(names, "m"),
            kinetic=[f"v.{name}**2/2" for name in names],
            potential=potential,
            inputs={f"F{k}": {f"x{k}": 1.0} for k in pushed},
        ),
        name="masses",
    )


def row(phi, name):
    return Expression(phi=phi, unit="m", name=name)


def task(robot, *servo, **given):
    return Task(
        robot=robot, servo=servo, q=np.zeros(robot.nv), v=np.zeros(robot.nv), duration=1.0, **given
    )


CHAIN = masses(3, "(x0 - x1)**2 + (x1 - x2)**2", 0)
"""Three masses on springs; each spring costs two derivatives."""
HIGH = (
    "needs rows of relative degree 4 at most; that of row 'far' is 6. Use kind = "
    '"io_linearisation"; or a motion worked out before the run, kind = "feedforward" or "tvlqr" '
    'with along.kind = "flat".'
)
UNCERTAIN = 'servo rows must have a relative degree at the start for kind = "io_linearisation"; '
BENT = "x0 + x1**2"
"""At rest at 0 it says what the row on x0 does; nearby the second mass moves it too."""
IO = IoLinearisation(alpha=4.0, beta=4.0)


@pytest.mark.slow(only=["dae", "stable"])
@pytest.mark.parametrize(
    ("law", "given", "says"),
    [
        (
            Feedforward(along=ServoDae(step=0.1)), task(CHAIN, row("x2", "far")),
            f"servo_dae {HIGH}",
        ),
        (
            Feedforward(along=StableInversion(until=0.5)), task(CHAIN, row("x2", "far")),
            f"stable_inversion {HIGH}",
        ),
        (
            Feedforward(along=Flat(step=0.1)),
            task(masses(1, "0*x0", 0), row("x0 - sqrt(0.5 - t)", "a")),
            "the servo rows and their derivatives must fix a state near the last one at t = 0.5 s; "
            "Newton's method found none. Start near the path, and lead it around states where the "
            "inputs lose the rows.",
        ),
        (
            IO, task(masses(2, "x0**2", 0, 1), row("x1**2", "bent")),
            f"{UNCERTAIN}that of 'bent' is not certain. Row 'bent': its relative degree is at "
            "least 3: nearby it is 2, but the motors lose their grip at this very state. Start "
            "beside this state.",
        ),
        (
            IO, task(masses(3, "x0**2", 0, 1), row("x0", "a"), row(BENT, "b")),
            f"{UNCERTAIN}that of 'a', 'b' together is not certain. Nearby they reach the inputs "
            "through more channels than here. Start beside this state.",
        ),
    ],
    ids=["dae", "stable", "flat", "grip lost here", "channel lost here"],
)  # fmt: skip
def test_rows_that_an_inversion_cannot_follow_are_refused(law, given, says):
    with pytest.raises(UkctrlError) as caught:
        law.start(given)
    assert str(caught.value) == says


def test_rows_that_repeat_each_other_are_named_with_their_time():
    equations = ServoDaeEquations(
        task(masses(2, "x0**2", 0, 1), row("x0", "a"), row("2*x0", "b")), "dae"
    )
    still = np.zeros(2)
    equations.evaluate(0.25, still, still, still, still)
    with pytest.raises(InputError) as caught:
        equations.projection()
    assert str(caught.value) == (
        "the task's rows must be independent; at t = 0.25 s 'a', 'b' are not. Drop the ones that "
        "repeat others."
    )


# Newton's method where it ends, with what is left at the last state that could be looked at.

STILL = np.zeros(1)


def looked_at_once(*errors):
    """Return equations of one mass and two rows with these errors, which fail the second time."""
    looks = 0

    def derivative(*_):
        nonlocal looks
        looks += 1
        if not errors or looks % 2 == 0:
            raise UkctrlError("no value here.")
        return DaeTerms(STILL, STILL, np.zeros(2), np.array(errors)), np.zeros((6, 4))

    return SimpleNamespace(
        n=1, m=2, kind="servo_dae", derivative=derivative,
        stack=SimpleNamespace(names=("a", "b"), units=("m", "")),
        robot=None, projection=lambda: np.zeros((0, 1)), residual=lambda *_: np.zeros(4),
        residual_jacobian=lambda *_: np.zeros((4, 4)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("errors", "says"),
    [
        ((), ""),
        ((0.25, -0.125), "row 'a' is off by 0.25 m; "),
        ((0.25, -0.5), "row 'b' is off by 0.5; "),
        ((0.25, np.nan), "row 'b' is no number; "),
        ((-np.inf, 0.5), "row 'a' is no number; "),
    ],
)
def test_a_step_that_cannot_be_made_says_which_row_is_left(errors, says):
    marcher = CollocationSolver(
        looked_at_once(*errors), radau_scheme(2), 0.1, "controller.along.step"
    )
    guess = CollocationStep(0.4, STILL, np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((2, 2)))
    with pytest.raises(InputError) as caught:
        marcher.step(0.4, STILL, STILL, guess)
    assert str(caught.value) == (
        "servo_dae finds no motion that keeps the rows from t = 0.4 s on: Newton's method does not "
        f"converge; {says}no value here. Shorten controller.along.step, smooth the path there, or "
        "bring it within reach; where the inner motion grows without bound, use kind = "
        '"stable_inversion".'
    )


def test_a_stable_inversion_that_finds_no_step_is_not_advised_itself():
    equations = looked_at_once(0.25, -0.5)
    equations.kind = "stable_inversion"
    marcher = CollocationSolver(equations, radau_scheme(2), 0.1, "controller.along.step")
    guess = CollocationStep(0.4, STILL, np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"^stable_inversion finds no .* within reach\.$"):
        marcher.step(0.4, STILL, STILL, guess)


def test_a_bounded_motion_that_is_not_found_says_what_is_left_and_why():
    """The mass rests where its row asks for 0, 2 and 4 m/s^2; no end says where it is."""
    path = row("x0 - 2*t**2 - 10*(t - 0.7)**3/3", "path")  # 4 + 20 (t - 0.7) m/s^2
    found = BoundaryValueSolver(
        ServoDaeEquations(task(masses(1, "0*x0", 0), path), "stable_inversion"), 0.4, 0.1, 2
    )
    guess = found.quasistatic_guess(np.zeros((4, 1)), np.zeros((4, 1)))
    nowhere = BoundaryCondition(STILL, np.zeros((1, 2)))
    with pytest.raises(InputError) as caught:
        found.solve(guess, (nowhere, nowhere))
    assert str(caught.value) == (
        "stable_inversion finds no bounded motion: Newton's method does not converge; at t = 0.7 s "
        "row 'path' is left with an acceleration error of 4; its matrix is singular. Make the path "
        "slower or smoother, or shorten controller.along.step."
    )
