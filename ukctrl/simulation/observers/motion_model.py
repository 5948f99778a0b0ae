r"""Motion model: from tick to tick by the believed robot, with deviations and their covariance.

The state is predicted by RK4 on the manifold of configurations, the input held, and put back onto
the passive constraints by the smallest change. Deviations $x$ are those of
`ukctrl.mechanics.linearise`, in one chart for the whole run; with $A$, $B$ of the linear system at
the estimate before, and the period $T$,

$$ F = e^{AT}, \qquad Q = \Gamma\Gamma^\top, \qquad
   \Gamma = \int_0^T e^{As}\,\mathrm ds\; [\,E\,\mathrm{diag}(\sigma_a),\; B\,
   \mathrm{diag}(\sigma_u)\,], $$

where $E$ takes accelerations of the free robot to those that its passive constraints let through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.mechanics.integrate.fixed_step_integrator import FixedStepIntegrator
from ukctrl.mechanics.integrate.fixed_step_kernels import FixedStepper, fixed_steps, is_bounded
from ukctrl.mechanics.integrate.integrator import check_bounded
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem, System, copy_state
from ukctrl.mechanics.linearise import Linearization
from ukctrl.mechanics.linearise.linearization import Linearizer
from ukctrl.mechanics.linearise.plant_jacobians import (
    AccelerationJacobians,
    has_closed_form_jacobians,
)
from ukctrl.mechanics.projection import Projector
from ukctrl.robot import Robot
from ukctrl.robot.manifold_kernels import integrate
from ukctrl.simulation.observers.estimates import EstimateArrays
from ukctrl.simulation.observers.transition_kernels import (
    copy_block,
    write_open_system,
    write_transition,
)

UNBOUNDED = -10
"""What `predict_state` returns where the believed robot runs away."""


class Transition(NamedTuple):
    """Transition of deviations over a period."""

    F: Matrix
    """Shape ``(n, n)``."""
    Q: Matrix
    """Covariance that is added, shape ``(n, n)``."""


@final
class MotionModel:
    """Motion model: the believed robot, moved from tick to tick.

    Beside the state, ``state.memory`` has what else is estimated: biases of sensors, and then the
    pushes since the last tick, that inertial sensors feel and the model did not explain.

    Args:
        robot: The robot.
        rank: When passive rows count as dependent.
        step: Longest step of RK4 [s].
        at: Time, configuration and velocity of the start, where the chart of deviations begins.

    Attributes:
        chart: The linear system there, whose coordinates all deviations have.
        bias_walk: Densities of the random walks of the biases.
        measures_acceleration: Whether some measurement depends on it, and so on the pushes.
        process_noise_indices: Entries of accelerations and inputs, in a row, that are estimated.
    """

    def __init__(
        self, robot: Robot, rank: RankPolicy, step: float, at: tuple[float, Vector, Vector]
    ) -> None:
        self.robot, self.rank = robot, rank
        # no stabilisation: each prediction is projected onto the rows
        self._dynamics = dynamics = Dynamics(robot, rank, StabilisationGains(0.0, 0.0))
        s, self._u = dynamics.snapshot, np.zeros(robot.nu)
        a, steps = dynamics.under(self._u)
        memory = np.zeros(0)
        system = OdeSystem(robot, (s.clock, s.q, s.v, memory), (a, memory), KernelSequence(steps))
        self._onto = Projector(dynamics) if len(dynamics.passive) else None
        # all kinds predict alike, so that they differ in their gain alone (decision 0137)
        self._steps = FixedStepIntegrator(system, "RK4", step, self._onto)
        self._linearizer = Linearizer(robot, rank, rough=True)
        self.bias_walk: Vector = np.zeros(0)
        self.measures_acceleration = False
        self.process_noise_indices: Indices = np.zeros(0, dtype=np.int64)
        self.chart = self.linear(*at, self.resting_input(*at))

    @property
    def biases(self) -> int:
        """How many biases are estimated."""
        return len(self.bias_walk)

    @property
    def state_count(self) -> int:
        """How many deviations are told apart from pushes: of the chart, and biases."""
        return len(self.chart.A) + self.biases

    def resting_input(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the input that accelerates the robot least at a state, shape ``(nu,)``."""
        self._dynamics.move(t, q, v)
        return self._dynamics.least_input(np.zeros(self.robot.nv))

    def linear(self, t: float, q: Vector, v: Vector, u: Vector) -> Linearization:
        """Return the linear system at a state, in the chart of the run once there is one."""
        # one chart for the whole run: covariances of two would have other coordinates
        return self._linearizer.at(t, q, v, u, getattr(self, "chart", None))

    def predict(self, t: float, state: IntegratorState, u: Vector, stop: float) -> IntegratorState:
        """Return the state at a later time under a held input."""
        x = EstimateArrays.at_moment(t, state, u)
        KernelSequence(self.prediction_steps(x, np.full(1, stop), x.u.copy()))()
        return x.at.state

    def prediction_steps(self, x: EstimateArrays, clock: Vector, u: Vector) -> Iterator[KernelStep]:
        """Yield what moves an estimate to the time that is there then, under the input there."""
        method, system = self._steps.without_estimates, self._steps.system

        def failed(code: int) -> BaseException | None:
            fault = self._steps.correction_steps.take_fault()
            if fault is None:
                check_bounded(float(clock[0]), IntegratorState(method.q, method.v, method.memory))
            return fault

        moved = x.clock, x.q, x.v, x.memory, x.u
        args = system.arrays, method, self._u, self.biases, clock, u, moved
        yield BoundKernel(predict_state, *args, inside=system.steps, fault=failed)

    def transition(
        self, t: float, state: IntegratorState, u: Vector, time: float, std: tuple[Vector, Vector]
    ) -> Transition:
        """Return what becomes of deviations over a time.

        Args:
            t: When it begins [s].
            state: The estimate then.
            u: The input that is held.
            time: How long [s].
            std: What the model does not explain: of accelerations, of inputs.
        """
        x = EstimateArrays.at_moment(t, state, u)
        transition, steps = self.transition_steps(x, np.full(1, t + time), x.u, std)
        KernelSequence(steps)()
        return transition

    def transition_steps(
        self, x: EstimateArrays, clock: Vector, u: Vector, std: tuple[Vector, Vector]
    ) -> tuple[Transition, Iterator[KernelStep]]:
        """Return where `transition` is from an estimate to the time there then, and its steps."""
        n, m, k = len(self.chart.A), self.biases, len(self.process_noise_indices)
        transition = Transition(*np.zeros((2, n + m + k, n + m + k)))
        return transition, self._transition_steps(x, clock, u, std, transition)

    def _transition_steps(
        self,
        x: EstimateArrays,
        clock: Vector,
        u: Vector,
        std: tuple[Vector, Vector],
        out: Transition,
    ) -> Iterator[KernelStep]:
        chart, d, s = self.chart, self._dynamics, self._dynamics.snapshot
        through: Matrix = np.eye(self.robot.nv)
        # closed form: smooth forces, a constant B, no passive rows; else the linearizer
        if has_closed_form_jacobians(d):
            slopes, (A, B) = AccelerationJacobians(d), map(np.zeros_like, chart)
            yield BoundKernel(copy_state, x.clock, x.q, x.v, s.clock, s.q, s.v)
            yield from d.steps.items
            yield BoundKernel(
                block_diagonal.apply_input_blockwise, d.ties, d.a_free, d.G, u, slopes.a
            )
            yield from slopes.steps.items
            blocks = self.robot.structure.manifold_table
            args = blocks, s.v, slopes.by_q, slopes.by_v, d.G, A, B
            yield BoundKernel(write_open_system, *args)
        else:
            coordinates = chart.positions, chart.velocities
            linear, steps = self._linearizer.system((x.clock, x.q, x.v), u, coordinates)
            A, B = linear.A, linear.B
            through = linear.through if self._onto is not None else through
            yield from steps
        noise = through, len(chart.positions), chart.velocities, np.concatenate(std)
        memory = np.array(self.bias_walk), self.process_noise_indices
        yield BoundKernel(write_transition, A, B, *noise, *memory, x.clock, clock, *out)

    def tangent_basis(self, t: float, state: IntegratorState) -> Matrix:
        """Return ``(dq, dv)`` and the memory's deviations from all deviations."""
        x = EstimateArrays.at_moment(t, state, self._u)
        full, steps = self.tangent_steps(x)
        KernelSequence(steps)()
        return full

    def tangent_steps(self, x: EstimateArrays) -> tuple[Matrix, list[KernelStep]]:
        """Return where `tangent_basis` of an estimate is, and what writes it."""
        bare, steps, m = self.chart.full, list[KernelStep](), len(x.memory)
        if self._onto is not None:
            # the directions that closures leave free turn with the state
            bare, turned = self._linearizer.deviation_map(x.clock, x.q, x.v, self.chart)
            steps += turned
        if not m:
            return bare, steps
        (rows, n) = bare.shape
        full: Matrix = np.zeros((rows + m, n + m))
        full[:rows, :n], full[rows:, n:] = bare, np.eye(m)
        if self._onto is not None:
            steps.append(BoundKernel(copy_block, bare, full))
        return full, steps

    def retract(self, t: float, state: IntegratorState, step: Vector) -> IntegratorState:
        """Return the state a step ``(dq, dv, ...)`` away, on the passive constraints."""
        x = EstimateArrays.at_moment(t, state, self._u)
        KernelSequence(self.retraction_steps(x, step))()
        return x.at.state

    def retraction_steps(self, x: EstimateArrays, step: Vector) -> Iterator[KernelStep]:
        """Yield what moves an estimate by the step that is there then, as `retract`."""
        moved = x.q, x.v, x.memory
        yield BoundKernel(add_step, self.robot.structure.manifold_table, step, *moved)
        if self._onto is not None:
            s = self._dynamics.snapshot
            yield BoundKernel(copy_state, x.clock, x.q, x.v, s.clock, s.q, s.v)
            yield self._onto.steps.as_step()
            yield BoundKernel(copy_state, s.clock, s.q, s.v, x.clock, x.q, x.v)


