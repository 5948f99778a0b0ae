"""The relative degree is measured, on any robot, and never guessed."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.mechanics.constraints import ComFollows, Expression, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.mechanics.relative_degree import (
    explain_unreachable_rows,
    relative_degrees,
    vector_relative_degree,
)
from ukctrl.robot import Lagrangian, Options


def chain(masses, springs, *, damping=0.0):
    """Masses on a line with springs between neighbours and a force on the first."""
    names = [f"x{i + 1}" for i in range(len(masses))]
    pairs = list(zip(springs, names[1:], names, strict=False))
    return Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(names, "m"),
            kinetic=[f"{m}/2*v.{x}**2" for m, x in zip(masses, names, strict=True)],
            potential=[f"{k}/2*({far} - {near})**2" for k, far, near in pairs],
            dissipation=[f"{damping}/2*(v.{far} - v.{near})**2" for _, far, near in pairs],
            inputs={"F": {"x1": 1.0}},
        )
    )


def elastic_joint():
    """A pendulum behind a torsion spring, as Spong's model has it."""
    return Robot.build(
        Lagrangian(
            coordinates=["link", "rotor"],
            kinetic="0.5*v.link**2 + 0.1*v.rotor**2",
            potential="50*(link - rotor)**2 - 9.81*cos(link)",
            inputs={"tau": {"rotor": 1.0}},
        )
    )


def crane():
    """A trolley with a hanging load; only the trolley is pushed."""
    return Robot.build(
        Lagrangian(
            coordinates={"s": "m", "swing": "rad"},
            kinetic="10*v.s**2 + 2.5*((v.s + 2*cos(swing)*v.swing)**2 + (2*sin(swing)*v.swing)**2)",
            potential="-98.1*cos(swing)",
            inputs={"F": {"s": 1.0}},
        )
    )


BAR = """<link name="{0}"><inertial><origin xyz="{1} 0 0"/><mass value="{2}"/>
<inertia ixx="0.001" iyy="{3}" izz="{3}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
HINGE = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
<axis xyz="0 1 0"/><origin xyz="{3} 0 0"/>
<limit lower="-3" upper="3" effort="200" velocity="10"/></joint>"""


def rotor_arm():
    """A model file: the elbow's motor turns a rotor, and a spring leads from it to the forearm."""
    bars = [("upper", 0.25, 2.0, 0.05), ("rotor", 0.0, 0.3, 0.02), ("fore", 0.2, 1.0, 0.02)]
    hinges = [
        ("shoulder", "base", "upper", 0.0), ("motor", "upper", "rotor", 0.5),
        ("flex", "rotor", "fore", 0.0),
    ]  # fmt: skip
    parts = [BAR.format(*bar) for bar in bars] + [HINGE.format(*hinge) for hinge in hinges]
    return Robot.build(
        f'<robot name="rotor_arm"><link name="base"/>{"".join(parts)}</robot>',
        Options(
            actuator=[{"kind": "joint", "joint": joint} for joint in ("shoulder", "motor")],
            force=[{"kind": "joint_spring", "joint": "flex", "stiffness": 150.0}],
        ),
    )


def degrees(robot, *texts, q, v, form="phi"):
    rows = [Expression(**{form: text}, name=f"row{i}") for i, text in enumerate(texts)]
    found = relative_degrees(
        Dynamics(robot), Stack(rows, robot), 0.0, np.array(q, float), np.array(v, float)
    )
    return [str(one) for one in found]


def markov_degree(masses, springs, row):
    """The first Markov parameter C A^(k-1) B of a linear chain that is not zero: its degree."""
    n = len(masses)
    K = np.zeros((n, n))
    for i, k in enumerate(springs):
        K[i : i + 2, i : i + 2] += k * np.array([[1.0, -1.0], [-1.0, 1.0]])
    inverse = np.diag(1.0 / np.array(masses))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, np.zeros((n, n))]])
    state = np.concatenate((np.zeros(n), inverse[:, 0]))
    for degree in range(1, 2 * n + 1):
        if state[row] != 0.0:
            return degree
        state = A @ state
    return None


@pytest.mark.parametrize(
    ("masses", "springs"),
    [
        ([1.0, 2.0], [50.0]),
        ([1.0, 2.0, 3.0], [50.0, 60.0]),
        ([0.001, 0.004], [2e5]),
        ([100.0, 400.0], [0.2]),
        ([1.0, 1.0, 1.0, 1.0], [30.0, 30.0, 30.0]),
    ],
    ids=["two", "three", "stiff", "soft", "four"],
)
def test_every_mass_of_a_chain_has_the_degree_of_its_markov_parameters(masses, springs):
    robot, n = chain(masses, springs), len(masses)
    found = degrees(robot, *robot.coordinates, q=np.linspace(0.0, 0.5, n), v=np.full(n, 0.3))
    assert found == [str(markov_degree(masses, springs, row)) for row in range(n)]


def test_a_damper_beside_the_spring_lowers_the_degree_by_one():
    assert degrees(chain([1.0, 2.0], [20.0], damping=1.0), "x2", q=[0, 0], v=[0.3, 0.3]) == ["3"]


def test_a_link_behind_an_elastic_joint_has_degree_4_in_any_coordinate_of_it():
    assert degrees(elastic_joint(), "link", "sin(link)", "rotor", q=[0.2, 0.1], v=[0.1, 0.0]) == [
        "4",
        "4",
        "2",
    ]


