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
"""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, final

import numpy as np

from ukctrl.analysis.check.motion_end import Stop, blamed
from ukctrl.analysis.check.planned_lifts import Lifts
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Controller
from ukctrl.control.feedback.linear import Baumgarte
from ukctrl.control.planned.nominal_motion import Knot, knots_by_law
from ukctrl.control.servo import Servo
from ukctrl.control.task import Task
from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, InputError, StartError, UkctrlError
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.linearise import FreeDirections
from ukctrl.mechanics.walk import Walk, rates, walk
from ukctrl.robot import links_alone
from ukctrl.simulation.loop import Loop
from ukctrl.uk import rank_report

Kind = Literal["joint motion", "law", "plan", "path alone", "none"]

PER_SECOND, FEWEST, MOST = 60.0, 300, 1500
"""Knots of a motion: so many a second, within these limits."""
LARGEST = 100
"""Robots with more velocities are looked at at the start alone, which is cheap."""
RTOL, ATOL = 1e-8, 1e-10
"""Tolerances of a motion that a law makes."""
CRAWLING = 20_000
"""Evaluations from knot to knot after which a motion is given up."""
PLAIN = Servo(feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=LeastNorm())
"""Moves what the scenario's own law does not move by rows."""
LENIENT = dc.replace(PLAIN, allocation=LeastNorm(on_infeasible="least_squares"))
"""The same where the ground holds some rows now and then."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Motion:
    """What a task asks for over time; arrays of ``k`` knots."""

    kind: Kind
    t: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    v: Matrix
    a: Matrix
    stop: Stop | None = None
    yields: tuple[str, ...] = ()
    """Blocks of rows that the law gives up for others, and the motion does not keep."""
    why: str = ""
    """Why there is none, or why it is no more than a path."""

    @property
    def dynamic(self) -> bool:
        """Whether accelerations are those of the task, so that inputs can be told from them."""
        return self.kind in ("joint motion", "law", "plan")


def motion_of(loop: Loop, lifts: Lifts | None = None) -> Motion:
    """Return the motion that a scenario asks for, as far as it can be known before the run.

    Args:
        loop: The scenario, ready to run.
        lifts: Its contacts that are lifted; absent: none is.
    """
    robot, scenario = loop.robot, loop.scenario
    if not scenario.servo:
        return _none(robot.nq, robot.nv, "there is no task; the run itself is the motion")
    if robot.nv > LARGEST:
        why = f"robots with more than {LARGEST} velocities are looked at at the start alone"
        return _none(robot.nq, robot.nv, why)
    planned = _plan(loop)
    if planned is not None:
        return planned
    task = dc.replace(loop.law.task, robot=robot)
    stack = Stack((*passive_constraints(robot), *task.servo), robot)
    law = scenario.controller.row_law or (LENIENT if lifts else PLAIN)
    if lifts:
        return _by_law(task, law, lifts)
    if not stack.holonomic.all():
        return _by_law(task, law)
    path = _walked(task, scenario.controller)
    held = _kept(task, path.yields)
    if path.stop is not None or _decided(task, held, path):
        return path
    reason = _undriven(task, path)
    own = scenario.controller.row_allocation is not None and robot.elastic is None
    if (own or (reason and scenario.controller.needs_grip)) and _full_grip(loop):
        motion = dc.replace(_by_law(task, law), yields=path.yields)
        if len(motion.t) or not path.yields:  # a law in order may start where rows contradict
            return motion
    return dc.replace(path, kind="path alone", why=reason) if reason else path


def _none(nq: int, nv: int, why: str) -> Motion:
    none = np.zeros((0, nv))
    return Motion(kind="none", t=np.zeros(0), q=np.zeros((0, nq)), v=none, a=none, why=why)


def _times(task: Task) -> Vector:
    count = int(min(max(PER_SECOND * task.duration, FEWEST), MOST))
    return np.linspace(task.start, task.start + task.duration, count + 1)


def _plan(loop: Loop) -> Motion | None:
    plan = loop.law.planned_motion
    if plan is None:
        return None
    inside = (plan.times >= loop.t0 - 1e-9) & (plan.times <= loop.t1 + 1e-9)
    t, q, v = plan.times[inside], plan.q[inside], plan.v[inside]
    if len(t) < 3:
        return None
    a = np.zeros_like(v)
    for k, at in enumerate(t.tolist()):  # a plan may have corners: its input tells more than v
        dynamics = loop.truth_at(at)
        dynamics.move(at, q[k], v[k])
        a[k] = dynamics.acceleration(plan.input(at))
    return Motion(kind="plan", t=t, q=q, v=v, a=a)


def _by_law(task: Task, law: Controller, lifts: Lifts | None = None) -> Motion:
    """Let a law move the robot from a start on its rows, as far as it comes."""
    robot = task.robot
    if robot.elastic is not None:
        try:
            robot = links_alone(robot)
        except InputError as error:
            return _none(robot.nq, robot.nv, str(error))
    task = dc.replace(task, robot=robot, period=None)
    times, begin_on = _times(task), task.servo
    if lifts:
        times = lifts.with_changes(times)
        begin_on = tuple(lifts.phases[0].served.constraints)
    knots: list[Knot] = []
    stop = None
    try:
        for knot in knots_by_law(task, law, times, RTOL, ATOL, CRAWLING, begin_on):
            knots.append(knot)
    except StartError as error:
        passive = passive_constraints(robot)
        every, own = Stack((*passive, *begin_on), robot), len(Stack(passive, robot))
        stop = blamed(every, task.q, task.start, times[-1], own, str(error))
    except (UkctrlError, ArithmeticError) as error:
        t = knots[-1].t if knots else task.start
        rows = tuple(error.rows) if isinstance(error, InfeasibleConstraint) else ()
        stop = Stop(t=t, why="law", rows=rows, text=f"after t = {t:.4g} s: {error}")
    if stop is None and len(knots) < len(times):
        t = knots[-1].t if knots else task.start
        text = f"the motion cannot be continued after t = {t:.4g} s: its steps become ever smaller."
        if not knots:
            text = f"the motion cannot begin at t = {t:.4g} s: it has no finite acceleration there."
        stop = Stop(t=t, why="law", rows=(), text=text)
    if not knots:
        return dc.replace(_none(robot.nq, robot.nv, stop.text if stop else ""), stop=stop)
    at, q, v, a, _ = (np.array(column) for column in zip(*knots, strict=True))
    return Motion(kind="law", t=at, q=q, v=v, a=a, stop=stop)


def _walked(task: Task, controller: Controller) -> Motion:
    """Follow the rows by inverse kinematics; those that a law in order gives up are left out."""
    robot, times = task.robot, _times(task)
    levels = _levels(task, controller)
    passive = passive_constraints(robot)
    best: tuple[Stack, Walk] | None = None
    kept = len(levels)
    for kept in range(len(levels), 0, -1):
        servo = [part for level in levels[:kept] for part in level]
        stack = Stack((*passive, *servo), robot)
        reached = walk(stack, task.q, times, task.rank)
        if best is None or reached.end is None:
            best = stack, reached
        if reached.end is None:
            break
    else:
        kept = len(levels)
    assert best is not None  # there is a level at least
    stack, reached = best
    stop = None
    if reached.end is not None:
        last = reached.q[-1] if len(reached.q) else task.q
        stop = blamed(stack, last, reached.end, times[-1], len(Stack(passive, robot)))
    whole = Stack(task.servo, robot)
    held = set(stack.blocks)
    yields = tuple(dict.fromkeys(block for block in whole.blocks if block not in held))
    if not len(reached.t):
        none = _none(robot.nq, robot.nv, stop.text if stop else "")
        return dc.replace(none, stop=stop, yields=yields)
    v, a = rates(stack, reached, task.rank)
    t, q = reached.t, reached.q
    return Motion(kind="joint motion", t=t, q=q, v=v, a=a, stop=stop, yields=yields)


def _levels(task: Task, controller: Controller) -> list[list[Constraint]]:
    """Return the constraints in the order in which the law gives them up, the last first."""
    if controller.row_allocation is None:
        return [list(task.servo)]
    stack = Stack(task.servo, task.robot)
    parts: dict[str, Constraint] = {
        part.block: constraint for part, constraint in zip(stack.attached, task.servo, strict=True)
    }
    levels = controller.row_allocation.levels(stack)
    if len(levels) == 1:
        return [list(task.servo)]
    return [[parts[block] for block in level] for level in levels]


def _kept(task: Task, yields: tuple[str, ...]) -> Stack:
    """Return the passive rows, and those of the task that a motion keeps."""
    servo = Stack(task.servo, task.robot)
    held = [
        constraint
        for part, constraint in zip(servo.attached, task.servo, strict=True)
        if part.block not in yields
    ]
    return Stack((*passive_constraints(task.robot), *held), task.robot)


def _decided(task: Task, stack: Stack, path: Motion) -> bool:
    """Return whether the rows leave no freedom open, so that the walk is the only motion."""
    robot = task.robot
    q, v = (path.q[0], path.v[0]) if len(path.t) else (task.q, task.v)
    s = robot.snapshot(q, v, task.start)
    L: Matrix = np.asarray(np.linalg.cholesky(s.M), dtype=np.float64)
    left = FreeDirections(L, stack.write(s).A, RANK.passive)
    count = robot.nv if robot.elastic is None else robot.nv - len(robot.elastic.motors)
    return robot.nv - len(left.chosen) == count


def _undriven(task: Task, path: Motion) -> str:
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


def _full_grip(loop: Loop) -> bool:
    truth, servo = loop.truth, loop.recorder.servo
    truth.move(loop.t0, loop.state.q, loop.state.v)
    A = servo.write(truth.snapshot).A
    names = servo.names
    return truth.servo_report(A, names).rank == rank_report(A, names, truth.rank.servo).rank
