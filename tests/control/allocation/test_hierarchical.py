"""Weights, damping and priorities on robots: each promise, beside the plain least norm."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, Task
from ukctrl.control import Damped, LeastNorm, Posture, Prioritized
from ukctrl.core.algebra.task_hierarchy import damping_error
from ukctrl.core.errors import GainError, InfeasibleConstraint, UnknownName
from ukctrl.mechanics.constraints import Expression, JointFollows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant

EXACT = {"rtol": 0.0, "atol": 1e-10}  # row accelerations of order ten
ARM = Robot.load("two_link")
PUSH = {"shoulder": 3.0}


def row(name, phi, unit="m"):
    return Expression(name=name, phi=phi, unit=unit)


REACH = row("reach", "0.5*cos(shoulder) + 0.5*cos(shoulder + elbow) - 0.7")
RAISE = row("raise", "0.5*sin(shoulder) + 0.5*sin(shoulder + elbow) - 0.1")
ELBOW = row("bend", "elbow - 1", "rad")


class Place:
    """The two-link arm at a state, with rows and a demand on them."""

    def __init__(self, servo, q, seed=0, robot=ARM):
        rng = np.random.default_rng(seed)
        v = rng.standard_normal(robot.nv)
        self.task = Task(robot=robot, servo=servo, q=np.array([0.3, 0.9]), v=v)
        self.stack, self.dynamics = Stack(servo, robot), Dynamics(robot)
        self.dynamics.move(0.0, np.array(q), v)
        self.rows = self.stack.write(self.dynamics.snapshot)
        self.demand = rng.standard_normal(len(self.stack))
        self.G, self.A = self.dynamics.G, self.rows.A

    def ask(self, allocation):
        allocator = allocation.attach(self.task, self.stack.names)
        u = allocator.input(self.rows, self.demand, self.dynamics)
        return u, {name: signal.value for name, signal in allocator.signals().items()}

    def miss(self, u):
        return self.A @ self.dynamics.acceleration(u) - self.demand


def test_a_weight_by_motor_is_the_same_as_its_matrix():
    place = Place((REACH,), [0.4, 0.8])
    u, _ = place.ask(LeastNorm(metric=PUSH))
    matrix, _ = place.ask(LeastNorm(metric=((3.0, 0.0), (0.0, 1.0))))
    np.testing.assert_array_equal(u, matrix)
    np.testing.assert_allclose(place.miss(u), 0.0, **EXACT)


def test_a_heavier_weight_spares_its_motor():
    place = Place((REACH,), [0.4, 0.8])
    shares = [abs(place.ask(LeastNorm(metric={"shoulder": w}))[0][0]) for w in (0.1, 1.0, 10.0)]
    assert shares[0] > shares[1] > shares[2]


def test_weights_by_limits_use_every_motor_by_what_it_can_give():
    place = Place((REACH,), [0.4, 0.8])
    u, _ = place.ask(LeastNorm(metric="limits"))  # 40 and 20 N m
    w = np.array([40.0, 20.0])
    H = place.A @ place.G
    d = place.demand - place.A @ place.dynamics.a_free
    np.testing.assert_allclose(u, w * (np.linalg.pinv(H * w) @ d), **EXACT)


def test_a_weight_for_a_motor_that_is_not_there_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'shoulder'"):
        Place((REACH,), [0.4, 0.8]).ask(LeastNorm(metric={"sholder": 2.0}))


def test_weights_by_limits_name_the_motor_without_one():
    scara = Scenario.load("scara-helix")
    task = Task(robot=Robot.load("scara"), servo=scara.servo, q=np.zeros(4), v=np.zeros(4))
    with pytest.raises(GainError, match="needs a limit of every motor; 'u1' of robot 'scara'"):
        LeastNorm(metric="limits").attach(task, ())


@pytest.mark.parametrize("elbow", [1.2, 0.4, 0.05, 0.01, 1e-4])
@pytest.mark.parametrize("metric", ["effort", "gauss"])
def test_damping_stays_within_the_bound_that_it_records(elbow, metric):
    tool = Expression(name="tool", phi=(REACH.phi, RAISE.phi), unit="m")  # one block, one scale
    place = Place((tool,), [0.4, elbow], seed=3)
    law = Damped(near=0.1, metric=metric)
    u, told = place.ask(law)
    miss = place.miss(u)
    np.testing.assert_allclose(told["row_miss"], miss, **EXACT)
    assert np.linalg.norm(miss) <= told["miss_bound"] * (1.0 + 1e-9) + 1e-12
    rest = place.demand - place.A @ place.dynamics.a_free
    stated = damping_error(told["sigma"], 0.1, 1.0) * np.linalg.norm(rest)
    np.testing.assert_allclose(told["miss_bound"], stated, rtol=1e-9, atol=1e-12)


def test_damping_away_from_singularities_is_the_least_norm():
    place = Place((REACH, RAISE), [0.4, 1.2])
    u, told = place.ask(Damped())
    np.testing.assert_allclose(u, place.ask(LeastNorm())[0], **EXACT)
    assert told["miss_bound"] == 0.0


@pytest.mark.parametrize(
    "allocation",
    [
        Damped(null_space=Posture(kp=5.0, kd=1.0), metric="gauss"),
        Prioritized(order=("reach",), null_space=Posture(kp=5.0, kd=1.0), metric="gauss"),
    ],
    ids=["damped", "prioritized"],
)
def test_a_null_space_input_is_that_of_the_least_norm(allocation):
    place = Place((REACH,), [0.4, 1.2])
    plain = LeastNorm(null_space=Posture(kp=5.0, kd=1.0), metric="gauss")
    np.testing.assert_allclose(place.ask(allocation)[0], place.ask(plain)[0], **EXACT)


def test_priorities_that_do_not_conflict_are_the_least_norm():
    place = Place((REACH, RAISE), [0.4, 1.2])
    for order in (("reach", "raise"), ("raise", "reach"), (("reach", "raise"),)):
        u, told = place.ask(Prioritized(order=order))
        np.testing.assert_allclose(u, place.ask(LeastNorm())[0], **EXACT)
        np.testing.assert_allclose(told["level_miss"], 0.0, **EXACT)


@pytest.mark.parametrize("first", ["reach", "raise", "bend"])
def test_of_three_levels_on_two_motors_the_first_two_hold_and_the_last_is_missed(first):
    order = (first, *({"reach", "raise", "bend"} - {first}))
    place = Place((REACH, RAISE, ELBOW), [0.4, 1.2])
    u, told = place.ask(Prioritized(order=order))
    missed = dict(zip(("reach", "raise", "bend"), place.miss(u), strict=True))
    np.testing.assert_allclose([missed[name] for name in order[:2]], 0.0, **EXACT)
    np.testing.assert_allclose(told["level_miss"][2], abs(missed[order[2]]), **EXACT)
    assert abs(missed[order[2]]) > 0.1
    with pytest.raises(InfeasibleConstraint):
        place.ask(LeastNorm())


def test_a_first_level_out_of_reach_is_an_error_that_names_it():
    low = row("low", "shoulder + 0*elbow", "rad")
    high = row("high", "2*shoulder", "rad")
    place = Place((low, high, ELBOW), [0.4, 1.2])
    with pytest.raises(InfeasibleConstraint, match="'high'|'low'"):
        place.ask(Prioritized(order=(("low", "high"), "bend")))


def test_without_an_order_blocks_rank_as_the_task_lists_them():
    place = Place((REACH, RAISE, ELBOW), [0.4, 1.2])
    listed, _ = place.ask(Prioritized(order=("reach", "raise", "bend")))
    np.testing.assert_array_equal(place.ask(Prioritized())[0], listed)


@pytest.mark.parametrize(
    ("order", "error", "says"),
    [
        (("reach",), GainError, "order must name every block; 'raise' is missing"),
        (("reach", "raise", "reach"), GainError, "'reach' comes twice"),
        (("reach", "rise"), UnknownName, "did you mean 'raise'"),
    ],
)
def test_an_order_that_does_not_fit_the_task_is_refused(order, error, says):
    with pytest.raises(error, match=says):
        Place((REACH, RAISE), [0.4, 1.2]).ask(Prioritized(order=order))


def test_the_scale_of_rows_does_not_depend_on_their_unit():
    far = row("reach", "500*cos(shoulder) + 500*cos(shoulder + elbow) - 700")
    high = row("raise", "500*sin(shoulder) + 500*sin(shoulder + elbow) - 100")
    metres, millimetres = Place((REACH, RAISE), [0.4, 0.03]), Place((far, high), [0.4, 0.03])
    millimetres.demand = 1e3 * metres.demand
    np.testing.assert_allclose(
        millimetres.ask(Damped(near=0.1))[0], metres.ask(Damped(near=0.1))[0], rtol=1e-9
    )


def test_a_joint_that_follows_a_constant_is_one_block():
    joint = JointFollows(joints=("shoulder",), path=Constant(value=(0.2,)), name="shoulder")
    place = Place((joint, ELBOW), [0.4, 1.2])
    u, _ = place.ask(Prioritized(order=("shoulder", "bend")))
    np.testing.assert_allclose(place.miss(u), 0.0, **EXACT)
