r"""The equation that is linear in parameters, factored without a matrix of all samples.

$$ Y(q, v, a)\, \pi + I_a a + F_c \tanh\frac{v}{v_\varepsilon} + d\, v + f_0
   = \tau + f_\mathrm{known} $$

Each equation keeps a triangle ``R`` with $R^\top R = X^\top X$ of its own columns and the right
side, which batches of samples are worked into by QR: no normal equations, and memory for one batch.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.robot import Robot
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.forces import Dampers, Forces, Friction
from ukctrl.robot.rigid.rigid_structure import RigidStructure
from ukctrl.robot.rigid.tree_kernels import IV, NV, PARENT
from ukctrl_identification.identified_dynamics import BODY_PARAMETERS, DofFriction
from ukctrl_identification.measured_motion import NO_FILTER, Motion
from ukctrl_identification.passive_motion import FreeMotion
from ukctrl_identification.regressor_kernels import inertial_rows, row_buffers
from ukctrl_identification.robot_dynamics import friction_of
from ukctrl_identification.row_filter import Block, filtered_rows

PANEL = 6
"""Columns that are eliminated at a time."""
NOT_HERE = -1
NOTHING_HERE = -2
"""What `inertial_rows` skips: one parameter, or all of a body."""


class Parameter(NamedTuple):
    """One column of the equation."""

    owner: str
    """Link of an inertial parameter, otherwise joint."""
    symbol: str
    """One of `BODY_PARAMETERS`, or ``armature``, ``coulomb``, ``stribeck``, ``viscous``,
    ``offset``, ``motor_constant``, ``stiffness`` or ``damping``."""
    unit: str

    @property
    def name(self) -> str:
        """What reports call it, such as ``link3.Ixx``."""
        return f"{self.owner}.{self.symbol}"


class Triangle(NamedTuple):
    """What all samples say of one equation: ``R`` with ``R' R = [X y]' [X y]``."""

    row: int
    """Velocity that the equation is of."""
    columns: Indices
    """Parameters that it has, shape ``(k,)``."""
    R: Matrix
    """Upper triangle, shape ``(k + 1, k + 1)``; the last column is the right side's."""
    samples: float
    """How many there are."""

    def residual(self, values: Vector) -> float:
        """Return the sum of the squares that parameters, shape ``(p,)``, leave."""
        e = self.R[:, :-1] @ values[self.columns] - self.R[:, -1]
        return float(e @ e)


class _Layout(NamedTuple):
    """Where the columns of some parameters stand."""

    columns: list[Indices]
    """Parameters of each velocity's row."""
    places: Indices
    """Place of each inertial parameter in each row, as `inertial_rows` takes it."""


