"""Play between a motor and its joint, and between a joint and its encoder."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import ElasticJoints, Robot, Snapshot
from ukctrl.robot.forces import Forces
from ukctrl.simulation.effects import sensor_kernels as kernels
from ukctrl.simulation.effects.effect import PlantEffect, RunContext, Sensor, SensorEffect
from ukctrl.simulation.effects.encoder_settings import (
    EncoderSteps,
    encoder_settings,
)
from ukctrl.simulation.effects.kernel_effects import KernelSensor, SensorOutput


@final
@dc.dataclass(frozen=True, eq=False)
class BacklashSprings:
    """The springs of elastic joints, with a gap in which they are loose."""

    springs: ElasticJoints
    half: Vector
    """Half the gap of each joint, shape ``(k,)``."""

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        return self.springs.steps_with_backlash(self.half, snapshot, f)


@final
@spec
class Backlash(PlantEffect):
    r"""Play in the gears of elastic joints: the spring is loose within a gap.

    With the motor ahead of its joint by $s = \theta - q$ and a gap $g$, the joint feels

    $$ \tau = K\,(|s| - g/2)\,\mathrm{sign}(s) + D\,\dot s \quad\text{where } |s| > g/2, $$

    never pulling, and nothing within the gap. A rigid joint has no room for a gap.
    """

    kind: Literal["backlash"] = "backlash"
    alone: ClassVar[bool] = True
    gap: EncoderSteps
    """Free play from flank to flank, of all elastic joints or by joint [rad or m]."""

    def altered(self, robot: Robot, at: float, rng: np.random.Generator) -> Robot:
        play = self._play(robot)
        # in place of the springs: beside them they would fill the gap
        terms = tuple(play if term is robot.elastic else term for term in robot.forces.terms)
        return dc.replace(robot, forces=Forces(terms), path=None)

    def _play(self, robot: Robot) -> BacklashSprings:
        springs = robot.elastic
        if springs is None:
            raise InputError(_rigid(f"every joint of robot '{robot.name}' is rigid"))
        if not isinstance(self.gap, dict):
            return BacklashSprings(springs, np.full(len(springs.joints), 0.5 * self.gap))
        half = np.zeros(len(springs.joints))
        with error_context("gap"):
            for name, gap in self.gap.items():
                if name in springs.joints:
                    half[springs.joints.index(name)] = 0.5 * gap
                elif name in (*robot.dofs, *robot.joints):
                    raise InputError(_rigid(f"joint '{name}' is rigid"))
                else:
                    raise unknown_name("elastic joint", name, springs.joints)
        return BacklashSprings(springs, half)

    def signals(self, snapshot: Snapshot, since: float) -> Mapping[str, Signal]:
        springs = snapshot.robot.elastic
        if springs is None:
            return {}
        units = {snapshot.robot.dof_units[i].removesuffix("/s") for i in springs.links}
        stretch = springs.stretch(snapshot.q)
        text = "lead of the motor over its joint"
        return {"lead": Signal(stretch, ", ".join(sorted(units)), text, springs.joints)}


def _rigid(subject: str) -> str:
    return (
        f"{subject}: its motor moves with it, and a gap has no room. Give the robot an [elastic] "
        'table, or use kind = "encoder_play" for play between a joint and its encoder.'
    )


@final
@spec
class EncoderPlay(SensorEffect):
    """Play between a joint and its encoder: the reading stays until the joint has crossed the gap.

    At the first tick the joint is in the middle of the gap. While the reading stays, so does the
    velocity: it reads zero.
    """

    kind: Literal["encoder_play"] = "encoder_play"
    sampled: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    gap: EncoderSteps
    """Free play, of all joints with one freedom or by joint [rad or m]."""

    def attach(self, context: RunContext, rng: np.random.Generator) -> Sensor:
        robot, joints = context.robot, encoder_settings(context.robot, "gap", self.gap)
        blocks, gaps = robot.structure.manifold_table, (joints.freedoms, joints.values)
        ticks, last = np.zeros(1, dtype=np.int64), np.zeros(robot.nq)
        memory = ticks, last, np.zeros(len(joints.values))

        def steps(clock: Vector, q: Vector, v: Vector) -> SensorOutput:
            read, step = (np.zeros(len(q)), np.zeros(len(v))), np.zeros(len(v))
            args = blocks, *gaps, q, v, *memory, step, *read
            return *read, (BoundKernel(kernels.apply_play, *args),)

        return KernelSensor(steps)
