"""Limits that laws keep from tick to tick, bodies that push one way, and tasks that are refused."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Task
from ukctrl.control import (
    Baumgarte,
    Bounded,
    ComputedTorque,
    Damped,
    Feedforward,
    JointPid,
    LeastNorm,
    NoControl,
    PdGravity,
    Prioritized,
    Servo,
    SlotineLi,
    SwingUp,
    Switching,
    SwitchingMode,
    ThrustVectoring,
)
from ukctrl.control.allocation.internal_force import _null_space
from ukctrl.core.errors import GainError, InfeasibleConstraint, InputError
from ukctrl.mechanics.constraints import Expression, JointFollows, PointFollows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import JointMotor, Lagrangian, Options, Perturbation, Wrench
from ukctrl_laws.thrust_vectoring import (
    MIN_HEADING_SINE,
    MIN_THRUST,
    fade_weight,
    write_pointing_frame,
    write_rotation_error,
)

CLOSED = {"rtol": 1e-9, "atol": 1e-9}
ROW = (Expression(phi="x + 0.5*y", unit="m", name="sum"),)
BOTH = (*ROW, Expression(phi="y", unit="m", name="far"))


def masses(*motors, passive=()):
    return Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="1.7/2*v.x**2 + 0.6/2*v.y**2"),
        Options(actuator=list(motors), passive=list(passive)),
        name="masses",
    )


SLOW = masses(
    JointMotor(joint="x", limit=6.0, rate_limit=40.0), JointMotor(joint="y", limit=(-2.0, 5.0))
)
PLAIN = masses(JointMotor(joint="x"), JointMotor(joint="y"))


class Place:
    def __init__(self, robot, servo=BOTH, period=None):
        self.q, self.v = np.array([0.2, -0.1]), np.array([0.3, 0.4])
        self.task = Task(robot=robot, servo=servo, q=self.q, v=self.v, period=period)
        self.stack, self.dynamics = Stack(servo, robot), Dynamics(robot)
        self.dynamics.move(0.0, self.q, self.v)
        self.rows = self.stack.write(self.dynamics.snapshot)

    def attached(self, allocation):
        return allocation.attach(self.task, self.stack.names)

    def ask(self, allocator, demand):
        u = allocator.input(self.rows, np.array(demand), self.dynamics)
        return u, allocator.signals()


def push(demand):
    """Return the inputs that serve both rows."""
    a = np.linalg.solve([[1.0, 0.5], [0.0, 1.0]], demand)
    return np.array([1.7, 0.6]) * a


@pytest.mark.slow(only=["relax"])
@pytest.mark.parametrize("on_limit", ["scale", "relax"])
def test_what_limits_cost_is_recorded_motor_by_motor_and_row_by_row(on_limit):
    """The second motor gives 5 of 12: by scaling the first gives as little of its own."""
    at = Place(SLOW)
    allocator = at.attached(Bounded(on_limit=on_limit, rate_limits="ignore"))
    u, told = at.ask(allocator, [2.0, 1.0])
    np.testing.assert_allclose(u, push([2.0, 1.0]), **CLOSED)
    assert told["binding"].value.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(told["row_miss"].value, 0.0, **CLOSED)
    demand = np.array([11.0, 20.0])  # 1.7 N and 12 N
    u, told = at.ask(allocator, demand)
    share = 5.0 / 12.0 if on_limit == "scale" else 1.0
    # Relaxed, the first row is served by the first motor alone as far as it can.
    y = 5.0 / 0.6
    given = push(share * demand) if on_limit == "scale" else [1.7 * (11.0 - y / 2.0), 5.0]
    given = np.minimum(given, [6.0, 5.0])
    assert told["binding"].value.tolist() == [float(given[0] == 6.0), 1.0]
    np.testing.assert_allclose(u[1], 5.0, **CLOSED)
    a = u / [1.7, 0.6]
    missed = np.array([a[0] + 0.5 * a[1], a[1]]) - demand
    np.testing.assert_allclose(told["row_miss"].value, missed, **CLOSED)
    assert (told["row_miss"].units, told["row_miss"].components) == ("m/s^2", ("sum", "far"))
    if on_limit == "scale":
        np.testing.assert_allclose(u, given, **CLOSED)
        np.testing.assert_allclose(told["task_scale"].value, share, **CLOSED)
    u, told = at.ask(allocator, -demand)
    assert told["binding"].value[1] == -1.0
    np.testing.assert_allclose(u[1], -2.0, **CLOSED)


def test_a_motor_moves_no_faster_from_tick_to_tick_than_its_rate_limit():
    at = Place(SLOW, period=0.05)
    allocator = at.attached(Bounded())
    np.testing.assert_array_equal(allocator.memory, np.zeros(3))
    allocator.look_back(allocator.memory)
    first, _ = at.ask(allocator, [3.0, 1.0])  # the first is free
    np.testing.assert_allclose(first, push([3.0, 1.0]), **CLOSED)
    rate = allocator.memory_rate(first, allocator.memory)
    np.testing.assert_allclose(rate, np.append(first, 1.0) / 0.05, **CLOSED)
    memory = allocator.memory + 0.05 * rate
    allocator.look_back(memory)
    u, told = at.ask(allocator, [-3.0, 1.0])
    np.testing.assert_allclose(u[0], first[0] - 40.0 * 0.05, **CLOSED)
    assert told["binding"].value[0] == -1.0


@pytest.mark.parametrize(
    ("robot", "allocation", "says"),
    [
        (
            SLOW, Bounded(),
            "the rate limit of motor 'x' can be kept from one control tick to the next alone; give "
            'timing.control, or say allocation.rate_limits = "ignore".',
        ),
        (
            PLAIN, Bounded(),
            "bounded needs the limit of some motor; robot 'masses' has none. Write them into its "
            "robot.toml, or give the allocation a limit.",
        ),
        (
            SLOW, Bounded(limit={"y": (6.0, 7.0)}, rate_limits="ignore"),
            "limit of motor 'y' must leave it some input; 6 to 7 has nothing in common with the "
            "motor's own -2 to 5.",
        ),
        (
            SLOW, Bounded(limit={"y": (-7.0, -3.0)}, rate_limits="ignore"),
            "limit of motor 'y' must leave it some input; -7 to -3 has nothing in common with the "
            "motor's own -2 to 5.",
        ),
        (PLAIN, LeastNorm(metric=((1.0,),)), "metric must be a matrix of 2 rows and columns."),
        (
            PLAIN, LeastNorm(metric=((1.0, 0.0), (1.0,))),
            "metric must be a matrix of 2 rows and columns.",
        ),
        (
            PLAIN, LeastNorm(metric="limits"),
            "metric = \"limits\" needs a limit of every motor; 'x' of robot 'masses' has none.",
        ),
        (
            PLAIN, Prioritized(order=("sum", (), "far")),
            "order must not have empty levels; remove the empty list.",
        ),
        (PLAIN, Prioritized(order=("sum",)), "order must name every block; 'far' is missing."),
        (
            PLAIN, Prioritized(order=("sum", "far", "sum")),
            "order must name every block once; 'sum' comes twice.",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_an_allocation_that_does_not_fit_the_robot_is_refused(robot, allocation, says):
    with pytest.raises(GainError) as caught:
        Place(robot).attached(allocation)
    assert str(caught.value) == says


@pytest.mark.parametrize("allocation", [Damped(), Prioritized(), Bounded(on_limit="relax")])
def test_what_tells_rows_apart_names_the_rows_that_it_got_instead(allocation):
    at = Place(masses(JointMotor(joint="x", limit=1.0), JointMotor(joint="y", limit=1.0)))
    with pytest.raises(GainError) as caught:
        allocation.attach(at.task, ("V",))
    assert str(caught.value) == (
        f'allocation "{allocation.kind}" needs a feedback that asks for the rows of the task; this '
        "one asks for 'V'. Use it with kind = \"least_norm\"."
    )


def test_what_rows_leave_free_does_not_depend_on_their_units():
    free = _null_space(np.array([[1e-7, 0.0, 0.0], [0.0, 1e7, 0.0], [0.0, 0.0, 0.0]]), 1e-9)
    np.testing.assert_allclose(np.abs(free), [[0.0], [0.0], [1.0]], **CLOSED)


# A body that pushes along one axis.


@pytest.mark.parametrize(("size", "left"), [(0.0, 1.0), (0.5, 0.125), (1.0, 0.0), (3.0, 0.0)])
def test_a_direction_is_stood_in_for_only_where_it_vanishes(size, left):
    np.testing.assert_allclose(fade_weight(0.7 * size, 0.7), 0.7 * left, **CLOSED)


def frame(d, heading, now):
    R = np.empty((3, 3))
    write_pointing_frame(np.array(d, dtype=float), np.array([heading]), now, R)
    return R


def rotation(seed):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    return np.ascontiguousarray(Q * np.linalg.det(Q))


def unit(x):
    return np.array(x) / np.linalg.norm(x)


@pytest.mark.slow(only=["d0-0.7", "d1-0.7"])
@pytest.mark.parametrize(
    ("d", "heading"),
    [
        ([0.3, -0.4, 9.0], 0.7),
        ([0.2, 0.1, 0.3], 0.7),  # falling: half of the body's own direction
        ([9.0, 0.0, 0.1], 0.0),  # the heading along the thrust
        ([0.0, 0.0, -5.0], 2.0),
    ],
)
def test_the_wanted_frame_is_its_formula(d, heading):
    now = rotation(4)
    R, d = frame(d, heading, now), np.array(d)
    size = np.linalg.norm(d)
    z = unit(d + max(0.0, 1.0 - size / MIN_THRUST) ** 3 * MIN_THRUST * now[:, 2])
    h = np.array([np.cos(heading), np.sin(heading), 0.0])
    y = np.cross(z, h)
    y = y + max(0.0, 1.0 - np.linalg.norm(y) / MIN_HEADING_SINE) ** 3 * MIN_HEADING_SINE * now[:, 1]
    y = unit(y - (y @ z) * z)
    np.testing.assert_allclose(R, np.column_stack([np.cross(y, z), y, z]), **CLOSED)
    np.testing.assert_allclose(R.T @ R, np.eye(3), **CLOSED)


def test_a_body_without_a_wanted_thrust_stays_as_it_is():
    now = rotation(5)
    np.testing.assert_allclose(frame([0.0, 0.0, 0.0], 0.3, now)[:, 2], now[:, 2], **CLOSED)


def test_the_turn_between_two_frames_is_about_its_axis():
    axis, angle = unit([1.0, -2.0, 0.5]), 0.8
    K = np.cross(np.eye(3), axis)
    E = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
    start, phi = rotation(6), np.empty(3)
    write_rotation_error(start, np.ascontiguousarray(E @ start), phi)
    np.testing.assert_allclose(phi, 4.0 * np.tan(angle / 4.0) * axis, **CLOSED)


HULL = """<robot name="{0}"><link name="hull"><inertial><mass value="1.2"/>
<inertia ixx="0.012" iyy="0.013" izz="0.022" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
TURNS = [
    Wrench(name=name, frame="hull", torque=axis)
    for name, axis in zip(("roll", "pitch", "yaw"), np.eye(3).tolist(), strict=True)
]


