"""Law checks: type, shape and finiteness of every answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeGuard, final

import numpy as np

from ukctrl.control.command import Command
from ukctrl.control.controller import Controller, Law, law_name
from ukctrl.control.task import Signal, Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.mechanics.integrate.integrator import IntegrationFailed

REAL = "fiu"
"""Kinds of arrays of real numbers."""


def start_controller(controller: Controller, task: Task) -> Law:
    """Start a controller.

    Raises:
        InputError: What it starts as is no law, or its memory is no list of finite numbers.
    """
    law: object = controller.start(task)
    name = law_name(controller)
    if not isinstance(law, Law):
        raise InputError(
            f"controller '{name}': start must return a Law; got {_describe_value(law)}."
        )
    memory: object = law.memory
    if not (_is_real_array(memory) and np.ndim(memory) == 1 and np.isfinite(memory).all()):
        raise InputError(
            f"controller '{name}': memory must be a one-dimensional array of finite floats; "
            f"got {_describe_value(memory)}."
        )
    return law


def _is_real_array(value: object) -> TypeGuard[Vector]:
    return isinstance(value, np.ndarray) and value.dtype.kind in REAL


def _describe_value(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, {value}"
    return "None" if value is None else f"{type(value).__name__} {value}"


def _is_finite(values: Vector) -> bool:
    # A finite sum of squares needs one call; one that overflows says nothing.
    return math.isfinite(np.dot(values, values)) or bool(np.isfinite(values).all())


@final
class LawChecks:
    """Checks of what a law returns, with messages that name the controller."""

    def __init__(self, controller: Controller, law: Law, inputs: int) -> None:
        self._name = law_name(controller)
        self._memory, self._inputs = law.memory.shape, inputs

    def check_types(self, t: float, command: object) -> None:
        """Check of what types a command consists; once a run, for a tick must be quick.

        Raises:
            TypeError: It is no command, or does not consist of arrays of floats.
        """
        prefix = f"controller '{self._name}' must return"
        if not isinstance(command, Command):
            raise TypeError(f"{prefix} a Command; got {_describe_value(command)} at t = {t:.6g} s.")
        for key, value in zip(("u", "memory_rate"), command[:2], strict=True):
            if not _is_real_array(value):
                raise TypeError(
                    f"{prefix} {key} as an array of floats; got {_describe_value(value)} at t = "
                    f"{t:.6g} s."
                )

    def check_signals(self, signals: Mapping[str, object]) -> None:
        """Check what a law wants recorded; once a run.

        Raises:
            TypeError: Something is no signal.
        """
        for name, signal in signals.items():
            if not isinstance(signal, Signal):
                raise TypeError(
                    f"signal '{name}' of controller '{self._name}' must be a Signal; got "
                    f"{_describe_value(signal)}."
                )

    def memory_rate_error(self, t: float, q: Vector, v: Vector, rate: Vector) -> NotFinite:
        """Return the error of a rate that cannot be integrated."""
        return self._not_finite(t, q, v, f"a finite memory_rate; got {rate}")

    def input_error(self, t: float, q: Vector, v: Vector, u: Vector) -> NotFinite:
        """Return the error of an input that the robot cannot take."""
        if np.shape(u) != (self._inputs,):
            # a wrong shape is the law's fault even where the state has grown without bound
            q = v = np.zeros(0)
        return self._not_finite(t, q, v, f"{self._inputs} finite inputs; got {u}")

    def _not_finite(self, t: float, q: Vector, v: Vector, requirement: str) -> NotFinite:
        # at a state that is not finite no law has an answer: there the motion is to blame
        if np.isfinite(q).all() and np.isfinite(v).all():
            return NotFinite(
                f"controller '{self._name}' must return {requirement} at t = {t:.6g} s."
            )
        return NotFinite(f"the motion grew without bound at t = {t:.6g} s.")

    def check(self, t: float, q: Vector, v: Vector, command: Command) -> None:
        """Check a command as a whole.

        Raises:
            NotFinite: Its inputs or its rate are not finite, or have the wrong shape.
            IntegrationFailed: The rate of the memory has the wrong shape.
        """
        u, rate = command.u, command.memory_rate
        if np.shape(u) != (self._inputs,) or not _is_finite(u):
            raise self.input_error(t, q, v, u)
        if np.shape(rate) != self._memory:
            raise IntegrationFailed(
                f"controller '{self._name}' must return a memory_rate of shape {self._memory}; "
                f"got {np.shape(rate)} at t = {t:.6g} s."
            )
        if not _is_finite(rate):
            raise self.memory_rate_error(t, q, v, rate)
