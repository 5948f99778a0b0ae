r"""Swing-up of underactuated robots: the servo law on the motors, with energy pumped into it.

Partial feedback linearisation makes the motors' displacements $y$ obey $\ddot y + \alpha \dot y +
\beta y = 0$; it is the servo law whose rows are the motors' joints, with $H = B^\top G$. Lessening
$H$ by the energy that is missing makes the same law feed that energy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple, final

import numpy as np

from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Controller, Law
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.factorisation import cholesky, dot, solve_lower, solve_upper
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError, InfeasibleConstraint, InputError
from ukctrl.core.fields import Quantity, Rate, RateSquared, spec
from ukctrl.core.program import BoundKernel, KernelStep, RobotBuffers
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.consistent_state import consistent_configuration
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.robot.manifold_kernels import difference

N_SAMPLED_CONFIGURATIONS = 300
"""Configurations at which the energy to be pumped is weighed against the motors' grip."""
EQUILIBRIUM_RTOL = 1e-9
"""An acceleration smaller than this fraction of what gravity gives elsewhere counts as none."""
WeightMargin = Annotated[float, Quantity("1", minimum=1.0, open_minimum=True)]


@spec
class SwingUp(Controller):
    r"""Pump energy until the robot has that of its task's configuration, the motors in place.

    With the energy error $\tilde E = E - E_d$, $y = B^\top (q \ominus q_d)$, $\dot y = B^\top v$:

    $$ u = -\Bigl(B^\top G + \frac{\tilde E}{k} I\Bigr)^{-1}
           (B^\top a_\mathrm{free} + \alpha\, \dot y + \beta\, y), $$

    which lowers $V = \tfrac12 \tilde E^2 + \tfrac k2 |\dot y|^2 + \tfrac{k \beta}{2} |y|^2$ at the
    rate $\dot V = -k\, \alpha\, |\dot y|^2$, because $\dot E = \dot y^\top u$ without friction. The
    matrix is definite everywhere if $k > (E_d - V(q)) / \lambda_\mathrm{min}(B^\top G)$ at every
    configuration; $k$ is ``margin`` times that.

    The robot comes as near to the configuration as one wants, along its homoclinic orbit, and
    passes: another law must catch it there (`Switching`). At rest and balanced with the motors in
    place the law stays where it is, which is an error that says so.

    References:
        Fantoni, Lozano & Spong, "Energy based control of the Pendubot", IEEE Trans. Autom.
        Control 45(4), 2000; Xin & Kaneda, "Analysis of the energy-based swing-up control of the
        Acrobot", Int. J. Robust Nonlinear Control 17, 2007. Their gains are $k_D = k$,
        $k_V = k \alpha$, $k_P = k \beta$.
    """

    needs_grip: ClassVar[bool] = False

    kind: Literal["swing_up"] = "swing_up"
    alpha: Rate
    r"""Gain of the motors' rates $\alpha$ [1/s]."""
    beta: RateSquared
    r"""Gain of the motors' displacements $\beta$ [1/s^2]."""
    margin: WeightMargin = 1.1
    """Weight $k$ of the motors' speed, as a multiple of the least that works everywhere."""

    def start(self, task: Task) -> Law:
        return _SwingUpLaw(self, task)


class SwingUpErrors(NamedTuple):
    """What the law brings to zero."""

    energy: Vector
    """Energy above that of the goal, shape ``(1,)`` [J]."""
    y: Vector
    """The motors' displacements, shape ``(nu,)``."""
    y_dot: Vector
    """Their rates, shape ``(nu,)``."""


AT_REST = (
    "The robot is at rest and balanced, where no input changes its energy at once, and the law "
    "leaves it there. Start it a little off rest, such as with start.spread."
)
"""What is said of a state that the law would never leave, instead of staying in it silently."""
UNBOUNDED_INPUT, AT_EQUILIBRIUM = -1, -2
"""What `energy_input` returns where no input is bounded, and where the robot rests below the
goal."""


