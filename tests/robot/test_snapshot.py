"""Matrices and frame motions against Pinocchio's own algorithms and finite differences."""

import gc
import pickle
import types

import numpy as np
import pinocchio as pin
import pytest

from ukctrl.core.errors import InputError, ShapeError, UnknownName
from ukctrl.robot import Robot
from ukctrl.robot.snapshot import state_vector

EXACT = {"rtol": 0.0, "atol": 1e-11}  # the same formula by another route
H = 1e-5  # step of central differences [s]
DIFFERENCED = {"rtol": 1e-7, "atol": 1e-7}  # central differences with step H: error ~ H^2


def along(robot, q, v, h):
    """Return the configuration after h seconds at constant velocity v."""
    return robot.integrate(q, h * v)


def rate(robot, state, value):
    """Return the time derivative of value(snapshot) along motion with constant v."""
    q, v = state
    after = value(robot.snapshot(along(robot, q, v, H), v))
    before = value(robot.snapshot(along(robot, q, v, -H), v))
    return (after - before) / (2 * H)


def test_the_matrices_are_those_of_separate_evaluations(robot, state):
    q, v = state
    s = robot.snapshot(q, v)
    M = pin.crba(robot.model, robot.model.createData(), q)
    nle = pin.nonLinearEffects(robot.model, robot.model.createData(), q, v)
    J = pin.computeJointJacobians(robot.model, robot.model.createData(), q)
    np.testing.assert_allclose(s.M, np.reshape(M, (robot.nv, robot.nv)), **EXACT)
    np.testing.assert_allclose(s.nle, nle, **EXACT)
    np.testing.assert_allclose(s.Jt, np.reshape(J, (6, robot.nv)).T, **EXACT)


def test_the_mass_matrix_and_the_bias_give_inverse_dynamics(robot, state, rng):
    q, v = state
    s, a = robot.snapshot(q, v), rng.standard_normal(robot.nv)
    tau = pin.rnea(robot.model, robot.model.createData(), q, v, a)
    np.testing.assert_allclose(s.M @ a + s.nle, tau, **EXACT)


def test_the_arrays_are_contiguous_and_the_mass_matrix_is_symmetric(robot, state):
    s = robot.snapshot(*state)
    for array in (s.M, s.Jt, s.dJt, s.B):
        assert array.flags.c_contiguous
    np.testing.assert_array_equal(s.M, s.M.T)


def test_the_jacobian_rate_is_the_derivative_of_the_jacobian(robot, state):
    s = robot.snapshot(*state)
    np.testing.assert_allclose(s.dJt, rate(robot, state, lambda s: s.Jt.copy()), **DIFFERENCED)


def test_joint_placements_are_pinocchios(robot, state):
    q, v = state
    s, data = robot.snapshot(q, v), robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    assert s.rotations.shape == (robot.model.njoints, 3, 3)
    for j in range(robot.model.njoints):
        np.testing.assert_allclose(s.rotations[j], data.oMi[j].rotation, **EXACT)
        np.testing.assert_allclose(s.translations[j], data.oMi[j].translation, **EXACT)


def test_frame_motion_is_pinocchios(robot, state):
    q, v = state
    s, data, model = robot.snapshot(q, v), robot.model.createData(), robot.model
    pin.forwardKinematics(model, data, q, v, np.zeros(robot.nv))
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for name in robot.frames:
        motion = s.frame(name)
        index = model.getFrameId(name) if model.existFrame(name) else 0
        np.testing.assert_allclose(motion.position, data.oMf[index].translation, **EXACT)
        np.testing.assert_allclose(motion.rotation, data.oMf[index].rotation, **EXACT)
        J = pin.getFrameJacobian(model, data, index, axes)
        np.testing.assert_allclose(motion.J, np.reshape(J, (6, robot.nv)), **EXACT)
        velocity = pin.getFrameVelocity(model, data, index, axes).vector
        np.testing.assert_allclose(motion.velocity, velocity, **EXACT)
        drift = pin.getFrameClassicalAcceleration(model, data, index, axes).vector
        np.testing.assert_allclose(motion.drift, drift, **EXACT)


