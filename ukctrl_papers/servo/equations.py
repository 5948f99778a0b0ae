"""The printed equations, each beside what it must be by a route of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ukctrl import uk
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl_papers import catalogue_runs
from ukctrl_papers.claim import Claim, zero_claim
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.servo import arms, runs

ROUNDING_BOUND = 1e-11
"""Largest difference of two routes to one matrix [kg m^2, N m]."""
DIFFERENCE_TOLERANCE = 1e-6
"""What central differences leave."""
DECAY_BOUND = 1e-8
"""What 4 s leave of 0.05 m that decay at 5 1/s, 2e-9 m, beside the integrator's tolerance [m]."""
STATE_COUNT = 5


def _states() -> Iterator[tuple[Vector, Vector]]:
    rng = np.random.default_rng(0)
    for _ in range(STATE_COUNT):
        yield rng.standard_normal(5), rng.standard_normal(5)


def matrix_claims() -> Iterator[Claim]:
    """Equations (60)-(70) and (A2)-(A4): the matrices of the two arms."""
    robot = catalogue_runs.catalogue_robot("coordinated_arms")
    scenario = catalogue_runs.catalogue_scenario("coordinated-arms")
    dynamics = Dynamics(robot)
    worst: dict[str, float] = {}

    def note(key: str, ours: Vector | Matrix, printed: Vector | Matrix) -> None:
        worst[key] = max(worst.get(key, 0.0), max_abs(ours - printed))

    for theta, rate in _states():
        s = robot.snapshot(theta, rate, 0.7)
        note("M", s.M, arms.mass(theta))
        note("G", s.gravity, arms.gravity(theta))
        note("C", s.nle - s.gravity, arms.coriolis(theta, rate) @ rate)
        note("B", s.B, arms.B)
        A_c, b_c = arms.closure_rows(theta, rate)
        closure = dynamics.passive.write(s)
        note("closure", np.column_stack((closure.A, closure.b)), np.column_stack((A_c, b_c)))
        A, b = arms.servo_rows(0.7, theta, rate)
        rows = [one.rows(s) for one in scenario.servo]
        note("A", np.vstack([row.A for row in rows]), A)
        note("b", np.concatenate([row.b for row in rows]), b)
    for where, quantity, key in (
        ("(A2)", "mass matrix", "M"),
        ("(A3)", "Coriolis and centripetal torques C theta'", "C"),
        ("(A4)", "gravity torques", "G"),
        ("(63)", "closure: A and b", "closure"),
        ("(70)", "input matrix B", "B"),
        ("(68)", "task matrix A", "A"),
        ("(68)", "task vector b", "b"),
    ):
        yield zero_claim(
            f"eq {where}",
            f"{quantity}: largest difference to ours",
            worst[key],
            ROUNDING_BOUND,
            note=f"derived from the Lagrangian in text, at {STATE_COUNT} random states",
        )


def _derivative(f: Callable[[Vector], Vector], x: Vector, k: int) -> Vector:
    """Return the derivative of a position in one coordinate, by central differences."""
    step = np.zeros(len(x))
    step[k] = 1e-6
    return (f(x + step) - f(x - step)) / 2e-6


def _centroid(link: int) -> Callable[[Vector], Vector]:
    """Return the centroid of a link as a function of the angles."""
    return lambda theta: (
        arms.CENTROID_WEIGHTS[link] @ np.stack((np.cos(theta), np.sin(theta)), axis=1)
    )


