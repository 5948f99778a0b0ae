"""Liu, Zhen, Huang, Zhao, Chen, Shao 2015: servo control of constrained systems."""

from collections.abc import Iterable

from ukctrl.papers.claim import Drawing, Paper
from ukctrl.papers.servo import claims, equations


def _figures() -> Iterable[Drawing]:
    """Return the figures; the plotting library is heavy, and not wanted with every claim."""
    from ukctrl.papers.servo.figures import drawings

    return drawings()


PAPER = Paper(
    key="servo",
    citation="X. Liu, S. Zhen, K. Huang, H. Zhao, Y.-H. Chen, K. Shao, A systematic approach for "
    "designing analytical dynamics and servo control of constrained mechanical systems, IEEE/CAA "
    "J. Autom. Sinica 2(4), 2015",
    claims=(
        equations.matrices,
        equations.misprints,
        equations.theory,
        claims.two_masses,
        claims.motion,
        claims.performance,
        claims.torques,
    ),
    figures=_figures,
)
"""The closed form of the paper, the catalogue's scenarios, and integrations of their own."""
