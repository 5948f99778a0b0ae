"""The servo-constraint DAE solved forwards in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator

from ukctrl.control.planned.inversion.consistent import begin
from ukctrl.control.planned.inversion.dae_equations import Equations, require_low
from ukctrl.control.planned.inversion.inversion import Inversion
from ukctrl.control.planned.inversion.marching import (
    MAX_STAGES,
    Marcher,
    Stages,
    interpolation,
    radau,
)
from ukctrl.control.planned.joint_motion import require_plannable
from ukctrl.control.planned.nominal_motion import Nominal
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Count, Seconds, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import breaks, dividing
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.start import solve_start

FEW = 2
"""A polynomial through no more stages than this is not continued to the start."""


def some_stages(value: int) -> int:
    """Check a number of stages."""
    if value > MAX_STAGES:
        raise InputError(f"must be at most {MAX_STAGES}; got {value}. Shorten the step instead.")
    return value


StageCount = Annotated[Count, AfterValidator(some_stages)]


@spec
class ServoDae(Inversion):
    r"""The servo rows as constraints of a DAE, solved by an implicit scheme with projection.

    $\dot q = v$, $M \dot v + \mathrm{nle} = f + B u + A_p^\top \lambda$ and $\phi(q, t) = 0$ are
    solved together for $q$, $v$ and $u$, whatever the relative degree of the rows (up to 4), by
    collocation at Radau's points; see `ukctrl.control.planned.inversion.dae_equations` for the
    projection. One stage is the backward Euler method of the literature, of first order. The start
    is moved to the nearest state that can keep the rows; inner motion that they leave free goes on
    from there, and must be stable by itself.

    References:
        Blajer & Kolodziejczyk, "A geometric approach to solving problems of control constraints",
        Multibody Syst. Dyn. 11, 2004; Seifried & Blajer, "Analysis of servo-constraint problems
        for underactuated multibody systems", Mech. Sci. 4, 2013.
    """

    kind: Literal["servo_dae"] = "servo_dae"
    forgets_growth: ClassVar[bool] = False
    step: Seconds = 0.05
    """Length of a step [s], at most: a little less where the path's corners then fall on ends."""
    stages: StageCount = 7
    """Stages of a step, 1 to 9; 1 is the backward Euler method."""

    def solve(self, task: Task) -> Nominal:
        require_plannable(task.duration, self.step, "along.step", self.stages)
        equations = Equations(task, self.kind)
        every = Stack((*passive_constraints(task.robot), *task.servo), task.robot)
        near = solve_start(every, task.q, task.v, task.start)
        require_low(equations, task, near.q, near.v, self.kind)
        corners = breaks(task.servo, task.start, task.start + task.duration)
        step = dividing(self.step, [t - task.start for t in corners])
        first = begin(equations, task, near.q, near.v, task.start)
        count = max(1, int(np.ceil(task.duration / step - 1e-9)))
        marcher = Marcher(equations, radau(self.stages), step, "controller.along.step")
        steps = marcher.march(task.start, first.q, first.v, first.u, count)
        return dense(equations, steps, first.q, first.v, first.u, step, corners)


def dense(
    equations: Equations,
    steps: list[Stages],
    q0: Vector,
    v0: Vector,
    u0: Vector,
    step: float,
    corners: Sequence[float],
) -> Nominal:
    """Return the motion of all steps, with as many knots in each as it has stages."""
    robot, dynamics = equations.robot, equations.dynamics
    stages = len(steps[0].u)
    nodes = radau(stages).nodes
    places = np.arange(1, stages + 1) / stages
    of_state, of_input = interpolation(np.append(0.0, nodes), places), interpolation(nodes, places)
    if stages > FEW:  # the first polynomial knows better than what it was started from
        u0 = (interpolation(nodes, np.zeros(1)) @ steps[0].u)[0]
    knots: list[tuple[Vector, Vector, Vector]] = [(q0, v0, u0)]
    for made in steps:
        for xi, v, u in zip(of_state @ made.xi, of_state @ made.v, of_input @ made.u, strict=True):
            knots.append((robot.integrate(made.base, xi), v, u))
    times = steps[0].start + step / stages * np.arange(len(knots))
    accelerations = []
    for t, (q, v, u) in zip(times.tolist(), knots, strict=True):
        dynamics.move(t, q, v)
        accelerations.append(dynamics.acceleration(u))
    q, v, u = (np.array(part) for part in zip(*knots, strict=True))
    return Nominal(robot, np.asarray(times), q, v, np.array(accelerations), u, corners)
