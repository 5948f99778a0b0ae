r"""Swing-up of underactuated robots: the servo law on the motors, with energy pumped into it.

Partial feedback linearisation makes the motors' displacements $y$ obey $\ddot y + \alpha \dot y +
\beta y = 0$; it is the servo law whose rows are the motors' joints, with $H = B^\top G$. Lessening
$H$ by the energy that is missing makes the same law feed that energy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.controller import Controller, Law
from ukctrl.control.task import Signal, Task
from ukctrl.control.tick import Command
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import GainError, InfeasibleConstraint, InputError
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.core.fields import Quantity, Rate, RateSquared, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.start import solve_positions

TRIED = 300
"""Configurations at which the energy to be pumped is weighed against the motors' grip."""
BALANCED = 1e-9
"""An acceleration smaller than this fraction of what gravity gives elsewhere counts as none."""
Margin = Annotated[float, Quantity("1", minimum=1.0, open_minimum=True)]


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
    margin: Margin = 1.1
    """Weight $k$ of the motors' speed, as a multiple of the least that works everywhere."""

    def start(self, task: Task) -> Law:
        return _SwingUp(self, task)


@final
class _SwingUp(Law):
    def __init__(self, spec: SwingUp, task: Task) -> None:
        super().__init__(task)
        robot = task.robot
        if robot.actuation.varies or not robot.nu:
            raise InputError(
                f"robot '{robot.name}' must have motors on its joints for kind = \"swing_up\"; "
                + ("its actuation changes with the configuration." if robot.nu else "it has none.")
            )
        stack = Stack((*passive_constraints(robot), *task.servo), robot)
        self.goal = solve_positions(stack, robot.snapshot(task.q), task.q, task.start)
        """Configuration to swing up to, shape ``(nq,)``: where the servo rows hold."""
        self.level = robot.snapshot(self.goal).potential_energy()
        """Energy at rest there [J]."""
        if np.isnan(self.level):
            raise InputError(
                f"robot '{robot.name}' must have a potential energy for kind = \"swing_up\"; it is "
                "not known. Give its plant a potential."
            )
        self._alpha, self._beta, self._unit = spec.alpha, spec.beta, np.eye(robot.nu)
        self._size = 1.0
        self.weight = spec.margin * self._least_weight()
        """The weight $k$ [J^2 s^2/rad^2, or per m^2]."""

    def _least_weight(self) -> float:
        """Return the least weight that works at every configuration, by random search."""
        task, robot, rng = self.task, self.task.robot, np.random.default_rng(0)
        dynamics, still = Dynamics(robot, task.rank, task.gains), np.zeros(robot.nv)
        dynamics.move(task.start, self.goal, still)
        leaving = np.abs(dynamics.a_free)
        needed, best = -np.inf, self.goal
        for k in range(2 * TRIED):
            # The first half goes everywhere, the second ever nearer to the worst place.
            near = k >= TRIED and not len(dynamics.passive)
            step = rng.standard_normal(robot.nv) * 0.97 ** (k - TRIED)
            q = robot.integrate(best, step) if near else robot.random(rng)
            if len(dynamics.passive):
                q = self.goal
            dynamics.move(task.start, q, still)
            self._size = max(self._size, max_abs(dynamics.a_free))
            missing = self.level - dynamics.snapshot.potential_energy()
            weight = missing / self._grip(dynamics)
            if weight > needed:
                needed, best = weight, q
        if leaving.max() > BALANCED * self._size:
            worst = first_largest(leaving)
            raise InputError(
                'the task must hold at an equilibrium without input for kind = "swing_up"; there '
                f"'{robot.dofs[worst]}' accelerates by {leaving[worst]:.3g} "
                f"{robot.dof_units[worst].removesuffix('/s')}/s^2. Ask for the upright position."
            )
        if needed <= 0.0:
            raise InputError(
                'the task must need more energy than other configurations for kind = "swing_up"; '
                "it is the lowest one. Ask for the upright position."
            )
        return needed

    def _grip(self, dynamics: Dynamics) -> float:
        """Return the smallest eigenvalue of ``B' G``."""
        return float(np.linalg.eigvalsh(dynamics.snapshot.B.T @ dynamics.G)[0])

    def _errors(self, dynamics: Dynamics) -> tuple[float, Vector, Vector]:
        """Return the energy error, and the motors' displacements and rates."""
        s = dynamics.snapshot
        y = self.task.robot.difference(self.goal, s.q) @ s.B
        return sum(s.energy()) - self.level, y, s.v @ s.B

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s = dynamics.snapshot
        energy, y, y_dot = self._errors(dynamics)
        H: Matrix = s.B.T @ dynamics.G + energy / self.weight * self._unit
        least = float(np.linalg.eigvalsh(H)[0])
        if not least > 0.0:
            more = -energy / self._grip(dynamics) / self.weight
            raise GainError(
                f"margin must be {more:.4g} times as large, or the input has no bound at "
                f"t = {s.t:.4g} s, where {-energy:.3g} J are missing."
            )
        wanted = dynamics.a_free @ s.B + self._alpha * y_dot + self._beta * y
        u: Vector = np.negative(np.linalg.solve(H, wanted))
        if energy < 0.0 and not s.v.any():
            self._require_motion(dynamics, u, energy)
        return Command(u, memory)

    def _require_motion(self, dynamics: Dynamics, u: Vector, energy: float) -> None:
        """Name the state that the law never leaves, instead of staying in it silently."""
        if max_abs(dynamics.acceleration(u)) > BALANCED * self._size:
            return
        raise InfeasibleConstraint(
            ("energy",),
            (-energy,),
            0,
            1,
            "The robot is at rest and balanced, where no input changes its energy at once, and "
            "the law leaves it there. Start it a little off rest, such as with start.spread.",
        )

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the energy error, and the function that the law lowers."""
        energy, y, y_dot = self._errors(dynamics)
        k = self.weight
        lyapunov = 0.5 * (energy**2 + k * y_dot @ y_dot + k * self._beta * y @ y)
        return {
            "energy_error": Signal(energy, "J", "energy above that of the goal"),
            "lyapunov": Signal(float(lyapunov), "J^2", "what the swing-up lowers"),
        }