def hull(force=(0.0, 0.0, 1.0)):
    pushes = [Wrench(name="lift", frame="hull", force=force), *TURNS]
    return Robot.build(HULL.format("quad"), Options(floating_base=True, actuator=pushes))


PLACE = PointFollows(frame="hull", name="place", path=Constant(value=(0.1, -0.2, 1.0)))
THRUST = ThrustVectoring(frame="hull", alpha=3.0, beta=5.0, alpha_turn=20.0, beta_turn=100.0)


def flying(robot, servo=(PLACE,), law=THRUST):
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=np.zeros(6))
    return law.start(task)


@pytest.mark.slow
def test_the_angle_between_thrust_and_what_is_wanted_of_it_is_recorded():
    robot, rng = hull(), np.random.default_rng(2)
    law, q, v = flying(robot), robot.random(rng), rng.standard_normal(6)
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, v)
    rows = Stack((PLACE,), robot).write(dynamics.snapshot)
    wanted = -3.0 * rows.beta - 5.0 * rows.phi + [0.0, 0.0, 9.81]
    lift = rows.A @ dynamics.G[:, 0]
    cosine = unit(lift) @ unit(wanted)
    signal = law.signals(dynamics, law.memory)["tilt_error"]
    np.testing.assert_allclose(np.cos(signal.value), cosine, **CLOSED)
    assert signal.units == "rad"
    # The share of it along the thrust is what is given.
    command = law.command(0.0, q, v)
    np.testing.assert_allclose(command.u[0] / 1.2, unit(lift) @ wanted, rtol=1e-7)


