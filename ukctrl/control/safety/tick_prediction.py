r"""What rows lose until the end of a tick under the input that is held, compiled.

That is predicted: the robot is evaluated in the middle of the tick and at its end.
"""

from __future__ import annotations

from typing import NamedTuple

from ukctrl.control.safety.barriers import Barriers
from ukctrl.control.safety.relaxation import absolute_dot
from ukctrl.core.algebra.block_diagonal import apply_input_blockwise
from ukctrl.core.algebra.factorisation import copy_into, long_dot
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import run
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.robot.manifold_kernels import integrate

ACTIVE_RTOL = 1e-7
"""A row binds within this part of its terms."""
MIDPOINT_FACTOR = 2.0
"""With the input a tick's losses change by up to so many times that of the midpoint rule: they grow
with the time, or its square."""


class StateArrays(NamedTuple):
    """A state of a robot, where its steps read it."""

    clock: Vector
    q: Vector
    v: Vector


class InputResponse(NamedTuple):
    """A robot's answer to its input at the tick."""

    blocks: Indices
    a_free: Vector
    G: Matrix
    L: Matrix
    motor_norms: Vector


class TickPredictor(NamedTuple):
    """What predicts the end of a tick."""

    period: float
    """[s]; zero: nothing is predicted."""
    tick_start: StateArrays
    tick_end: StateArrays
    joint_blocks: Indices
    """How configurations move."""
    step_table: Indices
    """What evaluates the robot and the rows there, under the input of the tick."""
    a: Vector
    rows: Rows


class QpBounds(NamedTuple):
    """What inputs must obey: ``low <= C u <= high``."""

    low: Vector
    """Lowest inputs."""
    high: Vector
    """Highest inputs."""
    C: Matrix
    """One row for every motor, every row of which quantities are made, and every force; the first
    are there, and the last."""
    zero_input_force: Vector
    """What forces are without any input."""
    row: Indices
    """Of every quantity to keep, which of these rows it is, forces last, shape ``(k,)``."""
    sign: Vector
    """And in which direction: 1 or -1."""
    lower_bound: Vector
    """What it must reach: written, for whoever tells why it cannot."""


class InequalityValues(NamedTuple):
    """What an input does to the quantities, shape ``(k,)`` where no other stands there."""

    row_values: Matrix
    """Rows with bounds times the input, and the sums of their terms, each without its sign; but
    for those of motors."""
    input_part: Vector
    """The row of each times the input, in its direction."""
    magnitude: Vector
    """The sum of its terms."""
    value: Vector
    """What each has, with all that acts without the input."""
    stage_losses: Matrix
    """What it loses until the middle of the tick, the same predicted again, and until its end,
    shape ``(3, k)``."""
    scratch: Matrix
    """The acceleration under it, and scratch, shape ``(3, max(nv, rows))``."""


@compiled
def evaluate_inequalities(
    bounds: QpBounds, u: Vector, free: Vector, values: InequalityValues
) -> None:
    """Write what all quantities have under an input, and without any, ``free``."""
    for i in range(len(u), len(bounds.C)):
        # once a row: several inequalities share it
        values.row_values[0, i], values.row_values[1, i] = (
            long_dot(bounds.C[i], u),
            absolute_dot(bounds.C[i], u),
        )
    for i in range(len(free)):
        row = bounds.row[i]
        values.input_part[i], values.magnitude[i] = (
            bounds.sign[i] * values.row_values[0, row],
            values.row_values[1, row],
        )
        values.value[i] = free[i] + values.input_part[i]


@compiled
def predict_losses(
    predictor: TickPredictor,
    barriers: Barriers,
    robot: InputResponse,
    u: Vector,
    begin: int,
    end: int,
    values: InequalityValues,
) -> bool:
    """Write what rows lose until stages of the tick, by a prediction of each; return whether there
    is one.

    The stages are those of Nyström's method of order 4.

    Args:
        predictor: What predicts.
        barriers: The rows.
        robot: At the tick.
        u: The input that is held.
        begin: The first stage; those before it were written for the same input.
        end: One past the last.
        values: What the input does at the tick; receives it.
    """
    nv, then = len(robot.a_free), values.scratch[2]
    first, displacement = values.scratch[0, :nv], values.scratch[1, :nv]
    if begin == 0:
        apply_input_blockwise(robot.blocks, robot.a_free, robot.G, u, first)
        copy_into(first, predictor.a)
    for stage in range(begin, end):
        step = predictor.period if stage == 2 else 0.5 * predictor.period
        for c in range(nv):
            pull = predictor.a[c] if stage == 2 else first[c]
            # Nyström's stages: positions by the first acceleration in the middle, by the last at
            # the end
            displacement[c] = step * (predictor.tick_start.v[c] + 0.5 * step * pull)
            predictor.tick_end.v[c] = predictor.tick_start.v[c] + step * predictor.a[c]
        integrate(
            predictor.joint_blocks, predictor.tick_start.q, displacement, predictor.tick_end.q
        )
        predictor.tick_end.clock[0] = predictor.tick_start.clock[0] + step
        # a state ahead at which the robot or a row is not defined
        if run(predictor.step_table) < 0:
            return False
        for k in range(len(predictor.rows.b)):
            then[k] = long_dot(predictor.rows.A[k], predictor.a) - predictor.rows.b[k]
        for i in range(len(barriers.row)):
            values.stage_losses[stage, i] = (
                values.value[i] - barriers.sign[i] * then[barriers.row[i]]
            )
    return True


@compiled
def average_losses(
    barriers: Barriers, stages: int, less: Matrix, gap: Vector, lost: Vector
) -> None:
    """Write what each row loses until the end of the tick, zero or more: on average, or of a row of
    the acceleration itself at the most.

    All stages count with the weights of Nyström's method. The first alone counts with those of the
    midpoint rule, to which ``gap`` is added: by how much that fell short when all were known.
    """
    for i in range(len(barriers.row)):
        middle, again, end, is_maximum = less[0, i], less[1, i], less[2, i], barriers.degree[i] == 0
        # a row of the acceleration counts at its worst stage: a line through the middle doubles at
        # the end
        by_middle = 2.0 * middle if is_maximum else middle
        if stages == 3:
            total = max(middle, again, end) if is_maximum else (middle + again) / 3.0 + end / 6.0
            # so that later passes need the middle stage alone
            gap[i] = total - by_middle
        # a gain within the tick gives no leave to come nearer now
        lost[i] = max(by_middle + gap[i], 0.0)


@compiled
def prediction_change(
    values: InequalityValues, lower_bound: Vector, size: Vector, previous_loss: Vector, lost: Vector
) -> float:
    """Return by which part of its size that is changed which a row asks of the input.

    Rows count that bind, and those that the input does not obey any more: without any, it stays.
    """
    change = 0.0
    for i in range(len(lost)):
        spare, more = (
            values.value[i] - lower_bound[i] - previous_loss[i],
            lost[i] - previous_loss[i],
        )
        # a loss that falls counts only of rows that bind: others do not feel it
        less = -more if spare <= ACTIVE_RTOL * (size[i] + values.magnitude[i]) else 0.0
        change = max(change, max(more - max(spare, 0.0), less) / size[i])
    return change
