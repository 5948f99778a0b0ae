"""Where the motors' grip of servo rows is weakest, at the start and along the motion."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping

import numpy as np

from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.feasibility import InputCurves
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.core.algebra.input_authority import (
    WEAK_AUTHORITY,
    AuthorityLevel,
    InputAuthority,
    authority_text,
)
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import TIE_RTOL
from ukctrl.mechanics.relative_degree import recommend_law, relative_degrees
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.result.verdicts.authority_cost import authority_cost


@dc.dataclass(frozen=True, kw_only=True)
class WeakAuthority:
    """A grip that is not firm, where it is least."""

    row: str
    hold: AuthorityLevel
    weakest: float
    """Of what the motors could do to it were the robot free."""
    at: float
    """When [s]."""
    text: str
    """The same as a sentence, with what it costs and the way out."""


def weakest_authority(
    loop: Loop,
    motion: TaskMotion,
    loads: InputCurves | None,
    inputs: Mapping[str, float],
    lifts: ContactSchedule | None = None,
) -> WeakAuthority | None:
    """Return where the grip is weakest; None where it is firm, and where there are no rows.

    Args:
        loop: The scenario, ready to run.
        motion: The motion that its task asks for.
        loads: The inputs along it.
        inputs: The first input, by actuator.
        lifts: Which rows are served when; absent: all of them always.
    """
    stack = loop.servo
    states = [(loop.t0, loop.state.q, loop.state.v)]
    states += zip(motion.t.tolist(), motion.q, motion.v, strict=True)
    index, min_sigma = 0, WEAK_AUTHORITY
    grip: InputAuthority | None = None
    for k, (t, q, v) in enumerate(states if len(stack) else ()):
        dynamics = loop.plant_at(t)
        dynamics.move(t, q, v)
        served = lifts.phase_at(t).rows if lifts else stack
        A = served.write(dynamics.snapshot).A
        if dynamics.firm(A, np.zeros(len(A))):
            continue
        authority = dynamics.grip(A, served.names)
        if authority.weakest < (1.0 - TIE_RTOL) * min_sigma:
            min_sigma, index, grip = authority.weakest, k, authority
    if grip is None or (grip.level == "lost" and not loop.scenario.controller.needs_grip):
        return None
    t, q, v = states[index]
    words = f"{authority_text(grip.level, grip.row, grip.weakest)} (t = {t:.4g} s)"
    price = (
        _input_cost(loop, t, q, v, _known_inputs(loop, loads, inputs))
        if grip.level == "weak"
        else ""
    )
    text = f"{words}{': ' if price else ''}{price}.{_remedy(loop, grip, t, q, v)}"
    return WeakAuthority(row=grip.row, hold=grip.level, weakest=grip.weakest, at=t, text=text)


def _known_inputs(loop: Loop, loads: InputCurves | None, inputs: Mapping[str, float]) -> Matrix:
    """Return the inputs of the law as far as they are known, shape ``(k, nu)``."""
    first = [inputs.get(name, 0.0) for name in loop.robot.actuators]
    input_rows = [first] if loads is None else [first, *loads.law, *loads.needed]
    input_matrix: Matrix = np.nan_to_num(input_rows)
    return input_matrix


def _input_cost(loop: Loop, t: float, q: Vector, v: Vector, u: Matrix) -> str:
    dynamics, robot = loop.plant_at(t), loop.robot
    dynamics.move(t, q, v)
    low, high = robot.input_bounds(v @ dynamics.snapshot.B)
    weights = dynamics.lengths(np.zeros((0, robot.nv))).weights
    limits = np.maximum(np.abs(low), np.abs(high))
    return authority_cost(robot.actuators, robot.actuator_units, u, limits, weights)


def _remedy(loop: Loop, grip: InputAuthority, t: float, q: Vector, v: Vector) -> str:
    """Return what serves the row without its weak grip: its relative degree then, and laws."""
    stack, dynamics = loop.servo, loop.plant_at(t)
    if grip.level == "lost":
        return ""  # told of every row, with its relative degree
    degrees = relative_degrees(dynamics, stack, t, q, v, least=WEAK_AUTHORITY)
    for degree in degrees:
        if degree.name == grip.row and degree.value is not None and degree.value > 2:
            advice = recommend_law(None, False, degree.value, len(stack), loop.robot.nu)
            tol = f"{10.0 * grip.weakest:.0e}"
            return (
                f" With rank.servo = {tol} that counts as none, and the relative degree of the "
                f"row is {degree.value}. {advice}"
            )
    return " Inputs grow as its inverse: lead the task elsewhere, or add a motor."
