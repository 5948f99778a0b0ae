"""What is asked of errors, and what loops then do, beside textbook loops and other routes."""

import numpy as np
import pytest
from scipy import signal
from scipy.optimize import brentq

from ukctrl import Robot, Scenario, control
from ukctrl.analysis.linear import designed, linear_loop, loop_performance
from ukctrl.analysis.linear.performance import row_bandwidths
from ukctrl.control.error_dynamics_spec import ErrorSpec, unit_polynomial
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Elastic, Lagrangian, Options
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import Timing

HALF_POWER = np.sqrt(0.5)
BAUMGARTE = control.Baumgarte(alpha=1.0, beta=1.0)


@pytest.mark.parametrize("damping", [0.05, 0.4, 0.7, 1.0, 1.7, 10.0])
@pytest.mark.parametrize("poles", [1, 2, 3])
def test_a_bandwidth_is_where_the_sensitivity_first_comes_up_to_half_its_power(damping, poles):
    w = ErrorSpec(bandwidth=30.0, damping=damping).frequency(poles)
    p = unit_polynomial(damping, poles) * w ** np.arange(poles + 1)
    sensitivity = signal.TransferFunction([1.0, *[0.0] * poles], p)
    grid = np.geomspace(1e-3, 30.0 * (1.0 - 1e-6), 4000)
    sizes = np.abs(sensitivity.freqresp([*grid, 30.0])[1])
    assert sizes[-1] == pytest.approx(HALF_POWER, rel=1e-9)
    assert sizes[:-1].max() < HALF_POWER


