"""The limits of inputs at every moment: the motors' own, the user's, and those of rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, final

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.algebra.factorisation import matvec_transposed
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError, unknown_name
from ukctrl.core.fields import ByName
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import Robot, Snapshot
from ukctrl.robot.motor_limits import LIMIT_SCHEMA, LimitPair, read_limit

InputLimitSpec = Annotated[
    float | LimitPair | dict[str, float | LimitPair], ByName(read_limit, LIMIT_SCHEMA)
]
"""A limit of all motors, or a table of them by motor; each a number or a lower and an upper one."""


@final
class InputLimits:
    """The lowest and the highest input at every moment.

    Attributes:
        lower: At low speed, shape ``(nu,)``.
        upper: At low speed, shape ``(nu,)``.

    Args:
        user_limits: The user's limits.
        task: The task, with the robot.
        rates: The user's limits of rates, by motor [N m/s or N/s].

    Raises:
        GainError: Limits contradict each other.
        UnknownName: The robot has no such motor.
    """

    def __init__(
        self,
        user_limits: float | LimitPair | dict[str, float | LimitPair] | None,
        task: Task,
        rates: Mapping[str, float] = {},
    ) -> None:
        robot = task.robot
        self._robot, self._period = robot, task.period
        self._low, self._high = np.full((2, robot.nu), [[-np.inf], [np.inf]])
        self._apply_user_limits(user_limits, robot)
        bounds = robot.actuation.bounds
        self.lower, self.upper = (
            np.clip(user_limits, bounds.lower, bounds.upper)
            for user_limits in (self._low, self._high)
        )
        of_user = np.array([rates.get(motor, np.inf) for motor in robot.actuators])
        self._rate = np.minimum(robot.input_rate_limit, of_user)

    def require_any(self) -> None:
        """Refuse a robot without any.

        Raises:
            GainError: No motor has a limit.
        """
        if not (np.isfinite(self.lower) | np.isfinite(self.upper)).any():
            raise GainError(
                f"bounded needs the limit of some motor; robot '{self._robot.name}' has none. "
                "Write them into its robot.toml, or give the allocation a limit."
            )

    def _apply_user_limits(
        self, user_limits: float | LimitPair | dict[str, float | LimitPair] | None, robot: Robot
    ) -> None:
        """Take the user's limits, which must leave some of the motor's range."""
        limits = (
            user_limits
            if isinstance(user_limits, dict)
            else dict.fromkeys(robot.actuators, user_limits)
        )
        bounds = robot.actuation.bounds
        for name, limit in limits.items():
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
    def rate_limited(self) -> tuple[str, ...]:
        """Names of the motors with a rate limit."""
        names = self._robot.actuators
        return tuple(names[i] for i in np.flatnonzero(np.isfinite(self._rate)))

    def steps(self, s: Snapshot, last: Vector, low: Vector, high: Vector) -> Iterator[KernelStep]:
        """Yield what writes the lowest and the highest input at the state of then, ``(nu,)``.

        The motors' own come first: where a speed leaves a motor less than the user's lower limit,
        that is its limit. One control period after a last input torque limits still come first:
        where they move faster than the motor may, it follows them.

        Args:
            s: The robot.
            last: The last input and whether there was one, shape ``(nu + 1,)``; empty where rates
                are not limited.
            low: Receives the lowest input.
            high: Receives the highest input.
        """
        bounds = self._robot.actuation.bounds
        # neither a torque-speed line nor a rate: the limits are constant, and written before the
        # run
        if not (bounds.depends_on_speed or len(last)):
            low[:], high[:] = self.lower, self.upper
            return
        rate, max_change = np.zeros(len(low)), self._rate * (self._period or np.inf)
        yield BoundKernel(matvec_transposed, s.v, s.B, rate)
        yield bounds.step(rate, low, high)

        def unknown(code: int) -> Exception:
            return GainError(
                "a rate limit needs the input of the last tick; a law of one's own must call "
                "allocator.look_back(memory) before every input, or say "
                'allocation.rate_limits = "ignore".'
            )

        yield BoundKernel(
            narrow_limits, self._low, self._high, last, max_change, low, high, fault=unknown
        )


@compiled
def narrow_limits(
    own_low: Vector, own_high: Vector, last: Vector, step: Vector, low: Vector, high: Vector
) -> bool:
    """Narrow limits to the user's and to what is near the last input; return if that is known."""
    for k in range(len(low)):
        lowest, highest = low[k], high[k]
        low[k] = min(max(own_low[k], lowest), highest)
        high[k] = min(max(own_high[k], lowest), highest)
    # the flag is integrated like all memory, so it is compared and not tested for equality
    if len(last) == 0 or last[-1] < HAS_LAST_INPUT:
        return True
    for k in range(len(low)):
        lowest, highest = low[k], high[k]
        low[k] = min(max(last[k] - step[k], lowest), highest)
        high[k] = min(max(last[k] + step[k], lowest), highest)
    return not np.isnan(last[-1])


HAS_LAST_INPUT = 0.5
"""Below this, the last entry of the memory says that there was no input yet."""
