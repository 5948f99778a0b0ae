"""What a task leaves to itself, and what becomes of it."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.analysis.internal_dynamics.exact_tracking import ExactTracking
from ukctrl.analysis.internal_dynamics.internal_equilibria import (
    InternalEquilibrium,
    InternalEquilibriumSearch,
)
from ukctrl.analysis.internal_dynamics.internal_motion import (
    InternalMotion,
    PeriodicOrbit,
    internal_motion,
    path_period,
    periodic_orbit,
)
from ukctrl.analysis.internal_dynamics.internal_verdict import (
    InternalDynamics,
    VerdictInputs,
    internal_verdict,
)
from ukctrl.analysis.internal_dynamics.local_dynamics import (
    LocalDynamics,
    about_equilibrium,
    at_frozen_time,
)
from ukctrl.analysis.linear import equilibria
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.relative_degree import relative_degrees
from ukctrl.simulation.scenario import AnyScenario, as_scenario

MAX_DOFS = 60
"""Robots with more velocities than this are counted, but not linearised and not simulated."""
MAX_DURATION = 20.0
"""For how long the motion is followed at most [s]."""
GUESSES = 8
"""From how many configurations a search begins where the motors have no grip on the rows."""
FROZEN_TIMES = 9
"""At how many times of the motion it is looked at with time standing still."""
REST_TOLERANCE = 1e-9
"""A path that moves its rows less than this is at rest."""
MAX_EQUILIBRIA = 4
"""How many states of rest are told."""
POLE_RTOL = 1e-6
"""Poles of two states of rest nearer than this fraction are those of one family."""


@explain_argument_errors
@one_blas_thread()
def internal_dynamics(
    scenario: AnyScenario,
    *,
    simulate: bool = True,
    duration: float | None = None,
    floquet: bool = False,
) -> InternalDynamics:
    """Return what the rows of a scenario leave to itself, and what becomes of it.

    The rows are taken as kept exactly, with the allocation of the scenario's law where that is a
    servo law; its feedback does not matter then. Effects on the plant count, others do not.

    Args:
        scenario: The scenario, its name, or the path of its file.
        simulate: Whether to follow the motion from the start too.
        duration: For how long [s]; absent: the scenario's, at most 20 s.
        floquet: Whether to look for a periodic motion where the path is periodic, and for its
            Floquet multipliers, which decide then. It takes a dozen periods and more.

    Raises:
        InputError: The scenario has no servo rows, or does not fit its robot.
        StartError: No state near the start keeps the rows.
    """
    scenario = as_scenario(scenario)
    if not scenario.servo:
        raise InputError(
            "internal dynamics is what servo rows leave; this scenario has no [[servo]]."
        )
    tracking = ExactTracking(scenario)
    t, notes = scenario.start.t, list[str]()
    q, v = tracking.start()
    grip = tracking.authority(t, q, v)
    whole = grip.rank_H == grip.rank_A
    moves = path_moves(tracking, q)
    x = tracking.coordinates(t, q, v)
    states = tracking.state_count(t, q, v)
    result = InternalDynamics(
        scenario=scenario.name or scenario.title,
        robot=tracking.robot.name,
        states=states,
        reached=states - x.size,
        dimension=x.size,
        coordinates=x.names(tracking.robot),
        grip=whole,
        free=2 * grip.null_inputs,
        path_moves=moves,
    )
    if tracking.robot.nv > MAX_DOFS:
        note = f"robots with more than {MAX_DOFS} velocities are counted, but not looked at closer"
        text = f"{x.size} of {states} states are internal: the rows do not determine them."
        return dc.replace(result, verdict=text, notes=(note,))
    dimension, free, names = result.dimension, result.free, result.coordinates
    rests, families = (
        ((), ())
        if whole and not dimension
        else _equilibria(tracking.with_frozen_path(t), whole, q, notes)
    )
    # Without authority the zeros of a state of rest decide, else the count of coordinates.
    if not whole and rests:
        dimension, free, names = len(rests[0].states), rests[0].free, rests[0].states
    elif not whole:
        dimension, free, names = _dimension_by_degrees(tracking, states, q, v)
    elif rests:
        free = rests[0].free
    along: tuple[LocalDynamics, ...] = ()
    run: InternalMotion | None = None
    if whole and simulate and dimension:
        seconds = min(scenario.timing.duration, MAX_DURATION) if duration is None else duration
        run = internal_motion(tracking, q, v, x, seconds)
    # Frozen time is for paths that move; at rest the states of rest say it all.
    if whole and dimension and (moves or (v.any() and not rests)):
        along = _frozen_time(tracking, run, q, v, notes)
    cycle: PeriodicOrbit | None = None
    if floquet and whole and moves and dimension:
        period = path_period(tracking, q)
        cycle = None if period is None else periodic_orbit(tracking, q, v, period)
        if cycle is None:
            notes.append(
                "the path does not repeat itself within the run."
                if period is None
                else f"the path repeats itself after {period:.4g} s; no periodic motion was found."
            )
    result = dc.replace(
        result,
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
    controller = scenario.controller
    kind, text = internal_verdict(
        VerdictInputs(
            result,
            tracking.robot,
            q,
            grip.rank_A,
            plans_motion=controller.forgets_growth,
            allocation=controller.row_allocation,
        )
    )
    return dc.replace(result, kind=kind, verdict=text)


def path_moves(tracking: ExactTracking, q: Vector) -> bool:
    """Tell whether the rows ask for something else at other times of the run."""
    t0 = tracking.scenario.start.t
    times = np.linspace(t0, t0 + tracking.scenario.timing.duration, 17)
    return bool(np.ptp(tracking.row_demands(q, times), axis=0).max() > REST_TOLERANCE)


def _equilibria(
    tracking: ExactTracking, grip: bool, q: Vector, notes: list[str]
) -> tuple[tuple[LocalDynamics, ...], tuple[int, ...]]:
    """Return the states of rest, one of each family, and how many of each were found."""
    kinds: list[LocalDynamics] = []
    count: list[int] = []
    for equilibrium in (
        InternalEquilibriumSearch(tracking).find(q) if grip else _plant_equilibria(tracking)
    ):
        try:
            near = about_equilibrium(tracking, grip, equilibrium.q, equilibrium.u)
        except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
            notes.append(f"a state of rest could not be looked at: {error}")
            continue
        for k, peer in enumerate(kinds):
            if _same_poles(near, peer):
                count[k] += 1
                break
        else:
            kinds.append(near)
            count.append(1)
    if len(kinds) > MAX_EQUILIBRIA:
        notes.append(f"{len(kinds)} different states of rest were found; the nearest are told.")
    return tuple(kinds[:MAX_EQUILIBRIA]), tuple(count[:MAX_EQUILIBRIA])


def _plant_equilibria(tracking: ExactTracking) -> list[InternalEquilibrium]:
    """Return where some input holds the robot with its rows met."""
    try:
        rests = equilibria(tracking.scenario, guesses=GUESSES)
    except InputError:
        return []
    return [InternalEquilibrium(equilibrium.point.q, equilibrium.point.u) for equilibrium in rests]


def _same_poles(near: LocalDynamics, peer: LocalDynamics) -> bool:
    ours, theirs = near.modes.poles, peer.modes.poles
    if len(ours) != len(theirs) or near.modes.at_zero != peer.modes.at_zero:
        return False
    scale = max(1.0, max_abs(theirs))
    return bool(max_abs(ours - theirs) <= POLE_RTOL * scale)


def _frozen_time(
    tracking: ExactTracking, run: InternalMotion | None, q: Vector, v: Vector, notes: list[str]
) -> tuple[LocalDynamics, ...]:
    """Return the motion at some times, with time standing still."""
    states = [(tracking.scenario.start.t, q, v)]
    if run is not None:
        picks = np.unique(np.linspace(0, len(run.times) - 1, FROZEN_TIMES).astype(int)).tolist()
        states = [(float(run.times[k]), run.q[k], run.v[k]) for k in picks]
    poles = []
    for t, q_t, v_t in states:
        try:
            poles.append(at_frozen_time(tracking, t, q_t, v_t))
        except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
            notes.append(f"the motion could not be looked at where t = {t:.4g} s: {error}")
            break
    return tuple(poles)


def _dimension_by_degrees(
    tracking: ExactTracking, states: int, q: Vector, v: Vector
) -> tuple[int, int, tuple[str, ...]]:
    """Return the dimension from the rows' relative degrees, where no state of rest is known."""
    degrees = relative_degrees(tracking.dynamics, tracking.servo, tracking.scenario.start.t, q, v)
    reached = sum(degree.value or degree.at_least for degree in degrees)
    return max(states - reached, 0), 0, ()
