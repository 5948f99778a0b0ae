r"""The servo-constraint DAE solved forwards in time, from a state that can keep the rows.

Where inputs reach a row late, keeping it asks more of a state than $\phi = 0$ and $\dot\phi = 0$:
also $\ddot\phi$, and perhaps $\dddot\phi$, are decided by the state alone. Nobody writes these
down. A state is consistent if a smooth motion leaves from it along which the rows are kept: on a
short interval $x$ is a polynomial of degree $p$ and $u$ one of degree $p - 4$, and the DAE shall
hold at all $p + 1$ nodes, the start among them. That is more equations than unknowns for any index
up to 5, and still has a solution to the accuracy of the polynomial; where the rows leave inner
motion free, a family of them, of which the one that starts nearest to the guess is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator

from ukctrl.control.feedforward.inversion.collocation import (
    MAX_STAGES,
    CollocationSolver,
    CollocationStep,
    differentiation_matrix,
    interpolation_matrix,
    radau_scheme,
)
from ukctrl.control.feedforward.inversion.inversion import Inversion
from ukctrl.control.feedforward.inversion.servo_dae_equations import (
    ServoDaeEquations,
    require_low_index,
)
from ukctrl.control.feedforward.inversion.zero_dynamics import linearise_task, zero_dynamics
from ukctrl.control.feedforward.nominal_motion import NominalMotion
from ukctrl.control.joint_motion import require_plannable
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, StartError, UkctrlError
from ukctrl.core.fields import Count, Seconds, spec
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import breakpoints, commensurate_step
from ukctrl.mechanics.dynamics import passive_constraints

STATE_DEGREE = 10
"""Of the polynomials of the state."""
INPUT_DEGREE_DROP = 4
"""The input's degree is this much less: it is the fourth derivative of a row of that degree."""
FIT_LENGTH = 0.5
"""Length of the interval in units of the robot's quickest time scale."""
MAX_FIT_LENGTH = 0.08
"""And in seconds, at most: paths are quick where they set off, whatever the robot."""
MAX_HALVINGS = 8
"""So often may the interval be halved."""
FIT_TOLERANCE = 1e-10
"""The rows are kept when no equation is off by more, in units of the motion on the interval."""
MAX_ITERATIONS = 30


class ConsistentStart(NamedTuple):
    """A consistent start, and the input there."""

    q: Vector
    v: Vector
    u: Vector


def consistent_start(
    equations: ServoDaeEquations, task: Task, q: Vector, v: Vector, t: float
) -> ConsistentStart:
    """Return the consistent state nearest to a guess, which should be on the rows itself.

    Args:
        equations: The DAE.
        task: The task, for its linear part.
        q: Guess of the configuration.
        v: Guess of the velocity.
        t: Time [s].

    Raises:
        StartError: No such state is near; the worst row is named.
        InputError: Some input is not determined by the rows.
    """
    dynamics = equations.dynamics
    dynamics.move(t, q, v)
    # about the input that holds the robot, as near as one does
    u = dynamics.least_input(np.zeros(equations.n))
    system = linearise_task(task, t, q, v, u)
    # Off its passive constraints the robot moves as well, back to them: the guess is on them.
    count = len(zero_dynamics(system.A, system.B, system.C).A) + 2 * equations.n - len(system.A)
    # long enough for derivatives to show, short enough for a polynomial
    length = min(FIT_LENGTH * system.time_scale, MAX_FIT_LENGTH)
    worst = ""
    # a polynomial over too long an interval cannot follow the motion: halved until it does
    for _ in range(MAX_HALVINGS):
        try:
            start, max_residual, worst = _fit_start(equations, t, length, q, v, u, count)
        except (UkctrlError, np.linalg.LinAlgError) as error:
            worst = str(error)
        else:
            if max_residual <= FIT_TOLERANCE:
                return start
        length *= 0.5
    raise StartError(
        f"no state near the start lets the rows be kept from t = {t:.4g} s on, with all their "
        f"derivatives that no input reaches; {worst}. Start closer, or check that the path is "
        "smooth there and within reach."
    )


