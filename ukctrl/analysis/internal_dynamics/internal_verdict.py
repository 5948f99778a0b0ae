"""What becomes of the motion that a task leaves: as data, and in words."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.analysis.internal_dynamics.internal_motion import (
    Fate,
    InternalMotion,
    PeriodicOrbit,
    classify_growth,
)
from ukctrl.analysis.internal_dynamics.local_dynamics import Kind, LocalDynamics, time_constant
from ukctrl.core.arrays import Vector
from ukctrl.core.tie_breaking import first_largest, max_abs, tie_ranks
from ukctrl.mechanics.relative_degree.advice import PLANNED
from ukctrl.robot import Robot
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class InternalDynamics:
    """What `internal_dynamics` found."""

    scenario: str
    robot: str
    states: int
    """States that the passive constraints leave: twice the mobility, where all of them hold
    positions; one less for each that holds a velocity only."""
    reached: int
    """States that the rows determine: the sum of their relative degrees, redundant rows left
    out."""
    dimension: int
    """States that are left, ``states - reached``."""
    coordinates: tuple[str, ...]
    """The coordinates that stand for them at the start, those that determine the others best;
    rates as ``v.<name>``."""
    grip: bool
    """Whether the motors accelerate all independent rows at once. Where they do not, the input
    reaches them through further derivatives, or not at all."""
    free: int
    """States, of those left, that inputs can move without moving the rows: free for the null
    space. The others are nobody's to command."""
    path_moves: bool
    """Whether the path of the task moves."""
    rests: tuple[LocalDynamics, ...] = ()
    """States of rest with the path held where it is at the start, from the nearest on."""
    families: tuple[int, ...] = ()
    """How many states of rest were found that are like each of them: more than 1 of a continuum."""
    along: tuple[LocalDynamics, ...] = ()
    """The motion at some times, with time standing still; empty where the path is at rest."""
    motion: InternalMotion | None = None
    """The motion from the start, and one that begins a little beside; None where not asked for
    or not possible."""
    periodic: PeriodicOrbit | None = None
    """A periodic motion along a periodic path; None where not asked for or not found."""
    kind: Kind | None = None
    """What becomes of the motion that is left; None where that is not known."""
    verdict: str = ""
    """The same in words."""
    notes: tuple[str, ...] = ()
    """What is worth knowing beside."""

    def __repr__(self) -> str:
        return f"<InternalDynamics of {self.scenario!r}: {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for programs; complex numbers as pairs."""
        cycle, run = self.periodic, self.motion
        table = attributes_of(
            self, "scenario", "robot", "states", "reached", "dimension", "coordinates"
        )
        table |= attributes_of(self, "grip", "free", "path_moves", "kind", "verdict", "notes")
        table["rests"] = [_plain(near) for near in self.rests]
        table["along"] = [_plain(near) for near in self.along]
        table["periodic"] = cycle and attributes_of(cycle, "period", "multipliers")
        table["motion"] = run and attributes_of(run, "fate", "rate", "factor", "ended")
        plain: dict[str, Any] = finite_or_none(table)
        return plain


def _plain(near: LocalDynamics) -> dict[str, Any]:
    return {
        **attributes_of(near, "t", "q", "v", "u", "states"),
        **attributes_of(near.modes, "kind", "poles"),
        **attributes_of(near, "zeros", "free", "moving", "routes"),
    }


TIME_INVARIANT_RTOL = 1e-6
"""A linear system that changes less than this fraction along a motion is that of a steady one."""
UNIT_CIRCLE_TOLERANCE = 1e-5
"""A multiplier this near to the unit circle is on it."""
EQUILIBRIUM_TOLERANCE = 1e-4
"""A start this near to a state of rest is at it [rad or m, per s]."""
VANISHED_RATIO = 1e-6
"""A push of which less is left is gone; how much less, rounding decides."""
ESCAPE_RATIO = 3.0
"""A motion that gets this many times farther from a state of rest than it began leaves it."""
INVERSION_REMEDY = (
    f'Follow a motion computed before the run, {PLANNED} "stable_inversion", or hold other rows.'
)
"""What to do about a pole that no input moves while the rows hold."""
PLANNED_TEXT = (
    "A law that uses the rows alone meets this instability: this controller follows a motion "
    "computed before the run, on which no state grows."
)
"""What to know of it where the controller has the remedy already."""
BAD: tuple[Kind, ...] = ("runs_away", "drifts", "swings")
"""What one may want to prevent."""


