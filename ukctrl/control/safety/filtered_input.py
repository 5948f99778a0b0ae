r"""The input that keeps what is to be kept, and is otherwise as near to the law's as can be.

With $a = a_\mathrm{free} + G u$ every row to keep is $C u \ge l$. Of all inputs within the motors'
limits that obey them, those are taken that leave the servo rows what the law gave them, block
after block, and of those the nearest to the law's in the metric of the allocation: one
lexicographic program.

What a row asks for depends on what it loses until the end of the tick, and that on the input: so
the end is predicted, the program solved, and the end predicted with its input, until that changes
no more. The directions and factors of a tick's programs are the same, and each begins with the
limits that bind in the one before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.safety.barriers import Barriers, FilterDiagnostics
from ukctrl.control.safety.relaxation import RELAXATION_RTOL, RelaxationOrder, relax_inequalities
from ukctrl.control.safety.tick_prediction import (
    ACTIVE_RTOL,
    MIDPOINT_FACTOR,
    InequalityValues,
    InputResponse,
    QpBounds,
    TickPredictor,
    average_losses,
    evaluate_inequalities,
    predict_losses,
    prediction_change,
)
from ukctrl.core.algebra.block_diagonal import apply_input_blockwise
from ukctrl.core.algebra.factorisation import copy_into, dot, gather_rows, long_dot, matvec
from ukctrl.core.algebra.input_authority import authority_scales_from, zero_uncontrolled_rows
from ukctrl.core.algebra.lexicographic_qp import (
    LexicographicQP,
    factor_lexicographic,
    solve_lexicographic,
)
from ukctrl.core.algebra.sparse_products import matmul, matmul_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.mechanics.constraints.constraint import Rows

MAX_PREDICTIONS = 6
"""So often at most the end of a tick is predicted anew, each time with the input found before."""
PREDICTION_RTOL = 1e-8
"""A prediction that changes by less than this part of what is asked needs no further pass."""
CONTRACTION_SAFETY = 0.1
"""Changes shrink from pass to pass by much the same factor; one that is foreseen to be so far below
`PREDICTION_RTOL` is not looked at."""
INFEASIBLE, PREDICTION_FAILED = -1, -2
"""No input keeps what may not give way; the robot cannot be predicted, and its steps know why."""
VIOLATED, VIOLATED_AT_END = 1, 2
"""The law's input does not keep everything; or not until the end of the tick, which is known."""


class ServoRows(NamedTuple):
    """The servo rows, in the order in which they give way, the last first."""

    A: Matrix
    order: Indices
    ends: NDArray[np.int64]
    scale: Vector
    root_inverse: Matrix
    """Freedoms of the input, in the metric in which it is near to another."""
    rtol: float
    """Below this, grip counts as lost."""


class FilterState(NamedTuple):
    """What is known of the quantities from one prediction to the next, shape ``(k,)`` each."""

    loss: Vector
    """What they lose until the end of the tick."""
    previous_loss: Vector
    """What that was taken to be when the input was looked for."""
    quadrature_correction: Vector
    """By how much it is more than the middle of the tick tells."""
    relaxation: Vector
    """By how much they give way."""
    relaxed_bound: Vector
    """What their rows are kept to."""
    zero_input_value: Vector
    """What they have without any input."""
    magnitude: Vector
    """Terms of what is asked, each without its sign."""


@compiled
def solve_in_bounds(
    lex: LexicographicQP, bounds: QpBounds, lower_bound: Vector, limits: Matrix, u: Vector
) -> bool:
    """Set the program's bounds and solve it; return whether an input was found.

    ``u`` receives the input within limits that obeys all rows with bounds and serves the levels.
    Quantities of one row are one row with a lowest and a highest value, in ``limits``.
    """
    nu = len(u)
    for c in range(limits.shape[1]):
        limits[0, c], limits[1, c] = -np.inf, np.inf
    for c in range(nu):
        limits[0, c], limits[1, c] = bounds.low[c], bounds.high[c]
    for i in range(len(lower_bound)):
        c = bounds.row[i]
        if bounds.sign[i] > 0.0:
            # several inequalities may be of one row: the tightest counts
            limits[0, c] = max(limits[0, c], lower_bound[i])
        else:
            limits[1, c] = min(limits[1, c], -lower_bound[i])
    is_solved = solve_lexicographic(lex, limits[0], limits[1], u)
    for c in range(nu):
        # the last bits: motors must not be asked for more than they have
        u[c] = min(max(u[c], bounds.low[c]), bounds.high[c])
    return bool(is_solved)


