"""The SCARA robot on its helix: three rungs, one answer, and the paper's numbers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, simulate, uk
from ukctrl.control import Baumgarte, LeastNorm, Servo
from ukctrl.mechanics.constraints import Expression, PointFollows
from ukctrl.mechanics.reference import Expression as PathExpression
from ukctrl.simulation.scenario import IntegratorOptions, StartState, Timing

OMEGA = 0.4 * np.pi
L1, L2 = 0.2, 0.25


@pytest.fixture(scope="module")
def helix():
    return simulate(Scenario.load("scara-helix"))


def rows_of_the_paper(t, q, v, alpha=0.0, beta=0.0):
    """Return A and b of eqs (48)-(49) and (54), written out by hand."""
    s1, c1 = np.sin(q[0]), np.cos(q[0])
    s12, c12 = np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
    v12 = v[0] + v[1]
    A = np.array(
        [
            [-L1 * c1 - L2 * c12, -L2 * c12, 0.0, 0.0],
            [-L1 * s1 - L2 * s12, -L2 * s12, 0.0, 0.0],
            [1.0, 1.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    s, c = 0.05 * np.sin(OMEGA * t), 0.05 * np.cos(OMEGA * t)
    phi = np.array(
        [-L1 * s1 - L2 * s12 - s, L1 * c1 + L2 * c12 - 0.35 - c, q[:3].sum(), q[3] - 0.02 * t]
    )
    phi_dot = A @ v - np.array([OMEGA * c, -OMEGA * s, 0.0, 0.02])
    b = np.array(
        [
            -(v[0] ** 2) * L1 * s1 - v12**2 * L2 * s12 - OMEGA**2 * s,
            v[0] ** 2 * L1 * c1 + v12**2 * L2 * c12 - OMEGA**2 * c,
            0.0,
            0.0,
        ]
    )
    return A, b - alpha * phi_dot - beta * phi


def mass_and_force_of_the_paper(q, v, g=9.81):
    """Return M and Q = -C v - G of eqs (34)-(36)."""
    m1, m2, m3, m4 = 20.0, 15.0, 15.0, 0.5
    r1, r2 = 0.1, 0.125
    I1, I2, I3, I4 = 0.27, 0.31, 0.02, 0.0001
    a = I1 + r1**2 * m1 + L1**2 * (m2 + m3 + m4)
    b = I2 + I3 + I4 + L2**2 * (m3 + m4) + m2 * r2**2
    g_ = L1 * L2 * (m3 + m4) + L1 * m2 * r2
    d = I3 + I4
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    M = np.array(
        [
            [a + b + 2 * g_ * c2, b + g_ * c2, d, 0.0],
            [b + g_ * c2, b, d, 0.0],
            [d, d, d, 0.0],
            [0.0, 0.0, 0.0, m4],
        ]
    )
    coriolis = np.array(
        [-g_ * s2 * v[1] * v[0] - g_ * s2 * (v[0] + v[1]) * v[1], g_ * s2 * v[0] ** 2, 0.0, 0.0]
    )
    return M, -coriolis - np.array([0.0, 0.0, 0.0, m4 * g])


def test_the_tool_stays_on_the_helix_for_twenty_seconds(helix):
    assert helix.status == "completed"
    assert helix.time[-1] == 20.0
    assert helix.metric("peak_phi") <= 1e-8
    assert helix.metric("peak_beta") <= 1e-8


def test_python_objects_give_the_very_same_numbers_as_the_file(helix):
    q2 = np.arccos(0.575)
    q1 = -np.arctan2(0.25 * np.sin(q2), 0.2 + 0.25 * 0.575)
    path = PathExpression(x="0.05*sin(0.4*pi*t)", y="0.35 + 0.05*cos(0.4*pi*t)", z="0.02*t")
    scenario = Scenario(
        title="by hand",
        robot=Robot.load("scara"),
        servo=(
            PointFollows(frame="tool", path=path),
            Expression(phi="q1 + q2 + q3", name="orientation"),
        ),
        controller=Servo(feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=LeastNorm()),
        start=StartState(q=(q1, q2, -q1 - q2, 0.0), v=(-0.05 * np.pi, 0.0, 0.05 * np.pi, 0.02)),
        timing=Timing(duration=20.0),
        integrator=IntegratorOptions(method="DOP853", rtol=1e-9, atol=1e-11),
    )
    by_hand = simulate(scenario)
    for name in ("q", "v", "a", "u", "phi", "beta"):
        np.testing.assert_array_equal(by_hand[name], helix[name])


def test_arrays_and_the_formulas_of_the_paper_give_the_same_torques(helix):
    for k in range(0, len(helix.time), 100):
        q, v = helix["q"][k], helix["v"][k]
        A, b = rows_of_the_paper(helix.time[k], q, v, alpha=20.0, beta=100.0)
        M, Q = mass_and_force_of_the_paper(q, v)
        a_free, G = uk.affine_acceleration(M, Q, np.eye(4))
        u = uk.servo_input(A, b, a_free, G)
        np.testing.assert_allclose(helix["u"][k], u, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(helix["a"][k], a_free + G @ u, rtol=0.0, atol=1e-10)


def test_another_integrator_on_the_formulas_of_the_paper_gives_the_same_motion(helix):
    def rate(t, y):
        q, v = y[:4], y[4:]
        A, b = rows_of_the_paper(t, q, v, alpha=20.0, beta=100.0)
        M, Q = mass_and_force_of_the_paper(q, v)
        force = uk.constraint_force(M, Q, A, b)
        return np.concatenate([v, np.linalg.solve(M, Q + force)])

    start = np.concatenate([helix["q"][0], helix["v"][0]])
    times = helix.time[:501:50]
    other = solve_ivp(rate, (0.0, 5.0), start, "LSODA", times, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(helix["q"][:501:50], other.y[:4].T, rtol=0.0, atol=1e-8)


def test_the_first_torques_are_those_of_the_exact_path(helix):
    # ERRATA section 2, for the branch q2 > 0 and g = 9.81
    np.testing.assert_allclose(helix["u"][0], [-0.27471, 0.20767, 0.0, 4.905], rtol=0.0, atol=5e-6)
    np.testing.assert_allclose(helix["u"][:, 2], 0.0, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(helix["u"][:, 3], 4.905, rtol=0.0, atol=1e-9)


STARTS = {
    "signs restored, elbow right": ((30, -55, 24), (5.65e-3, 1.78e-2, 1.00e-2, 1.75e-2)),
    "signs restored, elbow left": ((-30, 55, -24), (7.43e-3, 1.73e-2, 1.00e-2, 1.95e-2)),
    "whole degrees, elbow left": ((-31, 55, -24), (1.32e-3, 4.54e-3, 1.00e-2, 2.0e-3)),
    "whole degrees, elbow right": ((31, -55, 24), (2.98e-3, 4.18e-3, 1.00e-2, 2.0e-3)),
}


@pytest.mark.parametrize(("angles", "largest"), STARTS.values(), ids=STARTS.keys())
def test_without_stabilisation_the_error_grows_linearly_to_the_known_maxima(angles, largest):
    start = dict(zip(["q1", "q2", "q3"], np.radians(angles).tolist(), strict=True))
    drift = simulate(Scenario.load("scara-helix-drift", {"start.q": {**start, "q4": 0.0}}))
    assert drift.status == "completed"
    phi, time = drift["phi"], drift.time[:, None]
    np.testing.assert_allclose(np.abs(phi).max(axis=0), largest, rtol=5e-3)
    exactly = phi[0] + time * drift["beta"][0]
    np.testing.assert_allclose(phi, exactly, rtol=0.0, atol=2e-8)


def test_the_printed_angles_taken_literally_meet_the_workspace_boundary():
    literal = {"q1": "30*deg", "q2": "55*deg", "q3": "24*deg", "q4": 0.0}
    run = simulate(Scenario.load("scara-helix-drift", {"start.q": literal}))
    assert run.status in ("diverged", "infeasible")
    assert 2.11 <= run.time[-1] <= 2.12  # det A = 0 at t = 2.120 s


def test_baumgarte_brings_the_error_back_at_the_predicted_rate():
    run = simulate(Scenario.load("scara-helix-baumgarte"))
    assert run.status == "completed"
    # phi'' + 0.5 phi' + 200 phi = 0, solved in closed form from the start
    decay, omega = 0.25, np.sqrt(200.0 - 0.25**2)
    t = run.time[:, None]
    phi0, beta0 = run["phi"][0], run["beta"][0]
    closed = np.exp(-decay * t) * (
        phi0 * np.cos(omega * t) + (beta0 + decay * phi0) / omega * np.sin(omega * t)
    )
    np.testing.assert_allclose(run["phi"], closed, rtol=0.0, atol=1e-8)
    assert np.abs(run["phi"][:, 2]).max() <= 3.5e-5
    assert abs(run["phi"][0, 0]) == pytest.approx(5.65e-3, rel=2e-3)