@pytest.mark.slow
def test_a_body_at_rest_is_turned_by_the_gains_of_its_attitude():
    robot = hull()
    law = flying(robot, law=dc.replace(THRUST, heading=Constant(value=(0.3,))))
    still = robot.integrate(robot.neutral, np.array([0.1, -0.2, 1.0, 0.0, 0.0, 0.0]))
    u = law.command(0.0, still, np.zeros(6)).u
    # Upright in its place, 0.3 rad off its heading: the error is 4 tan(0.3 / 4) about z.
    np.testing.assert_allclose(u[0], 1.2 * 9.81, rtol=1e-9)
    np.testing.assert_allclose(u[1:3], 0.0, atol=1e-6)
    turn = 4.0 * np.tan(0.3 / 4.0) / (1.0 + np.tan(0.3 / 4.0) ** 2)  # which grows as the angle
    np.testing.assert_allclose(u[3], 0.022 * 100.0 * turn, rtol=1e-6)


@pytest.mark.parametrize(
    ("robot", "servo", "law", "says"),
    [
        (
            hull(), (PLACE,), dc.replace(THRUST, heading=Constant(value=(0.0, 1.0))),
            "controller.heading must have one component; got 2.",
        ),
        (
            hull((0.1, 0.0, 1.0)), (PLACE,), THRUST,
            "robot 'quad': every input must push 'hull' along its z axis alone, as propellers do "
            'where it is at the centre of mass, for kind = "thrust_vectoring"; got rows place.x, '
            "place.y, place.z. Use the card 'servo-baumgarte' for rows within reach.",
        ),
        (
            hull(), (dc.replace(PLACE, axes="xz", path=Constant(value=(0.1, 1.0))),), THRUST,
            "robot 'quad': the task must be three rows that hold the position of 'hull' for kind = "
            '"thrust_vectoring"; got rows place.x, place.z. Use the card '
            "'servo-baumgarte' for rows within reach.",
        ),
    ],
    ids=["heading", "slanted", "two rows"],
)  # fmt: skip
def test_a_body_or_a_task_of_another_kind_is_refused(robot, servo, law, says):
    with pytest.raises(InputError) as caught:
        flying(robot, servo, law)
    assert str(caught.value) == says


