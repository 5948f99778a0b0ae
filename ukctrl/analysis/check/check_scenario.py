"""`check`: what can be known of a scenario before it is simulated.

In order: the start (ranks, reach, relative degrees, the first input); the motion that the task
asks for, and what it takes; what the servo rows leave to itself; what all of that means for a run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl import uk
from ukctrl.analysis.check import start_diagnostics
from ukctrl.analysis.check.check_result import (
    Check,
    Diagnostic,
    MotionCheck,
    OptimisedSummary,
    RowCheck,
    StartCheck,
    TaskMotionSummary,
)
from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.feasibility import feasibility
from ukctrl.analysis.check.initial_transient import initial_transient
from ukctrl.analysis.check.motion_diagnostics import lift_diagnostics, motion_diagnostics
from ukctrl.analysis.check.motion_ranks import motion_ranks
from ukctrl.analysis.check.observability import observability_diagnostics, observability_samples
from ukctrl.analysis.check.path_timing import path_timing
from ukctrl.analysis.check.root_causes import order_by_cause, root_causes
from ukctrl.analysis.check.safety_diagnostics import safety_diagnostics
from ukctrl.analysis.check.safety_feasibility import safety_feasibility
from ukctrl.analysis.check.sampled_error import sampled_error
from ukctrl.analysis.check.start_diagnostics import free_fall_note
from ukctrl.analysis.check.stick_slip import relax_sticking
from ukctrl.analysis.check.task_motion import TaskMotion, task_motion
from ukctrl.analysis.check.weakest_authority import weakest_authority
from ukctrl.analysis.internal_dynamics import MAX_DOFS, InternalDynamics, internal_dynamics
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError
from ukctrl.core.verdict import Level
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.relative_degree import (
    RelativeDegree,
    advice,
    relative_degrees,
    shared_channel_degree,
)
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import planned_motion
from ukctrl.simulation.scenario import Scenario
from ukctrl.uk import RankReport

GROUND_REMEDY = (
    'Let the law leave out what the ground holds: allocation.on_infeasible = "least_squares", or '
    'allocation.kind = "prioritized".'
)
"""What helps where the task moves a foot that still stands."""


@one_blas_thread()
def check(scenario: Scenario) -> Check:
    """Look at a scenario at its start, and along the motion that its task asks for.

    Raises:
        InputError: The scenario does not fit its robot.
    """
    loop = Loop(scenario)
    lifts = ContactSchedule(loop)
    start, judgements = _check_start(loop, lifts)
    nominal = task_motion(loop, lifts)
    motion = _check_motion(loop, nominal, start.inputs, lifts)
    problems = [diagnostic.text for diagnostic in judgements if diagnostic.level == "bad"]
    judgements += [
        diagnostic
        for diagnostic in motion_diagnostics(loop, start.rows, motion)
        if diagnostic.level != "bad" or not any(text in diagnostic.text for text in problems)
    ]
    judgements += safety_diagnostics(loop, motion, lifts)
    judgements += observability_diagnostics(list(observability_samples(loop, nominal)))
    judgements += lift_diagnostics(lifts, nominal)
    internal, about_internal = _internal(loop, lifts)
    judgements += about_internal
    judgements = list(relax_sticking(loop, judgements))
    causes = root_causes(judgements, motion)
    return Check(
        scenario=scenario.name or scenario.title,
        robot=loop.robot.name,
        start=start,
        motion=motion,
        internal=internal,
        findings=tuple(f"{f.level}: {f.message}" for f in loop.robot.audit),
        causes=causes,
        judgements=tuple(order_by_cause(causes, judgements)),
    )


def _check_start(loop: Loop, lifts: ContactSchedule) -> tuple[StartCheck, list[Diagnostic]]:
    """Return what the start alone tells, and what that means."""
    scenario, truth, servo, (q, v, _) = loop.scenario, loop.plant, loop.servo, loop.state
    truth.move(loop.t0, q, v)
    passive_rank = truth.passive_report()
    mobility = loop.robot.nv - passive_rank.rank
    actuation = start_diagnostics.actuation_class(truth, mobility)
    servo_rows = servo.write(truth.snapshot)
    phi, beta = (
        servo_rows.phi.copy(),
        servo_rows.beta.copy(),
    )  # the trials overwrite what they are given
    served = lifts.phases[0].rows
    rows = served.write(truth.snapshot)
    reach = dict.fromkeys(servo.names, 0.0)
    short = uk.reach_residual(
        truth.servo_matrix(rows.A), rows.b - rows.A @ truth.a_free, scenario.rank
    )
    reach |= dict(zip(served.names, np.abs(short).tolist(), strict=True))
    velocity_rows, integrable, remarks = start_diagnostics.classify_velocity_rows(
        truth.passive, servo
    )
    ranks, diagnostics = _start_ranks(loop, lifts)
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
    cure = GROUND_REMEDY if lifts and lifts.phases[0].ground_blocks else ""
    diagnostics += [Diagnostic("bad", "law", text, loop.t0, cure) for text in refusal]
    diagnostics += [
        Diagnostic("note", "start", text) for text in (*remarks, *free_fall_note(loop, q))
    ]
    diagnostics += [
        Diagnostic(remark.level, remark.subject, remark.text) for remark in loop.law.remarks()
    ]
    truth.move(loop.t0, q, v)
    violations = start_diagnostics.input_limit_violations(inputs, truth)
    sharing = truth.sharing() if len(truth.passive) else ()
    diagnostics += [
        Diagnostic("note", "first input", text, loop.t0) for text in violations.values()
    ]
    diagnostics += [
        Diagnostic("warning", "turned", text) for text in start_diagnostics.angle_unit_notes(loop)
    ]
    served_checks = tuple(row for row in row_checks if row.name in served.names)
    diagnostics += [
        Diagnostic("note", "off", text)
        for text in start_diagnostics.start_error_note(served_checks)
    ]
    diagnostics += [
        Diagnostic("note", "start", text)
        for text in start_diagnostics.indeterminate_row_notes(sharing)
    ]
    above, broken = start_diagnostics.contact_height_diagnostics(truth)
    diagnostics += [Diagnostic("note", "start", text) for text in above]
    broken += start_diagnostics.closure_violations(truth.passive, scenario.monitor, truth.contacts)
    diagnostics += [Diagnostic("bad", "closures", text) for text in broken]
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
    return start, diagnostics


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
    needs_grip, diagnostics = scenario.controller.needs_grip, list[Diagnostic]()
    if lifts and scenario.controller.row_allocation is not None:  # rows come and go by plan
        needs_grip = scenario.controller.row_allocation.behaviour(
            loop.law.task
        ).raises_if_infeasible
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
        problems, counted, notes = start_diagnostics.rank_diagnostics(
            servo_rank, grip, row_degrees, whole, instead, instant
        )
        diagnostics += [Diagnostic(level, "degree", text) for text in problems]
        short = grip.rank, servo_rank.rank
        diagnostics += [Diagnostic(level, "held", text) for text in counted if short not in counts]
        counts.add(short)
        diagnostics += [Diagnostic("note", "start", text) for text in notes]
        first = first or (servo_rank, grip)
        degrees = {degree.name: degree for degree in row_degrees} | degrees
    assert first is not None  # there is a phase at least
    return _StartRanks(*first, degrees), diagnostics


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


def _check_motion(
    loop: Loop, motion: TaskMotion, inputs: dict[str, float], lifts: ContactSchedule
) -> MotionCheck:
    """Return what the motion that the task asks for tells."""
    kinds = lifts.phase_indices(motion.t)
    ranks, curves = motion_ranks(loop, motion, kinds) if len(motion.t) else (None, None)
    approach = initial_transient(loop, motion, lifts)
    has_motion = len(motion.t) or approach is not None
    demands, loads = feasibility(loop, motion, approach) if has_motion else (None, None)
    trajectory = TaskMotionSummary(
        kind=motion.kind,
        start=loop.t0,
        end=loop.t1,
        reached=float(motion.t[-1]) if len(motion.t) else loop.t0,
        stop=motion.early_end,
        yields=motion.relaxed_blocks,
        why=motion.reason,
        lifted=lifts.lift_intervals(),
        approach=None if approach is None else approach.end,
        lost=approach.failure if approach is not None else "",
    )
    safety, slack_curves, unknown = None, None, ""
    if loads is not None:
        try:
            safety, slack_curves = safety_feasibility(
                loop, motion, loads.needed, (loads.low, loads.high), lifts
            )
        except UkctrlError as error:
            unknown = str(error)
    return MotionCheck(
        way=trajectory,
        ranks=ranks,
        feasibility=demands,
        sampling=sampled_error(loop),
        timing=None if lifts else path_timing(loop, motion),
        optimum=_optimised_summary(loop),
        weak_grip=weakest_authority(loop, motion, loads, inputs, lifts),
        kept=safety,
        left=slack_curves,
        kept_unknown=unknown,
        curves=curves,
        loads=loads,
    )


def _optimised_summary(loop: Loop) -> OptimisedSummary | None:
    motion = planned_motion(loop.scenario, loop.robot)
    return None if motion is None else OptimisedSummary(motion.sentence, motion.end)


def _internal(
    loop: Loop, lifts: ContactSchedule
) -> tuple[InternalDynamics | None, list[Diagnostic]]:
    """Return the internal dynamics, and a verdict where they are not known, or run away from a law
    that keeps its rows.
    """
    if lifts:
        text = "what the task leaves to itself changes with the contacts, and is not looked at."
        return None, [Diagnostic("note", "internal", text)]
    if not len(loop.servo) or loop.robot.nv > MAX_DOFS:
        return None, []
    try:
        internal = internal_dynamics(loop.scenario)
    except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
        text = f"what the task leaves to itself is not known: {error}"
        return None, [Diagnostic("note", "internal", text)]
    if internal.kind != "runs_away" or loop.scenario.controller.row_allocation is None:
        return internal, []
    return internal, [Diagnostic("warning", "internal", internal.verdict)]
