"""Controllers of two degrees of freedom: a motion worked out beforehand, and what holds to it.

Nothing does (feedforward), or a linear-quadratic regulator along the motion.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, final

import numpy as np

from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Controller, Law, PlannedMotion
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.feedforward.inversion import AnyInversion
from ukctrl.control.feedforward.inversion.inversion import Inversion
from ukctrl.control.feedforward.nominal_motion import (
    NominalMotion,
    invert_joint_motion,
    nominal_motion_of_law,
)
from ukctrl.control.feedforward.nominal_motion_kernels import interpolate_gains
from ukctrl.control.regulators.riccati import (
    InputWeight,
    Weight,
    deviation_weight,
    discrete_riccati_gains,
    discretise_lq,
    input_weight,
    lqr_gains,
    second_order_weights,
)
from ukctrl.control.regulators.state_deviation import StateDeviation, state_feedback
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Instance, Seconds, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import Linearization, Linearizer
from ukctrl.robot import Snapshot

DEFAULT_KNOT_STEP = 0.01
"""Time between the knots of a motion [s], unless something else says it."""


@spec
class NominalMotionController(Controller, abc.ABC):
    """What controllers share that follow a motion worked out before the run."""

    needs_grip: ClassVar[bool] = False

    along: AnyInversion | Annotated[Inversion | Controller, Instance()] | None = None
    """How the motion is worked out: an inversion, or a servo law whose own motion is followed;
    absent: inverse kinematics."""
    plan_step: Seconds | None = None
    """Time between the knots of that law's motion, or of inverse kinematics [s]; absent: 0.01. An
    inversion has its own."""

    @property
    def forgets_growth(self) -> bool:
        return self.along is not None and self.along.forgets_growth

    def nominal_motion(self, task: Task) -> NominalMotion:
        """Return the motion to follow.

        Raises:
            InputError: It cannot be worked out so.
            StartError: No state near the start keeps the rows.
        """
        step = DEFAULT_KNOT_STEP if self.plan_step is None else self.plan_step
        if self.along is None:
            return invert_joint_motion(task, step)
        if not isinstance(self.along, Inversion):
            return nominal_motion_of_law(task, self.along, step)
        if self.plan_step is not None:
            raise InputError(
                "controller.plan_step is for the motion of a law, or of inverse kinematics; give "
                "the inversion its own, such as controller.along.step."
            )
        return self.along.solve(task)


class NominalMotionLaw(Law, abc.ABC):
    """A started law that follows a motion.

    Attributes:
        nominal: The motion.
    """

    def __init__(self, spec: NominalMotionController, task: Task) -> None:
        super().__init__(task)
        self.nominal = spec.nominal_motion(task)
        # A held input is that of the middle of its tick.
        self._input_lead = 0.0 if task.period is None else 0.5 * task.period

    def input_step(self, dynamics: Dynamics, u: Vector) -> KernelStep:
        """Return what writes the input to give from now on."""
        return self.nominal.input_step(dynamics.snapshot.clock, self._input_lead, u)

    @property
    def planned_motion(self) -> PlannedMotion:
        plan = self.nominal
        return PlannedMotion(plan.times, plan.q, plan.v, plan.input)

    def planned_state(self, t: float) -> tuple[Vector, Vector]:
        return self.nominal.state(t)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the input and the state that were planned."""
        robot, t = self.task.robot, dynamics.snapshot.t
        q, v = self.nominal.state(t)
        return {
            "u_planned": Signal(
                self.nominal.input(t),
                common_unit(robot.actuator_units),
                "input of the planned motion",
            ),
            "q_planned": Signal(
                q, common_unit(robot.coordinate_units), "planned configuration", robot.coordinates
            ),
            "v_planned": Signal(v, common_unit(robot.dof_units), "planned velocity", robot.dofs),
        }


def common_unit(units: Sequence[str]) -> str:
    """Return the unit that all have; empty where they differ."""
    return units[0] if len(set(units)) == 1 else ""