def null_space_advice(allocation: object = None) -> str:
    """Return how to hold what the rows leave free, beside an allocation as it is."""
    has_metric = not dc.is_dataclass(allocation) or "metric" in {
        field.name for field in dc.fields(allocation)
    }
    kind = "" if has_metric else 'controller.allocation.kind = "least_norm", '
    # in that metric alone self-motion has the poles of its gains: effort can grow with any gains
    return (
        f'give {kind}controller.allocation.metric = "resolved_acceleration" and '
        'controller.allocation.null_space = { kind = "self_motion", kp = 25.0, kd = 10.0 }'
    )


def _null_space_remedy(facts: VerdictInputs, *, certain: bool = True) -> str:
    """Return what to do about a state that the motors could move, or perhaps."""
    advice = null_space_advice(facts.allocation)
    if certain:
        return f"The motors can hold this state: {advice}."
    return (
        f"Perhaps the motors can hold this state: {advice}. If it moves away all the same, no "
        "input holds it beside these rows: hold others."
    )


class VerdictInputs(NamedTuple):
    """What a verdict is made of."""

    result: InternalDynamics
    """All but the verdict."""
    robot: Robot
    q: Vector
    rows: int
    """Independent servo rows."""
    plans_motion: bool
    """Whether the controller follows a motion without what grows."""
    allocation: object | None = None
    """What decides of what is free for the null space; None where the controller has none."""


def internal_verdict(facts: VerdictInputs) -> tuple[Kind | None, str]:
    """Return what becomes of the motion that a task leaves, and the same in words."""
    result = facts.result
    if result.dimension == 0:
        text = "the task determines the whole motion: there is no internal dynamics."
        if facts.rows > facts.robot.nu:
            text += (
                f" It asks for {facts.rows} independent rows of motors: {facts.robot.nu}, which "
                "can keep a state of rest at most."
            )
        return "none", text
    if result.free >= result.dimension and not result.grip:
        return "none", f"no state is left undetermined: {_null_space_text(facts)}."
    # Floquet multipliers before frozen time before rest: only the first prove anything of a path.
    if result.periodic is not None:
        return _periodic(result.periodic, facts.plans_motion)
    if result.along and (result.path_moves or _motion_behaviour(result.motion) != "runs_away"):
        return _path_verdict(facts)
    if result.rests:
        return _equilibrium_verdict(facts)
    return _no_equilibrium_verdict(facts)


def _tracking_text(kind: Kind, words: str) -> str:
    return f"the task is followed, {'but' if kind in BAD else 'and'} {words}."


def _periodic(cycle: PeriodicOrbit, prepared: bool) -> tuple[Kind, str]:
    """Judge a periodic motion by its multipliers."""
    largest = float(np.abs(cycle.multipliers[0]))
    floquet_text = f"Floquet multiplier {largest:.4g} over the period of {cycle.period:.4g} s"
    if largest > 1.0 + UNIT_CIRCLE_TOLERANCE:
        text = f"the internal dynamics has an unstable periodic motion: {floquet_text}"
        return (
            "runs_away",
            f"{_tracking_text('runs_away', text)} {PLANNED_TEXT if prepared else INVERSION_REMEDY}",
        )
    if largest < 1.0 - UNIT_CIRCLE_TOLERANCE:
        text = f"the internal dynamics converges to a periodic motion: {floquet_text}"
        return "settles", _tracking_text("settles", text)
    text = (
        "the internal dynamics stays near a periodic motion, without convergence to it: "
        f"{floquet_text}"
    )
    return "stays", _tracking_text("stays", text)


def _equilibrium_verdict(facts: VerdictInputs) -> tuple[Kind | None, str]:
    """Judge a task at rest: where the start is at rest by its poles, else by the motion too."""
    near, run = facts.result.rests[0], facts.result.motion
    offset = _offset_text(facts.robot, near, facts.q)
    if not offset or run is None or run.fate == "ended" or _escapes(facts, near):
        kind = near.modes.kind
        sentences = [_tracking_text(kind, linear_behaviour_text(near))]
        sentences += (
            [f"This holds about the state of rest next to the start, {offset}."] if offset else []
        )
    else:
        kind, words = _perturbation_text(run, near)
        sentences = [_tracking_text(kind, words)]
        sentences.append(
            f"About the state of rest next to the start, {offset}: {linear_behaviour_text(near)}."
        )
    sentences += [
        f"About another state of rest, {_offset_text(facts.robot, peer, near.q)}: "
        f"{linear_behaviour_text(peer)}."
        for peer in facts.result.rests[1:]
        if not (near.modes.at_zero or peer.modes.at_zero)
    ][:1]
    sentences += ["For this result the path is held at rest."] if facts.result.path_moves else []
    return kind, " ".join([*sentences, *_advice(near, facts, kind)])


