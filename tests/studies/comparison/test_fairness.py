"""Every sentence of a comparison, whole, beside the runs and numbers that lead to it."""

from __future__ import annotations

import dataclasses as dc
import math
from types import SimpleNamespace

import pytest

from ukctrl.core.statistics import Difference, Spread
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result.verdicts import RunVerdict
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.comparison import comparison_verdicts as words
from ukctrl.studies.comparison.fairness import (
    DEFAULT_TEXTS,
    UNTUNED_TEXT,
    CompletedRepeats,
    FairnessCondition,
    RunConditions,
    fairness_conditions,
)
from ukctrl.studies.comparison.ranking import (
    MetricRanking,
    MismatchStatistics,
    PairedComparison,
    Robustness,
)

OK = RunVerdict("ok", ())
BAD = RunVerdict("not to be believed", (Verdict("bad", "energy", "It came from nowhere."),))


def runs(**ends):
    """Return the runs of each controller, by how they ended."""
    return {
        name: [
            RunSummary(
                controller=name, repeat=k, seed=7 + k, mismatch=None, status=status, end_time=1.25,
                message="" if status == "completed" else "row 'tool.x' is lost.", metrics={},
            )
            for k, status in enumerate([every] if isinstance(every, str) else every)
        ]
        for name, every in ends.items()
    }  # fmt: skip


def row(values, best=(), metric="rms_phi", unit="m", **more):
    return MetricRanking(metric=metric, unit=unit, values=values, best=best, **more)


