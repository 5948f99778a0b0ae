"""Rows of the linear equation, and what is made of many of them, by independent routes."""

import numpy as np
import pinocchio as pin
import pytest

from tests.identification.simulated_logs import built, random_inertial, random_tree
from ukctrl import Robot
from ukctrl_identification.measured_motion import LowPass, Motion
from ukctrl_identification.passive_motion import free_motion
from ukctrl_identification.regression import Regression
from ukctrl_identification.regressor_kernels import LANES
from ukctrl_identification.row_filter import BATCH

SCALE = 0.02


def random_equations(robot, rng, n, low_pass=None):
    """Return equations at random states; each stands for itself."""
    q = np.array([robot.random(rng) for _ in range(n)])
    v, a, effort = rng.normal(size=(3, n, robot.nv))
    motion = Motion(np.arange(n) * 1e-3, q, v, a, effort)
    motion = motion if low_pass is None else motion._replace(low_pass=low_pass)
    return free_motion(robot, motion, np.zeros((n, robot.nv)))


def dense_rows(regression, motion):
    """Return columns and right side sample by sample, ``(n, nv, p + 1)``, by Pinocchio."""
    robot, state = regression.robot, motion.motion
    model, data, nv = robot.model, robot.model.createData(), robot.nv
    rows = np.zeros((len(state.q), nv, len(regression.parameters) + 1))
    for row, q, v, a, effort in zip(rows, state.q, state.v, state.a, state.effort, strict=True):
        row[:, : regression.inertial] = pin.computeJointTorqueRegressor(model, data, q, v, a)
        for k, one in enumerate(regression.parameters[regression.inertial :], regression.inertial):
            i = robot.dofs.index(one.owner)
            terms = {"coulomb": np.tanh(v[i] / SCALE), "viscous": v[i], "offset": 1.0}
            row[i, k] = terms[one.symbol]
        row[:, -1] = effort
    return rows


def of_equation(dense, row, columns):
    return dense[:, row, [*columns, -1]]


TREES = [*((seed, False) for seed in range(4)), *((seed, True) for seed in range(4, 6))]


@pytest.mark.parametrize(("seed", "floating"), TREES)
@pytest.mark.parametrize("n", [1, LANES, 2 * LANES + 3])
def test_rows_are_those_of_pinocchio(seed, floating, n):
    rng = np.random.default_rng(seed)
    robot = built(
        random_tree(rng, floating=floating), **({"floating_base": True} if floating else {})
    )
    regression = Regression(robot, np.full(robot.nv, SCALE))
    motion = random_equations(robot, rng, n)
    dense = dense_rows(regression, motion)
    kept = np.ones(len(regression.parameters), dtype=bool)
    for row, columns, block in regression.blocks(motion, kept):
        np.testing.assert_allclose(block.T, of_equation(dense, row, columns), rtol=0.0, atol=1e-11)
        others = np.setdiff1d(np.arange(len(kept)), columns)
        assert not np.abs(dense[:, row, others]).max(initial=0.0) > 1e-11


def test_rows_of_joints_of_every_kind_are_those_of_pinocchio():
    rng = np.random.default_rng(0)
    kinds = {"a": ("base", "continuous"), "b": ("a", "planar"), "c": ("b", "prismatic")}
    joints = "".join(
        f'<link name="{name}">{random_inertial(rng)}</link><joint name="j{name}" type="{kind}">'
        f'<parent link="{parent}"/><child link="{name}"/><axis xyz="0 0 1"/>'
        '<origin xyz="0.1 0.2 0.3" rpy="0.3 0.5 0.7"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for name, (parent, kind) in kinds.items()
    )
    ball = (
        '<mujoco><worldbody><body pos="0.1 0.2 0.3" euler="10 20 30"><joint name="j" type="ball"/>'
        '<inertial pos="0.1 0.2 0.3" mass="1" diaginertia="0.1 0.12 0.13"/>'
        "</body></worldbody></mujoco>"
    )
    for text in (f'<robot name="r"><link name="base"/>{joints}</robot>', ball):
        robot = built(text)
        regression = Regression(robot, np.full(robot.nv, SCALE))
        motion = random_equations(robot, rng, LANES + 5)
        dense = dense_rows(regression, motion)
        kept = np.ones(len(regression.parameters), dtype=bool)
        for row, columns, block in regression.blocks(motion, kept):
            wanted = of_equation(dense, row, columns)
            np.testing.assert_allclose(block.T, wanted, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("low_pass", [None, LowPass.of(20.0, 1e-3)], ids=["all", "filtered"])
def test_a_triangle_says_of_all_samples_what_their_matrix_does(low_pass):
    rng = np.random.default_rng(1)
    robot = Robot.load("panda")
    regression = Regression(robot, np.full(7, SCALE))
    motion = random_equations(robot, rng, 2 * BATCH + 77, low_pass)
    dense = dense_rows(regression, motion)
    if low_pass is not None:
        flat = dense.reshape(len(dense), -1)
        flat = np.column_stack([np.convolve(x, low_pass.taps, "valid") for x in flat.T])
        dense = flat[:: low_pass.stride].reshape(-1, *dense.shape[1:])
    kept = rng.random(len(regression.parameters)) < 0.7
    for one in regression.triangles([motion], kept):
        rows = of_equation(dense, one.row, one.columns)
        assert one.samples == len(rows)
        assert set(one.columns) <= set(np.flatnonzero(kept))
        np.testing.assert_allclose(one.R.T @ one.R, rows.T @ rows, rtol=0.0, atol=1e-9 * len(rows))


def test_residuals_of_several_values_are_those_of_each():
    rng = np.random.default_rng(2)
    robot = Robot.load("two_link")
    regression = Regression(robot, np.full(2, SCALE))
    motions = [random_equations(robot, rng, n) for n in (30, 40)]
    kept = np.ones(len(regression.parameters), dtype=bool)
    values = rng.normal(size=(3, len(kept)))
    found = regression.residuals(motions, kept, values)
    assert found.shape == (3, 70, 2)
    for one, own in zip(found, values, strict=True):
        alone = regression.residuals(motions, kept, own)
        np.testing.assert_allclose(one, alone, rtol=0.0, atol=1e-12)
        dense = np.concatenate([dense_rows(regression, motion) for motion in motions])
        np.testing.assert_allclose(one, dense[..., -1] - dense[..., :-1] @ own, atol=1e-11)


def test_a_sample_of_which_a_number_is_missing_is_left_out():
    rng = np.random.default_rng(3)
    robot = Robot.load("two_link")
    regression = Regression(robot, np.full(2, SCALE))
    whole = random_equations(robot, rng, 50)
    right = whole.right.copy()
    right[7, 0] = np.nan
    torn = whole._replace(right=right)
    rest = [whole.part(slice(None, 7)), whole.part(slice(8, None))]
    first, second = regression.triangles([torn])
    assert (first.samples, second.samples) == (49, 50)
    R = regression.triangles(rest)[0].R
    np.testing.assert_allclose(first.R.T @ first.R, R.T @ R, rtol=0.0, atol=1e-10)
