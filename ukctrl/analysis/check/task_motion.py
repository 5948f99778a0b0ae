r"""The motion that a task asks for, worked out before the run.

| kind | how |
|---|---|
| ``joint motion`` | inverse kinematics from knot to knot, where the rows decide every freedom |
| ``law`` | a servo law, the scenario's own where it is one, from a start on the rows |
| ``plan`` | the motion that the controller itself has planned |
| ``path alone`` | inverse kinematics of rows whose motion the motors cannot make at once |
| ``none`` | there is no task, or nothing is known but the start |

Inverse kinematics takes the smallest joint motion. It serves also where the rows leave freedoms
open, if the law is none by rows and follows that motion itself.

A start off the rows comes back to them by a transient of the law's error dynamics, which the law
makes itself on the true robot, without the rest of the bench, so that a limit shows what is asked
for and not what is left of it.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, final

import numpy as np

from ukctrl.analysis.check.contact_phases import ContactSchedule, has_full_authority
from ukctrl.analysis.check.motion_end import MotionEnd, diagnose_end
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Controller
from ukctrl.control.feedback.linear_feedback import Baumgarte
from ukctrl.control.feedforward.nominal_motion import MotionKnot, simulate_knots
from ukctrl.control.servo import Servo
from ukctrl.control.task import Task
from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, InputError, StartError, UkctrlError
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.linearise import ConstraintNullSpace
from ukctrl.mechanics.path_inverse_kinematics import JointPath, follow_path, joint_rates
from ukctrl.robot import rigid_link_robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.simulate import simulate

Kind = Literal["joint motion", "law", "plan", "path alone", "none"]
KNOTS_PER_SECOND, MIN_KNOTS, MAX_KNOTS = 60.0, 300, 1500
"""Knots of a motion: so many a second, within these limits."""
MAX_DOFS = 100
"""Robots with more velocities are looked at at the start alone, which is cheap."""
RTOL, ATOL = 1e-8, 1e-10
"""Tolerances of a motion that a law makes."""
MAX_EVALUATIONS = 20_000
"""Evaluations from knot to knot after which a motion is given up."""
DEFAULT_LAW = Servo(feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=LeastNorm())
"""Moves what the scenario's own law does not move by rows."""
RELAXED_LAW = dc.replace(DEFAULT_LAW, allocation=LeastNorm(on_infeasible="least_squares"))
"""The same where the ground holds some rows now and then."""

