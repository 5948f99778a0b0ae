"""``ukctrl analyze`` from outside."""

import json

import pytest
from command import ended

from ukctrl import Scenario


@pytest.fixture
def ukctrl(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder; return its code and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")

    return lambda *arguments: ended(capfd, *arguments)


@pytest.mark.slow
def test_gains_for_a_settling_time_are_printed_and_written_as_a_card(ukctrl, tmp_path):
    code, out, _ = ukctrl(
        "analyze", "scara-helix", "--settling", "0.5", "--card", "mine.toml", "--json"
    )
    design = json.loads(out)["design"]
    assert code == 0
    assert design["set"][0].startswith("controller.feedback.alpha=23.33")
    written = Scenario.load("scara-helix", {"controller": {"use": str(tmp_path / "mine.toml")}})
    assert written.controller.feedback.beta == design["gains"]["controller.feedback.beta"]


@pytest.mark.slow
def test_the_longest_hold_is_told(ukctrl):
    code, out, _ = ukctrl("analyze", "stretched-arm", "--keep", "0")
    assert code == 0
    assert "longest hold" in out
    assert "analysis.html" in out


def test_at_an_equilibrium_the_law_that_catches_is_looked_at(ukctrl):
    code, out, _ = ukctrl("analyze", "cart-pole-swing-up", "--at", "equilibrium")
    assert code == 0
    assert out.startswith("cart-pole-swing-up: stable: ")


def test_an_unstable_loop_ends_with_one(ukctrl):
    short = ("--set", "timing.control=0.2", "--quiet")
    assert ukctrl("analyze", "scara-helix", *short)[0] == 1


def test_gains_whose_loop_is_unstable_are_told_to_be_of_no_use(ukctrl):
    slow = ("-c", "computed-torque", "--set", "timing.control=0.2", "--json")
    code, out, _ = ukctrl("analyze", "scara-helix", "--settling", "0.1", *slow)
    assert code == 1
    assert "ask for less, or shorten" in json.loads(out)["design"]["notes"][-1]
