"""Internal dynamics beside closed forms and reduced coordinates, written by hand."""

import json
import tomllib

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario
from ukctrl.analysis.internal_dynamics import InternalDynamics, internal_dynamics
from ukctrl.analysis.internal_dynamics.internal_verdict import null_space_advice
from ukctrl.control import Baumgarte, Chen, LeastNorm, Servo
from ukctrl.control.allocation.null_space import Damping, SelfMotion
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import (
    Expression,
    JointFollows,
    LinearVelocity,
    OrientationFollows,
    PointFollows,
)
from ukctrl.mechanics.reference import Constant, ConstantOrientation
from ukctrl.mechanics.reference import Expression as Formula
from ukctrl.robot import Lagrangian, Options
from ukctrl.simulation.scenario import StartState, Timing

POLES = {"rtol": 0.0, "atol": 1e-8}  # differences of accelerations, as a fraction of the quickest
ROUTES = 1e-8  # between the constrained motion and the zeros of the linear plant
G = 9.81


def task(robot, *servo, start=None, allocation=None, duration=2.0):
    """Return a scenario that holds rows."""
    return Scenario(
        title="test",
        robot=robot if isinstance(robot, Robot) else Robot.load(robot),
        servo=servo,
        start=StartState(q=start or {}, solve=True),
        controller=Servo(
            feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=allocation or LeastNorm()
        ),
        timing=Timing(duration=duration),
    )


def held(joint, value, **more):
    return JointFollows(joints=(joint,), path=Constant(value=(value,)), **more)


def of(*args, **more) -> InternalDynamics:
    return internal_dynamics(task(*args, **more), simulate=False)


def pole_at(found, **where):
    """Return the state of rest with a coordinate nearest to a value."""
    ((name, value),) = where.items()
    robot = Robot.load(found.robot)
    k = robot.dofs.index(name)
    angles = [
        robot.difference(robot.configuration({name: value}), near.q)[k] for near in found.rests
    ]
    return found.rests[int(np.argmin(np.abs(angles)))]


def assert_poles(near, wanted):
    """Both routes give the poles wanted."""
    wanted = np.array(wanted, dtype=complex)
    wanted = wanted[np.lexsort((-wanted.imag, -wanted.real))]
    scale = max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(near.modes.poles / scale, wanted / scale, **POLES)
    assert near.routes < ROUTES


CART_POLE = np.sqrt(0.23 * G * 0.3302 / (0.00788 + 0.23 * 0.3302**2))


def test_a_held_cart_leaves_its_pole_to_hang_or_to_fall():
    found = of("cart_pole", held("cart", 0.0))
    assert (found.states, found.reached, found.dimension, found.free) == (4, 2, 2, 0)
    assert found.coordinates == ("pole", "v.pole")
    assert_poles(pole_at(found, pole=0.0), [CART_POLE * 1j, -CART_POLE * 1j])
    assert_poles(pole_at(found, pole=np.pi), [CART_POLE, -CART_POLE])
    assert found.kind == "swings"
    assert "'pole' oscillates without decay" in found.verdict
    assert "4.75 rad/s" in found.verdict


def test_the_verdict_names_what_drifts_away_its_pole_and_what_helps():
    found = of("cart_pole", held("cart", 0.0), start={"pole": "180*deg"})
    assert found.kind == "runs_away"
    assert (
        "the task is followed, but 'pole' drifts away: internal dynamics has an unstable pole at "
        "+4.75 rad/s" in found.verdict
    )
    assert 'kind = "stable_inversion"' in found.verdict


def test_a_held_pole_leaves_its_cart_to_go_on_at_constant_speed():
    found = of("cart_pole", held("pole", np.pi), start={"pole": "180*deg"})
    assert_poles(found.rests[0], [0.0, 0.0])
    assert (found.kind, found.rests[0].modes.chain) == ("drifts", 2)
    assert "'cart' goes on at constant speed" in found.verdict


