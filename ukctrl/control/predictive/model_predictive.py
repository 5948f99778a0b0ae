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

from ukctrl.control.allocation.input_limits import InputLimits, Limits
from ukctrl.control.controller import Law, PlannedMotion
from ukctrl.control.planned.planned_laws import (
    PlannedLaw,
    WeighedAlong,
    ticks_along,
    weighed_along,
)
from ukctrl.control.predictive import horizon
from ukctrl.control.predictive.account import Account
from ukctrl.control.predictive.horizon_kernels import first_tick, keeps_limits, warmer
from ukctrl.control.predictive.least_change import Change, LeastChange
from ukctrl.control.regulators.deviations import Deviations, cost_left
from ukctrl.control.regulators.regulator import Lqr, Regulation
from ukctrl.control.regulators.riccati import (
    TickGain,
    deviation_weight,
    held_backwards,
    input_weight,
    regulator,
    sampled,
)
from ukctrl.control.task import Signal, Task
from ukctrl.control.tick import Tick
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import GainError, InputError, quoted
from ukctrl.core.fields import Count, Number, Positive, Seconds, spec
from ukctrl.core.program import Call, Step
from ukctrl.core.verdict import Verdict
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import Linearization
from ukctrl.robot import Snapshot

Kind = Literal["inputs", "positions", "speeds"]
KINDS: tuple[Kind, ...] = "inputs", "positions", "speeds"


@spec
class ModelPredictive(WeighedAlong):
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
    limits: tuple[Kind, ...] = KINDS
    """Which limits of the robot are kept."""
    limit: Limits | None = None
    """Narrower limits of inputs [N m or N]: a number or a pair for all motors, or by motor."""
    on_conflict: Literal["soften", "stop"] = "soften"
    """Where not all limits can be kept: those of positions and speeds give way, or the run ends."""
    penalty: Positive = 1e8
    """What their squares beyond the limit cost then, beside ``Q``."""
    iterations: Count = 1000
    """Iterations of the solver after which a run ends for want of an input."""

    @model_validator(mode="after")
    def _nothing_is_forgotten(self) -> Self:
        for name, follow in (("along", "task"), ("plan_step", "task"), ("q", "equilibrium")):
            if getattr(self, name) is not None and self.follow != follow:
                raise InputError(f'{name} goes with follow = "{follow}".')
        return self

    def start(self, task: Task) -> Law:
        with one_blas_thread():
            return _Predictive(self, task)


