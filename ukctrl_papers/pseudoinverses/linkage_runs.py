r"""Tables 7 to 12 run again: pseudoinverse, tolerance, threshold and stabilisation.

The paper's linkage moves by its equation (32). Its pseudoinverse calls every singular value up to
a threshold zero; the paper sets that equal to the tolerance of the integrator. The start is not in
the paper; ours is at rest, 45 degrees below the ground line, from where
the motion is known in closed form.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import integrate

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_papers import parallelogram
from ukctrl_papers.motion import FORMS, stabilised
from ukctrl_papers.motion.equation_forms import inverse_by
from ukctrl_papers.pseudoinverse import MethodName, UnresolvedRank

START = math.radians(-45.0)
"""At rest there; the linkage then never passes a state in which all links lie on one line."""
HORIZON = 20.0
"""As in the paper [s]."""
FIRST_STEP = 0.66e-2
"""As in the paper [s]."""
ANGLE_TOLERANCE = 1e-2
"""Largest error of a link's angle that still counts as correct [rad]."""
STALL_EVALUATIONS, STALL_TIME = 5000, 0.05
"""A run stalls when so many evaluations advance the time by less than this [s]."""

PAPER_METHODS: dict[str, MethodName] = {
    "SVD": "svd",
    "Varga": "varga",
    "Greville": "greville",
    "LS-Householder": "least_squares_householder",
    "LS-Modified GS": "least_squares_gram_schmidt",
}
"""The paper's names of the methods."""
INTEGRATORS = ("LSODA", "VODE Adams", "DOP853", "Radau")
"""Today's; VODE's Adams-Moulton formulas are the descendant of the paper's DIVPAG."""


@dc.dataclass(frozen=True, kw_only=True)
class LinkageCase:
    """One run of the study."""

    method: str = "SVD"
    tolerance: float = 1e-8
    """Relative and absolute tolerance of the integrator."""
    threshold: float = 0.0
    """Largest singular value of ``D`` that counts as zero; 0: the tolerance, as in the paper."""
    alpha: float = 0.0
    r"""Gain of (32) in the paper's letters, $\ddot\Psi + 2 \alpha \dot\Psi + \beta^2 \Psi = 0$."""
    beta: float = 0.0
    integrator: str = "LSODA"
    start: float = START
    """Angle of the links, at rest [rad]."""
    offset: float = 0.0
    """Size of a random error of the coordinates at the start [m, rad]."""
    horizon: float = HORIZON


@dc.dataclass(frozen=True, kw_only=True)
class LinkageRun:
    """What became of a run."""

    case: LinkageCase
    end_status: str
    """``completed``, ``stalls``, ``halted`` by the integrator, or ``refused`` by the method."""
    correct_until: float
    """Last time before the angle of the first link is wrong by more than `ANGLE_TOLERANCE` [s]."""
    reached: float
    """Time at the end [s]."""
    error: float
    """Error of the angle at the end [rad]."""
    psi_squared: float
    r"""$\sum_i \Psi_i^2$ at the end [m^2]."""
    steps: int
    evaluations: int
    seconds: float

    @property
    def table_text(self) -> str:
        """Return the outcome in the words of the paper's tables."""
        if self.end_status == "completed" and self.correct_until >= self.reached:
            return "Correct"
        digits = ".1f" if self.correct_until >= 1.0 else ".2g"
        right = f"correct up to {self.correct_until:{digits}} s"
        return (
            right.capitalize() if self.end_status == "completed" else f"{self.end_status}, {right}"
        )


def run_case(case: LinkageCase) -> LinkageRun:
    """Integrate one case until its horizon, or until it gets nowhere."""
    equation = LinkageEquation(case)
    t, y, ended = 0.0, equation.start, "completed"
    steps, right, correct = 0, True, 0.0
    began = time.perf_counter()
    try:
        for t, y in _progressing_steps(case, equation):
            steps += 1
            right = right and _error(case, t, y) <= ANGLE_TOLERANCE
            correct = t if right else correct
    except Stalled:
        ended = "stalls"
    except UnresolvedRank:
        ended = "refused"
    seconds = time.perf_counter() - began
    if ended == "completed" and t < case.horizon:
        ended = "halted"
    return LinkageRun(
        case=case,
        end_status=ended,
        correct_until=correct,
        reached=t,
        error=_error(case, t, y),
        psi_squared=float((parallelogram.position_errors(y[:12]) ** 2).sum()),
        steps=steps,
        evaluations=equation.count,
        seconds=seconds,
    )