def test_a_tilted_pole_takes_its_cart_along_ever_faster():
    found = internal_dynamics(task("cart_pole", held("pole", np.pi - 0.1), start={"pole": 3.04}))
    assert (found.kind, found.rests) == ("runs_away", ())
    far = 0.5 * G * np.tan(0.1) * 2.0**2
    assert found.motion.largest_displacement()[0] == "cart"
    np.testing.assert_allclose(found.motion.largest_displacement()[1], far, rtol=1e-6)
    assert "'cart' moves away ever faster" in found.verdict


@pytest.mark.parametrize("d", [0.5, 0.9])
def test_a_point_of_a_pole_below_its_centre_of_percussion_is_non_minimum_phase(d):
    """y = x + d sin(angle) = 0 leaves (l - d) angle'' = g angle, for a point mass at l = 0.7."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "angle": "rad"},
            kinetic="M/2*v.x**2 + m/2*(v.x**2 + 2*l*cos(angle)*v.x*v.angle + l**2*v.angle**2)",
            potential="m*g*l*cos(angle)",
            parameters={"M": 2.0, "m": 0.5, "l": 0.7, "g": G},
            inputs={"F": {"x": 1.0}},
        )
    )
    found = of(robot, Expression(phi=f"x + {d}*sin(angle)", unit="m"))
    pole = np.sqrt(complex(G / (0.7 - d)))
    assert_poles(found.rests[0], [pole, -pole])
    assert found.kind == ("runs_away" if d < 0.7 else "swings")


def test_the_point_at_the_centre_of_percussion_leaves_nothing():
    """There the relative degree is 4, and y is a flat output."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "angle": "rad"},
            kinetic="M/2*v.x**2 + m/2*(v.x**2 + 2*l*cos(angle)*v.x*v.angle + l**2*v.angle**2)",
            potential="m*g*l*cos(angle)",
            parameters={"M": 2.0, "m": 0.5, "l": 0.7, "g": G},
            inputs={"F": {"x": 1.0}},
        )
    )
    found = of(robot, Expression(phi="x + 0.7*sin(angle)", unit="m"))
    assert (found.grip, found.reached, found.dimension, found.kind) == (False, 4, 0, "none")


def two_links(q2):
    """M(q2), and the stiffness of gravity at hanging; Spong 1995, with angles from hanging."""
    t1, t2, t3 = 1.0 * 0.25 + 1.0 + 0.083, 1.0 + 0.33, 1.0
    M = np.array(
        [[t1 + t2 + 2.0 * t3 * np.cos(q2), t2 + t3 * np.cos(q2)], [t2 + t3 * np.cos(q2), t2]]
    )
    return M, G * np.array([[1.5 + 1.0, 1.0], [1.0, 1.0]])


def test_a_held_elbow_makes_the_acrobot_one_pendulum():
    M, K = two_links(0.0)
    w = np.sqrt(K[0, 0] / M[0, 0])
    found = of("acrobot", held("elbow", 0.0))
    assert_poles(pole_at(found, shoulder=0.0), [w * 1j, -w * 1j])
    assert_poles(pole_at(found, shoulder=np.pi), [w, -w])


def test_a_held_shoulder_of_the_acrobot_is_moved_by_its_elbow():
    """Row of the shoulder, q1 = 0: M12 q2'' + K12 q2 = 0."""
    M, K = two_links(0.0)
    w = np.sqrt(K[0, 1] / M[0, 1])
    found = of("acrobot", held("shoulder", 0.0))
    assert_poles(pole_at(found, elbow=0.0), [w * 1j, -w * 1j])


def test_a_held_shoulder_of_the_pendubot_leaves_its_forearm_hanging():
    M, K = two_links(0.0)
    w = np.sqrt(K[1, 1] / M[1, 1])
    found = of("pendubot", held("shoulder", 0.0))
    assert_poles(pole_at(found, elbow=0.0), [w * 1j, -w * 1j])
    assert_poles(pole_at(found, elbow=np.pi), [w, -w])


