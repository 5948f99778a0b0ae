"""From a generalised force to the inputs that give it."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.algebra.factorisation import multiplied
from ukctrl.core.algebra.nearest_input import FORCE, PUSH, nearest_input
from ukctrl.core.algebra.span import Span, independent, span
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree import ELASTIC_KINDS
from ukctrl.robot import Snapshot


@final
class InverseActuation:
    """``B^+`` of a task's robot, worked out once where ``B`` is constant."""

    def __init__(self, task: Task) -> None:
        self._lost = task.rank.servo
        start = self._span(task.robot.snapshot(task.q))
        self.rank = start.basis.shape[1]
        """Independent motors at the start."""
        self._constant: Matrix | None = None
        if not task.robot.actuation.varies:
            self._constant = np.ascontiguousarray(start.least(np.eye(task.robot.nv)))

    def input(self, snapshot: Snapshot, force: Vector) -> Vector:
        """Return the least-norm input whose generalised force is closest to ``force``."""
        if self._constant is None:
            return self._span(snapshot).least(force)
        u: Vector = np.zeros(len(self._constant))
        multiplied(self._constant, force, u)
        return u

    def step(self, snapshot: Snapshot, force: Vector, u: Vector) -> Step:
        """Return what writes `input` of the force that is there then into ``u``."""
        if self._constant is not None:
            return Call(multiplied, self._constant, force, u)

        def care(code: int) -> None:
            u[:] = self.input(snapshot, force)

        robot = snapshot.M, snapshot.B, snapshot.B, snapshot.v
        return Call(nearest_input, FORCE, *robot, force, float(self._lost), u, fault=care)

    def _span(self, snapshot: Snapshot) -> Span:
        """Return what motors span: as many directions as the free robot feels."""
        B = snapshot.B
        pushes = np.linalg.solve(np.linalg.cholesky(snapshot.M), B)
        rank = independent(pushes, np.linalg.norm(pushes, axis=0), self._lost)
        return span(B, np.linalg.norm(B, axis=0), rank=rank)


@final
class FullActuation:
    r"""The inputs that move a robot as a generalised force on all its freedoms would.

    Passive constraints take up part of any force. With $N$ spanning the motions that they allow,
    the least $u$ with $N^\top B u = N^\top F$ does all that $F$ would do; without them it is
    $B^+ F$.

    Raises:
        InputError: The motors do not drive every freedom.
    """

    def __init__(self, task: Task) -> None:
        robot = task.robot
        self._inverse = InverseActuation(task)
        dynamics = Dynamics(robot, task.rank, task.gains)
        dynamics.move(task.start, task.q, task.v)
        rank, freedoms = dynamics.reached().shape[1], robot.nv - dynamics.passive_rank
        if rank < freedoms:
            instead = 'kind = "servo"' if robot.elastic is None else ELASTIC_KINDS
            raise InputError(
                f"robot '{robot.name}' must have a motor for each of its {freedoms} freedoms to "
                f"follow a joint motion; its motors reach {rank}. Use {instead}."
            )

    def input(self, dynamics: Dynamics, force: Vector) -> Vector:
        """Return the least-norm input that does what ``force`` would, shape ``(nu,)``."""
        if not len(dynamics.passive):
            return self._inverse.input(dynamics.snapshot, force)
        return dynamics.least_push(force)

    def step(self, dynamics: Dynamics, force: Vector, u: Vector) -> Step:
        """Return what writes `input` of the force that is there then into ``u``."""
        if not len(dynamics.passive):
            return self._inverse.step(dynamics.snapshot, force, u)

        def care(code: int) -> None:
            u[:] = dynamics.least_push(force)

        robot = dynamics.snapshot.M, dynamics.snapshot.B, dynamics.G, dynamics.a_free
        lost = float(dynamics.rank.servo)
        return Call(nearest_input, PUSH, *robot, force, lost, u, fault=care)
