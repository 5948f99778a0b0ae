r"""Elastic joints: motors that drive their joints through springs.

Spong's model. Every elastic joint gets a second coordinate, the angle $\theta$ of its motor counted
after the gear, and the motors push on those:

$$ M(q)\,\ddot q + \mathrm{nle}(q, \dot q) = K(\theta - q) + D(\dot\theta - \dot q) + \dots, \qquad
   J \ddot\theta = u - K(\theta - q) - D(\dot\theta - \dot q) . $$

The rotors turn about axes that do not move, which is the approximation: their kinetic energy is
that of their own rotation alone (Spong, "Modeling and control of elastic joint robots", ASME J.
Dyn. Sys. Meas. Control 109, 1987).
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.errors import InputError, ModelError
from ukctrl.core.fields import NumberByName
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import applied_force_kernels
from ukctrl.robot.actuators import Actuation
from ukctrl.robot.applied_force_kernels import ElasticIndices, ForceBuffers
from ukctrl.robot.joint_layout import JointBlock
from ukctrl.robot.schema.robot_file import Elastic
from ukctrl.robot.snapshot import Snapshot
from ukctrl.robot.structure import Structure
from ukctrl.robot.values_by_name import values_by_name

SUFFIX = "_motor"
"""What the name of a motor's coordinate adds to that of its joint."""


@final
@dc.dataclass(frozen=True, eq=False)
class ElasticJoints:
    """The elastic joints of a robot, each array of shape ``(k,)``; an applied force as well."""

    joints: tuple[str, ...]
    """Their degrees of freedom, by name."""
    links: Indices
    """Where these are in ``v``."""
    motors: Indices
    """Where their motors are in ``v``."""
    link_coordinates: Indices
    """Where the joints are in ``q``; of a continuous joint, its cosine."""
    motor_coordinates: Indices
    """Where their motors are in ``q``."""
    continuous: NDArray[np.bool_]
    """Whether a joint turns without end; its spring takes the shorter way round."""
    stiffness: Vector
    """[N m/rad] or [N/m]."""
    damping: Vector
    """[N m s/rad] or [N s/m]."""
    inertia: Vector
    """Inertia of the motor after the gear [kg m^2] or [kg]."""

    @cached_property
    def _turns(self) -> bool:
        return bool(self.continuous.any())

    def angles(self, q: Vector) -> Vector:
        """Return the joints' angles or positions at a configuration."""
        angles: Vector = q[self.link_coordinates]
        if self._turns:
            at = self.link_coordinates[self.continuous]
            angles[self.continuous] = np.arctan2(q[at + 1], q[at])
        return angles

    @property
    def indices(self) -> ElasticIndices:
        """Where joints and motors are, in ``v`` and ``q``, and which turn without end."""
        at = self.links, self.motors, self.link_coordinates, self.motor_coordinates
        return ElasticIndices(*at, self.continuous)

    @property
    def stiffness_damping(self) -> tuple[Vector, Vector]:
        """Stiffness and damping."""
        return self.stiffness, self.damping

    def stretch(self, q: Vector) -> Vector:
        """Return by how much the motors are ahead of their joints, ``theta - q``."""
        stretch: Vector = np.zeros(len(self.joints))
        applied_force_kernels.write_spring_stretches(*self.indices[2:], q, stretch)
        return stretch

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        """Return what adds the torque of the springs and dampers, to joints and motors."""
        return self.steps_with_backlash(np.zeros(len(self.joints)), snapshot, f)

    def steps_with_backlash(
        self, play: Vector, snapshot: Snapshot, f: Vector
    ) -> Sequence[KernelStep]:
        """Return the same of springs that are loose by some play to either side, shape ``(k,)``."""
        s, out = snapshot, ForceBuffers(f, snapshot.stored)
        springs = *self.stiffness_damping, play
        kernel = applied_force_kernels.add_elastic_torques
        return (BoundKernel(kernel, self.indices, *springs, s.q, s.v, out),)


