"""The search for a motion: from one way or several, and until it keeps what it must all along."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.mechanics.optimal.interior_point import FAILS, NoOptimum, solved
from ukctrl.mechanics.optimal.kept_points import Crossing
from ukctrl.mechanics.optimal.kept_rows import INSIDE, Moving
from ukctrl.mechanics.optimal.program import Program
from ukctrl.mechanics.optimal.ways import bent_ways

ROUNDS = 12
"""So often more points of the grid are taken where a motion crosses something."""
SHRINKS = 0.8
"""Where twice more points leave more than this part of a crossing, others would not help."""
TOLD, MOST = 1e-6, 1e-3
"""Crossings between the points of the grid that are told, and the largest that is let pass [unit].
"""
DETOURS = 4
"""Without other wishes so many bent ways are tried where the straight one crosses something and
leads to no motion that keeps it."""
MOST_NAMED = 3
"""Of what is not kept the worst are named."""


class Found(NamedTuple):
    """A local optimum."""

    program: Program
    """Its program."""
    z: Vector
    """The unknowns."""
    iterations: int
    """Of the solver, from all ways."""
    crossings: tuple[Crossing, ...]
    """What it crosses between the points of its program, the worst first."""
    way: int = 0
    """With which way the search began; the first is straight."""

    @property
    def cost(self) -> float:
        """What is to be least."""
        return self.program.cost(self.z)


def best_of(program: Program, straight: Vector, starts: int | None, seed: int) -> Found:
    """Return the best of the local optima that are found from some ways.

    Args:
        program: The program.
        straight: The straight way.
        starts: From how many ways is searched; None: from the straight one, and from others where
            that leads to none that keeps everything.
        seed: By which the others are drawn.

    Raises:
        InputError: None was found; the message says why none is from the straight way.
    """
    _require_ends(program, straight)
    most = starts or 1 + (DETOURS if _in_the_way(program, straight) else 0)
    bent = bent_ways(program, np.random.default_rng(seed))
    best, iterations, fault = None, 0, None
    for way, guess in enumerate(itertools.islice(itertools.chain([straight], bent), most)):
        try:
            found = _near(program, guess)
        except NoOptimum as error:
            iterations += error.iterations
            fault = fault or _blamed(error)
            continue
        iterations += found.iterations
        if best is None or found.cost < best.cost:
            best = found._replace(way=way)
        if starts is None:
            break
    if best is None:
        assert fault is not None
        raise fault
    return best._replace(iterations=iterations)


def _near(program: Program, guess: Vector) -> Found:
    """Return the local optimum near a way, looked at where it crosses something until it does not.

    The points at which it is are points of a grid, so that this ends.

    Raises:
        NoOptimum: There is none.
    """
    program.forget()
    z, iterations = solved(program, guess)
    last, stalls = np.inf, 0
    for _ in range(ROUNDS):
        left = program.on_grid(z)
        closer, worst = program.kept.closer(left), -float(left.between.min(initial=0.0))
        last, stalls = worst, stalls + (worst > SHRINKS * last)
        if closer is None or stalls == 2:
            break
        more, there = program.looked_at(z, closer)
        try:
            z, steps = solved(more, there, close=True)
        except NoOptimum as error:
            iterations += error.iterations
            break
        program, iterations = more, iterations + steps
    left = program.on_grid(z)
    crossings = program.kept.crossed(left.between, left.times[:, :-1], TOLD)
    if crossings and crossings[0].beyond > MOST:
        raise NoOptimum("Kept_Only_At_Points", program, z, iterations)
    return Found(program, z, iterations, crossings)


def _in_the_way(program: Program, straight: Vector) -> bool:
    """Return whether the straight way crosses something that goes by the position."""
    try:
        h = program.on_grid(straight).h
    except FAILS:
        return True
    return bool((~(h >= -INSIDE) & (program.kept.rows.degree == 2)).any())


def _require_ends(program: Program, straight: Vector) -> None:
    """Refuse a motion whose ends, which are given, are beyond what it is to keep.

    Raises:
        InputError: One is; what is crossed there is named.
    """
    kept, wanted = program.kept.rows, program.wanted
    near, still = program.freedoms.start, np.zeros(program.freedoms.n)
    ends = [("begin", Moving(wanted.t, near.y, wanted.rate, still), near, kept.degree > 0)]
    if np.isfinite(wanted.goal).all():
        place, t = program.answers(straight)[-1].place, wanted.t + program.h * program.steps
        known = (kept.degree > 0) & ~(kept.timed & wanted.fastest)
        ends.append(("end", Moving(t, wanted.goal, still, still), place, known))
    for what, at, near, known in ends if len(kept) else ():
        left = np.where(known, kept.left(near, at)[0], np.inf)
        for i in np.flatnonzero(~(left >= -INSIDE))[:1].tolist():
            raise InputError(
                f"must {what} within what is kept; '{kept.names[i]}' is crossed there by "
                f"{-left[i]:.3g} {kept.units[i]}".rstrip()
                + ", its margin included."
            )


def _blamed(error: NoOptimum) -> InputError:
    """Return why there is no motion, with what it cannot keep."""
    try:
        left = error.program.on_grid(error.z)
        crossings = error.program.kept.crossed(left.between, left.times[:, :-1], TOLD)
    except FAILS:
        crossings = ()
    if not crossings:
        return error
    return InputError(
        f"must be a motion that keeps {quoted([one.name for one in crossings[:MOST_NAMED]])}; the "
        f"solver finds none from here, and the nearest crosses {crossings[0]}. Move what is kept "
        "or the pose, give it more duration, or more starts."
    )