class _FitInterval(NamedTuple):
    """Where a motion is fitted."""

    t: float
    """Its start [s]."""
    h: float
    """Its length [s]."""
    q: Vector
    """Configuration that deviations are measured from."""
    nodes: Vector
    """Points in [0, 1] at which the equations hold."""
    D: Matrix
    """Values at the nodes to slopes there."""
    input_interpolation: Matrix
    """Inputs at fewer nodes to those at all."""


def _fit_start(
    equations: ServoDaeEquations, t: float, h: float, q: Vector, v: Vector, u: Vector, count: int
) -> tuple[ConsistentStart, float, str]:
    """Return the start of a motion, what that leaves of the equations, and of which row."""
    n, m = equations.n, equations.m
    nodes = 0.5 * (1.0 - np.cos(np.pi * np.arange(STATE_DEGREE + 1) / STATE_DEGREE))
    # inputs are derivatives of the states: of a lower degree, or they would wiggle
    fewer = STATE_DEGREE - INPUT_DEGREE_DROP
    coarse = 0.5 * (1.0 - np.cos(np.pi * np.arange(fewer + 1) / fewer))
    spread = interpolation_matrix(coarse, nodes)
    interval = _FitInterval(t, h, q, nodes, differentiation_matrix(nodes), spread)
    xi, w = h * nodes[:, None] * v, np.tile(v, (len(nodes), 1))
    inputs = np.tile(u, (len(coarse), 1))
    states = 2 * n * len(nodes)
    last = np.inf
    for _ in range(MAX_ITERATIONS):
        residual, whole, c = _linearise_equations(equations, interval, xi, w, inputs)
        max_residual = max_abs(residual)
        # no longer halves: this is the floor of rounding
        if max_residual > 0.5 * last and max_residual <= FIT_TOLERANCE:
            break
        last = max_residual
        U, sigma, Vt = np.linalg.svd(whole, full_matrices=True)
        # as many directions are free as the zero dynamics has states: cut there, whatever rounding
        # says
        rank = whole.shape[1] - count
        step = -(Vt[:rank].T / sigma[:rank]) @ (U[:, :rank].T @ residual)
        off = np.concatenate([xi[0], h * (w[0] - v)]) + step[: 2 * n]
        loose = Vt[rank:].T
        # of all motions that keep the rows, the one that begins nearest to the guess
        step -= loose @ np.linalg.lstsq(loose[: 2 * n], off, rcond=None)[0]
        change = step[:states].reshape(-1, 2 * n)
        xi += change[:, :n]
        w += change[:, n:] / h
        inputs += step[states:].reshape(-1, m)
    k = first_largest(np.abs(c).max(axis=0))
    row, unit = equations.stack.names[k], equations.stack.units[k]
    worst = (
        f"row '{row}' is off by {max_abs(c[:, k]):.1e} {unit}, the equations by {max_residual:.1e}"
    )
    start = equations.robot.integrate(q, xi[0])
    return ConsistentStart(start, w[0].copy(), inputs[0].copy()), max_residual, worst


def _linearise_equations(
    equations: ServoDaeEquations, interval: _FitInterval, xi: Matrix, w: Matrix, inputs: Matrix
) -> tuple[Vector, Matrix, Matrix]:
    """Return the equations at all nodes, their derivative, and the rows' errors."""
    t, h, q, nodes, D, spread = interval
    n, m, count = equations.n, equations.m, len(nodes)
    size, states = 2 * n + m, 2 * n * len(nodes)
    u, slopes, rates = spread @ inputs, D @ xi, D @ (h * w)
    residual, errors = np.zeros((count, size)), np.zeros((count, m))
    whole = np.zeros((count, size, states + m * len(inputs)))
    for i, node in enumerate(nodes.tolist()):
        terms, by = equations.derivative(t + h * node, q, xi[i], w[i], u[i])
        errors[i] = terms.c
        residual[i] = np.concatenate(
            [slopes[i] - h * terms.rate, rates[i] - h * h * terms.a, terms.c]
        )
        jacobian = np.concatenate([-h * by[:n], -h * h * by[n : 2 * n], by[2 * n + m :]])
        jacobian[:, n : 2 * n] /= h  # velocities in units of the interval
        at = slice(2 * n * i, 2 * n * (i + 1))
        whole[i, :, at] += jacobian[:, : 2 * n]
        for k in range(2 * n):
            whole[i, k, k : states : 2 * n] += D[i]
        by_input = jacobian[:, 2 * n :, None] * spread[i]
        whole[i, :, states:] = np.moveaxis(by_input, 2, 1).reshape(size, -1)
    return residual.ravel(), whole.reshape(count * size, -1), errors


