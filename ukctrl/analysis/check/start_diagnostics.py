"""What the start alone tells: ranks, reach, first input, closures, what is left free to fall."""

from __future__ import annotations

import importlib

import numpy as np

from ukctrl.analysis.check.check_result import Actuation, Integrability, RowCheck
from ukctrl.analysis.check.initial_transient import CONSISTENCY_TOLERANCE
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError, quoted
from ukctrl.core.number_text import si
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.contact import HEIGHT
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrability import positional_rows
from ukctrl.mechanics.linearise import ConstraintNullSpace
from ukctrl.mechanics.relative_degree import RelativeDegree, VectorRelativeDegree
from ukctrl.mechanics.unilateral_contacts import UnilateralContacts
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.start_state import angles_without_unit
from ukctrl.simulation.events.contact_events import PENETRATION_TOLERANCE, TOUCH_TOLERANCE
from ukctrl.simulation.scenario import Monitor
from ukctrl.uk import RankReport

CLASSIFIER = "ukctrl_papers.integrability.classify"
"""Tells with proof which rows integrate; without it a numerical rank test does."""


def classify_velocity_rows(
    passive: Stack, servo: Stack
) -> tuple[Integrability | None, dict[str, bool | None], list[str]]:
    """Classify the rows on velocities, passive and servo; the paths of the task are left out.

    Returns:
        What `ukctrl.classify` says of them, whether each row integrates, by name, and notes.
    """
    attachments = [
        *passive.attached,
        *(attachment for attachment in servo.attached if not all(attachment.holonomic)),
    ]
    names = [name for attachment in attachments for name in attachment.names]
    holonomic = [flag for attachment in attachments for flag in attachment.holonomic]
    if all(holonomic):
        return None, {}, []
    try:
        classifier = importlib.import_module(CLASSIFIER)
    except ModuleNotFoundError as error:
        if error.name != CLASSIFIER.partition(".")[0]:
            raise
        flags = positional_rows(attachments, servo.robot).tolist()
        return None, {name: flag or None for name, flag in zip(names, flags, strict=True)}, []
    try:
        verdict: Integrability = classifier.classify_parts(
            attachments, servo.robot, closed_form=True
        )
    except InputError as error:
        return None, {}, [f"the velocity rows cannot be classified: {error}"]
    velocity = {name for name, flag in zip(names, holonomic, strict=True) if not flag}
    notes = [
        f"velocity row '{row.name}' says that {row.integral} stays constant; written as phi it "
        "would hold a value."
        for row in verdict.rows
        if row.integral and row.name in velocity
    ]
    if verdict.witness:
        notes.append(f"velocity rows do not all integrate: {verdict.witness}.")
    by_kind: dict[str, bool | None] = {"holonomic": True, "nonholonomic": False}
    return verdict, {row.name: by_kind.get(row.kind) for row in verdict.rows}, notes


def actuation_class(dynamics: Dynamics, mobility: int) -> Actuation:
    """Return whether the motors reach all of the mobility, part of it, or all in several ways."""
    if dynamics.reached().shape[1] < mobility:
        return "under"
    return "redundantly" if dynamics.robot.nu > mobility else "fully"


def rank_diagnostics(
    servo: RankReport,
    grip: RankReport,
    degrees: tuple[RelativeDegree, ...],
    whole: VectorRelativeDegree | None,
    instead: str,
    instant: str = "the start",
) -> tuple[list[str], list[str], list[str]]:
    """Return what ranks mean: problems, what they amount to, and notes; ``instant`` is where."""
    problems, notes = [], []
    if servo.dependent:
        names = quoted(servo.dependent)
        notes.append(f"servo rows {names} depend on the others; they are kept if consistent.")
    counted = []
    if grip.rank < servo.rank:
        counted.append(
            f"the motors hold {grip.rank} of {servo.rank} independent servo rows at {instant}: "
            "the rest has a higher relative degree, or is beyond the actuation."
        )
    if whole is not None and whole.extended and whole.orders is not None:
        return [f"{whole.sentence}{instead}"], counted, notes
    if whole is not None and whole.internal:
        notes.append(whole.sentence)
    alike: dict[str, list[RelativeDegree]] = {}
    for degree in degrees:
        is_direct = degree.value is not None and degree.value <= 2
        if not is_direct and degree.name not in servo.dependent:
            alike.setdefault(degree.sentence, []).append(degree)
    for sentence, same in alike.items():
        suffix = instead if same[0].value is not None else ""
        instead = instead.removeprefix(suffix)  # said once
        names = f"row {quoted([same[0].name])}"
        if len(same) > 1:
            names = f"rows {quoted([degree.name for degree in same])}"
            sentence = sentence.replace("its relative degree", "their relative degree", 1)
        problems.append(f"no motor accelerates {names}: {sentence}{suffix}")
    return problems, counted, notes


def input_limit_violations(inputs: dict[str, float], truth: Dynamics) -> dict[str, str]:
    """Say of each input beyond what its motor gives at this speed by how much, by name."""
    rate = truth.snapshot.v @ truth.snapshot.B
    violations = {}
    for name, low, high in zip(truth.robot.actuators, *truth.robot.input_bounds(rate), strict=True):
        u = inputs.get(name, low)
        if u > high:
            violations[name] = f"input '{name}' starts at {u:.4g}, above its limit {high:.4g}."
        elif u < low:
            violations[name] = f"input '{name}' starts at {u:.4g}, below its limit {low:.4g}."
    return violations