@final
class Regression:
    r"""The columns of a robot's equation.

    Args:
        robot: A robot of rigid bodies.
        velocity_scale: $v_\varepsilon$ of each velocity, shape ``(nv,)``.
        stribeck_velocity: $v_s$ of each, if breakaway levels are among the parameters.
        friction: Whether Coulomb, viscous and constant terms are.
        armature: Whether inertias of rotors are.
        currents: Velocities whose motor constants are: what pushes them is that times a current.
        known: Links whose bodies are as the model has them, such as a payload that was weighed.

    Raises:
        InputError: The robot is made of formulas, or has no such link.
    """

    def __init__(
        self,
        robot: Robot,
        velocity_scale: Vector,
        stribeck_velocity: Vector | None = None,
        *,
        friction: bool = True,
        armature: bool = False,
        currents: Sequence[str] = (),
        known: Sequence[str] = (),
    ) -> None:
        if not robot.structure.has_bodies:
            raise InputError(
                f"robot '{robot.name}' is made of formulas; what is identified are the bodies of a "
                "model file (URDF or MJCF)."
            )
        self.robot, self.velocity_scale = robot, velocity_scale
        self.stribeck_velocity = stribeck_velocity
        self._tree = cast("RigidStructure", robot.structure).tree
        self._bodies = len(self._tree.joints) - 1
        self._buffers = row_buffers(self._tree, robot.gravity)
        self._layouts = dict[bytes, _Layout]()
        self.parameters = tuple(self._named(friction, armature, currents))
        self.inertial = 10 * self._bodies
        """How many parameters are those of bodies; they come first."""
        self.asked = self._without(known)
        """Which parameters are asked for, shape ``(p,)``; the others are known."""
        self._by_joint = self._joint_columns()
        self._carries = _carriers(self._tree.joints, robot.nv)

    def _without(self, known: Sequence[str]) -> Flags:
        links, asked = body_names(self.robot), np.ones(len(self.parameters), dtype=bool)
        for name in known:
            if name not in links:
                raise unknown_name("link that a joint moves", name, links)
            asked[10 * links.index(name) : 10 * links.index(name) + 10] = False
        return asked

    def _named(self, friction: bool, armature: bool, currents: Sequence[str]) -> list[Parameter]:
        robot = self.robot
        links, units = body_names(robot), ("kg", *["kg m"] * 3, *["kg m^2"] * 6)
        named = [
            Parameter(link, symbol, unit)
            for link in links
            for symbol, unit in zip(BODY_PARAMETERS, units, strict=True)
        ]
        for name, unit in zip(robot.dofs, robot.dof_units, strict=True):
            turns = unit.startswith("rad")
            force = "N m" if turns else "N"
            if armature:
                named.append(Parameter(name, "armature", "kg m^2" if turns else "kg"))
            if friction:
                named.append(Parameter(name, "coulomb", force))
                if self.stribeck_velocity is not None:
                    named.append(Parameter(name, "stribeck", force))
                named.append(Parameter(name, "viscous", f"{force} s/{unit[:-2]}"))
                named.append(Parameter(name, "offset", force))
            if name in currents:
                named.append(Parameter(name, "motor_constant", f"{force}/A"))
        if robot.elastic is not None:
            for name in robot.elastic.joints:
                unit = robot.dof_units[robot.dofs.index(name)][:-2]
                force = "N m" if unit == "rad" else "N"
                named.append(Parameter(name, "stiffness", f"{force}/{unit}"))
                named.append(Parameter(name, "damping", f"{force} s/{unit}"))
        return named

    def _joint_columns(self) -> list[list[tuple[int, str]]]:
        """Return the parameters beside inertias that each velocity's row has."""
        robot, of_row = self.robot, list[list[tuple[int, str]]]()
        for name in robot.dofs:
            owner = name
            if robot.elastic is not None and name in _motor_names(robot):
                owner = robot.elastic.joints[_motor_names(robot).index(name)]
            of_row.append([
                (k, one.symbol)
                for k, one in enumerate(self.parameters[self.inertial :], self.inertial)
                if one.owner == (owner if one.symbol in ("stiffness", "damping") else name)
            ])  # fmt: skip
        return of_row

    def known_efforts(self, motion: FreeMotion) -> Matrix:
        """Return what bodies that are known ask of each velocity, shape ``(n, nv)``."""
        n, nv = len(motion.motion.q), self.robot.nv
        values, selected = self.model_values(), tuple(range(nv))
        at_rest = motion.motion._replace(low_pass=NO_FILTER)
        alone = FreeMotion(at_rest, selected, None, np.zeros((n, nv)), motion.current)
        return -self.residuals([alone], ~self.asked, values)

    def model_values(self) -> Vector:
        """Return what the robot's model says of all parameters, shape ``(p,)``."""
        robot, values = self.robot, np.zeros(len(self.parameters))
        values[: self.inertial] = self._tree.inertias[1:].ravel()
        friction = friction_of(robot)
        for k, one in enumerate(self.parameters[self.inertial :], self.inertial):
            if one.symbol in ("stiffness", "damping"):
                assert robot.elastic is not None
                of_spring = getattr(robot.elastic, one.symbol)
                values[k] = of_spring[robot.elastic.joints.index(one.owner)]
                continue
            if one.symbol == "armature":
                values[k] = self._tree.armature[robot.dofs.index(one.owner)]
            elif one.symbol in ("coulomb", "viscous"):
                values[k] = getattr(friction.get(one.owner, DofFriction()), one.symbol)
            elif one.symbol == "stribeck":
                rubs = friction.get(one.owner, DofFriction())
                values[k] = max(rubs.static - rubs.coulomb, 0.0)
        return values

    def by_velocity(self, symbol: str, values: Vector) -> Vector:
        """Return the parameters of a symbol, zero where there are none, shape ``(nv,)``."""
        equations, dofs = np.zeros(self.robot.nv), self.robot.dofs
        for one, value in zip(self.parameters, values, strict=True):
            if one.symbol == symbol:
                equations[dofs.index(one.owner)] = value
        return equations

    def columns_of(self, row: int, mask: Flags) -> Indices:
        """Return the parameters among those kept that a velocity's row has."""
        bodies = np.flatnonzero(self._carries[row])
        inertial = (10 * bodies[:, None] + np.arange(10)).ravel()
        indices = np.array([k for k, _ in self._by_joint[row]], dtype=np.int64)
        selected = np.concatenate([inertial, indices])
        return np.asarray(selected[mask[selected]], dtype=np.int64)

    def _layout(self, mask: Flags) -> _Layout:
        key = mask.tobytes()
        if key not in self._layouts:
            columns = [self.columns_of(row, mask) for row in range(self.robot.nv)]
            places = np.full((self.robot.nv, self.inertial), NOT_HERE, dtype=np.int64)
            for row, indices in enumerate(columns):
                bodies = indices[indices < self.inertial]
                places[row, bodies] = np.arange(len(bodies))
                empty = (places[row].reshape(-1, 10) < 0).all(axis=1)
                places[row].reshape(-1, 10)[empty] = NOTHING_HERE
            self._layouts[key] = _Layout(columns, places)
        return self._layouts[key]

    def blocks(self, motion: FreeMotion, mask: Flags) -> list[Block]:
        """Return the rows of some samples, equation by equation.

        Args:
            motion: The samples, at most a batch.
            mask: Which parameters, shape ``(p,)``.

        Returns:
            For each equation its velocity, its parameters, shape ``(k,)``, and its rows beside the
            right side, shape ``(k + 1, n)``.
        """
        n, nv, state = len(motion.motion.q), self.robot.nv, motion.motion
        columns, places = self._layout(mask)
        blocks = np.empty((nv, max(map(len, columns)) + 1, n))
        q, v, a = (np.ascontiguousarray(x) for x in (state.q, state.v.T, state.a.T))
        inertial_rows(self._tree, self._buffers, q, v, a, places, blocks)
        for row, indices in enumerate(columns):
            for at, k in enumerate(indices):
                if self.parameters[k].symbol == "motor_constant":
                    current = motion.current
                    blocks[row, at] = 0.0 if current is None else -current[:, row]
                elif k >= self.inertial:
                    blocks[row, at] = self._joint_term(row, self.parameters[k], q, v, a)
        right = motion.right_side()
        if motion.basis is None:
            equations = []
            for at, row in enumerate(motion.rows):
                block = blocks[row, : len(columns[row]) + 1]
                block[-1] = right[:, at]
                equations.append((row, columns[row], block))
            return equations
        selected = np.flatnonzero(mask)
        dense = np.zeros((nv, len(selected), n))
        for row, indices in enumerate(columns):
            dense[row, np.searchsorted(selected, indices)] = blocks[row, : len(indices)]
        rows = np.einsum("nik,ijn->kjn", motion.basis, dense)
        return [
            (row, selected, np.vstack([rows[at], right[:, at]]))
            for at, row in enumerate(motion.rows)
        ]  # fmt: skip

    def _joint_term(
        self, row: int, parameter: Parameter, q: Matrix, v: Matrix, a: Matrix
    ) -> Vector | float:
        """Return a joint's own column at ``q``, ``(n, nq)``, and ``v`` and ``a``, ``(nv, n)``."""
        match parameter.symbol:
            case "armature":
                return np.asarray(a[row])
            case "coulomb":
                return np.asarray(np.tanh(v[row] / self.velocity_scale[row]))
            case "stribeck":
                assert self.stribeck_velocity is not None
                slow = np.exp(-((v[row] / self.stribeck_velocity[row]) ** 2))
                return np.asarray(slow * np.tanh(v[row] / self.velocity_scale[row]))
            case "viscous":
                return np.asarray(v[row])
            case "offset":
                return 1.0
        elastic = self.robot.elastic
        assert elastic is not None
        k = elastic.joints.index(parameter.owner)
        # what pushes the joint forward stands on the left, with a minus
        sign = -1.0 if row == elastic.links[k] else 1.0
        if parameter.symbol == "damping":
            return np.asarray(sign * (v[elastic.motors[k]] - v[elastic.links[k]]))
        return sign * np.array([elastic.stretch(one)[k] for one in q])

    def filtered_blocks(self, motion: FreeMotion, mask: Flags) -> Iterator[list[Block]]:
        """Yield `blocks` of all samples, filtered and thinned, some at a time.

        Samples of which a number is missing are left out.
        """

        def rows(some: slice) -> list[Block]:
            return self.blocks(motion.part(some), mask)

        return filtered_rows(rows, len(motion.motion.q), motion.motion.low_pass)

    def triangles(
        self,
        motions: Sequence[FreeMotion],
        mask: Flags | None = None,
    ) -> list[Triangle]:
        """Return what motions say of each equation.

        Args:
            motions: The samples, any number of them.
            mask: Which parameters, shape ``(p,)``; absent: those asked for.
        """
        mask = self.asked if mask is None else mask
        states: list[Triangle] = []
        for motion in motions:
            for equations in self.filtered_blocks(motion, mask):
                if not states:
                    states = [
                        Triangle(
                            row,
                            indices,
                            np.zeros((len(indices) + 1, len(indices) + 1), order="F"),
                            0.0,
                        )
                        for row, indices, _ in equations
                    ]
                for at, (_, _, block) in enumerate(equations):
                    known = np.isfinite(block.sum(axis=0))
                    rows = block if known.all() else block[:, known]
                    state = states[at]
                    R = updated_triangle(state.R, np.ascontiguousarray(rows))
                    states[at] = state._replace(R=R, samples=state.samples + rows.shape[1])
        return states

    def residuals(self, motions: Sequence[FreeMotion], mask: Flags, values: Vector) -> Matrix:
        """Return what parameters, shape ``(..., p)``, leave of each equation, ``(..., n, k)``."""
        pieces = [
            np.stack(
                [B[-1] - values[..., indices] @ B[:-1] for _, indices, B in equations], axis=-1
            )
            for motion in motions
            for equations in self.filtered_blocks(motion, mask)
        ]
        return np.concatenate(pieces, axis=-2)

    def cross_products(
        self,
        instruments: Sequence[FreeMotion],
        motions: Sequence[FreeMotion],
        mask: Flags,
        noise: Vector,
    ) -> tuple[Matrix, Matrix]:
        """Return ``Z' [X y]`` and ``Z' Z`` of two motions at the same instants.

        Args:
            instruments: Whose columns are ``Z``.
            motions: Whose columns and right side are ``X`` and ``y``.
            mask: Which parameters, shape ``(p,)``; ``b`` of them.
            noise: Of each equation, which it is divided by.
        """
        selected = np.flatnonzero(mask)
        b = len(selected)
        cross, indices = np.zeros((b, b + 1)), np.zeros((b, b))
        for instrument, motion in zip(instruments, motions, strict=True):
            pairs = zip(
                self.filtered_blocks(instrument, mask), self.filtered_blocks(motion, mask),
                strict=True,
            )  # fmt: skip
            for asked, measured in pairs:
                for (_, columns, Z), (_, _, X), sigma in zip(asked, measured, noise, strict=True):
                    at = np.searchsorted(selected, columns)
                    cross[np.ix_(at, np.append(at, b))] += Z[:-1] @ X.T / sigma**2
                    indices[np.ix_(at, at)] += Z[:-1] @ Z[:-1].T / sigma**2
        return cross, indices


