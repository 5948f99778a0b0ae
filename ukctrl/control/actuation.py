"""From a generalised force to the inputs that give it."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import FreeDirections
from ukctrl.mechanics.relative_degree import ELASTIC_KINDS
from ukctrl.robot import Snapshot


@final
class InverseActuation:
    """``B^+`` of a task's robot, worked out once where ``B`` is constant."""

    def __init__(self, task: Task) -> None:
        B = task.robot.snapshot(task.q).B
        self.rank = int(np.linalg.matrix_rank(B))
        """Independent motors at the start."""
        self._constant = None if task.robot.actuation.varies else np.linalg.pinv(B)

    def input(self, snapshot: Snapshot, force: Vector) -> Vector:
        """Return the least-norm input whose generalised force is closest to ``force``."""
        inverse = np.linalg.pinv(snapshot.B) if self._constant is None else self._constant
        u: Vector = inverse @ force
        return u


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
        self._rtol = task.rank.passive
        rank, freedoms = self._inverse.rank, robot.nv
        if robot.passive:
            dynamics = Dynamics(robot, task.rank, task.gains)
            dynamics.move(task.start, task.q, task.v)
            rank = dynamics.reached().shape[1]
            freedoms -= dynamics.passive_rank
        if rank < freedoms:
            instead = 'kind = "servo"' if robot.elastic is None else ELASTIC_KINDS
            raise InputError(
                f"robot '{robot.name}' must have a motor for each of its {freedoms} freedoms to "
                f"follow a joint motion; its motors reach {rank}. Use {instead}."
            )

    def input(self, dynamics: Dynamics, force: Vector) -> Vector:
        """Return the least-norm input that does what ``force`` would, shape ``(nu,)``."""
        s = dynamics.snapshot
        if not len(dynamics.passive):
            return self._inverse.input(s, force)
        free = FreeDirections(dynamics.L, dynamics.passive.rows.A, self._rtol)
        u: Vector = np.linalg.pinv(free.pushed(s.B)) @ free.pushed(force)
        return u
