"""Exciting motions keep every limit, begin and end at rest, and tell more than other motions."""

import numpy as np
import pytest

from tests.identification.exciting_robots import (
    arm,
    arm_motion,
    five_bar,
    five_bar_motion,
    inverse_dynamics,
    passive_rows,
    regressors,
)
from tests.identification.simulated_logs import built
from ukctrl import Robot
from ukctrl.control.safety import HalfSpaceLimit, JointLimits, SphereLimit
from ukctrl.core.errors import InputError
from ukctrl_identification.design_options import DesignOptions
from ukctrl_identification.design_problem import DesignProblem
from ukctrl_identification.exciting_design import design
from ukctrl_identification.exciting_options import ExcitingOptions
from ukctrl_identification.independent_joints import IndependentJoints
from ukctrl_identification.least_squares import weighted_fit
from ukctrl_identification.measured_motion import Motion
from ukctrl_identification.passive_motion import FreeMotion

FINE = 8_001
"""Instants of a period, far closer together than those of the search."""


def fine(motion):
    return motion.states(np.linspace(0.0, motion.series.period, FINE))


def friction_of(motion, states):
    """Return what friction takes as motions are designed with it, ``(n, nv)``."""
    regression = motion.equations.regression
    values = dict(
        zip([one.name for one in regression.parameters], regression.model_values(), strict=True)
    )
    force = np.zeros(states.v.shape)
    for i, name in enumerate(motion.robot.dofs):
        v = states.v[:, i]
        force[:, i] = values[f"{name}.coulomb"] * np.tanh(v / regression.velocity_scale[i])
        force[:, i] += values[f"{name}.viscous"] * v
    return force


def information(motion, states):
    """Return the information of all parameters, by stacking Pinocchio's regressors."""
    Y, noise = regressors(motion, states), motion.equations.noise
    if states.tangent is None:
        rows = Y / noise[:, None]
    else:  # of what no reaction enters, by the covariance of its noise
        N = states.tangent
        projected = np.einsum("nik,nip->nkp", N, Y)
        covariance = np.einsum("nik,i,nij->nkj", N, noise**2, N)
        rows = np.array([
            np.linalg.solve(np.linalg.cholesky(C), one)
            for C, one in zip(covariance, projected, strict=True)
        ])  # fmt: skip
    stacked = rows.reshape(-1, Y.shape[2])
    return stacked.T @ stacked


def determinant(motion, states):
    kept = motion.equations.base.independent
    sign, value = np.linalg.slogdet(information(motion, states)[np.ix_(kept, kept)])
    assert sign > 0.0
    return value