@pytest.mark.slow(but=["2-0.1", "2-3.0", "3-3.0"])
@pytest.mark.parametrize("damping", [0.1, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("poles", [2, 3])
def test_a_rejection_is_how_far_a_step_of_the_acceleration_brings_an_error(damping, poles):
    w = ErrorSpec(rejection=2e-3, damping=damping).frequency(poles)
    p = unit_polynomial(damping, poles) * w ** np.arange(poles + 1)
    numerator = [1.0] if poles == 2 else [1.0, 0.0]
    times = np.linspace(0.0, 40.0 * max(1.0, damping) / w, 200_001)
    _, error = signal.step((numerator, p), T=times)
    assert np.abs(error).max() == pytest.approx(2e-3, rel=1e-5)


def test_terms_are_one_of_three_and_say_so():
    for given, came in (({}, "none"), ({"bandwidth": 1.0, "settling": 1.0}, "settling and bandw")):
        with pytest.raises(
            InputError, match=f"one of settling, bandwidth and rejection; got {came}"
        ):
            ErrorSpec(**given)
    with pytest.raises(InputError, match=r"damping: must be .*0\.05"):
        ErrorSpec(bandwidth=1.0, damping=0.0)
    with pytest.raises(InputError, match="rejection is of position errors"):
        ErrorSpec(rejection=1.0).frequency(1)
    assert str(ErrorSpec(rejection=1e-3, damping=0.7)) == "a rejection of 0.001 s² with damping 0.7"


WITH_OBSERVER = control.Servo(
    feedback=control.Baumgarte(alpha=1.0, beta=1.0),
    disturbance=control.MomentumObserver(bandwidth=1.0),
)
LAWS = {
    "baumgarte": control.Baumgarte(alpha=1.0, beta=1.0),
    "pid": control.Pid(kp=3.0, ki=1.0, kd=3.0),
    "integral_sliding": control.IntegralSliding(alpha=1.0, beta=1.0, rate=1.0, push=10.0),
    "sliding": control.Sliding(alpha=2.0, beta=1.0, rate=1.0, box=10.0, uncertainty=1e-3),
    "chen_robust": control.ChenRobust(kappa=1.0, rate=1.0, rho=0.3, epsilon=1.0),
    "adaptive_robust": control.AdaptiveRobust(
        kappa=1.0, rate=1.0, growth=1.0, leak=1.0, epsilon=1.0
    ),
}


@pytest.mark.parametrize("feedback", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("damping", [1.0, 1.5])
def test_every_feedback_has_the_bandwidth_that_was_asked_for(plants, feedback, damping):
    task = plants.scenario(plants.mass(2.0), controller=control.Servo(feedback=feedback))
    made = task.replace(designed(task, ErrorSpec(bandwidth=40.0, damping=damping)).gains)
    found = loop_performance(made)
    np.testing.assert_allclose(found.bandwidth, [40.0], rtol=2e-5)
    assert found.slowest == found.bandwidth[0]
    assert all(s.real < 0.0 for s in found.decaying)


@pytest.mark.slow
def test_a_loop_with_an_observer_has_it_with_the_pole_of_that(plants):
    task = plants.scenario(plants.mass(2.0), controller=WITH_OBSERVER)
    found = loop_performance(task.replace(designed(task, ErrorSpec(bandwidth=40.0)).gains))
    np.testing.assert_allclose(found.bandwidth, [40.0], rtol=2e-5)


@pytest.mark.parametrize("name", ["sliding", "chen_robust", "adaptive_robust"])
def test_laws_on_a_surface_have_real_poles_alone(plants, name):
    task = plants.scenario(plants.mass(), controller=control.Servo(feedback=LAWS[name]))
    with pytest.raises(
        InputError, match="gains follow from a bandwidth of 40 rad/s with damping 0.7"
    ):
        designed(task, ErrorSpec(bandwidth=40.0, damping=0.7))


@pytest.mark.slow
def test_joint_laws_have_it_on_the_inertia_of_their_joint(plants):
    for law in (
        control.ComputedTorque(kp=1.0, kd=1.0),
        control.PdGravity(kp=1.0, kd=1.0),
        control.JointPid(kp=1.0, ki=1.0, kd=1.0),
        control.SlotineLi(kappa=1.0, kd=1.0),
        control.PolePlacement(settling=1.0, q=(0.0,)),
        control.Lqr(q=(0.0,)),
        control.Lqi(q=(0.0,)),
        control.Tvlqr(),
        control.IoLinearisation(alpha=1.0, beta=1.0),
    ):
        task = plants.scenario(plants.mass(3.0), controller=law)
        made = task.replace(designed(task, ErrorSpec(bandwidth=25.0)).gains)
        found = loop_performance(made)
        np.testing.assert_allclose(
            found.bandwidth, [25.0], rtol=0.02 if law.kind == "pole_placement" else 2e-5
        )


def test_noise_gains_are_those_of_the_law(plants):
    found = loop_performance(plants.held_mass(7.0, 30.0))
    np.testing.assert_allclose([found.position_noise, found.speed_noise], [30.0, 7.0], rtol=1e-6)


@pytest.mark.parametrize("period", [1e-3, 0.05])
def test_under_a_hold_it_is_that_of_the_sampled_loop(plants, period):
    """A double integrator under a hold, its discrete transfer functions written out."""
    alpha, beta = 14.0, 50.0
    task = plants.held_mass(alpha, beta, timing={"duration": 1.0, "control": period, "sample": 0.1})
    (found,) = row_bandwidths(linear_loop(task))
    T = period
    position = np.polymul([0.5 * T * T], [1.0, 1.0]), np.polymul([1.0, -1.0], [1.0, -1.0])
    speed = np.polymul([T], [1.0, -1.0])
    closed = np.polyadd(position[1], np.polyadd(beta * position[0], alpha * speed))

    def size(w):
        z = np.exp(1j * w * T)
        return abs(np.polyval(position[1], z) / np.polyval(closed, z)) - HALF_POWER

    assert found == pytest.approx(brentq(size, 0.1, 0.9 * np.pi / T), rel=1e-9)


@pytest.mark.slow
def test_a_row_behind_springs_is_pushed_itself():
    """Four masses whose last a force accelerates; one input gives eight poles at -5 in one way."""
    m, k = np.array([1.0, 1.5, 2.0, 1.0]), np.diag([60.0, 50.0, 40.0])
    D = np.diff(np.eye(4), axis=0)
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-(D.T @ k @ D) / m[:, None], np.zeros((4, 4))]])
    b, push = np.eye(8)[4], np.eye(8)[7]
    reach = np.array([np.linalg.matrix_power(A, i) @ b for i in range(8)]).T
    wanted = sum(
        c * np.linalg.matrix_power(A, 8 - i) for i, c in enumerate(np.poly(np.full(8, -5.0)))
    )
    closed = A - np.outer(b, np.linalg.solve(reach.T, np.eye(8)[7]) @ wanted)  # Ackermann

    def size(w):
        answer = np.linalg.solve(1j * w * np.eye(8) - closed, push)[3]
        return w * w * abs(answer) - HALF_POWER

    grid = np.geomspace(1e-3, 100.0, 2000)
    first = grid[np.argmax([size(w) >= 0.0 for w in grid])]
    loop = linear_loop(Scenario.load("four-mass-chain", {"timing.duration": 0.1}))
    np.testing.assert_allclose(row_bandwidths(loop), [brentq(size, 1e-3, first)], rtol=1e-4)


