r"""How far two capsules are apart: segments with radii, fixed on bodies or in the world.

Points of the segments are $w(s, t) = a_0 + s\,(a_1 - a_0) - b_0 - t\,(b_1 - b_0)$ apart, and
$\phi = \min_{s, t} |w| - r$. With the nearest parameters $\dot\phi = n \cdot \dot w$ along
$n = w / |w|$, and the parameters that are free move as well, so that

$$ |w|\,\ddot\phi = \dot w \cdot \dot w + w \cdot \ddot w - \dot\phi^2 - g^\top S^{-1} g, \qquad
   g = \tfrac{\mathrm d}{\mathrm d t} \nabla_{\!s,t} \tfrac12 |w|^2, \quad S = \nabla^2 \tfrac12
   |w|^2 . $$

The nearest points of segments that become parallel jump from one end to the other, and there $\phi$
has a kink. So the distances of the ends are rows of their own: what keeps all of them keeps the
least, whichever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from pydantic import model_validator

from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Distance, Length, Position, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, FrameProbe, Rows
from ukctrl.mechanics.constraints.signed_distances import RelativePointMotion, write_norm_row
from ukctrl.robot.shape_sources import ShapeKind
from ukctrl.robot.snapshot import FrameMotion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot

MIN_ANGLE = 0.02
"""Below this angle [rad] between segments the curvature of their distance is that at this angle,
for between the ends it is then nearly that of the ends."""


@spec
class Capsule:
    """A segment with a radius; without an end of its own, a sphere; without a radius, around
    the link's shapes in the robot's file.
    """

    frame: str
    """Frame on which it is fixed; ``world`` too."""
    start: Position = (0.0, 0.0, 0.0)
    """Where its axis begins, in the frame [m]."""
    end: Position | None = None
    """Where it ends, in the frame [m]; absent: where it begins."""
    radius: Distance | None = None
    """Radius [m]; absent, with ``start`` and ``end``: the smallest capsule around the link of that
    name in the robot's model file."""
    around: ShapeKind = "visual"
    """The shapes that a capsule without a radius is fitted around: what the file shows of the link,
    or what collides."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.radius is None and (self.end is not None or any(self.start)):
            raise InputError(
                "a capsule must have a radius, or be fitted around its link's shapes in the model "
                "file, without start and end; got an axis without a radius."
            )
        return self

    def fit(self, robot: Robot) -> Capsule:
        """Return it with its measures, fitted to the link of a robot where it has none.

        Raises:
            InputError: The model file has no such shape of the link.
        """
        if self.radius is not None:
            return self
        from ukctrl.robot.geometry.fitted_capsule import capsule_around  # it loads much of SciPy

        start, end, radius = capsule_around(robot, self.frame, self.around)
        begin, stop = ((float(x), float(y), float(z)) for x, y, z in (start, end))
        return Capsule(frame=self.frame, start=begin, end=stop, radius=radius)

    @property
    def has_length(self) -> bool:
        """Whether it has a length."""
        return self.end is not None and self.end != self.start

    def probes(self, robot: Robot) -> tuple[FrameProbe, FrameProbe]:
        """Return the ends of its axis on a robot."""
        begin, end = self.start, self.end or self.start
        return FrameProbe(robot, self.frame, begin), FrameProbe(robot, self.frame, end)


@spec
class CapsuleDistance(Constraint):
    r"""The distance of two segments beyond a radius, and those of their ends [m]."""

    first: Capsule
    """The one."""
    second: Capsule
    """The other."""
    radius: Length
    """Distance of the axes at which it is zero [m]."""

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows: the whole first, then ends of one that the other has a side for."""
        if not (self.first.has_length and self.second.has_length):
            return ("",)
        return "", "first_start", "first_end", "second_start", "second_end"

    def attach(self, robot: Robot) -> BoundConstraint:
        return _CapsuleDistance(self, robot)


class CapsuleAxes(NamedTuple):
    """The ends of the axes of two capsules."""

    a0: FrameMotion
    a1: FrameMotion
    b0: FrameMotion
    b1: FrameMotion


class _CapsuleDistance(BoundConstraint):
    def __init__(self, spec: CapsuleDistance, robot: Robot) -> None:
        one, two = spec.first.frame, spec.second.frame
        if robot.site(one).joint == robot.site(two).joint:
            raise InputError(f"capsules must be on two bodies; '{one}' and '{two}' are on one.")
        self.name_rows(spec.name or f"{one}_to_{two}", dict.fromkeys(spec.row_names, "m"))
        self._probes = *spec.first.probes(robot), *spec.second.probes(robot)
        a0, a1, b0, b1 = (probe.motion for probe in self._probes)
        self._segments, self._radius = CapsuleAxes(a0, a1, b0, b1), float(spec.radius)
        self._apart = RelativePointMotion.zeros(robot.nv)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        moved = tuple(probe.step(s) for probe in self._probes)
        return *moved, BoundKernel(capsule_rows, self._segments, self._radius, self._apart, rows)


