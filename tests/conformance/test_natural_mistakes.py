"""What a newcomer writes by mistake is answered with what to write, and that has been tried.

Each case is a mistake; the words are of the message, which must be one line with exit code 2.
"""

import re

import pytest

from ukctrl import Robot, Scenario, check
from ukctrl.cli import main
from ukctrl.cli.terminal.progress_bars import _Throughput
from ukctrl.core.errors import ExpressionError, InputError
from ukctrl.core.expression.suggested_text import suggested_text
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.core.expression.symbolic import check_names as check_formula
from ukctrl.core.expression.units import constant_value
from ukctrl.robot.joint_layout import RESERVED

SCENARIO = """
title = "An arm keeps to a circle"
robot = "two_link"
start = { solve = true, q = { shoulder = -0.64, elbow = 1.57 } }
controller = { use = "servo-baumgarte" }
timing = { duration = 0.2 }

[[servo]]
kind = "point_follows"
frame = "tool"
axes = "xz"
path = { kind = "expression", components = ["0.6 + 0.1*cos(pi*t)", "0.1 + 0.1*sin(pi*t)"] }
"""
MODEL = """<robot name='one'><link name='base'/><link name='arm'><inertial>
<origin xyz='0.2 0 0'/><mass value='1'/><inertia ixx='0.01' iyy='0.01' izz='0.01' ixy='0' ixz='0'
iyz='0'/></inertial></link><joint name='j' type='revolute'><parent link='base'/><child link='arm'/>
<axis xyz='0 1 0'/><limit lower='-3' upper='3' effort='9' velocity='5'/></joint></robot>"""
LAGRANGIAN = """
title = "L"
[lagrangian]
coordinates = {{ x = "m" }}
kinetic = "{kinetic}"
potential = "0"
parameters = {{ {parameters} }}
inputs = {{ F = {{ x = 1.0 }} }}
"""


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with a scenario and a model; return its one line of complaint."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robots" / "folder").mkdir(parents=True)
    (tmp_path / "robots" / "empty").mkdir()
    (tmp_path / "robots" / "folder" / "one.urdf").write_text(MODEL, encoding="utf-8")
    (tmp_path / "one.urdf").write_text(MODEL, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(SCENARIO, encoding="utf-8")

    def run(*arguments, old="", new=""):
        assert old in SCENARIO
        (tmp_path / "s.toml").write_text(SCENARIO.replace(old, new), encoding="utf-8")
        with pytest.raises(SystemExit) as ended:
            main(arguments or ("check", "s.toml"))
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, ""), said
        assert said.err.count("\n") == 1
        return said.err

    return run


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder", "the folder 'robots/folder' has no robot.toml"),
        ("folder", "or name the model itself: 'robots/folder/one.urdf'"),
        ("robots/folder", "has no robot.toml"),
        ("empty", "no model that one could name"),
        ("one", "a file is given by its path: 'one.urdf'"),
        ("on.urdf", "did you mean 'one.urdf'?"),
        ("scara-helix", "that is the name of a scenario"),
    ],
)
def test_a_robot_that_is_none_is_told_what_there_is(told, name, words):
    assert words in told(old='robot = "two_link"', new=f'robot = "{name}"')


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "mine"), "a file is given by its path: 'mine.toml'"),
        (("check", "mine"), "a file is given by its path: 'mine.toml'"),
        (("run", "scara"), "that is the name of a robot; ukctrl check looks at it"),
        (("run", "servo-baumgarte"), "that is the name of a controller"),
        (("check", "robots/folder"), "has no robot.toml"),
    ],
)
def test_a_scenario_that_is_none_is_told_what_there_is(told, arguments, words):
    assert words in told(*arguments)


def test_what_is_suggested_of_names_is_accepted(told, tmp_path):
    """The path in the message is one."""
    said = told(old='robot = "two_link"', new='robot = "folder"')
    path = re.search(r"name the model itself: '([^']*)'", said)[1]
    assert Robot.load(path, beside=tmp_path).nv == 1


