"""Frobenius' theorem at work: classical constraints, and integrable ones made to order."""

import dataclasses as dc
import os
import subprocess

import numpy as np
import pytest
from mpmath import mpf, workdps

from tests.shared.slow import slow_but
from ukctrl.core.errors import ExpressionError, InputError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.constraint_rows import derive_rows
from ukctrl.core.expression.symbolic import parse
from ukctrl.mechanics.constraints import (
    Closure,
    Expression,
    JointFollows,
    LinearVelocity,
    Stack,
)
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.integrability import NumericRows
from ukctrl.robot import Options, Robot
from ukctrl_papers.integrability.classify import classify, classify_parts
from ukctrl_papers.integrability.first_integrals import first_integrals
from ukctrl_papers.integrability.multiprecision_rows import CoordinateKinematics

EXACT = {"rtol": 1e-12, "atol": 1e-12}

CLASSICAL = {
    "the paper's eq (12)": (["v.x + 2*y*v.y + v.z"], "xyz", "holonomic", (2,)),
    "the paper's eq (14)": (["v.x + 2*y*v.y + v.z - 1"], "xyz", "holonomic", (2,)),
    "the paper's eq (16)": (["v.x + 2*z*v.y + v.z"], "xyz", "nonholonomic", (2, 3)),
    "knife edge": (["d.x*sin(a) - d.y*cos(a)"], "xya", "nonholonomic", (2, 3)),
    "knife edge at a given angle": (["d.x*sin(t) - d.y*cos(t)"], "xy", "nonholonomic", (1, 2)),
    "knife edge that cannot turn": (
        ["d.x*sin(a) - d.y*cos(a)", "a - 0.3"], "xya", "holonomic", (1,),
    ),
    "upright rolling disc": (
        ["v.x - 0.3*v.b*cos(a)", "v.y - 0.3*v.b*sin(a)"], "xyab", "nonholonomic", (2, 3, 4),
    ),
    "Heisenberg": (["d.z - y*d.x + x*d.y"], "xyz", "nonholonomic", (2, 3)),
    "Martinet": (["d.z - y**2*d.x"], "xyz", "nonholonomic", (2, 3)),
    "Engel": (["d.z - y*d.x", "d.y - w*d.x"], "xyzw", "nonholonomic", (2, 3, 4)),
    "any two coordinates": (["sin(x*y)*d.x + exp(y)*d.y"], "xy", "holonomic", (1,)),
    "area law": (["x*d.y - y*d.x"], "xyz", "holonomic", (2,)),
    "jointly integrable": (["d.z - y*d.x", "d.x + z*d.x"], "xyz", "holonomic", (1,)),
    "a combination integrates": (
        ["d.z - y*d.x", "d.w + d.z - y*d.x"], "xyzw", "partly", (2, 3),
    ),
    "a redundant row": (["d.x + y*d.y", "2*d.x + 2*y*d.y"], "xyz", "holonomic", (2,)),
    "unit speed": (["v.x**2 + v.y**2 - 1"], "xy", "nonholonomic", (2,)),
    "as many rows as coordinates": (["v.x - x*y", "v.y + sin(x*t)"], "xy", "holonomic", (0,)),
}  # fmt: skip


@pytest.mark.parametrize("case", CLASSICAL)
def test_a_classical_constraint_is_what_textbooks_say(case):
    texts, names, kind, growth = CLASSICAL[case]
    found = classify(texts, list(names), closed_form=False)
    assert (found.kind, found.growth) == (kind, growth)
    assert found.integrable + found.nonholonomic == found.rank
    assert found.evidence == "digits"


@pytest.mark.parametrize("trailers", [0, 1, 2])
def test_every_trailer_of_a_car_needs_one_bracket_more(trailers):
    axles = ["v.x*sin(a) - v.y*cos(a)"]
    if trailers > 0:  # on a rod of 0.5 m that points along b
        axles.append("v.x*sin(b) - v.y*cos(b) + 0.5*v.b")
    if trailers > 1:  # on one of 0.4 m along c, behind the first
        behind = "(v.x + 0.5*v.b*sin(b))*sin(c) - (v.y - 0.5*v.b*cos(b))*cos(c) + 0.4*v.c"
        axles.append(behind)
    found = classify(axles, list("xyabc")[: 3 + trailers], closed_form=False)
    assert (found.kind, found.growth) == ("nonholonomic", tuple(range(2, 4 + trailers)))
    assert found.degree == trailers + 2


