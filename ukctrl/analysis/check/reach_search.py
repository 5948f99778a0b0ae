"""Configurations that put a frame somewhere, and what stands in their way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from ukctrl.analysis.check.kept_along import INSIDE, SLACK
from ukctrl.analysis.check.kept_rows import Asking, serving
from ukctrl.analysis.check.needed_inputs import DRIVEN
from ukctrl.control.allocation.within_limits import Box
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.mechanics.constraints import PointFollows, Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.reference import Constant
from ukctrl.simulation.loop import Loop

DRAWN = 200
"""Configurations that are drawn to see how far a frame comes, and to look for others from."""
ITERATIONS, STRIDE, MET = 40, 0.5, 1e-8
"""Of a search: steps, the longest of them [rad or m], and the error that counts as none [m]."""
FOUND, AWAY = "reached", "out of reach"
KIND = {AWAY: 0, "joint": 1, "kept": 2, "motor": 3, FOUND: 4}
"""How far a configuration comes."""


@final
class Search:
    """Configurations of a robot that put a frame somewhere, and what stands in their way."""

    def __init__(self, loop: Loop, frame: str) -> None:
        self.loop, self.robot = loop, loop.robot
        robot, origin = loop.robot, Constant(value=(0.0, 0.0, 0.0))
        held = PointFollows(name="reach", frame=frame, path=origin)
        every = *passive_constraints(robot), *_standing(loop), held
        self._stack = Stack(every, robot, key="reach")
        self._own = len(self._stack) - 3
        self._held = self._stack.holonomic
        self._snapshot, self._rest = robot.snapshot(robot.neutral), np.zeros(robot.nv)
        known = {name: i for i, name in enumerate(robot.dofs)}
        ended = np.isfinite(robot.q_lower) | np.isfinite(robot.q_upper)
        at = [k for k, name in enumerate(robot.coordinates) if name in known and ended[k]]
        self._at = np.array(at, dtype=np.intp)
        self._moves = np.array([known[robot.coordinates[k]] for k in at], dtype=np.intp)
        self._low, self._high = robot.q_lower[self._at], robot.q_upper[self._at]
        keeper = loop.law.keeper
        self._kept = None
        if keeper is not None:
            self._kept = keeper, keeper.stack_on(robot), Asking(keeper, loop)
        rng = np.random.default_rng(0)
        count = 0 if robot.passive else DRAWN
        self.drawn = [self._clipped(robot.random(rng)) for _ in range(count)]

    def place(self, q: Vector) -> Vector:
        """Return where the frame is."""
        self._snapshot.move(q, self._rest, self.loop.t0)
        return self._stack.write(self._snapshot).phi[self._own :].copy()

    def attempt(self, seed: Vector, goal: Vector) -> tuple[str, str, Vector] | None:
        """Return how far a configuration comes that puts the frame at a place: a word of `KIND`,
        the reason, and the configuration; None where none is found from a seed.
        """
        q = self._solved(seed, goal, within=True)
        if q is None:
            q = self._solved(seed, goal, within=False)
            if q is None:
                return None
            over = np.maximum(q[self._at] - self._high, self._low - q[self._at])
            name = self.robot.coordinates[self._at[first_largest(over)]] if len(over) else ""
            return "joint", f"range of '{name}'", q
        beyond = self._beyond(q)
        if beyond:
            return "kept", f"kept '{beyond}'", q
        weak = self._weak(q)
        return ("motor", weak, q) if weak else (FOUND, FOUND, q)

    def _clipped(self, q: Vector) -> Vector:
        q = q.copy()
        q[self._at] = np.clip(q[self._at], self._low, self._high)
        return q

    def _solved(self, q: Vector, goal: Vector, *, within: bool) -> Vector | None:
        """Return a configuration with the frame at a place, by damped steps of Gauss-Newton."""
        q, last, stuck = self._clipped(q) if within else q, np.inf, 0
        for _ in range(ITERATIONS):
            self._snapshot.move(q, self._rest, self.loop.t0)
            rows = self._stack.write(self._snapshot)
            error = rows.phi.copy()
            error[self._own :] -= goal
            error, A = error[self._held], rows.A[self._held].copy()
            size = max_abs(error)
            if size <= MET:
                return q
            stuck = stuck + 1 if size > 0.98 * last else 0
            if stuck > 4 or not np.isfinite(size):
                return None
            last = size
            step = _step(A, error)
            if within:
                at = q[self._at]
                ends = ((at <= self._low) & (step[self._moves] > 0.0)) | (
                    (at >= self._high) & (step[self._moves] < 0.0)
                )
                if ends.any():
                    A[:, self._moves[ends]] = 0.0
                    step = _step(A, error)
            q = self.robot.integrate(q, -step / max(1.0, max_abs(step) / STRIDE))
            q = self._clipped(q) if within else q
        return None

    def _beyond(self, q: Vector) -> str:
        """Return the block that is beyond its limit there at rest; empty where none is."""
        if self._kept is None:
            return ""
        keeper, stack, _ = self._kept
        self._snapshot.move(q, self._rest, self.loop.t0)
        h, _ = keeper.state_of(stack.write(self._snapshot), self._rest)
        left = h[: len(keeper.barriers.row)] - keeper.barriers.margin
        worst = int(np.argmin(np.append(np.where(np.isnan(left), np.inf, left), np.inf)))
        return keeper.blocks[worst] if (left[worst : worst + 1] < -INSIDE).any() else ""

    def _weak(self, q: Vector) -> str:
        """Return why no input holds the robot there at rest; empty where one does."""
        robot, dynamics = self.robot, self.loop.truth
        if not robot.nu or robot.elastic is not None:
            return ""
        dynamics.move(self.loop.t0, q, self._rest)
        u, L = dynamics.least_input(self._rest), dynamics.L
        left = L.T @ (dynamics.a_free + dynamics.G @ u)
        if np.linalg.norm(left) > DRIVEN * (np.linalg.norm(L.T @ dynamics.a_free) + 1e-6):
            return f"nothing holds '{robot.dofs[first_largest(np.abs(left))]}'"
        rate = np.zeros(robot.nu)
        low, high = self.loop.conditions.bounds(rate) or robot.input_bounds(rate)
        wide = SLACK * (1.0 + np.abs(u))
        limits = Box(np.eye(len(u)), low - wide, high + wide)
        C, least = np.zeros((0, len(u))), np.zeros(0)
        if self._kept is not None:
            asked = self._kept[2].at(dynamics, u, low, high)
            C, least = asked.C, asked.least - asked.free - SLACK
        inside = bool((limits.low <= u).all() and (u <= limits.high).all())
        if inside and (C @ u >= least).all():
            return ""
        if serving(dynamics.G, u, limits, C, least) is not None:
            return ""
        if serving(dynamics.G, u, limits, C[:0], least[:0]) is not None or inside:
            return "forces of contacts" if self._kept is not None else ""
        size = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-9)
        over = np.maximum(u - high, low - u) / size
        return f"motor '{robot.actuators[first_largest(over)]}' too weak"


def _standing(loop: Loop) -> Iterator[PointFollows]:
    """Yield what keeps contacts that stick where they are: their rows along the ground are on
    velocities.
    """
    snapshot = loop.robot.snapshot(loop.state.q)
    for number, part in enumerate(loop.truth.passive.constraints):
        if part.stands is not None:
            x, y, z = snapshot.point(loop.robot.site(part.stands)).tolist()
            here = Constant(value=(x, y, z))
            yield PointFollows(name=f"stands_{number}", frame=part.stands, path=here)


def _step(A: Matrix, error: Vector) -> Vector:
    """Return a damped step that lowers errors."""
    normal = A @ A.T
    damped = normal + (1e-3 * float(error @ error) + 1e-12) * np.eye(len(normal))
    return np.asarray(A.T @ np.linalg.solve(damped, error))
