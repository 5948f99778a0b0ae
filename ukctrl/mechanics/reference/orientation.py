"""Orientation references: R(t) with its exact angular velocity and acceleration.

R maps vectors of the frame to the world. Angular velocity and acceleration are in world axes:
``R_dot = hat(omega) R``.
"""

from __future__ import annotations

import abc
import bisect
import itertools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator
from pydantic.dataclasses import rebuild_dataclass

from ukctrl.core.arrays import Matrix
from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.fields import Angles3, Direction, ListSize, Quaternion, Seconds, spec
from ukctrl.core.kind_registry import accept_instances, union_of_kinds
from ukctrl.mechanics.reference.composite_paths import AnyReference
from ukctrl.mechanics.reference.piecewise_polynomial import compile_combination, compile_constant
from ukctrl.mechanics.reference.reference import Reference, TimeFunction
from ukctrl.mechanics.reference.rotations import (
    from_quaternion,
    from_rpy,
    hat,
    to_axis_angle,
)
from ukctrl.mechanics.reference.timing_options import RETIMED_PLACE_ERROR, TimingOptions
from ukctrl.mechanics.reference.waypoints import Instants, check_times, instants

OrientationPath = Callable[[float], tuple[float, ...]]
"""Compiled orientation: time in; R row by row (9), omega (3), omega_dot (3) out."""

MAX_SLERP_ANGLE = math.pi - 1e-6
"""From this angle on, the shorter way between two orientations is not defined [rad]."""


class OrientationSample(NamedTuple):
    """An orientation at one time, or at n times (a first axis of length n)."""

    R: NDArray[np.float64]
    """Rotation from the frame to the world, (3, 3)."""
    omega: NDArray[np.float64]
    """Angular velocity in world axes, (3,) [rad/s]."""
    omega_dot: NDArray[np.float64]
    """Angular acceleration in world axes, (3,) [rad/s^2]."""


class OrientationReference(TimeFunction):
    """An orientation R(t) with exact angular velocity and acceleration."""

    @abc.abstractmethod
    def compile(self) -> OrientationPath:
        """Return a fast function of time [s]: R row by row, omega, omega_dot; 15 floats."""

    @property
    def extent(self) -> tuple[float, float] | None:
        """When it begins and ends [s]; None where it goes on for ever."""
        return None

    def __call__(self, t: float) -> OrientationSample:
        """Return the orientation at one time [s]."""
        R, omega, omega_dot = self.sample([t])
        return OrientationSample(R[0], omega[0], omega_dot[0])

    def sample(self, times: Iterable[float]) -> OrientationSample:
        """Return the orientation at many times [s]: (n, 3, 3), (n, 3) and (n, 3)."""
        flat = np.array([self.compiled(float(t)) for t in times]).reshape(-1, 15)
        return OrientationSample(flat[:, :9].reshape(-1, 3, 3), flat[:, 9:12], flat[:, 12:])


def _one_form(rpy: object, quaternion: object, names: str = "rpy or quaternion") -> None:
    if (rpy is None) == (quaternion is None):
        raise InputError(f"must have either {names}.")


def _rotation(rpy: Any, quaternion: Any) -> Matrix:
    return from_rpy(rpy) if quaternion is None else from_quaternion(quaternion)


@spec
class ConstantOrientation(OrientationReference):
    """An orientation that does not change."""

    kind: Literal["constant"] = "constant"
    rpy: Angles3 | None = None
    """Roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll) [rad]; or give ``quaternion``."""
    quaternion: Quaternion | None = None
    """Unit quaternion [x, y, z, w]."""

    @model_validator(mode="after")
    def _given_once(self) -> Self:
        _one_form(self.rpy, self.quaternion)
        return self

    def compile(self) -> OrientationPath:
        R = _rotation(self.rpy, self.quaternion)
        return compile_constant((*R.ravel().tolist(), *([0.0] * 6)))


@spec
class AboutAxis(OrientationReference):
    r"""A turn about a fixed axis of the world, $R = \exp(\hat n\,\theta(t))\, R_0$."""

    shares_time: ClassVar[bool] = True
    kind: Literal["about_axis"] = "about_axis"
    axis: Direction
    """Axis n in the world."""
    angle: AnyReference
    r"""Scalar reference $\theta(t)$ [rad]."""
    rpy: Angles3 = (0.0, 0.0, 0.0)
    """Orientation R0 at angle 0: roll, pitch and yaw [rad]."""

    @property
    def extent(self) -> tuple[float, float] | None:
        return self.angle.extent

    @model_validator(mode="after")
    def _scalar(self) -> Self:
        if self.angle.size != 1:
            raise InputError(f"angle must have one component; got {self.angle.size}.")
        return self

    def compile(self) -> OrientationPath:
        n = np.array(self.axis) / np.linalg.norm(self.axis)
        rows = np.zeros((15, 5))
        rows[:9, :3] = np.stack(_turn(n, from_rpy(self.rpy)), axis=2).reshape(9, 3)
        rows[9:12, 3] = n
        rows[12:, 4] = n
        lines = ["a, a1, a2 = angle(t)", "s = sin(a)", "c = cos(a)"]
        namespace = {"angle": self.angle.compile()}
        return compile_combination(lines, ["1", "s", "c", "a1", "a2"], rows, namespace)


