"""The misprinted formulas, evaluated as printed and as corrected, beside an independent value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.core.tie_breaking import first_largest
from ukctrl_papers.claim import Claim
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.scara.formulas import (
    OMEGA,
    RADIUS,
    bias,
    constraint_torque,
    exact_start,
    mass,
    rows,
    tool_pose,
)
from ukctrl_papers.scara.runs import TEST_Q, TEST_V, robot_at
from ukctrl_papers.scara.screws import (
    AT_REST,
    BODIES,
    TWISTS,
    adjoint,
    exponential_product,
    link_adjoint,
    twist_bracket,
)

ROUNDING_BOUND = 1e-8
"""How well a corrected formula must agree with the model; finite differences allow no less."""


@functools.cache
def link_at_q(i: int, j: int) -> Matrix:
    """Return A_ij of (25)."""
    return link_adjoint(i, j, TEST_Q)


def eq_17(first: Callable[[int], int]) -> Matrix:
    """Return M by (17) and (18); the product in column j starts at joint ``first(j)``."""

    def jacobian(i: int) -> Matrix:
        J = np.zeros((6, 4))
        for j in range(i + 1):
            J[:, j] = (
                np.linalg.inv(adjoint(exponential_product(first(j), i, TEST_Q) @ AT_REST[i]))
                @ TWISTS[j]
            )
        return J

    return _mass_matrix(jacobian)


def eq_24(pose: Callable[[int], Matrix]) -> Matrix:
    """Return M by (24) and (18), with the adjoint of ``pose(i)``."""

    def jacobian(i: int) -> Matrix:
        columns = np.column_stack([link_at_q(i, j) @ TWISTS[j] for j in range(4)])
        answer: Matrix = np.linalg.inv(adjoint(pose(i))) @ columns
        return answer

    return _mass_matrix(jacobian)


def _mass_matrix(jacobian: Callable[[int], Matrix]) -> Matrix:
    """Return the mass matrix that body Jacobians give."""
    M = np.zeros((4, 4))
    for i in range(4):
        M += jacobian(i).T @ BODIES[i] @ jacobian(i)
    return M


def reflected_inertia(i: int) -> Matrix:
    """Return M'_i of (26), corrected."""
    back = np.linalg.inv(adjoint(AT_REST[i]))
    return back.T @ BODIES[i] @ back


def printed_reflected_inertia(i: int) -> Matrix:
    """Return M'_i of (26), as printed."""
    Ad = adjoint(exponential_product(0, i, TEST_Q) @ AT_REST[i])
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
    answer, inertia = np.zeros((4, 4, 4)), [reflected_inertia(body) for body in range(4)]
    for i, j, k in np.ndindex(4, 4, 4):
        for body in range(max(i, j), 4):
            inner = inertia[body]
            left_bracket = twist_bracket(link_at_q(first(body, k), i) @ TWISTS[i], TWISTS[k])
            right = twist_bracket(link_at_q(k, j) @ TWISTS[j], TWISTS[k])
            answer[i, j, k] += (
                left_bracket @ link_at_q(body, k).T @ inner @ link_at_q(body, j) @ TWISTS[j]
            )
            answer[i, j, k] += TWISTS[i] @ link_at_q(body, i).T @ inner @ link_at_q(body, k) @ right
    return answer


def slope_of_mass() -> Matrix:
    """Return dM_ij/dq_k of (34) by central differences, ``[i, j, k]``."""
    h = 1e-6 * np.eye(4)
    slopes = [(mass(TEST_Q + step) - mass(TEST_Q - step)) / 2e-6 for step in h]
    return np.stack(slopes, axis=2)


def formula_claims() -> Iterator[Claim]:
    """Formulas that lead to (34) and (35)."""
    M = np.array(robot_at().M)
    at_rest = AT_REST.__getitem__
    yield _worst_entry_claim(
        "eq (17)",
        "M",
        eq_17(lambda j: 0),
        eq_17(lambda j: j),
        M,
        "the product of exponentials in column j starts at joint j, not at joint 1",
    )
    yield _worst_entry_claim(
        "eq (24)",
        "M",
        eq_24(lambda i: exponential_product(0, i, TEST_Q) @ AT_REST[i]),
        eq_24(at_rest),
        M,
        "the adjoint is that of g_SCi(0), not of g_SCi(q)",
    )
    yield _worst_entry_claim(
        "eq (26)",
        "M",
        eq_26(printed_reflected_inertia),
        eq_26(reflected_inertia),
        M,
        "M'_i is Ad^-T M_i Ad^-1 of g_SCi(0), not Ad^T M_i Ad^-1 of g_SCi(q)",
    )
    yield _worst_entry_claim(
        "eq (30)",
        "dM/dq",
        eq_30(lambda body, k: body),
        eq_30(lambda body, k: k),
        slope_of_mass(),
        "the first bracket holds A_ki, not A_li",
    )


