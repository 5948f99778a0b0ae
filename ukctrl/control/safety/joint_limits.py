"""Joints that stay within their ranges, speeds and accelerations, and motors within their rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from ukctrl.control.safety.braking import JointBounds, braking_samples, joint_decelerations
from ukctrl.control.safety.inequality import BoundInequality, Inequality, InequalityRow
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import ByName, ListSize, NumberByName, Quantity, Text, spec
from ukctrl.mechanics.constraints.joints import JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Robot

Positions = Annotated[NumberByName, ByName(Quantity("rad or m").read)]


def _positive_by_name(unit: str) -> ByName:
    return ByName(Quantity(unit, minimum=0.0, open_minimum=True).read)


Speeds = Annotated[NumberByName, _positive_by_name("rad/s or m/s")]
Accelerations = Annotated[NumberByName, _positive_by_name("rad/s^2 or m/s^2")]
InputRates = Annotated[NumberByName, _positive_by_name("N m/s or N/s")]
LimitKind = Literal["positions", "speeds", "accelerations", "input_rates"]


class _JointLimitValues(NamedTuple):
    """What is kept of which joints."""

    joints: tuple[str, ...]
    bounds: JointBounds
    decelerations: Mapping[str, float]
    """Of the joints with an end."""
    accelerations: Mapping[str, float]


@spec
class JointLimits(Inequality):
    r"""Joints stay within the robot's ranges of position and speed, or within narrower ones.

    A joint must be able to stop before its end under its own deceleration $d$, whatever the law
    asks of it: $|\dot q| \le \sqrt{2 d h + d^2 \tau^2} - d \tau$ with the way $h$ that is left. A
    speed $h = v_{\max} - |\dot q|$ has an exponential barrier. ``margin`` is that of positions.
    """

    kind: Literal["joint_limits"] = "joint_limits"
    limits: Annotated[tuple[LimitKind, ...], ListSize()] = ("positions", "speeds")
    """What of the joints is kept; ``"input_rates"`` is of the motors."""
    joints: Annotated[tuple[Text, ...], ListSize()] | None = None
    """Names of joints; absent: all of one freedom that have limits."""
    lower: Positions | None = None
    """Lowest positions, for all or by joint [rad or m]; absent: the robot's."""
    upper: Positions | None = None
    """Highest positions, likewise."""
    speed: Speeds | None = None
    """Highest speeds, likewise [rad/s or m/s]."""
    deceleration: Accelerations | None = None
    """Deceleration that a joint has wherever it goes, for all or by joint [rad/s^2 or m/s^2];
    absent: what the motors give all of them at once at states drawn from their ranges and
    speeds."""
    acceleration: Accelerations | None = None
    """Largest accelerations, for all or by joint [rad/s^2 or m/s^2]."""
    input_rate: InputRates | None = None
    """Fastest changes of inputs, for all or by motor [N m/s or N/s]; absent: the robot's."""
    margin: Annotated[float, Quantity("rad or m", minimum=0.0)] = 0.0
    """How far from the ends of their ranges to stay [rad or m]."""

    @model_validator(mode="after")
    def _check_limit_names(self) -> Self:
        for word, key in (("accelerations", "acceleration"), ("input_rates", "input_rate")):
            if getattr(self, key) is not None and word not in self.limits:
                raise InputError(f"limits must name '{word}', for {key} is given.")
        if "accelerations" in self.limits and self.acceleration is None:
            raise InputError("acceleration must be given, for no robot has limits of it.")
        return self

    def keeps(self, task: Task) -> BoundInequality:
        robot, chosen = task.robot, self._limit_values(task)
        sides, rates = tuple(self._rows(robot, chosen)), self._input_rates(task)
        if not (sides or rates):
            raise InputError(
                f"joints must have a limit of their {' or '.join(self.limits)}; those of robot "
                f"'{robot.name}' have none. Give lower, upper or speed."
            )
        block, zeros = self.name or "joints", Constant(value=(0.0,) * len(chosen.joints))
        row = JointFollows(name=block, joints=chosen.joints, path=zeros)
        return BoundInequality(block, row, sides, rates)

    def doubts(self, task: Task) -> Iterable[str]:
        if "positions" not in self.limits:
            return
        chosen = self._limit_values(task)
        joints = tuple(chosen.decelerations)
        usage = braking_samples(task, joints, chosen.bounds).margin_usage(
            np.array([chosen.decelerations[joint] for joint in joints])
        )
        lacking = (usage > 1.0).any(axis=1)
        if not lacking.any():
            return
        state, motor = np.unravel_index(int(np.argmax(usage)), usage.shape)
        peak = usage[state, motor]
        need = f"{peak:.2g} times what it has" if np.isfinite(peak) else "more than it has"
        yield (
            f"joints cannot all brake with their deceleration at {lacking.mean():.0%} of "
            f"{len(usage)} states drawn from their ranges and speeds (at the worst motor "
            f"'{task.robot.actuators[motor]}' would need {need}): from there a range or a speed "
            "may be crossed."
        )

    def _limit_values(self, task: Task) -> _JointLimitValues:
        robot = task.robot
        speeds = dict(zip(robot.dofs, robot.velocity_limit, strict=True))
        ends = JointBounds(
            _values_by_name(self.lower, self._robot_bounds(robot, robot.q_lower), robot.dofs),
            _values_by_name(self.upper, self._robot_bounds(robot, robot.q_upper), robot.dofs),
            _values_by_name(self.speed, speeds, robot.dofs),
        )
        joints = self._names(robot, ends)
        ended = [j for j in joints if np.isfinite([e.get(j, np.nan) for e in ends[:2]]).any()]
        accelerations = _values_by_name(
            self.acceleration, dict.fromkeys(joints, np.inf), robot.dofs
        )
        brake = self._decelerations(task, ended, ends) if "positions" in self.limits else {}
        # who may not accelerate harder must not count on braking harder
        slower = {
            joint: min(value, accelerations.get(joint, np.inf)) for joint, value in brake.items()
        }
        return _JointLimitValues(
            joints, ends, slower, accelerations if self.acceleration is not None else {}
        )

    def _robot_bounds(self, robot: Robot, ends: Vector) -> dict[str, float]:
        """Return the robot's own ends of the joints that have one freedom."""
        at = dict(zip(robot.coordinates, ends.tolist(), strict=True))
        return {dof: at[dof] for dof in robot.dofs if dof in at}

    def _names(self, robot: Robot, ends: JointBounds) -> tuple[str, ...]:
        dofs = [dof for dof in robot.dofs if dof in ends.lower]
        if self.joints is None:
            if self.acceleration is not None:
                return tuple(dofs)
            ended = [
                dof for dof in dofs if any(np.isfinite(bound.get(dof, np.inf)) for bound in ends)
            ]
            return tuple(ended or dofs)
        for joint in self.joints:
            if joint not in robot.dofs:
                raise unknown_name("joint", joint, dofs)
        return tuple(self.joints)

    def _rows(self, robot: Robot, chosen: _JointLimitValues) -> Iterator[InequalityRow]:
        (low, high, fastest), free = chosen.bounds, self.margin
        positions, speeds = "positions" in self.limits, "speeds" in self.limits
        for row, joint in enumerate(chosen.joints):
            unit = robot.dof_units[robot.dofs.index(joint)]
            length, a_max = unit.removesuffix("/s"), chosen.accelerations.get(joint, np.inf)
            ends = low.get(joint, -np.inf), high.get(joint, np.inf)
            if not ends[0] + free < ends[1] - free:
                raise InputError(
                    f"the range of joint '{joint}' must be more than two margins; got "
                    f"{ends[0]:g} to {ends[1]:g} with a margin of {free:g}."
                )
            for end, sign, limit in (("lower", 1.0, ends[0]), ("upper", -1.0, ends[1])):
                if positions and np.isfinite(limit):
                    args = length, row, sign, -sign * limit
                    yield InequalityRow(
                        f"{joint}.{end}", *args, 2, free, chosen.decelerations[joint]
                    )
            for direction, sign in (("backward", 1.0), ("forward", -1.0)):
                if speeds and np.isfinite(fastest.get(joint, np.inf)):
                    yield InequalityRow(f"{joint}.{direction}", unit, row, sign, fastest[joint], 1)
                if np.isfinite(a_max):
                    yield InequalityRow(
                        f"{joint}.{direction}_acceleration", f"{unit}^2", row, sign, a_max, 0
                    )

    def _decelerations(self, task: Task, joints: list[str], ends: JointBounds) -> dict[str, float]:
        deceleration = self.deceleration
        if isinstance(deceleration, float):
            return dict.fromkeys(joints, deceleration)
        decelerations = {
            k: value
            for k, value in _values_by_name(deceleration, {}, task.robot.dofs).items()
            if k in joints
        }
        if len(decelerations) < len(joints):
            decelerations |= joint_decelerations(braking_samples(task, joints, ends), decelerations)
        return {joint: decelerations[joint] for joint in joints}

    def _input_rates(self, task: Task) -> dict[str, float]:
        if "input_rates" not in self.limits:
            return {}
        robot = task.robot
        defaults = dict(zip(robot.actuators, robot.input_rate_limit.tolist(), strict=True))
        rates = _values_by_name(self.input_rate, defaults, robot.actuators, "motor (in input_rate)")
        if not np.isfinite(list(rates.values())).any():
            raise InputError(
                f"input_rate must be given, for no motor of robot '{robot.name}' has a rate limit."
            )
        if task.period is None:
            raise InputError(
                "limits can name 'input_rates' only where an input holds from one tick to the "
                "next; give timing.control."
            )
        return rates


def _values_by_name(
    values: NumberByName | None,
    defaults: dict[str, float],
    names: Sequence[str],
    label: str = "joint",
) -> dict[str, float]:
    """Return a number for everything: as given, or else its own."""
    if isinstance(values, float):
        return dict.fromkeys(defaults, values)
    for name in values or ():
        if name not in names:
            raise unknown_name(label, name, names)
    return {**defaults, **(values or {})}
