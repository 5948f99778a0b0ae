"""What `check` prints, whole, from answers made by hand: facts, limits, findings and files."""

from __future__ import annotations

import dataclasses as dc
from types import SimpleNamespace

import numpy as np
import pytest
from printed_lines import plain, styles

from ukctrl.analysis.check import check_report
from ukctrl.analysis.check.check_result import Diagnostic, OptimisedSummary, RootCause, RowCheck
from ukctrl.analysis.check.contact_phases import LiftInterval
from ukctrl.analysis.check.input_feasibility import Feasibility
from ukctrl.analysis.check.limit_usage import LimitUsage
from ukctrl.analysis.check.motion_ranks import RankHistory
from ukctrl.analysis.check.safety_feasibility import InfeasibleInterval, SafetyFeasibility
from ukctrl.analysis.check.timing import PathTiming
from ukctrl.cli.terminal import check_text
from ukctrl.uk import rank_report


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")


NO_RANK = rank_report(np.zeros((0, 2)))
ONE = RankHistory(
    count=2, highest=2, lowest=2, lowest_at=0.0, worst=0.25, worst_at=1.5, worst_row="a.x",
    dropped=0.0,
)  # fmt: skip
ROW = RowCheck(
    name="a", unit="m", phi=0.0, beta=0.0, reach=0.0, relative_degree=2,
    relative_degree_at_least=2, relative_degree_note="", integrable=True,
)  # fmt: skip


def start(**given):
    plain = {
        "freedoms": 4, "mobility": 3, "motors": 2, "actuation": "under", "passive": NO_RANK,
        "servo": NO_RANK, "grip": NO_RANK, "rows": (), "velocity_rows": None, "moved": {},
        "inputs": {},
    }  # fmt: skip
    return SimpleNamespace(**plain | given)


def motion(**given):
    way = SimpleNamespace(
        kind="plan", why="", stop=None, start=0.5, end=2.0, reached=2.0, lifted=()
    )
    others = ("ranks", "sampling", "stability", "trial", "feasibility", "timing", "optimum", "kept")
    plain = {"way": way, "stability_unknown": ""} | dict.fromkeys(others)
    return SimpleNamespace(**plain | given)


def checked(**given):
    plain = {
        "scenario": "s", "robot": "r", "verdict": "ready", "start": start(), "motion": motion(),
        "internal": None, "warnings": (), "causes": (), "findings": (),
    }  # fmt: skip
    return SimpleNamespace(**plain | given)


def facts(**given):
    return dict(check_report.facts(checked(**given)))


def test_what_a_scenario_without_rows_is_told_by():
    assert facts() == {
        "robot": "r, freedoms: 4, motors: 2",
        "mobility": "3, under actuated",
        "motion": "as the controller has planned it, to the end at t = 2 s",
        "passive rows": "none",
        "servo rows A": "none",
    }
    assert facts(start=start(motors=0))["mobility"] == "3, not actuated"


TIMED = PathTiming(
    duration=4.0, rate=2.5, t=1.25, binding=("motor 'a'", "motor 'b'"), least=0.8125,
    bound_by={"motor 'a'": 0.75, "speed of 'b'": 0.25}, clock_ends=None, span=None,
    retimed=None,
)  # fmt: skip


def test_a_timing_is_told_as_it_is_and_at_best():
    found = facts(motion=motion(timing=TIMED))
    assert found["timing"] == (
        "at 2.5 times its speed it would keep all limits (motors 'a', 'b' together, t = 1.25 s)"
    )
    assert found["fastest"] == (
        "0.8125 s instead of the 4 s of motion, by motors and speeds alone; limited by motor 'a' "
        "75 %, speed of 'b' 25 %"
    )
    alone = facts(motion=motion(timing=dc.replace(TIMED, least=None)))
    assert "fastest" not in alone
    retimed = facts(motion=motion(timing=dc.replace(TIMED, clock_ends=0.8)))
    assert "fastest" not in retimed
    assert retimed["retimed"] == (
        "the paths end at t = 0.8 s; limited by motor 'a' 75 %, speed of 'b' 25 %"
    )


def test_an_optimised_motion_is_told_in_its_own_words():
    found = facts(motion=motion(optimum=OptimisedSummary("0.8 s, effort 2.6", 0.8)))
    assert found["optimised"] == "0.8 s, effort 2.6"


