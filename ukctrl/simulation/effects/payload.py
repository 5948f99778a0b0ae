"""A body that the robot carries, from some time on or until some time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal, final

import numpy as np
from pydantic import model_validator

from ukctrl.control.task import Signal
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Listed, Position, Quantity, Text, Time, spec
from ukctrl.robot import Payload, Perturbation, Robot, Snapshot
from ukctrl.simulation.effects.effect import PlantEffect

_Inertia = Annotated[float, Quantity("kg m^2")]
Inertias = Annotated[tuple[_Inertia, _Inertia, _Inertia], Listed(3, 3)]
"""Three moments of inertia [kg m^2]."""


@spec
class Window(PlantEffect):
    """What the effects share that last for a while."""

    start: Time | None = None
    """When it begins [s]; absent: with the run."""
    stop: Time | None = None
    """When it ends [s]; absent: never."""

    @model_validator(mode="after")
    def _some_while(self) -> Window:
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
class CarriedPayload(Window):
    """A rigid body fastened to a frame: a payload that the law's model need not know.

    Between ``start`` and ``stop`` its inertia belongs to the body that carries the frame. At both
    times the velocities are continuous, as if the body had moved with the frame before, and after:
    what it brings along or takes away counts as energy fed to the robot.
    """

    kind: Literal["payload"] = "payload"
    frame: Text
    """Frame that carries it."""
    mass: Annotated[float, Quantity("kg", minimum=0.0, open_minimum=True)]
    """[kg]."""
    com: Position = (0.0, 0.0, 0.0)
    """Centre of mass in the frame [m]."""
    inertia: Inertias = (0.0, 0.0, 0.0)
    """Principal moments about the centre of mass along the frame's axes [kg m^2]."""

    def altered(self, robot: Robot, at: float, rng: np.random.Generator) -> Robot:
        body = Payload(frame=self.frame, mass=self.mass, com=self.com, inertia=self.inertia)
        loaded = Perturbation(payload=body).apply(robot)  # refused even before it is picked up
        return loaded if self.lasts(at) else robot

    def signals(self, snapshot: Snapshot, since: float) -> Mapping[str, Signal]:
        if self.start is None and self.stop is None:
            return {}
        carried = self.mass if self.lasts(since) else 0.0
        return {"mass": Signal(carried, "kg", f"payload at '{self.frame}'")}
