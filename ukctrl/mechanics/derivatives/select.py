"""The best derivatives that there are for some rows."""

from __future__ import annotations

from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives.formula_jets import formula_jets
from ukctrl.mechanics.derivatives.jets import Jets
from ukctrl.mechanics.derivatives.sampled_jets import SampledJets


def jets_of(stack: Stack, order: int, rank: RankPolicy = RUN_RANK) -> Jets:
    """Return derivatives up to an order: from formulas where those exist and are not huge.

    Args:
        stack: The rows, attached to their robot.
        order: The highest derivative that will be asked for.
        rank: When passive rows count as dependent.
    """
    exact = formula_jets(stack)
    return exact if exact is not None and exact.within(order) else SampledJets(stack, rank)
