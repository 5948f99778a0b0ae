"""`check`: what can be known of a scenario before it is simulated.

In order: the start (ranks, reach, relative degrees, the first input); the motion that the task
asks for, and what it takes; what the servo rows leave to itself; what all of that means for a run.
"""

from __future__ import annotations

import numpy as np

from ukctrl import uk
from ukctrl.analysis.check import at_start
from ukctrl.analysis.check.approach import approach_of
from ukctrl.analysis.check.at_start import falling
from ukctrl.analysis.check.causes import by_cause, causes
from ukctrl.analysis.check.control_period import sampling
from ukctrl.analysis.check.feasibility import feasibility
from ukctrl.analysis.check.findings import (
    AlongMotion,
    AtStart,
    Check,
    Judgement,
    Optimum,
    RowCheck,
    Way,
)
from ukctrl.analysis.check.judgement import judge
from ukctrl.analysis.check.kept_limits import kept_limits
from ukctrl.analysis.check.observability import looks, observability
from ukctrl.analysis.check.path_timing import path_timing
from ukctrl.analysis.check.ranks_along import ranks_along
from ukctrl.analysis.check.task_motion import Motion, motion_of
from ukctrl.analysis.check.weakest_grip import weakest_grip
from ukctrl.analysis.internal_dynamics import LARGEST, InternalDynamics, internal_dynamics
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError
from ukctrl.core.verdict import Level
from ukctrl.mechanics.relative_degree import advice, relative_degrees, whole_degree
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.loop.optimised_rows import optimum_of
from ukctrl.simulation.scenario import Scenario


@one_blas_thread()
def check(scenario: Scenario) -> Check:
    """Look at a scenario at its start, and along the motion that its task asks for.

    Raises:
        InputError: The scenario does not fit its robot.
    """
    loop = Loop(scenario)
    start, judgements = _at_start(loop)
    asked = motion_of(loop)
    motion = _along_motion(loop, asked, start.inputs)
    problems = [said.text for said in judgements if said.level == "bad"]
    judgements += [
        said
        for said in judge(loop, start.rows, motion)
        if said.level != "bad" or not any(text in said.text for text in problems)
    ]
    judgements += kept_limits(loop, asked)
    judgements += observability(list(looks(loop, asked)))
    internal, about_internal = _internal(loop)
    judgements += about_internal
    found = causes(judgements, motion)
    return Check(
        scenario=scenario.name or scenario.title,
        robot=loop.robot.name,
        start=start,
        motion=motion,
        internal=internal,
        findings=tuple(f"{f.level}: {f.message}" for f in loop.robot.audit),
        causes=found,
        judgements=tuple(by_cause(found, judgements)),
    )


