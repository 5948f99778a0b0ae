"""Orsino (2017): recursive modular modelling, its equations and its 3RRR robot."""

from collections.abc import Iterator

from ukctrl.reproduce.base import Claim, Paper
from ukctrl.reproduce.recursive import clearance, equations, robot


def claims() -> Iterator[Claim]:
    """Compute what the paper states: its equations, its robot, and clearances."""
    yield from equations.projections()
    yield from equations.recursion()
    yield from robot.structure()
    yield from robot.accelerations()
    yield from clearance.estimates()
    yield from clearance.gaps()


PAPER = Paper(
    key="recursive",
    citation="R. M. M. Orsino, Recursive modular modelling methodology for lumped-parameter "
    "dynamic systems, Proc. R. Soc. A 473, 2017",
    claims=claims,
)
"""Every claim is computed twice, by routes that share nothing."""
