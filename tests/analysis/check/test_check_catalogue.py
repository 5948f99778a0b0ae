"""`check` is right on every scenario of the catalogue: what it must say was worked out by hand.

Mobility is counted after Grübler: freedoms of the bodies less what the joints and constraints take.
Ranks and relative degrees follow from which coordinates the motors push on. Verdicts are those that
the runs bear out, and torques are those that they record.
"""

import numpy as np
import pytest

from ukctrl import Scenario, check, simulate
from ukctrl.core.files import catalog

READY, WARNED, NOT_READY = "ready", "warnings", "not ready"
IDEAL, MIXED, TANGENTIAL, NO_TASK = "orthogonal", "mixed", "tangential", None
HIGH = None
"""A row whose relative degree is not certain at the start, where motors have lost their grip."""

# name: mobility; actuation; rank of A and of H; realisation; relative degrees; verdict
EXPECTED = {
    # A trunk that floats and 12 joints, 18; less 3 rows a foot; 12 motors.
    "a1-squat": (6, "redundantly", 6, 6, IDEAL, {2}, READY),
    # It leads the centre of mass beyond the feet, and the arm through a post: both give way.
    "a1-lean": (6, "redundantly", 6, 6, IDEAL, {2}, WARNED),
    "ur5-post": (6, "fully", 6, 6, IDEAL, {2}, WARNED),
    "a1-three-feet": (9, "redundantly", 9, 9, IDEAL, {2}, READY),
    # The same on a ground that only pushes, while all feet stand.
    "a1-push": (6, "redundantly", 6, 6, IDEAL, {2}, READY),
    "a1-ice": (6, "redundantly", 6, 6, IDEAL, {2}, READY),
    # Two joints, one motor: an input reaches each angle by coupling, but one of the two at a time.
    "acrobot-swing-up": (2, "under", 2, 1, MIXED, {2}, READY),
    "cart-pole-swing-up": (2, "under", 2, 1, MIXED, {2}, READY),
    "furuta-swing-up": (2, "under", 2, 1, MIXED, {2}, READY),
    "pendubot-swing-up": (2, "under", 2, 1, MIXED, {2}, READY),
    # Five links, hinged to the ground at both ends: 5 - 2 = 3; six motors.
    "coordinated-arms": (3, "redundantly", 3, 3, IDEAL, {2}, READY),
    "coordinated-arms-squeeze": (3, "redundantly", 3, 3, IDEAL, {2}, READY),
    # Trolley, rope and angle; a force and a winch. The rope alone pulls the load.
    "crane-planar": (3, "under", 2, 1, MIXED, {2, HIGH}, READY),
    # Bridge, trolley, rope and two angles; three motors.
    "crane-spatial": (5, "under", 3, 1, MIXED, {2, HIGH}, READY),
    # An elastic joint without a motor behind one or two that have some; inertia couples them.
    "elastic-arm-middle": (2, "under", 1, 1, IDEAL, {2}, READY),
    "elastic-arm-tip": (2, "under", 1, 1, IDEAL, {2}, READY),
    "elastic-two-link": (3, "under", 2, 2, IDEAL, {2}, READY),
    # Four bodies in the plane have 12 freedoms and six hinges take 12; as opposite links are equal,
    # one of those rows is redundant.
    "five-bar": (1, "under", 0, 0, NO_TASK, set(), READY),
    "five-bar-drift": (1, "under", 0, 0, NO_TASK, set(), READY),
    # As a tree: four joints, two closures of two rows, one of them redundant.
    "five-bar-relative": (1, "under", 0, 0, NO_TASK, set(), READY),
    # Five bodies, 15, and seven hinges, 14.
    "n-four-bar": (1, "under", 0, 0, NO_TASK, set(), READY),
    # A velocity row is of degree 1; behind springs motor, spring and link make it 3.
    "flexible-joint-arm-links": (2, "fully", 1, 1, IDEAL, {1}, READY),
    "flexible-joint-arm-motor": (4, "under", 1, 0, TANGENTIAL, {3}, READY),
    # A force on the first of four masses reaches the last through three springs: 2 + 3 * 2.
    "four-mass-chain": (4, "under", 1, 0, TANGENTIAL, {8}, READY),
    "log-spiral-particle": (2, "fully", 2, 2, IDEAL, {2}, READY),
    "log-spiral-particle-polar": (2, "fully", 2, 2, IDEAL, {2}, READY),
    # On a level rail the car's force reaches the mass through spring and damper alone: 2 + 1.
    "mass-on-car": (2, "under", 1, 0, TANGENTIAL, {3}, READY),
    # A vehicle in the plane with two wheels, 5, and six joints; the wheels' four rows have rank 3.
    "mobile-manipulator": (8, "fully", 8, 8, IDEAL, {2}, READY),
    # Seven links and seven motors, with springs between.
    "panda-elastic": (14, "under", 7, 0, TANGENTIAL, {4}, READY),
    "panda-pose": (7, "fully", 6, 6, IDEAL, {2}, READY),
    "panda-pose-sampled": (7, "fully", 6, 6, IDEAL, {2}, READY),
    # 3 + 3 + 7 rows for seven joints.
    "panda-priorities": (7, "fully", 7, 7, IDEAL, {2}, READY),
    "projectile": (2, "fully", 0, 0, NO_TASK, set(), READY),
    "projectile-polar": (2, "fully", 0, 0, NO_TASK, set(), READY),
    # Four propellers: three moments and a thrust along the body, nothing across it.
    "quadrotor-attitude": (6, "under", 4, 4, IDEAL, {2}, READY),
    # From 30 degrees its LQR asks two propellers to pull.
    "quadrotor-hover": (6, "under", 6, 4, MIXED, {2, HIGH}, WARNED),
    "quadrotor-lemniscate": (6, "under", 3, 1, MIXED, {2, HIGH}, READY),
    "quadrotor-upside-down": (6, "under", 3, 1, MIXED, {2, HIGH}, READY),
    "scara-helix": (4, "fully", 4, 4, IDEAL, {2}, READY),
    "scara-helix-baumgarte": (4, "fully", 4, 4, IDEAL, {2}, READY),
    "scara-helix-bench": (4, "fully", 4, 4, IDEAL, {2}, READY),
    # Off its path on purpose, under a law without feedback.
    "scara-helix-drift": (4, "fully", 4, 4, IDEAL, {2}, WARNED),
    # Six rows of a pose; the arm cannot tilt, so that two of them say nothing.
    "scara-pick-and-place": (4, "fully", 4, 4, IDEAL, {2, HIGH}, READY),
    # The circle takes 19.6 N m of a motor that has 18.
    "scara-weak-motors": (4, "fully", 4, 4, IDEAL, {2}, WARNED),
    # It reaches for 1.01 m with an arm of 1 m.
    "stretched-arm": (2, "fully", 2, 2, IDEAL, {2}, WARNED),
    "swarm": (10, "fully", 10, 10, IDEAL, {1}, READY),
    "swarm-decay": (10, "fully", 10, 10, IDEAL, {1}, READY),
    "swarm-many": (400, "fully", 400, 400, NO_TASK, {1}, READY),
    # Seven bodies, 21, and nine hinges, 18.
    "three-rrr": (3, "fully", 3, 3, IDEAL, {2}, READY),
    "three-rrr-redundant": (3, "redundantly", 3, 3, IDEAL, {2}, READY),
    "three-rrr-fastest": (3, "redundantly", 3, 3, IDEAL, {2}, READY),
    # Fourteen joints, closed by a grip in all six directions.
    "two-arms-carry": (8, "redundantly", 8, 8, IDEAL, {2}, READY),
    # The force is on the one mass; the other feels it through a spring: 2 + 2.
    # At twice its length the spring pulls the far mass, and with it both, at k l/m2 = 12.5 m/s^2:
    # 24.4 m in 2 s, which the internal dynamics tell.
    "two-mass-spring": (2, "under", 1, 1, IDEAL, {2}, WARNED),
    "two-mass-spring-far": (2, "under", 1, 0, TANGENTIAL, {4}, NOT_READY),
    "two-mass-spring-far-solved": (2, "under", 1, 0, TANGENTIAL, {4}, READY),
    "ur5-pose": (6, "fully", 6, 6, IDEAL, {2}, READY),
}
QUICK = {
    "cart-pole-swing-up", "coordinated-arms", "five-bar-relative", "four-mass-chain",
    "panda-elastic", "panda-priorities", "projectile", "quadrotor-attitude", "scara-pick-and-place",
    "scara-weak-motors", "stretched-arm", "swarm", "three-rrr", "two-arms-carry",
    "two-mass-spring-far",
}  # fmt: skip
"""One of each kind."""