def _at_start(loop: Loop) -> tuple[AtStart, list[Judgement]]:
    """Return what the start alone tells, and what that means."""
    scenario, truth, servo, (q, v, _) = loop.scenario, loop.truth, loop.recorder.servo, loop.state
    truth.move(loop.t0, q, v)
    rows = servo.write(truth.snapshot)
    H = truth.servo_matrix(rows.A)
    grip = truth.servo_report(rows.A, servo.names)
    servo_rank = uk.rank_report(rows.A, servo.names, scenario.rank.servo)
    passive_rank = truth.passive_report()
    mobility = loop.robot.nv - passive_rank.rank
    actuation = at_start.actuation(truth, mobility)
    residual = uk.reach_residual(H, rows.b - rows.A @ truth.a_free, scenario.rank)
    velocity_rows, remarks = at_start.velocity_rows(truth.passive, servo)
    integrable = at_start.integrable(servo, velocity_rows)
    phi, beta = rows.phi.copy(), rows.beta.copy()  # the trials overwrite what they are given
    degrees = relative_degrees(truth, servo, loop.t0, q, v)
    row_checks = tuple(
        RowCheck(
            name=name,
            unit=servo.units[i],
            phi=float(phi[i]),
            beta=float(beta[i]),
            reach=float(abs(residual[i])),
            relative_degree=degrees[i].value,
            relative_degree_at_least=degrees[i].at_least,
            relative_degree_note=degrees[i].note,
            integrable=integrable[i],
        )
        for i, name in enumerate(servo.names)
    )
    whole = whole_degree(truth, servo, loop.t0, q, v, degrees)
    needs_grip = scenario.controller.needs_grip
    instead = f" {advice(loop.robot, whole)}" if needs_grip else ""
    problems, counted, notes = at_start.ranks(servo_rank, grip, degrees, whole, instead)
    level: Level = "bad" if needs_grip else "note"
    said = [Judgement(level, "degree", text) for text in problems]
    said += [Judgement(level, "held", text) for text in counted]
    said += [Judgement("note", "start", text) for text in notes]
    inputs, refusal = _first_input(loop)
    said += [Judgement("bad", "law", text, loop.t0) for text in refusal]
    said += [Judgement("note", "start", text) for text in (*remarks, *falling(loop, q))]
    said += [Judgement(each.level, each.subject, each.text) for each in loop.law.remarks()]
    truth.move(loop.t0, q, v)
    beyond = at_start.beyond_limits(inputs, truth)
    sharing = truth.sharing() if len(truth.passive) else ()
    said += [Judgement("note", "first input", text, loop.t0) for text in beyond.values()]
    said += [Judgement("warning", "turned", text) for text in at_start.turned(loop)]
    said += [Judgement("note", "off", text) for text in at_start.consistency(row_checks)]
    said += [Judgement("note", "start", text) for text in at_start.shared(sharing)]
    broken = at_start.broken_closures(truth.passive, scenario.monitor)
    said += [Judgement("bad", "closures", text) for text in broken]
    start = AtStart(
        moved=loop.moved,
        sharing=sharing,
        freedoms=loop.robot.nv,
        mobility=mobility,
        motors=loop.robot.nu,
        actuation=actuation,
        passive=passive_rank,
        servo=servo_rank,
        grip=grip,
        rows=row_checks,
        velocity_rows=velocity_rows,
        inputs=inputs,
        over_limit=tuple(beyond),
    )
    return start, said


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


def _along_motion(loop: Loop, motion: Motion, inputs: dict[str, float]) -> AlongMotion:
    """Return what the motion that the task asks for tells."""
    ranks, curves = ranks_along(loop, motion) if len(motion.t) else (None, None)
    approach = approach_of(loop, motion)
    known = len(motion.t) or approach is not None
    demands, loads = feasibility(loop, motion, approach) if known else (None, None)
    way = Way(
        kind=motion.kind,
        start=loop.t0,
        end=loop.t1,
        reached=float(motion.t[-1]) if len(motion.t) else loop.t0,
        stop=motion.stop,
        yields=motion.yields,
        why=motion.why,
        approach=None if approach is None else approach.over,
        lost=approach.why if approach is not None else "",
    )
    return AlongMotion(
        way=way,
        ranks=ranks,
        feasibility=demands,
        sampling=sampling(loop),
        timing=path_timing(loop, motion),
        optimum=_optimum(loop),
        weak_grip=weakest_grip(loop, motion, loads, inputs),
        curves=curves,
        loads=loads,
    )


def _optimum(loop: Loop) -> Optimum | None:
    motion = optimum_of(loop.scenario, loop.robot)
    return None if motion is None else Optimum(motion.sentence(), float(motion.pieces.times[-1]))


def _internal(loop: Loop) -> tuple[InternalDynamics | None, list[Judgement]]:
    """Return the internal dynamics, and a verdict where they are not known, or run away from a law
    that keeps its rows.
    """
    if not len(loop.recorder.servo) or loop.robot.nv > LARGEST:
        return None, []
    try:
        internal = internal_dynamics(loop.scenario)
    except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
        text = f"what the task leaves to itself is not known: {error}"
        return None, [Judgement("note", "internal", text)]
    if internal.kind != "runs_away" or loop.scenario.controller.row_allocation is None:
        return internal, []
    return internal, [Judgement("warning", "internal", internal.verdict)]
