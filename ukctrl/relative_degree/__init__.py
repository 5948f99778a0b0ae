"""How often servo rows must be differentiated until the inputs appear: each, and all together."""

from ukctrl.relative_degree.array import DerivativeArray
from ukctrl.relative_degree.decoupling import Decoupling, at_once, decoupled, decoupling
from ukctrl.relative_degree.degree import (
    RelativeDegree,
    advice,
    explain,
    relative_degrees,
    whole_degree,
)
from ukctrl.relative_degree.together import Together, together
from ukctrl.relative_degree.words import ELASTIC_KINDS, HIGHEST_OF_DAE

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
    "together",
    "whole_degree",
]
