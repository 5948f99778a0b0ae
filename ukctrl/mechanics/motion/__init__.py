r"""Equations of motion of constrained systems, on plain arrays.

Nine forms of one answer: `solve` and `acceleration` take any of them by name, `FORMS` tells what
each one needs and where it was published, and `stabilised` gives the right-hand side that holds
the constraints. `Hierarchy` builds a system from modules and enforces constraints level by level.

In order: ``forms``; ``solution`` and ``level``; ``hierarchy``.
"""

from ukctrl.mechanics.motion.forms import FORMS, Card, Form, Inverse
from ukctrl.mechanics.motion.hierarchy import Hierarchy
from ukctrl.mechanics.motion.level import Finding, Level
from ukctrl.mechanics.motion.solution import Motion, acceleration, solve, stabilised

__all__ = [
    "FORMS",
    "Card",
    "Finding",
    "Form",
    "Hierarchy",
    "Inverse",
    "Level",
    "Motion",
    "acceleration",
    "solve",
    "stabilised",
]
