"""Rigid-body terms by our kernels: those of Pinocchio, at random states of random trees."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot
from ukctrl.core.errors import ModelError
from ukctrl.core.files import catalog
from ukctrl.robot import Payload, Perturbation
from ukctrl.robot.rigid import com_kernels, derivative_kernels, pinocchio_tree, regressor_kernels
from ukctrl.robot.rigid.pinocchio_tree import compare_with_pinocchio, kinematic_tree
from ukctrl.robot.rigid.rigid_structure import RigidStructure
from ukctrl.robot.rigid.tree_kernels import mass_and_bias

JOINTS = (
    lambda axis: pin.JointModelHX(0.3), lambda axis: pin.JointModelHelicalUnaligned(axis, -0.2),
    lambda axis: pin.JointModelRUBY(), lambda axis: pin.JointModelRX(),
    lambda axis: pin.JointModelRevoluteUnaligned(axis),
    lambda axis: pin.JointModelPrismaticUnaligned(axis), lambda axis: pin.JointModelPY(),
    lambda axis: pin.JointModelPlanar(), lambda axis: pin.JointModelSpherical(),
    lambda axis: pin.JointModelFreeFlyer(),
)  # fmt: skip


ONE_FREEDOM = JOINTS[:7]


def drawn(seed, kinds=JOINTS):
    """Return a random tree of up to eight joints, each below one of those that carry the last."""
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    model = pin.Model()
    for k in range(int(rng.integers(1, 9))):
        carriers, at = [0], model.njoints - 1
        while at > 0:
            carriers.append(at)
            at = model.parents[at]
        axis = rng.standard_normal(3)
        kind = kinds[int(rng.integers(len(kinds)))](axis / np.linalg.norm(axis))
        joint = model.addJoint(int(rng.choice(carriers)), kind, pin.SE3.Random(), f"j{k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    model.armature[:] = rng.random(model.nv)
    return model


@pytest.mark.parametrize("seed", range(60))
def test_a_random_tree_of_every_kind_of_joint_has_the_terms_of_pinocchio(seed):
    model = drawn(seed)
    compare_with_pinocchio(model, kinematic_tree(model))


@pytest.mark.parametrize(("name", "frame"), [("panda", "tool"), ("scara", "tool"), ("a1", "trunk")])
def test_other_masses_leave_joints_that_pinocchio_has_judged_and_terms_that_are_its(name, frame):
    robot = Robot.load(name)
    other = Perturbation(
        mass_scale=1.3, inertia_scale=0.6, com_shift=(0.01, -0.02, 0.03), gravity=(1.0, 2.0, -3.0),
        payload=Payload(frame=frame, mass=2.0, com=(0.1, 0.0, 0.2)),
    ).apply(robot)  # fmt: skip
    model, ours = other.structure.model, other.structure.tree
    assert not np.array_equal(ours.inertias, robot.structure.tree.inertias)
    for array, theirs in zip(ours, kinematic_tree(model), strict=True):
        np.testing.assert_array_equal(array, theirs)
    compare_with_pinocchio(model, ours)


@pytest.mark.parametrize("seed", range(30))
def test_gravity_christoffels_force_and_the_regressor_are_those_of_pinocchio(seed):
    model, rng = drawn(seed, ONE_FREEDOM), np.random.default_rng(seed)
    robot_tree, data, nv = kinematic_tree(model), model.createData(), model.nv
    room = pinocchio_tree.tree_buffers(robot_tree, np.array(model.gravity.linear), model.nq)
    q = pin.integrate(model, pin.neutral(model), rng.standard_normal(nv))
    v, w, a, still = *rng.standard_normal((3, nv)), np.zeros(nv)
    size = 1e-12 * (1.0 + np.abs(pin.crba(model, data, q)).max()) * (10.0 + v @ v + w @ w)
    close = {"rtol": 0.0, "atol": size}
    gravity, turned = np.zeros((2, nv))
    regressor_kernels.bias_force(robot_tree, room, q, still, gravity)
    np.testing.assert_allclose(gravity, pin.computeGeneralizedGravity(model, data, q), **close)
    C = np.reshape(pin.computeCoriolisMatrix(model, data, q, v), (nv, nv))
    regressor_kernels.coriolis_force(robot_tree, room, q, v, w, np.zeros((2, nv)), turned)
    np.testing.assert_allclose(turned, C @ w, **close)
    Y = np.zeros((nv, 10 * (model.njoints - 1)))
    swept = regressor_kernels.RegressorBuffers.of(robot_tree)
    regressor_kernels.regressor(robot_tree, room, q, v, w, a, swept, Y)
    half = np.triu(np.reshape(pin.crba(model, data, q), (nv, nv)))
    M = half + np.triu(half, 1).T - np.diag(model.armature)
    np.testing.assert_allclose(
        Y @ robot_tree.inertias[1:].ravel(), M @ a + C @ w + gravity, **close
    )
    theirs = pin.computeJointTorqueRegressor(model, data, q, v, a)
    Y[:] = 0.0
    regressor_kernels.regressor(robot_tree, room, q, v, v, a, swept, Y)
    np.testing.assert_allclose(Y, np.reshape(theirs, Y.shape), **close)


@pytest.mark.parametrize("seed", range(60))
def test_the_derivatives_of_the_force_are_those_of_pinocchio(seed):
    model, rng = drawn(seed), np.random.default_rng(seed)
    tree, data, nv = kinematic_tree(model), model.createData(), model.nv
    room = pinocchio_tree.tree_buffers(tree, np.array(model.gravity.linear), model.nq)
    q = pin.integrate(model, pin.neutral(model), rng.standard_normal(nv))
    v, a = rng.standard_normal((2, nv))
    mass_and_bias(tree, room, q, v, np.zeros((nv, nv)), np.zeros(nv))
    by_q, by_v = np.zeros((2, nv, nv))
    written = derivative_kernels.DerivativeBuffers.of(tree)
    # twice: what the first call leaves in its buffers is no part of the second's answer
    for _ in range(2):
        derivative_kernels.force_derivatives(tree, room, a, written, by_q, by_v)
    pin.computeRNEADerivatives(model, data, q, v, a)
    for ours, theirs in ((by_q, data.dtau_dq), (by_v, data.dtau_dv)):
        wanted = np.reshape(theirs, (nv, nv))
        close = {"rtol": 0.0, "atol": 1e-12 * (1.0 + np.abs(wanted).max()) * (10.0 + v @ v)}
        np.testing.assert_allclose(ours, wanted, **close)


@pytest.mark.parametrize("name", catalog.names("robots"))
def test_every_robot_of_the_catalogue_has_the_terms_of_pinocchio(name):
    structure = Robot.load(name).structure
    if not isinstance(structure, RigidStructure):
        pytest.skip("it has no bodies")
    compare_with_pinocchio(structure.model, kinematic_tree(structure.model))


def test_far_from_the_origin_no_digit_is_lost():
    robot = Robot.load("quadrotor")
    near, far = robot.neutral, robot.neutral
    near[:3], far[:3] = 0.0, (3e5, -2e5, 1e5)
    v = np.random.default_rng(0).standard_normal(robot.nv)
    ours, theirs = robot.snapshot(near, v), robot.snapshot(far, v)
    np.testing.assert_array_equal(ours.M, theirs.M)
    np.testing.assert_array_equal(ours.nle, theirs.nle)


def test_the_centre_of_mass_moves_alike_far_from_the_origin():
    robot = Robot.load("quadrotor")
    near, far = robot.neutral, robot.neutral
    near[:3], far[:3] = 0.0, (3e5, -2e5, 1e5)
    v = np.random.default_rng(0).standard_normal(robot.nv)
    ours, theirs = robot.snapshot(near, v).com(), robot.snapshot(far, v).com()
    np.testing.assert_array_equal(ours.J, theirs.J)
    np.testing.assert_array_equal(ours.velocity, theirs.velocity)
    np.testing.assert_array_equal(ours.drift, theirs.drift)


def test_a_centre_of_mass_that_is_not_pinocchios_is_an_error(monkeypatch):
    def shifted(*arguments):
        com_kernels.centre_of_mass_motion(*arguments)
        arguments[3][0] += 1e-9

    model = drawn(0)
    monkeypatch.setattr(pinocchio_tree, "centre_of_mass_motion", shifted)
    with pytest.raises(ModelError, match="the centre of mass at all joints together must be that"):
        compare_with_pinocchio(model, kinematic_tree(model))


def test_a_rotor_without_mass_has_an_energy_and_no_centre_of_mass():
    model = pin.Model()
    at = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "rotor")
    model.appendBodyToJoint(at, pin.Inertia(0.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    arms = kinematic_tree(model)
    compare_with_pinocchio(model, arms)
    assert arms.inertias[1, 0] == 0.0


@pytest.mark.parametrize("field", ["inertias", "translations"])
def test_a_difference_from_pinocchio_is_an_error_that_names_the_joint(field):
    model = pin.Model()
    for k in range(3):
        place = pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.0]))
        at = model.addJoint(k, pin.JointModelRY(), place, f"j{k}")
        body = pin.Inertia(1.0, np.array([0.2, 0.0, 0.0]), np.eye(3))
        model.appendBodyToJoint(at, body, pin.SE3.Identity())
    arm = kinematic_tree(model)
    getattr(arm, field)[2] *= 1.0 + 1e-9  # what the first joint carries
    with pytest.raises(ModelError, match=r"the mass matrix at joint 'j0' .* must be that of Pino"):
        compare_with_pinocchio(model, arm)


def grove(count):
    """Return one of each of so many random trees, side by side."""
    model = pin.Model()
    for seed in range(count):
        one, below = drawn(seed), model.njoints - 1
        for j in range(1, one.njoints):
            parent = one.parents[j] and below + one.parents[j]
            at = model.addJoint(parent, one.joints[j], one.jointPlacements[j], f"t{seed}.{j}")
            model.appendBodyToJoint(at, one.inertias[j], pin.SE3.Identity())
    model.armature[:] = np.random.default_rng(0).random(model.nv)
    return model


def test_separate_trees_are_compared_some_at_a_time(monkeypatch):
    model = grove(20)
    sizes = []
    compare = pinocchio_tree._compare
    monkeypatch.setattr(
        pinocchio_tree, "_compare", lambda *one: (sizes.append(one[0].nv), compare(*one))
    )
    compare_with_pinocchio(model, kinematic_tree(model))
    assert sum(sizes) == model.nv > 2 * pinocchio_tree.MAX_COMPARED
    assert max(sizes) < pinocchio_tree.MAX_COMPARED + pinocchio_tree.largest_tree(model)


@pytest.mark.parametrize("field", ["inertias", "translations", "armature"])
def test_a_difference_in_one_of_many_trees_names_its_joint(field):
    model = grove(20)
    trees = kinematic_tree(model)
    at = model.njoints - 1 if field != "armature" else model.nv - 1
    getattr(trees, field)[at] += 0.1
    with pytest.raises(ModelError, match=r"must be that of Pinocchio to 1e-12") as caught:
        compare_with_pinocchio(model, trees)
    assert "t19." in str(caught.value)


def test_particles_are_bodies_on_slides_whose_mass_matrix_is_diagonal():
    swarm = Robot.load("swarm", override={"particles": {"count": 3, "mass": [1.0, 2.0, 3.0]}})
    at = swarm.snapshot(np.arange(6.0), np.ones(6))
    np.testing.assert_array_equal(at.M, np.diag([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]))
    assert swarm.coordinates == ("x1", "y1", "x2", "y2", "x3", "y3")
    np.testing.assert_array_equal(at.frame("p3").position, [4.0, 5.0, 0.0])
    np.testing.assert_array_equal(at.frame("p2").J[:2], np.eye(2, 6, 2))
    assert pinocchio_tree.largest_tree(swarm.structure.model) == 2