def _path_verdict(facts: VerdictInputs) -> tuple[Kind | None, str]:
    """Judge the motion along a path that moves."""
    decides, run = facts.result.along[0], facts.result.motion
    steady = _is_time_invariant(facts.result.along)
    if facts.result.rests and _escapes(facts, facts.result.rests[0]):
        decides = facts.result.rests[0]
        kind = decides.modes.kind
        sentences = [_tracking_text(kind, linear_behaviour_text(decides))]
        sentences.append(
            "This holds with the path at rest; along the path the state moves away too."
        )
    elif steady or run is None or run.fate == "ended":
        kind = decides.modes.kind
        sentences = [_tracking_text(kind, linear_behaviour_text(decides))]
        if not steady:
            sentences.append(
                "This holds with time frozen at the start, which is no proof for the motion."
            )
    else:
        decides = facts.result.rests[0] if facts.result.rests else decides
        kind, words = _perturbation_text(run, decides)
        sentences = [_tracking_text(kind, words)]
        sentences += (
            [f"With the path held at rest, {linear_behaviour_text(decides)}."]
            if facts.result.rests
            else []
        )
    return kind, " ".join([*sentences, *_end_text(run), *_advice(decides, facts, kind)])


def _no_equilibrium_verdict(facts: VerdictInputs) -> tuple[Kind | None, str]:
    run, result = facts.result.motion, _motion_behaviour(facts.result.motion)
    none = "no state of rest was found that keeps the task"
    if run is None or result is None:
        return None, (
            f"{facts.result.dimension} states are internal: the rows do not determine them, and "
            f"{none}."
        )
    name, far, unit = run.largest_displacement()
    kind: Kind = "settles" if result == "ended" else result
    words = {
        "runs_away": "moves away ever faster",
        "drifts": "moves away steadily",
        "stays": "keeps moving within bounds",
        "settles": "comes back",
    }[kind]
    seconds = run.times[-1] - run.times[0]
    sentences = [
        _tracking_text(kind, f"'{name}' {words}: {far:.3g} {unit} in {seconds:.3g} s; {none}")
    ]
    sentences += _end_text(run)
    movable = facts.result.free and facts.allocation is not None
    sentences += [_null_space_remedy(facts)] if movable and kind in BAD else []
    return kind, " ".join(sentences)


def _end_text(run: InternalMotion | None) -> list[str]:
    ended = run is not None and run.ended
    return [f"The motion ends early: {ended.rstrip('.')}."] if ended else []


def _null_space_text(facts: VerdictInputs) -> str:
    """Return how much of what the rows leave inputs can move."""
    free, dimension = facts.result.free, facts.result.dimension
    count_text = "all" if free >= dimension else f"{free} of the"
    return (
        f"inputs can move {count_text} {dimension} internal states without disturbing the rows, "
        "and the law determines their motion"
    )


def _motion_behaviour(run: InternalMotion | None) -> Fate | None:
    """Return what becomes of the motion itself; None where it is too short to tell."""
    if run is None or len(run.times) < 9 or not run.moved.size:
        return None
    return classify_growth(run.times, np.linalg.norm(run.moved, axis=1))[0]


def linear_behaviour_text(near: LocalDynamics) -> str:
    """Return what becomes of a small push, as the end of a sentence."""
    m, name, pole = near.modes, near.moving, near.modes.pole
    pair = f" ± {pole.imag:.3g}j" if pole.imag else ""
    if m.kind == "none":
        return "no state is left undetermined"
    if m.kind == "runs_away":
        poles = "pair of poles" if pair else "pole"
        return (
            f"'{name}' drifts away: internal dynamics has an unstable {poles} at {pole.real:+.3g}"
            f"{pair} rad/s (twice as far every {math.log(2.0) / pole.real:.2g} s)"
        )
    if m.kind == "drifts":
        behaviour = (
            "goes on at constant speed once it moves" if m.chain == 2 else "drifts ever faster"
        )
        count = "double" if m.chain == 2 else f"{m.chain}-fold"
        return f"'{name}' {behaviour}: internal dynamics has a {count} pole at 0"
    if m.kind == "swings":
        rate = f"{abs(pole):.3g} rad/s"
        return f"'{name}' oscillates without decay after a push: undamped at {rate}"
    if m.kind == "stays":
        return f"'{name}' stays where it is pushed: internal dynamics has a pole at 0"
    return (
        f"the internal dynamics settles: its slowest pole is {pole.real:.3g}{pair} rad/s (time "
        f"constant {time_constant(pole):.2g} s)"
    )