@allocating
def factor_servo_qp(
    served: ServoRows, robot: InputResponse, bounds: QpBounds, u_nominal: Vector
) -> LexicographicQP:
    """Build the safety filter's quadratic program: leave the servo rows what the law gives them,
    level by level, and then be as near to its input as can be; bounds are set at each solution.
    """
    A, aim = np.empty((len(served.order), len(robot.a_free))), np.empty(len(served.order))
    gather_rows(served.A, served.order, A)
    H = matmul(A, robot.G)
    # rows that motors do not hold would be served by rounding
    zero_uncontrolled_rows(H, authority_scales_from(robot.L, A, robot.motor_norms), served.rtol)
    matvec(H, u_nominal, aim)  # as the program adds up, so that nothing is missing
    args = served.ends, served.scale, served.root_inverse, u_nominal, bounds.C, served.rtol
    return factor_lexicographic(H, aim, *args)


@allocating
def filter_input(
    rows: Rows,
    barriers: Barriers,
    diagnostics: FilterDiagnostics,
    robot: InputResponse,
    predictor: TickPredictor,
    served: ServoRows,
    yielding: RelaxationOrder,
    bounds: QpBounds,
    u: Vector,
) -> int:
    """Write the input that keeps what is to be kept, and what that costs.

    Args:
        rows: Of which quantities are made.
        barriers: What is kept by them; forces are kept beside.
        diagnostics: What was found at the tick, with what each quantity must reach.
        robot: At the tick.
        predictor: What predicts its end.
        served: The servo rows.
        yielding: In which order quantities give way.
        bounds: What inputs must obey.
        u: The law's input; receives what becomes of it.

    Returns:
        0, `INFEASIBLE` or `PREDICTION_FAILED`.
    """
    k, nv, r = len(bounds.lower_bound), len(robot.a_free), len(bounds.C)
    # of which the loop complains by its own name
    if not np.isfinite(u).all():
        return 0  # of which the loop complains
    u_nominal, buffers, scratch = u.copy(), np.zeros((10, k)), np.empty((3, max(nv, r)))
    values = InequalityValues(
        np.empty((2, r)), buffers[0], buffers[1], buffers[2], np.zeros((3, k)), scratch
    )
    filter_state = FilterState(
        buffers[3], buffers[4], buffers[5], buffers[6], buffers[7], buffers[8], buffers[9]
    )
    matmul_into(rows.A, robot.G, bounds.C[len(u) : len(u) + len(rows.b)])
    code = check_nominal_input(
        rows, barriers, diagnostics, robot, predictor, bounds, u, values, filter_state
    )
    if code <= 0:
        return code
    lex, limits = factor_servo_qp(served, robot, bounds, u_nominal), np.empty((2, r))
    args = (
        barriers,
        diagnostics,
        robot,
        predictor,
        yielding,
        bounds,
        limits,
        u,
        values,
        filter_state,
    )
    code = solve_with_prediction(lex, code == VIOLATED_AT_END, *args)
    if code == 0:
        write_diagnostics(
            diagnostics,
            robot,
            served,
            bounds,
            u_nominal,
            u,
            values,
            filter_state,
            np.zeros(nv),
        )
    return code


