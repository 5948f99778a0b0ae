"""The tables, the page and the record of a study, cell by cell, from samples made by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sound_tables import sound, texts
from studies import ALPHA, SCENARIO, USE, columns_of, insight_of, study_of

from ukctrl.core.statistics import Estimate, wilson
from ukctrl.reports.report_table import TableCell
from ukctrl.studies.sweep import Factor, Study
from ukctrl.studies.sweep_analysis import SweepAnalysis, study_page
from ukctrl.studies.sweep_analysis import study_tables as tables
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor, SuccessRate, ThresholdSplit
from ukctrl.studies.sweep_analysis.metric_summary import Percentile, Summary, dependent_groups
from ukctrl.studies.sweep_analysis.sample_replay import SampleReplay
from ukctrl.studies.sweep_analysis.study_arrays import Axis
from ukctrl.studies.sweep_analysis.summary_json import to_dict

NAN, INF = math.nan, math.inf


@pytest.fixture(name="insight", scope="module")
def _insight():
    return insight_of(require={"peak_u": 3.5})


def marks(table, column):
    return [row[column].mark for row in table.rows]


def test_metrics_of_a_study(insight):
    table = tables.metric_table(insight)
    heads = ["metric", "samples", "mean", "sd", "5 %", "50 %", "95 %", "99 %", "worst"]
    assert [column.head for column in table.columns] == heads
    # Of 1, 2, 3, 4 mm and two that count as worst, the middle lies between 3 and 4.
    assert texts(table) == [
        ["rms_phi", "4", "0.0025", "0.00129", "0.00125", "0.0035", "failed", "failed", "0.004"],
        ["peak_u", "5", "3", "1.58", "1.25", "3.5", "failed", "failed", "5"],
    ]
    assert [row[0].note for row in table.rows] == ["m", "N"]
    assert [row[-1].note for row in table.rows] == ["sample 3", "sample 4"]
    assert marks(table, 6) == ["faint", "faint"]
    assert marks(table, 5) == ["", ""]
    assert table.meanings[1] == "Largest magnitude of any one input."


def test_a_cost_of_several_metrics_stands_first_and_of_several_blocks_each(insight):
    mixed = insight_of(cost="rms_phi + 0.001*peak_u")
    table = tables.metric_table(mixed)
    assert [row[0].text for row in table.rows] == ["rms_phi + 0.001*peak_u", "rms_phi", "peak_u"]
    assert table.meanings[0] == "The cost."
    assert table.rows[0][0].note == ""
    study = insight.study
    both = Study(about=study.about, columns=columns_of({**study.columns, "rms_phi.tilt": 1.0}))
    names = [row[0].text for row in tables.metric_table(SweepAnalysis.of(both)).rows]
    assert names == ["rms_phi", "peak_u", "rms_phi.gap", "rms_phi.tilt"]


def test_the_short_table_has_the_cost_and_what_was_asked_for(insight):
    table = tables.short_metric_table(insight, ("rms_phi", "peak_u", "settling_time", "work"))
    assert [column.head for column in table.columns] == [
        "metric", "", "50 %", "95 %", "99 %", "worst",
    ]  # fmt: skip
    assert texts(table) == [
        ["rms_phi", "m", "0.0035", "failed", "failed", "0.004"],
        ["peak_u", "N", "3.5", "failed", "failed", "5"],
    ]
    assert {cell.note for row in table.rows for cell in row} == {""}


@pytest.mark.parametrize(
    ("at", "text", "aside"),
    [
        ((2.0, 1.0, 3.0), "2", "1 to 3"),
        ((2.0, 1.0, NAN), "2", "1 to …"),
        ((2.0, NAN, 3.0), "2", "… to 3"),
        ((2.0, 1.0, INF), "2", "1 to failed"),
        ((2.0, NAN, NAN), "2", ""),
        ((INF, 1.0, INF), "failed", "1 to failed"),
        ((INF, INF, INF), "failed", ""),
        ((INF, NAN, INF), "failed", ""),
    ],
)
def test_an_interval_is_open_where_nothing_bounds_it(at, text, aside):
    percentiles = [Percentile(level, Estimate(*at)) for level in tables.TABLE_PERCENTILES]
    one = Summary("rms_phi", 3, 0, 0, 2.0, 1.0, tuple(percentiles), 1.0, 3.0, 2)
    insight = SimpleNamespace(
        runs=SimpleNamespace(metrics={"rms_phi": 0}), summaries=[one], unit_of=lambda name: "m",
        cost=SimpleNamespace(text="rms_phi"),
    )  # fmt: skip
    cell = tables.metric_table(insight).rows[0][4]
    assert cell == TableCell(text, "faint" if text == "failed" else "", aside)


def test_every_table_of_a_study_is_sound(insight):
    made = (
        tables.metric_table, tables.reason_table, tables.factor_table, tables.dependence_table,
        tables.worst_table, tables.failed_table,
    )  # fmt: skip
    kinds = dict(pair for make in made for pair in sound(make(insight)))
    kinds |= dict(sound(tables.short_metric_table(insight, ("rms_phi",))))
    assert kinds["why"] == kinds["why, of the first"] == "meaning"
    assert kinds["metric"] == kinds["factor"] == "name"


def test_why_samples_failed(insight):
    assert tables.reason_table(insight).rows == [
        [TableCell("diverged", "bad"), TableCell("1"), TableCell("it left at 0.25 s. (sample 5)")]
    ]


def test_the_worst_and_the_failed_samples_are_listed(insight):
    worst = tables.worst_table(insight)
    assert [column.head for column in worst.columns] == ["sample", "rms_phi", ALPHA, USE]
    assert texts(worst) == [
        ["3", "0.004", "2", "servo-pid"],
        ["2", "0.003", "2", "servo-baumgarte"],
        ["1", "0.002", "1", "servo-pid"],
        ["0", "0.001", "1", "servo-baumgarte"],
    ]
    assert set(marks(worst, 1)) == {"strong"}
    failed = tables.failed_table(insight)
    assert [column.head for column in failed.columns] == [
        "sample", "status", "reached [s]", ALPHA, USE, "why",
    ]  # fmt: skip
    assert texts(failed) == [["5", "diverged", "0.25", "4", "servo-pid", "it left at 0.25 s."]]
    assert marks(failed, 1) == ["bad"]


def test_the_largest_share_of_a_metric_is_marked(insight):
    table = tables.dependence_table(insight)
    assert [column.head for column in table.columns] == ["metric", ALPHA, USE]
    # Six equally spaced ranks, alpha of weight 2: 4 Var(0, 1, 2) = 8/3 of 35/12, and 1/4.
    assert texts(table) == [["rms_phi", "96 %", "6 %"], ["peak_u", "91 %", "9 %"]]
    assert [marks(table, k) for k in (1, 2)] == [["best", "best"], ["", ""]]
    shares = [{"a": 0.05, "b": -0.1}, {"a": 0.2, "b": 0.2}, {"a": 0.9, "b": 0.1}]
    stub = SimpleNamespace(
        runs=SimpleNamespace(varied=[SimpleNamespace(path="a"), SimpleNamespace(path="b")]),
        dependence={
            name: SimpleNamespace(strength=share)
            for name, share in zip(("weak", "tie", "rms_phi.tool"), shares, strict=True)
        },
        cost=SimpleNamespace(text="rms_phi.tool"),
    )
    table = tables.dependence_table(stub)
    assert texts(table) == [
        ["weak", "5 %", "0 %"], ["tie", "20 %", "20 %"], ["rms_phi.tool", "90 %", "10 %"],
    ]  # fmt: skip
    assert [marks(table, k) for k in (1, 2)] == [["", "best", "best"], ["", "best", ""]]
    stub.cost.text = "tie"
    assert [row[0].text for row in tables.dependence_table(stub).rows] == ["weak", "tie"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k=1,2.5,true,abc", "1, 2.5, true, abc"),
        ("k=1,2,3,4,5,6,7,8", "1, 2, 3, 4, 5, 6, 7, 8"),
        ("k=1,2,3,4,5,6,7,8,9", "1, 2, 3, 4, 5, 6, 7, 8, and 1 more"),
        ("k=1,2,3,4,5,6,7,8,9,10", "1, 2, 3, 4, 5, 6, 7, 8, and 2 more"),
        ("k=1:10", "1 to 10"),
        ("k=1:10:5", "1 to 10, 5 values"),
        ("k=log:1:100", "1 to 100, by decades"),
        ("k=log:1:100:7", "1 to 100, by decades, 7 values"),
        ("k=whole:1:6", "whole numbers, 1 to 6"),
        ("k=normal:10:0.5", "normal, mean 10, sd 0.5"),
        ("k=normal:10:0.5:3", "normal, mean 10, sd 0.5, 3 values"),
    ],
)
def test_how_a_factor_varies(text, words):
    assert tables.distribution_text(Factor.parse(text).to_dict()) == words


def rate(label, good, count):
    return SuccessRate(label, count, good, wilson(good, count))


SPLIT = ThresholdSplit(1.5, rate("below", 9, 10), rate("above", 1, 4))
RATES = (rate("one", 9, 10), rate("two", 1, 4))


@pytest.mark.parametrize(
    ("clear", "split", "words"),
    [
        (True, SPLIT, "90 % up to 1.5, 25 % above"),
        (True, None, "90 % of one, 25 % of two"),
        (False, SPLIT, ""),
        (False, None, ""),
    ],
)
@pytest.mark.parametrize(
    ("design", "low", "aside"),
    [("random", -0.5, "−0.5 to 0.75"), ("sobol", -0.5, ""), ("random", NAN, "")],
)
def test_what_a_factor_has_to_do_with_cost_and_failing(clear, split, words, design, low, aside):
    insight = SimpleNamespace(
        separations=[FailureFactor("k", RATES, 0.5, clear, split)],
        study=SimpleNamespace(factors=[Factor.parse("k=1:2"), Factor.parse("m=3:4")]),
        runs=SimpleNamespace(
            axes=[Axis("k", np.arange(3.0)), Axis("m", np.arange(3.0))], design=design
        ),
        correlations={"k": Estimate(0.123, low, 0.75), "m": Estimate(NAN, NAN, NAN)},
        cost=SimpleNamespace(text="rms_phi"),
    )
    table = tables.factor_table(insight)
    assert [column.head for column in table.columns] == [
        "factor", "varied", "rank correlation with rms_phi",
        "samples that succeeded, where it separates",
    ]  # fmt: skip
    assert table.rows == [
        [TableCell("k"), TableCell("1 to 2"), TableCell("0.12", note=aside), TableCell(words)],
        [TableCell("m"), TableCell("3 to 4"), TableCell("–"), TableCell("")],
    ]


def test_the_numbers_at_the_top_of_the_page(insight):
    for share in (insight.completed, insight.succeeded):  # the points of a grid are chosen
        assert all(map(math.isnan, share[1:]))
    assert study_page._tiles(insight) == [
        ("completed", "83.3", "%", ""),
        ("as required", "50", "%", "peak_u ≤ 3.5"),
        ("median", "3.5", "mm", "rms_phi"),
        ("95 % have at most", "failed", "", "too many failed for a bound"),
        ("worst that completed", "4", "mm", "rms_phi"),
    ]
    drawn = study_of([f"{ALPHA}=1:9"], {"rms_phi": [1.0]}, ["completed"], design="random", n=1)
    low, high = (100.0 * end for end in wilson(1, 1)[1:])
    found = study_page._tiles(SweepAnalysis.of(drawn))
    assert found == [
        ("completed", "100", "%", f"95 % confidence: {low:.3g} to {high:.3g} %"),
        ("median", "1", "m", "rms_phi"),
    ]
    one = ["completed", "median"]
    three = [*one, "95 % have at most", "worst that completed"]
    for merit, status, names in (
        ([NAN], ["diverged"], one[:1]),
        ([1.0, 2.0], ["completed", "completed"], three),
        ([1.0, NAN], ["completed", "diverged"], three),
        ([1.0, NAN], ["completed", "completed"], three),
    ):
        options = {"design": "random", "n": len(status)}
        few = study_of([f"{ALPHA}=1:9"], {"rms_phi": merit}, status, **options)
        assert [tile.name for tile in study_page._tiles(SweepAnalysis.of(few))] == names


def test_the_record_holds_everything_that_the_study_shows(insight):
    replays = [SampleReplay("worst", 3, "worst-3", True, "", True)]
    record = to_dict(insight, replays, Path("here"))
    assert json.loads(json.dumps(record, allow_nan=False)) == json.loads(json.dumps(record))
    assert record["scenario"] == {"name": SCENARIO.name, "title": SCENARIO.title}
    assert (record["design"], record["repeats"], record["seed"]) == ("grid", 1, 1)
    assert record["confidence"] == 0.95
    assert record["factors"][0] == {"path": ALPHA, "kind": "list", "values": [1, 2, 4]}
    none = {"low": None, "high": None}
    assert record["samples"] == {
        "planned": 6, "finished": 6, "completed": 5,
        "completed_share": {"value": pytest.approx(5 / 6), **none},
        "succeeded": 3, "succeeded_share": {"value": 0.5, **none},
        "statuses": {"completed": 5, "diverged": 1},
    }  # fmt: skip
    cost = record["cost"]
    percentiles = cost.pop("percentiles")
    assert cost == {
        "text": "rms_phi", "unit": "m", "known": 4, "failed": 1, "without": 1,
        "mean": pytest.approx(0.0025), "deviation": pytest.approx(0.001 * math.sqrt(5 / 3)),
        "best": 0.001, "worst": 0.004, "worst_sample": 3,
    }  # fmt: skip
    assert list(percentiles) == ["p5", "p25", "p50", "p75", "p95", "p99"]
    assert percentiles["p50"] == {"value": pytest.approx(0.0035), **none, "failed": False}
    assert percentiles["p95"] == {"value": None, **none, "failed": True}
    assert record["require"] == {"peak_u": 3.5}
    assert set(record["metrics"]) == {"rms_phi", "peak_u", "rms_phi.gap"}
    assert record["metrics"]["peak_u"]["unit"] == "N"
    assert record["metrics"]["peak_u"]["worst_sample"] == 4
    failures = record["failures"]
    assert failures["reasons"] == [
        {"status": "diverged", "message": "it left at 0.25 s.", "samples": 1, "sample": 5}
    ]
    of_alpha, of_use = failures["factors"][ALPHA], failures["factors"][USE]
    # Means of success 1, 1/2, 0: 1 of 3/2 between them; less what chance gives, 1 - 1/3 5/3.
    assert (of_alpha["score"], of_alpha["clear"]) == (pytest.approx(4 / 9), False)
    assert (of_alpha["split"], of_use["split"]) == (3.0, None)
    half = wilson(1, 2)
    assert of_alpha["ranges"][1] == {
        "range": "2", "samples": 2, "succeeded": 1, "value": 0.5,
        "low": pytest.approx(half.low), "high": pytest.approx(half.high),
    }  # fmt: skip
    shares = record["sensitivity"]
    assert list(shares) == ["rank", "success"]
    assert (shares["rank"]["method"], shares["rank"]["samples"]) == ("grid", 6)
    alone, both = shares["success"]["first"][ALPHA], shares["success"]["total"][ALPHA]
    assert alone == dict.fromkeys(("value", "low", "high"), pytest.approx(2 / 3))
    assert both["value"] == pytest.approx(8 / 9)
    assert record["rank_correlation"][USE] == {"value": None, **none}
    assert record["dependence"]["peak_u"][ALPHA] == pytest.approx(32 / 35)
    (shown,) = record["maps"]
    assert shown == {
        "x": {"factor": ALPHA, "values": [1.0, 2.0, 4.0]},
        "y": {"factor": USE, "values": ["servo-baumgarte", "servo-pid"]},
        "samples": [[1, 1, 1], [1, 1, 1]],
        "succeeded_share": [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
        "median": [[0.001, 0.003, None], [0.002, 0.004, None]],
    }
    assert [each["sample"] for each in record["worst"]] == [3, 2, 1, 0]
    (failed,) = record["failed"]
    assert failed.pop("command").startswith("ukctrl run here/scenario.toml --set ")
    assert failed == {
        "sample": 5, "status": "diverged", "message": "it left at 0.25 s.", "reached": 0.25,
        "cost": None, "changes": insight.study.about.plan.scenario_changes(5),
    }  # fmt: skip
    assert record["worst"][0]["cost"] == 0.004
    assert record["replays"] == [
        {"role": "worst", "sample": 3, "folder": "worst-3", "exact": True, "text": "",
         "random": True}
    ]  # fmt: skip
    assert record["verdicts"][-1]["subject"] == "replay"
    assert record["versions"] == dict(insight.study.about.versions)


def test_ranges_of_a_map_are_told_by_their_ends_and_total_shares_where_there_are_any():
    n = 64
    y = np.arange(n) / n
    drawn = study_of(
        [f"{ALPHA}=1:9", "timing.control=log:0.001:0.1"], {"rms_phi": y}, ["completed"] * n,
        design="random", n=n,
    )  # fmt: skip
    record = to_dict(SweepAnalysis.of(drawn), (), Path("here"))
    (shown,) = record["maps"]
    assert set(shown["x"]) == {"factor", "edges"}
    assert len(shown["x"]["edges"]) == len(shown["median"][0]) + 1
    assert record["sensitivity"]["value"]["method"] == "polynomial"
    assert record["sensitivity"]["value"]["unexplained"] > 0.0
    assert set(record["sensitivity"]["value"]["total"]) == {ALPHA, "timing.control"}


def test_repeats_of_a_point_are_one_point_to_a_study():
    factors = [f"{ALPHA}=1:9", "timing.control=log:0.001:0.1"]
    y = np.repeat(np.arange(8.0), 4)
    drawn = study_of(factors, {"rms_phi": y}, ["completed"] * 32, design="random", n=8, repeats=4)
    runs = SweepAnalysis.of(drawn).runs
    assert runs.repeats == 4
    np.testing.assert_array_equal(dependent_groups(runs), np.repeat(np.arange(8), 4))


def test_a_record_without_a_sample_that_completed():
    lost = study_of([f"{ALPHA}=1:9"], {}, ["diverged"] * 3, design="random", n=3)
    record = to_dict(SweepAnalysis.of(lost), (), Path("here"))
    assert record["cost"]["worst_sample"] is None
    assert record["cost"]["percentiles"]["p50"]["failed"] is False
    assert record["worst"] == []
    assert len(record["failed"]) == 3
