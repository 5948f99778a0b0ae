"""What the start alone tells: ranks, reach, first input, closures, what is left free to fall."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl import uk
from ukctrl.analysis.check.check_result import (
    Actuation,
    Diagnostic,
    Integrability,
    RowCheck,
    StartCheck,
)
from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.sentences import diagnose
from ukctrl.analysis.check.task_motion import CONSISTENCY_TOLERANCE
from ukctrl.analysis.internal_dynamics.internal_verdict import null_space_advice
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InfeasibleConstraint, InputError, UkctrlError, quoted
from ukctrl.core.number_text import si
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.core.verdict import Level
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.contact import HEIGHT, HEIGHT_RATE
from ukctrl.mechanics.derivatives.path_smoothness import reference_fields
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrability import positional_rows
from ukctrl.mechanics.linearise import ConstraintNullSpace
from ukctrl.mechanics.relative_degree import (
    RelativeDegree,
    VectorRelativeDegree,
    advice,
    relative_degrees,
    shared_channel_degree,
)
from ukctrl.mechanics.unilateral_contacts import UnilateralContacts
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.start_state import angles_without_unit
from ukctrl.simulation.events.contact_events import PENETRATION_TOLERANCE, TOUCH_TOLERANCE
from ukctrl.simulation.scenario import Monitor
from ukctrl.uk import RankReport

REST_TOLERANCE = 1e-6
"""Free accelerations [rad/s^2, m/s^2] and loads [N m, N] below this are those of rest."""


def start_check(loop: Loop, lifts: ContactSchedule) -> tuple[StartCheck, list[Diagnostic]]:
    """Return what the start alone tells, and what that means."""
    scenario, truth, servo, (q, v, _) = loop.scenario, loop.plant, loop.servo, loop.state
    truth.move(loop.t0, q, v)
    passive_rank = truth.passive_report()
    mobility = loop.robot.nv - passive_rank.rank
    actuation = actuation_class(truth, mobility)
    rows = servo.write(truth.snapshot)
    phi, beta = rows.phi.copy(), rows.beta.copy()  # the trials overwrite what they are given
    served = lifts.phases[0].rows
    rows = served.write(truth.snapshot)
    demand = rows.b - rows.A @ truth.a_free
    short = uk.reach_residual(truth.servo_matrix(rows.A), demand, scenario.rank)
    reach = dict.fromkeys(servo.names, 0.0)
    reach |= dict(zip(served.names, np.abs(short).tolist(), strict=True))
    velocity_rows, integrable, remarks = classify_velocity_rows(truth.passive, servo)
    ranks, entries = _start_ranks(loop, lifts)
    row_checks = tuple(
        RowCheck(
            name=name,
            unit=servo.units[i],
            phi=float(phi[i]),
            beta=float(beta[i]),
            reach=reach[name],
            relative_degree=ranks.degrees[name].value,
            relative_degree_at_least=ranks.degrees[name].at_least,
            relative_degree_note=ranks.degrees[name].note,
            integrable=bool(servo.holonomic[i]) or integrable.get(name),
        )
        for i, name in enumerate(servo.names)
    )
    inputs, refusal = _first_input(loop)
    blocked = lifts and lifts.phases[0].ground_blocks
    case = "law: ground" if blocked else "law"
    entries += [diagnose(case, "bad", {"text": text}, loop.t0) for text in refusal]
    entries += [*remarks, *free_fall_note(loop, q)]
    entries += [Diagnostic(entry.level, entry.subject, entry.text) for entry in loop.law.remarks()]
    for block in loop.servo.constraints:
        paths = (path for _, path in reference_fields(block) if path.remark)
        entries += [Diagnostic("note", block.name or "servo", path.remark) for path in paths]
    truth.move(loop.t0, q, v)
    violations = input_limit_violations(inputs, truth, loop.t0)
    sharing = truth.sharing() if len(truth.passive) else ()
    entries += violations.values()
    for name, value in angles_without_unit(scenario.start, loop.robot):
        values = {"name": name, "value": value, "turns": abs(value) / (2.0 * np.pi)}
        entries.append(diagnose("turned", "warning", values))
    errors = loop.scenario.controller.error_polynomials(loop.law.stack)
    without = tuple(error.row for error in errors if not any(error.gains))
    served_rows = tuple(row for row in row_checks if row.name in served.names)
    entries += start_error_note(served_rows, without)
    if sharing:
        entries.append(diagnose("start: share", "note", {"names": quoted(sharing)}))
    entries += contact_height_diagnostics(loop, lifts)
    entries += closure_violations(truth.passive, scenario.monitor, truth.contacts)
    start = StartCheck(
        moved=loop.start_shift,
        sharing=sharing,
        freedoms=loop.robot.nv,
        mobility=mobility,
        motors=loop.robot.nu,
        actuation=actuation,
        passive=passive_rank,
        servo=ranks.servo,
        grip=ranks.grip,
        rows=row_checks,
        velocity_rows=velocity_rows,
        inputs=inputs,
        over_limit=tuple(violations),
    )
    return start, entries


class _StartRanks(NamedTuple):
    """Of the servo rows at the start: as many as are served there."""

    servo: RankReport
    grip: RankReport
    degrees: dict[str, RelativeDegree]
    """By row, of the first phase in which it is served."""


def _start_ranks(loop: Loop, lifts: ContactSchedule) -> tuple[_StartRanks, list[Diagnostic]]:
    """Return ranks and relative degrees of the servo rows, and what they mean: at the start, and
    with the contacts open that the law lifts later.
    """
    scenario, truth, servo, (q, v, _) = loop.scenario, loop.plant, loop.servo, loop.state
    needs_grip, entries = scenario.controller.needs_grip, list[Diagnostic]()
    if lifts and scenario.controller.row_allocation is not None:  # rows come and go by plan
        behaviour = scenario.controller.row_allocation.behaviour(loop.law.task)
        needs_grip = behaviour.raises_if_infeasible
    level: Level = "bad" if needs_grip else "note"
    never = [
        block
        for block in servo.blocks
        if all(block in kind.ground_blocks for kind in lifts.distinct_phases)
    ]
    first, degrees, counts = None, dict[str, RelativeDegree](), set[tuple[int, int]]()
    for kind in lifts.distinct_phases:
        t, instant = kind.middle, f"t = {kind.start:.4g} s"
        if first is None:
            t, instant = loop.t0, "the start"
        stack = kind.rows
        if first is None and never:
            pairs = zip(servo.attached, servo.constraints, strict=True)
            at_all = (*stack.blocks, *never)
            stack = Stack(
                [constraint for attachment, constraint in pairs if attachment.block in at_all],
                loop.robot,
            )
        truth.move(t, q, v)
        A = stack.write(truth.snapshot).A
        grip = truth.servo_report(A, stack.names)
        servo_rank = uk.rank_report(A, stack.names, scenario.rank.servo)
        row_degrees = relative_degrees(truth, stack, t, q, v)
        whole = shared_channel_degree(truth, stack, t, q, v, row_degrees)
        instead = f" {advice(loop.robot, whole)}" if needs_grip else ""
        short = grip.rank, servo_rank.rank
        entries += (
            entry
            for entry in rank_diagnostics(
                servo_rank, grip, row_degrees, whole, instead, level, instant
            )
            if entry.subject != "held" or short not in counts
        )
        counts.add(short)
        first = first or (servo_rank, grip)
        degrees = {degree.name: degree for degree in row_degrees} | degrees
    assert first is not None  # there is a phase at least
    return _StartRanks(*first, degrees), entries


def rank_diagnostics(
    servo: RankReport,
    grip: RankReport,
    degrees: tuple[RelativeDegree, ...],
    whole: VectorRelativeDegree | None,
    instead: str,
    level: Level = "bad",
    instant: str = "the start",
) -> Iterator[Diagnostic]:
    """Yield what ranks mean; ``instant`` is where, ``level`` how grave it is."""
    together = whole is not None and whole.extended and whole.orders is not None
    if together:  # a dynamic extension explains all rows: singly they would be blamed twice
        yield diagnose("degree: together", level, {"whole": whole, "instead": instead})
    alike: dict[str, list[str]] = {}
    certain = dict[str, bool]()
    for degree in () if together else degrees:
        if not degree.is_direct and degree.name not in servo.dependent:
            alike.setdefault(degree.sentence, []).append(degree.name)
            certain.setdefault(degree.sentence, degree.value is not None)
    for sentence, names in alike.items():
        suffix = instead if certain[sentence] else ""
        instead = instead.removeprefix(suffix)  # said once
        rows = f"row{'s' if len(names) > 1 else ''} {quoted(names)}"
        if len(names) > 1:
            sentence = sentence.replace("its relative degree", "their relative degree", 1)
        yield diagnose("degree", level, {"rows": rows, "why": sentence, "instead": suffix})
    if grip.rank < servo.rank:
        values = {"servo": servo, "grip": grip, "instant": instant}
        yield diagnose("held", level, values, helps=level == "bad")
    if servo.dependent:
        yield diagnose("start: dependent", "note", {"names": quoted(servo.dependent)})
    # Where a row loses its grip at this state alone, the count is that of states nearby.
    if whole is not None and whole.internal and not together and all(certain.values()):
        yield diagnose("start", "note", {"text": whole.sentence})


def _first_input(loop: Loop) -> tuple[dict[str, float], list[str]]:
    """Return the input at the start by actuator, or why there is none."""
    q, v, _ = loop.state
    try:
        command = loop.command(loop.t0, q, v, loop.state.memory)
    except InfeasibleConstraint as error:
        return {}, [str(error)]
    except (UkctrlError, ArithmeticError) as error:
        return {}, [f"the controller cannot start: {error}"]
    return dict(zip(loop.robot.actuators, command.u.tolist(), strict=True)), []


CLASSIFIER = "ukctrl_papers.integrability.classify"
"""Tells with proof which rows integrate; without it a numerical rank test does."""


def classify_velocity_rows(
    passive: Stack, servo: Stack
) -> tuple[Integrability | None, dict[str, bool | None], list[Diagnostic]]:
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
        text = f"the velocity rows cannot be classified: {error}"
        return None, {}, [diagnose("start", "note", {"text": text})]
    velocity = {name for name, flag in zip(names, holonomic, strict=True) if not flag}
    notes = [
        diagnose("start: integral", "note", {"row": row})
        for row in verdict.rows
        if row.integral and row.name in velocity
    ]
    if verdict.witness:
        text = f"velocity rows do not all integrate: {verdict.witness}."
        notes.append(diagnose("start", "note", {"text": text}))
    by_kind: dict[str, bool | None] = {"holonomic": True, "nonholonomic": False}
    return verdict, {row.name: by_kind.get(row.kind) for row in verdict.rows}, notes


def actuation_class(dynamics: Dynamics, mobility: int) -> Actuation:
    """Return whether the motors reach all of the mobility, part of it, or all in several ways."""
    if dynamics.reached().shape[1] < mobility:
        return "under"
    return "redundantly" if dynamics.robot.nu > mobility else "fully"


def input_limit_violations(
    inputs: dict[str, float], truth: Dynamics, t: float = 0.0
) -> dict[str, Diagnostic]:
    """Say of each input beyond what its motor gives at this speed by how much, by name."""
    rate = truth.snapshot.v @ truth.snapshot.B
    violations = {}
    for name, low, high in zip(truth.robot.actuators, *truth.robot.input_bounds(rate), strict=True):
        u = inputs.get(name, low)
        if not low <= u <= high:
            side, limit = ("above", high) if u > high else ("below", low)
            values = {"name": name, "u": u, "side": side, "limit": limit}
            violations[name] = diagnose("first input", "note", values, t)
    return violations


def contact_height_diagnostics(loop: Loop, lifts: ContactSchedule) -> Iterator[Diagnostic]:
    """Say which contacts that only push start open, and which, wrongly, below the ground.

    Where motors then do not move all served rows, a law that raises ends the run at its start.
    """
    contacts = loop.plant.contacts
    if contacts is None:
        return
    height, rate = (
        dict(zip(contacts.names, contacts.kinematics[:, of].tolist(), strict=True))
        for of in (HEIGHT, HEIGHT_RATE)
    )
    above = {name: h for name, h in height.items() if h > TOUCH_TOLERANCE}
    rises = {name: r for name, r in rate.items() if not above and r > TOUCH_TOLERANCE}
    below = {name: -h for name, h in height.items() if h < -PENETRATION_TOLERANCE}
    if lifts.needs(above or rises):
        where = "leaving the ground, at up to " + si(max(rises.values(), default=0.0), "m/s")
        if above:
            where = "above the ground, by up to " + si(max(above.values()), "m")
        level: Level = "bad" if loop.raises_without_grip else "warning"
        values = {"names": quoted(above or rises), "where": where}
        yield diagnose("closures: above", level, values, helps=loop.start_is_solvable())
    elif above:
        values = {"names": quoted(above), "gap": si(max(above.values()), "m")}
        yield diagnose("start: above", "note", values)
    if below:
        values = {"names": quoted(below), "gap": si(max(below.values()), "m")}
        yield diagnose("closures: below", "bad", values)


def closure_violations(
    passive: Stack, monitor: Monitor, contacts: UnilateralContacts | None = None
) -> Iterator[Diagnostic]:
    """Say which passive rows the start breaks by more than a run allows.

    Those of contacts that only push are not among them: such a one may be open, or strike.
    """
    pushing = () if contacts is None else contacts.names
    free = [block in pushing for block in passive.blocks] if pushing else False
    for level, error, limit in (
        ("phi", passive.rows.phi, monitor.max_passive_phi),
        ("beta", passive.rows.beta, monitor.max_passive_beta),
    ):
        size = np.where(free, 0.0, np.abs(np.nan_to_num(error)))
        if np.linalg.norm(size) > limit:
            worst = first_largest(size)
            values = {"row": passive.names[worst], "level": level, "error": error[worst]}
            yield diagnose("closures", "bad", values)


def start_error_note(
    rows: tuple[RowCheck, ...], without: tuple[str, ...] = ()
) -> Iterator[Diagnostic]:
    """Say how far the start is off the servo rows, if it is.

    Args:
        rows: The rows at the start.
        without: Names of those whose errors the law does not feed back.
    """
    off = [
        row
        for row in rows
        if abs(row.phi) > CONSISTENCY_TOLERANCE or abs(row.beta) > CONSISTENCY_TOLERANCE
    ]
    if off:
        worst = off[first_largest([np.nanmax(np.abs([row.phi, row.beta])) for row in off])]
        phi = "" if np.isnan(worst.phi) else f"phi = {worst.phi:.3g} {worst.unit}, "
        lost = [row.name for row in off if row.name in without]
        values = {"row": worst, "phi": phi, "names": quoted(lost)}
        # no problem: the run completes, off the task
        yield diagnose(*(("off: open", "warning") if lost else ("off", "note")), values)


def free_fall_note(loop: Loop, q: Vector) -> list[Diagnostic]:
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
    # Something falls only where a direction is free, gravity pulls along it, and a motor idles.
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
    values: dict[str, object] = {"held": mobility - count, "mobility": mobility, "count": count}
    advice = null_space_advice(loop.scenario.controller.row_allocation)
    values |= {"verb": "moves" if count == 1 else "move", "advice": advice}
    return [diagnose("start: falls", "note", values)]
