"""`check`: what can be known of a scenario before it is simulated."""

from __future__ import annotations

from ukctrl import uk
from ukctrl.analysis.check import at_start
from ukctrl.analysis.check.control_period import sampling
from ukctrl.analysis.check.feasibility import feasibility
from ukctrl.analysis.check.findings import Check, RowCheck, Way
from ukctrl.analysis.check.free_motion import falling
from ukctrl.analysis.check.judgement import Seen, judge
from ukctrl.analysis.check.left_free import internal, of_internal
from ukctrl.analysis.check.ranks_along import ranks_along
from ukctrl.analysis.check.task_motion import motion_of
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError, quoted
from ukctrl.mechanics.relative_degree import advice, relative_degrees, whole_degree
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.scenario import Scenario


@one_blas_thread()
def check(scenario: Scenario) -> Check:
    """Look at a scenario at its start, and along the motion that its task asks for.

    Raises:
        InputError: The scenario does not fit its robot.
    """
    loop = Loop(scenario)
    q, v, _ = loop.state
    truth, servo = loop.truth, loop.recorder.servo
    truth.move(loop.t0, q, v)
    rows = servo.write(truth.snapshot)
    passive = truth.passive
    H = uk.servo_matrix(rows.A, truth.G, scenario.rank)
    d = rows.b - rows.A @ truth.a_free
    grip = uk.rank_report(H, servo.names, scenario.rank.servo)
    servo_rank = uk.rank_report(rows.A, servo.names, scenario.rank.servo)
    passive_rank = truth.passive_report()
    mobility = loop.robot.nv - passive_rank.rank
    actuation = at_start.actuation(truth.G, mobility)
    residual = uk.reach_residual(H, d, scenario.rank)
    velocity_rows, remarks = at_start.velocity_rows(passive, servo)
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
    problems, notes = at_start.ranks(servo_rank, grip, degrees, whole, instead)
    if not needs_grip:
        problems, notes = [], [*notes, *problems]
    notes.extend(remarks)
    inputs: dict[str, float] = {}
    try:
        command = loop.command(loop.t0, q, v, loop.state.memory)
        inputs = dict(zip(loop.robot.actuators, command.u.tolist(), strict=True))
    except InfeasibleConstraint as error:
        problems.append(str(error))
    except (UkctrlError, ArithmeticError) as error:
        problems.append(f"the controller cannot start: {error}")
    notes.extend(falling(loop, q))
    truth.move(loop.t0, q, v)
    beyond = at_start.beyond_limits(inputs, truth)
    notes.extend(beyond.values())
    notes.extend(at_start.consistency(row_checks))
    sharing = truth.sharing() if len(passive) else ()
    if sharing:
        notes.append(
            f"passive rows {quoted(sharing)} share their load in a way that no motion tells; their "
            "reactions are those of least norm."
        )
    problems.extend(at_start.broken_closures(passive, scenario.monitor))
    motion = motion_of(loop)
    ranks, curves = ranks_along(loop, motion) if len(motion.t) else (None, None)
    demands, loads = feasibility(loop, motion) if len(motion.t) else (None, None)
    sampled = sampling(loop)
    shares = scenario.controller.row_allocation
    seen = Seen(
        motion=motion,
        ranks=ranks,
        feasibility=demands,
        sampling=sampled,
        behaviour=None if shares is None else shares.behaviour(loop.law.task),
    )
    judged = judge(scenario, row_checks, seen)
    problems.extend(text for text in judged.problems if not any(said in text for said in problems))
    notes.extend(judged.notes)
    left, remark = internal(loop)
    notes.extend(remark)
    judged.warnings.extend(of_internal(left, scenario.controller))
    return Check(
        scenario=scenario.name or scenario.title,
        robot=loop.robot.name,
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
        way=Way(
            kind=motion.kind,
            start=loop.t0,
            end=loop.t1,
            reached=float(motion.t[-1]) if len(motion.t) else loop.t0,
            stop=motion.stop,
            yields=motion.yields,
            why=motion.why,
        ),
        ranks=ranks,
        feasibility=demands,
        sampling=sampled,
        internal=left,
        curves=curves,
        loads=loads,
        findings=tuple(f"{f.level}: {f.message}" for f in loop.robot.audit),
        problems=tuple(dict.fromkeys(problems)),
        warnings=tuple(judged.warnings),
        notes=tuple(notes),
    )
