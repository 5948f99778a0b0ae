"""The motion of least effort or least time from a state to a pose, by direct collocation."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.optimal.freedoms import Freedoms
from ukctrl.mechanics.optimal.gauss import gauss
from ukctrl.mechanics.optimal.kept_points import Crossing
from ukctrl.mechanics.optimal.kept_rows import Quantities, nothing
from ukctrl.mechanics.optimal.program import SHORTEST, Program
from ukctrl.mechanics.optimal.search import Found, best_of
from ukctrl.mechanics.optimal.unknowns import Wanted
from ukctrl.mechanics.optimal.ways import first_way
from ukctrl.mechanics.reference.compiled_paths import Pieces


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
    """Of the solver, from all ways."""
    crossings: tuple[Crossing, ...] = ()
    """What it crosses of what it is to keep by more than a millionth of its unit, on or between
    points of a grid ten times as dense as that of its program; the worst first."""
    way: int = 0
    """With which way the search began that found it; the first is straight."""
    starts: int | None = None
    """From how many ways was searched, as was asked for."""

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
        from_ways = f", way {self.way + 1} of {self.starts}" if self.starts else ""
        if self.starts is None and self.way:
            from_ways = f", bent way {self.way}"
        crossed = f"; crosses {self.crossings[0]}" if self.crossings else ""
        return (
            f"{self.duration:.4g} s, effort {self.effort:.4g}; misses {self.miss:.0e} of the "
            f"dynamics where pieces meet; {self.iterations} iterations{from_ways}{crossed}"
        )


def optimal_motion(
    freedoms: Freedoms,
    wanted: Wanted,
    steps: int,
    stages: int,
    kept: Quantities | None = None,
    starts: int | None = None,
    seed: int = 0,
) -> OptimalMotion:
    """Return the motion: the best local optimum near the straight way in the coordinates, or near
    some ways.

    Args:
        freedoms: The robot in its coordinates, and where it starts.
        wanted: What the motion is to do.
        steps: Number of steps of the collocation.
        stages: Points of each.
        kept: What it keeps at or above zero.
        starts: From how many ways is searched; absent: from the straight one, and from others where
            that leads to none that keeps everything.
        seed: By which the others are drawn.

    Raises:
        InputError: No optimum was found; the message says why.
    """
    with one_blas_thread():
        given = nothing(freedoms) if kept is None else kept
        program, straight = first_way(freedoms, gauss(stages), steps, wanted, given)
        found = best_of(program, straight, starts, seed)
        if wanted.fastest and found.program.split(found.z).sigma < 2.0 * SHORTEST:
            raise InputError(
                "must be bounded by limits where its time is least; without one on some motor any "
                "time is too long. Limit it, or the speeds of the joints."
            )
        return _motion(found, starts)


def _motion(found: Found, starts: int | None) -> OptimalMotion:
    program, z = found.program, found.z
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
        iterations=found.iterations,
        crossings=found.crossings,
        way=found.way,
        starts=starts,
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
