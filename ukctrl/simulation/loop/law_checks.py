"""What the loop must not take on trust: the answers of a law."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeGuard, final

import numpy as np

from ukctrl.control.controller import Controller, Law, law_name
from ukctrl.control.task import Signal, Task
from ukctrl.control.tick import Command
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.mechanics.integrate.integrator import IntegrationFailed

REAL = "fiu"
"""Kinds of arrays of real numbers."""


def started(controller: Controller, task: Task) -> Law:
    """Start a controller.

    Raises:
        InputError: What it starts as is no law, or its memory is no list of finite numbers.
    """
    law: object = controller.start(task)
    name = law_name(controller)
    if not isinstance(law, Law):
        raise InputError(f"controller '{name}': start must return a Law; got {_told(law)}.")
    memory: object = law.memory
    if not (_numbers(memory) and np.ndim(memory) == 1 and np.isfinite(memory).all()):
        raise InputError(
            f"controller '{name}': memory must be a one-dimensional array of finite floats; "
            f"got {_told(memory)}."
        )
    return law


def _numbers(value: object) -> TypeGuard[Vector]:
    return isinstance(value, np.ndarray) and value.dtype.kind in REAL


def _told(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, {value}"
    return "None" if value is None else f"{type(value).__name__} {value}"


@final
class Answers:
    """Checks of what a law returns, with messages that name the controller."""

    def __init__(self, controller: Controller, law: Law, inputs: int) -> None:
        self._name = law_name(controller)
        self._memory, self._inputs = law.memory.shape, inputs

    def typed(self, t: float, command: object) -> None:
        """Check of what types a command consists; once a run, for a tick must be quick.

        Raises:
            TypeError: It is no command, or does not consist of arrays of floats.
        """
        said = f"controller '{self._name}' must return"
        if not isinstance(command, Command):
            raise TypeError(f"{said} a Command; got {_told(command)} at t = {t:.6g} s.")
        for what, value in zip(("u", "memory_rate"), command[:2], strict=True):
            if not _numbers(value):
                raise TypeError(
                    f"{said} {what} as an array of floats; got {_told(value)} at t = {t:.6g} s."
                )

    def signalled(self, signals: Mapping[str, object]) -> None:
        """Check what a law wants recorded; once a run.

        Raises:
            TypeError: Something is no signal.
        """
        for name, signal in signals.items():
            if not isinstance(signal, Signal):
                raise TypeError(
                    f"signal '{name}' of controller '{self._name}' must be a Signal; got "
                    f"{_told(signal)}."
                )

    def rate(self, t: float, q: Vector, v: Vector, command: Command) -> Vector:
        """Return the memory's rate of a command at a state.

        Raises:
            NotFinite: An entry is not finite.
        """
        rate = command.memory_rate
        if len(rate) and not math.isfinite(rate.dot(rate)):
            raise self.no_rate(t, q, v, rate)
        return rate

    def no_rate(self, t: float, q: Vector, v: Vector, rate: Vector) -> NotFinite:
        """Return the error of a rate that cannot be integrated."""
        return self._beyond(t, q, v, f"a finite memory_rate; got {rate}")

    def unusable(self, t: float, q: Vector, v: Vector, u: Vector) -> NotFinite:
        """Return the error of an input that the robot cannot take."""
        if np.shape(u) != (self._inputs,):
            q = v = np.zeros(0)  # a wrong shape is the law's fault wherever the state is
        return self._beyond(t, q, v, f"{self._inputs} finite inputs; got {u}")

    def _beyond(self, t: float, q: Vector, v: Vector, what: str) -> NotFinite:
        if np.isfinite(q).all() and np.isfinite(v).all():
            return NotFinite(f"controller '{self._name}' must return {what} at t = {t:.6g} s.")
        return NotFinite(f"the motion grew without bound at t = {t:.6g} s.")

    def _usable(self, u: Vector) -> bool:
        if np.shape(u) != (self._inputs,):
            return False
        # A finite sum of squares needs one call; one that overflows says nothing.
        return math.isfinite(np.dot(u, u)) or bool(np.isfinite(u).all())

    def check(self, t: float, q: Vector, v: Vector, command: Command) -> None:
        """Check a command as a whole.

        Raises:
            NotFinite: Its inputs or its rate are not finite, or have the wrong shape.
            IntegrationFailed: The rate of the memory has the wrong shape.
        """
        u = command.u
        if not self._usable(u):
            raise self.unusable(t, q, v, u)
        if np.shape(command.memory_rate) != self._memory:
            raise IntegrationFailed(
                f"controller '{self._name}' must return a memory_rate of shape {self._memory}; "
                f"got {np.shape(command.memory_rate)} at t = {t:.6g} s."
            )
        self.rate(t, q, v, command)
