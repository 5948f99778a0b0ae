"""Motions worked out before the run, beside solutions by hand with other integrators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scripts import module_of

from tests.shared.slow import slow_but
from ukctrl import Scenario, simulate
from ukctrl.control import Feedforward, ServoDae, StableInversion, Task
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression as Rows
from ukctrl.mechanics.constraints import JointFollows, OrientationFollows, PointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import AboutAxis, Expression, RestToRest
from ukctrl.robot import Options, Robot, Wrench
from ukctrl.simulation.assemble import Loop
from ukctrl.uk import servo_matrix

SLOW = pytest.mark.slow
ACCURATE = 1e-6
"""Of the independent solution [m, rad, and their rates], and beside the largest input."""
HAND = Path(__file__).parents[2] / "docs/gallery/servo_constraint_inversion/by_hand.py"


def load_by_hand():
    return module_of(HAND)


by_hand = load_by_hand()


def inclined(degrees, c=1.0, **changes):
    parameters = {"alpha": np.radians(degrees), "c": c}
    robot = {"use": "mass_on_car", "lagrangian": {"parameters": parameters}}
    return Scenario.load("mass-on-car").replace({"robot": robot, **changes})


def planned(scenario, times):
    alone = Feedforward(along=scenario.controller.along)  # spares the gains about the motion
    nominal = Loop(scenario.replace({"controller": alone})).law.nominal
    states = [nominal.state(t) for t in times.tolist()]
    q, v = (np.array(part) for part in zip(*states, strict=True))
    return q, v, np.array([nominal.input(t) for t in times.tolist()])


def assert_agree(ours, theirs):
    for a, b in zip(ours[:2], theirs[:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=ACCURATE)
    size = np.abs(theirs[2]).max()
    np.testing.assert_allclose(ours[2], theirs[2], rtol=0.0, atol=ACCURATE * size)


@pytest.mark.slow
def test_on_a_level_rail_without_damper_the_motion_is_the_closed_form_of_the_flat_output():
    t = np.linspace(0.0, 3.0, 61)
    q, v, u = planned(inclined(0.0, c=0.0), t)
    s, s_dot, force = by_hand.car_flat(t, 1.0, 1.0, 5.0, 2.0)
    assert_agree((q[:, 1], v[:, 1], u[:, 0]), (s, s_dot, force))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("degrees", "step"),
    [
        (-10.0, 0.05),
        (0.0, 0.05),
        pytest.param(2.0, 0.00625, marks=SLOW),
        pytest.param(10.0, 0.05, marks=SLOW),
        pytest.param(60.0, 0.05, marks=SLOW),
    ],
)
def test_the_angle_sweeps_through_zero_and_the_inner_motion_stays_that_of_the_reduced_equation(
    degrees, step
):
    """Near zero the inner motion is quick, m2 sin^2(alpha)/c, and takes a short step."""
    t = np.linspace(0.0, 3.0, 61)
    q, v, u = planned(inclined(degrees, **{"controller.along.step": step}), t)
    hand = by_hand.car_inner(t, 1.0, 1.0, 5.0, 1.0, np.radians(degrees), 2.0)
    assert_agree((q[:, 1], v[:, 1], u[:, 0]), hand)


@pytest.mark.parametrize("degrees", [0.0, 1.0, 30.0])
def test_the_grip_on_the_mass_is_that_of_the_inclined_rail(degrees):
    """H = m2 sin^2(alpha)/det M, and exactly zero on a level rail."""
    scenario = inclined(degrees)
    dynamics = Dynamics(
        Robot.load("mass_on_car", override={k: v for k, v in scenario.robot.items() if k != "use"})
    )
    dynamics.move(0.0, np.zeros(2), np.zeros(2))
    H = servo_matrix(np.array([[1.0, 0.0]]), dynamics.G, dynamics.rank)[0, 0]
    wanted = np.sin(np.radians(degrees)) ** 2 / np.linalg.det(dynamics.snapshot.M)
    np.testing.assert_allclose(H, wanted, rtol=1e-9, atol=0.0)


@pytest.mark.parametrize(("c", "degree"), [(1.0, 3), (0.0, 4)])
def test_the_plain_law_is_refused_on_a_level_rail_with_the_relative_degree(c, degree):
    result = simulate(inclined(0.0, c=c, controller={"use": "servo-baumgarte"}))
    assert result.status == "infeasible"
    assert f"Row 'mass.y': its relative degree is {degree}." in result.message


def middle():
    return by_hand.Arm((1.0, 1.0), (1.0, 1.0), 20.0, 0.5, 0.4, (1,))


@pytest.mark.slow
def test_the_minimum_phase_arm_moves_as_its_spring_does_integrated_forwards():
    t = np.linspace(0.0, 4.0, 81)
    hand = middle().forwards(by_hand.rest_to_rest([-0.98], [0.98], 2.0), t, 2.0)
    assert_agree(planned(Scenario.load("elastic-arm-middle"), t), hand)


@pytest.mark.slow
def test_where_the_inner_motion_is_stable_the_horizon_gives_the_same_as_marching():
    t = np.linspace(0.0, 4.0, 41)
    scenario = Scenario.load("elastic-arm-middle")
    whole = {"controller.along": StableInversion(until=2.0, step=0.1), "timing.sample": 0.1}
    assert_agree(planned(scenario.replace(whole), t), planned(scenario, t))


@pytest.mark.slow
def test_the_bounded_motion_of_the_tip_is_that_of_another_boundary_value_solver():
    t = np.linspace(-1.5, 4.0, 111)
    arm = by_hand.Arm((1.0, 1.0), (1.0, 1.0), 20.0, 0.5, 1.0, (1,))
    hand = arm.bounded(by_hand.rest_to_rest([-1.4], [1.4], 2.0), t, -3.0, 5.0)
    tip = Scenario.load("elastic-arm-tip").replace({"controller.along.step": 0.1})
    assert_agree(planned(tip, t), hand)


@SLOW
def test_the_bounded_motion_of_two_motors_and_a_spring_is_that_of_another_solver():
    t = np.linspace(-0.5, 2.0, 101)
    arm = by_hand.Arm((1.0, 0.5, 0.5), (4.0, 1.0, 1.0), 5.0, 0.25, 0.5, (0, 1))
    hand = arm.bounded(by_hand.rest_to_rest([1.2, -0.4], [1.2, 0.4], 1.0), t, -1.0, 4.0)
    assert_agree(planned(Scenario.load("elastic-two-link"), t), hand)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elastic-arm-tip", "elastic-two-link"])
def test_the_plain_law_and_marching_run_away_where_the_inner_motion_is_unstable(name):
    scenario = Scenario.load(name)
    plain = simulate(scenario.replace({"controller": {"use": "servo-baumgarte"}}))
    assert plain.status == "diverged"
    with pytest.raises(InputError, match="servo_dae (follows|finds).*stable_inversion"):
        Loop(scenario.replace({"controller.along": ServoDae()}))


ORDERS = [(1, 1.0), (2, 3.0), (3, 5.0), (4, 7.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("stages", "order"), slow_but([(1, 1.0), (3, 5.0)], ORDERS))
def test_the_inner_motion_converges_with_the_order_of_the_scheme(stages, order):
    """2 s - 1, of the spring on a rail of 30 degrees, whose equation is integrated by hand."""
    t = np.array([0.5, 1.0, 1.5, 2.0])
    s = by_hand.car_inner(t, 1.0, 1.0, 5.0, 1.0, np.radians(30.0), 2.0)[0]
    errors = []
    for step in (0.125, 0.0625):
        along = ServoDae(step=step, stages=stages)
        q, *_ = planned(inclined(30.0, **{"controller": Feedforward(along=along)}), t)
        errors.append(np.abs(q[:, 1] - s).max())
    assert np.log2(errors[0] / errors[1]) > order - 0.4


def test_a_start_off_the_hidden_constraints_is_moved_to_where_the_row_can_be_kept():
    """On a moving path of relative degree 4, y and three derivatives determine the whole state."""
    path = RestToRest(points=((0.0,), (1.0,)), duration=2.0, still=4)
    robot = Robot.load(
        "mass_on_car", override={"lagrangian": {"parameters": {"alpha": 0.0, "c": 0.0}}}
    )
    row = JointFollows(joints=("y",), path=path)
    task = Task(
        robot=robot, servo=(row,), q=np.array([0.3, -0.1]), v=np.zeros(2), start=0.8, duration=0.4
    )
    found = ServoDae().solve(task)
    y = path.derivatives(0.8, 4)[:, 0]
    np.testing.assert_allclose(found.q[0], [y[0], -y[2] / 5.0], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.v[0], [y[1], -y[3] / 5.0], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(found.u[0], 2.0 * y[2] + y[4] / 5.0, rtol=0.0, atol=1e-5)


@pytest.mark.slow
def test_a_linkage_with_a_spring_keeps_its_loops_while_the_row_is_kept():
    """Passive rows take part through the robot's answer; the run itself confirms the input."""
    robot = Robot.load(
        "n_four_bar", override={"actuator": [{"kind": "joint", "joint": "rod0_angle"}]}
    )
    row = Rows(phi="rod0_angle - pi/2 - 0.4*sin(t)**2", unit="rad")
    result = simulate(
        Scenario(
            title="bars", robot=robot, servo=(row,), start={"planned": True},
            controller=Feedforward(along=ServoDae(step=0.1)),
            timing={"duration": 1.0, "sample": 0.1},
        )
    )  # fmt: skip
    assert result.status == "completed"
    assert result.metric("peak_phi") < ACCURATE
    assert result.metric("peak_passive_phi") < ACCURATE
    np.testing.assert_allclose(result["q"], result["q_planned"], rtol=0.0, atol=ACCURATE)