def test_a_held_arm_of_the_furuta_pendulum():
    w = np.sqrt(0.024 * G * 0.0645 / (0.024 * 0.129**2 / 3.0))
    found = of("furuta", held("arm", 0.0))
    near = pole_at(found, pendulum=np.pi)
    np.testing.assert_allclose(
        near.modes.poles, [w, -w], rtol=2e-5
    )  # the rods are 1e-9 kg m^2 thick
    assert near.routes < ROUTES


def masses(*more):
    return Robot.build(
        Lagrangian(
            coordinates={"x1": "m", "x2": "m"},
            kinetic="m1/2*v.x1**2 + m2/2*v.x2**2",
            potential="k/2*(x2 - x1)**2",
            dissipation=more or (),
            parameters={"m1": 1.0, "m2": 2.0, "k": 50.0},
            inputs={"F": {"x1": 1.0}},
        )
    )


def test_a_held_near_mass_leaves_the_far_one_to_swing():
    found = of(masses(), Expression(phi="x1", unit="m"))
    assert_poles(found.rests[0], [5.0j, -5.0j])
    assert "'x2' oscillates without decay" in found.verdict
    assert "undamped at 5 rad/s" in found.verdict


@pytest.mark.slow
def test_a_damper_makes_the_far_mass_settle():
    found = of(masses("3*(v.x2 - v.x1)**2"), Expression(phi="x1", unit="m"))
    assert_poles(found.rests[0], np.roots([2.0, 6.0, 50.0]))
    assert found.kind == "settles"
    assert "time constant 0.67 s" in found.verdict


@pytest.mark.parametrize(("damper", "degree"), [((), 4), (("3*(v.x2 - v.x1)**2",), 3)])
def test_a_held_far_mass_leaves_what_its_relative_degree_says(damper, degree):
    """With the damper of 6 N s/m the force is felt one derivative earlier; k/d is left."""
    found = of(masses(*damper), Expression(phi="x2", unit="m"))
    assert (found.grip, found.reached, found.dimension) == (False, degree, 4 - degree)
    np.testing.assert_allclose(found.rests[0].modes.poles, [-50.0 / 6.0][: 4 - degree], rtol=1e-10)


@pytest.mark.parametrize("tilt", [10.0, 45.0, 90.0])
def test_the_mass_on_a_car(tilt):
    """y = x + s cos(tilt) = 0 leaves m2 sin(tilt)^2 s'' + d s' + k s = 0 (Seifried & Blajer)."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "s": "m"},
            kinetic="m1/2*v.x**2 + m2/2*(v.x**2 + 2*cos(tilt)*v.x*v.s + v.s**2)",
            potential="k/2*s**2",
            dissipation=("damper/2*v.s**2",),
            parameters={"m1": 1.0, "m2": 1.0, "k": 5.0, "damper": 1.0, "tilt": np.deg2rad(tilt)},
            inputs={"F": {"x": 1.0}},
        )
    )
    found = of(robot, Expression(phi="x + s*cos(tilt)", unit="m"))
    sin = np.sin(np.deg2rad(tilt))
    assert_poles(found.rests[0], np.roots([sin**2, 1.0, 5.0]))


@pytest.mark.parametrize(("c", "phase"), [(0.2, "settles"), (0.8, "runs_away")])
def test_an_arm_with_a_passive_elastic_joint(c, phase):
    """y = q1 + c q2 = 0 leaves (M22 - c M12) q2'' + d q2' + k q2 = 0 in the plane."""
    robot = Robot.build(
        Lagrangian(
            coordinates=("q1", "q2"),
            kinetic="J1/2*v.q1**2 + J2/2*(v.q1 + v.q2)**2 + h*cos(q2)*v.q1*(v.q1 + v.q2)",
            potential="k/2*q2**2",
            dissipation=("damper/2*v.q2**2",),
            parameters={"J1": 1.0, "J2": 0.4, "h": 0.3, "k": 20.0, "damper": 0.2},
            inputs={"T": {"q1": 1.0}},
        )
    )
    found = of(robot, Expression(phi=f"q1 + {c}*q2", unit="rad"))
    wanted = np.roots([0.4 - c * (0.4 + 0.3), 0.2, 20.0])
    assert_poles(found.rests[0], wanted)
    assert found.kind == phase
    if phase == "runs_away":
        assert f"unstable pole at +{wanted.max():.3g} rad/s" in found.verdict


