"""What `check` says before a run, on scenarios where the answer is known."""

import json

import pytest

from ukctrl import Robot, Scenario, check
from ukctrl.core.errors import StartError
from ukctrl.mechanics.constraints import Expression, JointFollows, PointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import JointMotor, Options

CHAIN = """<robot name="chain"><link name="world"/>
<link name="near"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="far"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x1" type="prismatic"><parent link="world"/><child link="near"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="5" velocity="9"/></joint>
<joint name="x2" type="prismatic"><parent link="world"/><child link="far"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="5" velocity="9"/></joint>
</robot>"""


def chain(*motors):
    """Two carts on one rail, pushed where a motor is named."""
    actuators = tuple(JointMotor(joint=joint, name=f"m{i}") for i, joint in enumerate(motors))
    return Robot.build(CHAIN, Options(actuator=actuators))


def scenario_of(robot, *servo, **changes):
    base = Scenario.load("scara-helix", {"start.q": (), "start.v": (), "timing.duration": 1.0})
    return base.replace({"robot": robot, "servo": servo, **changes})


def hold(joint, value=0.3):
    return JointFollows(joints=(joint,), path=Constant(value=(value,)), name=joint)


def test_the_scara_helix_is_ready():
    found = check(Scenario.load("scara-helix"))
    assert found.ok
    assert (found.start.freedoms, found.start.mobility, found.start.motors) == (4, 4, 4)
    assert found.start.actuation == "fully"
    assert (found.start.servo.rank, found.start.grip.rank) == (4, 4)
    assert found.start.inputs["u4"] == pytest.approx(4.905)
    assert {row.relative_degree for row in found.start.rows} == {2}
    assert json.loads(json.dumps(found.to_dict()))["ok"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("motors", "actuation"),
    [(("x1",), "under"), (("x1", "x2"), "fully"), (("x1", "x2", "x2"), "redundantly")],
)
def test_the_actuation_is_classified_by_rank(motors, actuation):
    assert check(scenario_of(chain(*motors), hold("x1"))).start.actuation == actuation


@pytest.mark.slow
def test_a_row_that_no_motor_reaches_is_a_problem_that_names_it():
    found = check(scenario_of(chain("x1"), hold("x1"), hold("x2")))
    assert not found.ok
    by_name = {row.name: row for row in found.start.rows}
    assert by_name["x1.x1"].relative_degree == 2
    assert by_name["x2.x2"].relative_degree is None
    assert by_name["x2.x2"].relative_degree_at_least == 3
    assert any("'x2.x2'" in problem for problem in found.problems)


@pytest.mark.slow
def test_a_redundant_row_is_a_note_and_a_conflicting_one_a_problem():
    robot = chain("x1", "x2")
    same = check(scenario_of(robot, hold("x1"), Expression(phi="2*x1 - 0.6", name="twice")))
    assert same.ok
    assert len(same.start.servo.dependent) == 1
    assert any("depend on the others" in note for note in same.notes)
    other = check(scenario_of(robot, hold("x1"), Expression(phi="2*x1 - 5", name="else")))
    assert not other.ok


def test_a_start_off_the_constraints_is_a_note_with_the_worst_row():
    found = check(scenario_of(chain("x1", "x2"), hold("x1", 0.1), hold("x2", 0.7)))
    assert found.ok
    assert any("'x2.x2': phi = -0.7" in note for note in found.notes)


@pytest.mark.slow
def test_an_input_above_its_limit_is_a_note():
    found = check(scenario_of(chain("x1", "x2"), hold("x1", 3.0)))
    assert found.start.over_limit == ("m0",)
    assert found.start.inputs["m0"] == pytest.approx(300.0)  # beta * phi, with a mass of 1 kg


@pytest.mark.slow
def test_rows_without_grip_are_no_problem_for_a_regulator():
    changes = {"controller.use": "lqr", "start.q": {"pole": "170*deg"}}
    found = check(Scenario.load("cart-pole-swing-up", changes))
    assert found.ok
    assert any("the motors hold 1 of 2" in note for note in found.notes)


def test_a_joint_motion_out_of_reach_is_an_input_error():
    far_away = PointFollows(frame="tool", path=Constant(value=(9.0, 0.0, 0.0)))
    changes = {"controller": {"use": "computed-torque"}, "servo": (far_away,)}
    with pytest.raises(StartError, match="no position near the start meets all constraints"):
        check(Scenario.load("scara-helix").replace(changes))


def test_velocity_rows_are_told_apart_by_whether_they_integrate():
    robot = Robot.load("floating_arm")
    turning = Expression(psi=("v.root_wx", "v.root_wz - root_y*v.elbow"), name="turning")
    found = check(scenario_of(robot, turning, hold("elbow")))
    assert found.start.velocity_rows is not None
    assert found.start.velocity_rows.kind == "nonholonomic"
    assert [row.integrable for row in found.start.rows] == [False, False, True]
    table = json.loads(json.dumps(found.to_dict()))["velocity_rows"]
    assert (table["nonholonomic"], table["degree"]) == (2, found.start.velocity_rows.degree)
    assert any("do not all integrate" in note for note in found.notes)


@pytest.mark.slow
def test_a_velocity_row_in_disguise_is_integrable():
    row = Expression(psi="cos(x2)*v.x1 + v.x2", name="speed")
    found = check(scenario_of(chain("x1", "x2"), row))
    assert found.start.velocity_rows is not None
    assert found.start.velocity_rows.rows[0].integral.startswith("x1")
    assert found.start.rows[0].integrable is True
    assert any("stays constant; written as phi" in note for note in found.notes)


@pytest.mark.slow
def test_positions_alone_have_no_velocity_rows():
    assert check(Scenario.load("scara-helix")).start.velocity_rows is None
