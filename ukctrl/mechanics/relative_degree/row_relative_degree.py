r"""How often a servo row must be differentiated until the input appears.

A row with grip has relative degree 2 (1 if it is one on velocities). A row without is tried out:
the robot is let go from a state with a constant input and without, and the difference of the row's
error grows as

$$ \Delta y(\tau) = L_G L_f^{r-1} y \; u \; \frac{\tau^r}{r!} + O(\tau^{r+1}), $$

so that its slope over $\log \tau$ is the relative degree $r$ itself, whatever the robot. The motion
is integrated by extrapolation to order 14, which also says how exact it is; a slope counts
only far above that noise, and only where states nearby have the same.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.input_authority import row_authorities
from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree.advice import elastic_advice
from ukctrl.mechanics.relative_degree.step_response import (
    LONGEST,
    UNDECIDED,
    StepResponse,
    response_orders,
)
from ukctrl.mechanics.relative_degree.vector_degree import (
    VectorRelativeDegree,
    vector_relative_degree,
)
from ukctrl.robot import Robot
from ukctrl.uk import rank_report

MAX_VELOCITIES = 100
"""Robots with more velocities than this are not tried out, which would take minutes."""
NEIGHBOURS = 3
"""States nearby that must agree."""
PERTURBATION = 0.05
"""How far they are, in each coordinate and velocity [rad, m, rad/s, m/s]."""


@dc.dataclass(frozen=True, kw_only=True)
class RelativeDegree:
    """What is known of one row at one state."""

    name: str
    """The row."""
    value: int | None
    """The relative degree; None where it is not certain."""
    at_least: int
    """What it is at least at this state."""
    note: str = ""
    """Why it is not certain."""
    direct: int = 2
    """What it is where motors have grip: 2, or 1 of a row on velocities."""

    @property
    def is_direct(self) -> bool:
        """Whether motors have grip on the row."""
        return self.value is not None and self.value <= self.direct

    def __str__(self) -> str:
        """Return the number, or ``at least`` and a number."""
        return str(self.value) if self.value is not None else f"at least {self.at_least}"

    @property
    def sentence(self) -> str:
        """What a user should know of it."""
        return f"its relative degree is {self}{': ' if self.note else ''}{self.note}."


def relative_degrees(
    dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector, least: float | None = None
) -> tuple[RelativeDegree, ...]:
    """Return the relative degree of every servo row at a state.

    Args:
        dynamics: The robot; it is moved about, and left at the state.
        servo: The rows, attached to the same robot.
        t: Time [s].
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        least: Grip that is not above this counts as none; absent: as the robot's rank policy has
            it.
    """
    q, v = np.array(q), np.array(v)
    base = np.where(servo.holonomic, 2, 1)
    least = dynamics.rank.servo if least is None else least
    grips = _row_authorities(dynamics, servo, t, q, v)
    grip_mask = grips > least
    degrees = [
        RelativeDegree(
            name=name,
            value=int(k) if grip else None,
            at_least=int(k if grip else k + 1),
            direct=int(k),
        )
        for name, k, grip in zip(servo.names, base, grip_mask, strict=True)
    ]
    loose = np.flatnonzero(~grip_mask)
    if loose.size:
        # rows that motors do move, too weakly to count: taken out, or they would answer first
        weak = np.flatnonzero(~grip_mask & (grips > RANK.servo))
        _measure_degrees(dynamics, servo, t, q, v, UnreachedRows(loose, weak, least), degrees)
        dynamics.move(t, q, v)
        servo.write(dynamics.snapshot)
    return tuple(degrees)


def explain_unreachable_rows(
    dynamics: Dynamics, servo: Stack, rows: Sequence[str], t: float, q: Vector, v: Vector
) -> str:
    """Return what the relative degree says about rows that are out of reach; empty if nothing."""
    try:
        degrees = relative_degrees(dynamics, servo, t, q, v)
    except (UkctrlError, ArithmeticError, ValueError):
        return ""
    whole = shared_channel_degree(dynamics, servo, t, q, v, degrees)
    if whole is not None and whole.extended and whole.orders is not None:
        sentence = whole.sentence
        return f"{sentence[0].upper()}{sentence[1:]} {whole.advice}"
    high = [one for one in degrees if one.name in rows and not one.is_direct]
    sentence = " ".join(f"Row '{one.name}': {one.sentence}" for one in high)
    if all(one.value is None for one in high):
        return sentence
    return f"{sentence} {advice(dynamics.robot, whole)}"


def shared_channel_degree(
    dynamics: Dynamics,
    servo: Stack,
    t: float,
    q: Vector,
    v: Vector,
    degrees: Sequence[RelativeDegree],
) -> VectorRelativeDegree | None:
    """Return how the rows reach the inputs together; None where that is no question, or unclear.

    It is none where every row has grip of its own, where rows depend on each other, and where
    there are more of them than inputs. ``degrees`` is what `relative_degrees` returns of the other
    arguments.
    """
    q, v = np.array(q), np.array(v)
    dynamics.move(t, q, v)
    A, m = servo.write(dynamics.snapshot).A, len(servo)
    rank = dynamics.rank.servo
    # more rows than inputs, or dependent ones, have no vector degree to ask for
    if m > dynamics.robot.nu or rank_report(A, servo.names, rank).rank < m:
        return None
    if dynamics.servo_report(A, servo.names).rank == m:
        return None
    try:
        return vector_relative_degree(dynamics, servo, t, q, v, [one.value for one in degrees])
    except (UkctrlError, ArithmeticError, ValueError):
        return None


def advice(robot: Robot, whole: VectorRelativeDegree | None) -> str:
    """Return what to do about rows without grip."""
    springs = elastic_advice(robot)
    if springs or whole is None:
        return springs
    return whole.advice


def _row_authorities(dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector) -> Vector:
    """Return the grip of every row at a state, shape ``(m,)``."""
    dynamics.move(t, q, v)
    A = servo.write(dynamics.snapshot).A
    return row_authorities(A @ dynamics.G, dynamics.lengths(A))


class UnreachedRows(NamedTuple):
    """Rows that motors do not reach by accelerations, as numbers of the stack."""

    loose: Indices
    weak: Indices
    """Those that some motor does move, too weakly to count: its authority is left out."""
    threshold: float
    """Authority above which a row counts as reached."""


def _measure_degrees(
    dynamics: Dynamics,
    servo: Stack,
    t: float,
    q: Vector,
    v: Vector,
    rows: UnreachedRows,
    degrees: list[RelativeDegree],
) -> None:
    """Complete the degrees of rows that no motor reaches at once, in place."""
    loose, weak, threshold = rows
    if dynamics.robot.nv > MAX_VELOCITIES:
        note = f"robots with more than {MAX_VELOCITIES} velocities are not tried out"
        for row in loose.tolist():
            degrees[row] = dc.replace(degrees[row], note=note)
        return
    orders = response_orders(StepResponse(dynamics, servo, loose, t, q, v, weak))
    nearby = []
    regained = np.zeros(len(loose), dtype=bool)
    for q_near, v_near in _neighbours(dynamics, t, q, v):
        with contextlib.suppress(UkctrlError):  # not every state nearby need be possible
            regained |= _row_authorities(dynamics, servo, t, q_near, v_near)[loose] > threshold
            # an order counts only where the neighbours have it too
            nearby.append(
                response_orders(StepResponse(dynamics, servo, loose, t, q_near, v_near, weak))
            )
    for k, row in enumerate(loose.tolist()):
        degree, order = degrees[row], orders[k]
        nearby_orders = {at[k] for at in nearby}
        generic = degree.at_least - 1
        # a single state where authority vanishes says little: its neighbours decide
        if regained[k]:
            note = f"nearby it is {generic}, but the motors lose their grip at this very state"
            degrees[row] = dc.replace(degree, note=note)
        elif order is None and nearby_orders <= {None}:
            note = f"no input was seen to move it within {LONGEST:g} s"
            degrees[row] = dc.replace(degree, note=note)
        elif order not in (None, UNDECIDED) and nearby_orders == {order}:
            degrees[row] = dc.replace(degree, value=order, at_least=order)
        else:
            note = "it differs between this state and others nearby, or could not be told"
            degrees[row] = dc.replace(degree, note=note)


def _neighbours(dynamics: Dynamics, t: float, q: Vector, v: Vector) -> list[tuple[Vector, Vector]]:
    """Return states nearby that keep the passive constraints."""
    robot, rng = dynamics.robot, np.random.default_rng(0)
    states = []
    for _ in range(NEIGHBOURS):
        step, push = rng.uniform(-PERTURBATION, PERTURBATION, (2, robot.nv))
        q_near, v_near = robot.integrate(q, step), v + push
        if len(dynamics.passive):
            try:
                solved = consistent_state(dynamics.passive, q_near, v_near, t, rank=dynamics.rank)
            except UkctrlError:
                continue
            q_near, v_near = solved.q, solved.v
        states.append((q_near, v_near))
    return states
