"""Planar linkages in maximal coordinates, and starts that hold a joint while others follow."""

import dataclasses as dc

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, simulate
from ukctrl.core.errors import InputError, StartError
from ukctrl.mechanics.dynamics import Dynamics

ROUNDING = {"rtol": 0.0, "atol": 1e-12}

CRANK, ROD, SLIDER = (1.0, 0.3), (2.0, 0.8), 1.5  # (mass [kg], length [m]), mass [kg]
SLIDER_CRANK = """
title = "slider-crank"
[linkage]
plane  = "xz"
ground = { O = [0.0, 0.0] }
[[linkage.body]]
name    = "crank"
mass    = 1.0
inertia = "0.3**2/12"
points  = { foot = [-0.15, 0.0], head = [0.15, 0.0] }
at      = [0.15, 0.0, 0.0]
[[linkage.body]]
name    = "rod"
mass    = 2.0
inertia = "2*0.8**2/12"
points  = { foot = [-0.4, 0.0], head = [0.4, 0.0] }
at      = [0.7, 0.0, 0.0]
[[linkage.body]]
name    = "slider"
mass    = 1.5
inertia = 0.01
points  = { pin = [0.0, 0.0] }
at      = [1.1, 0.0, 0.0]
[[linkage.joint]]
kind   = "revolute"
points = ["crank.foot", "ground.O"]
[[linkage.joint]]
kind   = "revolute"
points = ["rod.foot", "crank.head"]
[[linkage.joint]]
kind   = "revolute"
points = ["rod.head", "slider.pin"]
[[linkage.joint]]
kind      = "prismatic"
points    = ["slider.pin", "ground.O"]
direction = "20*deg"
angle     = "20*deg"
name      = "guide"
[[linkage.motor]]
name          = "drive"
bodies        = ["ground", "crank"]
rotor_inertia = 0.05
"""


@pytest.fixture
def slider_crank(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text(SLIDER_CRANK, encoding="utf-8")
    return Robot.load(path)


def test_the_mass_matrix_is_that_of_free_bodies_in_the_order_of_the_file():
    five_bar = Robot.load("five_bar")
    bodies = ("link1", "link2", "link3", "coupler")
    assert five_bar.coordinates == tuple(f"{b}_{of}" for b in bodies for of in ("x", "y", "angle"))
    assert five_bar.nu == 0
    assert five_bar.audit == ()
    q = five_bar.random(np.random.default_rng(0))
    s = five_bar.snapshot(q, np.ones(12))
    np.testing.assert_array_equal(s.M, np.diag([1.0, 1.0, 0.1] * 3 + [2.0, 2.0, 0.2]))
    np.testing.assert_allclose(s.nle, [0, 9.81, 0] * 3 + [0, 19.62, 0], **ROUNDING)


@pytest.mark.parametrize("plane", ["xy", "xz"])
def test_coordinates_are_those_of_the_plane_wherever_it_lies(plane):
    robot = Robot.load("five_bar", override={"linkage": {"plane": plane}})
    q = np.zeros(12)
    q[:3] = 0.3, -0.2, 0.7
    position = robot.snapshot(q).frame("link1.head").position
    x, y = 0.3 + 0.5 * np.cos(0.7), -0.2 + 0.5 * np.sin(0.7)
    np.testing.assert_allclose(position, [x, y, 0] if plane == "xy" else [x, 0, y], **ROUNDING)
    weight = 0.0 if plane == "xy" else 9.81
    np.testing.assert_allclose(robot.snapshot(q).gravity[:3], [0.0, weight, 0.0], **ROUNDING)


def parallelogram(theta, omega):
    """Return the state of the five-bar linkage at the angle of its links."""
    c, s = np.cos(theta), np.sin(theta)
    q = [x for i in range(3) for x in (i + 0.5 * c, 0.5 * s, theta)] + [1 + c, s, 0.0]
    v = [-0.5 * s * omega, 0.5 * c * omega, omega] * 3 + [-s * omega, c * omega, 0.0]
    return np.array(q), np.array(v)


@pytest.mark.parametrize("theta", [-2.5, -0.8, 0.4, 1.9])
def test_accelerations_are_those_of_pinocchio_and_of_the_pendulum(theta):
    """Pinocchio's proximal constraint dynamics, and 3.05 th'' = -3.5 g cos th."""
    robot = Robot.load("five_bar")
    q, v = parallelogram(theta, 3.0)
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, v)
    assert np.linalg.matrix_rank(dynamics.passive.rows.A) == 11
    assert len(dynamics.passive) == 12
    np.testing.assert_allclose(dynamics.a_free, pinocchios(robot, q, v), rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(
        dynamics.a_free[2], -3.5 * 9.81 * np.cos(theta) / 3.05, rtol=0.0, atol=1e-11
    )


def pinocchios(robot, q, v):
    """Return the acceleration by Pinocchio's own constraint dynamics."""
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for table in robot.passive:
        a, b = (robot.site(frame) for frame in table["frames"])
        model = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D,
            robot.model,
            a.joint,
            pin.SE3(a.rotation, a.translation),
            b.joint,
            pin.SE3(b.rotation, b.translation),
            pin.ReferenceFrame.LOCAL,
        )
        models.append(model)
        datas.append(model.createData())
    data = robot.model.createData()
    pin.initConstraintDynamics(robot.model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-8, 200)
    zero = np.zeros(robot.nv)
    return np.array(pin.constraintDynamics(robot.model, data, q, v, zero, models, datas, settings))


