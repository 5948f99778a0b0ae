"""What observers may be given, and the sentences in which the rest is refused; measured states."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.control.state_evaluator import INVALID_STATE, run_at_state
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.errors import InputError
from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.robot.manifold_kernels import CIRCLE, LINE
from ukctrl.simulation.observers.sensing_tables import (
    CameraSensor,
    ImuSensor,
    Sensing,
    TriaxialSensor,
)
from ukctrl.simulation.step.reset import MAX_NUMBERS, InitialArrays

TRIAD = TriaxialSensor(density=1e-3)


def camera(**given):
    return CameraSensor(**{"frame": "tool", "std": 1e-3} | given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: camera(delay=-0.1), "delay must be zero or positive; got -0.1 s."),
        (lambda: camera(std=0.0), "must be positive; got 0.0."),
        (lambda: camera(dropped=1.5), "must be between 0 and 1; got 1.5."),
        (lambda: camera(period=0.0), "must be positive; got 0.0."),
        (
            lambda: ImuSensor(frame="tool"),
            "must have an accelerometer or a gyroscope; got neither.",
        ),
        (lambda: TriaxialSensor(density=0.0), "must be positive; got 0.0."),
        (lambda: TriaxialSensor(density=1.0, range=0.0), "must be positive; got 0.0."),
        (lambda: TriaxialSensor(density=1.0, step=0.0), "must be positive; got 0.0."),
        (lambda: TriaxialSensor(density=1.0, walk=-1.0), "must be zero or positive; got -1.0."),
        (lambda: TriaxialSensor(density=1.0, bias=-1.0), "must be zero or positive; got -1.0."),
        (
            lambda: Sensing(joints=()),
            "must measure something; got no joints, no speeds, no camera and no imu. Leave out "
            "joints to measure all positions.",
        ),
        (
            lambda: Sensing(joints=(), camera=(camera(), camera())),
            "camera: must have one entry for each frame; one comes twice.",
        ),
        (
            lambda: Sensing(imu=(ImuSensor(frame="a", gyroscope=TRIAD),) * 2),
            "imu: must have one entry for each frame; one comes twice.",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).endswith(message)


def test_what_can_be_measured():
    assert camera(delay=0.0).delay == 0.0
    assert camera(dropped=1.0).dropped == 1.0
    assert Sensing().joints is None
    assert Sensing(joints=(), speeds=True).speeds is True
    assert len(Sensing(joints=(), camera=(camera(), camera(frame="base"))).camera) == 2
    assert Sensing(joints=(), imu=(ImuSensor(frame="a", accelerometer=TRIAD),)).joints == ()
    assert list(ImuSensor(frame="a", gyroscope=TRIAD).parts()) == ["w"]
    assert list(ImuSensor(frame="a", accelerometer=TRIAD, gyroscope=TRIAD).parts()) == ["a", "w"]


# States that a loop of one's own measures


@pytest.mark.parametrize(
    ("q", "v", "fits"),
    [
        ([1.0, 2.0], [3.0], True),
        ([1.0], [3.0], False),
        ([1.0, 2.0, 3.0], [3.0], False),
        ([1.0, 2.0], [3.0, 4.0], False),
        ([np.nan, 2.0], [3.0], False),
        ([1.0, np.inf], [3.0], False),
        ([1.0, 2.0], [-np.inf], False),
        ([1e300, -1e300], [1e300], True),
    ],
)
def test_a_state_is_measured_whole_and_finite_or_no_step_runs(q, v, fits):
    here_q, here_v, clock, out = np.zeros(2), np.zeros(1), np.zeros(1), np.full(2, 9.0)
    steps = KernelSequence((BoundKernel(copy_into, here_q, out),))
    blocks = np.array([[LINE, 0, 0, len(here_q)]])
    code = run_at_state(steps.lines, blocks, clock, here_q, here_v, 0.5, np.array(q), np.array(v))
    if not fits:
        assert code == INVALID_STATE
        np.testing.assert_array_equal(out, 9.0)
        return
    assert code >= 0
    assert clock[0] == 0.5
    np.testing.assert_array_equal(out, q)
    np.testing.assert_array_equal(here_v, v)


@pytest.mark.parametrize(("length", "fits"), [(1.0, True), (0.9991, True), (0.998, False)])
def test_an_angle_is_measured_by_its_cosine_and_sine(length, fits):
    here_q, here_v, clock, out = np.zeros(2), np.zeros(1), np.zeros(1), np.full(2, 9.0)
    steps, blocks = (
        KernelSequence((BoundKernel(copy_into, here_q, out),)),
        np.array([[CIRCLE, 0, 0, 1]]),
    )
    q = np.array([0.6, -0.8]) * length
    code = run_at_state(steps.lines, blocks, clock, here_q, here_v, 0.5, q, np.array([1.0]))
    assert (code >= 0) == fits
    np.testing.assert_array_equal(out, q if fits else 9.0)


# Loops that begin again


def test_arrays_of_steps_are_put_back_but_those_that_were_left():
    one, two, three, fixed = np.ones(2), np.full(2, 2.0), np.full(2, 3.0), np.full(2, 4.0)
    fixed.flags.writeable = False
    inner = KernelSequence((BoundKernel(copy_into, one, two),))
    table = KernelSequence((BoundKernel(copy_into, fixed, three), inner))
    origin = InitialArrays()
    origin.exclude(two)
    origin.add(table, (three, (fixed,)))
    assert origin.size >= 4
    assert origin.is_complete
    size = origin.size
    origin.add(table, one)  # which are known
    assert origin.size == size
    table.fault = ValueError("what a run met")
    for array in (one, two, three):
        array[:] = 7.0
    origin.restore()
    np.testing.assert_array_equal([one, two, three], [[1.0] * 2, [7.0] * 2, [3.0] * 2])
    assert table.fault is None
    table.raise_fault()  # of nothing


def test_a_loop_with_too_many_numbers_is_not_kept():
    origin = InitialArrays()
    origin.add(np.zeros(MAX_NUMBERS))
    assert origin.is_complete
    origin.add(np.zeros(1))
    assert not origin.is_complete
