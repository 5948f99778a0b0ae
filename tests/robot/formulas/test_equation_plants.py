"""A plant written as its Lagrangian is the plant that Pinocchio makes of its bodies."""

import numpy as np
import pytest

from ukctrl.robot import Lagrangian, Robot

EXACT = {"rtol": 0.0, "atol": 1e-10}  # algebra on matrices of size one
ENERGY = {"rtol": 0.0, "atol": 1e-8}  # central differences over 1e-5: h^2 of third derivatives

# Positions of the centres of mass and turning rates, written down from the geometry alone.
TWO_LINK = Robot.build(
    Lagrangian(
        coordinates=["shoulder", "elbow"],
        kinetic=[
            "m1/2*(c1*v.shoulder)**2 + I1/2*v.shoulder**2",
            "m2/2*(-l1*sin(shoulder)*v.shoulder - c2*sin(shoulder+elbow)*(v.shoulder+v.elbow))**2",
            "m2/2*(l1*cos(shoulder)*v.shoulder + c2*cos(shoulder+elbow)*(v.shoulder+v.elbow))**2",
            "I2/2*(v.shoulder + v.elbow)**2",
        ],
        potential=["m1*g*c1*sin(shoulder)", "m2*g*(l1*sin(shoulder) + c2*sin(shoulder+elbow))"],
        parameters={
            "m1": 2.0,
            "c1": 0.25,
            "I1": 0.041866666666666667,
            "l1": 0.5,
            "m2": 1.5,
            "c2": 0.25,
            "I2": 0.0314,
            "g": 9.81,
        },
    ),
    name="two_link",
)


def scara():
    """Return the SCARA with the constants that its URDF implies, read off its mass matrix."""
    robot = Robot.load("scara")
    M = robot.snapshot(np.zeros(4)).M
    turned = robot.snapshot([0.0, np.pi / 2, 0.0, 0.0]).M
    return robot, {
        "alpha": turned[0, 0] - turned[1, 1],
        "beta": M[1, 1],
        "gamma": M[0, 1] - M[1, 1],
        "delta": M[2, 2],
        "m4": M[3, 3],
    }


def written_scara():
    robot, parameters = scara()
    made = Robot.build(
        Lagrangian(
            coordinates={"q1": "rad", "q2": "rad", "q3": "rad", "q4": "m"},
            kinetic=[  # equation (34) of Xu & Liu: delta is the inertia of all that turns with q3
                "(alpha + beta + 2*gamma*cos(q2))/2*v.q1**2 + beta/2*v.q2**2",
                "(beta + gamma*cos(q2))*v.q1*v.q2 + delta*(v.q1 + v.q2)*v.q3 + delta/2*v.q3**2",
                "m4/2*v.q4**2",
            ],
            potential="m4*9.81*q4",
            parameters=parameters,
        )
    )
    return robot, made


PAIRS = {"two_link": lambda: (Robot.load("two_link"), TWO_LINK), "scara": written_scara}


@pytest.fixture(params=PAIRS)
def pair(request):
    return PAIRS[request.param]()


@pytest.mark.parametrize("seed", range(10))
def test_the_derived_dynamics_are_pinocchios(pair, seed):
    bodies, formulas = pair
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-3.0, 3.0, bodies.nq), rng.standard_normal(bodies.nv)
    one, other = bodies.snapshot(q, v), formulas.snapshot(q, v)
    np.testing.assert_allclose(other.M, one.M, **EXACT)
    np.testing.assert_allclose(other.nle, one.nle, **EXACT)
    np.testing.assert_allclose(other.gravity, one.gravity, **EXACT)
    np.testing.assert_allclose(other.energy().kinetic, one.energy().kinetic, **EXACT)


def test_potentials_differ_by_a_constant(pair):
    bodies, formulas = pair
    rng = np.random.default_rng(0)
    states = rng.uniform(-3.0, 3.0, (5, bodies.nq))
    difference = [
        formulas.snapshot(q).energy().potential - bodies.snapshot(q).energy().potential
        for q in states
    ]
    np.testing.assert_allclose(difference, difference[0], **EXACT)


# Degree two, one and zero in the velocities, and time: a bead on a spinning, pumped hoop.
EVERYTHING = Robot.build(
    Lagrangian(
        coordinates={"x": "m", "th": "rad"},
        kinetic="m/2*(v.x + 0.3*cos(2*t))**2 + m/2*(l*v.th + w*sin(x))**2 + k*x*v.th*cos(th)/9",
        potential="k/2*x**2*(1 + 0.2*sin(3*t)) - m*g*l*cos(th)",
        dissipation="c/2*(v.x - l*v.th)**2",
        parameters={"m": 1.3, "l": 0.7, "w": 0.9, "k": 4.0, "g": 9.81, "c": 0.2},
    )
)


@pytest.mark.parametrize("seed", range(5))
def test_energy_changes_by_the_power_of_forces_and_of_time(seed):
    """dE/dt along the motion, by differences, is the power that the run's balance counts."""
    rng = np.random.default_rng(seed)
    q, v, t = rng.standard_normal(2), rng.standard_normal(2), 0.4
    s = EVERYTHING.snapshot(q, v, t)
    a = np.linalg.solve(s.M, s.f - s.nle)
    power = s.f @ v + s.stored[1]

    def energy(h):
        there = EVERYTHING.snapshot(q + h * v + h * h / 2 * a, v + h * a, t + h).energy()
        return there.kinetic + there.potential

    h = 1e-5
    np.testing.assert_allclose((energy(h) - energy(-h)) / (2 * h), power, **ENERGY)


@pytest.mark.parametrize("seed", range(5))
def test_lagranges_equations_hold_along_the_motion(seed):
    """d(dL/dv)/dt - dL/dq - Q = 0, every derivative of the text taken by differences."""
    rng = np.random.default_rng(seed)
    q, v, t = rng.standard_normal(2), rng.standard_normal(2), 0.7
    s = EVERYTHING.snapshot(q, v, t)
    a = np.linalg.solve(s.M, s.f - s.nle)
    m, l, w, k, g, c = EVERYTHING.parameters.values()  # noqa: E741

    def L(q, v, t):
        T = m / 2 * (v[0] + 0.3 * np.cos(2 * t)) ** 2 + m / 2 * (l * v[1] + w * np.sin(q[0])) ** 2
        T += k * q[0] * v[1] * np.cos(q[1]) / 9
        return T - k / 2 * q[0] ** 2 * (1 + 0.2 * np.sin(3 * t)) + m * g * l * np.cos(q[1])

    h = 1e-4
    units = np.eye(2)

    def momentum(q, v, t):
        return np.array([(L(q, v + h * e, t) - L(q, v - h * e, t)) / (2 * h) for e in units])

    p_dot = (
        momentum(q + h * v + h * h / 2 * a, v + h * a, t + h)
        - momentum(q - h * v + h * h / 2 * a, v - h * a, t - h)
    ) / (2 * h)
    L_q = np.array([(L(q + h * e, v, t) - L(q - h * e, v, t)) / (2 * h) for e in units])
    Q = -c * (v[0] - l * v[1]) * np.array([1.0, -l])
    np.testing.assert_allclose(s.f, Q, **EXACT)
    np.testing.assert_allclose(p_dot - L_q, Q, rtol=0.0, atol=1e-6)
