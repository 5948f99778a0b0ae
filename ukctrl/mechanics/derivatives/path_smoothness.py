"""Paths as the Taylor polynomials that they are near an instant, and whether they are smooth."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.reference import Path, Reference


def reference_fields(constraint: Constraint) -> Iterator[tuple[str, Reference]]:
    """Yield the paths of a constraint, by the names of their fields."""
    spec: Any = constraint
    for field in dc.fields(spec):
        value = getattr(constraint, field.name)
        if isinstance(value, Reference):
            yield field.name, value


@final
class TaylorPath(Reference):
    """A path that is replaced by its Taylor polynomial about an instant, which can be moved.

    A path that is made of pieces is not smooth across their ends; its polynomial is, and has the
    same derivatives.
    """

    def __init__(self, path: Reference) -> None:
        self._path, self._about = path, 0.0
        self._series: Matrix = np.zeros((0, 3 * path.size))
        self._exponents = np.arange(0)

    @property
    def size(self) -> int:
        return self._path.size

    def expand_about(self, t: float, order: int) -> None:
        """Move to another instant [s]."""
        value = self._path.series(t, order)
        powers = np.arange(1.0, len(value))[:, None]
        series = np.zeros((3, *value.shape))
        series[0] = value
        for below, level in pairwise(series):
            np.multiply(below[1:], powers, out=level[:-1])
        self._about, self._series = t, series.swapaxes(0, 1).reshape(len(value), -1)
        self._exponents = np.arange(len(value))

    def compile(self) -> Path:
        """Return the flat function of time; it follows `about`."""

        def evaluate(t: float) -> tuple[float, ...]:
            powers = (t - self._about) ** self._exponents
            return tuple((powers @ self._series).tolist())

        return evaluate


def taylor_paths(constraints: Sequence[Constraint]) -> tuple[list[Constraint], list[TaylorPath]]:
    """Return the constraints with their paths replaced, and the replacements."""
    replaced, paths = list[Constraint](), list[TaylorPath]()
    for constraint in constraints:
        changes = {name: TaylorPath(path) for name, path in reference_fields(constraint)}
        paths += changes.values()
        spec: Any = constraint
        replaced.append(dc.replace(spec, **changes) if changes else constraint)
    return replaced, paths


def breakpoints(constraints: Sequence[Constraint], first: float, last: float) -> list[float]:
    """Return the times within a span at which a derivative of some path may jump [s], in order."""
    paths = (path for constraint in constraints for _, path in reference_fields(constraint))
    return sorted({t for path in paths for t in path.breaks(first, last)})


def commensurate_step(step: float, gaps: Sequence[float]) -> float:
    """Return a step, the given one or a little shorter, that all gaps are multiples of.

    Where there is none, the given one.
    """
    if not gaps:
        return step
    fewest = int(np.ceil(gaps[0] / step - 1e-9))
    # a step three times shorter costs more than the knots that it would meet are worth
    for count in range(fewest, 3 * fewest + 1):
        tried = gaps[0] / count
        multiples = np.array(gaps) / tried
        if np.abs(multiples - np.round(multiples)).max() < 1e-7:
            return tried
    return step


def check_smooth(stack: Stack, orders: Sequence[int]) -> None:
    """Refuse paths that jump in a derivative that their rows need to be continuous.

    Args:
        stack: The rows.
        orders: How often each row is differentiated until the input appears.

    Raises:
        InputError: A path has fewer continuous derivatives than one less than that.
    """
    start = 0
    for number, (constraint, block) in enumerate(
        zip(stack.constraints, stack.attached, strict=True)
    ):
        stop = start + len(block.names)
        levels = [0 if holonomic else 1 for holonomic in block.holonomic]
        minimum = max(
            order + level - 1 for order, level in zip(orders[start:stop], levels, strict=True)
        )
        for name, path in reference_fields(constraint):
            if path.smoothness < minimum:
                raise InputError(
                    f"servo[{number}].{name} must have {minimum} continuous derivatives, one less "
                    f"than the relative degree of its rows; it has {path.smoothness:.0f}. Use "
                    f'kind = "rest_to_rest" with still = {minimum} or more, or a formula.'
                )
        start = stop