SMALLEST = (
    "coordinated-arms", "log-spiral-particle", "log-spiral-particle-polar", "quadrotor-attitude",
    "scara-helix", "scara-weak-motors", "three-rrr", "three-rrr-redundant", "two-mass-spring",
    "ur5-pose",
)  # fmt: skip
"""Their runs keep to the task from the start on, by the smallest input there is."""
BY_LAW = ("coordinated-arms-squeeze", "panda-pose", "two-arms-carry")
"""The same, with what the law adds in the null space."""
SAMPLED = {"rtol": 2e-3, "atol": 1e-6}
"""Peaks of the same curve, at knots of the one and at samples of the other."""


def seen(found):
    """Return what the table expects."""
    ranks = found.motion.ranks
    degrees = {row.relative_degree for row in found.start.rows}
    return (
        found.start.mobility, found.start.actuation, found.start.servo.rank, found.start.grip.rank,
        ranks.realisation if ranks is not None else NO_TASK, degrees, found.verdict,
    )  # fmt: skip


@pytest.mark.slow(only=["cart-pole-swing-up", "panda-elastic", "swarm", "two-arms-carry"])
@pytest.mark.parametrize("name", sorted(QUICK))
def test_check_says_what_was_worked_out_by_hand(name):
    assert seen(check(Scenario.load(name))) == EXPECTED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - QUICK))
