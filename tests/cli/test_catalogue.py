"""`ukctrl list`: words that find things, the kinds that they are found by, and the zoo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from command import ended

from ukctrl.cli import catalogue
from ukctrl.cli.catalogue import FAMILY, LAW_FAMILIES, ROBOT_KINDS, catalogue_entries
from ukctrl.control import AnyController
from ukctrl.core.files import catalog


@pytest.fixture
def listed(tmp_path, monkeypatch, capsys):
    """Run `list` in an empty folder; return its code and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")  # a line each, however long its title
    return lambda *arguments: ended(capsys, "list", *arguments)


@pytest.mark.parametrize("kind", catalog.KINDS)
def test_everything_of_the_catalogue_says_in_a_line_what_it_is_and_is_of_a_kind(kind):
    found = catalogue_entries(kind)
    assert len(found) > 30
    for name, entry in found.items():
        assert 15 <= len(entry.title) <= 110, name
        assert not entry.title.endswith("."), name
        assert entry.kinds, name
    assert len({entry.title for entry in found.values()}) == len(found)


@pytest.mark.slow(only=["arguments4-names4"])
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("robots", "closed", "linkage", "parallelogram"), ["five_bar", "five_bar_relative"]),
        (("robots", "FLOATING", "a1"), ["a1"]),
        (("robots", "rolling"), ["mobile_ur5"]),
        (("controllers", "regulators"), ["lqi", "lqr", "pole-placement"]),
        (("controllers", "servo", "prioritized"), ["servo-prioritized"]),
        (("scenarios", "crane"), ["crane-planar", "crane-spatial"]),
        (("scenarios", "eight", "thrust-vectoring"), ["quadrotor-lemniscate"]),
        (("scenarios", "furuta", "lqr"), ["furuta-swing-up"]),
        (("robots", "no", "such", "robot"), []),
    ],
)  # fmt: skip
def test_every_word_must_occur(listed, arguments, names):
    code, out, _ = listed(*arguments, "--json")
    found = json.loads(out)[arguments[0]]
    assert code == 0
    assert list(found) == names
    assert all(isinstance(title, str) for title in found.values())
    _, out, _ = listed(*arguments)
    assert [line.split()[0] for line in out.splitlines()[1:]] == (list(found) or ["none"])


@pytest.mark.slow
def test_robots_are_loaded_for_what_only_they_can_tell():
    found = catalogue_entries("robots", ["underactuated"])
    assert {"acrobot", "pendubot", "furuta", "cart_pole", "quadrotor", "crane_spatial"} <= set(
        found
    )
    assert not {"scara", "ur5", "panda", "five_bar", "two_pandas"} & set(found)
    assert {"scara", "three_rrr"} <= set(catalogue_entries("robots", ["fully"]))
    assert {"five_bar", "n_four_bar"} <= set(catalogue_entries("robots", ["unactuated"]))


def test_long_shows_the_kinds(listed):
    _, out, _ = listed("controllers", "servo-sliding", "--long")
    assert [line.strip() for line in out.splitlines()[2:]] == ["servo, sliding, least_norm"]
    _, out, _ = listed("controllers", "sliding", "-l", "--json")
    entry = json.loads(out)["controllers"]["servo-sliding"]
    assert entry["kinds"] == ["servo", "sliding", "least_norm"]
    assert "sliding surface" in entry["title"]


def test_parts_are_found_by_words_too(listed):
    _, out, _ = listed("parts", "friction", "--json")
    assert "friction" in json.loads(out)["effect"]
    assert set(json.loads(out)) < set(json.loads(listed("parts", "--json")[1]))


def test_words_and_kinds_of_robots_are_those_that_are_found():
    kinds = {kind for entry in catalogue_entries("robots").values() for kind in entry.kinds}
    assert kinds <= set(ROBOT_KINDS)
    families = {
        kind for entry in catalogue_entries("controllers").values() for kind in entry.kinds[:1]
    }
    assert families <= {*LAW_FAMILIES}


def test_the_families_of_laws_are_the_packages_that_have_them():
    families = {}
    for law in get_args(get_args(AnyController)[0]):
        top, *inside = law.__module__.removeprefix("ukctrl.").split(".")
        alone = top == "ukctrl_laws" and len(inside) == 1
        families[law.kind] = "special" if alone else inside[0]
    assert families == FAMILY