def test_frame_velocity_and_drift_are_derivatives_along_the_motion(robot, state):
    s = robot.snapshot(*state)
    for name in robot.frames:
        motion = s.frame(name)
        np.testing.assert_allclose(
            motion.velocity[:3], rate(robot, state, lambda s, n=name: s.frame(n).position),
            **DIFFERENCED,
        )  # fmt: skip
        np.testing.assert_allclose(
            motion.drift, rate(robot, state, lambda s, n=name: s.frame(n).velocity), **DIFFERENCED
        )
        spin = rate(robot, state, lambda s, n=name: s.frame(n).rotation) @ motion.rotation.T
        omega = [spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(motion.velocity[3:], omega, **DIFFERENCED)


def test_the_world_frame_does_not_move(robot, state):
    motion = robot.snapshot(*state).frame("world")
    np.testing.assert_array_equal(motion.position, np.zeros(3))
    np.testing.assert_array_equal(motion.rotation, np.eye(3))
    for zero in (motion.J, motion.velocity, motion.drift):
        assert not zero.any()


def test_the_centre_of_mass_moves_as_its_jacobian_says(robot, state):
    s = robot.snapshot(*state)
    com = s.com()
    np.testing.assert_allclose(
        com.velocity, rate(robot, state, lambda s: s.com().position), **DIFFERENCED
    )
    np.testing.assert_allclose(
        com.drift, rate(robot, state, lambda s: s.com().velocity), **DIFFERENCED
    )


def test_asking_for_more_does_not_disturb_the_views(robot, state):
    s = robot.snapshot(*state)
    views = (s.M, s.nle, s.f, s.B, s.Jt, s.dJt, s.rotations, s.translations)
    before = [view.copy() for view in views]
    s.com(), s.energy(), s.gravity, s.frame(robot.frames[-1])
    for view, old in zip(views, before, strict=True):
        np.testing.assert_array_equal(view, old)


def test_the_gravity_force_is_the_bias_at_rest(robot, state):
    q, _ = state
    s = robot.snapshot(q)
    np.testing.assert_allclose(s.gravity, s.nle, **EXACT)


def test_gravity_is_the_gradient_of_the_potential_energy(robot, state):
    s = robot.snapshot(*state)
    power = rate(robot, state, lambda s: s.energy().potential)
    np.testing.assert_allclose(power, s.gravity @ s.v, rtol=1e-6, atol=1e-6)


def test_the_kinetic_energy_is_pinocchios(robot, state):
    q, v = state
    expected = pin.computeKineticEnergy(robot.model, robot.model.createData(), q, v)
    np.testing.assert_allclose(robot.snapshot(q, v).energy().kinetic, expected, rtol=1e-12)


def test_the_potential_energy_and_the_centre_of_mass_are_pinocchios(robot, state):
    model, (q, v) = robot.model, state
    data, s = model.createData(), robot.snapshot(q, v)
    energy = pin.computePotentialEnergy(model, data, q)
    np.testing.assert_allclose(s.potential_energy(), energy, rtol=1e-12, atol=1e-12)
    com = s.com()
    J = np.reshape(pin.jacobianCenterOfMass(model, data, q, False), (3, -1))
    pin.centerOfMass(model, data, q, v, np.zeros(robot.nv), False)
    theirs = data.com[0], J, data.vcom[0], data.acom[0]
    for ours, expected in zip(com, theirs, strict=True):
        np.testing.assert_allclose(ours, expected, **EXACT)


def test_moving_a_snapshot_gives_what_a_fresh_one_gives(robot, rng):
    s = robot.snapshot(robot.random(rng), rng.standard_normal(robot.nv))
    views = (s.M, s.nle, s.Jt, s.dJt, s.rotations, s.translations)
    for _ in range(5):
        q, v = robot.random(rng), rng.standard_normal(robot.nv)
        s.move(q, v, 1.5)
        fresh = robot.snapshot(q, v, 1.5)
        now = (s.M, s.nle, s.Jt, s.dJt, s.rotations, s.translations)
        expected = (
            fresh.M, fresh.nle, fresh.Jt, fresh.dJt, fresh.rotations, fresh.translations
        )  # fmt: skip
        for view, same, value in zip(views, now, expected, strict=True):
            assert view is same
            np.testing.assert_array_equal(view, value)
        assert s.t == 1.5


def test_where_no_time_is_given_it_is_zero(robot, state):
    q, v = state
    s = robot.snapshot(q, v, 3.0)
    assert s.t == 3.0
    s.move(q, v)
    assert s.t == robot.snapshot(q, v).t == 0.0


def test_a_snapshot_keeps_its_own_state(robot, state):
    q, v = state
    s = robot.snapshot(q, v)
    q[:] = 0.0
    assert np.abs(s.q).max() > 0.0


@pytest.mark.slow(only=["scara-0"])
def test_arrays_outlive_the_snapshot_they_came_from(robot, state):
    q, v = state
    s = robot.snapshot(q, v)
    expected = (s.M.copy(), s.nle.copy(), s.Jt.copy(), s.rotations.copy())
    orphans = [(t.M, t.nle, t.Jt, t.rotations) for t in (robot.snapshot(q, v) for _ in range(20))]
    gc.collect(1)  # the generations that may hold what was made just now
    ballast = [np.full(1000, np.nan) for _ in range(1000)]
    for orphan in orphans:
        for array, value in zip(orphan, expected, strict=True):
            np.testing.assert_array_equal(array, value)
    del ballast


def test_a_copy_stays_when_the_original_moves(robot, state, rng):
    s = robot.snapshot(*state)
    kept = s.copy()
    expected = kept.M.copy()
    s.move(robot.random(rng), rng.standard_normal(robot.nv))
    np.testing.assert_array_equal(kept.M, expected)
    np.testing.assert_array_equal(kept.q, state[0])


def test_robots_and_snapshots_survive_pickling(robot, state):
    s = pickle.loads(pickle.dumps(robot.snapshot(*state, 0.5)))
    np.testing.assert_array_equal(s.M, robot.snapshot(*state).M)
    assert s.t == 0.5
    assert s.robot.actuators == robot.actuators


def test_a_push_does_the_power_of_its_force_and_torque(robot, state, rng):
    s = robot.snapshot(*state)
    for name in robot.frames:
        force, torque = rng.standard_normal((2, 3))
        velocity = s.frame(name).velocity
        power = s.pushed(robot.site(name), force, torque) @ s.v
        np.testing.assert_allclose(power, force @ velocity[:3] + torque @ velocity[3:], **EXACT)


def test_a_site_names_the_velocities_that_move_it(robot, state):
    s = robot.snapshot(*state)
    for name in robot.frames:
        site = robot.site(name)
        assert not s.frame(name).J[:, ~site.support].any()
        np.testing.assert_array_equal(np.flatnonzero(site.support), site.columns)


@pytest.mark.parametrize("value", [[1, 2], (1, 2), np.array([1, 2]), np.array([1, 0, 2])[::2]])
def test_a_state_may_be_any_list_of_numbers(value):
    state = state_vector("q", value, ("x", "y"))
    assert (state.dtype, state.flags.c_contiguous) == (np.float64, True)
    np.testing.assert_array_equal(state, [1.0, 2.0])


def test_a_state_of_the_wrong_shape_is_refused(robots):
    robot = robots["scara"]
    with pytest.raises(ShapeError, match=r"q must have shape \(4,\); got \(3,\)"):
        robot.snapshot([0.0, 0.0, 0.0])
    with pytest.raises(ShapeError, match=r"v must have shape \(4,\); got \(1, 4\)"):
        robot.snapshot(np.zeros(4), np.zeros((1, 4)))


@pytest.mark.parametrize("value", [[np.nan, 0, 0, 0], [np.inf, 0, 0, 0], "home", [None] * 4])
def test_a_state_that_is_not_numbers_is_refused(robots, value):
    with pytest.raises(InputError, match="q must be"):
        robots["scara"].snapshot(value)


class Labelled(list):
    """Numbers with labels, as a pandas Series and an xarray array have them."""

    def __init__(self, numbers, labels, dims=()):
        super().__init__(numbers)
        labels = types.SimpleNamespace(values=labels)
        if dims:
            self.dims, self.coords = dims, {dims[0]: labels}
        else:
            self.index = labels


@pytest.mark.parametrize("dims", [(), ("coordinate",)])
def test_what_is_labelled_is_taken_by_its_labels(robots, dims):
    robot = robots["scara"]
    names = robot.coordinates
    order = [2, 0, 3, 1]
    q = np.array([0.1, 0.2, -0.05, 0.4])
    given = Labelled(q[order].tolist(), [names[i] for i in order], dims)
    np.testing.assert_array_equal(robot.snapshot(given).q, q)
    dv = Labelled([1.0, 2.0, 3.0, 4.0], [robot.dofs[i] for i in order], dims)
    np.testing.assert_array_equal(robot.integrate(q, dv), np.add(q, [2.0, 4.0, 1.0, 3.0]))
    # labels that only count say nothing
    np.testing.assert_array_equal(robot.snapshot(Labelled(q.tolist(), range(4), dims)).q, q)
    with pytest.raises(InputError) as told:
        robot.snapshot(Labelled(q.tolist(), [*names[:3], "wrist"], dims))
    listed = ", ".join(names[:3])
    wanted = f"q is labelled {listed}, wrist; the robot has {', '.join(names)}."
    assert str(told.value) == wanted
    with pytest.raises(InputError, match="q is labelled"):  # the same name twice
        robot.snapshot(Labelled(q.tolist(), [names[0], *names[:3]], dims))


def test_a_series_of_pandas_and_an_array_of_xarray_are_taken_by_their_labels(robots):
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    robot, q = robots["scara"], np.array([0.1, 0.2, -0.05, 0.4])
    series = pandas.Series(q, index=robot.coordinates)[::-1]
    np.testing.assert_array_equal(robot.snapshot(series).q, q)
    np.testing.assert_array_equal(robot.snapshot(pandas.Series(q)).q, q)
    array = xarray.DataArray(q, coords={"coordinate": list(robot.coordinates)})[::-1]
    np.testing.assert_array_equal(robot.snapshot(array).q, q)
    np.testing.assert_array_equal(robot.snapshot(xarray.DataArray(q)).q, q)


class Gradients:
    """As a tensor that computes gradients, which no one may take for numbers."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("requires grad")

    def __repr__(self):
        return "tensor\n" + 200 * "x"


@pytest.mark.parametrize("value", [np.zeros(4) + 1j, [0, 0, 0, 1j], Gradients()])
def test_numbers_that_would_lose_a_part_are_refused_in_one_line(robots, value):
    with pytest.raises(InputError, match="q must be 4 real numbers; got ") as told:
        robots["scara"].snapshot(value)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 200


ROTATIONS = {
    "pendulum": ("continuous", 0, 2),
    "planar": ("planar", 2, 4),
    "free": ("floating", 3, 7),
}


@pytest.mark.parametrize("kind", ROTATIONS)
def test_what_is_no_rotation_is_refused_everywhere(text, kind):
    joint, first, last = ROTATIONS[kind]
    model = text.urdf(text.body("a"), text.body("b"), text.joint("j", "a", "b", kind=joint))
    robot = Robot.build(model)
    assert robot.nq == last
    q, step = robot.neutral, np.full(robot.nv, 0.1)
    names = ", ".join(robot.coordinates[first:last])

    def scaled(length):
        given = q.copy()
        given[first:last] *= length
        return given

    for length in (0.0, 0.3, 0.9989, 1.0011, 2.0):
        given = scaled(length)
        for call in (
            lambda given=given: robot.snapshot(given),
            lambda given=given: robot.integrate(given, step),
            lambda given=given: robot.difference(q, given),
            lambda given=given: robot.difference(given, q),
            lambda given=given: robot.coordinate_rate(given, step),
        ):
            with pytest.raises(InputError) as told:
                call()
            assert f"{names} must have unit length; got {length:.4g}. A" in str(told.value)
        if length:  # what brings it back takes it
            np.testing.assert_allclose(robot.normalize(given), q, atol=1e-15)
    for length in (0.9991, 1.0, 1.0009):  # what sensors round is a rotation
        robot.snapshot(scaled(length))
    with pytest.raises(InputError, match="dv must be finite"):
        robot.integrate(q, np.full(robot.nv, np.nan))


def test_an_unknown_frame_is_refused_with_the_near_miss(robots):
    with pytest.raises(UnknownName, match="no frame named 'tol'; did you mean 'tool'"):
        robots["scara"].snapshot(np.zeros(4)).frame("tol")


def test_a_link_goes_before_a_joint_of_the_same_name(text):
    model = text.urdf(
        text.body("base"), text.body("hand"), text.body("arm"),
        text.joint("arm", "base", "hand"), text.joint("hand", "hand", "arm"),
    )  # fmt: skip
    robot = Robot.build(model)
    assert robot.site("hand").joint == 1
    assert robot.site("arm").joint == 2
