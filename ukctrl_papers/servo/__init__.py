"""Liu, Zhen, Huang, Zhao, Chen, Shao 2015: servo control of constrained systems.

In order: ``arms`` (the robots in closed form), ``newton_euler`` (forces on the bar) and
``literal_steps`` (the paper's steps, word by word); ``runs``; ``equations``, ``motion_claims`` and
``figures``.
"""

from ukctrl_papers.claim import Paper
from ukctrl_papers.servo import equations, figures, motion_claims

PAPER = Paper(
    key="servo",
    citation="X. Liu, S. Zhen, K. Huang, H. Zhao, Y.-H. Chen, K. Shao, A systematic approach for "
    "designing analytical dynamics and servo control of constrained mechanical systems, IEEE/CAA "
    "J. Autom. Sinica 2(4), 2015",
    claims=(
        equations.matrix_claims,
        equations.misprint_claims,
        equations.theory_claims,
        motion_claims.two_mass_claims,
        motion_claims.arm_motion_claims,
        motion_claims.performance_claims,
        motion_claims.torque_claims,
    ),
    figures=figures.drawings,
)
"""The closed form of the paper, the catalogue's scenarios, and integrations of their own."""
