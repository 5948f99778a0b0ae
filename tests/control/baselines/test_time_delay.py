"""Time-delay control: the difference equation of the textbook, and how large its inertia may be."""

import numpy as np
import pytest
from scipy.linalg import expm

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import TimeDelay
from ukctrl.control.baselines.time_delay import bounding_diagonal_inertia
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.mechanics.reference import Expression as Formula
from ukctrl.robot import Lagrangian

INTEGRATED = {"rtol": 0.0, "atol": 1e-9}
PERIOD, MASS, STIFF, KP, KD = 0.01, 3.0, 7.0, 100.0, 20.0
HELD = {"duration": 1.0, "sample": PERIOD, "control": PERIOD}
SPRING = Robot.build(
    Lagrangian(
        coordinates={"x": "m"}, kinetic="m/2*v.x**2", potential="k/2*x**2 + 2*x",
        parameters={"m": MASS, "k": STIFF}, inputs={"F": {"x": 1.0}},
    )
)  # fmt: skip


def run(robot=SPRING, **more):
    law = {"kp": KP, "kd": KD, **more.pop("law", {})}
    given = {
        "title": "Held", "robot": robot, "controller": TimeDelay(**law),
        "servo": (JointFollows(joints=("x",), path=Constant(value=(0.5,))),),
        "timing": HELD,
        "integrator": {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13},
    }  # fmt: skip
    return simulate(Scenario(**{**given, **more}))


@pytest.mark.parametrize("inertia", [2.0, 4.5])
def test_it_is_the_textbook_s_difference_equation(inertia):
    """A mass on a spring under gravity, exact from tick to tick; the law knows neither."""
    A = np.zeros((4, 4))
    A[0, 1], A[1] = 1.0, [-STIFF / MASS, 0.0, 1.0 / MASS, -2.0 / MASS]
    flow, x = expm(A * PERIOD), np.array([0.0, 0.0, 0.0, 1.0])
    places, inputs, before = [x[0]], [], None
    for _ in range(100):
        a = 0.0 if before is None else (x[1] - before[0]) / PERIOD
        u = 0.0 if before is None else before[1]
        u = u + inertia * (-KD * x[1] - KP * (x[0] - 0.5) - a)
        before, x[2] = (x[1], u), u
        x = flow @ x
        places.append(x[0])
        inputs.append(u)
    found = run(law={"inertia": inertia})
    np.testing.assert_allclose(found["q"][:, 0], places, **INTEGRATED)
    np.testing.assert_allclose(found["u"][:-1, 0], inputs, rtol=0.0, atol=1e-6)


def test_without_an_inertia_it_is_the_believed_one():
    np.testing.assert_allclose(run()["q"], run(law={"inertia": MASS})["q"], **INTEGRATED)


def test_gravity_and_springs_leave_no_error_though_nobody_told_of_them():
    found = run(timing={"duration": 3.0, "sample": 0.1, "control": PERIOD})
    assert found.metric("final_phi") < 1e-9
    weight = -2.0 - 0.5 * STIFF
    np.testing.assert_allclose(found["disturbance_hat"][-1], weight, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(("inertia", "status"), [(1.9 * MASS, "completed"), (2.1 * MASS, "grows")])
def test_an_inertia_of_twice_the_true_one_is_the_border(inertia, status):
    u = np.abs(run(law={"inertia": inertia, "kp": 1.0, "kd": 2.0})["u"][:, 0])
    assert (u[-10:].max() > 10.0 * u[:10].max()) == (status == "grows")


@pytest.mark.parametrize("name", ["scara", "ur5", "panda"])
def test_the_inertia_that_is_taken_is_the_largest_below_the_robot_s(name):
    robot = Robot.load(name)
    M = robot.snapshot(robot.random(np.random.default_rng(2))).M
    for moved in (np.ones(robot.nv, dtype=bool), np.arange(robot.nv) < 3):
        inertia = bounding_diagonal_inertia(M, moved)
        assert (inertia[~moved] == 0.0).all()
        least = np.linalg.eigvalsh(M - np.diag(inertia)).min()
        np.testing.assert_allclose(least, 0.0, rtol=0.0, atol=1e-12)


@pytest.mark.slow(only=["three-rrr"])
@pytest.mark.parametrize("name", ["scara-helix", "ur5-pose", "three-rrr"])
def test_arms_and_closed_chains_follow_without_a_model(name):
    base = Scenario.load(name, {"timing.duration": 1.0, "timing.control": 0.001})
    found = simulate(base.replace({"controller": {"use": "time-delay"}}))
    assert found.status == "completed", found.message
    assert "TimeDelay" not in found.provenance["loop"]["python"]
    assert found.metric("final_phi") < 5e-3


def test_a_smaller_bandwidth_filters_noise():
    noise = {"effect": ({"kind": "noise", "std": 0.0, "v_std": 1e-3},)}
    fast, slow = run(**noise), run(law={"bandwidth": 0.2 / PERIOD}, **noise)
    quiet = [np.abs(np.diff(each["u"][50:, 0])).mean() for each in (fast, slow)]
    assert quiet[0] > 3.0 * quiet[1]


@pytest.mark.parametrize(
    ("law", "timing", "said"),
    [
        ({}, {"duration": 1.0}, "give timing.control, or a bandwidth"),
        ({"bandwidth": 200.0}, HELD, "at most one over the control"),
        ({"inertia": (1.0, 2.0)}, HELD, "one number a row, 1; got 2"),
    ],
)
def test_what_does_not_fit_the_task_is_refused(law, timing, said):
    with pytest.raises(GainError, match=said):
        run(law=law, timing=timing)


@pytest.mark.parametrize("name", ["cart_pole", "pendubot"])
def test_too_few_motors_are_refused(name):
    robot = Robot.load(name)
    q, v = robot.neutral, np.zeros(robot.nv)
    loose, path = robot.dofs[-1], Constant(value=(0.0,))
    rows = (JointFollows(joints=(loose,), path=path),)
    task = Task(robot=robot, servo=rows, q=q, v=v, period=PERIOD, duration=1.0)
    with pytest.raises(InputError, match=f"motors of their own; '{loose}' has none"):
        TimeDelay(kp=KP, kd=KD, joints=(loose,), path=path).start(task)


def test_a_cart_is_followed_while_its_pole_swings_as_it_will():
    rows = (JointFollows(joints=("cart",), path=Formula(components=("0.1*sin(3*t)",))),)
    found = run(
        Robot.load("cart_pole"), servo=rows, law={"joints": ("cart",)},
        timing={"duration": 2.0, "sample": 0.01, "control": 0.001},
    )  # fmt: skip
    assert found.status == "completed"
    away = np.abs(found["q"][:, 0] - 0.1 * np.sin(3.0 * found.time))
    assert away[-50:].max() < 2e-3
    assert np.ptp(found["q"][:, 1]) > 0.05


@pytest.mark.parametrize("inertia", [0.0, -1.0, (1.0, -1.0)])
def test_an_inertia_must_be_positive(inertia):
    with pytest.raises(InputError, match="inertia"):
        TimeDelay(kp=KP, kd=KD, inertia=inertia)
