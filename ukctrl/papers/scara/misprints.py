"""The misprinted formulas, evaluated as printed and as corrected, beside an independent value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.core.extremes import first_largest
from ukctrl.papers.claim import Claim
from ukctrl.papers.digits import bounded
from ukctrl.papers.scara.formulas import (
    OMEGA,
    RADIUS,
    bias,
    constraint_torque,
    exact_start,
    mass,
    rows,
    tool,
)
from ukctrl.papers.scara.runs import Q, V, model
from ukctrl.papers.scara.screws import AT_REST, BODIES, TWISTS, adjoint, bracket, link, turned

EXACT = 1e-8
"""How well a corrected formula must agree with the model; finite differences allow no less."""


@functools.cache
def link_at_q(i: int, j: int) -> Matrix:
    """Return A_ij of (25)."""
    return link(i, j, Q)


def eq_17(first: Callable[[int], int]) -> Matrix:
    """Return M by (17) and (18); the product in column j starts at joint ``first(j)``."""

    def jacobian(i: int) -> Matrix:
        J = np.zeros((6, 4))
        for j in range(i + 1):
            J[:, j] = np.linalg.inv(adjoint(turned(first(j), i, Q) @ AT_REST[i])) @ TWISTS[j]
        return J

    return _kinetic(jacobian)


def eq_24(pose: Callable[[int], Matrix]) -> Matrix:
    """Return M by (24) and (18), with the adjoint of ``pose(i)``."""

    def jacobian(i: int) -> Matrix:
        columns = np.column_stack([link_at_q(i, j) @ TWISTS[j] for j in range(4)])
        answer: Matrix = np.linalg.inv(adjoint(pose(i))) @ columns
        return answer

    return _kinetic(jacobian)


def _kinetic(jacobian: Callable[[int], Matrix]) -> Matrix:
    """Return the mass matrix that body Jacobians give."""
    M = np.zeros((4, 4))
    for i in range(4):
        M += jacobian(i).T @ BODIES[i] @ jacobian(i)
    return M


def reflected(i: int) -> Matrix:
    """Return M'_i of (26), corrected."""
    back = np.linalg.inv(adjoint(AT_REST[i]))
    return back.T @ BODIES[i] @ back


def reflected_as_printed(i: int) -> Matrix:
    """Return M'_i of (26), as printed."""
    Ad = adjoint(turned(0, i, Q) @ AT_REST[i])
    return Ad.T @ BODIES[i] @ np.linalg.inv(Ad)


def eq_26(inertia: Callable[[int], Matrix]) -> Matrix:
    """Return M by (27) with the reflected inertia of (26)."""
    M, inner = np.zeros((4, 4)), [inertia(k) for k in range(4)]
    for i, j in np.ndindex(4, 4):
        for k in range(max(i, j), 4):
            M[i, j] += TWISTS[i] @ link_at_q(k, i).T @ inner[k] @ link_at_q(k, j) @ TWISTS[j]
    return M


def eq_30(first: Callable[[int, int], int]) -> Matrix:
    """Return dM_ij/dq_k by (30), ``[i, j, k]``; its first A has the indices ``first(l, k)``, i."""
    answer, inertia = np.zeros((4, 4, 4)), [reflected(body) for body in range(4)]
    for i, j, k in np.ndindex(4, 4, 4):
        for body in range(max(i, j), 4):
            inner = inertia[body]
            left = bracket(link_at_q(first(body, k), i) @ TWISTS[i], TWISTS[k])
            right = bracket(link_at_q(k, j) @ TWISTS[j], TWISTS[k])
            answer[i, j, k] += left @ link_at_q(body, k).T @ inner @ link_at_q(body, j) @ TWISTS[j]
            answer[i, j, k] += TWISTS[i] @ link_at_q(body, i).T @ inner @ link_at_q(body, k) @ right
    return answer


def slope_of_mass() -> Matrix:
    """Return dM_ij/dq_k of (34) by central differences, ``[i, j, k]``."""
    h = 1e-6 * np.eye(4)
    slopes = [(mass(Q + step) - mass(Q - step)) / 2e-6 for step in h]
    return np.stack(slopes, axis=2)


def formulas() -> Iterator[Claim]:
    """Formulas that lead to (34) and (35)."""
    M = np.array(model().M)
    at_rest = AT_REST.__getitem__
    yield _entry(
        "eq (17)",
        "M",
        eq_17(lambda j: 0),
        eq_17(lambda j: j),
        M,
        "the product of exponentials in column j starts at joint j, not at joint 1",
    )
    yield _entry(
        "eq (24)",
        "M",
        eq_24(lambda i: turned(0, i, Q) @ AT_REST[i]),
        eq_24(at_rest),
        M,
        "the adjoint is that of g_SCi(0), not of g_SCi(q)",
    )
    yield _entry(
        "eq (26)",
        "M",
        eq_26(reflected_as_printed),
        eq_26(reflected),
        M,
        "M'_i is Ad^-T M_i Ad^-1 of g_SCi(0), not Ad^T M_i Ad^-1 of g_SCi(q)",
    )
    yield _entry(
        "eq (30)",
        "dM/dq",
        eq_30(lambda body, k: body),
        eq_30(lambda body, k: k),
        slope_of_mass(),
        "the first bracket holds A_ki, not A_li",
    )


