"""Broken and hostile robot files: always one clear line that names the file."""

import time

import numpy as np
import pytest
from extras import needs

from ukctrl.core.errors import InputError, ModelError, UnknownName
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.robot import Robot
from ukctrl.robot.models import parsed_model

TOML = 'title = "arm"\nmodel = "arm.urdf"\n'
MOTOR = '[[actuator]]\nkind = "joint"\njoint = "j"\n'
TENDON = '[[actuator]]\nkind = "transmission"\nname = "m"\n'
GIVEN = '[[force]]\nkind = "given"\njoint = "j"\nforce = '
SPRING = '[[force]]\nkind = "spring"\nstiffness = 1\n'
FRAME = '[[frame]]\nname = "c"\nparent = "a"\n'


@pytest.fixture
def folder(tmp_path, text):
    """A folder with a sound robot in it."""
    model = text.urdf(text.body("a"), text.body("b"), text.joint("j", "a", "b"))
    (tmp_path / "arm.urdf").write_text(model)
    (tmp_path / "robot.toml").write_text(TOML)
    return tmp_path


def refused(path, kind=InputError):
    """Load, expecting a refusal in one line, quickly; return the line."""
    start = time.perf_counter()
    with pytest.raises(kind) as caught:
        Robot.load(path)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 700
    assert time.perf_counter() - start < 10.0
    return line


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [
<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><robot name="x"><link name="&c;"/></robot>"""
LEAK = """<!DOCTYPE r [<!ENTITY x SYSTEM "secret.txt">]><robot name="&x;"/>"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "well-formed XML; line 1: no element found"),
        (b"hello", "well-formed XML; line 1: syntax error"),
        (b"<robot><link></robot>", "well-formed XML; line 1: mismatched tag"),
        (b"<html><body/></html>", "root element must be <robot> (URDF), <mujoco> (MJCF) or <sdf>"),
        (
            b'<robot name="x">\xff\xfe</robot>',
            "must be UTF-8 text; byte 16 is not. Save it as UTF-8.",
        ),
        (
            '<robot name="x"/>'.encode("utf-16"),
            "must be UTF-8 text; byte 0 is not. Save it as UTF-8.",
        ),
        (BOMB.encode(), "must not contain <!DOCTYPE> or entities"),
        (LEAK.encode(), "must not contain <!DOCTYPE> or entities"),
        (b"<robot>" + b"<a>" * 300_000, "nested deeper than 256 levels"),
        (b"<mujoco>" + b"<body>" * 300_000, "nested deeper than 256 levels"),
        (b'<robot name="x"/>', "No link elements found"),
        (b"\0" * 100, "well-formed XML"),
        (b'<?xml version="1.0" encoding="made-up"?><robot/>', "arm.urdf"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value[:40],
)
def test_a_broken_model_file_is_refused_in_one_line(folder, content, message):
    (folder / "arm.urdf").write_bytes(content)
    for name in ("arm.urdf", "robot.toml"):
        line = refused(folder / name, ModelError)
        assert message in line
        assert "arm.urdf" in line


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("", "robot.toml: title: is missing"),
        ("title = \n", "robot.toml: not valid TOML"),
        (TOML + "gravty = [0, 0, 0]", "gravty: unknown key; did you mean 'gravity'?"),
        (TOML + "gravity = 9.81", "gravity: must be a list of 3 numbers; got 9.81"),
        (TOML + "gravity = [0, 0]", "gravity: must be a list of 3 numbers; got 2"),
        (TOML + "gravity = [0, 0, nan]", "gravity[2]: must be a finite number; got nan"),
        (TOML + 'floating_base = "perhaps"', "floating_base: "),
        ('title = "a"\nmodel = "leg.urdf"', "model: must be a file that exists"),
        ('title = "a"\nmodel = 7', "model: must be the name of a file; got 7"),
        ('title = ""\nmodel = "arm.urdf"', "title: must be text"),
        (TOML + MOTOR.replace('"j"', '"k"'), "actuator[0]: no joint named 'k'"),
        (
            TOML + MOTOR.replace("joint", "jont", 1),
            "actuator[0]: kind must be one of formula, joint",
        ),
        (TOML + '[[actuator]]\njoint = "j"', "actuator[0]: needs kind"),
        (TOML + MOTOR + "gaer = 2", "actuator[0].gaer: unknown key; did you mean 'gear'?"),
        (TOML + MOTOR + 'limit = "-3"', "actuator[0].limit: must be positive"),
        (TOML + MOTOR + "gear = true", "actuator[0].gear: must be a number"),
        (TOML + TENDON, "actuator[0]: needs either name and ratios"),
        (TOML + '[[force]]\nkind = "joint_spring"\njoint = "j"', "force[0].stiffness: is missing"),
        (TOML + GIVEN + '"__import__(1)"', "force[0]"),
        (TOML + GIVEN + '"sin(x)"', "no variable named 'x'"),
        (TOML + SPRING + 'frames = ["a", "c"]', "force[0]: no frame named 'c'"),
        (TOML + SPRING + 'frames = ["a"]', "force[0].frames"),
        (
            TOML + FRAME + SPRING + 'frames = ["a", "c"]',
            "force[0]: frames 'a' and 'c' are on one body; a spring between them does nothing.",
        ),
        (
            TOML + TENDON + 'ratios = { j = 1.0, "b" = 1.0 }',
            "actuator[0]: no joint named 'b'",
        ),
        (
            TOML + '[[actuator]]\nkind = "formula"\nname = "m"\ncolumn = {}',
            "actuator[0]: column must name at least one velocity.",
        ),
        (TOML + FRAME.replace("c", "b"), "frame[0]: the robot has a frame named 'b'"),
        (TOML + FRAME.replace('"a"', '"z"'), "frame[0]: parent: no frame named 'z'"),
        (TOML + FRAME + 'position = ["1*deg", 0, 0]', "frame[0].position[0]"),
        (TOML + "passive = 3", "passive: "),
        (TOML + "a" + ".a" * 200_000 + " = 1", "a dotted key must have at most"),
        (TOML + "x = " + "[" * 200_000, "nested too deeply"),
        (TOML + "x = " + "{a=" * 200_000, "nested too deeply"),
        (TOML + "x = " + "9" * 100_000, "robot.toml: "),
        ("\ufeff\ufeff" + TOML, "not valid TOML"),
    ],
    ids=lambda value: value[-40:],
)
def test_a_broken_robot_toml_is_refused_in_one_line(folder, toml, message):
    (folder / "robot.toml").write_text(toml, encoding="utf-8")
    line = refused(folder)
    assert message in line
    assert "robot.toml" in line