def misprint_claims() -> Iterator[Claim]:
    """Misprints of sections V, VI and the appendix."""
    theta = np.array([0.7, -0.4, 0.3, 0.9, -1.1])
    column = _derivative(_centroid(0), theta, 0)
    signs = {1.0: "+(l1/2) sin theta1", -1.0: "-(l1/2) sin theta1"}
    ours = next(
        text
        for sign, text in signs.items()
        if np.isclose(column[0], sign * 0.5 * np.sin(theta[0]), atol=DIFFERENCE_TOLERANCE)
    )
    yield Claim(
        where="eq (58)",
        what="first entry of the first link's velocity Jacobian",
        printed="+(l1/2) sin theta1",
        ours=ours,
        otherwise="differs: misprint",
        note="from (57) by differences; also in J_L1^(1); M and G are unaffected",
    )
    second, third = _derivative(_centroid(4), theta, 1), _derivative(_centroid(4), theta, 2)
    across = np.stack((-np.sin(theta), np.cos(theta)), axis=1)
    same = np.allclose(second, third, atol=DIFFERENCE_TOLERANCE)
    is_distinct = np.allclose(second, across[1], atol=DIFFERENCE_TOLERANCE) and np.allclose(
        third, across[2], atol=DIFFERENCE_TOLERANCE
    )
    yield Claim(
        where="eq (A1)",
        what="J_L2^(5)",
        printed="J_L3^(4)",
        ours="J_L3^(4)" if same else "J_L2^(3)" if is_distinct else "neither",
        otherwise="differs: misprint",
        note="the fifth link's centroid moves with l2 of link 2; printed twice, once rightly",
    )
    diagonal = _derivative(_centroid(1), theta, 1)
    yield Claim(
        where="after eq (50)",
        what="column i of J_L^(i) is zero ('for j >= i')",
        printed="zero",
        ours="zero" if np.allclose(diagonal, 0.0, atol=DIFFERENCE_TOLERANCE) else "not zero",
        otherwise="differs: misprint",
        note="columns j > i are zero; (51) has it right",
    )
    h, t = 1e-3, 1.2
    height = [0.5 * (1.0 - np.cos(at)) for at in (t - h, t, t + h)]
    second_derivative = (height[2] - 2.0 * height[1] + height[0]) / h**2
    is_second = np.isclose(second_derivative, 0.5 * np.cos(t), atol=1e-5)
    yield Claim(
        where="eq (64), third row",
        what="what equals (l/2) cos t",
        printed="y3'",
        ours="y3''" if is_second else "something else",
        otherwise="differs: misprint",
        note="by differences of y3",
    )
    scenario = catalogue_runs.catalogue_scenario("coordinated-arms")
    rows = [
        one.rows(catalogue_runs.catalogue_robot("coordinated_arms").snapshot(np.zeros(5)))
        for one in scenario.servo
    ]
    yield Claim(
        where="eq (71)",
        what="the formula for u, by its shapes",
        printed="(C B) + b",
        ours="(C B_bar)^+ b_bar" if len(rows) != arms.B.shape[1] else "(C B) + b",
        otherwise="differs: misprint",
        note=f"a {len(rows)} x {arms.B.shape[1]} matrix and {len(rows)} rows cannot be added; a "
        "superscript and two bars are lost",
    )


def theory_claims() -> Iterator[Claim]:
    """Sections II and III: conditions and stabilisation."""
    robot = catalogue_runs.catalogue_robot("two_mass_spring")
    dynamics = Dynamics(robot)
    dynamics.move(0.0, np.array([0.1, 0.6]), np.array([0.3, 0.3]))
    far, near = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    relaxed = uk.reach_residual(far @ dynamics.G, -far @ dynamics.a_free)
    without = np.abs(far @ dynamics.G).max() == 0.0 and np.abs(relaxed).max() < 1e-12
    both = np.vstack((near, far))
    missed = uk.reach_residual(both @ dynamics.G, np.array([0.0, 1.0]) - both @ dynamics.a_free)
    insufficient = np.linalg.matrix_rank(both @ dynamics.G) == 1 and np.abs(missed).max() > 0.1
    yield Claim(
        where="Theorem 1, eq (34)",
        what="controllable if and only if rank [C B_bar] >= 1",
        printed="if and only if",
        ours="neither necessary nor sufficient; (33) alone is both",
        holds=not (without or insufficient),
        otherwise="differs: claim does not hold",
        note="two masses, spring relaxed: x2'' = 0 holds with C B_bar = 0 and no control; "
        "x1'' = 0 and x2'' = 1 have rank 1 and no input",
    )
    free = arms.B.shape[1]
    yield Claim(
        where="eq (35)",
        what="dimension of s",
        printed="m, the number of rows",
        ours=f"p, the number of inputs: {free} for 3 rows",
        holds=free == 3,
        otherwise="differs: misprint",
        note="in (35) I - (C B_bar)^+ C B_bar, p by p, takes s to inputs",
    )
    off = {"start.q": (0.1, 1.15), "timing.duration": 4.0}
    gains = {"use": "servo-baumgarte", "feedback": {"alpha": 10.0, "beta": 25.0}}
    stabilised = runs.masses_run({**off, "controller": gains})
    literal = runs.masses_run(off)
    errors = (abs(float(stabilised["phi"][-1, 0])), abs(float(literal["phi"][-1, 0])))
    yield Claim(
        where="section III.B",
        what="stabilisation with phi = A q'' - b brings an error back",
        printed="phi = A q'' - b",
        ours=f"{errors[1]:.2g} m of 0.05 m left; below {bound_text(errors[0], DECAY_BOUND)} m with "
        "phi the "
        "constraint itself",
        holds=errors[1] < errors[0],
        otherwise="differs: misprint",
        note="A q'' = b makes the printed phi zero at once, so that nothing is fed back: the law "
        "without feedback; alpha = beta = 5 in the paper's form, 4 s",
    )
