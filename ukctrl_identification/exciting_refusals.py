"""Robots and joints whose motion cannot be chosen, refused by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.errors import InputError, quoted
from ukctrl.mechanics.constraints import Stack
from ukctrl.robot import Robot


def refuse_unfit(robot: Robot) -> None:
    """Refuse robots whose motion is not that of joints of bodies."""
    if not robot.structure.has_bodies:
        raise InputError(
            f"robot '{robot.name}' is made of formulas; exciting motions are of the bodies of a "
            "model file (URDF or MJCF) or a linkage."
        )
    if robot.elastic is not None:
        raise InputError(
            f"robot '{robot.name}' must have rigid joints for an exciting motion; springs drive "
            f"{quoted(robot.elastic.joints)}. Design it for the robot without springs."
        )
    odd = [block.name for block in robot.blocks if block.shape not in ("line", "circle")]
    if odd:
        raise InputError(
            f"robot '{robot.name}' must have joints of one freedom only for an exciting motion; "
            f"{quoted(odd)} {'is' if len(odd) == 1 else 'are'} not. Put it on a stand."
        )
    if not robot.nu:
        raise InputError(
            f"robot '{robot.name}' must have motors for an exciting motion; it has none."
        )


def refuse_nonholonomic(stack: Stack) -> None:
    """Refuse passive rows that tell velocities alone."""
    if not stack.holonomic.all():
        row = stack.names[int(np.flatnonzero(~stack.holonomic)[0])]
        raise InputError(
            f"passive row '{row}' of robot '{stack.robot.name}' must have a position level for an "
            "exciting motion; it is nonholonomic."
        )


def refuse_choice(robot: Robot, named: Sequence[int], dofs: Indices) -> None:
    """Refuse named joints that are not all of the independent ones."""
    if not named:
        return
    if len(set(named)) < len(named):
        twice = next(i for i in named if list(named).count(i) > 1)
        raise InputError(f"must name each joint once; '{robot.dofs[twice]}' stands twice.")
    if follow := [robot.dofs[i] for i in named if i not in dofs]:
        raise InputError(
            f"joints of an exciting path must be independent of each other; {quoted(follow)} of "
            f"robot '{robot.name}' follow from the others. Name fewer."
        )
    if lacking := [robot.dofs[i] for i in dofs if i not in named]:
        raise InputError(
            f"joints of exciting paths must determine all others; {quoted(lacking)} of robot "
            f"'{robot.name}' may still move. Name them, too."
        )


def refuse_undriven(robot: Robot, names: Sequence[str], pushed: Matrix) -> None:
    r"""Refuse robots with fewer motors than freedoms, whose dynamics choose the motion.

    Args:
        robot: The robot.
        names: Its independent joints.
        pushed: What inputs do to them, $N^\top B$, shape ``(k, nu)``.
    """
    if np.linalg.matrix_rank(pushed) == len(names):
        return
    idle = [names[int(j)] for j in np.flatnonzero(~pushed.any(axis=1))] or list(names)
    raise InputError(
        f"robot '{robot.name}' must have a motor for every freedom for an exciting motion; "
        f"{quoted(idle)} {'is' if len(idle) == 1 else 'are'} not driven, so that no motion of "
        f"{'it' if len(idle) == 1 else 'them'} can be chosen."
    )
