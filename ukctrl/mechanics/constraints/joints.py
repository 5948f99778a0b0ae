"""Constraints on coordinates and velocities: joints, linear rows, expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import Number, spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, Rows, sample_path
from ukctrl.mechanics.reference import AnyReference, Reference

if TYPE_CHECKING:
    from ukctrl.core.expression.constraint_rows import DerivedRows, Form
    from ukctrl.robot import Robot, Snapshot


@spec
class JointFollows(Constraint):
    r"""One-degree-of-freedom joints follow a path: $\phi_i = q_i - r_i(t)$ [rad or m].

    A continuous joint (no limits, coordinates cos and sin) counts by its angle, wrapped into
    half a turn around the path.
    """

    kind: Literal["joint_follows"] = "joint_follows"
    joints: tuple[str, ...]
    """Names of the degrees of freedom."""
    path: AnyReference
    """Path, one component a joint [rad or m]."""

    @property
    def miss(self) -> float:
        return self.path.miss

    @property
    def planned(self) -> Reference | None:
        return self.path if self.path.is_planned else None

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Joints(self, robot)


class _Joints(BoundConstraint):
    def __init__(self, spec: JointFollows, robot: Robot) -> None:
        self.block = spec.name or "joints"
        self._dofs = np.array([dof_index(robot, joint) for joint in spec.joints])
        self._coordinates = _coordinates(robot, spec.joints)
        self.names = tuple(f"{self.block}.{joint}" for joint in spec.joints)
        self.units = tuple(robot.dof_units[i].removesuffix("/s") for i in self._dofs)
        self.holonomic = (True,) * len(self.names)
        self._path = sample_path(spec.path, len(self.names), f"path of '{self.block}'")

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        path, at = self._path, (self._dofs, self._coordinates)
        return path.step(s.clock), BoundKernel(joint_rows, s.q, s.v, *at, path.values, rows)


@compiled
def joint_rows(
    q: Vector,
    v: Vector,
    dofs: Indices,
    coordinates: Indices,
    path: Vector,
    rows: Rows,
) -> None:
    """Write the rows of joints on a path; of each its place in ``v``, and as `_coordinates`."""
    A, b, beta, phi = rows
    m = len(dofs)
    for i in range(m):
        A[i, dofs[i]] = 1.0
        phi[i] = joint_coordinate(q, coordinates[i]) - path[i]
        # a joint without end has its angle up to whole turns, and the path may wind
        if coordinates[i, 1]:
            phi[i] = wrap_angle(phi[i])
        beta[i] = v[dofs[i]] - path[m + i]
        b[i] = path[2 * m + i]


@compiled
def joint_coordinate(q: Vector, coordinate: Indices) -> float:
    """Return the angle or the distance of a joint; see `_coordinates`."""
    at = coordinate[0]
    return math.atan2(q[at + 1], q[at]) if coordinate[1] else float(q[at])


@compiled
def wrap_angle(angle: float) -> float:
    """Return an angle as one of at most half a turn."""
    return float(angle - math.tau * np.rint(angle / math.tau))


def dof_index(robot: Robot, name: str) -> int:
    """Return the place of a degree of freedom in ``v``."""
    if name not in robot.dofs:
        raise unknown_name("degree of freedom", name, robot.dofs)
    return robot.dofs.index(name)


def _coordinates(robot: Robot, joints: Sequence[str]) -> Indices:
    """Return the first place of each joint in ``q``, and whether it is a cosine, shape (k, 2)."""
    return np.array([_coordinate_index(robot, joint) for joint in joints], dtype=np.int64)


def _coordinate_index(robot: Robot, name: str) -> tuple[int, bool]:
    if name in robot.coordinates:
        return robot.coordinates.index(name), False
    if f"{name}_cos" in robot.coordinates:
        return robot.coordinates.index(f"{name}_cos"), True
    raise InputError(
        f"'{name}' must be a joint with one degree of freedom to follow a path; it belongs to a "
        "larger joint. Hold its frame with 'point_follows' or 'orientation_follows'."
    )


@spec
class Gear(Constraint):
    r"""Two joints coupled by a gear: $\phi = q_1 - \rho\, q_2 - o$ [rad or m].

    A continuous joint counts by its angle, and the error then wraps into half a turn; a
    continuous driver needs a whole ratio, because its turns are not counted. The multiplier is
    the effort of the gear on the first joint.
    """

    kind: Literal["gear"] = "gear"
    joints: tuple[str, str]
    """The driven joint, then the one that drives it; each with one degree of freedom."""
    ratio: Number
    """How far the first moves per unit of the second."""
    offset: Number = 0.0
    """Where the first is when the second is at zero [rad or m]."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Gear(self, robot)


