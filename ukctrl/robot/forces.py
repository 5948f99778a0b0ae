"""Applied forces ``f(q, v, t)``: springs, dampers, dry friction and given forces."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.symbolic import Vocabulary, check_names, parse
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import applied_force_kernels
from ukctrl.robot.applied_force_kernels import (
    BodyPoints,
    ForceBuffers,
    JointSpringTable,
    SpringLaw,
)
from ukctrl.robot.frame_site import Site
from ukctrl.robot.schema.force_tables import (
    AnyForce,
    DryFriction,
    GivenForce,
    JointDamper,
    JointSpring,
    Spring,
)
from ukctrl.robot.snapshot import Snapshot
from ukctrl.robot.structure import Structure


class AppliedForce(Protocol):
    """One applied force."""

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        """Return what adds the generalised force to ``f``, shape ``(nv,)``: kernels, or Python.

        One that stores energy adds that and its rate to ``snapshot.stored``.
        """


@dc.dataclass(frozen=True, eq=False)
class Forces:
    """The sum of all applied forces."""

    terms: tuple[AppliedForce, ...] = ()

    @property
    def is_nonempty(self) -> bool:
        """Whether there is any force."""
        return bool(self.terms)

    def steps(self, snapshot: Snapshot) -> list[KernelStep]:
        """Return what writes the sums into ``snapshot.f`` and ``snapshot.stored``."""
        if not self.terms:
            return []
        f, stored = snapshot.f, snapshot.stored
        of_terms = (step for term in self.terms for step in term.steps(snapshot, f))
        return [
            BoundKernel(applied_force_kernels.set_zero, f),
            BoundKernel(applied_force_kernels.set_zero, stored),
            *of_terms,
        ]


@dc.dataclass(frozen=True, eq=False)
class Dampers:
    """``-damping v``."""

    damping: Vector

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        return (BoundKernel(applied_force_kernels.add_damping, self.damping, snapshot.v, f),)


@dc.dataclass(frozen=True, eq=False)
class Friction:
    r"""Friction of some freedoms, each array of shape ``(k,)``.

    $$ f = -\left(F_c + (F_s - F_c)\, e^{-(v/v_s)^2}\right) \tanh\frac{v}{v_\varepsilon} - d\,v
           - f_0 . $$
    """

    dofs: NDArray[np.intp]
    level: Vector
    """$F_c$."""
    scale: Vector
    r"""$v_\varepsilon$."""
    excess: Vector | float = 0.0
    """$F_s - F_c$."""
    stribeck_velocity: Vector | float = 1.0
    """$v_s$."""
    viscous: Vector | float = 0.0
    """$d$."""
    asymmetry: Vector | float = 0.0
    """$f_0$."""

    def columns(self) -> tuple[Vector, ...]:
        """Return all but the freedoms as arrays, in the order of the fields."""
        values = self.level, self.scale, self.excess, self.stribeck_velocity
        whole = (*values, self.viscous, self.asymmetry)
        return tuple(np.array(np.broadcast_to(one, len(self.dofs)), float) for one in whole)

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        args = self.dofs, *self.columns(), snapshot.v, f
        return (BoundKernel(applied_force_kernels.add_friction, *args),)


@dc.dataclass(frozen=True, eq=False)
class JointSprings:
    """``-stiffness (q - rest)``."""

    coordinates: NDArray[np.intp]
    dofs: NDArray[np.intp]
    stiffness: Vector
    rest: Vector

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        s, springs = snapshot, JointSpringTable(self.coordinates, self.dofs, self.rest)
        out = ForceBuffers(f, s.stored)
        kernel = applied_force_kernels.add_joint_springs
        return (BoundKernel(kernel, springs, self.stiffness, s.q, s.v, out),)


@dc.dataclass(frozen=True, eq=False)
class NonlinearJointSprings:
    r"""What springs and dampers of joints have beyond their linear parts.

    With $x = q - q_0$ the force is $-(k_2 x^2 + k_3 x^3) - (c_2 |v| v + c_3 v^3)$: that of the
    polynomials of MuJoCo, "Computation: Passive forces", https://mujoco.readthedocs.io.
    """

    coordinates: NDArray[np.intp]
    dofs: NDArray[np.intp]
    rest: Vector
    stiffness: Matrix
    """$k_2$ and $k_3$, shape ``(k, 2)``."""
    damping: Matrix
    """$c_2$ and $c_3$, shape ``(k, 2)``."""

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        s, springs = snapshot, JointSpringTable(self.coordinates, self.dofs, self.rest)
        out = ForceBuffers(f, s.stored)
        kernel = applied_force_kernels.add_nonlinear_springs
        return (BoundKernel(kernel, springs, self.stiffness, self.damping, s.q, s.v, out),)


@dc.dataclass(frozen=True, eq=False)
class BallJointSprings:
    r"""Springs that pull ball and free joints back: $-(k_1 + k_2 |x| + k_3 |x|^2)\, x$.

    Here $x$ is the way from a place in the world, or the turn from an orientation [rad], along the
    body's axes. A free joint has two, one of either kind.
    """

    coordinates: NDArray[np.intp]
    """Where the joint's coordinates begin."""
    dofs: NDArray[np.intp]
    """The first of the three velocities that each pulls."""
    slides: Flags
    """Whether it pulls to a place."""
    rest: Matrix
    """The place, or the quaternion with its real part last, shape ``(k, 4)``."""
    stiffness: Matrix
    """Shape ``(k, 3)``."""

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        s, springs = snapshot, JointSpringTable(self.coordinates, self.dofs, self.rest)
        out = ForceBuffers(f, s.stored)
        kernel = applied_force_kernels.add_ball_joint_springs
        return (BoundKernel(kernel, springs, self.slides, self.stiffness, s.q, s.v, out),)


