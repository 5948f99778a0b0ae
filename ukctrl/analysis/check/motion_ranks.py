r"""Ranks along a motion, in a measure that knows no units.

Velocities are mass-weighted, $L^\top v$ with $M = L L^\top$, and taken along the directions that
the passive rows leave free; $\tilde A = A L^{-\top} P$ with their projector $P$. Every servo row is
divided by the largest length that it has along the motion. Then

| what | matrix | singular values |
|---|---|---|
| servo rows $A$ | $\tilde A$ | 0 where rows depend on others, passive ones too |
| grip $H = A G$ | $\tilde A Q$ | 0 where the task points across what motors push |

with $Q$ an orthonormal basis of what the motors reach, the columns of $L^\top G$. Where they
reach every free direction, both have the same singular values.

Of an observer, how near a mode is to being hidden from what is measured, $H$: Hautus's smallest
singular value,

$$ \sigma = \min_{\lambda \in \mathrm{eig} A} \sigma_n
   \begin{bmatrix} A - \lambda I \\ H \end{bmatrix}, $$

with speeds in units of $\omega$ times those of positions and time in $1/\omega$, $\omega^2$ the
size of what positions do to accelerations, at least 1.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.analysis.check.contact_phases import (
    ZERO_ROW_RTOL,
    ContactSchedule,
    project_rows,
    rank_gap,
)
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.analysis.linear.zeros import unobservable_modes
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.algebra.input_authority import (
    WEAK_AUTHORITY,
    AuthorityLevel,
    InputAuthority,
    authority_text,
)
from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.tie_breaking import TIE_RTOL, first_largest, first_smallest, max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.mechanics.relative_degree import recommend_law, relative_degrees
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.observers.estimates import TimedState
from ukctrl.simulation.result.verdicts.authority_cost import authority_cost

if TYPE_CHECKING:
    from ukctrl.analysis.check.input_feasibility import InputCurves

Realisation = Literal["orthogonal", "mixed", "tangential"]
RANK_TOLERANCE = 1e-6
"""A singular value of rows below this counts as zero: a motion is known no better. That of their
grip does not depend on how well: it counts as none where the loop has it so, `RankPolicy.servo`."""

SAMPLES = 6
"""Looked at along a motion, its ends included."""


@dc.dataclass(frozen=True, kw_only=True)
class RankHistory:
    """The rank of some rows along the motion, and where they are nearest to losing it."""

    count: int
    """Rows."""
    highest: int
    """Largest rank along the motion."""
    lowest: int
    """Smallest rank."""
    lowest_at: float
    """When it is that first [s]."""
    worst: float
    """Smallest value of the last singular value that counts where the rank is highest."""
    worst_at: float
    """When [s]."""
    worst_row: str
    """The row that has most of that direction; empty where there is none."""
    dropped: float
    """Largest singular value that does not count, where the rank is highest."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class SingularValueCurves:
    """Singular values over time, for figures; arrays of ``k`` knots, largest value first."""

    t: Vector
    passive: Vector
    """Smallest one of the passive rows that counts, shape ``(k,)``."""
    servo: Matrix
    """Of the servo rows, shape ``(k, min(m, n))``."""
    grip: Matrix
    """Of the motors' grip, shape ``(k, min(m, n))``."""


@dc.dataclass(frozen=True, kw_only=True)
class MotionRanks:
    """Mobility, ranks and realisation along a motion."""

    mobility: tuple[int, int]
    """Fewest and most freedoms that the passive rows leave."""
    driven: tuple[int, int]
    """Fewest and most freedoms that the motors reach."""
    passive: RankHistory
    servo: RankHistory
    grip: RankHistory
    realisation: Realisation
    """Of the servo rows, where it is worst: see `realisation`."""
    realisation_at: float
    """When [s]."""
    unmoved: tuple[str, ...]
    """Servo rows that nothing moves: neither motors nor forces change them."""


def realisation(grip: int, servo: int) -> Realisation:
    r"""Return how motors realise the servo rows.

    With $p = \mathrm{rank}(A G)$ and $m = \mathrm{rank}(A)$: *orthogonal* (ideal) where $p = m$,
    *tangential* where $p = 0$, and *mixed* between. In the plane of mass-weighted accelerations an
    ideal reaction stands at right angles to the constraint; motors that have $p = m$ directions of
    their push along those at right angles can stand in for it, and motors that push only along
    the constraint cannot at all.

    References:
        Blajer, "Dynamics and control of mechanical systems in partly specified motion", J. Franklin
        Inst. 334B, 1997; Seifried & Blajer, Mech. Sci. 4, 113-129, 2013, section 2.
    """
    if grip >= servo:
        return "orthogonal"
    return "mixed" if grip else "tangential"