def slider_crank_energy(theta, omega):
    """Return kinetic and potential energy in the crank angle alone; the guide is inclined."""
    (m1, l1), (m2, l2), incline = CRANK, ROD, np.deg2rad(20.0)
    # In axes along the guide the crank has the angle b and the rod -asin(l1 sin b / l2).
    b = theta - incline
    slope = -np.arcsin(l1 * np.sin(b) / l2)
    slope_rate = -l1 * np.cos(b) * omega / (l2 * np.cos(slope))
    x = 0.5 * l2 * np.cos(slope) + l1 * np.cos(b)
    y = 0.5 * l2 * np.sin(slope) + l1 * np.sin(b)
    vx = -0.5 * l2 * np.sin(slope) * slope_rate - l1 * np.sin(b) * omega
    vy = 0.5 * l2 * np.cos(slope) * slope_rate + l1 * np.cos(b) * omega
    end = l1 * np.cos(b) + l2 * np.cos(slope)
    end_rate = -l1 * np.sin(b) * omega - l2 * np.sin(slope) * slope_rate
    kinetic = 0.5 * (
        (m1 * l1**2 / 3.0 + 0.05) * omega**2
        + m2 * (vx**2 + vy**2) + m2 * l2**2 / 12.0 * slope_rate**2
        + SLIDER * end_rate**2
    )  # fmt: skip
    up = np.sin(incline) * np.array([x, end]) + np.cos(incline) * np.array([y, 0.0])
    potential = 9.81 * (m1 * 0.5 * l1 * np.sin(theta) + m2 * up[0] + SLIDER * up[1])
    return kinetic, potential


def test_a_slider_crank_moves_as_its_lagrangian_in_one_coordinate_says(slider_crank):
    """I(th) th'' + I'(th) th'^2 / 2 = -V'(th), with derivatives by central differences."""

    def rates(t, state):
        theta, omega = state
        h = 1e-5
        inertia = 2.0 * slider_crank_energy(theta, 1.0)[0]
        more, less = (slider_crank_energy(theta + d, 1.0) for d in (h, -h))
        slope, pull = (more[0] - less[0]) / h, (more[1] - less[1]) / (2 * h)
        return [omega, (-0.5 * slope * omega**2 - pull) / inertia]

    scenario = Scenario(
        title="slider-crank",
        robot=slider_crank,
        start={"q": {"crank_angle": 0.9}, "v": {"crank_angle": 2.0}, "solve": True,
               "hold": ["crank_angle"]},
        timing={"duration": 2.0, "sample": 0.1},
        integrator={"rtol": 1e-11, "atol": 1e-12},
    )  # fmt: skip
    run = simulate(scenario)
    alone = solve_ivp(rates, (0.0, 2.0), [0.9, 2.0], "DOP853", run.time, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run["q"][:, 2], alone.y[0], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run["q"][:, -1], np.deg2rad(20.0), rtol=0.0, atol=1e-9)
    assert run.metric("energy_drift") < 1e-7


def test_a_motor_turns_its_second_body_against_its_first(slider_crank):
    robot = slider_crank
    assert robot.actuators == ("drive",)
    np.testing.assert_allclose(robot.snapshot(robot.home).B[:, 0], np.eye(9)[2], **ROUNDING)
    assert robot.snapshot(robot.home).M[2, 2] == 0.3**2 / 12 + 0.05


@pytest.mark.parametrize("loops", [1, 3, 7])
def test_a_repeated_module_comes_as_often_as_asked(loops):
    robot = Robot.load("n_four_bar", override={"linkage": {"repeat": {"loop": {"count": loops}}}})
    assert robot.nv == 3 * (2 * loops + 1)
    assert len(robot.passive) == 3 * loops + 1
    dynamics = Dynamics(robot)
    dynamics.move(0.0, robot.home, np.zeros(robot.nv))
    np.testing.assert_allclose(dynamics.passive.rows.phi, 0.0, **ROUNDING)
    assert robot.nv - np.linalg.matrix_rank(dynamics.passive.rows.A) == 1


def test_a_held_joint_stays_and_the_others_follow():
    scenario = Scenario.load("five-bar", {"start.q.link1_angle": "-160*deg"})
    run = simulate(scenario.replace({"timing": {"duration": 0.01}}))
    wanted, _ = parallelogram(np.deg2rad(-160.0), 0.0)
    np.testing.assert_allclose(run["q"][0], wanted, **ROUNDING)
    np.testing.assert_allclose(run["q"][0, 2], np.deg2rad(-160.0), rtol=1e-15, atol=0.0)


def test_a_held_velocity_stays_and_the_others_follow():
    changes = {"start.v": {"link1_angle": 8.0}, "timing": {"duration": 0.01}}
    run = simulate(Scenario.load("five-bar", changes))
    np.testing.assert_allclose(run["v"][0], parallelogram(-np.pi / 4, 8.0)[1], **ROUNDING)


def test_a_linkage_that_cannot_be_closed_is_refused_by_the_worst_row():
    too_far = {"linkage": {"ground": {"A": [0, 0], "B": [1, 0], "C": [5, 0]}}}
    robot = Robot.load("five_bar", override=too_far)
    with pytest.raises(StartError, match="worst row"):
        simulate(dc.replace(Scenario.load("five-bar"), robot=robot))


def test_hold_is_for_solve():
    with pytest.raises(InputError, match="hold needs solve = true"):
        Scenario.load("five-bar", {"start.solve": False})
    with pytest.raises(InputError, match=r"start\.hold: no degree of freedom named 'link1_angel'"):
        simulate(Scenario.load("five-bar", {"start.hold": ["link1_angel"]}))
