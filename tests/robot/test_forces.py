"""Applied forces: closed forms, potentials by differences, power."""

import dataclasses as dc
import pickle

import numpy as np
import pytest

from ukctrl.core.errors import ExpressionError, InputError, ModelError
from ukctrl.robot import (
    DryFriction,
    GivenForce,
    JointDamper,
    JointSpring,
    Options,
    Robot,
    Spring,
)
from ukctrl.robot.forces import Forces

EXACT = {"rtol": 0.0, "atol": 1e-12}


@pytest.fixture(params=[False, True], ids=["fixed", "floating"])
def make(request, text):
    def build(*forces, model=text.tree):
        return Robot.build(model, Options(floating_base=request.param, force=forces))

    return build


def drawn(robot, rng, t=0.0):
    return robot.snapshot(robot.random(rng), rng.standard_normal(robot.nv), t)


def only(robot, values):
    """Return a force with the given entries by velocity."""
    f = np.zeros(robot.nv)
    for name, value in values.items():
        f[robot.dofs.index(name)] = value
    return f


def at(s, name):
    return s.q[s.robot.coordinates.index(name)], s.v[s.robot.dofs.index(name)]


def test_without_forces_f_is_zero_and_stays_so(make, rng):
    robot = make()
    s = drawn(robot, rng)
    s.move(robot.random(rng), rng.standard_normal(robot.nv))
    assert not s.f.any()
    assert not robot.forces.is_nonempty


def test_a_joint_spring_pulls_to_its_rest(make, rng):
    robot = make(JointSpring(joint="right_slide", stiffness=20.0, rest=0.3, damping=4.0))
    s = drawn(robot, rng)
    q, v = at(s, "right_slide")
    np.testing.assert_allclose(
        s.f, only(robot, {"right_slide": -20.0 * (q - 0.3) - 4.0 * v}), **EXACT
    )


def test_two_springs_on_one_joint_add_up(make, rng):
    spring = JointSpring(joint="left_shoulder", stiffness=2.0)
    one, two = make(spring), make(spring, spring)
    s = drawn(one, rng)
    np.testing.assert_allclose(two.snapshot(s.q, s.v).f, 2.0 * s.f, **EXACT)
    np.testing.assert_allclose(two.snapshot(s.q, s.v).stored, 2.0 * s.stored, **EXACT)


def test_dampers_and_friction_oppose_the_motion(make, rng):
    robot = make(
        JointDamper(joint="left_wrist", damping=0.5),
        DryFriction(joint="right_slide", level=2.0, velocity_scale=0.1),
        DryFriction(joint="right_slide", level=1.0, velocity_scale=0.2),
    )
    s = drawn(robot, rng)
    v = at(s, "right_slide")[1]
    slip = -2.0 * np.tanh(v / 0.1) - 1.0 * np.tanh(v / 0.2)
    wrist = -0.5 * s.v[robot.dofs.index("left_wrist")]
    np.testing.assert_allclose(
        s.f, only(robot, {"left_wrist": wrist, "right_slide": slip}), **EXACT
    )
    assert s.f @ s.v < 0.0


@pytest.mark.parametrize("v", [-1.5, -0.04, 0.0, 0.003, 0.2])
def test_dry_friction_falls_from_the_static_level_and_may_differ_by_direction(make, v):
    friction = DryFriction(
        joint="left_wrist", level=2.0, static=3.0, stribeck_velocity=0.05, asymmetry=-0.4
    )
    robot = make(friction)
    s = robot.snapshot(robot.neutral, only(robot, {"left_wrist": v}))
    effort = -(2.0 + np.exp(-((v / 0.05) ** 2))) * np.tanh(v / 0.01) + 0.4
    np.testing.assert_allclose(s.f, only(robot, {"left_wrist": effort}), **EXACT)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("static must be at least level, 2; got 1.", {"static": 1.0}),
        ("must be below stribeck_velocity, 0.01", {"static": 3.0, "stribeck_velocity": 0.01}),
    ],
)
def test_static_friction_that_nobody_could_feel_is_refused(words, keys):
    with pytest.raises(InputError, match=words):
        DryFriction(joint="left_wrist", level=2.0, **keys)


def test_a_spring_between_frames_pulls_along_the_line(make, rng):
    spring = Spring(
        frames=("left_hand", "right_hand"), stiffness=30.0, rest=0.4, damping=2.0
    )  # fmt: skip
    robot = make(spring)
    s = drawn(robot, rng)
    left, right = s.frame("left_hand"), s.frame("right_hand")
    line = right.position - left.position
    length = np.linalg.norm(line)
    direction = line / length
    stretching = direction @ (right.velocity[:3] - left.velocity[:3])
    tension = 30.0 * (length - 0.4) + 2.0 * stretching
    expected = tension * direction @ (left.J[:3] - right.J[:3])
    np.testing.assert_allclose(s.f, expected, **EXACT)
    np.testing.assert_allclose(s.f @ s.v, -tension * stretching, **EXACT)


def test_a_spring_of_no_length_pushes_nowhere(text):
    # The axis of j is where the hinge of a is: the two frames stay at one point.
    joint = text.joint("j", "a", "b").replace("0.1 0.2 -0.3", "0 0 0")
    model = text.urdf(text.body("a"), text.body("b"), joint)
    robot = Robot.build(model, Options(force=[Spring(frames=("a", "b"), stiffness=5.0)]))
    np.testing.assert_array_equal(robot.snapshot([0.7], [1.0]).f, [0.0])


