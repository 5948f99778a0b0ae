"""Loops at states where limits are active: named, held, and with the poles that this leaves."""

import dataclasses as dc

import numpy as np
import pytest

from tests.shared.free_bodies import free, inertial
from ukctrl import Robot, Scenario
from ukctrl.analysis.linear import analyze, linear_loop
from ukctrl.analysis.linear.linear_law import ActiveSet
from ukctrl.analysis.linear.operating_point import operating_point
from ukctrl.mechanics.constraints.contact import CREEP_DIRECTION, MODE, OPEN, SLIDING, STICKING
from ukctrl.mechanics.linearise import Linearizer
from ukctrl.robot import JointMotor, Lagrangian, Options

BARRIER, ROW = 10.0, (4.0, 5.0)
"""Rates of the barrier, a double pole of 1/decay, and of the row that is left [1/s]."""
DOUBLE = {"rtol": 0.0, "atol": 1e-2}  # a double pole has half of the digits


def at_a_wall(**more):
    """A tool that is led beyond a wall, along x, and rests there."""
    text = f"""
        title = "At the wall"
        robot = "two_link"
        start = {{ q = {{ shoulder = "40*deg", elbow = "-100*deg" }} }}
        timing = {{ duration = 4.0 }}

        [controller]
        use = "servo-baumgarte"
        feedback = {{ alpha = {sum(ROW)}, beta = {np.prod(ROW)} }}

        [[servo]]
        kind = "point_follows"
        frame = "tool"
        axes = "xz"
        path = {{ kind = "constant", value = [0.75, 0.05] }}

        [[keep]]
        name = "wall"
        kind = "half_space"
        frame = "tool"
        point = [0.7, 0.0, 0.0]
        normal = [-1.0, 0.0, 0.0]
        decay = {1.0 / BARRIER}
    """
    return Scenario.from_toml(text).replace(more)


@pytest.mark.slow
def test_a_loop_at_a_wall_has_the_poles_of_the_barrier_and_of_the_rows_that_are_left():
    found = analyze(at_a_wall(), 4.0)
    assert found.loop.active == ActiveSet(kept=("wall",))
    expected = [-BARRIER, -BARRIER, -ROW[1], -ROW[0]]
    np.testing.assert_allclose(np.sort(found.loop.rates().real), expected, **DOUBLE)
    assert "while 'wall' binds" in found.verdict
    assert found.to_dict()["loop"]["active"]["kept"] == ["wall"]
    assert any("active limits are held" in note for note in found.notes)


def test_before_a_limit_binds_nothing_is_active():
    found = linear_loop(at_a_wall(), 1e-3)
    assert found.active == ActiveSet()
    assert not any("active" in note for note in found.notes)


@pytest.mark.slow
def test_a_motor_at_the_limit_of_its_law_has_no_gain():
    weak = {"timing.duration": 0.7, "controller": {"use": "servo-bounded"}}
    loop = linear_loop(Scenario.load("scara-weak-motors", weak), 0.65)
    assert loop.active.motors == (("u2", "lower"),)
    motor = loop.inputs.index("u2")
    size = np.abs(loop.commands.D).max()
    np.testing.assert_allclose(loop.commands.D[motor] / size, 0.0, atol=1e-9)
    assert np.abs(loop.commands.D[motor - 1]).max() > 1e-3 * size


def test_a_motor_that_the_bench_holds_is_out_of_the_loop():
    robot = {"use": "two_link", "actuator": [
        {"kind": "joint", "joint": "shoulder", "limit": 4.0},
        {"kind": "joint", "joint": "elbow", "limit": 20.0}]}  # fmt: skip
    given = {"robot": robot, "effect": [{"kind": "saturation"}], "keep": []}
    loop = linear_loop(at_a_wall(**given), "start")
    assert [name for name, _ in loop.active.bench] == ["shoulder"]
    assert not loop.commands.D[0].any()
    assert loop.commands.D[1].any()
    assert any("does not reach motor 'shoulder'" in note for note in loop.notes)


