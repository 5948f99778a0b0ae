"""Sensors one after the other, and drives: of the catalogue as kernels, of users' own as Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import NotFinite
from ukctrl.core.program import Call, Step
from ukctrl.simulation.effects.compiled_parts import (
    CompiledDrive,
    CompiledSensor,
    Driven,
    Reading,
)
from ukctrl.simulation.effects.effect import Drive, Sensor

WHAT = {"q": "coordinates", "v": "velocities"}
"""What a sensor reads."""


@compiled
def is_finite(x: Vector) -> bool:
    """Return whether all entries are finite."""
    finite = True
    for i in range(len(x)):
        finite = finite and math.isfinite(x[i])
    return finite


@compiled
def stays_finite(given: Vector, made: Vector) -> bool:
    """Return whether all entries are finite of what was made of finite ones."""
    return is_finite(made) or not is_finite(given)


class Reader(NamedTuple):
    """A sensor and the effect that it belongs to."""

    label: str
    sensor: Sensor

    def steps(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        """Return the reading, which must be as finite as what was to be read."""
        sensor = self.sensor
        own = sensor.steps if isinstance(sensor, CompiledSensor) else self._of_python
        made = own(clock, q, v)
        checks = [self._check(clock, "q", q, made.q), self._check(clock, "v", v, made.v)]
        return made._replace(steps=(*made.steps, *checks))

    def _of_python(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        q_read, v_read = np.zeros(len(q)), np.zeros(len(v))

        def read() -> None:
            given = self.sensor.read(float(clock[0]), q.copy(), v.copy())
            for name, made, out in zip("qv", given, (q_read, v_read), strict=True):
                if np.shape(made) != out.shape:
                    raise self._unread(clock, name, len(out), made)
                out[:] = made

        return Reading(q_read, v_read, (read,))

    def _check(self, clock: Vector, name: str, given: Vector, made: Vector) -> Call:
        return Call(
            stays_finite,
            given,
            made,
            fault=lambda code: self._unread(clock, name, len(given), made),
        )

    def _unread(self, clock: Vector, name: str, size: int, made: Vector) -> NotFinite:
        return NotFinite(
            f"effect '{self.label}' must read {size} finite {WHAT[name]} '{name}'; got {made} "
            f"at t = {clock[0]:.6g} s."
        )


class Actor(NamedTuple):
    """A drive and the effect that it belongs to."""

    label: str
    drive: Drive

    def steps(self, clock: Vector, u: Vector, rate: Vector) -> Driven:
        """Return the input that the drive gives, which must be as finite as what it got."""
        drive = self.drive
        own = drive.steps if isinstance(drive, CompiledDrive) else self._of_python
        made = own(clock, u, rate)
        out = made.u
        check = Call(stays_finite, u, out, fault=lambda code: self._unfit(clock, len(u), out))
        return made._replace(steps=(*made.steps, check))

    def _of_python(self, clock: Vector, u: Vector, rate: Vector) -> Driven:
        out = np.zeros(len(u))

        def apply() -> None:
            given = self.drive.apply(float(clock[0]), u.copy(), rate.copy())
            if np.shape(given) != out.shape:
                raise self._unfit(clock, len(out), given)
            out[:] = given

        return Driven(out, (apply,))

    def _unfit(self, clock: Vector, size: int, given: Vector) -> NotFinite:
        return NotFinite(
            f"effect '{self.label}' must apply {size} finite inputs; got {given} "
            f"at t = {clock[0]:.6g} s."
        )


def sensing(readers: Iterable[Reader], clock: Vector, q: Vector, v: Vector) -> Reading:
    """Return what sensors make of a state one after the other; the state itself without any."""
    steps: list[Step] = []
    for reader in readers:
        q, v, own = reader.steps(clock, q, v)
        steps += own
    return Reading(q, v, steps)


def driving(actors: Iterable[Actor], clock: Vector, u: Vector, rate: Vector) -> Driven:
    """Return what drives make of an input one after the other; the input itself without any."""
    steps: list[Step] = []
    for actor in actors:
        u, own = actor.steps(clock, u, rate)
        steps += own
    return Driven(u, steps)
