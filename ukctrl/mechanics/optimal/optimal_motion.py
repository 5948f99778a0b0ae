"""The motion of least effort or least time from a state to a pose, by direct collocation."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, StartError
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.optimal.freedoms import Freedoms
from ukctrl.mechanics.optimal.gauss import Gauss, gauss
from ukctrl.mechanics.optimal.interior_point import solved
from ukctrl.mechanics.optimal.program import SHORTEST, Program
from ukctrl.mechanics.optimal.unknowns import Wanted
from ukctrl.mechanics.reference.compiled_paths import Pieces

GUESSES, NEAR = 12, 0.05
"""Times that are tried until the straight way uses the limits up, and how nearly it shall."""
STRIDE = 4.0
"""One is followed by one of at most so many times it, or this part of it."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class OptimalMotion:
    """A motion of least effort or time, a polynomial of each coordinate on each step."""

    joints: tuple[str, ...]
    """The coordinates: joints that determine all others."""
    pieces: Pieces
    """Them over the time, from the start on."""
    times: Vector
    """The points at which the motion obeys the robot's dynamics, shape ``(k,)`` [s]."""
    inputs: Matrix
    """Inputs there, shape ``(k, nu)``."""
    effort: float
    r"""$\int u^\top u\, dt$."""
    miss: float
    """By how much the motion misses the robot's acceleration where steps meet, under the inputs
    continued to there: in parts of the largest acceleration."""
    iterations: int
    """Of the solver."""

    @property
    def duration(self) -> float:
        """From end to end [s]."""
        return float(self.pieces.times[-1] - self.pieces.times[0])

    def of(self, joints: Sequence[str]) -> Pieces:
        """Return the motion of some of its coordinates."""
        places = [self.joints.index(joint) for joint in joints]
        return self.pieces._replace(coefficients=self.pieces.coefficients[:, :, places])

    def sentence(self) -> str:
        """Return it in words."""
        return (
            f"{self.duration:.4g} s, effort {self.effort:.4g}; misses {self.miss:.0e} of the "
            f"dynamics where pieces meet; {self.iterations} iterations"
        )


def optimal_motion(freedoms: Freedoms, wanted: Wanted, steps: int, stages: int) -> OptimalMotion:
    """Return the motion: a local optimum near the straight way in the coordinates.

    Args:
        freedoms: The robot in its coordinates, and where it starts.
        wanted: What the motion is to do.
        steps: Number of steps of the collocation.
        stages: Points of each.

    Raises:
        InputError: No optimum was found; the message says why.
    """
    with one_blas_thread():
        try:
            program, guess = _first_guess(freedoms, gauss(stages), steps, wanted)
        except StartError as error:
            raise InputError(
                f"must be able to begin with the straight way of its joints; on it, {error}"
            ) from None
        z, iterations = solved(program, guess)
        if wanted.fastest and program.split(z).sigma < 2.0 * SHORTEST:
            raise InputError(
                "must be bounded by limits where its time is least; without one on some motor any "
                "time is too long. Limit it, or the speeds of the joints."
            )
        return _motion(program, z, iterations)


def _motion(program: Program, z: Vector, iterations: int) -> OptimalMotion:
    part, scheme, steps = program.split(z), program.scheme, program.steps
    stages, sigma = len(scheme.nodes), float(part.sigma[0, 0])
    by_powers = np.einsum("pj,kjn->kpn", scheme.powers, part.a.reshape(steps, stages, -1))
    k = np.arange(stages)[:, None]
    ahead = by_powers * program.h**2 / ((k + 1) * (k + 2))  # in times of a step
    whole = np.concatenate([part.y[:-1, None], program.h * part.w[:-1, None], ahead], axis=1)
    h, robot = sigma * program.h, program.freedoms.robot
    times = np.asarray(program.wanted.t + h * np.arange(steps + 1), dtype=np.float64)
    return OptimalMotion(
        joints=tuple(robot.dofs[i] for i in program.freedoms.chosen.tolist()),
        pieces=Pieces(times, whole / h ** np.arange(stages + 2)[:, None]),
        times=program.times(sigma),
        inputs=part.u.copy(),
        effort=sigma * program.effort(z),
        miss=_miss(program, z),
        iterations=iterations,
    )


def _miss(program: Program, z: Vector) -> float:
    """Return by how much accelerations are missed where steps meet; see `OptimalMotion`."""
    part, stages = program.split(z), len(program.scheme.nodes)
    sigma, worst = float(part.sigma[0, 0]), 0.0
    places = [answer.place for answer in program.answers(z)]
    for step in range(program.steps + 1):
        k = min(step, program.steps - 1)
        own = slice(stages * k, stages * (k + 1))
        onto = float(step - k) ** np.arange(stages) @ program.scheme.powers
        t = program.wanted.t + sigma * program.h * step
        state = part.y[step], part.w[step] / sigma, onto @ part.u[own]
        a = program.freedoms.at(t, places[stages * k], *state).a
        worst = max(worst, max_abs(sigma**2 * a - onto @ part.a[own]))
    return worst / max(max_abs(part.a), np.finfo(float).tiny)


def _first_guess(
    freedoms: Freedoms, scheme: Gauss, steps: int, wanted: Wanted
) -> tuple[Program, Vector]:
    """Return the program, and where its solver begins."""
    duration = wanted.duration or 1.0
    for _ in range(GUESSES):
        program = Program(freedoms, scheme, steps, wanted, duration)
        guess = _straight(program)
        used = 1.0 if wanted.duration is not None else program.stretch(guess)
        if abs(used - 1.0) < NEAR:
            break
        duration *= min(max(used, 1.0 / STRIDE), STRIDE)
    u, (low, high) = program.split(guess).u, (program.split(b).u for b in program.bounds())
    u[:] = np.clip(u, low, high)
    return program, guess


def _straight(program: Program) -> Vector:
    """Return the straight way in the coordinates, from rest to rest with least jerk."""
    free, wanted, T = program.freedoms, program.wanted, program.h * program.steps
    z: Vector = np.zeros(program.count)
    part = program.split(z)
    part.sigma[:] = 1.0
    way = np.where(np.isfinite(wanted.goal), wanted.goal - free.start.y, 0.0)
    meet, at = np.linspace(0.0, 1.0, program.steps + 1), (program.times(1.0) - wanted.t) / T
    least_jerk = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    rate, bend = least_jerk.deriv(), least_jerk.deriv(2)
    part.y[:], part.at[:] = (free.start.y + np.outer(least_jerk(s), way) for s in (meet, at))
    part.w[:], part.rate[:] = (np.outer(rate(s), way) / T for s in (meet, at))
    part.a[:] = np.outer(bend(at), way) / T**2
    for k, (answer, t) in enumerate(zip(program.answers(z), program.times(1.0), strict=True)):
        part.u[k] = free.input_for(answer, t, part.a[k])
    return z