@dc.dataclass(frozen=True, eq=False)
class GravityCompensation:
    r"""Forces $-m g$ at points of bodies: what carries masses against gravity."""

    joints: NDArray[np.intp]
    centres: Matrix
    """In the joint's frame, shape ``(k, 3)`` [m]."""
    masses: Vector
    """Shape ``(k,)`` [kg]."""
    reached: Flags
    """Which velocities move each, shape ``(k, nv)``."""

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        s = snapshot
        points = BodyPoints(self.joints, self.centres, self.reached)
        gravity, out = np.array(s.robot.structure.gravity), ForceBuffers(f, s.stored)
        kernel = applied_force_kernels.add_gravity_compensation
        return (BoundKernel(kernel, s.joints, points, self.masses, gravity, out),)


@dc.dataclass(frozen=True, eq=False)
class FluidDrag:
    r"""Drag of a fluid on bodies, each taken as the box with sides $b$ that has its inertia.

    Along every axis of the box, with the velocity $v$ of its centre against the fluid and its
    angular velocity $\omega$, at the density $\rho$ and the viscosity $\beta$,

    $$ F_x = -3 \pi \bar b\, \beta v_x - \tfrac12 \rho\, b_y b_z |v_x| v_x, \qquad
       T_x = -\pi \bar b^3 \beta\, \omega_x
             - \tfrac1{64} \rho\, b_x (b_y^4 + b_z^4) |\omega_x| \omega_x. $$

    That is MuJoCo's "Inertia model" of fluid forces, https://mujoco.readthedocs.io.
    """

    joints: NDArray[np.intp]
    centres: Matrix
    """In the joint's frame, shape ``(k, 3)`` [m]."""
    axes: NDArray[np.float64]
    """Axes of the box in the joint's frame, shape ``(k, 3, 3)``."""
    boxes: Matrix
    """Sides, shape ``(k, 3)`` [m]."""
    reached: Flags
    """Which velocities move each, shape ``(k, nv)``."""
    medium: Vector
    """Density [kg/m^3], viscosity [Pa s], and the wind in the world [m/s], shape ``(5,)``."""

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        points = BodyPoints(self.joints, self.centres, self.reached)
        boxes, kernel = (self.axes, self.boxes), applied_force_kernels.add_fluid_drag
        return (BoundKernel(kernel, snapshot.joints, points, *boxes, self.medium, f),)


@dc.dataclass(frozen=True, eq=False)
class FrameSpring:
    r"""Tension $k (L - L_0) + c \dot L$ along the line between two points.

    At $L = 0$ the line has no direction, and the force is taken as zero.
    """

    first: Site
    second: Site
    stiffness: float
    rest: float
    damping: float

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        s, ends = snapshot, (self.first.place, self.second.place)
        spring = SpringLaw(float(self.stiffness), float(self.rest), float(self.damping))
        gradient, out = np.zeros(len(s.v)), ForceBuffers(f, s.stored)
        kernel = applied_force_kernels.add_frame_spring
        return (BoundKernel(kernel, s.joints, *ends, spring, gradient, out),)


