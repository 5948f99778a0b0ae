"""Where the motors' grip of servo rows is weakest, at the start and along the motion."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping

import numpy as np

from ukctrl.analysis.check.feasibility import Loads
from ukctrl.analysis.check.planned_lifts import Lifts
from ukctrl.analysis.check.task_motion import Motion
from ukctrl.core.algebra.grip import WEAK, Grip, Hold, said
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.extremes import EQUAL_RTOL
from ukctrl.mechanics.relative_degree import relative_degrees, solved_by
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.result.verdicts.weak_grip import cost


@dc.dataclass(frozen=True, kw_only=True)
class WeakGrip:
    """A grip that is not firm, where it is least."""

    row: str
    hold: Hold
    weakest: float
    """Of what the motors could do to it were the robot free."""
    at: float
    """When [s]."""
    text: str
    """The same as a sentence, with what it costs and the way out."""


def weakest_grip(
    loop: Loop,
    motion: Motion,
    loads: Loads | None,
    inputs: Mapping[str, float],
    lifts: Lifts | None = None,
) -> WeakGrip | None:
    """Return where the grip is weakest; None where it is firm, and where there are no rows.

    Args:
        loop: The scenario, ready to run.
        motion: The motion that its task asks for.
        loads: The inputs along it.
        inputs: The first input, by actuator.
        lifts: Which rows are served when; absent: all of them always.
    """
    stack = loop.recorder.servo
    states = [(loop.t0, loop.state.q, loop.state.v)]
    states += zip(motion.t.tolist(), motion.q, motion.v, strict=True)
    place, least = 0, WEAK
    grip: Grip | None = None
    for k, (t, q, v) in enumerate(states if len(stack) else ()):
        dynamics = loop.truth_at(t)
        dynamics.move(t, q, v)
        served = lifts.at(t).served if lifts else stack
        A = served.write(dynamics.snapshot).A
        if dynamics.firm(A, np.zeros(len(A))):
            continue
        now = dynamics.grip(A, served.names)
        if now.weakest < (1.0 - EQUAL_RTOL) * least:
            least, place, grip = now.weakest, k, now
    if grip is None or (grip.hold == "lost" and not loop.scenario.controller.needs_grip):
        return None
    t, q, v = states[place]
    words = f"{said(grip.hold, grip.row, grip.weakest)} (t = {t:.4g} s)"
    price = _price(loop, t, q, v, _known(loop, loads, inputs)) if grip.hold == "weak" else ""
    text = f"{words}{': ' if price else ''}{price}.{_way_out(loop, grip, t, q, v)}"
    return WeakGrip(row=grip.row, hold=grip.hold, weakest=grip.weakest, at=t, text=text)


def _known(loop: Loop, loads: Loads | None, inputs: Mapping[str, float]) -> Matrix:
    """Return the inputs of the law as far as they are known, shape ``(k, nu)``."""
    first = [inputs.get(name, 0.0) for name in loop.robot.actuators]
    every = [first] if loads is None else [first, *loads.law, *loads.needed]
    known: Matrix = np.nan_to_num(every)
    return known


def _price(loop: Loop, t: float, q: Vector, v: Vector, u: Matrix) -> str:
    dynamics, robot = loop.truth_at(t), loop.robot
    dynamics.move(t, q, v)
    low, high = robot.input_bounds(v @ dynamics.snapshot.B)
    weights = dynamics.lengths(np.zeros((0, robot.nv))).weights
    limits = np.maximum(np.abs(low), np.abs(high))
    return cost(robot.actuators, robot.actuator_units, u, limits, weights)


def _way_out(loop: Loop, grip: Grip, t: float, q: Vector, v: Vector) -> str:
    """Return what serves the row without its weak grip: its relative degree then, and laws."""
    stack, dynamics = loop.recorder.servo, loop.truth_at(t)
    if grip.hold == "lost":
        return ""  # told of every row, with its relative degree
    degrees = relative_degrees(dynamics, stack, t, q, v, least=WEAK)
    for degree in degrees:
        if degree.name == grip.row and degree.value is not None and degree.value > 2:
            ways = solved_by(None, False, degree.value, len(stack), loop.robot.nu)
            least = f"{10.0 * grip.weakest:.0e}"
            return (
                f" With rank.servo = {least} that counts as none, and the relative degree of the "
                f"row is {degree.value}. {ways}"
            )
    return " Inputs grow as its inverse: lead the task elsewhere, or add a motor."
