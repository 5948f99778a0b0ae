"""What `check` says of limits that are kept, of timing, of lifts and of observers, whole."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.analysis.check import diagnostics
from ukctrl.analysis.check.check_result import MotionCheck, TaskMotionSummary
from ukctrl.analysis.check.contact_phases import ContactPhase, Touchdown
from ukctrl.analysis.check.diagnostics import observability_diagnostics
from ukctrl.analysis.check.loop_stability import TrialRun
from ukctrl.analysis.check.motion_ranks import ObservabilitySample, hautus_sigma
from ukctrl.analysis.check.safety_feasibility import (
    MAX_EXPLAINED,
    InfeasibleInterval,
    SlackCurves,
    _infeasible_intervals,
    _SafetySample,
)
from ukctrl.analysis.check.sentences import diagnose
from ukctrl.analysis.check.timing import PathTiming
from ukctrl.mechanics.constraints.constraint import Rows


def told(*found):
    return [tuple(each) for each in found]


# Limits at the start


def keeper(*names, **barriers):
    """Return a keeper as far as its sentences look at it."""
    return SimpleNamespace(
        names=names, units=("m",) * len(names), barriers=SimpleNamespace(**barriers)
    )


@pytest.mark.parametrize(
    ("h", "inward", "text", "cure"),
    [
        (0.25, 0.0, "", ""),
        (-0.9e-9, -0.9e-9, "", ""),
        (
            -0.025, -1.0,
            "the start is beyond the limit 'wall' by 25 mm: the law returns to the limit, but "
            "does not keep it until then.",
            "Start inside, or move the limit.",
        ),
        (
            0.25, -1.1e-9,
            "the start moves towards the limit 'wall' faster than the decay allows, at a "
            "distance of 0.25 m: it may cross the limit.",
            "Start slower, or give a shorter decay.",
        ),
    ],
)  # fmt: skip
def test_a_start_beyond_a_limit_or_too_fast_towards_it(h, inward, text, cure):
    found = diagnostics._start_limits(
        keeper("free", "wall"), np.array([1.0, h]), np.array([1.0, inward])
    )
    assert told(*found) == ([("warning", "keep", text, None, cure)] if text else [])


def pulling(*rows, h, degree=None, margin=None, sign=None):
    """Return positions that pull along rows, and what is left of them."""
    count = len(rows)
    own = keeper(
        *(f"k{i}" for i in range(count)),
        degree=np.array(degree or [2] * count),
        margin=np.array(margin or [0.0] * count),
        sign=np.array(sign or [1.0] * count),
        row=np.arange(count),
    )
    A = np.array(rows, dtype=np.float64)
    return own, Rows.zeros(count, A.shape[1])._replace(A=A), np.array(h)


LACKS = (
    "'k0', 'k1' contradict each other at the start, whatever the task asks: no state keeps both; "
    "the limits overlap by {}."
)


@pytest.mark.parametrize(
    ("given", "lack"),
    [
        # Of the way between, in the unit of the first: what is left of one and of the other.
        (pulling([1.0, 0.0], [-1.0, 0.0], h=[0.1, -0.35]), "0.25 m"),
        (pulling([1.0, 0.0], [-1.0, 0.0], h=[0.1, -0.1]), None),
        (pulling([2.0, 0.0], [-1.0, 0.0], h=[-0.5, 0.0]), "0.5 m"),
        (pulling([1.0, 0.0], [-2.0, 0.0], h=[0.0, -0.5]), "0.25 m"),
        (pulling([1.0, 0.0], [1.0, 0.0], h=[0.1, -0.35], sign=[1.0, -1.0]), "0.25 m"),
        (pulling([1.0, 0.0], [-1.0, 0.0], h=[0.2, 0.2], margin=[0.3, 0.4]), "0.3 m"),
        (pulling([1.0, 0.0], [-1.0, 0.0], h=[0.1, -0.35], degree=[2, 1]), None),
        (pulling([1.0, 0.0], [1.0, 0.0], h=[-1.0, -1.0]), None),
        (pulling([1.0, 0.0], [-1.0, 1e-3], h=[-1.0, -1.0]), None),
    ],
)
def test_positions_that_pull_against_each_other_leave_no_room(given, lack):
    found = told(*diagnostics._opposed_limits(*given))
    cure = "Move one of them; or say by order which gives way first."
    assert found == ([("warning", "keep", LACKS.format(lack), None, cure)] if lack else [])


def test_three_pairs_without_room_are_named_at_most():
    both = pulling(*[[1.0], [-1.0]] * 2, h=[-1.0] * 4)
    found = diagnostics._opposed_limits(*both)
    assert [text.split(" contradict")[0] for _, _, text, *_ in found] == [
        "'k0', 'k1'", "'k0', 'k3'", "'k1', 'k2'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reached", "later", "told_of"),
    [
        ([[1.0, 0.0], [1e-3, 0.0]], None, ""),
        ([[1.0, 0.0], [0.0, 1.0]], None, "'k1'"),  # its row has no part that the motor moves
        ([[1.0, 0.0], [1e-10, 1.0]], None, "'k1'"),
        ([[1.0, 0.0], [1e-8, 1.0]], None, ""),
        ([[0.0, 1.0]] * 5, None, "'k0', 'k1', 'k2' and 2 more"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0], [1.0]], ""),  # while a contact is lifted it is moved
        ([[1.0, 0.0], [0.0, 1.0]], [[1.0], [0.0]], "'k1'"),
    ],
)  # fmt: skip
def test_what_no_motor_accelerates_at_once_is_told(reached, later, told_of):
    """The motor moves the first freedom alone, or another one while contacts are lifted."""
    own, rows, _ = pulling(*reached, h=[0.0] * len(reached))
    truth = SimpleNamespace(snapshot=None, G=None)
    pushes = {0.0: np.array([[1.0], [0.0]]), 2.0: np.array(later or [[1.0], [0.0]])}
    truth.move = lambda t, q, v: setattr(truth, "G", pushes[t])
    loop = SimpleNamespace(plant=truth, t0=0.0, state=(None, None, None))
    lifts = SimpleNamespace(
        distinct_phases=[None, SimpleNamespace(middle=2.0)][: 2 if later else 1]
    )
    stack = SimpleNamespace(write=lambda snapshot: rows)
    text = (
        f"no motor accelerates {told_of} directly at the start, as behind springs or at a "
        "singularity: no input keeps this limit there, and it gives way."
    )
    cure = "Keep what the motors move at once, such as the joints before the springs."
    expected = [("warning", "keep", text, None, cure)] if told_of else []
    assert told(*diagnostics._unactuated_limits(own, loop, stack, lifts)) == expected


def test_what_is_not_known_is_told_with_why():
    assert told(diagnose(
        "keep: unknown", "warning", {"where": "at the start", "why": "it has no value."}
    )) == [
        ("warning", "keep",
            "the kept limits cannot be evaluated at the start: it has no value.", None,
         "Keep what has a value wherever the robot may be."),
    ]  # fmt: skip


# Limits along the motion


def left(**columns):
    h = np.column_stack(list(columns.values()))
    blocks = tuple(name[0] for name in columns)
    return SlackCurves(
        slack=h, feasible=None, names=tuple(f"{name[0]}.{name[1:]}" for name in columns),
        blocks=blocks, units=("m",) * len(blocks), margins=(0.0,) * len(blocks),
        force_offset=sum(block != "f" for block in blocks),
    )  # fmt: skip


def test_of_every_block_the_row_that_comes_nearest_is_told():
    t, nan = np.array([1.0, 1.5, 2.0, 2.5]), math.nan
    found = diagnostics._crossing_diagnostics(
        left(
            ax=[0.9, 0.8, 0.9, 1.0], ay=[0.7, 0.04, 0.2, 0.3], az=[nan, nan, 0.0, 0.0],
            bx=[0.1, -0.9e-9, 0.3, 0.2], by=[0.1, 0.2, 0.3, 0.4],
            cx=[0.5, -0.02, -0.5, -0.1], cy=[0.5, -0.4, 0.0, 0.0],
            dx=[nan, 0.1, 0.1, 0.1],
            fx=[-1.0, -1.0, -1.0, -1.0],
        ),
        t, None, misjudges=False,
    )  # fmt: skip
    assert told(*found) == [
        ("note", "keep", "the exact task stays within 'a', with a slack of 40 mm.", None, ""),
        ("note", "keep", "the exact task stays within 'b', with a slack of −900 pm.", None, ""),
        ("warning", "keep",
         "the exact task goes beyond 'c.x' by 0.5 m at t = 2 s, first at t = 1.5 s: the task is to "
         "give way; whether the limit is kept was not tried.", 1.5, ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "duration", "is_kept"),
    [("completed", 2.0, True), ("completed", 0.4, False), ("diverged", 2.0, False)],
)
def test_a_limit_is_kept_by_a_run_that_came_to_it(status, duration, is_kept):
    """The task is furthest beyond half a second after the start."""
    trial = TrialRun(duration=duration, status=status, message="", returns=False)
    args = left(cx=[0.5, -0.5]), np.array([1.0, 1.5]), trial
    [found] = diagnostics._crossing_diagnostics(*args, misjudges=False)
    assert ("the limit is kept, and" in found.text) == is_kept
    assert ("was not tried" in found.text) != is_kept


def test_what_a_law_keeps_on_another_robot_than_the_true_one_needs_a_margin():
    t = np.array([1.0, 1.5])
    [found] = diagnostics._crossing_diagnostics(left(cx=[0.5, -0.5]), t, None, misjudges=True)
    assert found.remedy == (
        "The law keeps it on the robot that it believes in, and the true one may come nearer: let "
        "the limit's margin cover that."
    )


def stretch(**given):
    plain = {
        "start": 0.5, "stop": 1.25, "limits": ("wall",), "motors": (), "gives_up": 0.1234,
        "worst_at": 0.75, "conflict": False, "crossed": False,
    }  # fmt: skip
    return InfeasibleInterval(**plain | given)


GIVES = (
    "from t = 0.5 s to 1.25 s no input serves the task and keeps all limits{}: the task gives "
    "way, by up to 0.123 of its accelerations (t = 0.75 s)."
)
NONE = (
    "from t = 0.5 s to 1.25 s no input keeps all limits, whatever the task asks: {} t = 0.75 s{}."
)
SLOW = "Slow the path down there, keep further away, or give a shorter decay."
MOVE = "Move a limit, or the path; or say by order which gives way first."
MANY = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("given", "text", "cure"),
    [
        ({}, GIVES.format(" ('wall')"), SLOW),
        ({"limits": ()}, GIVES.format(""), SLOW),
        ({"limits": ("a",), "motors": MANY}, GIVES.format(" ('a', motor 'a', motor 'b')"), SLOW),
        ({"limits": MANY, "motors": ("e",)}, GIVES.format(" ('a', 'b', 'c')"), SLOW),
        ({"conflict": True}, NONE.format("the worst is", " ('wall')"), MOVE),
        (
            {"conflict": True, "motors": ("m",)},
            NONE.format("they contradict each other at", " ('wall', motor 'm')"), MOVE,
        ),
        (
            {"conflict": True, "limits": ()},
            NONE.format("they contradict each other at", ""), MOVE,
        ),
    ],
)  # fmt: skip
def test_a_time_in_which_no_input_keeps_everything(given, text, cure):
    assert told(diagnostics._infeasible_diagnostic(stretch(**given))) == [
        ("warning", "keep", text, 0.5, cure)
    ]


class Blaming:
    """Blames a limit of the number of the knot, and a motor every other time."""

    def __init__(self):
        self.asked = []

    def conflicting_limits(self, k):
        self.asked.append(k)
        return [f"k{k}", "wall"], ["m"] if k % 2 else []


def moment(gives_up, crossed=False, conflict=False):
    """Return a moment that is feasible where nothing is given up."""
    return _SafetySample(np.zeros(1), gives_up == 0.0 and not crossed, crossed, gives_up, conflict)


def stretches_of(*moments):
    look, t = Blaming(), 0.5 * np.arange(len(moments))
    feasible = np.array([each.feasible for each in moments])
    return list(_infeasible_intervals(look, t, list(moments), feasible)), look.asked


def test_what_is_not_feasible_is_told_stretch_by_stretch():
    none = moment(0.0)
    found, asked = stretches_of(
        moment(0.1), moment(0.3), moment(0.2), none, none, moment(0.2, crossed=True), none,
        moment(0.5), moment(math.nan, conflict=True), moment(9.0),
    )  # fmt: skip
    assert asked == [0, 1, 5, 7, 8]
    plain = {"motors": (), "conflict": False, "crossed": False}
    first, second = (
        InfeasibleInterval(start=0.0, stop=1.0, limits=("k0", "wall", "k1"), gives_up=0.3,
        worst_at=0.5,
                **plain | {"motors": ("m",)}),
        InfeasibleInterval(start=2.5, stop=2.5, limits=("k5", "wall"), gives_up=0.2, worst_at=2.5,
                **plain | {"motors": ("m",), "crossed": True}),
    )  # fmt: skip
    assert found[:2] == [first, second]
    (last,) = found[2:]
    assert (last.start, last.stop, last.worst_at) == (3.5, 4.5, 4.0)
    assert (last.limits, last.motors) == (("k7", "wall", "k8"), ("m",))
    assert (last.conflict, last.crossed) == (True, False)
    assert math.isnan(last.gives_up)
    assert stretches_of(none, none) == ([], [])


def test_of_many_stretches_the_longest_are_blamed_on_limits():
    often = [moment(0.1), moment(0.0)] * MAX_EXPLAINED
    found, _ = stretches_of(moment(0.1), moment(0.1), moment(0.0), *often)
    assert len(found) == MAX_EXPLAINED + 1
    assert [bool(each.limits) for each in found] == [True] * MAX_EXPLAINED + [False]
    found, _ = stretches_of(*often, moment(0.1), moment(0.1))
    assert [bool(each.limits) for each in found] == [True] * (MAX_EXPLAINED - 1) + [False, True]


# Timing


def timing(**given):
    plain = {
        "duration": 4.0, "rate": 0.5, "t": 1.25, "binding": ("motor 'a'",), "least": 0.8125,
        "bound_by": {}, "clock_ends": None, "span": (0.5, 3.5), "retimed": 0.8325,
    }  # fmt: skip
    return PathTiming(**plain | given)


SLOWER = "the motion would keep all limits at 0.5 times its speed (motor 'a', t = 1.25 s)."
RETIME = (
    'Retime the paths: kind = "retimed", span = [0.5, 3.5], of = the path of today. They then take '
    "0.8325 s."
)
OPEN = (
    "the rows leave freedoms open; the retimed paths assume the smallest joint motion. The law "
    "moves differently, and may need more time."
)
HOLD = (
    "Hold the posture by a row that is constant, or follow the joints, such as with "
    "controller.use = 'computed-torque'."
)
ENDS = "the retimed paths end at t = 2.5 s, after the run."
LONGER = "Let timing.duration be longer."


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ({}, "plan", [("note", "timing", SLOWER, 1.25, RETIME)]),
        ({"retimed": None}, "plan", [("note", "timing", SLOWER, 1.25, "")]),
        ({"rate": 0.0}, "plan", []),
        ({"rate": 0.991}, "plan", []),
        ({}, "law", [("note", "timing", SLOWER, 1.25, RETIME)]),
        ({"clock_ends": 1.0, "retimed": None}, "plan", [("note", "timing", SLOWER, 1.25, "")]),
        ({"clock_ends": 2.0, "rate": 1.0}, "plan", []),
        ({"clock_ends": 2.5, "rate": 1.0}, "plan", [("note", "timing", ENDS, None, LONGER)]),
        ({"clock_ends": 1.0, "rate": 1.0}, "law", [("warning", "open", OPEN, None, HOLD)]),
    ],
)
def test_a_motion_that_is_too_fast_and_a_clock_that_is_anothers(given, kind, expected):
    way = TaskMotionSummary(
        kind=kind, start=0.0, end=2.0, reached=2.0, stop=None, yields=(), why="", approach=None,
        lost="",
    )  # fmt: skip
    assert told(*diagnostics._timing_diagnostics(timing(**given), way)) == expected


def test_an_optimised_path_that_ends_after_the_run_is_told():
    way = TaskMotionSummary(
        kind="plan", start=0.0, end=2.0, reached=2.0, stop=None, yields=(), why="", approach=None,
        lost="",
    )  # fmt: skip
    loop = SimpleNamespace(
        scenario=SimpleNamespace(controller=SimpleNamespace(needs_grip=True, row_allocation=None))
    )
    for ends, says in ((2.5, True), (2.0, False), (1.5, False)):
        along = MotionCheck(
            way=way, ranks=None, feasibility=None, sampling=None,
            optimum=SimpleNamespace(end=ends),
        )  # fmt: skip
        text = "the optimised path ends at t = 2.5 s, after the run."
        found = told(*diagnostics.motion_diagnostics(loop, (), along))
        assert found == ([("note", "timing", text, None, LONGER)] if says else [])


@pytest.mark.parametrize(("slack", "level"), [(0.1, "bad"), (-0.1, "warning")])
def test_a_law_that_stops_without_the_kept_limits_says_little_of_a_run_with_them(slack, level):
    stop = SimpleNamespace(why="law", text="after t = 1 s: it stops.")
    way = TaskMotionSummary(
        kind="law", start=0.0, end=2.0, reached=1.0, stop=stop, yields=(), why="", approach=None,
        lost="",
    )  # fmt: skip
    loop = SimpleNamespace(
        scenario=SimpleNamespace(controller=SimpleNamespace(needs_grip=True, row_allocation=None)),
        law=SimpleNamespace(task=None),
    )
    allocation = SimpleNamespace(raises_if_infeasible=True, respects_limits=False)
    loop.scenario.controller.row_allocation = SimpleNamespace(behaviour=lambda task: allocation)
    left = SimpleNamespace(crossed=np.array([slack < 0.0]))
    along = MotionCheck(way=way, ranks=None, feasibility=None, sampling=None, left=left)
    found = list(diagnostics.motion_diagnostics(loop, (), along))
    assert [entry.level for entry in found] == [level]
    assert ("crosses kept limits before" in found[0].text) == (slack < 0.0)


# Lifted contacts


class Planned:
    """Phases and landings, as lifts have them."""

    def __init__(self, phases, landings=()):
        self.phases, self._landings = phases, landings

    def touchdowns(self, t, q, v):
        return self._landings


def phase(start, stop, *held):
    return ContactPhase(start, stop, (), None, held)


LATE = (
    "contact 'b' is used by the law again at t = 0.5 s, where the task puts it {} above the "
    "ground.",
    "Let its path come down by then, to a millimetre below the ground.",
)


def test_blocks_that_the_ground_holds_are_told_until_when_and_late_feet_where():
    motion = SimpleNamespace(t=np.arange(3.0), q=None, v=None)
    phases = (phase(0.0, 0.5, "a", "b", "c"), phase(0.5, 1.0, "b"), phase(1.0, 2.0, "a", "b"))
    holds = (
        "the ground holds {} until t = {} s, and whenever their contacts are closed: no input "
        "moves these rows then; the results for them are for the rest of the time."
    )
    assert told(*diagnostics.lift_diagnostics(Planned(phases), motion)) == [
        ("note", "lifts", holds.format("'a', 'c'", "0.5"), None, ""),
    ]
    later = (phase(0.0, 0.5, "a", "b"), phase(0.5, 1.0, "b"), phase(1.0, 2.0))
    found = diagnostics.lift_diagnostics(Planned(later), motion)
    assert [text for _, _, text, *_ in found] == [
        holds.format("'a'", "0.5"), holds.format("'b'", "1"),
    ]  # fmt: skip
    landings = [
        Touchdown("a", 0.25, 0.005),
        Touchdown("b", 0.5, 0.006),
        Touchdown("c", 0.75, 1.0),
    ]
    found = diagnostics.lift_diagnostics(Planned((phase(0.0, 1.0),), landings), motion)
    assert told(*found) == [("warning", "lifts", LATE[0].format("6 mm"), 0.5, LATE[1])]
    still = SimpleNamespace(t=np.zeros(0), q=None, v=None)
    assert told(*diagnostics.lift_diagnostics(Planned((phase(0.0, 1.0),), landings), still)) == []


# Observers


MEASURE = "Measure more: sensing.joints, sensing.speeds, sensing.camera or sensing.imu."


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([], []),
        (
            [ObservabilitySample(0.0, (), 0.5), ObservabilitySample(1.0, (), 0.25)],
            [("note", "observer",
              "the whole state is observable at all 2 times that were checked: the smallest "
              "singular value of the observability test of the modes is 0.25.", None, "")],
        ),
        (
            [ObservabilitySample(0.0, (), 0.5), ObservabilitySample(1.0, (), 0.9e-3)],
            [("warning", "observer",
              "part of the state is hardly observable at t = 1 s: the smallest singular value of "
              "the observability test of the modes falls to 0.0009.", 1.0, MEASURE)],
        ),
        (
            [ObservabilitySample(0.0, (), 1e-4), ObservabilitySample(1.0, ("q1", "v.q1"), 0.0),
            ObservabilitySample(2.0, ("q2",), 0.0)],
            [("warning", "observer",
              "the observer does not see q1 and v.q1 at t = 1 s: no measurement depends on it, "
              "and its estimate comes from the model alone.", 1.0, MEASURE)],
        ),
    ],
)  # fmt: skip
def test_what_an_observer_sees_is_told_by_its_worst_moment(looks, expected):
    assert told(*observability_diagnostics(looks)) == expected


@pytest.mark.parametrize("k", [0.25, 1.0, 100.0])
def test_how_far_an_oscillator_is_from_being_hidden(k):
    """In units of its own frequency where that is above 1: two poles, one value by symmetry."""
    A, seen = np.array([[0.0, 1.0], [-k, 0.0]]), 0.01
    w = max(1.0, math.sqrt(k))
    scaled = np.array([[0.0, 1.0], [-k / w**2, 0.0]])
    pole = 1j * math.sqrt(k) / w
    M = np.vstack([scaled - pole * np.eye(2), [[seen, 0.0]]])
    expected = math.sqrt(np.linalg.eigvalsh(M.conj().T @ M)[0])
    assert hautus_sigma(A, np.array([[seen, 0.0]]), 1, 2) == pytest.approx(expected, rel=1e-6)
    assert hautus_sigma(A, np.zeros((1, 2)), 1, 2) == pytest.approx(0.0, abs=1e-12)
