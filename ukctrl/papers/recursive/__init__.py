"""Orsino (2017): recursive modular modelling, its equations and its 3RRR robot.

In order: ``filter`` (the recursion as printed) and ``equations``; ``three_rrr`` (the robot) and
``three_rrr_routes`` (to its accelerations); ``clearance``.
"""

from ukctrl.papers.claim import Paper
from ukctrl.papers.recursive import clearance, equations, three_rrr_routes

PAPER = Paper(
    key="recursive",
    citation="R. M. M. Orsino, Recursive modular modelling methodology for lumped-parameter "
    "dynamic systems, Proc. R. Soc. A 473, 2017",
    claims=(
        equations.projections,
        equations.recursion,
        three_rrr_routes.structure,
        three_rrr_routes.accelerations,
        clearance.estimates,
        clearance.gaps,
    ),
)
"""Every claim is computed twice, by routes that share nothing."""
