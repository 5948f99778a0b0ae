"""Constraints on points: distances, surfaces, the centre of mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import (
    BoundConstraint,
    Constraint,
    FrameProbe,
    FrameTrace,
    Rows,
    sample_path,
)
from ukctrl.mechanics.constraints.frames import Axes
from ukctrl.mechanics.constraints.kinematics import without_rounding
from ukctrl.mechanics.constraints.signed_distances import RelativePointMotion, write_norm_row
from ukctrl.mechanics.reference import AnyReference
from ukctrl.robot.snapshot import FrameMotion, PointMotion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@spec
class Distance(Constraint):
    r"""Two frames keep a distance: $\phi = |p_b - p_a| - d(t)$ [m], with $d > 0$."""

    kind: Literal["distance"] = "distance"
    frames: tuple[str, str]
    """The two frames; either may be fixed in the world."""
    path: AnyReference
    """Distance over time, one component [m]."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Distance(self, robot)


class _Distance(BoundConstraint):
    def __init__(self, spec: Distance, robot: Robot) -> None:
        first, second = spec.frames
        if first == second:
            raise InputError(f"frames must be two frames; got '{first}' twice.")
        self.block = spec.name or f"{first}_to_{second}"
        self.names, self.units, self.holonomic = (self.block,), ("m",), (True,)
        self._a, self._b = FrameProbe(robot, first), FrameProbe(robot, second)
        self._path = sample_path(spec.path, 1, f"path of '{self.block}'")

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        a, b, path = self._a, self._b, self._path
        args = a.motion, b.motion, RelativePointMotion.zeros(s.robot.nv), path.values
        row = BoundKernel(distance_row, *args, rows, fault=self._nowhere)
        return a.step(s), b.step(s), path.step(s.clock), row

    def _nowhere(self, code: int) -> DomainError:
        return DomainError(
            f"distance '{self.block}' must stay above zero, where it has no direction; got 0."
        )


@compiled
def distance_row(
    a: FrameMotion, b: FrameMotion, apart: RelativePointMotion, path: Vector, rows: Rows
) -> bool:
    """Write the row of a distance; returns whether it has a direction."""
    square = 0.0
    for i in range(3):
        apart.position[i] = b.position[i] - a.position[i]
        apart.velocity[i] = b.velocity[i] - a.velocity[i]
        apart.drift[i] = b.drift[i] - a.drift[i]
        square += apart.position[i] * apart.position[i]
        for c in range(apart.J.shape[1]):
            apart.J[i, c] = b.J[i, c] - a.J[i, c]
    write_norm_row(apart, path[0], 0.0, rows, 0)
    rows.beta[0] -= path[1]
    rows.b[0] += path[2]
    # at distance zero the row has no direction: a fault, whose message names it
    return square > 0.0


@spec
class OnSurface(Constraint):
    r"""A point of the robot stays on a surface: $\phi = g(x, y, z, t)$.

    $\ddot\phi = \nabla g \cdot \ddot p + \dot p^\top g_{pp}\, \dot p + 2 g_{pt} \cdot \dot p
    + g_{tt}$; gradient and Hessian are derived exactly from the text.
    """

    kind: Literal["on_surface"] = "on_surface"
    frame: str
    """Frame whose origin stays on the surface."""
    surface: str
    """``g`` as text over ``x``, ``y``, ``z`` [m] and ``t`` [s]; zero on the surface."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Surface(self, robot)


class _Surface(BoundConstraint):
    def __init__(self, spec: OnSurface, robot: Robot) -> None:
        import sympy  # here, because it takes as long to import as all the rest

        from ukctrl.core.expression.codegen import compile_function
        from ukctrl.core.expression.symbolic import parse

        self.name_rows(spec.name or spec.frame, {"surface": ""})
        self._frame = spec.frame
        self._probe = FrameProbe(robot, spec.frame)
        names = ["x", "y", "z", "t"]
        g = parse(spec.surface, names)
        symbols = {str(symbol): symbol for symbol in g.free_symbols}
        x = [symbols.get(name, sympy.Symbol(name)) for name in names]
        first = [sympy.diff(g, s) for s in x]
        second = [sympy.diff(f, s) for f in first for s in x]
        self._g = compile_function([g, *first, *second], [names[:3], "t"], label=spec.surface)
        self._values = np.zeros(21)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        probe, g = self._probe, self._values
        formula = self._g.as_step((probe.p, s.clock), g)
        motion = probe.J, probe.velocity, probe.drift
        return probe.step(s), formula, BoundKernel(surface_row, g, *motion, rows)

    def trace(self) -> FrameTrace:
        return FrameTrace(self._frame, self._probe.p, np.zeros(0), np.zeros(0, dtype=np.intp))


@compiled
def surface_row(
    g: Vector,
    J: Matrix,
    velocity: Vector,
    drift: Vector,
    rows: Rows,
) -> None:
    """Write the row of a surface: ``g``, its gradient and its Hessian, by place and time."""
    A, b, beta, phi = rows
    phi[0], beta[0], b[0] = g[0], g[4], -g[20]
    for c in range(A.shape[1]):
        A[0, c] = 0.0
    for i in range(3):
        beta[0] += g[1 + i] * velocity[i]
        b[0] -= g[1 + i] * drift[i] + (g[8 + 4 * i] + g[17 + i]) * velocity[i]
        for k in range(3):
            b[0] -= velocity[i] * g[5 + 4 * i + k] * velocity[k]
        for c in range(A.shape[1]):
            A[0, c] += g[1 + i] * J[i, c]


@spec
class ComFollows(Constraint):
    r"""The centre of mass of the robot follows a path: $\phi = c(q) - r(t)$ in world axes [m]."""

    kind: Literal["com_follows"] = "com_follows"
    path: AnyReference
    """Path in world axes, one component for each of ``axes`` [m]."""
    axes: Axes = "xyz"
    """World axes that are held; the others stay free."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Com(self, robot)


class _Com(BoundConstraint):
    def __init__(self, spec: ComFollows, robot: Robot) -> None:
        self.name_rows(spec.name or "com", dict.fromkeys(spec.axes, "m"))
        self._com = PointMotion.zeros(robot.nv)
        self._axes = np.array(["xyz".index(axis) for axis in spec.axes])
        label = f"path of '{self.block}'"
        self._path = sample_path(spec.path, len(self.names), label, "".join(spec.axes))

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        com, path = self._com, self._path
        row_step = BoundKernel(com_rows, com, self._axes, path.values, rows)
        return *s.com_steps(com), path.step(s.clock), row_step


@compiled
def com_rows(com: PointMotion, axes: Indices, path: Vector, rows: Rows) -> None:
    """Write the rows that hold a point on a path, along some axes of the world."""
    (position, J, velocity, drift), (A, b, beta, phi) = com, rows
    m = len(axes)
    for row in range(m):
        i = axes[row]
        phi[row] = position[i] - path[row]
        beta[row] = velocity[i] - path[m + row]
        b[row] = path[2 * m + row] - drift[i]
        for c in range(A.shape[1]):
            A[row, c] = without_rounding((J[0, c], J[1, c], J[2, c]))[i]
