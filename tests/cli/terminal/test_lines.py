"""What the terminal shows, line by line, from answers made by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from printed_lines import plain, styles

from ukctrl.cli.terminal.lines import (
    LEVEL_STYLES,
    StyledText,
    hanging_lines,
    print_lines,
    print_notice,
    print_result,
    sanitise,
    table_lines,
    verdict_lines,
    width,
)
from ukctrl.cli.terminal.studies_text import report_lines, study_data
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.core.verdict import Verdict
from ukctrl.reports.report_table import (
    ReportTable,
    TableCell,
    TableColumn,
    csv_text,
    first_columns,
    metric_description,
)
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result
from ukctrl.studies.sweep_analysis import study_page
from ukctrl.studies.sweep_analysis.study_page import RESUME_TEXT

NAN, INF = math.nan, math.inf


@pytest.fixture(name="columns")
def _columns(monkeypatch):
    return lambda count: monkeypatch.setenv("COLUMNS", str(count))


def test_a_line_is_as_wide_as_the_terminal_and_never_too_narrow(columns):
    columns(80)
    assert width() == 80
    columns(10)
    assert width() == 40


def test_a_text_goes_on_below_itself(columns):
    columns(40)
    lines = hanging_lines("label: ", "one two three four five six seven eight", "bold", "dim")
    assert plain(lines) == ["label: one two three four five six seven", "       eight"]
    assert styles(lines)["eight"] == "dim"
    assert plain(hanging_lines("x" * 35, "one two three four five")) == [
        "x" * 35 + "one two three four", " " * 35 + "five",
    ]  # fmt: skip
    assert plain(hanging_lines("a ", "")) == ["a"]
    name = "computed-torque-with-integral"  # names are not broken where they have a hyphen
    assert plain(hanging_lines("", f"one two three {name}")) == ["one two three", name]


def test_control_characters_are_shown_instead_of_obeyed():
    assert sanitise("a\x1b[31m\n  b\u202e") == "a\\x1b[31m b\\u202e"
    assert sanitise(" a\tb ") == "a b"


TABLE = ReportTable.from_rows(
    [TableColumn("metric", "name"), TableColumn("", "unit"), TableColumn("long", series=0),
     TableColumn("b", series=1), TableColumn("c", series=2)],
    [
        [TableCell("rms", note="median"), "m", TableCell("1", "best"),
        TableCell("22", note="3 · 4"),
         TableCell("3", "faint")],
        ["work", "J", "10", TableCell("2", "failed"), "x"],
    ],
)  # fmt: skip


def test_columns_of_a_table_stand_beside_each_other_where_they_fit(columns):
    # The fixed columns take 8 and 3, then 6, 7 and 3.
    wide = [
        "  metric    long      b  c",
        "  rms     m     1*    22  3",
        "  median            3 · 4",
        "  work    J    10      2  x",
    ]
    columns(100)
    lines = table_lines(TABLE)
    assert [line.split() for line in plain(lines)] == [line.split() for line in wide]
    assert {len("".join(part.text for part in line)) for line in lines} == {27}
    found = styles(lines)
    assert (found["1*"], found["3"], found["2"]) == ("bold green", "dim", "red")
    assert (found["metric"], found["rms"], found["J"], found["median"]) == (
        "dim", "cyan", "dim", "dim",
    )  # fmt: skip
    short = table_lines(TABLE, 1)
    assert plain(short)[-1] == "  and 1 more, in the files"
    assert not any("more" in line for line in plain(table_lines(TABLE, 2)))


@pytest.mark.parametrize(("room", "groups"), [(16, 1), (15, 2), (13, 2), (12, 2), (9, 3), (1, 3)])
def test_columns_that_do_not_fit_stand_below(room, groups, monkeypatch):
    monkeypatch.setattr("ukctrl.cli.terminal.lines.width", lambda: 11 + room)
    lines = plain(table_lines(TABLE))
    assert lines.count("") == groups - 1
    assert sum("metric" in line for line in lines) == groups
    asides = sum("median" in line for line in lines)
    assert asides == groups


def test_a_table_without_heads_has_no_line_for_them():
    table = ReportTable.from_rows(
        [TableColumn("", "text"), TableColumn("", "text")], [["a", "bb"], ["ccc", "d"]]
    )
    assert plain(table_lines(table)) == ["  a    bb", "  ccc  d"]
    assert plain(table_lines(first_columns(table, 1))) == ["  a", "  ccc"]


def test_numbers_stand_to_the_right_and_texts_to_the_left():
    table = ReportTable.from_rows(
        [TableColumn("head"), TableColumn("name", "text")], [["1", "x"], ["22", "yyyyy"]]
    )
    assert plain(table_lines(table)) == ["  head  name", "     1  x", "    22  yyyyy"]


def test_verdicts_have_their_subjects_where_there_is_room():
    verdicts = [Verdict("bad", "first", "It is bad."), Verdict("good", "b", "It is good.")]
    assert plain(verdict_lines(verdicts)) == ["problem: It is bad.", "It is good."]
    lines = verdict_lines(verdicts, 8)
    assert plain(lines) == ["  first   problem: It is bad.", "  b       It is good."]
    assert styles(lines)["problem: It is bad."] == "bold red"


@pytest.mark.parametrize(
    ("quiet", "as_json", "printed"),
    [
        (False, False, "line\n"),
        (False, True, '{\n  "a": 1\n}\n'),
        (True, False, ""),
        (True, True, ""),
    ],
)
def test_an_answer_is_for_people_or_for_programs_or_not_given(quiet, as_json, printed, capsys):
    print_result(quiet, as_json, lambda: {"a": 1}, lambda: [["line"]])
    assert capsys.readouterr().out == printed


def test_a_notice_is_one_line_of_the_standard_error(capsys, monkeypatch):
    print_notice("a\nb")
    print_lines([["x  "], [StyledText("y", "bold"), "z"]])
    printed = capsys.readouterr()
    assert (printed.err, printed.out) == ("ukctrl: a b\n", "x\nyz\n")
    monkeypatch.setattr(sys, "stderr", None)
    print_notice("nobody reads")


# Tables for pages and programs


def test_csv_keeps_every_digit_and_leaves_out_what_is_no_number():
    rows = [[0.1 + 0.2, NAN, INF, None, 3, "a,b"], [-INF, 1e-300, True, "", 0.0, '"']]
    assert csv_text(["a", "b"], rows) == (
        'a,b\n0.30000000000000004,,,,3,"a,b"\n,1e-300,True,,0.0,""""\n'
    )


