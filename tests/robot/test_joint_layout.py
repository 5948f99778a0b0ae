"""Names, rates and the manifold of configurations."""

import keyword

import numpy as np
import pinocchio as pin
import pytest
from extras import needs

from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.symbolic import Vocabulary, parse
from ukctrl.robot import Lagrangian, Robot
from ukctrl.robot.joint_layout import identifier
from ukctrl.robot.rigid.pinocchio_structure import rigid_structure

EXACT = {"rtol": 0.0, "atol": 1e-12}
H = 1e-6
DIFFERENCED = {"rtol": 0.0, "atol": 1e-8}  # central differences with step H


def test_every_entry_has_one_name_that_a_formula_can_use(robot):
    assert len(robot.coordinates) == len(robot.rates) == len(robot.coordinate_units) == robot.nq
    assert len(robot.dofs) == len(robot.dof_units) == robot.nv
    for names in (robot.coordinates, robot.dofs, robot.actuators):
        assert len(set(names)) == len(names)
    assert all(
        name.isidentifier() and not keyword.iskeyword(name)
        for name in (*robot.coordinates, *robot.dofs)
    )


def test_the_names_of_a_floating_base_are_fixed(robots):
    robot = robots["floating_arm"]
    assert robot.coordinates == (
        "root_x", "root_y", "root_z", "root_qx", "root_qy", "root_qz", "root_qw",
        "shoulder", "elbow", "wrist_cos", "wrist_sin",
    )  # fmt: skip
    assert robot.dofs == (
        "root_vx", "root_vy", "root_vz", "root_wx", "root_wy", "root_wz",
        "shoulder", "elbow", "wrist",
    )  # fmt: skip
    assert robot.dof_units == ("m/s",) * 3 + ("rad/s",) * 6


@needs("mujoco")
def test_the_parts_of_a_composite_joint_keep_their_names(robots):
    robot = robots["ball"]
    assert robot.dofs[6:] == ("ball_wx", "ball_wy", "ball_wz", "swing", "slide")
    assert robot.coordinate_units[-2:] == ("rad", "m")


def test_the_rate_of_the_coordinates_is_their_derivative(robot, state):
    q, v = state
    moved = (robot.integrate(q, H * v) - robot.integrate(q, -H * v)) / (2 * H)
    np.testing.assert_allclose(robot.coordinate_rate(q, v), moved, **DIFFERENCED)


def test_the_text_of_the_rates_says_the_same(robot, state):
    q, v = state
    words = Vocabulary(robot.coordinates, robot.dofs)
    evaluate = compile_function(
        [parse(text, words) for text in robot.rates],
        [robot.coordinates, [f"v.{name}" for name in robot.dofs]],
    )
    np.testing.assert_allclose(
        evaluate(q.tolist(), v.tolist()), robot.coordinate_rate(q, v), **EXACT
    )


def test_difference_undoes_integrate(robot, state, rng):
    q, _ = state
    step = 0.4 * rng.standard_normal(robot.nv)
    reached = robot.integrate(q, step)
    np.testing.assert_allclose(robot.difference(q, reached), step, rtol=0.0, atol=1e-11)


def test_plain_addition_integrates_euclidean_robots_only(robot, state):
    q, v = state
    adds = robot.nq == robot.nv and np.allclose(robot.integrate(q, v), q + v, atol=1e-12)
    assert robot.is_euclidean == adds


def test_the_right_jacobian_turns_the_rate_of_the_step_into_the_velocity(robot, state, rng):
    q, _ = state
    step, rate = 0.4 * rng.standard_normal((2, robot.nv))
    here = robot.integrate(q, step)
    ahead = robot.integrate(q, step + H * rate)
    behind = robot.integrate(q, step - H * rate)
    velocity = (robot.difference(here, ahead) - robot.difference(here, behind)) / (2 * H)
    np.testing.assert_allclose(
        robot.integrate_jacobian(q, step) @ rate, velocity, rtol=0.0, atol=1e-7
    )


def test_normalize_makes_quaternions_unit_again(robots, rng):
    robot = robots["floating_arm"]
    q = robot.random(rng)
    q[3:7] *= 1.1
    q[9:11] *= 0.9
    q = robot.normalize(q)
    np.testing.assert_allclose([q[3:7] @ q[3:7], q[9:11] @ q[9:11]], 1.0, **EXACT)


def test_normalize_leaves_what_it_has_made_to_the_last_bit(robots, rng):
    robot = robots["floating_arm"]
    for _ in range(2000):
        q = rng.standard_normal(robot.nq)
        once = robot.normalize(q)
        np.testing.assert_array_equal(robot.normalize(once), once)


def test_random_configurations_keep_to_the_limits_and_the_manifold(robot, rng):
    for _ in range(20):
        q = robot.random(rng)
        assert (q >= robot.q_lower).all()
        assert (q <= robot.q_upper).all()
        np.testing.assert_allclose(robot.normalize(q), q, **EXACT)


