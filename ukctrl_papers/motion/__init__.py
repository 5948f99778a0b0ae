r"""Equations of motion of constrained systems, on plain arrays.

Nine forms of one answer: `solve` and `acceleration` take any of them by name, `FORMS` tells what
each one needs and where it was published, and `stabilised` gives the right-hand side that holds
the constraints. `Hierarchy` builds a system from modules and enforces constraints level by level.

In order: ``errors``; ``equation_forms``; ``solution`` and ``level``; ``hierarchy``.
"""

from ukctrl_papers.motion.equation_forms import FORMS, Card, Form, Inverse
from ukctrl_papers.motion.errors import DependentRows, UndeterminedMotion, UnsuitableForm
from ukctrl_papers.motion.hierarchy import Hierarchy
from ukctrl_papers.motion.level import Finding, Level
from ukctrl_papers.motion.solution import Motion, acceleration, solve, stabilised

__all__ = [
    "FORMS",
    "Card",
    "DependentRows",
    "Finding",
    "Form",
    "Hierarchy",
    "Inverse",
    "Level",
    "Motion",
    "UndeterminedMotion",
    "UnsuitableForm",
    "acceleration",
    "solve",
    "stabilised",
]