class _RankSamples:
    """Everything about the ranks at each knot of a motion."""

    def __init__(self, loop: Loop, motion: TaskMotion) -> None:
        count = len(motion.t)
        self.stack: Stack = loop.servo
        n, m = loop.robot.nv, len(self.stack)
        self.A = np.zeros((count, m, n))
        self.Q = np.zeros((count, n, n))
        self.driven = np.zeros(count, dtype=int)
        self.passive_rank = np.zeros(count, dtype=int)
        self.margins = np.zeros((count, 2))
        self.row_norms = np.zeros((count, m))
        for k in range(count):
            t = float(motion.t[k])
            self._evaluate(loop.plant_at(t), k, t, motion.q[k], motion.v[k])

    def _evaluate(self, dynamics: Dynamics, k: int, t: float, q: Vector, v: Vector) -> None:
        dynamics.move(t, q, v)
        rows = self.stack.write(dynamics.snapshot)
        self.A[k], self.row_norms[k], self.margins[k] = project_rows(dynamics, rows.A)
        self.passive_rank[k] = dynamics.passive_rank
        reached = dynamics.reached()
        self.driven[k] = reached.shape[1]
        self.Q[k, :, : self.driven[k]] = reached


@one_blas_thread()
def motion_ranks(
    loop: Loop, motion: TaskMotion, kinds: Indices | None = None
) -> tuple[MotionRanks, SingularValueCurves]:
    """Return the ranks along a motion, and the curves of their singular values.

    Args:
        loop: The scenario, ready to run.
        motion: The motion.
        kinds: Knots of one number have the same contacts lifted, shape ``(k,)``; absent: all have.
    """
    kinds = np.zeros(len(motion.t), dtype=np.intp) if kinds is None else kinds
    knots = _RankSamples(loop, motion)
    max_norms = np.linalg.norm(knots.A, axis=2).max(axis=0)
    none = max_norms <= ZERO_ROW_RTOL * np.maximum(knots.row_norms.max(axis=0), 1e-300)
    A = knots.A / np.where(none, np.inf, max_norms)[None, :, None]
    names = knots.stack.names
    H = A @ knots.Q
    lost = loop.scenario.rank.servo
    servo, servo_sigma = _row_history(A, motion.t, names, RANK_TOLERANCE, kinds)
    grip, grip_sigma = _row_history(H, motion.t, names, lost, kinds)
    ranks_A = (servo_sigma > RANK_TOLERANCE).sum(axis=1)
    # Authority cannot exceed the rows' rank, whatever rounding says.
    ranks_H = np.minimum((grip_sigma > lost).sum(axis=1), ranks_A)
    deficit = ranks_A - ranks_H
    at = int(np.argmax(deficit))
    mobility = loop.robot.nv - knots.passive_rank
    ranks = MotionRanks(
        mobility=(int(mobility.min()), int(mobility.max())),
        driven=(int(knots.driven.min()), int(knots.driven.max())),
        passive=_passive_history(loop, motion, knots, kinds),
        servo=servo,
        grip=grip,
        realisation=realisation(int(ranks_H[at]), int(ranks_A[at])),
        realisation_at=float(motion.t[at]),
        unmoved=tuple(name for name, still in zip(names, none, strict=True) if still),
    )
    curves = SingularValueCurves(
        t=motion.t, passive=knots.margins[:, 0], servo=servo_sigma, grip=grip_sigma
    )
    return ranks, curves


def _row_history(
    A: Matrix, t: Vector, names: tuple[str, ...], lost: float, kinds: Indices
) -> tuple[RankHistory, Matrix]:
    U, sigma, _ = np.linalg.svd(A, full_matrices=False)
    ranks = (sigma > lost).sum(axis=1)
    max_ranks = _max_rank_in_phase(ranks, kinds)
    highest = int(max_ranks.max(initial=0))
    for k in np.flatnonzero(
        max_ranks < highest
    ).tolist():  # where contacts stand fewer rows are served
        sigma[k, max_ranks[k] : highest] = sigma[k, max_ranks[k] - 1] if max_ranks[k] else 1.0
    ranks = ranks + highest - max_ranks
    at, row = 0, ""
    if highest:
        at = first_smallest(sigma[:, highest - 1], RANK_TOLERANCE)
        row = names[_weakest_row(U[at], sigma[at], highest)]
    return _rank_history(A.shape[1], ranks, rank_gap(sigma, highest), t, at, row), sigma


def _max_rank_in_phase(ranks: NDArray[np.int_], kinds: Indices) -> NDArray[np.int_]:
    """Return at every knot the highest rank among those with the same contacts lifted."""
    max_ranks = np.zeros(int(kinds.max(initial=0)) + 1, dtype=ranks.dtype)
    np.maximum.at(max_ranks, kinds, ranks)
    return np.asarray(max_ranks[kinds])


