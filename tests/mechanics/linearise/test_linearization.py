"""Linear systems near a state, beside closed forms, differences and reduced coordinates."""

import numpy as np
import pytest
from cart_pole import GRAVITY, cart_pole
from extras import needs

from ukctrl import Robot, Scenario
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.errors import InputError, ShapeError
from ukctrl.mechanics.consistent_state import (
    consistent_configuration,
    consistent_state,
    random_consistent_configuration,
)
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains, passive_constraints
from ukctrl.mechanics.integrability import positional_rows
from ukctrl.mechanics.linearise import ConstraintNullSpace, Linearizer, equilibrium, linearize
from ukctrl.mechanics.linearise.directional_differences import DirectionalDifferences
from ukctrl.mechanics.linearise.plant_jacobians import force_jacobians, split_smooth_forces
from ukctrl.robot import (
    DryFriction,
    JointSpring,
    Lagrangian,
    Options,
)
from ukctrl.simulation.assemble import Loop

CLOSED = {"rtol": 0.0, "atol": 1e-10}  # differences of sixth order leave some 1e-12 of the forces
ONCE = {"rtol": 0.0, "atol": 1e-9}  # beside differences of accelerations
TWICE = {"rtol": 0.0, "atol": 2e-8}  # beside differences in time of differences of flows

g = GRAVITY


def accelerations(dynamics, q, v, u):
    """Return how the acceleration changes with q and v, by differences of the whole."""
    robot, n = dynamics.robot, dynamics.robot.nv

    def answer(d):
        dynamics.move(0.0, robot.integrate(q, d[:n]), v + d[n:])
        return dynamics.acceleration(u)

    return jacobian(answer, 2 * n, step=2e-3)


def test_a_pendulum_swings_about_the_bottom_and_falls_from_the_top():
    m, length, c = 1.5, 0.8, 0.3
    robot = Robot.build(
        Lagrangian(
            coordinates=["angle"],
            kinetic="m*l**2/2*v.angle**2",
            potential="-m*g*l*cos(angle)",
            dissipation="c/2*v.angle**2",
            parameters={"m": m, "l": length, "g": g, "c": c},
        )
    )
    for angle, sign in ((0.0, -1.0), (np.pi, 1.0)):
        A, B = linearize(robot, [angle])
        wanted = [[0.0, 1.0], [sign * g / length, -c / (m * length**2)]]
        np.testing.assert_allclose(A, wanted, **CLOSED)
        np.testing.assert_allclose(B, [[0.0], [1.0 / (m * length**2)]], **CLOSED)


def test_a_cart_pole_at_the_top_is_the_one_of_the_textbooks():
    M, m, length = 2.0, 0.5, 0.7
    lin = linearize(cart_pole(), [0.3, 0.0])
    wanted = np.zeros((4, 4))
    wanted[0, 2] = wanted[1, 3] = 1.0
    wanted[2, 1], wanted[3, 1] = -m * g / M, (M + m) * g / (M * length)
    np.testing.assert_allclose(lin.A, wanted, **CLOSED)
    np.testing.assert_allclose(lin.B[:, 0], [0.0, 0.0, 1.0 / M, -1.0 / (M * length)], **CLOSED)
    assert lin.states == ("x", "angle", "v.x", "v.angle")
    fast = np.sqrt((M + m) * g / (M * length))
    np.testing.assert_allclose(sorted(lin.poles().real), [-fast, 0.0, 0.0, fast], atol=1e-6)


def test_springs_dampers_and_friction_are_part_of_the_system():
    spring = JointSpring(joint="x", stiffness=40.0, damping=3.0)
    friction = DryFriction(joint="angle", level=0.02, velocity_scale=0.01)
    robot = cart_pole(force=[spring, friction])
    A, _ = linearize(robot, [0.0, 0.0])
    inverse = np.linalg.inv([[2.5, 0.35], [0.35, 0.245]])
    np.testing.assert_allclose(A[2:, 0], inverse @ [-40.0, 0.0], **CLOSED)
    np.testing.assert_allclose(A[2:, 2], inverse @ [-3.0, 0.0], **CLOSED)
    np.testing.assert_allclose(A[2:, 3], inverse @ [0.0, -2.0], rtol=1e-8)  # tanh, 0.01 rad/s


