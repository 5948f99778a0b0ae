r"""What a robot's speeds, accelerations and motors allow along a path of its joints.

Along $q(s)$ the velocity is $v = q' \dot s$, the acceleration $a = q' \ddot s + q'' \dot s^2$. The
inputs are those of $L^\top (a - a_\mathrm{free}) = L^\top G\, u$, in the directions that the motors
reach, so that closed chains and redundant actuation need nothing of their own. $a_\mathrm{free}$
is quadratic in the speed but for friction; there the limits are tangents at the profile of the
last pass.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.timing.input_zonotope import InputZonotope, input_zonotope
from ukctrl.mechanics.timing.reachability import FRACTIONS, LinearPathLimits
from ukctrl.robot.values_by_name import values_by_name

DIFFERENCE_RATIO = 1e-3
"""Part of the square of a speed by which it is changed for the slope of what depends on it."""
MIN_SQUARE_SPEED = 1e-8
"""Square of the slowest speed at which friction is asked for, beside the fastest on the path."""
UNDRIVEN_RTOL = 1e-5
"""Part of an acceleration that may be beyond the motors, in the measure of mass."""
FAR_LIMIT_FACTOR = 1e8
"""A motor with one limit has its other so many times further away."""
STILL_RTOL = 1e-9
"""A joint that moves less, beside the others, has no speed that would be limited."""


class GeometricPath(NamedTuple):
    """A path of all joints over a parameter."""

    s: Vector
    """The grid, increasing, shape ``(n,)``."""
    q: Matrix
    """Shape ``(n, nq)``."""
    dq: Matrix
    """First derivative by s, a velocity, shape ``(n, nv)``."""
    ddq: Matrix
    """Second derivative by s, shape ``(n, nv)``."""


@dc.dataclass(frozen=True, kw_only=True)
class TimingLimits:
    """Which limits a timing keeps, and how nearly it may come to them."""

    motors: bool = True
    """Whether those of the motors are kept, beside those of the joints' speeds."""
    share: float = 1.0
    """Part of every limit that may be used."""
    acceleration: float | Mapping[str, float] = np.inf
    """Largest acceleration of every joint, or of some by name [rad/s^2 or m/s^2]."""
    reaction: float | Mapping[str, float] = np.inf
    """Largest reaction of every passive row, or of some by name [N or N m]."""


class _ActuationMap(NamedTuple):
    """What motors do at a point of the path, as far as it does not depend on the speed."""

    force_map: Matrix
    """From accelerations onto the directions that motors reach, shape ``(d, nv)``."""
    zonotope: InputZonotope
    unit_acceleration: Vector
    r"""What $\ddot s = 1$ takes along each normal, shape ``(k,)``."""