def test_what_a_scenario_with_rows_is_told_by():
    """The inputs at the start are those of rows: without any there is nothing to hold."""
    both = rank_report(np.eye(2))
    given = start(
        rows=(ROW,), servo=both, grip=both, passive=both, moved={"rad": 0.25},
        velocity_rows=SimpleNamespace(sentence=lambda: "the rows roll."), inputs={"u": 1.23456},
    )  # fmt: skip
    rank = "rank 2 of 2 along the motion; smallest singular value 0.25 ({}, t = 1.5 s)"
    along = SimpleNamespace(
        passive=ONE, servo=vary(ONE, worst_row="b.x"), grip=vary(ONE, worst_row="c.x"),
        realisation="orthogonal", realisation_at=0.5,
    )  # fmt: skip
    found = facts(start=given, motion=motion(ranks=along))
    assert list(found.items())[3:] == [
        ("passive rows", rank.format("a.x")),
        ("servo rows A", rank.format("b.x")),
        ("grip H = A G", rank.format("c.x")),
        ("realisation", "orthogonal (ideal)"),
        ("velocity rows", "the rows roll."),
        ("start", "moved to satisfy the constraints, by 0.25 rad"),
        ("first input", "u = 1.235"),
    ]
    along.realisation, along.realisation_at = "tangent", 0.75
    found = facts(start=given, motion=motion(ranks=along))
    assert found["realisation"] == "tangent (t = 0.75 s)"
    assert "first input" not in facts(start=start(inputs={"u": 1.0}))


def vary(along, **given):
    return RankHistory(**(vars(along) | given))


def stretch(start, stop, *limits, motors=()):
    return InfeasibleInterval(
        start=start, stop=stop, limits=limits, motors=motors, gives_up=1.0, worst_at=start,
        conflict=False, crossed=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "stretches", "text"),
    [
        (1.0, (), "all of the motion is feasible with what is kept"),
        (0.875, (stretch(0.5, 0.75, "wall"),),
         "87.5 % of the motion is feasible with what is kept; it is not from t = 0.5 s to 0.75 s "
         "('wall')"),
        (0.5, (stretch(0.5, 0.75, "wall"), stretch(1.0, 2.0, "a", "b", motors=("m", "n"))),
         "50 % of the motion is feasible with what is kept; it is not from t = 1 s to 2 s "
         "('a', 'b', motor 'm') and once more"),
        (0.5, (stretch(0.0, 1.0), stretch(1.5, 1.75, "c"), stretch(2.0, 2.0, "c")),
         "50 % of the motion is feasible with what is kept; it is not from t = 0 s to 1 s "
         "and 2 more times"),
    ],
)  # fmt: skip
def test_how_much_is_feasible_with_what_is_kept(share, stretches, text):
    kept = SafetyFeasibility(share=share, stretches=stretches, contacts=())
    assert facts(motion=motion(kept=kept))["kept limits"] == text


def test_of_contacts_it_is_told_when_they_are_lifted_and_how_often():
    lifts = (
        LiftInterval("heel", 0.5, 1.0),
        LiftInterval("toe", 0.25, 0.5),
        LiftInterval("toe", 1.25, 1.5),
    )
    way = SimpleNamespace(**vars(motion().way) | {"lifted": lifts})
    assert facts(motion=motion(way=way))["lifted"] == (
        "'heel' from 0.5 s to 1 s; 'toe' from 0.25 s to 0.5 s, the first of 2 times"
    )


@pytest.mark.parametrize(("count", "more"), [(12, ""), (13, ", and 1 more that --json lists")])
def test_of_many_first_inputs_a_dozen_are_printed(count, more):
    inputs = {f"u{k}": float(k) for k in range(count)}
    listed = ", ".join(f"u{k} = {k}" for k in range(12))
    assert facts(start=start(rows=(ROW,), inputs=inputs))["first input"] == listed + more


@pytest.mark.parametrize(
    ("dimension", "text"), [(0, "nothing is left."), (2, "2 of 6 states: nothing is left.")]
)
def test_what_the_rows_leave_is_a_fact_unless_it_is_a_warning(dimension, text):
    left = SimpleNamespace(dimension=dimension, states=6, verdict="nothing is left.")
    assert facts(internal=left)["internal"] == text
    assert "internal" not in facts(internal=left, warnings=("nothing is left.",))


# Limits


def use(name, value=1.0, share=None, limit=None, since=None):
    return LimitUsage(
        name=name, unit="N", value=value, t=0.5, limit=limit, share=share, since=since
    )


def uses(**given):
    """Return the rows below the heads, and the style of what is passed."""
    empty = dict.fromkeys(("inputs", "law", "rates", "velocities", "positions", "ground"), ())
    rest = {"elsewhere": False, "missed": None, "refused": None}
    lines = check_text._limit_usage(Feasibility(**empty | rest | given))
    assert lines[0] == ""
    assert plain(lines)[1].split() == ["of", "peak", "at", "limit", "used"]
    return [" ".join(line.split()) for line in plain(lines[2:])], styles(lines[2:])


