"""What is said of limits kept, of feet that slide and open, of estimates and late programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result, SignalSeries
from ukctrl.simulation.result.verdicts import judge
from ukctrl.simulation.result.verdicts.authority_cost import authority_cost
from ukctrl.simulation.result.verdicts.task_relaxation import task_relaxation

T = np.linspace(0.0, 4.0, 41)
ONE = np.ones(41)
FIRST, LATER = 1.0 * (T < 1.05), 1.0 * (T > 2.95)  # eleven samples each: 1.05 s by trapezoids
LABELS = {
    "actuators": ("lift", "turn"), "actuator_units": ("N", "N m"),
    "rows": ("a.x", "a.y", "b"), "row_units": ("m", "m", "rad"), "row_blocks": ("a", "a", "b"),
    "keep_rows": ("wall", "joints.lower", "joints.upper", "foot.normal"),
    "keep_row_units": ("m", "rad", "rad", "N"),
    "keep_row_blocks": ("wall", "joints", "joints", "foot"),
    "keep_row_missed_units": ("m/s^2", "rad/s^2", "rad/s^2", "N"),
}  # fmt: skip


def columns(*each):
    return np.column_stack([value * ONE for value in each])


def run(labels=LABELS, *, signals=None, provenance=None, **samples):
    return Result.build(
        time=T, samples=samples, labels=Labels(**labels), status="completed",
        signals={name: SignalSeries(values=v, units=unit, components=of)
                 for name, (v, unit, of) in (signals or {}).items()},
        provenance=provenance or {},
    )  # fmt: skip


def keeping(left, binding=(0, 0, 0, 0), missed=(0, 0, 0, 0), given_up=(0, 0, 0), **more):
    return run(
        keep=columns(*left), keep_binding=columns(*binding), keep_missed=columns(*missed),
        keep_given_up=columns(*given_up), phi=columns(0.25, 0.0, 2.0 * T), beta=columns(0, 0, 0),
        u=columns(1.0, 1.0), **more,
    )  # fmt: skip


def told(result, subject):
    return [(each.level, each.text) for each in judge(result) if each.subject == subject]


# What the law kept


def test_what_was_kept_is_told_block_by_block_with_what_was_left_where():
    found = keeping((0.5 - 0.0625 * T, 0.3, 0.2 + (T - 2.0) ** 2, np.where(T < 1.0, np.nan, 5.0)))
    assert told(found, "keep") == [
        ("good", "'wall' was kept with a slack of 0.25 m (t = 4 s); the limit was never active."),
        ("good",
            "'joints' was kept with a slack of 0.2 rad (t = 2 s, worst at 'joints.upper'); the "
            "limit was never active."),
        ("good", "'foot' was kept with a slack of 5 N (t = 1 s); the limit was never active."),
    ]  # fmt: skip
    assert found.metric("worst_margin") == pytest.approx(0.2)
    assert found.metric("worst_margin.wall") == pytest.approx(0.25)
    assert found.metric("worst_margin.joints") == pytest.approx(0.2)
    assert found.metric("limits_crossed") == 0.0
    assert found.metric("time_at_limits") == 0.0


@pytest.mark.parametrize(
    ("left", "level", "text"),
    [
        ((0.9e-6, 1.0, 1.0, 1.0), "good", "'wall' was kept without slack (t = 0 s)"),
        ((-0.9e-6, 1.0, 1.0, 1.0), "good", "'wall' was kept without slack (t = 0 s)"),
        ((1.1e-6, 1.0, 1.0, 1.0), "good", "'wall' was kept with a slack of 1.1 µm (t = 0 s)"),
        ((-0.025, 1.0, 1.0, 1.0), "warning", "'wall' exceeded its limit by 25 mm (t = 0 s)"),
    ],
)
def test_a_limit_is_crossed_by_more_than_rounding(left, level, text):
    assert told(keeping(left), "keep")[0] == (level, f"{text}; the limit was never active.")


def test_of_a_block_the_row_that_is_crossed_most_is_named_and_forces_round_coarsely():
    found = keeping((1.0, -0.1, -0.2, -0.9e-3))
    assert told(found, "keep")[1:] == [
        ("warning",
            "'joints' exceeded its limit by 0.2 rad (t = 0 s, worst at 'joints.upper'); the "
            "limit was never active."),
        ("good", "'foot' was kept without slack (t = 0 s); the limit was never active."),
    ]  # fmt: skip
    assert found.metric("limits_crossed") == 2.0
    assert found.metric("limits_crossed.foot") == 0.0
    assert keeping((1.0, 1.0, 1.0, -1.1e-3)).metric("limits_crossed.foot") == 1.0


def test_a_limit_that_binds_is_told_for_how_long_and_at_what_cost():
    left = (1.0, 1.0, 1.0, 1.0)
    free = keeping(left, binding=(FIRST, 0, 0, 0))
    assert told(free, "keep")[0][1] == (
        "'wall' was kept with a slack of 1 m (t = 0 s); the limit was active for 1.05 s, without "
        "loss to the task."
    )
    assert free.metric("time_at_limits.wall") == pytest.approx(1.05)
    costly = keeping(
        left, binding=(FIRST, FIRST, LATER, 0), given_up=(0, 2e-6 * FIRST, -3e-6 * LATER)
    )
    wall, joints, foot = (text.partition("; ")[2] for _, text in told(costly, "keep"))
    assert wall == "the limit was active for 1.05 s, with a task error of up to 0.25 m in 'a'."
    assert joints == (
        "the limit was active for 2.1 s, with a task error of up to 0.25 m in 'a' and 8 rad in 'b'."
    )
    assert foot == "the limit was never active."
    # The norm over the rows: 2e-6 for 1.05 s, and 3e-6 for as long.
    assert costly.metric("task_given_up") == pytest.approx(5e-6 * 1.05)
    little = keeping(left, binding=(FIRST, 0, 0, 0), given_up=(0.9e-6, 0, 0))
    assert "without loss to the task" in told(little, "keep")[0][1]


def test_forces_that_nothing_was_asked_of_have_nothing_to_spare():
    found = keeping((1.0, 1.0, 1.0, np.nan))
    assert told(found, "keep")[2] == (
        "good",
        "'foot' had nothing to limit; the limit was never active.",
    )


def test_a_limit_that_gave_way_is_a_warning_and_the_worst_of_its_block_is_named():
    found = keeping((1.0, 1.0, 1.0, 1.0), missed=(0, 0.5, 2.0 * FIRST, 30.0))
    assert [each[0] for each in told(found, "keep")] == ["good", "warning", "warning"]
    assert told(found, "keep")[1][1] == (
        "'joints' was kept with a slack of 1 rad (t = 0 s, worst at 'joints.lower'); "
        "'joints.upper' gave way, by up to 2 rad/s²; the limit was never active."
    )
    assert told(found, "keep")[2][1] == (
        "'foot' was kept with a slack of 1 N (t = 0 s); 'foot.normal' gave way, by up to 30 N; the "
        "limit was never active."
    )


def test_a_task_gives_way_to_what_binds_meanwhile_and_else_to_the_motors():
    left = (1.0, 1.0, 1.0, 1.0)
    up, later = 2e-6 * FIRST, 2e-6 * LATER
    assert task_relaxation(keeping(left, binding=(1, 1, 1, 1))) is None
    by = lambda **given: task_relaxation(keeping(left, **given))  # noqa: E731
    one = by(binding=(FIRST, 0, LATER, 0), given_up=(up, 0, 0))
    assert (one.limits, one.errors) == ("'wall'", ("0.25 m in 'a'",))
    assert one.time == pytest.approx(1.05)
    np.testing.assert_array_equal(one.during, FIRST > 0.0)
    assert one.sentence == "gave way to 'wall' for 1.05 s, with an error of up to 0.25 m in 'a'"
    both = by(binding=(FIRST, 0, LATER, 0), given_up=(up, 0, later))
    assert both.limits == "'wall' and 'joints'"
    assert both.errors == ("0.25 m in 'a'", "8 rad in 'b'")
    assert by(binding=(LATER, 0, 0, 0), given_up=(up, 0, 0)).limits == "the motors' limits"
    some = by(binding=(LATER, 0, 0, 0), given_up=(up + later, 0, 0))
    assert some.limits == "'wall' and the motors' limits"


def test_a_task_gives_way_to_motors_that_an_allocation_keeps():
    def by(binding, miss):
        signals = {
            "binding": (columns(*binding), "1", ()), "row_miss": (columns(*miss), "m/s^2", ()),
        }  # fmt: skip
        return task_relaxation(keeping((1.0,) * 4, signals=signals))

    found = by((FIRST, -LATER), (2e-6 * FIRST, 0, 0))
    assert (found.limits, found.errors) == ("the limits of 'lift'", ("0.25 m in 'a'",))
    assert by((FIRST, -FIRST), (0, 0, -2e-6)).limits == "the limits of 'lift', 'turn'"
    assert by((FIRST, 0), (0.9e-6, 0, 0)) is None
    assert by((FIRST, 0), (2e-6 * LATER, 0, 0)) is None


def test_the_error_of_a_block_with_rows_in_metres_and_radians_has_both_units():
    pose = {**LABELS, "rows": ("a.x", "a.rx", "b"), "row_units": ("m", "rad", "rad")}
    kept = keeping((1.0,) * 4, labels=pose, binding=(FIRST, 0, 0, 0), given_up=(2e-6 * FIRST, 0, 0))
    assert task_relaxation(kept).errors == ("0.25 (m, rad) in 'a'",)


# Limits ahead, and programs


def test_limits_ahead_that_are_given_up_are_told_with_their_share_and_their_most():
    ahead = {
        "excess_ahead": (columns(0.5 * FIRST, 0.0), "rad", ("elbow", "wrist")),
        "speed_excess_ahead": (columns(2.0 * LATER), "rad/s", ("v.elbow",)),
    }
    share = f"{100.0 * 22 / 41:.3g}"
    assert told(keeping((1.0,) * 4, signals=ahead), "limits ahead") == [
        ("warning",
         f"In {share} % of the samples no admissible input kept all limits over the horizon. "
         "Exceeded: 'elbow' by up to 0.5 rad, 'v.elbow' by up to 2 rad/s."),
    ]  # fmt: skip
    none = {"excess_ahead": (columns(0.0, 0.0), "rad", ("elbow", "wrist"))}
    assert told(keeping((1.0,) * 4, signals=none), "limits ahead") == []


def test_programs_that_took_longer_than_a_tick_are_told():
    timing = {"programs": 40, "late_programs": 3, "worst_program_us": 2500.0}
    assert told(keeping((1.0,) * 4, provenance={"timing": timing}), "pace") == [
        ("warning",
         "Of 40 programs 3 took longer than the control period on this machine, 2.5 ms at worst: a "
         "real input would have come late. Take fewer moves, or a longer period."),
    ]  # fmt: skip
    on_time = timing | {"late_programs": 0}
    assert told(keeping((1.0,) * 4, provenance={"timing": on_time}), "pace") == []


# Estimates


@pytest.mark.parametrize(
    ("within", "size", "level", "end"),
    [
        (40, 0.5, "good", "."),
        (32, 0.5, "good", "."),
        (31, 0.5, "warning",
         ": the covariance is too small. Increase acceleration_std or input_std, or improve the "
         "model."),
        (40, 0.11, "good", "."),
        (40, 0.09, "note",
         ": the covariance is too large. A smaller acceleration_std makes the estimate less "
         "noisy."),
    ],
)  # fmt: skip
def test_an_estimate_is_judged_by_its_own_covariance(within, size, level, end):
    bound = chi2.ppf(0.95, 4) / 4
    nees = np.concatenate([np.full(within, size), np.full(40 - within, 1.001 * bound), [99.0]])
    mean = nees[:-1].mean()
    found = run({}, nees=nees, provenance={"observer": {"states": 4}})
    assert told(found, "estimate") == [
        (level,
            "Estimation errors are within the observer's own 95 % bound at "
            f"{100.0 * within / 40:.3g} % of the samples; their squares are {mean:.3g} times the "
            f"observer's covariance{end}"),
    ]  # fmt: skip


def test_an_estimate_that_nobody_knows_is_not_judged():
    assert told(run({}, nees=np.full(41, np.nan), provenance={"observer": {"states": 4}}),
                "estimate") == []  # fmt: skip
    assert told(run({}, nees=ONE), "estimate") == []


# Feet that slide and open


FEET = {
    "passive_rows": [f"{foot}.{row}" for foot in ("left", "right") for row in ("height", "slip_x")],
    "passive_row_units": ("m",) * 4, "passive_row_blocks": ("left", "left", "right", "right"),
}  # fmt: skip


def standing(left, right, *, along=(3.0, 0.0), closed=(1, 1), sticks=(1, 1), **given):
    reaction = columns(left, along[0], right, along[1])
    holds = columns(closed[0], sticks[0], closed[1], sticks[1])
    return run(FEET, reaction=reaction, passive_holds=holds, **given)


def test_feet_that_slide_are_told_for_how_long():
    slides = 1.0 - FIRST
    assert told(standing(10.0, 20.0, sticks=(slides, 1)), "ground") == [
        ("warning",
         "Every contact pushes; the smallest normal force is 10 N at 'left' (t = 0 s); 'left' "
         "slid for 1.05 s."),
    ]  # fmt: skip
    both = standing(10.0, 20.0, along=(3.0, 2.0), sticks=(slides, 1.0 - LATER))
    assert told(both, "ground")[0][1].endswith(
        "; 'left' slid for 1.05 s and 'right' slid for 1.05 s."
    )
    smooth = standing(10.0, 20.0, along=(0.0, 0.0), sticks=(slides, 1))
    assert told(smooth, "ground") == [
        ("good", "Every contact pushes; the smallest normal force is 10 N at 'left' (t = 0 s)."),
    ]


def test_feet_that_are_open_are_told_with_what_impacts_took():
    lost = {"contacts": {"impact_loss": 0.025}}
    up = 1.0 - FIRST
    found = standing(10.0 * up, 20.0, along=(0.0, 0.0), closed=(up, 1), provenance=lost)
    assert told(found, "ground") == [
        ("good",
         "Every contact pushes; the smallest normal force is 10 N at 'left' (t = 1.1 s). Open "
         "were 'left' for 1.05 s; impacts took 25 mJ."),
    ]  # fmt: skip
    quiet = standing(10.0 * up, 20.0, along=(0.0, 0.0), closed=(up, 1))
    assert told(quiet, "ground")[0][1].endswith("Open were 'left' for 1.05 s.")
    flying = standing(0.0, 0.0, along=(0.0, 0.0), closed=(0, 0))
    assert told(flying, "ground") == [
        ("good", "No contact touches at any sample. Open were 'left' for 4 s and 'right' for 4 s."),
    ]


def test_feet_that_share_their_load_are_counted():
    shared = {"passive": {"sharing": ["left.height", "left.slip_x", "right.height"]}}
    found = standing(10.0, 20.0, along=(0.0, 0.0), provenance=shared)
    assert told(found, "ground")[0][1] == (
        "Every contact pushes; the smallest normal force is 10 N at 'left' (t = 0 s). The motion "
        "does not determine how 2 of the contacts share their load; these are the forces of "
        "least norm."
    )


@pytest.mark.parametrize(("pull", "lifts"), [(1e-8, True), (1e-10, False)])
def test_a_pull_of_rounding_is_none(pull, lifts):
    ((level, text),) = told(standing(10.0 - (10.0 + 20.0 * pull) * FIRST, 20.0), "ground")
    assert text.startswith("Contact 'left' would lift off at t = 0 s") == lifts
    assert level == ("warning" if lifts else "good")


# What a weak grip takes


@pytest.mark.parametrize(
    ("u", "limits", "weights", "text"),
    [
        ([0.4, 3.0], [0.5, 10.0], [9.0, 9.0],
         "the row takes 0.4 N of motor 'lift', 0.8 times its limit of 0.5"),
        ([0.4, -9.0], [0.5, 10.0], [9.0, 9.0],
         "the row takes -9 N m of motor 'turn', 0.9 times its limit of 10"),
        ([[0.1, 1.0], [-0.4, 2.0]], [0.5, 10.0], [9.0, 9.0],
         "the row takes -0.4 N of motor 'lift', 0.8 times its limit of 0.5"),
        ([1.0, 3.0], [np.inf, 0.0], [0.25, 0.5],
         "the row takes 3 N m of motor 'turn', 6 times the weight of what it drives"),
        ([1.0, 3.0], [2.0, np.inf], [0.25, 12.0],
         "the row takes 1 N of motor 'lift', 0.5 times its limit of 2"),
        ([1.0, 3.0], [np.inf, np.inf], [0.0, 12.0],
         "the row takes 3 N m of motor 'turn', 0.25 times the weight of what it drives"),
        ([1.0, 3.0], [np.inf, np.inf], [0.0, 0.0], ""),
        ([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], ""),
        ([np.nan, 1.0], [1.0, 1.0], [1.0, 1.0], ""),
    ],
)  # fmt: skip
def test_the_input_that_is_largest_beside_its_limit_or_what_it_drives(u, limits, weights, text):
    given = np.array(u), np.array(limits), np.array(weights)
    assert authority_cost(("lift", "turn"), ("N", "N m"), *given) == text