def _entry(
    where: str, what: str, printed: Matrix, corrected: Matrix, wanted: Matrix, why: str
) -> Claim:
    """Return the claim about the entry that the printed formula misses by most."""
    worst = np.unravel_index(first_largest(np.abs(printed - wanted)), wanted.shape)
    miss = float(np.abs(corrected - wanted).max())
    index = ", ".join(str(int(i) + 1) for i in worst)
    route = "(34) by finite differences" if wanted.ndim == 3 else "the robot model"
    return Claim(
        where=where,
        what=f"{what}, entry {index}, by the printed formula",
        printed=float(printed[worst]),
        ours=float(corrected[worst]),
        within=EXACT,
        otherwise="differs: misprint" if miss < EXACT else "differs",
        note=f"{why}; corrected, every entry is that of {route} within {bounded(miss, EXACT)}",
    )


def others() -> Iterator[Claim]:
    """Misprints in (8), (32), (43) and (45)."""
    q, v = exact_start(+1.0)
    b = rows(q, v)[1]
    printed, torque = constraint_torque(q, v, b, -0.5), constraint_torque(q, v, b)
    worst = first_largest(np.abs(printed - torque))
    yield Claim(
        where="eq (8)",
        what=f"constraint torque Q_c{worst + 1} at the exact start, q2 > 0",
        printed=float(printed[worst]),
        ours=float(torque[worst]),
        within=EXACT,
        unit="N m",
        otherwise="differs: misprint",
        note="M^+1/2 as in (7), not M^-1/2: as printed, an acceleration is added to a force",
    )
    at_zero = model(np.zeros(4), np.zeros(4)).frame("tool").position
    yield Claim(
        where="eq (32)",
        what="translation of the tool at q = 0, m",
        printed="(0, 0.45, 0, 1)",
        ours=f"({', '.join(f'{x + 0.0:.3g}' for x in at_zero)})",
        otherwise="differs: misprint",
        note="(0, l1 + l2, l0): the 1 belongs to the row below",
    )
    rotation = model().frame("tool").rotation
    yield Claim(
        where="eq (43)",
        what="r11 at q = (0.3, -0.8, 0.5, 0.1)",
        printed=float(np.cos(Q[[0, 1, 3]].sum())),
        ours=float(rotation[0, 0]),
        within=EXACT,
        otherwise="differs: misprint",
        note="c_123, as in (39), not c_124: the slide does not turn the tool",
    )
    turn = np.arctan2(-rotation[0, 1], rotation[0, 0])
    is_zyz = np.allclose(tool(np.array([turn, 0.0, 0.0, 0.0]))[1], rotation, rtol=0.0, atol=EXACT)
    yield Claim(
        where="eq (45)",
        what="angles of (42) that are zero when psi is",
        printed="alpha, beta",
        ours="phi, psi" if is_zyz else "neither phi nor psi",
        otherwise="differs: misprint",
        note="(45) names other angles than (42); with phi = psi = 0 and gamma = atan2(-r12, r11), "
        "(42) is the rotation of the tool",
    )


def right_ones() -> Iterator[Claim]:
    """Formulas that are right, against the robot model."""
    snapshot = model()
    A, b = rows(Q, V)
    frame = snapshot.frame("tool")
    position, _ = tool(Q)
    pull = -RADIUS * OMEGA**2
    for where, what, theirs, found, unit in (
        ("eq (34)", "M", mass(Q), snapshot.M, ""),
        ("eqs (35), (36)", "C q' + G", bias(Q, V), snapshot.nle, ""),
        ("eq (39)", "tool position", position, frame.position, "m"),
        ("eq (49)", "A, rows x and y", A[:2], frame.J[:2], "m"),
        ("eq (49)", "b, rows x and y", b[:2], np.array([0.0, pull]) - frame.drift[:2], "m/s^2"),
    ):
        ours = np.array(found)
        worst = np.unravel_index(first_largest(np.abs(theirs)), theirs.shape)
        miss = float(np.abs(theirs - ours).max())
        yield Claim(
            where=where,
            what=f"{what}, its largest entry",
            printed=float(theirs[worst]),
            ours=float(ours[worst]),
            within=1e-12,
            unit=unit,
            note=f"the model's, from its URDF; every entry agrees within {bounded(miss, 1e-12)}",
            holds=miss < 1e-12,
        )
