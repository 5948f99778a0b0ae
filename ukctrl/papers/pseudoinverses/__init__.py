"""De Falco, Pennestri & Vita: pseudoinverses, flop counts, and the overconstrained linkage.

In order: ``printed`` (the paper's numbers); ``formulas``; ``flops`` (Tables 1 to 6); ``rerun`` and
``runs`` (Tables 7 to 12); ``figures``.
"""

from ukctrl.papers.claim import Paper
from ukctrl.papers.pseudoinverses import figures, flops, formulas, runs

PAPER = Paper(
    key="pseudoinverses",
    citation="De Falco, Pennestri & Vita, An investigation of the influence of pseudoinverse "
    "matrix calculations on multibody dynamics simulations by means of the Udwadia-Kalaba "
    "formulation, J. Aerosp. Eng. 22(4), 2009",
    claims=(flops.claims, formulas.claims, runs.claims),
    figures=figures.drawings,
)