@spec
class Feedforward(NominalMotionController):
    r"""The input of a motion worked out before the run, and nothing else: $u = u^*(t)$.

    It shows what the inversion alone is worth. Nothing brings an error back: use ``tvlqr`` on a
    plant that is not known exactly, or does not forget its errors by itself.
    """

    kind: Literal["feedforward"] = "feedforward"

    def start(self, task: Task) -> Law:
        with one_blas_thread():
            return _FeedforwardLaw(self, task)


@final
class _FeedforwardLaw(NominalMotionLaw):
    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> tuple[KernelStep, ...]:
        return (self.input_step(dynamics, tick.u),)


MAX_RICCATI_EXPONENT = 8.0
"""Riccati's equation goes in steps over which nothing changes by more than ``e`` to this."""


WeightedSystem = tuple[Matrix, Matrix, Matrix, Matrix]
"""``A``, ``B``, ``Q`` and ``R``."""


@spec
class TrajectoryRegulator(NominalMotionController, abc.ABC):
    """What the linear-quadratic laws along a motion share."""

    poles_aimed_at: ClassVar[PoleCount | None] = 2

    Q: Weight = 1.0
    """Weight of the deviations, as for ``lqr``."""
    R: InputWeight = 1.0
    """Weight of the inputs, as for ``lqr``."""
    Q_final: Weight | None = None
    """Weight of the deviations at the end; absent: what an LQR for ever would still cost there."""

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        return second_order_weights(terms)


@spec
class Tvlqr(TrajectoryRegulator):
    r"""Linear-quadratic regulator along a motion: $u = u^*(t) - K(t)\, x$.

    $q^*, v^*, u^*$ are worked out before the run: by default the joint motion that keeps the
    servo rows, with the inputs of inverse dynamics; or that of another inversion; or the motion
    that a servo law makes with the believed robot. Along it

    $$ -\dot S = A^\top S + S A - S B R^{-1} B^\top S + Q, \qquad K = R^{-1} B^\top S $$

    is integrated backwards. Under a zero-order hold it is the recursion of the sampled system,
    and $u^*$ is taken in the middle of the tick.

    References:
        Anderson & Moore, "Optimal Control: Linear Quadratic Methods", 1990, section 2.3; Tedrake,
        "Underactuated Robotics", chapter 8.
    """

    kind: Literal["tvlqr"] = "tvlqr"

    def start(self, task: Task) -> Law:
        with one_blas_thread():
            return _TvlqrLaw(self, task)


@final
class _TvlqrLaw(NominalMotionLaw):
    def __init__(self, spec: Tvlqr, task: Task) -> None:
        super().__init__(spec, task)
        self._period = task.period
        times = self.nominal.times
        interval = task.period
        if interval is None and isinstance(spec.along, Inversion):
            # Its knots may be finer than gains need, and begin before the run.
            interval = max(self.nominal.step, DEFAULT_KNOT_STEP)
        if interval is not None:
            times = tick_times(task, interval)
        self._start, self._step = float(times[0]), float(times[1] - times[0])
        self.K = self._gains(spec, times)
        """Gains at the knots, or at the ticks where the input is held, shape ``(k, nu, n)``."""
        self._deviations = StateDeviation(self.linear, self._reference_steps)

    def _gains(self, spec: Tvlqr, times: Vector) -> Matrix:
        middles, systems, S, end = weighted_systems(spec, self.nominal, times, self.task)
        self.linear = middles[0]
        if self._period is None:
            return riccati_gains(systems, S, self._step, end)
        return sampled_riccati_gains(systems, S, self._step)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        clock, is_held = dynamics.snapshot.clock, self._period is not None
        planned, K = np.zeros(len(tick.u)), np.zeros(self.K.shape[1:])
        x, deviations = self._deviations.steps(dynamics)
        yield self.input_step(dynamics, planned)
        yield from deviations
        yield BoundKernel(interpolate_gains, self.K, clock, self._start, self._step, is_held, K)
        yield BoundKernel(state_feedback, planned, K, x, tick.memory, tick.u)

    def _reference_steps(self, s: Snapshot, q: Vector, v: Vector) -> Iterator[KernelStep]:
        yield self.nominal.state_step(s.clock, q, v)