BOTH = runs(a="completed", b="completed")
OVERALL = [
    (
        runs(a="completed", b="diverged"), [], {}, "warning",
        "1 of 2 controllers completed: there is nothing to rank.",
    ),
    (
        BOTH,
        [row({"a": 1e-3, "b": 1.5e-3}, ("a",)), row({"a": 8.0, "b": 2.0}, ("b",), "effort", "J")],
        {"a": OK, "b": OK}, "good",
        "Smallest error (rms): 'a', 1 mm; 'b' is 50 % above. Least effort: 'b', 2 J; 'a' has 4 "
        "times as much.",
    ),
    (
        BOTH,
        [row({"a": 2.0, "b": 2.0}, ("a", "b"), "rms_beta"), row({"a": 3.0, "b": 4}, (), "effort")],
        {}, "good",
        "Smallest error (rms): 'a', 'b', 2 m. Least effort: no clear difference, 3 m to 4 m.",
    ),
    (
        BOTH, [row({"a": 1.0, "b": math.nan}, ("a",)), row({}, ("b",), "rms_beta")],
        {"a": OK, "b": BAD}, "bad",
        "Smallest error (rms): 'a', 1 m; 'b' has none. Least effort: not known. Not to be "
        "believed: 'b'.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("every", "rows", "beliefs", "level", "text"), OVERALL)
def test_who_is_best_in_all(every, rows, beliefs, level, text):
    assert words.overall_verdict(rows, every, beliefs) == Verdict(level, "overall", text)


def test_who_crossed_a_limit_in_some_repeats_is_not_ranked():
    every = runs(a=["completed"] * 3, b=["completed"] * 3, c=["completed"] * 3)
    beyond = {"limits_crossed": 2.0, "limits_crossed.wall": 2.0, "worst_margin.wall": -0.02}
    every["b"][1:] = [dc.replace(run, metrics=beyond) for run in every["b"][1:]]
    rows = [row({}, ("a",)), row({}, ("a",), "worst_margin.wall")]
    rows[0] = row({"a": 1e-3, "b": 1e-4, "c": 2e-3}, ("a",))
    every["c"][0] = dc.replace(every["c"][0], metrics={"task_given_up": 0.5})
    assert words.overall_verdict(rows, every, {}).text == (
        "Smallest error (rms): 'a', 1 mm; 'c' has 2 times as much. Least effort: not known. 'c' "
        "gave up some of the task for limits. Not ranked: 'b' (crossed 'wall' by 20 mm in 2 of 3 "
        "repeats)."
    )


def test_of_a_margin_the_highest_is_best():
    margins = row({"a": 1e-3, "b": 5e-4}, ("a",), "worst_margin.wall")
    assert words.metric_verdict(margins, BOTH).text == "Highest: 'a', 1 mm; 'b' has 500 µm."


def test_who_is_not_ranked_and_why():
    every = runs(
        a="completed", b="diverged", c=["completed", "infeasible", "diverged", "infeasible"]
    )
    assert list(words.failure_verdicts(every)) == [
        (
            "bad", "diverged",
            "'b' ended as 'diverged' at t = 1.25 s and is not ranked. Row 'tool.x' is lost.",
        ),
        (
            "bad", "infeasible",
            "'c' completed 1 of 4 repeats (2 infeasible, 1 diverged) and is not ranked. With seed "
            "8: row 'tool.x' is lost.",
        ),
    ]  # fmt: skip


def test_whose_runs_are_not_to_be_believed():
    ended = RunVerdict("not to be believed", (Verdict("bad", "outcome", "It diverged."),))
    warned = RunVerdict("warning", (Verdict("warning", "energy", "Some."),))
    found = list(words.validity_verdicts({"a": OK, "b": BAD, "c": ended, "d": warned}))
    text = "'b' is not to be believed: It came from nowhere."
    assert found == [Verdict("bad", "energy", text), Verdict("warning", "energy", "'d': Some.")]


def test_a_warning_of_several_runs_is_said_once():
    warned = RunVerdict("warning", (Verdict("warning", "energy", "Some."),))
    found = list(words.validity_verdicts({"a": warned, "b": OK, "c": warned}))
    assert found == [Verdict("warning", "energy", "'a', 'c': Some.")]


def test_an_error_of_rounding_alone_comes_of_an_exact_model():
    true = [FairnessCondition(subject, True, text) for subject, text in DEFAULT_TEXTS.items()]
    both = row({"a": 1e-12, "b": 1e-3}, ("a",))
    (found,) = words.exact_model_verdicts(both, true)
    assert found.level == "note"
    assert "with any gains: 'a'." in found.text
    wrong = [*true[1:], FairnessCondition("belief", True, "mass_scale: 0.8")]
    assert not list(words.exact_model_verdicts(both, wrong))
    assert not list(words.exact_model_verdicts(row({"a": 1e-6, "b": 1e-3}, ("a",)), true))


def test_gains_that_nobody_tuned_are_said_to_be():
    untuned = [FairnessCondition("gains", True, UNTUNED_TEXT)]
    found = list(
        words.caution_verdicts(RunConditions(), CompletedRepeats(1, {}, (0,), True), untuned, {})
    )
    assert [each.subject for each in found] == ["gains"]
    given = [FairnessCondition("gains", True, "given, for every controller")]
    assert not list(
        words.caution_verdicts(RunConditions(), CompletedRepeats(1, {}, (0,), True), given, {})
    )


def test_metres_and_radians_are_not_added_where_blocks_are_told():
    rows = [
        row({"a": 2.0, "b": 4.0, "c": 1.0}, ("a",), unit="m, rad"),
        row({"a": 0.002, "b": 0.004}, ("a",), "rms_phi.tool"),
        row({"a": 0.006, "b": 0.005}, ("b",), "rms_phi.tilt", "rad"),
    ]
    every = runs(a="completed", b="completed", c="diverged")
    text = words.overall_verdict(rows, every, {}).text
    assert text == (
        "Smallest error (rms) in 'tool': 'a', 2 mm; 'b' has 2 times as much. Smallest error (rms) "
        "in 'tilt': 'b', 5 mrad; 'a' is 20 % above. Least effort: not known. Not ranked: 'c' "
        "(diverged)."
    )


@pytest.mark.parametrize("blocks", [("pose",), ("a", "b", "c", "d")])
def test_a_sum_of_metres_and_radians_has_no_per_cent(blocks):
    """Of one block of a whole pose, or of more blocks than a sentence bears."""
    values, effort = {"a": 0.002, "b": 0.003}, {"a": 2.0, "b": 3.0}
    rows = [
        row(values, ("a",), unit="m, rad"),
        *(row(values, ("a",), f"rms_phi.{name}", "m, rad") for name in blocks),
        row(effort, ("a",), "effort", "(N m, N)^2 s"),
    ]
    text = words.overall_verdict(rows, runs(a="completed", b="completed"), {}).text
    assert text == (
        "Smallest error (rms): 'a', 0.002 (m, rad); 'b' has 0.003 (m, rad). "
        "Least effort: 'a', 2 (N·m, N)²·s; 'b' has 3 (N·m, N)²·s."
    )
    assert words.metric_verdict(rows[0], runs(a="completed", b="completed")).text.endswith(
        "'b' has 0.003 (m, rad)."
    )


def pair(lower, higher, low=0.001, high=0.003, p=0.01):
    difference = Difference(repeats=5, mean=0.002, low=low, high=high, p=p)
    return PairedComparison(lower, higher, difference, p, supported=True)


def around(mean):
    return Spread(5, mean, 0.9 * mean, 1.1 * mean, mean, 1.2 * mean)


ROUNDED = "below 1×10⁻⁹, which is rounding"
ABOUT = [
    (row({"a": 0.002, "b": 0.003}, ("a",)), "Lowest: 'a', 2 mm; 'b' is 50 % above."),
    (row({"a": 0.002, "b": 0.004}, ("a",)), "Lowest: 'a', 2 mm; 'b' has 2 times as much."),
    (row({"a": 0.0, "b": 0.004}, ("a",)), f"Lowest: 'a', {ROUNDED}; 'b' has 4 mm."),
    (row({"a": 1e-9, "b": 0.004}, ("a",)), f"Lowest: 'a', {ROUNDED}; 'b' has 4 mm."),
    (row({"a": 0.002, "b": math.nan}, ("a",)), "Lowest: 'a', 2 mm; 'b' has none."),
    (row({"a": 0.002, "b": 0.002}, ("a", "b")), "Lowest: 'a', 'b', 2 mm."),
    (
        row({"a": 0.002, "b": 0.002}, ("a", "b"), pairs=(pair("a", "b"),)),
        "Best: 'a', 'b', 2 mm, equal within 1 %.",
    ),
    (
        row({"a": 0.003, "b": 0.002}, ("a", "b"), pairs=(pair("b", "a"),)),
        "Best: 'a', 'b', 2 mm, not distinguishable from each other.",
    ),
    (
        row(
            {"a": 0.002, "b": 0.004}, ("a",), pairs=(pair("a", "b"),),
            spreads={"a": around(0.002), "b": around(0.004)},
        ),
        "Best: 'a', 2 mm on average (95 % confidence: 1.8 to 2.2 mm); 'b' has 2 times as much (by "
        "1 to 3 mm, p = 0.01).",
    ),
    (
        row({"a": 2.0, "b": 4.0}, ("a",), unit="1", pairs=(pair("a", "b", 1.0, 3.0, 0.0009),)),
        "Best: 'a', 2; 'b' has 2 times as much (by 1 to 3, p < 0.001).",
    ),
    (
        row({"a": 0.002, "b": 0.004}, ("a",), pairs=(pair("a", "b", 0.002, 0.002),)),
        "Best: 'a', 2 mm; 'b' has 2 times as much.",
    ),
    (row({"a": 0.002, "b": 0.003}), "No difference between the controllers (largest value 3 mm)."),
    (row({"a": math.nan, "b": math.nan}), "No controller that is ranked has a value."),
    (
        row({"a": 2.0, "b": 3.0}, metric="energy_drift", unit="J"),
        "This metric judges the integration, not the controllers (largest value 3 J).",
    ),
    (
        row({"a": 0.002, "b": 0.004}, pairs=(pair("a", "b"),)),
        "Not distinguishable in 1 repeats: means of 2 mm to 4 mm.",
    ),
    (
        row({"a": 0.002, "b": 0.00201}, pairs=(pair("a", "b"),)),
        "No difference between the controllers (largest value 2.01 mm).",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("of", "text"), ABOUT)
def test_one_metric_in_a_sentence(of, text):
    assert words.metric_verdict(of, BOTH) == Verdict("note", of.metric, text)


def test_where_no_run_completed_there_is_no_difference_to_tell():
    found = words.metric_verdict(row({"a": 0.002, "b": 0.4}), runs(a="diverged", b="infeasible"))
    assert found.text == "No controller that is ranked has a value."


def test_where_one_controller_is_ranked_its_metric_differs_from_none():
    found = words.metric_verdict(row({"a": 0.002, "b": 0.4}), runs(a="completed", b="infeasible"))
    assert found.text == "'a' alone is ranked, with 2 mm."


def done(repeats=1, levels=None, seeds=(1, 2, 3, 4, 5), same=True):
    return CompletedRepeats(repeats, levels or {}, seeds[:repeats], same)


REPEATS = [
    (RunConditions(random=True), done(), "one run each"),
    (RunConditions(random=True, asked=3), done(), "one run each (3 were asked for)"),
    (
        RunConditions(random=True, asked=3), done(2),
        "2 of each (3 were asked for), paired: the same seeds for all, 1, 2",
    ),
    (
        RunConditions(random=True, asked=5), done(5),
        "5 of each, paired: the same seeds for all, 1, 2, 3, 4, ...",
    ),
    (
        RunConditions(random=True, asked=4), done(4),
        "4 of each, paired: the same seeds for all, 1, 2, 3, 4",
    ),
    (RunConditions(random=False), done(), "one run each; nothing in the scenario is random"),
    (
        RunConditions(random=False, asked=2), done(),
        "nothing in the scenario is random: repeats change nothing, and each ran once",
    ),
    (
        RunConditions(random=False, asked=3, levels=(0.1,)), done(levels={0.1: 3}),
        "one run each of the scenario as it is, where nothing is random; with a mismatch 3 of each",
    ),
    (
        RunConditions(random=False, asked=3, levels=(0.1, 0.2)), done(levels={0.1: 2, 0.2: 1}),
        "one run each of the scenario as it is, where nothing is random; with a mismatch 2 of each "
        "(3 were asked for)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("conditions", "finished", "text"), REPEATS)
def test_how_many_runs_are_compared(conditions, finished, text):
    assert conditions.repeats(finished) == FairnessCondition("repeats", True, text)
    assert not conditions.repeats(finished._replace(same_seeds=False)).equal


PROGRESS = [
    (RunConditions(), done(), ""),
    (RunConditions(asked=3), done(2), "; all controllers have 2 of 3 repeats"),
    (RunConditions(asked=3, random=False), done(), ""),
    (
        RunConditions(asked=3, random=True, levels=(0.1, 0.2)), done(2, {0.1: 3, 0.2: 0}),
        "; all controllers have 2 of 3 repeats, and of 3 with a mismatch 3 at 10 %, 0 at 20 %",
    ),
    (
        RunConditions(asked=3, random=False, levels=(0.1,)), done(1, {0.1: 2}),
        "; all controllers have of 3 with a mismatch 2 at 10 %",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("conditions", "finished", "text"), PROGRESS)
def test_how_far_an_interrupted_comparison_is(conditions, finished, text):
    assert conditions.progress(finished) == text


def tuned(at_border=(), trials=4, gains=("kp",), searches=1):
    """Return a search, as far as sentences look at it."""
    return SimpleNamespace(
        borders=at_border,
        limits=(),
        trials=[None] * trials,
        gains=gains,
        cost="rms_phi",
        plants=1,
        simulations=trials,
        every=[1] * searches,
        in_terms=False,
    )


UNEQUAL = FairnessCondition("limits", False, "")
LUCK = (
    "warning",
    "luck",
    "One search for each law: the intervals and tests do not contain the randomness of the "
    "search, and may take it for a difference of laws. --searches 5 includes it.",
)
CAUTIONS = [
    (RunConditions(), done(), [FairnessCondition("limits", True, "")], {}, []),
    (
        RunConditions(stopped=True, asked=3), done(2), [], {},
        [("warning", "stopped",
          "Stopped by the user; all controllers have 2 of 3 repeats. What was done is compared.")],
    ),
    (
        RunConditions(failure="b"), done(), [], {},
        [("warning", "machine", "The machine failed. What was done is compared.")],
    ),
    (
        RunConditions(), done(), [FairnessCondition("belief", False, ""), UNEQUAL,
        FairnessCondition("gains", False, "")], {},
        [("note", "belief",
          "Not all laws have the same model: the ranking is of each law with its model."),
         ("warning", "fairness",
          "Not equal for all: limits, gains. The ranking mixes these with the laws.")],
    ),
    (
        RunConditions(random=True), done(), [], {},
        [("warning", "chance",
          "Each controller ran once, with one draw of the random values: the ranking holds for "
          "this draw alone. Ask for repeats.")],
    ),
    (RunConditions(random=True, asked=2), done(2), [], {}, []),
    (
        RunConditions(random=False), done(), [], {},
        [("note", "marks",
          "Each controller ran once, without random values: the ranking holds for this scenario "
          "alone, and no value is marked as best. A mark needs a test over several runs: ask for "
          "a mismatch of the true robot, or add noise and ask for repeats.")],
    ),
    (RunConditions(random=False, levels=(0.1,)), done(), [], {}, []),
    (
        RunConditions(), done(), [],
        {"a": tuned(("controller.kp", "controller.kd")), "b": tuned(), "c": tuned(("x",))},
        [("warning", "tuning",
          "Tuned to an end of their range: kp, kd of 'a'; x of 'c'. A better value may lie "
          "beyond, or the cost omits the price of such a gain; so no controller is marked as "
          "best.")],
    ),
    (RunConditions(random=True), done(5), [], {"a": tuned(searches=1)}, [LUCK]),
    (RunConditions(random=False, levels=(0.1,)), done(1, {0.1: 4}), [], {"a": tuned()}, [LUCK]),
    (RunConditions(random=True), done(5), [], {"a": tuned(searches=3)}, []),
    (RunConditions(random=True), done(5), [], {"a": tuned(gains=())}, []),
]  # fmt: skip


@pytest.mark.parametrize(("conditions", "finished", "known", "tunings", "expected"), CAUTIONS)
def test_what_to_keep_in_mind_of_a_ranking(conditions, finished, known, tunings, expected):
    assert list(words.caution_verdicts(conditions, finished, known, tunings)) == expected


def test_settings_that_an_entry_does_not_take_over_are_listed():
    found = list(words.ignored_settings_verdicts({"a": ("gains.kp = 2", "modes"), "b": ("x",)}))
    assert [each.text for each in found] == [
        "'a' does not take over settings of the scenario's own controller: gains.kp = 2; modes.",
        "'b' does not take over settings of the scenario's own controller: x.",
    ]


MISMATCHES = [
    ((5, 5), (5, 5), ("a",), "note", "Lowest error at 20 %: 'a', 2 mm on average."),
    ((5, 5), (5, 5), (), "note", "Lowest error at 20 %: no clear difference."),
    (
        (5, 5), (5, 4), ("a",), "warning",
        "Lowest error at 20 %: 'a', 2 mm on average. Not all runs completed: 'b' in 4 of 5.",
    ),
    (
        (5, 4), (0, 0), (), "warning",
        "Lowest error at 20 %: nothing to rank. Not all runs completed: 'a' in 4 of 5, 'b' in 0 of "
        "0.",
    ),
    (
        (5, 5), (5, 5, 3), (), "warning",
        "Lowest error at 20 %: 'a', 2 mm on average. Not ranked, beyond a kept limit: 'b' in 3 of "
        "5.",
    ),
    ((5, 5, 1), (5, 5, 3), (), "note", "Lowest error at 20 %: no clear difference."),
]  # fmt: skip


@pytest.mark.parametrize(("of_a", "of_b", "best", "level", "text"), MISMATCHES)
def test_what_the_largest_mismatch_does(of_a, of_b, best, level, text):
    whole = MismatchStatistics(1, 1, 0.0, 0.0, 0.0)
    entries = {
        name: (whole, MismatchStatistics(*of[:2], 0.0, 0.0, 0.0, *of[2:]))
        for name, of in (("a", of_a), ("b", of_b))
    }
    values = {"a": 0.002, "b": 0.003}
    robustness = Robustness("rms_phi", "m", (0.0, 0.2), entries, (row({}), row(values, best)))
    assert words.mismatch_verdict(robustness) == Verdict(level, "mismatch", text)


def fact(found, subject):
    return next(each for each in found if each.subject == subject)


GAINS = [
    ({"a": tuned(), "b": tuned()}, True,
     "tuned with 4 simulations each, for rms_phi, on a seed that no repeat has"),
    ({"a": tuned(), "b": tuned(gains=())}, True,
     "tuned with 4 simulations each, for rms_phi, on a seed that no repeat has; without gains: "
     "'b'"),
    ({"a": tuned(), "b": tuned(trials=3)}, False,
     "tuned with unequal numbers of simulations: 4 for 'a', 3 for 'b'"),
    ({"a": tuned()}, False, "tuned with unequal numbers of simulations: 4 for 'a'"),
    ({"a": tuned(gains=()), "b": tuned(gains=())}, True, "there are none to tune"),
]  # fmt: skip


@pytest.mark.parametrize(("tunings", "equal", "text"), GAINS)
def test_whether_all_were_tuned_alike(helix, tunings, equal, text):
    found = fact(
        fairness_conditions({name: helix(3, controller=name) for name in "ab"}, tunings), "gains"
    )
    assert found == FairnessCondition("gains", equal, text)


def test_motors_that_differ_are_found_on_the_runs(motors):
    def of(*limits):
        return [motors([0.0, 1.0], [[1.0, 1.0]] * 2, limits=each) for each in limits]

    def limits(*runs):
        return fact(fairness_conditions(dict(zip("ab", runs, strict=True))), "limits")

    assert limits(*of([1.0, 2.0], [1.0, 3.0])) == (
        "limits", False, "the runs do not have the same motors"
    )  # fmt: skip
    assert limits(*of([1.0, math.inf], [1.0, math.inf])) == ("limits", True, "u0 1 N·m")
    assert limits(*of([0.0, math.inf], [0.0, math.inf])) == ("limits", True, "none known")


def test_of_margins_higher_is_better_and_a_name_alone_is_no_sentence():
    from ukctrl.core.number_text import first_sentence
    from ukctrl.reports.report_table import ReportTable, TableColumn, better_direction

    table = ReportTable.from_rows([TableColumn("metric")], [["rms_phi"], ["worst_margin.wall"]])
    assert better_direction(table) == "Lower is better, of 'worst_margin' higher."
    assert (
        better_direction(ReportTable.from_rows([TableColumn("metric")], [["rms_phi"]]))
        == "Lower is better throughout."
    )
    first = f"'light': 'wall' was crossed{' by much' * 20}."
    assert first_sentence(f"{first} Others held.") == (first, "Others held.")