# Motions that cannot be planned.

TWO = Robot.load("two_link")
ARM = (Expression(phi=("shoulder - 0.5*sin(t)", "elbow - 0.4"), unit="rad", name="arm"),)
SLIDE = (Expression(psi="v.shoulder - 0.2", name="slide"),)
FREE = Robot.build(HULL.format("free"), Options(floating_base=True))
LAWS = {
    "computed_torque": ComputedTorque(kp=1.0, kd=1.0),
    "pd_gravity": PdGravity(kp=1.0, kd=1.0),
    "pid": JointPid(kp=1.0, ki=1.0, kd=1.0),
    "slotine_li": SlotineLi(kappa=1.0, kd=1.0),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    ("robot", "servo", "duration", "says"),
    [
        (TWO, ARM, np.inf, "task must have a finite duration to plan its joint motion; got inf."),
        (TWO, ARM, 1e5, "controller.plan_step must be at least 1.0e-01 s; got 0.005 s."),
        (
            TWO, SLIDE, 1.0,
            "servo row 'slide' must have a position level for a joint-space controller; it holds "
            "a velocity alone. Write it as phi if it is the rate of one, or use the card "
            "'servo-baumgarte', or give the controller a path.",
        ),
        (
            FREE, (), 1.0,
            "robot 'free' must have joints of one freedom only for a joint-space controller; "
            "'root' is not. Use the card 'servo-baumgarte'.",
        ),
    ],
    ids=["endless", "long", "velocity", "floating"],
)  # fmt: skip
def test_a_task_without_a_joint_motion_is_refused_by_its_sentence(
    law, robot, servo, duration, says
):
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=np.zeros(robot.nv), duration=duration)
    with pytest.raises(InputError) as caught:
        law.start(task)
    assert str(caught.value) == says


