"""What becomes of the motion that a task leaves: each sentence, whole, from hand-made systems."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.analysis.internal_dynamics.internal_motion import classify_growth
from ukctrl.analysis.internal_dynamics.internal_verdict import (
    INVERSION_REMEDY,
    PLANNED_TEXT,
    VerdictInputs,
    internal_verdict,
    linear_behaviour_text,
    null_space_advice,
)
from ukctrl.analysis.internal_dynamics.local_dynamics import modes
from ukctrl.control.allocation.least_norm import LeastNorm

ROBOT = Robot.load("two_link")
NULL_SPACE_REMEDY = f"The motors can hold this state: {null_space_advice()}."
PERHAPS_NULL_SPACE_REMEDY = (
    f"Perhaps the motors can hold this state: {null_space_advice()}. If it moves away all the "
    "same, no input holds it beside these rows: hold others."
)
Q = np.array([0.1, 0.2])


def near(A, positions=1, q=Q, zeros=(), free=0, fixed=True, states=("elbow",)):
    A = np.atleast_2d(np.asarray(A, dtype=float))
    return SimpleNamespace(
        A=A, q=q, modes=modes(A, positions), moving="elbow", fixed=fixed, free=free, states=states
    )


def pole(*values):
    """Return a system with these real poles."""
    return near(np.diag(values), 0)


def oscillator(stiffness, damping=0.0):
    return near([[0.0, 1.0], [-stiffness, -damping]])


SETTLES, RUNS = pole(-2.0), pole(3.0)
FATES = [
    (near(np.zeros((0, 0)), 0), "no state is left undetermined"),
    (
        RUNS,
        "'elbow' drifts away: internal dynamics has an unstable pole at +3 rad/s (twice as far "
        "every 0.23 s)",
    ),
    (
        oscillator(4.0, -1.0),
        "'elbow' drifts away: internal dynamics has an unstable pair of poles at +0.5 ± 1.94j "
        "rad/s (twice as far every 1.4 s)",
    ),
    (
        near([[0.0, 1.0], [0.0, 0.0]]),
        "'elbow' goes on at constant speed once it moves: internal dynamics has a double pole at 0",
    ),
    (
        near([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
        "'elbow' drifts ever faster: internal dynamics has a 3-fold pole at 0",
    ),
    (
        oscillator(4.0),
        "'elbow' oscillates without decay after a push: undamped at 2 rad/s",
    ),
    (pole(0.0, -2.0), "'elbow' stays where it is pushed: internal dynamics has a pole at 0"),
    (
        SETTLES,
        "the internal dynamics settles: its slowest pole is -2 rad/s (time constant 0.5 s)",
    ),
    (
        oscillator(4.0, 1.0),
        "the internal dynamics settles: its slowest pole is -0.5 ± 1.94j rad/s (time constant 2 s)",
    ),
]


@pytest.mark.parametrize(("system", "text"), FATES)
def test_what_becomes_of_a_small_push(system, text):
    assert linear_behaviour_text(system) == text


def found(**given):
    plain = {
        "dimension": 2, "free": 0, "grip": True, "periodic": None, "along": (), "rests": (),
        "path_moves": False, "motion": None,
    }  # fmt: skip
    return SimpleNamespace(**plain | given)


def said(prepared=False, rows=2, allocates=True, **given):
    allocation = LeastNorm() if allocates else None
    return internal_verdict(VerdictInputs(found(**given), ROBOT, Q, rows, prepared, allocation))


def run(fate="settles", ended="", moved=0.0, factor=0.5, grows=None):
    """Return a motion over 4 s whose second coordinate moves so far, and a push that it meets."""
    t = np.linspace(0.0, 4.0, 41)
    course = np.ones_like(t) if grows is None else grows(t)
    travelled = np.column_stack([0.0 * t, moved * course])
    return SimpleNamespace(
        times=t, moved=travelled, pushed=travelled + np.array([0.0, 0.1]),
        coordinates=("shoulder", "elbow"),
        fate=fate, factor=factor, ended=ended, largest_displacement=lambda: ("elbow", 0.25, "rad"),
    )  # fmt: skip


NOTHING = "the task determines the whole motion: there is no internal dynamics."
FREE = (
    "inputs can move {} 2 internal states without disturbing the rows, and the law determines "
    "their motion"
)
DRIFTS_AWAY = f"the task is followed, but {linear_behaviour_text(RUNS)}."
COMES_BACK = f"the task is followed, and {linear_behaviour_text(SETTLES)}."


def cycle(multiplier):
    return SimpleNamespace(multipliers=np.array([multiplier, 0.1]), period=1.5)


AWAY = near(np.diag([-2.0]), 0, q=Q + np.array([0.0, 0.5]))
AROUND = "'elbow' +0.5 rad away"
VERDICTS = [
    ({"dimension": 0}, "none", NOTHING),
    (
        {"dimension": 0, "rows": 3}, "none",
        f"{NOTHING} It asks for 3 independent rows of motors: 2, which can keep a state of rest "
        "at most.",
    ),
    (
        {"free": 2, "grip": False}, "none",
        f"no state is left undetermined: {FREE.format('all')}.",
    ),
    (
        {"periodic": cycle(1.01)}, "runs_away",
        "the task is followed, but the internal dynamics has an unstable periodic motion: "
        f"Floquet multiplier 1.01 over the period of 1.5 s. {INVERSION_REMEDY}",
    ),
    (
        {"periodic": cycle(-1.01), "prepared": True}, "runs_away",
        "the task is followed, but the internal dynamics has an unstable periodic motion: "
        f"Floquet multiplier 1.01 over the period of 1.5 s. {PLANNED_TEXT}",
    ),
    (
        {"periodic": cycle(0.99)}, "settles",
        "the task is followed, and the internal dynamics converges to a periodic motion: Floquet "
        "multiplier 0.99 over the period of 1.5 s.",
    ),
    (
        {"periodic": cycle(1.0)}, "stays",
        "the task is followed, and the internal dynamics stays near a periodic motion, without "
        "convergence to it: Floquet multiplier 1 over the period of 1.5 s.",
    ),
    ({"rests": (SETTLES,)}, "settles", COMES_BACK),
    ({"rests": (RUNS,)}, "runs_away", f"{DRIFTS_AWAY} {INVERSION_REMEDY}"),
    ({"rests": (RUNS,), "prepared": True}, "runs_away", f"{DRIFTS_AWAY} {PLANNED_TEXT}"),
    (
        {"rests": (SETTLES,), "path_moves": True}, "settles",
        f"{COMES_BACK} For this result the path is held at rest.",
    ),
    (
        {"rests": (SETTLES,), "free": 1, "grip": False}, "settles",
        f"{COMES_BACK} In addition, {FREE.format('1 of the')}.",
    ),
    (
        {"rests": (near([[3.0]], 0, free=1, fixed=False),), "free": 1}, "runs_away",
        f"{DRIFTS_AWAY} 1 of the 2 internal states are free for the null space: the allocation "
        f"determines their poles. {NULL_SPACE_REMEDY}",
    ),
    (  # a law without an allocation cannot be given another
        {"rests": (near([[3.0]], 0, free=1, fixed=False),), "free": 1, "allocates": False},
        "runs_away",
        f"{DRIFTS_AWAY} 1 of the 2 internal states are free for the null space: this is what a "
        "servo law of least effort makes of them, and this controller moves them by a rule of its "
        "own.",
    ),
    (
        {"motion": run(moved=1.0, grows=lambda t: t), "free": 1, "allocates": False}, "drifts",
        "the task is followed, but 'elbow' moves away steadily: 0.25 rad in 4 s; no state of rest "
        "was found that keeps the task.",
    ),
    (
        {"rests": (AWAY,)}, "settles",
        f"{COMES_BACK} This holds about the state of rest next to the start, {AROUND}.",
    ),
    (
        {"rests": (AWAY,), "motion": run(factor=0.25)}, "settles",
        "the task is followed, and the internal dynamics returns after a push: 0.25 times the "
        f"push after 4 s. About the state of rest next to the start, {AROUND}: "
        f"{linear_behaviour_text(SETTLES)}.",
    ),
    (
        {"rests": (SETTLES, near([[3.0]], 0, q=Q - np.array([0.25, 0.0])))}, "settles",
        f"{COMES_BACK} About another state of rest, 'shoulder' -0.25 rad away: "
        f"{linear_behaviour_text(RUNS)}.",
    ),
    (
        {"along": (SETTLES, SETTLES), "path_moves": True}, "settles", COMES_BACK,
    ),
    # A motion on a path at rest is judged as one, unless it runs away itself.
    ({"along": (SETTLES, SETTLES), "motion": run(moved=1.0)}, "settles", COMES_BACK),
    (
        {"along": (SETTLES, SETTLES), "motion": run(moved=1.0, grows=lambda t: np.exp(2.0 * t))},
        "runs_away",
        "the task is followed, but 'elbow' moves away ever faster: 0.25 rad in 4 s; no state of "
        "rest was found that keeps the task.",
    ),
    (
        {"along": (SETTLES, RUNS), "path_moves": True}, "settles",
        f"{COMES_BACK} This holds with time frozen at the start, which is no proof for the motion.",
    ),
    (
        {"along": (SETTLES, RUNS), "path_moves": True, "motion": run("drifts", "at its end.")},
        "drifts",
        "the task is followed, but 'elbow' drifts away steadily after a push: 0.5 times the push "
        "after 4 s. The motion ends early: at its end.",
    ),
    (
        {"along": (SETTLES, RUNS), "path_moves": True, "motion": run("runs_away"),
         "rests": (SETTLES,)},
        "runs_away",
        "the task is followed, but 'elbow' departs from its motion ever faster after a push: 0.5 "
        f"times the push after 4 s. With the path held at rest, {linear_behaviour_text(SETTLES)}. "
        f"{INVERSION_REMEDY}",
    ),
    (
        {"along": (SETTLES, RUNS), "path_moves": True, "motion": run("stays")}, "stays",
        "the task is followed, and 'elbow' stays near its motion after a push, without return.",
    ),
    (
        {"along": (oscillator(4.0), RUNS), "path_moves": True, "motion": run("stays")}, "swings",
        "the task is followed, but 'elbow' stays near its motion after a push, without return.",
    ),
    (
        {"along": (SETTLES, RUNS), "path_moves": True, "motion": run(factor=1e-7)}, "settles",
        "the task is followed, and the internal dynamics returns after a push: less than 1e-06 "
        "times the push after 4 s.",
    ),
    (
        {"along": (RUNS, SETTLES), "rests": (near([[3.0]], 0, q=Q + np.array([0.0, 0.01])),),
         "path_moves": True, "motion": run(moved=1.0, grows=lambda t: t)},
        "runs_away",
        f"{DRIFTS_AWAY} This holds with the path at rest; along the path the state moves away "
        f"too. {INVERSION_REMEDY}",
    ),
    (  # along a motion alone it is not known whose the pole is
        {"along": (RUNS, RUNS), "path_moves": True, "free": 1}, "runs_away",
        f"{DRIFTS_AWAY} 1 of the 2 internal states are free for the null space: the allocation "
        f"determines their poles. {PERHAPS_NULL_SPACE_REMEDY}",
    ),
    ({}, None,
        "2 states are internal: the rows do not determine them, and no state of rest was found "
        "that keeps the task."),
    (
        {"motion": run(moved=1.0, grows=lambda t: np.exp(2.0 * t), ended="it has run away.")},
        "runs_away",
        "the task is followed, but 'elbow' moves away ever faster: 0.25 rad in 4 s; no state of "
        "rest was found that keeps the task. The motion ends early: it has run away.",
    ),
    (
        {"motion": run(moved=1.0, grows=lambda t: t), "free": 1}, "drifts",
        "the task is followed, but 'elbow' moves away steadily: 0.25 rad in 4 s; no state of rest "
        f"was found that keeps the task. {NULL_SPACE_REMEDY}",
    ),
    (
        {"motion": run(moved=1.0)}, "stays",
        "the task is followed, and 'elbow' keeps moving within bounds: 0.25 rad in 4 s; no state "
        "of rest was found that keeps the task.",
    ),
    (
        {"motion": run(moved=1.0, grows=lambda t: np.exp(-t))}, "settles",
        "the task is followed, and 'elbow' comes back: 0.25 rad in 4 s; no state of rest was found "
        "that keeps the task.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "text"), VERDICTS)
def test_what_a_task_leaves_in_a_sentence(given, kind, text):
    assert said(**given) == (kind, text)


COURSES = [
    (lambda t: np.exp(t), "runs_away"),
    (lambda t: 1.0 + t, "drifts"),
    (lambda t: 1.0 + 0.0 * t, "stays"),
    (lambda t: np.exp(-t), "settles"),
    (lambda t: 1.0 + 0.5 * np.sin(40.0 * t), "stays"),
]


@pytest.mark.parametrize(("course", "fate"), COURSES)
def test_what_becomes_of_a_deviation_is_told_from_its_quarters(course, fate):
    t = np.linspace(0.0, 4.0, 401)
    assert classify_growth(t, course(t))[0] == fate


def test_the_rate_of_a_deviation_is_that_of_its_exponential():
    t = np.linspace(0.0, 4.0, 401)
    assert classify_growth(t, np.exp(0.5 * t))[1] == pytest.approx(0.5, rel=0.02)
    far = np.where(t < 1.0, 0.01, 10.0)
    assert classify_growth(t, np.ones_like(t), far)[0] == "runs_away"
