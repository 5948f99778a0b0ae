r"""Allocation: which input gives the row acceleration that the feedback asks for.

All inputs that meet the rows differ by null-space motion. `LeastNorm` takes the smallest in a
metric, `Chen` the one in the row space of $A M^{-1} B$; a null-space input says what to do with
what is left. On an open chain with the metric ``effort`` the two are the same. `Damped` keeps
inputs small where the rows lose their grip, `Bounded` keeps
within the motors' limits, and `Prioritized` gives blocks of rows a strict order.

In order:

1. ``input_metric``: what it costs to let one motor work rather than another.
2. ``allocation``: the base class, and what any allocation does when asked for too much.
3. ``reaction_kernels``, ``internal_force``, ``null_space``: what the motors do with what is left.
4. ``least_norm``, ``chen``: all rows met exactly, in a metric or as Chen has it.
5. ``priority_levels``, ``hierarchical``: rows that lose their grip, damped, or in a strict order.
6. ``input_limits``, ``bounded_input``, ``bounded``: within motors' limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.control.allocation.allocation import Allocation
from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import classes_by_kind, union_of_kinds

if TYPE_CHECKING:
    AnyAllocation = Allocation
else:
    AnyAllocation = union_of_kinds(
        with_entry_points("allocation", Allocation, classes_by_kind(__name__, Allocation))
    )
"""Any allocation of the catalogue, told apart by its ``kind``."""