CART = Robot.build(
    Lagrangian(
        coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.y**2/2", inputs={"F": {"x": 1.0}}
    ),
    name="cart",
)
SERVO = Servo(feedback=Baumgarte(alpha=4.0, beta=4.0))


@pytest.mark.parametrize(
    ("along", "row", "says"),
    [
        (
            Switching(modes=(SwitchingMode(law=NoControl()), SwitchingMode(law=SERVO, enter=1.0))),
            "x - sin(t)",
            "^controller.along must be a law without modes; this one switches.$",
        ),
        (
            SERVO, "y - sin(t)",
            r"^controller.along must be a law that keeps the rows; near t = 0.1 s servo row",
        ),
        (
            None, "x - sin(t) + 0*y",
            r"^task must have a finite duration to plan its joint motion; got inf\.$",
        ),
        (SERVO, "x", r"^task must have a finite duration to plan its motion; got inf\.$"),
    ],
    ids=["switching", "out of reach", "endless joints", "endless"],
)  # fmt: skip
def test_a_motion_by_a_law_that_cannot_make_it_is_refused(along, row, says):
    duration = np.inf if "inf" in says else 0.5
    task = Task(
        robot=CART, servo=(Expression(phi=row, unit="m"),), q=np.zeros(2), v=np.zeros(2),
        start=0.1, duration=duration,
    )  # fmt: skip
    with pytest.raises(InputError, match=says):
        Feedforward(along=along).start(task)


# The swing-up at rest.

ACROBOT = Robot.load("acrobot")


def test_a_swing_up_stops_where_it_would_stay_and_nowhere_else():
    up = (JointFollows(joints=ACROBOT.dofs, path=Constant(value=(np.pi, 0.0))),)
    task = Task(robot=ACROBOT, servo=up, q=ACROBOT.neutral, v=np.zeros(2))
    law = SwingUp(alpha=1.0, beta=1.0).start(task)
    hanging, still = ACROBOT.neutral, np.zeros(2)
    for off in (0.0, 1e-10):  # less than rounding in gravity
        near = ACROBOT.integrate(hanging, np.array([off, 0.0]))
        with pytest.raises(InfeasibleConstraint, match=r"rank 0 of 1 rows\)\. The rob") as caught:
            law.command(0.0, near, still)
        assert caught.value.advice == (
            "The robot is at rest and balanced, where no input changes its energy at once, and the "
            "law leaves it there. Start it a little off rest, such as with start.spread."
        )
        (missing,) = caught.value.miss
        assert (caught.value.rows, caught.value.rank, caught.value.count) == (("energy",), 0, 1)
        top, here = (sum(ACROBOT.snapshot(q).energy()) for q in (law.goal, near))
        np.testing.assert_allclose(missing, top - here, **CLOSED)
    np.testing.assert_allclose(law.command(0.0, hanging, np.array([0.3, 0.0])).u, 0.0, atol=1e-12)
    away = ACROBOT.integrate(hanging, np.array([1e-6, 0.0]))
    assert np.isfinite(law.command(0.0, away, still).u).all()
    down = (JointFollows(joints=ACROBOT.dofs, path=Constant(value=(0.0, 0.0))),)
    with pytest.raises(InputError) as caught:
        SwingUp(alpha=1.0, beta=1.0).start(dc.replace(task, servo=down))
    assert str(caught.value) == (
        'the task must need more energy than other configurations for kind = "swing_up"; it is the '
        "lowest one. Ask for the upright position."
    )
    weightless = ACROBOT.perturbed(Perturbation(gravity=(0.0, 0.0, 0.0)))  # where none is higher
    with pytest.raises(InputError, match="the task must need more energy than other"):
        SwingUp(alpha=1.0, beta=1.0).start(dc.replace(task, robot=weightless))


def test_a_guard_of_exactly_zero_hands_over():
    task = Task(robot=CART, servo=(Expression(phi="x", unit="m"),), q=np.zeros(2), v=np.zeros(2))
    law = Switching(
        modes=(SwitchingMode(law=NoControl()), SwitchingMode(law=SERVO, enter=0.5))
    ).start(task)
    command = law.command(0.0, np.array([0.5, 0.0]), np.zeros(2), law.memory)
    assert command.memory.tolist() == [1.0]
