"""How configurations move: as Pinocchio's do, with the derivatives that fifty digits give."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pinocchio as pin
import pytest

from tests.robot.rigid.test_pinocchio_tree import drawn
from ukctrl import Robot
from ukctrl.core.errors import ShapeError
from ukctrl.core.files import catalog
from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.robot import manifold_kernels as kernels
from ukctrl.robot.formulas.coordinate_structure import FormulaStructure
from ukctrl.robot.rigid.pinocchio_structure import rigid_structure

SIZES = (0.0, 1e-170, 1e-12, 1e-8, 1e-4, 1e-3, 1e-2, 0.1, 0.499, 0.501, 1.0, 3.0, 10.0, 30.0)
"""Of steps; series and closed forms meet at half a radian."""
ROUNDING = 1e-14
"""Of numbers of size one: some fifty roundings."""
PINOCCHIO = 5e-14
"""The same, where a plane turns a little: Pinocchio divides what cancels by the small angle."""
THEIR_ANGLE = 1e-11
"""The same of a difference: it asks for the cosine of a small angle, and divides by its square."""
ALONG = {"planar": [0, 1, 5], "spherical": [3, 4, 5], "free": [0, 1, 2, 3, 4, 5]}
"""Which entries of a twist are the velocities of a joint."""


def close(ours, theirs, size, rounding=ROUNDING):
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=rounding * (1.0 + size))


def steps(model, seed):
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), 3.0 * rng.standard_normal(model.nv))
    return q, [size * rng.standard_normal(model.nv) for size in SIZES]


def one_joint(joint):
    model = pin.Model()
    model.addJoint(0, joint, pin.SE3.Identity(), "j")
    return model


@pytest.mark.parametrize("seed", range(40))
def test_every_kind_of_joint_moves_as_pinocchio_moves_it(seed):
    model = drawn(seed)
    structure = rigid_structure(model)
    q, every = steps(model, seed)
    for dv in every:
        size = np.abs(dv).max()
        reached = structure.integrate(q, dv)
        close(reached, pin.integrate(model, q, dv), size, PINOCCHIO)
        close(structure.normalize(1.1 * q), pin.normalize(model, 1.1 * q), np.abs(q).max())
        back = structure.difference(q, reached)
        left = structure.difference(structure.integrate(q, back), reached)
        close(left, 0.0, np.abs(back).max() + np.abs(q).max())


@pytest.mark.slow(only=["crane_spatial"])
@pytest.mark.parametrize("name", catalog.names("robots"))
def test_every_robot_of_the_catalogue_moves_as_pinocchio_moves_it(name):
    structure = Robot.load(name).structure
    if isinstance(structure, FormulaStructure):
        pytest.skip("it has no bodies")
    q, every = steps(structure.model, 0)
    for dv in every:
        size = np.abs(dv).max()
        close(structure.integrate(q, dv), pin.integrate(structure.model, q, dv), size, PINOCCHIO)


@pytest.mark.parametrize("seed", range(20))
def test_difference_is_the_step_and_that_of_pinocchio_where_it_is_exact(seed):
    model = drawn(seed)
    structure = rigid_structure(model)
    q, every = steps(model, seed)
    for size, dv in zip(SIZES[:9], every[:9], strict=True):  # below half a turn
        reached = structure.integrate(q, dv)
        close(structure.difference(q, reached), dv, np.abs(q).max())
        if size >= 1e-3:
            theirs = pin.difference(model, q, reached)
            close(structure.difference(q, reached), theirs, 0.0, THEIR_ANGLE)


@pytest.mark.parametrize("past", [-1e-7, -1e-13, 0.0, 1e-13, 1e-7])
@pytest.mark.parametrize(
    "joint", [pin.JointModelRUBX, pin.JointModelPlanar, pin.JointModelSpherical]
)
def test_around_half_a_turn_the_step_still_leads_there(joint, past):
    structure = rigid_structure(one_joint(joint()))
    q = structure.integrate(structure.neutral, np.full(structure.nv, 0.3))
    step = np.zeros(structure.nv)
    step[-1] = np.pi + past
    reached = structure.integrate(q, step)
    back = structure.difference(q, reached)
    assert abs(back[-1]) <= np.pi
    assert abs(abs(back[-1]) - (np.pi - abs(past))) <= ROUNDING
    close(structure.difference(structure.integrate(q, back), reached), 0.0, 1.0)


def test_half_a_turn_of_a_continuous_joint_counts_as_positive():
    structure = rigid_structure(one_joint(pin.JointModelRUBX()))
    for c, s in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
        assert structure.difference([c, s], [-c, -s])[0] == np.pi


def test_the_quaternion_of_a_floating_base_stays_on_its_side_as_that_of_pinocchio():
    for joint in (pin.JointModelFreeFlyer(), pin.JointModelSpherical()):
        model = one_joint(joint)
        step = np.zeros(model.nv)
        step[-1] = 4.0
        moved = rigid_structure(model).integrate(pin.neutral(model), step)
        close(moved, pin.integrate(model, pin.neutral(model), step), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_right_jacobian_is_the_integral_of_the_adjoint(seed):
    rng = np.random.default_rng(seed)
    for joint in (pin.JointModelPlanar(), pin.JointModelSpherical(), pin.JointModelFreeFlyer()):
        structure = rigid_structure(one_joint(joint))
        along = ALONG[structure.blocks[0].shape]
        for size in SIZES[:-1]:
            xi, v = size * rng.standard_normal(structure.nv), rng.standard_normal(structure.nv)
            twist = np.zeros(6)
            twist[along] = xi
            adjoint = pin.Motion(twist).action
            close(structure.bracket(xi), adjoint[np.ix_(along, along)], 0.0)
            with mp.workdps(50):  # exp([[-ad, 1], [0, 0]]) has the integral of exp(-s ad) on top
                both = mp.zeros(12, 12)
                both[:6, :6], both[:6, 6:] = -mp.matrix(adjoint.tolist()), mp.eye(6)
                exact = mp.expm(both)[:6, 6:]
                inverse = mp.inverse(exact)
            exact, inverse = (
                np.array(whole.tolist(), dtype=float)[np.ix_(along, along)]
                for whole in (exact, inverse)
            )
            close(structure.integrate_jacobian(structure.neutral, xi), exact, size)
            condition = np.abs(inverse).max()  # the Jacobian is singular at a whole turn
            close(structure.chart_rate(xi, v), inverse @ v, condition * condition * (1.0 + size))


def test_plain_coordinates_add_to_the_last_bit(rng):
    for name in ("scara", "two_link"):
        robot = Robot.load(name)
        assert len(robot.structure.manifold_table) == 1
        q, dv, other = rng.standard_normal((3, robot.nv))
        np.testing.assert_array_equal(robot.integrate(q, dv), q + dv)
        np.testing.assert_array_equal(robot.difference(q, other), other - q)
        for same in (robot.coordinate_rate(q, dv), robot.chart_rate(q, dv), robot.normalize(dv)):
            np.testing.assert_array_equal(same, dv)
        np.testing.assert_array_equal(robot.integrate_jacobian(q, dv), np.eye(robot.nv))
        np.testing.assert_array_equal(robot.bracket(dv), np.zeros((robot.nv, robot.nv)))


def test_the_chart_rate_is_the_rate_of_the_step(robot, state, rng):
    _, v = state
    step = 0.4 * rng.standard_normal(robot.nv)
    q = robot.neutral
    rate = robot.chart_rate(step, v)
    close(robot.integrate_jacobian(q, step) @ rate, v, np.abs(v).max())


def test_kernels_may_write_over_what_they_read(robot, state):
    q, v = state
    table = robot.structure.manifold_table
    here = q.copy()
    kernels.integrate(table, here, v, here)
    np.testing.assert_array_equal(here, robot.integrate(q, v))
    kernels.normalize(table, here, here)
    np.testing.assert_array_equal(here, robot.normalize(robot.integrate(q, v)))


def test_a_table_of_kernels_moves_as_python_does(robot, state):
    q, v = state
    table, here, back, rate = robot.structure.manifold_table, q.copy(), v.copy(), v.copy()
    KernelSequence(
        (
            BoundKernel(kernels.integrate, table, here, v, here),
            BoundKernel(kernels.difference, table, q, here, back),
            BoundKernel(kernels.chart_rate, table, v, rate, rate),
        )
    )()
    np.testing.assert_array_equal(here, robot.integrate(q, v))
    np.testing.assert_array_equal(back, robot.difference(q, here))
    np.testing.assert_array_equal(rate, robot.chart_rate(v, v))


def test_every_coordinate_is_in_the_table_once(robot):
    table = robot.structure.manifold_table
    assert table[0, kernels.IQ] == table[0, kernels.IV] == 0
    ends = table[:, kernels.IV] + table[:, kernels.NV]
    assert [*table[1:, kernels.IV], robot.nv] == ends.tolist()


def test_what_is_no_rotation_at_all_stays_as_it_is():
    robot = Robot.load("quadrotor")
    nothing = np.zeros(robot.nq)
    np.testing.assert_array_equal(robot.normalize(nothing), nothing)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda r, q, v: r.integrate(q[1:], v), r"q must have shape \(7,\); got \(6,\)"),
        (lambda r, q, v: r.integrate(q, q), r"dv must have shape \(6,\); got \(7,\)"),
        (lambda r, q, v: r.difference(v, q), "q0 must have shape"),
        (lambda r, q, v: r.difference(q, q[None]), r"q1 must have shape \(7,\); got \(1, 7\)"),
        (lambda r, q, v: r.coordinate_rate(q, q), "v must have shape"),
        (lambda r, q, v: r.chart_rate(v, q), "v must have shape"),
        (lambda r, q, v: r.integrate_jacobian(q, q), "dv must have shape"),
        (lambda r, q, v: r.normalize(v), "q must have shape"),
        (lambda r, q, v: r.bracket(q), "v must have shape"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_what_must(ask, told):
    robot = Robot.load("quadrotor")
    with pytest.raises(ShapeError, match=told):
        ask(robot, robot.neutral, np.zeros(robot.nv))
