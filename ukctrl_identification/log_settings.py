"""How a log names its columns, and in what units it holds them: the table ``[log]``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from ukctrl.core.errors import InputError
from ukctrl.core.field_checks import FieldReader
from ukctrl.core.fields import (
    ByName,
    ListSize,
    NumberByName,
    Quantity,
    Text,
    Time,
    literal_text,
    spec,
)
from ukctrl.core.files.table_paths import merged, table_of_settings
from ukctrl.core.files.toml import read_spec, read_toml
from ukctrl.robot import Robot

QuantityName = Literal["position", "velocity", "effort", "current", "asked"]
"""What a sensor at a joint says."""
UNITS = {
    "position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N", "current": "A",
    "asked": "rad or m",
}  # fmt: skip
"""The units in which a `JointLog` holds each quantity; a current becomes an effort."""
_SYNONYMS = {"ns": "1e-9*s", "µs": "us", "°": "deg", "°/s": "deg/s", "nm": "Nm", "mnm": "mNm"}
_AMPERES = {"A": 1.0, "mA": 1e-3}


def unit_value(text: object, unit: str) -> float:
    """Return how much one of a log's units is in SI: ``"deg"``, ``"mN m"``, ``"2*pi/4096"``.

    Args:
        text: The unit as a user or a header writes it; a plain number has no unit.
        unit: What it must be a unit of, such as ``"rad or m"``.

    Raises:
        InputError: It is none.
    """
    if isinstance(text, str):
        text = text.strip()
        if unit == "A":
            if text in _AMPERES:
                return _AMPERES[text]
            raise InputError(f"must be A or mA; got {literal_text(text)}.")
        text = _SYNONYMS.get(text, text)
        text = re.sub(r"(?<=[A-Za-z])[\s·⋅.]+(?=[A-Za-z])", "*", text)
    return Quantity(unit, minimum=0.0, open_minimum=True).read(text)


class _UnitReader(FieldReader):
    def __init__(self, unit: str) -> None:
        self._unit = unit

    def read(self, value: object) -> float:
        return unit_value(value, self._unit)


def _direction(value: object) -> float:
    if isinstance(value, bool) or value not in (1, -1):
        raise InputError(f"must be 1 or -1; got {literal_text(value)}.")
    return float(value)


def _period(value: object) -> float:
    """Read ``true`` (one turn), ``false`` or the angle after which a sensor starts again."""
    if isinstance(value, bool):
        return 2.0 * math.pi if value else 0.0
    try:
        return Quantity("rad", minimum=0.0).read(value)
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')}, or true or false.") from None


class _PeriodReader(FieldReader):
    def read(self, value: object) -> float:
        return _period(value)


_positive = Quantity("1", minimum=0.0, open_minimum=True).read
_Unit = NumberByName | None


@spec
class LogSettings:
    """The table ``[log]``: what the columns of a log are.

    A column pattern holds ``{n}``, the number of a joint from 1, ``{i}``, the same from 0, or
    ``{joint}``, its name. What is absent is found by the names of the columns.
    """

    time: Text | None = None
    """Column of the time; of a ROS bag ``"log_time"`` takes the recorder's instead of the
    messages' own."""
    position: Text | None = None
    """Pattern of the columns of positions."""
    velocity: Text | None = None
    """Pattern of the columns of velocities."""
    effort: Text | None = None
    """Pattern of the columns of efforts."""
    current: Text | None = None
    """Pattern of the columns of motor currents, of which motor constants make efforts."""
    asked: Text | None = None
    """Pattern of the columns of the positions that the robot's controller was asked for, in the
    units of positions."""
    joints: Annotated[tuple[Text, ...], ListSize()] | None = None
    """Which joints the log is of, in the order of their numbers; absent: all with one freedom."""
    topic: Text | None = None
    """Which topic of a ROS bag; needed where there are several of `sensor_msgs/msg/JointState`."""
    position_unit: Annotated[_Unit, ByName(_UnitReader(UNITS["position"]).read)] = None
    """Unit of positions, or a table by joint: ``"deg"``, ``"mm"``, ``"2*pi/4096"``."""
    velocity_unit: Annotated[_Unit, ByName(_UnitReader(UNITS["velocity"]).read)] = None
    """Unit of velocities: ``"deg/s"``, ``"rpm"``, ``"mm/s"``."""
    effort_unit: Annotated[_Unit, ByName(_UnitReader(UNITS["effort"]).read)] = None
    """Unit of efforts: ``"mN m"``, ``"kN"``."""
    time_unit: Annotated[float | None, _UnitReader("s")] = None
    """Unit of the time: ``"ms"``, ``"us"``, ``"ns"``."""
    sign: Annotated[NumberByName, ByName(_direction)] = 1.0
    """-1 where positions, velocities and efforts count against the robot's model."""
    gear: Annotated[NumberByName, ByName(_positive)] = 1.0
    """Turns of the motor for one of the joint, where the log is of the motor's side."""
    motor_constant: Annotated[NumberByName | None, ByName(_positive)] = None
    """Effort at the joint for one ampere [N m/A]; of motors without one it is fitted."""
    unwrap: Annotated[float, _PeriodReader()] = 0.0
    """Angle after which a sensor starts again at zero, true for one turn [rad]; false: never."""
    origin: Time | None = None
    """Time of the log that is zero; absent: its own zero, of a clock its first sample [s]."""
    start: Time | None = None
    """Where the part to use begins, after the origin [s]."""
    stop: Time | None = None
    """Where it ends [s]."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            InputError: Both efforts and currents are named, or nothing is left between the ends.
        """
        if self.effort is not None and (self.current or self.motor_constant) is not None:
            raise InputError("effort is measured or follows from the current; name one of both.")
        if self.start is not None and self.stop is not None and not self.start < self.stop:
            raise InputError(f"start must be before stop; got {self.start:g} and {self.stop:g}.")


@spec
class LogFile:
    """A file with a table ``[log]``."""

    log: LogSettings = LogSettings()


def settings_file(robot: Robot) -> Path | None:
    """Return the ``log.toml`` beside a robot's file; None where there is none."""
    file = robot.path.parent / "log.toml" if robot.path is not None else None
    return file if file is not None and file.is_file() else None


def log_settings(pairs: Sequence[str] = (), file: Path | None = None) -> LogSettings:
    """Return the settings of a file with a table ``[log]``, with KEY=VALUE pairs laid over it.

    Args:
        pairs: What ``--log`` options say, such as ``position=q{n}`` or ``sign.elbow=-1``.
        file: The TOML file; absent: the pairs alone.

    Raises:
        InputError: A pair is not KEY=VALUE, or a key or a value is not acceptable.
    """
    table = read_toml(file) if file is not None else {}
    settings = read_spec(LogFile, table, file).log if file is not None else LogSettings()
    if not pairs:
        return settings
    changes = table_of_settings("--log", pairs)
    return read_spec(LogSettings, merged(table.get("log", {}), changes), "--log")