@compiled
def check_nominal_input(
    rows: Rows,
    barriers: Barriers,
    diagnostics: FilterDiagnostics,
    robot: InputResponse,
    predictor: TickPredictor,
    bounds: QpBounds,
    u: Vector,
    values: InequalityValues,
    filter_state: FilterState,
) -> int:
    """Return 0 where the law's input keeps everything, else `VIOLATED`, or `VIOLATED_AT_END` where
    it is only at the end of the tick that it does not; or `PREDICTION_FAILED`.
    """
    n, within, lower_bound = len(barriers.row), True, diagnostics.lower_bound
    for c in range(len(u)):
        within = within and bounds.low[c] <= u[c] <= bounds.high[c]
    for i in range(len(filter_state.zero_input_value)):
        if i < n:
            row = barriers.row[i]
            filter_state.zero_input_value[i] = bounds.sign[i] * (
                long_dot(rows.A[row], robot.a_free) - rows.b[row]
            )
        else:
            filter_state.zero_input_value[i] = bounds.zero_input_force[i - n]
        # never zero, for it divides
        filter_state.magnitude[i] = (
            abs(lower_bound[i]) + abs(filter_state.zero_input_value[i]) + 1e-300
        )
    evaluate_inequalities(bounds, u, filter_state.zero_input_value, values)
    if not within or not all_satisfied(values.value, lower_bound, filter_state.loss):
        return VIOLATED
    # all three stages: an input that keeps everything now may not at the end of the tick
    if predictor.period > 0.0 and not predict_losses(predictor, barriers, robot, u, 0, 3, values):
        return PREDICTION_FAILED
    average_losses(
        barriers, 3, values.stage_losses, filter_state.quadrature_correction, filter_state.loss
    )
    return 0 if all_satisfied(values.value, lower_bound, filter_state.loss) else VIOLATED_AT_END


@compiled
def all_satisfied(value: Vector, lower_bound: Vector, lost: Vector) -> bool:
    """Return whether all quantities have what they must, and what they lose."""
    is_satisfied = True
    for i in range(len(value)):
        is_satisfied = is_satisfied and value[i] >= lower_bound[i] + lost[i]
    return is_satisfied


@compiled
def solve_with_prediction(
    lex: LexicographicQP,
    is_predicted: bool,
    barriers: Barriers,
    diagnostics: FilterDiagnostics,
    robot: InputResponse,
    predictor: TickPredictor,
    yielding: RelaxationOrder,
    bounds: QpBounds,
    limits: Matrix,
    u: Vector,
    values: InequalityValues,
    filter_state: FilterState,
) -> int:
    """Write the input under which the end of the tick is the one that it heeds.

    Args:
        lex: What is solved, whatever the bounds.
        is_predicted: Whether all of the tick has been predicted under the law's input.
        barriers: What is kept by rows.
        diagnostics: What each quantity must reach.
        robot: At the tick.
        predictor: What predicts.
        yielding: In which order quantities give way.
        bounds: What inputs must obey.
        limits: Scratch, shape ``(2, r)``.
        u: Receives the input.
        values: What the input does.
        filter_state: What is known of the prediction.

    Returns:
        0, `INFEASIBLE` or `PREDICTION_FAILED`.
    """
    lower_bound, last, foreseen = bounds.lower_bound, 0.0, np.inf
    for _ in range(MAX_PREDICTIONS):
        for i in range(len(lower_bound)):
            lower_bound[i] = filter_state.relaxed_bound[i] = (
                diagnostics.lower_bound[i] - filter_state.zero_input_value[i] + filter_state.loss[i]
            )
            filter_state.relaxation[i], filter_state.previous_loss[i] = 0.0, filter_state.loss[i]
        solve_in_bounds(lex, bounds, filter_state.relaxed_bound, limits, u)
        evaluate_inequalities(bounds, u, filter_state.zero_input_value, values)
        # what is missed by rounding alone is no reason to relax
        if not all_satisfied_to_rounding(values, lower_bound, filter_state.magnitude):
            spare = relax_bounds(
                bounds, yielding, filter_state.relaxed_bound, filter_state.relaxation
            )
            for i in range(len(lower_bound)):
                if yielding.is_hard[i] and filter_state.relaxation[i] != 0.0:
                    return INFEASIBLE
            if not solve_in_bounds(lex, bounds, filter_state.relaxed_bound, limits, u):
                # rounding has left no room within the relaxed bounds: the input by which they were
                # relaxed serves
                copy_into(spare, u)
            evaluate_inequalities(bounds, u, filter_state.zero_input_value, values)
            raise_relaxation(values, lower_bound, filter_state.magnitude, filter_state.relaxation)
        # the last two changes bound the next one: another pass would change less than rounding
        if predictor.period == 0.0 or foreseen <= PREDICTION_RTOL:
            break
        first = 0
        # the middle stage first, at a third of the cost; what it changes bounds what the others can
        # (decision 0153)
        if is_predicted:
            if not predict_losses(predictor, barriers, robot, u, 0, 1, values):
                return PREDICTION_FAILED
            average_losses(
                barriers,
                1,
                values.stage_losses,
                filter_state.quadrature_correction,
                filter_state.loss,
            )
            first, moved = (
                1,
                prediction_change(
                    values,
                    diagnostics.lower_bound,
                    filter_state.magnitude,
                    filter_state.previous_loss,
                    filter_state.loss,
                ),
            )
            if MIDPOINT_FACTOR * moved <= PREDICTION_RTOL:
                break
        if not predict_losses(predictor, barriers, robot, u, first, 3, values):
            return PREDICTION_FAILED
        average_losses(
            barriers, 3, values.stage_losses, filter_state.quadrature_correction, filter_state.loss
        )
        moved = prediction_change(
            values,
            diagnostics.lower_bound,
            filter_state.magnitude,
            filter_state.previous_loss,
            filter_state.loss,
        )
        if moved <= PREDICTION_RTOL:
            break
        # contraction is linear: the change to come is to this one as this to the last, with a
        # margin
        foreseen = moved * moved / (CONTRACTION_SAFETY * last) if last > 0.0 else np.inf
        last, is_predicted = moved, True
    return 0


