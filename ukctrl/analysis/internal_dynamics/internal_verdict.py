"""What becomes of the motion that a task leaves, in words."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.internal_dynamics.internal_dynamics_record import InternalDynamics
from ukctrl.analysis.internal_dynamics.internal_motion import Fate, Motion, judge
from ukctrl.analysis.internal_dynamics.modes import Kind, time_constant
from ukctrl.analysis.internal_dynamics.near_a_state import Near
from ukctrl.analysis.internal_dynamics.periodic import Periodic
from ukctrl.core.arrays import Vector
from ukctrl.core.extremes import first_largest, max_abs, places
from ukctrl.mechanics.relative_degree.advice import PLANNED
from ukctrl.robot import Robot

STEADY = 1e-6
"""A linear system that changes less than this fraction along a motion is that of a steady one."""
ON_CIRCLE = 1e-5
"""A multiplier this near to the unit circle is on it."""
HERE = 1e-4
"""A start this near to a state of rest is at it [rad or m, per s]."""
GONE = 1e-6
"""A push of which less is left is gone; how much less, rounding decides."""
LEAVES = 3.0
"""A motion that gets this many times farther from a state of rest than it began leaves it."""
INSTEAD = (
    f'Follow a motion worked out before the run, {PLANNED} "stable_inversion", or hold other rows.'
)
"""What to do about a pole that no input moves while the rows hold."""
PREPARED = (
    "That is what a law meets that looks at the rows alone: this controller follows a motion "
    "worked out before the run, on which nothing grows."
)
"""What to know of it where the controller has the remedy already."""
BAD: tuple[Kind, ...] = ("runs_away", "drifts", "swings")
"""What one may want to prevent."""
NULL_SPACE = (
    "The motors are free to hold it: give allocation.null_space, e.g. "
    '{ kind = "damping", gain = 1.0 }.'
)
"""What to do about one that the motors could move."""


class Facts(NamedTuple):
    """What a verdict is made of."""

    found: InternalDynamics
    """All but the verdict."""
    robot: Robot
    q: Vector
    rows: int
    """Independent servo rows."""
    prepared: bool
    """Whether the controller follows a motion without what grows."""


def verdict(facts: Facts) -> tuple[Kind | None, str]:
    """Return what becomes of the motion that a task leaves, and the same in words."""
    found = facts.found
    if found.dimension == 0:
        text = "the task determines the whole motion: there is no internal dynamics."
        if facts.rows > facts.robot.nu:
            text += (
                f" It asks for {facts.rows} independent rows of motors: {facts.robot.nu}, which "
                "can keep no more than a state of rest."
            )
        return "none", text
    if found.free >= found.dimension and not found.grip:
        return "none", f"nothing is left to itself: {_free(facts)}."
    if found.periodic is not None:
        return _periodic(found.periodic, facts.prepared)
    if found.along and (found.path_moves or _fate_of_motion(found.motion) != "runs_away"):
        return _on_the_way(facts)
    if found.rests:
        return _about_rest(facts)
    return _without_rest(facts)


def _followed(kind: Kind, words: str) -> str:
    return f"the task is followed, {'but' if kind in BAD else 'and'} {words}."


def _periodic(cycle: Periodic, prepared: bool) -> tuple[Kind, str]:
    """Judge a periodic motion by its multipliers."""
    largest = float(np.abs(cycle.multipliers[0]))
    every = f"Floquet multiplier {largest:.4g} over the period of {cycle.period:.4g} s"
    if largest > 1.0 + ON_CIRCLE:
        text = f"the periodic motion of what it leaves is unstable: {every}"
        return "runs_away", f"{_followed('runs_away', text)} {PREPARED if prepared else INSTEAD}"
    if largest < 1.0 - ON_CIRCLE:
        text = f"what it leaves comes to a periodic motion: {every}"
        return "settles", _followed("settles", text)
    text = f"what it leaves stays near a periodic motion, without coming back to it: {every}"
    return "stays", _followed("stays", text)


def _about_rest(facts: Facts) -> tuple[Kind | None, str]:
    """Judge a task at rest: where the start is at rest by its poles, else by the motion too."""
    near, run = facts.found.rests[0], facts.found.motion
    place = _place(facts.robot, near, facts.q)
    if not place or run is None or run.fate == "ended" or _leaves(facts, near):
        kind = near.modes.kind
        said = [_followed(kind, fate(near))]
        said += [f"That is about the state of rest next to the start, {place}."] if place else []
    else:
        kind, words = _fate_of_push(run, near)
        said = [_followed(kind, words)]
        said.append(f"About the state of rest next to the start, {place}: {fate(near)}.")
    said += [
        f"About another one, {_place(facts.robot, other, near.q)}: {fate(other)}."
        for other in facts.found.rests[1:]
        if not (near.modes.at_zero or other.modes.at_zero)
    ][:1]
    said += ["The path was held at rest for this."] if facts.found.path_moves else []
    return kind, " ".join([*said, *_advice(near, facts, kind)])


def _on_the_way(facts: Facts) -> tuple[Kind | None, str]:
    """Judge the motion along a path that moves."""
    decides, run = facts.found.along[0], facts.found.motion
    steady = _steady(facts.found.along)
    if facts.found.rests and _leaves(facts, facts.found.rests[0]):
        decides = facts.found.rests[0]
        kind = decides.modes.kind
        said = [_followed(kind, fate(decides))]
        said.append("That is with the path held at rest; along the path it goes away as well.")
    elif steady or run is None or run.fate == "ended":
        kind = decides.modes.kind
        said = [_followed(kind, fate(decides))]
        if not steady:
            said.append("That is with time standing still at the start, which proves nothing.")
    else:
        decides = facts.found.rests[0] if facts.found.rests else decides
        kind, words = _fate_of_push(run, decides)
        said = [_followed(kind, words)]
        said += [f"With the path held at rest, {fate(decides)}."] if facts.found.rests else []
    return kind, " ".join([*said, *_ended(run), *_advice(decides, facts, kind)])


def _without_rest(facts: Facts) -> tuple[Kind | None, str]:
    run, result = facts.found.motion, _fate_of_motion(facts.found.motion)
    none = "no state of rest was found that keeps the task"
    if run is None or result is None:
        return None, f"{facts.found.dimension} states are left to themselves, and {none}."
    name, far, unit = run.farthest()
    kind: Kind = "settles" if result == "ended" else result
    words = {
        "runs_away": "moves away ever faster",
        "drifts": "moves away steadily",
        "stays": "keeps moving within bounds",
        "settles": "comes back",
    }[kind]
    seconds = run.times[-1] - run.times[0]
    said = [_followed(kind, f"'{name}' {words}: {far:.3g} {unit} in {seconds:.3g} s; {none}")]
    said += _ended(run)
    said += [NULL_SPACE] if facts.found.free and kind in BAD else []
    return kind, " ".join(said)


def _ended(run: Motion | None) -> list[str]:
    ended = run is not None and run.ended
    return [f"The motion ends early: {ended.rstrip('.')}."] if ended else []


def _free(facts: Facts) -> str:
    """Return how much of what the rows leave inputs can move."""
    free, dimension = facts.found.free, facts.found.dimension
    every = "all" if free >= dimension else f"{free} of the"
    return (
        f"inputs can move {every} {dimension} states that the rows leave without disturbing "
        "these, and the law decides what becomes of them"
    )


def _fate_of_motion(run: Motion | None) -> Fate | None:
    """Return what becomes of the motion itself; None where it is too short to tell."""
    if run is None or len(run.times) < 9 or not run.moved.size:
        return None
    return judge(run.times, np.linalg.norm(run.moved, axis=1))[0]


def fate(near: Near) -> str:
    """Return what becomes of a small push, as the end of a sentence."""
    m, name, pole = near.modes, near.moving, near.modes.pole
    pair = f" ± {pole.imag:.3g}j" if pole.imag else ""
    if m.kind == "none":
        return "nothing is left to itself"
    if m.kind == "runs_away":
        poles = "pair of poles" if pair else "pole"
        return (
            f"'{name}' drifts away: internal dynamics has an unstable {poles} at {pole.real:+.3g}"
            f"{pair} rad/s (twice as far every {math.log(2.0) / pole.real:.2g} s)"
        )
    if m.kind == "drifts":
        how = "goes on at constant speed once it moves" if m.chain == 2 else "drifts ever faster"
        count = "double" if m.chain == 2 else f"{m.chain}-fold"
        return f"'{name}' {how}: internal dynamics has a {count} pole at 0"
    if m.kind == "swings":
        rate = f"{abs(pole):.3g} rad/s"
        return f"'{name}' swings on for ever once it is pushed: undamped at {rate}"
    if m.kind == "stays":
        return f"'{name}' stays where it is pushed: internal dynamics has a pole at 0"
    return (
        f"what it leaves settles: the slowest pole of the internal dynamics is {pole.real:.3g}"
        f"{pair} rad/s (time constant {time_constant(pole):.2g} s)"
    )


def _fate_of_push(run: Motion, near: Near) -> tuple[Kind, str]:
    """Return what becomes of a push along the motion; ``near`` tells whether it comes to swings."""
    seconds = run.times[-1] - run.times[0]
    apart = np.abs(run.pushed - run.moved)
    name = run.coordinates[first_largest(apart[-1])] if apart.size else ""
    factor = f"{run.factor:.3g}" if run.factor > GONE else f"less than {GONE:g}"
    grown = f"{factor} times the push after {seconds:.3g} s"
    if run.fate == "runs_away":
        return "runs_away", f"'{name}' leaves it ever faster once it is pushed: {grown}"
    if run.fate == "drifts":
        return "drifts", f"'{name}' drifts off steadily once it is pushed: {grown}"
    if run.fate == "settles":
        return "settles", f"what it leaves comes back after a push: {grown}"
    kind: Kind = "swings" if near.modes.kind == "swings" else "stays"
    return kind, f"'{name}' stays near its motion after a push, without coming back"


def _advice(near: Near, facts: Facts, kind: Kind) -> list[str]:
    """Return whose what is left is, and what to do where it does not stay."""
    said = []
    if facts.found.free and not facts.found.grip:
        said.append(f"Beside that, {_free(facts)}.")
    elif facts.found.free:
        said.append(
            f"{facts.found.free} of the {facts.found.dimension} states that are left are free for "
            "the null space: their poles are the allocation's."
        )
    if kind in BAD and facts.found.grip and not near.fixed:
        said.append(NULL_SPACE)
    elif kind == "runs_away":
        said.append(PREPARED if facts.prepared else INSTEAD)
    return said


def _leaves(facts: Facts, near: Near) -> bool:
    """Tell whether the motion goes away from a state of rest that it begins near to."""
    run, robot = facts.found.motion, facts.robot
    if near.modes.kind != "runs_away" or run is None or not run.moved.size:
        return False
    internal = [robot.dofs.index(name) for name in run.coordinates]
    away = robot.difference(near.q, facts.q)[internal]
    farthest = float(np.linalg.norm(away + run.moved, axis=1).max())
    return farthest > LEAVES * max(float(np.linalg.norm(away)), HERE)


def _steady(along: tuple[Near, ...]) -> bool:
    """Tell whether the linear system is one and the same along the motion."""
    first = along[0]
    scale = max(max_abs(first.A), 1.0)
    return len(along) > 1 and all(
        near.states == first.states and max_abs(near.A - first.A) <= STEADY * scale
        for near in along
    )


def _place(robot: Robot, near: Near, q: Vector) -> str:
    """Return where a state of rest is, as it differs from a configuration; empty where it is."""
    away = robot.difference(q, near.q)
    named = [
        f"'{robot.dofs[i]}' {away[i]:+.3g} {robot.dof_units[i].removesuffix('/s')} away"
        for i in np.argsort(-places(np.abs(away)), kind="stable")[:3].tolist()
        if abs(away[i]) > HERE
    ]
    return ", ".join(named)
