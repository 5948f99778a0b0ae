"""Sensors one after the other, and drives: of the catalogue as kernels, of users' own as Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import NotFinite
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.simulation.effects.effect import Drive, Sensor
from ukctrl.simulation.effects.kernel_effects import KernelDrive, KernelSensor


@compiled
def is_finite(x: Vector) -> bool:
    """Return whether all entries are finite."""
    finite = True
    for i in range(len(x)):
        finite = finite and math.isfinite(x[i])
    return finite


@compiled
def stays_finite(source: Vector, output: Vector) -> bool:
    """Return whether all entries are finite of what was made of finite ones."""
    # an effect is not blamed for what it was given
    return is_finite(output) or not is_finite(source)


class ChainLink(NamedTuple):
    """A sensor or a drive, and the effect that it belongs to.

    A sensor makes two signals of two, configuration and velocity; a drive makes an input of one.
    """

    label: str
    component: Sensor | Drive

    def steps(
        self, clock: Vector, signals: tuple[Vector, ...], others: tuple[Vector, ...]
    ) -> tuple[tuple[Vector, ...], list[KernelStep]]:
        """Return the signals after it, which must be as finite as those before, and what writes
        them; ``others`` are only read.
        """
        if isinstance(self.component, KernelSensor | KernelDrive):
            made: Any = self.component.steps(clock, *signals, *others)
            *outputs, steps = made
        else:
            outputs, steps = self._python_steps(clock, signals, others)
        checks = [
            self._check(clock, k, *pair)
            for k, pair in enumerate(zip(signals, outputs, strict=True))
        ]
        return tuple(outputs), [*steps, *checks]

    def _python_steps(
        self, clock: Vector, signals: tuple[Vector, ...], others: tuple[Vector, ...]
    ) -> tuple[list[Vector], list[KernelStep]]:
        outputs = [np.zeros(len(signal)) for signal in signals]

        def call() -> None:
            # a user's part may change its arguments, which are the arrays of the run
            copies = (array.copy() for array in (*signals, *others))
            if isinstance(self.component, Sensor):
                values: tuple[Vector, ...] = self.component.read(float(clock[0]), *copies)
            else:
                values = (self.component.apply(float(clock[0]), *copies),)
            for k, (value, output) in enumerate(zip(values, outputs, strict=True)):
                if np.shape(value) != output.shape:
                    raise self._error(clock, k, len(output), value)
                output[:] = value

        return outputs, [call]

    def _check(self, clock: Vector, k: int, source: Vector, output: Vector) -> BoundKernel:
        return BoundKernel(
            stays_finite,
            source,
            output,
            fault=lambda code: self._error(clock, k, len(source), output),
        )

    def _error(self, clock: Vector, k: int, size: int, value: Vector) -> NotFinite:
        nouns = "coordinates 'q'", "velocities 'v'"
        is_sensor = isinstance(self.component, Sensor)
        task = f"read {size} finite {nouns[k]}" if is_sensor else f"apply {size} finite inputs"
        return NotFinite(f"effect '{self.label}' must {task}; got {value} at t = {clock[0]:.6g} s.")


def chain(
    links: Iterable[ChainLink], clock: Vector, signals: tuple[Vector, ...], *others: Vector
) -> tuple[tuple[Vector, ...], list[KernelStep]]:
    """Return what links make of signals one after the other, and what writes it; the signals
    themselves without any link.
    """
    steps: list[KernelStep] = []
    for link in links:
        signals, link_steps = link.steps(clock, signals, others)
        steps += link_steps
    return signals, steps
