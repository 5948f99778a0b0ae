"""Slotine and Li's law: what makes it passive, and that Lyapunov's function decreases."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import SlotineLi, SlotineLiAdaptive
from ukctrl.core.algebra.differences import jacobian
from ukctrl.core.errors import InputError, ModelError
from ukctrl.mechanics.constraints import Expression as Rows
from ukctrl.mechanics.reference import Expression
from ukctrl.robot import Payload, Perturbation

SKEW = {"rtol": 0.0, "atol": 1e-9}  # differences of the mass matrix
EXACT = {"rtol": 0.0, "atol": 1e-10}
QUADRATURE = {"rtol": 0.0, "atol": 1e-4}  # Simpson's rule over 2 ms, with modes of 60 1/s [J]
RISE = 1e-9
"""What an integration of 1e-10 may raise a function that cannot rise, relative to its start."""

KAPPA, KD = 6.0, 3.0
PATH = Expression(components=("0.8*sin(1.3*t)", "0.5 + 0.7*cos(2.1*t)"))
WRONG = {"mass_scale": 0.7}


def reference(t):
    """Return the path with its rate."""
    return (
        np.array([0.8 * np.sin(1.3 * t), 0.5 + 0.7 * np.cos(2.1 * t)]),
        np.array([1.04 * np.cos(1.3 * t), -1.47 * np.sin(2.1 * t)]),
    )


def run(controller, duration, believed=None, robot="two_link", sample=0.02):
    """Run the two-link arm from beside its path."""
    return simulate(
        Scenario(
            title="swing", robot=robot, believed=believed, controller=controller,
            servo=(Rows(phi=("shoulder - 0.8*sin(1.3*t)", "elbow - 0.5 - 0.7*cos(2.1*t)")),),
            start={"q": {"shoulder": 0.4, "elbow": 0.6}},
            timing={"duration": duration, "sample": sample},
            integrator={"method": "DOP853", "rtol": 1e-10, "atol": 1e-12},
        )
    )  # fmt: skip


def slide(result):
    """Return sigma at every sample, written out."""
    r, r_dot = np.array([reference(t) for t in result.time]).transpose(1, 0, 2)
    return (result["v"] - r_dot) + KAPPA * (result["q"] - r)


def simpson(values, step):
    """Return the integrals over pairs of intervals."""
    return step / 3.0 * (values[:-2:2] + 4.0 * values[1:-1:2] + values[2::2])


def energy(robot, result):
    """Return sigma' M sigma / 2 at every sample."""
    sigma = slide(result)
    masses = np.array([robot.snapshot(q).M.copy() for q in result["q"]])
    return 0.5 * np.einsum("ki,kij,kj->k", sigma, masses, sigma)


@pytest.mark.parametrize("name", ["scara", "two_link", "panda", "ur5", "floating_arm"])
def test_the_coriolis_matrix_does_no_work_beyond_the_change_of_the_mass_matrix(name):
    robot, rng = Robot.load(name), np.random.default_rng(3)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    s, n = robot.snapshot(q, v), robot.nv
    rate = jacobian(lambda h: robot.snapshot(robot.integrate(q, h[0] * v)).M.ravel().copy(), 1)
    X = rate.reshape(n, n) - 2.0 * s.coriolis()
    np.testing.assert_allclose(X + X.T, 0.0, **SKEW)
    np.testing.assert_allclose(s.coriolis() @ v, s.nle - s.gravity, **EXACT)


@pytest.mark.parametrize("name", ["scara", "panda"])
def test_the_regressor_is_linear_in_what_the_bodies_weigh(name):
    """Y of one robot times the parameters of another gives the other's forces."""
    robot, rng = Robot.load(name), np.random.default_rng(4)
    other = robot.perturbed(
        Perturbation(mass_scale=1.3, inertia_scale=0.8, com_shift=(0.01, -0.02, 0.03))
    )
    q, v, w, a = (rng.standard_normal(robot.nv) for _ in range(4))
    s, true = robot.snapshot(q, v), other.snapshot(q, v)
    force = s.regressor(w, a) @ true.inertial_parameters().ravel()
    np.testing.assert_allclose(force, true.M @ a + true.coriolis() @ w + true.gravity, **EXACT)