MOTIONS = [
    pytest.param(arm_motion, id="arm"),
    pytest.param(five_bar_motion, id="five_bar", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("make", MOTIONS)
def test_it_begins_and_ends_at_rest_at_the_start(make):
    motion = make()
    ends = motion.states(np.array([0.0, motion.series.period]))
    np.testing.assert_allclose(ends.q, np.tile(motion.joints.start, (2, 1)), atol=1e-9)
    np.testing.assert_allclose(ends.v, 0.0, atol=1e-9)
    np.testing.assert_allclose(ends.a, 0.0, atol=1e-8)


@pytest.mark.parametrize("make", MOTIONS)
def test_joints_keep_their_limits_with_the_margin_between_the_instants_of_the_search(make):
    motion, states = make(), fine(make())
    robot, share = motion.robot, 0.9
    assert (np.abs(states.v) <= share * robot.velocity_limit).all()
    for block in robot.blocks:
        if block.shape == "line":
            low, high = robot.q_lower[block.iq], robot.q_upper[block.iq]
            used = np.abs(states.q[:, block.iq] - 0.5 * (low + high)) / (0.5 * (high - low))
            assert used.max() <= share, block.name


def test_motors_keep_their_limits_with_the_margin_by_inverse_dynamics():
    motion, states = arm_motion(), fine(arm_motion())
    torque = inverse_dynamics(motion.robot, states) + friction_of(motion, states)
    assert (np.abs(torque) <= 0.9 * motion.robot.effort_limit).all()


@pytest.mark.slow
def test_motors_of_a_closed_chain_balance_its_dynamics_within_their_limits():
    motion = five_bar_motion()
    states = motion.states(np.linspace(0.0, motion.series.period, 997))
    _, u = motion.equations.rows(states)
    assert (np.abs(u) <= 0.9 * motion.robot.effort_limit).all()
    load, B = inverse_dynamics(motion.robot, states), motion.robot.snapshot(states.q[0]).B
    for n in range(len(u)):
        A, _, _ = passive_rows(motion.robot, states.q[n], states.v[n])
        left = load[n] - B @ u[n]
        reaction = np.linalg.lstsq(A.T, left, rcond=None)[0]
        np.testing.assert_allclose(A.T @ reaction, left, atol=1e-9)


@pytest.mark.slow
def test_a_closed_chain_stays_on_its_constraints_and_away_from_singular_positions():
    motion = five_bar_motion()
    states = motion.states(np.linspace(0.0, motion.series.period, 997))
    start = np.linalg.cond(passive_rows(motion.robot, motion.joints.start, 0.0 * states.v[0])[0])
    for q, v, a in zip(states.q, states.v, states.a, strict=True):
        A, b, phi = passive_rows(motion.robot, q, v)
        np.testing.assert_allclose(phi, 0.0, atol=1e-10)
        np.testing.assert_allclose(A @ v, 0.0, atol=1e-10)
        np.testing.assert_allclose(A @ a, b, atol=1e-9)
        assert np.linalg.cond(A) < 10.0 * start
    assert np.abs(states.y[:, 0]).max() <= 0.6  # the range that was given


@pytest.mark.parametrize("make", MOTIONS)
def test_the_information_is_that_of_stacked_regressors(make):
    motion = make()
    states = motion.states(np.linspace(0.0, motion.series.period, 60))
    kept = motion.equations.base.independent
    stacked = information(motion, states)[np.ix_(kept, kept)]
    ours = motion.equations.information(motion.equations.rows(states)[0])
    scale = np.sqrt(np.outer(np.diag(stacked), np.diag(stacked)))
    np.testing.assert_allclose(ours / scale, stacked / scale, atol=1e-10)
    R = motion.equations.triangle(states)
    np.testing.assert_allclose(R.T @ R / scale, stacked / scale, atol=1e-10)


@pytest.mark.parametrize("make", MOTIONS)
def test_it_tells_more_than_motions_by_hand_and_at_random_by_the_ratio_that_it_says(make):
    motion = make()
    times = np.linspace(0.0, motion.series.period, 400, endpoint=False)
    own, b = determinant(motion, motion.states(times)), len(motion.formulas)
    for other in motion.others:
        states = motion.joints.along(other.series, times)
        ratio = np.exp((own - determinant(motion, states)) / (2 * b))
        assert other.ratio > 1.2, other.name
        # friction turns within few of the instants of either
        assert other.ratio == pytest.approx(ratio, rel=0.02), other.name


def test_other_motions_keep_the_same_limits():
    motion = arm_motion()
    for other in motion.others:
        states = motion.joints.along(other.series, np.linspace(0.0, 6.0, 401))
        assert (np.abs(states.v) <= motion.robot.velocity_limit).all()
        assert (states.q >= motion.robot.q_lower).all()
        assert (states.q <= motion.robot.q_upper).all()


def test_what_is_reported_of_limits_is_what_the_motion_uses():
    motion, states = arm_motion(), fine(arm_motion())
    robot, told = motion.robot, {one.limit: one for one in arm_motion().usage}
    for i, name in enumerate(robot.dofs):
        speed = np.abs(states.v[:, i]).max() / robot.velocity_limit[i]
        assert told[f"speed of '{name}'"].used == pytest.approx(speed, abs=1e-3)
        middle = 0.5 * (robot.q_lower[i] + robot.q_upper[i])
        half = 0.5 * (robot.q_upper[i] - robot.q_lower[i])
        high = (states.q[:, i].max() - middle) / half
        assert told[f"upper end of '{name}'"].used == pytest.approx(high, abs=1e-3)
    assert motion.most_used().used == max(one.used for one in motion.usage)


def test_two_designs_are_the_same_to_the_last_bit_and_another_seed_gives_another():
    options = {"duration": 3.0, "harmonics": 3, "starts": 2}
    one, two = (design(arm(), ExcitingOptions(**options)) for _ in range(2))
    np.testing.assert_array_equal(one.series.sine, two.series.sine)
    np.testing.assert_array_equal(one.series.cosine, two.series.cosine)
    other = design(arm(), ExcitingOptions(**options, seed=1))
    # the best of all starts may be the same; what it is compared with is drawn
    random = [found.others[1].series.sine for found in (one, other)]
    assert np.abs(random[1] - random[0]).max() > 1e-3


def test_the_a_criterion_has_the_smaller_trace_and_the_d_criterion_the_larger_determinant():
    by = {
        kind: design(arm(), ExcitingOptions(duration=6.0, criterion=kind, starts=2))
        for kind in ("D", "A")
    }
    scale = by["D"].equations.scale()
    trace = {kind: np.sum((motion.deviations / scale) ** 2) for kind, motion in by.items()}
    times = np.linspace(0.0, 6.0, 400, endpoint=False)
    size = {kind: determinant(motion, motion.states(times)) for kind, motion in by.items()}
    assert trace["A"] < trace["D"]
    assert size["D"] > size["A"]


def test_expected_deviations_are_those_of_the_inverse_information():
    motion = arm_motion()
    kept = motion.equations.base.independent
    states = motion.states(np.linspace(0.0, 6.0, 6000, endpoint=False))  # one a millisecond
    C = np.linalg.inv(information(motion, states)[np.ix_(kept, kept)])
    np.testing.assert_allclose(motion.deviations, np.sqrt(np.diag(C)), rtol=0.02)


def refits(motion, series, rng, count):
    """Return base parameters that logs with noise give, shape ``(count, b)``."""
    equations, robot = motion.equations, motion.robot
    times = np.linspace(0.0, motion.series.period, 1500, endpoint=False)
    states = motion.joints.along(series, times)
    exact = inverse_dynamics(robot, states) + friction_of(motion, states)
    found = []
    for _ in range(count):
        effort = exact + equations.noise * rng.normal(size=exact.shape)
        log = Motion(times, states.q, states.v, states.a, effort)
        free = FreeMotion(log, tuple(range(robot.nv)), None, effort)
        triangles = equations.regression.triangles([free], equations.base.kept())
        thinning = np.ones(len(triangles))
        found.append(
            weighted_fit(triangles, equations.base, thinning, 0.0 * equations.values).values
        )
    return np.array(found)


@pytest.mark.slow
def test_refits_of_noisy_logs_deviate_as_expected_and_less_than_along_a_motion_by_hand():
    motion, rng = arm_motion(), np.random.default_rng(3)
    hand = motion.others[0]
    thinned = np.sqrt(6000 / 1500)  # of a log of 1500 samples in place of 6000
    count = 150
    own = refits(motion, motion.series, rng, count)
    by_hand = refits(motion, hand.series, rng, count)
    for found, expected in ((own, motion.deviations), (by_hand, hand.deviations)):
        deviation = np.sqrt(np.mean((found - motion.equations.values) ** 2, axis=0))
        # a deviation of 150 draws is known to 6 %
        np.testing.assert_allclose(deviation, thinned * expected, rtol=0.3)
        assert np.mean(deviation / (thinned * expected)) == pytest.approx(1.0, abs=0.05)
    measured = np.exp(0.5 * np.mean(np.log(by_hand.var(axis=0) / own.var(axis=0))))
    assert measured > 1.2


def test_walls_are_kept_with_their_margins_and_so_that_no_law_must_brake_for_them():
    walls = [
        HalfSpaceLimit(
            name=f"wall{side:g}", frame="lower", point=(0.0, -0.2 * side, 0.0),
            normal=(0.0, side, 0.0), margin=0.03, decay=0.05,
        )
        for side in (1.0, -1.0)
    ]  # fmt: skip
    speeds = JointLimits(limits=("speeds",), speed=1.5, decay=0.02)
    motion = design(
        arm(), ExcitingOptions(duration=6.0, starts=1), keep=(*walls, speeds), sample_period=0.002
    )
    states, snapshot = fine(motion), motion.robot.snapshot(motion.joints.start)

    def aside(states):
        places = []
        for q, v in zip(states.q[::4], states.v[::4], strict=True):
            snapshot.move(q, v)
            places.append(snapshot.frame("lower").position[1])
        return np.abs(places).max()

    assert aside(states) <= 0.17 + 1e-9
    assert aside(fine(arm_motion())) > 0.25  # without them it goes there
    assert np.abs(states.v).max() <= 1.5
    # the barrier of a speed: it is approached by no more than what is left of it in a decay
    rise = np.sign(states.v) * states.a
    assert (rise <= (1.5 - np.abs(states.v)) / 0.02 + 1e-2).all()
    told = [one for one in motion.usage if one.unit == "m"]
    assert [one.allowed for one in told] == [0.03, 0.03]
    assert min(one.used for one in told) == pytest.approx(0.2 - aside(states), abs=1e-3)


def test_motors_lose_torque_with_speed_and_change_it_no_faster_than_they_can():
    motors = tuple(
        {"kind": "joint", "joint": name, "limit": most, "corner_speed": 0.5, "no_load_speed": 2.5,
         "rate_limit": 60.0}
        for name, most in (("waist", 20.0), ("shoulder", 45.0), ("elbow", 12.0))
    )  # fmt: skip
    robot = arm(actuator=motors)
    motion = design(robot, ExcitingOptions(duration=6.0, starts=1))
    states = fine(motion)
    _, u = motion.equations.rows(states)
    bounds = np.array([robot.input_bounds(v) for v in states.v])  # (n, 2, nu), gears are 1
    assert (u <= 0.9 * bounds[:, 1] + 1e-6).all()
    assert (u >= 0.9 * bounds[:, 0] - 1e-6).all()
    rate = np.diff(u, axis=0) / (states.time[1] - states.time[0])
    assert np.abs(rate).max() <= 60.0
    assert any(one.limit == "rate of motor 'shoulder'" for one in motion.usage)


def test_inertia_of_rotors_loads_motors_though_no_sensor_at_the_joint_feels_it():
    text = (
        '<mujoco><compiler angle="radian"/><worldbody><body><joint name="hinge" axis="0 1 0" '
        'range="-2 2" armature="0.3"/><geom type="capsule" size="0.03" mass="1.2" '
        'fromto="0 0 0 0 0 -0.4"/></body></worldbody><actuator><motor name="m" joint="hinge" '
        'ctrlrange="-20 20" ctrllimited="true"/></actuator></mujoco>'
    )
    motion = design(built(text), ExcitingOptions(duration=4.0, starts=1))
    states = motion.states(np.linspace(0.0, 4.0, 50))
    _, u = motion.equations.rows(states)
    load = inverse_dynamics(motion.robot, states) + friction_of(motion, states)
    np.testing.assert_allclose(u, load, atol=1e-10)  # Pinocchio's model has the rotor


def test_noise_is_a_share_of_what_motors_can_give_or_as_given_by_joint():
    motion = arm_motion()
    np.testing.assert_allclose(motion.equations.noise, 0.01 * motion.robot.effort_limit)
    options = ExcitingOptions(duration=3.0, harmonics=2, starts=1, noise={"elbow": 0.5})
    np.testing.assert_allclose(design(arm(), options).equations.noise, [0.2, 0.45, 0.5])


def test_noise_of_motors_without_limits_is_a_share_of_what_a_motion_takes():
    motion = design(Robot.load("swarm"), ExcitingOptions(duration=3.0, range=1.0, starts=1))
    assert (motion.equations.noise > 0.0).all()
    assert np.isfinite(motion.deviations).all()


def test_start_without_a_home_is_in_the_middle_of_ranges_that_zero_is_not_in():
    text = arm_text_with_elbow("0.2", "1.8")
    motion = design(built(text), ExcitingOptions(duration=3.0, harmonics=2, starts=1))
    np.testing.assert_allclose(motion.joints.start, [0.0, 0.0, 1.0])


def arm_text_with_elbow(low, high):
    from tests.identification.exciting_robots import ARM

    return ARM.replace('lower="-2.2" upper="2.2"', f'lower="{low}" upper="{high}"')


def asked(robot, **options):
    start = options.pop("start", None)
    return lambda: design(robot, ExcitingOptions(**{"duration": 3.0} | options), start=start)


REFUSED = {
    "formulas": (asked(Robot.load("coordinated_arms")), "'coordinated_arms' is made of formulas"),
    "floating base": (asked(Robot.load("floating_arm")), "joints of one freedom only"),
    "springs": (asked(Robot.load("panda_elastic")), "must have rigid joints"),
    "no motors": (asked(Robot.load("n_four_bar")), "must have motors"),
    "too few motors": (asked(Robot.load("cart_pole"), range=1.0), "'pole' is not driven"),
    "rolling": (asked(Robot.load("mobile_ur5")), "joints of one freedom only"),
    "no range": (asked(five_bar()), "joint 'left_foot' must have a range"),
    "unknown range": (asked(arm(), range={"elbw": 1.0}), "did you mean 'elbow'"),
    "unknown noise": (asked(arm(), noise={"wast": 1.0}), "did you mean 'waist'"),
    "short": (asked(arm(), duration=0.05), "duration must be longer: .* moves by only 0.1%"),
    "far too short": (asked(arm(), duration=1e-3), "not even a small one"),
    "start at an end": (
        asked(arm(), start=[0.0, 1.19, 0.0]), "at most 90% of a limit, upper end of 'shoulder'",
    ),
    "weak motors": (
        asked(built(arm_text_with_elbow("-2", "2").replace('effort="12"', 'effort="0.5"'))),
        "at most 90% of a limit, .* input of motor 'elbow'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_exciting_motion_is_refused_with_the_reason(case):
    ask, said = REFUSED[case]
    with pytest.raises(InputError, match=said):
        ask()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("harmonics", 0, "must be at least 1"), ("harmonics", 1, "2 to 50"),
        ("harmonics", 51, "2 to 50"), ("margin", 0.95, "0.9"), ("starts", 101, "at most 100"),
        ("range", 0.0, "positive"), ("noise", -1.0, "positive"), ("duration", 0.0, "positive"),
        ("criterion", "E", "one of D, A"),
    ],
)  # fmt: skip
def test_numbers_that_make_no_sense_are_refused(field, value, said):
    with pytest.raises(InputError, match=said):
        ExcitingOptions(**{field: value})


def test_joints_follow_the_start_through_every_state_of_a_closed_chain():
    robot = five_bar()
    joints = IndependentJoints(robot, robot.home)
    assert joints.names == ("left_foot", "right_foot")
    t = np.linspace(0.0, 1.0, 41)
    y = 0.2 * np.column_stack([np.sin(3.0 * t), 1.0 - np.cos(4.0 * t)])
    rate = 0.2 * np.column_stack([3.0 * np.cos(3.0 * t), 4.0 * np.sin(4.0 * t)])
    rise = 0.2 * np.column_stack([-9.0 * np.sin(3.0 * t), 16.0 * np.cos(4.0 * t)])
    states = joints.states(t, y, rate, rise)
    for q, v, a in zip(states.q, states.v, states.a, strict=True):
        A, b, phi = passive_rows(robot, q, v)
        np.testing.assert_allclose(phi, 0.0, atol=1e-11)
        np.testing.assert_allclose(A @ v, 0.0, atol=1e-11)
        np.testing.assert_allclose(A @ a, b, atol=1e-10)
    # each quantity is the derivative of the one before, the joints that follow too
    middle = slice(1, -1)
    angles = np.hstack([block.angles(states.q) for block in robot.blocks])
    for low, high in ((angles, states.v), (states.v, states.a)):
        slope = (low[2:] - low[:-2]) / (t[2] - t[0])
        np.testing.assert_allclose(slope, high[middle], atol=5e-3 * np.abs(high).max())


def test_a_small_change_of_one_state_is_that_of_another_motion():
    robot = five_bar()
    joints, t = IndependentJoints(robot, robot.home), np.linspace(0.0, 1.0, 9)
    y, rate, rise = np.random.default_rng(0).normal(scale=0.1, size=(3, 9, 2))
    y = np.cumsum(0.2 * y, axis=0)
    at, step = joints.states(t, y, rate, rise), 1e-6
    for order in range(3):
        moved = [y, rate, rise]
        moved[order] = moved[order] + np.array([0.0, step])
        whole, near = joints.states(t, *moved), joints.shifted(at, order, 1, step)
        for name in ("q", "v", "a"):
            change = getattr(whole, name) - getattr(at, name)
            ours = getattr(near, name) - getattr(at, name)
            np.testing.assert_allclose(ours, change, atol=1e-10, err_msg=name)


def test_a_chain_that_cannot_follow_is_told_so():
    robot = five_bar()
    joints = IndependentJoints(robot, robot.home)
    t = np.linspace(0.0, 1.0, 50)
    away = np.column_stack([2.0 * t, -2.0 * t])  # the knees part further than the legs reach
    assert joints.states(t, away, 0.0 * away, 0.0 * away) is None


def test_the_gradients_of_the_search_are_those_of_its_values():
    from ukctrl.control.task import Task
    from ukctrl_identification.excitation_search import ExcitationSearch

    robot = arm(actuator=tuple(
        {"kind": "joint", "joint": name, "limit": 40.0, "rate_limit": 300.0}
        for name in ("waist", "shoulder", "elbow")
    ))  # fmt: skip
    joints = IndependentJoints(robot, robot.neutral)
    keep = (SphereLimit(frame="lower", center=(0.2, 0.6, 0.4), radius=0.1),)
    task = Task(robot=robot, servo=(), q=robot.neutral, v=np.zeros(3))
    options = DesignOptions.of(ExcitingOptions(harmonics=3, starts=1), 3.0)
    rng = np.random.default_rng(1)
    for kind in ("D", "A"):
        problem = DesignProblem(joints, options._replace(criterion=kind), keep, task)
        search = ExcitationSearch(
            problem.equations, problem.limits, problem._space, problem._speeds,
            problem._fine[::10], kind, np.zeros(len(problem.limits.limits)),
        )  # fmt: skip
        z = 0.3 * rng.normal(size=12)
        slopes, d, step = search.slopes(z), rng.normal(size=12), 1e-5
        high, low = search.values(z + step * d), search.values(z - step * d)
        cost = (high.cost - low.cost) / (2.0 * step)
        assert slopes.gradient @ d == pytest.approx(cost, rel=1e-4)
        slack = (high.slack - low.slack) / (2.0 * step)
        scale = np.abs(slack).max()
        # where a quantity changes its sign, its share has no derivative
        near = np.abs(slopes.jacobian @ d - slack) < 1e-4 * scale
        assert near.mean() > 0.99
