"""What the start alone tells: ranks, reach, first input, closures, what is left free to fall."""

from __future__ import annotations

import numpy as np

from ukctrl.analysis.check.approach import CONSISTENT
from ukctrl.analysis.check.findings import Actuation, RowCheck
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError, quoted
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.core.number_text import si
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.contact import HEIGHT
from ukctrl.mechanics.contacts import Contacts
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrability.classify import Integrability, classify_parts
from ukctrl.mechanics.linearise import FreeDirections
from ukctrl.mechanics.relative_degree import RelativeDegree, Together
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.loop.contact_events import BELOW, TOUCHES
from ukctrl.simulation.loop.start_state import bare_angles
from ukctrl.simulation.scenario import Monitor
from ukctrl.uk import RankReport


def velocity_rows(passive: Stack, servo: Stack) -> tuple[Integrability | None, list[str]]:
    """Classify the rows on velocities, passive and servo; the paths of the task are left out."""
    parts = [*passive.attached, *(part for part in servo.attached if not all(part.holonomic))]
    try:
        integrability = classify_parts(parts, servo.robot, closed_form=True)
    except InputError as error:
        return None, [f"the velocity rows cannot be classified: {error}"]
    if integrability is None:
        return None, []
    velocity = {
        name
        for part in parts
        for name, holonomic in zip(part.names, part.holonomic, strict=True)
        if not holonomic
    }
    notes = [
        f"velocity row '{row.name}' says that {row.integral} stays constant; written as phi it "
        "would hold a value."
        for row in integrability.rows
        if row.integral and row.name in velocity
    ]
    if integrability.witness:
        notes.append(f"velocity rows do not all integrate: {integrability.witness}.")
    return integrability, notes


def integrable(servo: Stack, found: Integrability | None) -> list[bool | None]:
    """Say of each servo row whether it is, or integrates to, one on positions."""
    kinds = {row.name: row.kind for row in found.rows} if found is not None else {}
    known: dict[str, bool | None] = {"holonomic": True, "nonholonomic": False}
    return [
        True if holonomic else known.get(kinds.get(name, "undecided"))
        for name, holonomic in zip(servo.names, servo.holonomic, strict=True)
    ]


def actuation(dynamics: Dynamics, mobility: int) -> Actuation:
    """Return whether the motors reach all of the mobility, part of it, or all in several ways."""
    if dynamics.reached().shape[1] < mobility:
        return "under"
    return "redundantly" if dynamics.robot.nu > mobility else "fully"


def ranks(
    servo: RankReport,
    grip: RankReport,
    degrees: tuple[RelativeDegree, ...],
    whole: Together | None,
    instead: str,
    here: str = "the start",
) -> tuple[list[str], list[str], list[str]]:
    """Return what ranks mean: problems, what they amount to, and notes; ``here`` is where."""
    problems, notes = [], []
    if servo.dependent:
        names = quoted(servo.dependent)
        notes.append(f"servo rows {names} depend on the others; they are kept if consistent.")
    counted = []
    if grip.rank < servo.rank:
        counted.append(
            f"the motors hold {grip.rank} of {servo.rank} independent servo rows at {here}: "
            "the rest has a higher relative degree, or is beyond the actuation."
        )
    if whole is not None and whole.extended and whole.orders is not None:
        return [f"{whole.sentence}{instead}"], counted, notes
    if whole is not None and whole.internal:
        notes.append(whole.sentence)
    alike: dict[str, list[RelativeDegree]] = {}
    for degree in degrees:
        held = degree.value is not None and degree.value <= 2
        if not held and degree.name not in servo.dependent:
            alike.setdefault(degree.sentence, []).append(degree)
    for sentence, same in alike.items():
        beyond = instead if same[0].value is not None else ""
        instead = instead.removeprefix(beyond)  # said once
        names = f"row {quoted([same[0].name])}"
        if len(same) > 1:
            names = f"rows {quoted([degree.name for degree in same])}"
            sentence = sentence.replace("its relative degree", "their relative degree", 1)
        problems.append(f"no motor accelerates {names}: {sentence}{beyond}")
    return problems, counted, notes


def beyond_limits(inputs: dict[str, float], truth: Dynamics) -> dict[str, str]:
    """Say of each input beyond what its motor gives at this speed by how much, by name."""
    rate = truth.snapshot.v @ truth.snapshot.B
    said = {}
    for name, low, high in zip(truth.robot.actuators, *truth.robot.input_bounds(rate), strict=True):
        u = inputs.get(name, low)
        if u > high:
            said[name] = f"input '{name}' starts at {u:.4g}, above its limit {high:.4g}."
        elif u < low:
            said[name] = f"input '{name}' starts at {u:.4g}, below its limit {low:.4g}."
    return said


