"""Logs of joints made up: smooth motions within limits, whose efforts Pinocchio says."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from ukctrl_identification.joint_log import JointLog

JOINT_STATE = "sensor_msgs/msg/JointState"
EPOCH = 1_700_000_000_000_000_000
"""When messages begin [ns]."""


def smooth_motion(robot, time, seed=0):
    """Return positions, velocities and accelerations, three sines a joint within its limits."""
    rng = np.random.default_rng(seed)
    rate = 2.0 * np.pi * rng.uniform(0.2, 1.0, (robot.nv, 3))
    phase = rng.uniform(0.0, 2.0 * np.pi, (robot.nv, 3))
    lower, upper = np.maximum(robot.q_lower, -1.5), np.minimum(robot.q_upper, 1.5)
    size = (0.12 * (upper - lower))[:, None]
    angle = rate[..., None] * time + phase[..., None]
    q = np.sum(size[..., None] * np.sin(angle), axis=1) + 0.5 * (lower + upper)[:, None]
    v = np.sum((size * rate)[..., None] * np.cos(angle), axis=1)
    a = -np.sum((size * rate**2)[..., None] * np.sin(angle), axis=1)
    return q.T, v.T, a.T


def sound_log(robot, *, seconds=3.0, period=2e-3, seed=0, noise=0.0, friction=0.0):
    """Return a log of a robot whose joints are lines, exact or with noise on all channels.

    Args:
        robot: The robot, with a Pinocchio model.
        seconds: How long it is.
        period: Of the samples [s].
        seed: Of the motion and the noise.
        noise: Standard deviations: of positions [rad], times 10 of velocities, of efforts as a
            part of their largest.
        friction: Coulomb friction as a part of the largest effort.
    """
    time = np.arange(0.0, seconds, period)
    q, v, a = smooth_motion(robot, time, seed)
    model, data = robot.model, robot.model.createData()
    effort = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])
    size = np.abs(effort).max(axis=0)
    effort += friction * size * np.tanh(v / 0.01)
    rng = np.random.default_rng(seed + 1000)
    q = q + noise * rng.standard_normal(q.shape)
    v = v + 10.0 * noise * rng.standard_normal(q.shape)
    effort = effort + noise * size * rng.standard_normal(q.shape)
    channels = ({name: x[:, k].copy() for k, name in enumerate(robot.dofs)} for x in (q, v, effort))
    return JointLog("made up", time, *channels)


def changed(log, quantity, name, samples):
    """Return the log with one channel replaced."""
    return log._replace(**{quantity: getattr(log, quantity) | {name: samples}})


def joint_states(names, time, q, v, effort):
    """Return messages, each with its stamp [ns]; rows of None leave a quantity out."""
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_HUMBLE).types
    messages = []
    for k, t in enumerate(time):
        stamp = EPOCH + round(1e9 * t)
        header = types["std_msgs/msg/Header"](
            types["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9), "base"
        )
        rows = [np.empty(0) if x is None else np.array(x[k], dtype=float) for x in (q, v, effort)]
        messages.append((stamp, types[JOINT_STATE](header, list(names), *rows)))
    return messages


def write_bag(folder, messages, topic="/joint_states", storage="sqlite3"):
    """Write a bag of ROS 2 by rosbags; messages are (log time, message) or (topic, ...)."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    plugin = {"sqlite3": StoragePlugin.SQLITE3, "mcap": StoragePlugin.MCAP}[storage]
    with Writer(folder, version=9, storage_plugin=plugin) as writer:
        connections = {}
        for *named, log_time, message in messages:
            name = named[0] if named else topic
            if name not in connections:
                connections[name] = writer.add_connection(
                    name, message.__msgtype__, typestore=store
                )
            data = store.serialize_cdr(message, message.__msgtype__)
            writer.write(connections[name], log_time, data)
    return folder


def write_mcap(path, messages, topic="/joint_states", *, profile="ros2", also=None, **options):
    """Write an MCAP file by its own library.

    Args:
        path: The file.
        messages: Pairs of a log time and a message.
        topic: Of the messages.
        profile: As the file says it.
        also: Encoding of a schema of another topic that is in it, too.
        options: Of `mcap.writer.Writer`.
    """
    from mcap.writer import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    definition, _ = store.generate_msgdef(JOINT_STATE, ros_version=2)
    with path.open("wb") as file:
        writer = Writer(file, **options)
        writer.start(profile)
        if also is not None:
            schema = writer.register_schema("other", also, b"{}")
            channel = writer.register_channel("/other", also, schema)
            writer.add_message(channel, EPOCH, b"{}", EPOCH)
        schema = writer.register_schema(JOINT_STATE, "ros2msg", definition.encode())
        channel = writer.register_channel(topic, "cdr", schema)
        for log_time, message in messages:
            data = bytes(store.serialize_cdr(message, JOINT_STATE))
            writer.add_message(channel, log_time, data, log_time)
        writer.finish()
    return path