@pytest.mark.parametrize("name", ["two_link", "scara", "floating_arm", "flexible_joint_arm"])
@pytest.mark.parametrize("seed", range(3))
def test_exact_derivatives_agree_with_differences_at_any_state(name, seed):
    rng = np.random.default_rng(seed)
    robot = Robot.load(name)
    q, v, u = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nu)
    lin = linearize(robot, q, u, v)
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, v)
    np.testing.assert_allclose(lin.B[robot.nv :], dynamics.G, **CLOSED)
    wanted = accelerations(dynamics, q, v, u)
    scale = 1.0 + np.abs(wanted).max()
    np.testing.assert_allclose(lin.A[robot.nv :] / scale, wanted / scale, **ONCE)


def body(joint):
    """A rigid body on a joint of several freedoms."""
    if joint == "planar":
        text = """<robot name="plate"><link name="ground"/><link name="plate"><inertial>
          <origin xyz="0.1 0.05 -0.1"/><mass value="2"/>
          <inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
          <joint name="j" type="planar"><parent link="ground"/><child link="plate"/>
          <axis xyz="0 0 1"/></joint></robot>"""
        return Robot.build(text, Options(gravity=(0.0, -9.81, 0.0), actuator=[]))
    text = f"""<mujoco><worldbody><body name="plate"><joint type="{joint}"/>
      <inertial pos="0.1 0.05 -0.1" mass="2" diaginertia="0.1 0.2 0.3"/></body></worldbody>
      </mujoco>"""
    return Robot.build(text, Options(gravity=(0.0, 0.0, -9.81), actuator=[]))


def step(robot, dynamics, u, q, v, h):
    """Return the state one Runge-Kutta step of length ``h`` further, in tangent coordinates."""

    def rate(xi, vv):
        dynamics.move(0.0, robot.integrate(q, xi), vv)
        return (
            np.linalg.solve(robot.integrate_jacobian(q, xi), vv),
            dynamics.acceleration(u),
        )

    a, b = rate(np.zeros(robot.nv), v)
    c, d = rate(h / 2 * a, v + h / 2 * b)
    e, f = rate(h / 2 * c, v + h / 2 * d)
    k, m = rate(h * e, v + h * f)
    return robot.integrate(q, h / 6 * (a + 2 * c + 2 * e + k)), v + h / 6 * (b + 2 * d + 2 * f + m)


@needs("mujoco")
@pytest.mark.parametrize("joint", ["planar", "ball", "free", "floating_arm"])
def test_neighbouring_motions_on_a_manifold_part_as_the_linear_system_says(joint):
    robot = Robot.load(joint) if joint == "floating_arm" else body(joint)
    rng = np.random.default_rng(5)
    q, v, u = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nu)
    dynamics, n = Dynamics(robot), robot.nv

    def transition(h):
        q1, v1 = step(robot, dynamics, u, q, v, h)

        def neighbour(d):
            q2, v2 = step(robot, dynamics, u, robot.integrate(q, d[:n]), v + d[n:], h)
            return np.concatenate([robot.difference(q1, q2), v2 - v1])

        return jacobian(neighbour, 2 * n)

    h = 1e-3
    slope = (
        45.0 * (transition(h) - transition(-h))
        - 9.0 * (transition(2 * h) - transition(-2 * h))
        + (transition(3 * h) - transition(-3 * h))
    ) / (60.0 * h)
    np.testing.assert_allclose(linearize(robot, q, u, v).A, slope, **TWICE)