def updated_triangle(R: Matrix, block: NDArray[np.float64]) -> Matrix:
    """Return the triangle of ``R`` stacked upon rows, which come transposed, shape ``(k, n)``."""
    k = len(R)
    result, _, _, info = lapack.dtpqrt(
        0, min(PANEL, k), R, block.T, overwrite_a=True, overwrite_b=True
    )
    assert not info
    return np.asarray(result)


def known_force(robot: Robot, motion: Motion) -> Matrix:
    """Return the forces of a robot that are no parameters, such as springs, shape ``(n, nv)``."""
    fitted = (Dampers, Friction, ElasticJoints)
    terms = tuple(term for term in robot.forces.terms if not isinstance(term, fitted))
    if not terms:
        return np.broadcast_to(0.0, motion.v.shape)
    force: Matrix = np.zeros(motion.v.shape)
    pushed = dc.replace(robot, forces=Forces(terms))
    snapshot = pushed.snapshot(motion.q[0], motion.v[0])
    for n, (t, q, v) in enumerate(zip(motion.time, motion.q, motion.v, strict=True)):
        snapshot.move(q, v, float(t))
        force[n] = snapshot.f
    return force


def body_names(robot: Robot) -> tuple[str, ...]:
    """Return the link that each joint moves, in the order of the robot's joints."""
    names = {block.joint: block.name for block in robot.blocks}
    for frame in reversed(robot.frames):  # the first is that of the joint, the next its link's
        joint = robot.site(frame).joint
        if joint in names and frame != str(robot.model.names[joint]):
            names[joint] = frame
    return tuple(names[joint] for joint in sorted(names))


