"""Sections 4 to 6: the pseudoinverse, the equation itself, and the methods it is compared with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl import uk
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.expression.constraint_rows import derive_rows
from ukctrl.mechanics.reference.rotations import hat
from ukctrl.robot import Options, Robot
from ukctrl_papers import catalogue_runs
from ukctrl_papers.claim import Claim, bounded_claim, zero_claim

ROUNDING_BOUND = 1e-10
BODY_URDF = """<robot name="body"><link name="body"><inertial><origin xyz="0.3 -0.2 0.5" rpy="0 0
0"/> <mass value="1.7"/><inertia ixx="0.4" iyy="0.5" izz="0.3" ixy="0.02" ixz="-0.03" iyz="0.01"/>
</inertial></link></robot>"""
"""A rigid body whose centre of mass is off the origin of its frame."""


def _random_system(rng: np.random.Generator) -> tuple[Matrix, Vector, Matrix, Vector]:
    S = rng.standard_normal((6, 6))
    A, b = rng.standard_normal((3, 6)), rng.standard_normal(3)
    return S @ S.T + np.eye(6), rng.standard_normal(6), A, b


def claims() -> Iterator[Claim]:
    """The pseudoinverse, the Udwadia-Kalaba equation and Lagrange's multipliers."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((5, 2)) @ rng.standard_normal((2, 4))
    U, sigma, Vt = (
        factor[..., :2] if k < 2 else factor[:2] for k, factor in enumerate(np.linalg.svd(W))
    )
    inverse = Vt.T @ np.diag(1.0 / sigma) @ U.T
    yield zero_claim(
        "eqs (30), (31)",
        "difference of V Delta^-1 U' from the pseudoinverse",
        inverse - np.linalg.pinv(W),
        ROUNDING_BOUND,
        note="delta_i and not d_i in (30); a matrix of rank 2",
    )
    yield zero_claim(
        "Definition 3",
        "distance of U U' from the identity",
        U @ U.T - np.eye(5),
        ROUNDING_BOUND,
        otherwise="differs: misprint",
        note="p x r matrices are not unitary; U and V have orthonormal columns only",
    )
    misses = [
        W @ inverse @ W - W,
        inverse @ W @ inverse - inverse,
        W @ inverse - (W @ inverse).T,
        inverse @ W - (inverse @ W).T,
    ]
    yield zero_claim(
        "eqs (32)-(35)",
        "largest miss of the four conditions",
        max(float(np.abs(miss).max()) for miss in misses),
        ROUNDING_BOUND,
    )
    a = rng.standard_normal((1, 4))
    square = float((a @ a.T).item())
    B, C = rng.standard_normal((2, 3)), rng.standard_normal((3, 2))
    blocks = np.zeros((5, 5))
    blocks[:2, :3], blocks[2:, 3:] = B, C
    inverses = np.zeros((5, 5))
    inverses[:3, :2], inverses[3:, 2:] = np.linalg.pinv(B), np.linalg.pinv(C)
    pairs = [
        (np.linalg.pinv(-3.0 * W), np.linalg.pinv(W) / -3.0),
        (np.linalg.pinv(a), a.T / square),
        (np.linalg.pinv(a.T), a / square),
        (np.linalg.pinv(a.T @ a), a.T @ a / square**2),
        (np.linalg.pinv(blocks), inverses),
    ]
    for number, (ours, theirs) in enumerate(pairs, start=1):
        yield zero_claim(f"Proposition {number}", "largest miss", ours - theirs, ROUNDING_BOUND)
    yield from _equation(rng)


