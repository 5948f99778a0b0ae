"""Laws for elastic joints: the joints, rows and motions that they refuse, each by its sentence."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Robot, Task
from ukctrl.control import (
    Baumgarte,
    ElasticCascade,
    ElasticLinearisation,
    ElasticSingularPerturbation,
    ElasticTracking,
    LeastNorm,
    Servo,
)
from ukctrl.control.elastic.elastic_tracking import ChebyshevPlan
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression, JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Elastic, Lagrangian, Options


def masses(inputs=None, damping=0.0, **more):
    """Return two masses, each pulled by its motor's spring."""
    springs = Elastic(
        stiffness={"x": 90.0, "y": 40.0}, motor_inertia={"x": 0.8, "y": 0.4}, damping=damping
    )
    return Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.y**2/2", inputs=inputs),
        Options(elastic=springs, **more),
        name="masses",
    )


ROBOT, DAMPED = masses(), masses(damping={"x": 0.0, "y": 0.4})
TURNING = """<robot name="turning"><link name="base"/>
<link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="free" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
</joint>
<joint name="bound" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="9" velocity="9"/></joint></robot>"""
SPRINGS = Elastic(stiffness=50.0, motor_inertia=0.2)
WHEEL = Robot.build(TURNING, Options(elastic=SPRINGS))
TIED = masses(passive=[{"kind": "expression", "phi": "x - y", "name": "tie"}])
PARTLY = Robot.build(
    TURNING,
    Options(elastic=Elastic(stiffness={"bound": 50.0}, motor_inertia={"bound": 0.2})),
)
RIGID = Robot.build(TURNING)
ONE_INPUT = masses(inputs={"F": {"x": 2.0, "y": 1.0}})
LAWS = {
    "elastic_cascade": {"alpha": 1.0, "beta": 1.0},
    "elastic_singular_perturbation": {},
    "elastic_linearisation": {"alpha": 1.0, "beta": 1.0},
    "elastic_tracking": {"alpha": 1.0, "beta": 1.0},
}
KINDS = {
    "elastic_cascade": ElasticCascade,
    "elastic_singular_perturbation": ElasticSingularPerturbation,
    "elastic_linearisation": ElasticLinearisation,
    "elastic_tracking": ElasticTracking,
}


def started(kind, robot, links=None, **given):
    more = LAWS[kind] if links is None else {**LAWS[kind], "links": links}
    law = KINDS[kind](feedback=Baumgarte(alpha=4.0, beta=4.0), **more)
    rows = (JointFollows(joints=robot.dofs[:2], path=Constant(value=(0.0, 0.0))),)
    q, v = robot.neutral, np.zeros(robot.nv)
    return law.start(Task(robot=robot, **{"servo": rows, "q": q, "v": v, "duration": 0.1, **given}))


def alone(robot, kind, why):
    return (
        f"robot '{robot.name}' must have elastic joints alone, each with a motor, for kind = "
        f'"{kind}"; {why}.'
    )


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(
    ("robot", "why"),
    [
        (RIGID, "it has none; use the card 'servo-baumgarte'"),
        (PARTLY, "some are rigid"),
        (TIED, "passive constraints tie them together"),
    ],
    ids=["rigid", "partly", "tied"],
)
def test_every_law_for_springs_says_which_joints_it_cannot_serve(kind, robot, why):
    with pytest.raises(InputError) as caught:
        started(kind, robot)
    assert str(caught.value) == alone(robot, kind, why)


def test_damped_springs_are_refused_where_the_motors_reach_the_links_through_them_too_soon():
    with pytest.raises(InputError) as caught:
        started("elastic_linearisation", DAMPED)
    assert str(caught.value) == alone(
        DAMPED,
        "elastic_linearisation",
        "their springs have damping, which lets the motors reach the links after three derivatives "
        "already, through the damping alone; believe in a robot without it, or use kind = "
        '"elastic_cascade" or "elastic_singular_perturbation"',
    )


