"""What a task leaves to itself, and what becomes of it."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.analysis.internal_dynamics.held_rows import Held
from ukctrl.analysis.internal_dynamics.internal_dynamics_record import InternalDynamics
from ukctrl.analysis.internal_dynamics.internal_motion import Motion, motion
from ukctrl.analysis.internal_dynamics.internal_verdict import Facts, verdict
from ukctrl.analysis.internal_dynamics.near_a_state import Near, near_motion, near_rest
from ukctrl.analysis.internal_dynamics.periodic import Periodic, period_of, periodic
from ukctrl.analysis.internal_dynamics.states_of_rest import Rest, Search
from ukctrl.analysis.linear import equilibria
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.relative_degree import relative_degrees
from ukctrl.simulation.scenario import Scenario

LARGEST = 60
"""Robots with more velocities than this are counted, but not linearised and not simulated."""
LONGEST = 20.0
"""For how long the motion is followed at most [s]."""
GUESSES = 8
"""From how many configurations a search begins where the motors have no grip on the rows."""
MOMENTS = 9
"""At how many times of the motion it is looked at with time standing still."""
STILL = 1e-9
"""A path that moves its rows less than this is at rest."""
KEPT = 4
"""How many states of rest are told."""
ALIKE = 1e-6
"""Poles of two states of rest nearer than this fraction are those of one family."""


@one_blas_thread()
def internal_dynamics(
    scenario: Scenario,
    *,
    simulate: bool = True,
    duration: float | None = None,
    floquet: bool = False,
) -> InternalDynamics:
    """Return what the rows of a scenario leave to itself, and what becomes of it.

    The rows are taken as kept exactly, with the allocation of the scenario's law where that is a
    servo law; its feedback does not matter then. Effects on the plant count, others do not.

    Args:
        scenario: The scenario.
        simulate: Whether to follow the motion from the start too.
        duration: For how long [s]; absent: the scenario's, at most 20 s.
        floquet: Whether to look for a periodic motion where the path is periodic, and for its
            Floquet multipliers, which decide then. It takes a dozen periods and more.

    Raises:
        InputError: The scenario has no servo rows, or does not fit its robot.
        StartError: No state near the start keeps the rows.
    """
    if not scenario.servo:
        raise InputError(
            "internal dynamics is what servo rows leave; this scenario has no [[servo]]."
        )
    held = Held(scenario)
    t, notes = scenario.start.t, list[str]()
    q, v = held.start()
    grip = held.grip(t, q, v)
    whole = grip.held == grip.independent
    moves = path_moves(held, q)
    x = held.coordinates(t, q, v)
    states = held.states(t, q, v)
    found = InternalDynamics(
        scenario=scenario.name or scenario.title,
        robot=held.robot.name,
        states=states,
        reached=states - x.size,
        dimension=x.size,
        coordinates=x.names(held.robot),
        grip=whole,
        free=2 * grip.idle,
        path_moves=moves,
    )
    if held.robot.nv > LARGEST:
        note = f"robots with more than {LARGEST} velocities are counted, but not looked at closer"
        text = f"{x.size} of {states} states are left to themselves."
        return dc.replace(found, verdict=text, notes=(note,))
    dimension, free, names = found.dimension, found.free, found.coordinates
    rests, families = (
        ((), ()) if whole and not dimension else _rests(held.stopped(t), whole, q, notes)
    )
    if not whole and rests:
        dimension, free, names = len(rests[0].states), rests[0].free, rests[0].states
    elif not whole:
        dimension, free, names = _counted(held, states, q, v)
    elif rests:
        free = rests[0].free
    along: tuple[Near, ...] = ()
    run: Motion | None = None
    if whole and simulate and dimension:
        seconds = min(scenario.timing.duration, LONGEST) if duration is None else duration
        run = motion(held, q, v, x, seconds)
    if whole and dimension and (moves or (v.any() and not rests)):
        along = _along(held, run, q, v, notes)
    cycle: Periodic | None = None
    if floquet and whole and moves and dimension:
        period = period_of(held, q)
        cycle = None if period is None else periodic(held, q, v, period)
        if cycle is None:
            notes.append(
                "the path does not repeat itself within the run."
                if period is None
                else f"the path repeats itself after {period:.4g} s; no motion that does was found."
            )
    found = dc.replace(
        found,
        reached=states - dimension,
        dimension=dimension,
        coordinates=names,
        free=free,
        rests=rests,
        families=families,
        along=along,
        motion=run,
        periodic=cycle,
        notes=tuple(notes),
    )
    prepared = scenario.controller.forgets_growth
    kind, text = verdict(Facts(found, held.robot, q, grip.independent, prepared))
    return dc.replace(found, kind=kind, verdict=text)


def path_moves(held: Held, q: Vector) -> bool:
    """Tell whether the rows ask for something else at other times of the run."""
    t0 = held.scenario.start.t
    times = np.linspace(t0, t0 + held.scenario.timing.duration, 17)
    return bool(np.ptp(held.asked(q, times), axis=0).max() > STILL)


def _rests(
    held: Held, grip: bool, q: Vector, notes: list[str]
) -> tuple[tuple[Near, ...], tuple[int, ...]]:
    """Return the states of rest, one of each family, and how many of each were found."""
    kinds: list[Near] = []
    count: list[int] = []
    for rest in Search(held).all(q) if grip else _anywhere(held):
        try:
            near = near_rest(held, grip, rest.q, rest.u)
        except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
            notes.append(f"a state of rest could not be looked at: {error}")
            continue
        for k, other in enumerate(kinds):
            if _alike(near, other):
                count[k] += 1
                break
        else:
            kinds.append(near)
            count.append(1)
    if len(kinds) > KEPT:
        notes.append(f"{len(kinds)} different states of rest were found; the nearest are told.")
    return tuple(kinds[:KEPT]), tuple(count[:KEPT])


def _anywhere(held: Held) -> list[Rest]:
    """Return where some input holds the robot with its rows met."""
    try:
        rests = equilibria(held.scenario, guesses=GUESSES)
    except InputError:
        return []
    return [Rest(each.point.q, each.point.u) for each in rests]


def _alike(near: Near, other: Near) -> bool:
    ours, theirs = near.modes.poles, other.modes.poles
    if len(ours) != len(theirs) or near.modes.at_zero != other.modes.at_zero:
        return False
    scale = max(1.0, max_abs(theirs))
    return bool(max_abs(ours - theirs) <= ALIKE * scale)


def _along(
    held: Held, run: Motion | None, q: Vector, v: Vector, notes: list[str]
) -> tuple[Near, ...]:
    """Return the motion at some times, with time standing still."""
    states = [(held.scenario.start.t, q, v)]
    if run is not None:
        picks = np.unique(np.linspace(0, len(run.times) - 1, MOMENTS).astype(int)).tolist()
        states = [(float(run.times[k]), run.q[k], run.v[k]) for k in picks]
    poles = []
    for t, q_t, v_t in states:
        try:
            poles.append(near_motion(held, t, q_t, v_t))
        except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
            notes.append(f"the motion could not be looked at where t = {t:.4g} s: {error}")
            break
    return tuple(poles)


def _counted(held: Held, states: int, q: Vector, v: Vector) -> tuple[int, int, tuple[str, ...]]:
    """Return the dimension from the rows' relative degrees, where no state of rest is known."""
    degrees = relative_degrees(held.dynamics, held.servo, held.scenario.start.t, q, v)
    reached = sum(degree.value or degree.at_least for degree in degrees)
    return max(states - reached, 0), 0, ()
