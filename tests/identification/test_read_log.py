"""Logs of every format against the same numbers, and what is said of files that are none."""

from __future__ import annotations

import csv
import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from extras import needs
from joint_logs import EPOCH, joint_states, smooth_motion, write_bag, write_mcap

from ukctrl import Robot
from ukctrl.core.errors import InputError
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result
from ukctrl_identification.log_settings import LogSettings, log_settings, settings_file
from ukctrl_identification.read_log import read_logs

PANDA_LOG = os.environ.get("UKCTRL_PANDA_LOG", "")
JOINTS = ("shoulder", "elbow")
EXACT = {"rtol": 0.0, "atol": 1e-12}  # digits of a text, and units that are powers of ten
STAMPED = {"rtol": 0.0, "atol": 1e-9}  # whole nanoseconds
N = 200


@pytest.fixture(scope="module")
def robot():
    return Robot.load("two_link")


@pytest.fixture(scope="module")
def panda():
    return Robot.load("panda")


@pytest.fixture(scope="module")
def scara():
    return Robot.load("scara")


def motion(robot, n=N):
    """Return the time, positions, velocities and made-up efforts of a motion."""
    time = 2e-3 * np.arange(n)
    q, v, _ = smooth_motion(robot, time)
    effort = 10.0 * np.sin(3.0 * q) + v
    return time, q, v, effort


def table(robot, positions, velocities=None, efforts=None, n=N):
    """Return columns by name: the time, then quantities with one name for each joint."""
    time, q, v, effort = motion(robot, n)
    columns = {"time": time}
    for names, x in ((positions, q), (velocities, v), (efforts, effort)):
        columns |= {name: x[:, k] for k, name in enumerate(names or ())}
    return columns


def write_text(path, columns, delimiter=",", comment="", end="\n", encoding="utf-8"):
    rows = [delimiter.join(columns)]
    rows += [
        delimiter.join(map(str, row)) for row in zip(*map(list, columns.values()), strict=True)
    ]
    content = (comment + end.join(rows) + end).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


NAMED = (
    [f"{name}_pos" for name in JOINTS],
    [f"{n}_vel" for n in JOINTS],
    [f"{n}_tau" for n in JOINTS],
)
NUMBERED = [("q1", "q2"), ("dq1", "dq2"), ("tau1", "tau2")]


def save_txt(path, columns):
    """Write as `numpy.savetxt` does: the names in a comment."""
    np.savetxt(path, np.column_stack(list(columns.values())), header=" ".join(columns), fmt="%.17g")
    return path