CONSTANTS = [
    ("20°", "rad", "20*deg"), ("20 deg", "rad", "20*deg"), ("20degrees", "rad", "20*deg"),
    ("30º", "rad", "30*deg"), ("π/2", "rad", "pi/2"), ("-45 °", "rad", "-45*deg"),
    ("1kHz", "s", "1/(1*kHz)"), ("1*kHz", "s", "1/(1*kHz)"), ("50 Hz", "s", "1/(50*Hz)"),
    ("1 ms", "s", "1*ms"), ("1e-3s", "s", "1e-3*s"), ("5 sec", "s", "5*s"), ("0,2", "s", "0.2"),
    ("20 Nm", "N m", "20*Nm"), ("20N·m", "N m", "20*N*m"), ("90 deg/s", "rad/s", "90*deg/s"),
    ("9.81 m/s²", "m/s^2", "9.81*m/s**2"), ("−0.3", "m", "-0.3"), ("2^3", "1", "2**3"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "unit", "instead"), CONSTANTS)
def test_what_is_suggested_of_a_constant_is_accepted(text, unit, instead):
    with pytest.raises(ExpressionError, match=re.escape(f"write '{instead}'.")):
        constant_value(text, unit)
    constant_value(instead, unit)


REFUSED = [("1kHz", "rad"), ("2m", "s"), ("500mA", "N m"), ("1 000", "m"), ("abc", "s")]


@pytest.mark.parametrize(("text", "unit"), REFUSED)
def test_nothing_is_suggested_that_would_be_refused(text, unit):
    with pytest.raises(ExpressionError) as caught:
        constant_value(text, unit)
    assert "write '" not in str(caught.value)
    assert "as in" not in str(caught.value)


@pytest.mark.parametrize("sign", ["°", "·", "−", "π", "²", "np.", "2t", " deg", "kHz", "√"])
@pytest.mark.parametrize("text", ["{}", "2{}", "2*t{}", "{}2", "cos({}t)", "{}sin(t)"])
def test_every_suggestion_for_a_formula_is_accepted(sign, text):
    """Over all that these mistakes make: the text after "write" passes where the text did not."""
    words = Vocabulary(("x",), ("x",))
    try:
        check_formula(text.format(sign), words)
    except ExpressionError as error:
        for instead in re.findall(r"write '([^']*)'", str(error)):
            check_formula(instead, words)


def test_a_formula_is_never_told_to_use_a_unit_that_it_does_not_know(told):
    said = told(old="cos(pi*t)", new="cos(2kHz*t)")
    assert "write '" not in said
    assert "write '0.6 + 0.1*cos(90*deg*t)'" in told(old="cos(pi*t)", new="cos(90°*t)")


def test_meant_leaves_what_is_right_alone():
    for text in ("2*sin(pi*t)", "20*deg", "v.x**2/2", "1e-3", "atan2(x, t)"):
        assert suggested_text(text) == text


@pytest.mark.parametrize(("q", "words"), [
    ("{ shoulder = 20 }", 'start.q.shoulder: must be within -3.2 and 3.2 rad; got 20; for degrees'),
    ("{ shoulder = 20 }", 'write "20*deg"'),
    ("[0.1, 90.0]", 'start.q.elbow: must be within -2.8 and 2.8 rad; got 90; for degrees write'),
])  # fmt: skip
def test_a_bare_number_for_degrees_is_refused_with_the_unit_to_write(told, q, words):
    assert words in told(old="{ shoulder = -0.64, elbow = 1.57 }", new=q)


def test_a_bare_number_of_turns_is_warned_of_where_no_limit_tells():
    found = check(Scenario.load("acrobot-swing-up", {"start.q.shoulder": 45}))
    assert any('write "45*deg"' in warning for warning in found.warnings)
    given = check(Scenario.load("acrobot-swing-up", {"start.q.shoulder": "450*deg"}))
    assert not any("turns" in warning for warning in given.warnings)


def lagrangian(folder, kinetic="m/2*v.x**2", parameters="m = 1.0"):
    path = folder / "robot.toml"
    path.write_text(LAGRANGIAN.format(kinetic=kinetic, parameters=parameters), encoding="utf-8")
    return Robot.load(path)


@pytest.mark.parametrize("name", [*sorted(RESERVED), "lambda"])
def test_a_parameter_with_a_name_of_the_language_is_told_another_that_works(tmp_path, name):
    with pytest.raises(InputError, match=f"'{name}' must be a name that formulas can use") as told:
        lagrangian(tmp_path, parameters=f"m = 1.0, {name} = 0.5")
    usable = re.search(r"such as '([^']*)'", str(told.value))[1]
    lagrangian(tmp_path, parameters=f"m = 1.0, {usable} = 0.5", kinetic=f"{usable}*m*v.x**2")


