"""Logs for a command: read, and refused where something is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.robot import Robot
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import LogFault
from ukctrl_identification.log_faults import log_faults
from ukctrl_identification.log_settings import LogSettings, log_settings, settings_file
from ukctrl_identification.read_log import read_logs


class CheckedLogs(NamedTuple):
    """Logs without a fault that would make another motion of them."""

    logs: list[JointLog]
    notes: list[str]
    """What is worth knowing of them, in sentences."""


def command_settings(robot: Robot, pairs: Sequence[str], file: Path | None) -> LogSettings:
    """Return what ``--log`` and ``--log-file`` say, or ``log.toml`` beside the robot.

    Raises:
        InputError: A key or a value is not acceptable.
    """
    return log_settings(pairs, file or settings_file(robot))


def checked_logs(robot: Robot, files: Sequence[Path], settings: LogSettings) -> CheckedLogs:
    """Read logs, and look for faults.

    Raises:
        InputError: One cannot be read, or has a fault that is to be settled first.
    """
    logs, notes = read_logs(robot, files, settings) if files else [], list[str]()
    for log in logs:
        faults = log_faults(robot, log)
        for fault in faults:
            if fault.is_fatal:
                raise InputError(f"{log.source}: {fault.message}")
        name = Path(log.source).name
        notes += (f"{name}: {text}" for text in _gathered(faults))
    return CheckedLogs(logs, notes)


def _gathered(faults: Sequence[LogFault]) -> list[str]:
    """Return what is worth knowing of a log, the same of several channels in one line."""
    by_kind: dict[str, list[LogFault]] = {}
    for fault in faults:
        by_kind.setdefault(fault.kind, []).append(fault)
    lines = []
    for first, *more in by_kind.values():
        others = f" Likewise {len(more)} other channels." if more else ""
        lines.append(f"{first.message}{others}")
    return lines