def quoted_text(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return path


def parquet(path, columns):
    import pyarrow as pa
    from pyarrow import parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def two_axes(path, columns):
    arrays = np.column_stack(list(columns.values())[1:])
    parts = {"q": arrays[:, :2], "v": arrays[:, 2:4], "tau": arrays[:, 4:]}
    np.savez(path, t=columns["time"], robot=np.array("two_link"), **parts)
    return path


def messages_of(columns):
    x = list(columns.values())
    arrays = (np.column_stack(x[k : k + 2]) for k in (1, 3, 5))
    return joint_states(JOINTS, x[0], *arrays)


def lone_database(path, columns):
    return next(write_bag(path.with_suffix(""), messages_of(columns)).glob("*.db3"))


def mcap_by_ros2_support(path, columns):
    from mcap_ros2.writer import Writer
    from rosbags.typesys import Stores, get_typestore

    definition, _ = get_typestore(Stores.ROS2_HUMBLE).generate_msgdef(
        "sensor_msgs/msg/JointState", ros_version=2
    )
    with path.open("wb") as file:
        writer = Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", definition)
        for stamp, message in messages_of(columns):
            parts = {q: getattr(message, q).tolist() for q in ("position", "velocity", "effort")}
            entry = {"header": message.header, "name": message.name, **parts}
            writer.write_message("/joint_states", schema, entry, stamp, stamp)
        writer.finish()
    return path


FORMATS = {
    "comma": ("log.csv", write_text),
    "comma and space": ("log.csv", lambda p, c: write_text(p, c, ", ")),
    "semicolon": ("log.csv", lambda p, c: write_text(p, c, ";")),
    "tab": ("log.tsv", lambda p, c: write_text(p, c, "\t")),
    "space": ("log.txt", lambda p, c: write_text(p, c, "  ")),
    "gzip": ("log.csv.gz", write_text),
    "windows": ("log.csv", lambda p, c: write_text(p, c, end="\r\n", encoding="utf-8-sig")),
    "comments": ("log.csv", lambda p, c: write_text(p, c, comment="# of today\n\n# arm 3\n")),
    "savetxt": ("log.txt", save_txt),
    "quotes": ("log.csv", quoted_text),
    "parquet": ("log.parquet", parquet),
    "npz": ("log.npz", lambda p, c: (np.savez(p, **c), p)[1]),
    "npz of two axes": ("log.npz", two_axes),
    "bag": ("bag", lambda p, c: write_bag(p, messages_of(c))),
    "bag of mcap": ("bag", lambda p, c: write_bag(p, messages_of(c), storage="mcap")),
    "database": ("log.db3", lone_database),
    "mcap": ("log.mcap", lambda p, c: write_mcap(p, messages_of(c))),
    "mcap without chunks": (
        "log.mcap",
        lambda p, c: write_mcap(p, messages_of(c), use_chunking=False),
    ),
    "mcap without profile": ("log.mcap", lambda p, c: write_mcap(p, messages_of(c), profile="")),
    "mcap with json": ("log.mcap", lambda p, c: write_mcap(p, messages_of(c), also="jsonschema")),
    "mcap with protobuf": ("log.mcap", lambda p, c: write_mcap(p, messages_of(c), also="protobuf")),
    "mcap by ros2 support": ("log.mcap", mcap_by_ros2_support),
}
EXTRAS = {"parquet": "pyarrow", "bag": "rosbags", "database": "rosbags", "mcap": "mcap"}


def needed(name):
    libraries = [library for word, library in EXTRAS.items() if word in name]
    libraries += ["rosbags"] if "mcap" in name else []
    return needs(*libraries, *(["mcap_ros2"] if "ros2" in name else []))


def assert_is_motion(log, robot, tolerance=EXACT, n=N):
    time, q, v, effort = motion(robot, n)
    np.testing.assert_allclose(log.time, time, **tolerance)
    for channels, x in ((log.position, q), (log.velocity, v), (log.effort, effort)):
        assert list(channels) == list(JOINTS)
        np.testing.assert_allclose(np.array(list(channels.values())).T, x, **EXACT)


@pytest.mark.parametrize("name", [pytest.param(n, marks=needed(n)) for n in FORMATS])
def test_every_format_says_the_same(robot, tmp_path, name):
    file, write = FORMATS[name]
    path = write(tmp_path / file, table(robot, *NUMBERED if "npz" in name else NAMED))
    (log,) = read_logs(robot, [path])
    assert_is_motion(log, robot, STAMPED if "bag" in name or "mcap" in name else EXACT)
    assert log.notes == ()
    assert log.source.startswith(str(path))


def test_several_logs_are_read_each_by_itself(robot, tmp_path):
    paths = [write_text(tmp_path / f"{k}.csv", table(robot, *NAMED, n=N + k)) for k in range(3)]
    logs = read_logs(robot, paths)
    assert [len(log.time) for log in logs] == [N, N + 1, N + 2]
    assert [log.source for log in logs] == [str(path) for path in paths]
    assert read_logs(robot, str(paths[1]))[0].source == str(paths[1])


# A run of ukctrl


def run_of(robot, tmp_path, **measured):
    time, q, v, _ = motion(robot)
    u = np.column_stack([np.sin(time), np.cos(time)])[:, : robot.nu]
    labels = Labels(
        coordinates=robot.coordinates,
        coordinate_units=("rad",) * robot.nq,
        dofs=robot.dofs,
        dof_units=("rad/s",) * robot.nv,
        actuators=robot.actuators,
        actuator_units=robot.actuator_units,
    )
    made = {"q": q, "v": v, "a": v, "u": u, **measured}
    rest = {"energy": time, "power": time, "reach": time, "rank": time, "sigma_min": time}
    rest |= {"phi": np.empty((N, 0)), "beta": np.empty((N, 0)), "actuator_rate": u}
    rest |= {name: np.empty((N, 0, 3)) for name in ("frame_position", "frame_reference")}
    samples = made | rest
    result = Result.build(time=time, samples=samples, labels=labels, status="completed")
    result.save(tmp_path)
    return time, q, v, u


def test_a_run_gives_positions_velocities_and_what_motors_put_on_joints(robot, tmp_path):
    time, q, v, u = run_of(robot, tmp_path)
    for path in (tmp_path, tmp_path / "result.nc"):
        (log,) = read_logs(robot, [path])
        np.testing.assert_array_equal(log.time, time)
        for channels, x in ((log.position, q), (log.velocity, v), (log.effort, u)):
            np.testing.assert_array_equal(np.array(list(channels.values())).T, x)


def test_of_a_run_what_the_law_measured_goes_before_the_truth(robot, tmp_path):
    _, q, v, _ = run_of(robot, tmp_path)
    run_of(robot, tmp_path, q_measured=q + 1e-3, v_measured=v - 1e-2)
    (log,) = read_logs(robot, [tmp_path])
    np.testing.assert_array_equal(log.position["elbow"], q[:, 1] + 1e-3)
    np.testing.assert_array_equal(log.velocity["elbow"], v[:, 1] - 1e-2)


def test_efforts_of_a_run_go_through_the_transmission(robot, tmp_path):
    ratios = [{"kind": "transmission", "joints": ["shoulder", "elbow"], "names": ["a", "b"],
               "matrix": [[50.0, 0.0], [-50.0, 80.0]]}]  # fmt: skip
    geared = Robot.load("two_link", override={"actuator": ratios})
    *_, u = run_of(geared, tmp_path)
    (log,) = read_logs(geared, [tmp_path])
    np.testing.assert_allclose(log.effort["elbow"], -50.0 * u[:, 0] + 80.0 * u[:, 1], **EXACT)


def test_a_run_of_another_robot_is_refused(robot, panda, tmp_path):
    run_of(robot, tmp_path)
    with pytest.raises(InputError, match="must be a run of robot 'panda', with joint1, .*shoulder"):
        read_logs(panda, [tmp_path])


def test_inputs_that_push_differently_everywhere_are_refused(robot, tmp_path):
    push = [{"kind": "wrench", "name": "jet", "frame": "tool", "force": [1.0, 0.0, 0.0]},
            {"kind": "joint", "joint": "elbow"}]  # fmt: skip
    pushed = Robot.load("two_link", override={"actuator": push})
    run_of(pushed, tmp_path)
    with pytest.raises(InputError, match="actuator 'jet' must push joints the same way everywhere"):
        read_logs(pushed, [tmp_path])


# Names of columns


@pytest.mark.parametrize(
    ("positions", "velocities", "efforts"),
    [
        (JOINTS, ("v.shoulder", "v.elbow"), ("tau.shoulder", "tau.elbow")),
        (("q.shoulder", "q.elbow"), ("dq.shoulder", "dq.elbow"), ("force.shoulder", "force.elbow")),
        (("position[shoulder]", "position[elbow]"), ("velocity[shoulder]", "velocity[elbow]"),
         ("effort[shoulder]", "effort[elbow]")),
        (("shoulder/position", "elbow/position"), ("shoulder/velocity", "elbow/velocity"),
         ("shoulder/effort", "elbow/effort")),
        (("Shoulder Position", "Elbow Position"), ("Shoulder Speed_vel", "Elbow vel"),
         ("Shoulder Torque", "Elbow Torque")),
        *[(NUMBERED[0], (f"{v}1", f"{v}2"), (f"{tau}1", f"{tau}2"))
          for v, tau in (("v", "effort"), ("qd", "tau_"), ("vel_", "torque"), ("q_dot", "tau"))],
        (("q_0", "q_1"), ("dq_0", "dq_1"), ("tau_0", "tau_1")),
        (("q[0]", "q[1]"), ("dq[0]", "dq[1]"), ("tau[0]", "tau[1]")),
        (("q1 [rad]", "q2 [rad]"), ("dq1 (rad/s)", "dq2 (rad/s)"), ("tau1 [N m]", "tau2 [Nm]")),
        (("q1_rad", "q2_rad"), ("dq1_rad_s", "dq2_rad_s"), ("tau1_Nm", "tau2_Nm")),
    ],
)  # fmt: skip
def test_columns_that_match_joints_need_no_table(robot, tmp_path, positions, velocities, efforts):
    if "Shoulder Speed_vel" in velocities:
        velocities = ("Shoulder vel", "Elbow vel")
    path = write_text(tmp_path / "log.csv", table(robot, positions, velocities, efforts))
    assert_is_motion(read_logs(robot, [path])[0], robot)


@pytest.mark.parametrize("name", ["t", "Time [s]", "time_s", "timestamp", "stamp"])
def test_the_time_has_many_names(robot, tmp_path, name):
    columns = table(robot, *NAMED)
    path = write_text(tmp_path / "log.csv", {name: columns.pop("time"), **columns})
    assert_is_motion(read_logs(robot, [path])[0], robot)


def test_velocities_and_efforts_may_be_absent(robot, tmp_path):
    path = write_text(tmp_path / "log.csv", table(robot, JOINTS))
    (log,) = read_logs(robot, [path])
    assert (list(log.position), log.velocity, log.effort, log.notes) == (list(JOINTS), {}, {}, ())


def test_columns_that_were_not_understood_are_told_where_a_quantity_is_absent(robot, tmp_path):
    columns = table(robot, JOINTS, None, ("load_a", "load_b"))
    (log,) = read_logs(robot, [write_text(tmp_path / "log.csv", columns)])
    assert log.notes == (
        "no column was taken for velocity or effort; there are also 'load_a', 'load_b'.",
    )


def test_as_many_numbers_as_coordinates_are_these(tmp_path):
    robot = Robot.load("floating_arm")
    time = 2e-3 * np.arange(N)
    q = np.array([robot.random(np.random.default_rng(k)) for k in range(N)])
    v = np.random.default_rng(0).standard_normal((N, robot.nv))
    np.savez(tmp_path / "log.npz", t=time, q=q, v=v)
    (log,) = read_logs(robot, [tmp_path / "log.npz"])
    np.testing.assert_array_equal(np.array([log.position[n] for n in robot.coordinates]).T, q)
    np.testing.assert_array_equal(np.array([log.velocity[n] for n in robot.dofs]).T, v)


def test_a_floating_base_goes_by_the_names_of_its_coordinates(tmp_path):
    robot = Robot.load("floating_arm")
    time, rng = 2e-3 * np.arange(N), np.random.default_rng(0)
    columns = {"time": time, **{n: rng.standard_normal(N) for n in robot.coordinates}}
    columns |= {name: rng.standard_normal(N) for name in robot.dofs[:6]}
    columns |= {f"tau.{name}": rng.standard_normal(N) for name in robot.dofs}
    (log,) = read_logs(robot, [write_text(tmp_path / "log.csv", columns)])
    for name in robot.coordinates:
        np.testing.assert_array_equal(log.position[name], columns[name])
    for name in robot.dofs[:6]:
        np.testing.assert_array_equal(log.velocity[name], columns[name])
    for name in robot.dofs:
        np.testing.assert_array_equal(log.effort[name], columns[f"tau.{name}"])


def test_an_angle_of_a_joint_without_end_becomes_its_cosine_and_sine(tmp_path):
    robot = Robot.load("cart_pole")
    time = 2e-3 * np.arange(N)
    columns = {"time": time, "cart": time, "pole_deg": 4000.0 * time}
    settings = LogSettings(sign={"pole": -1})
    (log,) = read_logs(robot, [write_text(tmp_path / "log.csv", columns)], settings)
    angle = -np.radians(columns["pole_deg"])
    np.testing.assert_allclose(log.position["pole_cos"], np.cos(angle), **EXACT)
    np.testing.assert_allclose(log.position["pole_sin"], np.sin(angle), **EXACT)


def test_motors_of_elastic_joints_go_by_their_names(tmp_path):
    robot = Robot.load("flexible_joint_arm")
    rng = np.random.default_rng(0)
    names = ("q2", "q4", "q2_motor", "q4_motor")
    columns = {"time": 2e-3 * np.arange(N), **{name: rng.standard_normal(N) for name in names}}
    columns |= {f"tau.{name}": rng.standard_normal(N) for name in names[2:]}
    (log,) = read_logs(robot, [write_text(tmp_path / "log.csv", columns)])
    for name in names:
        np.testing.assert_array_equal(log.position[name], columns[name])
    assert list(log.effort) == ["q2_motor", "q4_motor"]


# The table [log]


def read_columns(robot, tmp_path, columns, *pairs):
    return read_logs(robot, [write_text(tmp_path / "log.csv", columns)], log_settings(pairs))[0]


def test_patterns_name_columns_by_number_index_or_name(robot, tmp_path):
    columns = table(robot, ("a1_m", "a2_m"), ("b0", "b1"), ("c-shoulder", "c-elbow"))
    columns["clock"] = columns.pop("time")
    pairs = "time=clock", "position=a{n}_m", "velocity=b{i}", "effort=c-{joint}"
    assert_is_motion(read_columns(robot, tmp_path, columns, *pairs), robot)


def test_joints_say_which_numbers_are_whose(robot, tmp_path):
    columns = table(robot, *NUMBERED)
    log = read_columns(robot, tmp_path, columns, "joints=['elbow', 'shoulder']")
    np.testing.assert_array_equal(log.position["elbow"], columns["q1"])
    np.testing.assert_array_equal(log.effort["shoulder"], columns["tau2"])


def test_a_part_of_the_joints_may_be_logged(panda, tmp_path):
    time = 2e-3 * np.arange(N)
    columns = {"time": time, "q1": np.sin(time), "q2": np.cos(time)}
    log = read_columns(panda, tmp_path, columns, 'joints=["joint4", "joint2"]')
    assert list(log.position) == ["joint4", "joint2"]
    np.testing.assert_array_equal(log.position["joint2"], columns["q2"])


@pytest.mark.parametrize(
    ("pairs", "factors"),
    [
        (("position_unit=deg",), (np.pi / 180, 1, 1)),
        (("position_unit=2*pi/4096",), (2 * np.pi / 4096, 1, 1)),
        (("velocity_unit=deg/s",), (1, np.pi / 180, 1)),
        (("velocity_unit=rpm",), (1, np.pi / 30, 1)),
        (("velocity_unit=rev/s",), (1, 2 * np.pi, 1)),
        (("effort_unit=mN m",), (1, 1, 1e-3)),
        (("effort_unit=kN*m",), (1, 1, 1e3)),
        (("sign=-1",), (-1, -1, -1)),
        (("gear=50",), (1 / 50, 1 / 50, 50)),
        (("gear=50", "sign=-1", "position_unit=deg"), (-np.pi / 9000, -1 / 50, -50)),
    ],
)
def test_units_signs_and_gears_are_factors(robot, tmp_path, pairs, factors):
    _, *channels = motion(robot)
    log = read_columns(robot, tmp_path, table(robot, *NAMED), *pairs)
    read = log.position, log.velocity, log.effort
    for by_name, x, factor in zip(read, channels, factors, strict=True):
        expected = dict(zip(JOINTS, (factor * x).T, strict=True))
        for name in JOINTS:
            np.testing.assert_allclose(by_name[name], expected[name], rtol=1e-14)


@pytest.mark.parametrize("key", ["sign", "gear", "position_unit"])
def test_a_table_by_joint_leaves_the_others_alone(robot, tmp_path, key):
    value = {"sign": "-1", "gear": "5.0", "position_unit": "deg"}[key]
    factor = {"sign": -1.0, "gear": 0.2, "position_unit": np.pi / 180}[key]
    columns = table(robot, *NAMED)
    log = read_columns(robot, tmp_path, columns, f"{key}.elbow={value}")
    np.testing.assert_array_equal(log.position["shoulder"], columns["shoulder_pos"])
    np.testing.assert_allclose(log.position["elbow"], factor * columns["elbow_pos"], rtol=1e-14)


def test_joints_that_turn_and_that_slide_have_units_of_their_own(scara, tmp_path):
    time = 2e-3 * np.arange(N)
    columns = {"time": time, **{f"q{k}": k * time for k in (1, 2, 3)}, "q4 [mm]": 4.0 * time}
    log = read_columns(scara, tmp_path, columns, "position_unit={q1='deg', q2='deg', q3='deg'}")
    np.testing.assert_allclose(log.position["q3"], np.radians(3.0 * time), **EXACT)
    np.testing.assert_allclose(log.position["q4"], 4e-3 * time, **EXACT)


@pytest.mark.parametrize(
    ("head", "factor"),
    [("{}", 1.0), ("{} [deg]", np.pi / 180), ("{}_deg", np.pi / 180), ("{} (°)", np.pi / 180)],
)
def test_names_may_say_units(robot, tmp_path, head, factor):
    columns = table(robot, [head.format(name) for name in ("q1", "q2")])
    log = read_columns(robot, tmp_path, columns)
    np.testing.assert_allclose(log.position["elbow"], factor * motion(robot)[1][:, 1], rtol=1e-14)


def test_a_unit_of_the_settings_goes_before_that_of_the_name(robot, tmp_path):
    columns = table(robot, ["q1 [deg]", "q2 [deg]"])
    log = read_columns(robot, tmp_path, columns, "position_unit=rad")
    np.testing.assert_array_equal(log.position["shoulder"], columns["q1 [deg]"])


def test_a_pattern_takes_columns_with_the_unit_that_they_say(robot, tmp_path):
    columns = table(robot, ["a1 [deg]", "a2 [deg]"])
    log = read_columns(robot, tmp_path, columns, "position=a{n}")
    np.testing.assert_allclose(log.position["elbow"], np.radians(columns["a2 [deg]"]), rtol=1e-14)


def test_currents_become_efforts_by_the_motor_constant_at_the_joint(robot, tmp_path):
    columns = table(robot, NUMBERED[0], None, ("i1 [mA]", "i2 [mA]"))
    pairs = "motor_constant={shoulder=12.0, elbow=6.0}", "sign.elbow=-1", "gear=100"
    log = read_columns(robot, tmp_path, columns, *pairs)
    np.testing.assert_allclose(log.effort["shoulder"], 12e-3 * columns["i1 [mA]"], rtol=1e-14)
    np.testing.assert_allclose(log.effort["elbow"], -6e-3 * columns["i2 [mA]"], rtol=1e-14)


def test_a_current_without_a_motor_constant_stays_one(robot, tmp_path):
    columns = table(robot, NUMBERED[0], None, ("i1 [mA]", "i2 [mA]"))
    pairs = "current=i{n} [mA]", "motor_constant.shoulder=12.0", "sign.elbow=-1"
    log = read_columns(robot, tmp_path, columns, *pairs)
    assert (set(log.effort), set(log.current)) == ({"shoulder"}, {"elbow"})
    np.testing.assert_allclose(log.effort["shoulder"], 12e-3 * columns["i1 [mA]"], rtol=1e-14)
    np.testing.assert_allclose(log.current["elbow"], -1e-3 * columns["i2 [mA]"], rtol=1e-14)


@pytest.mark.parametrize(
    ("unit", "size"), [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("10*ms", 1e-2)]
)
def test_the_time_has_a_unit(robot, tmp_path, unit, size):
    columns = table(robot, *NAMED) | {"time": motion(robot)[0] / size}
    log = read_columns(robot, tmp_path, columns, f"time_unit={unit}")
    np.testing.assert_allclose(log.time, motion(robot)[0], **EXACT)


@pytest.mark.parametrize("head", ["time [ms]", "time_ms", "t (ms)"])
def test_the_name_of_the_time_may_say_its_unit(robot, tmp_path, head):
    columns = {head: 1e3 * motion(robot)[0], **table(robot, NUMBERED[0])}
    del columns["time"]
    log = read_columns(robot, tmp_path, columns)
    np.testing.assert_allclose(log.time, motion(robot)[0], **EXACT)


def test_the_origin_is_zero_and_the_part_is_counted_from_it(robot, tmp_path):
    columns = table(robot, *NAMED) | {"time": motion(robot)[0] + 5.0}
    log = read_columns(robot, tmp_path, columns, "origin=5.1", "start=0", "stop=0.2")
    np.testing.assert_allclose(log.time, 2e-3 * np.arange(101), **EXACT)
    np.testing.assert_array_equal(log.position["elbow"], columns["elbow_pos"][50:151])


def test_a_clock_begins_at_the_first_sample(robot, tmp_path):
    columns = table(robot, *NAMED) | {"time": motion(robot)[0] + 1.7e9}
    log = read_columns(robot, tmp_path, columns)
    np.testing.assert_allclose(log.time, motion(robot)[0], rtol=0.0, atol=1e-6)  # of such a clock


@needs("pyarrow")
def test_instants_of_parquet_are_exact(robot, tmp_path):
    stamps = (EPOCH + 2_000_000 * np.arange(N)).astype("datetime64[ns]")
    path = parquet(tmp_path / "log.parquet", table(robot, *NAMED) | {"time": stamps})
    np.testing.assert_allclose(read_logs(robot, [path])[0].time, motion(robot)[0], **EXACT)


@pytest.mark.parametrize(("setting", "period"), [("true", 2 * np.pi), ("180*deg", np.pi)])
def test_angles_are_unwrapped_where_the_settings_say_so_and_it_is_told(
    robot, tmp_path, setting, period
):
    columns = table(robot, *NAMED)
    whole = 30.0 * columns["time"]
    columns["elbow_pos"] = np.mod(whole, period)
    log = read_columns(robot, tmp_path, columns, f"unwrap={setting}")
    np.testing.assert_allclose(log.position["elbow"], whole, **EXACT)
    first = columns["time"][np.flatnonzero(whole >= period)[0]]
    count = int(whole[-1] // period)
    assert log.notes == (
        f"position.elbow was unwrapped at {count} jumps of {period:g} rad, the first at "
        f"t = {first:g} s.",
    )
    assert read_columns(robot, tmp_path, columns).position["elbow"].max() < period


def test_angles_are_unwrapped_before_the_gear(robot, tmp_path):
    columns = table(robot, *NAMED)
    whole = 50.0 * columns["time"]
    columns["elbow_pos"] = np.mod(whole, 2 * np.pi)
    log = read_columns(robot, tmp_path, columns, "unwrap=true", "gear=100")
    np.testing.assert_allclose(log.position["elbow"], whole / 100, **EXACT)


def test_settings_are_a_file_and_pairs_over_it(tmp_path):
    file = tmp_path / "log.toml"
    file.write_text('[log]\nposition = "a{n}"\ngear = 3\nsign = { elbow = -1 }\n')
    settings = log_settings(["gear=5", "sign.shoulder=-1"], file)
    assert settings == LogSettings(
        position="a{n}", gear=5.0, sign={"elbow": -1.0, "shoulder": -1.0}
    )
    assert log_settings((), file).gear == 3.0
    assert log_settings() == LogSettings()


def test_a_table_beside_the_robot_is_found(tmp_path):
    folder = tmp_path / "arm"
    folder.mkdir()
    source = Robot.load("two_link").path
    for file in source.parent.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    robot = Robot.load(folder / source.name)
    assert settings_file(robot) is None
    (folder / "log.toml").write_text("[log]\n")
    assert settings_file(robot) == folder / "log.toml"


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("positon=q{n}", "positon: unknown key; did you mean 'position'?"),
        ("position", "--log must be KEY=VALUE; got 'position'."),
        ("position=3", "position: must be text; got 3."),
        ("position=", "position: must be text; got ''."),
        ("sign=2", "sign: must be 1 or -1; got 2."),
        ("sign.elbow=true", "sign: elbow: must be 1 or -1; got true."),
        ("gear=0", "gear: must be positive; got 0.0."),
        ("motor_constant=-1", "motor_constant: must be positive; got -1.0."),
        ("position_unit=grad", "no constant or unit named 'grad'"),
        ("position_unit=s", "must be an angle [rad] or a length [m]; got a time [s] from 's'."),
        ("time_unit=fortnight", "no constant or unit named 'fortnight'"),
        ("unwrap=often", "or true or false."),
        ("joints=elbow", "joints: must be a list of at least 1; got 'elbow'."),
        ("start=inf", "start: must be a finite number"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(pair, message):
    with pytest.raises(InputError) as caught:
        log_settings([pair])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["start=2", "stop=1"], "start must be before stop; got 2 and 1."),
        (["effort=a{n}", "motor_constant=1"], "effort is measured or follows from the current"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(pairs, message):
    with pytest.raises(InputError, match=message):
        log_settings(pairs)


def test_a_file_of_settings_needs_its_table(tmp_path):
    file = tmp_path / "log.toml"
    file.write_text('position = "q{n}"\n')
    with pytest.raises(
        InputError, match=r"log.toml: position: unknown key; did you mean 'log.posi"
    ):
        log_settings((), file)


# Columns that are missing, or too many


@pytest.mark.parametrize(
    ("rename", "pairs", "message"),
    [
        ({"elbow_pos": "elbw_pos"}, (),
         "must have a column of the position of joint 'elbow'; did you mean 'elbw_pos'? Columns: "
         "time, shoulder_pos, elbw_pos, "),
        ({"elbow_vel": "elbow_vell"}, (),
         "column of the velocity of joint 'elbow'; did you mean 'elbow_vell'?"),
        ({"elbow_tau": "x"}, (), "must have a column of the effort of joint 'elbow'"),
        ({"time": "tyme"}, (), "must have a column 'time' of the time; did you mean 'tyme'?"),
        ({}, ("position=p_{joint}",), "must have a column 'p_shoulder', the position of joint "),
        ({}, ("position={joint}_pso",), "'shoulder_pso', the position of joint 'shoulder'; did you "
         "mean 'shoulder_pos'?"),
        ({}, ("position=angle",), "position: must hold {n}, {i} or {joint} where the number"),
        ({}, ("time=clock",), "must have a column 'clock' of the time"),
        ({}, ("joints=['elbo']",), "joints: no joint named 'elbo'; did you mean 'elbow'?"),
        ({}, ("joints=['elbow', 'elbow']",), "joints: 'elbow' must be there once"),
        ({}, ("sign.elbo=-1",), "sign: no joint named 'elbo'; did you mean 'elbow'?"),
        ({}, ("gear.wrist=2",), "gear: no joint named 'wrist'"),
        ({}, ("motor_constant=2",), "must have a column of the current of joint 'shoulder'"),
        ({"elbow_pos": "elbow_pos [grad]"}, (), "'elbow_pos [grad]': in 'grad': no constant or"),
        ({"elbow_pos": "elbow_pos [N]"}, (), "must be an angle [rad] or a length [m]; got a force"),
        ({"elbow_vel": "elbow_vel_deg"}, (), "'elbow_vel_deg': must be an angular velocity"),
        ({}, ("position_unit=mm",), "must be an angle [rad]; got a length [m] from 'mm'."),
        ({"elbow_tau": "elbow"}, (), "columns 'elbow_pos' and 'elbow' may both be 'elbow'; name"),
        ({"elbow_tau": "t"}, (), "columns 'time' and 't' may both be 'time'; name"),
        ({"shoulder_tau": "x", "elbow_tau": "elbow_pos"}, (),
         "must have one column 'elbow_pos'; it has 2."),
        ({}, ("velocity={joint}_pos",), "column 'shoulder_pos' is taken for 2 channels"),
        ({}, ("start=5", "stop=6"), "must have at least 10 samples between start and stop; it h"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_one_line(robot, tmp_path, rename, pairs, message):
    columns = table(robot, *NAMED)
    head = [rename.get(name, name) for name in columns]
    rows = "\n".join(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
    path = tmp_path / "log.csv"
    path.write_text(",".join(head) + "\n" + rows + "\n")
    with pytest.raises(InputError) as caught:
        read_logs(robot, [path], log_settings(pairs))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_that_are_too_few_for_the_joints_are_told(panda, tmp_path):
    time = 2e-3 * np.arange(N)
    path = write_text(tmp_path / "log.csv", {"time": time, "q1": time, "q2": time})
    with pytest.raises(InputError, match="columns 'q1' to 'q2' are 2; robot 'panda' has 7 joints"):
        read_logs(panda, [path])


def test_two_series_of_numbers_are_told(robot, tmp_path):
    path = write_text(tmp_path / "log.csv", table(robot, NUMBERED[0], ("pos1", "pos2")))
    with pytest.raises(InputError, match="columns 'pos1' and 'q1' may both be the position"):
        read_logs(robot, [path])


def test_a_sign_of_a_floating_base_is_refused(tmp_path):
    robot = Robot.load("floating_arm")
    columns = {"time": 2e-3 * np.arange(N), **{n: np.ones(N) for n in robot.coordinates}}
    path = write_text(tmp_path / "log.csv", columns)
    with pytest.raises(InputError, match="joint 'root' is logged by 'root_x'"):
        read_logs(robot, [path], LogSettings(sign=-1))


# Files that are none


def ten_rows(*rows):
    body = [f"{k},{k},{k}" for k in range(10)]
    return "time,shoulder,elbow\n" + "\n".join([*body, *rows]) + "\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must have a line of names and numbers below; it has nothing."),
        ("\n\n# nothing\n", "must have a line of names and numbers below; it has nothing."),
        ("time,shoulder,elbow\n", "numbers below; it has a line of names alone."),
        ("0,1,2\n3,4,5\n", "must have a line of names above the numbers; it begins with '0,1,2'."),
        ("time,shoulder,elbow\n0,1,2\n", "must have at least 10 samples; it has 1."),
        (ten_rows("10,10"), "line 12 must have 3 cells, as many as there are names; it has 2."),
        (ten_rows("10,10,10,10"), "line 12 must have 3 cells"),
        (ten_rows("10,ten,10"), "line 12, column 'shoulder' must be a number; got 'ten'."),
        (ten_rows('10,"1,5",10'), "'shoulder' must be a number; got '1,5'. Its decimals seem"),
        ("time,shoulder,elbow\n" + "0,0,1,5,2,5\n" * 12,
         "line 2 must have 3 cells, as many as there are names; it has 6. Its decimals seem to "
         "follow commas; write the log with points."),
        ("time;shoulder;elbow\n" + "0,0;1,5;2,5\n" * 12, "got '0,0'. Its decimals seem to follow"),
        ("a,b,c\n" + "1,2,3\n" * 12, "must have a column 'time' of the time. Columns: a, b, c."),
        ("time\n" + "1\n" * 12, "must have a column of the position of joint 'shoulder'"),
        ("time,shoulder,elbow\n" + "2024-01-01T00:00:00,1,2\n" * 12,
         "line 2, column 'time' must be a number; got '2024-01-01T00:00:00'."),
        (b"time,shoulder,elbow\n\xff\xfe\n" * 12, "must be UTF-8 text"),
        (ten_rows().encode("utf-16"), "must be UTF-8 text"),
        ("time,shoulder,elbow\n" + "x" * 200_000 + ",1,2\n", "cannot be read as a table"),
        (b"time,shoulder,elbow\n" + b"\0\0,1,2\n" * 12, "must be a number"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_log_is_told_in_one_line(robot, tmp_path, content, message):
    path = tmp_path / "log.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_logs(robot, [path])
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_cells_may_be_empty_and_columns_of_text_stand_beside(robot, tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"{k},run,{k},{k if k != 3 else ''},2024-01-01" for k in range(20)]
    path.write_text("time,mode,shoulder,elbow,date\n" + "\n".join(rows) + "\n\n# end\n")
    (log,) = read_logs(robot, [path])
    assert np.flatnonzero(np.isnan(log.position["elbow"])).tolist() == [3]
    np.testing.assert_array_equal(log.position["shoulder"], np.arange(20.0))


def test_a_channel_without_numbers_is_left_out_and_told(robot, tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"{k},{k},{k},,1" for k in range(20)]
    path.write_text("time,shoulder,elbow,shoulder_tau,elbow_tau\n" + "\n".join(rows) + "\n")
    (log,) = read_logs(robot, [path])
    assert list(log.effort) == ["elbow"]
    assert log.notes == ("effort.shoulder has no numbers; it is left out.",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.xlsx", b"", "must end in one of .csv, .tsv"),
        ("log.csvv", b"", "got '.csvv'; did you mean '.csv'"),
        ("log", b"", "must end in one of"),
        ("log.csv.gz", b"not gzip", "must be a whole gzip file"),
        (
            "log.csv.gz",
            gzip.compress(ten_rows(*["1,2,3"] * 999).encode(), mtime=0)[:-20],
            "must be a whole gzip file",
        ),
        ("log.npz", b"no zip", "must be a file of numpy.savez"),
        ("log.npz", b"", "must be a file of numpy.savez"),
        pytest.param("log.parquet", b"PAR1", "must be a whole Parquet f", marks=needs("pyarrow")),
        ("log.nc", b"", "is not a readable result"),
        pytest.param("log.mcap", b"", "must be a whole bag of ROS 2", marks=needs("mcap")),
        pytest.param(
            "log.mcap", b"hello" * 99, "must be a whole bag of ROS 2", marks=needs("mcap")
        ),
        pytest.param("log.db3", b"hello" * 99, "must be a whole bag of R", marks=needs("rosbags")),
        pytest.param("log.db3", b"", "must be a whole bag of ROS 2", marks=needs("rosbags")),
    ],
)
def test_a_file_that_is_none_of_its_kind_is_told_in_one_line(
    robot, tmp_path, name, content, message
):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_logs(robot, [path])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_must_be_a_bag_or_a_run(robot, tmp_path):
    with pytest.raises(InputError, match="a folder must be a bag of ROS 2"):
        read_logs(robot, [tmp_path])
    with pytest.raises(InputError, match="no-such.csv: no such file."):
        read_logs(robot, [tmp_path / "no-such.csv"])


def test_arrays_of_objects_are_not_unpickled(robot, tmp_path):
    path = tmp_path / "log.npz"
    np.savez(path, t=np.arange(20.0), q=np.array([{"a": 1}] * 20, dtype=object))
    with pytest.raises(InputError, match="must be a file of numpy.savez: Object arrays"):
        read_logs(robot, [path])


def test_an_array_must_have_a_row_for_each_time(robot, tmp_path):
    path = tmp_path / "log.npz"
    np.savez(path, t=np.arange(20.0), q=np.zeros((15, 2)))
    with pytest.raises(
        InputError, match="'q1' must have a sample for each of the 20 times; it has 15"
    ):
        read_logs(robot, [path])


@needs("pyarrow")
def test_a_column_of_text_in_parquet_is_told(robot, tmp_path):
    path = parquet(tmp_path / "log.parquet", table(robot, JOINTS) | {"elbow": ["a"] * N})
    with pytest.raises(InputError, match="column 'elbow' must hold numbers"):
        read_logs(robot, [path])


@pytest.mark.parametrize(
    ("file", "module", "extra"),
    [
        ("log.parquet", "pyarrow", "tables"),
        ("log.mcap", "mcap.reader", "logs"),
        ("log.db3", "rosbags.rosbag2", "logs"),
    ],
)
def test_the_extra_that_is_missing_is_named(robot, tmp_path, monkeypatch, file, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / file).write_bytes(b"PAR1")
    with pytest.raises(InputError, match=rf"not installed; pip install 'ukctrl\[{extra}\]'"):
        read_logs(robot, [tmp_path / file])


# Bags of ROS 2


def arrays(robot):
    time, q, v, effort = motion(robot)
    return time, q, v, effort


@needs("rosbags")
def test_the_order_of_joints_may_change_from_message_to_message(robot, tmp_path):
    time, q, v, effort = arrays(robot)
    as_they_are = joint_states(JOINTS, time, q, v, effort)
    turned = joint_states(JOINTS[::-1], time, q[:, ::-1], v[:, ::-1], effort[:, ::-1])
    mixed = [
        one if k % 3 else other
        for k, (one, other) in enumerate(zip(as_they_are, turned, strict=True))
    ]
    (log,) = read_logs(robot, [write_bag(tmp_path / "bag", mixed)])
    assert_is_motion(log, robot, STAMPED)


@needs("rosbags")
def test_publishers_of_a_part_of_the_joints_with_common_stamps_are_put_together(robot, tmp_path):
    time, q, v, effort = arrays(robot)
    parts = [
        joint_states([name], time, q[:, [k]], v[:, [k]], effort[:, [k]])
        for k, name in enumerate(JOINTS)
    ]
    merged = sorted((m for part in parts for m in part), key=lambda m: m[0])
    (log,) = read_logs(robot, [write_bag(tmp_path / "bag", merged)])
    assert_is_motion(log, robot, STAMPED)
    assert log.notes == ()


@needs("rosbags")
def test_a_joint_with_stamps_of_its_own_is_interpolated_and_it_is_told(robot, tmp_path):
    time, q, *_ = arrays(robot)
    often = joint_states(JOINTS[:1], time, q[:, :1], None, None)
    seldom = 7e-4 + time[:-1:4]
    line = joint_states(JOINTS[1:], seldom, 3.0 * seldom[:, None], None, None)
    merged = sorted(often + line, key=lambda m: m[0])
    (log,) = read_logs(robot, [write_bag(tmp_path / "bag", merged)])
    inside = (time >= seldom[0]) & (time <= seldom[-1])
    np.testing.assert_allclose(log.time + time[inside][0], time[inside], **STAMPED)
    np.testing.assert_array_equal(log.position["shoulder"], q[inside, 0])
    np.testing.assert_allclose(log.position["elbow"], 3.0 * time[inside], **STAMPED)
    assert log.notes == (
        "joints 'elbow' were published at other times than the rest; their samples are "
        "interpolated.",
    )


@needs("rosbags")
def test_a_gap_of_a_publisher_is_not_bridged(robot, tmp_path):
    time, q, *_ = arrays(robot)
    often = joint_states(JOINTS[:1], time, q[:, :1], None, None)
    seldom = np.concatenate([np.arange(7e-4, 0.1, 4e-3), np.arange(0.25, 0.397, 4e-3)])
    line = joint_states(JOINTS[1:], seldom, seldom[:, None], None, None)
    merged = sorted(often + line, key=lambda m: m[0])
    (log,) = read_logs(robot, [write_bag(tmp_path / "bag", merged)])
    t = log.time + 2e-3
    gap = (t > seldom[seldom < 0.1][-1]) & (t < 0.25)
    np.testing.assert_array_equal(np.isnan(log.position["elbow"]), gap)


@needs("rosbags")
def test_stamps_of_messages_go_before_the_recorders_clock(robot, tmp_path):
    time, q, *_ = arrays(robot)
    rng = np.random.default_rng(0)
    late = np.sort(EPOCH + 10**9 + (2e6 * np.arange(N) + rng.uniform(0, 1e6, N)).astype(np.int64))
    stamped = joint_states(JOINTS, time, q, None, None)
    messages = [(int(s), message) for s, (_, message) in zip(late, stamped, strict=True)]
    path = write_bag(tmp_path / "bag", messages)
    np.testing.assert_allclose(read_logs(robot, [path])[0].time, time, **STAMPED)
    (log,) = read_logs(robot, [path], LogSettings(time="log_time"))
    np.testing.assert_allclose(log.time, 1e-9 * (late - late[0]), **STAMPED)


@needs("rosbags")
def test_messages_without_stamps_have_the_recorders_and_it_is_told(robot, tmp_path):
    time, q, *_ = arrays(robot)
    messages = joint_states(JOINTS, time, q, None, None)
    for _, message in messages:
        message.header.stamp.sec = message.header.stamp.nanosec = 0
    (log,) = read_logs(robot, [write_bag(tmp_path / "bag", messages)])
    np.testing.assert_allclose(log.time, time, **STAMPED)
    assert log.notes[0] == "the messages have no stamps; the time is that of the recorder."


@needs("rosbags")
def test_quantities_that_drivers_do_not_measure_are_absent(robot, tmp_path):
    time, q, *_ = arrays(robot)
    nothing = np.full_like(q, np.nan)
    (log,) = read_logs(
        robot, [write_bag(tmp_path / "bag", joint_states(JOINTS, time, q, None, nothing))]
    )
    assert (log.velocity, log.effort) == ({}, {})


@needs("rosbags")
def test_joints_that_the_robot_does_not_have_are_left_alone(robot, tmp_path):
    time, q, v, effort = arrays(robot)
    wide = [np.column_stack([x[:, :1], x[:, :1], x[:, 1:]]) for x in (q, v, effort)]
    names = ("shoulder", "finger", "elbow")
    (log,) = read_logs(robot, [write_bag(tmp_path / "bag", joint_states(names, time, *wide))])
    assert_is_motion(log, robot, STAMPED)


@needs("rosbags")
def test_one_of_several_topics_must_be_chosen(robot, tmp_path):
    time, q, *_ = arrays(robot)
    messages = [
        (topic, stamp, message)
        for k in range(N)
        for topic, sign in (("/commands", -1.0), ("/joint_states", 1.0))
        for stamp, message in joint_states(JOINTS, time[[k]], sign * q[[k]], None, None)
    ]
    path = write_bag(tmp_path / "bag", messages)
    with pytest.raises(
        InputError, match="has 2 topics of .*: '/commands', '/joint_states'. Choose"
    ):
        read_logs(robot, [path])
    for topic, sign in (("/commands", -1.0), ("/joint_states", 1.0)):
        (log,) = read_logs(robot, [path], LogSettings(topic=topic))
        np.testing.assert_array_equal(log.position["elbow"], sign * q[:, 1])
        assert topic in log.source
    with pytest.raises(InputError, match="no topic of .* named '/joint_state'; did you mean"):
        read_logs(robot, [path], LogSettings(topic="/joint_state"))


@needs("rosbags")
def test_names_of_the_robots_driver_are_a_pattern(robot, tmp_path):
    time, q, v, effort = arrays(robot)
    names = [f"arm_{name}_joint" for name in JOINTS]
    path = write_bag(tmp_path / "bag", joint_states(names, time, q, v, effort))
    with pytest.raises(InputError, match="did you mean 'position.arm_shoulder_joint'"):
        read_logs(robot, [path])
    pairs = [f"{quantity}={quantity}.arm_{{joint}}_joint" for quantity in ("position", "velocity")]
    (log,) = read_logs(robot, [path], log_settings(pairs))
    np.testing.assert_array_equal(log.velocity["elbow"], v[:, 1])
    assert log.effort == {}


@needs("rosbags")
@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        (("elbow", "elbow"), 2, "message 1 must name every joint once; 'elbow' is there 2 times."),
        (
            ("shoulder", "elbow"),
            1,
            "must have as many entries of position as names, 2, or none; it",
        ),
        ((), 0, "must have a column of the position of joint 'shoulder'"),
    ],
)
def test_messages_that_contradict_themselves_are_told(robot, tmp_path, names, columns, message):
    time, q, *_ = arrays(robot)
    path = write_bag(tmp_path / "bag", joint_states(names, time, q[:, :columns], None, None))
    with pytest.raises(InputError, match=message):
        read_logs(robot, [path])


@needs("rosbags")
def test_a_bag_without_joint_states_is_told(robot, tmp_path):
    from rosbags.typesys import Stores, get_typestore

    text = get_typestore(Stores.ROS2_HUMBLE).types["std_msgs/msg/String"]
    messages = [(EPOCH + k, text("hello")) for k in range(3)]
    with pytest.raises(
        InputError, match="must have messages of sensor_msgs/msg/JointState; it has"
    ):
        read_logs(robot, [write_bag(tmp_path / "bag", messages)])


@needs("mcap", "rosbags")
def test_a_file_that_was_cut_off_is_told(robot, tmp_path):
    time, q, v, effort = arrays(robot)
    path = write_mcap(tmp_path / "log.mcap", joint_states(JOINTS, time, q, v, effort))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="log.mcap: must be a whole bag of ROS 2") as caught:
        read_logs(robot, [path])
    assert "\n" not in str(caught.value)


# A real log, and a long one


@pytest.mark.skipif(not PANDA_LOG, reason="UKCTRL_PANDA_LOG names no file")
def test_the_log_of_a_real_panda_needs_no_table(panda):
    (log,) = read_logs(panda, [PANDA_LOG])
    with (gzip.open if PANDA_LOG.endswith(".gz") else open)(PANDA_LOG, "rt") as file:
        rows = list(csv.DictReader(file))
    assert len(log.time) == len(rows) == 20544
    for k in range(1, 8):
        for channels, head in ((log.position, "q"), (log.velocity, "dq"), (log.effort, "tau")):
            column = np.array([float(row[f"{head}{k}"]) for row in rows])
            np.testing.assert_array_equal(channels[f"joint{k}"], column)
    assert log.notes == ()


@pytest.mark.slow
def test_a_long_log_takes_seconds(robot, tmp_path):
    import time as clock

    n = 200_000
    path = write_text(tmp_path / "log.csv", table(robot, *NAMED, n=n))
    begin = clock.perf_counter()
    (log,) = read_logs(robot, [path])
    assert clock.perf_counter() - begin < 10.0  # measured: half a second
    assert_is_motion(log, robot, n=n)


def test_paths_may_be_of_any_kind(robot, tmp_path):
    path = write_text(tmp_path / "log.csv", table(robot, *NAMED))
    for files in (path, str(path), [Path(path)], (str(path),)):
        assert len(read_logs(robot, files)) == 1
