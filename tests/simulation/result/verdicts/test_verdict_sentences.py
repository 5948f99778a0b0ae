"""Every sentence of a run's verdict, whole, beside the figures that lead to it, at and around its
thresholds.
"""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result, SignalSeries
from ukctrl.simulation.result.verdicts import Verdict, headline, judge, run_verdict
from ukctrl.simulation.result.verdicts.error_floor import grade

T = np.linspace(0.0, 10.0, 101)
ONE = np.ones_like(T)
TWO_ROWS = {
    "rows": ("a.x", "b.x"), "row_units": ("m", "rad"), "row_blocks": ("a", "b")
}  # fmt: skip
TWO_MOTORS = {"actuators": ("lift", "turn"), "actuator_units": ("N", "N m")}
JUST_MORE = 1.0 + 1e-9


def run(labels=None, *, time=T, status="completed", message="", signals=None, **given):
    """Return a run of these samples; what stands beside them is `provenance` and `scenario`."""
    beside = {name: given.pop(name) for name in ("provenance", "scenario") if name in given}
    return Result.build(
        time=time,
        samples=given,
        labels=Labels(**(labels or {})),
        status=status,
        message=message,
        signals={name: SignalSeries(**each) for name, each in (signals or {}).items()},
        **beside,
    )


def told(result, subject):
    return next((entry for entry in judge(result) if entry.subject == subject), None)


def columns(*each):
    return np.column_stack([value * ONE for value in each])


def recorded(values, units="1", components=()):
    return {"values": values, "units": units, "long_name": "kept", "components": components}


def one_row(phi, **given):
    motor = {"actuators": ("m",), "actuator_units": ("N",)}
    labels = motor | {"rows": ("a.x",), "row_units": ("m",), "row_blocks": ("a",)}
    given |= {"beta": np.zeros((len(T), 1)), "u": columns(1.0)}
    return run(labels, phi=np.reshape(phi, (-1, 1)), **given)


def test_a_grade_holds_at_its_threshold():
    assert [grade(value, 1.0, 2.0) for value in (1.0, 1.1, 2.0, 2.1)] == [
        "good", "note", "note", "warning"
    ]  # fmt: skip
    assert grade(3.0, 1.0, 2.0, "bad") == "bad"


