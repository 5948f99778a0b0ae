"""Parameters of robots that are known come back from their logs."""

import numpy as np
import pytest

from tests.identification.simulated_logs import (
    believed,
    built,
    efforts,
    logged,
    moving,
    pushed_states,
    random_tree,
)
from ukctrl import Robot
from ukctrl.core.errors import InputError
from ukctrl_identification.identified_files import write_identified
from ukctrl_identification.identify import identify


def told(robot, truth, seed, **options):
    """Return an identification from exact data, and the base parameters of the truth."""
    rng = np.random.default_rng(seed)
    if truth.passive or truth.actuation.acts_on.any(axis=1).all():
        motion = moving(truth, rng, **options)
        motion = motion._replace(effort=efforts(truth, motion))
    else:
        motion = pushed_states(truth, rng)
    found = identify(robot, [logged(truth, motion)], friction="none")
    whole = np.zeros(len(found.regression.parameters))
    whole[: found.regression.inertial] = truth.structure.tree.inertias[1:].ravel()
    whole[found.regression.inertial :] = found.regression.model_values()[
        found.regression.inertial :
    ]
    return found, found.base.values(whole)


def assert_found(found, truth, tolerance=1e-8):
    for value, true, formula in zip(found.fit.values, truth, found.formulas, strict=True):
        size = 1.0 if formula.partition(" ")[0].endswith(".stiffness") else 0.1
        assert value == pytest.approx(true, rel=tolerance, abs=tolerance * size), formula
    assert not len(found.excited.weak)


@pytest.mark.parametrize("seed", range(10))
def test_exact_logs_of_random_trees_give_their_base_parameters(seed):
    rng = np.random.default_rng(seed)
    truth = built(random_tree(rng, bodies=int(rng.integers(2, 7))))
    found, values = told(believed(truth, rng), truth, seed)
    assert_found(found, values)


ROBOTS = ("panda", "scara", "furuta", "cart_pole", "ur5", "two_link", "pendubot")
CLOSED = ("three_rrr", "two_pandas")


@pytest.mark.parametrize("name", [*ROBOTS, *CLOSED, "floating_arm", "panda_elastic"])
def test_exact_logs_of_the_catalogue_give_base_parameters(name):
    truth = Robot.load(name)
    robot = believed(truth, np.random.default_rng(1))
    amplitude = {"three_rrr": 0.15, "two_pandas": 0.1}.get(name, 0.6)
    found, values = told(robot, truth, 5, amplitude=amplitude)
    assert_found(found, values)


@pytest.mark.parametrize("name", ["ur5", "three_rrr"])
def test_a_gap_in_one_effort_counts_as_no_sample_rather_than_as_no_effort(name):
    truth = Robot.load(name)
    amplitude = {"three_rrr": 0.15}.get(name, 0.6)
    motion = moving(truth, np.random.default_rng(5), n=6000, amplitude=amplitude)
    motion = motion._replace(effort=efforts(truth, motion))
    whole = logged(truth, motion)
    motor = next(iter(whole.effort))
    torn = whole.effort[motor].copy()
    torn[500:3500] = np.nan  # more than are factored at a time
    log = whole._replace(effort={**whole.effort, motor: torn})
    robot = believed(truth, np.random.default_rng(1))
    found, sound = (identify(robot, [one], friction="none") for one in (log, whole))
    np.testing.assert_allclose(found.fit.values, sound.fit.values, rtol=1e-8, atol=1e-9)


def test_logs_with_the_efforts_of_different_joints_are_fitted_together():
    truth = Robot.load("ur5")
    logs = []
    for seed, lost in ((5, truth.dofs[1]), (6, truth.dofs[4])):
        motion = moving(truth, np.random.default_rng(seed))
        log = logged(truth, motion._replace(effort=efforts(truth, motion)))
        effort = {name: channel for name, channel in log.effort.items() if name != lost}
        logs.append(log._replace(effort=effort))
    found = identify(believed(truth, np.random.default_rng(1)), logs, friction="none")
    whole = np.zeros(len(found.regression.parameters))
    whole[: found.regression.inertial] = truth.structure.tree.inertias[1:].ravel()
    assert found.rows == truth.dofs
    assert_found(found, found.base.values(whole))


def test_a_log_to_judge_by_needs_the_efforts_that_were_fitted():
    truth = Robot.load("two_link")
    motion = moving(truth, np.random.default_rng(5))
    log = logged(truth, motion._replace(effort=efforts(truth, motion)))
    half = log._replace(effort={"shoulder": log.effort["shoulder"]})
    with pytest.raises(InputError, match="no effort of 'elbow' is logged to judge"):
        identify(truth, [log], validate=[half], friction="none")


def test_springs_of_elastic_joints_come_back_from_the_files(tmp_path):
    truth = Robot.load("panda_elastic", override={"elastic": {"damping": 2.0}})
    springs = truth.elastic
    softer = dict(zip(springs.joints, (0.7 * springs.stiffness).tolist(), strict=True))
    robot = Robot.load("panda_elastic", override={"elastic": {"stiffness": softer}})
    found = identify(robot, [logged(truth, pushed_states(truth, np.random.default_rng(5)))],
                     friction="none")  # fmt: skip
    write_identified(robot, "panda_elastic", found.dynamics, tmp_path / "measured")
    came = Robot.load(tmp_path / "measured").elastic
    np.testing.assert_allclose(came.stiffness, springs.stiffness, rtol=1e-4)
    np.testing.assert_allclose(came.damping, springs.damping, rtol=1e-3)
    assert found.dynamics.stiffness.keys() == set(springs.joints)