def test_a_motor_behind_a_spring_held_leaves_its_link_to_swing_and_held_link_leaves_nothing():
    robot = Robot.build(
        Lagrangian(
            coordinates={"link": "rad", "motor": "rad"},
            kinetic="I/2*v.link**2 + J/2*v.motor**2",
            potential="k/2*(link - motor)**2 + m*cos(link)",
            parameters={"I": 2.0, "J": 0.1, "k": 80.0, "m": 6.0},
            inputs={"T": {"motor": 1.0}},
        )
    )
    hanging = held("motor", np.pi)
    found = of(robot, hanging, start={"link": np.pi, "motor": np.pi})
    w = np.sqrt((80.0 + 6.0) / 2.0)
    assert_poles(found.rests[0], [w * 1j, -w * 1j])
    found = of(robot, held("link", 0.3))
    assert (found.reached, found.dimension, found.kind) == (4, 0, "none")
    np.testing.assert_allclose(found.rests[0].q[1], 0.3 - 6.0 * np.sin(0.3) / 80.0, rtol=1e-9)


def test_a_quadrotor_whose_attitude_is_held_drifts_over_the_ground():
    level = OrientationFollows(frame="body", path=ConstantOrientation(rpy=(0.0, 0.0, 0.0)))
    height = PointFollows(frame="body", axes="z", path=Constant(value=(1.0,)))
    found = of("quadrotor", level, height)
    assert (found.reached, found.dimension, found.free) == (8, 4, 0)
    assert_poles(found.rests[0], [0.0] * 4)
    assert (found.kind, found.rests[0].modes.chain) == ("drifts", 2)


def test_a_quadrotor_whose_position_is_held_leaves_its_heading_to_the_law():
    """x and y through the tilt, of relative degree 4; z of 2: 10 of 12 states."""
    place = PointFollows(frame="body", path=Constant(value=(0.0, 0.0, 1.0)))
    found = of("quadrotor", place, start={"root_z": 1.0})
    assert (found.grip, found.reached, found.dimension, found.free) == (False, 10, 2, 2)
    assert found.coordinates == ("root_wz", "v.root_wz")
    assert found.kind == "none"
    assert "the law determines" in found.verdict


def planar_arm():
    return Robot.build(
        Lagrangian(
            coordinates=("q1", "q2", "q3"),
            kinetic="m/2*((v.q1*cos(q1))**2 + (v.q1*sin(q1))**2)"
            " + m/2*((v.q1*cos(q1) + v.q2*cos(q2))**2 + (v.q1*sin(q1) + v.q2*sin(q2))**2)"
            " + m/2*((v.q1*cos(q1) + v.q2*cos(q2) + v.q3*cos(q3))**2"
            " + (v.q1*sin(q1) + v.q2*sin(q2) + v.q3*sin(q3))**2)"
            " + 0.05*(v.q1**2 + v.q2**2 + v.q3**2)",
            parameters={"m": 1.0},
        )
    )


TIP = (
    Expression(name="x", phi="cos(q1) + cos(q2) + cos(q3) - 1.5", unit="m"),
    Expression(name="y", phi="sin(q1) + sin(q2) + sin(q3) - 0.8", unit="m"),
)
BENT = {"q1": 1.2, "q2": 0.2, "q3": -0.8}