@final
class PathLimits:
    """The limits of a robot along a path of its joints.

    Args:
        path: The path.
        dynamics: The robot at a time.
        kept: Which limits.
        when: The time of each point, shape ``(n,)``; absent: 0 [s].
        bounds: What the motors give at the rates of their inputs; absent: those of the robot.

    Raises:
        InputError: The motors cannot move the robot along the path, or it has springs; or
            reactions are limited that the motion does not determine.
    """

    def __init__(
        self,
        path: GeometricPath,
        dynamics: Callable[[float], Dynamics],
        limits: TimingLimits,
        when: Vector | None = None,
        bounds: Callable[[Vector], tuple[Vector, Vector]] | None = None,
    ) -> None:
        self.path, self._dynamics, self.kept = path, dynamics, limits
        self._when: Vector = np.zeros(len(path.s)) if when is None else when
        first = dynamics(float(self._when[0]))
        self.robot = first.robot
        if self.robot.elastic is not None and limits.motors:
            raise InputError(
                f"robot '{self.robot.name}' must have rigid joints for a timing by its motors: "
                "through springs inputs depend on the path's fourth derivative. Use limits = "
                "'speed', or the robot without its springs."
            )
        self._bounds = bounds or self.robot.input_bounds
        upper = limits.share * values_by_name(limits.acceleration, self.robot.dofs, "joint", np.inf)
        self._limited = np.flatnonzero(np.isfinite(upper))
        self._acceleration = upper[self._limited]
        upper = limits.share * values_by_name(
            limits.reaction, first.passive.names, "passive row", np.inf
        )
        self._bearing = np.flatnonzero(np.isfinite(upper))
        self._reaction = upper[self._bearing]
        by_joint = self._joint_speed_bounds(path.dq)
        self._fastest_joint = np.argmin(by_joint, axis=1)
        self.max_square_speed: Vector = np.min(by_joint, axis=1) ** 2
        k = np.repeat(np.arange(len(path.s) - 1), len(FRACTIONS))
        fractions = np.tile(FRACTIONS, len(path.s) - 1)
        self.inner_square_speed: Matrix = self.inner_bound(k, fractions).reshape(-1, len(FRACTIONS))
        self._drives = [self._drive(k) for k in range(len(path.s))] if limits.motors else []
        self._count = max((len(drive.unit_acceleration) for drive in self._drives), default=0)
        if self._bearing.size:
            self._require_determined()

    def tangents(self, x: Vector, at: Indices | None = None) -> LinearPathLimits:
        """Return the limits, as exact tangents at a profile; each row in parts of its limit.

        Args:
            x: The square of the speed, shape ``(n,)``.
            at: The points of the grid, shape ``(n,)``; absent: all, one after the other.
        """
        at = np.arange(len(self.path.s)) if at is None else at
        n, free, bearing = len(at), len(self._limited), len(self._bearing)
        count = free + bearing + self._count
        a, b = np.zeros((2, n, 2, count))
        c: Array = np.ones((n, 2, count))
        signs = np.array([[1.0], [-1.0]])
        a[:, :, :free] = signs * (self.path.dq[at][:, self._limited] / self._acceleration)[:, None]
        b[:, :, :free] = signs * (self.path.ddq[at][:, self._limited] / self._acceleration)[:, None]
        # at rest the differences in x would go to negative speeds
        x = np.maximum(x, MIN_SQUARE_SPEED * max(float(x.max()), MIN_SQUARE_SPEED))
        for i, k in enumerate(at.tolist() if bearing else ()):
            columns = slice(free, free + bearing)
            gain, offset, slope = self._reaction_rows(k, float(x[i])) / self._reaction
            a[i, :, columns], b[i, :, columns] = signs * gain, signs * slope
            c[i, :, columns] = 1.0 - signs * offset
        for i, k in enumerate(at.tolist() if self._drives else ()):
            drive = self._drives[k]
            columns = slice(free + bearing, free + bearing + len(drive.unit_acceleration))
            offset, slope, half = self._speed_demand(k, drive, float(x[i]))
            a[i, :, columns] = signs * drive.unit_acceleration / half
            b[i, :, columns], c[i, :, columns] = slope / half, 1.0 - offset / half
        # each row twice, with either sign: limits are two-sided
        shape = n, 2 * count
        return LinearPathLimits(
            a.reshape(shape), b.reshape(shape), c.reshape(shape), self.max_square_speed[at]
        )

    def binding(self, k: int, row: int) -> tuple[str, ...]:
        """Return what a row of the limits at a point is of, such as ``("motor 'elbow'",)``."""
        free, bearing = len(self._limited), len(self._bearing)
        row %= free + bearing + self._count
        if row < free:
            return (f"acceleration of '{self.robot.dofs[self._limited[row]]}'",)
        if row < free + bearing:
            passive = self._dynamics(float(self._when[k])).passive
            return (f"reaction of '{passive.names[self._bearing[row - free]]}'",)
        motors = self._drives[k].zonotope.binding_motors(row - free - bearing)
        return tuple(f"motor '{self.robot.actuators[i]}'" for i in motors)

    def fastest_joint(self, k: int) -> str:
        """Return which joint bounds the speed alone at a point."""
        return f"speed of '{self.robot.dofs[self._fastest_joint[k]]}'"

    def inner_bound(self, k: Indices, fraction: Vector) -> Vector:
        """Return what the joints' speeds bound the square of the speed by within intervals.

        Args:
            k: The intervals, by their first points, shape ``(m,)``.
            fraction: Parts of them, shape ``(m,)``.
        """
        f, h = fraction[:, None], np.diff(self.path.s)[k, None]
        (begin, end), (rise, fall) = (
            (values[k], values[k + 1]) for values in (self.path.dq, self.path.ddq)
        )
        # Hermite's cubic as its line, and what bends it
        bow = (1.0 - f) * (h * rise + begin - end) - f * (h * fall + begin - end)
        rates = begin + f * (end - begin) + f * (1.0 - f) * bow
        bound: Vector = np.min(self._joint_speed_bounds(rates), axis=1) ** 2
        return bound

    def _joint_speed_bounds(self, rates: Matrix) -> Matrix:
        """Return the speed at which each joint is at its limit, shape ``(m, nv)``."""
        moves, speed = np.abs(rates), self.kept.share * self.robot.velocity_limit
        # a joint at rest limits no speed; divided by, its rounding would
        moves[moves <= STILL_RTOL * max_abs(self.path.dq)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(moves > 0.0, speed / moves, np.inf)

    def _moved(self, k: int, x: float) -> Dynamics:
        t = float(self._when[k])
        dynamics = self._dynamics(t)
        dynamics.move(t, self.path.q[k], self.path.dq[k] * np.sqrt(x))
        return dynamics

    def _drive(self, k: int) -> _ActuationMap:
        dynamics = self._moved(k, 1.0)
        # in mass-weighted coordinates, where what motors reach is an orthogonal projection
        basis, L, dq = dynamics.reached(), dynamics.L, self.path.dq[k]
        tangent, turning = L.T @ dq, L.T @ (self.path.ddq[k] - dynamics.a_free)
        for push in (tangent, turning):
            missed = push - basis @ (basis.T @ push)
            # the 1e-6 keeps 0/0 out where neither tangent nor bend asks for a force
            whole = np.linalg.norm(push) + np.linalg.norm(tangent) + 1e-6
            if np.linalg.norm(missed) > UNDRIVEN_RTOL * whole:
                name = self.robot.dofs[first_largest(np.abs(missed))]
                raise InputError(
                    f"robot '{self.robot.name}' must have motors for the path at every timing; at "
                    f"s = {self.path.s[k]:.4g} none of them moves '{name}' as it asks."
                )
        onto = basis.T @ L.T
        low, high = self._two_sided_bounds(np.zeros(self.robot.nu))
        around = input_zonotope(onto @ dynamics.G, np.isfinite(low) & np.isfinite(high))
        return _ActuationMap(onto, around, around.normals @ (onto @ dq))

    def _require_determined(self) -> None:
        """Refuse to limit reactions that the motion leaves open."""
        dynamics = self._moved(0, 1.0)
        # inputs that move nothing press the closures at will: their reactions are no function of
        # the timing
        spare = self.robot.nu - dynamics.reached().shape[1]
        open_ones = [dynamics.passive.names[i] for i in self._bearing]
        shared = [name for name in open_ones if name in dynamics.sharing()]
        if spare or shared:
            reason = (
                f"{spare} motors more than freedoms leave reactions open"
                if spare
                else f"{quoted(shared)} share their load, which the motion does not determine"
            )
            raise InputError(
                f"reaction must be of rows whose reactions the motion determines; {reason}."
            )

    def _reaction_rows(self, k: int, x: float) -> Matrix:
        r"""Return the limited reactions near x, ``gain u + mean + slope x``, shape ``(3, r)``."""
        dq, ddq = self.path.dq[k], self.path.ddq[k]
        unit = 1.0 / max_abs(dq)  # of a size that changes the acceleration by about one

        def reactions(u: float, x: float) -> Vector:
            dynamics, a = self._moved(k, x), dq * u + ddq * x
            force = dynamics.passive_force(a, dynamics.least_input(a))
            return dynamics.reactions(force)[self._bearing]

        below, above = (
            reactions(0.0, x * (1.0 - DIFFERENCE_RATIO)),
            reactions(0.0, x * (1.0 + DIFFERENCE_RATIO)),
        )
        mean, slope = 0.5 * (below + above), (above - below) / (2.0 * DIFFERENCE_RATIO * x)
        # linear in the acceleration, so that one difference is exact
        gain = (reactions(unit, x) - reactions(0.0, x)) / unit
        return np.array([gain, mean - slope * x, slope])

    def _two_sided_bounds(self, rate: Vector) -> tuple[Vector, Vector]:
        """Return the limits of the motors at their rates; of one-sided ones, another far away."""
        low, high = (np.array(bound, dtype=np.float64) for bound in self._bounds(rate))
        # the solver needs both ends: far enough away never to bind
        one = np.isfinite(low) ^ np.isfinite(high)
        far = FAR_LIMIT_FACTOR * (1.0 + np.abs(np.where(np.isfinite(low), low, high)))
        low[one & ~np.isfinite(low)] = -far[one & ~np.isfinite(low)]
        high[one & ~np.isfinite(high)] = far[one & ~np.isfinite(high)]
        return low, high

    def _speed_demand(
        self, k: int, drive: _ActuationMap, x: float
    ) -> tuple[Matrix, Matrix, Vector]:
        r"""Return what the speed takes along each normal, and backwards along it.

        Beside the half width at x: ``mean + slope x`` near x, shapes ``(2, k)`` and ``(k,)``.
        """
        demands, widths = [], []
        for at in (x * (1.0 - DIFFERENCE_RATIO), x * (1.0 + DIFFERENCE_RATIO)):
            dynamics = self._moved(k, at)
            rate = dynamics.snapshot.v @ dynamics.snapshot.B
            middle, half = drive.zonotope.bounds(*self._two_sided_bounds(rate))
            push = drive.zonotope.normals @ (
                drive.force_map @ (self.path.ddq[k] * at - dynamics.a_free)
            )
            widths.append(self.kept.share * np.maximum(half, np.finfo(float).tiny))
            demands.append(np.array([push - middle, middle - push]) - widths[-1])
        # limits and friction depend on speed: tangents at this x, renewed pass after pass
        half = 0.5 * (widths[0] + widths[1])
        slope = (demands[1] - demands[0]) / (2.0 * DIFFERENCE_RATIO * x)
        return 0.5 * (demands[0] + demands[1]) + half - slope * x, slope, half
