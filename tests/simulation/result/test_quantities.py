"""Every recorded quantity: its unit of mixed labels, and what it is in words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.core.errors import ShapeError
from ukctrl.simulation.provenance import exceeded_limits, joint_limits
from ukctrl.simulation.result.quantities import (
    FIELDS,
    Labels,
    common_unit,
    per_second,
    power_conjugate,
    reaction_unit,
)

LABELS = Labels(
    coordinates=("x", "phi"), coordinate_units=("m", "rad"),
    dofs=("x", "phi"), dof_units=("m/s", "rad/s"),
    actuators=("lift", "turn"), actuator_units=("N", "N m"),
    rows=("a", "b"), row_units=("m", "rad"), row_blocks=("a", "b"),
    passive_rows=("loop", "lean"), passive_row_units=("m", "rad"),
    keep_rows=("wall", "force"), keep_row_units=("m", "N"), keep_row_blocks=("k", "k"),
    keep_row_missed_units=("m/s^2", "N"),
)  # fmt: skip
ONE = ("1",)
UNITS = {
    "q": ("m", "rad"), "v": ("m/s", "rad/s"), "a": ("m/s^2", "rad/s^2"), "u": ("N", "N m"),
    "phi": ("m", "rad"), "beta": ("m/s", "rad/s"), "passive_phi": ("m", "rad"),
    "passive_beta": ("m/s", "rad/s"), "passive_force": ("N", "N m"), "energy": ("J",),
    "frame_position": ("m",), "frame_reference": ("m",), "actuator_rate": ("m/s", "rad/s"),
    "kinetic_energy": ("J",), "power": ("W",), "supplied_energy": ("J",),
    "reach": ("m/s^2, rad/s^2",), "rank": ONE, "reaction": ("N", "N m"),
    "reaction_residual": ("N, N m",), "reaction_power": ("W",), "nonideal_force": ("N", "N m"),
    "passive_rank": ONE, "passive_sigma_min": ONE, "passive_sigma_dropped": ONE,
    "passive_holds": ONE, "sigma_min": ("(m/s^2, rad/s^2)/(N, N m)",),
    "q_measured": ("m", "rad"), "v_measured": ("m/s", "rad/s"), "q_estimated": ("m", "rad"),
    "v_estimated": ("m/s", "rad/s"), "q_estimate_error": ("m", "rad"),
    "v_estimate_error": ("m/s", "rad/s"), "disturbance_estimated": ("N", "N m"),
    "disturbance_error": ("N", "N m"), "nees": ONE, "nis": ONE, "keep": ("m", "N"),
    "keep_binding": ONE, "keep_missed": ("m/s^2", "N"), "keep_given_up": ("m/s^2", "rad/s^2"),
    "u_commanded": ("N", "N m"), "u_lower": ("N", "N m"), "u_upper": ("N", "N m"),
}  # fmt: skip
ALWAYS = {
    "q", "v", "a", "u", "phi", "beta", "passive_phi", "passive_beta", "passive_force", "energy",
    "frame_position",
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_a_quantity_has_units_that_follow_from_those_of_its_axis(name):
    assert FIELDS[name].units(LABELS) == UNITS[name]
    assert FIELDS[name].always == (name in ALWAYS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("q_estimate_error", "configuration less its estimate at the last tick"),
        ("v_estimate_error", "velocity less its estimate at the last tick"),
        ("disturbance_error",
         "unexplained generalised force less its estimate at the last tick"),
        ("keep_given_up", "row acceleration that the servo rows did not get for what is kept"),
        ("passive_sigma_min", "smallest singular value of the passive rows that counts"),
        ("passive_sigma_dropped",
         "largest singular value of the passive rows that does not count"),
        ("keep_missed", "by how much it gave way at the last tick"),
        ("u_lower", "least input that the drive gives"),
        ("u_upper", "largest input that the drive gives"),
    ],
)  # fmt: skip
def test_what_is_less_least_or_last_is_called_so(name, words):
    assert FIELDS[name].long_name == words


@pytest.mark.parametrize(
    ("unit", "rate"),
    [("m", "m/s"), ("m/s", "m/s^2"), ("rad/s^2", "rad/s^3"), ("J s", "J"), ("", "1/s"),
     ("m/s^9", "m/s^10")],
)  # fmt: skip
def test_the_unit_of_a_derivative(unit, rate):
    assert per_second(unit) == rate


@pytest.mark.parametrize(
    ("unit", "other"),
    [("rad/s", "N m"), ("N m", "rad/s"), ("m/s", "N"), ("N", "m/s"), ("1/s", "J"), ("A", "W/(A)")],
)
def test_the_unit_that_makes_watts(unit, other):
    assert power_conjugate(unit) == other


@pytest.mark.parametrize(
    ("unit", "other"),
    [("m", "N"), ("rad", "N m"), ("", "J"), ("1", "J"), ("m^2", "J/(m^2)"), ("m/s", "N"),
     ("rad/s", "N m"), ("1/s", "J"), ("m^2/s", "W/(m^2/s)")],  # of rows between velocities
)  # fmt: skip
def test_the_unit_of_a_multiplier(unit, other):
    assert reaction_unit(unit) == other


def test_a_unit_that_all_share_and_each_of_several_once():
    assert common_unit(["m", "m"]) == "m"
    assert common_unit(["m", "rad", "m", ""]) == "m, rad, 1"
    assert common_unit([]) == "1"


def test_labels_that_do_not_fit_each_other_are_refused():
    with pytest.raises(ShapeError) as caught:
        Labels(rows=("a", "b"), row_units=("m",), row_blocks=("a", "b"))
    assert str(caught.value).endswith(
        "row_units must have one entry for each of the 2 rows; got 1."
    )


def test_rows_of_blocks_in_their_order():
    labels = Labels(
        rows=tuple("abc"), row_units=("m",) * 3, row_blocks=("y", "x", "y"),
        keep_rows=("h",), keep_row_units=("m",), keep_row_blocks=("k",),
        keep_row_missed_units=("m/s^2",),
    )  # fmt: skip
    assert labels.blocks == ("y", "x")
    assert labels.block_rows("y").tolist() == [0, 2]
    assert labels.block_rows(None).tolist() == [0, 1, 2]
    assert labels.keep_blocks == ("k",)
    assert labels.kept_rows(None).tolist() == [0]
    assert labels.kept_rows("j").tolist() == []
    assert labels.keep_row_margins == (0.0,)


# Limits of joints, which a simulated joint runs through

INF = np.inf
ROBOT = SimpleNamespace(
    coordinates=("a", "b", "c"), coordinate_units=("rad", "m", "rad"),
    dofs=("a", "b", "c"), dof_units=("rad/s", "m/s", "rad/s"),
    q_lower=np.array([-1.0, -INF, -INF]), q_upper=np.array([2.0, 1000.0, INF]),
    velocity_limit=np.array([3.0, INF, INF]),
)  # fmt: skip


class Course(dict):
    """Arrays of a run, with the times of their samples."""

    time = np.array([0.0, 0.5, 1.0])

    def __len__(self):
        return len(self.time)


def passed(a=(0.0, 0.0, 0.0), b=(0.0, 0.0, 0.0), rate=(0.0, 0.0, 0.0)):
    still = np.zeros(3)
    q, v = np.column_stack([a, b, still + 99.0]), np.column_stack([rate, still + 99.0, still])
    return exceeded_limits(ROBOT, Course(q=q, v=v))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, []),
        ({"a": (2.0 + 1.9e-9, -1.0 - 1.9e-9, 0.0)}, []),
        ({"a": (0.0, 2.1, 2.2)}, ["'a' passes its limit of 2 rad at t = 0.5 s."]),
        ({"a": (0.0, 0.0, -1.1)}, ["'a' passes its limit of -1 rad at t = 1 s."]),
        ({"a": (0.0, 2.0 + 2.1e-9, 0.0)}, ["'a' passes its limit of 2 rad at t = 0.5 s."]),
        ({"b": (0.0, 1000.0 + 0.9e-6, 0.0)}, []),  # a part of its limit
        ({"b": (0.0, 1000.0 + 1.1e-6, -1e9)}, ["'b' passes its limit of 1000 m at t = 0.5 s."]),
        (
            {"a": (9.0, 0.0, np.nan), "rate": (0.0, -3.1, 0.0)},
            ["'a' passes its limit of 2 rad at t = 0 s.",
             "'a' passes its limit of -3 rad/s at t = 0.5 s."],
        ),
    ],
)  # fmt: skip
def test_joints_that_pass_their_limits_are_told_and_when_first(given, said):
    assert passed(**given) == said


def test_limits_of_joints_are_told_where_there_are_some():
    assert joint_limits(ROBOT) == {
        "joint_limits": {"q": {"a": [-1.0, 2.0], "b": [None, 1000.0]}, "v": {"a": [-3.0, 3.0]}}
    }