@pytest.mark.slow
def test_what_a_redundant_arm_has_left_is_free_for_the_null_space():
    found = of(planar_arm(), *TIP, start=BENT)
    assert (found.dimension, found.free) == (2, 2)
    np.testing.assert_array_equal(found.rests[0].zeros, [])
    assert found.kind == "drifts"
    assert null_space_advice() in found.verdict


def test_the_poles_of_what_is_free_are_the_allocations():
    """Joint accelerations as near to -kd v as the task allows: v decays with kd along the rest."""
    still = LeastNorm(metric="resolved_acceleration", null_space=SelfMotion(kd=3.0))
    found = of(planar_arm(), *TIP, start=BENT, allocation=still)
    assert_poles(found.rests[0], [0.0, -3.0])
    assert (found.kind, found.free) == ("stays", 2)


def test_what_is_advised_of_a_free_state_gives_it_the_poles_of_its_gains():
    lines = null_space_advice().removeprefix("give ").replace(" and ", "\n")
    given = tomllib.loads(lines)["controller"]["allocation"]
    found = of(planar_arm(), *TIP, start=BENT, allocation=LeastNorm(**given))
    double = np.array(found.rests[0].modes.poles)
    np.testing.assert_allclose(double, -5.0, rtol=1e-4)  # rounding parts them by its root


def test_what_is_advised_suits_an_allocation_without_a_metric():
    found = of(planar_arm(), *TIP, start=BENT, allocation=Chen())
    advice = found.verdict.partition("give ")[2].rstrip(".").replace(" and ", "\n")
    given = tomllib.loads(advice.replace(", controller", "\ncontroller"))
    assert LeastNorm(**given["controller"]["allocation"]).null_space == SelfMotion(kp=25.0, kd=10.0)


def test_the_closed_loop_has_the_poles_of_the_internal_dynamics_and_those_of_the_feedback():
    """A third route: every eigenvalue of the loop itself, about a state of rest."""
    from ukctrl.core.algebra.finite_differences import jacobian
    from ukctrl.simulation.assemble import Loop

    damped = LeastNorm(null_space=Damping(gain=2.0))
    scenario = task(planar_arm(), *TIP, start=BENT, allocation=damped)
    near = internal_dynamics(scenario, simulate=False).rests[0]
    loop = Loop(scenario)

    def rate(x):
        v = x[3:]
        return np.concatenate([v, loop.rates(0.0, near.q + x[:3], v, loop.state.memory)[0]])

    poles = np.linalg.eigvals(jacobian(rate, 6))
    wanted = [*near.modes.poles, -10.0, -10.0, -10.0, -10.0]
    for pole in wanted:
        assert np.abs(poles - pole).min() < 1e-4  # fourfold poles scatter
    np.testing.assert_allclose(poles.sum(), sum(wanted), rtol=1e-7)


def vehicle():
    """A vehicle that cannot slip sideways, pushed along and turned by two motors."""
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m", "heading": "rad"},
            kinetic="m/2*(v.x**2 + v.y**2) + J/2*v.heading**2",
            parameters={"m": 1.0, "J": 0.6},
            inputs={"F": {"x": 1.0}, "T": {"heading": 1.0}},
        ),
        Options(passive=[{"kind": "expression", "psi": "-sin(heading)*v.x + cos(heading)*v.y"}]),
    )


