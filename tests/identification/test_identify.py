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