class _Gear(BoundConstraint):
    def __init__(self, spec: Gear, robot: Robot) -> None:
        first, second = spec.joints
        if first == second:
            raise InputError(f"joints must be two joints; got '{first}' twice.")
        if spec.ratio == 0.0:
            raise InputError("ratio must not be zero; got 0.")
        self._dofs = np.array([dof_index(robot, joint) for joint in spec.joints])
        self._coordinates = _coordinates(robot, spec.joints)
        # half a turn of the second would be told from a turn and a half by counting alone
        if self._coordinates[1, 1] and not float(spec.ratio).is_integer():
            raise InputError(
                f"ratio must be a whole number where '{second}' turns without limits, because its "
                f"turns are not counted; got {spec.ratio:g}."
            )
        self.block = spec.name or f"{first}_by_{second}"
        self.names, self.holonomic = (self.block,), (True,)
        self.units = (robot.dof_units[self._dofs[0]].removesuffix("/s"),)
        self._given = float(spec.ratio), float(spec.offset)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        return (BoundKernel(gear_row, s.q, s.v, self._dofs, self._coordinates, *self._given, rows),)


@compiled
def gear_row(
    q: Vector,
    v: Vector,
    dofs: Indices,
    coordinates: Indices,
    ratio: float,
    offset: float,
    rows: Rows,
) -> None:
    """Write the row of a gear between two joints."""
    A, b, beta, phi = rows
    first, second = dofs[0], dofs[1]
    # the other entries are zeros from the start, and nobody writes them
    A[0, first], A[0, second] = 1.0, -ratio
    phi[0] = (
        joint_coordinate(q, coordinates[0]) - ratio * joint_coordinate(q, coordinates[1]) - offset
    )
    # the same of a gear, whose two angles come from (cos, sin)
    if coordinates[0, 1] or coordinates[1, 1]:
        phi[0] = wrap_angle(phi[0])
    beta[0] = v[first] - ratio * v[second]
    b[0] = 0.0


@spec
class LinearVelocity(Constraint):
    r"""A combination of velocities follows a value: $\psi = \sum_i k_i v_i - r(t) = 0$.

    Nonholonomic as far as the row knows: it has no position level.
    """

    kind: Literal["linear_velocity"] = "linear_velocity"
    coefficients: dict[str, Number]
    """Coefficient of each degree of freedom that takes part."""
    path: AnyReference
    """Desired value over time, one component; its derivative is used too."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Linear(self, robot)


class _Linear(BoundConstraint):
    def __init__(self, spec: LinearVelocity, robot: Robot) -> None:
        self.block = spec.name or "velocity"
        self.names, self.holonomic = (self.block,), (False,)
        self._k = np.zeros(robot.nv)
        units = set()
        for name, value in spec.coefficients.items():
            self._k[dof_index(robot, name)] = value
            units.add(robot.dof_units[dof_index(robot, name)].removesuffix("/s"))
        self.units = (units.pop() if len(units) == 1 else "",)
        self._path = sample_path(spec.path, 1, f"path of '{self.block}'")

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        path = self._path
        return path.step(s.clock), BoundKernel(velocity_row, s.v, self._k, path.values, rows)


@compiled
def velocity_row(v: Vector, k: Vector, path: Vector, rows: Rows) -> None:
    """Write the row of a combination of velocities."""
    A, b, beta, phi = rows
    beta[0] = -path[0]
    for i in range(len(k)):
        A[0, i] = k[i]
        beta[0] += k[i] * v[i]
    b[0], phi[0] = path[1], np.nan


Formulas = str | tuple[str, ...]


@spec
class Expression(Constraint):
    r"""A constraint written as mathematics; ``A`` and ``b`` are derived from it exactly.

    Exactly one of ``phi``, ``psi``, ``pfaffian`` is given, as one text or a list of texts:

    - ``phi``: $\phi(q, t) = 0$, holonomic, over coordinate names and ``t``.
    - ``psi``: $\psi(q, v, t) = 0$, nonholonomic; velocities are written ``v.q1``.
    - ``pfaffian``: $\sum_i a_i(q, t)\, dq_i + a_0\, dt = 0$, with ``d.q1`` and ``d.t``.
    """

    TOML_KEY: ClassVar[str] = ""
    """Key under which a user writes the formulas; empty: their own."""
    kind: Literal["expression"] = "expression"
    phi: Formulas | None = None
    """Holonomic constraint."""
    psi: Formulas | None = None
    """Nonholonomic constraint."""
    pfaffian: Formulas | None = None
    """Constraint linear in differentials."""
    path: AnyReference | None = None
    r"""What the formulas follow instead of zero, one component a formula: $\phi(q, t) = r(t)$."""
    unit: str = ""
    """Unit of ``phi`` (of ``psi`` times seconds), such as ``"rad"``; for labels only."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        forms = [form for form in ("phi", "psi", "pfaffian") if getattr(self, form) is not None]
        if len(forms) != 1:
            came = " and ".join(forms) or "none of them"
            raise InputError(f"give exactly one of phi, psi and pfaffian; got {came}.")
        if self.path is not None and self.pfaffian is not None:
            raise InputError("path must come with phi or psi; a Pfaffian form follows none.")
        return self

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Expression(self, robot)


