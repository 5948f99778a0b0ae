"""The SCARA of Xu & Liu 2017: our URDF against the closed forms (34)-(36) and (39)."""

import numpy as np
import pytest

from ukctrl.robot import Robot

EXACT = {"rtol": 0.0, "atol": 1e-12}  # the tolerance, with numbers of order 1 to 50

m1, m2, m3, m4 = 20.0, 15.0, 15.0, 0.5
l0, l1, l2, r1, r2 = 0.0, 0.2, 0.25, 0.1, 0.125
Iz1, Iz2, Iz3, Iz4 = 0.27, 0.31, 0.02, 0.0001
g = 9.81
alpha = Iz1 + r1**2 * m1 + l1**2 * (m2 + m3 + m4)
beta = Iz2 + Iz3 + Iz4 + l2**2 * (m3 + m4) + m2 * r2**2
gamma = l1 * l2 * (m3 + m4) + l1 * m2 * r2
delta = Iz3 + Iz4


@pytest.fixture(scope="module")
def scara():
    return Robot.load("scara")


@pytest.fixture(params=range(20))
def snapshot(request, scara):
    rng = np.random.default_rng(request.param)
    return scara.snapshot(rng.uniform(-np.pi, np.pi, 4), rng.standard_normal(4))


def test_the_mass_matrix_is_equation_34(snapshot):
    c2 = np.cos(snapshot.q[1])
    expected = [
        [alpha + beta + 2 * gamma * c2, beta + gamma * c2, delta, 0],
        [beta + gamma * c2, beta, delta, 0],
        [delta, delta, delta, 0],
        [0, 0, 0, m4],
    ]
    np.testing.assert_allclose(snapshot.M, expected, **EXACT)


def test_the_bias_is_equation_35_times_the_velocity_plus_equation_36(snapshot):
    s2, v = np.sin(snapshot.q[1]), snapshot.v
    C = np.zeros((4, 4))
    C[0, :2] = -gamma * s2 * v[1], -gamma * s2 * (v[0] + v[1])
    C[1, 0] = gamma * s2 * v[0]
    G = np.array([0.0, 0.0, 0.0, m4 * g])
    np.testing.assert_allclose(snapshot.nle, C @ v + G, **EXACT)
    np.testing.assert_allclose(snapshot.gravity, G, **EXACT)


def test_the_tool_is_where_equation_39_says(snapshot):
    q1, q2, q3, q4 = snapshot.q
    c, s = np.cos(q1 + q2 + q3), np.sin(q1 + q2 + q3)
    tool = snapshot.frame("tool")
    expected = [
        -l1 * np.sin(q1) - l2 * np.sin(q1 + q2), l1 * np.cos(q1) + l2 * np.cos(q1 + q2), l0 + q4
    ]  # fmt: skip
    np.testing.assert_allclose(tool.position, expected, **EXACT)
    np.testing.assert_allclose(tool.rotation, [[c, -s, 0], [s, c, 0], [0, 0, 1]], **EXACT)


def test_the_tools_rows_are_those_of_equation_49(snapshot):
    (q1, q2, _, _), v = snapshot.q, snapshot.v
    s1, c1, s12, c12 = np.sin(q1), np.cos(q1), np.sin(q1 + q2), np.cos(q1 + q2)
    tool = snapshot.frame("tool")
    A = [[-l1 * c1 - l2 * c12, -l2 * c12, 0, 0], [-l1 * s1 - l2 * s12, -l2 * s12, 0, 0]]
    w = v[0] + v[1]
    drift = [l1 * s1 * v[0] ** 2 + l2 * s12 * w**2, -l1 * c1 * v[0] ** 2 - l2 * c12 * w**2]
    np.testing.assert_allclose(tool.J[:2], A, **EXACT)
    np.testing.assert_allclose(tool.drift[:2], drift, **EXACT)


def test_the_torques_at_the_start_of_the_exact_path_are_those_of_the_errata(scara):
    """Constraint torques on the branch q2 > 0 at t = 0: (-0.27471, 0.20767, 0, 4.905)."""
    q = np.append(np.deg2rad([-30.7535, 54.9004, -24.1468]), 0.0)
    A = np.zeros((4, 4))
    s = scara.snapshot(q)
    A[:3], A[3] = s.frame("tool").J[:3], s.frame("tool").J[5]
    w = 0.4 * np.pi
    v = np.linalg.solve(A, [0.05 * w, 0.0, 0.02, 0.0])
    s = scara.snapshot(q, v)
    tool = s.frame("tool")
    drift = np.append(tool.drift[:3], tool.drift[5])
    a = np.linalg.solve(A, np.array([0.0, -0.05 * w**2, 0.0, 0.0]) - drift)
    np.testing.assert_allclose(
        s.M @ a + s.nle, [-0.27471, 0.20767, 0.0, 4.905], rtol=0.0, atol=2e-5
    )  # the errata print five digits, and the angles six


def test_the_names_are_the_papers(scara):
    assert scara.coordinates == ("q1", "q2", "q3", "q4")
    assert scara.actuators == ("u1", "u2", "u3", "u4")
    assert scara.actuator_units == ("N m", "N m", "N m", "N")
    assert np.isinf(scara.effort_limit).all()
    assert scara.audit == ()
