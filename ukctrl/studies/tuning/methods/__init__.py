"""Ways of searching: each proposes candidates, some at a time, and learns how they rank.

A method is a function of an [`Explored`][ukctrl.tuning.methods.search_space.Explored]
space, its seed included, and of the heights that it is told; it goes on until there is no budget
left.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ukctrl.studies.tuning.methods.cma_es import cma_es
from ukctrl.studies.tuning.methods.evolution import evolution
from ukctrl.studies.tuning.methods.search_space import Ended, Explored
from ukctrl.studies.tuning.methods.simplex import simplex

__all__ = ["SEARCH", "Ended", "Explored"]

SEARCH: Mapping[str, Callable[[Explored], None]] = MappingProxyType(
    {"simplex": simplex, "evolution": evolution, "cma": cma_es}
)
"""What spends a budget, by the names of the methods."""
