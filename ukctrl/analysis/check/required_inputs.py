r"""The inputs that a motion takes: of inverse dynamics, and of the law itself.

The smallest input that gives the motion's acceleration is $u = G^+ (a - a_\mathrm{free})$; through
elastic joints the torque of the springs is that of the links, $\tau = M a + \mathrm{nle} - f$, and
the motors turn by $\tau/K$ further, $u = J (\ddot q + \ddot\tau/K) + \tau$. Where there are more
motors than freedoms and the smallest input is beyond a limit, another one may serve: that is asked
of a bounded least-squares problem.
"""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.core.algebra.column_space import column_space
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError
from ukctrl.core.tie_breaking import first_largest
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.path_inverse_kinematics import time_derivatives
from ukctrl.robot import rigid_link_robot
from ukctrl.simulation.assemble import Loop

ACTUATION_RTOL = 1e-5
"""Part of an acceleration that may be beyond the motors, in the measure of mass."""
REST_RTOL = 1e-3
"""Where a robot rests, what rounding leaves of its closures is measured by this part of the largest
acceleration."""


@dc.dataclass(frozen=True, kw_only=True)
class AccelerationResidual:
    """What the motors cannot give."""

    dof: str
    """The velocity whose acceleration is missed most."""
    t: float
    """When first [s]."""
    share: float
    """Part of the acceleration that is missed at worst, in the measure of mass."""


@dc.dataclass(frozen=True, kw_only=True)
class LawFailure:
    """Where the law itself gives up, on a state that keeps the task."""

    t: float
    rows: tuple[str, ...]
    text: str


def required_inputs(loop: Loop, motion: TaskMotion) -> tuple[Matrix, AccelerationResidual | None]:
    """Return the smallest input along a motion, shape ``(k, nu)``, and what motors cannot give."""
    count, nu = len(motion.t), loop.robot.nu
    task_inputs = np.full((count, nu), np.nan)
    if not motion.has_dynamics or not count or not nu:
        return task_inputs, None
    if loop.robot.elastic is not None:
        return _elastic_inputs(loop, motion), None
    missed, whole, dof = np.zeros(count), np.zeros(count), np.zeros(count, dtype=int)
    for k, t in enumerate(motion.t.tolist()):
        dynamics = loop.plant_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        task_inputs[k], missed[k], whole[k], dof[k] = _inverse_dynamics(dynamics, motion.a[k])
    share = missed / (np.maximum(whole, REST_RTOL * whole.max()) + 1e-6)
    violations = np.flatnonzero(share > ACTUATION_RTOL)
    if not violations.size:
        return task_inputs, None
    first = int(violations[0])
    miss = AccelerationResidual(
        dof=loop.robot.dofs[int(dof[first_largest(share)])],
        t=float(motion.t[first]),
        share=float(share.max()),
    )
    task_inputs[:] = np.nan
    return task_inputs, miss


def _inverse_dynamics(dynamics: Dynamics, a: Vector) -> tuple[Vector, float, float, int]:
    """Return the smallest input for an acceleration, what it misses of how much, and where."""
    u, L = dynamics.least_input(a), dynamics.L
    residual = a - dynamics.a_free - dynamics.G @ u
    whole = float(np.linalg.norm(L.T @ a) + np.linalg.norm(L.T @ dynamics.a_free))
    return u, float(np.linalg.norm(L.T @ residual)), whole, first_largest(np.abs(L.T @ residual))


def _elastic_inputs(loop: Loop, motion: TaskMotion) -> Matrix:
    """Return the inputs that move the links of an elastic robot."""
    robot, joints = loop.robot, loop.robot.elastic
    assert joints is not None
    none = np.full((len(motion.t), robot.nu), np.nan)
    try:
        dynamics = Dynamics(rigid_link_robot(robot))
    except UkctrlError:
        return none
    torque = np.zeros((len(motion.t), len(joints.links)))
    snapshot = dynamics.snapshot
    for k, t in enumerate(motion.t.tolist()):
        snapshot.move(motion.q[k], motion.v[k], t)
        whole = snapshot.M @ motion.a[k] + snapshot.nle - snapshot.f
        torque[k] = whole[joints.links]
    stretch = torque / joints.stiffness
    rate, _ = time_derivatives(motion.t, stretch)
    stretch -= joints.damping * rate / joints.stiffness
    _, bend = time_derivatives(motion.t, stretch)
    push = joints.inertia * (motion.a[:, joints.links] + bend) + torque
    B = robot.actuation.constant[joints.motors]
    return column_space(B, np.linalg.norm(B, axis=0), loop.scenario.rank.servo).solve(push.T).T


def law_inputs(loop: Loop, motion: TaskMotion) -> tuple[Matrix, LawFailure | None]:
    """Return what the scenario's own law asks for along the motion, where it is a servo law.

    What is kept beside it changes that, and is told of the motion itself.
    """
    law = np.full((len(motion.t), loop.robot.nu), np.nan)
    plan = loop.law.planned_motion
    if plan is not None and motion.kind == "plan":
        return np.array([plan.input(t) for t in motion.t.tolist()]), None
    if loop.scenario.controller.row_allocation is None or not motion.has_dynamics:
        return law, None
    if loop.robot.elastic is not None:
        return law, None
    if loop.scenario.keep:
        loop = Loop(dc.replace(loop.scenario, keep=()), loop.robot)
    memory = loop.state.memory
    for k, t in enumerate(motion.t.tolist()):
        q, v = motion.q[k], motion.v[k]
        loop.plant.move(t, q, v)
        try:
            law[k] = loop.command(t, q, v, memory).u
        except (UkctrlError, ArithmeticError) as error:
            rows = tuple(error.rows) if isinstance(error, InfeasibleConstraint) else ()
            return law, LawFailure(t=t, rows=rows, text=str(error))
    return law, None


def alternative_input_exists(
    loop: Loop, motion: TaskMotion, task_inputs: Matrix, low: Matrix, high: Matrix
) -> bool:
    """Return whether some input within the limits serves wherever the smallest one does not."""
    from scipy.optimize import lsq_linear

    robot = loop.robot
    if robot.elastic is not None:
        return False
    broken = np.flatnonzero(((task_inputs > high) | (task_inputs < low)).any(axis=1))
    for k in broken.tolist():
        t = float(motion.t[k])
        dynamics = loop.plant_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        L, acceleration = dynamics.L, motion.a[k] - dynamics.a_free
        if dynamics.reached().shape[1] == robot.nu or (low[k] >= high[k]).any():
            return False
        solved = lsq_linear(
            L.T @ dynamics.G, L.T @ acceleration, bounds=(low[k], high[k]), tol=1e-12
        )
        size = np.linalg.norm(L.T @ motion.a[k]) + np.linalg.norm(L.T @ dynamics.a_free) + 1e-6
        if np.sqrt(2.0 * solved.cost) > ACTUATION_RTOL * size:
            return False
    return True
