"""What is wrong with a log: everything that can be said before a model is fitted to it."""

from __future__ import annotations

from collections.abc import Mapping

from ukctrl.core.arrays import Vector
from ukctrl.robot import Robot
from ukctrl_identification.channel_faults import (
    constant_faults,
    not_a_number_faults,
    saturation_faults,
)
from ukctrl_identification.effort_faults import effort_faults
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import (
    LogFault,
    are_numbers,
    joint_motions,
    median_period,
)
from ukctrl_identification.position_faults import jump_faults, limit_faults, resolution_faults
from ukctrl_identification.time_faults import time_faults
from ukctrl_identification.velocity_faults import velocity_faults


def log_faults(robot: Robot, log: JointLog) -> list[LogFault]:
    """Return what is wrong with a log, or worth knowing, the fatal first.

    Nothing is repaired. A log without faults gives an empty list.

    Args:
        robot: The robot that it is of.
        log: The log, as `read_logs` returns it.
    """
    notes = [LogFault("reading", "log", float(log.time[0]), note, False) for note in log.notes]
    no_numbers = list(not_a_number_faults(log))
    if not are_numbers(log.time).all():
        return no_numbers + notes
    if not median_period(log.time):
        return [*time_faults(log), *no_numbers, *notes]
    # one channel that is wrong shall not hide what the others say
    log = log._replace(
        position=_numbers(log.position),
        velocity=_numbers(log.velocity),
        effort=_numbers(log.effort),
        current=_numbers(log.current),
    )
    motions = joint_motions(robot, log)
    faults = [
        *no_numbers,
        *time_faults(log),
        *constant_faults(log, motions),
        *saturation_faults(log, motions),
        *resolution_faults(log, motions),
        *jump_faults(log, motions),
        *limit_faults(robot, log, motions),
        *velocity_faults(log, motions),
    ]
    # a motion that is wrong takes other efforts
    if not any(f.is_fatal and f.channel.startswith(("time", "position")) for f in faults):
        faults += effort_faults(robot, log, motions)
    faults.sort(key=lambda fault: not fault.is_fatal)
    # of two reasons for one fault the graver; limits say nothing of other units
    other = {fault.channel for fault in faults if fault.kind in ("wrapped", "unit")}
    first = {(fault.kind, fault.channel): fault for fault in reversed(faults)}
    return [
        fault
        for fault in faults
        if first[fault.kind, fault.channel] is fault
        and not (fault.kind == "limit" and fault.channel in other)
    ] + notes


def _numbers(channels: Mapping[str, Vector]) -> dict[str, Vector]:
    """Return the channels that hold numbers throughout."""
    return {name: samples for name, samples in channels.items() if are_numbers(samples).all()}