class _Expression(BoundConstraint):
    def __init__(self, spec: Expression, robot: Robot) -> None:
        derived = derived_rows(spec, robot)
        count = len(derived.texts)
        self.block = spec.name or "expression"
        self.names = (
            (self.block,) if count == 1 else tuple(f"{self.block}.{i + 1}" for i in range(count))
        )
        self.units = (spec.unit,) * count
        self.holonomic = (derived.form == "holonomic",) * count
        path, label = spec.path, f"path of '{self.block}'"
        self._path = None if path is None else sample_path(path, count, label)
        self._derived = derived
        self._values, self._none = np.zeros(count * (robot.nv + 3)), np.zeros(0)

    def formulas(self) -> DerivedRows | None:
        return self._derived if self._path is None else None

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        steps = [self._derived.evaluate.as_step((s.q, s.v, s.clock), self._values)]
        followed = self._none
        if self._path is not None:
            steps.append(self._path.step(s.clock))
            followed = self._path.values
        steps.append(BoundKernel(formula_rows, self._values, followed, self.holonomic[0], rows))
        return steps


@compiled
def formula_rows(
    values: Vector,
    path: Vector,
    holonomic: bool,
    rows: Rows,
) -> None:
    """Write what formulas give: ``A`` row by row, ``b``, ``beta`` and ``phi``, less a path."""
    A, b, beta, phi = rows
    m, n = A.shape
    for i in range(m):
        for c in range(n):
            A[i, c] = values[i * n + c]
        at = m * n + i
        b[i], beta[i], phi[i] = values[at], values[at + m], values[at + 2 * m]
        if len(path) and holonomic:
            phi[i] -= path[i]
            beta[i] -= path[m + i]
            b[i] += path[2 * m + i]
        # of a row on velocities the path is a rate
        elif len(path):
            beta[i] -= path[i]
            b[i] += path[m + i]


def derived_rows(spec: Expression, robot: Robot) -> DerivedRows:
    """Return the formulas of a constraint as symbols, without the path that they follow.

    Raises:
        ExpressionError: One is not acceptable; the message names its key.
    """
    from ukctrl.core.expression.constraint_rows import derive_rows

    candidates: dict[str, tuple[Form, Formulas | None]] = {
        "phi": ("holonomic", spec.phi),
        "psi": ("nonholonomic", spec.psi),
        "pfaffian": ("pfaffian", spec.pfaffian),
    }
    key, form, text = next((k, f, text) for k, (f, text) in candidates.items() if text is not None)
    with error_context(spec.TOML_KEY or key):
        return derive_rows(
            (text,) if isinstance(text, str) else text,
            form=form,
            coordinates=robot.coordinates,
            dofs=robot.dofs,
            rates=robot.rates,
            constants=robot.structure.parameters,
        )