@pytest.mark.parametrize(
    "force",
    [
        JointSpring(joint="left_shoulder", stiffness=3.0, rest=0.5),
        Spring(frames=("world", "right_hand"), stiffness=7.0, rest=0.2),
        Spring(frames=("left_hand", "right_hand"), stiffness=7.0),
    ],
)
def test_the_force_of_a_spring_is_minus_the_gradient_of_its_energy(make, rng, force):
    robot = make(force)
    s, h = drawn(robot, rng), 1e-6
    energy = [robot.snapshot(robot.integrate(s.q, x * s.v)).stored[0] for x in (-h, h)]
    np.testing.assert_allclose((energy[1] - energy[0]) / (2 * h), -s.f @ s.v, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(s.stored[1], -s.f @ s.v, rtol=1e-12, atol=1e-12)
    heights = make().snapshot(s.q).energy().potential
    np.testing.assert_allclose(s.energy().potential, heights + s.stored[0], rtol=1e-12)


class Pull:
    """A force of one's own: a spring that grows stiffer, of the energy x^4/4."""

    def steps(self, snapshot, f):
        return (lambda: self.add(snapshot, f),)

    def add(self, snapshot, f):
        x, rate = at(snapshot, "right_slide")
        f[snapshot.robot.dofs.index("right_slide")] -= x**3
        snapshot.stored += [0.25 * x**4, x**3 * rate]


def test_a_force_of_ones_own_pulls_and_stores_beside_the_others(make, rng):
    spring = JointSpring(joint="right_slide", stiffness=3.0, rest=0.5)
    robot = make(spring)
    own = dc.replace(robot, forces=Forces((*robot.forces.terms, Pull())))
    s = drawn(robot, rng)
    x, rate = at(s, "right_slide")
    both = own.snapshot(s.q, s.v)
    for _ in range(2):  # what was stored before is forgotten
        both.move(s.q, s.v)
        np.testing.assert_allclose(both.f - s.f, only(robot, {"right_slide": -(x**3)}), **EXACT)
        np.testing.assert_allclose(both.stored - s.stored, [x**4 / 4, x**3 * rate], **EXACT)
    heights = make().snapshot(s.q).potential_energy()
    assert both.potential_energy() == pytest.approx(heights + both.stored[0], abs=1e-12)
    assert len(both.steps.python_owners) == 1
    assert not s.steps.python_owners


def test_a_given_force_is_its_formula(make, rng):
    robot = make(
        GivenForce(joint="right_slide", force="-3*sin(left_shoulder) + 0.1*v.right_slide*t"),
        GivenForce(joint="left_wrist", force="left_wrist_cos"),
        GivenForce(joint="right_slide", force="2"),
    )
    s = drawn(robot, rng, t=0.7)
    shoulder, _ = at(s, "left_shoulder")
    _, slide = at(s, "right_slide")
    cosine = s.q[robot.coordinates.index("left_wrist_cos")]
    expected = {
        "right_slide": 2.0 - 3.0 * np.sin(shoulder) + 0.1 * slide * 0.7, "left_wrist": cosine
    }  # fmt: skip
    np.testing.assert_allclose(s.f, only(robot, expected), **EXACT)


def test_a_robot_with_given_forces_pickles(make, rng):
    robot = make(GivenForce(joint="right_slide", force="t"))
    before = robot.snapshot(robot.neutral, t=2.0).f
    after = pickle.loads(pickle.dumps(robot)).snapshot(robot.neutral, t=2.0).f
    np.testing.assert_array_equal(before, after)


def test_damping_and_friction_of_the_model_file_are_part_of_the_plant(text, rng):
    dynamics = '<dynamics damping="0.7" friction="0.3"/>'
    one = text.joint("j", "a", "b").replace("</joint>", f"{dynamics}</joint>")
    robot = Robot.build(text.urdf(text.body("a"), text.body("b"), one))
    s = drawn(robot, rng)
    v = s.v[0]
    np.testing.assert_allclose(s.f, [-0.7 * v - 0.3 * np.tanh(v / 0.01)], **EXACT)
    assert {"joint_damping", "joint_friction"} <= {finding.code for finding in robot.audit}
    # and it is not in the bias as well:
    np.testing.assert_allclose(s.nle, robot.snapshot(s.q, -s.v).nle, **EXACT)


def test_moving_a_snapshot_evaluates_the_forces_again(make, rng):
    robot = make(JointSpring(joint="left_shoulder", stiffness=3.0))
    s = drawn(robot, rng)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    s.move(q, v)
    np.testing.assert_array_equal(s.f, robot.snapshot(q, v).f)


@pytest.mark.parametrize(
    ("force", "error", "message"),
    [
        (JointSpring(joint="slid", stiffness=1.0), InputError, "no joint named 'slid'"),
        (Spring(frames=("trunk", "nose"), stiffness=1.0), InputError, "no frame named 'nose'"),
        (Spring(frames=("left_hand", "left_hand"), stiffness=1.0), ModelError, "on one body"),
        (GivenForce(joint="left_wrist", force="foo"), ExpressionError, "no variable named 'foo'"),
    ],
)
def test_a_force_that_does_not_fit_the_robot_is_refused(make, force, error, message):
    with pytest.raises(error, match=message):
        make(force)
