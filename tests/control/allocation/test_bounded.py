"""Inputs within limits: the closed form where none binds, the best there is where some do."""

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear, minimize

from ukctrl import Robot, Scenario, Task
from ukctrl.control import Bounded, Damped, InternalForce, LeastNorm, Posture, Prioritized
from ukctrl.control.allocation.bounded_input import (
    BoundedInputProblem,
    LinearBounds,
    bounded_least_squares,
    load_compensation,
    nearest_in_bounds,
    relax_by_levels,
)
from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.errors import GainError, InputError, UnknownName
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Expression, Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import JointMotor, Lagrangian, Options

EXACT = {"rtol": 0.0, "atol": 1e-9}  # row accelerations of order ten, torques of order a hundred
ANOTHER_SOLVER = {"rtol": 0.0, "atol": 2e-6}  # SciPy's own tolerance on such problems
ARM = Robot.load("two_link")
GRIP = Robot.load("coordinated_arms_grip")
REACH = Expression(
    name="reach", phi="0.5*cos(shoulder) + 0.5*cos(shoulder + elbow) - 0.7", unit="m"
)
RAISE = Expression(
    name="raise", phi="0.5*sin(shoulder) + 0.5*sin(shoulder + elbow) - 0.1", unit="m"
)


class Place:
    """A robot at a moving state, with rows and a demand on them."""

    def __init__(self, task, t=0.0, seed=0):
        self.task = task
        self.stack, self.dynamics = Stack(task.servo, task.robot), Dynamics(task.robot)
        self.dynamics.move(t, task.q, task.v)
        self.rows = self.stack.write(self.dynamics.snapshot)
        self.demand = 3.0 * np.random.default_rng(seed).standard_normal(len(self.stack))
        self.H = self.rows.A @ self.dynamics.G
        self.d = self.demand - self.rows.A @ self.dynamics.a_free

    def ask(self, allocation):
        allocator = allocation.attach(self.task, self.stack.names)
        u = allocator.input(self.rows, self.demand, self.dynamics)
        return u, {name: signal.value for name, signal in allocator.signals().items()}


def two_link(servo=(REACH, RAISE), seed=0, robot=ARM, **task):
    v = np.random.default_rng(seed).standard_normal(2)
    return Place(Task(robot=robot, servo=servo, q=np.array([0.4, 1.2]), v=v, **task), seed=seed)


def two_arms(seed):
    """Six motors and three freedoms on a closed chain."""
    rng = np.random.default_rng(seed)
    guess = np.radians([60.0, -120.0, 60.0, -60.0, 120.0]) + 0.2 * rng.standard_normal(5)
    start = consistent_state(Dynamics(GRIP).passive, guess, rng.standard_normal(5))
    servo = Scenario.load("coordinated-arms-squeeze").servo
    return Place(Task(robot=GRIP, servo=servo, q=start.q, v=start.v), t=0.4, seed=seed)


@pytest.fixture(params=range(6))
def arms(request):
    return two_arms(request.param)


@pytest.mark.parametrize("on_limit", ["scale", "relax"])
@pytest.mark.parametrize("null_space", [None, Posture(kp=5.0, kd=1.0)])
def test_where_no_limit_binds_it_is_the_least_norm(arms, on_limit, null_space):
    plain, _ = arms.ask(LeastNorm(null_space=null_space))
    wide = Bounded(limit=1.001 * np.abs(plain).max(), on_limit=on_limit, null_space=null_space)
    u, told = arms.ask(wide)
    np.testing.assert_array_equal(u, plain)
    assert not told["binding"].any()
    np.testing.assert_allclose(told["row_miss"], 0.0, **EXACT)


def test_the_program_itself_finds_the_least_norm_where_no_limit_binds(arms):
    plain, _ = arms.ask(LeastNorm())
    far = np.full(6, 1e6)
    problem = BoundedInputProblem(arms.H, np.eye(6), np.zeros(6), -far, far, rank=3)
    u = np.empty(6)
    relax_by_levels(problem, arms.d, np.array([1, 3]), np.ones(3), RANK.servo, u)
    np.testing.assert_allclose(u, plain, **EXACT)


