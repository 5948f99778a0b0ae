"""The review of the Udwadia-Kalaba equation: its formulas, its particles, its swarm, its arm.

In order: ``runs`` (what claims and figures share); ``classification`` (section 3), ``formulas`` (4
to 6), ``particle`` (8.1), ``swarm`` (8.2), ``flexible`` and ``springs`` (8.3); ``figures``.
"""

from ukctrl_papers.claim import Paper
from ukctrl_papers.review import (
    classification,
    figures,
    flexible,
    formulas,
    particle,
    springs,
    swarm,
)

PAPER = Paper(
    key="review",
    citation=(
        "Zhao, Chen, Zhao, Dong, Udwadia-Kalaba equation for constrained mechanical systems: "
        "formulation and applications, Chin. J. Mech. Eng. 31, 106 (2018)"
    ),
    claims=(
        classification.claims,
        formulas.claims,
        formulas.body_claims,
        particle.projectile_claims,
        particle.spiral_claims,
        swarm.claims,
        swarm.rest_claims,
        flexible.claims,
        flexible.motor_claims,
        springs.claims,
    ),
    figures=figures.drawings,
)
