r"""How much of the exact task's motion is feasible with what the law keeps.

At a moment of that motion the inputs that serve the rows are $u_0 + N z$, with the smallest input
$u_0$ of inverse dynamics and $H N = 0$. It is feasible where one of them is within the motors'
limits and obeys all rows to keep, as the law itself asks them of its input, $C u \ge l$, and
nothing is beyond its limit already. Where none is, the least that the rows must give up is that of
the input nearest to $H u = H u_0$ among those that obey; where no input at all obeys, the limits
contradict each other, whatever the task asks.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import NamedTuple, final

import numpy as np

from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.control.allocation.bounded_input import (
    LinearBounds,
    bounded_least_squares,
    nearest_in_bounds,
    stack_bounds,
)
from ukctrl.control.allocation.internal_force import reaction_map
from ukctrl.control.safety.barriers import FilterDiagnostics, check_barriers
from ukctrl.control.safety.relaxation import irreducible_infeasible_set, lower_bounds
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.program import KernelSequence
from ukctrl.core.tie_breaking import first_largest
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.assemble import Loop

LIMIT_TOLERANCE = 1e-9
"""A quantity above minus this [unit] is kept."""
ROW_RTOL = 1e-7
"""By so much of its terms a row may be missed: a motion is known no better."""

NULL_SPACE_RTOL = 1e-9
"""Directions of the input whose singular value is below this part of the largest move no row."""

MAX_NAMED = 3
"""Of more limits in a conflict the first are named."""
MAX_EXPLAINED = 20
"""Of more stretches the limits of the longest are named."""


@dc.dataclass(frozen=True, kw_only=True)
class InfeasibleInterval:
    """A time in which no input serves the task and keeps everything."""

    start: float
    stop: float
    """From the first moment of the motion that is not feasible to the last [s]."""
    limits: tuple[str, ...]
    """What is kept and leaves no input, at the first moment and at the worst."""
    motors: tuple[str, ...]
    """Motors whose limits are part of that."""
    gives_up: float
    """The most that the rows must give up, as a norm over them [m/s^2, rad/s^2]; NaN where no input
    keeps everything."""
    worst_at: float
    """When [s]."""
    conflict: bool
    """Whether limits contradict each other somewhere in it, whatever the task asks."""
    crossed: bool
    """Whether the task is beyond one of these limits somewhere in it."""

    @property
    def binding_text(self) -> str:
        """What binds, in brackets; empty where it is not known."""
        named = [f"'{name}'" for name in self.limits[:MAX_NAMED]]
        named += [f"motor '{name}'" for name in self.motors[: MAX_NAMED - len(named)]]
        return f" ({', '.join(named)})" if named else ""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class SlackCurves:
    """What the motion leaves of every quantity, for figures; arrays of ``k`` knots."""

    slack: Matrix
    """Shape ``(k, n)``; NaN where it is not known."""
    feasible: Flags | None
    """Shape ``(k,)``; None where it is not known."""
    names: tuple[str, ...]
    blocks: tuple[str, ...]
    units: tuple[str, ...]
    margins: tuple[float, ...]
    force_offset: int
    """From which place on they are forces of contacts, which the input decides: those of the input
    that serves the task, or of the one that costs it least."""

    @property
    def crossed(self) -> Flags:
        """Where the motion is beyond one that its state decides, shape ``(k,)``."""
        states = self.slack[:, : self.force_offset]
        return np.asarray((states < -LIMIT_TOLERANCE).any(axis=1))


@dc.dataclass(frozen=True, kw_only=True)
class SafetyFeasibility:
    """How much of the motion is feasible with what the law keeps."""

    share: float
    """Of its time."""
    stretches: tuple[InfeasibleInterval, ...]
    """Where it is not, in time."""
    contacts: tuple[str, ...]
    """Contacts whose forces are kept."""


class _SafetyState(NamedTuple):
    """What is asked of the input at a knot: ``C u >= lower``, within limits."""

    u: Vector
    """The smallest input."""
    H: Matrix
    """The rows' answer to inputs."""
    C: Matrix
    offset: Vector
    limits: LinearBounds
    lower: Vector
    """What ``C u`` may not go below; like the limits, a little wider than it is."""
    h: Vector
    """What is left of every quantity; NaN of forces, which the input decides."""
    force_rows: Indices
    """Places in it of the forces that are asked for, the last rows of ``C``."""
    force_offset: Vector
    """What is left of these is ``C u + offset + force_offset``."""

    def slack(self, u: Vector) -> Vector:
        """Return what is left of every quantity under an input."""
        h, first = self.h.copy(), len(self.C) - len(self.force_rows)
        h[self.force_rows] = self.C[first:] @ u + self.offset[first:] + self.force_offset
        return h


