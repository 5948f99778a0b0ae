"""How the controllers of a comparison are written."""

from __future__ import annotations

import pytest

from ukctrl import Scenario
from ukctrl.control import PdGravity
from ukctrl.core.errors import InputError
from ukctrl.studies.comparison import Entry


@pytest.mark.parametrize(
    ("text", "card", "name", "changes"),
    [
        ("servo-pid", "servo-pid", "", {}),
        ("light=servo-pid", "servo-pid", "light", {}),
        ("./cards/my law.toml", "./cards/my law.toml", "", {}),
        (
            "servo-pid{believed.mass_scale=0.8}",
            "servo-pid",
            "servo-pid{believed.mass_scale=0.8}",
            {"believed.mass_scale": 0.8},
        ),
        (
            "x = servo-pid { believed.mass_scale = {q2=0.8, q4=1.2}, controller.title = 'a, b' }",
            "servo-pid",
            "x",
            {"believed.mass_scale": {"q2": 0.8, "q4": 1.2}, "controller.title": "a, b"},
        ),
        (
            "x=servo-pid{believed.com_shift=[0, 0, 5*mm], }",
            "servo-pid",
            "x",
            {"believed.com_shift": "[0, 0, 5*mm]"},
        ),
        ("x=servo-pid{}", "servo-pid", "x", {}),
    ],
)
def test_an_entry_is_a_card_with_a_name_and_changes(text, card, name, changes):
    entry = Entry.parse(text)
    assert (entry.controller, entry.name, dict(entry.changes)) == (card, name, changes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the name of a card is missing"),
        ("=servo-pid", "a name before '=' is missing"),
        ("light=", "the name of a card is missing"),
        ("a{believed.mass_scale=0.8", "the brace '{' is not closed"),
        ("a{believed.mass_scale}", "must have KEY=VALUE in its braces; got 'believed.mass_scale'"),
        ("a{believed.mass_scale=[1, 2}", "']' is missing"),
        ("a{believed.mass_scale=1)}", "')' closes what was not opened"),
        ("a{believed.mass_scale=1, believed.mass_scale=2}", "is given twice"),
        ("a{beleived.mass_scale=1}", "did you mean 'believed'?"),
        ("a{timing.control=0.1}", "changed with --set"),
        ("a{controller=1}", "what is below controller and believed; got 'controller'"),
    ],
)
def test_what_is_written_otherwise_is_refused(text, says):
    with pytest.raises(InputError) as refused:
        Entry.parse(text)
    assert says in str(refused.value)


def test_an_entry_is_applied_to_a_scenario_and_named():
    scenario = Scenario.load("scara-helix")
    entry = Entry.parse("light=servo-pid{believed.mass_scale=0.8, controller.feedback.kd=40}")
    variant = entry.apply(scenario)
    assert variant.believed.mass_scale == 0.8
    assert variant.controller.feedback.kd == 40.0
    assert variant.servo == scenario.servo
    assert entry.called(variant) == "light"
    assert Entry(controller="servo-pid").called(variant) == "servo-pid"
    law = Entry(controller=PdGravity(kp=1.0, kd=1.0), changes={"controller.kp": 5.0})
    assert law.apply(scenario).controller == PdGravity(kp=5.0, kd=1.0)


def test_a_misspelt_gain_is_refused_with_the_near_miss():
    entry = Entry.parse("servo-pid{controller.feedback.kdd=40}")
    with pytest.raises(InputError, match="unknown key; did you mean 'kd'"):
        entry.apply(Scenario.load("scara-helix"))
