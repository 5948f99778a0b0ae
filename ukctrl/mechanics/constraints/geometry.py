"""Constraints on points: distances, surfaces, the centre of mass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.expression.codegen import DomainError
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints.constraint import (
    Attached,
    Constraint,
    FrameProbe,
    Rows,
    Trace,
    path_of_size,
)
from ukctrl.mechanics.constraints.frames import Axes
from ukctrl.mechanics.reference import AnyReference

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

    def attach(self, robot: Robot) -> Attached:
        return _Distance(self, robot)


class _Distance(Attached):
    def __init__(self, spec: Distance, robot: Robot) -> None:
        first, second = spec.frames
        if first == second:
            raise InputError(f"frames must be two frames; got '{first}' twice.")
        self.block = spec.name or f"{first}_to_{second}"
        self.names, self.units, self.holonomic = (self.block,), ("m",), (True,)
        self._a, self._b = FrameProbe(robot, first), FrameProbe(robot, second)
        self._path = path_of_size(spec.path, 1, f"path of '{self.block}'")

    def write(self, s: Snapshot, rows: Rows) -> None:
        a, b = self._a, self._b
        a.move(s)
        b.move(s)
        y, y_dot = b.p - a.p, b.velocity[:3] - a.velocity[:3]
        length = float(np.sqrt(y @ y))
        if length == 0.0:
            raise DomainError(
                f"distance '{self.block}' must stay above zero, where it has no direction; got 0."
            )
        normal = y / length
        closing = float(normal @ y_dot)
        d, d_dot, d_ddot = self._path(s.t)
        rows.A[0] = normal @ (b.J[:3] - a.J[:3])
        rows.phi[0] = length - d
        rows.beta[0] = closing - d_dot
        drift = normal @ (b.drift[:3] - a.drift[:3]) + (y_dot @ y_dot - closing**2) / length
        rows.b[0] = d_ddot - drift


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

    def attach(self, robot: Robot) -> Attached:
        return _Surface(self, robot)


class _Surface(Attached):
    def __init__(self, spec: OnSurface, robot: Robot) -> None:
        import sympy  # here, because it takes as long to import as all the rest

        from ukctrl.core.expression.codegen import compile_function
        from ukctrl.core.expression.symbolic import parse

        self.name_rows(spec.name or spec.frame, {"surface": ""})
        self._frame = spec.frame
        self._probe = FrameProbe(robot, spec.frame)
        names = ["x", "y", "z", "t"]
        g = parse(spec.surface, names)
        known = {str(symbol): symbol for symbol in g.free_symbols}
        x = [known.get(name, sympy.Symbol(name)) for name in names]
        first = [sympy.diff(g, s) for s in x]
        second = [sympy.diff(f, s) for f in first for s in x]
        self._g = compile_function([g, *first, *second], names, label=spec.surface)

    def write(self, s: Snapshot, rows: Rows) -> None:
        probe = self._probe
        probe.move(s)
        p_dot: Vector = np.append(probe.velocity[:3], 1.0)
        values = self._g(*probe.p.tolist(), s.t)
        gradient: Vector = np.array(values[1:4])
        hessian: Matrix = np.reshape(values[5:], (4, 4))
        rows.A[0] = gradient @ probe.J[:3]
        rows.phi[0] = values[0]
        rows.beta[0] = gradient @ probe.velocity[:3] + values[4]
        rows.b[0] = -(gradient @ probe.drift[:3] + p_dot @ hessian @ p_dot)

    def trace(self) -> Trace:
        return Trace(self._frame, self._probe.p, np.full(3, np.nan))


@spec
class ComFollows(Constraint):
    r"""The centre of mass of the robot follows a path: $\phi = c(q) - r(t)$ in world axes [m]."""

    kind: Literal["com_follows"] = "com_follows"
    path: AnyReference
    """Path in world axes, one component for each of ``axes`` [m]."""
    axes: Axes = "xyz"
    """World axes that are held; the others stay free."""

    def attach(self, robot: Robot) -> Attached:
        return _Com(self)


class _Com(Attached):
    def __init__(self, spec: ComFollows) -> None:
        self.name_rows(spec.name or "com", dict.fromkeys(spec.axes, "m"))
        self._axes = np.array(["xyz".index(axis) for axis in spec.axes])
        self._path = path_of_size(spec.path, len(self.names), f"path of '{self.block}'")

    def write(self, s: Snapshot, rows: Rows) -> None:
        com, axes = s.com(), self._axes
        r, r_dot, r_ddot = np.array(self._path(s.t)).reshape(3, -1)
        rows.A[:] = com.J[axes]
        rows.phi[:] = com.position[axes] - r
        rows.beta[:] = com.velocity[axes] - r_dot
        rows.b[:] = r_ddot - com.drift[axes]