def _perturbation_text(run: InternalMotion, near: LocalDynamics) -> tuple[Kind, str]:
    """Return what becomes of a push along the motion; ``near`` tells whether it comes to swings."""
    seconds = run.times[-1] - run.times[0]
    apart = np.abs(run.pushed - run.moved)
    name = run.coordinates[first_largest(apart[-1])] if apart.size else ""
    factor = f"{run.factor:.3g}" if run.factor > VANISHED_RATIO else f"less than {VANISHED_RATIO:g}"
    grown = f"{factor} times the push after {seconds:.3g} s"
    if run.fate == "runs_away":
        return "runs_away", f"'{name}' departs from its motion ever faster after a push: {grown}"
    if run.fate == "drifts":
        return "drifts", f"'{name}' drifts away steadily after a push: {grown}"
    if run.fate == "settles":
        return "settles", f"the internal dynamics returns after a push: {grown}"
    kind: Kind = "swings" if near.modes.kind == "swings" else "stays"
    return kind, f"'{name}' stays near its motion after a push, without return"


def _advice(near: LocalDynamics, facts: VerdictInputs, kind: Kind) -> list[str]:
    """Return whose what is left is, and what to do where it does not stay."""
    sentences = []
    if facts.result.free and not facts.result.grip:
        sentences.append(f"In addition, {_null_space_text(facts)}.")
    elif facts.result.free:
        decides = (
            "the allocation determines their poles"
            if facts.allocation is not None
            else "this is what a servo law of least effort makes of them, and this controller "
            "moves them by a rule of its own"
        )
        sentences.append(
            f"{facts.result.free} of the {facts.result.dimension} internal states are free for "
            f"the null space: {decides}."
        )
    # along a motion it is not known which of the poles are the allocation's
    unknown = bool(facts.result.free) and not near.free
    if kind in BAD and facts.result.grip and (unknown or not near.fixed):
        advice = _null_space_remedy(facts, certain=not unknown)
        sentences += [advice] if facts.allocation is not None else []
    elif kind == "runs_away":
        sentences.append(PLANNED_TEXT if facts.plans_motion else INVERSION_REMEDY)
    return sentences


def _escapes(facts: VerdictInputs, near: LocalDynamics) -> bool:
    """Tell whether the motion goes away from a state of rest that it begins near to."""
    run, robot = facts.result.motion, facts.robot
    if near.modes.kind != "runs_away" or run is None or not run.moved.size:
        return False
    internal = [robot.dofs.index(name) for name in run.coordinates]
    away = robot.difference(near.q, facts.q)[internal]
    farthest = float(np.linalg.norm(away + run.moved, axis=1).max())
    return farthest > ESCAPE_RATIO * max(float(np.linalg.norm(away)), EQUILIBRIUM_TOLERANCE)


def _is_time_invariant(along: tuple[LocalDynamics, ...]) -> bool:
    """Tell whether the linear system is one and the same along the motion."""
    first = along[0]
    scale = max(max_abs(first.A), 1.0)
    return len(along) > 1 and all(
        near.states == first.states and max_abs(near.A - first.A) <= TIME_INVARIANT_RTOL * scale
        for near in along
    )


def _offset_text(robot: Robot, near: LocalDynamics, q: Vector) -> str:
    """Return where a state of rest is, as it differs from a configuration; empty where it is."""
    away = robot.difference(q, near.q)
    named = [
        f"'{robot.dofs[i]}' {away[i]:+.3g} {robot.dof_units[i].removesuffix('/s')} away"
        for i in np.argsort(-tie_ranks(np.abs(away)), kind="stable")[:3].tolist()
        if abs(away[i]) > EQUILIBRIUM_TOLERANCE
    ]
    return ", ".join(named)
