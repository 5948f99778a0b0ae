"""From what stands on the command line to terms, ranges, fronts, cards and folders."""

from __future__ import annotations

import dataclasses as dc
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ukctrl.cli import compare as comparing
from ukctrl.cli.arguments import (
    is_robot,
    make_folder,
    output_folder,
    parse_mismatch,
    parse_ranges,
    parse_terms,
    prefix_errors,
    resolve_card,
)
from ukctrl.cli.check import is_user_part
from ukctrl.cli.main import main
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.files.table_paths import parse_settings
from ukctrl.studies.comparison import Front
from ukctrl.studies.sweep import Factor
from ukctrl.studies.tuning import Plants, read_range

MASSES = "two-mass-spring"
ALPHA = "controller.feedback.alpha"


@pytest.fixture(name="here")
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Values


def test_values_are_set_by_key_and_text():
    given = ["a.b=1", " c = 'x=y' ", "d=[1, 2]", "a.b=2.5"]
    assert parse_settings("--set", given) == {"a.b": 2.5, "c": "x=y", "d": [1, 2]}
    assert parse_settings("--set", []) == {}


@pytest.mark.parametrize("text", ["a", "=1", "  =1", ""])
def test_what_is_no_key_and_value_is_refused(text):
    with pytest.raises(InputError) as refused:
        parse_settings("--motion", [text])
    assert str(refused.value) == f"--motion must be KEY=VALUE; got '{text}'."


def test_a_range_is_given_once_for_each_gain():
    texts = [f"{ALPHA}=2:3", "bandwidth=uniform:1:9"]
    wanted = {text.partition("=")[0]: read_range(text)[1] for text in texts}
    assert parse_ranges(["gains", *texts]) == wanted
    assert parse_ranges(None) == parse_ranges(["gains", "gains"]) == {}
    with pytest.raises(InputError) as refused:
        parse_ranges([texts[0], f"{ALPHA}=4:5"])
    assert str(refused.value) == f"--over gives '{ALPHA}' two ranges."


def test_terms_that_contradict_each_other_are_refused_by_the_name_of_their_option():
    assert parse_terms({"bandwidth": 9.0, "damping": 0.7}, "--") == ErrorSpec(
        bandwidth=9.0, damping=0.7
    )
    for option in ("--", "--equal "):
        with pytest.raises(InputError) as refused:
            parse_terms({"bandwidth": -1.0}, option)
        assert str(refused.value).startswith(f"{option}bandwidth")
        assert "Terms" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("bandwidth=100", ErrorSpec(bandwidth=100.0)),
        (" settling = 0.1 , damping=0.7", ErrorSpec(settling=0.1, damping=0.7)),
        ("rejection=1e-4", ErrorSpec(rejection=1e-4)),
    ],
)
def test_equal_terms_are_read(text, terms):
    assert comparing._parse_terms(text) == terms


@pytest.mark.parametrize("text", ["100", "speed=3", "bandwidth", "bandwidth=1,speed=2", ""])
def test_what_is_no_equal_term_is_refused(text):
    with pytest.raises(InputError) as refused:
        comparing._parse_terms(text)
    assert str(refused.value) == (
        "--equal must be one of bandwidth=, settling= and rejection=, with damping= where it is "
        f"not 1; got '{text}'."
    )


def test_levels_of_a_mismatch_are_fractions_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("measured").mkdir()
    assert parse_mismatch(None) == []
    assert parse_mismatch("0, 0.1,0.25") == [0.0, 0.1, 0.25]
    assert parse_mismatch("0.1, measured") == [0.1, "measured"]
    for text in ("0,a", "", "0.1;0.2", "measure"):
        with pytest.raises(InputError) as refused:
            parse_mismatch(text)
        assert str(refused.value) == (
            "--mismatch must be fractions such as 0,0.1,0.2, or the folder of an identified robot; "
            f"got '{text}'."
        )


def test_a_front_is_asked_for_by_two_metrics():
    assert comparing._parse_front(None, ["gains"], None) is None
    assert comparing._parse_front("rms_phi, effort", None, None) == Front(
        metrics=("rms_phi", "effort")
    )
    over = ["bandwidth=1:9"]
    found = comparing._parse_front("rms_phi,effort", over, 5)
    assert found == Front(metrics=("rms_phi", "effort"), over=parse_ranges(over), points=5)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((None, None, 5), "--points is about a front; give --front METRIC,METRIC with it."),
        (("effort", None, None), "--front must be two metrics, such as rms_phi,input_travel; got "
                                 "'effort'."),
        (("a,b,c", None, None), "--front must be two metrics, such as rms_phi,input_travel; got "
                                "'a,b,c'."),
        (("rms_phi,effort", ["gains"], None), "--over gains is about tuning; a front is over "
                                              "bandwidth and damping."),
    ],
)  # fmt: skip
def test_what_is_no_front_is_refused(given, told):
    with pytest.raises(InputError) as refused:
        comparing._parse_front(*given)
    assert str(refused.value) == told


