r"""Joints that stay within their ranges and speeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np

from ukctrl.control.keep.keep import Keep, Kept, Side
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import ByName, Listed, NumberByName, Quantity, Text, spec
from ukctrl.mechanics.constraints.joints import JointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Robot

Ends = Annotated[NumberByName, ByName(Quantity("rad or m").read)]
Speeds = Annotated[
    NumberByName, ByName(Quantity("rad/s or m/s", minimum=0.0, open_minimum=True).read)
]
Decelerations = Annotated[
    NumberByName, ByName(Quantity("rad/s^2 or m/s^2", minimum=0.0, open_minimum=True).read)
]
SHARE = 0.5
"""Part of the deceleration that a joint alone has at the start which is counted on: elsewhere
inertias and loads are others, and joints brake together."""
ALONE = 1e-6
"""A joint that the motors move together with others, by more than this part, cannot brake alone."""


@spec
class JointLimits(Keep):
    r"""Joints stay within the robot's ranges of position and speed, or within narrower ones.

    A joint must be able to stop before its end under its own deceleration $d$, whatever the law
    asks of it: $|\dot q| \le \sqrt{2 d h + d^2 \tau^2} - d \tau$ with the way $h$ that is left. A
    speed $h = v_{\max} - |\dot q|$ has an exponential barrier. ``margin`` is that of positions.
    """

    kind: Literal["joint_limits"] = "joint_limits"
    limits: Annotated[tuple[Literal["positions", "speeds"], ...], Listed()] = (
        "positions",
        "speeds",
    )
    """What of the joints is kept."""
    joints: Annotated[tuple[Text, ...], Listed()] | None = None
    """Names of joints; absent: all of one freedom that have limits."""
    lower: Ends | None = None
    """Lowest positions, for all or by joint [rad or m]; absent: the robot's."""
    upper: Ends | None = None
    """Highest positions, likewise."""
    speed: Speeds | None = None
    """Highest speeds, likewise [rad/s or m/s]."""
    deceleration: Decelerations | None = None
    """Deceleration that a joint has wherever it goes, for all or by joint [rad/s^2 or m/s^2];
    absent: half of what its motor, alone, gives at the start beside the load."""

    def keeps(self, task: Task) -> Kept:
        robot = task.robot
        low, high = (
            _by_joint(robot, self.lower, self._own(robot, robot.q_lower)),
            _by_joint(robot, self.upper, self._own(robot, robot.q_upper)),
        )
        fastest = _by_joint(
            robot, self.speed, dict(zip(robot.dofs, robot.velocity_limit, strict=True))
        )
        chosen = self._chosen(robot, low, high, fastest)
        sides = tuple(self._sides(task, chosen, low, high, fastest))
        if not sides:
            raise InputError(
                f"joints must have a limit of their {' or '.join(self.limits)}; those of robot "
                f"'{robot.name}' have none. Give lower, upper or speed."
            )
        zeros = Constant(value=(0.0,) * len(chosen))
        block = self.name or "joints"
        return Kept(block, JointFollows(name=block, joints=chosen, path=zeros), sides)

    def _own(self, robot: Robot, ends: Vector) -> dict[str, float]:
        """Return the robot's own ends of the joints that have one freedom."""
        at = dict(zip(robot.coordinates, ends.tolist(), strict=True))
        return {dof: at[dof] for dof in robot.dofs if dof in at}

    def _chosen(self, robot: Robot, *limits: dict[str, float]) -> tuple[str, ...]:
        known = [dof for dof in robot.dofs if dof in limits[0]]
        if self.joints is None:
            return tuple(
                dof for dof in known if any(np.isfinite(own.get(dof, np.inf)) for own in limits)
            )
        for joint in self.joints:
            if joint not in robot.dofs:
                raise unknown_name("joint", joint, known)
        return tuple(self.joints)

    def _sides(
        self,
        task: Task,
        chosen: tuple[str, ...],
        low: dict[str, float],
        high: dict[str, float],
        fastest: dict[str, float],
    ) -> Iterator[Side]:
        robot, free = task.robot, self.margin
        positions, speeds = "positions" in self.limits, "speeds" in self.limits
        ended = [j for j in chosen if np.isfinite([low.get(j, np.nan), high.get(j, np.nan)]).any()]
        brakes = self._decelerations(task, ended) if positions else {}
        for row, joint in enumerate(chosen):
            unit = robot.dof_units[robot.dofs.index(joint)]
            least, most = low.get(joint, -np.inf), high.get(joint, np.inf)
            if not least + free < most - free:
                raise InputError(
                    f"the range of joint '{joint}' must be more than two margins; got "
                    f"{least:g} to {most:g} with a margin of {free:g}."
                )
            for end, sign, limit in (("lower", 1.0, least), ("upper", -1.0, most)):
                if positions and np.isfinite(limit):
                    place = unit.removesuffix("/s"), row, sign, -sign * limit
                    yield Side(f"{joint}.{end}", *place, 2, free, brakes[joint])
            for way, sign in (("backward", 1.0), ("forward", -1.0)):
                if speeds and np.isfinite(fastest.get(joint, np.inf)):
                    yield Side(f"{joint}.{way}", unit, row, sign, fastest[joint], 1)

    def _decelerations(self, task: Task, joints: list[str]) -> dict[str, float]:
        given = self.deceleration
        if isinstance(given, float):
            return dict.fromkeys(joints, given)
        known = _by_joint(task.robot, given, {})
        missing = [joint for joint in joints if joint not in known]
        return {**known, **(_of_motors(task, missing) if missing else {})}


def _by_joint(robot: Robot, given: NumberByName | None, own: dict[str, float]) -> dict[str, float]:
    """Return a number for every joint: as given, or else its own."""
    if given is None:
        return dict(own)
    if isinstance(given, float):
        return dict.fromkeys(own, given)
    for joint in given:
        if joint not in robot.dofs:
            raise unknown_name("joint", joint, robot.dofs)
    return {**own, **given}


def _of_motors(task: Task, joints: list[str]) -> dict[str, float]:
    r"""Return a part of the deceleration that motors give joints at the start, one at a time.

    With the inputs $u_0$ that carry the load and $\Delta u_j = G^+ e_j$, it is the largest $d$ with
    $u_0 \pm d\,\Delta u_j$ within the limits.

    Raises:
        InputError: The motors do not move a joint alone, or have no limits, or no room.
    """
    dynamics = Dynamics(task.robot, task.rank, task.gains)
    dynamics.move(task.start, task.q, task.v)
    s, G = dynamics.snapshot, dynamics.G
    low, high = task.robot.input_bounds(s.v @ s.B)
    carrying = -np.linalg.lstsq(G, dynamics.a_free, rcond=None)[0]
    room = np.minimum(high - carrying, carrying - low)
    found = {}
    for joint in joints:
        unit = np.zeros(len(G))
        unit[task.robot.dofs.index(joint)] = 1.0
        push = np.linalg.lstsq(G, unit, rcond=None)[0]
        alone = np.linalg.norm(G @ push - unit) <= ALONE
        acts = np.abs(push) > ALONE * np.abs(push).max(initial=0.0)
        most = float(np.min(room[acts] / np.abs(push[acts]), initial=np.inf))
        if not (alone and 0.0 < most < np.inf):
            why = (
                "no motors move it alone"
                if not alone
                else "they have no limits"
                if most > 0.0
                else "they only just carry the load, or not even that"
            )
            raise InputError(
                f"deceleration of joint '{joint}' must be given, for it does not follow from the "
                f"motors at the start: {why}. Write deceleration = {{ {joint} = ... }}."
            )
        found[joint] = SHARE * most
    return found