def test_free_bodies_are_inverted_on_their_manifold():
    """Six pushes, six rows, and configurations of seven numbers: beside the wrench by hand."""
    urdf = """<robot name="hull"><link name="hull"><inertial><mass value="1.2"/>
      <inertia ixx="0.012" iyy="0.013" izz="0.022" ixy="0" ixz="0" iyz="0"/></inertial></link>
      </robot>"""
    axes = dict(zip("xyz", np.eye(3).tolist(), strict=True))
    pushes = [Wrench(name=f"f{n}", frame="hull", force=tuple(axes[n])) for n in "xyz"]
    pushes += [Wrench(name=f"t{n}", frame="hull", torque=tuple(axes[n])) for n in "xyz"]
    robot = Robot.build(urdf, Options(floating_base=True, actuator=pushes, gravity=(0.0, 0.0, 0.0)))
    turning = AboutAxis(axis="z", angle=Expression(components=("0.8*t",)))
    rows = (
        PointFollows(frame="hull", path=Expression(x="0.5*sin(t)", y="0.2*t", z="1.0")),
        OrientationFollows(frame="hull", path=turning),
    )
    task = Task(robot=robot, servo=rows, q=robot.neutral, v=np.zeros(6), duration=1.0)
    found = ServoDae(step=0.25).solve(task)
    t = found.times
    away = np.column_stack([-0.5 * np.sin(t), 0.0 * t, 0.0 * t]) * 1.2
    c, s = np.cos(0.8 * t), np.sin(0.8 * t)
    body = np.column_stack([c * away[:, 0], -s * away[:, 0], 0.0 * t])  # pushes turn with the hull
    np.testing.assert_allclose(found.u[:, :3], body, rtol=0.0, atol=ACCURATE)
    np.testing.assert_allclose(found.u[:, 3:], 0.0, atol=ACCURATE)


