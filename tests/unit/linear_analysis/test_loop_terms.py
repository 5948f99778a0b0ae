"""What is asked of errors, and what loops then do, beside textbook loops and other routes."""

import numpy as np
import pytest
from scipy import signal
from scipy.optimize import brentq

from ukctrl import Scenario, control
from ukctrl.analysis.linear import designed, linear_loop, loop_terms
from ukctrl.analysis.linear.loop_terms import row_bandwidths
from ukctrl.control.terms import Terms, polynomial
from ukctrl.core.errors import InputError

pytestmark = pytest.mark.portable
HALF_POWER = np.sqrt(0.5)


@pytest.mark.parametrize("damping", [0.05, 0.4, 0.7, 1.0, 1.7, 10.0])
@pytest.mark.parametrize("poles", [1, 2, 3])
def test_a_bandwidth_is_where_the_sensitivity_first_comes_up_to_half_its_power(damping, poles):
    w = Terms(bandwidth=30.0, damping=damping).frequency(poles)
    p = polynomial(damping, poles) * w ** np.arange(poles + 1)
    sensitivity = signal.TransferFunction([1.0, *[0.0] * poles], p)
    grid = np.geomspace(1e-3, 30.0 * (1.0 - 1e-6), 4000)
    sizes = np.abs(sensitivity.freqresp([*grid, 30.0])[1])
    assert sizes[-1] == pytest.approx(HALF_POWER, rel=1e-9)
    assert sizes[:-1].max() < HALF_POWER


@pytest.mark.parametrize("damping", [0.1, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("poles", [2, 3])
def test_a_rejection_is_how_far_a_step_of_the_acceleration_brings_an_error(damping, poles):
    w = Terms(rejection=2e-3, damping=damping).frequency(poles)
    p = polynomial(damping, poles) * w ** np.arange(poles + 1)
    numerator = [1.0] if poles == 2 else [1.0, 0.0]
    times = np.linspace(0.0, 40.0 * max(1.0, damping) / w, 200_001)
    _, error = signal.step((numerator, p), T=times)
    assert np.abs(error).max() == pytest.approx(2e-3, rel=1e-5)


def test_terms_are_one_of_three_and_say_so():
    for given, came in (({}, "none"), ({"bandwidth": 1.0, "settling": 1.0}, "settling and bandw")):
        with pytest.raises(
            InputError, match=f"one of settling, bandwidth and rejection; got {came}"
        ):
            Terms(**given)
    with pytest.raises(InputError, match=r"damping: must be .*0\.05"):
        Terms(bandwidth=1.0, damping=0.0)
    with pytest.raises(InputError, match="rejection is of position errors"):
        Terms(rejection=1.0).frequency(1)
    assert str(Terms(rejection=1e-3, damping=0.7)) == "a rejection of 0.001 s² with damping 0.7"


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
    made = task.replace(designed(task, Terms(bandwidth=40.0, damping=damping)).gains)
    found = loop_terms(made)
    np.testing.assert_allclose(found.bandwidth, [40.0], rtol=2e-5)
    assert found.slowest == found.bandwidth[0]
    assert all(s.real < 0.0 for s in found.decaying)


def test_a_loop_with_an_observer_has_it_with_the_pole_of_that(plants):
    task = plants.scenario(plants.mass(2.0), controller=WITH_OBSERVER)
    found = loop_terms(task.replace(designed(task, Terms(bandwidth=40.0)).gains))
    np.testing.assert_allclose(found.bandwidth, [40.0], rtol=2e-5)


@pytest.mark.parametrize("name", ["sliding", "chen_robust", "adaptive_robust"])
def test_laws_on_a_surface_have_real_poles_alone(plants, name):
    task = plants.scenario(plants.mass(), controller=control.Servo(feedback=LAWS[name]))
    with pytest.raises(
        InputError, match="gains follow from a bandwidth of 40 rad/s with damping 0.7"
    ):
        designed(task, Terms(bandwidth=40.0, damping=0.7))


def test_joint_laws_have_it_on_the_inertia_of_their_joint(plants):
    for law in (
        control.ComputedTorque(kp=1.0, kd=1.0),
        control.PdGravity(kp=1.0, kd=1.0),
        control.JointPid(kp=1.0, ki=1.0, kd=1.0),
        control.SlotineLi(kappa=1.0, kd=1.0),
        control.PolePlacement(settling=1.0, q=(0.0,)),
        control.Lqr(q=(0.0,)),
    ):
        task = plants.scenario(plants.mass(3.0), controller=law)
        made = task.replace(designed(task, Terms(bandwidth=25.0)).gains)
        found = loop_terms(made)
        np.testing.assert_allclose(
            found.bandwidth, [25.0], rtol=0.02 if law.kind == "pole_placement" else 2e-5
        )


def test_noise_gains_are_those_of_the_law(plants):
    found = loop_terms(plants.held_mass(7.0, 30.0))
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


def test_a_row_behind_springs_is_integrated_as_often_as_there_are():
    """Eight poles at -5: the sensitivity is their high-pass of eighth order."""
    loop = linear_loop(Scenario.load("four-mass-chain", {"timing.duration": 0.1}))
    ratio = 2.0 ** (-1.0 / 8.0)
    np.testing.assert_allclose(
        row_bandwidths(loop), [5.0 * np.sqrt(ratio / (1.0 - ratio))], rtol=1e-4
    )


def test_what_does_nothing_has_no_bandwidth(plants):
    idle = control.Servo(feedback=control.Exact())
    found = loop_terms(plants.scenario(plants.mass(), controller=idle))
    assert found.bandwidth == (0.0,)
    assert found.position_noise == found.speed_noise == 0.0
