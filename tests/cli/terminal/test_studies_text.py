"""What `compare`, `tune` and `learn` print, around tables that are made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from printed_lines import plain, styles

from ukctrl.cli.terminal.studies_text import report_lines, tuned_lines
from ukctrl.core.verdict import Verdict
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn
from ukctrl.studies.comparison.comparison_page import report
from ukctrl_laws.learning.command import learning_lines

OUT = Path("out")
TABLES = "ukctrl.studies.comparison.comparison_page"


def table(*cells):
    return ReportTable([TableColumn("", "name")], [[TableCell(*cell)] for cell in cells])


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture(name="tables")
def _tables(monkeypatch):
    """Give a function that sets the tables of a comparison, and return what they were asked."""
    asked = {}

    def give(metrics, robustness=None, luck=None, fronts=None):
        def record(name, made):
            def make(*given, **named):
                asked[name] = given, named
                return made

            return make

        monkeypatch.setattr(f"{TABLES}.metric_table", record("metrics", metrics))
        monkeypatch.setattr(f"{TABLES}.robustness_table", record("robustness", robustness))
        monkeypatch.setattr(f"{TABLES}.search_spread_table", record("luck", luck))
        monkeypatch.setattr(f"{TABLES}.front_table", record("fronts", fronts))
        return asked

    return give


def fact(subject, equal=True):
    return SimpleNamespace(subject=subject, text=f"about {subject}.", equal=equal)


def compared(**given):
    plain_comparison = {
        "title": "A comparison", "conditions": SimpleNamespace(asked=1), "tunings": {},
        "facts": (), "robustness": None, "fronts": None, "duels": "duels", "stands": None,
        "verdicts": (Verdict("good", "overall", "All alike."),),
    }  # fmt: skip
    return SimpleNamespace(**plain_comparison | given)


def comparison_lines(comparison, folder):
    return report_lines(report(comparison), folder)


def test_a_comparison_is_a_title_a_table_and_where_its_files_are(tables):
    asked = tables(table(["rms_phi"]))
    comparison = compared()
    lines = comparison_lines(comparison, OUT)
    assert plain(lines) == [
        "A comparison", "  rms_phi", "All alike.", "report  out/report.html"
    ]  # fmt: skip
    assert styles(lines)["A comparison"] == "bold"
    assert asked["metrics"] == ((comparison,), {"short": True})


def test_all_tables_of_a_comparison_have_their_heads(tables):
    asked = tables(
        table(["rms_phi", "best"]), table(["robust"]), table(["luck"]), fronts=table(["front"])
    )
    gains = SimpleNamespace(gains=(SimpleNamespace(path="controller.k"),), before=2.0, after=1.0,
                            best=SimpleNamespace(gains={"controller.k": 3.0}))  # fmt: skip
    fronts = SimpleNamespace(metrics=("rms_phi", "effort"))
    lines = comparison_lines(
        compared(
            robustness=SimpleNamespace(metric="peak_phi"), fronts=fronts, tunings={"a": gains}
        ), OUT,
    )  # fmt: skip
    assert plain(lines) == [
        "A comparison", "  rms_phi*", "  * best, by a test", "", "median peak_phi", "  robust", "",
        "rms_phi at equal effort", "  front", "", "luck of tuning", "  luck", "", "tuned",
        "     cost    gains", "  a  2 -> 1  k 3", "All alike.", "report  out/report.html",
    ]  # fmt: skip
    assert styles(lines).items() >= {
        "median peak_phi": "bold", "rms_phi at equal effort": "bold", "luck of tuning": "bold",
        "tuned": "bold", "* best, by a test": "dim",
    }.items()  # fmt: skip
    assert asked["fronts"] == ((fronts, "duels"), {})


def test_a_table_of_robustness_needs_an_answer_and_cards_need_gains(tables):
    tables(table(["rms_phi"]), table(["robust"]))
    without = SimpleNamespace(gains=())
    assert "  robust" not in plain(comparison_lines(compared(tunings={"a": without}), OUT))
    tables(table(["rms_phi"]))
    robust = compared(robustness=SimpleNamespace(metric="peak_phi"), tunings={"a": without})
    text = plain(comparison_lines(robust, OUT))
    assert "median peak_phi" not in text
    assert "tuned" not in text


@pytest.mark.parametrize(
    ("asked", "tuned", "equal", "told"),
    [
        (1, False, True, []),
        (2, False, True, ["repeats"]),
        (1, True, True, ["gains"]),
        (1, False, False, ["repeats", "gains", "belief"]),
    ],
)
def test_facts_of_a_comparison_are_told_where_they_are_worth_it(asked, tuned, equal, told, tables):
    tables(table(["x"]))
    facts = [fact(subject, equal) for subject in ("belief", "other", "gains", "repeats")]
    tunings = {"a": SimpleNamespace(gains=())} if tuned else {}
    lines = comparison_lines(
        compared(facts=facts, conditions=SimpleNamespace(asked=asked), tunings=tunings), OUT
    )
    wanted = [f"  {subject:<9}about {subject}." for subject in told]
    assert plain(lines)[1 : 1 + len(told)] == wanted
    assert plain(lines)[1 + len(told)] == "  x"
    assert all(styles(lines)[f"about {subject}."] == "dim" for subject in told)


def test_two_lines_follow_the_table_and_name_what_the_page_tells_beside_its_metrics(tables):
    tables(table(["x"]))
    overall, note = Verdict("bad", "overall", "Who wins."), Verdict("note", "fair", "A note.")
    verdicts = [
        overall, Verdict("warning", "chance", "One draw."), note, note,
        Verdict("good", "rms_phi", "The smallest."),
    ]  # fmt: skip
    lines = comparison_lines(compared(verdicts=verdicts), OUT)
    assert plain(lines)[1:] == [
        "  x", "problem: Who wins.", "report  out/report.html, with 1 warning and 1 note",
    ]  # fmt: skip
    (alone,) = [line for line in plain(comparison_lines(compared(), OUT)) if "report" in line]
    assert alone == "report  out/report.html"


# A search for gains


PAGE = "ukctrl.studies.tuning.tuning_page"


def searched(monkeypatch, metrics=None, cost=1.0, ok=True, **given):
    tuning = {
        "plants": 1, "aggregate": "average", "entry": "pid", "method": "cma", "cost": "rms_phi",
        "limits": (), "simulations": 30, "budget": 40, "best": SimpleNamespace(cost=cost),
    }  # fmt: skip
    tuned = SimpleNamespace(
        title="A search", tuning=SimpleNamespace(**tuning | given), ok=ok, results="results",
        verdicts=[Verdict("bad", "ends", "It failed.")],
    )  # fmt: skip
    asked = []
    monkeypatch.setattr(f"{PAGE}.card_name", lambda made: "arm pid")
    monkeypatch.setattr(f"{PAGE}.gain_table", lambda made: table([f"gains of {made.entry}"]))
    monkeypatch.setattr(f"{PAGE}.cost_table", lambda made: table([f"costs of {made.title}"]))
    monkeypatch.setattr(
        f"{PAGE}.metric_table", lambda *given, **named: asked.append((given, named)) or metrics
    )
    lines = tuned_lines(tuned, "an arm.toml", OUT)
    assert asked == [(("results",), {"blocks": False})]
    return lines


def test_what_a_search_has_found(monkeypatch):
    lines = searched(monkeypatch)
    text = plain(lines)
    assert text[0] == "A search"
    assert text[1].startswith("  tuned    pid: ")
    assert text[2:] == [
        "  cost     rms_phi", "  budget   30 of 40 simulations", "  gains of pid",
        "  costs of A search", "problem: It failed.", "report  out/tune.html",
        "data    out/history.csv", "card    out/arm pid.toml",
        "next    ukctrl run 'an arm.toml' -c 'out/arm pid.toml'",
    ]  # fmt: skip
    found = styles(lines)
    assert [found[text] for text in ("A search", "rms_phi", "next")] == ["bold", "dim", "bold"]
    assert found["problem: It failed."] == "bold red"


@pytest.mark.parametrize(
    ("cost", "ok", "ends"),
    [
        (1.0, False, ["data    out/history.csv", "card    out/arm pid.toml"]),
        (float("inf"), False, ["report  out/tune.html", "data    out/history.csv"]),
    ],
)
def test_a_card_is_written_where_there_is_a_best_and_recommended_where_it_holds(
    cost, ok, ends, monkeypatch
):
    assert plain(searched(monkeypatch, cost=cost, ok=ok))[-2:] == ends


def test_plants_limits_and_metrics_of_a_search_are_told(monkeypatch):
    metrics = table(*([f"m{k}"] for k in range(9)))
    text = plain(
        searched(monkeypatch, metrics=metrics, plants=3, limits=("peak_u <= 4", "work <= 2"))
    )
    assert "  cost     rms_phi on 3 plants, average" in text
    assert "  limits   peak_u <= 4, work <= 2" in text
    assert [line for line in text if line.startswith("  m")] == [f"  m{k}" for k in range(8)]
    assert "  and 1 more, in the files" in text


# Practice


@pytest.mark.parametrize("commands", [[], [("first", "ukctrl a"), ("then", "ukctrl run\x1b b")]])
def test_what_trials_were_worth(commands, monkeypatch):
    asked, page = [], "ukctrl_laws.learning.command"
    monkeypatch.setattr(f"{page}.trial_table", lambda practice: table(["trials"]))
    monkeypatch.setattr(f"{page}.next_commands", lambda *given: asked.append(given) or commands)
    practice = SimpleNamespace(
        scenario=SimpleNamespace(title="An arm learns"), verdicts=[Verdict("note", "x", "Good.")],
        learning=SimpleNamespace(gain=0.5, cutoff=12.5, lead=2),
    )  # fmt: skip
    lines = learning_lines(practice, Path("out/learned.toml"))
    text = plain(lines)
    assert text[:7] == [
        "An arm learns", "  learning gain 0.5, cutoff 12.5 Hz, lead 2 ticks", "  trials", "Good.",
        "report  out/learn.html", "data    out/trials.csv", "card    out/learned.toml",
    ]  # fmt: skip
    assert text[7:] == ["next    ukctrl run\\x1b b"] * bool(commands)
    assert asked == [(practice, Path("out/learned.toml"))]
    assert styles(lines)["An arm learns"] == "bold"
