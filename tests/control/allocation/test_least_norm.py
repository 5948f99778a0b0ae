"""Allocations on closed chains: who meets the rows, who is smallest, and what a squeeze changes."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import Chen, Damping, InternalForce, LeastNorm
from ukctrl.control.allocation.internal_force import reaction_map
from ukctrl.core.errors import GainError, InfeasibleConstraint, InputError, UnknownName
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Expression as Path
from ukctrl.robot import Lagrangian, Options
from ukctrl.robot.motor_limits import InputBounds, MotorLimits

EXACT = {"rtol": 0.0, "atol": 1e-10}  # accelerations of some 10 rad/s^2, torques of some 100 N m
READINGS = {
    "least_norm": LeastNorm(),
    "gauss": LeastNorm(metric=tuple(map(tuple, np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).tolist()))),
    "chen": Chen(),
    "stacked": LeastNorm(coupling="stacked"),
}
OF_LEAST_NORM = 'the allocation { kind = "least_norm", on_infeasible = "least_squares" }.'
SQUEEZE = InternalForce(rows="grip.x", value=(20.0,))


@pytest.fixture(scope="module")
def scenario():
    return Scenario.load("coordinated-arms-squeeze")


@pytest.fixture(scope="module")
def robot():
    return Robot.load("coordinated_arms_grip")


class Arms:
    """The two arms at a moving state of the closed chain, with a demand on the three rows."""

    def __init__(self, robot, scenario, seed):
        rng = np.random.default_rng(seed)
        self.dynamics = Dynamics(robot)
        guess = np.radians([60.0, -120.0, 60.0, -60.0, 120.0]) + 0.2 * rng.standard_normal(5)
        start = consistent_state(self.dynamics.passive, guess, rng.standard_normal(5))
        self.task = Task(robot=robot, servo=scenario.servo, q=start.q, v=start.v)
        self.dynamics.move(0.4, start.q, start.v)
        self.stack = Stack(scenario.servo, robot)
        self.rows = self.stack.write(self.dynamics.snapshot)
        self.demand = rng.standard_normal(3)

    def input(self, allocation):
        allocator = allocation.attach(self.task, self.stack.names)
        return allocator.input(self.rows, self.demand, self.dynamics)

    def miss(self, u):
        return self.rows.A @ self.dynamics.acceleration(u) - self.demand

    def reaction(self, u):
        answer = reaction_map(self.dynamics)
        return answer.lam_free + answer.Lam @ u


@pytest.fixture(params=range(5))
def arms(request, robot, scenario):
    return Arms(robot, scenario, request.param)


@pytest.mark.parametrize("name", READINGS)
def test_every_exact_reading_meets_the_rows_on_a_closed_chain(arms, name):
    u = arms.input(READINGS[name])
    np.testing.assert_allclose(arms.miss(u), 0.0, **EXACT)


def test_the_least_norm_is_least(arms):
    least = np.linalg.norm(arms.input(LeastNorm()))
    others = [np.linalg.norm(arms.input(READINGS[name])) for name in ("chen", "stacked")]
    assert least < min(others)


def test_chens_input_lies_in_the_row_space_of_the_free_chain(arms):
    s = arms.dynamics.snapshot
    N = (arms.rows.A @ np.linalg.solve(s.M, s.B)).T
    u = arms.input(Chen())
    mu = np.linalg.lstsq(N, u)[0]
    np.testing.assert_allclose(N @ mu, u, **EXACT)


def test_chens_input_is_a_fixed_point_of_the_papers_steps(arms):
    """With the reaction of the input itself, ``u = (C B_bar)^+ b_bar`` gives the input back."""
    s = arms.dynamics.snapshot
    u = arms.input(Chen())
    reaction = s.M @ arms.dynamics.acceleration(u) - (s.f - s.nle) - s.B @ u
    b_bar = arms.demand - arms.rows.A @ np.linalg.solve(s.M, s.f - s.nle + reaction)
    again = np.linalg.pinv(arms.rows.A @ np.linalg.solve(s.M, s.B)) @ b_bar
    np.testing.assert_allclose(again, u, **EXACT)


def test_the_literal_steps_take_the_reaction_of_motors_at_rest_and_miss(arms):
    s = arms.dynamics.snapshot
    u = arms.input(LeastNorm(coupling="frozen"))
    believed = arms.dynamics.a_free + np.linalg.solve(s.M, s.B @ u)
    np.testing.assert_allclose(arms.rows.A @ believed, arms.demand, **EXACT)
    assert np.abs(arms.miss(u)).max() > 0.1


def test_stacked_rows_leave_the_reaction_as_with_motors_at_rest(arms):
    u = arms.input(LeastNorm(coupling="stacked"))
    np.testing.assert_allclose(arms.reaction(u), arms.reaction(np.zeros(6)), **EXACT)


@pytest.mark.parametrize("name", ["chen", "frozen", "stacked"])
def test_on_an_open_chain_all_readings_are_one(name, arms):
    opened = dc.replace(arms.task.robot, passive=())
    task = dc.replace(arms.task, robot=opened)
    dynamics = Dynamics(opened)
    dynamics.move(0.4, arms.task.q, arms.task.v)
    rows = arms.stack.write(dynamics.snapshot)
    allocation = Chen() if name == "chen" else LeastNorm(coupling=name)
    u, least = (
        each.attach(task, arms.stack.names).input(rows, arms.demand, dynamics)
        for each in (allocation, LeastNorm())
    )
    np.testing.assert_allclose(u, least, **EXACT)


def test_reactions_answer_the_input_as_the_equation_of_motion_says(arms):
    rng = np.random.default_rng(1)
    s, u = arms.dynamics.snapshot, rng.standard_normal(6)
    force = s.M @ arms.dynamics.acceleration(u) + s.nle - s.f - s.B @ u
    A_p = arms.dynamics.passive.rows.A
    np.testing.assert_allclose(A_p.T @ arms.reaction(u), force, **EXACT)


def test_the_reactions_that_are_held_are_those_that_are_recorded(robot, scenario):
    """Also where the grip rubs."""
    rubbing = {**robot.passive[0], "friction": {"kind": "viscous", "coefficient": 3.0}}
    arms = Arms(dc.replace(robot, passive=(rubbing,)), scenario, 0)
    assert np.abs(arms.dynamics.nonideal).max() > 0.1
    u = arms.input(LeastNorm(null_space=SQUEEZE))
    force = arms.dynamics.passive_force(arms.dynamics.acceleration(u), u)
    np.testing.assert_allclose(arms.dynamics.reactions(force)[0], 20.0, **EXACT)
    np.testing.assert_allclose(arms.dynamics.reactions(force), arms.reaction(u), **EXACT)
    np.testing.assert_allclose(arms.miss(u), 0.0, **EXACT)


@pytest.mark.parametrize("name", READINGS)
def test_a_squeeze_is_held_and_leaves_the_motion_alone(arms, name):
    alone = arms.input(READINGS[name])
    squeezed = arms.input(dc.replace(READINGS[name], null_space=SQUEEZE))
    np.testing.assert_allclose(arms.reaction(squeezed)[0], 20.0, **EXACT)
    before, after = (arms.dynamics.acceleration(u) for u in (alone, squeezed))
    np.testing.assert_allclose(after, before, **EXACT)


def test_both_forces_of_the_grip_can_be_held_along_a_path(arms):
    path = Path(components=("10 + t", "-5*t"))
    force = InternalForce(rows=("grip.x", "grip.y"), path=path)
    u = arms.input(LeastNorm(null_space=force))
    np.testing.assert_allclose(arms.reaction(u), [10.4, -2.0], **EXACT)
    np.testing.assert_allclose(arms.miss(u), 0.0, **EXACT)


def test_no_other_input_with_that_squeeze_is_smaller(arms):
    rng = np.random.default_rng(3)
    u = arms.input(LeastNorm(null_space=SQUEEZE))
    held = np.vstack((arms.rows.A @ arms.dynamics.G, reaction_map(arms.dynamics).Lam[0]))
    null = np.linalg.svd(held)[2][4:]
    assert np.linalg.norm(u) <= np.linalg.norm(u + null.T @ rng.standard_normal(2))


def test_chens_input_comes_nearest_to_a_preference_within_its_space(arms):
    u0 = arms.input(LeastNorm(null_space=Damping(gain=2.0)))
    np.testing.assert_allclose(arms.miss(u0), 0.0, **EXACT)
    u = arms.input(Chen(null_space=Damping(gain=2.0)))
    np.testing.assert_allclose(arms.miss(u), 0.0, **EXACT)


def test_a_squeeze_beyond_the_motors_is_refused_and_the_task_not_traded_for_it(arms):
    """With as many motors as freedoms the task takes them all."""
    robot = arms.task.robot
    few = dc.replace(
        robot,
        actuation=dc.replace(
            robot.actuation,
            names=robot.actuators[:3],
            units=robot.actuator_units[:3],
            bounds=InputBounds.of([(name, MotorLimits(), np.inf) for name in robot.actuators[:3]]),
            constant=robot.actuation.constant[:, :3],
            varying_columns=(),
        ),
    )
    task = dc.replace(arms.task, robot=few)
    dynamics = Dynamics(few)
    dynamics.move(0.4, task.q, task.v)
    allocator = LeastNorm(null_space=SQUEEZE).attach(task, arms.stack.names)
    with pytest.raises(InfeasibleConstraint, match="internal force"):
        allocator.input(arms.stack.write(dynamics.snapshot), arms.demand, dynamics)


def tied_masses():
    """Two masses of 1 and 2 kg that a rod ties together, each with a motor."""
    return Robot.build(
        Lagrangian(coordinates={"x1": "m", "x2": "m"}, kinetic="v.x1**2/2 + v.x2**2"),
        Options(passive=[{"kind": "expression", "phi": "x2 - x1 - 1"}]),
    )


def test_where_chens_space_has_no_grip_the_row_is_refused_and_the_least_norm_named():
    """A M^-1 is across the rod for x1 - 2 x2, so that N only stretches it: H N = 0, H is not."""
    robot = tied_masses()
    row = Expression(phi="x1 - 2*x2 + 2", name="across")
    task = Task(robot=robot, servo=(row,), q=np.array([0.0, 1.0]), v=np.zeros(2))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, task.q, task.v)
    rows, demand = row.rows(dynamics.snapshot), np.array([0.7])
    least = LeastNorm().attach(task, ("across",)).input(rows, demand, dynamics)
    np.testing.assert_allclose(rows.A @ dynamics.acceleration(least), demand, **EXACT)
    with pytest.raises(
        InfeasibleConstraint, match=r"controller.allocation.kind = .least_norm."
    ) as refused:
        Chen().attach(task, ("across",)).input(rows, demand, dynamics)
    assert (refused.value.rows, refused.value.rank) == (("across",), 0)


def test_where_no_motor_has_grip_chens_refusal_does_not_say_that_the_least_norm_reaches_it():
    robot = Robot.load("two_mass_spring")
    row = Expression(phi="x2 - 1", name="far")
    task = Task(robot=robot, servo=(row,), q=np.array([0.1, 1.1]), v=np.zeros(2))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, task.q, task.v)
    with pytest.raises(InfeasibleConstraint, match="add an actuator"):
        Chen().attach(task, ("far",)).input(row.rows(dynamics.snapshot), np.ones(1), dynamics)


def test_a_reaction_that_no_motor_changes_is_refused():
    """A pendulum of two rods, and a cart beside it that has the only motor."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m", "cart": "m"},
            kinetic="v.x**2/2 + v.y**2/2 + v.cart**2",
            potential="9.81*y",
            inputs={"F": {"cart": 1.0}},
        ),
        Options(passive=[{"kind": "expression", "name": "rod", "phi": "(x**2 + y**2 - 1)/2"}]),
    )
    row = Expression(phi="cart", name="cart")
    task = Task(robot=robot, servo=(row,), q=np.array([0.6, -0.8, 0.0]), v=np.zeros(3))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, task.q, task.v)
    np.testing.assert_array_equal(reaction_map(dynamics).Lam, 0.0)
    held = LeastNorm(null_space=InternalForce(rows="rod", value=(1.0,)))
    with pytest.raises(InfeasibleConstraint) as caught:
        held.attach(task, ("cart",)).input(row.rows(dynamics.snapshot), np.ones(1), dynamics)
    # The rod carries 9.81*0.8 N of the weight, and would have to push with 1 N instead.
    assert str(caught.value) == (
        "servo rows 'internal force rod' are out of the actuators' reach (worst miss 8.8e+00; rank "
        "0 of 1 rows). The task leaves the motors no freedom that changes this reaction; hold "
        "fewer reactions, or add a motor."
    )