@compiled
def clip_unit(x: float) -> float:
    """Return a number within 0 and 1."""
    return min(max(x, 0.0), 1.0)


@compiled
def axis_products(ends: CapsuleAxes) -> tuple[float, float, float, float, float]:
    """Return products of the axes and of what lies between their beginnings."""
    aa, bb, ab, ar, br = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        a, b = ends.a1.position[i] - ends.a0.position[i], ends.b1.position[i] - ends.b0.position[i]
        r = ends.a0.position[i] - ends.b0.position[i]
        aa, bb, ab = aa + a * a, bb + b * b, ab + a * b
        ar, br = ar + a * r, br + b * r
    return aa, bb, ab, ar, br


@compiled
def nearest_parameters(ends: CapsuleAxes) -> tuple[float, float]:
    """Return where on both segments the nearest points are (Ericson, Real-time collision detection,
    2005, section 5.1.9).
    """
    aa, bb, ab, ar, br = axis_products(ends)
    # a point has one parameter, and two points none
    if aa == 0.0:
        return 0.0, clip_unit(br / bb) if bb > 0.0 else 0.0
    if bb == 0.0:
        return clip_unit(-ar / aa), 0.0
    across = aa * bb - ab * ab
    # parallel axes: every s is nearest, so any will do
    s = clip_unit((ab * br - ar * bb) / across) if across > 1e-14 * aa * bb else 0.0
    t = (ab * s + br) / bb
    # clamped at an end of the second axis: the nearest point of the first to that end
    if t < 0.0:
        return clip_unit(-ar / aa), 0.0
    if t > 1.0:
        return clip_unit((ab - ar) / aa), 1.0
    return s, t


@compiled
def axis_distance_row(
    ends: CapsuleAxes,
    s: float,
    t: float,
    radius: float,
    apart: RelativePointMotion,
    rows: Rows,
    k: int,
) -> None:
    """Write the row of the distance at the nearest parameters; those inside of (0, 1) are free.

    Of axes that meet, the distance counts along the first axis of the world; ``apart`` is room.
    """
    a0, a1, b0, b1 = ends
    aa, bb, ab, _, _ = axis_products(ends)
    pull = g_s = g_t = 0.0
    for i in range(3):
        a, b = a1.position[i] - a0.position[i], b1.position[i] - b0.position[i]
        a_dot, b_dot = a1.velocity[i] - a0.velocity[i], b1.velocity[i] - b0.velocity[i]
        w = a0.position[i] + s * a - b0.position[i] - t * b
        w_dot = a0.velocity[i] + s * a_dot - b0.velocity[i] - t * b_dot
        apart.position[i], apart.velocity[i] = w, w_dot
        drift = (1.0 - s) * a0.drift[i] + s * a1.drift[i]
        apart.drift[i] = drift - (1.0 - t) * b0.drift[i] - t * b1.drift[i]
        for c in range(apart.J.shape[1]):
            J = (1.0 - s) * a0.J[i, c] + s * a1.J[i, c]
            apart.J[i, c] = J - (1.0 - t) * b0.J[i, c] - t * b1.J[i, c]
        g_s += w_dot * a + w * a_dot
        g_t -= w_dot * b + w * b_dot
    # a parameter inside its segment moves along; one at an end stays, and adds nothing
    if 0.0 < s < 1.0 and 0.0 < t < 1.0:
        # nearly parallel axes: the nearest points run away along them, faster than any tick follows
        across = max(aa * bb - ab * ab, MIN_ANGLE * MIN_ANGLE * aa * bb)
        pull = (bb * g_s * g_s + 2.0 * ab * g_s * g_t + aa * g_t * g_t) / across
    elif 0.0 < s < 1.0:
        pull = g_s * g_s / aa
    elif 0.0 < t < 1.0:
        pull = g_t * g_t / bb
    write_norm_row(apart, radius, pull, rows, k)


@compiled
def capsule_rows(ends: CapsuleAxes, radius: float, apart: RelativePointMotion, rows: Rows) -> None:
    """Write the rows of the distance of two segments, and of those of their ends; ``apart`` is
    room.
    """
    s, t = nearest_parameters(ends)
    axis_distance_row(ends, s, t, radius, apart, rows, 0)
    # a point against an axis: its nearest point moves smoothly, and one row suffices
    if len(rows.b) == 1:
        return
    aa, bb, ab, ar, br = axis_products(ends)
    # the ends have rows of their own (decision 0142): of parallel axes the nearest point jumps from
    # one to the other
    axis_distance_row(ends, 0.0, clip_unit(br / bb), radius, apart, rows, 1)
    axis_distance_row(ends, 1.0, clip_unit((br + ab) / bb), radius, apart, rows, 2)
    axis_distance_row(ends, clip_unit(-ar / aa), 0.0, radius, apart, rows, 3)
    axis_distance_row(ends, clip_unit((ab - ar) / aa), 1.0, radius, apart, rows, 4)