def test_what_a_metric_is():
    assert metric_description("peak_u") == "Largest magnitude of any one input."
    assert metric_description("rms_phi.tool") == metric_description("rms_phi")
    assert "`" not in "".join(map(metric_description, ("rms_beta", "settling_time", "effort")))
    assert metric_description("a + b") == "The cost."
    table = ReportTable.from_rows(
        [TableColumn("a"), TableColumn("b")], [["x", TableCell("y", "best")]], ["what"]
    )
    assert table.rows == [[TableCell("x"), TableCell("y", "best")]]
    assert table.meanings == ("what",)
    assert TableCell("x").note_failed is False
    assert first_columns(table, 1).columns == (TableColumn("a"),)


# A run


def test_what_is_printed_of_a_run(helix, tmp_path):
    lines = result_lines(helix(), tmp_path)
    text = plain(lines)
    assert text[0].startswith("scara-helix: completed")
    assert text[1] == "  robot scara, controller servo-baumgarte"
    assert styles(lines).items() >= {
        "scara-helix": "bold", "completed": "bold green", text[1].strip(): "dim",
        "peak_u": "cyan", "N·m, N": "dim", "report": "bold",
    }.items()  # fmt: skip
    assert text[-2:] == [f"report  {tmp_path}/report.html", f"data    {tmp_path}/result.nc"]
    values = dict(line.split(maxsplit=1) for line in text if line.startswith("  "))
    assert values["peak_u"] == f"{helix().metric('peak_u'):.4g}  N·m, N"
    assert not any("." in name for name in values if "_" in name)
    moved = helix(provenance={"start_moved": {"rad": 0.25}, "robot": "arm"}, scenario={})
    text = plain(result_lines(moved, tmp_path))
    assert text[0].startswith("run: ")
    assert "  the start: moved to satisfy the constraints, by 0.25 rad" in text
    nameless = helix(provenance={"robot": "robot", "controller": "controller"}, scenario={})
    assert plain(result_lines(nameless, tmp_path))[1] == "  robot, controller"
    bad = helix(status="diverged", message="it left every bound")
    lines = result_lines(bad, tmp_path)
    assert plain(lines)[:2] == ["scara-helix: diverged", "  it left every bound"]
    assert styles(lines)["diverged"] == "bold red"


