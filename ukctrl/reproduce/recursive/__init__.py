"""Orsino (2017): recursive modular modelling, its equations and its 3RRR robot."""

from ukctrl.reproduce.base import Paper, in_parts
from ukctrl.reproduce.recursive import clearance, equations, robot

PAPER = Paper(
    key="recursive",
    citation="R. M. M. Orsino, Recursive modular modelling methodology for lumped-parameter "
    "dynamic systems, Proc. R. Soc. A 473, 2017",
    claims=in_parts(
        equations.projections,
        equations.recursion,
        robot.structure,
        robot.accelerations,
        clearance.estimates,
        clearance.gaps,
    ),
)
"""Every claim is computed twice, by routes that share nothing."""
