"""Logs of ROS 2: bags and MCAP files with messages of `sensor_msgs/msg/JointState`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, quoted, unknown_name
from ukctrl.core.message_text import error_text, one_line, printable_name
from ukctrl_identification.log_table import LoadedColumns, LogTable, missing_package_error

JOINT_STATE = "sensor_msgs/msg/JointState"
LOG_TIME = "log_time"
"""What the settings call the recorder's clock, which the messages' own stamps go before."""
MAX_BRIDGED_PERIODS = 10
"""Over a longer gap, in its median periods, no joint is interpolated."""

Stamps = NDArray[np.int64]
"""Instants, shape ``(n,)`` [ns]."""


class RawMessage(NamedTuple):
    """One message as a file holds it."""

    topic: str
    log_time: int
    """When it was recorded [ns]."""
    data: bytes


class JointSeries(NamedTuple):
    """What all messages together say of one joint, in their order."""

    stamps: Stamps
    values: dict[str, Vector]
    """By ``"position"``, ``"velocity"`` and ``"effort"``; those that some message has."""


def bag_table(path: Path, topic: str | None, by_log_time: bool) -> LogTable:
    """Return the table of a bag: a column ``position.elbow`` and the like for every joint.

    Rows are at the stamps of the joints that are asked for; where these have different ones, as
    several publishers give, at those of the joint with most, the others interpolated.

    Args:
        path: A folder with a ``metadata.yaml``, a ``.db3`` or an ``.mcap`` file.
        topic: Which one; absent: the only one.
        by_log_time: Whether the recorder's clock counts, and not the stamps of the messages.

    Raises:
        InputError: It cannot be read, has no such messages, or several topics of them.
    """
    messages = _messages_of_topic(path, topic)
    source = f"{path}: topic '{printable_name(messages[0].topic)}'"
    joints, has_stamps = _joint_series(source, messages, by_log_time)
    column = f"{LOG_TIME if by_log_time else 'time'} [ns]"
    names = (column, *(f"{q}.{joint}" for joint, one in joints.items() for q in one.values))

    def load(names: Sequence[str]) -> LoadedColumns:
        wanted = [name.split(".", 1) for name in names if name != column]
        series = {joint: joints[joint] for _, joint in wanted}
        base = _common_stamps([one.stamps for one in series.values()])
        columns: dict[str, NDArray[Any]] = {column: base}
        for quantity, joint in wanted:
            values = joints[joint].values[quantity]
            columns[f"{quantity}.{joint}"] = _at_stamps(base, joints[joint].stamps, values)
        notes = []
        if not has_stamps:
            notes.append("the messages have no stamps; the time is that of the recorder.")
        if others := [j for j, one in series.items() if not np.isin(base, one.stamps).all()]:
            notes.append(
                f"joints {quoted(others)} were published at other times than the rest; their "
                "samples are interpolated."
            )
        return LoadedColumns(columns, tuple(notes))

    return LogTable(source, names, load)


def _messages_of_topic(path: Path, topic: str | None) -> list[RawMessage]:
    """Return the messages of the topic that is asked for, in the order of their recording."""
    try:
        import mcap.reader  # noqa: F401
        import rosbags.rosbag2  # noqa: F401
    except ImportError as error:
        raise missing_package_error(path, str(error.name).partition(".")[0], "logs") from None
    try:
        messages = sorted(_read_messages(path), key=lambda message: message.log_time)
    # the libraries raise many kinds for a damaged file
    except Exception as error:
        raise InputError(
            f"{path}: must be a whole bag of ROS 2; {one_line(error_text(error))}."
        ) from None
    topics = sorted({message.topic for message in messages})
    if topic is not None and topic not in topics:
        raise unknown_name(f"topic of {JOINT_STATE} in {path}", topic, topics)
    if not topics:
        raise InputError(f"{path}: must have messages of {JOINT_STATE}; it has none.")
    if topic is None and len(topics) > 1:
        raise InputError(
            f"{path}: has {len(topics)} topics of {JOINT_STATE}: {quoted(topics)}. Choose one by "
            f'topic = "{topics[0]}" in the table [log].'
        )
    return [message for message in messages if topic is None or message.topic == topic]


def _read_messages(path: Path) -> Iterator[RawMessage]:
    """Yield the messages of the type, of all topics.

    MCAP files go by their own library, which takes every profile and all kinds of schemas.
    """
    files = [path] if path.suffix == ".mcap" else sorted(path.glob("*.mcap"))
    if files:
        from mcap.reader import make_reader

        for file in files:
            with file.open("rb") as stream:
                reader = make_reader(stream)
                summary = reader.get_summary()
                topics = None
                if summary is not None and summary.channels:
                    kinds = {k: schema.name for k, schema in summary.schemas.items()}
                    channels = summary.channels.values()
                    topics = [c.topic for c in channels if kinds.get(c.schema_id) == JOINT_STATE]
                    if not topics:
                        continue
                for schema, channel, message in reader.iter_messages(topics=topics):
                    if schema is not None and schema.name == JOINT_STATE:
                        yield RawMessage(channel.topic, message.log_time, message.data)
        return
    from rosbags.rosbag2 import Reader

    with Reader(path) as bag:
        connections = [one for one in bag.connections if one.msgtype == JOINT_STATE]
        for connection, log_time, data in bag.messages(connections) if connections else ():
            yield RawMessage(connection.topic, log_time, data)


def _joint_series(
    source: str, messages: Sequence[RawMessage], by_log_time: bool
) -> tuple[dict[str, JointSeries], bool]:
    """Return the samples of every joint, and whether their stamps are the messages' own."""
    from rosbags.typesys import Stores, get_typestore

    read = get_typestore(Stores.ROS2_HUMBLE).deserialize_cdr
    stamps: Stamps = np.zeros((2, len(messages)), dtype=np.int64)
    # rows by the names of the joints, which a publisher rarely changes
    rows: dict[tuple[str, ...], list[int]] = {}
    arrays: list[tuple[Vector, Vector, Vector]] = []
    for k, message in enumerate(messages):
        try:
            state: Any = read(message.data, JOINT_STATE)
        except Exception as error:
            raise InputError(
                f"{source}: message {k + 1} must be a {JOINT_STATE}: {one_line(error_text(error))}."
            ) from None
        stamps[:, k] = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec, message.log_time
        rows.setdefault(tuple(state.name), []).append(k)
        arrays.append((state.position, state.velocity, state.effort))
        for quantity, array in zip(("position", "velocity", "effort"), arrays[-1], strict=True):
            if len(array) not in (0, len(state.name)):
                raise InputError(
                    f"{source}: message {k + 1} must have as many entries of {quantity} as names, "
                    f"{len(state.name)}, or none; it has {len(array)}."
                )
    has_stamps = not by_log_time and bool(stamps[0].any())
    clock = stamps[0 if has_stamps else 1]
    parts: dict[str, list[tuple[NDArray[np.intp], NDArray[np.float64]]]] = {}
    for names, places in rows.items():
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise InputError(
                f"{source}: message {places[0] + 1} must name every joint once; "
                f"'{printable_name(double)}' is there {names.count(double)} times."
            )
        # (messages, quantities, joints); NaN where a message leaves a quantity out
        block = np.full((len(places), 3, len(names)), np.nan)
        for row, k in enumerate(places):
            for place, array in enumerate(arrays[k]):
                if len(array):
                    block[row, place] = array
        for column, name in enumerate(names):
            parts.setdefault(name, []).append((np.array(places), block[:, :, column]))
    return {name: _series(clock, blocks) for name, blocks in parts.items()}, (
        has_stamps or by_log_time
    )