@pytest.mark.parametrize(("ahead", "speed"), [(0.3, 0.6), (-0.3, 0.6), (0.3, -0.6)])
def test_the_heading_of_a_vehicle_follows_a_point_ahead_and_flees_one_behind(ahead, speed):
    """a heading' = -V sin(heading) for a point at a before the axle that goes at V along x."""
    point = (
        Expression(name="x", phi=f"x + {ahead}*cos(heading) - {speed}*t", unit="m"),
        Expression(name="y", phi=f"y + {ahead}*sin(heading)", unit="m"),
    )
    found = internal_dynamics(task(vehicle(), *point))
    assert (found.states, found.reached, found.dimension) == (5, 4, 1)
    assert found.coordinates == ("heading",)
    np.testing.assert_allclose(found.along[0].modes.poles, [-speed / ahead], rtol=1e-8)
    assert found.kind == ("settles" if speed * ahead > 0.0 else "runs_away")
    np.testing.assert_allclose(found.motion.rate, -speed / ahead, rtol=1e-2)


def test_rows_on_velocities_count_once():
    """Speed and turning held: where the vehicle is and where it points is left."""
    rows = (
        Expression(name="ahead", psi="cos(heading)*v.x + sin(heading)*v.y", unit="m/s"),
        LinearVelocity(name="turn", coefficients={"heading": 1.0}, path=Constant(value=(0.0,))),
    )
    found = of(vehicle(), *rows)
    assert (found.states, found.reached, found.dimension) == (5, 2, 3)
    assert_poles(found.rests[0], [0.0, 0.0, 0.0])
    assert (found.kind, found.rests[0].modes.chain) == ("stays", 1)


def test_a_closed_chain_is_the_same_as_its_reduced_coordinates():
    """A bob in the plane, a rod as a passive row, a cart that is held: a pendulum of 0.7 m."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"cart": "m", "x": "m", "y": "m"},
            kinetic="M/2*v.cart**2 + m/2*(v.x**2 + v.y**2)",
            potential="m*g*y",
            parameters={"M": 2.0, "m": 0.5, "g": G, "l": 0.7},
            inputs={"F": {"cart": 1.0}},
            neutral={"y": -0.7},
        ),
        Options(passive=[{"kind": "expression", "phi": "(x - cart)**2 + y**2 - l**2"}]),
    )
    found = of(robot, Expression(phi="cart", unit="m"))
    w = np.sqrt(G / 0.7)
    assert (found.states, found.reached, found.dimension) == (4, 2, 2)
    assert_poles(found.rests[0], [w * 1j, -w * 1j])
    up = [near for near in found.rests if near.q[2] > 0.0]
    assert_poles(up[0], [w, -w])


def test_the_invariant_zeros_are_those_of_python_control():
    import control

    from ukctrl.analysis.linear import OperatingPoint, linear_plant

    scenario = task("acrobot", held("shoulder", 0.0))
    near = internal_dynamics(scenario, simulate=False).rests[0]
    plant = linear_plant(scenario, OperatingPoint(t=0.0, q=near.q, v=near.v, u=near.u))
    theirs = np.sort_complex(control.zeros(control.ss(plant.A, plant.B, plant.C, plant.D)))
    np.testing.assert_allclose(np.sort_complex(near.zeros), theirs, atol=1e-6)


def test_a_task_that_determines_everything_leaves_nothing():
    found = internal_dynamics(Scenario.load("scara-helix"))
    assert (found.states, found.reached, found.dimension, found.kind) == (8, 8, 0, "none")


def test_a_path_that_moves_is_judged_by_the_motion():
    wave = JointFollows(joints=("cart",), path=Formula(components=("0.1*sin(2*t)",)))
    found = internal_dynamics(task("cart_pole", wave, start={"pole": np.pi}))
    assert found.path_moves
    assert found.kind == "runs_away"
    assert "along the path the state moves away too" in found.verdict
    np.testing.assert_allclose(found.motion.rate, CART_POLE, rtol=0.05)
    assert found.motion.deviation[0] == 1.0


def test_a_linear_periodic_motion_is_found_with_its_multipliers():
    """The near mass is shaken at 3 rad/s; the far one answers as a damped resonator."""
    row = Expression(name="near", phi="x1 - 0.2*sin(3*t)", unit="m")
    scenario = task(masses("3*(v.x2 - v.x1)**2"), row, start={"x2": 0.3}, duration=6.0)
    found = internal_dynamics(scenario, floquet=True)
    s = 3.0j
    answer = 0.2 * (6.0 * s + 50.0) / (2.0 * s**2 + 6.0 * s + 50.0)
    np.testing.assert_allclose(found.periodic.q, [0.0, answer.imag], atol=1e-7)
    np.testing.assert_allclose(found.periodic.v, [0.6, (s * answer).imag], atol=1e-7)
    wanted = np.exp(np.roots([2.0, 6.0, 50.0]) * found.periodic.period)
    for multiplier in wanted:
        assert np.abs(found.periodic.multipliers - multiplier).min() < 1e-7
    assert found.kind == "settles"
    assert "converges to a periodic motion" in found.verdict


def shaken(frequency):
    """A pendulum of 0.5 m whose pivot goes up and down by 0.05 m; a motor holds it there."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"height": "m", "angle": "rad"},
            kinetic="M/2*v.height**2"
            " + m/2*(v.height**2 - 2*l*sin(angle)*v.height*v.angle + l**2*v.angle**2)",
            potential="(M + m)*g*height + m*g*l*cos(angle)",
            parameters={"M": 1.0, "m": 0.5, "l": 0.5, "g": G},
            inputs={"F": {"height": 1.0}},
        )
    )
    row = Expression(name="pivot", phi=f"height - 0.05*sin({frequency}*t)", unit="m")
    return task(robot, row, duration=4.0 * np.pi / frequency)