CONSISTENCY_TOLERANCE = 1e-6
"""A start this close to the constraints counts as on them [unit of phi, of beta]."""
SETTLING_TIME_CONSTANTS = 10.0
"""Time constants after which an error is gone: below 0.1 % even with a double pole."""
MAX_SAMPLES = 2000
"""States of a way that are looked at, no more than one a control period."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class TaskMotion:
    """What a task asks for over time; arrays of ``k`` knots."""

    kind: Kind
    t: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    v: Matrix
    a: Matrix
    early_end: MotionEnd | None = None
    relaxed_blocks: tuple[str, ...] = ()
    """Blocks of rows that the law gives up for others, and the motion does not keep."""
    reason: str = ""
    """Why there is none, or why it is no more than a path."""

    @property
    def has_dynamics(self) -> bool:
        """Whether accelerations are those of the task, so that inputs can be told from them."""
        return self.kind in ("joint motion", "law", "plan")


def task_motion(loop: Loop, lifts: ContactSchedule | None = None) -> TaskMotion:
    """Return the motion that a scenario asks for, as far as it can be known before the run.

    Args:
        loop: The scenario, ready to run.
        lifts: Its contacts that are lifted; absent: none is.
    """
    robot, scenario = loop.robot, loop.scenario
    if not scenario.servo:
        return _no_motion(robot.nq, robot.nv, "there is no task; the run itself is the motion")
    if robot.nv > MAX_DOFS:
        message = f"robots with more than {MAX_DOFS} velocities are looked at at the start alone"
        return _no_motion(robot.nq, robot.nv, message)
    # A plan; else a law where contacts switch or rows are nonholonomic; else the path.
    planned = _planned_motion(loop)
    if planned is not None:
        return planned
    task = dc.replace(loop.law.task, robot=robot)
    stack = Stack((*passive_constraints(robot), *task.servo), robot)
    law = scenario.controller.row_law or (RELAXED_LAW if lifts else DEFAULT_LAW)
    if lifts:
        return _by_law(task, law, lifts)
    if not stack.holonomic.all():
        return _by_law(task, law)
    path = _by_inverse_kinematics(task, scenario.controller)
    path_stack = _satisfied_stack(task, path.relaxed_blocks)
    if path.early_end is not None or _is_determined(task, path_stack, path):
        return path
    reason = _underactuation(task, path)
    is_row_law = scenario.controller.row_allocation is not None and robot.elastic is None
    if (is_row_law or (reason and scenario.controller.needs_grip)) and has_full_authority(loop):
        motion = dc.replace(_by_law(task, law), relaxed_blocks=path.relaxed_blocks)
        # A law in order may start where rows contradict: the path is better than no motion.
        if len(motion.t) or not path.relaxed_blocks:
            return motion
    return dc.replace(path, kind="path alone", reason=reason) if reason else path


def _no_motion(nq: int, nv: int, reason: str) -> TaskMotion:
    none = np.zeros((0, nv))
    return TaskMotion(
        kind="none", t=np.zeros(0), q=np.zeros((0, nq)), v=none, a=none, reason=reason
    )


def _times(task: Task) -> Vector:
    count = int(min(max(KNOTS_PER_SECOND * task.duration, MIN_KNOTS), MAX_KNOTS))
    return np.linspace(task.start, task.start + task.duration, count + 1)


def _planned_motion(loop: Loop) -> TaskMotion | None:
    plan = loop.law.planned_motion
    if plan is None:
        return None
    inside = (plan.times >= loop.t0 - 1e-9) & (plan.times <= loop.t1 + 1e-9)
    t, q, v = plan.times[inside], plan.q[inside], plan.v[inside]
    if len(t) < 3:  # no difference of velocities tells an acceleration
        return None
    a = np.zeros_like(v)
    for k, at in enumerate(t.tolist()):  # a plan may have corners: its input tells more than v
        dynamics = loop.plant_at(at)
        dynamics.move(at, q[k], v[k])
        a[k] = dynamics.acceleration(plan.input(at))
    return TaskMotion(kind="plan", t=t, q=q, v=v, a=a)


def _by_law(task: Task, law: Controller, lifts: ContactSchedule | None = None) -> TaskMotion:
    """Let a law move the robot from a start on its rows, as far as it comes."""
    robot = task.robot
    if robot.elastic is not None:
        try:
            robot = rigid_link_robot(robot)
        except InputError as error:
            return _no_motion(robot.nq, robot.nv, str(error))
    task = dc.replace(task, robot=robot, period=None)
    times, begin_on = _times(task), task.servo
    if lifts:
        times = lifts.insert_switch_times(times)
        begin_on = tuple(lifts.phases[0].rows.constraints)
    knots: list[MotionKnot] = []
    stop = None
    try:
        for knot in simulate_knots(task, law, times, RTOL, ATOL, MAX_EVALUATIONS, begin_on):
            knots.append(knot)
    except StartError as error:
        passive = passive_constraints(robot)
        stack, passive_count = Stack((*passive, *begin_on), robot), len(Stack(passive, robot))
        stop = diagnose_end(stack, task.q, task.start, times[-1], passive_count, str(error))
    except (UkctrlError, ArithmeticError) as error:
        t = knots[-1].t if knots else task.start
        rows = tuple(error.rows) if isinstance(error, InfeasibleConstraint) else ()
        stop = MotionEnd(t=t, why="law", rows=rows, text=f"after t = {t:.4g} s: {error}")
    if stop is None and len(knots) < len(times):
        t = knots[-1].t if knots else task.start
        text = f"the motion cannot be continued after t = {t:.4g} s: its steps become ever smaller."
        if not knots:
            text = f"the motion cannot begin at t = {t:.4g} s: it has no finite acceleration there."
        stop = MotionEnd(t=t, why="law", rows=(), text=text)
    if not knots:
        return dc.replace(_no_motion(robot.nq, robot.nv, stop.text if stop else ""), early_end=stop)
    at, q, v, a, _ = (np.array(column) for column in zip(*knots, strict=True))
    return TaskMotion(kind="law", t=at, q=q, v=v, a=a, early_end=stop)


def _by_inverse_kinematics(task: Task, controller: Controller) -> TaskMotion:
    """Follow the rows by inverse kinematics; those that a law in order gives up are left out."""
    robot, times = task.robot, _times(task)
    levels = _priority_levels(task, controller)
    passive = passive_constraints(robot)
    best: tuple[Stack, JointPath] | None = None
    level_count = len(levels)
    for level_count in range(len(levels), 0, -1):
        servo = [constraint for level in levels[:level_count] for constraint in level]
        stack = Stack((*passive, *servo), robot)
        reached = follow_path(stack, task.q, times, task.rank)
        if best is None or reached.end_time is None:
            best = stack, reached
        if reached.end_time is None:
            break
    else:
        level_count = len(levels)
    assert best is not None  # there is a level at least
    stack, reached = best
    stop = None
    if reached.end_time is not None:
        last = reached.q[-1] if len(reached.q) else task.q
        stop = diagnose_end(stack, last, reached.end_time, times[-1], len(Stack(passive, robot)))
    whole = Stack(task.servo, robot)
    path_blocks = set(stack.blocks)
    yields = tuple(dict.fromkeys(block for block in whole.blocks if block not in path_blocks))
    if not len(reached.t):
        none = _no_motion(robot.nq, robot.nv, stop.text if stop else "")
        return dc.replace(none, early_end=stop, relaxed_blocks=yields)
    v, a = joint_rates(stack, reached, task.rank)
    t, q = reached.t, reached.q
    return TaskMotion(
        kind="joint motion", t=t, q=q, v=v, a=a, early_end=stop, relaxed_blocks=yields
    )


def _priority_levels(task: Task, controller: Controller) -> list[list[Constraint]]:
    """Return the constraints in the order in which the law gives them up, the last first."""
    if controller.row_allocation is None:
        return [list(task.servo)]
    stack = Stack(task.servo, task.robot)
    by_block: dict[str, Constraint] = {
        attachment.block: constraint
        for attachment, constraint in zip(stack.attached, task.servo, strict=True)
    }
    levels = controller.row_allocation.levels(stack)
    if len(levels) == 1:
        return [list(task.servo)]
    return [[by_block[block] for block in level] for level in levels]


def _satisfied_stack(task: Task, yields: tuple[str, ...]) -> Stack:
    """Return the passive rows, and those of the task that a motion keeps."""
    servo = Stack(task.servo, task.robot)
    constraints = [
        constraint
        for attachment, constraint in zip(servo.attached, task.servo, strict=True)
        if attachment.block not in yields
    ]
    return Stack((*passive_constraints(task.robot), *constraints), task.robot)


def _is_determined(task: Task, stack: Stack, path: TaskMotion) -> bool:
    """Return whether the rows leave no freedom open, so that the walk is the only motion."""
    robot = task.robot
    q, v = (path.q[0], path.v[0]) if len(path.t) else (task.q, task.v)
    s = robot.snapshot(q, v, task.start)
    L: Matrix = np.asarray(np.linalg.cholesky(s.M), dtype=np.float64)
    null_space = ConstraintNullSpace(L, stack.write(s).A, RANK.passive)
    count = robot.nv if robot.elastic is None else robot.nv - len(robot.elastic.motors)
    return robot.nv - len(null_space.independent_velocities) == count


def _underactuation(task: Task, path: TaskMotion) -> str:
    """Return why motors cannot make any walk; empty where they reach every freedom."""
    robot, dynamics = task.robot, Dynamics(task.robot, task.rank, task.gains)
    q, v = (path.q[0], path.v[0]) if len(path.t) else (task.q, task.v)
    dynamics.move(task.start, q, v)
    mobility = robot.nv - dynamics.passive_rank
    if robot.elastic is not None:
        mobility -= len(robot.elastic.motors)
    driven = dynamics.reached().shape[1]
    if driven >= mobility:
        return ""
    return f"the task leaves freedoms open that no motor decides: {driven} of {mobility} are driven"


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class InitialTransient:
    """The way from the start to the rows."""

    motion: TaskMotion
    end: float
    """When the error has died away [s]; the end of the run where that is not known."""
    u: Matrix
    """What the law asks of the motors, shape ``(k, nu)``."""
    covers_run: bool
    """Whether it is all of the run, and so the motion itself."""
    failure: str
    """Why it breaks off before it is over; empty where it does not."""


def starts_off_rows(loop: Loop, lifts: ContactSchedule | None = None) -> bool:
    """Return whether a scenario starts off its servo rows, those that are served there."""
    loop.plant.move(loop.t0, loop.state.q, loop.state.v)
    served = lifts.phases[0].rows if lifts else loop.servo
    rows = served.write(loop.plant.snapshot)
    return bool((np.abs(np.nan_to_num([rows.phi, rows.beta])) > CONSISTENCY_TOLERANCE).any())


def initial_transient(
    loop: Loop, goal: TaskMotion, lifts: ContactSchedule | None = None
) -> InitialTransient | None:
    """Return the way from the start to the rows; None from a start that is on them, or where the
    law cannot take a step.

    Args:
        loop: The scenario, ready to run.
        goal: The motion that the task asks for.
        lifts: Which rows are served when; absent: all of them always.
    """
    if loop.robot.nv > MAX_DOFS or not starts_off_rows(loop, lifts):
        return None
    timing = loop.scenario.timing
    dying = min(timing.duration, _settling_time(loop))
    # What rows leave free goes on from how it began: of a law's motion the way is the whole run.
    duration = timing.duration if goal.kind == "law" else dying
    interval = max(timing.control or 0.0, duration / MAX_SAMPLES)
    if timing.control:
        interval = timing.control * round(interval / timing.control)
        duration = max(duration, timing.control)
    try:
        timing = dc.replace(timing, duration=duration, sample=min(interval, duration))
        result = simulate(dc.replace(loop.scenario, timing=timing, effect=()), robot=loop.robot)
    except (UkctrlError, ArithmeticError):
        return None  # told elsewhere
    if not len(result.time):
        return None
    motion = TaskMotion(kind="law", t=result.time, q=result["q"], v=result["v"], a=result["a"])
    return InitialTransient(
        motion=motion,
        end=loop.t0 + dying,
        u=result["u"],
        covers_run=duration >= loop.scenario.timing.duration and result.status == "completed",
        failure=result.message,
    )


def _settling_time(loop: Loop) -> float:
    """Return how long the slowest error takes to die away [s]; without end where it does not, or
    where its law is not linear.
    """
    polynomials = loop.scenario.controller.error_polynomials(loop.law.stack)
    rates = [-max(pole.real for pole in polynomial.poles) for polynomial in polynomials]
    slowest = min(rates, default=0.0)
    linear = slowest > 0.0 and len(rates) == len(loop.law.stack)
    return SETTLING_TIME_CONSTANTS / slowest if linear else np.inf
