"""What results and robots show below a notebook's cell."""

from __future__ import annotations

import dataclasses as dc
import html
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Comparison, Robot, Scenario, analyze, check, internal_dynamics, simulate
from ukctrl.core.errors import UnknownName
from ukctrl.reports import notebook_card, run_page
from ukctrl.reports.plot import series
from ukctrl.reports.report_table import ReportTable, TableColumn

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


def test_what_is_printed_in_python_is_a_line(result, scenario):
    """Not all that it holds: a check and a comparison hold arrays of every knot and sample."""
    for found in (check(scenario), Comparison.of({"own": result}), analyze(scenario),
                  internal_dynamics(scenario, simulate=False)):  # fmt: skip
        kind, said = type(found).__name__, repr(found)
        assert said.startswith(f"<{kind} of ")
        assert len(said) < 500
    assert repr(Comparison.of({"own": result})) == "<Comparison of 'own' completed>"
    assert repr(check(scenario)).endswith(": ready; 0 problems, 0 warnings>")


@pytest.mark.slow
def test_names_of_strangers_are_escaped(result):
    bad = '"><script>alert(1)</script>'
    card = dc.replace(result, scenario={**result.scenario, "title": bad})._repr_html_()
    assert "<script>alert" not in card
    assert "<script>alert" not in inside(card)


def test_what_cannot_be_drawn_is_left_out(result):
    page = inside(dc.replace(result, scenario={"title": "gone", "robot": "nowhere"})._repr_html_())
    assert "gone" in page
    assert "The robot itself is not shown" in page
    assert "scene-block" not in inside(notebook_card.card("x", "y"))


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


def test_a_card_is_a_frame_with_its_page_and_its_title():
    table = ReportTable.from_rows([TableColumn("head")], [["x <b>"]])
    card = notebook_card.card("A <b>", "leads", table=table)
    assert card.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;')
    assert card.endswith('border-radius:8px">A &lt;b&gt;</iframe>')
    page = inside(card)
    for part in ("<h1>A &lt;b&gt;</h1>", '<p class="lead">leads</p>', "head", "x &lt;b&gt;"):
        assert part in page


@pytest.mark.parametrize(
    ("name", "lead"),
    [
        ("two_link", "2 freedoms, 2 inputs"),
        ("five_bar_relative", "4 freedoms, 0 inputs, 2 passive constraints"),
        ("coordinated_arms_grip", "5 freedoms, 6 inputs, 1 passive constraint"),
    ],
)
def test_the_card_of_a_robot_counts(name, lead):
    robot = Robot.load(name)
    page = inside(robot._repr_html_())
    assert f"<h1>{robot.title or robot.name}</h1>" in page
    assert f'<p class="lead">{lead}</p>' in page


@pytest.mark.slow
def test_the_card_of_a_run_is_its_page(result):
    page = inside(result._repr_html_())
    for image in run_page.page_figures(result):
        assert f'<section id="{image.name}">' in page
    assert "Verdicts" in page


def test_a_quantity_has_a_name_for_every_column_and_a_panel_for_every_unit(result):
    figure = series.quantity(result, "frame_position")
    names = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert names == [f"{frame} {axis}" for frame in result.labels.frames for axis in "xyz"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["frame_position [m]"]
    values = result["frame_position"].reshape(len(result.time), -1)
    for k, line in enumerate(figure.axes[0].lines[: len(names)]):
        np.testing.assert_array_equal(line.get_ydata(), values[:, k])


@pytest.mark.parametrize(
    ("shell", "inside_one"),
    [(None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=1), True)],
)
def test_a_notebook_is_a_shell_with_a_kernel(shell, inside_one, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert notebook_card._in_notebook() is inside_one
    opened = []
    monkeypatch.setattr(notebook_card.SceneView, "open", lambda self: opened.append(self))
    view = notebook_card.show(Robot.load("two_link"))
    assert opened == ([] if inside_one else [view])
    assert view.scene.title == view._title
    monkeypatch.delitem(sys.modules, "IPython")
    assert notebook_card._in_notebook() is False


def test_the_card_of_a_check_has_the_verdict_of_its_page(scenario):
    assert "The check finds no problem." in inside(check(scenario)._repr_html_())


def test_the_card_of_a_comparison_says_who_won(result):
    card = inside(Comparison.of({"own": result, "other": result})._repr_html_())
    # each block by its own metric
    assert re.search(r"Smallest error \(rms\) in '\w+': no difference", html.unescape(card))