def test_a_bench_holds_a_motor_at_what_it_gives_at_the_speed_there(plants):
    """F at rest, and F (1 - v/v0) at speed; the law asks for something between these."""
    most, free, alpha, beta, v, asked = 10.0, 4.0, 5.0, 6.0, 1.0, 8.5
    motor = JointMotor(name="F", joint="x", limit=most, no_load_speed=free)
    line = Lagrangian(coordinates={"x": "m"}, kinetic="m/2*v.x**2", parameters={"m": 2.0})
    task = plants.scenario(
        Robot.build(line, Options(actuator=[motor])),
        believed={"parameters": {"m": 1.0}},
        controller={
            "kind": "servo",
            "feedback": {"kind": "baumgarte", "alpha": alpha, "beta": beta},
        },
        effect=[{"kind": "saturation"}],
    )
    start = operating_point(task)
    place = np.array([-(asked + alpha * v) / beta])  # asked = -alpha v - beta x, of 1 kg
    slow, quick = (
        linear_loop(task, dc.replace(start, q=q, v=np.array([w])))
        for q, w in ((np.array([-asked / beta]), 0.0), (place, v))
    )
    assert slow.active.bench == ()
    np.testing.assert_allclose(slow.plant.point.u, [asked])
    assert quick.active.bench == (("F", "upper"),)
    np.testing.assert_allclose(quick.plant.point.u, [most * (1.0 - v / free)])


MU, G, SPEED = 0.3, 9.81, np.array([2.0, 1.0])
BOX = f'<robot name="box"><link name="box">{inertial(2.0, 0.1, 0.2, 0.3)}</link></robot>'


def mode(mode):
    state = np.zeros(5)
    state[MODE], state[CREEP_DIRECTION] = mode, 1.0
    return state


@pytest.mark.slow(only=["sticks"])
@pytest.mark.parametrize(
    ("does", "states"), [(STICKING, 0), (SLIDING, 6), (OPEN, 12)], ids=["sticks", "slides", "open"]
)
def test_a_contact_leaves_what_its_mode_does(does, states):
    """Sliding, $\\dot v = -\\mu g\\, v/|v|$: across $v$ it turns towards it, at $\\mu g/|v|$."""
    robot = free(BOX, {"kind": "contact", "frame": "box", "type": "flat", "mu": MU})
    v = np.array([*SPEED, 0.0, 0.0, 0.0, 0.0]) * (does != STICKING)
    linearizer = Linearizer(robot, contacts={"box_contact": mode(does)})
    linear = linearizer.at(0.0, robot.neutral, v, np.zeros(0))
    assert len(linear.A) == states
    rate = MU * G / np.linalg.norm(SPEED)
    expected = [-rate] * (does == SLIDING) + [0.0] * (states - (does == SLIDING))
    np.testing.assert_allclose(np.sort(linear.poles().real), expected, rtol=0.0, atol=1e-6)


def test_a_loop_is_that_of_the_contacts_as_they_are():
    """A quadruped with a foot in the air has nine freedoms; a run says how its feet are."""
    short = Scenario.load("a1-push", {"timing.duration": 0.02, "effect": []})
    standing = linear_loop(short, 0.01)
    assert standing.active.contacts == ()
    assert {float(state[MODE]) for state in standing.plant.point.contacts.values()} == {STICKING}
    up = dc.replace(standing.plant.point, contacts={"FL_foot_contact": mode(OPEN)})
    lifted = linear_loop(short, up)
    assert lifted.active.contacts == (("FL_foot_contact", "is open"),)
    assert (len(standing.plant.A), len(lifted.plant.A)) == (2 * 6, 2 * 9)
    rows = len(lifted.plant.outputs)
    assert (lifted.rates().real < 0.0).sum() >= 2 * rows  # the trunk is held as before
