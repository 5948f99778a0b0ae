r"""What a motion will tell of base parameters, before any log of it.

With the rows $X_i$ of the equation and the covariance $\Sigma_i$ of the noise of their efforts, the
information of a motion and the covariance of an unbiased estimate are

$$ \Lambda = \sum_i X_i^\top \Sigma_i^{-1} X_i, \qquad C = \Lambda^{-1} . $$

Where passive constraints leave $v = N \dot y$, rows are $N^\top Y$ and $\Sigma = N^\top S N$, with
``S`` of the sensors of all motors: the same information whichever joints are called independent.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, cast, final

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.robot import Robot
from ukctrl.robot.rigid.rigid_structure import RigidStructure
from ukctrl_identification.base_parameters import BaseParameters
from ukctrl_identification.independent_joints import States
from ukctrl_identification.measured_motion import Motion
from ukctrl_identification.passive_motion import FreeMotion, whitened
from ukctrl_identification.regression import Regression, known_force, stacked

CriterionKind = Literal["D", "A"]
SCALE_FLOOR = 0.1
"""A parameter counts as at least so much of the largest of its kind, where it is what errors are
compared with."""


class Rows(NamedTuple):
    """The equation of one row at ``n`` instants, in units of its noise."""

    columns: Indices
    """Base parameters that it has, shape ``(c,)``."""
    X: NDArray[np.float64]
    """Shape ``(c, n)``."""


def free_states(robot: Robot, states: States, noise: Vector) -> FreeMotion:
    """Return a motion with the equations that no reaction enters.

    Each has its joint's noise; where passive constraints mix joints, noise of one.

    Args:
        robot: The robot.
        states: Its motion.
        noise: Deviation of the efforts, shape ``(nv,)``; zero of joints without motors.
    """
    rows = tuple(range(robot.nv))
    motion = Motion(states.time, states.q, states.v, states.a, np.zeros(states.v.shape))
    armature = cast("RigidStructure", robot.structure).tree.armature
    force = known_force(robot, motion) - armature * states.a
    if states.tangent is None:
        return FreeMotion(motion, rows, None, force)
    basis = whitened(states.tangent, noise)
    return FreeMotion(motion, rows[: basis.shape[2]], basis, force)


def input_matrices(robot: Robot, q: Matrix) -> NDArray[np.float64]:
    """Return ``B``, shape ``(nv, nu)``, or ``(n, nv, nu)`` where it changes with the position."""
    if not robot.actuation.varies:
        return robot.actuation.constant
    snapshot, still = robot.snapshot(q[0]), np.zeros(robot.nv)
    matrices = np.zeros((len(q), robot.nv, robot.nu))
    for n, at in enumerate(q):
        snapshot.move(at, still)
        matrices[n] = snapshot.B
    return matrices


@final
class EffortEquations:
    """The equations of a robot's motors, linear in its base parameters.

    Args:
        regression: The columns.
        base: The base parameters.
        noise: Deviation of the efforts at a sample, shape ``(nv,)`` [N m or N].
    """

    def __init__(self, regression: Regression, base: BaseParameters, noise: Vector) -> None:
        self.regression, self.base, self.noise = regression, base, noise
        self.robot, self._kept = regression.robot, base.kept()
        self.values = base.values(regression.model_values())

    def rows(self, states: States) -> tuple[list[Rows], Matrix]:
        """Return the rows of each equation, and the inputs that motions ask of motors.

        Of more motors than freedoms the least inputs, as laws choose them.

        Returns:
            The rows in units of their noise, and inputs, shape ``(n, nu)`` [N m or N].
        """
        free = free_states(self.robot, states, self.noise)
        rows, efforts = [], np.zeros((len(states.time), len(free.rows)))
        for i, (row, columns, block) in enumerate(self.regression.blocks(free, self._kept)):
            at = np.searchsorted(self.base.independent, columns)
            scale = self.noise[row] if free.basis is None else 1.0
            rows.append(Rows(at, block[:-1] / scale))
            efforts[:, i] = self.values[at] @ block[:-1] - block[-1]
        return rows, self._inputs(free, efforts)

    def _inputs(self, free: FreeMotion, efforts: Matrix) -> Matrix:
        """Return the least inputs of motors that have efforts as their rows."""
        pushed = input_matrices(self.robot, free.motion.q)
        if free.basis is not None:
            pushed = free.basis.swapaxes(1, 2) @ pushed
        across = pushed.swapaxes(-1, -2)
        return np.asarray((across @ np.linalg.solve(pushed @ across, efforts[..., None]))[..., 0])

    def information(self, rows: list[Rows]) -> Matrix:
        """Return the information of rows, shape ``(b, b)``."""
        total = np.zeros((len(self.values), len(self.values)))
        for columns, X in rows:
            total[np.ix_(columns, columns)] += X @ X.T
        return total

    def triangle(self, states: States) -> Matrix:
        r"""Return ``R`` with $R^\top R = \Lambda$, made without a square, shape ``(p + 1, b)``."""
        free = free_states(self.robot, states, self.noise)
        noise = self.noise if free.basis is None else None
        R = stacked(self.regression.triangles([free], self._kept), len(self._kept), noise)
        return R[:, self.base.independent]

    def scale(self) -> Vector:
        """Return what errors of base parameters are compared with, shape ``(b,)``.

        The model's values; where they are small, a share of the largest of their kind, and of
        joints whose model has no friction the effort that the noise hides.
        """
        named = [self.regression.parameters[k] for k in self.base.independent]
        kinds = [_kind(one.symbol, one.unit) for one in named]
        size, result = np.abs(self.values), np.zeros(len(named))
        for j, (one, kind) in enumerate(zip(named, kinds, strict=True)):
            floor = SCALE_FLOOR * max(x for x, k in zip(size, kinds, strict=True) if k == kind)
            if not floor and one.owner in self.robot.dofs:
                i = self.robot.dofs.index(one.owner)
                speed = self.regression.velocity_scale[i] if one.symbol == "viscous" else 1.0
                floor = self.noise[i] / speed
            result[j] = max(size[j], floor or 1.0)
        return result


def _kind(symbol: str, unit: str) -> tuple[str, str]:
    """Return what parameters have in common that may be compared."""
    group = {"m": "mass", "mx": "moment", "my": "moment", "mz": "moment"}
    return ("inertia" if symbol[0] == "I" else group.get(symbol, symbol)), unit


def criterion(
    information: Matrix, scale: Vector, kind: CriterionKind
) -> tuple[float, Matrix] | None:
    r"""Return how large deviations are as a logarithm, and its derivative with the information.

    ``D``: $-\tfrac{1}{2b} \log\det\Lambda$ in units of the scale, the mean logarithm of the axes of
    the ellipsoid of errors. ``A``: $\tfrac12 \log(\tfrac1b \mathrm{tr}\, C)$ in such units. None
    where the motion does not tell all parameters.

    Args:
        information: $\Lambda$, shape ``(b, b)``.
        scale: Of the parameters, shape ``(b,)``.
        kind: ``D`` or ``A``.
    """
    b = len(scale)
    # columns of length one: units do not decide whether the factorisation succeeds
    length = np.sqrt(np.diag(information))
    if not (length > 0.0).all():
        return None
    try:
        L = np.linalg.cholesky(information / np.outer(length, length))
    except np.linalg.LinAlgError:
        return None
    back = scipy.linalg.solve_triangular(L, np.diag(1.0 / length), lower=True)
    C = back.T @ back
    if kind == "D":
        cost = -float(np.sum(np.log(np.diag(L) * length * scale))) / b
        return cost, -C / (2.0 * b)
    trace = float(np.sum(np.diag(C) / scale**2))
    half = C / scale
    return 0.5 * float(np.log(trace / b)), -0.5 * half @ half.T / trace