@pytest.mark.parametrize("share", [0.95, 0.8])
@pytest.mark.parametrize("on_limit", ["scale", "relax"])
def test_redundant_motors_take_over_what_one_at_its_limit_cannot_give(arms, share, on_limit):
    plain, _ = arms.ask(LeastNorm())
    k = int(np.abs(plain).argmax())
    limit = share * abs(plain[k])
    u, told = arms.ask(Bounded(limit={GRIP.actuators[k]: limit}, on_limit=on_limit))
    np.testing.assert_allclose(arms.H @ u, arms.d, **EXACT)
    np.testing.assert_array_equal(np.flatnonzero(told["binding"]), [k])
    assert told["binding"][k] == np.sign(plain[k])
    # With one bound active, the least norm follows in closed form from one more row.
    rows, right = np.vstack([arms.H, np.eye(6)[k]]), np.append(arms.d, np.sign(plain[k]) * limit)
    np.testing.assert_allclose(u, np.linalg.pinv(rows) @ right, **EXACT)


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_motors_that_share_a_row_share_what_one_that_is_alone_leaves_of_the_demand(share):
    """The one along x is at its limit; the two along y have room left, and take half each."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="2/2*v.x**2 + 5/2*v.y**2",
            inputs={"alone": {"x": 1.0}, "left": {"y": 1.0}, "right": {"y": 1.0}},
        )
    )
    servo, zero = (Expression(phi="x", name="x"), Expression(phi="y", name="y")), np.zeros(2)
    place = Place(Task(robot=robot, servo=servo, q=zero, v=zero))
    along, across = 2.0 * place.demand[0], 5.0 * place.demand[1]
    limit = {"alone": share * abs(along), "left": 100.0, "right": 100.0}
    u, told = place.ask(Bounded(limit=limit))
    np.testing.assert_allclose(told["task_scale"], share, **EXACT)
    np.testing.assert_allclose(u, share * np.array([along, across / 2.0, across / 2.0]), **EXACT)


@pytest.mark.parametrize("share", [0.7, 0.4, 0.15])
def test_scaling_serves_the_largest_share_that_a_linear_program_finds(arms, share):
    plain, _ = arms.ask(LeastNorm())
    limit = share * np.abs(plain).max()
    u, told = arms.ask(Bounded(limit=limit))
    s = told["task_scale"]
    assert np.abs(u).max() <= limit * (1.0 + 1e-12)
    # Another route to the same share: the rows as equalities in (u, s).
    L = arms.dynamics.L
    carry = -np.linalg.pinv(L.T @ arms.dynamics.G) @ (L.T @ arms.dynamics.a_free)
    base = arms.H @ np.clip(carry, -limit, limit)
    best = linprog(
        np.append(np.zeros(6), -1.0),
        A_eq=np.column_stack([arms.H, base - arms.d]),
        b_eq=base,
        bounds=[(-limit, limit)] * 6 + [(0.0, 1.0)],
    )
    np.testing.assert_allclose(s, best.x[-1], **EXACT)
    np.testing.assert_allclose(arms.H @ u, base + s * (arms.d - base), **EXACT)
    np.testing.assert_allclose(told["row_miss"], arms.H @ u - arms.d, **EXACT)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_share_is_found_however_far_the_demand_is_beyond_the_motors(seed, size):
    arms = two_arms(seed)
    arms.demand, limit = size * arms.demand, 20.0
    arms.d = arms.demand - arms.rows.A @ arms.dynamics.a_free
    _, told = arms.ask(Bounded(limit=limit))
    load = np.empty(6)
    load_compensation(arms.dynamics.L, arms.dynamics.G, arms.dynamics.a_free, load)
    base = np.clip(load, -limit, limit)
    none = arms.H @ base
    columns = np.column_stack([arms.H, -(arms.d - none) / size])  # of the inputs, and size * share
    bounds = [(-limit, limit)] * 6 + [(0.0, size)]
    best = linprog([0.0] * 6 + [-1.0], A_eq=columns, b_eq=none, bounds=bounds)
    np.testing.assert_allclose(told["task_scale"], best.x[-1] / size, rtol=1e-5)


def test_among_inputs_of_one_share_the_least_is_taken(arms):
    plain, _ = arms.ask(LeastNorm())
    limit = 0.6 * np.abs(plain).max()
    u, _ = arms.ask(Bounded(limit=limit))
    found = minimize(
        lambda x: x @ x, u + 0.01, jac=lambda x: 2.0 * x, bounds=[(-limit, limit)] * 6,
        constraints={"type": "eq", "fun": lambda x: arms.H @ (x - u), "jac": lambda x: arms.H},
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    np.testing.assert_allclose(np.linalg.norm(u), np.linalg.norm(found.x), rtol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_of_one_motor_a_row_the_share_is_a_ratio(seed):
    place = two_link(seed=seed)
    plain, _ = place.ask(LeastNorm())
    carry = -np.linalg.solve(place.dynamics.G, place.dynamics.a_free)
    limit = np.abs(carry) + 0.4 * np.abs(plain - carry)
    limits = dict(zip(ARM.actuators, np.minimum(limit, [40.0, 20.0]).tolist(), strict=True))
    u, told = place.ask(Bounded(limit=limits))
    shares = [
        (np.sign(step) * limits[name] - c) / step
        for name, c, step in zip(ARM.actuators, carry, plain - carry, strict=True)
    ]
    np.testing.assert_allclose(told["task_scale"], min(1.0, *shares), **EXACT)
    achieved = place.rows.A @ place.dynamics.acceleration(u)
    np.testing.assert_allclose(achieved, told["task_scale"] * place.demand, **EXACT)


def test_scaling_keeps_the_direction_of_the_demand_and_carries_the_load():
    place = two_link()
    place.demand = np.array([300.0, 0.0])  # far too fast, and level
    u, told = place.ask(Bounded())
    achieved = place.rows.A @ place.dynamics.acceleration(u)
    assert 0.0 < told["task_scale"] < 1.0
    np.testing.assert_allclose(achieved, [told["task_scale"] * 300.0, 0.0], **EXACT)


def by_hand(levels, limit, nu):
    """Return the misses of a lexicographic least-squares problem, level by level, by SciPy.

    Each level is solved with the reached values of the levels before as heavy rows.
    """
    done, misses = [], []
    for H, d in levels:
        heavy = [(1e5 * A, 1e5 * b) for A, b in done]
        A = np.vstack([*(A for A, _ in heavy), H])
        b = np.concatenate([*(b for _, b in heavy), d])
        x = lsq_linear(A, b, (-limit, limit), tol=1e-15, max_iter=1000).x
        misses.append(np.linalg.norm(H @ x - d))
        done.append((H, H @ x))
    return misses


@pytest.mark.slow(only=["0-0.5", "6-0.5"])
@pytest.mark.parametrize("limit", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_relaxing_gives_every_level_the_least_miss_that_higher_ones_leave(seed, limit):
    rng, nu, sizes = np.random.default_rng(seed), 6, (2, 2, 3)
    levels = [(rng.standard_normal((m, nu)), rng.standard_normal(m)) for m in sizes]
    H, d = np.vstack([H for H, _ in levels]), np.concatenate([d for _, d in levels])
    low, high = np.full((2, nu), [[-limit], [limit]])
    problem = BoundedInputProblem(H, np.eye(nu), np.zeros(nu), low, high, rank=nu)
    u = np.empty(nu)
    relax_by_levels(problem, d, np.cumsum(sizes), np.ones(7), RANK.servo, u)
    assert np.abs(u).max() <= limit
    misses = [np.linalg.norm(H @ u - d) for H, d in levels]
    np.testing.assert_allclose(misses, by_hand(levels, limit, nu), **ANOTHER_SOLVER)


def test_relaxing_gives_up_blocks_from_the_end_of_the_order():
    place = two_link()
    plain, _ = place.ask(LeastNorm())
    limit = 0.7 * np.abs(plain).max()
    for order in (("reach", "raise"), ("raise", "reach")):
        _, told = place.ask(Bounded(limit=limit, on_limit="relax", order=order))
        missed = dict(zip(("reach", "raise"), np.abs(told["row_miss"]), strict=True))
        assert missed[order[0]] < 1e-9
        assert missed[order[1]] > 0.1


def test_without_binding_limits_relaxing_is_strict_priorities():
    bend = Expression(name="bend", phi="elbow - 1", unit="rad")
    place = two_link((REACH, RAISE, bend))  # three rows, two motors
    wide, _ = place.ask(Bounded(limit={}, on_limit="relax"))
    strict, _ = place.ask(Prioritized())
    assert (np.abs(strict) < ARM.effort_limit).all()
    np.testing.assert_allclose(wide, strict, **EXACT)


def test_the_limits_are_the_motors_at_their_speed():
    curve = {"corner_speed": 0.5, "no_load_speed": 3.0}
    motors = [JointMotor(joint=name, limit=6.0, **curve) for name in ("shoulder", "elbow")]
    robot = Robot.build(ARM.path.parent / "two_link.urdf", Options(actuator=motors))
    place = two_link(seed=3, robot=robot)
    u, told = place.ask(Bounded())
    low, high = robot.input_bounds(place.task.v)
    assert (u >= low).all()
    assert (u <= high).all()
    assert told["binding"].any()
    at = np.flatnonzero(told["binding"])
    np.testing.assert_allclose(u[at], np.where(told["binding"] > 0, high, low)[at], **EXACT)


def slow_arm(rate):
    motors = [JointMotor(joint=name, limit=30.0, rate_limit=rate) for name in ARM.actuators]
    return Robot.build(ARM.path.parent / "two_link.urdf", Options(actuator=motors))


def test_rate_limits_hold_from_tick_to_tick_and_the_first_is_free():
    place = two_link(robot=slow_arm(50.0), period=0.01)
    allocator = Bounded().attach(place.task, place.stack.names)
    memory, inputs = allocator.memory, []
    for demand in (place.demand, -4.0 * place.demand, 4.0 * place.demand):
        allocator.look_back(memory)
        u = allocator.input(place.rows, demand, place.dynamics)
        memory = memory + 0.01 * allocator.memory_rate(u, memory)
        inputs.append(u)
    free, _ = two_link(robot=slow_arm(50.0), period=0.01).ask(Bounded(rate_limits="ignore"))
    np.testing.assert_array_equal(inputs[0], free)
    steps = np.abs(np.diff(inputs, axis=0))
    np.testing.assert_allclose(steps.max(axis=1), 0.5, rtol=1e-9)


def test_an_allocator_that_is_not_told_the_last_input_says_so():
    with pytest.raises(GainError, match="must call allocator.look_back"):
        two_link(robot=slow_arm(50.0), period=0.01).ask(Bounded())


@pytest.mark.parametrize(
    "allocation", [Damped(), Prioritized(), Bounded(on_limit="relax")], ids=lambda it: it.kind
)
def test_what_tells_rows_apart_refuses_rows_that_are_not_the_tasks(allocation):
    with pytest.raises(GainError, match="needs a feedback that asks for the rows of the task"):
        allocation.attach(two_link().task, ("decrease",))


def test_scaling_serves_whatever_row_a_feedback_asks_for():
    place = two_link()
    row = Rows(*(part[:1] for part in place.rows))
    allocator = Bounded().attach(place.task, ("decrease",))
    u = allocator.input(row, place.demand[:1], place.dynamics)
    achieved = row.A @ place.dynamics.acceleration(u)
    np.testing.assert_allclose(achieved, place.demand[:1], **EXACT)
    assert allocator.signals()["row_miss"].components == ("decrease",)


def test_rate_limits_without_ticks_are_refused_by_the_motors_name():
    with pytest.raises(GainError, match="rate limit of motor 'shoulder'.*timing.control"):
        two_link(robot=slow_arm(50.0)).ask(Bounded())


@pytest.mark.parametrize(
    ("keys", "error", "says"),
    [
        ({"limit": {"elbow": (30.0, 40.0)}}, GainError, "motor 'elbow' must leave it some input"),
        ({"limit": {"elbo": 3.0}}, UnknownName, "did you mean 'elbow'"),
        ({"order": ("reach", "raise")}, InputError, 'order goes with on_limit = "relax"'),
        ({"limit": -3.0}, InputError, "limit: must be positive; got -3"),
        ({"limit": (3.0, -3.0)}, InputError, "lower and a higher number; got 3 and -3"),
        ({"null_space": InternalForce(rows="x", value=(1.0,))}, InputError, "internal force"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(keys, error, says):
    with pytest.raises(error, match=says):
        two_link().ask(Bounded(**keys))


def test_a_robot_without_any_limit_is_refused():
    scara = Robot.load("scara")
    task = Task(robot=scara, servo=(), q=np.zeros(4), v=np.zeros(4))
    with pytest.raises(GainError, match="bounded needs the limit of some motor; robot 'scara'"):
        Bounded().attach(task, ())


def test_empty_boxes_are_told_from_full_ones():
    empty = LinearBounds(np.eye(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert nearest_in_bounds(empty, np.zeros(2)) is None
    nowhere = LinearBounds(np.zeros((1, 2)), np.array([1.0]), np.array([2.0]))
    assert bounded_least_squares(np.eye(2), np.ones(2), nowhere) is None
    anywhere = LinearBounds(np.eye(2), np.full(2, -np.inf), np.full(2, np.inf))
    np.testing.assert_allclose(nearest_in_bounds(anywhere, np.ones(2)), [-1.0, -1.0], **EXACT)