def test_a_robot_toml_that_is_not_utf8_is_refused(folder):
    (folder / "robot.toml").write_bytes(TOML.encode("utf-16"))
    assert "must be UTF-8 text" in refused(folder / "robot.toml")


def test_missing_files_and_names_are_refused(folder):
    assert "no file" in refused(folder / "leg.urdf")
    assert "did you mean 'scara'?" in refused("scarra", UnknownName)
    assert "no robot named" in refused("a" * 5000, UnknownName)


def test_numbers_in_robot_toml_may_be_text(folder):
    (folder / "robot.toml").write_text(
        TOML + 'gravity = [0, 0, "-9.81/6"]\n'
        '[[frame]]\nname = "tip"\nparent = "b"\n'
        'position = ["20*cm", 0, 0]\nrpy = [0, 0, "90*deg"]\n'
        '[[actuator]]\nkind = "joint"\njoint = "j"\nname = "m"\nlimit = "2*N*m"\n'
        '[[force]]\nkind = "joint_spring"\njoint = "j"\nstiffness = 2\nrest = "30*deg"\n'
    )
    robot = Robot.load(folder)
    np.testing.assert_allclose(robot.gravity, [0, 0, -1.635])
    np.testing.assert_array_equal(robot.effort_limit, [2.0])
    s = robot.snapshot([0.0])
    np.testing.assert_allclose(s.f, [2.0 * np.pi / 6.0])
    hand, tip = s.frame("b"), s.frame("tip")
    np.testing.assert_allclose(tip.position - hand.position, 0.2 * hand.rotation[:, 0], atol=1e-14)
    np.testing.assert_allclose(tip.rotation[:, 0], hand.rotation[:, 1], atol=1e-14)


