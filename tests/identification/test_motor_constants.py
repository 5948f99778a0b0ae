"""Motor constants of logged currents, from what else is known."""

import dataclasses as dc

import numpy as np
import pytest

from tests.identification.simulated_logs import believed, efforts, logged, moving
from ukctrl import Robot
from ukctrl.core.errors import InputError, UnknownName
from ukctrl_identification.identification_verdicts import verdicts
from ukctrl_identification.identify import identify
from ukctrl_identification.regression import body_names

FRICTION = (0.5, 0.3, 0.1, 0.01)


def current_log(truth, constants, seed=5, amplitude=0.6, friction=FRICTION, **noise):
    """Return a log with the currents of some motors, by constant, in place of their efforts."""
    rng = np.random.default_rng(seed)
    motion = moving(truth, rng, amplitude=amplitude)
    motion = motion._replace(effort=efforts(truth, motion, friction))
    log, effort, current = logged(truth, motion), {}, {}
    for name, channel in log.effort.items():
        if name in constants:
            current[name] = channel / constants[name]
        else:
            effort[name] = channel
    return log._replace(effort=effort, current=current)


def efforts_of(found, truth):
    """Return the efforts of the last third of the log of `current_log`."""
    motion = moving(truth, np.random.default_rng(5))
    return efforts(truth, motion, FRICTION)[-len(found.measured) :]


def assert_constants(found, constants):
    """Least squares is exact; bodies that exist stay within the deviations that they have."""
    parameters = [found.regression.parameters[k] for k in found.base.independent]
    fitted = {
        one.owner: value
        for one, value in zip(parameters, found.fit.values, strict=True)
        if one.symbol == "motor_constant"
    }
    assert fitted == pytest.approx(constants, rel=1e-7)
    for name, value, deviation, unit in found.motor_constants():
        assert value == pytest.approx(constants[name], abs=4.0 * deviation)
        assert deviation < 0.1 * value
        assert unit == "N m/A"


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_the_body_of_one_link_gives_all_motor_constants(name):
    truth = Robot.load(name)
    constants = dict(zip(truth.dofs, np.linspace(2.0, 9.0, truth.nv), strict=True))
    robot = believed(truth, np.random.default_rng(1))
    last = truth.structure.tree.inertias[-1]
    armature = np.array(robot.model.armature)
    weighed = robot.structure.with_inertias({truth.blocks[-1].joint: last}, armature)
    robot = dc.replace(robot, structure=weighed)
    found = identify(robot, [current_log(truth, constants)], known=[body_names(truth)[-1]])
    assert_constants(found, constants)
    inertial = found.consistent.values[: found.regression.inertial]
    np.testing.assert_array_equal(inertial[-10:], last)
    # what was measured is told whole: the log's own efforts, whichever bodies are known
    effort = efforts_of(found, truth)
    np.testing.assert_allclose(found.measured, effort, rtol=0.03, atol=1e-3 * np.ptp(effort))


def test_one_measured_effort_gives_the_others_motor_constants():
    truth = Robot.load("panda")
    constants = dict(zip(truth.dofs[1:], (5.0, 4.0, 3.0, 2.0, 1.5, 9.0), strict=True))
    robot = believed(truth, np.random.default_rng(1))
    found = identify(robot, [current_log(truth, constants)])
    assert_constants(found, constants)


def test_through_a_closed_chain_one_effort_gives_the_other_constants():
    truth = Robot.load("three_rrr")
    motors = [truth.dofs[i] for i in np.flatnonzero(truth.actuation.acts_on.any(axis=1))]
    constants = dict(zip(motors[1:], (3.0, 0.7), strict=True))
    nothing = (0.0, 0.0, 0.0, 0.01)
    log = current_log(truth, constants, amplitude=0.15, friction=nothing)
    found = identify(believed(truth, np.random.default_rng(1)), [log], friction="none")
    assert_constants(found, constants)


def test_currents_alone_are_refused_since_they_tell_no_size():
    truth = Robot.load("two_link")
    log = current_log(truth, {"shoulder": 2.0, "elbow": 3.0})
    with pytest.raises(InputError, match="currents alone tell no size.*known"):
        identify(truth, [log])


def test_a_link_that_is_none_is_refused():
    truth = Robot.load("two_link")
    log = current_log(truth, {"elbow": 3.0})
    with pytest.raises(UnknownName, match="no link that a joint moves"):
        identify(truth, [log], known=["gripper"])


def test_a_current_against_the_motion_is_told():
    truth = Robot.load("ur5")
    log = current_log(truth, {truth.dofs[2]: -4.0})
    said = verdicts(identify(truth, [log]))
    assert any(
        one.level == "bad" and one.subject == "motor constants" and truth.dofs[2] in one.text
        for one in said
    )