@pytest.mark.parametrize("kind", LAWS)
def test_every_motor_behind_a_spring_must_have_an_input(kind):
    with pytest.raises(InputError) as caught:
        started(kind, ONE_INPUT)
    assert str(caught.value) == (
        "robot 'masses' must have an input for each of its 2 motors; its inputs reach 1."
    )


@pytest.mark.parametrize(
    ("robot", "given", "why"),
    [
        (DAMPED, {}, "their springs have damping, whose model is another"),
        (WHEEL, {}, "some turn without end"),
        (
            ROBOT, {"duration": np.inf},
            "the run has no end, so that its motion cannot be planned",
        ),
    ],
    ids=["damped", "turning", "endless"],
)  # fmt: skip
def test_a_plan_of_motors_refuses_what_it_does_not_model(robot, given, why):
    with pytest.raises(InputError) as caught:
        started("elastic_tracking", robot, **given)
    assert str(caught.value) == alone(robot, "elastic_tracking", why)


def test_a_joint_that_turns_without_end_is_served_the_shorter_way_round():
    law = started("elastic_cascade", WHEEL)
    v = np.array([0.3, -0.2, 0.1, 0.4])
    inputs = [
        law.command(0.0, np.array([np.cos(3.0), np.sin(3.0), 0.4, theta, 0.5]), v).u
        for theta in (3.3, 3.3 - 2.0 * np.pi)
    ]
    np.testing.assert_allclose(*inputs, rtol=1e-9)


def test_a_plan_that_cannot_be_made_says_why():
    still = np.zeros(1)

    def made(segment, rate=lambda t, y: 0.0 * y, values=lambda t, y: y):
        return ChebyshevPlan(rate, still, 0.0, 1.0, segment, values)

    with pytest.raises(InputError) as caught:
        made(9e-6)
    assert str(caught.value) == (
        "controller.segment must be at least 1.0e-05 s, for at most 100000 pieces; got 9e-06 s."
    )
    said = (
        r"^the motion to follow must have four smooth derivatives; near t = 0\.5 s its series over "
        r"0\.5 s has not converged \(\de-0\d\)\. Smooth the path, or shorten controller\.segment\.$"
    )
    with pytest.raises(InputError, match=said):
        made(0.5, values=lambda t, y: np.array([abs(t - 0.7)]))
    with pytest.raises(InputError, match=r"^the motion to follow ends at t = 1 s, where its integ"):
        ChebyshevPlan(lambda t, y: y**2, np.ones(1), 0.0, 2.0, 2.0, lambda t, y: y)


def test_the_robot_of_a_plan_must_have_the_links_coordinates():
    with pytest.raises(InputError) as caught:
        started("elastic_tracking", ROBOT, links="two_link")
    assert str(caught.value) == (
        "controller.links: robot 'two_link' must have the links' coordinates, x, y; got shoulder, "
        "elbow."
    )


@pytest.mark.parametrize("kind", [kind for kind in LAWS if kind != "elastic_tracking"])
def test_rows_of_motors_and_forces_past_springs_are_refused_by_name(kind):
    with pytest.raises(InputError) as caught:
        started(kind, ROBOT, servo=(Expression(phi="x + y_motor", name="both"),))
    assert str(caught.value) == (
        f"servo row 'both' must be about links for kind = \"{kind}\"; it holds a motor. Use "
        "the card 'servo-baumgarte', which reaches motors at once."
    )
    for push in ("-v.y_motor", "-0.1*y_motor"):
        given = {"kind": "given", "joint": "y", "force": push}
        with pytest.raises(InputError) as caught:
            started(kind, masses(force=[given]))
        assert str(caught.value) == (
            "the forces on link 'y' of robot 'masses' must depend on its motor by the spring alone "
            f'for kind = "{kind}"; another force does too.'
        )


@pytest.mark.parametrize("kind", LAWS)
def test_the_law_by_rows_that_moves_the_links_is_told(kind):
    feedback, allocation = Baumgarte(alpha=4.0, beta=4.0), LeastNorm(metric="gauss")
    law = KINDS[kind](feedback=feedback, allocation=allocation, **LAWS[kind])
    assert law.row_law == Servo(feedback=feedback, allocation=allocation)