def angle_unit_notes(loop: Loop) -> list[str]:
    """Say which angles the start gives more than a turn, as degrees would be."""
    return [
        f"the start has '{name}' at {value:g} rad, {abs(value) / (2.0 * np.pi):.3g} turns; if that "
        f'is meant in degrees, write "{value:g}*deg".'
        for name, value in angles_without_unit(loop.scenario.start, loop.robot)
    ]


def indeterminate_row_notes(sharing: tuple[str, ...]) -> list[str]:
    """Say which passive rows share their load, if any do."""
    if not sharing:
        return []
    return [
        f"passive rows {quoted(sharing)} share their load in a way that no motion tells; their "
        "reactions are those of least norm."
    ]


def contact_height_diagnostics(truth: Dynamics) -> tuple[list[str], list[str]]:
    """Say which contacts that only push start above the ground, and which, wrongly, below."""
    contacts = truth.contacts
    if contacts is None:
        return [], []
    height = dict(zip(contacts.names, contacts.kinematics[:, HEIGHT].tolist(), strict=True))
    above = {name: h for name, h in height.items() if h > TOUCH_TOLERANCE}
    below = {name: -h for name, h in height.items() if h < -PENETRATION_TOLERANCE}
    notes, problems = list[str](), list[str]()
    if above:
        gap = si(max(above.values()), "m")
        notes.append(
            f"contacts {quoted(above)} start above the ground, by up to {gap}; what is said here "
            "is of the robot that stands."
        )
    if below:
        gap = si(max(below.values()), "m")
        problems.append(
            f"contacts {quoted(below)} start below the ground, by up to {gap}. Raise the start, "
            "or set start.solve = true."
        )
    return notes, problems


def closure_violations(
    passive: Stack, monitor: Monitor, contacts: UnilateralContacts | None = None
) -> list[str]:
    """Say which passive rows the start breaks by more than a run allows.

    Those of contacts that only push are not among them: such a one may be open, or strike.
    """
    messages = []
    pushing = () if contacts is None else contacts.names
    free = [block in pushing for block in passive.blocks] if pushing else False
    for level, error, limit in (
        ("phi", passive.rows.phi, monitor.max_passive_phi),
        ("beta", passive.rows.beta, monitor.max_passive_beta),
    ):
        size = np.where(free, 0.0, np.abs(np.nan_to_num(error)))
        if np.linalg.norm(size) > limit:
            worst = first_largest(size)
            messages.append(
                f"the start breaks the passive constraints, most row '{passive.names[worst]}': "
                f"{level} = {error[worst]:.3g}. Correct it, or set start.solve = true."
            )
    return messages


def start_error_note(rows: tuple[RowCheck, ...]) -> list[str]:
    """Say how far the start is off the servo rows, if it is."""
    off = [
        row
        for row in rows
        if abs(row.phi) > CONSISTENCY_TOLERANCE or abs(row.beta) > CONSISTENCY_TOLERANCE
    ]
    if not off:
        return []
    worst = off[first_largest([np.nanmax(np.abs([row.phi, row.beta])) for row in off])]
    phi = "" if np.isnan(worst.phi) else f"phi = {worst.phi:.3g} {worst.unit}, "
    return [
        f"the start is off the constraints, most on row '{worst.name}': {phi}"
        f"beta = {worst.beta:.3g} {worst.unit}/s. Feedback must bring it back, or set "
        "start.solve = true."
    ]


REST_TOLERANCE = 1e-6
"""Free accelerations [rad/s^2, m/s^2] and loads [N m, N] below this are those of rest."""


def free_fall_note(loop: Loop, q: Vector) -> list[str]:
    """Return a note where a law lets gravity move what its task leaves free.

    At rest at the configuration, the law's own input must leave an acceleration along a direction
    that neither the passive nor the servo rows see, where gravity pulls and a motor could hold.

    Args:
        loop: The scenario, ready to run.
        q: Configuration, shape ``(nq,)``.
    """
    allocation = loop.scenario.controller.row_allocation
    if allocation is None or not allocation.behaviour(loop.law.task).idle_without_demand:
        return []
    truth, servo = loop.plant, loop.servo
    truth.move(loop.t0, q, np.zeros(loop.robot.nv))
    A = servo.write(truth.snapshot).A.copy()
    gravity = truth.snapshot.gravity.copy()
    mobility = loop.robot.nv - truth.passive_rank
    A_stacked = np.vstack([truth.passive.rows.A, A])
    null_space = ConstraintNullSpace(truth.L, A_stacked, truth.rank.passive)
    free = null_space.tangent(null_space.independent_velocities)
    idle = truth.reached().shape[1] > truth.servo_report(A, servo.names).rank
    if not free.size or not idle or max_abs(gravity @ free) <= REST_TOLERANCE:
        return []
    try:
        command = loop.command(loop.t0, q, np.zeros(loop.robot.nv), loop.state.memory)
        a = truth.acceleration(command.u)
    except (UkctrlError, ArithmeticError):
        return []  # told elsewhere
    if max_abs(a @ free) <= REST_TOLERANCE:
        return []
    count = free.shape[1]
    return [
        f"{mobility - count} of {mobility} freedoms are held; the other {count} "
        f"{'moves' if count == 1 else 'move'} freely under gravity: give allocation.null_space, "
        'e.g. { kind = "damping", gain = 1.0 }, or more rows.'
    ]