def test_lyapunovs_function_falls_by_what_the_damping_takes():
    result = run(SlotineLi(kappa=KAPPA, kd=KD, path=PATH), 2.0, sample=0.002)
    assert result.status == "completed"
    V = energy(Robot.load("two_link"), result)
    assert np.diff(V).max() <= RISE * V[0]
    sigma = slide(result)
    taken = KD * np.sum(sigma**2, axis=1)
    np.testing.assert_allclose(V[:-2:2] - V[2::2], simpson(taken, 0.002), **QUADRATURE)
    np.testing.assert_allclose(result["lyapunov"], V, **EXACT)


@pytest.mark.parametrize(
    ("robot", "believed"),
    [
        ("two_link", WRONG),
        ({"use": "two_link"}, {"mass_scale": 1.3}),
        (
            Robot.load("two_link").perturbed(Perturbation(payload=Payload(frame="tool", mass=1.0))),
            {"robot": "two_link"},
        ),
    ],
    ids=["too light", "too heavy", "payload"],
)
def test_the_adaptive_function_falls_whatever_the_bodies_are(robot, believed):
    gamma = {"mass": 4.0, "first_moment": 2.0, "inertia": 1.0}
    law = SlotineLiAdaptive(kappa=KAPPA, kd=KD, path=PATH, gamma=gamma)
    result = run(law, 2.0, believed, robot, sample=0.002)
    assert result.status == "completed"
    true = robot if isinstance(robot, Robot) else Robot.load("two_link")
    wrong = result["parameter_hat"] - true.snapshot(true.neutral).inertial_parameters().ravel()
    rates = np.tile(np.repeat([4.0, 2.0, 1.0], [1, 3, 6]), 2)
    V = energy(true, result) + 0.5 * np.sum(wrong**2 / rates, axis=1)
    assert np.diff(V).max() <= RISE * V[0]
    taken = KD * np.sum(slide(result) ** 2, axis=1)
    np.testing.assert_allclose(V[:-2:2] - V[2::2], simpson(taken, 0.002), **QUADRATURE)


def test_the_estimate_removes_the_error_that_wrong_masses_leave():
    fixed = run(SlotineLi(kappa=KAPPA, kd=KD, path=PATH), 12.0, WRONG)
    gamma = {"mass": 20.0, "first_moment": 20.0, "inertia": 5.0}
    learned = run(SlotineLiAdaptive(kappa=KAPPA, kd=KD, path=PATH, gamma=gamma), 12.0, WRONG)
    late = slice(-100, None)
    assert np.abs(learned["phi"][late]).max() < 0.1 * np.abs(fixed["phi"][late]).max()
    np.testing.assert_allclose(learned["mass_hat"][0], 0.7 * np.array([2.0, 1.5]), **EXACT)


def test_zero_rates_leave_the_law_without_its_estimate():
    still = run(SlotineLiAdaptive(kappa=KAPPA, kd=KD, path=PATH, gamma=0.0), 0.5)
    fixed = run(SlotineLi(kappa=KAPPA, kd=KD, path=PATH), 0.5)
    np.testing.assert_allclose(still["q"], fixed["q"], rtol=0.0, atol=1e-9)


def refused(robot, controller, q=None):
    q = robot.neutral if q is None else q
    task = Task(robot=robot, servo=(), q=q, v=np.zeros(robot.nv), duration=1.0)
    return controller.start(task)


@pytest.mark.parametrize(
    ("make", "path", "error", "said"),
    [
        ("flexible_joint_arm", None, ModelError, 'quadratic in the velocities.*use kind = "servo"'),
        ("n_four_bar", None, InputError, 'must be an open chain.*it has \'.*kind = "servo"'),
        ("floating_arm", None, InputError, "joints of one freedom only.*'root' is not"),
    ],
)
def test_robots_without_the_structure_it_needs_are_refused(make, path, error, said):
    for law in (
        SlotineLi(kappa=1.0, kd=1.0, path=path),
        SlotineLiAdaptive(kappa=1.0, kd=1.0, gamma=1.0, path=path),
    ):
        with pytest.raises(error, match=said):
            refused(Robot.load(make), law)


def test_joints_left_out_and_unknown_rates_are_refused():
    robot = Robot.load("two_link")
    part = Expression(components=("t",))
    with pytest.raises(InputError, match="must name all of shoulder, elbow.*got 1 of 2"):
        refused(robot, SlotineLi(kappa=1.0, kd=1.0, joints=("elbow",), path=part))
    law = SlotineLiAdaptive(kappa=1.0, kd=1.0, gamma={"masses": 1.0}, path=PATH)
    with pytest.raises(InputError, match="'masses'; did you mean 'mass'"):
        refused(robot, law)
