"""Scenarios from files: cards and their overrides, changes by path, and the way back to tables."""

from __future__ import annotations

import dataclasses as dc
import tomllib

import numpy as np
import pytest

from ukctrl import Controller, Robot, Scenario
from ukctrl.cli.workspace import create_workspace
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.files.table_paths import merged, parse_value, set_path
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario.resolve_table import load_code, resolve_card

TABLE = {
    "a": {"b": {"c": 1, "d": 2}},
    "list": [1, 2, 3],
    "servo": [
        {"kind": "point_follows", "frame": "tool", "axes": "xy"},
        {"kind": "expression", "name": "level", "phi": "q1"},
        {"kind": "distance", "frames": ["a", "b"]},
    ],
}


@pytest.fixture
def workspace(tmp_path):
    """A new workspace."""
    create_workspace(tmp_path)
    return tmp_path


def card(folder, name, text):
    (folder / "controllers" / f"{name}.toml").write_text(text, encoding="utf-8")


# Changes by path


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("a.b.c", lambda t: t["a"]["b"]["c"]),
        ("a.b", lambda t: t["a"]["b"]),
        ("a.new.deep", lambda t: t["a"]["new"]["deep"]),
        ("list.1", lambda t: t["list"][1]),
        ("servo.0.axes", lambda t: t["servo"][0]["axes"]),
        ("servo.tool.axes", lambda t: t["servo"][0]["axes"]),
        ("servo.level.phi", lambda t: t["servo"][1]["phi"]),
        ("servo.distance.frames", lambda t: t["servo"][2]["frames"]),
        ("servo.level", lambda t: t["servo"][1]),
    ],
)
def test_a_path_names_a_place(path, read):
    changed = set_path(TABLE, path, "new")
    assert read(changed) == "new"


def test_a_path_names_a_block_as_a_run_does():
    unnamed, named = {"kind": "joint_limits"}, {"kind": "joint_limits", "name": "narrow"}
    changed = set_path({"keep": [named, unnamed]}, "keep.joints.margin", 0.1)
    assert changed == {"keep": [named, {**unnamed, "margin": 0.1}]}
    with pytest.raises(InputError, match="named 'com'"):  # which of two is not known
        set_path({"servo": [{"kind": "com_follows"}] * 2}, "servo.com.axes", "xy")


