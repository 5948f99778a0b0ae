"""The page of a check: its verdict in a sentence, what unfolds, its files, and hostile names."""

from __future__ import annotations

import dataclasses as dc
import json
import re

import pytest

from ukctrl import Scenario, check
from ukctrl.analysis.check import check_report
from ukctrl.analysis.check.check_result import Diagnostic, RootCause
from ukctrl.reports.plot import figure_files

ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module", name="weak")
def _weak():
    return check(Scenario.load("scara-weak-motors"))


def test_a_check_writes_a_page_its_figures_and_its_data(weak, tmp_path):
    (tmp_path / "internal.png").touch()  # of an earlier check
    assert check_report.write_check(weak, tmp_path) == tmp_path / "report.html"
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "check.json", "check.png"}
    assert json.loads((tmp_path / "check.json").read_text())["curves"]["t"]
    text = (tmp_path / "report.html").read_text()
    assert "ready, with warnings" in text
    (lead,) = re.findall(r'class="lead">(.*?)</p>', text)
    assert lead.startswith("Motor &#39;u2&#39; needs")
    assert lead.count(". ") == 0  # one sentence
    assert "Slow the motion down" in text
    assert "<details><summary>1 consequence</summary>" in text
    for row in ("tool.x", "u1", "109 %"):
        assert row in text
    assert not re.search(r"(?:href|src)=.(?!#)", text)  # nothing from elsewhere
    with figure_files.figure_formats(["pdf"], "column"):
        check_report.write_check(weak, tmp_path)
    assert (tmp_path / "check.pdf").is_file()
    assert not (tmp_path / "check.png").exists()


def test_a_check_of_which_nothing_is_to_be_said_says_so(weak):
    text = check_report.page_html(dc.replace(weak, causes=(), judgements=()), [])
    assert check_report.READY_TEXT in text
    assert '<span class="badge good">ready</span>' in text


def test_the_page_of_a_check_escapes_what_strangers_wrote(weak):
    causes = (
        RootCause("bad", f"{ATTACK} is lost.", ATTACK, (Diagnostic("bad", "law", ATTACK),)),
        RootCause("note", ATTACK, "", ()),
    )
    rows = tuple(dc.replace(row, name=ATTACK) for row in weak.start.rows)
    hostile = dc.replace(
        weak, scenario=ATTACK, robot=ATTACK, causes=causes, findings=(f"error: {ATTACK}",),
        start=dc.replace(weak.start, rows=rows, inputs={ATTACK: 1.0}),
    )  # fmt: skip
    text = check_report.page_html(hostile, check_report.draw_figures(weak))
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(1)") > 5
