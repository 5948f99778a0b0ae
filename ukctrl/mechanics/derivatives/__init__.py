r"""Jets: time derivatives of any order of what servo rows say, along the motions of a robot.

Rows of relative degree r need $\phi, \dot\phi, \dots, \phi^{(r)}$ along the motion that begins at a
state under an input $u(\tau) = \sum_k u_k \tau^k / k!$. Where robot and rows are formulas they are
derived exactly (`FormulaJets`); on any other robot they are measured along that motion by a
spectral method (`SampledJets`), which tells how exact it is.

In order: ``jets`` (what both are) and ``path_smoothness``; ``formula_jets``;
``input_lie_derivatives`` (what inputs add, in closed form) and ``sampled_jets``; `jets_of`, which
takes the better one.
"""

from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives.formula_jets import FormulaJets, formula_jets
from ukctrl.mechanics.derivatives.jets import Jets
from ukctrl.mechanics.derivatives.path_smoothness import (
    breakpoints,
    check_smooth,
    commensurate_step,
)
from ukctrl.mechanics.derivatives.sampled_jets import SampledJets

__all__ = [
    "FormulaJets",
    "Jets",
    "SampledJets",
    "breakpoints",
    "check_smooth",
    "commensurate_step",
    "formula_jets",
    "jets_of",
]


def jets_of(stack: Stack, order: int, rank: RankPolicy = RUN_RANK) -> Jets:
    """Return derivatives up to an order: from formulas where those exist and are not huge.

    Args:
        stack: The rows, attached to their robot.
        order: The highest derivative that will be asked for.
        rank: When passive rows count as dependent.
    """
    # exact and quick for short formulas; of long ones SymPy takes minutes, samples milliseconds
    exact = formula_jets(stack)
    return exact if exact is not None and exact.is_short(order) else SampledJets(stack, rank)