@compiled
def predict_state(
    port: System,
    fixed: FixedStepper,
    held: Vector,
    biases: int,
    clock: Vector,
    u: Vector,
    moved: tuple[Vector, Vector, Vector, Vector, Vector],
) -> int:
    """Overwrite time, state, memory and input by those at a time under an input.

    Returns 0; what `fixed_steps` does where it fails; `UNBOUNDED` where the state grew so.
    """
    began, q, v, memory, u_held = moved
    for k in range(len(u)):
        held[k] = u_held[k] = u[k]
    copy_into(q, fixed.q)
    copy_into(v, fixed.v)
    time = clock[0] - began[0]
    count = max(1, int(np.ceil(time / fixed.max_step - 1e-9)))
    done = fixed_steps(port, fixed, began[0], time / count, count)
    if done < 0:
        return done
    began[0] = clock[0]
    copy_into(fixed.q, q)
    copy_into(fixed.v, v)
    # pushes are new at each tick: those of the last say nothing of the next
    for k in range(biases, len(memory)):
        memory[k] = 0.0
    return 0 if is_bounded(q, v, fixed.memory) else UNBOUNDED


@compiled
def add_step(blocks: Indices, step: Vector, q: Vector, v: Vector, memory: Vector) -> None:
    """Move configuration, velocity and memory by a step ``(dq, dv, ...)``."""
    n = len(v)
    integrate(blocks, q, step[:n], q)
    for i in range(n):
        v[i] += step[n + i]
    for i in range(len(memory)):
        memory[i] += step[2 * n + i]
