r"""External forces: a body that the robot carries, a push, a periodic disturbance.

Forces act either at the origin of a frame, as $J^\top [F; T]$, or on one joint. Their power is
counted as energy fed to the robot.
"""

from __future__ import annotations

import abc
import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from ukctrl.control.task import Signal
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import (
    Hertz,
    Kilograms,
    ListSize,
    Position,
    Quantity,
    Radians,
    Seconds,
    Text,
    Time,
    spec,
)
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import Payload, Perturbation, Robot, Site, Snapshot
from ukctrl.robot.applied_force_kernels import generalised_force, world_position
from ukctrl.robot.forces import AppliedForce, Forces
from ukctrl.robot.frame_site import FramePlacement
from ukctrl.simulation.effects.effect import PlantEffect

_Inertia = Annotated[float, Quantity("kg m^2")]
Inertias = Annotated[tuple[_Inertia, _Inertia, _Inertia], ListSize(3, 3)]
"""Three moments of inertia [kg m^2]."""


@spec
class TimeWindow(PlantEffect):
    """Plant effect that lasts for a while."""

    start: Time | None = None
    """When it begins [s]; absent: with the run."""
    stop: Time | None = None
    """When it ends [s]; absent: never."""

    @model_validator(mode="after")
    def _some_while(self) -> TimeWindow:
        if self.start is not None and self.stop is not None and not self.start < self.stop:
            raise InputError(f"stop must be after start, {self.start:g} s; got {self.stop:g} s.")
        return self

    def instants(self) -> tuple[float, ...]:
        return tuple(t for t in (self.start, self.stop) if t is not None)

    def lasts(self, at: float) -> bool:
        """Return whether it acts at a time, of which `stop` is the first without it."""
        begin = -math.inf if self.start is None else self.start
        return begin <= at and (self.stop is None or at < self.stop)


@final
@spec
class CarriedPayload(TimeWindow):
    """A rigid body fastened to a frame: a payload that the law's model need not know.

    Between ``start`` and ``stop`` its inertia belongs to the body that carries the frame. At both
    times the velocities are continuous, as if the body had moved with the frame before, and after:
    what it brings along or takes away counts as energy fed to the robot.
    """

    kind: Literal["payload"] = "payload"
    frame: Text
    """Frame that carries it."""
    mass: Kilograms
    """[kg]; zero: none, as at the end of a range that a study varies."""
    com: Position = (0.0, 0.0, 0.0)
    """Centre of mass in the frame [m]."""
    inertia: Inertias = (0.0, 0.0, 0.0)
    """Principal moments about the centre of mass along the frame's axes [kg m^2]."""

    def altered(self, robot: Robot, at: float, rng: np.random.Generator) -> Robot:
        body = Payload(frame=self.frame, mass=self.mass, com=self.com, inertia=self.inertia)
        # tried even before it is picked up, so that a wrong frame is refused at the start
        loaded = Perturbation(payload=body).apply(robot)
        return loaded if self.lasts(at) else robot

    def signals(self, snapshot: Snapshot, since: float) -> Mapping[str, Signal]:
        if self.start is None and self.stop is None:
            return {}
        carried = self.mass if self.lasts(since) else 0.0
        return {"mass": Signal(carried, "kg", f"payload at '{self.frame}'")}


_Newtons = Annotated[float, Quantity("N")]
_NewtonMetres = Annotated[float, Quantity("N m")]
Forces3 = Annotated[tuple[_Newtons, _Newtons, _Newtons], ListSize(3, 3)]
"""Force along three axes [N]."""
Torques3 = Annotated[tuple[_NewtonMetres, _NewtonMetres, _NewtonMetres], ListSize(3, 3)]
"""Torque about three axes [N m]."""


class ForceProfile(NamedTuple):
    r"""Time profile of a force: $\sin(\omega (t - t_0) + \varphi)$."""

    omega: float = 0.0
    """[rad/s]."""
    origin: float = 0.0
    """[s]."""
    phase: float = 0.5 * math.pi
    """[rad]."""


@compiled
def force_factor(course: ForceProfile, t: float) -> float:
    """Return how strong a force is at a time; see `ForceProfile`."""
    # a constant force is a sine that stands at its top: one kernel for all
    return math.sin(course.omega * (t - course.origin) + course.phase)


class FrameWrench(NamedTuple):
    """A force and a torque at a frame, and their course over time."""

    force: Vector
    torque: Vector
    in_frame_axes: bool
    course: ForceProfile


@allocating
def add_frame_force(
    Jt: Matrix,
    rotations: NDArray[np.float64],
    translations: Matrix,
    place: FramePlacement,
    push: FrameWrench,
    clock: Vector,
    f: Vector,
) -> None:
    """Add a push at the origin of a frame; see `FrameForce`."""
    joint, frame_axes, local, columns = place
    force, torque, turns, course = push
    scale = force_factor(course, clock[0])
    origin, straight, twist = np.empty(3), np.zeros(3), np.zeros(3)
    world_position(rotations, translations, joint, local, origin)
    for i in range(3):
        straight[i], twist[i] = scale * force[i], scale * torque[i]
    if turns:
        for i in range(3):
            straight[i] = twist[i] = 0.0
            for k in range(3):
                turn = 0.0
                for j in range(3):
                    turn += rotations[joint, i, j] * frame_axes[j, k]
                straight[i] += turn * (scale * force[k])
                twist[i] += turn * (scale * torque[k])
    for c in columns:
        f[c] += generalised_force(Jt, origin, straight, twist, c)


