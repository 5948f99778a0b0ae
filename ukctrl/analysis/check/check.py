"""`check`: what can be known of a scenario before it is simulated.

In order: the start (ranks, reach, relative degrees, the first input); the motion that the task
asks for, and what it takes; what the servo rows leave to itself; what all of that means for a run.
"""

from __future__ import annotations

from typing import NamedTuple

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
from ukctrl.analysis.check.judgement import judge, lifted
from ukctrl.analysis.check.kept_along import kept_along
from ukctrl.analysis.check.kept_limits import kept_limits
from ukctrl.analysis.check.observability import looks, observability
from ukctrl.analysis.check.path_timing import path_timing
from ukctrl.analysis.check.planned_lifts import Lifts
from ukctrl.analysis.check.ranks_along import ranks_along
from ukctrl.analysis.check.sticking import while_stuck
from ukctrl.analysis.check.task_motion import Motion, motion_of
from ukctrl.analysis.check.weakest_grip import weakest_grip
from ukctrl.analysis.internal_dynamics import LARGEST, InternalDynamics, internal_dynamics
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError
from ukctrl.core.verdict import Level
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.relative_degree import (
    RelativeDegree,
    advice,
    relative_degrees,
    whole_degree,
)
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.loop.optimised_rows import optimum_of
from ukctrl.simulation.scenario import Scenario
from ukctrl.uk import RankReport

STANDS = (
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
    lifts = Lifts(loop)
    start, judgements = _at_start(loop, lifts)
    asked = motion_of(loop, lifts)
    motion = _along_motion(loop, asked, start.inputs, lifts)
    problems = [said.text for said in judgements if said.level == "bad"]
    judgements += [
        said
        for said in judge(loop, start.rows, motion)
        if said.level != "bad" or not any(text in said.text for text in problems)
    ]
    judgements += kept_limits(loop, motion, lifts)
    judgements += observability(list(looks(loop, asked)))
    judgements += lifted(lifts, asked)
    internal, about_internal = _internal(loop, lifts)
    judgements += about_internal
    judgements = list(while_stuck(loop, judgements))
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


def _at_start(loop: Loop, lifts: Lifts) -> tuple[AtStart, list[Judgement]]:
    """Return what the start alone tells, and what that means."""
    scenario, truth, servo, (q, v, _) = loop.scenario, loop.truth, loop.recorder.servo, loop.state
    truth.move(loop.t0, q, v)
    passive_rank = truth.passive_report()
    mobility = loop.robot.nv - passive_rank.rank
    actuation = at_start.actuation(truth, mobility)
    every = servo.write(truth.snapshot)
    phi, beta = every.phi.copy(), every.beta.copy()  # the trials overwrite what they are given
    served = lifts.phases[0].served
    rows = served.write(truth.snapshot)
    reach = dict.fromkeys(servo.names, 0.0)
    short = uk.reach_residual(
        truth.servo_matrix(rows.A), rows.b - rows.A @ truth.a_free, scenario.rank
    )
    reach |= dict(zip(served.names, np.abs(short).tolist(), strict=True))
    velocity_rows, remarks = at_start.velocity_rows(truth.passive, servo)
    integrable = at_start.integrable(servo, velocity_rows)
    ranks, said = _ranks(loop, lifts)
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
            integrable=integrable[i],
        )
        for i, name in enumerate(servo.names)
    )
    inputs, refusal = _first_input(loop)
    cure = STANDS if lifts and lifts.phases[0].held else ""
    said += [Judgement("bad", "law", text, loop.t0, cure) for text in refusal]
    said += [Judgement("note", "start", text) for text in (*remarks, *falling(loop, q))]
    said += [Judgement(each.level, each.subject, each.text) for each in loop.law.remarks()]
    truth.move(loop.t0, q, v)
    beyond = at_start.beyond_limits(inputs, truth)
    sharing = truth.sharing() if len(truth.passive) else ()
    said += [Judgement("note", "first input", text, loop.t0) for text in beyond.values()]
    said += [Judgement("warning", "turned", text) for text in at_start.turned(loop)]
    asked = tuple(row for row in row_checks if row.name in served.names)
    said += [Judgement("note", "off", text) for text in at_start.consistency(asked)]
    said += [Judgement("note", "start", text) for text in at_start.shared(sharing)]
    above, broken = at_start.over_the_ground(truth)
    said += [Judgement("note", "start", text) for text in above]
    broken += at_start.broken_closures(truth.passive, scenario.monitor, truth.contacts)
    said += [Judgement("bad", "closures", text) for text in broken]
    start = AtStart(
        moved=loop.moved,
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
        over_limit=tuple(beyond),
    )
    return start, said