@final
class _Predictive(Law):
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
        limited = horizon.Limited.of(robot, kinds, self._inputs.lowest, self._inputs.highest)
        self._limited = limited
        if kinds and not (limited.inputs or limited.dofs.size or limited.speeds.size):
            raise GainError(
                f"mpc must have limits to keep; robot '{robot.name}' has none of {quoted(kinds)}. "
                "Write them into its robot.toml, give the controller a limit, or use "
                f'kind = "{"tvlqr" if spec.follow == "task" else "lqr"}".'
            )
        ticks = math.ceil(spec.horizon / task.period - 1e-9)
        ends = horizon.block_ends(ticks, spec.moves)
        self._lead: PlannedLaw | None = None
        if spec.follow == "task":
            self._lead = PlannedLaw(spec, task)
            self._horizon, self.linear = _along(spec, task, self._lead, limited, ends)
            self._deviations = Deviations(self.linear, self._planned)
        else:
            regulation = Regulation(Lqr(q=spec.q), task)
            self.linear, self._deviations = regulation.linear, regulation.deviation
            self._horizon = _about(spec, task, self.linear, limited, ends)
        self._program = self._new_program()
        self.memory = np.zeros(self._horizon.m)
        self._room = np.zeros((2, self._horizon.m))
        self._account = Account(robot, limited, self._horizon, task.period)

    def _new_program(self) -> LeastChange:
        ahead, lengths = self._horizon.ahead, self._horizon.lengths
        nu, r = ahead.B.shape[2], ahead.E.shape[1]
        gives = np.tile(np.arange(nu + r) >= nu, len(lengths))
        price = self._spec.penalty * np.repeat(lengths * self._period, nu + r)
        self._horizon.look(0)
        return LeastChange(self._horizon.n, gives, price, self._spec.iterations, self._horizon.C)

    def _planned(self, s: Snapshot, q: Vector, v: Vector) -> Iterator[Step]:
        assert self._lead is not None
        yield self._lead.nominal.state_step(s.clock, q, v)

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        s, ahead, robot = dynamics.snapshot, self._horizon.ahead, dynamics.robot
        followed = np.array(self.linear.u)
        if self._lead is not None:
            yield self._lead.input_step(dynamics, followed)
        x, deviations = self._deviations.steps(dynamics)
        yield from deviations
        low, high = np.full((2, robot.nu), [[-np.inf], [np.inf]])
        if self._limited.inputs:
            yield from self._inputs.steps(s, np.zeros(0), low, high)

        def choose(code: int) -> None:
            began = time.thread_time()
            self._choose(s, tick, low, high)
            self._account.times.append(time.thread_time() - began)

        passing = np.zeros((2, len(x)))
        keeps = ahead, s.clock, x, followed, low, high, self._room, passing, tick.u
        yield self._account.forget()
        yield Call(keeps_limits, *keeps, fault=choose)
        yield Call(warmer, self._account.active, tick.memory, self._period, tick.memory_rate)

    def _choose(self, s: Snapshot, tick: Tick, low: Vector, high: Vector) -> None:
        """Change the law's input as little as the limits ahead ask for."""
        if np.isnan(self._room).any():
            return  # the state is no number, and so the input is none
        nu = len(tick.u)
        new = self._horizon.look(int(first_tick(self._horizon.ahead, s.clock)))
        C, (low_room, high_room) = self._horizon.C, self._room
        found = self._program.solve(C, self._room, tick.memory, new=new)
        if not isinstance(found, Change):
            raise self._account.unsolved(found, self._spec.iterations)
        over = np.maximum(low_room - C @ found.z, C @ found.z - high_room)
        self._account.take(found, over.reshape(len(self._horizon.lengths), -1)[:, nu:])
        if self._spec.on_conflict == "stop" and self._account.beyond.any():
            raise self._account.conflict()
        # Within what the solver may exceed.
        tick.u[:] = np.clip(tick.u + self._horizon.W[0] @ found.z[:nu], low, high)

    def slopes(self, dynamics: Dynamics, memory: Vector) -> Matrix | None:
        if self._lead is not None or not dynamics.robot.is_euclidean:
            return None
        n, linear = dynamics.robot.nv, self.linear
        chosen = np.concatenate([linear.positions, n + linear.velocities])
        slopes: Matrix = np.zeros((dynamics.robot.nu + len(memory), 2 * n + len(memory)))
        slopes[: dynamics.robot.nu, chosen] = -self._horizon.ahead.K[0]
        slopes[dynamics.robot.nu :, 2 * n :] = -np.eye(len(memory)) / self._period
        return slopes

    def error_steps(self, dynamics: Dynamics, measure: Vector) -> Iterable[Step]:
        r"""Return what writes the cost that is left without limits, or the error of the rows."""
        if self._lead is not None:
            return super().error_steps(dynamics, measure)
        x, deviations = self._deviations.steps(dynamics)
        return *deviations, Call(
            cost_left, x, np.ascontiguousarray(self._horizon.gains[0].S), measure
        )

    @property
    def poles(self) -> NDArray[np.complex128] | None:
        """Poles ``z`` of the loop about the equilibrium, where no limit is in the way."""
        if self._lead is not None:
            return None
        return np.linalg.eigvals(self._horizon.ahead.F[0]).astype(np.complex128)

    @property
    def planned_motion(self) -> PlannedMotion | None:
        return None if self._lead is None else self._lead.planned_motion

    def planned_state(self, t: float) -> tuple[Vector, Vector] | None:
        return None if self._lead is None else self._lead.planned_state(t)

    def inputs_ahead(self, dynamics: Dynamics, memory: Vector) -> Matrix:
        """Return the inputs of the horizon, of which the first is given, shape ``(N, nu)``."""
        self.step(dynamics, memory)
        ahead, W, x = self._horizon.ahead, self._horizon.W, self._deviations(dynamics)
        first, p = int(first_tick(ahead, dynamics.snapshot.clock)), len(ahead.F)
        z, inputs = self._account.z.reshape(len(W), -1), []
        blocks = np.repeat(np.arange(len(W)), self._horizon.lengths)
        for j, block in enumerate(blocks.tolist()):
            if ahead.moving and first + j >= p:
                break
            at = min(first + j, p - 1)
            c = W[block] @ z[block]
            inputs.append(self._followed(dynamics.snapshot.t, j) - ahead.K[at] @ x + c)
            x = ahead.F[at] @ x + ahead.B[at] @ c
        return np.array(inputs)

    def _followed(self, t: float, ticks: int) -> Vector:
        if self._lead is None:
            return self.linear.u
        return self._lead.nominal.input(t + (ticks + 0.5) * self._period)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return which limits are at work and which were given up, beside what is followed."""
        followed = {} if self._lead is None else self._lead.signals(dynamics, memory)
        return {**followed, **self._account.signals()}

    def remarks(self) -> Iterable[Verdict]:
        return (self._account.remark(),)

    def timing(self) -> Mapping[str, float]:
        return self._account.timing()


def _about(
    spec: ModelPredictive,
    task: Task,
    linear: Linearization,
    limited: horizon.Limited,
    ends: Indices,
) -> horizon.Horizon:
    """Return what lies ahead near an equilibrium."""
    period = float(task.period or np.inf)
    A, B = linear
    Q, R = deviation_weight(spec.Q, "Q", linear), input_weight(spec.R, linear)
    tick = sampled(A, B, Q, R, period)
    if spec.Q_final is None:
        S = regulator(A, B, Q, R, linear.states, linear.inputs, period).S
        gains: list[TickGain] = held_backwards([tick], S)
    else:
        S = deviation_weight(spec.Q_final, "Q_final", linear)
        gains = held_backwards([tick] * int(ends[-1]), S)
    return horizon.about(linear, limited, tick, gains, ends, period)


def _along(
    spec: ModelPredictive, task: Task, lead: PlannedLaw, limited: horizon.Limited, ends: Indices
) -> tuple[horizon.Horizon, Linearization]:
    """Return what lies ahead along a motion, and the system where it begins."""
    period = float(task.period or np.inf)
    times = ticks_along(task, period)
    middles, systems, S, _ = weighed_along(spec, lead.nominal, times, task)
    ticks = [sampled(*system, period) for system in systems]
    gains = held_backwards(ticks, S)
    return horizon.along(lead.nominal, middles, limited, ticks, gains, times, ends), middles[0]
