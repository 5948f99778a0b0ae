"""Which column of a log is which channel of a robot, and in what unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.core.field_checks import WrittenNumber
from ukctrl.core.files.toml import error_context
from ukctrl.core.message_text import printable_name
from ukctrl.robot import Robot
from ukctrl.robot.joint_layout import JointBlock
from ukctrl_identification.log_header import WORDS, Header, plain_name
from ukctrl_identification.log_settings import UNITS, LogSettings, QuantityName, unit_value


class Target(NamedTuple):
    """What a column may hold: a coordinate, a velocity, or the angle of a joint without end."""

    name: str
    """Of `Robot.coordinates`, else of `Robot.dofs`."""
    block: JointBlock
    number: int | None
    """Of the joint, from 1; None where the log numbers it not."""
    is_required: bool
    """Whether it is missed where others of its quantity are there."""

    @property
    def names(self) -> tuple[str, ...]:
        """What users may call it; a joint with one freedom by the name in its model file."""
        own = (self.block.name,) if self.name == self.block.dofs[0] and self.block.nv == 1 else ()
        return tuple(dict.fromkeys((*own, self.name)))

    def aliases(self, quantity: QuantityName) -> list[str]:
        """Return the plain names by which a column may call it: alone its position."""
        keys = [plain_name(name) for name in self.names]
        words = WORDS[quantity]
        alone = quantity == "position" or (quantity == "velocity" and self.block.nv > 1)
        return [
            *(keys if alone else []),
            *(f"{key}_{word}" for key in keys for word in words),
            *(f"{word}_{key}" for key in keys for word in words),
        ]


class Channel(NamedTuple):
    """A column that a log is read from."""

    quantity: QuantityName
    name: str
    """As in `Target.name`."""
    block: JointBlock
    column: str
    unit: float
    """Its unit in SI."""


class TimeColumn(NamedTuple):
    """The column that says when."""

    column: str
    unit: float
    """Its unit [s]."""


def joint_numbers(robot: Robot, joints: Sequence[str] | None) -> tuple[int, ...]:
    """Return the places in ``v`` of the joints that a log numbers.

    Args:
        robot: The robot.
        joints: Their names; absent: all with one freedom but the motors of elastic joints.

    Raises:
        InputError: A joint does not exist, has several freedoms, or is named twice.
    """
    if joints is None:
        return tuple(block.iv for block in robot.blocks if block.nv == 1 and not block.rotor)
    with error_context("joints"):
        indices = tuple(robot.structure.dof(name) for name in joints)
        for index in indices:
            if indices.count(index) > 1:
                raise InputError(f"'{robot.dofs[index]}' must be there once; it is there twice.")
    return indices


def match_columns(
    robot: Robot, header: Header, settings: LogSettings
) -> tuple[TimeColumn, tuple[Channel, ...]]:
    """Find the columns of the time and of the robot's channels.

    Raises:
        InputError: One is missing, there are several of one name, or a unit does not fit.
    """
    by_current = (settings.current or settings.motor_constant) is not None
    quantities: list[QuantityName] = [
        "position", "velocity", "current" if by_current else "effort",
    ]  # fmt: skip
    if settings.asked is not None:
        quantities.append("asked")
    time = _time_column(header, settings)
    channels = tuple(
        c for quantity in quantities for c in _channels(robot, header, quantity, settings)
    )
    in_file = Counter(header.names)
    uses = Counter((time.column, *(channel.column for channel in channels)))
    for column, count in uses.items():
        if in_file[column] > 1:
            raise InputError(
                f"{header.source}: must have one column '{column}'; it has {in_file[column]}."
            )
        if count > 1:
            raise InputError(
                f"{header.source}: column '{column}' is taken for {count} channels; name the "
                "columns in the table [log]."
            )
    return time, channels


def _time_column(header: Header, settings: LogSettings) -> TimeColumn:
    wanted = (settings.time,) if settings.time else WORDS["time"]
    column = header.named(settings.time) if settings.time else header.find("time", wanted)
    if column is None:
        raise InputError(
            f"{header.source}: must have a column '{wanted[0]}' of the time"
            f"{header.near_miss(wanted)}"
        )
    if settings.time_unit is not None:
        return TimeColumn(column, settings.time_unit)
    with error_context(f"{header.source}: column '{column}'"):
        return TimeColumn(
            column, unit_value(header.unit(column, "time", WORDS["time"]) or 1.0, "s")
        )


def _channels(
    robot: Robot, header: Header, quantity: QuantityName, settings: LogSettings
) -> Iterator[Channel]:
    """Yield the columns of one quantity."""
    pattern: str | None = getattr(settings, quantity)
    targets = _targets(robot, quantity, settings)
    if pattern is not None:
        matched = _columns_of_pattern(header, quantity, pattern, targets)
    else:
        matched = {t.name: header.find(quantity, t.aliases(quantity)) for t in targets}
        if not any(matched.values()):
            matched = _numbered_columns(robot, header, quantity, targets)
    columns = _without_doubles(
        targets, {name: column for name, column in matched.items() if column is not None}
    )
    is_measured = any(target.name in columns for target in targets if target.number is not None)
    for target in targets:
        missed = target.is_required and not columns.keys() & {
            target.name,
            *target.block.coordinates,
        }
        # none of the joints: not measured, but for what nothing goes without
        if missed and (is_measured or quantity in ("position", "current")):
            wanted = target.aliases(quantity)
            raise InputError(
                f"{header.source}: must have a column of the {quantity} of joint "
                f"'{target.block.name}'{header.near_miss(wanted)} Name the columns by {quantity}, "
                "or the joints that were logged by joints, in the table [log]."
            )
        if target.name in columns:
            column = columns[target.name]
            unit = _unit(header, column, quantity, target, settings)
            yield Channel(quantity, target.name, target.block, column, unit)


def _without_doubles(targets: Sequence[Target], columns: dict[str, str]) -> dict[str, str]:
    """Leave out the cosine and the sine of a joint whose angle is there."""
    angles = {t.block.dofs[0]: t.block.coordinates for t in targets if t.block.shape == "circle"}
    doubles = {name for angle in angles.keys() & columns.keys() for name in angles[angle]}
    return {name: column for name, column in columns.items() if name not in doubles}


def _targets(robot: Robot, quantity: QuantityName, settings: LogSettings) -> list[Target]:
    """Return what columns of a quantity may be of, joints with numbers first.

    Positions of passive joints in closed chains, and efforts where no motor is, may be absent.
    """
    chosen = settings.joints is not None
    driven = [bool(row.any()) for row in robot.actuation.acts_on]
    driven_only = quantity in ("effort", "current") or bool(robot.passive)
    targets = [
        Target(
            robot.dofs[index],
            robot.structure.block_of(index),
            number,
            chosen or not driven_only or driven[index],
        )
        for number, index in enumerate(joint_numbers(robot, settings.joints), start=1)
    ]
    numbered = {target.name for target in targets}
    for block in robot.blocks:
        own = block.coordinates if quantity in ("position", "asked") else block.dofs
        # of chosen joints, but for the cosine and the sine of one of them, no others
        if not chosen or block.nv > 1 or (block.shape == "circle" and block.dofs[0] in numbered):
            targets += [Target(name, block, None, False) for name in own if name not in numbered]
    return targets


def _numbered_columns(
    robot: Robot, header: Header, quantity: QuantityName, targets: Sequence[Target]
) -> dict[str, str | None]:
    """Return the columns ``q1``, ``q2``, ... (or from ``q0``) where there are as many as joints.

    As many as there are coordinates, or velocities, are those.
    """
    joints = [target.name for target in targets if target.number is not None]
    entries = robot.coordinates if quantity == "position" else robot.dofs
    series: list[tuple[str, range]] = []
    for beginning in (f"{word}{join}" for word in WORDS[quantity] for join in ("", "_")):
        numbers = header.numbers(quantity, beginning)
        span = range(min(numbers, default=0), max(numbers, default=-1) + 1)
        if numbers and span.start <= 1 and len(span) == len(numbers):
            series.append((beginning, span))
    if not series:
        return {}
    (beginning, span), *more = series
    first, last = f"{beginning}{span.start}", f"{beginning}{span.stop - 1}"
    if more:
        raise InputError(
            f"{header.source}: columns '{first}' and '{more[0][0]}{more[0][1].start}' may both be "
            f"the {quantity} of the first joint; name one by {quantity} in the table [log]."
        )
    names = next((n for n in (joints, entries) if len(n) == len(span)), None)
    if names is None or not set(names) <= {target.name for target in targets}:
        raise InputError(
            f"{header.source}: columns '{first}' to '{last}' are {len(span)}; robot "
            f"'{robot.name}' has {len(joints)} joints with one freedom to number. Say which they "
            "are of by joints in the table [log]."
        )
    return {
        name: header.find(quantity, (f"{beginning}{k}",))
        for name, k in zip(names, span, strict=True)
    }


def _columns_of_pattern(
    header: Header, quantity: QuantityName, pattern: str, targets: Sequence[Target]
) -> dict[str, str | None]:
    """Return the columns that a pattern names; what it cannot name goes by its own name."""
    by_name = "{joint}" in pattern
    joints = [target for target in targets if target.number is not None]
    if len(joints) > 1 and not by_name and "{n}" not in pattern and "{i}" not in pattern:
        raise InputError(
            f"{quantity}: must hold {{n}}, {{i}} or {{joint}} where the number or the name of a "
            f"joint stands; got '{printable_name(pattern)}'."
        )
    columns: dict[str, str | None] = {}
    for target in targets:
        if target.number is None and not by_name:
            columns[target.name] = header.find(quantity, target.aliases(quantity))
            continue
        number = target.number or 0
        name = pattern.replace("{n}", str(number)).replace("{i}", str(number - 1))
        name = name.replace("{joint}", target.names[0])
        columns[target.name] = header.named(name)
        if columns[target.name] is None and target.is_required:
            raise InputError(
                f"{header.source}: must have a column '{printable_name(name)}', the {quantity} of "
                f"joint '{target.block.name}'{header.near_miss([name])}"
            )
    return columns


def _unit(
    header: Header, column: str, quantity: QuantityName, target: Target, settings: LogSettings
) -> float:
    """Return the unit of a column in SI, by the settings or else by its name."""
    block = target.block
    units = dict(zip(block.dofs, block.dof_units, strict=True))
    if quantity in ("position", "asked"):
        units |= dict(zip(block.coordinates, block.coordinate_units, strict=True))
    if units[target.name] == "1":  # a cosine, a sine or an entry of a quaternion
        return 1.0
    of = "position" if quantity == "asked" else quantity
    unit = None if quantity == "current" else getattr(settings, f"{of}_unit")
    if isinstance(unit, Mapping):
        unit = next((unit[name] for name in target.names if name in unit), None)
    with error_context(f"{header.source}: column '{column}'"):
        if unit is None:
            said = header.unit(column, quantity, target.aliases(quantity))
            unit = unit_value(said or 1.0, UNITS[quantity])
        if isinstance(unit, WrittenNumber):
            unit.check(linear=units[target.name].startswith("m"))
    return float(unit)