@compiled
def write_errors(
    M: Matrix,
    B: Matrix,
    v: Vector,
    potential: Vector,
    level: float,
    dq: Vector,
    errors: SwingUpErrors,
) -> None:
    """Write the errors, with the step ``dq`` from the goal to the configuration."""
    errors.energy[0] = potential[0] - level
    for i in range(len(v)):
        for c in range(len(v)):
            errors.energy[0] += 0.5 * v[i] * M[i, c] * v[c]
    for k in range(len(errors.y)):
        errors.y[k] = errors.y_dot[k] = 0.0
        for i in range(len(v)):
            errors.y[k] += B[i, k] * dq[i]
            errors.y_dot[k] += B[i, k] * v[i]


@compiled
def energy_input(
    weight: float,
    alpha: float,
    beta: float,
    tolerance: float,
    errors: SwingUpErrors,
    B: Matrix,
    v: Vector,
    a_free: Vector,
    G: Matrix,
    H: Matrix,
    L: Matrix,
    u: Vector,
) -> int:
    """Write the input; ``H`` and its factor ``L`` are scratch. Returns 0 or what is unusual.

    A robot that does not move stays so where no acceleration is above ``tolerance``.
    """
    n, nu = G.shape
    for i in range(nu):
        u[i] = -(alpha * errors.y_dot[i] + beta * errors.y[i])
        for c in range(n):
            u[i] -= B[c, i] * a_free[c]
        for k in range(nu):
            H[i, k] = errors.energy[0] / weight if i == k else 0.0
            for c in range(n):
                H[i, k] += B[c, i] * G[c, k]
    # indefinite: the weight is too small for this configuration
    if cholesky(H, L) != 0:
        return UNBOUNDED_INPUT
    solve_lower(L, u)
    solve_upper(L, u)
    moving = False
    for c in range(n):
        moving = moving or v[c] != 0.0
    # at rest with energy missing the input is that of an equilibrium, if there is one
    for c in range(n):
        moving = moving or abs(a_free[c] + dot(G[c], u)) > tolerance
    return 0 if moving or not errors.energy[0] < 0.0 else AT_EQUILIBRIUM


