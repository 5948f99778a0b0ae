r"""The nonlinear program of a motion: what its unknowns must keep, with sparse derivatives.

Unknown are coordinates $y$ and rates $w$ where steps meet, $y, w$, accelerations $\alpha$ and
inputs $u$ at the points of the scheme, and $\sigma$, the length of the motion beside a first guess.
Times are those of the guess, so that the true rate is $w/\sigma$ and the acceleration
$\alpha/\sigma^2$. The scheme is linear then; what is not is a row at one point each,

$$ \alpha = \sigma^2 a(y, w/\sigma, u), $$

and limits of velocities, of joints that follow, and of motors whose torque falls with the speed;
and what is to be kept, at points of its own. The Hessian of the Lagrangian is block-diagonal but
for $\sigma$; its blocks are differences of the derivatives, which are exact.
"""

from __future__ import annotations

from typing import final

import numpy as np
import scipy.sparse as sp

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import max_abs
from ukctrl_optimal.decision_variables import (
    DecisionVariables,
    MotionProblem,
    VariableLayout,
)
from ukctrl_optimal.gauss_legendre import (
    GaussLegendre,
    collocation_rows,
    control_point_rows,
    end_input_rows,
)
from ukctrl_optimal.hessian_differences import hessian_by_differences
from ukctrl_optimal.independent_coordinates import (
    ChartPoint,
    IndependentCoordinates,
    PointDynamics,
)
from ukctrl_optimal.path_constraint_grid import (
    GridSelection,
    GridSlack,
    PathConstraintGrid,
)
from ukctrl_optimal.path_inequalities import InequalityTable, PathInequalities
from ukctrl_optimal.sparse_blocks import block_entries, upper_triangle_entries
from ukctrl_optimal.torque_speed_limits import TorqueSpeedLimits

MIN_TIME_SCALE = 0.05
"""The time is looked for from this part of its first guess up to as many times it."""
INPUT_REGULARISATION, MIN_INPUT_LIMIT = 3e-3, 1e-9
"""Part of a time that inputs at their limits cost beside it, so that idle motors know what to do;
and the least limit of one."""


