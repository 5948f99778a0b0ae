"""Trying a robot out at a few configurations."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.robot.actuators import Actuation
from ukctrl.robot.assembly import Assembly

CONSTANT_ATOL = 1e-13
"""A column of ``B`` that varies by no more than this between configurations is constant."""
PROBES = 5
"""Configurations at which a model is tried out. What holds at a few drawn at random holds
everywhere, but for analytic accidents of measure zero."""


def folded(robot: Assembly, probes: Sequence[Vector]) -> Actuation:
    """Return the actuation with columns that turn out not to depend on ``q`` made constant.

    In a planar mechanism a torque between two links pushes the same way everywhere.
    """
    given = robot.actuation
    if not given.varies:
        return given
    at_rest = robot.snapshot(robot.neutral).B
    samples = np.array([robot.snapshot(q).B for q in probes])
    varies = np.abs(samples - at_rest).max(axis=(0, 1)) > CONSTANT_ATOL
    constant = given.constant.copy()
    for index, _ in given.moving:
        if not varies[index]:
            constant[:, index] = at_rest[:, index]
    moving = tuple((index, column) for index, column in given.moving if varies[index])
    return dc.replace(given, constant=constant, moving=moving)
