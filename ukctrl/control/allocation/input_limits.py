"""The limits that an allocation keeps: the motors', and narrower ones of the user."""

from __future__ import annotations

from typing import Annotated, final

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, unknown_name
from ukctrl.core.fields import ByName
from ukctrl.robot import Robot
from ukctrl.robot.motor import LIMIT_SCHEMA, Pair, read_limit

Limits = Annotated[float | Pair | dict[str, float | Pair], ByName(read_limit, LIMIT_SCHEMA)]
"""A limit of all motors, or a table of them by motor; each a number or a lower and an upper one."""


@final
class InputLimits:
    """The lowest and the highest input at every moment.

    Raises:
        GainError: Limits contradict each other, or there are none.
        UnknownName: The robot has no such motor.
    """

    def __init__(self, own: float | Pair | dict[str, float | Pair] | None, task: Task) -> None:
        robot = task.robot
        self._robot, self._period = robot, task.period
        self._low, self._high = np.full((2, robot.nu), [[-np.inf], [np.inf]])
        self._narrow(own, robot)
        bounds = robot.actuation.bounds
        self._falls = bounds.falls
        self._low_at_rest = np.clip(self._low, bounds.lower, bounds.upper)
        self._high_at_rest = np.clip(self._high, bounds.lower, bounds.upper)
        if not (np.isfinite(self._low_at_rest) | np.isfinite(self._high_at_rest)).any():
            raise GainError(
                f"bounded needs the limit of some motor; robot '{robot.name}' has none. Write them "
                "into its robot.toml, or give the allocation a limit."
            )
        self._rate = robot.input_rate_limit

    def _narrow(self, own: float | Pair | dict[str, float | Pair] | None, robot: Robot) -> None:
        """Take the user's limits, which must leave some of the motor's range."""
        given = own if isinstance(own, dict) else dict.fromkeys(robot.actuators, own)
        bounds = robot.actuation.bounds
        for name, limit in given.items():
            if name not in robot.actuators:
                raise unknown_name("motor (in limit)", name, robot.actuators)
            if limit is None:
                continue
            k = robot.actuators.index(name)
            low, high = limit if isinstance(limit, tuple) else (-limit, limit)
            if low > bounds.upper[k] or high < bounds.lower[k]:
                raise GainError(
                    f"limit of motor '{name}' must leave it some input; {low:g} to {high:g} has "
                    f"nothing in common with the motor's own {bounds.lower[k]:g} to "
                    f"{bounds.upper[k]:g}."
                )
            self._low[k], self._high[k] = low, high

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the motors."""
        return self._robot.actuators

    @property
    def slow(self) -> tuple[str, ...]:
        """Names of the motors with a rate limit."""
        names = self._robot.actuators
        return tuple(names[i] for i in np.flatnonzero(np.isfinite(self._rate)))

    def at(self, rate: Vector) -> tuple[Vector, Vector]:
        """Return the lowest and the highest input at the rates ``v @ B``, each ``(nu,)``.

        The motors' own come first: where a speed leaves a motor less than the user's lower limit,
        that is its limit.
        """
        if not self._falls:
            return self._low_at_rest, self._high_at_rest
        low, high = self._robot.actuation.bounds.at(rate)
        return np.clip(self._low, low, high), np.clip(self._high, low, high)

    def after(self, before: Vector, rate: Vector) -> tuple[Vector, Vector]:
        """Return the same one control period after the input ``before``.

        Torque limits come first: where they move faster than the motor may, it follows them.
        """
        low, high = self.at(rate)
        step = self._rate * (self._period or 0.0)
        return np.clip(before - step, low, high), np.clip(before + step, low, high)