def _worst_entry_claim(
    where: str, quantity: str, printed: Matrix, corrected: Matrix, reference: Matrix, reason: str
) -> Claim:
    """Return the claim about the entry that the printed formula misses by most."""
    worst = np.unravel_index(first_largest(np.abs(printed - reference)), reference.shape)
    miss = float(np.abs(corrected - reference).max())
    index = ", ".join(str(int(i) + 1) for i in worst)
    route = "(34) by finite differences" if reference.ndim == 3 else "the robot model"
    return Claim(
        where=where,
        what=f"{quantity}, entry {index}, by the printed formula",
        printed=float(printed[worst]),
        ours=float(corrected[worst]),
        within=ROUNDING_BOUND,
        otherwise="differs: misprint" if miss < ROUNDING_BOUND else "differs",
        note=f"{reason}; corrected, every entry is that of {route} within "
        f"{bound_text(miss, ROUNDING_BOUND)}",
    )


def other_misprints() -> Iterator[Claim]:
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
        within=ROUNDING_BOUND,
        unit="N m",
        otherwise="differs: misprint",
        note="M^+1/2 as in (7), not M^-1/2: as printed, an acceleration is added to a force",
    )
    at_zero = robot_at(np.zeros(4), np.zeros(4)).frame("tool").position
    yield Claim(
        where="eq (32)",
        what="translation of the tool at q = 0, m",
        printed="(0, 0.45, 0, 1)",
        ours=f"({', '.join(f'{x + 0.0:.3g}' for x in at_zero)})",
        otherwise="differs: misprint",
        note="(0, l1 + l2, l0): the 1 belongs to the row below",
    )
    rotation = robot_at().frame("tool").rotation
    yield Claim(
        where="eq (43)",
        what="r11 at q = (0.3, -0.8, 0.5, 0.1)",
        printed=float(np.cos(TEST_Q[[0, 1, 3]].sum())),
        ours=float(rotation[0, 0]),
        within=ROUNDING_BOUND,
        otherwise="differs: misprint",
        note="c_123, as in (39), not c_124: the slide does not turn the tool",
    )
    turn = np.arctan2(-rotation[0, 1], rotation[0, 0])
    is_zyz = np.allclose(
        tool_pose(np.array([turn, 0.0, 0.0, 0.0]))[1], rotation, rtol=0.0, atol=ROUNDING_BOUND
    )
    yield Claim(
        where="eq (45)",
        what="angles of (42) that are zero when psi is",
        printed="alpha, beta",
        ours="phi, psi" if is_zyz else "neither phi nor psi",
        otherwise="differs: misprint",
        note="(45) names other angles than (42); with phi = psi = 0 and gamma = atan2(-r12, r11), "
        "(42) is the rotation of the tool",
    )


def confirmed_formulas() -> Iterator[Claim]:
    """Formulas that are right, against the robot model."""
    snapshot = robot_at()
    A, b = rows(TEST_Q, TEST_V)
    frame = snapshot.frame("tool")
    position, _ = tool_pose(TEST_Q)
    pull = -RADIUS * OMEGA**2
    for where, quantity, theirs, model_value, unit in (
        ("eq (34)", "M", mass(TEST_Q), snapshot.M, ""),
        ("eqs (35), (36)", "C q' + G", bias(TEST_Q, TEST_V), snapshot.nle, ""),
        ("eq (39)", "tool position", position, frame.position, "m"),
        ("eq (49)", "A, rows x and y", A[:2], frame.J[:2], "m"),
        ("eq (49)", "b, rows x and y", b[:2], np.array([0.0, pull]) - frame.drift[:2], "m/s^2"),
    ):
        ours = np.array(model_value)
        worst = np.unravel_index(first_largest(np.abs(theirs)), theirs.shape)
        miss = float(np.abs(theirs - ours).max())
        yield Claim(
            where=where,
            what=f"{quantity}, its largest entry",
            printed=float(theirs[worst]),
            ours=float(ours[worst]),
            within=1e-12,
            unit=unit,
            note=f"the model's, from its URDF; every entry agrees within {bound_text(miss, 1e-12)}",
            holds=miss < 1e-12,
        )