def _series(
    clock: Stamps, blocks: Sequence[tuple[NDArray[np.intp], NDArray[np.float64]]]
) -> JointSeries:
    """Return the samples of one joint, of all orders in which messages name it, in theirs."""
    places = np.concatenate([rows for rows, _ in blocks])
    order = np.argsort(places)
    values = np.concatenate([block for _, block in blocks])[order]
    quantities = zip(("position", "velocity", "effort"), values.T, strict=True)
    # drivers that do not measure a quantity send nothing, or NaN
    measured = {name: column.copy() for name, column in quantities if not np.isnan(column).all()}
    return JointSeries(clock[places[order]], measured)


def _common_stamps(stamps: Sequence[Stamps]) -> Stamps:
    """Return the stamps of the series with most samples, where all series have begun and last."""
    base: Stamps = max(stamps, key=len)
    first, last = max(one.min() for one in stamps), min(one.max() for one in stamps)
    common: Stamps = base[(base >= first) & (base <= last)]
    return common


def _at_stamps(base: Stamps, stamps: Stamps, values: Vector) -> Vector:
    """Return samples at other stamps, linearly between their own; NaN in gaps."""
    if np.array_equal(stamps, base):
        return values
    order = np.argsort(stamps, kind="stable")
    own, target = (stamps[order] - stamps[0]) * 1e-9, (base - stamps[0]) * 1e-9
    answer: Vector = np.interp(target, own, values[order])
    if len(own) > 1:
        after = np.clip(np.searchsorted(own, target), 1, len(own) - 1)
        gap = own[after] - own[after - 1]
        in_gap = (gap > MAX_BRIDGED_PERIODS * np.median(np.diff(own))) & (own[after] != target)
        answer[in_gap & (own[after - 1] != target)] = np.nan
    return answer