class ViolationHistory(NamedTuple):
    """What a run leaves behind, step by step."""

    t: Vector
    """Time [s]."""
    violation: Vector
    r"""$\sqrt{\sum_i \Psi_i^2}$ [m]."""
    twelfth: Vector
    """The singular value of ``D`` that is zero on the exact manifold."""


def violation_history(case: LinkageCase) -> ViolationHistory:
    """Return how the violation and the twelfth singular value grow until a run ends or stalls."""
    equation = LinkageEquation(case)
    root = np.sqrt(parallelogram.mass_diagonal())
    states = [(0.0, equation.start.copy())]
    with contextlib.suppress(Stalled, UnresolvedRank):
        states += ((t, y.copy()) for t, y in _progressing_steps(case, equation))
    residuals = []
    for t, y in states:
        A, _ = parallelogram.constraint_rows(y[:12], y[12:])
        sigma = np.linalg.svd(A / root, compute_uv=False)
        residuals.append(
            (t, float(np.linalg.norm(parallelogram.position_errors(y[:12]))), sigma[11])
        )
    return ViolationHistory(*np.array(residuals).T)


def _error(case: LinkageCase, t: float, y: Vector) -> float:
    exact = parallelogram.angle_from_rest(np.array(t), case.start)
    return abs(float(y[2]) - float(exact))


class Stalled(Exception):
    """A run gets nowhere: many evaluations advance the time by next to nothing."""


class LinkageEquation:
    """The right-hand side ``y' = f(t, y)`` of (32), ``y = (q, v)``, and how often it was asked."""

    def __init__(self, case: LinkageCase) -> None:
        self.count = 0
        self.start: Vector = np.concatenate(parallelogram.closed_configuration(case.start))
        self.start[:12] += case.offset * np.random.default_rng(0).standard_normal(12)
        self._mass, self._force = np.diag(parallelogram.mass_diagonal()), parallelogram.gravity()
        self._gains = 2.0 * case.alpha, case.beta**2
        D = parallelogram.constraint_rows(*np.split(self.start, 2))[0] / np.sqrt(
            parallelogram.mass_diagonal()
        )
        self._rtol = (case.threshold or case.tolerance) / float(np.linalg.norm(D, 2))
        self._inverse = inverse_by(PAPER_METHODS[case.method])
        self._equation = FORMS["udwadia_kalaba"].equation

    def __call__(self, t: float, y: Vector) -> Vector:
        self.count += 1
        q, v = y[:12], y[12:]
        A, b = parallelogram.constraint_rows(q, v)
        if any(self._gains):
            b = stabilised(b, A @ v, parallelogram.position_errors(q), *self._gains)
        a = self._equation(self._mass, self._force, A, b, self._inverse, self._rtol)
        return np.concatenate([v, a])

    def jacobian(self, t: float, y: Vector) -> Matrix:
        """Return its derivative by differences of one millionth, wide enough for zero entries."""
        base, step = self(t, y), 1e-6
        columns = [(self(t, y + step * unit) - base) / step for unit in np.eye(len(y))]
        return np.array(columns).T


def _progressing_steps(
    case: LinkageCase, equation: LinkageEquation
) -> Iterator[tuple[float, Vector]]:
    """Yield the steps of a run while it gets somewhere."""
    count, since = 0, 0.0
    for t, y in _steps(case, equation):
        yield t, y
        if equation.count - count >= STALL_EVALUATIONS:
            if t - since < STALL_TIME:
                raise Stalled
            count, since = equation.count, t


def _steps(case: LinkageCase, equation: LinkageEquation) -> Iterator[tuple[float, Vector]]:
    """Yield time and state after every step of the integrator, until it ends or gives up."""
    tolerance = case.tolerance
    if case.integrator == "VODE Adams":
        adams = integrate.ode(equation).set_integrator(
            "vode", rtol=tolerance, atol=tolerance, first_step=FIRST_STEP, nsteps=STALL_EVALUATIONS
        )
        adams.set_initial_value(equation.start, 0.0)
        while adams.t < case.horizon:
            adams.integrate(case.horizon, step=True)
            if not adams.successful():
                return
            yield float(adams.t), adams.y
        return
    options = {"jac": equation.jacobian} if case.integrator == "Radau" else {}
    solver = getattr(integrate, case.integrator)(
        equation,
        0.0,
        equation.start,
        case.horizon,
        rtol=tolerance,
        atol=tolerance,
        first_step=FIRST_STEP,
        **options,
    )
    while solver.status == "running":
        solver.step()
        yield float(solver.t), solver.y
