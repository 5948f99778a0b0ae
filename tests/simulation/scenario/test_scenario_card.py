"""A scenario in a notebook: what it says, without what is left at its default."""

from __future__ import annotations

import html
import re

from ukctrl import Robot, Scenario


def rows(scenario):
    """Return the rows of the card, by key."""
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', scenario._repr_html_())[1])
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", page, re.DOTALL)
    texts = [html.unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in cells]
    return page, texts


def test_it_shows_what_it_says_and_nothing_that_is_usual():
    scenario = Scenario.load("scara-helix-baumgarte", {"timing.control": 0.002})
    page, texts = rows(scenario)
    assert scenario.title in page
    for key, value in (
        ("robot", "scara"),
        ("timing.control", "0.002"),
        ("controller.feedback.alpha", repr(scenario.controller.feedback.alpha)),
        ("controller.feedback.kind", "baumgarte"),
    ):
        assert key in texts
        assert value in texts[texts.index(key) :]
    for usual in ("seed", "monitor.max_passive_phi", "integrator.method", "keep"):
        assert usual not in texts


def test_what_was_made_in_python_is_named_and_escaped():
    scenario = Scenario(
        title="<b>x</b>",
        robot=Robot.load("scara"),
        timing={"duration": 1.0},
        controller=lambda t, q, v: -v,
    )
    page, texts = rows(scenario)
    assert "<b>x</b>" not in page
    assert "scara" in texts
    assert any(text.startswith("function (made in Python, ") for text in texts)