def test_an_internal_force_needs_a_closed_chain():
    task = Task(robot=Robot.load("scara"), servo=(), q=np.zeros(4), v=np.zeros(4))
    with pytest.raises(GainError, match="needs a closed chain; robot 'scara'"):
        LeastNorm(null_space=SQUEEZE).attach(task, ())


def test_an_unknown_passive_row_is_named_with_its_near_miss(arms):
    wrong = InternalForce(rows="grip.z", value=(1.0,))
    with pytest.raises(UnknownName, match=r"no passive row .* named 'grip.z'; did you mean"):
        arms.input(LeastNorm(null_space=wrong))


def test_a_reaction_that_redundant_rows_share_is_refused(robot, arms):
    twice = dc.replace(robot, passive=(*robot.passive, {**robot.passive[0], "name": "again"}))
    with pytest.raises(GainError) as caught:
        LeastNorm(null_space=SQUEEZE).attach(dc.replace(arms.task, robot=twice), arms.stack.names)
    assert str(caught.value) == (
        "the reaction of passive row 'grip.x' must be determined to be held; redundant rows share "
        'it. Close the chain with the rows it needs and no more, such as type = "planar_point" '
        "in a planar mechanism."
    )


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "either a value or a path"),
        ({"value": (1.0,), "path": Path(components=("t",))}, "either a value or a path"),
        ({"value": (1.0, 2.0)}, "value must have one component a row, 1; got 2"),
        ({"rows": (), "value": (1.0,)}, "at least one passive row"),
        ({"rows": ("grip.x", "grip.x"), "value": (1.0, 2.0)}, "every passive row once"),
    ],
)
def test_an_internal_force_without_one_value_a_row_is_refused(fields, says):
    with pytest.raises(InputError, match=says):
        InternalForce(**{"rows": "grip.x", **fields})


@pytest.mark.parametrize(
    ("law", "instead"),
    [
        ("servo-baumgarte", 'on_infeasible = "least_squares".'),
        ("servo-bounded", OF_LEAST_NORM),
        ("servo-prioritized", OF_LEAST_NORM),
        ({"use": "servo-baumgarte", "allocation": {"kind": "chen"}}, OF_LEAST_NORM),
    ],
)
def test_a_refusal_offers_the_closest_motion_by_a_key_that_exists(law, instead):
    """A straight arm: two rows, of which no motion serves the one along it."""
    straight = {"start": {"q": {"shoulder": "-30*deg", "elbow": 0.0}, "solve": False}}
    table = law if isinstance(law, dict) else {"use": law}
    run = simulate(Scenario.load("stretched-arm", {"controller": table, **straight}))
    assert run.status == "infeasible"
    assert "The robot is in a singular position" in run.message
    assert run.message.endswith(f"drop a row, or accept the closest motion with {instead}")
