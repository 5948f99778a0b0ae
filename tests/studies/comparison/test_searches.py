"""Gains are judged elsewhere than they were tuned, and luck of a search is part of the chance."""

import csv
import json

import numpy as np
import pytest

from ukctrl import Budget, Factor, Plants, Scenario, compare, tune
from ukctrl.studies.comparison.comparison_page import write_comparison
from ukctrl.studies.comparison.comparison_tables import metric_table, search_spread_table
from ukctrl.studies.tuning.plants import validation_values

BENCH = {
    "timing": {"duration": 0.1, "control": 0.005, "sample": 0.005},
    "integrator": {"method": "RK4", "step": 0.005},
    "effect": [
        {"kind": "noise", "std": 2e-5, "v_std": 2e-3},
        {"kind": "payload", "name": "load", "frame": "tool", "mass": 0.1},
    ],
}
LOADS = (Factor.parse("effect.load.mass=0:1"),)
WIDE = {"bandwidth": (1.0, 1000.0)}
COST = "rms_phi.tool + 1e-5*input_travel"


def budget(**more):
    plants = Plants(count=2, mismatch=0.1, vary=LOADS)
    return Budget(**{"simulations": 12, "cost": COST, "over": WIDE, "plants": plants, **more})


@pytest.fixture(name="bench", scope="module")
def _bench():
    return Scenario.load("scara-helix", BENCH)


@pytest.fixture(name="found", scope="module")
def _found(bench):
    laws = ["servo-baumgarte", "servo-pid"]
    return compare(bench, laws, repeats=4, mismatch=[0.1], tuning=budget(searches=3))


@pytest.mark.slow
def test_no_seed_and_no_payload_is_both_tuned_on_and_judged_on(found, bench):
    plants = budget().plants
    tuned_on = [plant for k in range(3) for plant in plants.training(bench, k)]
    seeds = [plant.seed for plant in tuned_on]
    assert len(set(seeds)) == 6
    assert not set(seeds) & set(found.seeds)
    loads = [
        values["effect.load.mass"] for k in range(3) for values in plants.values(bench.seed, k)
    ]
    judged = [values["effect.load.mass"] for values in validation_values(LOADS, bench.seed, 4)]
    assert len({*loads, *judged}) == 6 + 4
    effects = found.results["servo-pid"].scenario["effect"]
    assert effects[-1]["mass"] == judged[0]


def test_every_search_is_judged_on_every_repeat(found):
    for name, tuning in found.tunings.items():
        assert len(tuning.every) == 3
        assert len({search.seed for search in tuning.every}) == 3
        assert [search.best.rank for search in tuning.every] == sorted(
            search.best.rank for search in tuning.every
        )
        assert {(run.repeat, run.search) for run in found.runs[name]} == {
            (k, s) for k in range(4) for s in range(3)
        }
    assert found.repeats == 4
    (fact,) = (fact for fact in found.facts if fact.subject == "repeats")
    assert fact.text.endswith("; with effect.load.mass of each, drawn apart from tuning")


def test_the_luck_of_searches_is_in_the_intervals_and_told(found):
    row = next(row for row in found.rows if row.metric == "rms_phi")
    runs = found.runs["servo-pid"]
    grid = np.array([[r.metrics["rms_phi"] for r in runs if r.search == s] for s in range(3)])
    np.testing.assert_allclose(row.values["servo-pid"], grid.mean(), rtol=1e-12)
    half = row.spreads["servo-pid"].high - grid.mean()
    of_searches = 4.302652729749462 * grid.mean(axis=1).std(ddof=1) / 3**0.5
    assert half >= of_searches
    table = search_spread_table(found)
    assert [row[0].text for row in table.rows] == ["cost", "rms_phi", "luck", "at a border"]
    assert table.rows[2][2].text.endswith("%")


def test_a_tie_of_searches_and_of_files(found, tmp_path):
    write_comparison(found, tmp_path)
    lines = list(csv.DictReader((tmp_path / "runs.csv").open(encoding="utf-8")))
    assert len(lines) == 2 * 3 * 4 * 2
    assert {line["search"] for line in lines} == {"0", "1", "2"}
    data = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))
    assert len(data["tuning"]["servo-pid"]["searches"]) == 3
    assert "Luck of tuning" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_where_a_search_ended_at_a_border_nobody_is_best(bench):
    narrow = Budget(simulations=6, cost="rms_phi", over={"bandwidth": (1.0, 4.0)})
    far = "far=servo-baumgarte{believed.mass_scale=0.5}"
    found = compare(bench, ["servo-baumgarte", far], repeats=6, tuning=narrow)
    assert found.at_border
    row = next(row for row in found.rows if row.metric == "rms_phi")
    assert row.best  # whoever has least is told
    assert row.marked == ()
    assert not any(word.text.startswith("Best") for word in found.verdicts)
    table = metric_table(found)
    marks = next(row for row in table.rows if row[0].text == "gains")
    assert "at a border" in [cell.text for cell in marks]
    assert found.shown(found.at_border[0]).endswith(" (at a border)")


def test_a_controller_is_tuned_several_times_and_its_luck_is_told(bench):
    tuned = tune(
        bench.replace({"controller": {"use": "servo-pid"}}),
        budget(searches=2, plants=Plants(count=2, mismatch=0.1, vary=LOADS, held_out=3)),
    )
    assert len(tuned.tuning.every) == 2
    assert len(tuned.held_out.others) == 1
    (luck,) = (verdict.text for verdict in tuned.verdicts if verdict.subject == "luck")
    assert luck.startswith("Luck of tuning: 2 searches, each on plants of its own, ended at ")
    assert "on plants that no search used, at " in luck


@pytest.mark.slow
def test_one_law_tuned_by_the_same_searches_under_another_name_is_the_same(bench):
    laws = ["servo-baumgarte", "dummy=servo-baumgarte"]
    found = compare(bench, laws, repeats=3, tuning=budget(searches=2))
    for row in found.rows:
        assert not any(pair.supported for pair in row.pairs), row.metric


@pytest.mark.slow
def test_a_dummy_with_luck_of_its_own_is_told_apart_in_no_more_than_5_of_100_comparisons(bench):
    """Baumgarte under another name, which searches another box: what it finds is luck.

    All of 200 comparisons are real runs of their own seeds.
    """
    from scipy.stats import binom

    from ukctrl.studies.comparison.ranking import correct_rankings, rank_metric

    dummy = "dummy=servo-baumgarte"
    short = bench.replace({"timing.duration": 0.05, "timing.sample": 0.05})
    false, count = 0, 200
    for seed in range(count):
        one, two = (
            compare(
                short.replace({"seed": seed}), [law], repeats=4, vary=LOADS,
                tuning=budget(simulations=8, searches=3, over={"bandwidth": box}, plants=Plants()),
            )
            for law, box in (("servo-baumgarte", (2.0, 400.0)), (dummy, (1.5, 500.0)))
        )  # fmt: skip
        runs = {**one.runs, **two.runs}
        rows, _ = correct_rankings(
            [rank_metric(row.metric, row.unit, runs) for row in one.rows], "rms_phi"
        )
        false += any(
            pair.supported for row in rows if row.metric != "mean_tick_us" for pair in row.pairs
        )
    assert false <= binom.ppf(0.999, count, 0.05)