@pytest.mark.parametrize(("frequency", "kind"), [(100.0, "stays"), (40.0, "runs_away")])
def test_shaking_holds_a_pendulum_upright_which_only_floquet_multipliers_tell(frequency, kind):
    """Kapitza: upright holds from (0.05 w)^2 = 2 g l on, w = 62.6; by Mathieu's equation."""
    found = internal_dynamics(shaken(frequency), floquet=True)
    period = 2.0 * np.pi / frequency
    np.testing.assert_allclose(found.periodic.period, period, rtol=1e-8)

    def mathieu(t, x):
        return [x[1], (G - 0.05 * frequency**2 * np.sin(frequency * t)) / 0.5 * x[0]]

    flow = [
        solve_ivp(mathieu, (0.0, period), x, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
        for x in np.eye(2)
    ]
    wanted = np.linalg.eigvals(np.array(flow).T.astype(complex))
    for multiplier in wanted:
        assert np.abs(found.periodic.multipliers - multiplier).min() < 1e-6
    assert found.kind == kind
    assert max(near.modes.poles.real.max() for near in found.along) > 10.0  # frozen, all the same


def test_check_warns_of_what_runs_away_from_a_law_that_keeps_its_rows():
    from ukctrl.analysis.check import check

    found = check(task("cart_pole", held("cart", 0.0), start={"pole": "180*deg"}))
    assert found.verdict == "warnings"
    assert [text for text in found.warnings if "'pole' drifts away" in text]
    internal = json.loads(json.dumps(found.to_dict(), allow_nan=False))["internal"]
    assert (internal["kind"], internal["dimension"]) == ("runs_away", 2)
    np.testing.assert_allclose(internal["rests"][0]["poles"], [[CART_POLE, 0], [-CART_POLE, 0]])


def test_check_draws_and_tells_what_is_left(tmp_path, capsys):
    from ukctrl.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["check", "quadrotor-attitude", "--out", str(tmp_path)])
    told = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    assert "internal 4 of 12 states: the task is followed, but 'root_vx' drifts away" in told
    assert (tmp_path / "internal.png").is_file()


def test_a_figure_of_nothing_is_refused():
    from ukctrl import internal_dynamics_figure

    with pytest.raises(InputError, match="must have internal dynamics"):
        internal_dynamics_figure(internal_dynamics(Scenario.load("scara-helix")))
