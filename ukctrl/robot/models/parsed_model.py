"""What a parser makes of a model file, whatever its language."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.subprocess_safety import memory_limit
from ukctrl.robot.forces import AppliedForce
from ukctrl.robot.model_audit import ModelDiagnostic
from ukctrl.robot.rigid.pinocchio_structure import PinocchioStructure, rigid_structure
from ukctrl.robot.rigid.pinocchio_tree import largest_tree
from ukctrl.robot.schema.force_tables import AnyActuator, AnyForce
from ukctrl.robot.shape_sources import ShapeKind
from ukctrl.robot.structure import Structure


class Keyframe(NamedTuple):
    """A keyframe: where a run may start."""

    q: Vector
    v: Vector


def no_terms(_: Structure) -> Sequence[AppliedForce]:
    """Return none: most files have no forces but those of a ``robot.toml``."""
    return ()


@dc.dataclass(frozen=True)
class ParsedModel:
    """What a model file says of a robot, beside which a ``robot.toml`` may say more."""

    structure: PinocchioStructure
    """Its Pinocchio model, and the names of all that it has."""
    motors: tuple[AnyActuator, ...] | None = None
    """None: the file says nothing of any, and every joint with one freedom has one."""
    followers: frozenset[str] = frozenset()
    """Joints without a motor, as others lead them."""
    springs: tuple[AnyForce, ...] = ()
    terms: Callable[[Structure], Sequence[AppliedForce]] = no_terms
    """What returns the forces that no ``[[force]]`` describes, on the final structure."""
    passive: tuple[Mapping[str, Any], ...] = ()
    """``[[passive]]`` tables."""
    keyframes: Mapping[str, Keyframe] = dc.field(default_factory=dict)
    diagnostics: tuple[ModelDiagnostic, ...] = ()
    shapes: Callable[[ShapeKind], Any] | None = None
    """What returns the `ModelShapes` of its bodies, where its text does not say them."""


def checked_structure(
    model: Any, tied: bool, gravity: tuple[float, float, float] | None = None
) -> PinocchioStructure:
    """Return the structure of a Pinocchio model that has joints, and fits into the memory.

    Args:
        model: The ``pinocchio.Model``.
        tied: Whether passive constraints tie its bodies together.
        gravity: In place of the model's, shape ``(3,)`` [m/s^2].

    Raises:
        ModelError: Nothing moves, a joint is of an unknown type, or there are too many.
    """
    if model.nv == 0:
        raise ModelError("must have at least one joint that moves.")
    _refuse_too_large(model.nv, model.nv if tied else largest_tree(model))
    if gravity is not None:
        model.gravity.linear = np.array(gravity)
    return rigid_structure(model)


def _memory_needed(nv: float, alone: float) -> float:
    """Return the memory that a run of so many freedoms needs [B]."""
    # an upper bound: derivatives alone make a `Data` of the whole robot, a plain run makes none
    return 8.0 * (TABLES * float(alone) ** 3 + MATRICES * float(nv) ** 2)


TABLES = 4
"""Tables of ``nv**3`` numbers in every ``pinocchio.Data``: its second derivatives of the inverse
dynamics. They are allocated, and touched, whether anyone asks for them or not."""
MATRICES = 16
"""Tables of ``nv**2`` numbers that a run has at a time."""


def _refuse_too_large(nv: int, alone: int) -> None:
    """Refuse a robot that would fill the memory: the system would kill the process without a word.

    Args:
        nv: Its freedoms.
        alone: Those of the largest tree of joints that stands on the world, or of what passive
            constraints tie together: their tables are smaller, but take as long as they grow.

    Raises:
        ModelError: It has too many freedoms for this machine.
    """
    memory, limit = _memory_needed(nv, alone), memory_limit()
    if memory > limit:
        capacity = nv
        while capacity > 1 and _memory_needed(capacity, alone * capacity / nv) > limit:
            capacity -= 1
        raise ModelError(
            f"a robot with {nv} freedoms needs about {memory / 1e9:.0f} GB of memory, and this "
            f"machine has {limit / 1e9:.0f} GB, enough for {capacity}. Take fewer parts."
        ) from MemoryError()  # another machine may have enough