def turned(loop: Loop) -> list[str]:
    """Say which angles the start gives more than a turn, as degrees would be."""
    return [
        f"the start has '{name}' at {value:g} rad, {abs(value) / (2.0 * np.pi):.3g} turns; if that "
        f'is meant in degrees, write "{value:g}*deg".'
        for name, value in bare_angles(loop.scenario.start, loop.robot)
    ]


def shared(sharing: tuple[str, ...]) -> list[str]:
    """Say which passive rows share their load, if any do."""
    if not sharing:
        return []
    return [
        f"passive rows {quoted(sharing)} share their load in a way that no motion tells; their "
        "reactions are those of least norm."
    ]


def over_the_ground(truth: Dynamics) -> tuple[list[str], list[str]]:
    """Say which contacts that only push start above the ground, and which, wrongly, below."""
    own = truth.contacts
    if own is None:
        return [], []
    height = dict(zip(own.names, own.felt[:, HEIGHT].tolist(), strict=True))
    above = {name: h for name, h in height.items() if h > TOUCHES}
    below = {name: -h for name, h in height.items() if h < -BELOW}
    notes, problems = list[str](), list[str]()
    if above:
        most = si(max(above.values()), "m")
        notes.append(
            f"contacts {quoted(above)} start above the ground, by up to {most}; what is said here "
            "is of the robot that stands."
        )
    if below:
        most = si(max(below.values()), "m")
        problems.append(
            f"contacts {quoted(below)} start below the ground, by up to {most}. Raise the start, "
            "or set start.solve = true."
        )
    return notes, problems


def broken_closures(
    passive: Stack, monitor: Monitor, contacts: Contacts | None = None
) -> list[str]:
    """Say which passive rows the start breaks by more than a run allows.

    Those of contacts that only push are not among them: such a one may be open, or strike.
    """
    said = []
    pushing = () if contacts is None else contacts.names
    free = [block in pushing for block in passive.blocks] if pushing else False
    for level, error, limit in (
        ("phi", passive.rows.phi, monitor.max_passive_phi),
        ("beta", passive.rows.beta, monitor.max_passive_beta),
    ):
        size = np.where(free, 0.0, np.abs(np.nan_to_num(error)))
        if np.linalg.norm(size) > limit:
            worst = first_largest(size)
            said.append(
                f"the start breaks the passive constraints, most row '{passive.names[worst]}': "
                f"{level} = {error[worst]:.3g}. Correct it, or set start.solve = true."
            )
    return said


def consistency(rows: tuple[RowCheck, ...]) -> list[str]:
    """Say how far the start is off the servo rows, if it is."""
    off = [row for row in rows if abs(row.phi) > CONSISTENT or abs(row.beta) > CONSISTENT]
    if not off:
        return []
    worst = off[first_largest([np.nanmax(np.abs([row.phi, row.beta])) for row in off])]
    phi = "" if np.isnan(worst.phi) else f"phi = {worst.phi:.3g} {worst.unit}, "
    return [
        f"the start is off the constraints, most on row '{worst.name}': {phi}"
        f"beta = {worst.beta:.3g} {worst.unit}/s. Feedback must bring it back, or set "
        "start.solve = true."
    ]


AT_REST = 1e-6
"""Free accelerations [rad/s^2, m/s^2] and loads [N m, N] below this are those of rest."""


def falling(loop: Loop, q: Vector) -> list[str]:
    """Return a note where a law lets gravity move what its task leaves free.

    At rest at the configuration, the law's own input must leave an acceleration along a direction
    that neither the passive nor the servo rows see, where gravity pulls and a motor could hold.

    Args:
        loop: The scenario, ready to run.
        q: Configuration, shape ``(nq,)``.
    """
    allocation = loop.scenario.controller.row_allocation
    if allocation is None or not allocation.behaviour(loop.law.task).leaves_motors_idle:
        return []
    truth, servo = loop.truth, loop.recorder.servo
    truth.move(loop.t0, q, np.zeros(loop.robot.nv))
    A = servo.write(truth.snapshot).A.copy()
    gravity = truth.snapshot.gravity.copy()
    mobility = loop.robot.nv - truth.passive_rank
    every = np.vstack([truth.passive.rows.A, A])
    left = FreeDirections(truth.L, every, truth.rank.passive)
    free = left.tangent(left.chosen)
    idle = truth.reached().shape[1] > truth.servo_report(A, servo.names).rank
    if not free.size or not idle or max_abs(gravity @ free) <= AT_REST:
        return []
    try:
        command = loop.command(loop.t0, q, np.zeros(loop.robot.nv), loop.state.memory)
        a = truth.acceleration(command.u)
    except (UkctrlError, ArithmeticError):
        return []  # told elsewhere
    if max_abs(a @ free) <= AT_REST:
        return []
    count = free.shape[1]
    return [
        f"{mobility - count} of {mobility} freedoms are held; the other {count} "
        f"{'moves' if count == 1 else 'move'} freely under gravity: give allocation.null_space, "
        'e.g. { kind = "damping", gain = 1.0 }, or more rows.'
    ]
