"""Orsino (2017): recursive modular modelling, its equations and its 3RRR robot.

In order: ``kalman_recursion`` (the recursion as printed) and ``equations``; ``three_rrr`` (the
robot) and ``three_rrr_claims`` (to its accelerations); ``clearance``.
"""

from ukctrl_papers.claim import Paper
from ukctrl_papers.recursive import clearance, equations, three_rrr_claims

PAPER = Paper(
    key="recursive",
    citation="R. M. M. Orsino, Recursive modular modelling methodology for lumped-parameter "
    "dynamic systems, Proc. R. Soc. A 473, 2017",
    claims=(
        equations.projection_claims,
        equations.recursion_claims,
        three_rrr_claims.structure_claims,
        three_rrr_claims.acceleration_claims,
        clearance.estimate_claims,
        clearance.gap_claims,
    ),
)
"""Every claim is computed twice, by routes that share nothing."""
