"""Fits of noisy logs: deviations hold; outliers and noise do not bias what heeds them."""

import numpy as np
import pytest

from tests.identification.simulated_logs import believed, efforts, logged, moving
from ukctrl import Robot
from ukctrl_identification import identify as lib
from ukctrl_identification.identify import identify
from ukctrl_identification.least_squares import instrumental_fit, samples_per_independent
from ukctrl_identification.motion_equations import MotionEquations

FRICTION = (1.5, 0.8, 0.2, 0.02)
"""Coulomb, viscous, offset, velocity scale of every joint."""
PERIOD = 0.002


@pytest.fixture(scope="module")
def arm():
    """Return a UR5, what its maker says, its motion, and its efforts without noise."""
    truth = Robot.load("ur5")
    motion = moving(truth, np.random.default_rng(7), n=10_000, duration=10_000 * PERIOD)
    return (
        truth,
        believed(truth, np.random.default_rng(1)),
        motion,
        efforts(truth, motion, FRICTION),
    )


def fitted(arm, effort, method="weighted", q=None, asked=False, friction=FRICTION):
    """Return the fit and the base parameters of the truth."""
    truth, robot, motion, _ = arm
    log = logged(truth, motion._replace(effort=effort))
    if asked:
        log = log._replace(asked=dict(log.position))
    if q is not None:
        log = log._replace(position=dict(zip(truth.coordinates, q.T, strict=True)))
    log = log._replace(velocity={}, acceleration={})

    stretches = lib.logged_motions(robot, log, 10.0)[0]
    equations = MotionEquations.of(robot, stretches)
    scales = np.full(robot.nv, friction[3])
    samples = equations.samples(equations.free_motions(stretches), "coulomb", scales=scales)
    regression, base = samples.regression, samples.base
    fit = lib._fitted(samples, base.values(regression.model_values()), method)
    if method == "instrumental":
        asked = lib.logged_motions(robot, lib._as_asked(log), 10.0)[0]
        fit = instrumental_fit(samples, equations.free_motions(asked), fit)
    whole = regression.model_values()
    whole[: regression.inertial] = truth.structure.tree.inertias[1:].ravel()
    known = dict(zip(("coulomb", "viscous", "offset"), friction, strict=False))
    for k, one in enumerate(regression.parameters):
        whole[k] = known.get(one.symbol, whole[k])
    return fit, base.values(whole)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["weighted", "ordinary", "robust"])
def test_intervals_of_95_percent_cover_93_to_97(arm, method):
    rng, effort = np.random.default_rng(3), arm[3]
    noise = 0.05 + 0.02 * effort.std(axis=0)
    covered = []
    for _ in range(40):
        errors = noise * rng.normal(size=effort.shape)
        if method == "robust":  # one in fifty is ten times as far off
            errors *= np.where(rng.random(effort.shape) < 0.02, 10.0, 1.0)
        fit, truth = fitted(arm, effort + errors, method)
        low, high = fit.intervals().T
        covered.append((low <= truth) & (truth <= high))
    assert 0.93 <= np.mean(covered) <= 0.97


def test_outliers_move_a_robust_fit_less(arm):
    rng, effort = np.random.default_rng(4), arm[3]
    errors = 0.05 * rng.normal(size=effort.shape)
    bad = rng.random(len(effort)) < 0.01
    errors[bad] += 40.0
    (plain, truth), (robust, _) = (fitted(arm, effort + errors, m) for m in ("weighted", "robust"))
    scale = robust.deviations
    assert (
        np.abs((robust.values - truth) / scale).mean()
        < 0.2 * np.abs((plain.values - truth) / scale).mean()
    )


@pytest.mark.slow
def test_noise_of_positions_biases_least_squares_and_not_instruments(arm):
    """Means of refits beside their scatter: z of the largest biases."""
    rng, (truth, robot, motion, _) = np.random.default_rng(5), arm
    soft = (1.5, 0.8, 0.2, 0.4)  # friction that is near a line within the noise
    effort = efforts(truth, motion, soft)
    arm = truth, robot, motion, effort
    errors = {"weighted": [], "instrumental": []}
    for _ in range(20):
        q = motion.q + 5e-4 * rng.normal(size=motion.q.shape)
        noisy = effort + 0.05 * rng.normal(size=effort.shape)
        for method, found in errors.items():
            fit, values = fitted(arm, noisy, method, q, asked=True, friction=soft)
            found.append(fit.values - values)
    z = {
        method: np.abs(np.mean(found, axis=0)) / (np.std(found, axis=0, ddof=1) / np.sqrt(20))
        for method, found in errors.items()
    }
    assert np.sort(z["weighted"])[-5:].min() > 10.0
    assert z["instrumental"].max() < 4.5  # of 54 of Student's distribution
    assert np.mean(z["instrumental"]) < 1.2  # 0.8 without a bias


def test_samples_that_an_average_ties_count_as_what_they_are():
    rng = np.random.default_rng(6)
    white = rng.normal(size=(20_000, 2))
    tied = np.column_stack([white[:, 0], np.convolve(white[:, 1], np.ones(8) / 8, "same")])
    times = samples_per_independent(tied, 1.0)
    np.testing.assert_allclose(times, [1.0, 8.0], rtol=0.15)


def test_a_filter_needs_positions_alone_and_says_what_it_was(arm):
    truth, robot, motion, effort = arm
    log = logged(truth, motion._replace(effort=effort))._replace(velocity={}, acceleration={})
    found = identify(robot, [log])
    assert found.cutoff == pytest.approx(20.0 * found.frequency)
    unseen, before = (found.validation[which].rms for which in ("consistent", "model"))
    assert unseen.max() < 0.05
    assert (unseen < 0.1 * before).all()
