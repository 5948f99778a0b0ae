"""De Falco, Pennestri & Vita: pseudoinverses, flop counts, and the overconstrained linkage.

In order: ``printed_tables`` (the paper's numbers); ``formulas``; ``flops`` (Tables 1 to 6);
``linkage_runs`` and ``table_claims`` (Tables 7 to 12); ``figures``.
"""

from ukctrl_papers.claim import Paper
from ukctrl_papers.pseudoinverses import figures, flops, formulas, table_claims

PAPER = Paper(
    key="pseudoinverses",
    citation="De Falco, Pennestri & Vita, An investigation of the influence of pseudoinverse "
    "matrix calculations on multibody dynamics simulations by means of the Udwadia-Kalaba "
    "formulation, J. Aerosp. Eng. 22(4), 2009",
    claims=(flops.claims, formulas.claims, table_claims.claims),
    figures=figures.drawings,
)
