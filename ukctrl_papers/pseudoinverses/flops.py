"""The flop counts of Tables 1 to 6, recomputed."""

from __future__ import annotations

from collections.abc import Iterator

from ukctrl_papers.claim import Claim
from ukctrl_papers.pseudoinverses.printed_tables import (
    SIZES,
    TABLE_1,
    TABLE_6,
    TABLES_2_TO_5,
    Count,
    svd,
)

DETAIL_TABLES = {"31": 2, "35": 3, "41": 4, "43": 5}
"""Which table details which equation."""


def product_flops(a: str, b: str, c: str) -> Count:
    """Return the flops of an ``a`` by ``b`` times a ``b`` by ``c`` matrix: assumption 1.

    Sizes are ``m``, ``n``, or ``1`` for a vector.
    """

    def cost(m: int, n: int) -> int:
        of = {"m": m, "n": n, "1": 1}
        return 2 * of[a] * of[b] * of[c]

    return cost


def _m(m: int, n: int) -> int:
    return m


def _n(m: int, n: int) -> int:
    return n


_nn1, _nm1, _mn1 = (
    product_flops("n", "n", "1"),
    product_flops("n", "m", "1"),
    product_flops("m", "n", "1"),
)
_nnm, _nmn, _nnn = (
    product_flops("n", "n", "m"),
    product_flops("n", "m", "n"),
    product_flops("n", "n", "n"),
)

BY_ASSUMPTION: dict[str, tuple[Count, ...]] = {
    "31": (_n, _n, product_flops("m", "n", "n"), svd, _nn1, _mn1, _m, _nnm, _nm1, _n),
    "35": (
        _n,
        _nnm,
        product_flops("m", "n", "m"),
        lambda m, n: svd(m, m),
        product_flops("n", "m", "m"),
        _nnm,
        _nmn,
        _n,
        _nn1,
        _nn1,
        _nm1,
        _n,
    ),
    "41": (
        svd,
        _nmn,
        _n,
        lambda m, n: 2 * _nnn(m, n),
        lambda m, n: svd(n, n),
        _n,
        _nnm,
        _nn1,
        _nm1,
        _n,
    ),
    "43": (
        svd,
        _nmn,
        _n,
        _nnn,
        lambda m, n: svd(n + m, n),
        lambda m, n: 2 * n * (n + m),
    ),
}
"""Flops of the same operations from their shapes alone, by the three assumptions that the paper
states: 1. products, 2. a pseudoinverse counts as an SVD, 3. diagonal masses are inverted with
``n``. Sums with the identity touch its diagonal, and sums of vectors each entry."""

_KATEX = (
    (r"\Psi_q", "Psi_q"),
    (r"\ddot q", "q''"),
    (r"\gamma", "gamma"),
    (r"\bar M", "M_bar"),
    (r"^\top", "'"),
    ("{", ""),
    ("}", ""),
)


def without_katex(text: str) -> str:
    """Return a formula without its KaTeX, as claims have them."""
    for old, new in _KATEX:
        text = text.replace(old, new)
    return text


def total_flops(equation: str, m: int, n: int) -> int:
    """Return the sum of an equation's table of operations."""
    return sum(operation.cost(m, n) for operation in TABLES_2_TO_5[equation])


def flops_with_product(m: int, n: int) -> int:
    """Return the flops of (41) with the product ``Q M`` that Table 4 leaves out."""
    return total_flops("41", m, n) + 2 * n**3


def flops_with_transpose(equation: str, m: int, n: int) -> int:
    """Return the flops with the SVD of a wide matrix taken of its transpose.

    Golub & Van Loan count ``4 m^2 n + 8 m n^2 + 9 n^3`` for no fewer rows than columns. Here
    ``D`` and ``Psi_q`` have fewer; their transposes have the same factors for less.
    """
    saved = svd(m, n) - svd(n, m) if equation != "35" and m < n else 0
    return total_flops(equation, m, n) - saved


def claims() -> Iterator[Claim]:
    """Yield Table 1 beside the sums of Tables 2 to 5, and every entry of Table 6."""
    for equation, table in DETAIL_TABLES.items():
        more = [total_flops(equation, m, n) - TABLE_1[equation](m, n) for m, n in SIZES]
        yield Claim(
            where=f"Table 1, eq ({equation})",
            what=f"equals the sum of Table {table} at the sizes of Table 6",
            ours=f"the sum is {more[-1]} flops more" if any(more) else "the same",
            holds=not any(more),
            otherwise="differs: misprint",
            note="the 9 n³ of the second pseudoinverse were left out" if any(more) else "",
        )
    for equation, row in TABLE_6.items():
        for (m, n), value in zip(SIZES, row, strict=True):
            yield Claim(
                where=f"Table 6, eq ({equation})",
                what=f"flops at m = {m}, n = {n}",
                printed=value,
                ours=total_flops(equation, m, n),
                otherwise="differs: misprint",
                note="printed from Table 1, which lacks 9 n³" if equation == "43" else "",
            )
    m, n = SIZES[-1]
    for equation, table in DETAIL_TABLES.items():
        for operation, ours in zip(TABLES_2_TO_5[equation], BY_ASSUMPTION[equation], strict=True):
            yield Claim(
                where=f"Table {table}",
                what=f"{without_katex(operation.formula)}: {without_katex(operation.printed)} "
                f"flops, at m = {m}, "
                f"n = {n}",
                printed=operation.cost(m, n),
                ours=ours(m, n),
                otherwise="differs: misprint",
                note=""
                if operation.cost(m, n) == ours(m, n)
                else "by its shapes, as the paper's assumptions have it; printed is n for m",
            )
    yield Claim(
        where="Table 4",
        what=f"flops of (41) with the product Q M that it contains, at m = {m}, n = {n}",
        printed=TABLE_6["41"][-1],
        ours=flops_with_product(m, n),
        otherwise="differs: misprint",
        note="(41) has I - Q M where the table has I + M, and its last row is that of Table 3",
    )
    yield Claim(
        where="Table 6",
        what=f"flops of (31) with the SVD of the wide D transposed, at m = {m}, n = {n}",
        printed=TABLE_6["31"][-1],
        ours=flops_with_transpose("31", m, n),
        otherwise="differs: claim does not hold",
        note="the count 4m²n + 8mn² + 9n³ is for m >= n (Golub & Van Loan); every size here is "
        "m < n, where the transpose is cheaper",
    )