NOTHING = dict.fromkeys(("cost", "over", "searches", "subject-to", "ensemble"))


def test_candidates_of_a_comparison_are_tuned_on_plants_as_those_they_are_judged_on():
    factors = (Factor.parse("plant.mass=1,2"),)

    def plants(count, *given):
        return comparing._parse_budget(9, *given, NOTHING | {"ensemble": count}).plants

    assert plants(None, [0.1], factors) == Plants()
    assert plants(4, [], ()) == Plants(count=4)
    assert plants(4, [0.0, 0.2, 0.1], factors) == Plants(count=4, mismatch=0.2, vary=factors)
    assert plants(4, [0.2, "measured", 0.1], ()) == Plants(count=4, mismatch="measured")


@pytest.mark.parametrize("value", [["x"], 0])
@pytest.mark.parametrize("name", NOTHING)
def test_what_is_about_tuning_asks_for_a_budget(name, value):
    assert comparing._parse_budget(None, [], (), NOTHING) is None
    with pytest.raises(InputError) as refused:
        comparing._parse_budget(None, [], (), NOTHING | {name: value})
    assert str(refused.value) == f"--{name} is about tuning; give --tune BUDGET with it."


def test_a_budget_has_its_defaults_and_what_is_given():
    plain = comparing._parse_budget(7, [], (), NOTHING)
    assert (plain.simulations, plain.cost, plain.searches) == (7, "rms_phi", 1)
    assert (plain.subject_to, plain.over, plain.in_terms) == ((), {}, True)
    given: dict[str, Any] = {"cost": "effort", "over": ["gains"], "searches": 2, "ensemble": 3,
                             "subject-to": ["peak_u <= 4"]}  # fmt: skip
    full = comparing._parse_budget(9, [], (), given)
    assert (full.cost, full.searches, full.subject_to) == ("effort", 2, ("peak_u <= 4",))
    assert (full.in_terms, full.plants, full.over) == (False, Plants(count=3), {})


# What a name means


def test_a_part_is_code_or_a_card(here):
    Path("card.toml").write_text('kind = "servo"\n', encoding="utf-8")
    Path("arm.toml").write_text('robot = "scara"\n[[servo]]\nkind = "x"\n', encoding="utf-8")
    Path("robot.toml").write_text('model = "arm.urdf"\n', encoding="utf-8")
    named = {"law.py": True, "card.toml": True, "arm.toml": False, "robot.toml": False,
             "none.toml": False, "scara-helix": False, "card": False}  # fmt: skip
    assert {name: is_user_part(name) for name in named} == named


def test_a_robot_is_told_from_a_scenario(here):
    Path("arm.toml").write_text('robot = "scara"\n', encoding="utf-8")
    Path("plant.toml").write_text('model = "arm.urdf"\n', encoding="utf-8")
    Path("card.toml").write_text('kind = "servo"\n', encoding="utf-8")
    Path("made").mkdir()
    Path("made/robot.toml").write_text('model = "arm.urdf"\n', encoding="utf-8")
    named = {"plant.toml": True, "arm.toml": False, "card.toml": False, "none.toml": False,
             "arm.urdf": True, "arm.xml": True, "./made": True, "./none": False, "panda": True,
             MASSES: False, "nothing": False}  # fmt: skip
    assert {name: is_robot(name) for name in named} == named


def test_a_card_is_looked_up_in_the_working_folder_by_its_path_and_by_its_name_elsewhere(here):
    Path("mine.toml").write_text('kind = "servo"\n', encoding="utf-8")
    assert resolve_card("mine.toml", MASSES) == str(here / "mine.toml")
    assert resolve_card("servo-pid", MASSES) == "servo-pid"
    assert resolve_card("no-such-card", MASSES) == "no-such-card"  # who loads it says so
    Path("controllers").mkdir()
    Path("controllers/own-law.toml").write_text('kind = "servo"\n', encoding="utf-8")
    found = Path(resolve_card("own-law", MASSES))
    assert (found.name, found.is_file()) == ("own-law.toml", True)
    with pytest.raises((InputError, UnknownName)):
        resolve_card("other.toml", MASSES)


def test_messages_begin_with_the_name_of_the_scenario():
    for told in ("scenario: seed: no.", "seed: no."):
        with pytest.raises(InputError) as refused, prefix_errors("arm"):
            raise InputError(told)
        assert str(refused.value) == "arm: seed: no."
    with pytest.raises(ValueError, match="^a fault$"), prefix_errors("arm"):
        raise ValueError("a fault")


# Folders


def test_a_folder_that_was_made_for_nothing_is_taken_away_again(here):
    Path("old").mkdir()
    with pytest.raises(InputError), output_folder(Path("old/new/inner"), "x") as folder:  # noqa: PT012
        (folder / "empty").touch()
        (folder / "below").mkdir()
        raise InputError("refused.")
    assert os.listdir("old") == []
    with output_folder(Path("old/new/inner"), "x") as folder:
        (folder / "below").mkdir()
        (folder / "below/result").write_text("x", encoding="utf-8")
        (folder / "empty").touch()
    assert sorted(os.listdir("old/new/inner")) == ["below", "empty"]
    with output_folder(Path("old/new/other"), "x") as folder:
        folder.touch()
    assert os.listdir("old/new") == ["inner"]
    with output_folder(Path("old"), "x") as folder:  # which was there before
        (folder / "empty").touch()
    assert sorted(os.listdir("old")) == ["empty", "new"]


