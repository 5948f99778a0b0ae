"""What results and robots show below a notebook's cell."""

from __future__ import annotations

import dataclasses as dc
import html
import re

import numpy as np
import pytest

from ukctrl import Comparison, Robot, Scenario, check, simulate
from ukctrl.core.errors import UnknownName
from ukctrl.reports import notebook

LARGEST = 1_100_000
"""A card holds the renderer, of 0.6 MB, and the motion [characters]."""


@pytest.fixture(scope="module")
def scenario():
    return Scenario.load("scara-helix", {"timing.duration": 0.5})


@pytest.fixture(scope="module")
def result(scenario):
    return simulate(scenario)


def inside(card):
    """Return the page of a card's frame."""
    found = re.fullmatch(r'<iframe sandbox="allow-scripts" srcdoc="([^"]*)".*</iframe>', card, re.S)
    assert found is not None
    return html.unescape(found[1])


@pytest.mark.slow
def test_cards_are_one_frame_that_fetches_nothing(result, scenario):
    made = (result, Robot.load("panda"), check(scenario), Comparison.of({"own": result}))
    for shown in made:
        card = shown._repr_html_()
        assert len(card) < LARGEST
        page = inside(card)
        assert "default-src &#39;none&#39;; " in page
        assert not re.search(
            r'(?:src|href)="(?!#)', re.sub(r"<script>.*?</script>", "", page, flags=re.S)
        )
        assert ("scene-block" in page) == (type(shown).__name__ != "Check")


@pytest.mark.slow
def test_names_of_strangers_are_escaped(result):
    bad = '"><script>alert(1)</script>'
    card = dc.replace(result, scenario={**result.scenario, "title": bad})._repr_html_()
    assert "<script>alert" not in card
    assert "<script>alert" not in inside(card)


def test_what_cannot_be_drawn_is_left_out(result):
    page = inside(dc.replace(result, scenario={"title": "gone", "robot": "nowhere"})._repr_html_())
    assert "gone" in page
    empty = notebook.card("x", "y", figure=lambda: 1 / 0, scene=lambda: [][0])
    assert "scene-block" not in inside(empty)


def test_any_quantity_is_drawn_with_names_and_units(result):
    figure = result.plot("u")
    assert [axes.get_ylabel() for axes in figure.axes] == ["u [N·m]", "u [N]"]
    names = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert names == ["u1", "u2", "u3", "u4"]
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_ydata(), result["u"][:, 3])
    assert result.plot("frame_position").axes
    assert result.plot("errors").axes


def test_what_is_no_quantity_is_told_with_what_was_meant(result):
    with pytest.raises(
        UnknownName, match="no quantity or figure named 'eror'; did you mean 'errors'"
    ):
        result.plot("eror")
    with pytest.raises(UnknownName, match="in this result named 'reaction'"):
        result.plot("reaction")


def test_outside_notebooks_a_page_is_opened(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    robot = Robot.load("two_link")
    view = robot.show([0.3, -0.2])
    expected = robot.look().poses(np.array([[0.3, -0.2]]), np.zeros(1))
    np.testing.assert_array_equal(view.scene.actors[0].poses.position, expected.position)
    assert [address.partition(":")[0] for address in seen] == ["file"]
    assert "scene-block" in next(tmp_path.glob("ukctrl-*.html")).read_text(encoding="utf-8")


def test_a_robot_at_rest_has_no_time_to_play(result):
    resting = inside(Robot.load("scara")._repr_html_())
    assert '<div hidden><div class="controls"' in resting
    assert '<div><div class="controls"' in inside(result._repr_html_())


@pytest.mark.slow
def test_a_card_is_as_high_as_its_figure(result):
    heights = [
        int(re.search(r"height:(\d+)px", notebook.card("A", "", figure=figure))[1])
        for figure in (None, lambda: result.plot("inputs"), lambda: result.plot("errors"))
    ]
    wide = [result.plot(name).get_size_inches() for name in ("inputs", "errors")]
    shares = [high / width for width, high in wide]
    bare, *drawn = heights
    np.testing.assert_allclose(
        np.array(drawn) - bare, notebook.WIDE * np.array(shares) + 20.0, atol=1.0
    )


def test_the_card_of_a_check_has_the_verdict_of_its_page(scenario):
    assert "Nothing stands in the way of a run." in inside(check(scenario)._repr_html_())


def test_the_card_of_a_comparison_says_who_won(result):
    card = inside(Comparison.of({"own": result, "other": result})._repr_html_())
    assert "Smallest error (rms): no difference" in card