def test_a_limit_is_told_with_what_is_used_of_it():
    found, look = uses(
        law=(use("lift", -3.0, 0.75, 4.0),), rates=(use("lift", 2.0),),
        velocities=(use("q", 2.0, 0.5, 4.0),), positions=(use("p", 6.0, 25.0, 4.0, since=0.25),),
    )  # fmt: skip
    assert found == [
        "position p 6 N 0.5 s 4 25 times",
        "motor lift -3 N 0.5 s 4 75 %",
        "speed q 2 N 0.5 s 4 50 %",
        "rate lift 2 N 0.5 s none",
    ]
    assert look["25 times"] == "red"
    assert look.keys().isdisjoint({"75 %", "50 %"})


@pytest.mark.parametrize(
    ("value", "text"), [(1e-10, "0 N"), (-1e-10, "0 N"), (1e-8, "1e-08 N"), (-1e-8, "-1e-08 N")]
)
def test_a_peak_of_rounding_is_zero_and_a_small_one_is_not(value, text):
    found, _ = uses(law=(use("lift", value),))
    assert found == [f"motor lift {text} 0.5 s none"]


def test_what_uses_most_of_a_limit_comes_first_and_equals_keep_their_order():
    """Shares that differ by rounding are equal; what has no limit comes after what has one."""
    names = [("a", None), ("b", 0.5), ("c", 1e-10), ("d", 0.5 + 1e-8), ("e", 2e-10), ("f", 1e-6)]
    found, _ = uses(law=tuple(use(name, share=share, limit=1.0) for name, share in names))
    assert [line.split()[1] for line in found] == ["b", "d", "f", "c", "e", "a"]


@pytest.mark.parametrize(("count", "more"), [(10, []), (12, ["and 2 more that --json lists"])])
def test_of_many_limits_those_that_are_used_most_are_printed(count, more):
    every = tuple(use(f"m{k}", share=(k + 1) / 16.0, limit=1.0) for k in range(count))
    found, _ = uses(velocities=every)
    assert (
        found
        == [
            f"speed m{k} 1 N 0.5 s 1 {100.0 * (k + 1) / 16.0:.0f} %"
            for k in range(count - 1, count - 11, -1)
        ]
        + more
    )


# The whole


def test_a_check_begins_with_its_verdict_and_what_is_behind_it(tmp_path):
    effect = Diagnostic("note", "limits", "it needs more.")
    causes = (
        RootCause("bad", "it stops.", "Move.", (effect,)), RootCause("warning", "it is weak.", "",
        ()),
        RootCause("note", "it is slow.", "", ()),
    )  # fmt: skip
    audit = ("note: no colour.", "warning: no mass.", "error: no link.", "other: what.")
    given = checked(verdict="not ready", causes=causes, findings=audit)
    lines = check_text.check_lines(given)
    assert plain(lines) == [
        "s: not ready", "problem: it stops.", "  do: Move.",
        "  1 consequence: see --all", "warning: it is weak.", "",
        *(f"  {name:<14}{text}" for name, text in facts().items()),
        "", "warning: no mass.", "error: no link.", "other: what.", "note: no colour.",
        "note: it is slow.",
    ]  # fmt: skip
    look = styles(lines)
    assert (look["not ready"], look["problem:"], look["error:"]) == ("bold red", "red", "red")
    assert (look["warning:"], look["note:"], look["other:"]) == ("yellow", "bold", "bold")
    whole = plain(check_text.check_lines(given, whole=True))
    assert whole[3] == "  so note: it needs more."
    assert plain(check_text.check_lines(checked()))[-1] == "  servo rows A  none"


def test_a_check_names_the_files_that_it_has_written(tmp_path):
    printed = plain(check_text.check_lines(checked(), tmp_path))
    files = [f"report  {tmp_path / 'report.html'}", f"data    {tmp_path / 'check.json'}"]
    assert printed[7:] == ["", *files]


@pytest.mark.parametrize(
    ("verdict", "words", "look"),
    [("ready", "ready", "bold green"), ("warnings", "ready, with warnings", "bold yellow")],
)
def test_a_check_that_is_passed_says_so(verdict, words, look):
    lines = check_text.check_lines(checked(verdict=verdict))
    assert plain(lines)[:2] == [f"s: {words}", ""]
    assert styles(lines)[words] == look
