"""A comparison ranks fairly, says what was equal, and is readable by people and programs."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest

from ukctrl.core.errors import InputError
from ukctrl.core.number_text import plus_minus
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.comparison import Comparison, comparison_page
from ukctrl.studies.comparison.comparison_figures import TradeoffPoint, pareto_front
from ukctrl.studies.comparison.comparison_page import write_comparison


def row(comparison, metric):
    return next(entry for entry in comparison.rows if entry.metric == metric)


def fact(comparison, subject):
    return next(entry for entry in comparison.facts if entry.subject == subject)


def refuse_constants(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture(name="three")
def _three(helix):
    """Two laws that tie, and one three times worse."""
    return Comparison.of(
        {
            "servo": helix(error=0.02, controller="servo"),
            "same": helix(error=0.02, controller="same"),
            "pd": helix(error=0.06, controller="pd"),
        }
    )


def test_the_best_are_marked_and_ties_together(three):
    assert row(three, "rms_phi").best == ("servo", "same")
    assert row(three, "rms_phi.tool").best == ("servo", "same")
    assert row(three, "rms_phi").unit == "m, rad"


def test_nobody_is_best_where_nothing_sets_them_apart(three):
    assert row(three, "effort").best == ()


def test_differences_below_rounding_are_no_merit(helix):
    given = {"a": helix(error=1e-12), "b": helix(error=1e-11)}
    comparison = Comparison.of(given)
    given.clear()  # what was compared stays compared
    assert set(comparison.results) == {"a", "b"}
    assert row(comparison, "rms_phi").best == ()


def test_a_better_integration_is_no_merit_of_a_controller(helix):
    tidy, leaky = helix(), helix()
    energy = leaky["energy"] + 0.1 * leaky.time
    leaky = helix(samples={**leaky.samples.arrays, "energy": energy})
    comparison = Comparison.of({"tidy": tidy, "leaky": leaky})
    words = {v.subject: v.text for v in comparison.verdicts}
    assert row(comparison, "energy_drift").best == ()
    assert words["energy_drift"].startswith(
        "This metric judges the integration, not the controllers"
    )


def test_a_run_that_ended_early_is_not_ranked(helix):
    comparison = Comparison.of(
        {
            "good": helix(error=0.02),
            "worse": helix(error=0.04),
            "gone": helix(101, error=1e-3, status="diverged", message="left every bound"),
        }
    )
    assert row(comparison, "rms_phi").best == ("good",)
    text = next(v.text for v in comparison.verdicts if v.subject == "diverged")
    assert text == "'gone' ended as 'diverged' at t = 20 s and is not ranked. Left every bound."


def test_a_metric_that_a_run_has_not_is_told_so(rows):
    time = np.linspace(0.0, 10.0, 101)
    comparison = Comparison.of({"in": rows(time, np.exp(-time)), "out": rows(time, 1.0 + 0 * time)})
    words = {v.subject: v.text for v in comparison.verdicts}
    assert row(comparison, "settling_time").best == ("in",)
    assert "'out' has none" in words["settling_time"]


def test_the_words_say_by_how_much(three):
    words = {v.subject: v.text for v in three.verdicts}
    assert "Lowest: 'servo', 'same', " in words["rms_phi"]
    assert words["rms_phi"].endswith("'pd' has 0.0204 (m, rad).")
    assert words["overall"] == (
        "Smallest error (rms) in 'tool': 'servo', 'same', 6.32 mm; 'pd' has 3 times as much. "
        "Smallest error (rms) in 'tilt': 'servo', 'same', 2.53 mrad; 'pd' has 3 times as much. "
        "Least effort: no clear difference, 483 (N·m, N)²·s."
    )


def test_a_trade_off_is_called_one(rows):
    time = np.linspace(0.0, 1.0, 11)

    def run(error, effort):
        labels = Labels(
            actuators=["u"], actuator_units=["N"], rows=["r"], row_units=["m"], row_blocks=["b"]
        )
        samples = {"phi": error * np.ones((11, 1)), "u": effort * np.ones((11, 1))}
        return Result.build(time=time, samples=samples, labels=labels, status="completed")

    comparison = Comparison.of({"precise": run(1e-3, 9.0), "thrifty": run(1e-2, 1.0)})
    assert comparison.verdicts[0].text == (
        "Smallest error (rms): 'precise', 1 mm; 'thrifty' has 10 times as much. "
        "Least effort: 'thrifty', 1 (N)²·s; 'precise' has 81 times as much."
    )


def test_a_single_run_is_nothing_to_rank(helix):
    comparison = Comparison.of({"only": helix(5)})
    assert "nothing to rank" in comparison.verdicts[0].text
    assert all(entry.best == () for entry in comparison.rows)


def test_no_run_at_all_is_refused():
    with pytest.raises(InputError, match="must have at least one result; got none"):
        Comparison.of({})


def test_equal_conditions_are_found_equal(three):
    assert all(entry.equal for entry in three.facts)
    assert {"robot", "task", "start", "timing", "integrator", "effects", "seed", "gains"} <= {
        entry.subject for entry in three.facts
    }
    assert fact(three, "effects").text == "none"
    assert fact(three, "integrator").text == "method: DOP853, rtol: 1e-09"


@pytest.mark.parametrize(
    ("subject", "change"),
    [
        ("seed", {"seed": 1}),
        ("timing", {"timing": {"duration": 5.0}}),
        ("effects", {"effect": [{"kind": "noise"}]}),
        ("monitor", {"monitor": {"drift": 1e-3}}),
    ],
)
def test_what_differs_is_named_and_warned_of(helix, subject, change):
    plain = helix()
    other = helix(scenario={**plain.scenario, **change})
    comparison = Comparison.of({"a": plain, "b": other})
    assert not fact(comparison, subject).equal
    assert subject in next(v.text for v in comparison.verdicts if v.subject == "fairness")


def test_a_belief_of_ones_own_is_allowed_and_told(helix):
    plain = helix()
    other = helix(scenario={**plain.scenario, "believed": {"mass_scale": 0.7}})
    comparison = Comparison.of({"a": plain, "b": other})
    told = fact(comparison, "belief")
    assert not told.equal
    assert told.text == "the robot as its file has it for 'a'; mass_scale: 0.7 for 'b'"
    words = {v.subject: (v.level, v.text) for v in comparison.verdicts}
    assert words["belief"][0] == "note"
    assert "fairness" not in words


def test_a_start_that_differs_in_one_bit_is_found_on_the_arrays(helix):
    plain = helix()
    q = plain["q"].copy()
    q[0, 0] = np.nextafter(q[0, 0], 1.0)
    other = helix(samples={**plain.samples.arrays, "q": q})
    found = fact(Comparison.of({"a": plain, "b": other}), "first sample")
    assert found == ("first sample", False, "not the same in all runs")
    found = fact(Comparison.of({"a": plain, "b": plain}), "first sample")
    assert found == ("first sample", True, "bit for bit the same in all runs")


def test_tuned_against_given_gains_is_called_unfair(helix):
    given = helix()
    tuned = helix(provenance={**given.provenance, "gains": "tuned"})
    found = fact(Comparison.of({"a": given, "b": tuned}), "gains")
    assert not found.equal
    assert found.text == (
        "given for 'a', tuned for 'b'; tuned against given gains is no fair comparison"
    )
    both = fact(Comparison.of({"a": tuned, "b": tuned}), "gains")
    assert both.equal
    assert both.text == "tuned, for every controller"


def test_the_json_is_strict_and_complete(three, helix):
    comparison = Comparison.of({**three.results, "none": helix(0, status="interrupted")})
    data = json.loads(comparison.to_json(), parse_constant=refuse_constants)
    assert [entry["name"] for entry in data["controllers"]] == ["servo", "same", "pd", "none"]
    assert data["controllers"][3]["metrics"]["rms_phi"] is None
    assert data["best"]["rms_phi"] == []
    assert data["lowest"]["rms_phi"] == ["servo", "same"]
    assert data["conditions"]["seed"] == {"equal": True, "text": "0"}


def test_the_csv_gives_back_every_number(three):
    table = list(csv.DictReader(io.StringIO(three.to_csv())))
    assert [line["controller"] for line in table] == ["servo", "same", "pd"]
    for line, result in zip(table, three.results.values(), strict=True):
        assert float(line["rms_phi.tool"]) == result.metric("rms_phi.tool")
        assert line["peak_passive_phi"] == ""


@pytest.mark.slow
def test_saving_writes_the_page_the_tables_and_every_run(three, tmp_path):
    write_comparison(three, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "report.html", "compare.json", "compare.csv", "runs.csv",
        "compare_errors.png", "compare_inputs.png", "compare_tradeoff.png",
        "servo", "same", "pd",
    }  # fmt: skip
    assert Result.load(tmp_path / "pd").identical(three.results["pd"])


@pytest.mark.slow
def test_names_that_are_no_folder_names_get_one(helix, tmp_path):
    names = ["./law.py:Mine", "..", "law.py_Mine", "a/b"]
    write_comparison(Comparison.of({name: helix(2) for name in names}), tmp_path)
    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert folders == {"law.py_Mine", "controller", "law.py_Mine-2", "a_b"}
    assert all((tmp_path / name / "result.nc").is_file() for name in folders)


@pytest.mark.slow
def test_the_page_of_single_runs_marks_nobody_and_brackets_the_unranked(helix):
    comparison = Comparison.of(
        {"a": helix(error=0.02), "b": helix(error=0.04), "c": helix(50, status="infeasible")}
    )
    text = comparison_page.page_html(comparison, comparison_page.pictures(comparison))
    assert "&#9733;" not in text
    assert "because a test needs several runs" in text
    assert re.search(r'class="number unranked">\(0\.0\d+\)</td>', text)
    assert "not ranked" in text


@pytest.mark.slow
def test_the_page_escapes_what_strangers_wrote(helix):
    attack = "<script>alert(1)</script>"
    plain = helix(3)
    scenario = {**plain.scenario, "title": attack, "controller": {"name": attack}}
    comparison = Comparison.of(
        {attack: helix(3, scenario=scenario), "b": helix(3, message=attack, status="diverged")}
    )
    text = comparison_page.page_html(comparison, comparison_page.pictures(comparison))
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize("n", [0, 1])
def test_runs_of_few_samples_can_be_compared(helix, n):
    comparison = Comparison.of({"a": helix(n), "b": helix(n)})
    assert comparison_page.page_html(comparison, comparison_page.pictures(comparison))


def test_runs_without_a_task_or_motors_can_be_compared():
    nothing = Result.build(time=[0.0, 1.0], samples={}, labels=Labels(), status="completed")
    comparison = Comparison.of({"a": nothing, "b": nothing})
    assert comparison_page.pictures(comparison) == []
    assert "Smallest error (rms): no clear difference" in comparison_page.page_html(comparison, [])


def test_large_robots_are_compared_by_the_norm_of_their_inputs(humanoid):
    comparison = Comparison.of({"a": humanoid, "b": humanoid})
    pictures = {entry.name: entry for entry in comparison_page.pictures(comparison)}
    assert "all actuators" in pictures["compare_inputs"].svg


# Over repeats


def repeated(values, *, failed=(), effort=1.0):
    """Return runs of each controller with these errors, repeat by repeat."""
    return tuple(
        RunSummary(
            controller=name,
            repeat=k,
            seed=k,
            mismatch=None,
            status="diverged" if (name, k) in failed else "completed",
            message="left every bound." if (name, k) in failed else "",
            end_time=1.0,
            metrics={"rms_phi": value, "effort": effort},
        )
        for name, every in values.items()
        for k, value in enumerate(every)
    )


@pytest.fixture(name="over_repeats")
def _over_repeats(helix):
    def build(values, **options):
        return Comparison(
            results={name: helix(3, controller=name) for name in values},
            outcomes=repeated(values, **options),
        )

    return build


NOISE = np.random.default_rng(1).normal(0.0, 0.3, 12)


def test_a_difference_that_noise_hides_is_no_claim(over_repeats):
    other = np.random.default_rng(2).normal(0.0, 0.3, 12)
    comparison = over_repeats({"a": 2.0 + NOISE, "b": 2.0 + other})
    assert row(comparison, "rms_phi").best == ()
    words = {v.subject: v.text for v in comparison.verdicts}
    assert words["rms_phi"].startswith("Not distinguishable in 12 repeats: means of ")


def test_a_small_difference_that_every_repeat_shows_is_one(over_repeats):
    comparison = over_repeats({"a": 2.0 + NOISE, "b": 2.1 + NOISE})
    assert row(comparison, "rms_phi").best == ("a",)
    text = next(v.text for v in comparison.verdicts if v.subject == "rms_phi")
    assert text.endswith("'b' has 2.17 (m, rad).")  # no per cent of metres and radians


def test_a_certain_difference_within_one_percent_is_a_tie(over_repeats):
    comparison = over_repeats({"a": 2.0 + NOISE, "b": 2.002 + NOISE})
    assert row(comparison, "rms_phi").best == ()


def test_those_that_cannot_be_told_from_the_best_share_its_mark(over_repeats):
    other = np.random.default_rng(3).normal(0.0, 0.3, 12)
    comparison = over_repeats({"a": 2.0 + NOISE, "b": 2.02 + other, "c": 5.0 + NOISE})
    assert set(row(comparison, "rms_phi").best) == {"a", "b"}
    text = next(v.text for v in comparison.verdicts if v.subject == "rms_phi")
    assert "not distinguishable from each other; 'c' has 5.07 (m, rad)" in text
    assert "p < 0.001" in text


def test_one_failure_in_many_repeats_costs_the_rank(over_repeats):
    values = {"a": 2.0 + NOISE, "b": 3.0 + NOISE, "c": 1.0 + NOISE}
    comparison = over_repeats(values, failed={("c", 4)})
    assert comparison.completed == ("a", "b")
    assert row(comparison, "rms_phi").best == ("a",)
    text = next(v.text for v in comparison.verdicts if v.subject == "diverged")
    assert text == (
        "'c' completed 11 of 12 repeats (1 diverged) and is not ranked. With seed 4: left every "
        "bound."
    )
    table = comparison_page.page_html(comparison, [])
    assert re.search(r'unranked">\[[01]\.\d+ ± 0\.\d+\]', table)
    assert "11 of 12" in table


def test_intervals_median_and_worst_stand_in_the_tables(over_repeats):
    comparison = over_repeats({"a": 2.0 + NOISE, "b": 3.0 + NOISE})
    line = next(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert float(line["rms_phi"]) == pytest.approx(np.mean(2.0 + NOISE), rel=1e-12)
    assert float(line["rms_phi:median"]) == pytest.approx(np.median(2.0 + NOISE), rel=1e-12)
    assert float(line["rms_phi:worst"]) == pytest.approx(max(2.0 + NOISE), rel=1e-12)
    assert float(line["rms_phi:ci_low"]) < float(line["rms_phi"]) < float(line["rms_phi:ci_high"])
    data = json.loads(comparison.to_json(), parse_constant=refuse_constants)
    assert data["repeats"] == {
        "count": 12,
        "asked": 1,
        "seeds": list(range(12)),
        "random": None,
    }
    (pair,) = data["differences"]["rms_phi"]
    assert (pair["lower"], pair["higher"], pair["supported"]) == ("a", "b", True)


def test_an_effort_that_never_differs_is_no_difference(over_repeats):
    comparison = over_repeats({"a": 2.0 + NOISE, "b": 3.0 + NOISE})
    assert row(comparison, "effort").best == ()
    assert comparison.verdicts[0].text == (
        "Smallest error (rms): 'a', 2.07 (m, rad) on average; "
        "'b' has 3.07 (m, rad) on average. Least effort: no clear difference, 1 (N·m, N)²·s."
    )


def test_the_front_is_who_nobody_beats_in_both():
    def point(effort, error, note=""):
        return TradeoffPoint(effort, error, (np.nan, np.nan), (np.nan, np.nan), note)

    points = {
        "cheap": point(1.0, 9.0),
        "middle": point(4.0, 4.0),
        "beaten": point(5.0, 5.0),
        "precise": point(9.0, 1.0),
        "failed": point(0.1, 0.1, "diverged"),
        "unknown": point(np.nan, 0.1),
    }
    assert pareto_front(points) == ["cheap", "middle", "precise"]


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (0.023412, 0.00118, "0.0234 ± 0.0012"),
        (123.4, 45.6, "123 ± 46"),
        (3e-9, 4e-10, "(3.00 ± 0.40)×10⁻⁹"),
        (49.2412, 1e-9, "49.24 ± 1×10⁻⁹"),
        (0.0, 0.0, "0 ± 0"),
        (2.0, np.nan, "2"),
        (-0.5, 0.012, "−0.500 ± 0.012"),
    ],
)
def test_a_mean_is_printed_to_the_digits_that_its_interval_leaves(value, half, text):
    assert plus_minus(value, half) == text
