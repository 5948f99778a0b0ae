"""A plant written as a Lagrangian in text."""

from __future__ import annotations

import dataclasses as dc
from functools import cached_property
from typing import Any, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.expression import Motion, Vocabulary, derive_motion
from ukctrl.robot.formulas.plant import Plant
from ukctrl.robot.snapshot import Snapshot

Texts = tuple[str, ...]


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Lagrangian(Plant):
    """Kinetic and potential energy as formulas; the dynamics are derived from them."""

    kinetic: Texts
    """Kinetic energy [J]; the texts are added."""
    potential_energy: Texts
    """Potential energy [J]."""
    dissipation: Texts
    """Rayleigh's dissipation function [W]."""
    words: Vocabulary
    """The coordinates, their velocities and the parameters."""

    @property
    def kind(self) -> str:
        return "a [lagrangian]"

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        return self.words.constants

    @cached_property
    def motion(self) -> Motion:
        """The equations of motion.

        Raises:
            ExpressionError: A formula is not acceptable; the message names its key.
        """
        return derive_motion(self.kinetic, self.potential_energy, self.dissipation, self.words)

    @cached_property
    def _mass(self) -> Matrix | None:
        motion = self.motion
        return np.array(motion.M, dtype=np.float64) if motion.constant else None

    def fill(self, q: Vector, v: Vector, t: float, M: Matrix, nle: Vector) -> None:
        n = len(q)
        values = self.motion.dynamics(q.tolist(), v.tolist(), t)
        constant = self._mass
        M[:] = np.reshape(values[: n * n], (n, n)) if constant is None else constant
        nle[:] = values[n * n :]

    def potential(self, q: Vector, t: float) -> float:
        """Return the potential energy, less what the kinetic energy has at rest [J]."""
        return self.motion.potential(q.tolist(), t)[0]

    def terms(self) -> tuple[LagrangianForce, ...]:
        """Return dissipation and drive, where there are any."""
        motion = self.motion
        return (LagrangianForce(self),) if motion.drive or motion.friction else ()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the compiled formulas out: they do not pickle, their texts do."""
        return {
            key: value for key, value in self.__dict__.items() if key not in ("motion", "_mass")
        }


@final
@dc.dataclass(frozen=True, eq=False)
class LagrangianForce:
    """What a Lagrangian plant does beside conserving energy: its dissipation, its own drive."""

    plant: Lagrangian

    def add(self, snapshot: Snapshot, f: Vector) -> None:
        """Add the force of the dissipation."""
        friction = self.plant.motion.friction
        if friction is not None:
            n = len(self.plant.words.plain)
            f[:n] += friction(snapshot.q.tolist(), snapshot.v.tolist(), snapshot.t)

    def potential(self, snapshot: Snapshot) -> float:
        """Return 0: the potential energy is the plant's own."""
        return 0.0

    def potential_rate(self, snapshot: Snapshot) -> float:
        """Return the power -dL/dt that feeds a plant whose Lagrangian depends on time [W]."""
        drive = self.plant.motion.drive
        if drive is None:
            return 0.0
        return drive(snapshot.q.tolist(), snapshot.v.tolist(), snapshot.t)[0]
