"""The derivatives that laws for elastic joints take along a motion, by independent routes."""

import mpmath
import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot, Task
from ukctrl.control import Baumgarte, ElasticLinearisation
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.constraints import Expression, JointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant

H = 3e-3
TEN_DIGITS = {"rtol": 1e-9, "atol": 1e-9}


def motion(links, rng, size=1.0):
    """Return a random motion of links; that of their motors does not matter."""
    k, m = links.n_joints, links.new_motion()
    m.q[:] = links.robot.random(rng)
    for rate in (m.v, m.a, m.jerk):
        rate[:k] = size * rng.uniform(-1, 1, k)
    return m


def law_of(robot):
    rows = JointFollows(joints=robot.dofs[:7], path=Constant(value=(0.0,) * 7))
    spec = ElasticLinearisation(feedback=Baumgarte(alpha=20.0, beta=100.0), alpha=80.0, beta=1600.0)
    start = {"q": robot.neutral, "v": np.zeros(robot.nv)}
    return spec.start(Task(robot=robot, servo=(rows,), **start))


@pytest.mark.parametrize("seed", range(5))
def test_the_load_changes_as_pinocchios_derivatives_of_inverse_dynamics_say(seed):
    """d/dt ID(q, v, a) = dID/dq v + dID/dv a + M j, exactly; its rate by extrapolation of that."""
    robot, model = Robot.load("panda_elastic"), Robot.load("panda").model
    links, data = law_of(robot).links, model.createData()
    m = motion(links, np.random.default_rng(seed))
    q, v, a, jerk = m.q[:7].copy(), m.v[:7], m.a[:7], m.jerk[:7]

    def rate(tau):
        q_there = pin.integrate(model, q, tau * (v + tau / 2.0 * (a + tau / 3.0 * jerk)))
        v_there, a_there = v + tau * (a + tau / 2.0 * jerk), a + tau * jerk
        pin.computeRNEADerivatives(model, data, q_there, v_there, a_there)
        M = pin.crba(model, data, q_there)
        return data.dtau_dq @ v_there + data.dtau_dv @ a_there + M @ jerk

    centre, rates = np.array(pin.rnea(model, data, q, v, a)), np.zeros((2, 7))
    KernelSequence((links.load_derivative_step(m, H, centre, rates),))()
    np.testing.assert_allclose(rates[0], rate(0.0), **TEN_DIGITS)
    coarse, fine = ((rate(h) - rate(-h)) / (2.0 * h) for h in (2e-4, 1e-4))
    exact = (4.0 * fine - coarse) / 3.0
    np.testing.assert_allclose(rates[1], exact, rtol=1e-7, atol=1e-7)


def paper(q, v, u):
    """Accelerations of links and motors of the flexible-joint arm, in mpmath: (66)-(68)."""
    c, s = mpmath.cos(q[1]), mpmath.sin(q[1])
    D = mpmath.matrix([[3.5 + c, 1.25 + c / 2], [1.25 + c / 2, 1.25]])
    g = mpmath.mpf("9.81")
    tip = g / 2 * mpmath.sin(q[0] + q[1])
    rest = mpmath.matrix(
        [
            -s * v[0] * v[1] - s * v[1] ** 2 / 2 + g * 1.5 * mpmath.sin(q[0]) + tip,
            s * v[0] ** 2 / 2 + tip,
        ]
    )
    spring = mpmath.matrix([q[2] - q[0], q[3] - q[1]])
    a = mpmath.lu_solve(D, spring - rest)
    return [a[0], a[1], u[0] - spring[0], u[1] - spring[1]]


def taylor_of_rows(q, v, u, rows):
    """The derivatives 0 to 4 of rows along the arm's motion, from its Taylor series."""
    with mpmath.workdps(40):
        state = [mpmath.mpf(float(x)) for x in (*q, *v)]
        u = [mpmath.mpf(float(x)) for x in u]
        flow = mpmath.odefun(lambda t, y: [*y[4:], *paper(y[:4], y[4:], u)], 0, state, tol=1e-35)
        times = [mpmath.mpf(k) / 500 for k in range(-6, 7)]
        back = mpmath.odefun(
            lambda t, y: [-x for x in (*y[4:], *paper(y[:4], y[4:], u))], 0, state, tol=1e-35
        )
        found = []
        for row in rows:
            values = [row(flow(t) if t >= 0 else back(-t), t) for t in times]
            poly = mpmath.lu_solve(
                mpmath.matrix([[t**n for n in range(13)] for t in times]), mpmath.matrix(values)
            )
            found.append([float(poly[n] * mpmath.factorial(n)) for n in range(5)])
    return np.array(found)


ROWS = (
    lambda y, t: mpmath.sin(y[0]) + mpmath.sin(y[0] + y[1]) / 2 - mpmath.mpf("0.6") - t**3 / 10,
    lambda y, t: (
        mpmath.cos(y[0]) + mpmath.cos(y[0] + y[1]) / 2 - mpmath.mpf("1.1") - mpmath.sin(t) / 5
    ),
)
TIP = Expression(
    phi=(
        "sin(q2) + 0.5*sin(q2 + q4) - 0.6 - t**3/10",
        "cos(q2) + 0.5*cos(q2 + q4) - 1.1 - sin(t)/5",
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_fourth_derivative_of_curved_rows_is_the_one_that_was_designed(seed):
    """By the Taylor series of the paper's own equations, in 40 digits."""
    rng = np.random.default_rng(seed)
    robot = Robot.load("flexible_joint_arm")
    q = np.array([0.4, 0.7, 0.4, 0.7]) + 0.2 * rng.uniform(-1, 1, 4)
    v = rng.uniform(-1, 1, 4)
    a1, b1, a2, b2 = 3.0, 5.0, 7.0, 11.0
    spec = ElasticLinearisation(feedback=Baumgarte(alpha=a1, beta=b1), alpha=a2, beta=b2)
    law = spec.start(Task(robot=robot, servo=(TIP,), q=q, v=v))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, v)
    y = taylor_of_rows(q, v, law.step(dynamics, law.memory).u, ROWS)
    designed = np.polymul([1.0, a1, b1], [1.0, a2, b2])[::-1]
    np.testing.assert_allclose(y @ designed, 0.0, atol=1e-7 * np.abs(y).max())