def input_null_space(H: Matrix) -> Matrix:
    """Return the directions of the input that move no row, shape ``(nu, k)``."""
    _, sigma, Vt = np.linalg.svd(H)
    return np.asarray(Vt[int(np.sum(sigma > NULL_SPACE_RTOL * sigma.max(initial=0.0))) :].T)


def feasible_input(
    H: Matrix, u: Vector, limits: LinearBounds, C: Matrix, lower: Vector
) -> Vector | None:
    """Return an input that moves rows as ``u`` does, within limits, and obeys ``C u >= lower``.

    None where there is none beside ``u`` itself, which does not.
    """
    N = input_null_space(H)
    if not N.shape[1]:
        return None
    bounds = LinearBounds(N, limits.low - u, limits.high - u)
    z = nearest_in_bounds(
        stack_bounds(bounds, lower_bounds(C @ N, lower - C @ u)), np.zeros(N.shape[1])
    )
    return None if z is None else u + N @ z


class _SafetySample(NamedTuple):
    """One knot of the motion."""

    h: Vector
    feasible: bool
    crossed: bool
    gives_up: float
    """A norm over the rows; NaN where no input keeps all."""
    conflict: bool


@final
class _SafetyProbe:
    """What the filter asks of inputs along a motion, and whether some input gives it.

    The smallest inputs and their limits have shape ``(k, nu)``; ``lifts`` says which rows are
    served when.
    """

    def __init__(
        self,
        loop: Loop,
        keeper: SafetyFilter,
        motion: TaskMotion,
        task_inputs: Matrix,
        bounds: tuple[Matrix, Matrix],
        lifts: ContactSchedule,
    ) -> None:
        self._loop, self._keeper, self._motion, self._lifts = loop, keeper, motion, lifts
        self._needed, (self._low, self._high) = task_inputs, bounds
        self._stack = keeper.stack_on(loop.robot)
        of_rows, of_stack = np.zeros((5, len(keeper.barriers.row))), np.zeros((2, len(self._stack)))
        buffers = [*of_rows, *np.zeros((2, 0)), *of_stack]
        self._account = FilterDiagnostics(*buffers)
        self._cones_of: dict[int, tuple[Matrix, KernelSequence]] = {}

    def sample(self, k: int) -> _SafetySample:
        """Look at a knot."""
        state = self._state_at(k)
        u, H, C, limits, lower = state.u, state.H, state.C, state.limits, state.lower
        crossed = bool((state.h < -LIMIT_TOLERANCE).any())
        inside = bool((limits.low <= u).all() and (u <= limits.high).all())
        # Cheapest first: the input, the null space, relaxation, contradiction (decision 0149).
        if not (inside and (C @ u >= lower).all()):
            x = None if crossed else feasible_input(H, u, limits, C, lower)
            if x is None:
                bounds = stack_bounds(limits, lower_bounds(C, lower))
                x = bounded_least_squares(H, H @ u, bounds)
                if x is None:
                    conflict = not crossed and nearest_in_bounds(bounds, -u) is None
                    return _SafetySample(state.slack(u), False, crossed, np.nan, conflict)
                gives_up = float(np.linalg.norm(H @ (x - u)))
                return _SafetySample(state.slack(x), False, crossed, gives_up, False)
            u = x
        return _SafetySample(state.slack(u), not crossed, crossed, 0.0, False)

    def conflicting_limits(self, k: int) -> tuple[list[str], list[str]]:
        """Return what is kept that leaves no input at a knot, and the motors that have a part."""
        state, names, robot = self._state_at(k), self._keeper.names, self._loop.robot
        u, C, limits, lower = state.u, state.C, state.limits, state.lower
        crossed = [name for name, h in zip(names, state.h, strict=True) if h < -LIMIT_TOLERANCE]
        if crossed:
            return crossed, []
        names = (*names[: len(C) - len(state.force_rows)], *(names[i] for i in state.force_rows))
        N = input_null_space(state.H)
        if nearest_in_bounds(stack_bounds(limits, lower_bounds(C, lower)), -u) is None:
            N = np.eye(len(u))
        if not N.shape[1]:
            short = (limits.low > u) | (u > limits.high)
            motors = [robot.actuators[i] for i in np.flatnonzero(short)]
            return [names[i] for i in np.flatnonzero(C @ u < lower)], motors
        bounds = LinearBounds(N, limits.low - u, limits.high - u)
        at_limits, rows = irreducible_infeasible_set(bounds, C @ N, lower - C @ u)
        return [names[i] for i in rows], [robot.actuators[i] for i in at_limits]

    def _state_at(self, k: int) -> _SafetyState:
        """Return what is asked of the input at a knot."""
        t, q, v, u = float(self._motion.t[k]), self._motion.q[k], self._motion.v[k], self._needed[k]
        low, high = self._low[k], self._high[k]
        dynamics, keeper, diagnostics = self._loop.plant_at(t), self._keeper, self._account
        dynamics.move(t, q, v)
        H = dynamics.servo_matrix(self._lifts.phase_at(t).rows.write(dynamics.snapshot).A)
        rows, barriers, loads = (
            self._stack.write(dynamics.snapshot),
            keeper.barriers,
            keeper.contact_rows,
        )
        a = dynamics.acceleration(u)
        check_barriers(rows, barriers, keeper.period, a, u, low, high, diagnostics, np.zeros(1))
        A, sign = rows.A[barriers.row], barriers.sign
        D = self._friction_rows(dynamics)
        per_force, force = np.zeros((len(D), len(u))), np.zeros(len(D))
        if D.any():
            answer = reaction_map(dynamics)
            per_force, force = D @ answer.Lam, D @ answer.lam_free
        asks = np.flatnonzero(D.any(axis=1))
        C = np.vstack([sign[:, None] * (A @ dynamics.G), per_force[asks]])
        offset = np.append(sign * (A @ dynamics.a_free - rows.b[barriers.row]), force[asks])
        lower = np.append(diagnostics.lower_bound, loads.lower_bound[asks])
        size = np.abs(lower) + np.abs(offset) + np.abs(C) @ np.abs(u)
        wide = ROW_RTOL * (1.0 + np.abs(u))
        return _SafetyState(
            u=u,
            H=H,
            C=C,
            offset=offset,
            limits=LinearBounds(np.eye(len(u)), low - wide, high + wide),
            lower=lower - offset - ROW_RTOL * (size + ROW_RTOL),
            h=np.append(diagnostics.h, np.full(len(loads), np.nan)),
            force_rows=len(barriers.row) + asks,
            force_offset=(loads.margin - loads.lower_bound)[asks],
        )

    def _friction_rows(self, dynamics: Dynamics) -> Matrix:
        loads, contacts = self._keeper.contact_rows, dynamics.contacts
        if contacts is None or not len(loads):
            return np.zeros((len(loads), len(dynamics.passive)))
        # By identity: the robots of a plant live as long as the loop.
        if id(dynamics) not in self._cones_of:
            D, kernels = loads.rows(contacts)
            self._cones_of[id(dynamics)] = D, KernelSequence(tuple(kernels))
        D, steps = self._cones_of[id(dynamics)]
        steps()
        return D