@pytest.mark.parametrize("name", ["coordinated-arms", "three-rrr", "n-four-bar", "five-bar"])
def test_passive_constraints_leave_the_system_of_their_reduced_coordinates(name):
    """Every neighbour is moved onto the constraints; its accelerations are compared."""
    loop = Loop(Scenario.load(name))
    q, v, _ = loop.state
    robot, u = loop.robot, np.linspace(-1.0, 1.0, loop.robot.nu)
    dynamics = Dynamics(robot, gains=StabilisationGains(0.0, 0.0))
    lin = Linearizer(robot).at(loop.t0, q, v, u)
    count, half = len(lin.states), len(lin.positions)

    def neighbour(x):
        d = lin.full @ x
        near = consistent_state(
            dynamics.passive, robot.integrate(q, d[: robot.nv]), v + d[robot.nv :], loop.t0
        )
        dynamics.move(loop.t0, near.q, near.v)
        a = dynamics.acceleration(u)[lin.velocities]
        return np.concatenate([lin.deviation(near.q, near.v), a])

    found = jacobian(neighbour, count, step=1e-3)
    wanted = found[count:] @ np.linalg.inv(found[:count])
    np.testing.assert_allclose(lin.A[half:], wanted, **ONCE)
    np.testing.assert_allclose(lin.A[:half, half:], np.eye(half), **ONCE)


def test_the_four_bars_fall_as_one_pendulum_of_one_freedom():
    """Upright rods: (rods/3 + couplers) l^2 a = (rods/2 + couplers) g l phi, by hand."""
    loop = Loop(Scenario.load("n-four-bar"))
    rods, couplers = 3, 2
    A, _ = Linearizer(loop.robot).at(0.0, loop.state.q, np.zeros(loop.robot.nv), np.zeros(0))
    stiffness = (rods / 2 + couplers) * g / (rods / 3 + couplers)
    np.testing.assert_allclose(A, [[0.0, 1.0], [stiffness, 0.0]], **CLOSED)