def tip(**changes):
    return Scenario.load("elastic-arm-tip").replace({"controller.along.step": 0.2, **changes})


UNDAMPED = {
    "use": "elastic_arm",
    "force": [{"kind": "joint_spring", "joint": "flex", "stiffness": 20.0}],
}


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (
            tip(**{"start.t": -0.2}),
            r"eigenvalue \+18.8 1/s needs pre-actuation.*Begin 0.\d+ s earlier, with start.t = -0",
        ),
        (tip(**{"start.q": {"arm": -0.7}}), "must begin on the motion, or at rest on the path"),
        (tip(**{"controller.along.until": 1.0}), "must stand still at the end.*'tip.y' moves at"),
        (tip(**{"controller.along.until": -2.0}), "until must be after the start of the run, -1.5"),
        (tip(**{"start.t": 0.5}), "must stand still at the start"),
        (  # one row of two
            Scenario.load("elastic-two-link").replace({"controller.along.until": 0.5}),
            "must stand still at the end.*'tip.y' moves at",
        ),
        (tip(**{"controller.along.step": 1e-6}), "along.step must be at least 2.4e-05 s"),
        (
            Scenario.load("elastic-arm-middle").replace(
                {"robot": UNDAMPED, "controller.along": StableInversion(until=2.0)}
            ),
            r"eigenvalues on the imaginary axis; at the start of the path there is one at \+-\d",
        ),
        (
            tip(**{"servo.tip.axes": "xy", "servo.tip.path.points": [[1.0, -1.0], [1.0, 1.0]]}),
            "as many rows as the robot has inputs; got 2 rows",
        ),
    ],
)  # fmt: skip
def test_what_has_no_bounded_motion_is_refused_with_what_to_do(scenario, said):
    with pytest.raises(InputError, match=said):
        Loop(scenario)


def test_a_run_may_begin_on_the_motion_that_is_under_way():
    late = {"start.t": -0.1, "timing.duration": 2.5, "start.planned": True}
    result = simulate(tip(**late, **{"controller.along.step": 0.1}))
    assert result.status == "completed"
    assert np.abs(result["q"][0, 1]) > 1e-4  # the spring is bent before the tip moves
    assert result.metric("peak_phi") < ACCURATE


@pytest.mark.slow
def test_the_input_acts_before_the_path_moves():
    t = np.linspace(-1.5, 4.0, 111)
    _, _, u = planned(tip(), t)
    before = u[t < 0.0, 0]
    assert np.abs(before[-1]) > 0.05
    growth = np.log(before[-1] / before[-3]) / (t[1] - t[0]) / 2.0
    np.testing.assert_allclose(growth, 18.78, rtol=0.02)  # as the internal eigenvalue says


def test_a_newton_failure_names_time_row_and_remedy():
    """The path leaves the workspace of the arm."""
    far = {"servo.middle.path.points": [[-0.98], [2.5]]}
    with pytest.raises(InputError, match=r"from t = 1\.\d+ s on.*row 'middle.y' is off.*Shorten"):
        Loop(Scenario.load("elastic-arm-middle").replace(far))
