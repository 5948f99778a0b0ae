"""A robot that a file has kept as arrays is the robot that Pinocchio read, to the last bit."""

from __future__ import annotations

import dataclasses as dc
import tomllib

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Dynamics, Robot, UkctrlError, catalog
from ukctrl.mechanics.at_rest import home
from ukctrl.robot import GivenForce, Lagrangian, Options, Payload, Perturbation
from ukctrl.robot.forces import Added, Forces
from ukctrl.robot.kept_robot import robot_of, robot_table
from ukctrl.robot.rigid_arrays import NeedsPinocchio, RigidStructure
from ukctrl.simulation.result.plain_files import plain, toml_text

CHANGED = {
    "heavier, with a payload": (
        "panda",
        Perturbation(mass_scale=1.1, payload=Payload(frame="tool", mass=2.0)),
    ),
    "with friction": ("scara", Perturbation(friction={"q2": 0.3}, damping=0.7, gravity=(1, 2, -3))),
    "with other springs": ("panda_elastic", Perturbation(stiffness_scale=0.5, damping=0.1)),
}


def kept(robot: Robot) -> Robot:
    """Return a robot as it comes back from the text of a file."""
    return robot_of(tomllib.loads(toml_text(plain(robot_table(robot), "robot"))))


def same(one: Robot, other: Robot) -> None:
    """Compare two robots bit for bit."""
    rng = np.random.default_rng(3)
    for what in ("name", "coordinates", "dofs", "actuators", "actuator_units", "frames", "joints"):
        assert getattr(one.structure if what == "joints" else one, what) == getattr(
            other.structure if what == "joints" else other, what
        )
    limits = "neutral", "q_lower", "q_upper", "velocity_limit", "effort_limit", "input_rate_limit"
    for what in limits:
        assert getattr(one, what).tobytes() == getattr(other, what).tobytes(), what
    np.testing.assert_array_equal(home(one), home(other), strict=True)
    for _ in range(3):
        q, v, t = one.random(rng), rng.standard_normal(one.nv), 0.3
        a, b = Dynamics(one), Dynamics(other)
        for dynamics in (a, b):
            dynamics.look(t, q, v)
        for what in ("M", "nle", "f", "B", "Jt", "dJt", "rotations", "translations", "stored"):
            ours, theirs = getattr(a.snapshot, what), getattr(b.snapshot, what)
            assert ours.tobytes() == theirs.tobytes(), what
        assert a.passive.rows.A.tobytes() == b.passive.rows.A.tobytes()
        assert a.snapshot.energy() == b.snapshot.energy()
        frame = one.frames[-1]
        assert all(
            np.array_equal(x, y)
            for x, y in zip(a.snapshot.frame(frame), b.snapshot.frame(frame), strict=True)
        )


@pytest.mark.parametrize("name", catalog.names("robots"))
def test_every_robot_of_bodies_comes_back_as_it_was(name):
    robot = Robot.load(name, trust=True)
    if not isinstance(robot.structure, RigidStructure):
        with pytest.raises(UkctrlError, match="made of formulas or functions, not of arrays"):
            robot_table(robot)
        return
    same(robot, kept(robot))


@pytest.mark.parametrize("case", CHANGED)
def test_a_robot_that_is_not_as_its_file_says_comes_back_as_it_was(case):
    name, difference = CHANGED[case]
    robot = Robot.load(name).perturbed(difference)
    again = kept(robot)
    same(robot, again)
    if robot.elastic is not None:
        assert any(term is again.elastic for term in again.forces.terms)


def test_the_rest_of_an_mjcf_file_comes_back():
    pytest.importorskip("mujoco")
    arm = '<body><joint name="j" ref="30"/><geom size=".1" pos=".5 0 0"/></body>'
    robot = Robot.build(f"<mujoco><worldbody>{arm}</worldbody></mujoco>")
    assert kept(robot).configuration({}).tolist() == [pytest.approx(np.pi / 6.0)]
    same(robot, kept(robot))


def test_the_zero_of_every_kind_of_joint_is_that_of_pinocchio():
    joints = [pin.JointModelFreeFlyer(), pin.JointModelRUBZ(), pin.JointModelPX(),
              pin.JointModelSpherical(), pin.JointModelPlanar(), pin.JointModelRY()]  # fmt: skip
    from ukctrl.robot.rigid import rigid_structure

    model = pin.Model()
    for at, joint in enumerate(joints):
        model.addJoint(at, joint, pin.SE3.Identity(), f"j{at}")
    np.testing.assert_array_equal(rigid_structure(model).neutral, pin.neutral(model))


def test_what_pinocchio_alone_knows_is_refused_by_name():
    robot = kept(Robot.load("scara"))
    s = robot.snapshot(robot.neutral)
    for asked in (
        lambda: robot.model,
        lambda: robot.perturbed(Perturbation(mass_scale=2.0)),
        lambda: s.force_derivatives(np.zeros(4)),
        s.coriolis,
    ):
        with pytest.raises(NeedsPinocchio, match="load the robot from its own file, with Pinocc"):
            asked()


class Wind(Added):
    """A force of a user's own."""


def test_what_no_file_of_numbers_can_keep_is_refused():
    robot = Robot.load("scara")
    windy = Robot.of(dc.replace(robot, forces=Forces((Wind(),))))
    with pytest.raises(UkctrlError, match="has a part in Python, a Wind, which no file can keep"):
        robot_table(windy)
    bead = Robot.build(Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2/2"))
    with pytest.raises(UkctrlError, match="made of formulas or functions"):
        robot_table(bead)


def test_a_force_and_an_input_in_formulas_come_back():
    text = Robot.load("scara").path.parent.joinpath("scara.urdf").read_text(encoding="utf-8")
    options = Options(force=(GivenForce(joint="q1", force="-sin(q2)*v.q3 + t"),))
    robot = Robot.build(text, options)
    assert robot.forces.any
    same(robot, kept(robot))


def whole_numbers(table, path=()):
    """Yield where a table has whole numbers, but for lengths."""
    entries = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in entries:
        if isinstance(value, dict | list) and key not in ("shape", "flags"):
            yield from whole_numbers(value, (*path, key))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield (*path, key)


def changed(table, path, value):
    """Return a copy of a table with another value at a path."""
    copied = plain(table, "robot")
    inside = copied
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return copied


@pytest.mark.slow(only=["panda_elastic", "five_bar"])
@pytest.mark.parametrize("name", ["scara", "panda_elastic", "quadrotor", "five_bar"])
def test_no_number_may_point_beyond_an_array(name):
    table = plain(robot_table(Robot.load(name)), "robot")
    paths = [path for path in whole_numbers(table) if path[0] != "passive"]
    assert len(paths) > 20
    for path in paths:
        for value in (-1, 10_000):
            with pytest.raises(UkctrlError, match="must fit the rest of the robot"):
                print(path, value, robot_of(changed(table, path, value)))


@pytest.mark.parametrize("name", ["scara", "quadrotor"])
def test_no_array_may_be_shorter_than_the_rest_needs(name):
    table = plain(robot_table(Robot.load(name)), "robot")

    def arrays(inside, path=()):
        if isinstance(inside, dict) and "shape" in inside:
            yield path
        elif isinstance(inside, dict | list):
            entries = inside.items() if isinstance(inside, dict) else enumerate(inside)
            for key, value in entries:
                yield from arrays(value, (*path, key))

    for path in arrays(table):
        if path[0] != "passive":
            with pytest.raises(UkctrlError, match="must fit the rest of the robot|no kept robot"):
                robot_of(changed(table, path, {"shape": [1, 1], "floats": [0.5]}))
