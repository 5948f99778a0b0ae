"""What an exciting motion shall be, whoever asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import unknown_name
from ukctrl_identification.effort_information import CriterionKind
from ukctrl_identification.exciting_options import ExcitingOptions

HARMONICS, MARGIN, NOISE_SHARE, SAMPLE_PERIOD = 5, 0.1, 0.01, 1e-3
"""Without other wishes; the noise as a share of what motors can give, the period in seconds."""
ByJoint = float | dict[str, float] | None
"""A number for all joints, for some by name, or none."""


class DesignOptions(NamedTuple):
    """`ExcitingOptions`, with what was not said."""

    duration: float
    harmonics: int
    criterion: CriterionKind
    margin: float
    travel: ByJoint
    """How far joints may go from the start, where that was said [rad or m]."""
    noise: ByJoint
    sample_period: float
    """Time between the samples of a log [s]."""
    starts: int | None
    seed: int

    @staticmethod
    def of(
        options: ExcitingOptions,
        duration: float,
        seed: int = 0,
        sample_period: float = SAMPLE_PERIOD,
    ) -> DesignOptions:
        """Return what options leave open as by default, with duration and seed as given."""
        return DesignOptions(
            duration=options.duration or duration,
            harmonics=options.harmonics or HARMONICS,
            criterion=options.criterion or "D",
            margin=MARGIN if options.margin is None else options.margin,
            travel=options.range,
            noise=options.noise,
            sample_period=sample_period,
            starts=options.starts,
            seed=seed if options.seed is None else options.seed,
        )


def by_joint(values: ByJoint, names: Sequence[str], absent: float, key: str) -> Vector:
    """Return a number for each joint, shape ``(k,)``.

    Args:
        values: What was said.
        names: The joints.
        absent: Of those of which nothing was said.
        key: Where it was said, for the message.

    Raises:
        UnknownName: A name is none of the joints'.
    """
    if not isinstance(values, dict):
        return np.full(len(names), absent if values is None else values)
    for name in values:
        if name not in names:
            raise unknown_name(f"joint (in {key})", name, names)
    return np.array([values.get(name, absent) for name in names])