def test_a_knife_edge_holds_velocities_and_not_positions():
    """Blade at angle h moving at speed w: y' = w sin h, and the rest by hand."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m", "h": "rad"},
            kinetic="m/2*(v.x**2 + v.y**2) + J/2*v.h**2",
            parameters={"m": 2.0, "J": 0.5},
        ),
        Options(passive=[{"kind": "expression", "psi": "v.x*sin(h) - v.y*cos(h)"}]),
    )
    speed = 1.5
    lin = linearize(robot, [0.0, 0.0, 0.0], np.zeros(3), [speed, 0.0, 0.0])
    assert lin.states == ("x", "y", "h", "v.x", "v.h")
    wanted = np.zeros((5, 5))
    wanted[0, 3] = wanted[2, 4] = 1.0
    wanted[1, 2] = speed
    np.testing.assert_allclose(lin.A, wanted, **CLOSED)
    np.testing.assert_allclose(lin.B[3:], [[0.5, 0.0, 0.0], [0.0, 0.0, 2.0]], **CLOSED)


def test_the_input_at_rest_balances_gravity_and_springs():
    robot, q = Robot.load("two_link"), np.array([0.3, 0.8])
    np.testing.assert_allclose(equilibrium(robot, q), robot.snapshot(q).gravity, **CLOSED)
    arm = Robot.load("flexible_joint_arm")
    at = np.array([0.2, -0.1, 0.0, 0.0])
    load = arm.snapshot(at).gravity[:2]
    at[2:] = at[:2] + load  # the springs, 1 N m/rad, carry the links
    np.testing.assert_allclose(equilibrium(arm, at), load, **CLOSED)


def test_an_equilibrium_that_no_input_gives_is_refused_with_what_is_left():
    with pytest.raises(InputError, match=r"must be held at rest.*leave an acceleration of.*at"):
        equilibrium(cart_pole(), [0.0, 0.3])
    with pytest.raises(InputError, match="at 'q4'"):
        equilibrium(Robot.load("flexible_joint_arm"), [0.0, 1.0, 0.0, 1.0])


def test_sizes_are_checked():
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\)"):
        linearize(cart_pole(), [0.0])
    with pytest.raises(ShapeError, match=r"u must have shape \(1,\)"):
        linearize(cart_pole(), [0.0, 0.0], u=[0.0, 0.0])
    with pytest.raises(ShapeError, match=r"v must have shape \(2,\)"):
        linearize(cart_pole(), [0.0, 0.0], v=[0.0])
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\)"):
        equilibrium(cart_pole(), [0.0])


def test_a_linear_system_measures_deviations_on_the_manifold():
    robot, rng = Robot.load("floating_arm"), np.random.default_rng(0)
    q = robot.random(rng)
    lin = linearize(robot, q, np.zeros(robot.nu))
    step = 0.1 * rng.standard_normal(robot.nv)
    x = lin.deviation(robot.integrate(q, step), step)
    np.testing.assert_allclose(x, np.concatenate([step, step]), **CLOSED)


@pytest.mark.slow
def test_feet_that_stick_hold_positions_as_the_trunks_coordinates_tell():
    """Legs from the trunk's pose by inverse kinematics of the feet, nowhere by the rows."""
    robot = Robot.load("a1")
    passive = Stack(passive_constraints(robot), robot)
    q = robot.home.copy()
    q[2] = 0.28
    q = consistent_configuration(passive, robot.snapshot(q), q, 0.0)
    lin = linearize(robot, q)
    trunk = robot.dofs[:6]
    assert lin.states == (*trunk, *(f"v.{name}" for name in trunk))
    feet = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    ground = np.array([robot.snapshot(q).frame(foot).position for foot in feet])
    dynamics = Dynamics(robot, gains=StabilisationGains(0.0, 0.0))

    def posed(d):
        """Return the trunk moved by ``d`` and the legs reaching back to where the feet stood."""
        near = robot.integrate(q, np.concatenate([d, np.zeros(12)]))
        for _ in range(8):
            s = robot.snapshot(near)
            off = np.array([s.frame(foot).position for foot in feet]) - ground
            legs = np.vstack([s.frame(foot).J[:3, 6:] for foot in feet])
            step = np.linalg.solve(legs, off.ravel())
            near = robot.integrate(near, np.concatenate([np.zeros(6), -step]))
        return near

    def accelerations(d):
        near = posed(d)
        dynamics.move(0.0, near, np.zeros(robot.nv))
        return dynamics.acceleration(lin.u)[:6]

    np.testing.assert_allclose(lin.A[6:, :6], jacobian(accelerations, 6), rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(lin.A[:6], np.eye(12)[6:], **CLOSED)
    slopes = jacobian(lambda d: robot.difference(q, posed(d)), 6)
    np.testing.assert_allclose(lin.full[:18, :6], slopes, **ONCE)


@pytest.mark.parametrize(
    ("psi", "held"),
    [("v.x*sin(h) - v.y*cos(h)", False), ("(v.x*y + v.y*x)*exp(h)", True), ("v.x*v.y", False)],
)
def test_rows_on_velocities_hold_positions_where_they_integrate(psi, held):
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m", "h": "rad"}, kinetic="v.x**2 + v.y**2 + v.h**2"
        ),
        Options(passive=[{"kind": "expression", "psi": psi}]),
    )
    found = positional_rows(Stack(passive_constraints(robot), robot).attached, robot)
    assert found.tolist() == [held]


def test_wheels_that_roll_hold_no_positions():
    robot = Robot.load("mobile_ur5")
    assert not positional_rows(Stack(passive_constraints(robot), robot).attached, robot).any()


@pytest.mark.parametrize("name", ["panda_elastic", "flexible_joint_arm", "springs"])
def test_forces_in_joints_change_as_their_closed_forms_say(name):
    forces = [
        JointSpring(joint="x", stiffness=40.0, damping=3.0),
        DryFriction(joint="angle", level=0.2, velocity_scale=0.5),
        DryFriction(joint="x", level=1.0, static=1.5, stribeck_velocity=0.8, velocity_scale=0.4),
    ]
    robot = cart_pole(force=forces) if name == "springs" else Robot.load(name)
    rng = np.random.default_rng(3)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    exact, others = split_smooth_forces(robot.forces)
    assert exact
    assert not others
    snapshot = robot.snapshot(q, v)

    def force(d):
        snapshot.move(robot.integrate(q, d[: robot.nv]), v + d[robot.nv :])
        return snapshot.f.copy()

    by_q, by_v = force_jacobians(exact, robot.snapshot(q, v))
    wanted = jacobian(force, 2 * robot.nv)
    scale = 1.0 + np.abs(wanted).max()
    np.testing.assert_allclose(np.hstack([by_q, by_v]) / scale, wanted / scale, **CLOSED)


