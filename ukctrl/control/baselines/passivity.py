r"""Passivity-based control: Slotine and Li's law, and its adaptive form.

With a virtual reference velocity $v_r = \dot q_r - \kappa e$ and $\sigma = v - v_r = \dot e +
\kappa e$ the closed loop is

$$ M \dot\sigma + (C + K)\, \sigma = Y \tilde\pi , \qquad
   V = \tfrac12 \sigma^\top M \sigma + \tfrac12 \tilde\pi^\top \Gamma^{-1} \tilde\pi, \qquad
   \dot V = -\sigma^\top K \sigma, $$

because $\dot M - 2 C$ is skew-symmetric. No inverse of an estimate is taken, and no acceleration
measured.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Annotated, Literal, final

import numpy as np

from ukctrl.control.actuation import FullActuation
from ukctrl.control.baselines.joint_space import Stiffness, Tracking
from ukctrl.control.controller import Law
from ukctrl.control.feedback.feedback import RateGain, spread
from ukctrl.control.regulators.riccati import weight
from ukctrl.control.task import Signal, Task
from ukctrl.control.tick import Command
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.fields import Each, Quantity, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.robot import Snapshot

KINDS = ("mass", "first_moment", "inertia")
"""Kinds of inertial parameters."""
PLACES = np.repeat([0, 1, 2], [1, 3, 6])
"""The kind of each of a body's ten numbers."""


@spec
class PassivityBased(Tracking):
    """What the passivity-based laws share."""

    kappa: RateGain
    r"""Rate $\kappa$ at which the error decays where $\sigma = 0$, as in ``first_order`` [1/s]."""
    kd: Stiffness
    r"""Damping $K$ of $\sigma$, one number or one a joint [N m s/rad or N s/m]."""


@spec
class SlotineLi(PassivityBased):
    r"""Passivity-based tracking: $u = B^+ (M \dot v_r + C v_r + g - f - K \sigma)$.

    $V = \sigma^\top M \sigma / 2$ decreases along every run of the exact model, and the error
    follows. $C$ is that of Christoffel's symbols, and $g = \mathrm{nle} - C v$.

    References:
        Slotine & Li, "On the adaptive control of robot manipulators", Int. J. Robot. Res. 6(3),
        1987.
    """

    kind: Literal["slotine_li"] = "slotine_li"

    def start(self, task: Task) -> Law:
        return _SlotineLi(self, task)


@spec
class SlotineLiAdaptive(PassivityBased):
    r"""Passivity-based tracking that estimates the bodies' masses and inertias on the way.

    $$ u = B^+ (Y \hat\pi - f - K \sigma), \qquad
       \dot{\hat\pi} = -\Gamma\, Y^\top \sigma, \qquad
       Y \pi = M \dot v_r + C v_r + g . $$

    The error goes to zero whatever the true bodies are; the estimate goes to the truth only as
    far as the motion asks for it. Memory: ten numbers a body, starting from the believed robot.

    References:
        Slotine & Li, Int. J. Robot. Res. 6(3), 1987; Atkeson, An & Hollerbach, "Estimation of
        inertial parameters of manipulator loads and links", Int. J. Robot. Res. 5(3), 1986.
    """

    kind: Literal["slotine_li_adaptive"] = "slotine_li_adaptive"
    gamma: Annotated[float | dict[str, float], Each(Quantity(minimum=0.0))]
    r"""Diagonal of $\Gamma$: one number for all, or a table of ``mass``, ``first_moment`` and
    ``inertia``; 0 keeps what is believed."""

    def start(self, task: Task) -> Law:
        return _Adaptive(self, task)


class _Passive(Law, abc.ABC):
    def __init__(self, spec: SlotineLi | SlotineLiAdaptive, task: Task) -> None:
        robot, kind = task.robot, spec.kind
        if robot.passive:
            held = dict.fromkeys(Stack(passive_constraints(robot), robot).blocks)
            raise InputError(
                f"robot '{robot.name}' must be an open chain for kind = \"{kind}\", whose virtual "
                f"velocity its passive constraints would not allow; it has {quoted(held)}. "
                'Use kind = "servo".'
            )
        robot.snapshot(task.q).coriolis()  # of a plant of formulas, derived before the run
        super().__init__(spec.along(task))
        if len(self.stack) < robot.nv:
            raise InputError(
                f'controller.joints must name all of {", ".join(robot.dofs)} for kind = "{kind}"; '
                f"got {len(self.stack)} of {robot.nv}."
            )
        self._kappa = spread(spec.kappa, self.stack, "kappa")
        self._kd = spread(spec.kd, self.stack, "kd")
        self._motors = FullActuation(task)

    def _virtual(self, s: Snapshot) -> tuple[Vector, Vector, Vector]:
        r"""Return $\sigma$, $v_r$ and $\dot v_r$, each of shape ``(nv,)``."""
        A, b, beta, phi = self.stack.write(s)
        sigma = (beta + self._kappa * phi) @ A
        return sigma, s.v - sigma, (b - self._kappa * beta) @ A

    def _needed(self, s: Snapshot, w: Vector, a: Vector) -> Vector:
        """Return ``M a + C w + (nle - C v) - f`` of the believed robot."""
        needed: Vector = s.M @ a + s.coriolis() @ (w - s.v) + s.nle - s.f
        return needed

    def _damping(self, sigma: Vector) -> Vector:
        A = self.stack.rows.A
        damping: Vector = (self._kd * (A @ sigma)) @ A
        return damping

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the part of Lyapunov's function that the believed robot knows of."""
        s = dynamics.snapshot
        sigma, _, _ = self._virtual(s)
        energy = 0.5 * float(sigma @ s.M @ sigma)
        return {"lyapunov": Signal(energy, "J", "sigma' M sigma/2 of the believed robot")}


@final
class _SlotineLi(_Passive):
    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s = dynamics.snapshot
        sigma, w, a = self._virtual(s)
        force = self._needed(s, w, a) - self._damping(sigma)
        return Command(self._motors.input(dynamics, force), memory)


@final
class _Adaptive(_Passive):
    def __init__(self, spec: SlotineLiAdaptive, task: Task) -> None:
        super().__init__(spec, task)
        self._believed = task.robot.snapshot(task.q).inertial_parameters().ravel()
        self.memory = self._believed.copy()
        rates = np.diag(weight(spec.gamma, KINDS, "gamma"))
        self._gamma = np.tile(rates[PLACES], len(self.memory) // len(PLACES))

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s = dynamics.snapshot
        sigma, w, a = self._virtual(s)
        Y = s.regressor(w, a)
        force = self._needed(s, w, a) + Y @ (memory - self._believed) - self._damping(sigma)
        return Command(self._motors.input(dynamics, force), -self._gamma * (sigma @ Y))

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the estimates as well."""
        bodies = memory.reshape(-1, len(PLACES))
        return {
            **super().signals(dynamics, memory),
            "mass_hat": Signal(bodies[:, 0], "kg", "estimated mass of every moving body"),
            "parameter_hat": Signal(
                np.array(memory), "", "estimates, ten a body: mass, first moments, inertia"
            ),
        }
