r"""Model predictive control: the linear-quadratic input, and the least change that keeps limits.

A linear-quadratic law leaves $\lVert x \rVert_S^2$ of the cost, and inputs $w_k = -K_k x_k + c_k$
leave $\lVert x \rVert_S^2 + \sum_k c_k^\top M_k c_k$. So of all inputs within the limits those are
the best that change the law's least in that norm, and the law itself is where no limit is in the
way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from ukctrl.control.allocation.input_limits import InputLimits, InputLimitSpec
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Law, PlannedMotion
from ukctrl.control.feedforward.feedforward_laws import (
    NominalMotionLaw,
    TrajectoryRegulator,
    tick_times,
    weighted_systems,
)
from ukctrl.control.regulators.regulator import Lqr, RegulatorLaw
from ukctrl.control.regulators.riccati import (
    DiscreteGain,
    deviation_weight,
    discrete_riccati_gains,
    discretise_lq,
    input_weight,
    lqr_gains,
)
from ukctrl.control.regulators.state_deviation import StateDeviation, cost_to_go
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.errors import GainError, InputError, quoted
from ukctrl.core.fields import Count, Number, Positive, Seconds, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.verdict import Verdict
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import Linearization
from ukctrl.robot import Snapshot
from ukctrl_laws.predictive import horizon
from ukctrl_laws.predictive.horizon_kernels import deadbeat_rate, law_within_limits, tick_index
from ukctrl_laws.predictive.mpc_diagnostics import MpcDiagnostics
from ukctrl_laws.predictive.qp import MpcQp, QpSolution

HorizonLimitKind = Literal["inputs", "positions", "speeds"]
HORIZON_LIMIT_KINDS: tuple[HorizonLimitKind, ...] = "inputs", "positions", "speeds"
TASK_LOOKS, TASK_MOVES = 17, 1e-9
"""Times at which it is asked whether a task moves, and by how much [unit]."""


@spec
class ModelPredictive(TrajectoryRegulator):
    r"""Model predictive control: at every tick the best inputs of a horizon within the limits.

    $$ \min_w \; \sum_{k < N} \ell_k(x_k, w_k) + x_N^\top S\, x_N \quad\text{with}\quad
       x_{k+1} = A_k x_k + B_k w_k, \quad \underline u \le u_k + w_k \le \bar u, \quad
       \underline q \le q_k \le \bar q, \quad |v_k| \le \bar v , $$

    for the robot linearised about an equilibrium, where it continues ``lqr``, or along the motion
    of the task, where it continues ``tvlqr``: cost and terminal weight are those of that law, which
    it is where no limit is in the way. Limits of inputs are kept. Where they leave no way to keep
    those of positions and speeds, these give way, by least squares.

    References:
        Rawlings, Mayne & Diehl, "Model Predictive Control", 2nd ed. 2017, chapters 1 and 2;
        Rossiter, Kouvaritakis & Rice, "A numerically robust state-space approach to stable-
        predictive control strategies", Automatica 34(1), 1998.
    """

    kind: Literal["mpc"] = "mpc"
    horizon: Seconds
    """How far ahead limits are looked at [s]."""
    moves: Count = 20
    """How many inputs are chosen among at most. A horizon of more ticks is cut into as many blocks,
    the first of one tick and each longer than the last; limits are looked at where they meet."""
    follow: Literal["equilibrium", "task"] = "equilibrium"
    """What deviations are measured from: the equilibrium, or the motion of the task, which
    ``along`` and ``plan_step`` work out."""
    q: tuple[Number, ...] | None = None
    """Equilibrium, as for ``lqr``."""
    limits: tuple[HorizonLimitKind, ...] = HORIZON_LIMIT_KINDS
    """Which limits of the robot are kept."""
    limit: InputLimitSpec | None = None
    """Narrower limits of inputs [N m or N]: a number or a pair for all motors, or by motor."""
    on_conflict: Literal["soften", "stop"] = "soften"
    """Where not all limits can be kept: those of positions and speeds give way, or the run ends."""
    penalty: Positive = 1e8
    """What their squares beyond the limit cost then, beside ``Q``."""
    iterations: Count = 1000
    """Iterations of the solver after which a run ends for want of an input."""

    @model_validator(mode="after")
    def _check_follow(self) -> Self:
        for name, follow in (("along", "task"), ("plan_step", "task"), ("q", "equilibrium")):
            if getattr(self, name) is not None and self.follow != follow:
                raise InputError(f'{name} goes with follow = "{follow}".')
        return self

    def start(self, task: Task) -> Law:
        with one_blas_thread():
            return _ModelPredictiveLaw(self, task)


@final
class _ModelPredictiveLaw(Law):
    """Its memory is which limits are active: the next program begins there."""

    def __init__(self, spec: ModelPredictive, task: Task) -> None:
        super().__init__(task)
        if task.period is None:
            raise InputError(
                'kind = "mpc" chooses inputs that are held from tick to tick; give timing.control.'
            )
        self._spec, self._period = spec, task.period
        self._inputs = InputLimits(spec.limit, task)
        robot = task.robot
        kinds = spec.limits
        limited = horizon.HorizonLimits.from_robot(
            robot, kinds, self._inputs.lower, self._inputs.upper
        )
        self._limits = limited
        if kinds and not (limited.has_input_limits or limited.dofs.size or limited.speeds.size):
            raise GainError(
                f"mpc must have limits to keep; robot '{robot.name}' has none of {quoted(kinds)}. "
                "Write them into its robot.toml, give the controller a limit, or use "
                f'kind = "{"tvlqr" if spec.follow == "task" else "lqr"}".'
            )
        # a horizon of whole ticks gets no further one by rounding
        ticks = math.ceil(spec.horizon / task.period - 1e-9)
        ends = horizon.block_ends(ticks, spec.moves)
        self._motion_law: NominalMotionLaw | None = None
        if spec.follow == "task":
            self._motion_law = NominalMotionLaw(spec, task)
            self._horizon, self.linear = _horizon_along_motion(
                spec, task, self._motion_law, limited, ends
            )
            self._deviations = StateDeviation(self.linear, self._reference_steps)
        else:
            regulation = RegulatorLaw(Lqr(q=spec.q), task)
            self.linear, self._deviations = regulation.linear, regulation.deviation
            self._horizon = _horizon_at_equilibrium(spec, task, self.linear, limited, ends)
        self._program = self._new_program()
        self.memory = np.zeros(self._horizon.m)
        self._limit_distances = np.zeros((2, self._horizon.m))
        self._diagnostics = MpcDiagnostics(robot, limited, self._horizon, task.period)

    def _new_program(self) -> MpcQp:
        horizon, lengths = self._horizon.tables, self._horizon.block_lengths
        nu, r = horizon.B.shape[2], horizon.E.shape[1]
        gives = np.tile(np.arange(nu + r) >= nu, len(lengths))
        # a crossing costs by the time it lasts, and blocks are of several ticks
        price = self._spec.penalty * np.repeat(lengths * self._period, nu + r)
        self._horizon.update(0)
        return MpcQp(self._horizon.n, gives, price, self._spec.iterations, self._horizon.C)

    def _reference_steps(self, s: Snapshot, q: Vector, v: Vector) -> Iterator[KernelStep]:
        assert self._motion_law is not None
        yield self._motion_law.nominal.state_step(s.clock, q, v)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, horizon, robot = dynamics.snapshot, self._horizon.tables, dynamics.robot
        followed = np.array(self.linear.u)
        if self._motion_law is not None:
            yield self._motion_law.input_step(dynamics, followed)
        x, deviations = self._deviations.steps(dynamics)
        yield from deviations
        low, high = np.full((2, robot.nu), [[-np.inf], [np.inf]])
        if self._limits.has_input_limits:
            yield from self._inputs.steps(s, np.zeros(0), low, high)

        def choose(code: int) -> None:
            began = time.thread_time()
            self._solve_tick(s, tick, low, high)
            self._diagnostics.solve_times.append(time.thread_time() - began)

        passing = np.zeros((2, len(x)))
        keeps = horizon, s.clock, x, followed, low, high, self._limit_distances, passing, tick.u
        yield self._diagnostics.reset_step()
        # most ticks end here: the program is for a law that breaks a limit ahead
        yield BoundKernel(law_within_limits, *keeps, fault=choose)
        yield BoundKernel(
            deadbeat_rate, self._diagnostics.active, tick.memory, self._period, tick.memory_rate
        )

    def _solve_tick(self, s: Snapshot, tick: LawBuffers, low: Vector, high: Vector) -> None:
        """Change the law's input as little as the limits ahead ask for."""
        if np.isnan(self._limit_distances).any():
            return  # the state is no number, and so the input is none
        nu = len(tick.u)
        new = self._horizon.update(int(tick_index(self._horizon.tables, s.clock)))
        C, (low_room, high_room) = self._horizon.C, self._limit_distances
        solution = self._program.solve(C, self._limit_distances, tick.memory, new=new)
        if not isinstance(solution, QpSolution):
            raise self._diagnostics.solver_error(solution, self._spec.iterations)
        over = np.maximum(low_room - C @ solution.z, C @ solution.z - high_room)
        self._diagnostics.record_solution(
            solution, over.reshape(len(self._horizon.block_lengths), -1)[:, nu:]
        )
        if self._spec.on_conflict == "stop" and self._diagnostics.excess.any():
            raise self._diagnostics.conflict_error()
        # Within what the solver may exceed.
        tick.u[:] = np.clip(tick.u + self._horizon.W[0] @ solution.z[:nu], low, high)

    def error_steps(self, dynamics: Dynamics, measure: Vector) -> Iterable[KernelStep]:
        r"""Return what writes the cost that is left without limits, or the error of the rows."""
        if self._motion_law is not None:
            return super().error_steps(dynamics, measure)
        x, deviations = self._deviations.steps(dynamics)
        return *deviations, BoundKernel(
            cost_to_go, x, np.ascontiguousarray(self._horizon.gains[0].S), measure
        )

    @property
    def poles(self) -> NDArray[np.complex128] | None:
        """Poles ``z`` of the loop about the equilibrium, where no limit is in the way."""
        if self._motion_law is not None:
            return None
        return np.linalg.eigvals(self._horizon.tables.F[0]).astype(np.complex128)

    @property
    def planned_motion(self) -> PlannedMotion | None:
        return None if self._motion_law is None else self._motion_law.planned_motion

    def planned_state(self, t: float) -> tuple[Vector, Vector] | None:
        return None if self._motion_law is None else self._motion_law.planned_state(t)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return which limits are at work and which were given up, beside what is followed."""
        followed = {} if self._motion_law is None else self._motion_law.signals(dynamics, memory)
        return {**followed, **self._diagnostics.signals()}

    def remarks(self) -> Iterable[Verdict]:
        yield self._diagnostics.size_verdict()
        if self._motion_law is None and self._task_moves():
            text = (
                "the task moves, and this controller holds the robot at its equilibrium: it does "
                'not follow. Give controller.follow = "task", or use the card mpc-along.'
            )
            yield Verdict("warning", "controller", text)

    def _task_moves(self) -> bool:
        """Return whether the rows ask for something else at other times of the run."""
        task, snapshot = self.task, self.task.robot.snapshot(self.task.q)
        if math.isinf(task.duration):
            return False
        still, asked = np.zeros(task.robot.nv), []
        for t in np.linspace(task.start, task.start + task.duration, TASK_LOOKS).tolist():
            snapshot.move(task.q, still, t)
            rows = self.stack.write(snapshot)
            asked.append(np.concatenate([np.nan_to_num(rows.phi), rows.beta]))
        return bool(np.ptp(asked, axis=0).max(initial=0.0) > TASK_MOVES)

    def timing(self) -> Mapping[str, float]:
        return self._diagnostics.wall_times()


def _horizon_at_equilibrium(
    spec: ModelPredictive,
    task: Task,
    linear: Linearization,
    limited: horizon.HorizonLimits,
    ends: Indices,
) -> horizon.PredictionHorizon:
    """Return what lies ahead near an equilibrium."""
    period = float(task.period or np.inf)
    A, B = linear
    Q, R = deviation_weight(spec.Q, "Q", linear), input_weight(spec.R, linear)
    tick = discretise_lq(A, B, Q, R, period)
    if spec.Q_final is None:
        S = lqr_gains(A, B, Q, R, linear.states, linear.inputs, period).S
        gains: list[DiscreteGain] = discrete_riccati_gains([tick], S)
    else:
        S = deviation_weight(spec.Q_final, "Q_final", linear)
        gains = discrete_riccati_gains([tick] * int(ends[-1]), S)
    return horizon.horizon_at_equilibrium(linear, limited, tick, gains, ends, period)


def _horizon_along_motion(
    spec: ModelPredictive,
    task: Task,
    lead: NominalMotionLaw,
    limited: horizon.HorizonLimits,
    ends: Indices,
) -> tuple[horizon.PredictionHorizon, Linearization]:
    """Return what lies ahead along a motion, and the system where it begins."""
    period = float(task.period or np.inf)
    times = tick_times(task, period)
    middles, systems, S, _ = weighted_systems(spec, lead.nominal, times, task)
    ticks = [discretise_lq(*system, period) for system in systems]
    gains = discrete_riccati_gains(ticks, S)
    return horizon.horizon_along_motion(
        lead.nominal, middles, limited, ticks, gains, times, ends
    ), middles[0]
