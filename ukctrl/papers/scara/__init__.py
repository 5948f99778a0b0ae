"""Xu & Liu 2017, "Dynamic modeling of SCARA robot based on Udwadia-Kalaba theory".

In order: ``formulas`` (of the paper) and ``screws``; ``runs``; ``misprints``; ``motion`` (the
numerical section); ``figures``.
"""

from ukctrl.papers.claim import Paper
from ukctrl.papers.scara import misprints, motion
from ukctrl.papers.scara.figures import figures

PAPER = Paper(
    key="scara",
    citation='Y. Xu, R. Liu, "Dynamic modeling of SCARA robot based on Udwadia-Kalaba theory", '
    "Adv. Mech. Eng. 9(10), 2017",
    claims=(
        misprints.right_ones,
        misprints.formulas,
        misprints.others,
        motion.start,
        motion.drift,
        motion.coarse,
        motion.stabilised,
        motion.torques,
    ),
    figures=figures,
)