def _motor_names(robot: Robot) -> list[str]:
    assert robot.elastic is not None
    return [robot.dofs[i] for i in robot.elastic.motors]


def _carriers(joints: Indices, nv: int) -> Flags:
    """Return which bodies each velocity moves, shape ``(nv, bodies)``."""
    carries = np.zeros((nv, len(joints) - 1), dtype=bool)
    for j in range(1, len(joints)):
        b = j
        while b > 0:
            carries[joints[b, IV] : joints[b, IV] + joints[b, NV], j - 1] = True
            b = int(joints[b, PARENT])
    return carries


def stacked(
    triangles: Sequence[Triangle], parameters: int, deviations: Vector | None = None
) -> Matrix:
    """Return one triangle of all equations, shape ``(p + 1, p + 1)``.

    Args:
        triangles: Of each equation.
        parameters: How many parameters there are in all.
        deviations: Of the noise of each equation, which it is divided by; absent: 1.
    """
    R: Matrix = np.zeros((parameters + 1, parameters + 1), order="F")
    for at, one in enumerate(triangles):
        rows = np.zeros((len(one.R), parameters + 1))
        rows[:, [*one.columns, parameters]] = one.R
        R = updated_triangle(R, (rows if deviations is None else rows / deviations[at]).T)
    return R
