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

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.optimal.blocks import in_blocks, upper
from ukctrl.mechanics.optimal.differences import bent
from ukctrl.mechanics.optimal.falling import Falling
from ukctrl.mechanics.optimal.freedoms import Answer, Freedoms, Place
from ukctrl.mechanics.optimal.gauss import Gauss, input_rows, motion_rows
from ukctrl.mechanics.optimal.kept_points import KeptPoints, Left, Where
from ukctrl.mechanics.optimal.kept_rows import KeptRows, Quantities
from ukctrl.mechanics.optimal.unknowns import Layout, Unknowns, Wanted

SHORTEST = 0.05
"""The time is looked for from this part of its first guess up to as many times it."""
EASE, LEAST = 3e-3, 1e-9
"""Part of a time that inputs at their limits cost beside it, so that idle motors know what to do;
and the least limit of one."""


@final
class Program:
    """The program of a motion of some steps.

    Args:
        freedoms: The robot in its coordinates.
        scheme: The scheme.
        steps: Number of steps.
        wanted: What the motion is to do.
        duration: How long it takes, or the first guess of it [s].
        kept: What it keeps.
        closer: Where it is looked at that; see `KeptPoints`.

    Attributes:
        h: Length of a step of that duration [s].
        count: Number of unknowns.
        split: Returns a vector of them by name.
        rows: Number of rows.
        kept: Where it is looked at what is kept.
    """

    def __init__(
        self,
        freedoms: Freedoms,
        scheme: Gauss,
        steps: int,
        wanted: Wanted,
        duration: float,
        kept: Quantities,
        closer: Where | None = None,
    ) -> None:
        self.freedoms, self.scheme, self.steps, self.wanted = freedoms, scheme, steps, wanted
        robot, n, points = freedoms.robot, freedoms.n, steps * len(scheme.nodes)
        self.h = duration / steps
        given = freedoms, scheme, steps, self.h, wanted
        self.kept = KeptPoints(KeptRows(freedoms, kept), *given, closer)
        layout = Layout(steps, len(scheme.nodes), n, robot.nu, self.kept.count)
        self.count, self.split = layout.count, layout.split
        self.places = self.split(np.arange(self.count))
        self.linear, self._fixed = self._linear_rows()
        self._fast = np.flatnonzero(np.isfinite(robot.velocity_limit))
        lines = {int(block.iv): int(block.iq) for block in robot.blocks if block.shape == "line"}
        sides = np.column_stack([robot.q_lower, robot.q_upper])
        self._sides = {i: sides[k] for i, k in lines.items() if np.isfinite(sides[k]).any()}
        followers = [i for i in self._sides if i not in freedoms.chosen]
        self._followers = np.array(followers, dtype=np.intp)
        self._coordinates = np.array([lines[i] for i in followers], dtype=np.intp)
        self._fall = Falling.of(robot, freedoms.start.q, wanted.share)
        self.wide = n + len(followers) + len(self._fast) + len(self._fall.motors)
        self._own_rows = self.linear.shape[0] + np.arange(points * self.wide)
        self.rows = (
            self.linear.shape[0] + points * self.wide + self.kept.count * len(self.kept.rows)
        )
        self._weights = np.tile(self.h * scheme.weights, steps)
        self._prices: Vector = np.ones(robot.nu)
        if wanted.fastest:
            most = np.maximum(*np.abs(self._input_bounds()))
            self._prices = EASE / (duration * robot.nu * np.maximum(most, LEAST) ** 2)
        self._near: list[Place] = []
        self._known: dict[bool, tuple[bytes, list[Answer]]] = {}
        p = self.places
        self._own = np.hstack([p.at, p.rate, p.u, np.broadcast_to(p.sigma, (points, 1))])
        lasts = np.broadcast_to(p.sigma, (self.kept.count, 1))
        self._seen_at = np.hstack([*p.seen, lasts])

    def _linear_rows(self) -> tuple[sp.csr_array, int]:
        """Return the linear rows, and how many of them, the first, are zero along a motion."""
        n, nu, p = self.freedoms.n, self.freedoms.robot.nu, self.places
        motion = motion_rows(self.scheme, self.steps, n, self.h)
        motion.resize((motion.shape[0], self.count))
        inputs = input_rows(self.scheme, self.steps, nu)
        ends = sp.csr_array((inputs.shape[0], self.count)).tolil()
        ends[:, p.u.ravel()] = inputs
        seen = sp.csr_array((self.kept.seen.shape[0], self.count)).tolil()
        seen[:, np.concatenate([p.y.ravel(), p.w.ravel(), p.a.ravel()])] = self.kept.seen
        seen[:, p.seen.ravel()] = -sp.eye_array(p.seen.size)
        fixed = motion.shape[0] + seen.shape[0]
        return sp.vstack([motion, seen, ends], format="csr"), fixed

    def times(self, sigma: float) -> Vector:
        """Return when the points are, shape ``(k,)`` [s]."""
        at = np.arange(self.steps)[:, None] + self.scheme.nodes
        times: Vector = self.wanted.t + sigma * self.h * at.ravel()
        return times

    def bounds(self) -> tuple[Vector, Vector]:
        """Return between what the unknowns must be, shape ``(count,)`` each."""
        free, wanted, robot = self.freedoms, self.wanted, self.freedoms.robot
        low, high = np.full(self.count, -np.inf), np.full(self.count, np.inf)
        lower, upper = self.split(low), self.split(high)
        for k, i in enumerate(free.chosen.tolist()):
            if i in self._sides:
                for part, side in zip((lower, upper), self._sides[i].tolist(), strict=True):
                    part.y[:, k] = part.at[:, k] = side
        lower.u[:], upper.u[:] = self._input_bounds()
        given = np.isfinite(wanted.goal)
        beyond = given & ((wanted.goal < lower.y[-1]) | (wanted.goal > upper.y[-1]))
        if beyond.any():
            k = int(np.argmax(beyond))
            raise InputError(
                f"must end within the range of '{robot.dofs[free.chosen[k]]}', "
                f"{lower.y[-1, k]:.4g} to {upper.y[-1, k]:.4g}; got {wanted.goal[k]:.4g}."
            )
        for part in (lower, upper):
            part.y[0], part.w[0] = free.start.y, wanted.rate
            part.y[-1, given], part.w[-1] = wanted.goal[given], 0.0
            part.sigma[:] = 1.0
        if wanted.fastest:
            lower.sigma[:], upper.sigma[:] = SHORTEST, 1.0 / SHORTEST
        return low, high

    def _input_bounds(self) -> tuple[Vector, Vector]:
        low, high = self.freedoms.robot.input_bounds(np.zeros(self.freedoms.robot.nu))
        return self.wanted.share * low, self.wanted.share * high

    def row_bounds(self) -> tuple[Vector, Vector]:
        """Return between what the rows must be, shape ``(rows,)`` each."""
        n, points = self.freedoms.n, len(self._own)
        speed = self.wanted.share * self.freedoms.robot.velocity_limit[self._fast]
        ends = np.array([self._sides[i] for i in self._followers.tolist()]).reshape(-1, 2)
        room = self._fall.room
        low = np.concatenate([np.zeros(n), ends[:, 0], -speed, np.full(len(room), -np.inf)])
        high = np.concatenate([np.zeros(n), ends[:, 1], speed, room])
        fixed, ends = np.zeros(self._fixed), self.linear.shape[0] - self._fixed
        inputs = (np.resize(bound, ends) for bound in self._input_bounds())
        sides = zip(inputs, (low, high), strict=True)
        kept = self.kept.bounds()
        bounds = (
            np.concatenate([fixed, own, np.tile(one, points), last])
            for (own, one), last in zip(sides, kept, strict=True)
        )
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
        return effort + (float(self.split(z).sigma[0, 0]) if self.wanted.fastest else 0.0)

    def cost_slope(self, z: Vector) -> Vector:
        """Return how that changes with the unknowns, shape ``(count,)``."""
        slope: Vector = np.zeros(self.count)
        part = self.split(slope)
        part.sigma[:] = float(self.wanted.fastest)
        part.u[:] = 2.0 * np.outer(self._weights, self._prices) * self.split(z).u
        return slope

    def stretch(self, z: Vector) -> float:
        """Return how many times as long a motion should about take to use its limits up.

        Raises:
            InputError: It has none.
        """
        u, speed = self.split(z).u, self.wanted.share * self.freedoms.robot.velocity_limit
        low, high = self._input_bounds()
        if not (np.isfinite([*low, *high]).any() or self._fast.size):
            raise InputError(
                f"must be bounded by limits where its time is least; robot "
                f"'{self.freedoms.robot.name}' has none of motors and speeds."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.nanmax(np.maximum(u / low, u / high), initial=0.0)
        v = np.array([answer.v for answer in self.answers(z)])
        return max(float(np.sqrt(pull)), max_abs(v / speed))

    def row_values(self, z: Vector) -> Vector:
        """Return the rows, shape ``(rows,)``."""
        part, sigma = self.split(z), float(self.split(z).sigma[0, 0])
        own = []
        for k, answer in enumerate(self.answers(z)):
            rows = self._rows_at(answer, part.u[k], sigma)
            rows[: self.freedoms.n] += part.a[k]
            own.append(rows)
        return np.concatenate([self.linear @ z, *own, self.kept.values(part.seen, sigma)])

    def row_slopes(self, z: Vector) -> sp.csc_array:
        """Return how the rows change with the unknowns, shape ``(rows, count)``."""
        part = self.split(z)
        sigma, n = float(part.sigma[0, 0]), self.freedoms.n
        answers, linear = self.answers(z, slopes=True), self.linear.tocoo()
        blocks = np.array([self._slopes_at(answer, sigma) for answer in answers])
        kept = self.kept.slopes(part.seen, sigma)
        last = np.arange(self._own_rows[-1] + 1, self.rows).reshape(kept.shape[:2])
        own = self._own_rows.reshape(blocks.shape[:2])
        at = self.places.a.ravel()
        every = (
            (linear.data, linear.row, linear.col),
            in_blocks(blocks, own, self._own),
            in_blocks(kept, last, self._seen_at),
            (np.ones(at.size), own[:, :n].ravel(), at),
        )
        values, rows, columns = (np.concatenate(parts) for parts in zip(*every, strict=True))
        return sp.coo_array((values, (rows, columns)), shape=(self.rows, self.count)).tocsc()

    def hessian(self, z: Vector, of_cost: float, of_rows: Vector) -> sp.csc_array:
        """Return the upper triangle of the Hessian of the Lagrangian, ``(count, count)``."""
        part, last = self.split(z), self._own_rows[-1] + 1
        forces = of_rows[self._own_rows].reshape(-1, self.wide)
        blocks = np.array([self._bend_at(z, k, force) for k, force in enumerate(forces)])
        given = part.seen, float(part.sigma[0, 0]), of_rows[last:].reshape(self.kept.shape)
        kept = self.kept.bend(*given, lasting=self.wanted.fastest)
        u = self.places.u.ravel()
        weights = 2.0 * of_cost * np.outer(self._weights, self._prices).ravel()
        every = upper(blocks, self._own), upper(kept, self._seen_at), (weights, u, u)
        values, rows, columns = (np.concatenate(parts) for parts in zip(*every, strict=True))
        return sp.coo_array((values, (rows, columns)), shape=(self.count, self.count)).tocsc()

    def looked_at(self, z: Vector, closer: Where) -> tuple[Program, Vector]:
        """Return the program that looks at what is kept elsewhere, and its unknowns there."""
        given = self.freedoms, self.scheme, self.steps, self.wanted, self.h * self.steps
        program = Program(*given, self.kept.rows.kept, closer)
        own: Vector = np.zeros(program.count)
        before, part = self.split(z), program.split(own)
        for name in Unknowns._fields:
            if name != "seen":
                getattr(part, name)[:] = getattr(before, name)
        part.seen[:] = (program.kept.seen @ program.motion(own)).reshape(part.seen.shape)
        return program, own

    def motion(self, z: Vector) -> Vector:
        """Return what determines a motion: coordinates and rates where steps meet, accelerations
        at the points.
        """
        part = self.split(z)
        return np.concatenate([part.y.ravel(), part.w.ravel(), part.a.ravel()])

    def on_grid(self, z: Vector) -> Left:
        """Return what is left of what is kept all along; see `KeptPoints.on_grid`."""
        return self.kept.on_grid(self.motion(z), float(self.split(z).sigma[0, 0]))

    def forget(self) -> None:
        """Follow the joints that are no coordinates from the start again."""
        self._near, self._known = [], {}
        self.kept.forget()

    def answers(self, z: Vector, *, slopes: bool = False) -> list[Answer]:
        """Return the robot's answer at every point.

        Raises:
            UkctrlError: The passive rows cannot be kept at one of them.
        """
        key = z.tobytes()
        for known in (slopes, True):
            if known in self._known and self._known[known][0] == key:
                return self._known[known][1]
        part = self.split(z)
        sigma = float(part.sigma[0, 0])
        found, near = list[Answer](), self.freedoms.start
        for k, t in enumerate(self.times(sigma).tolist()):
            near = self._near[k] if self._near else near
            state = part.at[k], part.rate[k] / sigma, part.u[k]
            answer = self.freedoms.at(t, near, *state, slopes=slopes)
            found.append(answer)
            near = answer.place
        if slopes:
            self._near = [answer.place for answer in found]
        self._known[slopes] = key, found
        return found

    def _rows_at(self, answer: Answer, u: Vector, sigma: float) -> Vector:
        """Return the rows at a point, but for its accelerations."""
        fall, follow = self._fall, answer.place.q[self._coordinates]
        falling = u[fall.motors] / fall.limits + fall.onto @ answer.v
        return np.concatenate([-(sigma**2) * answer.a, follow, answer.v[self._fast], falling])

    def _slopes_at(self, answer: Answer, sigma: float) -> Matrix:
        """Return how they change with coordinates, rates, inputs and time."""
        n, fall = self.freedoms.n, self._fall
        by: Matrix = np.zeros((self.wide, self._own.shape[1]))
        ends = np.cumsum([n, len(self._followers), len(self._fast)]).tolist()
        by[:n, :-1] = -(sigma**2) * answer.a_by
        by[ends[0] : ends[1], :n] = answer.place.tangent[self._followers]
        by[ends[1] : ends[2], : 2 * n] = answer.v_by[self._fast]
        by[ends[2] :, : 2 * n] = fall.onto @ answer.v_by
        by[np.arange(ends[2], self.wide), 2 * n + fall.motors] = 1.0 / fall.limits
        by[:, -1] = -by[:, n : 2 * n] @ answer.rate / sigma
        by[:n, -1] -= 2.0 * sigma * answer.a
        by[:, n : 2 * n] /= sigma
        return by

    def _bend_at(self, z: Vector, k: int, forces: Vector) -> Matrix:
        """Return the Hessian of the rows at a point, weighed, in its own unknowns."""
        n, own, near = self.freedoms.n, z[self._own[k]], self._near[k]
        t = float(self.times(own[-1])[k])

        def slope(at: Vector) -> Vector:
            y, w, u, sigma = at[:n], at[n : 2 * n], at[2 * n : -1], float(at[-1])
            answer = self.freedoms.at(t, near, y, w / sigma, u, slopes=True)
            return np.asarray(forces @ self._slopes_at(answer, sigma))

        # The robot's answer is affine in the inputs.
        return bent(slope, own, [*range(2 * n), *([len(own) - 1] if self.wanted.fastest else [])])
