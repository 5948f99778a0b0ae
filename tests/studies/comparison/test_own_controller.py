"""The own controller in a comparison, what entries drop of it, and kinds by ``--set``."""

import json
import re

import pytest

from ukctrl import Scenario, check, compare
from ukctrl.cli import main
from ukctrl.core.errors import InputError
from ukctrl.core.files.table_paths import set_path
from ukctrl.studies.comparison.entry import DEFAULT_CARDS, Entry, default_controllers

DAMPED = {"kind": "damping", "gain": 2.0}
SHORT = {"timing.duration": 0.1}


def squeezed(**changes):
    """Six motors for three freedoms: the scenario sets a null space."""
    own = {"controller.allocation.null_space": DAMPED, "controller.feedback.alpha": 31.0}
    return Scenario.load("coordinated-arms", {**SHORT, **own, **changes})


def test_own_is_the_controller_as_written():
    scenario = squeezed()
    variant = Entry.parse("own").apply(scenario)
    assert variant == scenario
    found = compare(scenario, ["own", "servo-baumgarte"])
    assert list(found.results) == ["own", "servo-baumgarte"]
    assert found.results["own"].scenario["controller"] == scenario.to_table()["controller"]


def test_own_takes_changes_as_a_card_does():
    variant = Entry.parse("soft=own{controller.feedback.alpha=5}").apply(squeezed())
    assert variant.controller.feedback.alpha == 5.0
    assert variant.controller.allocation.null_space.gain == 2.0


@pytest.mark.slow
def test_what_an_entry_drops_is_told_entry_by_entry():
    found = compare(squeezed(), ["own", "servo-baumgarte", "servo-pid", "computed-torque"])
    told = {v.text.split("'")[1]: v.text for v in found.verdicts if v.subject == "own settings"}
    assert set(told) == {"servo-baumgarte", "servo-pid", "computed-torque"}
    for text in told.values():
        assert 'controller.allocation.null_space = { kind = "damping", gain = 2.0' in text
    assert "controller.feedback.alpha = 31.0" in told["servo-baumgarte"]
    assert "alpha" not in told["servo-pid"]  # its feedback is what makes it another entry


def test_what_no_entry_drops_is_not_told():
    found = compare(Scenario.load("scara-helix", SHORT), ["own", "pd-gravity"])
    assert not [verdict for verdict in found.verdicts if verdict.subject == "own settings"]


@pytest.mark.slow
def test_what_an_entry_has_beyond_the_scenario_is_not_dropped():
    own = Scenario.load("scara-helix", {**SHORT, "controller": {"use": "servo-baumgarte"}})
    found = compare(own, ["own", "servo-momentum-observer"])
    told = [verdict.text for verdict in found.verdicts if verdict.subject == "own settings"]
    assert not any("disturbance" in text or "learned" in text for text in told)


@pytest.mark.slow(only=["coordinated-arms"])
@pytest.mark.parametrize("name", ["scara-helix", "two-mass-spring-far-solved", "coordinated-arms"])
def test_without_controllers_own_is_compared_with_cards_that_suit(name):
    scenario = Scenario.load(name)
    own, *cards = default_controllers(scenario)
    assert own == "own"
    assert set(cards) <= set(DEFAULT_CARDS)
    for card in cards:
        assert check(scenario.replace({"controller": {"use": card}, **SHORT})).start.inputs


@pytest.mark.slow
def test_the_page_and_the_terminal_tell_what_was_dropped(tmp_path, capsys):
    null_space = "controller.allocation.null_space={kind='damping', gain=2.0}"
    with pytest.raises(SystemExit) as ended:
        main(("compare", "coordinated-arms", "--set", "timing.duration=0.05", "--set", null_space,
              "--out", str(tmp_path)))  # fmt: skip
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "own" in out.splitlines()[1]
    # the terminal says where to read on, and the page what
    assert re.search(r"report\.html, with \d notes?$", out.splitlines()[-1])
    assert "does not take over" in (tmp_path / "report.html").read_text(encoding="utf-8")
    data = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))
    assert "own settings" in [verdict["subject"] for verdict in data["verdicts"]]


def test_a_scenario_without_a_task_is_compared_with_no_card():
    assert default_controllers(Scenario.load("projectile")) == ["own"]
    with pytest.raises(InputError, match=r"^compare needs at least one controller; got none\.$"):
        compare(Scenario.load("projectile"), [])


def test_another_kind_replaces_the_table_it_stands_in():
    table = {"allocation": {"kind": "least_norm", "metric": "effort"}}
    assert set_path(table, "allocation.kind", "chen") == {"allocation": {"kind": "chen"}}
    same = set_path(table, "allocation.kind", "least_norm")
    assert same == table


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"controller.allocation.kind": "chen"}, "chen"),
        ({"controller.allocation.kind": "damped", "controller.allocation.damping": 0.1}, "damped"),
        ({"controller.allocation.damping": 0.1, "controller.allocation.kind": "damped"}, "damped"),
    ],
)
def test_setting_a_kind_leaves_nothing_of_the_old_one_whatever_the_order(changes, kind):
    scenario = Scenario.load("scara-helix", changes)
    assert scenario.controller.allocation.kind == kind
    assert getattr(scenario.controller.allocation, "damping", 0.1) == 0.1


def test_setting_the_kind_of_a_feedback_and_of_a_path_works_too():
    gains = {"controller.feedback.kind": "pid", "controller.feedback.kp": 9.0}
    gains |= {"controller.feedback.ki": 1.0, "controller.feedback.kd": 6.0}
    assert Scenario.load("scara-helix", gains).controller.feedback.kind == "pid"
    circle = {"servo.0.path.kind": "constant", "servo.0.path.value": [0.0, 0.4, 0.0]}
    assert Scenario.load("scara-helix", circle).servo[0].path.kind == "constant"