def add_elastic_joints(
    spec: Elastic, rigid: Structure, inputs: Callable[[Structure, frozenset[str]], Actuation]
) -> tuple[Structure, Actuation, ElasticJoints]:
    """Give joints motors of their own, and let the inputs push on those.

    Args:
        spec: The elastic joints.
        rigid: The robot's names, without motors.
        inputs: Makes the inputs on a structure, given the joints that get no motor by default.

    Returns:
        The structure with one coordinate more for every elastic joint, its inputs, and the joints.

    Raises:
        InputError: A joint does not exist, or cannot be elastic.
    """
    actuation = inputs(rigid, frozenset())
    dofs = _elastic_dofs(spec, rigid, actuation)
    blocks = [rigid.block_of(dof) for dof in dofs]
    names = tuple(rigid.dofs[dof] for dof in dofs)

    def values(key: str, setting: NumberByName, default: float | None = None) -> Vector:
        return values_by_name(setting, names, f"elastic joint (in elastic.{key})", default)

    inertia = values("motor_inertia", spec.motor_inertia)
    inertia *= values("gear", spec.gear, 1.0) ** 2
    structure = rigid.with_rotors(rotor_blocks(rigid, blocks), inertia)
    motors = np.arange(rigid.nv, structure.nv)
    joints = ElasticJoints(
        joints=names,
        links=np.array(dofs),
        motors=motors,
        link_coordinates=np.array([block.iq for block in blocks]),
        motor_coordinates=np.arange(rigid.nq, structure.nq),
        continuous=np.array([block.shape == "circle" for block in blocks]),
        stiffness=values("stiffness", spec.stiffness),
        damping=values("damping", spec.damping, 0.0),
        inertia=inertia,
    )
    driven = inputs(structure, frozenset(structure.dofs[motor] for motor in motors))
    for index, column in driven.varying_columns:
        pushed = [name for name, dof in zip(names, dofs, strict=True) if column.acts_on[dof]]
        if pushed and not column.on_bodies:
            raise InputError(
                f"input '{driven.names[index]}' pushes the elastic joint '{pushed[0]}' by a "
                'formula of the coordinates; use kind = "joint" or "transmission", which move to '
                "its motor."
            )
    constant = driven.constant.copy()
    constant[motors] += constant[joints.links]
    constant[joints.links] = 0.0
    return structure, dc.replace(driven, constant=constant), joints


def rotor_blocks(rigid: Structure, blocks: list[JointBlock]) -> tuple[JointBlock, ...]:
    """Return the block of the motor of every one of some joints, which come last.

    Raises:
        ModelError: A name is taken.
    """
    rotors = []
    for number, block in enumerate(blocks):
        name = block.dofs[0] + SUFFIX
        if name in (*rigid.coordinates, *rigid.dofs, *rigid.joints):
            raise ModelError(
                f"the motor of the elastic joint '{block.name}' would be called '{name}', which is "
                "taken; rename that joint."
            )
        unit = block.dof_units[0].removesuffix("/s")
        at = rigid.nq + number, rigid.nv + number
        rotors.append(JointBlock.scalar(name, unit, *at, joint=block.joint, rotor=True))
    return tuple(rotors)


def _elastic_dofs(spec: Elastic, rigid: Structure, actuation: Actuation) -> list[int]:
    """Return the elastic joints' places in ``v``."""
    chosen: dict[int, None] = {}
    for key, value in (("stiffness", spec.stiffness), ("motor_inertia", spec.motor_inertia)):
        for name in value if isinstance(value, dict) else ():
            with error_context(f"elastic.{key}"):
                dof = rigid.dof(name)
                block = rigid.block_of(dof)
                if block.nv != 1:
                    raise InputError(
                        f"joint '{block.name}' has {block.nv} freedoms; an elastic joint has one."
                    )
            chosen[dof] = None
    # numbers alone, and no names: every driven joint with one freedom is elastic
    if not chosen:
        driven = np.flatnonzero(actuation.constant.any(axis=1))
        chosen = {int(dof): None for dof in driven if rigid.block_of(int(dof)).nv == 1}
        if not chosen:
            raise InputError(
                "elastic: no motor drives a joint, so it is not known which are elastic; give "
                "tables by joint, such as stiffness = { q1 = 100.0 }."
            )
    return sorted(chosen)