def test_a_run_that_is_not_to_be_believed_says_so_beside_its_status(tmp_path, columns):
    columns(1000)
    t = np.linspace(0.0, 1.0, 11)
    labels = Labels(passive_rows=("loop.x",), passive_row_units=("m",))
    run = Result.build(
        time=t, status="completed", labels=labels,
        samples={"energy": 2.0 + t, "supplied_energy": 0.0 * t,
                 "passive_phi": 0.5 * np.ones((11, 1))},
    )  # fmt: skip
    assert run.belief.verdict != "ok"
    lines = result_lines(run, tmp_path)
    assert plain(lines)[0] == f"run: completed, {run.belief.verdict}"
    for reason in run.belief.reasons:
        assert styles(lines)[f"{reason.subject}: {reason.text}"] == LEVEL_STYLES[reason.level]


def test_reactions_of_the_passive_constraints_are_printed_up_to_a_dozen(tmp_path, monkeypatch):
    peaks = [SimpleNamespace(block=f"loop{k}", value=1.5, unit="N") for k in range(13)]
    monkeypatch.setattr(
        "ukctrl.simulation.result.sample_measures.reaction_peaks", lambda samples: peaks
    )
    run = Result.build(time=[0.0, 1.0], samples={}, labels=Labels(), status="completed")
    text = plain(result_lines(run, tmp_path))
    shown = [line.split() for line in text if line.startswith("  reaction")]
    assert shown == [["reaction", f"loop{k}", "1.5", "N"] for k in range(12)]


# A study


class Runs(SimpleNamespace):
    def __len__(self):
        return len(self.completed)


def made_study(count, planned, completed):
    axis = [SimpleNamespace(path="k")]
    study = SimpleNamespace(
        about=SimpleNamespace(plan=SimpleNamespace(count=planned)), finished=count == planned,
        scenario={"name": "masses"}, factors=axis, repeats=1, seed=3, design="sobol",
    )  # fmt: skip
    runs = Runs(completed=np.arange(count) < completed, unbelievable=[])
    return SimpleNamespace(study=study, runs=runs, strongest=axis)


@pytest.mark.parametrize(
    ("given", "head", "style"),
    [
        ((4, 4, 4), "masses: 4 of 4 samples completed", "bold green"),
        ((4, 4, 3), "masses: 3 of 4 samples completed", "bold yellow"),
        ((4, 4, 0), "masses: 0 of 4 samples completed", "bold red"),
        ((3, 4, 3), "masses: 3 of 3 samples completed, 1 are still to run", "bold yellow"),
    ],
)
@pytest.mark.parametrize("replays", [None, ()])
def test_what_is_printed_of_a_study(given, head, style, replays, monkeypatch):
    insight = made_study(*given)
    insights = "ukctrl.studies.sweep_analysis"
    verdict = Verdict("note", "merit", "Good.")
    monkeypatch.setattr(f"{insights}.study_page.verdicts", lambda *given: [verdict])
    monkeypatch.setattr(
        f"{insights}.study_tables.short_metric_table",
        lambda *given: ReportTable.from_rows([TableColumn("a")], []),
    )
    lines = report_lines(study_page.report(insight, Path("out"), replays), Path("out"), 10)
    text = plain(lines)
    assert text[:2] == [head, "  design   sobol, seed 3; varied: k"]
    assert styles(lines)[head.partition(": ")[2]] == style
    assert "  merit     Good." in text
    assert ("report  out/report.html" in text) is (replays is not None)
    assert ("table   out/study.csv" in text) is True
    assert not any("parquet" in line for line in text)
    assert (RESUME_TEXT in text) is not insight.study.finished
    monkeypatch.setattr(f"{insights}.summary_json.to_dict", lambda *given: {"given": given[1:]})
    assert study_data(insight, Path("out"), replays) == {
        "folder": "out", "finished": insight.study.finished, "given": ((), Path("out")),
    }  # fmt: skip
