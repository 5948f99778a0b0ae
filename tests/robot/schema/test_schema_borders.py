"""Every number of a robot file on both sides of its border, and what tables refuse, whole."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ukctrl.core.errors import UkctrlError
from ukctrl.robot import Perturbation
from ukctrl.robot.motor_limits import MotorLimits
from ukctrl.robot.perturbation import Payload
from ukctrl.robot.schema.force_tables import (
    DryFriction,
    FormulaInput,
    JointDamper,
    JointMotor,
    JointSpring,
    Spring,
    Transmission,
    Wrench,
)
from ukctrl.robot.schema.linkage_tables import (
    Linkage,
    LinkageBody,
    LinkageMotor,
    Prismatic,
    RepeatedModule,
    Revolute,
    place,
)
from ukctrl.robot.schema.plant_tables import (
    MAX_COORDINATES,
    MAX_PARTICLES,
    Functions,
    LagrangianTable,
    Particles,
)
from ukctrl.robot.schema.robot_file import Elastic, JointLimit, Options, RobotFile

ANY, ZERO, POSITIVE, WHOLE = "any", "zero or above", "positive", "at least one"
REFUSED = {
    ANY: (), ZERO: (-1e-9,), POSITIVE: (0.0, -1e-9), WHOLE: (0, -1, 1.5),
}  # fmt: skip
TAKEN = {ANY: (-2.0, 0.0, 2.0), ZERO: (0.0, 2.0), POSITIVE: (1e-9, 2.0), WHOLE: (1, 2)}
BODY = {"name": "a", "mass": 1.0, "inertia": 1.0}
LAGRANGIAN = {"coordinates": {"x": "m"}, "kinetic": "v.x**2"}
FIELDS = [
    (JointMotor, {"joint": "a"}, {"gear": ANY, "limit": POSITIVE, "rate_limit": POSITIVE,
     "no_load_speed": POSITIVE}),
    (MotorLimits, {"no_load_speed": 5.0}, {"corner_speed": ZERO}),
    (JointSpring, {"joint": "a", "stiffness": 1.0}, {"stiffness": ZERO, "rest": ANY,
     "damping": ZERO}),
    (JointDamper, {"joint": "a", "damping": 1.0}, {"damping": ZERO}),
    (DryFriction, {"joint": "a", "level": 1.0}, {"level": ZERO, "velocity_scale": POSITIVE}),
    (Spring, {"frames": ("a", "b"), "stiffness": 1.0}, {"stiffness": ZERO, "rest": ZERO,
     "damping": ZERO}),
    (Elastic, {"stiffness": 1.0, "motor_inertia": 1.0}, {"stiffness": POSITIVE,
     "motor_inertia": POSITIVE, "damping": ZERO, "gear": POSITIVE}),
    (JointLimit, {"joint": "a"}, {"velocity": POSITIVE}),
    (Options, {}, {"friction_velocity": POSITIVE}),
    (LinkageBody, BODY, {"mass": POSITIVE, "inertia": POSITIVE}),
    (Prismatic, {"points": ("a.A", "b.B")}, {"direction": ANY, "angle": ANY}),
    (LinkageMotor, {"name": "m", "bodies": ("a", "b")}, {"rotor_inertia": ZERO}),
    (Particles, {"count": 2}, {"count": WHOLE, "mass": POSITIVE}),
    (Payload, {"frame": "a", "mass": 1.0}, {"mass": ZERO}),
    (Perturbation, {}, {"mass_scale": POSITIVE, "inertia_scale": POSITIVE, "damping": ZERO,
     "friction": ZERO, "friction_velocity": POSITIVE, "stiffness_scale": POSITIVE}),
]  # fmt: skip
BORDERS = [
    (kind, base, name, sort) for kind, base, fields in FIELDS for name, sort in fields.items()
]
BY_JOINT = [
    (kind, base, name, sort) for kind, base, name, sort in BORDERS
    if kind in (Elastic, Perturbation) and name != "friction_velocity"
]  # fmt: skip


def called(row):
    return f"{row[0].__name__}.{row[2]}"


@pytest.mark.parametrize("row", BORDERS, ids=called)
def test_a_number_is_taken_on_one_side_of_its_border_alone(row):
    kind, base, name, sort = row
    for value in TAKEN[sort]:
        assert getattr(kind(**base | {name: value}), name) == value
    for value in (*REFUSED[sort], math.nan, math.inf, "x y", [[1.0]]):
        with pytest.raises(UkctrlError, match=name):
            kind(**base | {name: value})


@pytest.mark.parametrize("row", BY_JOINT, ids=called)
def test_a_table_by_joint_has_the_border_of_the_number(row):
    kind, base, name, sort = row
    assert getattr(kind(**base | {name: {"a": 2.0}}), name) == {"a": 2.0}
    for value in REFUSED[sort]:
        with pytest.raises(UkctrlError, match=f"{name}: a"):
            kind(**base | {name: {"a": value}})


def test_numbers_may_be_text_in_units_of_their_own():
    assert Elastic(stiffness="2*N*m/deg", motor_inertia="1").stiffness == pytest.approx(
        360.0 / math.pi
    )
    assert JointLimit(joint="a", position=("-90*deg", "20*cm")).position == pytest.approx(
        (-math.pi / 2.0, 0.2)
    )
    with pytest.raises(UkctrlError, match="rest"):
        Spring(frames=("a", "b"), stiffness=1.0, rest="1*s")


def drawing(**changes):
    plain = {
        "ground": {"A": (0, 0)},
        "body": [BODY | {"points": {"P": (1, 0)}}, BODY | {"name": "b", "points": {"P": (1, 0)}}],
        "joint": [{"kind": "revolute", "points": ("ground.A", "a.P")}],
        "motor": [{"name": "m", "bodies": ("ground", "a")}],
    }
    return lambda: Linkage(**plain | changes).expanded()


def lagrangian(**changes):
    return lambda: LagrangianTable(**LAGRANGIAN | changes)


def file(**changes):
    return lambda: RobotFile(title="t", **changes)


BOTH = {"lagrangian": LAGRANGIAN}
DRAWN = {"linkage": {"body": [BODY]}}
FORM = "Transmission: needs either name and ratios, or names, joints and matrix, and not both."
TRANSMITTED = {
    "name": "t", "ratios": {"a": 1.0}, "names": ("u",), "joints": ("a",), "matrix": ((1.0,),)
}  # fmt: skip
FORCE = "Wrench: needs a force or a torque that is not zero."
SENTENCES = {
    "no ratios": (
        lambda: Transmission(name="t", ratios={}),
        "Transmission: ratios must list at least one joint.",
    ),
    "flat matrix": (
        lambda: Transmission(names=("u", "w"), joints=("a",), matrix=((1.0,), (2.0,))),
        "Transmission: matrix must have 1 rows (joints) and 2 columns (names); got 2 and 1.",
    ),
    "no wrench": (lambda: Wrench(name="w", frame="a"), FORCE),
    "wrench of zeros": (
        lambda: Wrench(name="w", frame="a", force=(0, 0, 0), torque=(0, 0, 0)), FORCE,
    ),
    "no column": (
        lambda: FormulaInput(name="u", column={}),
        "FormulaInput: column must name at least one velocity.",
    ),
    "limit of nothing": (
        lambda: JointLimit(joint="a"),
        "JointLimit: needs a position or a velocity; got neither.",
    ),
    "limit of one point": (
        lambda: JointLimit(joint="a", position=(1.0, 1.0)),
        "JointLimit: position must be a lower and a higher number; got 1 and 1.",
    ),
    "three limits": (
        lambda: MotorLimits(limit=(0, 1, 2)),
        "MotorLimits: limit: must be one number or a lower and an upper one; got 3.",
    ),
    "equal limits": (
        lambda: MotorLimits(limit=(1, 1)),
        "MotorLimits: limit: must be a lower and a higher number; got 1 and 1, which leave no "
        "input.",
    ),
    "corner alone": (
        lambda: MotorLimits(corner_speed=1.0),
        "MotorLimits: corner_speed goes with no_load_speed, where torque has fallen to 0.",
    ),
    "corner at the end": (
        lambda: MotorLimits(corner_speed=2.0, no_load_speed=2.0),
        "MotorLimits: corner_speed must be less than no_load_speed, 2; got 2.",
    ),
    "curve on one side": (
        lambda: MotorLimits(limit=(1, 2), no_load_speed=2.0),
        "MotorLimits: no_load_speed needs a limit on both sides of zero, or the curve has nowhere "
        "to fall to; got 1 and 2.",
    ),
    "no coordinate": (
        lagrangian(coordinates={}),
        "LagrangianTable: coordinates must name at least one coordinate; got none.",
    ),
    "coordinate that is the time": (
        lagrangian(coordinates={"t": "m"}),
        "LagrangianTable: coordinates: 't' must be a name that formulas can use, such as 't_'; in "
        "formulas 't' is the time.",
    ),
    "coordinate that is a function": (
        lagrangian(coordinates={"sin": "m"}),
        "LagrangianTable: coordinates: 'sin' must be a name that formulas can use, such as 'sin_'; "
        "in formulas 'sin' is a function.",
    ),
    "coordinate with a dash": (
        lagrangian(coordinates={"a-b": "m"}),
        "LagrangianTable: coordinates: 'a-b' must be a name that formulas can use, such as 'a_b'.",
    ),
    "neutral of nothing": (
        lagrangian(neutral={"y": 1.0}),
        "LagrangianTable: no coordinate (in neutral) named 'y'. Known: x.",
    ),
    "limits of nothing": (
        lagrangian(limits={"y": (0, 1)}),
        "LagrangianTable: no coordinate (in limits) named 'y'. Known: x.",
    ),
    "limits without room": (
        lagrangian(limits={"x": (1, 1)}),
        "LagrangianTable: limits.x must be a lower and a higher number; got 1 and 1.",
    ),
    "neutral outside": (
        lagrangian(limits={"x": (1, 2)}),
        "LagrangianTable: neutral.x must be within limits.x, 1 to 2; got 0.",
    ),
    "parameter that is a derivative": (
        lagrangian(parameters={"d": 1.0}),
        "LagrangianTable: parameters: 'd' must be a name that formulas can use, such as 'd_'; in "
        "formulas 'd' stands before differentials, as in d.x.",
    ),
    "parameter that is a velocity": (
        lagrangian(parameters={"v": 1.0}),
        "LagrangianTable: parameters: 'v' must be a name that formulas can use, such as 'v_'; in "
        "formulas 'v' stands before velocities, as in v.x.",
    ),
    "parameter that is a coordinate": (
        lagrangian(parameters={"x": 1.0}),
        "LagrangianTable: parameters: 'x' is the name of a coordinate already; rename one of them.",
    ),
    "many particles": (
        lambda: Particles(count=MAX_PARTICLES + 1),
        "Particles: count must be at most 5000; got 5001.",
    ),
    "many coordinates": (
        lambda: Particles(count=MAX_COORDINATES // 3 + 1, dimension=3),
        "Particles: count must be at most 3333 in 3 dimensions; got 3334.",
    ),
    "four dimensions": (
        lambda: Particles(count=1, dimension=4), "Particles: dimension must be 2 or 3; got 4.",
    ),
    "one dimension": (
        lambda: Particles(count=1, dimension=1), "Particles: dimension must be 2 or 3; got 1.",
    ),
    "masses of others": (
        lambda: Particles(count=2, mass=(1.0, 2.0, 3.0)),
        "Particles: mass must be one number, or one for each of the 2 particles; got 3.",
    ),
    "no plant": (
        file(),
        "RobotFile: needs exactly one of model, part, lagrangian, functions, linkage, particles; "
        "got none of them.",
    ),
    "two plants": (
        file(**BOTH, particles={"count": 2}),
        "RobotFile: needs exactly one of model, part, lagrangian, functions, linkage, particles; "
        "got lagrangian and particles.",
    ),
    "elastic linkage": (
        file(**DRAWN, elastic={"stiffness": 1.0, "motor_inertia": 1.0}),
        "RobotFile: elastic: the joints of a [linkage] are constraints and cannot be elastic; "
        "write the mechanism as a model file, and close its loops with [[passive]].",
    ),
    "linkage at home": (
        file(**DRAWN, home={"a_x": 1.0}),
        "RobotFile: home: a [linkage] begins as it is drawn, with at.",
    ),
    "floating linkage": (
        file(**DRAWN, floating_base=True),
        "RobotFile: floating_base: the bodies of a [linkage] move freely already.",
    ),
    "gravity of formulas": (
        file(**BOTH, gravity=(0, 0, -9.81)),
        "RobotFile: gravity goes with a model file; write gravity into the formulas, as a "
        "parameter.",
    ),
    "floating formulas": (
        file(**BOTH, floating_base=True),
        "RobotFile: floating_base goes with a model file; give the base coordinates of its own.",
    ),
    "frame of formulas": (
        file(**BOTH, frame=[{"name": "f", "parent": "g"}]),
        "RobotFile: frame goes with a model file; a plant without bodies has no frames; write "
        "constraints as expressions.",
    ),
    "home of formulas": (
        file(**BOTH, home={"x": 1.0}),
        "RobotFile: home goes with a model file; say where it begins with neutral, in the plant's "
        "table.",
    ),
    "no body": (drawing(body=()), "body: a linkage must have at least one body."),
    "body called ground": (
        drawing(body=[BODY, BODY | {"name": "ground"}], joint=()),
        "body[1].name: 'ground' is the body that rests.",
    ),
    "bodies of one name": (
        drawing(body=[BODY, BODY], joint=()),
        "every body must have a name of its own; 'a' comes twice.",
    ),
    "body with a dash": (
        drawing(body=[BODY | {"name": "a-b"}], joint=(), motor=()),
        "body[0].name: must be letters from a to z, digits and underscores; got 'a-b'.",
    ),
    "point with a dash": (
        drawing(ground={"A": (0, 0), "B-": (0, 0)}),
        "ground: must be letters from a to z, digits and underscores; got 'B-'.",
    ),
    "point of a body with a dash": (
        drawing(body=[BODY | {"points": {"P": (1, 0), "Q-": (0, 0)}}]),
        "body[0].points: must be letters from a to z, digits and underscores; got 'Q-'.",
    ),
    "joint of one body": (
        drawing(joint=[{"kind": "revolute", "points": ("a.P", "a.P")}]),
        "joint[0]: must join two bodies; both 'a.P' and 'a.P' are points of 'a'.",
    ),
    "joint to nowhere": (
        drawing(joint=[{"kind": "revolute", "points": ("a.P", "c.P")}]),
        "joint[0]: no body named 'c'. Known: a, b, ground.",
    ),
    "joint at no point": (
        drawing(joint=[{"kind": "revolute", "points": ("a.P", "b.Q")}]),
        "joint[0]: no point (of 'b') named 'Q'. Known: P.",
    ),
    "joint at a body": (
        drawing(joint=[{"kind": "revolute", "points": ("a.P", "b")}]),
        "joint[0]: a point must be written '<body>.<point>', such as 'ground.A'; got 'b'.",
    ),
    "motor of one body": (
        drawing(motor=[{"name": "m", "bodies": ("a", "a")}]),
        "motor[0]: must turn a second body against a first; got 'a' and 'a'.",
    ),
    "motor that turns the ground": (
        drawing(motor=[{"name": "m", "bodies": ("a", "ground")}]),
        "motor[0]: must turn a second body against a first; got 'a' and 'ground'.",
    ),
    "motor of nobody": (
        drawing(motor=[{"name": "m", "bodies": ("ground", "zz")}]),
        "motor[0]: no body named 'zz'. Known: a, b, ground.",
    ),
    "motors of one name": (
        drawing(motor=[{"name": "m", "bodies": ("ground", b)} for b in "ab"]),
        "every motor must have a name of its own; 'm' comes twice.",
    ),
    "points of one name": (
        drawing(repeat={"r": {"count": 1, "ground": {"A": (1, 1)}}}),
        "every ground point must have a name of its own; 'A' comes twice.",
    ),
    "too often": (
        drawing(repeat={"r": {"count": 10**6, "body": [BODY]}}),
        "repeat.r.count must leave at most 2000 bodies; got 1000000 times 1.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_a_table_that_makes_no_sense_is_refused_whole(case):
    call, sentence = SENTENCES[case]
    with pytest.raises(UkctrlError) as caught:
        call()
    assert str(caught.value) == sentence


def test_borders_themselves_are_taken():
    assert Particles(count=MAX_PARTICLES).count == 5000
    assert Particles(count=MAX_COORDINATES // 3, dimension=3).count == 3333
    edge = LagrangianTable(**LAGRANGIAN | {"limits": {"x": (0.0, 1.0)}})
    assert edge.limits["x"] == (0.0, 1.0)
    assert MotorLimits(limit=(0, 12), no_load_speed=2.0).limit == (0.0, 12.0)
    assert MotorLimits(limit=(-12, 0), no_load_speed=2.0).limits("u") == (-12.0, 0.0)
    assert MotorLimits(limit=3.0).limits("u") == (-3.0, 3.0)
    assert MotorLimits().limits("u", 4.0) == (-4.0, 4.0)
    assert MotorLimits().limits("u") == (-np.inf, np.inf)
    assert Wrench(name="w", frame="a", force=(0, 0, 0), torque=(0, 1, 0)).torque == (0, 1, 0)


def test_modules_are_numbered_from_zero_in_names_and_texts():
    module = {
        "count": 3, "ground": {"G{i+1}": (1.0, 2.0)},
        "body": [BODY | {"name": "link{i}", "points": {"P": (0, 1), "Q{i+2}": (1, 0)}}],
        "joint": [{"kind": "revolute", "points": ("ground.G{i+1}", "link{i}.P")}],
        "motor": [{"name": "m{i+10}", "bodies": ("ground", "link{i}")}],
    }  # fmt: skip
    whole = Linkage(repeat={"r": RepeatedModule(**module)}).expanded()
    assert list(whole.ground) == ["G1", "G2", "G3"]
    assert [body.name for body in whole.body] == ["link0", "link1", "link2"]
    assert [list(body.points) for body in whole.body] == [["P", f"Q{k}"] for k in (2, 3, 4)]
    assert [joint.points for joint in whole.joint] == [
        (f"ground.G{k + 1}", f"link{k}.P") for k in range(3)
    ]
    assert [motor.name for motor in whole.motor] == ["m10", "m11", "m12"]
    assert isinstance(whole.joint[0], Revolute)
    assert place(whole, "link1.P") == ("link1", (0.0, 1.0))
    assert place(whole, "ground.G2") == ("ground", (1.0, 2.0))


def test_a_neutral_value_and_functions_have_the_same_tables():
    given = Functions(coordinates=["a"], M=len, nle=len, neutral={"a": 2.0}, limits={"a": (1, 2)})
    assert (given.coordinates, given.neutral) == ({"a": "rad"}, {"a": 2.0})


@pytest.mark.parametrize("count", range(len(TRANSMITTED) + 1))
def test_a_transmission_is_given_in_one_form_and_whole(count):
    for names in itertools.combinations(TRANSMITTED, count):
        given = {name: TRANSMITTED[name] for name in names}
        if names in (("name", "ratios"), ("names", "joints", "matrix")):
            assert Transmission(**given).matrix == given.get("matrix")
        else:
            with pytest.raises(UkctrlError) as caught:
                Transmission(**given)
            assert str(caught.value) == FORM