@compiled
def add_joint_force(
    dof: int, effort: float, course: ForceProfile, clock: Vector, f: Vector
) -> None:
    """Add a generalised force on one freedom."""
    f[dof] += effort * force_factor(course, clock[0])


@final
@dc.dataclass(frozen=True, eq=False)
class FrameForce:
    """A force and a torque at the origin of a frame."""

    site: Site
    force: Vector
    torque: Vector
    in_frame_axes: bool
    """Whether both turn with the frame."""
    course: ForceProfile

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        s, push = snapshot, FrameWrench(self.force, self.torque, self.in_frame_axes, self.course)
        robot = s.Jt, s.rotations, s.translations
        return (BoundKernel(add_frame_force, *robot, self.site.place, push, s.clock, f),)


@final
@dc.dataclass(frozen=True, eq=False)
class GeneralisedForce:
    """A generalised force on one freedom."""

    dof: int
    effort: float
    course: ForceProfile

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        return (
            BoundKernel(add_joint_force, self.dof, self.effort, self.course, snapshot.clock, f),
        )


@spec
class ExternalForce(PlantEffect):
    """External force at a frame, or on a joint."""

    frame: Text | None = None
    """Frame at whose origin it acts."""
    force: Forces3 | None = None
    """Force at its largest [N]."""
    torque: Torques3 | None = None
    """Torque at its largest [N m]."""
    axes: Literal["world", "frame"] = "world"
    """Axes of both: fixed in the world, or turning with the frame."""
    joint: Text | None = None
    """Joint, or one freedom of a joint with several, on which it acts instead."""
    effort: Annotated[float, Quantity("N m or N")] | None = None
    """Effort on the joint at its largest [N m or N]."""

    @model_validator(mode="after")
    def _one_place(self) -> ExternalForce:
        at_frame = self.frame is not None and (any(self.force or ()) or any(self.torque or ()))
        at_joint = self.joint is not None and bool(self.effort)
        of_frame, of_joint = (self.frame, self.force, self.torque), (self.joint, self.effort)
        mixed = any(x is not None for x in of_frame) and any(x is not None for x in of_joint)
        if mixed or not (at_frame or at_joint):
            raise InputError(
                "needs either a frame with a force or a torque that is not zero, or a joint with "
                "an effort that is not zero, and not both."
            )
        return self

    @abc.abstractmethod
    def lasts(self, at: float) -> bool:
        """Return whether it acts at a time."""

    @abc.abstractmethod
    def profile(self) -> ForceProfile:
        """Return how strong it is over time."""

    def altered(self, robot: Robot, at: float, rng: np.random.Generator) -> Robot:
        # made even where it does not act yet: a wrong frame is refused at the start
        term = self._term(robot)
        if not self.lasts(at):
            return robot
        # for a whole piece of the run: a force that looked at the clock would jump within a step,
        # where error control crawls (decision 0059)
        return dc.replace(robot, forces=Forces((*robot.forces.terms, term)), path=None)

    def _term(self, robot: Robot) -> AppliedForce:
        if self.joint is not None:
            return GeneralisedForce(
                robot.structure.dof(self.joint), float(self.effort or 0.0), self.profile()
            )
        site = robot.site(self.frame or "")
        if not site.support.any():
            raise InputError(f"frame '{self.frame}' does not move; a force there does nothing.")
        return FrameForce(
            site,
            np.array(self.force or (0.0,) * 3, dtype=float),
            np.array(self.torque or (0.0,) * 3, dtype=float),
            self.axes == "frame",
            self.profile(),
        )

    def signals(self, snapshot: Snapshot, since: float) -> Mapping[str, Signal]:
        # by the plant in force and not by the time, which at an instant belongs to both
        scale = force_factor(self.profile(), snapshot.t) if self.lasts(since) else 0.0
        signals = {}
        if self.joint is not None:
            unit = snapshot.robot.dof_units[snapshot.robot.structure.dof(self.joint)]
            effort = scale * (self.effort or 0.0)
            units = "N" if unit == "m/s" else "N m"
            return {"effort": Signal(effort, units, f"effort on '{self.joint}'")}
        for name, units, vector in (("force", "N", self.force), ("torque", "N m", self.torque)):
            if any(vector or ()):
                text = f"{name} at '{self.frame}'"
                signals[name] = Signal(scale * np.array(vector), units, text, ("x", "y", "z"))
        return signals


@final
@spec
class Push(ExternalForce):
    r"""A push of a given length: of one strength, or swelling and falling as half a sine.

    Its impulse is $F\,T$, or $2 F\,T / \pi$ for half a sine.
    """

    kind: Literal["push"] = "push"
    start: Time
    """When it begins [s]."""
    duration: Seconds
    """How long it lasts [s]."""
    shape: Literal["constant", "half_sine"] = "constant"
    """How it goes on."""

    def instants(self) -> tuple[float, ...]:
        return self.start, self.start + self.duration

    def lasts(self, at: float) -> bool:
        return self.start <= at < self.start + self.duration

    def profile(self) -> ForceProfile:
        if self.shape == "constant":
            return ForceProfile()
        return ForceProfile(math.pi / self.duration, self.start, 0.0)


@final
@spec
class Disturbance(TimeWindow, ExternalForce):
    r"""A periodic force, $F \sin(2 \pi f t + \varphi)$, all the time or for a while."""

    kind: Literal["disturbance"] = "disturbance"
    frequency: Hertz
    """[Hz]."""
    phase: Radians = 0.0
    """At t = 0 [rad]."""

    def profile(self) -> ForceProfile:
        return ForceProfile(math.tau * self.frequency, 0.0, self.phase)