def safety_feasibility(
    loop: Loop,
    motion: TaskMotion,
    task_inputs: Matrix,
    bounds: tuple[Matrix, Matrix],
    lifts: ContactSchedule,
) -> tuple[SafetyFeasibility | None, SlackCurves | None]:
    """Return how much of a motion is feasible with what the law keeps, and what that leaves.

    Args:
        loop: The scenario, ready to run.
        motion: The motion that its task asks for.
        task_inputs: The smallest inputs along it, shape ``(k, nu)``; NaN where they are not known.
        bounds: Limits of the inputs along it, shape ``(k, nu)`` each.
        lifts: Which rows are served when.
    """
    keeper = loop.law.keeper
    if keeper is None or not len(motion.t):
        return None, None
    has_inputs = (
        motion.has_dynamics and loop.robot.elastic is None and bool(np.isfinite(task_inputs).all())
    )
    if not has_inputs:
        return None, _slack_curves(keeper, np.array(list(_slack(loop, keeper, motion))), None)
    look = _SafetyProbe(loop, keeper, motion, task_inputs, bounds, lifts)
    moments = [look.sample(k) for k in range(len(motion.t))]
    feasible = np.array([moment.feasible for moment in moments])
    weights = np.gradient(motion.t) if len(motion.t) > 1 else np.ones(1)
    share = 1.0 - float(weights @ ~feasible / weights.sum())
    stretches = tuple(_infeasible_intervals(look, motion.t, moments, feasible))
    slack_curves = _slack_curves(keeper, np.array([moment.h for moment in moments]), feasible)
    contacts = tuple(dict.fromkeys(name.rpartition(".")[0] for name in keeper.contact_rows.names))
    return SafetyFeasibility(share=share, stretches=stretches, contacts=contacts), slack_curves


