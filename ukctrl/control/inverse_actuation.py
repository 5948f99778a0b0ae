"""From a generalised force to the inputs that give it."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.algebra.column_space import ColumnSpace, column_space, scaled_rank
from ukctrl.core.algebra.factorisation import matvec
from ukctrl.core.algebra.nearest_input import FORCE, FORCE_EFFECT, InputMap, nearest_input
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree import SERVO_ADVICE, elastic_kinds
from ukctrl.robot import Snapshot

REACHED_TOL = 1e-9
"""By which a unit force on a joint may be missed, as rounding has it, where motors give it."""
NAME_DRIVEN = "Name joints with motors of their own as controller.joints, or use"


@final
class InverseActuation:
    """``B^+`` of a task's robot, worked out once where ``B`` is constant."""

    def __init__(self, task: Task) -> None:
        self._rank_tolerance = task.rank.servo
        start = self._column_space(task.robot.snapshot(task.q))
        self.rank = start.basis.shape[1]
        """Independent motors at the start."""
        self._constant: Matrix | None = None
        if not task.robot.actuation.varies:
            self._constant = np.ascontiguousarray(start.solve(np.eye(task.robot.nv)))

    def input(self, snapshot: Snapshot, force: Vector) -> Vector:
        """Return the least-norm input whose generalised force is closest to ``force``."""
        if self._constant is None:
            return self._column_space(snapshot).solve(force)
        u: Vector = np.zeros(len(self._constant))
        matvec(self._constant, force, u)
        return u

    def step(self, snapshot: Snapshot, force: Vector, u: Vector) -> KernelStep:
        """Return what writes `input` of the force that is there then into ``u``."""
        # a constant B has one pseudoinverse, made once; else B is factored at every state
        if self._constant is not None:
            return BoundKernel(matvec, self._constant, force, u)

        def care(code: int) -> None:
            u[:] = self.input(snapshot, force)

        # of a force, B alone is looked at: the others fill their places
        robot = InputMap(snapshot.M, snapshot.B, snapshot.B, snapshot.v)
        lost = float(self._rank_tolerance)
        return BoundKernel(nearest_input, FORCE, robot, force, lost, u, fault=care)

    def _column_space(self, snapshot: Snapshot) -> ColumnSpace:
        """Return what motors span: as many directions as the free robot feels."""
        B = snapshot.B
        # the rank is decided in mass-weighted columns, where no unit counts, and solved in plain
        # ones
        pushes = np.linalg.solve(np.linalg.cholesky(snapshot.M), B)
        rank = scaled_rank(pushes, np.linalg.norm(pushes, axis=0), self._rank_tolerance)
        return column_space(B, np.linalg.norm(B, axis=0), rank=rank)


@final
class FullActuation:
    r"""The inputs that move a robot as a generalised force on all its freedoms would.

    Passive constraints take up part of any force. With $N$ spanning the motions that they allow,
    the least $u$ with $N^\top B u = N^\top F$ does all that $F$ would do; without them it is
    $B^+ F$.

    Args:
        task: The task.
        joints: The joints of an open chain that follow, where a user names them: they alone need
            motors. None: the law needs all.

    Raises:
        InputError: The motors do not drive every freedom, or not the joints that are named.
    """

    def __init__(self, task: Task, joints: tuple[str, ...] | None = None) -> None:
        robot = task.robot
        self._inverse = InverseActuation(task)
        if joints and not robot.passive and robot.elastic is None:
            unit = np.eye(robot.nv)[:, [robot.structure.dof(name) for name in joints]]
            B = robot.snapshot(task.q).B
            missed = np.abs(unit - B @ np.linalg.lstsq(B, unit, rcond=None)[0]).max(axis=0)
            loose = [joints[i] for i in np.flatnonzero(missed > REACHED_TOL)]
            if loose:
                one = len(loose) == 1
                raise InputError(
                    f"controller.joints must name joints with motors of their own; {quoted(loose)} "
                    f"{'has' if one else 'have'} none. Leave {'it' if one else 'them'} out, or use "
                    f"{SERVO_ADVICE}."
                )
            return
        dynamics = Dynamics(robot, task.rank, task.gains)
        dynamics.move(task.start, task.q, task.v)
        rank, freedoms = dynamics.reached().shape[1], robot.nv - dynamics.passive_rank
        if rank < freedoms:
            if robot.elastic is not None:
                cure = f"Use {elastic_kinds(robot.elastic)}"
            else:
                nameable = joints is not None and not robot.passive
                cure = f"{NAME_DRIVEN if nameable else 'Use'} {SERVO_ADVICE}"
            raise InputError(
                f"robot '{robot.name}' must have a motor for each of its {freedoms} freedoms to "
                f"follow a joint motion; its motors reach {rank}. {cure}."
            )

    def input(self, dynamics: Dynamics, force: Vector) -> Vector:
        """Return the least-norm input that does what ``force`` would, shape ``(nu,)``."""
        # without passive rows nothing else takes part of the force: B^+ F does all of it
        if not len(dynamics.passive):
            return self._inverse.input(dynamics.snapshot, force)
        return dynamics.least_push(force)

    def step(self, dynamics: Dynamics, force: Vector, u: Vector) -> KernelStep:
        """Return what writes `input` of the force that is there then into ``u``."""
        # with them the reaction takes its part, so G u is fitted, which knows it, and not B u
        if not len(dynamics.passive):
            return self._inverse.step(dynamics.snapshot, force, u)

        def care(code: int) -> None:
            u[:] = dynamics.least_push(force)

        s, lost = dynamics.snapshot, float(dynamics.rank.servo)
        robot = InputMap(s.M, s.B, dynamics.G, dynamics.a_free)
        return BoundKernel(nearest_input, FORCE_EFFECT, robot, force, lost, u, fault=care)
