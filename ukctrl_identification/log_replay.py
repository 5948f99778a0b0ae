"""A simulation beside the log of the real robot, from the same state and by the same inputs."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Array, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import FrameProbe
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.result.logged_channels import logged_signals
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.samples import Samples
from ukctrl.simulation.scenario import AnyScenario, Scenario
from ukctrl.simulation.scenario.scenario_argument import as_scenario
from ukctrl.simulation.simulate import simulate
from ukctrl.simulation.step.stepper import Progress
from ukctrl_identification.checked_logs import checked_logs, command_settings
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.replayed_scenario import (
    Play,
    PlayedMotion,
    motor_inputs,
    played_motion,
    replayed_scenario,
)


@explain_argument_errors
def simulate_against(
    scenario: AnyScenario,
    log: JointLog,
    folder: AnyPath,
    *,
    play: Play | None = None,
    notes: Sequence[str] = (),
    progress: Progress | None = None,
    planning: Progress | None = None,
    robot: Robot | None = None,
) -> Result:
    """Run a scenario as a log of the real robot went, and keep the log beside the result.

    The log's time is the scenario's; played is what both have of it, from the log's first state
    on. `Result.logged` has the log at the run's times, `Result.log_metrics` its metrics.

    Args:
        scenario: What to run: a scenario, its name, or the path of its file.
        log: The log, of the scenario's robot.
        folder: Where the file is written that the result's scenario reads the log from.
        play: ``references``: the scenario's controller follows the logged positions of the joints,
            or the ``asked`` ones where there are some; ``inputs``: the motors give the logged
            efforts, without feedback; ``task``: the scenario goes on as it is. Absent: references,
            where the scenario has a controller, else inputs.
        notes: What else is to be said of the log, in sentences.
        progress: As for `simulate`.
        planning: As for `simulate`.
        robot: The scenario's robot, where it has been loaded before.

    Raises:
        InputError: The log lacks what it takes, is not of these times, or the controller cannot
            follow joints.
    """
    scenario, folder = as_scenario(scenario), Path(folder)
    robot = robot or true_robot(scenario.robot)
    if play is None:
        play = "references" if scenario.controller.acts else "inputs"
    if play == "references" and not scenario.controller.acts:
        raise InputError("a scenario without a controller follows no references; play the inputs.")
    played = played_motion(robot, log, scenario)
    folder.mkdir(parents=True, exist_ok=True)
    run = replayed_scenario(scenario, robot, played, play, folder)
    result = simulate(run, progress=progress, planning=planning, robot=robot)
    signals = logged_signals(_channels(robot, run, played, result), result.labels)
    samples = result.samples
    told = {"source": log.source, "play": play, "notes": [*played.notes, *notes]}
    return dc.replace(
        result,
        samples=Samples.build(
            samples.time, samples.arrays, samples.labels, {**samples.signals, **signals},
            store=samples.store,
        ),
        provenance={**result.provenance, "log": told},
    )  # fmt: skip


def simulate_against_file(
    scenario: Scenario,
    robot: Robot,
    log: tuple[Path, Sequence[str], Path | None],
    play: Play | None,
    folder: Path,
    progress: Progress,
    planning: Progress,
) -> Result:
    """Run a scenario against the log of a file: the work of ``ukctrl run --against``.

    Args:
        scenario: The scenario.
        robot: Its robot.
        log: The file, and what is in it, as pairs and as a file.
        play: As for `simulate_against`.
        folder: Where the result goes.
        progress: As for `simulate`.
        planning: As for `simulate`.

    Raises:
        InputError: As for `simulate_against`; or the log has a fault.
    """
    file, pairs, table = log
    (read,), notes = checked_logs(robot, [file], command_settings(robot, pairs, table))
    return simulate_against(
        scenario, read, folder,
        play=play, notes=notes, progress=progress, planning=planning, robot=robot,
    )  # fmt: skip


def _channels(
    robot: Robot, scenario: Scenario, played: PlayedMotion, result: Result
) -> dict[str, Array]:
    """Return what a log says at the times of a run, as samples of the run have it."""
    log, motion, t, labels = played.log, played.motion, result.time, result.labels

    def at_samples(names: Sequence[str], logged: dict[str, Vector], others: Matrix) -> Matrix:
        """Return channels as they were logged; those that were not from the motion."""
        return np.column_stack([
            np.interp(t, log.time, logged[name]) if name in logged
            else np.interp(t, motion.time, column)
            for name, column in zip(names, others.T, strict=True)
        ])  # fmt: skip

    q = at_samples(robot.coordinates, log.position, motion.q)
    if not robot.is_euclidean:
        q = np.array([robot.normalize(row) for row in q]).reshape(q.shape)
    v = at_samples(robot.dofs, log.velocity, motion.v)
    effort = at_samples(robot.dofs, log.effort, np.full((len(motion.time), robot.nv), np.nan))
    n, m = len(t), len(labels.rows)
    channels = {"q": q, "v": v, "u": motor_inputs(robot, q, effort)}
    channels |= {"phi": np.zeros((n, m)), "beta": np.zeros((n, m))}
    channels |= {"actuator_rate": np.zeros((n, robot.nu))}
    channels |= {"frame_position": np.zeros((n, len(labels.frames), 3))}
    rows, snapshot = Stack(servo_constraints(scenario, robot), robot), robot.snapshot(motion.q[0])
    traces = {trace.frame: trace.position for trace in rows.traces()}
    probes = {name: FrameProbe(robot, name) for name in labels.frames if name not in traces}
    places = [traces[name] if name in traces else probes[name].p for name in labels.frames]
    for k in range(n):
        snapshot.move(q[k], v[k], float(t[k]))
        _, _, channels["beta"][k], channels["phi"][k] = rows.write(snapshot)
        channels["actuator_rate"][k] = snapshot.B.T @ v[k]
        for probe in probes.values():
            probe.move(snapshot)
        for f, place in enumerate(places):
            channels["frame_position"][k, f] = place
    return channels