def test_a_folder_that_cannot_be_is_refused(here):
    Path("file").touch()
    for path, told in (
        ("file", "--out must be a folder; 'file' is a file."),
        ("file/below", "--out 'file/below' cannot be made: Not a directory."),
        ("a\0b", "--out 'a\0b' cannot be made: embedded null byte."),
    ):
        with pytest.raises(InputError) as refused:
            make_folder(Path(path))
        assert str(refused.value) == told
    assert make_folder(Path("a/b/c")).is_dir()


@pytest.mark.parametrize("may_write", [True, False])
def test_a_folder_must_be_one_to_write_to(may_write, here, monkeypatch):
    asked = []
    monkeypatch.setattr("os.access", lambda path, how: asked.append((path, how)) or may_write)
    path = Path("there")
    if may_write:
        assert make_folder(path) == path
    else:
        with pytest.raises(InputError) as refused:
            make_folder(path)
        assert str(refused.value) == "--out 'there' must be a folder that you may write to."
    assert asked == [(path, os.W_OK | os.X_OK)]


# The command `check`


@dc.dataclass(frozen=True)
class Checked:
    ok: bool

    def to_dict(self):
        return {"ok": self.ok}


@pytest.fixture(name="checked")
def _checked(here, monkeypatch, capsys):
    """Run `check` on answers made by hand: give its code, what it says, and what was asked."""
    asked = {}

    def keep(name, answer):
        return lambda *given: asked.__setitem__(name, given) or answer

    def run(*arguments, ok=True):
        asked.clear()
        monkeypatch.setattr("ukctrl.analysis.check.check", keep("check", Checked(ok)))
        monkeypatch.setattr("ukctrl.analysis.check.check_report.write_check", keep("page", None))
        monkeypatch.setattr("ukctrl.cli.check.check_lines", keep("lines", [["checked"]]))
        with pytest.raises(SystemExit) as ended:
            main(["check", *arguments])
        return ended.value.code, capsys.readouterr(), dict(asked)

    return run


@pytest.mark.parametrize("ok", [True, False])
def test_how_a_check_ends(ok, checked):
    code, said, asked = checked(MASSES, "--set", "timing.duration=0.25", ok=ok)
    assert (code, said.out, said.err) == (0 if ok else 1, "checked\n", "")
    assert asked["check"][0].timing.duration == 0.25
    assert asked["lines"] == (Checked(ok), None, False)
    assert sorted(asked) == ["check", "lines"]


def test_a_check_writes_a_page_where_it_is_asked_for(checked):
    code, said, asked = checked(MASSES, "--out", "there", "--json", "--all")
    assert code == 0
    assert json.loads(said.out) == {"ok": True}
    assert asked["page"] == (Checked(True), Path("there"))
    assert Path("there").is_dir()
    _, said, asked = checked(MASSES, "--out", "there", "-a")
    assert asked["lines"] == (Checked(True), Path("there"), True)
    code, said, asked = checked(MASSES, "--quiet")
    assert (code, said.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([MASSES, "--on", "scara-helix"],
         "--on goes with a .py file or a controller card; got a scenario."),
        (["panda", "--set", "a=1"], "--set goes with a scenario; 'panda' is a robot."),
        (["panda", "--controller", "a"], "--controller goes with a scenario; 'panda' is a robot."),
        (["law.py", "--controller", "a"],
         "--controller goes with a scenario; use --on SCENARIO for a part."),
        (["law.py", "--out", "a"], "--out goes with a scenario; a part has no motion to draw."),
        (["law.py"], "no file 'law.py'."),
    ],
)  # fmt: skip
def test_options_of_a_check_that_do_not_fit_are_refused(arguments, told, checked):
    code, said, asked = checked(*arguments)
    assert (code, said.out, said.err) == (2, "", f"ukctrl: {told}\n")
    assert asked == {}


def test_the_check_of_a_robot_is_told_for_people_and_programs(here, monkeypatch, capsys):
    asked = []
    looked = Checked(True)
    monkeypatch.setattr(
        "ukctrl.analysis.check.robot_check.check_robot",
        lambda name, trust, robot: asked.append((name, trust)) or looked,
    )
    monkeypatch.setattr("ukctrl.cli.check.robot_lines", lambda found, folder: [[f"of {found.ok}"]])
    for options, printed in (
        ([], "of True\n"), (["--json", "--trust"], json.dumps(looked.to_dict(), indent=2) + "\n"),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["check", "panda", *options])
        assert ended.value.code == 0
        assert capsys.readouterr().out == printed
    assert asked == [("panda", False), ("panda", True)]
