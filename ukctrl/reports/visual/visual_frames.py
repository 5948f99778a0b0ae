"""What carries the parts of a robot: joints, what pictures say, and what stretches between two."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import ShapeError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula, DomainError
from ukctrl.core.expression.formula_cache import cached_formula
from ukctrl.core.expression.symbolic import Vocabulary, parse
from ukctrl.reports.visual.pose_kernels import (
    evaluate_over_motion,
    make_continuous,
    write_joint_poses,
)
from ukctrl.reports.visual.visual_model import Poses, VisualModel
from ukctrl.robot.geometry import quaternions
from ukctrl.robot.rigid.tree_kernels import KinematicTree

ORIGIN_TEXTS = ("0", "0", "0")


class FrameAnchor(NamedTuple):
    """A point and axes that a joint carries, or the world."""

    joint: int
    """0 is the world."""
    rotation: Matrix
    """In the joint's axes, shape ``(3, 3)``."""
    translation: Vector
    """Shape ``(3,)`` [m]."""


WORLD = FrameAnchor(0, np.eye(3), np.zeros(3))


@dc.dataclass(frozen=True, eq=False)
class PlacedFrame:
    """A carrier at a place that formulas give in an anchor's axes."""

    name: str
    anchor: FrameAnchor = WORLD
    at: tuple[str, ...] = ORIGIN_TEXTS
    """Formulas of its origin [m]."""
    rpy: tuple[str, ...] = ORIGIN_TEXTS
    """Formulas of roll, pitch and yaw [rad]."""

    @property
    def texts(self) -> tuple[str, ...]:
        """All its formulas."""
        return (*self.at, *self.rpy)


@dc.dataclass(frozen=True, eq=False)
class StretchedFrame:
    """A carrier whose z axis reaches, with stretch, from one point to another."""

    name: str
    first: PlacedFrame
    second: PlacedFrame

    @property
    def texts(self) -> tuple[str, ...]:
        """All its formulas."""
        return (*self.first.texts, *self.second.texts)


class FormulaValues:
    """Values of formulas of the configuration and the time, of numbers as of the others.

    Args:
        texts: The formulas.
        words: What they may name: coordinates, parameters and ``t``.

    Raises:
        ExpressionError: One of them has no finite value whatever the configuration.
    """

    def __init__(self, texts: Sequence[str], words: Vocabulary) -> None:
        self._words, indices = words, {name: k for k, name in enumerate(words.plain)}
        self.fixed, self.column = np.zeros(len(texts)), np.full(len(texts), -1)
        formulas: dict[str, list[int]] = {}
        for k, text in enumerate(texts):
            if text in indices:
                self.column[k] = indices[text]
                continue
            try:
                self.fixed[k] = float(text)
            except ValueError:
                formulas.setdefault(text, []).append(k)
        self._texts, self._where = tuple(formulas), list(formulas.values())
        of = "picture", self._texts, words
        self._formula = cached_formula(of, self._derived) if formulas else None

    def _derived(self) -> CompiledFormula:
        exprs = [parse(text, self._words) for text in self._texts]
        return compile_function(exprs, [self._words.plain, "t"], self._texts[0])

    def at(self, q: Matrix, t: Vector) -> Matrix:
        """Return their values, shape ``(n, k)``.

        Where a formula has no finite value, all stay as they were at the moment before.

        Raises:
            DomainError: There is no moment at which all have one.
        """
        values = np.repeat(self.fixed[None], len(t), axis=0)
        moving = self.column >= 0
        values[:, moving] = q[:, self.column[moving]]
        formula = self._formula
        if formula is None:
            return values
        out = np.full((len(t), len(formula.outputs)), np.nan)
        args = formula.code, formula.table, formula.initial_slots.copy(), formula.inputs
        if evaluate_over_motion(*args, q, t, formula.outputs, out) == 0 and len(t):
            texts = "', '".join(self._texts[:3])
            raise DomainError(f"the formulas of pictures ('{texts}', ...) never have a value.")
        first = int(np.argmax(np.isfinite(out).all(axis=1)))
        out[:first] = out[first]
        for column, places_of in enumerate(self._where):
            values[:, places_of] = out[:, column, None]
        return values


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class RobotVisualModel(VisualModel):
    """What a robot looks like; its carriers are joints, and then what moves on or between them."""

    nq: int
    tree: KinematicTree | None
    """The joints; None: there is the world alone."""
    joints: Indices
    """Those of the first carriers, shape ``(c,)``; 0, the world, is the first."""
    frames: tuple[PlacedFrame | StretchedFrame, ...] = ()
    words: Vocabulary = dc.field(default_factory=Vocabulary)

    @cached_property
    def _numbers(self) -> FormulaValues:
        return FormulaValues(
            [text for carrier in self.frames for text in carrier.texts], self.words
        )

    def poses(self, q: Matrix, t: Vector) -> Poses:
        """Return where the carriers are; see `VisualModel.poses`.

        Raises:
            ShapeError: The configurations are not the robot's, or not as many as the times.
        """
        q, t = np.ascontiguousarray(q, np.float64), np.ascontiguousarray(t, np.float64)
        if t.ndim != 1 or q.shape != (len(t), self.nq):
            raise ShapeError(f"q must have shape {(t.size, self.nq)}; got {q.shape}.")
        fixed = len(self.joints)
        shape = len(t), fixed + len(self.frames)
        position, quaternion = np.zeros((*shape, 3)), np.zeros((*shape, 4))
        stretch = np.ones(shape)
        quaternion[..., 0] = 1.0
        if self.tree is not None:
            k = len(self.tree.joints)
            buffers = np.repeat(np.eye(3)[None], k, axis=0), np.zeros((k, 3))
            write_joint_poses(self.tree, self.joints, q, *buffers, position, quaternion)
        values = self._numbers.at(q, t) if self.frames else np.zeros((len(t), 0))
        start = 0
        for index, carrier in enumerate(self.frames, fixed):
            block = values[:, start : start + len(carrier.texts)]
            start += len(carrier.texts)
            if isinstance(carrier, PlacedFrame):
                position[:, index], quaternion[:, index] = self._placed(
                    carrier, block, position, quaternion
                )
                continue
            half = len(carrier.first.texts)
            first, _ = self._placed(carrier.first, block[:, :half], position, quaternion)
            second, _ = self._placed(carrier.second, block[:, half:], position, quaternion)
            turn, length = np.zeros((len(t), 4)), np.zeros(len(t))
            quaternions.align_z_axis(second - first, turn, length)
            position[:, index], quaternion[:, index], stretch[:, index] = first, turn, length
        make_continuous(quaternion)
        return Poses(position, quaternion, stretch)

    def _placed(
        self, carrier: PlacedFrame, values: Matrix, position: Array, quaternion: Array
    ) -> tuple[Matrix, Matrix]:
        """Return the position and the orientation of what stands on a carrier of a joint."""
        anchor = carrier.anchor
        at = anchor.translation + values[:, :3] @ anchor.rotation.T
        turn = np.broadcast_to(quaternions.quaternions_from_matrices(anchor.rotation), (len(at), 4))
        if carrier.rpy != ORIGIN_TEXTS:
            turn = quaternions.multiply_quaternions(
                turn, quaternions.quaternions_from_rpy(values[:, 3:])
            )
        if anchor.joint == 0:
            return at, turn
        row = self._row[anchor.joint]
        joint = quaternion[:, row]
        return position[:, row] + quaternions.rotated(joint, at), quaternions.multiply_quaternions(
            joint, turn
        )

    @cached_property
    def _row(self) -> dict[int, int]:
        return {int(joint): row for row, joint in enumerate(self.joints)}
