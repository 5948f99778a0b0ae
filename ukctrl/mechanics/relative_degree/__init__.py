"""How often servo rows must be differentiated until the inputs appear: each, and all together.

In order: ``advice``, ``array`` (rows and their derivatives in one array),
``decoupling`` (channels made independent) and ``trial``; ``all_rows``; ``degree``.
"""

from ukctrl.mechanics.relative_degree.advice import ELASTIC_KINDS, HIGHEST_OF_DAE, solved_by
from ukctrl.mechanics.relative_degree.all_rows import Together, together
from ukctrl.mechanics.relative_degree.array import DerivativeArray
from ukctrl.mechanics.relative_degree.decoupling import Decoupling, at_once, decoupled, decoupling
from ukctrl.mechanics.relative_degree.degree import (
    RelativeDegree,
    advice,
    explain,
    relative_degrees,
    whole_degree,
)

__all__ = [
    "ELASTIC_KINDS",
    "HIGHEST_OF_DAE",
    "Decoupling",
    "DerivativeArray",
    "RelativeDegree",
    "Together",
    "advice",
    "at_once",
    "decoupled",
    "decoupling",
    "explain",
    "relative_degrees",
    "solved_by",
    "together",
    "whole_degree",
]