def test_the_links_of_an_arm_with_two_elastic_joints_have_degree_4():
    robot = Robot.load("flexible_joint_arm")
    rows = (*robot.coordinates, "sin(q2) + sin(q2 + q4)")
    found = degrees(robot, *rows, q=[0.3, 0.5, 0.2, 0.6], v=[0.5, -0.1, 0.2, 0.1])
    assert found == ["4", "4", "2", "2", "4"]


def test_rows_of_a_model_file_that_share_a_channel_fix_all_of_the_state():
    """By hand: the links' motion gives the spring's torque, that the rotor, and all both inputs."""
    robot = rotor_arm()
    rows = Stack([Expression(phi=("shoulder", "motor + flex"), name="links")], robot)
    whole = vector_relative_degree(Dynamics(robot), rows, 0.0, np.zeros(3), np.zeros(3), [2, 2])
    assert (whole.channels, whole.orders, whole.fixed, whole.flat) == (1, (4, 4), 6, True)


def test_many_motors_are_tried_in_mixtures():
    """A mass hangs on a spring at the middle of a stage that six motors push."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"stage": "m", "load": "m"},
            kinetic="3*v.stage**2 + v.load**2",
            potential="40*(load - stage)**2",
            inputs={f"u{k}": {"stage": 0.1 * 4.0**k} for k in range(6)},
        )
    )
    assert degrees(robot, "load", "stage", q=[0.0, 0.1], v=[0.1, 0.0]) == ["4", "2"]


@pytest.mark.slow
def test_the_centre_of_mass_of_a_floating_robot_is_moved_by_no_motor():
    robot = Robot.load("floating_arm")
    rng = np.random.default_rng(0)
    stack = Stack([ComFollows(path=Constant(value=(0.0, 0.0, 0.0)))], robot)
    state = robot.random(rng), 0.1 * rng.standard_normal(robot.nv)
    found = relative_degrees(Dynamics(robot), stack, 0.0, *state)
    assert [one.value for one in found] == [None] * 3
    assert all("no input was seen to move it" in one.note for one in found)


@pytest.mark.slow
def test_a_robot_too_large_to_try_out_gets_a_bound():
    robot = chain([1.0] * 101, [10.0] * 100)
    stack = Stack([Expression(phi="x101")], robot)
    (found,) = relative_degrees(Dynamics(robot), stack, 0.0, np.zeros(101), np.zeros(101))
    assert found.sentence == (
        "its relative degree is at least 3: robots with more than 100 velocities are not tried out."
    )


def test_a_velocity_row_counts_from_one():
    robot = chain([1.0, 2.0], [50.0])
    found = degrees(robot, "v.x1 - 0.3", "v.x2 - 0.3", q=[0, 0.5], v=[0.3, 0.3], form="psi")
    assert found == ["1", "3"]


@pytest.mark.slow
def test_a_degree_that_changes_at_the_very_state_is_not_given_a_number():
    """Straight below the trolley the load cannot be pushed sideways; elsewhere it can."""
    assert degrees(crane(), "s + 2*sin(swing)", q=[0.0, 0.3], v=[0.0, 0.0]) == ["2"]
    hanging = degrees(crane(), "s + 2*sin(swing)", q=[0.0, 0.0], v=[0.0, 0.0])
    assert hanging == ["at least 3"]
    saddle = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="(v.x**2 + v.y**2)/2",
            potential="x**2*y",
            inputs={"F": {"x": 1.0}},
        )
    )
    assert degrees(saddle, "y", q=[1.0, 0.0], v=[0.0, 0.0]) == ["4"]
    assert degrees(saddle, "y", q=[0.0, 0.0], v=[0.0, 0.0]) == ["at least 3"]


def test_a_row_that_no_input_ever_moves_is_said_to_be_unmoved():
    robot = chain([1.0, 2.0], [])
    stack = Stack([Expression(phi="x2", name="far")], robot)
    (found,) = relative_degrees(Dynamics(robot), stack, 0.0, np.zeros(2), np.zeros(2))
    assert found.value is None
    assert "no input was seen to move it" in found.sentence


def test_on_a_closed_chain_the_degree_is_that_of_the_closed_chain():
    """A rod ties the second mass to the first; the third hangs on it by a spring."""
    robot = Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(("x1", "x2", "x3"), "m"),
            kinetic="v.x1**2/2 + v.x2**2/2 + v.x3**2",
            potential="25*(x3 - x2 - 0.5)**2",
            inputs={"F": {"x1": 1.0}},
        ),
        Options(passive=[{"kind": "expression", "phi": "x2 - x1 - 1"}]),
    )
    found = degrees(robot, "x2", "x3", q=[0.0, 1.0, 1.6], v=[0.1, 0.1, 0.0])
    assert found == ["2", "4"]


def test_a_row_with_grip_is_not_explained():
    scenario = Scenario.load("scara-helix")
    robot = Robot.load("scara")
    stack = Stack(scenario.servo, robot)
    told = explain_unreachable_rows(
        Dynamics(robot), stack, stack.names, 0.0, np.array([0.1, 0.9, 0, 0]), np.zeros(4)
    )
    assert told == ""


def test_a_run_that_asks_for_the_far_mass_is_refused_with_the_reason():
    run = simulate(Scenario.load("two-mass-spring-far"))
    assert run.status == "infeasible"
    assert "Row 'far.x2': its relative degree is 4." in run.message
    assert 'Use kind = "io_linearisation"; or a motion worked out before the run' in run.message
    assert 'along.kind = "flat"' in run.message


@pytest.mark.slow
def test_check_tells_the_degree_before_the_run():
    found = check(Scenario.load("two-mass-spring-far"))
    assert [row.relative_degree for row in found.start.rows] == [4]
    assert any("'far.x2': its relative degree is 4." in problem for problem in found.problems)
