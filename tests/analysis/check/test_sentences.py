"""Every sentence of `check`, whole, beside the findings that lead to it, at its thresholds."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Scenario, check
from ukctrl.analysis.check import check_report, diagnostics
from ukctrl.analysis.check.check_result import (
    Diagnostic,
    MotionCheck,
    RootCause,
    RowCheck,
    TaskMotionSummary,
)
from ukctrl.analysis.check.diagnostics import motion_diagnostics
from ukctrl.analysis.check.input_feasibility import (
    AccelerationResidual,
    ContactLoad,
    Feasibility,
    LawFailure,
)
from ukctrl.analysis.check.limit_usage import (
    LimitUsage,
    larger_usages,
    limit_usages,
    usage_fractions,
)
from ukctrl.analysis.check.motion_end import MotionEnd
from ukctrl.analysis.check.motion_ranks import MotionRanks, RankHistory, WeakAuthority
from ukctrl.analysis.check.sentences import (
    BOUNDED,
    GROUND_REMEDY,
    LIMIT_REMEDY,
    NOT_TRIED,
    REMEDIES,
    SENTENCES,
    SINGULAR_REMEDY,
    SLOW_DOWN,
    diagnose,
)
from ukctrl.analysis.check.task_motion import _times
from ukctrl.analysis.check.timing import PathTiming, SampledError
from ukctrl.cli.terminal import check_text
from ukctrl.uk import rank_report


def the_loop(needs_grip=True, stops=None, keeps_limits=False):
    """Return a loop as far as judging looks at it; without `stops`, a law without an allocation."""
    shares = SimpleNamespace(raises_if_infeasible=stops, respects_limits=keeps_limits)
    allocation = None if stops is None else SimpleNamespace(behaviour=lambda task: shares)
    controller = SimpleNamespace(needs_grip=needs_grip, row_allocation=allocation)
    return SimpleNamespace(
        scenario=SimpleNamespace(controller=controller), law=SimpleNamespace(task=None)
    )


STRICT, GIVING, INDIFFERENT = the_loop(stops=True), the_loop(stops=False), the_loop(False)


def way(**given):
    plain = {
        "kind": "joint motion", "start": 0.0, "end": 2.0, "reached": 2.0, "stop": None,
        "yields": (), "why": "", "approach": None, "lost": "",
    }  # fmt: skip
    return TaskMotionSummary(**plain | given)


def ranks(unmoved=(), **given):
    def one(**changes):
        plain = {
            "count": 3, "highest": 3, "lowest": 3, "lowest_at": 0.5, "worst": 0.5,
            "worst_at": 0.75, "worst_row": "a.x", "dropped": 0.0,
        }  # fmt: skip
        return RankHistory(**plain | changes)

    parts = {name: one(**given.get(name, {})) for name in ("servo", "grip", "passive")}
    return MotionRanks(
        **parts, unmoved=unmoved, realisation="orthogonal", realisation_at=0.0, mobility=3, driven=3
    )  # fmt: skip


def feasible(**given):
    plain = dict.fromkeys(("inputs", "law", "rates", "velocities", "positions", "ground"), ())
    plain |= {"elsewhere": False, "missed": None, "refused": None}
    return Feasibility(**plain | given)


def judged(loop=STRICT, rows=(), **given):
    along = {"way": way(), "ranks": None, "feasibility": None, "sampling": None} | given
    return [tuple(each) for each in motion_diagnostics(loop, rows, MotionCheck(**along))]


def test_a_motion_with_nothing_to_say_is_not_judged():
    assert judged(ranks=ranks(), feasibility=feasible()) == []


STOP = MotionEnd(t=1.5, why="rank", rows=("a.x",), text="the rows end at t = 1.5 s.")
BY_LAW = MotionEnd(t=1.5, why="law", rows=(), text="the law ends at t = 1.5 s.")
GIVES_WAY = " The law gives way there."
STOPS = [
    (STRICT, STOP, ("bad", STOP.text, SINGULAR_REMEDY)),
    (GIVING, STOP, ("warning", STOP.text + GIVES_WAY, "")),
    (the_loop(), STOP, ("bad", STOP.text, "Move the path or the start.")),
    (INDIFFERENT, STOP, ("warning", STOP.text + GIVES_WAY, "")),
    (STRICT, BY_LAW, ("bad", BY_LAW.text, "")),
    (GIVING, BY_LAW, ("warning", BY_LAW.text + GIVES_WAY, "")),
    (INDIFFERENT, BY_LAW, ("note", BY_LAW.text + GIVES_WAY, "")),
]  # fmt: skip


@pytest.mark.parametrize(("loop", "stop", "expected"), STOPS)
def test_a_motion_that_ends_is_as_grave_as_the_law_makes_it(loop, stop, expected):
    level, text, cure = expected
    found = judged(loop, way=way(stop=stop, reached=1.5))
    assert found == [(level, "motion", text, None, cure)]


def test_what_gives_way_or_never_comes_back_is_told():
    text = "blocks 'a', 'b' contradict those before them somewhere; the law keeps them as nearly "
    assert judged(way=way(yields=("a", "b"), lost="row 'a.x' grows.")) == [
        ("bad", "lost", "the law does not bring the start back to the rows: row 'a.x' grows.",
         None, ""),
        ("note", "motion", f"{text}as it can.", None, ""),
    ]  # fmt: skip


SERVO = {"lowest": 2, "worst_at": 0.5}
LOSES = (
    "the servo rows lose their independence at t = 0.5 s, most in row 'a.x': a singular "
    "position, where 1 of 3 rows cannot be moved."
)
COMES_NEAR = (
    "the motion comes near a singular position at t = 0.75 s: the smallest singular value falls to "
    "{:.2g}, most in row 'a.x'. Inputs and rates grow as its inverse."
)
LETS_GO = "the motors lose their grip of row 'a.x' at t = 0.5 s: they hold 2 of 3 independent rows "
LOOSENS = (
    "the motors come near losing their grip of row 'a.x' at t = 0.75 s: the smallest singular "
    "value falls to {:.2g}."
)
GIVES = (
    "the mechanism passes a singular position at t = 0.5 s, where 1 of its constraints becomes "
    "dependent, most 'a.x'."
)
RANKS = [
    (STRICT, {"servo": SERVO}, [("bad", "ranks", LOSES, 0.5, SINGULAR_REMEDY)]),
    (GIVING, {"servo": SERVO}, [("warning", "ranks", LOSES, 0.5, "")]),
    (STRICT, {"servo": {"worst": 0.02}}, []),
    (
        STRICT, {"servo": {"worst": 0.019}},
        [("note", "ranks", COMES_NEAR.format(0.019), 0.75, "")],
    ),
    (STRICT, {"servo": {"worst": 1e-3}}, [("note", "ranks", COMES_NEAR.format(1e-3), 0.75, "")]),
    (
        STRICT, {"servo": {"worst": 0.9e-3}},
        [("warning", "ranks", COMES_NEAR.format(0.9e-3), 0.75, "")],
    ),
    (
        STRICT, {"servo": {"worst": 1e-5}},
        [("warning", "ranks", COMES_NEAR.format(1e-5), 0.75, "")],
    ),
    (
        STRICT, {"servo": {"worst": 0.9e-5}},
        [("bad", "ranks", COMES_NEAR.format(0.9e-5), 0.75, SINGULAR_REMEDY)],
    ),
    (
        GIVING, {"servo": {"worst": 0.9e-5}},
        [("warning", "ranks", COMES_NEAR.format(0.9e-5), 0.75, "")],
    ),
    (STRICT, {"servo": {"highest": 0, "lowest": 0, "worst": 0.0}}, []),
    (STRICT, {"grip": {"lowest": 2}}, [("bad", "grip", f"{LETS_GO}there.", 0.5, "")]),
    (GIVING, {"grip": {"lowest": 2}}, [("warning", "grip", f"{LETS_GO}there.", 0.5, "")]),
    (INDIFFERENT, {"grip": {"lowest": 2}}, [("note", "grip", f"{LETS_GO}there.", 0.5, "")]),
    (STRICT, {"grip": {"worst": 0.02}}, []),
    (STRICT, {"grip": {"worst": 0.019}}, [("note", "grip", LOOSENS.format(0.019), 0.75, "")]),
    (STRICT, {"grip": {"worst": 1e-3}}, [("note", "grip", LOOSENS.format(1e-3), 0.75, "")]),
    (STRICT, {"grip": {"worst": 0.9e-3}}, []),  # the weak grip is told by itself
    (STRICT, {"passive": {"lowest": 2}}, [("note", "mechanism", GIVES, None, "")]),
]  # fmt: skip


@pytest.mark.parametrize(("loop", "given", "expected"), RANKS)
def test_ranks_along_a_motion_are_judged_by_how_near_they_come(loop, given, expected):
    assert judged(loop, ranks=ranks(**given)) == expected


def test_the_end_of_a_motion_is_not_told_a_second_time_as_a_rank():
    ended = way(stop=STOP, reached=1.5)
    found = judged(way=ended, ranks=ranks(servo={"lowest": 2, "worst_at": 1.5}))
    assert [subject for _, subject, *_ in found] == ["motion"]


def row(name, phi=0.0, degree=2):
    return SimpleNamespace(name=name, phi=phi, relative_degree=degree)


def test_rows_that_nothing_moves_are_a_problem_where_they_are_off():
    off = [row("a.x", 1.1e-6), row("b.x", -1.0), row("c.x", 1e-6), row("d.x", 1.0)]
    assert judged(rows=off, ranks=ranks(unmoved=("a.x", "b.x", "c.x"))) == [
        ("bad", "unmoved",
         "rows 'a.x', 'b.x' are off their path, and nothing on the robot moves them: no freedom "
         "that the passive constraints leave changes them.", None, "")
    ]  # fmt: skip


WEAK_GRIPS = [
    (STRICT, "weak", 0.5e-3, "a.x", "warning"),
    (STRICT, "weak", 1e-5, "a.x", "warning"),
    (STRICT, "weak", 0.9e-5, "a.x", "bad"),
    (GIVING, "weak", 0.9e-5, "a.x", "warning"),
    (INDIFFERENT, "weak", 0.9e-5, "a.x", "note"),
    (STRICT, "lost", 1e-14, "a.x", "bad"),
    (STRICT, "lost", 1e-14, "b.x", None),  # of a row that no motor reaches that is told
    (STRICT, "weak", 0.9e-5, "b.x", "bad"),
]


@pytest.mark.parametrize(("loop", "hold", "weakest", "name", "level"), WEAK_GRIPS)
def test_a_weak_grip_grows_louder(loop, hold, weakest, name, level):
    weak = WeakAuthority(row=name, hold=hold, weakest=weakest, at=0.5, text="the grip is weak.")
    found = judged(loop, rows=[row("a.x"), row("b.x", degree=4)], weak_grip=weak)
    assert found == ([(level, "weak", "the grip is weak.", None, "")] if level else [])


def beyond(name="lift", share=1.5, **given):
    plain = {"unit": "N", "value": 12.0, "t": 0.5, "limit": 8.0, "beyond": 4.0, "since": 0.25}
    return LimitUsage(name=name, share=share, **plain | given)


def too_much(what, does, name="lift", way=""):
    return (
        f"{what} '{name}' {does} 12 N at t = 0.5 s, 4 beyond its limit of 8, first at t = 0.25 "
        f"s{way}."
    )


KEPT = beyond(since=None, share=0.5)
BACK = ", on the way from the start back to the rows"
INSTEAD = "the law keeps within the limits, and the task gives way instead."
ASKED = "is asked by the law for"
MISSES = (
    "the motors cannot make the motion: from t = 0.5 s on they miss 25 % of its acceleration, most "
    "at 'q1'."
)
LEAVE = "Let the task ask only for what motors move, or add a motor."
LIMIT_UNTRIED, SLOW_UNTRIED = LIMIT_REMEDY + NOT_TRIED, f"{SLOW_DOWN}.{NOT_TRIED}"
MISSED = AccelerationResidual(t=0.5, share=0.25, dof="q1")
LIMITS = [
    (STRICT, {"inputs": (KEPT,), "law": (KEPT,), "rates": (KEPT,)}, []),
    (
        STRICT, {"inputs": (beyond(),)},
        [("warning", "limits", too_much("motor", "needs"), 0.5, LIMIT_UNTRIED)],
    ),
    (
        the_loop(stops=False, keeps_limits=True), {"inputs": (beyond(),)},
        [("warning", "limits", too_much("motor", "needs"), 0.5, SLOW_UNTRIED),
         ("note", "gives way", INSTEAD, None, "")],
    ),
    (
        STRICT, {"inputs": (beyond(), beyond("turn")), "elsewhere": True},
        [("note", "elsewhere",
          "the smallest input is beyond the limits of 'lift', 'turn', but another input serves "
          "the task within them.", None, f"Let the law find it: {BOUNDED}.")],
    ),
    (
        STRICT, {"law": (beyond(),)},
        [("warning", "limits", too_much("motor", ASKED), 0.5, LIMIT_UNTRIED)],
    ),
    (
        STRICT, {"inputs": (KEPT,), "law": (beyond(), beyond("turn", approach=True))},
        [("warning", "limits", too_much("motor", ASKED), 0.5, LIMIT_UNTRIED)],
    ),
    (
        STRICT, {"law": (beyond(approach=True),)},
        [("warning", "approach", too_much("motor", ASKED, way=BACK), 0.5, "")],
    ),
    (
        STRICT, {"inputs": (beyond(approach=True),), "law": (beyond("turn", approach=True),)},
        [("warning", "approach", too_much("motor", ASKED, way=BACK), 0.5, "")],
    ),
    (
        STRICT, {"rates": (beyond(),)},
        [("warning", "limits", too_much("motor", "must change by"), 0.5, SLOW_UNTRIED)],
    ),
    (
        STRICT, {"velocities": (beyond("q1"),)},
        [("warning", "speed", too_much("joint", "must move at", "q1"), 0.5, SLOW_UNTRIED)],
    ),
    (
        STRICT, {"positions": (beyond("q1"),)},
        [("warning", "place", too_much("joint", "must go to", "q1"), 0.5,
          "Move the path, or start in another position from which it is reached.")],
    ),
    (STRICT, {"missed": MISSED}, [("bad", "missed", MISSES, 0.5, LEAVE)]),
    (INDIFFERENT, {"missed": MISSED}, [("note", "missed", MISSES, 0.5, "")]),
    (
        GIVING, {"refused": LawFailure(t=0.5, rows=(), text="it has no input.")},
        [("warning", "law", "at t = 0.5 s the law gives up: it has no input.", 0.5, "")],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("loop", "given", "expected"), LIMITS)
def test_what_a_motion_takes_beyond_a_limit_is_told_once(loop, given, expected):
    assert judged(loop, feasibility=feasible(**given)) == expected


@pytest.mark.parametrize(
    ("rate", "loop", "cures"),
    [
        (0.5, STRICT, [LIMIT_REMEDY, f"{SLOW_DOWN}."]),
        (0.0, STRICT, [f"Let the law keep within the limits: {BOUNDED}.", ""]),
        (1.5, STRICT, [f"Let the law keep within the limits: {BOUNDED}.", ""]),
        (0.5, the_loop(stops=False, keeps_limits=True), [f"{SLOW_DOWN}."] * 2),
        (0.5, the_loop(), [f"{SLOW_DOWN}."] * 2),
        (0.0, the_loop(), ["", ""]),
    ],
)
def test_a_slower_motion_and_another_law_are_advised_only_where_they_help(rate, loop, cures):
    """No speed may keep all limits; a law may keep within them already, or have no allocation."""
    timing = PathTiming(
        duration=2.0, rate=rate, t=0.5, binding=("motor 'lift'",), least=None, bound_by={},
        clock_ends=None, span=None, retimed=None,
    )  # fmt: skip
    over = feasible(inputs=(beyond(),), velocities=(beyond("q1"),))
    found = judged(loop, feasibility=over, timing=timing)
    assert [cure for _, subject, _, _, cure in found if subject in ("limits", "speed")] == cures


def test_of_many_motors_beyond_their_limits_the_worst_are_named():
    many = tuple(beyond(f"m{k}", share=1.0 + k, t=0.1 * k) for k in range(8))
    found = judged(feasibility=feasible(inputs=many))
    assert [text.split("'")[1] for _, _, text, _, _ in found[:-1]] == [
        f"m{k}" for k in range(7, 1, -1)
    ]
    assert found[-1] == ("warning", "limits", "2 more motors are beyond a limit.", 0.0, "")


GROUND = [
    ({"least": 1.0, "lifts": None, "friction": 0.8}, None),
    (
        {"least": 1.0, "lifts": None, "friction": 0.9},
        ("note", "ground",
         "contact 'heel' needs a coefficient of friction of 0.9 not to slip, more than rubber has "
         "on dry concrete.", None, ""),
    ),
    (
        {"least": -3.5, "lifts": 0.25, "friction": 0.9},
        ("warning", "ground",
         "contact 'heel' would lift off at t = 0.25 s: the ground would have to pull with up to "
         "3.5 N (t = 0.5 s).", 0.25, GROUND_REMEDY + NOT_TRIED),
    ),
    ({"least": 1.0, "lifts": None, "friction": 0.3, "mu": 0.4}, None),
    (
        {"least": 1.0, "lifts": None, "friction": 0.42, "mu": 0.4},
        ("warning", "ground",
         "contact 'heel' needs a coefficient of friction of 0.42 not to slip, and has 0.4: it "
         "slides.", None, GROUND_REMEDY + NOT_TRIED),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), GROUND)
def test_what_the_ground_must_do_is_told(given, expected):
    found = judged(feasibility=feasible(ground=(ContactLoad(name="heel", t=0.5, **given),)))
    assert found == ([expected] if expected else [])


def sampled(period, rate, decay=4.0, delay=0.0, longest=0.5):
    return SampledError(
        period=period, delay=delay, row="a.x", poles=(), decay=decay, sampled=(),
        sampled_decay=rate, longest=longest, recommended=0.05,
    )  # fmt: skip


GROWS = (
    " is too long for the gains: the error of row 'a.x' grows from 0.5 s on. Shorten "
    "timing.control to 0.05 s, or lower the gains."
)
PERIODS = [
    (sampled(None, None), None),
    (sampled(0.1, 3.2), None),
    (sampled(0.6, 1.0, decay=0.0), None),
    (sampled(0.5, 3.9), ("bad", f"a control period of 0.5 s{GROWS}")),
    (
        sampled(0.5, -1.0, delay=0.01),
        ("bad", f"a control period of 0.5 s and a delay of 0.01 s{GROWS}"),
    ),
    (
        sampled(0.1, 1.0),
        ("warning",
         "a control period of 0.1 s is long for the gains: the error of row 'a.x' decays at 1 1/s "
         "instead of 4; below 0.05 s it keeps four fifths of that."),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sampling", "expected"), PERIODS)
def test_whether_a_control_period_suits_the_gains(sampling, expected):
    found = judged(sampling=sampling)
    assert found == ([(expected[0], "period", expected[1], None, "")] if expected else [])


def test_the_share_of_a_limit_that_a_motion_takes():
    nan, inf = math.nan, math.inf
    cases = [  # value, low, high, from the middle, share
        (3.0, -4.0, 4.0, False, 0.75), (-3.0, -4.0, 6.0, False, 0.75), (3.0, -4.0, 6.0, False, 0.5),
        (3.0, 0.0, 4.0, False, 0.75), (3.0, 2.0, 4.0, False, 0.0), (4.0, 2.0, 4.0, False, 1.0),
        (3.0, -inf, 4.0, False, 0.75), (-3.0, -inf, 4.0, False, nan), (3.0, -4.0, 6.0, True, 0.4),
        (-3.0, -4.0, -2.0, False, 0.0), (5.0, 0.0, 0.0, False, inf), (0.0, 0.0, 0.0, False, 0.0),
    ]  # fmt: skip
    for value, low, high, centred, share in cases:
        (found,) = usage_fractions(*(np.array([[each]]) for each in (value, low, high)), centred)
        expected = 1.0 + value if share == inf and high == low else share
        np.testing.assert_allclose(found, [expected if share != inf else found[0]], rtol=1e-12)


def test_where_a_motor_uses_most_of_its_limit_and_when_it_passes_it_first():
    t = np.linspace(0.0, 1.0, 5)
    values = np.column_stack([[0.0, 1.0, 3.0, 2.5, -1.0], [1.0, -7.0, 2.0, 0.0, 0.0]])
    low, high = np.array([-2.0, -np.inf]), np.array([2.0, np.inf])
    passed, free = limit_usages(["a", "b"], ["N", "N"], t, values, low, high)
    assert passed == LimitUsage(
        name="a", unit="N", value=3.0, t=0.5, limit=2.0, beyond=1.0, since=0.5, share=1.5
    )
    assert free == LimitUsage(name="b", unit="N", value=-7.0, t=0.25)
    (low,) = limit_usages(["a"], ["N"], t, -values[:, :1], np.array([-2.0]), np.array([8.0]))
    assert (low.value, low.limit, low.beyond, low.since) == (-3.0, -2.0, 1.0, 0.5)
    (kept,) = limit_usages(["a"], ["N"], t, values[:, :1], np.array([-4.0]), np.array([4.0]))
    assert (kept.beyond, kept.since, kept.share) == (0.0, None, 0.75)


def test_the_way_back_counts_where_it_takes_more_than_the_motion():
    own, back = beyond(share=1.0, t=3.0), beyond(share=1.1, t=0.5)
    (found,) = larger_usages([own], [back], over=1.0)
    assert (found.share, found.approach) == (1.1, True)
    (found,) = larger_usages([own], [beyond(share=1.1, t=1.5)], over=1.0)
    assert (found.share, found.approach) == (1.1, False)
    assert larger_usages([own], [beyond(share=1.0, t=0.5)], over=1.0) == (own,)
    assert larger_usages([own], [], over=1.0) == (own,)
    assert larger_usages([], [back], over=1.0)[0].approach


MOTIONS = [
    ({"kind": "none"}, "none"),
    ({"kind": "none", "why": "there is no task"}, "none: there is no task"),
    ({}, "inverse kinematics, to the end at t = 2 s"),
    ({"kind": "path alone"}, "inverse kinematics, the path alone, to the end at t = 2 s"),
    ({"kind": "plan"}, "as the controller has planned it, to the end at t = 2 s"),
    (
        {"kind": "law", "stop": STOP, "reached": 1.5},
        "moved by a servo law from a start on the rows; it ends at t = 1.5 s of 2 s",
    ),
]


@pytest.mark.parametrize(("given", "text"), MOTIONS)
def test_what_motion_was_looked_at_is_told(given, text):
    found = SimpleNamespace(motion=SimpleNamespace(way=way(**given)))
    assert check_report._motion(found) == text


@pytest.mark.parametrize(
    ("duration", "count"), [(0.1, 301), (5.0, 301), (10.0, 601), (25.0, 1501), (100.0, 1501)]
)
def test_a_motion_is_looked_at_sixty_times_a_second_but_neither_too_seldom_nor_too_often(
    duration, count
):
    t = _times(SimpleNamespace(start=2.0, duration=duration))
    assert (len(t), t[0], t[-1]) == (count, 2.0, 2.0 + duration)


def test_without_a_task_no_motion_is_claimed():
    found = check(Scenario.load("projectile"))
    facts = dict(check_report.facts(found))
    assert facts["motion"] == "none: there is no task; the run itself is the motion"
    assert facts["servo rows A"] == "none"
    assert not facts.keys() & {"grip H = A G", "error", "realisation"}


ONE = RankHistory(
    count=2, highest=2, lowest=2, lowest_at=0.0, worst=0.25, worst_at=1.5, worst_row="a.x",
    dropped=0.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("matrix", "along", "text"),
    [
        (np.zeros((0, 2)), None, "none"),
        (np.eye(2), None, "rank 2 of 2"),
        ([[1.0, 0.0], [2.0, 0.0]], None, "rank 1 of 2, dependent: row 1"),
        (
            np.eye(2),
            ONE,
            "rank 2 of 2 along the motion; smallest singular value 0.25 (a.x, t = 1.5 s)",
        ),
        (np.eye(2), {"lowest": 1}, "rank 2 of 2; between 1 and 2 along the motion"),
        (np.zeros((1, 2)), {"highest": 0, "lowest": 0}, "rank 0 of 1, dependent: row 0"),
    ],
)
def test_a_rank_at_the_start_and_along_the_way(matrix, along, text):
    if isinstance(along, dict):
        along = RankHistory(**(vars(ONE) | along))
    assert check_report._ranks(rank_report(np.asarray(matrix)), along) == text


ALONE = "the error alone is stable with a control period below 0.5 s"
ERRORS = [
    (sampled(None, None), f"poles at -1 +- 2j, -3 1/s; {ALONE}"),
    (sampled(None, None, longest=0.0, decay=0.0), "poles at -1 +- 2j, -3 1/s; it does not decay"),
    (
        sampled(0.1, 1.0),
        f"poles at -1 +- 2j, -3 1/s; with a control period of 0.1 s: -2 1/s; {ALONE}",
    ),
]


@pytest.mark.parametrize(("sampling", "text"), ERRORS)
def test_the_poles_of_the_error_are_told(sampling, text):
    poles = {"poles": (-1 + 2j, -1 - 2j, -3 + 0j), "sampled": (-2 + 0j,)}
    with_poles = SampledError(**(vars(sampling) | poles))
    found = SimpleNamespace(sampling=with_poles, stability=None)
    assert check_report._error_dynamics(found) == text
    # Where the whole loop is known, what its error alone bears is no answer.
    whole = SimpleNamespace(sampling=with_poles, stability=object())
    assert check_report._error_dynamics(whole) == text.removesuffix(f"; {ALONE}")


def test_causes_come_with_their_cure_and_count_what_follows():
    def lines(*follows, whole=False, cure="Move."):
        cause = RootCause("bad", "it stops.", cure, tuple(follows))
        printed = check_text._causes([cause], whole)
        return [
            "".join(part if isinstance(part, str) else part.text for part in line)
            for line in printed
        ]

    effect = Diagnostic("warning", "limits", "it needs more.")
    assert lines(cure="") == ["problem: it stops."]
    assert lines(effect) == [
        "problem: it stops.", "  do: Move.", "  1 consequence: see --all"
    ]  # fmt: skip
    assert lines(effect, effect)[-1] == "  2 consequences: see --all"
    assert lines(effect, whole=True)[-1] == "  so warning: it needs more."


def shown(**given):
    """Return the rows of the table of what a motion takes: what, of which, peak, share."""
    lines = check_text._limit_usage(feasible(**given))
    texts = ["".join(getattr(part, "text", part) for part in line) for line in lines if line]
    return [" ".join(text.split()) for text in texts[1:]]


def test_the_table_shows_the_laws_inputs_and_the_smallest_ones_where_these_are_too_large():
    least, own = use_of("lift", 0.5, 4.0), use_of("lift", 0.75, 6.0)
    assert any("6 N" in text for text in shown(inputs=(least,), law=(own,)))
    assert not any("4 N" in text for text in shown(inputs=(least,), law=(own,)))
    over = beyond()
    found = shown(inputs=(over,), law=(own,), rates=(use_of("turn", 0.25, 2.0),))
    assert any("12 N" in text and "150 %" in text for text in found)
    assert not any("6 N" in text for text in found)
    assert found.index(next(t for t in found if "lift" in t)) < found.index(
        next(t for t in found if "turn" in t)
    )
    assert check_text._limit_usage(feasible()) == []


def use_of(name, share, value):
    return LimitUsage(name=name, unit="N", value=value, t=0.5, limit=8.0, share=share)


# The rows at the start


def told(name="a", unit="m", phi=0.0, beta=0.0, degree=2, least=2, integrable=True):
    return RowCheck(
        name=name, unit=unit, phi=phi, beta=beta, reach=1e-3, relative_degree=degree,
        relative_degree_at_least=least, relative_degree_note="", integrable=integrable,
    )  # fmt: skip


def shown_rows(rows, dependent=()):
    servo = SimpleNamespace(dependent=dependent)
    found = SimpleNamespace(start=SimpleNamespace(rows=rows, servo=servo))
    text = "\n".join(
        "".join(part if isinstance(part, str) else part.text for part in line)
        for line in check_text._rows(found)
    )
    return [line.split() for line in text.splitlines()]


def test_a_row_at_the_start_has_its_errors_its_reach_and_its_degree():
    _, head, *lines = shown_rows(
        [
            told(phi=0.25, beta=-2.0),
            told("b", "", math.nan, 1e-3, None, 3, None),
            told("c", "rad", math.nan, 0.0, 1, 1, False),
            told("d", "m", math.nan, 0.0, None, 4, True),
        ],
        dependent=("d",),
    )
    assert head == ["row", "phi", "beta", "out", "of", "reach", "relative", "degree"]
    assert lines == [
        ["a", "2.5e-01", "m", "-2.0e+00", "m/s", "1.0e-03", "2"],
        ["b", "undecided", "1.0e-03", "1/s", "1.0e-03", "at", "least", "3"],
        ["c", "nonholonomic", "0.0e+00", "rad/s", "1.0e-03", "1"],
        ["d", "integrable", "0.0e+00", "m/s", "1.0e-03", "-"],
    ]
    assert shown_rows([]) == []


def test_of_many_rows_those_without_a_degree_and_those_furthest_off_are_shown_in_their_order():
    many = [told(f"r{k:02d}", phi=0.01 * k, beta=-1.0 if k == 1 else 0.0) for k in range(24)]
    many[0] = told("r00", phi=math.nan, degree=None)
    _, _, *lines = shown_rows(many[:20])
    assert [line[0] for line in lines] == [f"r{k:02d}" for k in range(20)]
    _, _, *lines = shown_rows(many)
    assert lines[-1][:3] == ["and", "4", "more"], lines[-1]
    kept = [line[0] for line in lines if line[0] in {one.name for one in many}]
    assert kept == ["r00", "r01", *(f"r{k:02d}" for k in range(6, 24))]


def test_every_sentence_of_the_table_is_said_and_every_remedy_helps_one():
    folder = Path(diagnostics.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py") if path.stem != "sentences")
    assert not [case for case in SENTENCES if f'"{case}"' not in text]
    assert REMEDIES.keys() <= SENTENCES.keys()
    with pytest.raises(KeyError):
        diagnose("period: slow", "warning")  # its numbers are missing
