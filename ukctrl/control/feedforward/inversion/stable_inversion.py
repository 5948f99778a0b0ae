"""Stable inversion: the bounded motion that keeps the rows, where marching in time blows up."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ukctrl.control.feedforward.inversion.boundary_value_problem import (
    BoundaryCondition,
    BoundaryValueSolver,
)
from ukctrl.control.feedforward.inversion.collocation import CollocationSolver, radau_scheme
from ukctrl.control.feedforward.inversion.inversion import Inversion
from ukctrl.control.feedforward.inversion.servo_dae import StageCount, dense_motion
from ukctrl.control.feedforward.inversion.servo_dae_equations import (
    ServoDaeEquations,
    require_low_index,
)
from ukctrl.control.feedforward.inversion.zero_dynamics import (
    EndDynamics,
    end_dynamics,
    equilibrium_on_path,
    require_rest,
)
from ukctrl.control.feedforward.nominal_motion import NominalMotion
from ukctrl.control.joint_motion import MAX_KNOTS
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Positive, Seconds, Time, spec
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.consistent_state import consistent_configuration
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import breakpoints, commensurate_step
from ukctrl.mechanics.dynamics import passive_constraints

MAX_HORIZON_RATIO = 1000.0
"""More than so many times the length of the run is not gone before or after it."""


@spec
class StableInversion(Inversion):
    r"""The bounded motion that keeps the rows, by a boundary-value problem.

    Where the internal dynamics has eigenvalues to the right, the motion that keeps the rows grows
    without bound, but for one: it sets off before the path does. The DAE of ``servo_dae`` is
    solved over a horizon that begins before the run and ends after it, at all times together. At
    its beginning the state must lie among those that leave the rest there for growing time, at its
    end among those that come to rest; both are taken from the linear part.

    The path must stand still at both ends, and the robot must be able to rest wherever it leads:
    Newton's method begins with a motion through states of rest. Where nothing is unstable, the
    motion is that of ``servo_dae`` from rest.

    References:
        Devasia, Chen, Paden, "Nonlinear inversion-based output tracking", IEEE Trans. Autom.
        Control 41(7), 1996; Taylor & Li, "Stable inversion of nonlinear non-minimum phase systems
        via finite difference method and multiple shooting", 2002; Brüls, Bastos, Seifried, "A
        stable inversion method for feedforward control of constrained flexible multibody systems",
        J. Comput. Nonlinear Dyn. 9(1), 2014.
    """

    kind: Literal["stable_inversion"] = "stable_inversion"
    until: Time | None = None
    """When the path has come to rest [s]; absent: at the end of the run."""
    before: Seconds | None = None
    """How long before the run the horizon begins [s]; absent: until nothing is left of the motion
    there."""
    after: Seconds | None = None
    """How long after ``until`` it ends [s]; absent: the same."""
    step: Seconds = 0.05
    """Length of a step [s], at most: a little less where the path's corners then fall on ends."""
    stages: StageCount = 7
    """Stages of a step, 1 to 9."""
    settled: Positive = 1e-4
    """How far the given start may be from the motion there [rad, m, and their rates]."""

    def solve(self, task: Task) -> NominalMotion:
        equations = ServoDaeEquations(task, self.kind)
        until = task.start + task.duration if self.until is None else self.until
        if not np.isfinite(until):
            raise InputError("task must have a finite duration to plan its motion; got inf.")
        if until <= task.start:
            raise InputError(
                f"controller.along.until must be after the start of the run, {task.start:g} s; "
                f"got {until:g} s."
            )
        robot = task.robot
        stack = Stack((*passive_constraints(robot), *task.servo), robot)
        q = consistent_configuration(stack, robot.snapshot(task.q), task.q, task.start)
        q, u = equilibrium_on_path(equations, q, task.start)
        require_low_index(equations, task, q, np.zeros(robot.nv), self.kind)
        corners = breakpoints(task.servo, task.start, until)
        step = commensurate_step(
            self.step, [*(t - task.start for t in corners), until - task.start]
        )
        count = max(1, math.ceil((until - task.start) / step - 1e-9))
        if count * self.stages > MAX_KNOTS:
            raise InputError(
                f"controller.along.step must be at least "
                f"{(until - task.start) * self.stages / MAX_KNOTS:.1e} s; got {self.step:g} s."
            )
        step = (until - task.start) / count
        # internal dynamics at rest along the path: a guess that cannot run away
        equilibria = [(q, u)]
        for k in range(count):
            equilibria.append(
                equilibrium_on_path(
                    equations, equilibria[-1][0], task.start + (k + 1) * step, equilibria[-1][1]
                )
            )
        end_q, end_u = equilibria[-1]
        first = end_dynamics(task, task.start, q, u, "start")
        last = end_dynamics(task, until, end_q, end_u, "end")
        # the start has a condition for each stable mode, the end one for each unstable: numbers
        # must agree
        if first.unstable.shape[1] != last.unstable.shape[1]:
            raise InputError(
                "the internal dynamics must have as many unstable eigenvalues at the start as at "
                f"the end of the path; got {first.unstable_count()} and {last.unstable_count()}. "
                "Split the path where "
                "that changes."
            )
        lead_steps, tail_steps = self._horizon_extensions(task, first, last, until, step, count)
        require_rest(equations, q, task.start, -lead_steps * step, "start")
        require_rest(equations, end_q, until, tail_steps * step, "end")
        horizon = BoundaryValueSolver(equations, task.start - lead_steps * step, step, self.stages)
        ends = (
            BoundaryCondition(q, first.unstable_manifold_condition()),
            BoundaryCondition(end_q, last.unstable_projection),
        )
        # marching forward gives a guess that is nearly the answer; where something grows it would
        # run away
        if first.unstable.size:
            equilibria = [(q, u)] * lead_steps + equilibria + [(end_q, end_u)] * tail_steps
            guess = horizon.quasistatic_guess(
                *(np.array(column) for column in zip(*equilibria, strict=True))
            )
        else:
            marcher = CollocationSolver(
                equations, radau_scheme(self.stages), step, "controller.along.step"
            )
            still, whole = np.zeros(robot.nv), len(equilibria) - 1 + tail_steps
            guess = marcher.march(task.start - lead_steps * step, q, still, u, whole)
        steps = horizon.solve(guess, ends)
        q0 = robot.integrate(steps[0].base, steps[0].xi[0])
        nominal = dense_motion(equations, steps, q0, steps[0].v[0], u, step, [*corners, until])
        if not task.planned:
            self._require_start_on_motion(task, nominal, q, first)
        return nominal

    def _horizon_extensions(
        self,
        task: Task,
        first: EndDynamics,
        last: EndDynamics,
        until: float,
        step: float,
        count: int,
    ) -> tuple[int, int]:
        """Return how many steps to go before the run, and after the path has come to rest."""
        lead = first.preactuation_time() if self.before is None else self.before
        tail = last.postactuation_time() if self.after is None else self.after
        tail = max(tail, task.start + task.duration - until)
        steps = math.ceil(lead / step), math.ceil(tail / step)
        if sum(steps) > MAX_HORIZON_RATIO * count or (count + sum(steps)) * self.stages > MAX_KNOTS:
            raise InputError(
                f"the internal dynamics must settle in a time comparable to the run; it takes "
                f"{lead:.3g} s before and {tail:.3g} s after. Give controller.along.before and "
                "after, or lengthen controller.along.step."
            )
        return steps

    def _require_start_on_motion(
        self, task: Task, nominal: NominalMotion, q_rest: Vector, side: EndDynamics
    ) -> None:
        """Refuse a run that begins at rest when the motion is under way already."""
        robot = task.robot
        q, v = nominal.state(task.start)

        def off(q_at: Vector, v_at: Vector) -> Vector:
            return np.concatenate([robot.difference(q_at, task.q), task.v - v_at])

        gap = np.abs(off(q, v))
        if gap.max() <= self.settled:
            return
        names = (*robot.dofs, *(f"v.{dof}" for dof in robot.dofs))
        units = (*(unit.removesuffix("/s") for unit in robot.dof_units), *robot.dof_units)
        worst = first_largest(gap)
        if max_abs(off(q_rest, np.zeros(robot.nv))) > self.settled:
            raise InputError(
                f"the run must begin on the motion, or at rest on the path before it; at t = "
                f"{task.start:.4g} s '{names[worst]}' is {gap[worst]:.2g} {units[worst]} off. "
                f"Give start.q = {np.array2string(q_rest.round(6) + 0.0, separator=', ')} at rest, "
                "or start.planned = true."
            )
        rate = side.slowest_unstable()
        lead = math.log(gap[worst] / self.settled) / rate
        raise InputError(
            f"the run must begin before the motion does: the internal eigenvalue {rate:+.3g} 1/s "
            f"needs pre-actuation, and at t = {task.start:.4g} s '{names[worst]}' is "
            f"{gap[worst]:.2g} {units[worst]} from rest already. Begin {lead:.2g} s earlier, with "
            f"start.t = {task.start - lead:.3g} or less (and the duration longer by as much), or "
            "on the motion with start.planned = true."
        )