def test_the_zoo_is_listed_where_it_is_installed_and_else_said_how_to(
    listed, tmp_path, monkeypatch
):
    monkeypatch.setattr("ukctrl.core.files.zoo.root", lambda: None)
    code, out, err = listed("zoo")
    assert (code, out) == (2, "")
    assert err.startswith("ukctrl: there are no robots of the zoo, which is not installed; pip ")
    assert "list zoo" not in listed("robots")[1]
    model = tmp_path / "talos_data" / "robots" / "talos.urdf"
    model.parent.mkdir(parents=True)
    model.write_text(
        '<robot><joint name="a" type="revolute"/><joint name="b" type="fixed"/></robot>'
    )
    monkeypatch.setattr("ukctrl.core.files.zoo.root", lambda: tmp_path)
    assert listed("zoo")[1] == "zoo\n  zoo:talos  1 joint, talos_data\n"
    assert listed("zoo", "panda")[1] == "zoo\n  none\n"
    assert listed("robots")[1].endswith("More robots: ukctrl list zoo\n")


def test_odd_files_of_ones_own_are_listed_with_what_they_have(listed, tmp_path):
    folder = tmp_path / "scenarios"
    folder.mkdir()
    odd = "title = 3\nrobot = [1]\nservo = 5\neffect = [1, {kind = 2}]\n[controller]\nmodes = [7]\n"
    (folder / "odd.toml").write_text(odd, encoding="utf-8")
    (folder / "broken.toml").write_text("robot = ", encoding="utf-8")
    _, out, _ = listed("scenarios", "-l", "--json")
    found = json.loads(out)["scenarios"]
    assert found["odd"] == {"title": "3", "kinds": []}
    assert found["broken"]["title"].startswith("(cannot be read")


@pytest.mark.parametrize("arguments", [(), ("robots", "elastic", "-l"), ("scenarios",)])
def test_lines_fit_into_80_columns_of_a_terminal(listed, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = listed(*arguments)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        ({}, []),
        ({"floating_base": True}, ["floating"]),
        ({"floating_base": 1}, []),
        ({"elastic": {}}, ["elastic"]),
        ({"force": [{"kind": "joint_spring"}]}, ["elastic"]),
        ({"force": [{"kind": "spring"}]}, []),
        ({"passive": [{"kind": "closure"}]}, ["closed loops", "constrained"]),
        ({"passive": [{"kind": "joints"}, 3, {"kind": 4}]}, ["constrained"]),
        ({"passive": [{"kind": 4}]}, []),
        ({"passive": {"kind": "closure"}}, []),
    ],
)
def test_what_kind_of_robot_a_file_describes(table, kinds):
    found = list(catalogue._robot_kinds(table, Path("robot.toml")))
    assert [kind for kind in found if kind not in {"closure", "joints"}] == kinds


def test_what_a_linkage_is_and_what_passive_constraints_it_has():
    found = list(catalogue._robot_kinds({"linkage": {}}, Path("robot.toml")))
    assert found == [catalogue.PLANTS["linkage"], "closed loops", "constrained"]
    for kind in catalogue.ROBOT_KINDS:
        found = list(catalogue._robot_kinds({"passive": [{"kind": kind}]}, Path("x")))
        assert found[-1] == kind


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        ({"robot": "arm", "controller": {"use": "pid"}}, ["arm", "pid"]),
        ({"robot": {"use": "arm"}, "controller": "pid"}, ["arm", "pid"]),
        ({"robot": 3, "controller": {"kind": "servo"}}, ["", "", "servo"]),
        ({"servo": [{"kind": "a"}, {"kind": "b"}], "effect": [{"kind": "c"}]},
         ["", "", "a", "b", "c"]),
        ({"robot": "arm", "controller": {"kind": "switching", "modes": [
            {"law": {"use": "one"}}, {"law": {"kind": "servo"}}, 7]}},
         ["arm", "", "one", "", "switching", "servo"]),
        ({"controller": {"modes": "none"}}, ["", ""]),
    ],
)  # fmt: skip
def test_what_a_scenario_uses(table, kinds):
    assert list(catalogue._scenario_kinds(table, Path("x.toml"))) == kinds


def test_what_a_controller_is_made_of():
    parts = {"feedback": {"kind": "pid"}, "disturbance": {"kind": "low_pass"},
             "allocation": {"kind": "damped"}}  # fmt: skip
    found = list(catalogue._controller_kinds({"kind": "servo", **parts}, Path("x.toml")))
    assert found[1:] == ["servo", "pid", "low_pass", "damped"]
    assert list(catalogue._controller_kinds({"kind": "mine"}, Path("x"))) == ["own", "mine"]
    assert list(catalogue._controller_kinds({"kind": 3}, Path("x"))) == []


@pytest.mark.parametrize(
    ("word", "asks"),
    [("under", True), ("UNDER", True), ("und", False), ("fully", True), ("arm", False),
     ("underactuatedd", False)],
)  # fmt: skip
def test_a_word_of_four_letters_may_ask_how_a_robot_is_actuated(word, asks):
    assert catalogue._asks_actuation(word) is asks
