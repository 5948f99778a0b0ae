"""Linear-quadratic regulators: closed forms, optimality by another route, and what is refused."""

import numpy as np
import pytest
from cart_pole import cart_pole
from scipy.integrate import quad_vec
from scipy.linalg import expm, solve_continuous_lyapunov

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import Lqi, Lqr
from ukctrl.control.regulators.riccati import discretise_lq, lqr_gains
from ukctrl.core.errors import GainError, InputError, UnknownName
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Expression, PointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Lagrangian, Options, Wrench

CLOSED = {"rtol": 0.0, "atol": 1e-8}  # closed forms, through SciPy's Riccati solver
QUADRATURE = {"rtol": 1e-8, "atol": 1e-12}


UPRIGHT = (Expression(phi="x", unit="m"), Expression(phi="angle", unit="rad"))


def task(robot, servo, q, v=None, **more):
    v = np.zeros(robot.nv) if v is None else v
    return Task(robot=robot, servo=servo, q=np.array(q, dtype=float), v=v, **more)


def after(law, q, v, duration, h=2e-3):
    """Return the state at the end of a run: Runge-Kutta steps in tangent coordinates."""
    robot, memory = law.task.robot, law.memory
    plant = Dynamics(robot)

    def rate(q, v, memory):
        plant.move(0.0, q, v)
        command = law.command(0.0, q, v, memory)
        return plant.acceleration(command.u), command.memory_rate

    for _ in range(round(duration / h)):
        a, m = rate(q, v, memory)
        half = robot.integrate(q, h / 2 * v), v + h / 2 * a, memory + h / 2 * m
        a, m = rate(*half)
        q, v, memory = robot.integrate(q, h * half[1]), v + h * a, memory + h * m
    return q, v