def _slack_curves(keeper: SafetyFilter, h: Matrix, feasible: Flags | None) -> SlackCurves:
    return SlackCurves(
        slack=h,
        feasible=feasible,
        names=keeper.names,
        blocks=keeper.blocks,
        units=keeper.units,
        margins=keeper.labels()["keep_row_margins"],
        force_offset=len(keeper.barriers.row),
    )


def _infeasible_intervals(
    look: _SafetyProbe, t: Vector, moments: list[_SafetySample], feasible: Flags
) -> Iterator[InfeasibleInterval]:
    """Yield the parts of a motion that are not feasible."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], feasible, [True]]).astype(int)))
    spans = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    # To name a conflict takes several quadratic programs.
    longest = sorted(spans, key=lambda span: t[span[0]] - t[span[1] - 1])[:MAX_EXPLAINED]
    for begin, end in spans:
        samples = moments[begin:end]
        gives = np.array([moment.gives_up for moment in samples])
        conflicts = np.array([moment.conflict for moment in samples])
        grave = np.where(conflicts, np.inf, np.nan_to_num(gives))
        worst = begin + first_largest(grave)
        limits, motors = dict[str, None](), dict[str, None]()
        for k in dict.fromkeys((begin, worst) if (begin, end) in longest else ()):
            of_limits, of_motors = look.conflicting_limits(k)
            limits |= dict.fromkeys(of_limits)
            motors |= dict.fromkeys(of_motors)
        yield InfeasibleInterval(
            start=float(t[begin]),
            stop=float(t[end - 1]),
            limits=tuple(limits),
            motors=tuple(motors),
            gives_up=float(gives[worst - begin]),
            worst_at=float(t[worst]),
            conflict=bool(conflicts.any()),
            crossed=any(moment.crossed for moment in samples),
        )


def _slack(loop: Loop, keeper: SafetyFilter, motion: TaskMotion) -> Iterator[Vector]:
    """Yield what is left of every quantity at the knots of a motion, without its inputs."""
    stack, snapshot = keeper.stack_on(loop.robot), loop.plant.snapshot
    for t, q, v, a in zip(motion.t.tolist(), motion.q, motion.v, motion.a, strict=True):
        snapshot.move(q, v, t)
        yield keeper.margins_at(stack.write(snapshot), a if motion.has_dynamics else None)[0]