@final
class NonlinearProgram:
    """The program of a motion of some steps.

    Args:
        freedoms: The robot in its coordinates.
        scheme: The scheme.
        steps: Number of steps.
        wanted: What the motion is to do.
        duration: How long it takes, or the first guess of it [s].
        inequalities: The inequality constraints along the path.
        closer: Where it is looked at that; see `PathConstraintGrid`.

    Attributes:
        h: Length of a step of that duration [s].
        count: Number of unknowns.
        split: Returns a vector of them by name.
        rows: Number of rows.
        path_constraints: The inequalities at the points of the grid.
    """

    def __init__(
        self,
        freedoms: IndependentCoordinates,
        scheme: GaussLegendre,
        steps: int,
        problem: MotionProblem,
        duration: float,
        inequalities: InequalityTable,
        closer: GridSelection | None = None,
    ) -> None:
        self.freedoms, self.scheme, self.steps, self.wanted = freedoms, scheme, steps, problem
        robot, n, points = freedoms.robot, freedoms.n, steps * len(scheme.nodes)
        self.h = duration / steps
        args = freedoms, scheme, steps, self.h, problem
        self.path_constraints = PathConstraintGrid(
            PathInequalities(freedoms, inequalities), *args, closer
        )
        layout = VariableLayout(steps, len(scheme.nodes), n, robot.nu, self.path_constraints.count)
        self.count, self.split = layout.count, layout.split
        self.indices = self.split(np.arange(self.count))
        self._fast = np.setdiff1d(np.flatnonzero(np.isfinite(robot.velocity_limit)), freedoms.dofs)
        lines = {int(block.iv): int(block.iq) for block in robot.blocks if block.shape == "line"}
        sides = np.column_stack([robot.q_lower, robot.q_upper])
        self._sides = {i: sides[k] for i, k in lines.items() if np.isfinite(sides[k]).any()}
        followers = [i for i in self._sides if i not in freedoms.dofs]
        self._followers = np.array(followers, dtype=np.intp)
        self._coordinates = np.array([lines[i] for i in followers], dtype=np.intp)
        self.linear, self._linear_bounds = self._linear_rows()
        self._fall = TorqueSpeedLimits.for_robot(robot, freedoms.start.q, problem.limit_share)
        self.rows_per_point = n + len(followers) + len(self._fast) + len(self._fall.motors)
        self._own_rows = self.linear.shape[0] + np.arange(points * self.rows_per_point)
        self.rows = (
            self.linear.shape[0]
            + points * self.rows_per_point
            + self.path_constraints.count * len(self.path_constraints.rows)
        )
        self._weights = np.tile(self.h * scheme.weights, steps)
        self._prices: Vector = np.ones(robot.nu)
        # a small price of the inputs: time alone leaves some of them open
        if problem.minimises_time:
            input_limit = np.maximum(*np.abs(self._input_bounds()))
            self._prices = INPUT_REGULARISATION / (
                duration * robot.nu * np.maximum(input_limit, MIN_INPUT_LIMIT) ** 2
            )
        # the closures are solved from the last answer of each point: a continuation, which may be
        # reset
        self._near: list[ChartPoint] = []
        self._known: dict[bool, tuple[bytes, list[PointDynamics]]] = {}
        p = self.indices
        self._own = np.hstack([p.y_points, p.rate, p.u, np.broadcast_to(p.sigma, (points, 1))])
        lasts = np.broadcast_to(p.sigma, (self.path_constraints.count, 1))
        self._seen_at = np.hstack([*p.path_states, lasts])

    def _linear_rows(self) -> tuple[sp.csr_array, tuple[Vector, Vector]]:
        """Return the linear rows, and between what they must be."""
        n, nu, p = self.freedoms.n, self.freedoms.robot.nu, self.indices
        motion = collocation_rows(self.scheme, self.steps, n, self.h)
        motion.resize((motion.shape[0], self.count))
        # inputs are those of the collocation points; at the ends of a step they are extrapolated,
        # and bounded too
        inputs = self._placed(end_input_rows(self.scheme, self.steps, nu), p.u.ravel())
        determined = np.concatenate([p.y.ravel(), p.w.ravel(), p.a.ravel()])
        grid_rows = self._placed(self.path_constraints.evaluation, determined).tolil()
        grid_rows[:, p.path_states.ravel()] = -sp.eye_array(p.path_states.size)
        controls, (control_low, control_high) = self._control_rows(determined)
        zeros = np.zeros(motion.shape[0] + grid_rows.shape[0])
        low, high = (np.resize(bound, inputs.shape[0]) for bound in self._input_bounds())
        return sp.vstack([motion, grid_rows, inputs, controls], format="csr"), (
            np.concatenate([zeros, low, control_low]),
            np.concatenate([zeros, high, control_high]),
        )

    def _control_rows(self, determined: Indices) -> tuple[sp.sparray, tuple[Vector, Vector]]:
        """Return rows that keep speeds and ranges of the coordinates all along, and their bounds.

        Of a program of few points speeds would leap between them.

        Args:
            determined: Where the unknowns are that determine a motion.
        """
        n, sigma = self.freedoms.n, self.indices.sigma[0, 0]
        y, rate = control_point_rows(self.scheme, self.steps, n, self.h)
        limits = self.wanted.limit_share * self.freedoms.robot.velocity_limit[self.freedoms.dofs]
        sides = np.full((n, 2), [-np.inf, np.inf])
        for k, i in enumerate(self.freedoms.dofs.tolist()):
            sides[k] = self._sides.get(i, sides[k])
        fast, ended = np.isfinite(limits), np.isfinite(sides).any(axis=1)
        rates = self._placed(rate[np.resize(fast, rate.shape[0])], determined)
        ranges = self._placed(y[np.resize(ended, y.shape[0])], determined)
        # true rates are those over sigma: both bounds move with it
        count = rates.shape[0]
        at_limit = np.resize(limits[fast], count), (np.arange(count), np.full(count, sigma))
        slack = sp.csr_array(at_limit, shape=rates.shape)
        zeros, none = np.zeros(count), np.full(count, np.inf)
        lower, upper = np.resize(sides[ended], (ranges.shape[0], 2)).T
        return sp.vstack([rates - slack, rates + slack, ranges]), (
            np.concatenate([-none, zeros, lower]),
            np.concatenate([zeros, none, upper]),
        )

    def _placed(self, rows: sp.sparray, columns: Indices) -> sp.csr_array:
        """Return rows of some unknowns as rows of all."""
        placed = rows.tocoo()
        at = placed.data, (placed.row, columns[placed.col])
        return sp.csr_array(at, shape=(rows.shape[0], self.count))

    def times(self, sigma: float) -> Vector:
        """Return when the points are, shape ``(k,)`` [s]."""
        at = np.arange(self.steps)[:, None] + self.scheme.nodes
        times: Vector = self.wanted.t + sigma * self.h * at.ravel()
        return times

    def bounds(self) -> tuple[Vector, Vector]:
        """Return between what the unknowns must be, shape ``(count,)`` each."""
        free, problem, robot = self.freedoms, self.wanted, self.freedoms.robot
        low, high = np.full(self.count, -np.inf), np.full(self.count, np.inf)
        lower, upper = self.split(low), self.split(high)
        for k, i in enumerate(free.dofs.tolist()):
            if i in self._sides:
                for variables, side in zip((lower, upper), self._sides[i].tolist(), strict=True):
                    variables.y[:, k] = variables.y_points[:, k] = side
        lower.u[:], upper.u[:] = self._input_bounds()
        goal_mask = np.isfinite(problem.goal)
        violations = goal_mask & ((problem.goal < lower.y[-1]) | (problem.goal > upper.y[-1]))
        if violations.any():
            k = int(np.argmax(violations))
            raise InputError(
                f"must end within the range of '{robot.dofs[free.dofs[k]]}', "
                f"{lower.y[-1, k]:.4g} to {upper.y[-1, k]:.4g}; got {problem.goal[k]:.4g}."
            )
        for variables in (lower, upper):
            variables.y[0], variables.w[0] = free.start.y, problem.rate
            variables.y[-1, goal_mask], variables.w[-1] = problem.goal[goal_mask], 0.0
            variables.sigma[:] = 1.0
        if problem.minimises_time:
            # the length is unknown by a factor, within which the steps still resolve the motion
            lower.sigma[:], upper.sigma[:] = MIN_TIME_SCALE, 1.0 / MIN_TIME_SCALE
        return low, high

    def _input_bounds(self) -> tuple[Vector, Vector]:
        low, high = self.freedoms.robot.input_bounds(np.zeros(self.freedoms.robot.nu))
        return self.wanted.limit_share * low, self.wanted.limit_share * high

    def row_bounds(self) -> tuple[Vector, Vector]:
        """Return between what the rows must be, shape ``(rows,)`` each."""
        n, points = self.freedoms.n, len(self._own)
        speed = self.wanted.limit_share * self.freedoms.robot.velocity_limit[self._fast]
        ends = np.array([self._sides[i] for i in self._followers.tolist()]).reshape(-1, 2)
        motor_bounds = self._fall.bound
        low = np.concatenate([np.zeros(n), ends[:, 0], -speed, np.full(len(motor_bounds), -np.inf)])
        high = np.concatenate([np.zeros(n), ends[:, 1], speed, motor_bounds])
        sides = zip(self._linear_bounds, (low, high), self.path_constraints.bounds(), strict=True)
        bounds = (np.concatenate([one, np.tile(own, points), last]) for one, own, last in sides)
        return next(bounds), next(bounds)

    def effort(self, z: Vector) -> float:
        """Return the effort, in times of the first guess."""
        return float(self._weights @ (self.split(z).u ** 2).sum(axis=1))

    def cost(self, z: Vector) -> float:
        """Return what is least: the effort, or the time beside its first guess and a little of it.

        Where one joint decides the time, others are free to do anything in it; of nearly equal
        times the one is taken whose inputs are small beside their limits.
        """
        effort = float(self._weights @ self.split(z).u ** 2 @ self._prices)
        return effort + (float(self.split(z).sigma[0, 0]) if self.wanted.minimises_time else 0.0)

    def cost_gradient(self, z: Vector) -> Vector:
        """Return how that changes with the unknowns, shape ``(count,)``."""
        slope: Vector = np.zeros(self.count)
        variables = self.split(slope)
        variables.sigma[:] = float(self.wanted.minimises_time)
        variables.u[:] = 2.0 * np.outer(self._weights, self._prices) * self.split(z).u
        return slope

    def time_scale_guess(self, z: Vector) -> float:
        """Return how many times as long a motion should about take to use its limits up.

        Raises:
            InputError: It has none.
        """
        u, speed = self.split(z).u, self.wanted.limit_share * self.freedoms.robot.velocity_limit
        low, high = self._input_bounds()
        if not (np.isfinite([*low, *high]).any() or self._fast.size):
            raise InputError(
                f"must be bounded by limits where its time is least; robot "
                f"'{self.freedoms.robot.name}' has none of motors and speeds."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            # pulling harder shortens with the square root
            pull = np.nanmax(np.maximum(u / low, u / high), initial=0.0)
        v = np.array([answer.v for answer in self.point_dynamics(z)])
        return max(float(np.sqrt(pull)), max_abs(v / speed))

    def row_values(self, z: Vector) -> Vector:
        """Return the rows, shape ``(rows,)``."""
        variables, sigma = self.split(z), float(self.split(z).sigma[0, 0])
        point_rows = []
        for k, answer in enumerate(self.point_dynamics(z)):
            rows = self._rows_at(answer, variables.u[k], sigma)
            rows[: self.freedoms.n] += variables.a[k]
            point_rows.append(rows)
        return np.concatenate(
            [
                self.linear @ z,
                *point_rows,
                self.path_constraints.values(variables.path_states, sigma),
            ]
        )

    def row_jacobian(self, z: Vector) -> sp.csc_array:
        """Return how the rows change with the unknowns, shape ``(rows, count)``."""
        variables = self.split(z)
        sigma, n = float(variables.sigma[0, 0]), self.freedoms.n
        answers, linear = self.point_dynamics(z, slopes=True), self.linear.tocoo()
        blocks = np.array([self._jacobian_at(answer, sigma) for answer in answers])
        path_gradients = self.path_constraints.gradients(variables.path_states, sigma)
        last = np.arange(self._own_rows[-1] + 1, self.rows).reshape(path_gradients.shape[:2])
        point_rows = self._own_rows.reshape(blocks.shape[:2])
        at = self.indices.a.ravel()
        entries = (
            (linear.data, linear.row, linear.col),
            block_entries(blocks, point_rows, self._own),
            block_entries(path_gradients, last, self._seen_at),
            (np.ones(at.size), point_rows[:, :n].ravel(), at),
        )
        values, rows, columns = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
        return sp.coo_array((values, (rows, columns)), shape=(self.rows, self.count)).tocsc()

    def hessian(self, z: Vector, of_cost: float, of_rows: Vector) -> sp.csc_array:
        """Return the upper triangle of the Hessian of the Lagrangian, ``(count, count)``."""
        variables, last = self.split(z), self._own_rows[-1] + 1
        forces = of_rows[self._own_rows].reshape(-1, self.rows_per_point)
        blocks = np.array([self._hessian_at(z, k, force) for k, force in enumerate(forces)])
        args = (
            variables.path_states,
            float(variables.sigma[0, 0]),
            of_rows[last:].reshape(self.path_constraints.shape),
        )
        path_hessians = self.path_constraints.hessians(*args, lasting=self.wanted.minimises_time)
        u = self.indices.u.ravel()
        weights = 2.0 * of_cost * np.outer(self._weights, self._prices).ravel()
        entries = (
            upper_triangle_entries(blocks, self._own),
            upper_triangle_entries(path_hessians, self._seen_at),
            (weights, u, u),
        )
        values, rows, columns = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
        return sp.coo_array((values, (rows, columns)), shape=(self.count, self.count)).tocsc()

    def with_grid(self, z: Vector, closer: GridSelection) -> tuple[NonlinearProgram, Vector]:
        """Return the program that looks at what is kept elsewhere, and its unknowns there."""
        args = self.freedoms, self.scheme, self.steps, self.wanted, self.h * self.steps
        program = NonlinearProgram(*args, self.path_constraints.rows.table, closer)
        z_new: Vector = np.zeros(program.count)
        previous, variables = self.split(z), program.split(z_new)
        for name in DecisionVariables._fields:
            # the rows of a finer grid have states of their own
            if name != "path_states":
                getattr(variables, name)[:] = getattr(previous, name)
        variables.path_states[:] = (
            program.path_constraints.evaluation @ program.motion(z_new)
        ).reshape(variables.path_states.shape)
        return program, z_new

    def motion(self, z: Vector) -> Vector:
        """Return what determines a motion: coordinates and rates where steps meet, accelerations
        at the points.
        """
        variables = self.split(z)
        return np.concatenate([variables.y.ravel(), variables.w.ravel(), variables.a.ravel()])

    def grid_slack(self, z: Vector) -> GridSlack:
        """Return what is left of what is kept all along; see `PathConstraintGrid.grid_slack`."""
        return self.path_constraints.grid_slack(self.motion(z), float(self.split(z).sigma[0, 0]))

    def reset_continuation(self) -> None:
        """Follow the joints that are no coordinates from the start again."""
        self._near, self._known = [], {}
        self.path_constraints.reset_continuation()

    def point_dynamics(self, z: Vector, *, slopes: bool = False) -> list[PointDynamics]:
        """Return the robot's answer at every point.

        Raises:
            UkctrlError: The passive rows cannot be kept at one of them.
        """
        key = z.tobytes()
        for flag in (slopes, True):
            # the solver asks for values and derivatives at one point in turn: evaluated once
            if flag in self._known and self._known[flag][0] == key:
                return self._known[flag][1]
        variables = self.split(z)
        sigma = float(variables.sigma[0, 0])
        answers, near = list[PointDynamics](), self.freedoms.start
        for k, t in enumerate(self.times(sigma).tolist()):
            near = self._near[k] if self._near else near
            state = variables.y_points[k], variables.rate[k] / sigma, variables.u[k]
            answer = self.freedoms.forward_dynamics(t, near, *state, slopes=slopes)
            answers.append(answer)
            # the first time along, each point begins where the one before it came out
            near = answer.place
        if slopes:
            self._near = [answer.place for answer in answers]
        self._known[slopes] = key, answers
        return answers

    def _rows_at(self, answer: PointDynamics, u: Vector, sigma: float) -> Vector:
        """Return the rows at a point, but for its accelerations."""
        fall, follow = self._fall, answer.place.q[self._coordinates]
        falling = u[fall.motors] / fall.limits + fall.speed_map @ answer.v
        return np.concatenate([-(sigma**2) * answer.a, follow, answer.v[self._fast], falling])

    def _jacobian_at(self, answer: PointDynamics, sigma: float) -> Matrix:
        """Return how they change with coordinates, rates, inputs and time."""
        n, fall = self.freedoms.n, self._fall
        by: Matrix = np.zeros((self.rows_per_point, self._own.shape[1]))
        ends = np.cumsum([n, len(self._followers), len(self._fast)]).tolist()
        by[:n, :-1] = -(sigma**2) * answer.a_jacobian
        by[ends[0] : ends[1], :n] = answer.place.tangent[self._followers]
        by[ends[1] : ends[2], : 2 * n] = answer.v_jacobian[self._fast]
        by[ends[2] :, : 2 * n] = fall.speed_map @ answer.v_jacobian
        by[np.arange(ends[2], self.rows_per_point), 2 * n + fall.motors] = 1.0 / fall.limits
        # speeds are rates over sigma, so that the length enters through them
        by[:, -1] = -by[:, n : 2 * n] @ answer.rate / sigma
        by[:n, -1] -= 2.0 * sigma * answer.a
        by[:, n : 2 * n] /= sigma
        return by

    def _hessian_at(self, z: Vector, k: int, forces: Vector) -> Matrix:
        """Return the Hessian of the rows at a point, weighed, in its own unknowns."""
        n, point, near = self.freedoms.n, z[self._own[k]], self._near[k]
        t = float(self.times(point[-1])[k])

        def slope(at: Vector) -> Vector:
            y, w, u, sigma = at[:n], at[n : 2 * n], at[2 * n : -1], float(at[-1])
            answer = self.freedoms.forward_dynamics(t, near, y, w / sigma, u, slopes=True)
            return np.asarray(forces @ self._jacobian_at(answer, sigma))

        # The robot's answer is affine in the inputs.
        return hessian_by_differences(
            slope, point, [*range(2 * n), *([len(point) - 1] if self.wanted.minimises_time else [])]
        )