def test_where_no_time_is_given_it_is_zero():
    """A spring that hardens from 2 N/m by 1 N/m a second, relaxed at 1 m; a stop that leaves."""
    plant = Lagrangian(
        coordinates={"x": "m"}, kinetic="v.x**2/2", potential="(2 + t)/2*(x - 1)**2",
        inputs={"F": {"x": 1.0}},
    )  # fmt: skip
    robot = Robot.build(plant)
    stop, zero = Stack([Expression(phi="x - 0.5 - t")], robot), np.zeros(1)
    for answer, now, later in (
        (lambda *t: equilibrium(robot, zero, *t), -2.0, -5.0),
        (lambda *t: linearize(robot, zero, *(t and (zero, zero, *t))).A[1, :1], -2.0, -5.0),
        (lambda *t: consistent_state(stop, zero, zero, *t).q, 0.5, 3.5),
        (lambda *t: random_consistent_configuration(stop, *t), 0.5, 3.5),
    ):
        np.testing.assert_allclose(answer(), now, **CLOSED)
        np.testing.assert_allclose(answer(3.0), later, **CLOSED)


@pytest.mark.parametrize("twice", [False, True], ids=["independent", "one row twice"])
def test_directions_by_triangles_are_those_by_singular_values(twice):
    """Rows that are surely independent go without singular values; both are the same space."""
    rng = np.random.default_rng(2)
    L = np.linalg.cholesky(np.cov(rng.standard_normal((7, 40))))
    A, d = rng.standard_normal((4, 7)), rng.standard_normal((4, 1))
    if twice:
        A, d = np.vstack([A, 2.0 * A[:1]]), np.vstack([d, 2.0 * d[:1]])
    free = ConstraintNullSpace(L, A, 1e-9)
    M = L @ L.T
    back = np.linalg.solve(M, A.T)
    through = np.eye(7) - back @ np.linalg.pinv(A @ back, rcond=1e-9) @ A
    np.testing.assert_allclose(free.acceleration_projector(), through, rtol=0.0, atol=1e-12)
    least = back @ np.linalg.pinv(A @ back, rcond=1e-9) @ d
    np.testing.assert_allclose(free.least_norm_solution(d), least, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("rough", "off"), [(False, 1e-10), (True, 1e-8)])
def test_slopes_along_directions_are_those_of_the_forces(rough, off):
    """Of gravity and Coriolis forces, beside the recursion that is exact; the state stays."""
    robot = Robot.load("quadrotor")
    rng = np.random.default_rng(3)
    q = robot.integrate(robot.neutral, rng.standard_normal(6))
    s = robot.snapshot(q, rng.standard_normal(6))
    by_q, by_v = s.force_derivatives(np.zeros(6))
    v, directions = s.v.copy(), rng.standard_normal((12, 3))
    slopes = DirectionalDifferences(s, s.steps.items, s.nle, rough=rough)(directions)
    wanted = by_q @ directions[:6] + by_v @ directions[6:]
    np.testing.assert_allclose(slopes, wanted, rtol=0.0, atol=off)
    np.testing.assert_array_equal(np.concatenate([s.q, s.v]), np.concatenate([q, v]))


def test_what_fails_along_a_direction_is_told():
    robot = Robot.load("two_link")
    s = robot.snapshot(robot.neutral)

    def fails():
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        DirectionalDifferences(s, (fails,), s.nle, rough=True)(np.eye(4))