def _rank_history(
    count: int, ranks: NDArray[np.int_], margins: Matrix, t: Vector, at: int, row: str
) -> RankHistory:
    """Return a rank along the motion.

    Args:
        count: Rows.
        ranks: Shape ``(k,)``.
        margins: Last singular value that counts, and the first that does not, shape ``(k, 2)``.
        t: Shape ``(k,)`` [s].
        at: Where the former is least.
        row: The row that has most of that direction.
    """
    highest, low = int(ranks.max(initial=0)), int(np.argmin(ranks))
    return RankHistory(
        count=count,
        highest=highest,
        lowest=int(ranks[low]),
        lowest_at=float(t[low]),
        worst=float(margins[at, 0]),
        worst_at=float(t[at]),
        worst_row=row,
        dropped=max_abs(margins[ranks == highest, 1]),
    )


def _weakest_row(U: Matrix, sigma: Vector, rank: int) -> int:
    """Return the row with the largest part in the last direction that counts, or in all directions
    that are as weak, of which no single one is determined.
    """
    weak = np.abs(sigma[:rank] - sigma[rank - 1]) <= TIE_RTOL * sigma[rank - 1]
    return first_largest(np.linalg.norm(U[:, :rank][:, weak], axis=1))


def _passive_history(
    loop: Loop, motion: TaskMotion, knots: _RankSamples, kinds: Indices
) -> RankHistory:
    """Return the same of the passive rows, whose rank is decided as in a run."""
    margins, max_ranks = knots.margins[:, 0], _max_rank_in_phase(knots.passive_rank, kinds)
    ranks = knots.passive_rank + max_ranks.max(initial=0) - max_ranks
    highest = int(ranks.max(initial=0))
    at = first_smallest(np.where(ranks == highest, margins, 0.0), RANK_TOLERANCE) if highest else 0
    t, row = float(motion.t[at]), ""
    truth = loop.plant_at(t)
    if highest and max_ranks[at]:
        truth.move(t, motion.q[at], motion.v[at])
        weighted, _ = mass_weighted_rows(
            truth.L, truth.passive.rows.A, np.zeros((1, len(truth.passive)))
        )
        U, sigma, _ = np.linalg.svd(weighted, full_matrices=False)
        row = truth.passive.names[_weakest_row(U, sigma, int(max_ranks[at]))]
    return _rank_history(len(truth.passive), ranks, knots.margins, motion.t, at, row)


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
        # A cheap bound first: singular values only where it does not tell.
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
        if degree.name == grip.row and degree.value is not None and not degree.is_direct:
            advice = recommend_law(None, False, degree.value, len(stack), loop.robot.nu)
            tol = f"{10.0 * grip.weakest:.0e}"
            return (
                f" With rank.servo = {tol} that counts as none, and the relative degree of the "
                f"row is {degree.value}. {advice}"
            )
    return " Inputs grow as its inverse: lead the task elsewhere, or add a motor."


class ObservabilitySample(NamedTuple):
    """What an observer sees at a moment."""

    t: float
    unobservable: tuple[str, ...]
    """States of the modes that nothing measured shows."""
    sigma: float
    """How far the nearest mode is from that."""


def observability_samples(loop: Loop, motion: TaskMotion) -> Iterator[ObservabilitySample]:
    """Yield what the observer of a scenario sees along its motion, or at its start without one."""
    estimator = loop.estimator
    if estimator is None:
        return
    believed = estimator.filter.motion
    moments = [(loop.t0, loop.state.q, loop.state.v)]
    if len(motion.t):
        chosen = np.unique(np.linspace(0, len(motion.t) - 1, SAMPLES).round().astype(int))
        moments = [(float(motion.t[k]), motion.q[k], motion.v[k]) for k in chosen]
    biases, names = believed.biases, estimator.bias_names()
    for t, q, v in moments:
        u = believed.resting_input(t, q, v)
        linear, state = believed.linear(t, q, v, u), IntegratorState(q, v, np.zeros(biases))
        n = len(linear.A)
        A = np.zeros((n + biases, n + biases))
        A[:n, :n] = linear.A
        full, at = believed.tangent_basis(t, state), TimedState(t, state, u)
        full = np.vstack([full, np.zeros((len(believed.process_noise_indices), n + biases))])
        H = np.concatenate([measurement.slopes(at, full) for measurement in estimator.measurements])
        hidden = unobservable_modes(A, H, (*linear.states, *(f"bias of {name}" for name in names)))
        sigma = hautus_sigma(A, H, len(linear.positions), n)
        yield ObservabilitySample(t, tuple(dict.fromkeys(mode.states for mode in hidden)), sigma)


def hautus_sigma(A: Matrix, H: Matrix, positions: int, states: int) -> float:
    """Return how far the mode that is seen least is from being hidden.

    Args:
        A: Of positions, speeds and biases.
        H: What is measured of them.
        positions: How many there are.
        states: And together with speeds.
    """
    rate = max(1.0, float(np.sqrt(max_abs(A[positions:states, :positions]))))
    size = np.ones(len(A))
    size[positions:states] = rate
    A, H = A * size / size[:, None] / rate, H * size
    eye = np.eye(len(A))
    pencils = [np.vstack([A - pole * eye, H]) for pole in np.linalg.eigvals(A)]
    return min(float(np.linalg.svd(one, compute_uv=False)[-1]) for one in pencils)
