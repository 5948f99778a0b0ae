"""The bounds that robust laws promise hold on robots that are not as their model says.

The robots, the laws and how a promise is judged are those of the gallery's page, so that the
numbers printed there are the ones held to account here. Where a bound is tight, a single row on
which everything is known shows that it is: there the error comes up to it.
"""

from pathlib import Path

import numpy as np
import pytest
from scripts import module_of

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import (
    AdaptiveRobust,
    ChenRobust,
    LeastNorm,
    Lyapunov,
    ModelMismatch,
    Power,
    Servo,
    Sliding,
)
from ukctrl.mechanics.constraints import Expression
from ukctrl.robot import Perturbation

PLANTS = Path(__file__).parents[3] / "docs" / "gallery" / "robust_laws" / "plants.py"
SETTLED = {"rtol": 1e-4}  # what is left of transients at the end of a run
ROUNDING = 1e-9  # of bounds that are reached, by integration to a relative 1e-9
EXACT = {"rtol": 0.0, "atol": 1e-9}


def _loaded():
    return module_of(PLANTS)


plants = _loaded()


def _kept(law, seed, off):
    truth = plants.drawn(seed)
    run = plants.run(law, truth, off)
    assert run.status == "completed", run.message
    found = plants.verdict(law, truth, run)
    assert found.assumed, f"robot {seed} is outside what the law assumes: {found}"
    assert found.kept, f"robot {seed} broke the promise: {found}"


@pytest.mark.parametrize("off", [0.0, plants.OFF], ids=["on the path", "off it"])
@pytest.mark.parametrize("law", plants.LAWS)
def test_the_error_stays_within_the_bound_on_a_perturbed_robot(law, off):
    _kept(law, 0, off)


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, plants.OFF], ids=["on the path", "off it"])
@pytest.mark.parametrize("law", plants.LAWS)
def test_the_bound_is_never_exceeded_on_two_hundred_robots(law, off):
    for seed in range(plants.COUNT):
        _kept(law, seed, off)


LIFT = Expression(phi="q4", name="lift")
START = {"q": (-0.5, 0.9, -0.4, 0.0), "v": (0.0, 0.0, 0.0, 0.0)}
PULL = 2.0
"""By how much gravity differs from what the model says, so that eta is known [m/s^2]."""


def lifted(feedback, duration=3.0, **believed):
    """Return a run that holds the SCARA's vertical slide against gravity that it underrates."""
    believed = {"gravity": (0.0, 0.0, -9.81 + PULL)} | believed
    scenario = Scenario.load("scara-helix", {"timing.duration": duration})
    return simulate(
        scenario.replace(
            {
                "servo": (LIFT,),
                "start": START,
                "believed": believed,
                "controller": Servo(feedback=feedback),
            }
        )
    )


@pytest.mark.parametrize("exponent", [1.0, 3.0])
def test_the_edge_of_the_error_box_is_reached_by_the_worst_uncertainty(exponent):
    law = Sliding(
        alpha=20.0,
        beta=100.0,
        rate=10.0,
        box=0.01,
        uncertainty=PULL,
        function=Power(exponent=exponent),
    )
    run = lifted(law)
    assert run["position_error"].max() <= 1.0 + ROUNDING
    np.testing.assert_allclose(abs(run["phi"][-1, 0]), 0.01, **SETTLED)


def test_chens_radius_is_reached_by_the_worst_uncertainty():
    """Of epsilon = rho^2 / kappa: kappa z + rho^2 z / epsilon = rho gives z = rho / 2 kappa."""
    law = ChenRobust(kappa=10.0, rate=10.0, rho=PULL, epsilon=PULL**2 / 10.0)
    run = lifted(law)
    np.testing.assert_allclose(run["surface_error"][-1], law.promised().radius, **SETTLED)
    np.testing.assert_allclose(run["position_error"][-1], law.promised().position_radius, **SETTLED)
    assert (run["surface_error"] <= run["surface_bound"] + ROUNDING).all()


def test_the_radius_of_a_lyapunov_row_is_reached_by_the_worst_uncertainty():
    law = Lyapunov(kappa=10.0, rate=10.0, tube=0.01, uncertainty=PULL)
    run = lifted(law)
    np.testing.assert_allclose(run["surface_error"][-1], PULL / 10.0, **SETTLED)
    assert (run["surface_error"] <= run["surface_bound"] + ROUNDING).all()


def test_the_estimate_settles_where_growth_and_leak_agree():
    law = AdaptiveRobust(
        kappa=10.0, rate=10.0, growth=50.0, leak=1.0, epsilon=0.05, profile=1.0, supposed=PULL
    )
    run = lifted(law, duration=20.0)
    z, alpha = run["surface_error"][-1], run["alpha_hat"][-1]
    np.testing.assert_allclose(50.0 * z, 1.0 * alpha, **SETTLED)
    np.testing.assert_allclose(10.0 * z + alpha**2 * z / max(alpha * z, 0.05), PULL, **SETTLED)
    assert (run["surface_error"] <= run["surface_bound"] + ROUNDING).all()


def test_a_heavier_robot_takes_grip_and_leaves_a_known_acceleration():
    """A slide of m times the believed mass: E = 1/m - 1, and delta is that part of gravity."""
    robot = Robot.load("scara")
    task = Task(robot=robot, servo=(LIFT,), q=np.array(START["q"]), v=np.zeros(4))
    truth = robot.perturbed(Perturbation(mass_scale={"q4": 1.25}))
    found = ModelMismatch(task, truth).at(0.0, task.q, task.v)
    np.testing.assert_allclose(found.grip, [[1.0 / 1.25 - 1.0]], **EXACT)
    np.testing.assert_allclose(np.abs(found.left), [9.81 * (1.0 - 1.0 / 1.25)], **EXACT)
    np.testing.assert_allclose([found.lost(), found.row_sum()], 0.2, **EXACT)


def test_what_a_wrong_model_leaves_accounts_for_the_true_acceleration():
    truth, law = plants.drawn(3), plants.LAWS["chen_robust"]
    run = plants.run("chen_robust", truth, plants.OFF)
    task = Task(robot=plants.believed(), servo=plants.base().servo, q=run["q"][0], v=run["v"][0])
    found = list(ModelMismatch(task, truth, LeastNorm()).along(run.time, run["q"], run["v"]))
    for k in (0, 7, 30):
        # phi'' = delta + (I + E) w with the law's own addition w, from Chen's formula
        z = run["beta"][k] + law.rate * run["phi"][k]
        rho = (9.0 + np.linalg.norm(run["v"][k])) / (1.0 - law.mismatch)
        gain = law.kappa + rho**2 / max(rho * np.linalg.norm(z), law.epsilon)
        w = -law.rate * run["beta"][k] - gain * z
        stack_rows = _row_acceleration(task, run, k)
        np.testing.assert_allclose(
            stack_rows, found[k].left + w + found[k].grip @ w, rtol=1e-8, atol=1e-8
        )


def _row_acceleration(task, run, k):
    """Return phi'' from the recorded acceleration."""
    snapshot = task.robot.snapshot(run["q"][k], run["v"][k], float(run.time[k]))
    rows = task.servo[0].rows(snapshot)
    return rows.A @ run["a"][k] - rows.b
