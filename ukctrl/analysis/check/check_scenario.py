"""`check`: what can be known of a scenario before it is simulated.

In order: the start; the motion that the task asks for, and what it takes; what the servo rows leave
to itself; what all of that means for a run.
"""

from __future__ import annotations

import numpy as np

from ukctrl.analysis.check.check_result import (
    Check,
    Diagnostic,
    MotionCheck,
    OptimisedSummary,
    TaskMotionSummary,
)
from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.diagnostics import diagnostics
from ukctrl.analysis.check.input_feasibility import input_feasibility
from ukctrl.analysis.check.loop_stability import loop_stability, trial_run
from ukctrl.analysis.check.motion_ranks import (
    motion_ranks,
    observability_samples,
    weakest_authority,
)
from ukctrl.analysis.check.safety_feasibility import safety_feasibility
from ukctrl.analysis.check.sentences import diagnose
from ukctrl.analysis.check.start_diagnostics import start_check
from ukctrl.analysis.check.task_motion import TaskMotion, initial_transient, task_motion
from ukctrl.analysis.check.timing import path_timing, sampled_error
from ukctrl.analysis.internal_dynamics import MAX_DOFS, InternalDynamics, internal_dynamics
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import UkctrlError
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import planned_motion
from ukctrl.simulation.scenario import AnyScenario, as_scenario


@explain_argument_errors
@one_blas_thread()
def check(scenario: AnyScenario) -> Check:
    """Look at a scenario at its start, and along the motion that its task asks for.

    Args:
        scenario: A scenario, its name, or the path of its file.

    Raises:
        InputError: The scenario does not fit its robot.
    """
    scenario = as_scenario(scenario)
    loop = Loop(scenario)
    lifts = ContactSchedule(loop)
    start, about_start = start_check(loop, lifts)
    motion = task_motion(loop, lifts)
    along = _motion_check(loop, motion, start.inputs, lifts)
    samples = list(observability_samples(loop, motion))
    internal, about_internal = _internal(loop, lifts)
    causes, judgements = diagnostics(
        loop, lifts, motion, (start, about_start), along, samples, about_internal
    )
    return Check(
        scenario=scenario.name or scenario.title,
        robot=loop.robot.name,
        start=start,
        motion=along,
        internal=internal,
        findings=tuple(f"{f.level}: {f.message}" for f in loop.robot.audit),
        causes=causes,
        judgements=judgements,
    )


def _motion_check(
    loop: Loop, motion: TaskMotion, inputs: dict[str, float], lifts: ContactSchedule
) -> MotionCheck:
    """Return what the motion that the task asks for tells."""
    kinds, has_knots = lifts.phase_indices(motion.t), len(motion.t) > 0
    ranks, curves = motion_ranks(loop, motion, kinds) if has_knots else (None, None)
    approach = initial_transient(loop, motion, lifts)
    has_motion = has_knots or approach is not None
    demands, loads = input_feasibility(loop, motion, approach) if has_motion else (None, None)
    trajectory = TaskMotionSummary(
        kind=motion.kind,
        start=loop.t0,
        end=loop.t1,
        reached=float(motion.t[-1]) if has_knots else loop.t0,
        stop=motion.early_end,
        yields=motion.relaxed_blocks,
        why=motion.reason,
        lifted=lifts.lift_intervals(),
        approach=None if approach is None else approach.end,
        lost=approach.failure if approach is not None else "",
    )
    safety, slack_curves, unknown = None, None, ""
    if loads is not None:
        bounds = loads.low, loads.high
        try:
            safety, slack_curves = safety_feasibility(loop, motion, loads.needed, bounds, lifts)
        except UkctrlError as error:
            unknown = str(error)
    stability, not_looked = None, ""
    has_loop = loop.robot.nu > 0 and loop.scenario.controller.needs_servo
    if has_loop:
        try:
            crossed = None if slack_curves is None else slack_curves.crossed
            stability = loop_stability(loop, motion, crossed)
        except (UkctrlError, ArithmeticError) as error:
            not_looked = str(error)
    leaves = demands is not None and any(load.exceeds_contact for load in demands.ground)
    leaves |= slack_curves is not None and bool(slack_curves.crossed.any())
    optimum = planned_motion(loop.scenario, loop.robot)
    return MotionCheck(
        way=trajectory,
        ranks=ranks,
        feasibility=demands,
        sampling=sampled_error(loop),
        stability=stability,
        stability_unknown=not_looked,
        trial=trial_run(loop, stability, leaves_motion=leaves) if has_loop else None,
        timing=None if lifts else path_timing(loop, motion),
        optimum=None if optimum is None else OptimisedSummary(optimum.sentence, optimum.end),
        weak_grip=weakest_authority(loop, motion, loads, inputs, lifts),
        kept=safety,
        left=slack_curves,
        kept_unknown=unknown,
        curves=curves,
        loads=loads,
    )


def _internal(
    loop: Loop, lifts: ContactSchedule
) -> tuple[InternalDynamics | None, list[Diagnostic]]:
    """Return the internal dynamics, and a verdict where they are not known, or run away from a law
    that keeps its rows.
    """
    if lifts:
        return None, [diagnose("internal: contacts", "note")]
    if not len(loop.servo) or loop.robot.nv > MAX_DOFS:
        return None, []
    try:
        internal = internal_dynamics(loop.scenario)
    except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
        return None, [diagnose("internal: unknown", "note", {"text": error})]
    if internal.kind != "runs_away" or loop.scenario.controller.row_allocation is None:
        return internal, []
    return internal, [diagnose("internal", "warning", {"text": internal.verdict})]