@dc.dataclass(frozen=True, eq=False)
class FormulaForce:
    """Forces given as formulas of the coordinates, the velocities and time."""

    dofs: tuple[int, ...]
    texts: tuple[str, ...]
    words: Vocabulary

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        values = np.zeros(len(self.dofs))
        formula = self.compiled.as_step((snapshot.q, snapshot.v, snapshot.clock), values)
        return formula, BoundKernel(
            applied_force_kernels.scatter_add, np.array(self.dofs), values, f
        )

    @cached_property
    def compiled(self) -> CompiledFormula:
        words = self.words
        parsed = [parse(text, words) for text in self.texts]
        names = (words.plain, [f"v.{name}" for name in words.velocities], "t")
        return compile_function(parsed, names, "; ".join(self.texts))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the formulas out: they are made again of their texts."""
        return {key: value for key, value in self.__dict__.items() if key != "compiled"}


class _ForceCollector:
    """Sorts the specifications of forces, so that each kind is one array operation."""

    def __init__(self, structure: Structure, friction_velocity: float) -> None:
        level = structure.friction
        self.structure = structure
        self.damping = structure.damping.copy()
        self.friction: list[tuple[float, ...]] = [
            (int(dof), float(level[dof]), friction_velocity, 0.0, 1.0, 0.0, 0.0)
            for dof in np.flatnonzero(level)
        ]
        self.springs: list[tuple[int, int, float, float]] = []
        self.given: list[tuple[int, str]] = []
        self.terms: list[AppliedForce] = []

    def add(self, spec: AnyForce) -> None:
        structure = self.structure
        match spec:
            case JointSpring():
                dof = structure.dof(spec.joint)
                coordinate = _coordinate(structure, dof)
                self.springs.append((coordinate, dof, spec.stiffness, spec.rest))
                self.damping[dof] += spec.damping
            case JointDamper():
                self.damping[structure.dof(spec.joint)] += spec.damping
            case DryFriction():
                excess = 0.0 if spec.static is None else spec.static - spec.level
                shape = spec.velocity_scale, excess, spec.stribeck_velocity, 0.0, spec.asymmetry
                self.friction.append((structure.dof(spec.joint), spec.level, *shape))
            case Spring():
                self.terms.append(_frame_spring(structure, spec))
            case GivenForce():
                check_names(spec.force, structure.vocabulary)
                self.given.append((structure.dof(spec.joint), spec.force))

    def result(self) -> Forces:
        structure, terms = self.structure, list(self.terms)
        if self.given:
            indices, texts = zip(*self.given, strict=True)
            terms.append(FormulaForce(indices, texts, structure.vocabulary))
        if self.springs:
            terms.append(JointSprings(*map(np.array, zip(*self.springs, strict=True))))
        if self.friction:
            dofs, *columns = map(np.array, zip(*self.friction, strict=True))
            terms.append(Friction(dofs, *columns))
        if self.damping.any():
            terms.append(Dampers(self.damping))
        return Forces(tuple(terms))


def forces(
    structure: Structure,
    specs: Sequence[AnyForce],
    friction_velocity: float = 0.01,
    own: Sequence[AnyForce] = (),
) -> Forces:
    """Put the applied forces of a robot together, with those that its model file asks for.

    Args:
        structure: The robot's names.
        specs: The forces.
        friction_velocity: Velocity scale of the model file's dry friction [rad/s or m/s].
        own: Forces that the model file asks for.

    Raises:
        InputError: A joint or frame does not exist, or a formula is not acceptable.
    """
    gatherer = _ForceCollector(structure, friction_velocity)
    for spec in own:
        gatherer.add(spec)
    for number, spec in enumerate(specs):
        with error_context(f"force[{number}]"):
            gatherer.add(spec)
    return gatherer.result()


def _frame_spring(structure: Structure, spec: Spring) -> FrameSpring:
    first, second = (structure.site(frame) for frame in spec.frames)
    if first.joint == second.joint:
        raise ModelError(
            f"frames '{spec.frames[0]}' and '{spec.frames[1]}' are on one body; a spring "
            "between them does nothing."
        )
    return FrameSpring(first, second, spec.stiffness, spec.rest, spec.damping)


def _coordinate(structure: Structure, dof: int) -> int:
    """Return the index in ``q`` of the coordinate that a velocity is the rate of."""
    block = structure.block_of(dof)
    if block.shape != "line":
        raise ModelError(
            f"joint '{block.name}' has no plain coordinate for a spring (its coordinates are "
            f'{", ".join(block.coordinates)}); use kind = "given" with a formula instead.'
        )
    return block.iq + dof - block.iv