ELASTIC = (
    {"kind": "elastic_linearisation", "alpha": 1.0, "beta": 1.0},
    {"kind": "elastic_cascade", "alpha": 1.0, "beta": 1.0},
    {"kind": "elastic_singular_perturbation"},
    {"kind": "elastic_singular_perturbation", "order": 1},
    {"kind": "elastic_tracking", "alpha": 1.0, "beta": 1.0},
)


@pytest.mark.slow(
    only=[
        "two-elastic_tracking-0",
        "one-elastic_tracking-0",
        "two-elastic_linearisation-0",
        "two-elastic_cascade-0",
        "two-elastic_singular_perturbation-0",
        "one-elastic_singular_perturbation-0",
    ]
)
@pytest.mark.parametrize("law", ELASTIC, ids=lambda law: f"{law['kind']}-{law.get('order', 0)}")
@pytest.mark.parametrize("feedback", [BAUMGARTE, control.FirstOrder(kappa=1.0)], ids=["two", "one"])
def test_links_behind_springs_get_the_bandwidth_that_was_asked_for(law, feedback):
    """Beside the loop of one link and its motor, of the gains that were found."""
    mass, rotor, spring = 2.0, 0.5, 900.0
    robot = Robot.build(
        Lagrangian(coordinates=["q"], kinetic=f"{mass}/2*v.q**2"),
        Options(elastic=Elastic(stiffness=spring, motor_inertia=rotor)),
    )
    task = Scenario(
        title="One elastic joint",
        robot=robot,
        servo=(JointFollows(joints=("q",), path=Constant(value=(0.0,))),),
        controller={**law, "feedback": feedback},
        timing=Timing(duration=1.0, sample=0.1),
    )
    made = task.replace(designed(task, ErrorSpec(bandwidth=9.0)).gains)
    np.testing.assert_allclose(loop_performance(made).bandwidth, [9.0], rtol=1e-4)
    one = np.eye(4)
    loop = Loop(made)
    slopes = np.array([loop.law.command(0.0, x[:2], x[2:], loop.law.memory).u for x in one])
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = spring * np.array([[-1.0, 1.0], [1.0, -1.0]]) / [[mass], [rotor]]
    A[3] += slopes[:, 0] / rotor

    def sensitivity(w):
        return w * w * abs(np.linalg.solve(1j * w * one - A, one[2])[0])

    assert sensitivity(9.0) == pytest.approx(HALF_POWER, rel=1e-3)
    assert max(sensitivity(w) for w in np.linspace(0.1, 8.9, 90)) < HALF_POWER


def test_what_does_nothing_has_no_bandwidth(plants):
    idle = control.Servo(feedback=control.Exact())
    found = loop_performance(plants.scenario(plants.mass(), controller=idle))
    assert found.bandwidth == (0.0,)
    assert found.position_noise == found.speed_noise == 0.0


@pytest.mark.parametrize("damping", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("law", ["lqr", "lqi"])
def test_a_regulator_gives_all_freedoms_the_poles_of_the_error_that_is_asked_for(law, damping):
    """Where its rows are the joints, which have no gravity in the plane and are coupled."""
    poles = 2 if law == "lqr" else 3
    rows = {"kind": "joint_follows", "joints": ["q1", "q2", "q3", "q4"]}
    still = {**rows, "path": {"kind": "constant", "value": [0.3, 0.8, 0.1, 0.0]}}
    task = Scenario.load("scara-helix", {"controller": {"use": law}})
    task = task.replace(
        {
            "servo": [still],
            "start": {"q": {"q1": 0.3, "q2": 0.8, "q3": 0.1, "q4": 0.0}},
            "controller.follow": "equilibrium",
        }
    )
    terms = ErrorSpec(bandwidth=30.0, damping=damping)
    found = linear_loop(task.replace(designed(task, terms).gains)).poles()
    w = terms.frequency(poles)
    expected = np.repeat(w * np.roots(unit_polynomial(damping, poles)), 4)
    np.testing.assert_allclose(
        np.poly(found), np.poly(expected), rtol=1e-4 if law == "lqr" else 1e-3
    )