def test_a_change_leaves_the_original_and_all_else_alone():
    changed = set_path(TABLE, "a.b.c", 9)
    assert TABLE["a"]["b"]["c"] == 1
    assert changed == {**TABLE, "a": {"b": {"c": 9, "d": 2}}}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a.b.c.e", "'a.b.c.e' cannot be set: there is no table above 'e'"),
        ("servo.tol.axes", "no entry .in 'servo.tol.axes'. named 'tol'; did you mean 'tool'"),
        ("servo.3.axes", "no entry .in 'servo.3.axes'. named '3'"),
        ("servo.-1.axes", "no entry .in 'servo.-1.axes'. named '-1'"),
        ("list.x", "no entry .in 'list.x'. named 'x'"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path, message):
    with pytest.raises(InputError, match=message):
        set_path(TABLE, path, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("5.5", 5.5),
        ("true", True),
        ('"5"', "5"),
        ("[1, 2]", [1, 2]),
        ("{a = 1}", {"a": 1}),
        ("30*deg", "30*deg"),
        ("servo-pid", "servo-pid"),
        ("", ""),
        ("a = 1", "a = 1"),
        ("[" * 100_000, "[" * 100_000),
        ("9" * 10_000, "9" * 10_000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_on_the_command_line_is_toml_or_else_text(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


# Cards


def test_keys_beside_use_override_the_card_table_by_table():
    base = {"kind": "servo", "feedback": {"kind": "baumgarte", "alpha": 1.0, "beta": 2.0}, "x": 1}
    assert merged(base, {"feedback": {"alpha": 5.0}, "x": 2}) == {
        "kind": "servo",
        "feedback": {"kind": "baumgarte", "alpha": 5.0, "beta": 2.0},
        "x": 2,
    }


def test_a_table_of_another_kind_replaces_the_card_s():
    base = {"feedback": {"kind": "baumgarte", "alpha": 1.0, "beta": 2.0}}
    override = {"feedback": {"kind": "first_order", "kappa": 3.0}}
    assert merged(base, override) == override


def test_a_card_may_use_another_and_keeps_its_own_name(workspace):
    card(workspace, "soft", 'use = "my-controller"\ntitle = "Soft"\nfeedback.alpha = 3.0\n')
    card(workspace, "softer", 'use = "soft"\nfeedback.beta = 1.0\n')
    path = workspace / "scenarios" / "my-scenario.toml"
    found = resolve_card({"use": "softer", "feedback": {"beta": 2.0}}, path, "x")
    assert found["title"] == "Soft"
    assert found["name"] == "softer"
    assert found["feedback"] == {"kind": "baumgarte", "alpha": 3.0, "beta": 2.0}


def test_a_name_in_the_card_goes_before_the_file_s(workspace):
    card(workspace, "a", 'use = "my-controller"\nname = "chosen"\n')
    path = workspace / "scenarios" / "my-scenario.toml"
    assert resolve_card({"use": "a"}, path, "x")["name"] == "chosen"


def test_cards_in_a_circle_are_refused(workspace):
    card(workspace, "a", 'use = "b"')
    card(workspace, "b", 'use = "c"')
    card(workspace, "c", 'use = "a"')
    path = workspace / "scenarios" / "my-scenario.toml"
    with pytest.raises(InputError, match="in a circle: a -> b -> c -> a"):
        resolve_card({"use": "a"}, path, "x")


def test_a_chain_of_cards_without_end_is_refused(workspace):
    for k in range(40):
        card(workspace, f"c{k}", f'use = "c{k + 1}"')
    path = workspace / "scenarios" / "my-scenario.toml"
    with pytest.raises(
        InputError, match=r"x: controller\.use: cards use each other more than 8 deep"
    ):
        resolve_card({"use": "c0"}, path, "x")


def test_another_card_replaces_what_overrode_the_old_one():
    file = Scenario.load("scara-helix-baumgarte")
    assert (file.controller.feedback.alpha, file.controller.name) == (0.5, "servo-baumgarte")
    changes = {"controller.use": "servo-pid", "controller.feedback.ki": 10.0}
    other = Scenario.load("scara-helix-baumgarte", changes)
    assert other.controller.name == "servo-pid"
    assert other.controller.feedback.ki == 10.0
    assert other.controller.feedback.kp == 300.0
    assert file.replace(changes) == other


def test_changes_in_a_file_and_in_python_speak_one_language():
    changes = {"controller.feedback.alpha": 5.0, "timing.control": "2*ms", "servo.tool.axes": "xyz"}
    loaded = Scenario.load("scara-helix", changes)
    assert loaded == Scenario.load("scara-helix").replace(changes)
    assert loaded.controller.feedback.alpha == 5.0
    assert loaded.timing.control == 0.002


def test_a_card_names_files_relative_to_itself(workspace):
    rows = "t,a,b\n0,0.1,0.2\n1,0.3,0.4\n2,0.5,0.6\n"
    (workspace / "controllers" / "motion.csv").write_text(rows, encoding="utf-8")
    text = 'kind = "computed_torque"\nkp = 1.0\nkd = 1.0\npath = { kind = "table", file = "{}" }\n'
    path = workspace / "scenarios" / "my-scenario.toml"
    for name, file in {"near": "motion.csv", "up": "../controllers/motion.csv"}.items():
        card(workspace, name, text.replace("{}", file))
        law = Scenario.load(path, {"controller": {"use": name}}).controller
        assert law.path.file.samefile(workspace / "controllers" / "motion.csv")


# Python code


def test_code_runs_only_when_it_is_trusted(workspace):
    law = workspace / "law.py"
    law.write_text(
        "from ukctrl import Controller\nclass Law(Controller):\n    def start(self, task): ...\n"
    )
    path, table = workspace / "scenario.toml", {"kind": "./law.py:Law", "name": "mine"}
    with pytest.raises(InputError, match=r"x: controller\.kind: .* --trust"):
        load_code(table, path, "x", trust=False)
    found = load_code(table, path, "x", trust=True)
    assert isinstance(found, Controller)
    assert (type(found).__name__, found.name) == ("Law", "mine")


def test_two_files_of_one_name_are_two_modules(workspace):
    for folder, base in (("a", "Servo"), ("b", "PdGravity")):
        (workspace / folder).mkdir()
        (workspace / folder / "law.py").write_text(
            f"from ukctrl.control import {base}\nclass Law({base}): pass\n"
        )
    gains = {"kp": 1.0, "kd": 1.0}
    a = load_code(
        {"kind": "./law.py:Law", "feedback": {"kind": "exact"}}, workspace / "a" / "x", "x", True
    )
    b = load_code({"kind": "./law.py:Law", **gains}, workspace / "b" / "x", "x", True)
    assert type(a).__mro__[1].__name__ == "Servo"
    assert type(b).__mro__[1].__name__ == "PdGravity"


# From scenarios back to tables


@pytest.mark.parametrize("name", ["scara-helix", "scara-helix-drift", "scara-helix-baumgarte"])
def test_a_scenario_survives_its_own_text(name):
    scenario = Scenario.load(name)
    text = scenario.to_toml()
    assert Scenario.from_toml(text) == scenario
    assert Scenario.from_toml(text).to_toml() == text


def test_the_table_of_a_scenario_is_what_its_text_says():
    scenario = Scenario.load("scara-helix", {"believed.mass_scale": 1.1, "seed": 3})
    assert tomllib.loads(scenario.to_toml()) == scenario.to_table()


def test_a_robot_beside_the_file_becomes_absolute_and_one_of_the_catalogue_stays_a_name(workspace):
    path = workspace / "scenarios" / "my-scenario.toml"
    own = workspace / "robots" / "my-arm" / "robot.toml"
    mine = Scenario.load(path, {"believed": {"robot": "my-arm"}})
    assert mine.robot == mine.believed.robot == str(own)
    assert Scenario.load(path, {"robot": "../robots/my-arm/my-arm.urdf"}).robot == str(
        own.with_name("my-arm.urdf")
    )
    assert Scenario.load("scara-helix").robot == "scara"


def test_a_scenario_with_a_robot_made_in_python_can_be_changed():
    robot = dc.replace(Robot.load("scara"), name="twin")
    scenario = Scenario.load("scara-helix").replace({"robot": robot})
    changed = scenario.replace({"timing.duration": 1.0})
    assert changed.robot is robot
    assert changed.timing.duration == 1.0


def test_a_scenario_takes_the_name_of_its_file_unless_it_has_its_own(workspace):
    path = workspace / "scenarios" / "my-scenario.toml"
    assert Scenario.load(path).name == "my-scenario"
    path.write_text(f'name = "own"\n{path.read_text(encoding="utf-8")}', encoding="utf-8")
    assert Scenario.load(path).name == "own"


def test_text_is_read_relative_to_a_base(workspace):
    text = (workspace / "scenarios" / "my-scenario.toml").read_text(encoding="utf-8")
    found = Scenario.from_toml(text, base=workspace / "scenarios")
    assert found.robot == str(workspace / "robots" / "my-arm" / "robot.toml")
    with pytest.raises(UnknownName, match="no robot named 'my-arm'"):
        Scenario.from_toml(text.replace("my-controller", "servo-pid"))


def moon(scenario):
    return Loop(scenario).robot.gravity


def test_a_scenario_changes_what_its_robots_file_says():
    changed = Scenario.load("scara-helix", {"robot": {"use": "scara", "gravity": [0, 0, -1.62]}})
    np.testing.assert_array_equal(moon(changed), [0.0, 0.0, -1.62])


def test_a_path_reaches_into_a_robot_that_is_only_named():
    changed = Scenario.load("scara-helix", {"robot.gravity": [0, 0, -1.62]})
    np.testing.assert_array_equal(moon(changed), [0.0, 0.0, -1.62])
    again = Scenario.from_toml(changed.to_toml())
    assert again.robot == {"use": "scara", "gravity": [0, 0, -1.62]}


def test_a_path_into_the_believed_robot_starts_from_the_true_one():
    loop = Loop(Scenario.load("scara-helix", {"believed.robot.gravity": [0, 0, -1.62]}))
    np.testing.assert_array_equal(loop.believed_model.robot.gravity, [0.0, 0.0, -1.62])
    np.testing.assert_array_equal(loop.robot.gravity, [0.0, 0.0, -9.81])


def test_a_model_file_takes_the_options_of_a_robot_file(workspace):
    urdf = next((workspace / "robots").rglob("*.urdf"))
    assert Robot.load(urdf, override={"gravity": (0, 0, 1)}).gravity[2] == 1.0


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"use": "scara", "gravty": 1}, "did you mean 'gravity'"),
        ({"use": "scar"}, "did you mean 'scara'"),
        (3, "must be the name of a robot, or a table that names one"),
        ({"use": 3}, "must be the name of a robot, or a table that names one"),
        ({"gravity": [0, 0, 0]}, "must be the name of a robot, or a table that names one"),
    ],
)
def test_a_robot_table_that_makes_no_sense_is_refused(value, complaint):
    with pytest.raises(InputError, match=complaint):
        Loop(Scenario.load("scara-helix", {"robot": value}))
