"""Section 3: holonomic and nonholonomic constraints, and their second-order form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.core.expression.constraint_rows import DerivedRows, derive_rows
from ukctrl.core.expression.symbolic import parse
from ukctrl_papers.claim import Claim, zero_claim
from ukctrl_papers.integrability.classify import classify

XYZ = ("x", "y", "z")
EQ_12, EQ_14 = "v.x + 2*y*v.y + v.z", "v.x + 2*y*v.y + v.z - 1"
EQ_16 = "v.x + 2*z*v.y + v.z"
ROUNDING_BOUND = 1e-12


def lemma_1(alpha: str, beta: str, gamma: str) -> float:
    """Return the left side of (11), where it is a number."""
    import sympy

    x, y, z = (sympy.Symbol(name) for name in XYZ)
    a, b, c = (parse(text, XYZ) for text in (alpha, beta, gamma))
    value = a * (b.diff(z) - c.diff(y)) + b * (c.diff(x) - a.diff(z)) + c * (a.diff(y) - b.diff(x))
    return float(sympy.simplify(value))


def _derived_rows(text: str) -> DerivedRows:
    rates = [f"v.{name}" for name in XYZ]
    return derive_rows([text], form="nonholonomic", coordinates=XYZ, dofs=XYZ, rates=rates)


def second_order_residual(text: str, A: str, b: str) -> float:
    """Return by how much the rows derived from a text differ from the printed ones."""
    row = _derived_rows(text)
    rng = np.random.default_rng(0)
    worst = 0.0
    for q, v in rng.uniform(-2.0, 2.0, (10, 2, 3)):
        coordinates = {name: float(value) for name, value in zip(XYZ, q, strict=True)}
        rates = {f"d{name}": float(value) for name, value in zip(XYZ, v, strict=True)}
        names = (*coordinates, *rates)
        printed = [
            float(parse(entry, names).subs({**coordinates, **rates}))
            for entry in (*A.split(","), b)
        ]
        ours = row.evaluate(q.tolist(), v.tolist(), 0.0)[:4]
        worst = max(worst, float(np.abs(np.subtract(ours, printed)).max()))
    return worst


def claims() -> Iterator[Claim]:
    """Which constraints are holonomic, and the second-order form."""
    route = "Lie brackets at random states with 160 digits, any number of rows and coordinates"
    for where, text, printed in (
        ("eq (12)", EQ_12, "holonomic"),
        ("eq (14)", EQ_14, "holonomic"),
        ("eq (16)", EQ_16, "nonholonomic"),
    ):
        constraint = classify([text], XYZ, closed_form=False)
        yield Claim(
            where=where,
            what="kind of the constraint",
            printed=printed,
            ours=constraint.kind,
            note=route,
        )
    yield zero_claim("eq (11)", "left side for (12)", lemma_1("1", "2*y", "1"), 0.0)
    yield Claim(
        where="eq (17)",
        what="left side of (11) for (16)",
        printed=1.0,
        ours=lemma_1("1", "2*z", "1"),
        otherwise="differs: misprint",
        note="alpha = 1 and d beta/dz = 2; still not zero, so the conclusion stands",
    )
    for where, text, printed in (
        ("eq (13)", EQ_12, "x + y**2 + z"),
        ("eq (15)", EQ_14, "x + y**2 + z - t"),
    ):
        integral = classify([text], XYZ).rows[0].integral
        names = (*XYZ, "t")
        same = bool(integral) and parse(integral, names) == parse(printed, names)
        yield Claim(
            where=where,
            what="integral of the constraint",
            printed=printed,
            ours=integral,
            holds=same,
            note="integrated by computer algebra; the constant L is left out",
        )
    for where, text, A, b in (
        ("eq (19)", EQ_12, "1, 2*y, 1", "-2*dy**2"),
        ("eq (19), for (14)", EQ_14, "1, 2*y, 1", "-2*dy**2"),
        ("eq (20)", EQ_16, "1, 2*z, 1", "-2*dy*dz"),
    ):
        miss = second_order_residual(text, A, b)
        yield zero_claim(
            where,
            "difference of A and b from those derived from the text",
            miss,
            ROUNDING_BOUND,
            note="ten random states",
        )
    row = _derived_rows(EQ_12)
    yield Claim(
        where="eq (18)",
        what="entries of b for one constraint on three coordinates",
        printed=3.0,
        ours=float(len(row.b)),
        otherwise="differs: misprint",
        note="printed: b in R^n; one entry for each of the m rows",
    )