@pytest.mark.slow
def test_the_textbook_form_of_eq_16_is_two_and_not_one():
    # eq (11) in the paper's order is minus d omega ^ omega along dx ^ dy ^ dz
    found = classify(["v.x + 2*z*v.y + v.z"], ["x", "y", "z"])
    assert found.witness == "d omega ^ omega has the component -2 along dx ^ dy ^ dz"


def test_rows_are_told_apart_alone_and_together():
    found = classify(["d.z - y*d.x", "d.x"], ["x", "y", "z"], closed_form=False)
    assert [row.alone for row in found.rows] == ["nonholonomic", "holonomic"]
    assert [row.kind for row in found.rows] == ["holonomic", "holonomic"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", slow_but(range(3), range(6)))
def test_multiplying_and_mixing_exact_forms_hides_nothing(seed):
    rng = np.random.default_rng(seed)
    a, b, c = np.round(rng.uniform(0.5, 2.0, 3), 2)
    first = f"({a}*cos(x)*d.x + z*d.y + y*d.z + 2*t*d.t)"
    second = f"(exp({b}*y)*d.y + {c}*w*d.w - x*d.x)"
    texts = [
        f"(2 + sin(y))*{first} + x*w*{second}",
        f"z*{first} + (3 + x**2)*{second}",
    ]
    # d.NAME must stand alone in a sum of products, so the brackets are multiplied out
    names = ["x", "y", "z", "w"]
    expanded = [_expanded(text, names) for text in texts]
    together = classify(expanded, names, closed_form=False)
    assert (together.kind, together.rank) == ("holonomic", 2)
    broken = classify([expanded[0], expanded[1] + " + 0.01*w*d.y"], names, closed_form=False)
    assert broken.nonholonomic > 0


def _expanded(text: str, names: list[str]) -> str:
    from ukctrl.core.expression.symbolic import Vocabulary

    return str(parse(text, Vocabulary(tuple(names), differentials=(*names, "t"))).expand())


INTEGRABLE = {
    "exact": "d.x*y + d.y*x + 3*z**2*d.z",
    "rheonomic": "d.x + 2*y*d.y + d.z - cos(t)*d.t",
    "with a factor": "x*d.y - y*d.x",
    "with a factor of time": "v.x - x*exp(t)",
    "divided by a coefficient": "cos(y)*v.x + v.y",
    "constant coefficients": "0.5*d.x - 0.25*d.y + 2*d.t",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", slow_but(["rheonomic"], INTEGRABLE))
def test_the_integral_found_is_constant_along_every_allowed_motion(case):
    names = ["x", "y", "z"]
    found = classify([INTEGRABLE[case]], names)
    integral = found.rows[0].integral
    form = "pfaffian" if "d." in INTEGRABLE[case] else "nonholonomic"
    shared = {"coordinates": names, "dofs": names, "rates": [f"v.{name}" for name in names]}
    row = derive_rows([INTEGRABLE[case]], form=form, **shared)
    level = derive_rows([integral], form="holonomic", **shared)
    factor = compile_function([parse(found.rows[0].factor, [*names, "t"])], [names, "t"])
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v, t = rng.uniform(0.3, 1.2, 3).tolist(), rng.uniform(-1, 1, 3).tolist(), 0.7
        beta, rate = row.evaluate(q, v, t)[4], level.evaluate(q, v, t)[4]
        np.testing.assert_allclose(factor(q, t)[0] * beta, rate, **EXACT)


@pytest.mark.slow
def test_directions_of_a_floating_body_turn_with_it():
    robot = Robot.load("floating_arm")

    def found(*psi):
        return classify_parts([Expression(psi=psi).attach(robot)], robot)

    assert found("v.root_wx", "v.root_wy").kind == "holonomic"  # it turns about one axis
    assert found("v.root_wz").kind == "nonholonomic"  # and without it about every axis
    slides = found("v.root_vx", "v.root_vy")
    assert (slides.kind, slides.growth) == ("nonholonomic", (7, 9))
    assert found("v.root_wx", "v.root_wy", "v.root_wz").kind == "holonomic"


def test_rows_that_are_not_text_get_numerical_evidence():
    robot = Robot.load("two_link")
    path = {"kind": "expression", "components": ["sin(t)"]}
    row = LinearVelocity(coefficients={"shoulder": 1.0, "elbow": 2.0}, path=path)
    found = classify_parts([row.attach(robot)], robot)
    assert (found.kind, found.evidence) == ("holonomic", "floating point")
    assert "numerical evidence" in found.sentence()


@pytest.mark.slow
def test_floating_point_sees_three_levels_of_brackets():
    robot = Robot.load("swarm", override={"particles": {"count": 3}})
    path = {"kind": "constant", "value": (0.2,)}
    still = LinearVelocity(coefficients={"x3": 1.0}, path=path)
    # a disc that rolls upright: turned by x2, rolled by y2; y3 is free
    disc = Expression(psi=("v.x1 - 0.3*v.y2*cos(x2)", "v.y1 - 0.3*v.y2*sin(x2)"))
    found = classify_parts([still.attach(robot), disc.attach(robot)], robot)
    assert (found.evidence, found.kind) == ("floating point", "partly")
    assert (found.growth, found.integrable, found.nonholonomic) == ((3, 4, 5), 1, 2)
    assert [row.kind for row in found.rows] == ["holonomic", "nonholonomic", "nonholonomic"]


@pytest.mark.slow
def test_closures_among_the_rows_count():
    robot = Robot.load("floating_arm")
    weld = Closure(frames=("base", "world"), type="weld").attach(robot)
    roll = Expression(psi="v.root_wz + v.root_vx - root_y*v.elbow").attach(robot)
    alone = classify_parts([roll], robot)
    held = classify_parts([weld, roll], robot)
    assert alone.rows[-1].kind == "nonholonomic"
    assert (held.rows[-1].kind, held.evidence) == ("holonomic", "floating point")


@pytest.mark.slow
def test_parameters_of_a_plant_are_numbers():
    robot = Robot.load("flexible_arm_links", override={"lagrangian": {"parameters": {"l1": 2.0}}})
    row = Expression(psi="l1*v.q2 + v.q4").attach(robot)
    found = classify_parts([row], robot, closed_form=True)
    assert found.rows[0].integral == "2*q2 + q4"


@pytest.mark.slow
def test_closures_are_redundant_on_the_linkage_only():
    # a parallelogram of three links: 12 closure rows of rank 11 where it is closed, 12 elsewhere
    robot = Robot.load("five_bar")
    closures = Stack(passive_constraints(robot), robot).attached
    row = Expression(psi=f"v.{robot.dofs[0]} - sin(t)").attach(robot)
    found = classify_parts([*closures, row], robot)
    assert (found.rank, found.growth, found.kind) == (12, (0,), "holonomic")
    alone = classify_parts([row], robot)
    assert alone.growth == (robot.nv - 1,)


@pytest.mark.slow
def test_a_leaning_disc_that_rolls_reaches_every_place_and_lean():
    disc = Robot.build(
        '<robot name="disc"><link name="wheel"><inertial><mass value="3"/>'
        '<inertia ixx="0.1" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        "</robot>",
        Options(floating_base=True),
    )
    rolls = dc.replace(disc, passive=({"kind": "rolling", "frame": "wheel", "radius": 0.4},))
    found = classify_parts(Stack(passive_constraints(rolls), rolls).attached, rolls)
    # in heading, lean, spin and the place of the contact it is the upright disc: lean is free
    assert (found.growth, found.degree) == ((3, 4, 5), 3)
    assert (found.kind, found.integrable, found.nonholonomic) == ("partly", 1, 2)
    assert [row.kind for row in found.rows] == ["nonholonomic", "nonholonomic", "holonomic"]


@pytest.mark.slow
def test_a_differential_drive_keeps_one_combination_of_its_angles():
    r, half = 0.1, 0.3  # wheels that roll with (v.left, v.right) = speed -+ half track times yaw
    drive = [
        "v.x*sin(yaw) - v.y*cos(yaw)",
        f"v.x*cos(yaw) + v.y*sin(yaw) - {half}*v.yaw - {r}*v.left",
        f"v.x*cos(yaw) + v.y*sin(yaw) + {half}*v.yaw - {r}*v.right",
    ]
    found = classify(drive, ["x", "y", "yaw", "left", "right"], closed_form=False)
    assert (found.kind, found.growth) == ("partly", (2, 3, 4))
    assert (found.integrable, found.nonholonomic) == (1, 2)  # 2 half yaw = r (right - left)


def test_positions_alone_need_no_answer():
    robot = Robot.load("two_link")
    path = {"kind": "expression", "components": ["0.3*t"]}
    row = JointFollows(joints=("elbow",), path=path)
    assert classify_parts([row.attach(robot)], robot) is None


BAD = {
    "neither row can hold": (["d.x", "d.x + d.t"], ["x", "y"], "contradicts"),
    "two languages": (["d.x + v.y"], ["x", "y"], "not both"),
    "not linear in d": (["d.x*d.y"], ["x", "y"], "Pfaffian form"),
    "unknown name": (["d.x + w*d.y"], ["x", "y"], "no variable named 'w'"),
    "not a formula": (["import os"], ["x"], "must be a formula"),
    "no real value": (["log(-1 - x**2)*d.x + d.y"], ["x", "y"], "no finite real value"),
    "nothing": ([], ["x"], "at least one"),
    "huge": (["*".join(f"(x + {k}*y)" for k in range(60)) + "*d.x"], ["x", "y"], "huge"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_classified_is_refused_in_words(case):
    texts, names, message = BAD[case]
    with pytest.raises((InputError, ExpressionError), match=message) as caught:
        classify(texts, names)
    assert "\n" not in str(caught.value)


HOSTILE = [
    "exp(exp(exp(exp(exp(x*y)))))*d.x + d.y",
    "sin(1e300*x)*d.x + cos(1e-300*y)*d.z",
    "tan(atan2(tan(x), sin(y + atan2(z, x))))*d.x + sinh(asin(x/3))*d.y + d.z",
    "(x + y)**99*d.x + (x*y*z)**(x + y)*d.y",
]


def spent() -> float:
    """Return the processor time of this process and of those that it has started [s]."""
    return sum(os.times()[:4])


@pytest.mark.parametrize("text", slow_but(HOSTILE[:1], HOSTILE))
def test_hostile_text_is_answered_or_refused_in_bounded_time(text):
    began = spent()
    try:
        kind = classify([text], ["x", "y", "z"], seconds=0.5).kind
    except InputError as error:
        kind = str(error)
    assert kind
    assert spent() - began < 5.0


def test_what_takes_too_long_is_undecided():
    names = [f"x{k}" for k in range(14)]
    texts = [f"d.x{k} - x{k + 1}*d.x0*cos(x{k + 2}*x{k + 3})" for k in range(1, 6)]
    found = classify(texts, names, seconds=0.02, closed_form=False)
    assert found.kind == "undecided"
    assert found.reason


def test_symbols_that_take_too_long_are_done_without(monkeypatch):
    def slow(*_, timeout, **__):
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(subprocess, "run", slow)
    assert first_integrals(["d.x"], ["x"], [True], 1.0) is None
    assert classify(["d.x + y*d.y"], ["x", "y"]).kind == "holonomic"


@pytest.mark.parametrize("names", [("x", "x"), ("x", "t")])
def test_coordinates_of_one_name_are_refused(names):
    with pytest.raises(InputError, match="must have names of their own"):
        classify(["d.x"], names)


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", slow_but(["1e-12*", "1e200*"], ["1e-200*", "1e-12*", "1e12*", "1e200*"])
)
def test_the_unit_of_a_row_says_nothing(size):
    found = classify([f"{size}d.x + {size}y*d.z"], ["x", "y", "z"])
    assert (found.kind, found.growth) == ("nonholonomic", (2, 3))


@pytest.mark.slow
def test_a_small_coefficient_is_not_taken_for_none():
    assert classify(["d.x + 1e-11*y*d.z"], ["x", "y", "z"]).kind == "nonholonomic"


@pytest.mark.parametrize("name", ["quadrotor", "mobile_ur5", "acrobot"])
def test_constant_velocities_of_a_floating_base_turn_each_other_as_their_coordinates_do(name):
    """The Lie bracket of the joints, beside that of the coordinates' rates in many digits."""
    robot, rng = Robot.load(name), np.random.default_rng(3)
    path = {"kind": "constant", "value": (0.0,)}
    row = LinearVelocity(coefficients={robot.dofs[0]: 1.0}, path=path)
    space = NumericRows([row.attach(robot)], robot)
    x = space.draw(rng)
    first, second = rng.normal(size=(2, robot.nv + 1))
    with workdps(160):
        state = np.array([mpf(float(value)) for value in (*x[0], x[1])], dtype=object)
        frame = CoordinateKinematics(robot.coordinates, robot.dofs, robot.rates)
        expected = frame.bracket(state, first, second).astype(float)
    np.testing.assert_allclose(space.constant_bracket(x, first, second), expected, **EXACT)
