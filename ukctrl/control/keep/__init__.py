r"""What shall never happen, whatever the task: inequalities $h(q, v, t) \ge 0$ beside servo rows.

In order: ``keep``, what such a thing is; ``deceleration``, what joints can brake with;
``joint_limits``, ``formula``, ``regions``, ``apart``, ``bodies``, ``balance``, ``dexterity`` and
``contact_forces``, the kinds; ``barriers``, what each asks of the acceleration, compiled;
``program``, which of it gives way; ``prediction``, what is lost of it until the end of a tick;
``kept_input``, the input that gives it and is otherwise as near to the law's as can be; ``keeper``,
which looks at every tick whether that is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.control.keep.apart import KeepDistance
from ukctrl.control.keep.balance import KeepSupport, KeepTilt
from ukctrl.control.keep.bodies import KeepClearance
from ukctrl.control.keep.contact_forces import ContactForces
from ukctrl.control.keep.dexterity import KeepManipulability
from ukctrl.control.keep.formula import KeepExpression
from ukctrl.control.keep.joint_limits import JointLimits
from ukctrl.control.keep.keep import Keep, Kept, Side, Sight, Solid
from ukctrl.control.keep.regions import KeepBox, KeepCylinder, KeepHalfSpace, KeepSphere
from ukctrl.core.kinds import any_of, kinds

if TYPE_CHECKING:
    AnyKeep = Keep
else:
    AnyKeep = any_of(kinds(__name__, Keep))
"""Anything that can be kept, told apart by its ``kind``."""

__all__ = [
    "AnyKeep",
    "ContactForces",
    "JointLimits",
    "Keep",
    "KeepBox",
    "KeepClearance",
    "KeepCylinder",
    "KeepDistance",
    "KeepExpression",
    "KeepHalfSpace",
    "KeepManipulability",
    "KeepSphere",
    "KeepSupport",
    "KeepTilt",
    "Kept",
    "Side",
    "Sight",
    "Solid",
]
