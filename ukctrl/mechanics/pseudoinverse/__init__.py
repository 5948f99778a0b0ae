r"""The Moore-Penrose pseudoinverse, by eight methods behind one signature.

$A^+$ is the only matrix $X$ with

$$ A X A = A, \quad X A X = X, \quad (A X)^\top = A X, \quad (X A)^\top = X A , $$

and `penrose_residuals` says how far any $X$ is from that. `pinv` computes it; `METHODS` says
how. They differ in cost and in what they can resolve, not in what they mean: every method drops
a direction of which at most ``rtol`` times the largest is left, and reports both sides of the gap.

The parts: ``method_result``; on it ``orthogonal``, ``squared`` and ``recursive``; ``pinv``.

Sources: de Falco, Pennestri & Vita 2009 for the choice of methods, corrected where
its formulas are misprinted; Golub & Van Loan 1996; Varga 2001; Udwadia & Kalaba 1999 for
Greville's recursion; Courrieu 2005 for Cholesky; Rockafellar 1976 for the proximal iteration.
"""

from ukctrl.mechanics.pseudoinverse.pinv import (
    METHODS,
    Method,
    MethodName,
    PenroseResiduals,
    Pseudoinverse,
    penrose_residuals,
    pinv,
)

__all__ = [
    "METHODS",
    "Method",
    "MethodName",
    "PenroseResiduals",
    "Pseudoinverse",
    "penrose_residuals",
    "pinv",
]
