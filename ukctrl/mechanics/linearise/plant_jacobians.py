"""How a robot's acceleration changes with its state, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from ukctrl.core.algebra.factorisation import (
    copy_into,
    solve_lower_columns,
    solve_upper_columns,
)
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints, Snapshot
from ukctrl.robot.forces import AppliedForce, Dampers, Forces, Friction, JointSprings

SMOOTH_FORCES = (Dampers, Friction, JointSprings, ElasticJoints)


def split_smooth_forces(
    forces: Forces,
) -> tuple[tuple[AppliedForce, ...], tuple[AppliedForce, ...]]:
    """Return the forces with derivatives in closed form, and the others."""
    exact = tuple(term for term in forces.terms if isinstance(term, SMOOTH_FORCES))
    return exact, tuple(term for term in forces.terms if not isinstance(term, SMOOTH_FORCES))


def force_jacobian_steps(
    terms: tuple[AppliedForce, ...], snapshot: Snapshot, by_q: Matrix, by_v: Matrix
) -> Iterator[KernelStep]:
    r"""Yield what writes how the sum of forces in closed form changes with ``dq`` and ``v``.

    | force | $\partial f/\partial \delta q$ | $\partial f/\partial v$ |
    |---|---|---|
    | damper $-d\,v$ | | $-d$ |
    | friction $-c \tanh(v/w) - d\,v$ | | $-c'\tanh(v/w) - (c/w)\,(1 - \tanh^2(v/w)) - d$ |
    | joint spring $-k\,(q - q_0)$ | $-k$ | |
    | elastic joint $\pm(K(\theta - q) + D(\dot\theta - \dot q))$ | $\pm K$ | $\pm D$ |

    Args:
        terms: The forces, of the kinds of `SMOOTH_FORCES`.
        snapshot: The state.
        by_q: Receives it, shape ``(nv, nv)``.
        by_v: Likewise.
    """
    n, rubbing = len(snapshot.v), list[KernelStep]()
    constant_q, constant_v = np.zeros((2, n, n))
    for term in terms:
        match term:
            case Dampers():
                constant_v -= np.diag(term.damping)
            case Friction():
                args = term.dofs, *term.columns()[:5], snapshot.v, by_v
                rubbing.append(BoundKernel(subtract_friction_slope, *args))
            case JointSprings():
                np.subtract.at(constant_q, (term.dofs, term.dofs), term.stiffness)
            case ElasticJoints():
                for rate, gain in ((constant_q, term.stiffness), (constant_v, term.damping)):
                    rate[term.links, term.motors] += gain
                    rate[term.motors, term.links] += gain
                    rate[term.links, term.links] -= gain
                    rate[term.motors, term.motors] -= gain
    yield BoundKernel(copy_into, constant_q, by_q)
    yield BoundKernel(copy_into, constant_v, by_v)
    yield from rubbing


def force_jacobians(terms: tuple[AppliedForce, ...], snapshot: Snapshot) -> tuple[Matrix, Matrix]:
    """Return what `force_jacobian_steps` write."""
    by_q, by_v = np.zeros((2, len(snapshot.v), len(snapshot.v)))
    KernelSequence(force_jacobian_steps(terms, snapshot, by_q, by_v))()
    return by_q, by_v


@compiled
def subtract_friction_slope(
    dofs: Indices,
    level: Vector,
    scale: Vector,
    excess: Vector,
    fall: Vector,
    viscous: Vector,
    v: Vector,
    by_v: Matrix,
) -> None:
    """Subtract the derivative of the friction on some velocities, its level included."""
    for k in range(len(dofs)):
        i = dofs[k]
        ratio = v[i] / fall[k]
        risen, tanh = excess[k] * np.exp(-ratio * ratio), np.tanh(v[i] / scale[k])
        slope = (level[k] + risen) / scale[k] * (1.0 - tanh * tanh) + viscous[k]
        by_v[i, i] -= slope - 2.0 * v[i] / (fall[k] * fall[k]) * risen * tanh


def has_closed_form_jacobians(plant: Dynamics) -> bool:
    """Return whether all that acts on a robot has derivatives in closed form."""
    robot = plant.robot
    _, nonsmooth = split_smooth_forces(robot.forces)
    # passive rows add a reaction whose derivative is not worked out here
    return not nonsmooth and not robot.actuation.varies and not len(plant.passive)


@final
class AccelerationJacobians:
    r"""The derivatives of $a = M^{-1}(f + B u - \mathrm{nle})$ with ``q`` and ``v``; ``u`` is held.

    $M\,\partial a/\partial x = \partial f/\partial x - \partial (M a + \mathrm{nle})/\partial x$ at
    a fixed ``a``, along the tangent of ``q``: of rigid bodies by the recursion that
    `Snapshot.force_derivatives` names.

    Args:
        plant: The robot, which `has_closed_form_jacobians`.

    Attributes:
        a: Its acceleration at the state that it is at, shape ``(nv,)``.
        by_q: What ``steps`` write, shape ``(nv, nv)``.
        by_v: Likewise.
        steps: What writes them.
    """

    def __init__(self, plant: Dynamics) -> None:
        s, n = plant.snapshot, plant.robot.nv
        self.a = np.zeros(n)
        self.by_q, self.by_v, *pushed = np.zeros((6, n, n))
        self.steps = KernelSequence(
            (
                *force_jacobian_steps(plant.robot.forces.terms, s, *pushed[:2]),
                *s.force_derivative_steps(self.a, *pushed[2:]),
                BoundKernel(solve_jacobian, plant.L, pushed[0], pushed[2], self.by_q),
                BoundKernel(solve_jacobian, plant.L, pushed[1], pushed[3], self.by_v),
            )
        )

    def __call__(self, a: Vector) -> tuple[Matrix, Matrix]:
        """Return both at the state that the robot is at, with its acceleration."""
        self.a[:] = a
        self.steps()
        return self.by_q.copy(), self.by_v.copy()


@compiled
def solve_jacobian(L: Matrix, pushed: Matrix, needed: Matrix, out: Matrix) -> None:
    """Write ``M^-1 (pushed - needed)``."""
    for i in range(len(out)):
        for k in range(out.shape[1]):
            out[i, k] = pushed[i, k] - needed[i, k]
    solve_lower_columns(L, out)
    solve_upper_columns(L, out)