class AtShare:
    """Draws what lies at one share of every range."""

    def __init__(self, share):
        self.share = share

    def uniform(self, low, high, size):
        return np.full(size, low + self.share * (high - low))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_draw_reaches_from_limit_to_limit_or_half_a_turn_or_a_metre_around_neutral(share):
    plant = Lagrangian(
        coordinates={"x": "m", "angle": "rad", "slide": "m", "turn": "rad"},
        kinetic="v.x**2 + v.angle**2 + v.slide**2 + v.turn**2",
        neutral={"x": 5.0, "angle": -3.0, "slide": 0.5},
        limits={"slide": (-2.0, 2.0), "turn": (-1.0, 7.0)},
    )
    low, wide = np.array([4.0, -3.0 - np.pi, -2.0, -1.0]), np.array([2.0, 2.0 * np.pi, 4.0, 8.0])
    drawn = Robot.build(plant).random(AtShare(share))
    np.testing.assert_allclose(drawn, low + share * wide, **EXACT)


def test_equal_seeds_draw_equal_configurations(robot):
    one, two = (robot.random(np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_limits_come_from_the_model_and_are_infinite_elsewhere(robots):
    robot = robots["floating_tree"]
    finite = np.isfinite(robot.q_lower)
    assert [robot.coordinates[i] for i in np.flatnonzero(finite)] == [
        "left_shoulder", "right_shoulder", "right_slide"
    ]  # fmt: skip
    np.testing.assert_array_equal(robot.q_upper[finite], 2.5)
    assert np.isinf(robot.velocity_limit[:6]).all()
    np.testing.assert_array_equal(robot.velocity_limit[6:], 3.0)
    np.testing.assert_array_equal(robot.effort_limit, 7.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("q1", "q1"), ("shoulder-pan", "shoulder_pan"), ("3rd", "_3rd"), ("lambda", "lambda_"),
        ("t", "t_"), ("v", "v_"), ("pi", "pi_"), ("a.b c", "a_b_c"), ("gelenk_ü", "gelenk__"),
        ("sin", "sin_"), ("", "_"),
    ],
)  # fmt: skip
def test_a_joint_name_becomes_an_identifier(name, expected):
    assert identifier(name) == expected


def test_a_renamed_joint_is_found_by_both_names(text):
    model = text.urdf(
        text.body("a"), text.body("b"), text.joint("shoulder-pan", "a", "b")
    )  # fmt: skip
    robot = Robot.build(model)
    assert robot.joints == ("shoulder-pan",)
    assert robot.coordinates == ("shoulder_pan",)
    assert robot.structure.dof("shoulder-pan") == robot.structure.dof("shoulder_pan") == 0


@needs("mujoco")
def test_breaking_a_composite_joint_into_a_chain_changes_no_dynamics(robots, text, tmp_path, rng):
    path = tmp_path / "ball.xml"
    path.write_text(text.ball)
    whole, robot = pin.buildModelFromMJCF(str(path)), robots["ball"]
    q, v, a = robot.random(rng), *rng.standard_normal((2, robot.nv))
    s = robot.snapshot(q, v)
    np.testing.assert_allclose(s.M, pin.crba(whole, whole.createData(), q), rtol=0.0, atol=1e-12)
    tau = pin.rnea(whole, whole.createData(), q, v, a)
    np.testing.assert_allclose(s.M @ a + s.nle, tau, rtol=0.0, atol=1e-11)
    np.testing.assert_array_equal(robot.q_upper[-2:], [np.pi / 2, np.inf])
    moved = whole.createData()
    pin.framesForwardKinematics(whole, moved, q)
    for name in ("base", "arm", "hand", "tip"):
        place = moved.oMf[whole.getFrameId(name)]
        np.testing.assert_allclose(s.frame(name).position, place.translation, **EXACT)
        np.testing.assert_allclose(s.frame(name).rotation, place.rotation, **EXACT)
    # Each part has the frame of its joint; that of the last is where the body is.
    assert {"ball", "swing", "slide"} < set(robot.frames)
    np.testing.assert_allclose(s.frame("slide").position, s.frame("hand").position, **EXACT)
    np.testing.assert_allclose(s.frame("swing").rotation, s.frame("hand").rotation, **EXACT)


def test_the_zero_of_every_kind_of_joint_is_that_of_pinocchio():
    joints = [pin.JointModelFreeFlyer(), pin.JointModelRUBZ(), pin.JointModelPX(),
              pin.JointModelSpherical(), pin.JointModelPlanar(), pin.JointModelRY()]  # fmt: skip
    model = pin.Model()
    for at, joint in enumerate(joints):
        model.addJoint(at, joint, pin.SE3.Identity(), f"j{at}")
    np.testing.assert_array_equal(rigid_structure(model).neutral, pin.neutral(model))