@final
class _SwingUpLaw(Law):
    def __init__(self, spec: SwingUp, task: Task) -> None:
        super().__init__(task)
        robot = task.robot
        if robot.actuation.varies or not robot.nu:
            raise InputError(
                f"robot '{robot.name}' must have motors on its joints for kind = \"swing_up\"; "
                + ("its actuation changes with the configuration." if robot.nu else "it has none.")
            )
        stack = Stack((*passive_constraints(robot), *task.servo), robot)
        self.goal = consistent_configuration(stack, robot.snapshot(task.q), task.q, task.start)
        """Configuration to swing up to, shape ``(nq,)``: where the servo rows hold."""
        self.goal_energy = robot.snapshot(self.goal).potential_energy()
        """Energy at rest there [J]."""
        if np.isnan(self.goal_energy):
            raise InputError(
                f"robot '{robot.name}' must have a potential energy for kind = \"swing_up\"; it is "
                "not known. Give its plant a potential."
            )
        self._alpha, self._beta = spec.alpha, spec.beta
        self._acceleration_scale = 1.0
        self.weight = spec.margin * self._least_weight()
        """The weight $k$ [J^2 s^2/rad^2, or per m^2]."""
        self._errors = RobotBuffers(self._build_errors)

    def _least_weight(self) -> float:
        """Return the least weight that works at every configuration, by random search."""
        task, robot, rng = self.task, self.task.robot, np.random.default_rng(0)
        dynamics, still = Dynamics(robot, task.rank, task.gains), np.zeros(robot.nv)
        dynamics.move(task.start, self.goal, still)
        leaving = np.abs(dynamics.a_free)
        max_weight, best = -np.inf, self.goal
        for k in range(2 * N_SAMPLED_CONFIGURATIONS):
            # The first half goes everywhere, the second ever nearer to the worst place.
            near = k >= N_SAMPLED_CONFIGURATIONS and not len(dynamics.passive)
            # about a hundredth of the width is left after 150 steps
            step = rng.standard_normal(robot.nv) * 0.97 ** (k - N_SAMPLED_CONFIGURATIONS)
            q = robot.integrate(best, step) if near else robot.random(rng)
            # a closed chain cannot be moved at random: its goal alone is looked at
            if len(dynamics.passive):
                q = self.goal
            dynamics.move(task.start, q, still)
            self._acceleration_scale = max(self._acceleration_scale, max_abs(dynamics.a_free))
            missing = self.goal_energy - dynamics.snapshot.potential_energy()
            weight = missing / self._least_authority(dynamics)
            if weight > max_weight:
                max_weight, best = weight, q
        # beside the largest acceleration that gravity gives anywhere, so that units do not matter
        if leaving.max() > EQUILIBRIUM_RTOL * self._acceleration_scale:
            worst = first_largest(leaving)
            raise InputError(
                'the task must hold at an equilibrium without input for kind = "swing_up"; there '
                f"'{robot.dofs[worst]}' accelerates by {leaving[worst]:.3g} "
                f"{robot.dof_units[worst].removesuffix('/s')}/s^2. Ask for the upright position."
            )
        if max_weight <= 0.0:
            raise InputError(
                'the task must need more energy than other configurations for kind = "swing_up"; '
                "it is the lowest one. Ask for the upright position."
            )
        return max_weight

    def _least_authority(self, dynamics: Dynamics) -> float:
        """Return the smallest eigenvalue of ``B' G``."""
        return float(np.linalg.eigvalsh(dynamics.snapshot.B.T @ dynamics.G)[0])

    def _build_errors(self, dynamics: Dynamics) -> tuple[SwingUpErrors, Iterable[KernelStep]]:
        s, robot, potential = dynamics.snapshot, dynamics.robot, np.zeros(1)
        errors, dq = SwingUpErrors(np.zeros(1), *np.zeros((2, robot.nu))), np.zeros(robot.nv)
        away = BoundKernel(difference, robot.structure.manifold_table, self.goal, s.q, dq)
        args = s.M, s.B, s.v, potential, self.goal_energy, dq
        return errors, (
            away,
            *s.potential_steps(potential),
            BoundKernel(write_errors, *args, errors),
        )

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, nu = dynamics.snapshot, dynamics.robot.nu
        errors, steps = self._errors.steps(dynamics)
        gains = float(self.weight), float(self._alpha), float(self._beta)
        tolerance = EQUILIBRIUM_RTOL * self._acceleration_scale
        answer = s.B, s.v, dynamics.a_free, dynamics.G

        def unusual(code: int) -> Exception:
            energy = float(errors.energy[0])
            if code == AT_EQUILIBRIUM:
                return InfeasibleConstraint(("energy",), (-energy,), 0, 1, AT_REST)
            more = -energy / self._least_authority(dynamics) / self.weight
            return GainError(
                f"margin must be {more:.4g} times as large, or the input has no bound at "
                f"t = {s.t:.4g} s, where {-energy:.3g} J are missing."
            )

        yield from steps
        yield BoundKernel(
            energy_input,
            *gains,
            tolerance,
            errors,
            *answer,
            *np.zeros((2, nu, nu)),
            tick.u,
            fault=unusual,
        )

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the energy error, and the function that the law lowers."""
        errors, y, y_dot = self._errors(dynamics)
        energy, k = float(errors[0]), self.weight
        lyapunov = 0.5 * (energy**2 + k * y_dot @ y_dot + k * self._beta * y @ y)
        return {
            "energy_error": Signal(energy, "J", "energy above that of the goal"),
            "lyapunov": Signal(float(lyapunov), "J^2", "what the swing-up lowers"),
        }
