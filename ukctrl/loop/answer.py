"""What the loop must not take on trust: the answers of a law."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from ukctrl.control import Command, Controller, Law
from ukctrl.errors import NotFinite
from ukctrl.factor import Vector
from ukctrl.integrate import IntegrationFailed


@final
class Answers:
    """Checks of what a law returns, with messages that name the controller.

    Args:
        controller: What was started.
        law: What it started as.
        inputs: Number of inputs of the robot.
    """

    def __init__(self, controller: Controller, law: Law, inputs: int) -> None:
        self._name = controller.name or type(controller).__name__
        self._memory, self._inputs = law.memory.shape, inputs

    def rate(self, t: float, q: Vector, v: Vector, command: Command) -> Vector:
        """Return the memory's rate of a command at a state.

        Raises:
            NotFinite: An entry is not finite.
        """
        rate = command.memory_rate
        if len(rate) and not math.isfinite(rate.dot(rate)):
            raise self._beyond(t, q, v, f"a finite memory_rate; got {rate}")
        return rate

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
