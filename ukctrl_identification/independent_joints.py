r"""Motions of robots by the joints that may move as they like; the others follow.

Passive constraints of full rank leave some velocities independent, $v = N \dot y$, and
$a = N \ddot y + \dot N \dot y$. Positions of the other joints are followed from the start on, so
that a closed chain stays in its assembly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.robot import Robot
from ukctrl_identification.exciting_refusals import (
    refuse_choice,
    refuse_nonholonomic,
    refuse_undriven,
    refuse_unfit,
)
from ukctrl_identification.fourier_series import FourierSeries
from ukctrl_identification.passive_motion import RANK_RTOL, driven, passive_stack

POSITION_ATOL = 1e-12
"""Position errors of passive constraints below this are none."""
MIN_PIVOT = 1e-6
"""Of passive rows at unit length: a velocity that adds less to those chosen does not follow."""
MAX_ITERATIONS = 12
MAX_STRIDE, MAX_CORRECTION = 0.05, 0.05
"""How far the independent joints go at a time, and how far the others are from where the tangent
leads them: a larger correction may end in another assembly [rad or m]."""


class States(NamedTuple):
    """A motion of a robot at ``n`` instants."""

    time: Vector
    """[s]."""
    y: Matrix
    """Displacements of the independent joints from the start, shape ``(n, k)``."""
    rate: Matrix
    """Their velocities."""
    rise: Matrix
    """Their accelerations."""
    q: Matrix
    """Shape ``(n, nq)``."""
    v: Matrix
    """Shape ``(n, nv)``."""
    a: Matrix
    """Shape ``(n, nv)``."""
    tangent: NDArray[np.float64] | None
    """$N$, shape ``(n, nv, k)``; None where it is the identity."""


@final
class IndependentJoints:
    """The independent joints of a robot.

    Args:
        robot: The robot.
        start: A configuration on the passive constraints, shape ``(nq,)``.
        joints: Velocities that shall be the independent ones; absent: motors first.

    Attributes:
        dofs: The independent velocities, shape ``(k,)``.
        leverage: How fast all joints move for each at the start, shape ``(k,)``.

    Raises:
        InputError: The robot's motion cannot be chosen, or some of the joints are not independent,
            or more are.
    """

    def __init__(self, robot: Robot, start: Vector, joints: Sequence[str] = ()) -> None:
        refuse_unfit(robot)
        self.robot, self.start = robot, start
        self._stack = passive_stack(robot)
        self._snapshot = robot.snapshot(start)
        places = [(block.iq, block.iv) for block in robot.blocks if block.shape == "line"]
        self._lines = np.array(places, dtype=np.int64).reshape(-1, 2).T
        self._circles = [(block.iq, block.iv) for block in robot.blocks if block.shape == "circle"]
        named = [dof_index(robot, joint) for joint in joints]
        if self._stack is None:
            dofs, self._dependent = np.arange(robot.nv), np.zeros(0, dtype=np.int64)
        else:
            refuse_nonholonomic(self._stack)
            A = self._stack.write(self._snapshot).A
            pushed = driven(robot)
            rank = [(2 if i in named else int(pushed[i]), i) for i in range(robot.nv)]
            groups = [[i for of, i in rank if of == group] for group in range(3)]
            self._dependent = _followers(A, groups)
            dofs = np.setdiff1d(np.arange(robot.nv), self._dependent)
            pivots = scipy.linalg.qr(A[:, self._dependent].T, mode="r", pivoting=True)[1]
            self._rows = np.sort(pivots[: len(self._dependent)])
        self.dofs: Indices = dofs
        refuse_choice(robot, named, self.dofs)
        N = np.eye(robot.nv)
        if self._stack is not None:
            N = self._tangents(self._matrices(start[None])[0])[0]
        refuse_undriven(robot, self.names, N.T @ robot.snapshot(start).B)
        self.leverage = np.linalg.norm(N, axis=0)

    @property
    def k(self) -> int:
        """How many there are."""
        return len(self.dofs)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.robot.dofs[i] for i in self.dofs)

    def positions(self) -> Vector:
        """Return where they are at the start, shape ``(k,)``; of continuous joints the angle."""
        angles = np.hstack([block.angles(self.start[None]) for block in self.robot.blocks])[0]
        return np.asarray(angles[self.dofs])

    def states(self, time: Vector, y: Matrix, rate: Matrix, rise: Matrix) -> States | None:
        """Return the motion of all joints; None where the others cannot follow.

        Args:
            time: Growing from the start on, shape ``(n,)`` [s].
            y: Displacements, shape ``(n, k)``.
            rate: Velocities.
            rise: Accelerations.
        """
        if self._stack is None:
            q = self._moved(np.tile(self.start, (len(y), 1)), y)
            return States(time, y, rate, rise, q, rate, rise, None)
        try:
            followed = self._followed(y)
            return None if followed is None else self._completed(time, y, rate, rise, followed)
        except np.linalg.LinAlgError:
            return None

    def along(self, series: FourierSeries, times: Vector) -> States | None:
        """Return the motion of a series at growing instants from the start on [s]."""
        return self.states(times, *(series(times, order) for order in range(3)))

    def shifted(self, near: States, order: int, joint: int, step: float) -> States:
        """Return a motion with a joint's displacement, velocity or acceleration changed a little.

        Args:
            near: The motion; each of its instants is changed by itself.
            order: Which of the three.
            joint: Which independent joint.
            step: By how much.
        """
        moved = [near.y, near.rate, near.rise]
        moved[order] = moved[order].copy()
        moved[order][:, joint] += step
        q = near.q
        if order == 0:
            dq = np.zeros(near.v.shape)
            dq += step * (
                np.eye(self.k)[joint] if near.tangent is None else near.tangent[..., joint]
            )
            q = self._moved(q, dq)
        y, rate, rise = moved
        if self._stack is None:
            return States(near.time, y, rate, rise, q, rate, rise, None)
        return self._completed(near.time, y, rate, rise, q)

    def _followed(self, y: Matrix) -> Matrix | None:
        """Return the configurations on the constraints, from instant to instant."""
        path, q, before = np.zeros((len(y), self.robot.nq)), self.start[None], np.zeros(self.k)
        tangent = self._tangents(self._matrices(q)[0])[0]
        for n, at in enumerate(y):
            strides = max(1, math.ceil(np.abs(at - before).max() / MAX_STRIDE))
            for _ in range(strides):
                step = (tangent @ (at - before)) / strides
                near = self._corrected(self._moved(q, step[None]))
                if near is None:
                    return None
                q, tangent = near
            path[n], before = q[0], at
        return path

    def _corrected(self, q: Matrix) -> tuple[Matrix, Matrix] | None:
        """Return the configuration on the constraints next to one, and ``N`` there."""
        for _ in range(MAX_ITERATIONS):
            A, phi = self._matrices(q)
            if np.abs(phi).max() <= POSITION_ATOL:
                return q, self._tangents(A)[0]
            step = np.zeros((1, self.robot.nv))
            step[0, self._dependent] = -np.linalg.solve(A[0][:, self._dependent], phi[0])
            if not np.abs(step).max() <= MAX_CORRECTION:
                return None
            q = self._moved(q, step)
        return None

    def _moved(self, q: Matrix, step: Matrix) -> Matrix:
        """Return configurations moved along joints, steps of shape ``(n, nv)``."""
        result = q.copy()
        at, by = self._lines
        result[:, at] += step[:, by]
        for iq, iv in self._circles:
            c, s, turn = q[:, iq], q[:, iq + 1], step[:, iv]
            result[:, iq] = c * np.cos(turn) - s * np.sin(turn)
            result[:, iq + 1] = s * np.cos(turn) + c * np.sin(turn)
        return result

    def _completed(self, time: Vector, y: Matrix, rate: Matrix, rise: Matrix, q: Matrix) -> States:
        """Return the states of configurations on the constraints."""
        A, b = self._matrices(q)
        tangent = self._tangents(A)
        v = np.einsum("nik,nk->ni", tangent, rate)
        a = np.einsum("nik,nk->ni", tangent, rise)
        for n in range(len(q)):
            b[n] = self._written(q[n], v[n]).b[self._rows]
        a[:, self._dependent] += np.linalg.solve(A[:, :, self._dependent], b[..., None])[..., 0]
        return States(time, y, rate, rise, q, v, a, tangent)

    def _written(self, q: Vector, v: Vector) -> Rows:
        assert self._stack is not None
        self._snapshot.move(q, v)
        return self._stack.write(self._snapshot)

    def _matrices(self, q: Matrix) -> tuple[NDArray[np.float64], Matrix]:
        """Return ``A`` and ``phi`` of independent rows at each configuration."""
        n, r, still = len(q), len(self._rows), np.zeros(self.robot.nv)
        A, phi = np.zeros((n, r, self.robot.nv)), np.zeros((n, r))
        for i in range(n):
            rows = self._written(q[i], still)
            A[i], phi[i] = rows.A[self._rows], rows.phi[self._rows]
        return A, phi

    def _tangents(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        N = np.zeros((len(A), self.robot.nv, self.k))
        N[:, self.dofs, np.arange(self.k)] = 1.0
        N[:, self._dependent] = -np.linalg.solve(A[:, :, self._dependent], A[:, :, self.dofs])
        return N


def _followers(A: Matrix, groups: Sequence[Sequence[int]]) -> Indices:
    """Return velocities that follow from the others under ``A v = 0``, those that do so firmly.

    Args:
        A: Passive rows, shape ``(m, nv)``.
        groups: Velocities by when they are asked, the first group first.
    """
    rest, chosen = A / np.maximum(np.linalg.norm(A, axis=1), RANK_RTOL)[:, None], list[int]()
    for group in groups:
        for _ in group:
            size = np.linalg.norm(rest[:, group], axis=0)
            best = int(np.argmax(size))
            if size[best] <= MIN_PIVOT:
                break
            unit = rest[:, group[best]] / size[best]
            rest -= np.outer(unit, unit @ rest)
            chosen.append(group[best])
    return np.array(sorted(chosen), dtype=np.int64)
