"""What the paper prints: its flop counts and its simulation results."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Count = Callable[[int, int], int]
"""Flops of ``m`` constraints and ``n`` coordinates."""


class OperationCount(NamedTuple):
    """A row of Tables 2 to 5."""

    formula: str
    """In KaTeX."""
    printed: str
    cost: Count


def svd(m: int, n: int) -> int:
    """Return the flops of a Golub-Reisch SVD of an ``m`` by ``n`` matrix, as the paper counts."""
    return 4 * m * m * n + 8 * m * n * n + 9 * n**3


TABLE_1: dict[str, Count] = {
    "31": lambda m, n: 12 * m * n**2 + 4 * m**2 * n + 9 * n**3 + 6 * n**2 + 4 * n,
    "43": lambda m, n: (
        4 * m**2 * n
        + 10 * m * n**2
        + 11 * n**3
        + 4 * (n + m) ** 2 * n
        + (n + m) * (8 * n**2 + 2 * n)
        + n
    ),
    "35": lambda m, n: 8 * n**2 * m + 21 * m**3 + 2 * m**2 * n + 6 * n**2 + 3 * n,
    "41": lambda m, n: 4 * m**2 * n + 12 * m * n**2 + 34 * n**3 + 3 * n + 4 * n**2,
}
"""Flops of each equation of motion, by its number."""

_SVD = ("4m^2n + 8mn^2 + 9n^3", svd)
_N: tuple[str, Count] = ("n", lambda m, n: n)
_SQUARE: tuple[str, Count] = ("2n^2", lambda m, n: 2 * n * n)
_PRODUCT: tuple[str, Count] = ("2n^2m", lambda m, n: 2 * n * n * m)

TABLES_2_TO_5: dict[str, tuple[OperationCount, ...]] = {
    "31": (
        OperationCount("M^{-1}", *_N),
        OperationCount("M^{-1/2}", *_N),
        OperationCount(r"D = \Psi_q M^{-1/2}", *_PRODUCT),
        OperationCount("D^+", *_SVD),
        OperationCount(r"\ddot q_f = M^{-1} F", *_SQUARE),
        OperationCount(r"\Psi_q \ddot q_f", *_SQUARE),
        OperationCount(r"\gamma - \Psi_q \ddot q_f", *_N),
        OperationCount("M^{-1/2} D^+", *_PRODUCT),
        OperationCount(r"M^{-1/2} D^+ (\gamma - \Psi_q \ddot q_f)", *_SQUARE),
        OperationCount(r"\ddot q", *_N),
    ),
    "35": (
        OperationCount("M^{-1}", *_N),
        OperationCount(r"M^{-1} \Psi_q^\top", *_PRODUCT),
        OperationCount(r"Q = \Psi_q M^{-1} \Psi_q^\top", *_PRODUCT),
        OperationCount("Q^+", "21m^3", lambda m, n: 21 * m**3),
        OperationCount(r"\Psi_q^\top Q", "2m^2n", lambda m, n: 2 * m * m * n),
        OperationCount(r"H = M^{-1} \Psi_q^\top Q", *_PRODUCT),
        OperationCount(r"H \Psi_q", *_PRODUCT),
        OperationCount(r"I - H \Psi_q", *_N),
        OperationCount("M^{-1} F", *_SQUARE),
        OperationCount(r"(I - H \Psi_q) M^{-1} F", *_SQUARE),
        OperationCount(r"H \gamma", *_SQUARE),
        OperationCount(r"\ddot q", *_N),
    ),
    "41": (
        OperationCount(r"\Psi_q^+", *_SVD),
        OperationCount(r"\Psi_q^+ \Psi_q", *_PRODUCT),
        OperationCount(r"E = I - \Psi_q^+ \Psi_q", *_N),
        OperationCount("E M E", "4n^3", lambda m, n: 4 * n**3),
        OperationCount("Q = (E M E)^+", "21n^3", lambda m, n: 21 * n**3),
        OperationCount("I + M", *_N),
        OperationCount(r"(I + M) \Psi_q^+", *_PRODUCT),
        OperationCount("Q F", *_SQUARE),
        OperationCount(r"(I + M) \Psi_q^+ \gamma", *_SQUARE),
        OperationCount(r"\ddot q", *_N),
    ),
    "43": (
        OperationCount(r"\Psi_q^+", *_SVD),
        OperationCount(r"\Psi_q^+ \Psi_q", *_PRODUCT),
        OperationCount(r"R = I - \Psi_q^+ \Psi_q", *_N),
        OperationCount("R M", "2n^3", lambda m, n: 2 * n**3),
        OperationCount(r"\bar M^+", "4(n + m)^2n + 8(n + m)n^2 + 9n^3", lambda m, n: svd(n + m, n)),
        OperationCount(r"\bar M^+ (F; \gamma)", "2(n + m)n", lambda m, n: 2 * (n + m) * n),
    ),
}
"""The operations of each equation of motion, by its number; Table 2 is (31), 3 is (35), 4 is (41),
5 is (43)."""

SIZES = ((2, 3), (15, 18), (19, 28))
"""``m, n`` of Table 6."""
TABLE_6 = {
    "31": (573, 129024, 421568),
    "43": (1218, 294102, 975716),
    "35": (399, 119853, 288211),
    "41": (1227, 274158, 968772),
}


class PrintedRun(NamedTuple):
    """A row of Tables 7 to 12; ``None`` where a dash is printed."""

    result: str
    psi_squared: float | None = None
    evaluations: int | None = None
    steps: int | None = None
    cpu: float | None = None


class PrintedTable(NamedTuple):
    """One of Tables 7 to 12."""

    number: int
    tolerance: float
    gains: tuple[float, float]
    """alpha, beta of (32)."""
    rows: dict[str, PrintedRun]


_NO_GAINS = (0.0, 0.0)
STRONG_GAINS = (1000.0, 100.0)
"""alpha, beta of Tables 10 to 12."""
PRINTED_RUNS = (
    PrintedTable(7, 1e-10, _NO_GAINS, {
        "SVD": PrintedRun("Fails after 9.1 s", 3.7e-7),
        "Varga": PrintedRun("Fails after 8.0 s", 9.9e-2),
        "Greville": PrintedRun("Correct up to 17.5 s", 4.5e-5, 2961955, 2633811, 0.93),
        "LS-Householder": PrintedRun("Correct up to 16.5 s", 2.3e-4, 6131159, 4177395, 11.57),
        "LS-Modified GS": PrintedRun("Correct up to 17.0 s", 1.1e-4, 3749766, 3015354, 36.85),
    }),
    PrintedTable(8, 1e-8, _NO_GAINS, {
        "SVD": PrintedRun("Fails after 12.07 s", 3.4e-6),
        "Varga": PrintedRun("Fails after 8.06 s", 9.9e-2),
        "Greville": PrintedRun("Correct up to 17.5 s", 1.86e-4, 1648055, 1422689, 0.53),
        "LS-Householder": PrintedRun("Correct up to 18.0 s", 7.9e-4, 1641751, 1422297, 1.28),
        "LS-Modified GS": PrintedRun("Correct up to 18.0 s", 5.2e-4, 1644341, 1424864, 6.03),
    }),
    PrintedTable(9, 1e-6, _NO_GAINS, {
        "SVD": PrintedRun("Correct up to 17.5 s", 4.1e-4, 1033381, 847294, 0.28),
        "Varga": PrintedRun("Fails after 7.3 s", 9.9e-2),
        "Greville": PrintedRun("Correct up to 19.0 s", 9.7e-4, 1017558, 1422689, 0.37),
        "LS-Householder": PrintedRun("Correct", 7.9e-4, 1641751, 1422297, 0.76),
        "LS-Modified GS": PrintedRun("Correct", 6.9e-4, 1013795, 839020, 3.40),
    }),
    PrintedTable(10, 1e-10, STRONG_GAINS, {
        "SVD": PrintedRun("Fails after 1.17 s"),
        "Varga": PrintedRun("Correct", 4.5e-5, 78491398, 47074599, 11.4),
        "Greville": PrintedRun("Correct", 2.1e-7, 74043990, 44053874, 18.3),
        "LS-Householder": PrintedRun("Correct", 3.3e-7, 73707588, 43948609, 51.5),
        "LS-Modified GS": PrintedRun("Correct", 4.1e-7, 73910268, 44515071, 241.0),
    }),
    PrintedTable(11, 1e-8, STRONG_GAINS, {
        "SVD": PrintedRun("Fails after 0.17 s"),
        "Varga": PrintedRun("Fails after 14.97 s"),
        "Greville": PrintedRun("Correct", 4.90e-7, 80109155, 55569995, 19.4),
        "LS-Householder": PrintedRun("Correct", 3.5e-7, 80197458, 54468468, 55.0),
        "LS-Modified GS": PrintedRun("Correct", 4.9e-7, 80112706, 54604452, 290.0),
    }),
    PrintedTable(12, 1e-6, STRONG_GAINS, {
        "SVD": PrintedRun("Fails after 0.46 s"),
        "Varga": PrintedRun("Fails after 9.7 s"),
        "Greville": PrintedRun("Correct", 1.9e-6, 80483163, 57743095, 19.5),
        "LS-Householder": PrintedRun("Correct", 1.14e-6, 80689071, 58099798, 55.0),
        "LS-Modified GS": PrintedRun("Correct", 1.06e-6, 80636983, 58010479, 291.0),
    }),
)  # fmt: skip  # a row a line, as printed
"""Tables 7 to 12."""
