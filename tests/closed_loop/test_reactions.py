"""Reactions by hand, by Newton and Euler, and what redundancy leaves open."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.control import NoControl
from ukctrl.core.algebra.multipliers import multipliers, undetermined_multipliers
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Options
from ukctrl.simulation.result.result_files import netcdf_variables
from ukctrl.simulation.result.verdicts import judge
from ukctrl.simulation.scenario import StartState, Timing

G = 9.81
EXACT = {"rtol": 0.0, "atol": 1e-9}
BODY = """
<robot name="body">
  <link name="base"/>
  <link name="sx"/><link name="sz"/>
  <link name="bar"><inertial><mass value="2"/>
    <inertia ixx="0.3" iyy="0.3" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="x" type="prismatic"><parent link="base"/><child link="sx"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" effort="1e30" velocity="1e30"/></joint>
  <joint name="z" type="prismatic"><parent link="sx"/><child link="sz"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="1e30" velocity="1e30"/></joint>
  <joint name="r" type="revolute"><parent link="sz"/><child link="bar"/><axis xyz="0 -1 0"/>
    <limit lower="-9" upper="9" effort="1e30" velocity="1e30"/></joint>
</robot>
"""
MASS, INERTIA, HALF = 2.0, 0.3, 0.5
PLANE = [np.pi / 2.0, 0.0, 0.0]  # turns a frame's z axis into the world's -y: x and y stay in plane


def pendulum(*passive):
    """A bar in the x-z plane, of angle r from the x axis, with a foot 0.5 m from its centre."""
    robot = Robot.build(BODY, Options(actuator=[], frame=frames()))
    return dc.replace(robot, passive=passive)


def frames():
    from ukctrl.robot.schema.robot_file import ExtraFrame

    return [
        ExtraFrame(name="foot", parent="bar", position=(-HALF, 0.0, 0.0), rpy=tuple(PLANE)),
        ExtraFrame(name="tip", parent="bar", position=(HALF, 0.0, 0.0), rpy=tuple(PLANE)),
        ExtraFrame(name="pin", parent="base", rpy=tuple(PLANE)),
    ]


HINGE = {"kind": "closure", "frames": ["foot", "pin"], "type": "planar_point", "name": "hinge"}


def state(angle, rate=0.0):
    c, s = np.cos(angle), np.sin(angle)
    return (
        np.array([HALF * c, HALF * s, angle]),
        np.array([-HALF * s * rate, HALF * c * rate, rate]),
    )


def reaction_of(robot, angle, rate=0.0):
    dynamics = Dynamics(robot)
    dynamics.move(0.0, *state(angle, rate))
    none = np.zeros(robot.nu)
    force = dynamics.passive_force(dynamics.acceleration(none), none)
    return dict(zip(dynamics.passive.names, dynamics.reactions(force), strict=True)), dynamics


@pytest.mark.parametrize(("angle", "rate"), [(0.0, 0.0), (-1.5707963, 3.0), (0.7, -2.0)])
def test_the_hinge_of_a_pendulum_holds_it_as_newton_says(angle, rate):
    """m a_c = F + m g, with a_c from J r'' = -m g l cos(r) about the hinge."""
    found, _ = reaction_of(pendulum(HINGE), angle, rate)
    c, s = np.cos(angle), np.sin(angle)
    r_ddot = -MASS * G * HALF * c / (INERTIA + MASS * HALF**2)
    a_c = HALF * np.array([-s * r_ddot - c * rate**2, c * r_ddot - s * rate**2])
    force = MASS * a_c + np.array([0.0, MASS * G])  # of the pin on the bar, x and z of the world
    # The pin's axes: x is the world's x, y the world's z.
    np.testing.assert_allclose([found["hinge.x"], found["hinge.y"]], force, **EXACT)


def test_the_reaction_is_seen_in_the_axes_of_the_frame_that_holds():
    plain, dynamics = reaction_of(pendulum(HINGE), 0.4)
    world = dynamics.snapshot.frame("pin").rotation @ [plain["hinge.x"], plain["hinge.y"], 0.0]
    swapped = {**HINGE, "frames": ["pin", "foot"]}
    back, dynamics = reaction_of(pendulum(swapped), 0.4)
    seen = dynamics.snapshot.frame("foot").rotation @ [back["hinge.x"], back["hinge.y"], 0.0]
    np.testing.assert_allclose(seen, -world, **EXACT)


@pytest.mark.slow(only=["revolute"])
@pytest.mark.parametrize("kind", ["weld", "revolute"])
def test_torques_of_a_closure_are_those_that_hold_it(kind):
    """A bar welded at its foot, at rest: the weld carries m g and the moment m g l."""
    closure = {"kind": "closure", "frames": ["foot", "pin"], "type": kind, "name": "hold"}
    robot = pendulum(closure, HINGE) if kind == "revolute" else pendulum(closure)
    found, dynamics = reaction_of(robot, 0.0)
    if kind == "weld":
        np.testing.assert_allclose(found["hold.y"], MASS * G, **EXACT)
        # About the pin's z axis, the world's -y: the turn from x to z, against gravity.
        np.testing.assert_allclose(abs(found["hold.rz"]), MASS * G * HALF, **EXACT)
        ideal = dynamics.snapshot.frame("foot").J.T
        torque = dynamics.snapshot.frame("pin").rotation @ [0.0, 0.0, found["hold.rz"]]
        push = dynamics.snapshot.frame("pin").rotation @ [found["hold.x"], found["hold.y"], 0.0]
        force = dynamics.passive_force(dynamics.a_free, np.zeros(0))
        np.testing.assert_allclose(ideal @ np.concatenate([push, torque]), force, **EXACT)
    else:
        total = np.array([found["hold.x"] + found["hinge.x"], found["hold.y"] + found["hinge.y"]])
        alone, _ = reaction_of(pendulum(HINGE), 0.0)
        np.testing.assert_allclose(total, [alone["hinge.x"], alone["hinge.y"]], **EXACT)


def test_two_equal_hinges_share_the_load_evenly_and_are_said_to():
    twice = pendulum(HINGE, {**HINGE, "name": "other"})
    found, dynamics = reaction_of(twice, 0.3, 1.0)
    alone, single = reaction_of(pendulum(HINGE), 0.3, 1.0)
    for axis in "xy":
        np.testing.assert_allclose(found[f"hinge.{axis}"], 0.5 * alone[f"hinge.{axis}"], **EXACT)
        np.testing.assert_allclose(found[f"other.{axis}"], 0.5 * alone[f"hinge.{axis}"], **EXACT)
    assert dynamics.sharing() == ("hinge.x", "hinge.y", "other.x", "other.y")
    assert single.sharing() == ()


def test_the_multipliers_are_those_of_the_pseudoinverse():
    rng = np.random.default_rng(4)
    for m, rank in ((5, 3), (4, 4), (7, 5)):
        M = np.eye(6) + 0.2 * np.ones((6, 6))
        A = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, 6))
        force = A.T @ rng.standard_normal(m)
        L = np.linalg.cholesky(M)
        expected = np.linalg.pinv(A.T, rcond=1e-10) @ force
        np.testing.assert_allclose(multipliers(L, A, force, rank), expected, **EXACT)
        assert undetermined_multipliers(L, A, rank).any() == (m > rank)


def run_of(robot, angle=0.3, duration=2.0, **changes):
    q, v = state(angle)
    return Scenario(
        title="bar",
        robot=robot,
        servo=(),
        controller=NoControl(),
        start=StartState(q=tuple(q.tolist()), v=tuple(v.tolist())),
        timing=Timing(duration=duration, sample=0.01),
        **changes,
    )


def test_a_run_records_reactions_with_units_and_checks_their_power(tmp_path):
    run = simulate(run_of(pendulum(HINGE)))
    assert run.status == "completed", run.message
    assert run["reaction"].shape == (201, 2)
    assert netcdf_variables(run.samples)["reaction"].attributes["units"] == "N"
    force = np.einsum("kr,kri->ki", run["reaction"], rows_of(pendulum(HINGE), run))
    np.testing.assert_allclose(force, run["passive_force"], rtol=0.0, atol=1e-8)
    assert run.metric("reaction_residual") < 1e-10
    assert run.metric("reaction_work") < 1e-8
    [peak] = run.summary()["reactions"]
    expected = np.linalg.norm(run["reaction"], axis=1).max()
    assert peak == {"block": "hinge", "value": pytest.approx(expected), "unit": "N"}
    [verdict] = [entry for entry in judge(run) if entry.subject == "reactions"]
    assert verdict.level == "good"
    again = type(run).load(run.save(tmp_path))
    assert again.identical(run)
    assert again.labels.passive_row_blocks == ("hinge", "hinge")


def rows_of(robot, run):
    dynamics, rows = Dynamics(robot), []
    for t, q, v in zip(run.time, run["q"], run["v"], strict=True):
        dynamics.move(t, q, v)
        rows.append(dynamics.passive.rows.A.copy())
    return np.array(rows)


def test_reactions_that_work_on_drift_are_not_believed():
    """A start that opens the hinge at 9 mm/s: the spring of the stabilisation does work."""
    base = run_of(pendulum(HINGE), duration=0.2)
    v = list(base.start.v)
    v[0] += 0.009
    run = simulate(dc.replace(base, start=dc.replace(base.start, v=tuple(v))))
    [verdict] = [entry for entry in judge(run) if entry.subject == "reactions"]
    assert verdict.level != "good"
    assert run.metric("reaction_work") > 1e-4