@compiled
def write_diagnostics(
    diagnostics: FilterDiagnostics,
    robot: InputResponse,
    served: ServoRows,
    bounds: QpBounds,
    u_nominal: Vector,
    u: Vector,
    values: InequalityValues,
    filter_state: FilterState,
    none: Vector,
) -> None:
    """Write what binds, what gave way, and what that cost the law; ``none`` is no acceleration."""
    for i in range(len(filter_state.magnitude)):
        near = ACTIVE_RTOL * (filter_state.magnitude[i] + values.magnitude[i])
        diagnostics.active[i] = (
            1.0 if values.input_part[i] - filter_state.relaxed_bound[i] <= near else 0.0
        )
        diagnostics.relaxation[i] = filter_state.relaxation[i]
    for c in range(len(u)):
        # what the rows lose of their acceleration follows from the difference of inputs alone
        u_nominal[c] -= u[c]
    loss = diagnostics.acceleration_loss
    apply_input_blockwise(robot.blocks, none, robot.G, u_nominal, loss)
    for i in range(len(diagnostics.task_relaxation)):
        diagnostics.task_relaxation[i] = dot(served.A[i], loss)


@compiled
def all_satisfied_to_rounding(values: InequalityValues, lower_bound: Vector, size: Vector) -> bool:
    """Return whether an input obeys all rows, but for rounding."""
    is_satisfied = True
    for i in range(len(lower_bound)):
        is_satisfied = is_satisfied and values.input_part[i] >= lower_bound[i] - RELAXATION_RTOL * (
            size[i] + values.magnitude[i]
        )
    return is_satisfied


@compiled
def raise_relaxation(
    values: InequalityValues, lower_bound: Vector, size: Vector, missed: Vector
) -> None:
    """Let quantities miss no less than an input does."""
    for i in range(len(lower_bound)):
        less = lower_bound[i] - values.input_part[i]
        if less > 2.0 * RELAXATION_RTOL * (size[i] + values.magnitude[i] + 1.0):
            # the answer within the relaxed bounds may still miss by more than they say
            missed[i] = max(missed[i], less)


@allocating
def relax_bounds(
    bounds: QpBounds, yielding: RelaxationOrder, reduced: Vector, missed: Vector
) -> Vector:
    """Write what quantities can be kept to, and what they miss; return an input that does."""
    C = np.empty((len(reduced), len(bounds.low)))
    for i in range(len(C)):
        for c in range(C.shape[1]):
            C[i, c] = bounds.sign[i] * bounds.C[bounds.row[i], c]
    return relax_inequalities(
        bounds.low, bounds.high, C, bounds.lower_bound, yielding, reduced, missed
    )