def _turn(n: NDArray[np.float64], R: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return the coefficients of 1, sin and cos in ``exp(hat(n) angle) R``."""
    K = hat(n)
    return (np.eye(3) + K @ K) @ R, K @ R, -K @ K @ R


_RPY_LINES = (
    "r, p, y, r1, p1, y1, r2, p2, y2 = angles(t)",
    "cr = cos(r)",
    "sr = sin(r)",
    "cp = cos(p)",
    "sp = sin(p)",
    "cy = cos(y)",
    "sy = sin(y)",
    # world axis of roll, e = Rz Ry x, and its rate; that of pitch is (-sy, cy, 0), of yaw z
    "ex = cy*cp",
    "ey = sy*cp",
    "ex1 = -sy*cp*y1 - cy*sp*p1",
    "ey1 = cy*cp*y1 - sy*sp*p1",
    "return (ex, cy*sp*sr - sy*cr, cy*sp*cr + sy*sr, "
    "ey, sy*sp*sr + cy*cr, sy*sp*cr - cy*sr, "
    "-sp, cp*sr, cp*cr, "
    "r1*ex - p1*sy, r1*ey + p1*cy, y1 - r1*sp, "
    "r2*ex + r1*ex1 - p2*sy - p1*y1*cy, r2*ey + r1*ey1 + p2*cy - p1*y1*sy, "
    "y2 - r2*sp - r1*p1*cp)",
)


@spec
class RollPitchYaw(OrientationReference):
    """Roll, pitch and yaw as functions of time, R = Rz(yaw) Ry(pitch) Rx(roll)."""

    shares_time: ClassVar[bool] = True
    kind: Literal["rpy"] = "rpy"
    angles: AnyReference
    """Reference of three components, roll, pitch and yaw [rad]; ``stacked`` joins three scalars."""

    @property
    def extent(self) -> tuple[float, float] | None:
        return self.angles.extent

    @model_validator(mode="after")
    def _three(self) -> Self:
        if self.angles.size != 3:
            raise InputError(f"angles must have three components; got {self.angles.size}.")
        return self

    def compile(self) -> OrientationPath:
        return CompiledFormula(["t"], _RPY_LINES, time=0, known={"angles": self.angles.compile()})


_PROFILES = {
    "min_jerk": (
        "a = angle*s*s*s*(10.0 + s*(-15.0 + 6.0*s))",
        "a1 = angle/span*s*s*(30.0 + s*(-60.0 + 30.0*s))",
        "a2 = angle/(span*span)*s*(60.0 + s*(-180.0 + 120.0*s))",
    ),
    "uniform": ("a = angle*s", "a1 = angle/span", "a2 = 0.0"),
}


@spec
class OrientationWaypoints(OrientationReference):
    r"""Through given orientations, coming to rest at each.

    From one to the next it turns about a fixed axis by the shorter way (slerp), with the
    minimum-jerk profile $10 s^3 - 15 s^4 + 6 s^5$ or evenly. Outside its times it holds its ends.
    """

    kind: Literal["between"] = "between"
    rpy: Annotated[tuple[Angles3, ...], ListSize(2)] | None = None
    """Orientations as roll, pitch and yaw [rad]; or give ``quaternions``."""
    quaternions: Annotated[tuple[Quaternion, ...], ListSize(2)] | None = None
    """Orientations as unit quaternions [x, y, z, w]; q and -q are the same."""
    times: Instants | None = None
    """Instant of each orientation [s]; or give ``duration``."""
    duration: Seconds | None = None
    """Time from first to last [s], evenly spaced from t = 0."""
    profile: Literal["min_jerk", "uniform"] = "min_jerk"
    """From rest to rest with least jerk, or at constant velocity (which jumps at each)."""

    @property
    def extent(self) -> tuple[float, float] | None:
        last = (self.duration or 0.0) if self.times is None else self.times[-1]
        return (0.0 if self.times is None else self.times[0]), last

    @model_validator(mode="after")
    def _well_posed(self) -> Self:
        _one_form(self.rpy, self.quaternions, "rpy or quaternions")
        rotations = self._rotations()
        check_times(self.times, self.duration, len(rotations))
        for index, (one, successor) in enumerate(itertools.pairwise(rotations)):
            if to_axis_angle(successor @ one.T)[1] > MAX_SLERP_ANGLE:
                raise InputError(
                    f"orientations {index + 1} and {index + 2} are half a turn apart, so the way "
                    "round is not defined; put one in between."
                )
        return self

    def _rotations(self) -> list[Matrix]:
        if self.quaternions is not None:
            return [from_quaternion(quaternion) for quaternion in self.quaternions]
        return [from_rpy(rpy) for rpy in self.rpy or ()]

    def compile(self) -> OrientationPath:
        rotations = self._rotations()
        times = instants(self.times, self.duration, len(rotations)).tolist()
        pieces = []
        for index, R in enumerate(rotations[:-1]):
            n, angle = to_axis_angle(rotations[index + 1] @ R.T)
            constants = np.stack(_turn(n, R)).ravel().tolist()
            span = times[index + 1] - times[index]
            pieces.append((times[index], span, angle, *n.tolist(), *constants))
        zeros = [0.0] * 6
        names = [f"{letter}{i}" for letter in "ksc" for i in range(9)]
        entries = ", ".join(f"k{i} + sa*s{i} + ca*c{i}" for i in range(9))
        lines = [
            f"if t < {times[0]!r}:",
            "    return before",
            f"if t > {times[-1]!r}:",
            "    return after",
            f"(start, span, angle, nx, ny, nz, {', '.join(names)}) = "
            "pieces[bisect_right(breaks, t)]",
            "s = (t - start)/span",
            *_PROFILES[self.profile],
            "sa = sin(a)",
            "ca = cos(a)",
            f"return ({entries}, a1*nx, a1*ny, a1*nz, a2*nx, a2*ny, a2*nz)",
        ]
        namespace = {
            "pieces": pieces,
            # inner instants alone: the search gives a piece at both ends too
            "breaks": times[1:-1],
            "bisect_right": bisect.bisect_right,
            "before": (*rotations[0].ravel().tolist(), *zeros),
            "after": (*rotations[-1].ravel().tolist(), *zeros),
        }
        return CompiledFormula(["t"], lines, time=0, known=namespace)


@spec
class TimeScaledOrientation(OrientationReference):
    r"""An orientation on another clock, $R(t) = R_p(s(t))$."""

    kind: Literal["time_scaled"] = "time_scaled"
    orientation: AnyOrientation
    """The orientation over s."""
    clock: AnyReference
    """A scalar reference s(t) [s]."""

    @model_validator(mode="after")
    def _scalar(self) -> Self:
        if self.clock.size != 1:
            raise InputError(f"clock must have one component; got {self.clock.size}.")
        return self

    def compile(self) -> OrientationPath:
        names = [f"x{i}" for i in range(15)]
        values = names[:9] + [f"s1*{name}" for name in names[9:12]]
        # chain rule, as of a path: the angular velocity is linear in the clock's rate
        values += [f"s1*s1*{names[i + 3]} + s2*{names[i]}" for i in (9, 10, 11)]
        lines = [
            "s, s1, s2 = clock(t)",
            f"({', '.join(names)},) = orientation(s)",
            f"return ({', '.join(values)},)",
        ]
        namespace = {"clock": self.clock.compile(), "orientation": self.orientation.compile()}
        return CompiledFormula(["t"], lines, time=0, known=namespace)


@spec
class RetimedOrientation(TimingOptions, OrientationReference):
    """An orientation on the fastest clock that the robot's limits allow, that of retimed paths."""

    kind: Literal["retimed"] = "retimed"
    of: AnyOrientation
    """The orientation over its own time s; it must turn without stops, unless a path goes on."""

    def on_clock(self, clock: Reference) -> TimeScaledOrientation:
        """Return the orientation on a scalar clock s(t)."""
        return TimeScaledOrientation(orientation=self.of, clock=clock)

    def compile(self) -> OrientationPath:
        raise InputError(RETIMED_PLACE_ERROR)


if TYPE_CHECKING:
    AnyOrientation = OrientationReference
else:
    _classes = (
        ConstantOrientation,
        AboutAxis,
        RollPitchYaw,
        OrientationWaypoints,
        TimeScaledOrientation,
        RetimedOrientation,
    )
    AnyOrientation = union_of_kinds(
        with_entry_points("orientation", OrientationReference, {cls.kind: cls for cls in _classes}),
        accept_instances(OrientationReference),
    )
"""Any orientation reference, told apart by ``kind``."""

for _kind in (TimeScaledOrientation, RetimedOrientation):
    rebuild_dataclass(_kind)  # type: ignore[arg-type]  # they contain the union they belong to