class _Ranks(NamedTuple):
    """Of the servo rows at the start: as many as are served there."""

    servo: RankReport
    grip: RankReport
    degrees: dict[str, RelativeDegree]
    """By row, of the first phase in which it is served."""


def _ranks(loop: Loop, lifts: Lifts) -> tuple[_Ranks, list[Judgement]]:
    """Return ranks and relative degrees of the servo rows, and what they mean: at the start, and
    with the contacts open that the law lifts later.
    """
    scenario, truth, servo, (q, v, _) = loop.scenario, loop.truth, loop.recorder.servo, loop.state
    needs_grip, said = scenario.controller.needs_grip, list[Judgement]()
    if lifts and scenario.controller.row_allocation is not None:  # rows come and go by plan
        needs_grip = scenario.controller.row_allocation.behaviour(loop.law.task).stops
    level: Level = "bad" if needs_grip else "note"
    never = [block for block in servo.blocks if all(block in kind.held for kind in lifts.kinds)]
    first, degrees, counts = None, dict[str, RelativeDegree](), set[tuple[int, int]]()
    for kind in lifts.kinds:
        t, here = kind.middle, f"t = {kind.start:.4g} s"
        if first is None:
            t, here = loop.t0, "the start"
        stack = kind.served
        if first is None and never:
            parts = zip(servo.attached, servo.constraints, strict=True)
            at_all = (*stack.blocks, *never)
            stack = Stack([part for own, part in parts if own.block in at_all], loop.robot)
        truth.move(t, q, v)
        A = stack.write(truth.snapshot).A
        grip = truth.servo_report(A, stack.names)
        servo_rank = uk.rank_report(A, stack.names, scenario.rank.servo)
        found = relative_degrees(truth, stack, t, q, v)
        whole = whole_degree(truth, stack, t, q, v, found)
        instead = f" {advice(loop.robot, whole)}" if needs_grip else ""
        problems, counted, notes = at_start.ranks(servo_rank, grip, found, whole, instead, here)
        said += [Judgement(level, "degree", text) for text in problems]
        short = grip.rank, servo_rank.rank
        said += [Judgement(level, "held", text) for text in counted if short not in counts]
        counts.add(short)
        said += [Judgement("note", "start", text) for text in notes]
        first = first or (servo_rank, grip)
        degrees = {degree.name: degree for degree in found} | degrees
    assert first is not None  # there is a phase at least
    return _Ranks(*first, degrees), said


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


def _along_motion(
    loop: Loop, motion: Motion, inputs: dict[str, float], lifts: Lifts
) -> AlongMotion:
    """Return what the motion that the task asks for tells."""
    kinds = lifts.kinds_at(motion.t)
    ranks, curves = ranks_along(loop, motion, kinds) if len(motion.t) else (None, None)
    approach = approach_of(loop, motion, lifts)
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
        lifted=lifts.told(),
        approach=None if approach is None else approach.over,
        lost=approach.why if approach is not None else "",
    )
    kept, left, unknown = None, None, ""
    if loads is not None:
        try:
            kept, left = kept_along(loop, motion, loads.needed, (loads.low, loads.high), lifts)
        except UkctrlError as error:
            unknown = str(error)
    return AlongMotion(
        way=way,
        ranks=ranks,
        feasibility=demands,
        sampling=sampling(loop),
        timing=None if lifts else path_timing(loop, motion),
        optimum=_optimum(loop),
        weak_grip=weakest_grip(loop, motion, loads, inputs, lifts),
        kept=kept,
        left=left,
        kept_unknown=unknown,
        curves=curves,
        loads=loads,
    )


def _optimum(loop: Loop) -> Optimum | None:
    motion = optimum_of(loop.scenario, loop.robot)
    return None if motion is None else Optimum(motion.sentence(), float(motion.pieces.times[-1]))


def _internal(loop: Loop, lifts: Lifts) -> tuple[InternalDynamics | None, list[Judgement]]:
    """Return the internal dynamics, and a verdict where they are not known, or run away from a law
    that keeps its rows.
    """
    if lifts:
        text = "what the task leaves to itself changes with the contacts, and is not looked at."
        return None, [Judgement("note", "internal", text)]
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
