"""A scenario that plays a log: its inputs without feedback, or its motion as the reference."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.feedforward.feedforward_laws import Feedforward
from ukctrl.control.feedforward.inversion.recorded_motion import Recorded
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference.waypoints import Table
from ukctrl.robot import Robot
from ukctrl.simulation.effects.effect import PlantEffect
from ukctrl.simulation.result.column_files import write_csv
from ukctrl.simulation.scenario import Scenario
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.logged_motions import logged_motions, logged_velocities
from ukctrl_identification.measured_motion import POSITION_CUTOFF, Motion
from ukctrl_identification.passive_motion import driven, independent_velocities, passive_stack

Play = Literal["references", "inputs", "task"]
"""What of a log a simulation is given: its motion, its efforts, or its first state alone."""
MIN_KNOTS = 10
"""Samples that are played at least."""
END_PERIODS = 2.0
"""Periods of the positions' filter at either end of a motion that are left out: derivatives are
least certain there, and a spline through them would ring for long."""
END_KNOTS = 8
"""Samples more that a spline goes through before and after what is played: it is least certain at
its own ends."""
SMOOTH = 0.05
"""Part of the samples' frequency that the filter's is at most: where it is near half of it, what
is played changes from sample to sample."""
FILE = "log-motion.csv"
"""What is played, beside the result."""


class PlayedMotion(NamedTuple):
    """The part of a log that a scenario plays."""

    log: JointLog
    motion: Motion
    margin: int
    """Samples at either end that are not played."""
    reference: Motion
    """The same, with the positions that were asked for where they were logged."""
    notes: list[str]


def played_motion(robot: Robot, log: JointLog, scenario: Scenario) -> PlayedMotion:
    """Return the motion of a log while a scenario lasts: the longest stretch without a gap.

    Raises:
        InputError: They have no time in common, or positions are missing.
    """
    start, end = scenario.start.t, scenario.start.t + scenario.timing.duration
    if not log.effort:  # a reference needs none, and a channel of no numbers is no measurement
        log = log._replace(effort={robot.dofs[0]: np.full(len(log.time), np.nan)})
    motions, cutoff = logged_motions(robot, log, span=(start, end), highest=SMOOTH)
    motion = max(motions, key=lambda one: len(one.time), default=None)
    first, last = float(log.time[0]), float(log.time[-1])
    period = 1.0 if motion is None or len(motion.time) < 2 else motion.time[1] - motion.time[0]
    margin = END_KNOTS + int(END_PERIODS / (POSITION_CUTOFF * cutoff * period))
    if motion is None or len(motion.time) < MIN_KNOTS + 2 * margin:
        raise InputError(
            f"{log.source}: must go on for a while as the scenario lasts, from {start:g} to "
            f"{end:g} s; it lasts from {first:.6g} to {last:.6g} s. Say where its time is zero by "
            f"--log origin={first:.6g}, or let the scenario last longer."
        )
    notes = [
        f"The scenario lasts from {start:g} to {end:g} s and the log from {first:.4g} to "
        f"{last:.4g} s: played is what both have, without the ends that the filter needs."
    ]
    if len(motions) > 1:
        notes.append(f"The log has gaps; played is the longest of {len(motions)} stretches.")
    if any(name not in log.velocity for name in robot.dofs):
        notes.append("Velocities that were not logged are differentiated from filtered positions.")
    reference = motion
    if log.asked:
        asked = log._replace(position={**log.position, **log.asked})
        others, _ = logged_motions(robot, asked, cutoff, (motion.time[0], motion.time[-1]))
        reference = max(others, key=lambda one: len(one.time))
    return PlayedMotion(log, motion, margin, reference, notes)


def replayed_scenario(
    scenario: Scenario, robot: Robot, played: PlayedMotion, play: Play, folder: Path
) -> Scenario:
    """Return a scenario that plays a log from its first state on.

    With ``task`` the scenario goes on from there as it is. With ``inputs`` the motors give what was
    logged, whatever happens; what would come between law and motors, or change what sensors say, is
    left out. With ``references`` the scenario's own controller follows the logged motion of the
    joints that have motors.

    Args:
        scenario: The scenario.
        robot: Its robot.
        played: What is played.
        play: Which of them.
        folder: Where the file with it is written.

    Raises:
        InputError: The log or the scenario lacks what it takes.
    """
    motion, k = played.motion, played.margin
    first, last = float(motion.time[k]), float(motion.time[-1 - k])
    start = dc.replace(
        type(scenario.start)(),
        q=tuple(motion.q[k].tolist()), v=tuple(motion.v[k].tolist()), t=first,
    )  # fmt: skip
    timing = dc.replace(scenario.timing, duration=last - first)
    if play == "task":
        return dc.replace(scenario, start=start, timing=timing)
    columns: dict[str, Vector] = {"time": motion.time}
    if play == "references" or not scenario.servo:
        joints = followed_joints(robot, played)
        by_name = {block.name: block for block in robot.blocks}
        columns |= {f"r.{name}": by_name[name].angles(played.reference.q)[:, 0] for name in joints}
    if play == "inputs":
        columns |= _motion_columns(robot, played)
    file, part = folder / FILE, slice(k - END_KNOTS, len(motion.time) - k + END_KNOTS)
    write_csv({name: values[part] for name, values in columns.items()}, file)
    servo, name = scenario.servo, Path(played.log.source).name
    if play == "references" or not servo:
        names = tuple(f"r.{joint}" for joint in joints)
        path = Table(file=file, time="time", columns=names, degree="quintic", ends="free")
        servo = (JointFollows(name="joints", joints=joints, path=path),)
    if play == "references":
        controller: Any = scenario.controller
        if getattr(controller, "path", None) is not None:  # it would follow that one instead
            controller = dc.replace(controller, path=None)
        return dc.replace(scenario, servo=servo, start=start, timing=timing, controller=controller)
    return dc.replace(
        scenario, servo=servo, start=start, keep=(), observer=None, sensing=None,
        controller=Feedforward(name=f"inputs of {name}", along=Recorded(file=file)),
        timing=dc.replace(timing, control=float(motion.time[1] - motion.time[0])),
        effect=tuple(effect for effect in scenario.effect if isinstance(effect, PlantEffect)),
    )  # fmt: skip


def _motion_columns(robot: Robot, played: PlayedMotion) -> dict[str, Vector]:
    """Return the columns of a file that `Recorded` reads."""
    motion = played.motion
    u = motor_inputs(robot, motion.q, motion.effort)
    missing = [name for name, values in zip(robot.actuators, u.T, strict=True)
               if not np.isfinite(values).all()]  # fmt: skip
    if missing:
        raise InputError(
            f"{played.log.source}: must have the efforts of all motors for its inputs to be "
            f"played; those of {quoted(missing)} are missing. Play its references instead."
        )
    named = (
        ("q", robot.coordinates, motion.q), ("v", robot.dofs, motion.v),
        ("a", robot.dofs, motion.a), ("u", robot.actuators, u),
    )  # fmt: skip
    return {
        f"{quantity}.{name}": values[:, k]
        for quantity, names, values in named
        for k, name in enumerate(names)
    }


def followed_joints(robot: Robot, played: PlayedMotion) -> tuple[str, ...]:
    """Return the joints that a controller can follow: logged, of one freedom, with a motor.

    Of a closed chain as many as determine it.

    Raises:
        InputError: There are none.
    """
    known, pushed = set(logged_velocities(robot, played.log)), driven(robot)
    chosen = [
        block.iv for block in robot.blocks
        if block.shape in ("line", "circle") and block.iv in known and pushed[block.iv]
    ]  # fmt: skip
    stack = passive_stack(robot)
    if stack is not None:
        A = stack.write(robot.snapshot(played.motion.q[0])).A
        independent, _ = independent_velocities(A, chosen)
        chosen = [i for i in chosen if i in independent]
    if not chosen:
        raise InputError(
            f"robot '{robot.name}' must have a motor at a joint of one freedom for a logged motion "
            "to be followed; it has none. Play the log's inputs instead."
        )
    return tuple(robot.dofs[i] for i in chosen)


def motor_inputs(robot: Robot, q: Matrix, effort: Matrix) -> Matrix:
    r"""Return the least inputs that put efforts on the joints, $u = B^+ \tau$, shape ``(n, nu)``.

    Args:
        robot: The robot.
        q: Configurations, shape ``(n, nq)``.
        effort: Efforts of the joints, shape ``(n, nv)``; NaN where none was logged.

    Returns:
        The inputs; NaN where a joint that a motor pushes was not logged.
    """
    acts_on: NDArray[np.bool_] = np.asarray(robot.actuation.acts_on)
    unlogged = ~np.isfinite(effort).all(axis=0)
    known = ~acts_on[unlogged].any(axis=0)
    # nor does an effort tell what one motor does where another one pushes, too
    known &= ~acts_on[acts_on[:, ~known].any(axis=1)].any(axis=0)
    u: Matrix = np.full((len(q), robot.nu), np.nan)
    tau = np.where(unlogged, 0.0, effort)
    if not robot.actuation.varies:
        u[:, known] = tau @ np.linalg.pinv(robot.actuation.constant[:, known]).T
        return u
    for k, q_k in enumerate(q):
        u[k, known] = np.linalg.pinv(robot.snapshot(q_k).B[:, known]) @ tau[k]
    return u
