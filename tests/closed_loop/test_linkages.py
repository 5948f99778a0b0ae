"""The planar mechanisms of the catalogue, each against a route that knows nothing of its rows."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.shared.slow import slow_but
from ukctrl import Robot, Scenario, check, simulate
from ukctrl_papers import parallelogram
from ukctrl_papers.recursive import three_rrr

ROUTES_AGREE = {"rtol": 0.0, "atol": 1e-8}
STARTS = [(-45, 0.0), (30, 0.0), (-80, 0.0), (-10, 0.0), (60, 0.0), (-90, 8.0)]
SLOW = [pytest.param(*start, marks=pytest.mark.slow) for start in STARTS[2:]]
FIVE_BAR = 3.5 * 9.81 / 3.05
"""Square of the pendulum's frequency that the five-bar linkage is [1/s^2]."""


def angle(run, name):
    return run["q"][:, run.labels.coordinates.index(name)]


def relative_energy_drift(run):
    return np.ptp(run["energy"]) / run["kinetic_energy"].max()


@pytest.mark.slow
@pytest.mark.parametrize(("degrees", "rate"), [*STARTS[:2], *SLOW])
def test_the_five_bar_linkage_is_a_pendulum_for_20_s_from_every_start(degrees, rate):
    """Jacobi's elliptic functions; the last four starts pass positions of lower rank."""
    changes = {"start.q.link1_angle": f"{degrees}*deg", "start.v": {"link1_angle": rate}}
    run = simulate(Scenario.load("five-bar", changes))
    assert run.status == "completed", run.message
    exact, _ = parallelogram.pendulum_motion(run.time, FIVE_BAR, np.deg2rad(degrees), rate)
    np.testing.assert_allclose(angle(run, "link1_angle"), exact, **ROUTES_AGREE)
    np.testing.assert_allclose(angle(run, "coupler_angle"), 0.0, **ROUTES_AGREE)
    assert relative_energy_drift(run) < 1e-9


@pytest.mark.parametrize("duration", [3.0, pytest.param(20.0, marks=pytest.mark.slow)])
def test_maximal_and_relative_coordinates_agree(duration):
    maximal, relative = (
        simulate(Scenario.load(f"five-bar{s}", {"timing.duration": duration}))
        for s in ("", "-relative")
    )
    for name in ("link1_angle", "link2_angle", "link3_angle"):
        np.testing.assert_allclose(angle(maximal, name), angle(relative, name), **ROUTES_AGREE)
    np.testing.assert_allclose(
        maximal["frame_position"][:, 1], relative["frame_position"][:, 1], **ROUTES_AGREE
    )
    np.testing.assert_allclose(maximal["energy"][0], relative["energy"][0], **ROUTES_AGREE)
    assert check(Scenario.load("five-bar")).start.passive.rank == 11
    assert check(Scenario.load("five-bar-relative")).start.passive.rank == 3


@pytest.mark.slow
def test_without_stabilisation_the_closures_open_exponentially():
    """A factor of 3.5 a second, once that has outgrown what the integration adds.

    How small it begins, and so when that is, rounding says.
    """
    run = simulate(Scenario.load("five-bar-drift", {"timing.duration": 30.0}))
    opened = np.linalg.norm(run["passive_phi"], axis=1)
    late = (opened > 1e-7) & (opened < 1e-2)
    assert np.ptp(run.time[late]) > 5.0
    rate = np.polyfit(run.time[late], np.log(opened[late]), 1)[0]
    assert 1.1 < rate < 1.4
    assert opened[-1] > 1e6 * simulate(Scenario.load("five-bar")).metric("peak_passive_phi")


@pytest.mark.slow
@pytest.mark.parametrize("loops", slow_but([1], [1, 2, 5]))
def test_n_four_bar_loops_pass_their_singular_positions_as_one_pendulum(loops):
    changes = {"robot.linkage.repeat.loop.count": loops}
    run = simulate(Scenario.load("n-four-bar", changes))
    assert run.status == "completed", run.message
    rods, couplers = loops + 1, loops
    square = 9.81 * (rods / 2 + couplers) / (rods / 3 + couplers)
    exact, _ = parallelogram.pendulum_motion(run.time, square, np.pi / 2, -1.0)
    assert np.ptp(exact) > 4 * np.pi  # it turns over: aligned twice a turn
    np.testing.assert_allclose(angle(run, "rod0_angle"), exact, **ROUTES_AGREE)
    assert run.metric("energy_drift") < 1e-8


