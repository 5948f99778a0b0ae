"""What is written of a comparison, cell by cell, from runs made by hand."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.cli.terminal.lines import StyledText
from ukctrl.cli.terminal.studies_text import report_lines
from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask, repeat_seed
from ukctrl.studies.comparison import Comparison, RunConditions, comparison_page
from ukctrl.studies.comparison import compare as compare_controllers
from ukctrl.studies.comparison.comparison_page import page_html as html
from ukctrl.studies.comparison.comparison_tables import metric_table, robustness_table
from ukctrl.studies.comparison.ranking import mismatch_robustness
from ukctrl.studies.tuning import Gain, GainSearch, TuningTrial

NAN = math.nan
RUN_OUTCOME = importlib.import_module("ukctrl.studies.batch.run_summary")
MASSES = Scenario.load("two-mass-spring", {"timing": {"duration": 0.1, "sample": 0.05}})


def outcome(entry, repeat=0, level=None, done=True, **metrics):
    return RunSummary(
        controller=entry, repeat=repeat, seed=10 + repeat, mismatch=level,
        status="completed" if done else "diverged", message="" if done else "it left.",
        end_time=1.0, metrics=metrics,
    )  # fmt: skip


def compared(helix, outcomes, **given):
    names = dict.fromkeys(one.controller for one in outcomes)
    runs = {
        name: helix(101, controller=name,
                    status=next(o.status for o in outcomes if o.controller == name))
        for name in names
    }  # fmt: skip
    return Comparison(results=runs, outcomes=tuple(outcomes), **given)


def printed(comparison):
    return report_lines(comparison_page.report(comparison), comparison_page.Path("out"))


def row_of(table, name):
    return next(row for row in table.rows if row[0].text == name)


SINGLE = [
    outcome("a", rms_phi=1.0, settling_time=NAN, work=2.0),
    outcome("b", rms_phi=2.0, settling_time=3.0),
    outcome("c", done=False, rms_phi=0.5, settling_time=NAN, work=0.1),
]


def test_metrics_of_single_runs(helix):
    table = metric_table(compared(helix, SINGLE))
    assert [(column.head, column.series) for column in table.columns] == [
        ("metric", None), ("unit", None), ("a", 0), ("b", 1), ("c", 2),
    ]  # fmt: skip
    status = table.rows[0][2:]
    assert [(cell.text, cell.mark, cell.note) for cell in status] == [
        ("completed", "good", ""), ("completed", "good", ""), ("diverged", "bad", ""),
    ]  # fmt: skip
    shown = {row[0].text: [(cell.text, cell.mark) for cell in row[2:]] for row in table.rows}
    assert shown["rms_phi"] == [("1", ""), ("2", ""), ("(0.5)", "faint")]
    # What has not settled says so, also where the run ended early.
    assert shown["settling_time"] == [
        ("not settled", ""), ("3", ""), ("not settled", "faint"),
    ]  # fmt: skip
    assert shown["work"] == [("2", ""), ("– (0 of 1)", ""), ("(0.1)", "faint")]
    assert row_of(table, "rms_phi")[0].note == ""
    assert row_of(table, "work")[1].text == "J"
    assert len(table.meanings) == len(table.rows)
    assert table.meanings[0] == ""


REPEATED = [
    outcome(name, k, rms_phi=value, work=work, done=done)
    for name, values, works, fails in (
        ("a", (1.0, 1.2, 1.1), (5.0, 5.0, 5.0), ()),
        ("b", (2.0, 2.2, 2.1), (6.0, NAN, 7.0), ()),
        ("c", (0.1, 0.2, 0.3), (1.0, 1.0, 1.0), (2,)),
    )
    for k, (value, work) in enumerate(zip(values, works, strict=True))
    for done in (k not in fails,)
]


def test_metrics_over_repeats(helix):
    comparison = compared(helix, REPEATED)
    table = metric_table(comparison)
    assert [cell.note for cell in table.rows[0][2:]] == ["", "", "2 of 3"]
    assert [cell.note_failed for cell in table.rows[0][2:]] == [False, False, True]
    line = row_of(table, "rms_phi")
    assert line[0].note == "median · worst"
    # Student's 95 % quantile of two degrees of freedom is 4.303: half = 4.303 0.1 / sqrt(3).
    assert [cell.text for cell in line[2:4]] == ["1.10 ± 0.25", "2.10 ± 0.25"]
    assert [(cell.mark, cell.note) for cell in line[2:]] == [
        ("best", "1.1 · 1.2"), ("", "2.1 · 2.2"), ("faint", "0.15 · 0.2"),
    ]  # fmt: skip
    assert line[4].text.startswith("[0.1")
    work = row_of(table, "work")
    assert [cell.note for cell in work[2:]] == ["", "6.5 · 7", ""]
    assert work[2].text == "5 ± 0"
    assert work[3].text.endswith("(2 of 3)")
    short = metric_table(comparison, short=True)
    assert row_of(short, "work")[0].note == ""
    assert row_of(short, "rms_phi")[0].note == "median · worst"
    assert not any("." in row[0].text for row in short.rows)


LEVELS = [
    *(outcome("a", k, rms_phi=v) for k, v in enumerate((1.0, 1.2, 1.1))),
    *(outcome("b", k, rms_phi=v) for k, v in enumerate((2.0, 2.2, 2.1))),
    *(outcome("a", k, 0.1, rms_phi=v) for k, v in enumerate((1.0, 3.0, 2.0))),
    *(outcome("b", k, 0.1, rms_phi=4.0, done=k != 1) for k in range(3)),
]


def test_errors_at_each_mismatch(helix):
    comparison = compared(helix, LEVELS)
    table = robustness_table(comparison)
    assert [column.head for column in table.columns] == ["mismatch", "unit", "a", "b"]
    # Of 1, 2, 3 the quantiles 0.1 and 0.9 are 1.2 and 2.8.
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["0 %", "m, rad", "1.1", "2.1"], ["10 %", "m, rad", "2", "4"],
    ]  # fmt: skip
    assert [(cell.mark, cell.note, cell.note_failed) for cell in table.rows[1][2:]] == [
        ("", "1.2 to 2.8", False), ("", "2 of 3 completed", True),
    ]  # fmt: skip
    assert table.rows[0][2].note == "1.02 to 1.18"
    assert robustness_table(compared(helix, SINGLE)) is None
    data = comparison.to_dict()["mismatch"]
    assert data["levels"] == [0.0, 0.1]
    assert data["band"] == [0.1, 0.9]
    assert (data["metric"], data["unit"]) == ("rms_phi", "m, rad")
    assert data["controllers"]["b"][1] == {
        "runs": 3, "completed": 2, "median": 4.0, "low": 4.0, "high": 4.0, "crossed": 0,
    }  # fmt: skip
    assert data["best"] == [["a"], []]  # one alone is nothing to rank


def test_a_level_at_which_nobody_completed_has_no_error():
    runs = {0.2: {"a": [outcome("a", level=0.2, rms_phi=1.0, done=False)]}, 0.0: {}}
    found = mismatch_robustness(runs, "rms_phi", Labels())
    assert found.levels == (0.0, 0.2)
    zero, far = found.entries["a"]
    assert (zero.runs, zero.completed) == (0, 0)
    assert (far.runs, far.completed) == (1, 0)
    assert math.isnan(far.median)


def test_every_run_is_a_line_and_every_controller_another(helix):
    comparison = compared(helix, LEVELS)
    head, *lines = csv.reader(io.StringIO(comparison.runs_csv()))
    assert head[:5] == ["controller", "repeat", "seed", "mismatch", "status"]
    place = head.index("rms_phi")
    assert [[*line[:5], line[place]] for line in (lines[0], lines[-2])] == [
        ["a", "0", "10", "", "completed", "1.0"],
        ["b", "1", "11", "0.1", "diverged", "4.0"],
    ]
    assert len(lines) == len(LEVELS)
    head, *lines = csv.reader(io.StringIO(comparison.to_csv()))
    of_a = dict(zip(head, lines[0], strict=True))
    assert (of_a["controller"], of_a["status"]) == ("a", "completed")
    assert (of_a["repeats"], of_a["completed"]) == ("3", "3")
    got = [float(of_a[f"rms_phi:{what}"]) for what in ("ci_low", "ci_high", "median", "worst")]
    half = 4.302652729749462 * 0.1 / math.sqrt(3.0)
    np.testing.assert_allclose(got, [1.1 - half, 1.1 + half, 1.1, 1.2], rtol=1e-9)
    head, *_ = csv.reader(io.StringIO(compared(helix, SINGLE).to_csv()))
    assert not {"repeats", "completed", "rms_phi:median"} & set(head)


def test_the_record_is_whole(helix):
    comparison = compared(helix, REPEATED, conditions=RunConditions(random=True, asked=3))
    record = json.loads(comparison.to_json())
    assert (record["scenario"], record["robot"]) == ("scara-helix", "scara")
    assert record["repeats"] == {"count": 3, "asked": 3, "seeds": [10, 11, 12], "random": True}
    assert record["best"]["rms_phi"] == ["a"]
    assert record["units"]["work"] == "J"
    assert record["verdicts"] == [
        {"subject": each.subject, "text": each.text} for each in comparison.verdicts
    ]
    assert record["conditions"] == {
        each.subject: {"equal": each.equal, "text": each.text} for each in comparison.facts
    }
    of_b = record["controllers"][1]
    assert (of_b["name"], of_b["status"], of_b["verdict"]) == ("b", "completed", "ok")
    assert (of_b["gains"], of_b["believed"], of_b["completed"]) == ("given", None, 3)
    assert (of_b["message"], of_b["verdict_reasons"]) == ("", [])
    assert of_b["metrics"]["rms_phi"] == pytest.approx(2.1)
    assert of_b["statistics"]["work"]["repeats"] == 2
    assert of_b["statistics"]["work"]["worst"] == 7.0
    assert record["controllers"][2]["completed"] == 2
    (pair,) = record["differences"]["rms_phi"]
    assert (pair["lower"], pair["higher"], pair["supported"]) == ("a", "b", True)
    assert pair["mean"] == pytest.approx(1.0)
    assert not {"mismatch", "tuning"} & set(record)
    single = compared(helix, SINGLE).to_dict()
    assert "differences" not in single
    assert "statistics" not in single["controllers"][0]


KP = "controller.feedback.alpha"


def tuning(name, *costs, gains=True):
    trials = tuple(
        TuningTrial(gains={KP: 2.0 + k} if gains else {}, cost=cost, reached=1.0,
        status="completed",
              stage="card" if k == 0 else "simplex")
        for k, cost in enumerate(costs)
    )  # fmt: skip
    of = (Gain(KP, 2.0, 0.2, 20.0),) if gains else ()
    return GainSearch(
        entry=name, gains=of, cost="rms_phi", budget=len(costs), seed=3, trials=trials
    )


TUNINGS = {
    "a": tuning("a", 0.5, 0.25), "b": tuning("b", math.inf, 0.125),
    "c": tuning("c", 1.0, gains=False),
}  # fmt: skip


def test_what_the_page_says_of_each_controller(helix):
    comparison = compared(helix, REPEATED, tunings=TUNINGS)
    found = [
        comparison_page._controller(comparison, name, place) for place, name in enumerate("abc")
    ]
    assert [(each["name"], each["series"]) for each in found] == [("a", 0), ("b", 1), ("c", 2)]
    assert [each["search"] for each in found] == [
        "2 simulations brought the cost, rms_phi, from 0.5 to 0.25 on the training seed.",
        "2 simulations brought the cost, rms_phi, from none: it failed to 0.125 on the training "
        "seed.",
        "It has no gains to tune.",
    ]
    assert [each["gains"] is None for each in found] == [False, False, True]
    assert found[2]["headline"].endswith(" Of its repeats, 2 of 3 completed.")
    assert "Of its repeats" not in found[0]["headline"]
    assert found[0]["belief"] == ""
    plain = comparison_page._controller(compared(helix, SINGLE), "a", 0)
    assert (plain["search"], plain["gains"]) == ("", None)
    lines = "\n".join(
        "".join(part if isinstance(part, str) else part.text for part in line)
        for line in printed(comparison)
    )
    tuned = [line.split() for line in lines.partition("\ntuned\n")[2].splitlines()[:3]]
    assert tuned == [
        ["cost", "gains"], ["a", "0.5", "->", "0.25", "feedback.alpha", "3"],
        ["b", "failed", "->", "0.125", "feedback.alpha", "3"],
    ]  # fmt: skip
    record = comparison.to_dict()
    assert record["tuning"]["a"]["after"] == 0.25


def test_the_terminal_shows_errors_over_mismatch_under_a_title_of_their_own(helix):
    lines = printed(compared(helix, LEVELS))
    at = next(
        k for k, line in enumerate(lines) if list(line) == [StyledText("median rms_phi", "bold")]
    )
    heads, first = ("".join(part.text for part in line).split() for line in lines[at + 1 : at + 3])
    assert heads[0] == "mismatch"
    assert first[:2] == ["0", "%"]
    single = printed(compared(helix, SINGLE))
    assert not any("median" in getattr(part, "text", part) for line in single for part in line)


def test_the_page_of_a_comparison_has_every_part_and_links_to_it(helix):
    for outcomes in (SINGLE, REPEATED, LEVELS):
        comparison = compared(helix, outcomes)
        page = html(comparison, ())
        parts = re.findall(r'<section id="(\w+)"', page)
        assert parts == ["table", "words", "conditions", "controllers", "provenance"]
        assert re.findall(r'<a href="#(\w+)">', page) == parts[:-1]
        assert ("Means over 3 repeats" in page) is (comparison.repeats > 1)
        for fact in comparison.facts:
            assert fact.text.replace("'", "&#39;") in page
        assert "wall_seconds" not in page


def test_a_condition_is_equal_allowed_to_differ_or_warned_of(helix):
    facts = [
        SimpleNamespace(subject="seed", equal=True, text="7"),
        SimpleNamespace(subject="belief", equal=False, text="two"),
        SimpleNamespace(subject="start", equal=False, text="others"),
    ]
    shown = SimpleNamespace(facts=facts)
    same = comparison_page._facts(shown, equal=True)
    other = comparison_page._facts(shown, equal=False)
    assert [[cell.text for cell in row] for row in (*same.rows, *other.rows)] == [
        ["equal", "seed", "7"], ["differs", "belief", "two"], ["differs", "start", "others"],
    ]  # fmt: skip
    assert [row[0].mark for row in (*same.rows, *other.rows)] == ["good", "note", "warning"]


def test_only_tuned_controllers_get_cards_and_only_what_there_is_gets_figures(helix, monkeypatch):
    comparison = compared(helix, REPEATED, tunings=TUNINGS)
    cards = comparison_page.tuned_cards(comparison)
    assert sorted(cards) == ["a", "b"]
    assert "tuned for rms_phi" in cards["a"]
    assert "of scara-helix, seed 3" in cards["a"]
    monkeypatch.setattr(
        comparison_page.html_page, "page_figure",
        lambda name, title, caption, figure: SimpleNamespace(name=name, caption=caption),
    )  # fmt: skip
    for module, names in (
        (comparison_page.overlay, ("errors", "inputs")),
        (
            comparison_page.figures,
            ("error_bands", "tradeoff_figure", "mismatch_figure", "tuning_figure"),
        ),
    ):
        for name in names:
            monkeypatch.setattr(module, name, lambda *given: {})
    drawn = {each.name: each.caption for each in comparison_page.pictures(comparison)}
    assert list(drawn) == ["compare_errors", "compare_tradeoff", "compare_inputs", "compare_tuning"]
    assert drawn == {
        "compare_errors": "Norms of the task's error on a log scale, one colour and dash for each "
        "controller. Lines are medians over the repeats, bands hold 80 % of them.",
        "compare_tradeoff": "Lower left is better. Stairs join the Pareto-optimal controllers. A "
        "hollow marker: not all runs completed; it is drawn if it fits the axes. Those on the "
        "stairs are ringed. Crosses are 95 % confidence intervals of the means.",
        "compare_inputs": "The input of each actuator, by controller. The first repeat is shown.",
        "compare_tuning": "The lowest cost so far, simulation by simulation; the first has the "
        "card's gains.",
    }
    single = {each.name: each.caption for each in comparison_page.pictures(compared(helix, SINGLE))}
    assert list(single) == ["compare_errors", "compare_tradeoff", "compare_inputs"]
    assert single["compare_inputs"].endswith("by controller.")
    levels = {each.name: each.caption for each in comparison_page.pictures(compared(helix, LEVELS))}
    assert levels["compare_mismatch"] == (
        "The parameters of the true robot differ at random by up to the mismatch; the models of "
        "the laws stay the same. Lines are medians of the runs that completed, bands hold 80 % "
        "of them."
    )
    empty = Comparison.of(
        {"a": Result.build(time=[], samples={}, labels=Labels(), status="infeasible")}
    )
    assert comparison_page.pictures(empty) == []


@pytest.mark.parametrize(("conditions", "repeats"), [({}, 3), ({"stopped": True}, 2),
                                                     ({"failure": "no disk"}, 2)])  # fmt: skip
def test_only_repeats_that_all_have_are_paired_where_some_are_missing(helix, conditions, repeats):
    outcomes = [
        one for one in LEVELS if (one.controller, one.repeat, one.mismatch) != ("b", 2, None)
    ]
    comparison = compared(helix, outcomes, conditions=RunConditions(**conditions))
    assert comparison.repeats == repeats
    assert [one.repeat for one in comparison.runs["b"]] == [0, 1]
    assert comparison.seeds == tuple(range(10, 10 + repeats))


# How the runs of a comparison are made


@pytest.fixture(name="planned")
def _planned(monkeypatch):
    """Give the runs that a comparison makes, none of which is simulated."""
    made = []

    def build(random=True, fails=None, **given):
        def run(self, watch):
            made.append(
                (
                    self.controller,
                    self.repeat,
                    self.mismatch,
                    self.with_result,
                    self.strict,
                    self.with_curves,
                )
            )
            if fails and fails(self):
                raise fails(self)
            one = outcome(self.controller, self.repeat, self.mismatch, rms_phi=1.0)
            return one if not random else RunSummary(**{**vars(one), "is_random": True})

        monkeypatch.setattr(SimulationTask, "__call__", run)
        told = []
        controllers = ["servo-baumgarte", "servo-pid"]
        comparison = compare_controllers(
            MASSES, controllers, progress=lambda *done: told.append(done), **given
        )
        return comparison, made, told

    return build


def test_first_runs_come_first_and_repeats_alternate_with_levels(planned):
    comparison, made, told = planned(repeats=2, mismatch=[0.2, 0.1, 0.0, 0.1])
    a, b = "servo-baumgarte", "servo-pid"
    first, later = (True, True, True), (False, False)
    assert made[:2] == [(a, 0, None, *first), (b, 0, None, *first)]
    expected = [(0, 0.1), (0, 0.2), (1, None), (1, 0.1), (1, 0.2)]
    assert [each[:3] for each in made[2:]] == [
        (name, repeat, level) for repeat, level in expected for name in (a, b)
    ]
    assert {each[3:5] for each in made[2:]} == {later}
    assert [each[5] for each in made[2:]] == [each[2] is None for each in made[2:]]
    assert told[-1] == (12.0, 12.0)
    conditions = comparison.conditions
    assert (conditions.random, conditions.asked, conditions.levels) == (True, 2, (0.1, 0.2))
    assert (conditions.stopped, conditions.failure) == (False, "")
    assert comparison.results[a].provenance["gains"] == "given"


def test_a_run_that_recorded_nothing_still_says_whose_it_is(planned):
    comparison, _, _ = planned()
    result = comparison.results["servo-pid"]
    assert len(result.samples) == 0
    assert result.provenance["scenario"] == MASSES.name
    assert result.provenance["seed"] == MASSES.seed
    assert result.title == MASSES.title


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ({}, 2),
        ({"repeats": 3}, 2),
        ({"mismatch": [0.1]}, 22),
        ({"repeats": 2, "mismatch": [0.1]}, 6),
    ],
)
def test_what_chance_does_not_change_is_not_repeated(planned, given, count):
    _, made, _ = planned(random=False, **given)
    assert len(made) == count


def test_what_is_kept_of_a_run(helix):
    late = helix(3, status="diverged", message="it left.")
    time = np.array([2.0, 3.0, 5.5])
    shifted = Result.build(
        time=time, samples={"energy": time}, labels=Labels(), status="completed",
        provenance={"random": True},
    )  # fmt: skip
    kept = RunSummary.of(shifted, "a")
    assert (kept.controller, kept.repeat, kept.mismatch, kept.end_time) == ("a", 0, None, 3.5)
    assert (kept.is_random, kept.completed, kept.result) == (True, True, shifted)
    assert RunSummary.of(shifted, "a", keep=False).result is None
    assert RunSummary.of(shifted, "a", curves=False).curves is None
    assert RunSummary.of(late, "b").message == "it left."
    assert not RunSummary.of(late, "b").completed
    curves = RunSummary.of(helix(3), "a").curves
    assert curves.time[0] == 0.0
    assert curves.time[-1] == 20.0
    assert set(curves.norms) == {
        f"{name}{block}" for name in ("phi", "beta") for block in ("", ".tool", ".tilt")
    }  # fmt: skip
    early = helix(401)
    cut = Result.build(
        time=early.time[:201], samples={"phi": early["phi"][:201], "beta": early["beta"][:201]},
        labels=Labels(rows=("x", "y", "z", "t"), row_units=("m",) * 4, row_blocks=("one",) * 4),
        status="diverged", scenario=early.scenario,
    )  # fmt: skip
    curves = RunSummary.of(cut, "a").curves
    assert set(curves.norms) == {"phi", "beta"}
    assert curves.time[-1] == 20.0  # what was planned, and nothing where it was not reached
    assert np.isnan(curves.norms["phi"][curves.time > 10.0]).all()
    inside = curves.time <= 10.0
    exact = np.interp(curves.time[inside], cut.time, np.linalg.norm(cut["phi"], axis=1))
    np.testing.assert_allclose(curves.norms["phi"][inside], exact, rtol=1e-12)


def test_a_run_is_named_by_whose_it_is():
    run = SimulationTask(scenario=MASSES, controller="a", repeat=2)
    assert str(run) == "'a', repeat 2"
    assert (
        str(SimulationTask(scenario=MASSES, controller="a", mismatch=0.1))
        == "'a', repeat 0 with a mismatch of 0.1"
    )
    lost = run.failure_summary("infeasible", "no")
    assert (lost.controller, lost.repeat, lost.mismatch, lost.seed) == ("a", 2, None, MASSES.seed)
    assert (lost.status, lost.message, lost.end_time, dict(lost.metrics)) == (
        "infeasible", "no", 0.0, {},
    )  # fmt: skip
    assert repeat_seed(5, 0) == 5
    assert len({repeat_seed(5, k) for k in range(20)}) == 20


def test_a_run_tells_how_far_it_is_and_whose_its_outcome_is(helix, monkeypatch):
    given = []

    def simulate(scenario, *, progress, robot, timed=None):
        given.append((scenario, robot))
        progress(0.25, 0.5)
        return helix(3)

    monkeypatch.setattr(RUN_OUTCOME, "simulate", simulate)
    monkeypatch.setattr(RUN_OUTCOME, "simulate_for_metrics", simulate)
    told = []
    run = SimulationTask(
        scenario=MASSES, controller="a", repeat=2, mismatch=0.1, robot="loaded", with_result=True
    )
    found = run(told.append)
    assert told == [0.5]
    assert given == [(MASSES, "loaded")]
    assert (found.controller, found.repeat, found.mismatch, found.seed) == (
        "a",
        2,
        0.1,
        MASSES.seed,
    )
    assert found.result is not None
    assert found.curves is not None
    plain = SimulationTask(scenario=MASSES, controller="a", with_curves=False)(told.append)
    assert (plain.result, plain.curves) == (None, None)


@pytest.mark.parametrize(
    ("error", "strict", "outcome"),
    [
        (InputError("no way."), False, ("infeasible", "no way.")),
        (InputError("no way."), True, InputError("a: no way.")),
        (ValueError("odd"), True, ("interrupted", "ValueError: odd")),
        (MemoryError("none"), False, MemoryError("none")),
    ],
)
def test_what_a_run_that_fails_amounts_to(error, strict, outcome, monkeypatch):
    def simulate(*given, **named):
        raise error

    monkeypatch.setattr(RUN_OUTCOME, "simulate_for_metrics", simulate)
    run = SimulationTask(scenario=MASSES, controller="a", strict=strict)
    if isinstance(outcome, tuple):
        found = run(lambda fraction: None)
        assert (found.status, found.message) == outcome
        return
    with pytest.raises(type(outcome)) as caught:
        run(lambda fraction: None)
    assert str(caught.value) == str(outcome)


def test_a_run_that_its_machine_has_ended_is_no_outcome(helix, monkeypatch):
    ended = helix(3, status="interrupted", message=f"{RUN_OUTCOME.MACHINE_FAILED} no disk.")
    monkeypatch.setattr(RUN_OUTCOME, "simulate_for_metrics", lambda *given, **named: ended)
    with pytest.raises(MachineFailure, match="no disk"):
        SimulationTask(scenario=MASSES, controller="a")(lambda fraction: None)