def tick_times(task: Task, interval: float) -> Vector:
    """Return the times of the ticks of a task, and the end of the last."""
    # a duration of whole ticks gets no further one by rounding
    count = max(1, int(np.ceil(task.duration / interval - 1e-9)))
    return np.asarray(task.start + interval * np.arange(count + 1), dtype=np.float64)


def weighted_systems(
    spec: TrajectoryRegulator, nominal: NominalMotion, times: Vector, task: Task
) -> tuple[list[Linearization], list[WeightedSystem], Matrix, WeightedSystem]:
    """Return a robot along a motion as linear systems, with what its deviations cost.

    Args:
        spec: The weights.
        nominal: The motion.
        times: ``k + 1`` times.
        task: The task.

    Returns:
        The linear systems in the middles between the times; the same with the weights there; the
        cost at the end, shape ``(n, n)``; system and weights there.
    """
    # in the middles, where a constant system is of second order over its step
    middles = _linearise_along(nominal, 0.5 * (times[1:] + times[:-1]), task)
    (end,) = _linearise_along(nominal, times[-1:], task, middles[0])
    *systems, last = [
        (at.A, at.B, deviation_weight(spec.Q, "Q", at), input_weight(spec.R, at))
        for at in (*middles, end)
    ]
    if spec.Q_final is None:
        S = lqr_gains(*last, end.states, end.inputs).S
    else:
        S = deviation_weight(spec.Q_final, "Q_final", end)
    return middles, systems, S, last


def _linearise_along(
    nominal: NominalMotion, times: Vector, task: Task, like: Linearization | None = None
) -> list[Linearization]:
    """Return the robot as a linear system at times along the motion, in the same coordinates."""
    linearizer, systems = Linearizer(task.robot, task.rank), list[Linearization]()
    for t in times.tolist():
        task.reached(t)
        q, v = nominal.state(t)
        systems.append(linearizer.at(t, q, v, nominal.input(t), like))
        # gains fit the coordinates that the first one chose
        like = like or systems[0]
    return systems


def riccati_gains(
    systems: Sequence[WeightedSystem], S: Matrix, step: float, end: WeightedSystem
) -> Matrix:
    r"""Return the gains of the regulator at all knots of a motion, shape ``(k + 1, nu, n)``.

    Over a step the system is taken as constant, and Riccati's equation is solved exactly there by
    the exponential of its Hamiltonian matrix; the whole is of second order in the step.

    Args:
        systems: System and weights in the middle of each of ``k`` steps.
        S: Cost at the end, shape ``(n, n)``.
        step: Length of a step [s].
        end: System and weights at the end.
    """
    from scipy.linalg import expm

    n, (_, B, _, R) = len(S), end
    gains = [np.linalg.solve(R, B.T @ S)]
    for A, B, Q, R in reversed(systems):
        grip = np.linalg.solve(R, B.T)
        flow = np.block([[-A, B @ grip], [Q, A.T]])
        quick = step * max_abs(np.linalg.eigvals(flow))
        # the Hamiltonian grows and decays at once: beyond e^8 its decaying half is lost in rounding
        substeps = max(1, int(np.ceil(quick / MAX_RICCATI_EXPONENT)))
        back = expm(step / substeps * flow)
        for _ in range(substeps):
            state_map = back[:n, :n] + back[:n, n:] @ S
            # S = (...) state_map^-1, without an inverse
            S = np.linalg.solve(state_map.T, (back[n:, :n] + back[n:, n:] @ S).T).T
            # or rounding grows, which exact symmetry would keep out
            S = 0.5 * (S + S.T)
        gains.append(grip @ S)
    return np.array(gains[::-1])


def sampled_riccati_gains(systems: Sequence[WeightedSystem], S: Matrix, period: float) -> Matrix:
    """Return the gains of the regulator at every tick of a hold, shape ``(k, nu, n)``.

    Arguments as for `riccati_gains`.
    """
    ticks = [discretise_lq(*system, period) for system in systems]
    return np.array([gain.K for gain in discrete_riccati_gains(ticks, S)])