def test_the_gains_of_a_unit_mass_are_those_of_the_textbooks():
    robot = Robot.build(Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2/2"))
    law = Lqr().start(task(robot, (Expression(phi="x"),), [0.5]))
    np.testing.assert_allclose(law.regulator.K, [[1.0, np.sqrt(3.0)]], **CLOSED)
    np.testing.assert_allclose(
        law.regulator.S, [[np.sqrt(3.0), 1.0], [1.0, np.sqrt(3.0)]], **CLOSED
    )
    np.testing.assert_allclose(np.sort_complex(law.poles), np.sort_complex(
        [-np.sqrt(3.0) / 2 - 0.5j, -np.sqrt(3.0) / 2 + 0.5j]), **CLOSED)  # fmt: skip
    np.testing.assert_allclose(law.command(0.0, np.array([2.0]), np.array([1.0])).u,
                               [-2.0 - np.sqrt(3.0)], **CLOSED)  # fmt: skip


def test_no_other_gains_cost_less():
    """The cost of any gains is a Lyapunov equation's solution; LQR's is the least."""
    law = Lqr(Q={"angle": 10.0, "x": 1.0}, R=0.5).start(task(cart_pole(), UPRIGHT, [0.0, 0.0]))
    A, B = law.linear
    Q, R, rng = np.diag([1.0, 10.0, 0.0, 0.0]), np.array([[0.5]]), np.random.default_rng(0)

    def cost(K):
        closed = A - B @ K
        return solve_continuous_lyapunov(closed.T, -(Q + K.T @ R @ K))

    np.testing.assert_allclose(cost(law.regulator.K), law.regulator.S, rtol=1e-8)
    for _ in range(20):
        other = law.regulator.K * (1.0 + 0.05 * rng.standard_normal((1, 4)))
        assert np.trace(cost(other)) > np.trace(law.regulator.S)


def test_a_held_input_is_optimal_for_the_same_cost():
    """System and cost over a tick, beside quadrature; and the limit of short ticks."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
    Q, R, h = np.diag([1.0, 2.0, 0.5]), np.diag([0.3, 1.0]), 0.3
    Ad, Bd, Qd, Rd, Nd = discretise_lq(A, B, Q, R, h)
    F = np.zeros((5, 5))
    F[:3, :3], F[:3, 3:] = A, B
    cost = np.zeros((5, 5))
    cost[:3, :3], cost[3:, 3:] = Q, R
    whole, _ = quad_vec(lambda t: expm(t * F).T @ cost @ expm(t * F), 0.0, h)
    np.testing.assert_allclose(np.block([[Qd, Nd], [Nd.T, Rd]]), whole, **QUADRATURE)
    np.testing.assert_allclose(np.hstack([Ad, Bd]), expm(h * F)[:3], **QUADRATURE)
    names = (("a", "b", "c"), ("u", "w"))
    held = lqr_gains(A, B, Q, R, *names, period=1e-5)
    np.testing.assert_allclose(held.K, lqr_gains(A, B, Q, R, *names).K, rtol=1e-4)
    held = lqr_gains(A, B, Q, R, *names, period=h)
    assert np.abs(held.poles).max() < 1.0


def test_a_pole_is_balanced_from_afar_with_the_cart_back_home():
    law = Lqr(Q={"x": 1.0, "angle": 10.0}, R=0.1).start(task(cart_pole(), UPRIGHT, [0.4, 0.5]))
    assert law.poles.real.max() < 0.0
    q, v = after(law, np.array([0.4, 0.5]), np.zeros(2), 15.0)
    np.testing.assert_allclose(np.concatenate([q, v]), 0.0, atol=1e-4)


def test_a_run_with_a_hold_takes_the_gains_of_the_sampled_system():
    scenario = Scenario(
        title="pole", robot=cart_pole(), servo=UPRIGHT, controller=Lqr(Q=1.0, R=0.1),
        start={"q": {"angle": 0.3}}, timing={"duration": 12.0, "sample": 0.05, "control": 0.05},
    )  # fmt: skip
    result = simulate(scenario)
    assert result.status == "completed"
    np.testing.assert_allclose(result["q"][-1], 0.0, atol=1e-3)
    held = scenario.controller.start(task(scenario.robot, UPRIGHT, [0.0, 0.3], period=0.05))
    free = scenario.controller.start(task(scenario.robot, UPRIGHT, [0.0, 0.3]))
    assert np.abs(held.poles).max() < 1.0
    assert np.abs(held.regulator.K / free.regulator.K - 1.0).max() > 0.05
    np.testing.assert_allclose(result["u"][0], -held.regulator.K @ [0.0, 0.3, 0.0, 0.0], **CLOSED)


def test_a_hovering_body_is_brought_back_on_the_manifold():
    """Four propellers: a thrust along the body, and three torques."""
    urdf = """<robot name="quad"><link name="hull"><inertial><mass value="1.2"/>
      <inertia ixx="0.012" iyy="0.013" izz="0.022" ixy="0" ixz="0" iyz="0"/></inertial></link>
      </robot>"""
    pushes = [Wrench(name="lift", frame="hull", force=(0.0, 0.0, 1.0))]
    for name, axis in (("roll", (1, 0, 0)), ("pitch", (0, 1, 0)), ("yaw", (0, 0, 1))):
        pushes.append(Wrench(name=name, frame="hull", torque=axis))
    robot = Robot.build(urdf, Options(floating_base=True, actuator=pushes))
    home = (0.3, -0.2, 1.0)
    servo = (PointFollows(frame="hull", path=Constant(value=home)),)
    law = Lqr(Q=10.0, R=1.0).start(task(robot, servo, robot.neutral))
    np.testing.assert_allclose(law.linear.u, [1.2 * 9.81, 0.0, 0.0, 0.0], **CLOSED)
    q = robot.integrate(law.linear.q, np.array([0.2, -0.3, 0.1, 0.4, -0.3, 0.8]))
    q, v = after(law, q, np.zeros(6), 12.0)
    np.testing.assert_allclose(robot.difference(law.linear.q, q), 0.0, atol=2e-3)
    np.testing.assert_allclose(v, 0.0, atol=2e-3)


def test_a_linkage_is_held_upright_by_one_motor():
    robot = Robot.load(
        "n_four_bar", override={"actuator": [{"kind": "joint", "joint": "rod0_angle"}]}
    )
    start = consistent_state(Dynamics(robot).passive, robot.neutral, np.zeros(robot.nv))
    servo = (Expression(phi="rod0_angle - pi/2", unit="rad"),)
    law = Lqr(Q=100.0, R=0.01).start(task(robot, servo, start.q))
    assert len(law.linear.states) == 2
    assert law.poles.real.max() < 0.0
    # The reduced pendulum by hand: (rods/3 + couplers) a = (rods/2 + couplers) g phi + u.
    inertia = 3 / 3 + 2
    np.testing.assert_allclose(
        np.prod(law.linear.poles()), -(3 / 2 + 2) * 9.81 / inertia, rtol=1e-8
    )


def test_the_integrals_remove_what_a_wrong_model_leaves():
    def final(controller):
        scenario = Scenario(
            title="hold", robot="two_link", believed={"mass_scale": 0.7}, controller=controller,
            servo=(Expression(phi=("shoulder - 0.5", "elbow - 0.4")),),
            start={"q": {"shoulder": 0.4, "elbow": 0.4}}, timing={"duration": 8.0, "sample": 0.05},
        )  # fmt: skip
        result = simulate(scenario)
        assert result.status == "completed"
        return np.abs(result["phi"][-1]).max()

    assert final(Lqr(Q=1e4, R=1.0)) > 1e-2
    assert final(Lqi(Q=1e4, R=1.0, Q_integral=1e5)) < 1e-4


def test_a_mode_that_no_input_moves_is_named():
    robot = Robot.build(
        Lagrangian(
            coordinates={"a": "m", "b": "m"},
            kinetic="v.a**2/2 + v.b**2/2",
            potential="-2*b**2",
            inputs={"F": {"a": 1.0}},
        )
    )
    servo = (Expression(phi="a"), Expression(phi="b"))
    with pytest.raises(GainError, match=r"no grip on the one with s = 2 1/s, in 'b', 'v.b'"):
        Lqr().start(task(robot, servo, [0.0, 0.0]))
    arm = Robot.load("floating_arm")
    with pytest.raises(GainError, match=r"no grip on the one with s = 0 1/s, in '"):
        Lqr().start(task(arm, (), arm.neutral))


def test_a_mode_that_costs_nothing_is_named():
    with pytest.raises(GainError, match=r"the one with s = 0 1/s, in 'x', costs nothing"):
        Lqr(Q={"angle": 1.0}).start(task(cart_pole(), UPRIGHT, [0.0, 0.0]))


@pytest.mark.parametrize(
    ("law", "error", "said"),
    [
        (Lqr(Q={"angel": 1.0}), UnknownName, "'angel'; did you mean 'angle'"),
        (Lqr(Q=(1.0, 2.0)), GainError, "a list of 4 numbers or a matrix of 4 rows"),
        (Lqr(Q=((1.0, 0.0), (0.0, 1.0))), GainError, "got shape"),
        (Lqr(R={"F": 0.0}), GainError, "R must be positive definite.*every one of F"),
        (Lqr(R=0.0), GainError, "R must be positive definite"),
        (
            Lqr(Q=((1.0, 2.0, 0.0, 0.0), *((0.0,) * 4,) * 3)),
            GainError,
            "Q must be symmetric positive semidefinite; it is not.",
        ),
        (Lqr(q=(1.0,)), InputError, "one number a coordinate, 2; got 1"),
        (Lqr(q=(0.0, 0.3)), InputError, "must be held at rest by some input"),
        (Lqi(), InputError, "at most one row an input, 1"),
    ],
)
def test_what_does_not_fit_is_refused(law, error, said):
    with pytest.raises(error, match=said):
        law.start(task(cart_pole(), UPRIGHT, [0.0, 0.0]))


def test_weights_of_all_forms_are_the_same_weights():
    gains = []
    for Q in (
        {"x": 1.0, "angle": 2.0, "v.x": 3.0, "v.angle": 4.0},
        {"q": 2.0, "x": 1.0, "v": 4.0, "v.x": 3.0},
        (1.0, 2.0, 3.0, 4.0),
        tuple(tuple(row) for row in np.diag([1.0, 2.0, 3.0, 4.0]).tolist()),
    ):
        gains.append(Lqr(Q=Q).start(task(cart_pole(), UPRIGHT, [0.0, 0.0])).regulator.K)
    for other in gains[1:]:
        np.testing.assert_allclose(other, gains[0], rtol=0.0, atol=0.0)


def followed(scenario, changes):
    """Return how far a run under LQR along the task's joint motion is off, at worst."""
    run = Scenario.load(scenario, {"controller.use": "lqr", "timing.sample": 0.05} | changes)
    result = simulate(run)
    assert result.status == "completed", result.message
    return result.metric("peak_phi")


def test_regulators_follow_a_motion_of_closed_chains_in_their_free_coordinates():
    """A hundred times the price of deviations brings the motion closer, so it is followed."""
    changes = {"timing.duration": 0.5}
    plain = followed("coordinated-arms", changes)
    tight = {"controller.Q": {"q": 1e6, "v": 1e4}}
    assert followed("coordinated-arms", changes | tight) < 0.2 * plain < 0.01


def test_regulators_follow_a_motion_of_joints_that_turn_without_end():
    changes = {"timing.duration": 4.0, "start.q": {"pole": "170*deg"}}
    run = Scenario.load("cart-pole-swing-up", {"controller.use": "lqr"} | changes)
    assert simulate(run).metric("final_phi") < 1e-2


def test_regulators_do_not_ask_motors_to_stand_still_while_their_links_move():
    run = Scenario.load("panda-elastic", {"controller.use": "lqr", "timing.duration": 0.5})
    with pytest.raises(InputError, match=r"motor of 'joint1' where it is\. Use kind = \"el"):
        simulate(run)


@pytest.mark.parametrize(
    ("Q", "came"),
    [
        ([[1.0, 0.0], [0.0, 1.0, 2.0]], "of 2 rows, row 1 has 3 numbers"),
        ([[1.0, 0.0], 1.0], "of 2 rows, row 1 has a single entry"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "of 2 rows, row 0 has 3 numbers"),
    ],
)
def test_a_matrix_that_is_not_square_is_told_what_is_needed(Q, came):
    changes = {"controller": {"kind": "lqr", "Q": Q}}
    with pytest.raises(InputError, match=f"as many rows as columns.*{came}"):
        Scenario.load("pendubot-swing-up", changes)


@pytest.mark.parametrize("name", ["quadrotor-hover", "a1-squat"])
def test_a_robot_without_a_joint_motion_is_told_to_regulate_at_rest_and_can(name):
    following = {"controller": {"kind": "lqr", "follow": "task"}}
    with pytest.raises(InputError, match=r"one freedom only.*Use follow = \"equilibrium\"\."):
        simulate(Scenario.load(name, following))
    advised = {"controller": {"kind": "lqr", "follow": "equilibrium"}, "timing.duration": 0.01}
    assert simulate(Scenario.load(name, advised)).status == "completed"
