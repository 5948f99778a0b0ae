"""Input effects: saturation, rate limit, delay, dead zone."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, NumberByName, Quantity, spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel
from ukctrl.robot import Robot
from ukctrl.robot.values_by_name import values_by_name
from ukctrl.simulation.effects.effect import (
    Bounds,
    DelayLength,
    Drive,
    InputEffect,
    RunContext,
    delay_seconds,
)
from ukctrl.simulation.effects.kernel_effects import DriveOutput, KernelDrive

Efforts = Annotated[NumberByName, ByName(Quantity("N m or N", minimum=0.0, open_minimum=True).read)]
"""Inputs, above zero [N m or N]."""
Slopes = Annotated[
    NumberByName, ByName(Quantity("N m/s or N/s", minimum=0.0, open_minimum=True).read)
]
"""Rates of inputs, above zero [N m/s or N/s]."""


def _by_actuator(robot: Robot, key: str, setting: NumberByName, default: float) -> Vector:
    with error_context(key):
        return values_by_name(setting, robot.actuators, "actuator", default)


@compiled
def clip(x: float, low: float, high: float) -> float:
    """Return the nearest number between two, of which the upper goes first; NaN of NaN."""
    if x < low:
        x = low
    return high if x > high else x


@compiled
def clip_input(u: Vector, low: Vector, high: Vector, limit: Vector, out: Vector) -> None:
    """Write an input between two bounds and below a size."""
    for i in range(len(u)):
        out[i] = clip(u[i], max(low[i], -limit[i]), min(high[i], limit[i]))


@compiled
def dead_zone(u: Vector, width: Vector, out: Vector) -> None:
    """Write an input without what lies in a dead zone."""
    for i in range(len(u)):
        out[i] = u[i] - clip(u[i], -width[i], width[i])


@compiled
def limit_rate(
    clock: Vector, u: Vector, fastest: Vector, since: Vector, last: Vector, out: Vector
) -> None:
    """Write an input as near as it comes at a rate.

    Args:
        clock: Time of the tick, shape ``(1,)`` [s].
        u: Input, shape ``(nu,)``.
        fastest: Largest rates of change, shape ``(nu,)``.
        since: Time of the tick before, shape ``(1,)`` [s]; NaN where there was none.
        last: What was written then, shape ``(nu,)``.
        out: Shape ``(nu,)``.
    """
    passed = clock[0] - since[0]
    since[0] = clock[0]
    for i in range(len(u)):
        step = fastest[i] * passed
        out[i] = u[i] if np.isnan(passed) else clip(u[i], last[i] - step, last[i] + step)
        # from what was applied, not from what was asked: so the drive catches up
        last[i] = out[i]


@final
@spec
class Saturation(InputEffect):
    r"""Motors that give no more than they can: $u = \min(\max(u_c, u_{\min}), u_{\max})$.

    The bounds are those of the robot's actuators at their speed, `Robot.input_bounds`, and tighter
    ones where they are given here. Between the ticks of a law they follow the speed.
    """

    kind: Literal["saturation"] = "saturation"
    alone: ClassVar[bool] = True
    limit: Efforts | None = None
    """Largest absolute input beside the robot's own bounds, for all or by actuator [N m or N]."""

    def attach(self, context: RunContext, rng: np.random.Generator) -> Drive:
        robot = context.robot
        limit = np.full(robot.nu, np.inf)
        if self.limit is not None:
            # motors that a table leaves out have no limit but their own
            limit = _by_actuator(robot, "limit", self.limit, np.inf)
        elif not np.isfinite(robot.input_bounds(np.zeros(robot.nu))).any():
            raise InputError(
                f"no actuator of robot '{robot.name}' has a limit; give one here, such as "
                "limit = 10.0, or one for each actuator in the robot's file."
            )
        motors = robot.actuation.bounds

        def steps(clock: Vector, u: Vector, rate: Vector) -> DriveOutput:
            low, high, out = np.zeros((3, len(u)))
            clipped = BoundKernel(clip_input, u, low, high, limit, out)
            return out, (motors.step(rate, low, high), clipped)

        def bounds(rate: Vector) -> Bounds:
            low, high = motors.at(rate)
            return Bounds(np.maximum(low, -limit), np.minimum(high, limit))

        return KernelDrive(steps, bounds=bounds)


@final
@spec
class DeadZone(InputEffect):
    r"""Drives that answer nothing to little: $u = u_c - \mathrm{clip}(u_c, -w, w)$."""

    kind: Literal["dead_zone"] = "dead_zone"
    alone: ClassVar[bool] = True
    width: Efforts
    """Largest command without an effect, $w$, for all or by actuator [N m or N]."""

    def attach(self, context: RunContext, rng: np.random.Generator) -> Drive:
        width = _by_actuator(context.robot, "width", self.width, 0.0)

        def steps(clock: Vector, u: Vector, rate: Vector) -> DriveOutput:
            out = np.zeros(len(u))
            return out, (BoundKernel(dead_zone, u, width, out),)

        return KernelDrive(steps)


@final
@spec
class RateLimit(InputEffect):
    r"""Drives that cannot jump: from tick to tick an input changes by at most $r\,(t_k - t_{k-1})$.

    It starts from the first command.
    """

    kind: Literal["rate_limit"] = "rate_limit"
    sampled: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    rate: Slopes | None = None
    """Fastest change $r$, for all or by actuator [N m/s or N/s]; absent: the robot's own limits."""

    def attach(self, context: RunContext, rng: np.random.Generator) -> Drive:
        robot = context.robot
        fastest = robot.input_rate_limit
        if self.rate is not None:
            fastest = _by_actuator(robot, "rate", self.rate, np.inf)
        elif not np.isfinite(fastest).any():
            raise InputError(
                f"no actuator of robot '{robot.name}' has a rate_limit; give one here, such as "
                "rate = 100.0, or one for each actuator in the robot's file."
            )
        memory = np.full(1, np.nan), np.zeros(len(fastest))

        def steps(clock: Vector, u: Vector, rate: Vector) -> DriveOutput:
            out = np.zeros(len(u))
            return out, (BoundKernel(limit_rate, clock, u, fastest, *memory, out),)

        return KernelDrive(steps)


@final
@spec
class InputDelay(InputEffect, DelayLength):
    """Inputs that arrive late; until the first one arrives the input is zero.

    The delay may be any length. One that is no whole number of control periods changes the input
    between the ticks, and the integration restarts there.
    """

    kind: Literal["input_delay"] = "input_delay"
    sampled: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    only_delays: ClassVar[bool] = True

    def attach(self, context: RunContext, rng: np.random.Generator) -> Drive:
        # the schedule of the loop lets inputs wait; here they pass
        return KernelDrive(lambda clock, u, rate: (u, ()), delay=delay_seconds(self, context))
