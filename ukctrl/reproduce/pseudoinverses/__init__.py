"""De Falco, Pennestri & Vita: pseudoinverses, flop counts, and the overconstrained linkage."""

from __future__ import annotations

from collections.abc import Iterator

from ukctrl.reproduce.base import Claim, Paper


def claims() -> Iterator[Claim]:
    """Yield flop counts, formulas, and then the simulations, which take a while."""
    from ukctrl.reproduce.pseudoinverses import flops, formulas, runs

    yield from flops.claims()
    yield from formulas.claims()
    yield from runs.claims()


PAPER = Paper(
    key="pseudoinverses",
    citation="De Falco, Pennestri & Vita, An investigation of the influence of pseudoinverse "
    "matrix calculations on multibody dynamics simulations by means of the Udwadia-Kalaba "
    "formulation, J. Aerosp. Eng. 22(4), 2009",
    claims=claims,
)
