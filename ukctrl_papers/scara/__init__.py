"""Xu & Liu 2017, "Dynamic modeling of SCARA robot based on Udwadia-Kalaba theory".

In order: ``formulas`` (of the paper) and ``screws``; ``runs``; ``misprints``; ``motion_claims``
(the numerical section); ``figures``.
"""

from ukctrl_papers.claim import Paper
from ukctrl_papers.scara import misprints, motion_claims
from ukctrl_papers.scara.figures import paper_figures

PAPER = Paper(
    key="scara",
    citation='Y. Xu, R. Liu, "Dynamic modeling of SCARA robot based on Udwadia-Kalaba theory", '
    "Adv. Mech. Eng. 9(10), 2017",
    claims=(
        misprints.confirmed_formulas,
        misprints.formula_claims,
        misprints.other_misprints,
        motion_claims.start_claims,
        motion_claims.drift_claims,
        motion_claims.coarse_claims,
        motion_claims.stabilised_claims,
        motion_claims.torque_claims,
    ),
    figures=paper_figures,
)