@pytest.fixture(scope="module")
def platform():
    return simulate(Scenario.load("three-rrr"))


@pytest.mark.slow
def test_inverse_dynamics_of_the_3rrr_robot_are_those_of_its_platform(platform):
    """The Lagrangian in platform coordinates, its geometry in closed form."""
    needed = []
    for t in platform.time:
        s, s_dot, s_ddot = three_rrr.path(t)
        needed.append(three_rrr.torques(three_rrr.state(s, s_dot), s_ddot))
    np.testing.assert_allclose(platform["u"], needed, **ROUTES_AGREE)
    assert platform.metric("peak_phi") < 1e-10
    assert platform.metric("peak_passive_phi") < 1e-10


@pytest.mark.slow
def test_forward_dynamics_of_the_3rrr_robot_are_those_of_its_platform():
    names = ("platform_x", "platform_y", "platform_angle")
    start = [0.02, -0.01, 0.1, 0.06, 0.04, -0.5]
    scenario = Scenario(
        title="The platform is let go",
        robot="three_rrr",
        start={
            "q": dict(zip(names, start[:3], strict=True)),
            "v": dict(zip(names, start[3:], strict=True)),
            "solve": True,
            "hold": names,
        },
        timing={"duration": 1.0, "sample": 0.1},
    )
    run = simulate(scenario)

    def rates(t, state):
        at = three_rrr.state(state[:3], state[3:])
        return np.append(state[3:], three_rrr.reduced_accelerations(at, np.zeros(3))[-3:])

    alone = solve_ivp(rates, (0.0, 1.0), start, "DOP853", run.time, rtol=1e-11, atol=1e-12)
    found = np.stack([angle(run, name) for name in names])
    np.testing.assert_allclose(found, alone.y[:3], **ROUTES_AGREE)


@pytest.mark.slow
def test_six_motors_do_what_three_do_with_less(platform):
    """Virtual work: elbow motors push the lower link on and the upper one back."""
    run = simulate(Scenario.load("three-rrr-redundant"))
    assert run.labels.actuators == ("foot0", "elbow0", "foot1", "elbow1", "foot2", "elbow2")
    np.testing.assert_allclose(run["q"], platform["q"], **ROUTES_AGREE)
    least, three = (np.sum(r["u"] ** 2, axis=1) for r in (run, platform))
    assert (least <= three).all()
    assert run.metric("effort") < 0.6 * platform.metric("effort")
    for k in range(0, len(run.time), 50):
        s, s_dot, s_ddot = three_rrr.path(run.time[k])
        at = three_rrr.state(s, s_dot)
        feet, elbows = np.zeros((18, 3)), np.zeros((18, 3))
        for leg in range(3):
            feet[5 * leg, leg] = 1.0
            elbows[[5 * leg + 4, 5 * leg + 1], leg] = 1.0, -1.0
        pushed = at.T.T @ (feet @ run["u"][k, ::2] + elbows @ run["u"][k, 1::2])
        needed = at.T.T @ three_rrr.mass() @ (at.T @ s_ddot + at.drift)
        np.testing.assert_allclose(pushed, needed, **ROUTES_AGREE)
        B = at.T.T @ np.hstack([feet, elbows])
        shortest = np.linalg.pinv(B) @ needed
        np.testing.assert_allclose(run["u"][k], shortest.reshape(2, 3).T.ravel(), **ROUTES_AGREE)


@pytest.mark.slow
def test_check_says_how_the_platform_is_driven():
    three, six = (check(Scenario.load(f"three-rrr{s}")) for s in ("", "-redundant"))
    assert (three.start.freedoms, three.start.mobility, three.start.motors) == (21, 3, 3)
    assert (three.start.actuation, six.start.actuation) == ("fully", "redundantly")
    assert three.ok
    assert six.ok


def test_the_robot_is_drawn_closed():
    for name in ("five_bar", "n_four_bar", "three_rrr"):
        robot = Robot.load(name)
        for table in robot.passive:
            ends = [robot.snapshot(robot.home).frame(f).position for f in table["frames"]]
            np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-12)
