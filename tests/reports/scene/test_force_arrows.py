"""Arrows of forces: along joints, where a file says, and of the ground on what stands on it."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.reports.scene import arrow_shapes
from ukctrl.reports.scene.force_arrows import force_arrows
from ukctrl.robot import Robot
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

EXACT = {"rtol": 0.0, "atol": 1e-12}


def arrows_of(robot, q, u, reaction=(), **labels):
    """Return the arrows of two equal moments, by name."""
    made = Labels(
        coordinates=robot.coordinates, coordinate_units=robot.coordinate_units, dofs=robot.dofs,
        dof_units=robot.dof_units, actuators=robot.actuators,
        actuator_units=robot.actuation.units, **labels,
    )  # fmt: skip
    samples = {"q": np.array([q, q]), "u": np.array([u, u])}
    if len(reaction):
        samples["reaction"] = np.array([reaction, reaction])
    result = Result.build(time=[0.0, 1.0], samples=samples, labels=made, status="completed")
    return {arrow.name: arrow for arrow in force_arrows(robot, result.samples, np.arange(2))}


@pytest.mark.slow
def test_inputs_of_a_plant_of_formulas_act_where_its_file_says():
    crane = Robot.load("crane_planar")
    found = arrows_of(crane, [0.5, 2.0, 0.3], [7.0, 900.0])
    assert {name: (each.unit, each.group) for name, each in found.items()} == {
        "F": ("N", "inputs"), "winch": ("N", "inputs")
    }  # fmt: skip
    np.testing.assert_allclose(found["F"].tail[1], [0.5, 0.0, 0.15], **EXACT)
    np.testing.assert_allclose(found["F"].vector[1], [7.0, 0.0, 0.0], **EXACT)
    rope = np.array([np.sin(0.3), 0.0, -np.cos(0.3)])
    np.testing.assert_allclose(found["winch"].tail[0], [0.5, 0.0, 0.0] + 2.0 * rope, **EXACT)
    np.testing.assert_allclose(found["winch"].vector[0], -900.0 * rope, **EXACT)


@pytest.mark.slow
def test_forces_of_a_plant_that_are_said_do_the_work_of_its_inputs():
    """A force times the velocity of where it acts is the power of the input."""
    for name in ("crane_planar", "crane_spatial", "mass_on_car", "four_mass_chain"):
        robot, rng = Robot.load(name), np.random.default_rng(3)
        q = robot.neutral + rng.uniform(0.1, 0.4, robot.nq)
        u, v, step = rng.uniform(1.0, 2.0, robot.nu), rng.uniform(-1.0, 1.0, robot.nv), 1e-6
        there, before, after = (
            arrows_of(robot, q + k * step * v, u) for k in (0.0, -1.0, 1.0)
        )  # fmt: skip
        power = sum(
            each.vector[0] @ (after[key].tail[0] - before[key].tail[0]) / (2.0 * step)
            for key, each in there.items()
        )
        if name.startswith("crane"):  # the winch pulls the trolley down as it pulls the load up
            winch = there["winch"].vector[0]
            trolley = np.zeros(3)
            trolley[: 1 if name == "crane_planar" else 2] = v[: 1 if name == "crane_planar" else 2]
            power -= winch @ trolley
        B = robot.snapshot(q, v).B
        np.testing.assert_allclose(power, v @ B @ u, rtol=1e-6)


def test_each_propeller_has_its_thrust_and_nothing_is_drawn_twice():
    robot = Robot.load("quadrotor")
    found = arrows_of(robot, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    assert sorted(found) == ["thrust1", "thrust2", "thrust3", "thrust4"]
    arm = 0.17 / np.sqrt(2.0)
    np.testing.assert_allclose(found["thrust2"].tail[0], [arm, -arm, 1.03], rtol=1e-6)
    np.testing.assert_allclose(found["thrust2"].vector[0], [0.0, 0.0, 2.0], **EXACT)


def test_the_ground_pushes_on_feet_and_wheels():
    robot = Robot.load("a1")
    rows = tuple(
        f"{leg}_foot_contact.{axis}"
        for leg in ("FL", "FR", "RL", "RR") for axis in ("height", "slip_x", "slip_y")
    )  # fmt: skip
    found = arrows_of(
        robot, robot.home, np.zeros(robot.nu), np.arange(12.0) + 1.0, passive_rows=rows,
        passive_row_units=("m",) * 12,
    )  # fmt: skip
    foot = found["FR_foot_contact"]
    np.testing.assert_allclose(foot.vector[0], [5.0, 6.0, 4.0], **EXACT)
    place = robot.snapshot(robot.home).frame("FR_foot").position
    np.testing.assert_allclose(foot.tail[0], place, **EXACT)
    assert (foot.unit, foot.group) == ("N", "reactions")

    slope = {"ground": {"normal": ["-sin(30*deg)", 0.0, "cos(30*deg)"]}}
    tables = [{"kind": "contact", "frame": "FR_foot", "mu": "1/2", **slope}]
    rows = tuple(f"FR_foot_contact.{axis}" for axis in ("height", "slip_x", "slip_y"))
    found = arrows_of(
        Robot.load("a1", override={"passive": tables}), robot.home, np.zeros(robot.nu),
        [2.0, 0.0, 0.0], passive_rows=rows, passive_row_units=("m",) * 3,
    )  # fmt: skip
    push = found["FR_foot_contact"].vector[0]
    np.testing.assert_allclose(push, [-1.0, 0.0, np.sqrt(3.0)], **EXACT)

    vehicle = Robot.load("mobile_ur5")
    rows = ("left_wheel_rolling.along", "left_wheel_rolling.across")
    found = arrows_of(
        vehicle, vehicle.home, np.zeros(vehicle.nu), [3.0, 4.0], passive_rows=rows,
        passive_row_units=("m", "m"),
    )  # fmt: skip
    wheel = found["left_wheel_rolling"]
    np.testing.assert_allclose(wheel.vector[0], [3.0, 4.0, 0.0], **EXACT)
    centre = vehicle.snapshot(vehicle.home).frame("left_wheel").position
    np.testing.assert_allclose(wheel.tail[0], centre - [0.0, 0.0, 0.1], **EXACT)


@pytest.mark.parametrize("unit", ["m", "rad"])
def test_a_reaction_that_is_said_has_the_unit_of_its_row(unit):
    robot = Robot.load("coordinated_arms")
    found = arrows_of(
        robot, np.zeros(5), np.zeros(6), [2.0, -3.0], passive_rows=("hinge_x", "hinge_y"),
        passive_row_units=(unit, unit),
    )  # fmt: skip
    assert found["hinge_y"].unit == ("N" if unit == "m" else "N m")
    np.testing.assert_allclose(found["hinge_y"].vector[0], [0.0, 0.0, -3.0], **EXACT)
    np.testing.assert_allclose(found["hinge_y"].tail[0], [3.0, 0.0, 0.0], **EXACT)


def test_a_closure_pulls_on_its_first_frame_along_the_axes_of_its_second():
    robot = Robot.load("five_bar_relative")
    q = np.random.default_rng(1).standard_normal(robot.nq)  # where its frames are apart
    name = "coupler.right_at_link3.head"
    found = arrows_of(
        robot, q, np.zeros(robot.nu), [2.0, 3.0], passive_rows=(f"{name}.x", f"{name}.y"),
        passive_row_units=("m", "m"),
    )[name]  # fmt: skip
    s = robot.snapshot(q)
    turn = s.frame("link3.head").rotation
    np.testing.assert_allclose(found.tail[0], s.frame("coupler.right").position, **EXACT)
    np.testing.assert_allclose(found.vector[0], turn @ [2.0, 3.0, 0.0], **EXACT)
    assert np.abs(turn - np.eye(3)).max() > 0.1


@pytest.mark.parametrize(
    ("actuator", "unit", "value"),
    [
        ({"kind": "wrench", "force": [3.0, 0.0, 1.0]}, "N", [3.0, 0.0, 1.0]),
        ({"kind": "wrench", "force": [0.0, 0.0, 2.0], "torque": [0.0, 0.5, 0.0]}, "N", [0, 0, 2.0]),
        ({"kind": "wrench", "torque": [2.0, 0.0, 1.0]}, "N m", [2.0, 0.0, 1.0]),
        ({"kind": "torque_between", "frames": ["tool", "forearm"], "axis": [0.0, 3.0, 0.0]}, "N m",
         [0.0, 1.0, 0.0]),
    ],
)  # fmt: skip
def test_an_input_at_a_frame_acts_there_along_the_axes_that_the_frame_has(actuator, unit, value):
    where = {} if "frames" in actuator else {"frame": "tool"}
    robot = Robot.load("ur5", override={"actuator": [{"name": "push", **actuator, **where}]})
    q = robot.home + 0.3 * np.arange(6.0)
    (found,) = arrows_of(robot, q, [4.0]).values()
    assert (found.name, found.unit, found.group) == ("push", unit, "inputs")
    tool = robot.snapshot(q).frame("tool")
    np.testing.assert_allclose(found.tail[1], tool.position, **EXACT)
    np.testing.assert_allclose(found.vector[1], 4.0 * tool.rotation @ np.array(value), **EXACT)
    assert arrows_of(robot, q, [0.0]) == {}


def test_motors_of_elastic_joints_act_at_their_joints():
    robot = Robot.load("panda_elastic")
    u, q = np.arange(1.0, 8.0), robot.home + 0.1
    found, s = arrows_of(robot, q, u), robot.snapshot(robot.home + 0.1)
    assert {each.unit for each in found.values()} == {"N m"}
    assert list(found) == [f"joint{k}_motor" for k in range(1, 8)]
    for k, arrow in enumerate(found.values()):
        joint = robot.structure.block_of(k).joint
        np.testing.assert_allclose(arrow.tail[0], s.translations[joint], **EXACT)
        effort = robot.actuation.constant[7 + k] @ u
        np.testing.assert_allclose(arrow.vector[0], s.Jt[k, 3:] * effort, **EXACT)


@pytest.mark.parametrize(("most", "count"), [(2, 2), (1, 0)])
def test_more_arrows_than_can_be_seen_are_none(most, count, monkeypatch):
    monkeypatch.setattr("ukctrl.reports.scene.force_arrows.MAX_ARROWS", most)
    assert len(arrows_of(Robot.load("two_link"), [0.1, 0.2], [1.0, 2.0])) == count


@pytest.mark.parametrize("unit", ["N", "N m"])
@pytest.mark.parametrize("vector", [(np.nan, 0.0, 1.0), (0.0, 0.0, 0.0)])
def test_of_what_is_no_force_there_is_no_arrow(unit, vector):
    assert arrow_shapes.arrow_shape(np.zeros(3), np.array(vector), unit, 1.0, 1.0) is None


def test_an_arrow_knows_when_its_input_is_at_its_limit():
    robot = Robot.load("two_link")
    limits = (10.0, 20.0)
    found = {}
    for u in ([10.0, 5.0], [1.0, -20.0]):
        labels = {"effort_limit": limits}
        for name, arrow in arrows_of(robot, [0.1, 0.2], u, **labels).items():
            found.setdefault(name, []).append(arrow.limited.tolist())
    assert found == {"shoulder": [[True] * 2, [False] * 2], "elbow": [[False] * 2, [True] * 2]}