def _equation(rng: np.random.Generator) -> Iterator[Claim]:
    M, F, A, b = _random_system(rng)
    values, axes = np.linalg.eigh(M)
    root = (axes * np.sqrt(values)) @ axes.T
    printed = root @ np.linalg.pinv(A @ np.linalg.inv(root)) @ (b - A @ np.linalg.solve(M, F))
    yield zero_claim(
        "eq (36)",
        "difference of the printed force from ours",
        printed - uk.constraint_force(M, F, A, b),
        ROUNDING_BOUND,
        note="ours uses a Cholesky factor and no matrix square root",
    )
    KKT = np.block([[M, -A.T], [A, np.zeros((3, 3))]])
    solution = np.linalg.solve(KKT, np.concatenate((F, b)))
    yield zero_claim(
        "eqs (45)-(48)",
        "difference of A' lambda from the force of (36)",
        A.T @ solution[6:] - printed,
        ROUNDING_BOUND,
        note="Lagrange's equation and the constraint solved together",
    )
    doubled, b_doubled = np.vstack((A, A)), np.concatenate((b, b))
    force = uk.constraint_force(M, F, doubled, b_doubled)
    null = np.linalg.svd(doubled.T)[2][3:]
    yield Claim(
        where="section 6.2",
        what="lambda is not unique in general, A' lambda is",
        printed="A' lambda is unique",
        ours=f"{len(null)} free multipliers for doubled rows",
        holds=bool(np.abs(force - printed).max() < ROUNDING_BOUND) and len(null) == 3,
        note="every row twice: the force stays, the multipliers have a null space",
    )
    forms = [
        derive_rows(
            [text], form="pfaffian", coordinates=["x", "y"], dofs=["x", "y"], rates=["v.x", "v.y"]
        )
        for text in ("2*d.x + 3*d.y + 5*d.t", "2*d.x + 3*d.y - 5*d.t")
    ]
    at_rest = [form.evaluate([0.1, 0.2], [0.0, 0.0], 0.0)[3] for form in forms]
    yield Claim(
        where="eq (40)",
        what="c of (22) for A q' + c = 0, from A q' = c",
        printed=at_rest[1],
        ours=at_rest[0],
        otherwise="differs: misprint",
        note="the sign of c in (40) is opposite to (22); for c = 5",
    )
    robot = catalogue_runs.catalogue_robot("flexible_arm_links")
    yield zero_claim(
        "eq (49)",
        "difference of F from the robot's f - nle",
        _bias_residual(robot, rng),
        1e-7,
        note="the two-link arm; derivatives of M by central differences",
    )


def _bias_residual(robot: Robot, rng: np.random.Generator) -> float:
    q, v = rng.uniform(-1.0, 1.0, (2, robot.nv))
    h = 1e-5
    steps = h * np.eye(robot.nv)
    slopes = [(robot.snapshot(q + step).M - robot.snapshot(q - step).M) / (2 * h) for step in steps]
    M_dot = sum((slope * rate for slope, rate in zip(slopes, v, strict=True)), np.zeros((2, 2)))
    snapshot = robot.snapshot(q, v)
    impressed = -snapshot.gravity  # Q of (49): what the potential gives
    F = impressed + np.array([0.5 * v @ slope @ v for slope in slopes]) - M_dot @ v
    return float(np.abs(F - (snapshot.f - snapshot.nle)).max())


def newton_euler(
    m: float, c: Vector, inertia: Matrix, omega: Vector, motion: Vector, as_printed: bool
) -> Vector:
    """Return the force and the moment of (37) for ``motion = (a_P, alpha)``, in body axes."""
    C, W = hat(c), hat(omega)  # (38)
    about = inertia - m * C @ C
    corner = -m * C if as_printed else m * C
    matrix = np.block([[m * np.eye(3), -m * C], [corner, about]])
    push = m * (C @ C if as_printed else W @ W) @ c
    return matrix @ motion + np.concatenate((push, W @ about @ omega))


def body_claims() -> Iterator[Claim]:
    """The rigid body of (37), against Pinocchio."""
    robot = Robot.build(BODY_URDF, Options(floating_base=True, gravity=(0.0, 0.0, 0.0)))
    rng = np.random.default_rng(1)
    c = np.array([0.3, -0.2, 0.5])
    inertia = np.array([[0.4, 0.02, -0.03], [0.02, 0.5, 0.01], [-0.03, 0.01, 0.3]])
    miss = np.zeros(2)
    for _ in range(5):
        v, v_dot = rng.standard_normal((2, 6))
        snapshot = robot.snapshot(robot.random(rng), v)
        wrench = snapshot.M @ v_dot + snapshot.nle
        a_P = v_dot[:3] + np.cross(v[3:], v[:3])  # of the point, and not of the twist
        motion = np.concatenate((a_P, v_dot[3:]))
        for at, as_printed in enumerate((False, True)):
            theirs = newton_euler(1.7, c, inertia, v[3:], motion, as_printed)
            miss[at] = max(miss[at], float(np.abs(wrench - theirs).max()))
    yield zero_claim(
        "eq (37)",
        "largest miss of the printed force and moment",
        float(miss[1]),
        ROUNDING_BOUND,
        otherwise="differs: misprint",
        unit="N, N m",
        note="lower left -m[c]x for +m[c]x, and m[c]x[c]x c (which is zero) for m[w]x[w]x c",
    )
    yield bounded_claim(
        "eq (37), corrected",
        "largest miss of force and moment",
        float(miss[0]),
        ROUNDING_BOUND,
        unit="N, N m",
        note="against Pinocchio's dynamics of a free body, five random motions",
    )
