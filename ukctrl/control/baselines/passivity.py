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
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, final

import numpy as np

from ukctrl.control.anti_windup import hold_memory
from ukctrl.control.baselines.joint_space import JointGain, JointTracking
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Law
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.feedback.feedback import RateGain, row_gains
from ukctrl.control.inverse_actuation import FullActuation
from ukctrl.control.regulators.riccati import weight_matrix
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.factorisation import matvec
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.fields import PerElement, Quantity, spec
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.relative_degree import SERVO_ADVICE
from ukctrl.robot import Snapshot

PARAMETER_KINDS = ("mass", "first_moment", "inertia")
"""Kinds of inertial parameters."""
PARAMETER_KIND_INDEX = np.repeat([0, 1, 2], [1, 3, 6])
"""The kind of each of a body's ten numbers."""


@spec
class PassivityBased(JointTracking):
    """What the passivity-based laws share."""

    poles_aimed_at: ClassVar[PoleCount | None] = 2

    kappa: RateGain
    r"""Rate $\kappa$ at which the error decays where $\sigma = 0$, as in ``first_order`` [1/s]."""
    kd: JointGain
    r"""Damping $K$ of $\sigma$, one number or one a joint [N m s/rad or N s/m]."""

    def gains_for(
        self, terms: ErrorSpec, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        r"""Return $\kappa$ and, times the inertia of each joint, $K$; None below a damping of 1."""
        pair = terms.real_pair()
        return None if pair is None else {"kappa": pair[0], "kd": tuple(pair[1] * inertia())}


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
        return _SlotineLiLaw(self, task)


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
    gamma: Annotated[float | dict[str, float], PerElement(Quantity(minimum=0.0))]
    r"""Diagonal of $\Gamma$: one number for all, or a table of ``mass``, ``first_moment`` and
    ``inertia``; 0 keeps what is believed."""

    def start(self, task: Task) -> Law:
        return _AdaptiveSlotineLiLaw(self, task)


class VirtualReference(NamedTuple):
    """What stands for the motion to follow, each of shape ``(nv,)``."""

    v_r: Vector
    """The virtual reference velocity."""
    v_r_dot: Vector
    """Its time derivative."""
    minus_sigma: Vector
    r"""The virtual velocity less the velocity, $-\sigma$."""
    K_sigma: Vector
    r"""$K \sigma$."""


@compiled
def write_virtual_reference(
    rows: Rows, kappa: Vector, kd: Vector, v: Vector, virtual: VirtualReference
) -> None:
    """Write all of the virtual motion."""
    A, n = rows.A, len(v)
    for c in range(n):
        virtual.v_r_dot[c] = virtual.minus_sigma[c] = virtual.K_sigma[c] = 0.0
    for i in range(len(kappa)):
        error = rows.beta[i] + kappa[i] * rows.phi[i]
        a = rows.b[i] - kappa[i] * rows.beta[i]
        for c in range(n):
            virtual.minus_sigma[c] -= error * A[i, c]
            virtual.v_r_dot[c] += a * A[i, c]
    # again over the rows, now that sigma is the sum of all
    for i in range(len(kappa)):
        along = 0.0
        for c in range(n):
            along -= A[i, c] * virtual.minus_sigma[c]
        for c in range(n):
            virtual.K_sigma[c] += kd[i] * along * A[i, c]
    for c in range(n):
        virtual.v_r[c] = v[c] + virtual.minus_sigma[c]


@compiled
def passivity_force(
    M: Matrix, nle: Vector, f: Vector, turned: Vector, virtual: VirtualReference, force: Vector
) -> None:
    r"""Write $M \dot v_r + \mathrm{nle} + C (v_r - v) - f - K \sigma$."""
    matvec(M, virtual.v_r_dot, force)
    for i in range(len(force)):
        force[i] += turned[i] + nle[i] - f[i] - virtual.K_sigma[i]


@compiled
def adapt_parameters(
    Y: Matrix,
    believed: Vector,
    gamma: Vector,
    back: Vector,
    memory: Vector,
    force: Vector,
    rate: Vector,
) -> None:
    r"""Add $Y (\hat\pi - \pi_0)$ to the force, and write $-\Gamma Y^\top \sigma$."""
    for k in range(len(rate)):
        along = 0.0
        for i in range(len(force)):
            # only what has been learnt: M, C and g are of the believed parameters
            force[i] += Y[i, k] * (memory[k] - believed[k])
            along += Y[i, k] * back[i]
        rate[k] = gamma[k] * along


class _PassivityLaw(Law, abc.ABC):
    def __init__(self, spec: SlotineLi | SlotineLiAdaptive, task: Task) -> None:
        robot, kind = task.robot, spec.kind
        if robot.passive:
            blocks = dict.fromkeys(Stack(passive_constraints(robot), robot).blocks)
            raise InputError(
                f"robot '{robot.name}' must be an open chain for kind = \"{kind}\", whose virtual "
                f"velocity its passive constraints would not allow; it has {quoted(blocks)}. "
                f"Use {SERVO_ADVICE}."
            )
        robot.snapshot(task.q).coriolis()  # of a plant of formulas, derived before the run
        super().__init__(spec.joint_task(task))
        # the proof needs sigma of the whole velocity
        if len(self.stack) < robot.nv:
            raise InputError(
                f'controller.joints must name all of {", ".join(robot.dofs)} for kind = "{kind}"; '
                f"got {len(self.stack)} of {robot.nv}."
            )
        self._kappa = row_gains(spec.kappa, self.stack, "kappa")
        self._kd = row_gains(spec.kd, self.stack, "kd")
        self._motors = FullActuation(task)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        r"""Yield what writes $B^+ (M \dot v_r + C v_r + g - f - K \sigma)$, and what is learnt.

        With $C v_r + g = C (v_r - v) + \mathrm{nle}$ of the believed robot.
        """
        s, n = dynamics.snapshot, dynamics.robot.nv
        on_the_way = VirtualReference(*np.zeros((4, n)))
        turned, force = np.zeros(n), np.zeros(n)
        yield from self._reference_steps(s, on_the_way)
        # nle holds C v already: C acts on the difference alone
        yield from s.coriolis_steps(on_the_way.minus_sigma, turned)
        yield BoundKernel(passivity_force, s.M, s.nle, s.f, turned, on_the_way, force)
        yield from self._adaptation_steps(s, on_the_way, force, tick)
        yield self._motors.step(dynamics, force, tick.u)

    def _reference_steps(self, s: Snapshot, virtual: VirtualReference) -> Iterator[KernelStep]:
        yield from self.stack.steps(s).items
        yield BoundKernel(
            write_virtual_reference, self.stack.rows, self._kappa, self._kd, s.v, virtual
        )

    def _adaptation_steps(
        self, s: Snapshot, virtual: VirtualReference, force: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        """Yield what adds the force of what has been learnt, and writes the memory's rate."""
        yield from ()

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the part of Lyapunov's function that the believed robot knows of."""
        s, virtual = dynamics.snapshot, VirtualReference(*np.zeros((4, dynamics.robot.nv)))
        KernelSequence(self._reference_steps(s, virtual))()
        energy = 0.5 * float(virtual.minus_sigma @ s.M @ virtual.minus_sigma)
        return {"lyapunov": Signal(energy, "J", "sigma' M sigma/2 of the believed robot")}


@final
class _SlotineLiLaw(_PassivityLaw):
    """What both laws have in common, and nothing more."""


@final
class _AdaptiveSlotineLiLaw(_PassivityLaw):
    def __init__(self, spec: SlotineLiAdaptive, task: Task) -> None:
        super().__init__(spec, task)
        self._believed = task.robot.snapshot(task.q).inertial_parameters().ravel()
        self.memory = self._believed.copy()
        rates = np.diag(weight_matrix(spec.gamma, PARAMETER_KINDS, "gamma"))
        self._gamma = np.tile(
            rates[PARAMETER_KIND_INDEX], len(self.memory) // len(PARAMETER_KIND_INDEX)
        )

    def _adaptation_steps(
        self, s: Snapshot, virtual: VirtualReference, force: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        Y: Matrix = np.zeros((len(force), len(tick.memory)))
        yield from s.regressor_steps(virtual.v_r, virtual.v_r_dot, Y)
        learning = Y, self._believed, self._gamma, virtual.minus_sigma, tick.memory
        yield BoundKernel(adapt_parameters, *learning, force, tick.memory_rate)

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        yield BoundKernel(hold_memory, self.stack.rows.A, loss, tick.memory_rate)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the estimates as well."""
        bodies = memory.reshape(-1, len(PARAMETER_KIND_INDEX))
        return {
            **super().signals(dynamics, memory),
            "mass_hat": Signal(bodies[:, 0], "kg", "estimated mass of every moving body"),
            "parameter_hat": Signal(
                np.array(memory), "", "estimates, ten a body: mass, first moments, inertia"
            ),
        }
