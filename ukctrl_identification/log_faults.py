"""What is wrong with a log: everything that can be said before a model is fitted to it."""

from __future__ import annotations

from ukctrl.robot import Robot
from ukctrl_identification.channel_faults import (
    constant_faults,
    jump_faults,
    limit_faults,
    not_a_number_faults,
    resolution_faults,
    saturation_faults,
)
from ukctrl_identification.effort_faults import effort_faults
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import LogFault, joint_motions
from ukctrl_identification.time_faults import time_faults
from ukctrl_identification.velocity_faults import velocity_faults


def log_faults(robot: Robot, log: JointLog) -> list[LogFault]:
    """Return what is wrong with a log, or worth knowing, the fatal first.

    Nothing is repaired. A log without faults gives an empty list.

    Args:
        robot: The robot that it is of.
        log: The log, as `read_logs` returns it.
    """
    motions = joint_motions(robot, log)
    notes = [LogFault("reading", "log", float(log.time[0]), note, False) for note in log.notes]
    faults = [
        *time_faults(log),
        *not_a_number_faults(log),
        *constant_faults(log, motions),
        *saturation_faults(log, motions),
        *resolution_faults(log, motions),
        *jump_faults(log, motions),
        *limit_faults(robot, log, motions),
        *velocity_faults(log, motions),
        *effort_faults(robot, log, motions),
    ]
    faults.sort(key=lambda fault: not fault.is_fatal)
    # of two reasons for one fault the graver; what a wrapped angle is beyond says nothing
    wrapped = {fault.channel for fault in faults if fault.kind == "wrapped"}
    first = {(fault.kind, fault.channel): fault for fault in reversed(faults)}
    return notes + [
        fault
        for fault in faults
        if first[fault.kind, fault.channel] is fault
        and not (fault.kind == "limit" and fault.channel in wrapped)
    ]