ENDS = [
    ("completed", "", "good", "The run reached its end."),
    ("completed", "all well", "good", "The run reached its end. All well."),
    (
        "diverged", "", "bad",
        "The motion could not go on; samples near the end may be meaningless.",
    ),
    ("infeasible", "", "bad", "The task asked for accelerations that no input can give."),
    (
        "drifted", "passive row 'loop' is open.", "bad",
        "A passive constraint opened; the motion is not that of the mechanism. Passive row "
        "'loop' is open.",
    ),
    (
        "drifted", "row 'tool.x' is off.", "bad",
        "The error of the task passed what the monitor allows. Row 'tool.x' is off.",
    ),
    (
        "interrupted", "", "warning",
        "The run was stopped early; what was computed until then is valid.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("status", "message", "level", "text"), ENDS)
def test_how_a_run_ended(status, message, level, text):
    ended = run(energy=ONE, status=status, message=message)
    assert told(ended, "outcome") == Verdict(level, "outcome", text)


@pytest.mark.parametrize(
    ("status", "message", "verdict", "levels"),
    [
        ("completed", "", "ok", []),
        ("interrupted", "", "warning", ["warning"]),
        ("infeasible", "", "warning", ["warning"]),
        ("drifted", "row 'tool.x' is off.", "warning", ["warning"]),
        ("drifted", "passive row 'loop' is open.", "not to be believed", ["bad"]),
        ("diverged", "", "not to be believed", ["bad"]),
    ],
)
def test_how_far_a_run_is_believed_by_how_it_ended(status, message, verdict, levels):
    ended = run(energy=ONE, status=status, message=message)
    found = run_verdict(ended, judge(ended))
    assert (found.verdict, [each.level for each in found.reasons]) == (verdict, levels)
    assert found.level == (levels[0] if levels else "good")


def test_what_is_not_to_be_believed_comes_before_what_is_warned_of():
    verdicts = [Verdict("warning", "a", ""), Verdict("bad", "b", ""), Verdict("note", "c", "")]
    found = run_verdict(run(energy=ONE), verdicts)
    assert [reason.subject for reason in found.reasons] == ["b", "a"]
    of_a_task = run_verdict(run(energy=ONE, status="infeasible"), [verdicts[1], verdicts[0]])
    assert [each[:2] for each in of_a_task.reasons] == [("warning", "b"), ("warning", "a")]
    also_coarse = run_verdict(run(energy=ONE, status="infeasible"), [verdicts[1], verdicts[1]])
    assert also_coarse.verdict == "not to be believed"


def test_the_headline_of_what_has_no_sample_no_task_or_many_blocks():
    none = run(time=np.zeros(0), status="infeasible", message="the start is off its rows")
    assert headline(none) == "Infeasible: no sample was recorded. The start is off its rows."
    motor = {"actuators": ("m",), "actuator_units": ("N",)}
    free = run(motor, u=columns(0.0))
    assert headline(free) == "The run completed 10 s of free motion."
    loop = run(
        {"passive_rows": ("loop.x",), "passive_row_units": ("m",), **motor},
        u=columns(0.0), passive_phi=columns(2e-5),
    )  # fmt: skip
    assert headline(loop) == (
        "The run completed 10 s of free motion; its closures opened by at most 20 µm."
    )
    names = ("a", "b", "c", "d")
    four = run(
        {"rows": names, "row_units": ("m",) * 4, "row_blocks": names, **motor},
        phi=columns(3e-3, 0.0, 4e-3, 0.0), beta=columns(0.0, 0.0, 0.0, 0.0), u=columns(1.0),
    )  # fmt: skip
    assert headline(four) == "The run completed 10 s of motion; its largest task error is 5 mm."


SWITCHED = [
    ([2.5], "good", "The controller switched once, at t = 2.5 s."),
    (
        [1.0, 2.0, 3.25], "note",
        "The controller switched 3 times, from t = 1 s to t = 3.25 s.",
    ),
    ([], "warning", "The controller never left its first mode."),
]  # fmt: skip


@pytest.mark.parametrize(("times", "level", "text"), SWITCHED)
def test_when_the_controller_switched(times, level, text):
    mode = {"mode": {"values": 0.0 * T, "units": "1", "long_name": "mode: 0 = a, 1 = b"}}
    switched = run(energy=ONE, signals=mode, provenance={"switches": times})
    assert told(switched, "switching") == Verdict(level, "switching", text)


def test_a_law_without_modes_has_not_failed_to_switch():
    assert told(run(energy=ONE), "switching") is None
    other = {"mode": {"values": 0.0 * T, "units": "1", "long_name": "mode of the elastic arm"}}
    assert told(run(energy=ONE, signals=other), "switching") is None


def test_which_effects_acted_and_which_never_did():
    acting = [{"name": "noise"}, {"name": "friction"}]
    assert told(run(energy=ONE, provenance={"effects": acting}), "effects") == (
        "note", "effects", "Effects in this run: 'noise', 'friction'."
    )  # fmt: skip
    idle = [{"name": "noise"}, {"name": "push", "never": "the run ends before it begins."}]
    assert told(run(energy=ONE, provenance={"effects": idle}), "effects") == (
        "warning", "effects", "'push' never acts: the run ends before it begins."
    )  # fmt: skip
    assert told(run(energy=ONE, provenance={"effects": []}), "effects") is None


ERRORS = [
    (1e-6 * ONE, "good", "The error never exceeds 1 µm (at t = 0 s)."),
    (
        2e-3 * np.exp(-T), "good",
        "Error 2 mm at the start, 2 mm at most (t = 0 s), 90.8 nm at the end; settled after 3 s.",
    ),
    (
        1e-3 + 1e-3 * np.sin(0.5 * np.pi * T), "note",
        "Error 1 mm at the start, 2 mm at most (t = 1 s), 1 mm at the end; it does not settle "
        "within the run.",
    ),
    (
        1e-3 * np.sin(0.45 * np.pi * T) ** 2, "note",
        "Error 0 m at the start, 1 mm at most (t = 10 s), 1 mm at the end; it begins on its "
        "path, and errs by 612 µm rms.",
    ),
    (
        1e-3 * (1.0 + 0.1 * T), "note",  # its last quarter is not twice its first
        "Error 1 mm at the start, 2 mm at most (t = 10 s), 2 mm at the end; it does not settle "
        "within the run.",
    ),
    (
        1e-3 * (1.0 + T), "warning",
        "The error keeps growing, from 1 mm to 11 mm: the controller does not reduce it.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("phi", "level", "text"), ERRORS)
def test_how_well_the_task_was_met(phi, level, text):
    assert told(one_row(phi), "task") == Verdict(level, "task", text)


def test_an_error_that_nothing_pulls_back_grows_for_that_reason():
    exact = {"controller": {"feedback": {"kind": "exact"}}}
    assert told(one_row(1e-3 * (1.0 + T), scenario=exact), "task").text == (
        "The error keeps growing, from 1 mm to 11 mm: no feedback reduces it. A stabilised "
        "feedback (Baumgarte, PID) would."
    )


def test_an_error_that_grows_beyond_the_motors_is_not_the_controllers():
    grown = 1e-3 * (1.0 + T)
    short = one_row(grown, reach=0.1 * (T > 7.0))
    assert told(short, "task").text == (
        "The error keeps growing, from 1 mm to 11 mm: no input gives what the task asks for at the "
        "end."
    )
    before = one_row(grown, reach=0.1 * (T < 7.0))
    assert "the controller does not reduce it" in told(before, "task").text


WALL = {"keep_rows": ("wall",), "keep_row_units": ("m",), "keep_row_blocks": ("wall",)}


def led_away(phi, during, binding=1.0, **labels):
    """Return a run whose row gives 1 m/s^2 up for a wall at some samples."""
    motor = {"actuators": ("m",), "actuator_units": ("N",)}
    rows = {"rows": ("a.x",), "row_units": ("m",), "row_blocks": ("a",)}
    kept = {"keep": columns(0.0), "keep_binding": columns(binding * during),
            "keep_missed": columns(0.0), "keep_given_up": columns(during)}  # fmt: skip
    return run(
        motor | rows | WALL | {"keep_row_missed_units": ("m/s^2",)} | labels,
        phi=np.reshape(phi, (-1, 1)), beta=columns(0.0), u=columns(1.0), **kept,
    )  # fmt: skip


def test_an_error_that_a_limit_explains_is_not_the_controllers():
    late = (T >= 5.0).astype(float)
    grown = 1e-3 * (1.0 + T * late)
    assert told(led_away(grown, late), "task") == Verdict(
        "note", "task",
        "Error 1 mm at the start, 11 mm at most (t = 10 s), 11 mm at the end; the task gave way "
        "to 'wall' for 5.05 s, with an error of up to 11 mm in 'a'; it does not settle within "
        "the run.",
    )  # fmt: skip
    assert headline(led_away(grown, late)) == (
        "The run completed 10 s of motion; its largest task error is 11 mm: the task gave way to "
        "'wall' for 5.05 s, with an error of up to 11 mm in 'a'."
    )
    by_motors = led_away(grown, late, binding=0.0)
    assert "gave way to the motors' limits for 5.05 s" in told(by_motors, "task").text


def test_an_error_that_grows_where_no_limit_binds_is_the_controllers_all_the_same():
    late = (T >= 9.0).astype(float)
    assert told(led_away(1e-3 * (1.0 + T), late), "task") == Verdict(
        "warning", "task",
        "The error keeps growing, from 1 mm to 11 mm, by 8.9 mm while no limit changes the "
        "input: the controller does not reduce it.",
    )  # fmt: skip


def test_what_is_left_of_an_error_that_a_limit_made_is_no_growth_elsewhere():
    """It is small before a limit binds and large after it, and falls there."""
    bound = ((T >= 2.0) & (T < 7.0)).astype(float)
    made = np.where(T < 2.0, 1e-9 * (1.0 + T), np.where(T < 7.0, 0.01 * (T - 2.0), 0.12 - 0.01 * T))
    left = told(led_away(made, bound), "task")
    assert (left.level, left.text.split(",")[0]) == ("note", "Error 1 nm at the start")


def test_a_run_that_ends_before_its_first_sample_says_nothing_of_limits(tmp_path):
    none = {name: np.zeros((0, 1)) for name in ("keep", "keep_binding", "keep_missed")}
    early = run(WALL | {"keep_row_missed_units": ("m/s^2",)}, time=[], status="infeasible", **none)
    assert told(early, "keep") is None
    assert told(early, "outcome").level == "bad"
    assert result_lines(early, tmp_path)


def test_a_task_that_gives_way_to_motors_says_to_which():
    bound = (T >= 5.0).astype(float)
    signals = {"binding": recorded(columns(bound)), "row_miss": recorded(columns(bound))}
    grown = one_row(1e-3 * (1.0 + T * bound), signals=signals)
    assert "gave way to the limits of 'm' for 5.05 s" in told(grown, "task").text


@pytest.mark.parametrize(("count", "level"), [(7, "note"), (8, "warning")])
def test_growth_is_told_from_eight_samples_on(count, level):
    labels = {"rows": ("a.x",), "row_units": ("m",), "row_blocks": ("a",)}
    time = np.arange(float(count))
    grown = run(labels, time=time, phi=(1e-3 * (1.0 + time))[:, None], beta=0.0 * time[:, None])
    assert told(grown, "task").level == level


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_error_that_is_no_number_is_not_judged_by_another_that_is(value):
    phi = 1e-3 * ONE
    phi[3] = value
    broken = one_row(phi)
    assert told(broken, "task") is None
    assert headline(broken) == (
        "The run completed 10 s of motion; there is no task error to measure."
    )


VELOCITIES = [  # at the start, at the end: 2 % of the start, or 1e-4, may remain
    (1.0, 0.02, "good", "20 mrad/s"),
    (1.0, 0.02 * JUST_MORE, "warning", "20 mrad/s"),
    (0.0, 1e-4, "good", "100 µrad/s"),
    (0.0, 1e-4 * JUST_MORE, "warning", "100 µrad/s"),
]


@pytest.mark.parametrize(("first", "last", "level", "size"), VELOCITIES)
def test_rows_of_velocities_are_judged_beside_those_of_positions(first, last, level, size):
    beta = columns(0.0, np.linspace(first, last, len(T)))
    beta[-1, 0] = 5.0  # a row with a position level is judged by that
    mixed = run(TWO_ROWS, phi=columns(0.0, np.nan), beta=beta)
    text = f"At the end, rows without a position level are off by at most {size}, in row 'b.x'."
    assert told(mixed, "velocity") == Verdict(level, "velocity", text)


def test_rows_of_one_level_need_no_verdict_on_the_other():
    for phi in (columns(0.0, 0.0), columns(np.nan, np.nan)):
        assert told(run(TWO_ROWS, phi=phi, beta=columns(0.0, 0.0)), "velocity") is None


RANKS = [
    (2.0, 0.5, "good", "All 2 servo rows are independent at every sample."),
    (2.0, 1e-3, "good", "All 2 servo rows are independent at every sample."),
    (2.0, 0.999e-3, "warning", "All 2 servo rows are independent at every sample."),
    (
        1.0, 0.5, "note",
        "The 2 servo rows have rank 1 at every sample: some depend on the others, or no actuator "
        "moves them.",
    ),
    (
        np.where(T == 4.0, 1.0, 2.0), 0.5, "warning",
        "The rank of the servo rows changes: 2 of 2 at best, 1 at t = 4 s.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rank", "least", "level", "text"), RANKS)
def test_how_firm_the_grip_was(rank, least, level, text):
    sigma = np.where(T == 6.0, least, 1.0)
    found = told(run(TWO_ROWS, rank=rank * ONE, sigma_min=sigma), "grip")
    size = {0.5: "0.5", 1e-3: "0.001", 0.999e-3: "9.99×10⁻⁴"}[least]
    near = " The motion passes close to a singularity." if least < 1e-3 else ""
    text += f" The smallest singular value of H = A G lies between {size} (at t = 6 s) and 1.{near}"
    assert found == Verdict(level, "grip", text)


def test_a_rank_that_nobody_knows_is_not_judged():
    assert told(run(TWO_ROWS, rank=np.nan * ONE), "grip") is None
    assert told(run(rank=ONE), "grip") is None
    assert "singular value" not in told(
        run(TWO_ROWS, rank=2.0 * ONE, sigma_min=np.nan * ONE), "grip"
    ).text  # fmt: skip


WEAK = {"hold": "weak", "row": "a.x", "weakest": 1e-7, "at": 1.5}
GRIPS = [
    (
        (10.0, np.inf), {"weights": {"lift": 1.0, "turn": 1.0}}, "warning",
        "The motors have a weak grip of row 'a.x': 1.0e-07 of their authority over it on the "
        "free robot (t = 1.5 s): the row takes -30 N of motor 'lift', 3 times its limit of 10.",
    ),
    (
        (np.inf, np.inf), {"rows_demanded": True}, "warning",
        "The motors have a weak grip of row 'a.x': 1.0e-07 of their authority over it on the free "
        "robot (t = 1.5 s): the row takes 2 N m of motor 'turn', 4 times the weight of what it "
        "drives.",
    ),
    (
        (0.0, np.inf), {"rows_demanded": False}, "note",
        "The motors have a weak grip of row 'a.x': 1.0e-07 of their authority over it on the free "
        "robot (t = 1.5 s): the row takes 2 N m of motor 'turn', 4 times the weight of what it "
        "drives.",
    ),
    (
        (10.0, np.inf), {"hold": "lost", "weakest": 1e-14}, "warning",
        "The motors have no grip of row 'a.x': 1.0e-14 of their authority over it on the free "
        "robot (t = 1.5 s).",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "changed", "level", "text"), GRIPS)
def test_what_a_weak_grip_costs(limits, changed, level, text):
    weak = WEAK | {"weights": {"lift": 15.0, "turn": 0.5}} | changed
    asked = {"rows_demanded": changed.pop("rows_demanded")} if "rows_demanded" in changed else {}
    result = run(
        {**TWO_ROWS, **TWO_MOTORS, "effort_limit": limits},
        rank=2.0 * ONE, u=columns(np.where(T == 5.0, -30.0, 1.0), 2.0),
        provenance={"weak_grip": weak, **asked}, reach=0.0 * ONE,
    )  # fmt: skip
    assert told(result, "grip") == Verdict(level, "grip", text)
    assert told(result, "reach") is None


GIVEN = "The actuators can give every acceleration that the task asks for."
SHORT = (
    "No input gives the accelerations that the task asks for: the shortfall is up to 2 (m/s², "
    "rad/s²) (t = 3 s), during 11 % of the run."
)


@pytest.mark.parametrize(
    ("reach", "level", "text"),
    [
        (1e-6 * ONE, "good", GIVEN),
        (np.where((T > 2.95) & (T < 4.05), 2.0, 1e-6), "warning", SHORT),
    ],
)
def test_whether_the_actuators_reach_the_task(reach, level, text):
    assert told(run(TWO_ROWS, reach=reach), "reach") == Verdict(level, "reach", text)


def test_a_reach_that_nobody_knows_is_not_judged():
    assert told(run(TWO_ROWS, reach=np.nan * ONE), "reach") is None


LIMITS = [
    ((8.0, 2.0), (np.inf, np.inf), "note", "No actuator has an effort limit."),
    ((8.0, 2.0), (np.inf, 0.0), "note", "No actuator has an effort limit."),
    (
        (8.0, 2.0), (10.0, 8.0), "good",
        "All inputs stay within their limits; 'lift' comes nearest, at 80 % of its limit.",
    ),
    (
        (-20.0, 2.0), (10.0, 8.0), "warning",
        "Some input is at or beyond its limit during 100 % of the run; 'lift' comes nearest, at "
        "200 % of its limit.",
    ),
    (
        (8.0, -18.0), (10.0, 8.0), "bad",
        "'turn' gives 18 N·m where its limit is 8 N·m, 2.2 times as much: this robot cannot make "
        "this motion. Let the effect 'saturation' keep the limits, or ask for less.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("u", "limit", "level", "text"), LIMITS)
def test_how_near_inputs_come_to_their_limits(u, limit, level, text):
    result = run({**TWO_MOTORS, "effort_limit": limit}, u=columns(*u))
    assert told(result, "limits") == Verdict(level, "limits", text)


def test_limits_that_an_allocation_or_an_effect_keeps_are_told_as_theirs():
    labels = {**TWO_MOTORS, "effort_limit": (10.0, 8.0)}
    half = np.where(T < 5.05, 1.0, 0.0)
    kept = run(labels, u=columns(5.0, 1.0), signals={"binding": recorded(columns(half, 0.0))})
    assert told(kept, "limits") == (
        "warning", "limits",
        "Some input is at a limit of the allocation during 50.5 % of the run; the motors can "
        "give more.",
    )  # fmt: skip
    tighter = run(labels, u=columns(4.0, 1.0), u_lower=columns(-5.0, -8.0), u_upper=columns(5.0, 8))
    assert told(tighter, "limits").text == (
        "All inputs stay within their limits; 'lift' comes nearest, at 80 % of its limit."
    )
    assert told(run(labels, u=columns(0.0, 0.0)), "limits") is None


def standing(left, right):
    rows = [f"{foot}.{row}" for foot in ("left", "right") for row in ("height", "slip_x")]
    labels = {"passive_rows": rows, "passive_row_units": ("m",) * 4}
    return run(labels, reaction=columns(left, 2.0, right, 4.0))


def test_the_first_contact_to_lift_off_is_named_whichever_pulls_hardest():
    late, early = 10.0 - 4.0 * T, 10.0 - 2.0 * T - np.where(T > 1.95, 6.5, 0.0)
    for left, right, first in ((late, early, "right"), (early, late, "left")):
        strongest = "left" if first == "right" else "right"
        assert told(standing(left, right), "ground") == (
            "warning", "ground",
            f"Contact '{first}' would lift off at t = 2 s (and 1 more then or later); the model "
            f"holds it down, by up to 30 N at '{strongest}', and pulls during 80.5 % of the run.",
        )  # fmt: skip


def test_a_ground_is_judged_from_all_its_forces_or_not_at_all():
    assert told(standing(np.nan * ONE, 10.0), "ground") is None


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], None),
        (["q1 is 0.2 rad above."], "q1 is 0.2 rad above."),
        (["q1 is off.", "q2 is.", "q3 is."], "q1 is off. Other limits passed: 2."),
    ],
)
def test_joints_beyond_their_limits_are_told_of(names, text):
    found = told(run(energy=ONE, provenance={"beyond_limits": names}), "joints")
    start = "The joint limits are not stops of the simulation: "
    assert found == (text and Verdict("warning", "joints", start + text))


OPENED = [
    (1e-6, "good", {}, "1 µm."),
    (
        2e-6, "note", {"kind": "projection"},
        "2 µm, stabilised by projection; a tighter integrator tolerance lowers this.",
    ),
    (
        1e-3, "note", {"kind": "none"},
        "1 mm, without stabilisation; a tighter integrator tolerance lowers this.",
    ),
    (
        1e-3 * JUST_MORE, "bad", {"kind": "baumgarte", "alpha": 20.0, "beta": 100.0},
        "1 mm, stabilised with gains of 20 1/s and 100 1/s²: the simulated mechanism is not the "
        "intended one.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("phi", "level", "chosen", "text"), OPENED)
def test_how_far_a_mechanism_came_apart(phi, level, chosen, text):
    labels = {"passive_rows": ("loop.x",), "passive_row_units": ("m",)}
    provenance = {"stabilisation": chosen} if chosen else {}
    found = told(run(labels, passive_phi=columns(phi), provenance=provenance), "drift")
    text = f"The passive constraints open by at most {text}"
    assert found == Verdict(level, "drift", text)


REACTIONS = [  # outside the rows, on drift, level
    (0.0, 0.0, "good"),
    (0.99e-4, 0.0, "good"),
    (1.1e-4, 0.0, "note"),
    (0.0, 1.1e-4, "note"),
    (0.99e-2, 0.99e-2, "note"),
    (1.1e-2, 0.0, "warning"),
    (0.0, 1.1e-2, "warning"),
]


@pytest.mark.parametrize(("outside", "on_drift", "level"), REACTIONS)
def test_what_reactions_do_beyond_the_rows(outside, on_drift, level):
    result = run(
        {"dofs": ("q1", "q2"), "dof_units": ("m/s", "m/s")},
        passive_force=columns(3.0, 4.0), reaction_residual=5.0 * outside * ONE,
        reaction_power=-0.4 * on_drift * ONE, energy=np.where(T < 5.0, 0.0, 1.0),
        kinetic_energy=np.where(T < 5.0, 0.0, 3.0), provenance={"passive": {"sharing": ["a"]}},
    )  # fmt: skip
    worse = ": the reactions are not to be believed" if level == "warning" else ""
    shares = {0.0: "0", 0.99e-4: "0.0099", 1.1e-4: "0.011", 0.99e-2: "0.99", 1.1e-2: "1.1"}
    size = {0.0: "0 J", 1.1e-4: "440 µJ", 0.99e-2: "39.6 mJ", 1.1e-2: "44 mJ"}[on_drift]
    text = (
        f"At most {shares[outside]} % of the passive force is outside the rows; the work of the "
        f"reactions on the drift of the rows is {size}, {shares[on_drift]} % of the energy "
        f"transferred{worse}. Rows whose load sharing the motion does not determine: 1."
    )
    assert told(result, "reactions") == Verdict(level, "reactions", text)


def test_reactions_without_force_or_motion_are_no_shares_of_zero():
    still = run(
        {"dofs": ("q1",), "dof_units": ("m/s",)}, passive_force=columns(0.0),
        reaction_residual=0.0 * T, reaction_power=0.0 * T, energy=ONE,
    )  # fmt: skip
    assert told(still, "reactions") == (
        "good", "reactions",
        "At most 0 % of the passive force is outside the rows; the work of the reactions on the "
        "drift of the rows is 0 J, 0 % of the energy transferred.",
    )  # fmt: skip


MOVED = 8.0  # supplied 2 J, stored 2 J, between height and motion 4 J
BALANCES = [
    (0.99e-4, "good", "792 µJ", "0.0099", "."),
    (1.1e-4, "note", "880 µJ", "0.011", "; a shorter step or sample interval lowers this."),
    (0.99e-2, "note", "79.2 mJ", "0.99", "; a shorter step or sample interval lowers this."),
    (
        1.1e-2, "bad", "88 mJ", "1.1",
        ": the integration is too coarse to be believed. Shorten the step, or tighten the "
        "tolerance.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("share", "level", "size", "per_cent", "end"), BALANCES)
def test_energy_is_judged_by_all_that_moved_also_between_height_and_motion(
    share, level, size, per_cent, end
):
    supplied, lost = 0.2 * T, share * MOVED * np.sin(0.5 * np.pi * np.clip(T, 0.0, 2.0))
    result = run(
        energy=supplied + lost, supplied_energy=supplied,
        kinetic_energy=np.where(T < 5.0, 0.0, 4.0),
    )  # fmt: skip
    assert told(result, "energy") == Verdict(
        level, "energy",
        f"At most {size} of energy is unaccounted for, {per_cent} % of the {MOVED:g} J "
        f"transferred{end}",
    )  # fmt: skip


def test_samples_too_far_apart_are_not_blamed_on_the_integration():
    power = 50.0 * np.sin(25.0 * T)
    apart = run(energy=-50.0 / 25.0 * (np.cos(25.0 * T) - 1.0), power=power)
    found = told(apart, "energy")
    assert found.level == "warning"
    assert found.text == (
        "At most 1.39 J of energy is unaccounted for, 1.04 % of the 134 J transferred: the "
        "samples are too far apart to tell more; shorten timing.sample."
    )


def test_a_peak_of_power_between_the_samples_is_thought_of_where_nothing_recorded_its_integral():
    unseen = run(energy=0.2 * T + np.where(T < 5.0, 0.0, 3.0), power=0.2 * ONE)
    assert told(unseen, "energy") == Verdict(
        "bad", "energy",
        "At most 3 J of energy is unaccounted for, 42.9 % of the 7 J transferred: either the "
        "power has peaks between the samples, which no metric sees, or the integration is too "
        "coarse to be believed. Shorten timing.sample; if that does not help: shorten the step, "
        "or tighten the tolerance.",
    )  # fmt: skip


@pytest.mark.parametrize("moved", [0.0, 0.9e-12])
def test_without_energy_that_moves_there_is_none_to_lose(moved):
    result = run(energy=moved * T / T[-1], supplied_energy=0.0 * T)
    assert told(result, "energy") == Verdict("good", "energy", "No energy was transferred.")


STEPS = [
    ("RK4", 0.0, "good", "no digit", "."),
    ("RK4", 1e-4, "good", "0.01 %", "."),
    ("RK4", 1e-3, "note", "0.1 %", "; a shorter integrator.step lowers this."),
    (
        "RK4", 1e-2, "warning", "1 %",
        ": the step is long for this motion. Shorten integrator.step.",
    ),
    (
        "RK4", 2e-2, "bad", "2 %",
        ": the step is too long to be believed. Shorten integrator.step, or use an adaptive "
        "method.",
    ),
    ("semi_implicit_euler", 1e-2, "good", "1 %", "."),
    ("semi_implicit_euler", 3e-2, "note", "3 %", "; a shorter integrator.step lowers this."),
    (
        "semi_implicit_euler", 1e-1, "warning", "10 %",
        ": the step is long for this motion. Shorten integrator.step.",
    ),
    (
        "semi_implicit_euler", 0.11, "bad", "11 %",
        ": the step is too long to be believed. Shorten integrator.step, or use an adaptive "
        "method.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("method", "share", "level", "size", "end"), STEPS)
def test_what_halved_steps_say_of_a_step(method, share, level, size, end):
    halving = {"step_halving": {"method": method, "share": share}}
    text = f"Halved steps change {size} of what the velocities change by{end}"
    assert told(run(energy=ONE, provenance=halving), "step") == Verdict(level, "step", text)


def test_a_step_that_was_not_halved_is_not_judged():
    for halving in (None, {}, {"share": None}):
        assert told(run(energy=ONE, provenance={"step_halving": halving}), "step") is None


def at_limits(binding, row_miss, phi=None, task_scale=None, signals=None):
    labels = {**TWO_ROWS, **TWO_MOTORS}
    signals = {"binding": recorded(binding), "row_miss": recorded(row_miss), **(signals or {})}
    if task_scale is not None:
        signals["task_scale"] = recorded(task_scale)
    phi = columns(0.0, 0.0) if phi is None else phi
    return run(labels, u=columns(1.0, 1.0), phi=phi, beta=columns(0.0, 0.0), signals=signals)


FIRST, SECOND = (np.where((low < T) & (low + 2.1 > T), 1.0, 0.0) for low in (0.95, 4.95))
SPELLS = (
    "'lift' at its upper limit, 1.00 s to 3.00 s; 'turn' at its lower limit, 5.00 s to 7.00 s. "
)


def test_motors_at_their_limits_are_told_with_what_it_cost():
    binding, after = columns(FIRST, -SECOND), np.where(T > 0.95, 1.0, 0.0)
    served = at_limits(binding, columns(1e-6, 0.0))
    assert told(served, "motors") == Verdict(
        "note", "motors", f"{SPELLS}The task was still met in full."
    )
    early = columns(5e-3 * (1.0 - after), 5e-3 * (1.0 - after))  # before any limit was met
    missed = at_limits(binding, columns(0.0, SECOND), phi=early + columns(2e-3 * after, 0.0))
    assert told(missed, "motors") == Verdict(
        "warning", "motors",
        f"{SPELLS}The rows of 'b' gave way; the tracking error grew to 2 mm in 'a'.",
    )  # fmt: skip
    scaled = at_limits(binding, columns(0.0, SECOND), task_scale=1.0 - 0.5 * FIRST)
    assert told(scaled, "motors") == Verdict(
        "warning", "motors",
        f"{SPELLS}The task was scaled down to 0.5 of the demand; the tracking error grew to 0 m "
        "in 'a'.",
    )  # fmt: skip
    assert told(at_limits(columns(0.0, 0.0), columns(1.0, 1.0)), "motors") is None


def test_a_limit_of_an_input_that_a_filter_has_changed_held_nobody():
    """The law asked for 6 N m at a wall that the filter kept with 0.2 N m."""
    law = {"binding": columns(FIRST, -SECOND), "row_miss": columns(0.0, SECOND)}
    labels = {**TWO_ROWS, **TWO_MOTORS, **WALL, "keep_row_missed_units": ("m/s^2",)}
    states = {"u": columns(1.0, 1.0), "phi": columns(0.0, 0.0), "beta": columns(0.0, 0.0)}
    none = {name: columns(0.0) for name in ("keep", "keep_missed")}
    second = SPELLS.partition("; ")[2]
    for kept, text in ((FIRST, second), (FIRST + SECOND, None), (0.0 * T, SPELLS)):
        filtered = {"keep_binding": columns(kept), "keep_given_up": columns(0.0, 0.0)}
        signals = {name: recorded(values) for name, values in law.items()}
        verdict = told(run(labels, **states, **none, **filtered, signals=signals), "motors")
        assert verdict is None if text is None else verdict.text.startswith(text)


def test_of_many_times_at_a_limit_the_longest_are_named():
    often = np.isin(np.arange(len(T)), [1, 10, 11, 20, 21, 30, 31, 40]).astype(float)
    found = told(at_limits(columns(often, 0.0), columns(0.0, 0.0)), "motors")
    assert found.text.startswith(
        "'lift' at its upper limit, 1.00 s to 1.10 s; 'lift' at its upper limit, 2.00 s to 2.10 s; "
        "'lift' at its upper limit, 3.00 s to 3.10 s; and 2 more intervals. "
    )


def test_damping_is_told_with_its_miss_and_its_bound():
    def damped(bound, miss):
        signals = {"miss_bound": recorded(bound, "m/s^2")}
        return at_limits(columns(0.0, 0.0), columns(miss, 0.0), signals=signals)

    spell = np.where((T > 1.95) & (T < 4.05), 1.0, 0.0)
    assert told(damped(0.5 * spell, 0.25 * spell + 9.0 * (T > 5.0)), "damping") == Verdict(
        "warning", "damping",
        "Near a singular pose, from 2.00 s to 4.00 s, damping left a row residual of up to 0.25 "
        "m/s²; its bound is 0.5 m/s²; the tracking error grew to 0 m in 'a'.",
    )  # fmt: skip
    assert told(damped(1e-6 * ONE, 0.0), "damping") is None


def test_of_rows_whose_errors_are_not_known_none_is_told():
    signals = {
        "binding": recorded(columns(FIRST, -SECOND)), "row_miss": recorded(columns(0.0, SECOND))
    }  # fmt: skip
    unknown = run(
        {**TWO_ROWS, **TWO_MOTORS}, u=columns(1.0, 1.0), phi=columns(np.nan, np.nan),
        beta=columns(np.nan, np.nan), signals=signals,
    )  # fmt: skip
    assert told(unknown, "motors") == Verdict(
        "warning", "motors", f"{SPELLS}The rows of 'b' gave way; no error is known."
    )


def test_levels_that_higher_ones_left_nothing_are_named():
    def ordered(second):
        signal = recorded(columns(0.0, second), "m/s^2", ("place", "posture"))
        return at_limits(columns(0.0, 0.0), columns(0.0, 0.0), signals={"level_miss": signal})

    assert told(ordered(np.where(T < 2.45, 1.0, 0.0)), "priorities") == Verdict(
        "warning", "priorities",
        "Higher levels left 'posture' too little freedom in 24.8 % of the samples; the tracking "
        "error grew to 0 m in 'a'.",
    )  # fmt: skip
    assert told(ordered(1e-6), "priorities") is None


def promised(error, bound, level="surface"):
    signals = {
        f"{level}_{what}": {"values": values * ONE, "units": "m", "long_name": what}
        for what, values in (("error", error), ("bound", bound))
    }
    return told(run(energy=ONE, signals=signals), "promise")


@pytest.mark.parametrize("level", ["surface", "position"])
def test_a_bound_that_a_law_promises_is_kept_or_its_breach_is_told(level):
    kept = Verdict(
        "note", "promise",
        f"The errors stayed within the law's bounds. At the end the error of {level} is 0.002 m, "
        "its bound 0.002 m.",
    )  # fmt: skip
    assert promised(2e-3, 2e-3, level) == kept
    assert promised(2e-3 * (1.0 + 0.5e-6), 2e-3, level) == kept
    assert promised(2e-3, np.inf, level) is None
    assert promised(0.0, 0.0, level) is None
    broken = np.where(T > 2.95, 3e-3, 1e-3) + np.where(T == 6.0, 1e-3, 0.0)
    assert promised(broken, 2e-3, level) == Verdict(
        "warning", "promise",
        f"At 3.00 s the error of {level} exceeded the law's bound; it grew to 0.004 m where the "
        "bound is 0.002 m. An assumption of the bound does not hold: the model error is larger "
        "than the law was told, or the input is saturated or held too long.",
    )  # fmt: skip
    assert promised(2e-3 * (1.0 + 2e-6), 2e-3, level).level == "warning"


def test_the_terminal_shows_what_a_law_gave_up_also_where_it_cost_nothing(tmp_path):
    def shown(result):
        return [
            "".join(getattr(part, "text", part) for part in line)
            for line in result_lines(result, tmp_path)
        ]

    def unfolded(lines):  # wherever the terminal's width breaks them
        return " ".join(" ".join(lines).split())

    served = shown(at_limits(columns(FIRST, 0.0), columns(0.0, 0.0)))
    assert unfolded(served).count("The task was still met in full") == 1
    missed = shown(at_limits(columns(FIRST, 0.0), columns(1.0, 0.0)))
    assert missed[0] == "run: completed, warning"
    assert unfolded(missed).count("gave way") == 1
