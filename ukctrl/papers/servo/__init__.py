"""Liu, Zhen, Huang, Zhao, Chen, Shao 2015: servo control of constrained systems.

In order: ``arms`` (the robots in closed form), ``newton`` (forces on the bar) and ``literal`` (the
paper's steps, word by word); ``runs``; ``equations``, ``claims`` and ``figures``.
"""

from ukctrl.papers.claim import Paper
from ukctrl.papers.servo import claims, equations, figures

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
    figures=figures.drawings,
)
"""The closed form of the paper, the catalogue's scenarios, and integrations of their own."""