def test_what_d_and_v_mean_is_said(tmp_path):
    with pytest.raises(InputError, match=r"in formulas 'd' stands before differentials"):
        lagrangian(tmp_path, parameters="m = 1.0, d = 0.5")


@pytest.mark.parametrize("velocity", ["vx", "x_dot", "xdot", "dx"])
def test_a_velocity_by_another_name_is_told_its_own(tmp_path, velocity):
    with pytest.raises(InputError, match=r"write 'v\.x'"):
        lagrangian(tmp_path, kinetic=f"m/2*{velocity}**2")


def test_a_mass_of_zero_is_not_called_a_missing_term(tmp_path):
    with pytest.raises(InputError, match=r"'v\.x' vanishes with these parameters"):
        lagrangian(tmp_path, parameters="m = 0.0")
    with pytest.raises(InputError, match=r"'v\.x' is missing"):
        lagrangian(tmp_path, kinetic="m")


def test_two_axes_in_one_are_not_said_to_move_no_inertia_each(tmp_path):
    """Each of two coincident axes moves the arm; together, one against the other, they do not."""
    joint = MODEL[MODEL.index("<joint") : MODEL.index("</robot>")]
    first = joint.replace("'j'", "'i'").replace("child link='arm'", "child link='mid'")
    twin = MODEL.replace(joint, first + joint.replace("parent link='base'", "parent link='mid'"))
    with pytest.raises(InputError, match=r"moving 'i', 'j' together in some way moves no inertia"):
        Robot.build(twin.replace("<link name='arm'>", "<link name='mid'/><link name='arm'>"))


def test_passive_joints_are_named_in_one_remark():
    notes = [f.message for f in Robot.load("four_mass_chain").audit if f.code == "no_actuator"]
    assert notes == ["no actuator acts on joints 'x2', 'x3', 'x4'."]


@pytest.mark.parametrize(("old", "new", "words"), [
    ("[[servo]]", "[servo]", "servo: must be a list; got a table. Write [[servo]]"),
    ("use = ", "kind = ", "'servo-baumgarte' is a card; write use = 'servo-baumgarte'"),
    ("title =", "q = { shoulder = 0.1 }\ntitle =", "q: unknown key; did you mean 'start.q'?"),
    ("{ shoulder = -0.64, elbow = 1.57 }", "{}", "They are met from start.q = { shoulder = "),
])  # fmt: skip
def test_a_slip_in_a_scenario_is_told_with_what_to_write(told, old, new, words):
    assert words in told(old=old, new=new)


@pytest.mark.parametrize("arguments", [
    ("run", "s.toml"), ("compare", "s.toml", "-c", "servo-pid"), ("analyze", "s.toml"),
    ("sweep", "s.toml", "--vary", "controller.feedback.alfa=1:2", "-n", "2"),
    ("tune", "s.toml", "--over", "alpha=1:50"), ("check", "s.toml", "--out", "out/x"),
    ("run", "s.toml", "--out", "a/b/c"),
    ("compare", "s.toml", "-c", "servo-pid", "--tune", "3", "--over", "controller.foo=1:2"),
])  # fmt: skip
def test_a_refusal_leaves_no_folder(told, tmp_path, arguments):
    before = set(tmp_path.rglob("*"))
    told(*arguments, old='frame = "tool"', new='frame = "tol"')
    assert {path.name for path in set(tmp_path.rglob("*")) - before} <= {"s.toml"}


def test_a_folder_that_was_there_stays(told, tmp_path):
    (tmp_path / "out").mkdir()
    told("run", "s.toml", old='frame = "tool"', new='frame = "tol"')
    assert (tmp_path / "out").is_dir()


def test_the_time_that_is_left_does_not_count_the_start_of_workers():
    """One simulation here, twenty seconds in which workers start, then five a second."""
    speed = _Throughput()
    for now, done in ((0.0, 0.0), (1.0, 1.0), (20.0, 2.0), (20.2, 3.0), (20.4, 4.0)):
        left = speed.remaining_text(now, done, 24.0)
    assert left == "9 s left"  # 20 are left, and 3 took 1.4 s
    for step in range(1, 11):
        left = speed.remaining_text(20.4 + 0.2 * step, 4.0 + step, 24.0)
    assert left == "2 s left"


def test_work_that_stands_still_takes_longer_and_longer():
    speed = _Throughput()
    for step in range(10):
        speed.rate(float(step), float(step))
    assert speed.rate(29.0, 9.0) < 0.5 * speed.rate(9.0, 9.0)