def test_check_says_so_of_all_others_too(name):
    assert seen(check(Scenario.load(name))) == EXPECTED[name]


def test_something_is_expected_of_every_scenario():
    assert set(EXPECTED) == set(catalog.names("scenarios"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scara-helix", "three-rrr"])
def test_ranks_stay_along_the_motion(name):
    ranks = check(Scenario.load(name)).motion.ranks
    assert ranks.servo.lowest == ranks.servo.highest == EXPECTED[name][2]
    assert ranks.grip.lowest == ranks.grip.highest == EXPECTED[name][3]
    assert ranks.mobility == (EXPECTED[name][0],) * 2


def peaks_of(name):
    scenario = Scenario.load(name)
    result = simulate(scenario)
    assert result.status == "completed"
    return check(scenario).motion.feasibility, np.abs(result["u"]).max(axis=0)


@pytest.mark.parametrize("name", ["scara-helix"])
def test_torques_of_inverse_dynamics_are_those_of_the_run(name):
    found, peaks = peaks_of(name)
    np.testing.assert_allclose([abs(use.value) for use in found.inputs], peaks, **SAMPLED)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALLEST)
def test_torques_are_those_of_the_run_where_it_keeps_to_the_task(name):
    found, peaks = peaks_of(name)
    needed = np.array([abs(use.value) for use in found.inputs])
    limits = np.array([use.limit or np.inf for use in found.inputs])
    # A bounded law gives no more than there is.
    np.testing.assert_allclose(np.minimum(needed, np.abs(limits)), peaks, **SAMPLED)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_LAW)
def test_torques_of_the_law_are_those_of_the_run(name):
    found, peaks = peaks_of(name)
    np.testing.assert_allclose([abs(use.value) for use in found.law], peaks, **SAMPLED)


@pytest.mark.slow
def test_torques_through_springs_are_those_of_the_run():
    """Within what its start off the motors' motion adds."""
    found, peaks = peaks_of("panda-elastic")
    np.testing.assert_allclose([abs(use.value) for use in found.inputs], peaks, rtol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_verdict_is_borne_out_by_the_run(name):
    """What is ready completes, and what is not does not."""
    status = simulate(Scenario.load(name)).status
    assert (status == "completed") == (EXPECTED[name][-1] != NOT_READY)