def test_a_robot_knows_its_file_its_title_and_its_passive_tables(folder):
    (folder / "robot.toml").write_text(
        TOML + 'source = "a book"\n[[passive]]\nkind = "expression"\nphi = "j"\n'
    )
    robot = Robot.load(folder)
    assert (robot.title, robot.source) == ("arm", "a book")
    assert robot.path == folder / "robot.toml"
    assert robot.name == folder.name
    assert robot.passive == ({"kind": "expression", "phi": "j"},)


def test_text_and_file_and_table_give_the_same_robot(folder):
    path = folder / "arm.urdf"
    robots = [Robot.load(path), Robot.build(path), Robot.build(path.read_text())]
    robots.append(Robot.load(folder / "robot.toml"))
    for robot in robots:
        np.testing.assert_array_equal(robot.snapshot([0.3]).M, robots[0].snapshot([0.3]).M)
    assert robots[0].name == "arm"


def test_a_byte_order_mark_is_no_error(folder):
    path = folder / "arm.urdf"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Robot.load(path).nv == 1
    assert Robot.load(folder).nv == 1


def test_every_robot_of_the_catalogue_loads_with_title_and_source():
    from ukctrl.core.files.catalog import names

    for name in names("robots"):
        robot = Robot.load(name)
        assert robot.title
        assert robot.source
        assert all(finding.level == "note" for finding in robot.audit)


def test_a_robot_knows_which_of_its_keys_were_changed():
    assert Robot.load("two_link").override == {}
    changed = {"gravity": (0.0, 0.0, -1.6)}
    robot = Robot.load("two_link", override=changed)
    assert robot.override == changed
    assert robot.override is not changed


@pytest.mark.parametrize("nv", [3148, 3149, 4000])
def test_a_robot_that_would_fill_the_memory_is_refused(monkeypatch, nv):
    """A terabyte holds 32 bytes of 3148 freedoms cubed and 128 bytes of them squared."""
    monkeypatch.setattr(parsed_model, "memory_limit", lambda: 1e12)
    if nv == 3148:
        parsed_model._refuse_too_large(nv, nv)
        return
    with pytest.raises(ModelError) as caught:
        parsed_model._refuse_too_large(nv, nv)
    assert str(caught.value) == (
        f"a robot with {nv} freedoms needs about {1001 if nv == 3149 else 2050} GB of "
        "memory, and this machine has 1000 GB, enough for 3148. Take fewer parts."
    )
    assert is_machine_failure(caught.value)  # no property of a study's sample


@needs("mujoco")
@pytest.mark.parametrize("apart", [False, True])
def test_an_mjcf_file_that_would_is_refused_before_anything_is_compared(monkeypatch, apart):
    many = "".join(
        f'<body><joint type="{kind}"/><geom size="1"/></body>' for kind in ["hinge", "ball"] * 20
    )
    whole = many if apart else f'<body><joint/><geom size="1"/>{many}</body>'
    text = f"<mujoco><worldbody>{whole}</worldbody></mujoco>"
    assert Robot.build(text).nv == 80 + (not apart)
    monkeypatch.setattr(parsed_model, "memory_limit", lambda: 1e6)
    if apart:
        assert Robot.build(text).nv == 80
        return
    with pytest.raises(ModelError, match="^model text: a robot with 81 freedoms needs about"):
        Robot.build(text)


def test_separate_bodies_need_memory_for_matrices_alone(monkeypatch):
    monkeypatch.setattr(parsed_model, "memory_limit", lambda: 1e12)
    parsed_model._refuse_too_large(80_000, 2)
    with pytest.raises(ModelError, match="this machine has 1000 GB, enough for 88388"):
        parsed_model._refuse_too_large(100_000, 2)