MIN_EXTRAPOLATED_STAGES = 2
"""A polynomial through no more stages than this is not continued to the start."""


def check_stage_count(value: int) -> int:
    """Check a number of stages."""
    if value > MAX_STAGES:
        raise InputError(f"must be at most {MAX_STAGES}; got {value}. Shorten the step instead.")
    return value


StageCount = Annotated[Count, AfterValidator(check_stage_count)]


@spec
class ServoDae(Inversion):
    r"""The servo rows as constraints of a DAE, solved by an implicit scheme with projection.

    $\dot q = v$, $M \dot v + \mathrm{nle} = f + B u + A_p^\top \lambda$ and $\phi(q, t) = 0$ are
    solved together for $q$, $v$ and $u$, whatever the relative degree of the rows (up to 4), by
    collocation at Radau's points; see `ukctrl.control.feedforward.inversion.servo_dae_equations`
    for the projection. One stage is the backward Euler method of the literature, of first order.
    The start is moved to the nearest state that can keep the rows; inner motion that they leave
    free goes on from there, and must be stable by itself.

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

    def solve(self, task: Task) -> NominalMotion:
        require_plannable(task.duration, self.step, "along.step", self.stages)
        equations = ServoDaeEquations(task, self.kind)
        stack = Stack((*passive_constraints(task.robot), *task.servo), task.robot)
        near = consistent_state(stack, task.q, task.v, task.start, rank=task.rank)
        require_low_index(equations, task, near.q, near.v, self.kind)
        corners = breakpoints(task.servo, task.start, task.start + task.duration)
        step = commensurate_step(self.step, [t - task.start for t in corners])
        first = consistent_start(equations, task, near.q, near.v, task.start)
        count = max(1, int(np.ceil(task.duration / step - 1e-9)))
        marcher = CollocationSolver(
            equations, radau_scheme(self.stages), step, "controller.along.step"
        )
        steps = marcher.march(task.start, first.q, first.v, first.u, count)
        return dense_motion(equations, steps, first.q, first.v, first.u, step, corners)


def dense_motion(
    equations: ServoDaeEquations,
    steps: list[CollocationStep],
    q0: Vector,
    v0: Vector,
    u0: Vector,
    step: float,
    corners: Sequence[float],
) -> NominalMotion:
    """Return the motion of all steps, with as many knots in each as it has stages."""
    robot, dynamics = equations.robot, equations.dynamics
    stages = len(steps[0].u)
    nodes = radau_scheme(stages).nodes
    points = np.arange(1, stages + 1) / stages
    of_state, of_input = (
        interpolation_matrix(np.append(0.0, nodes), points),
        interpolation_matrix(nodes, points),
    )
    if (
        stages > MIN_EXTRAPOLATED_STAGES
    ):  # the first polynomial knows better than what it was started from
        u0 = (interpolation_matrix(nodes, np.zeros(1)) @ steps[0].u)[0]
    knots: list[tuple[Vector, Vector, Vector]] = [(q0, v0, u0)]
    for segment in steps:
        for xi, v, u in zip(
            of_state @ segment.xi, of_state @ segment.v, of_input @ segment.u, strict=True
        ):
            knots.append((robot.integrate(segment.base, xi), v, u))
    times = steps[0].start + step / stages * np.arange(len(knots))
    accelerations = []
    for t, (q, v, u) in zip(times.tolist(), knots, strict=True):
        dynamics.move(t, q, v)
        accelerations.append(dynamics.acceleration(u))
    q, v, u = (np.array(column) for column in zip(*knots, strict=True))
    return NominalMotion(robot, np.asarray(times), q, v, np.array(accelerations), u, corners)
