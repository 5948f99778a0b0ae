"""Ways with which the search for a motion begins: the straight one, and some that are bent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, StartError
from ukctrl.mechanics.optimal.freedoms import Freedoms
from ukctrl.mechanics.optimal.gauss import Gauss
from ukctrl.mechanics.optimal.kept_rows import Quantities
from ukctrl.mechanics.optimal.program import Program
from ukctrl.mechanics.optimal.unknowns import Wanted

GUESSES, NEAR = 12, 0.05
"""Times that are tried until the straight way uses the limits up, and how nearly it shall."""
STRIDE = 4.0
"""One is followed by one of at most so many times it, or this part of it."""
WAVES, ASIDE = 2, 0.5
"""Half waves by which a way is bent, and how far in parts of its length, on the average."""


def first_way(
    freedoms: Freedoms, scheme: Gauss, steps: int, wanted: Wanted, kept: Quantities
) -> tuple[Program, Vector]:
    """Return the program, and the straight way from which its solver begins.

    Raises:
        InputError: The straight way leads to where the passive rows cannot be kept.
    """
    duration = wanted.duration or 1.0
    try:
        for _ in range(GUESSES):
            program = Program(freedoms, scheme, steps, wanted, duration, kept)
            guess = _way(program, np.zeros((WAVES, freedoms.n)))
            used = 1.0 if wanted.duration is not None else program.stretch(guess)
            if abs(used - 1.0) < NEAR:
                break
            duration *= min(max(used, 1.0 / STRIDE), STRIDE)
    except StartError as error:
        raise InputError(
            f"must be able to begin with the straight way of its joints; on it, {error}"
        ) from None
    return program, _within_limits(program, guess)


def bent_ways(program: Program, rng: np.random.Generator) -> Iterator[Vector]:
    """Yield ways that are bent aside, the passive rows kept all along them."""
    way = np.abs(_gone(program))
    units = np.array(program.freedoms.robot.dof_units)[program.freedoms.chosen]
    for unit in dict.fromkeys(units.tolist()):
        own = units == unit
        way[own] = np.maximum(way[own], ASIDE * way[own].max())
    way[way == 0.0] = ASIDE * way.max()
    while True:
        aside = ASIDE * rng.standard_normal((WAVES, len(way))) * way
        aside[0] *= WAVES
        for _ in range(GUESSES):
            program.forget()
            try:
                guess = _way(program, aside)
            except StartError:
                aside *= 0.5
                continue
            yield _within_limits(program, guess)
            break


def _gone(program: Program) -> Vector:
    """Return how far the straight way goes in every coordinate."""
    goal, begin = program.wanted.goal, program.freedoms.start.y
    gone: Vector = np.where(np.isfinite(goal), goal - begin, 0.0)
    return gone


def _way(program: Program, aside: Matrix) -> Vector:
    """Return a way in the coordinates, from rest to rest with least jerk.

    Args:
        program: The program.
        aside: How far it is bent by half waves, one, two, ... of them, shape ``(waves, n)``.

    Raises:
        StartError: The passive rows cannot be kept on it.
    """
    free, wanted, T = program.freedoms, program.wanted, program.h * program.steps
    z: Vector = np.zeros(program.count)
    part, gone = program.split(z), _gone(program)
    part.sigma[:] = 1.0
    least_jerk = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    waves = np.pi * np.arange(1, len(aside) + 1)

    def at(tau: Vector) -> tuple[Matrix, Matrix, Matrix]:
        s, rate, bend = (of(tau)[:, None] for of in (least_jerk, least_jerk.deriv(),
                                                     least_jerk.deriv(2)))  # fmt: skip
        y = free.start.y + s * gone + np.sin(s * waves) @ aside
        by_s = gone + (waves * np.cos(s * waves)) @ aside
        by_s_twice = -(waves**2 * np.sin(s * waves)) @ aside
        return y, rate * by_s / T, (bend * by_s + rate**2 * by_s_twice) / T**2

    part.y[:], part.w[:], _ = at(np.linspace(0.0, 1.0, program.steps + 1))
    part.at[:], part.rate[:], part.a[:] = at((program.times(1.0) - wanted.t) / T)
    for k, (answer, t) in enumerate(zip(program.answers(z), program.times(1.0), strict=True)):
        part.u[k] = free.input_for(answer, t, part.a[k])
    part.seen[:] = np.array(at(program.kept.times / T))
    return z


def _within_limits(program: Program, guess: Vector) -> Vector:
    """Return a way with its inputs within their limits."""
    u, (low, high) = program.split(guess).u, (program.split(b).u for b in program.bounds())
    u[:] = np.clip(u, low, high)
    return guess
