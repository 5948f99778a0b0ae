"""Verdicts: the words must follow from the numbers."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result, SignalSeries
from ukctrl.simulation.result.verdicts import headline, judge

T = np.linspace(0.0, 10.0, 501)


def verdict(result, subject):
    found = {entry.subject: entry for entry in judge(result)}
    return found.get(subject)


def test_a_good_run_is_told_in_good_words_only(helix):
    assert {entry.level for entry in judge(helix())} == {"good"}


def test_the_headline_names_the_error_of_each_block_in_its_own_unit(helix):
    assert headline(helix()) == (
        "The run completed 20 s of motion; its largest task error is 20 mm in 'tool', "
        "8 mrad in 'tilt'."
    )


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("diverged", "The run diverged after 20 s. The state is infinite."),
        ("infeasible", "The run stopped as infeasible after 20 s. The state is infinite."),
        ("drifted", "The run stopped after 20 s. The state is infinite."),
        ("interrupted", "The run was interrupted after 20 s. The state is infinite."),
    ],
)
def test_the_headline_of_a_run_that_ended_early_says_how_and_why(helix, status, words):
    assert headline(helix(status=status, message="the state is infinite")) == words


def test_the_headline_of_a_purely_nonholonomic_task_is_about_velocities(rows):
    result = rows(T, np.full((len(T), 1), np.nan), beta=0.02 * np.ones((len(T), 1)))
    assert "task error at velocity level is 20 mm/s" in headline(result)


def test_the_headline_without_a_task_says_so(motors):
    assert "there is no task error to measure" in headline(motors(T, np.sin(T)))


def test_an_error_that_grows_without_end_is_called_so(rows):
    found = verdict(rows(T, 1e-9 + 5e-4 * T), "task")
    assert found.level == "warning"
    assert "keeps growing, from 1 nm to 5 mm" in found.text


def test_a_bounded_error_is_not_called_growth(rows):
    assert verdict(rows(T, 1e-3 * np.sin(T)), "task").level != "warning"


def test_an_error_of_rounding_is_good_whatever_it_does(rows):
    assert verdict(rows(T, 1e-9 * T), "task").level == "good"


def grip(**samples):
    labels = Labels(rows=["a", "b"], row_units=["m", "m"], row_blocks=["x", "x"])
    return Result.build(time=T, samples=samples, labels=labels, status="completed")


def test_a_rank_that_changes_is_a_warning_with_its_time():
    found = verdict(grip(rank=np.where(T > 4.0, 1.0, 2.0)), "grip")
    assert found.level == "warning"
    assert "2 of 2 at best, 1 at t = 4.02 s" in found.text


def test_dependent_rows_are_normal_and_worth_a_note():
    assert verdict(grip(rank=np.ones_like(T)), "grip").level == "note"


def test_a_singularity_that_comes_near_is_a_warning():
    found = verdict(grip(rank=2 + 0 * T, sigma_min=1e-5 + np.abs(T - 5.0)), "grip")
    assert found.level == "warning"
    assert "close to a singularity" in found.text


def test_a_demand_out_of_reach_is_told_with_its_size_and_share():
    found = verdict(grip(reach=np.where(T <= 5.0, 0.3, 0.0)), "reach")
    assert found.level == "warning"
    assert "the shortfall is up to 0.3 m/s²" in found.text
    assert "during 50.1 % of the run" in found.text


def test_a_law_that_asks_no_rows_for_anything_gets_a_note_on_their_reach():
    found = grip(reach=np.where(T <= 5.0, 0.3, 0.0))
    note = verdict(dc.replace(found, provenance={"rows_demanded": False}), "reach")
    assert note.level == "note"
    assert "the shortfall is up to 0.3 m/s²" in note.text
    assert "This law does not demand" in note.text
    asked = verdict(dc.replace(found, provenance={"rows_demanded": True}), "reach")
    assert asked.level == "warning"


@pytest.mark.parametrize(("top", "level"), [(0.0, "note"), (0.1, "warning")])
def test_priorities_may_cost_rows_but_not_those_of_the_first_level(top, level):
    missed = np.column_stack([np.full_like(T, top), np.full_like(T, 0.3)])
    signal = SignalSeries(
        values=missed,
        units="m/s^2",
        long_name="missed by the level",
        components=("place", "posture"),
    )
    labels = Labels(rows=["a", "b"], row_units=["m", "m"], row_blocks=["place", "posture"])
    result = Result.build(
        time=T,
        samples={"reach": np.full_like(T, 0.3)},
        signals={"level_miss": signal},
        labels=labels,
        status="completed",
    )
    kept = " Only rows below the first priority are affected."
    assert verdict(result, "reach") == (
        level,
        "reach",
        "No input gives the accelerations that the task asks for: the shortfall is up to 0.3 "
        f"m/s² (t = 0 s), during 100 % of the run.{kept if level == 'note' else ''}",
    )


@pytest.mark.parametrize(
    ("scenario", "words"),
    [("acrobot-swing-up", "does not demand"), ("panda-priorities", "first priority")],
)
def test_what_gives_up_rows_by_design_is_not_warned_of(scenario, words):
    result = simulate(Scenario.load(scenario, {"timing.duration": 0.5}))
    found = verdict(result, "reach")
    assert (found.level, words in found.text) == ("note", True)


def test_the_input_nearest_to_its_limit_is_named(motors):
    u = np.stack([0.5 * np.sin(T), 3.0 * np.sin(T)], axis=1)
    found = verdict(motors(T, u, limits=[1.0, 4.0]), "limits")
    assert found.level == "good"
    assert "'u1' comes nearest, at 75 % of its limit" in found.text


def test_saturation_is_a_warning(motors):
    found = verdict(motors(T, np.clip(2.0 * np.sin(T), -1, 1), limits=[1.0]), "limits")
    assert found.level == "warning"


def test_no_limit_at_all_is_worth_a_note(motors):
    assert verdict(motors(T, np.sin(T)), "limits").text == "No actuator has an effort limit."


@pytest.mark.parametrize(
    ("opening", "level"), [(1e-9, "good"), (1e-5, "note"), (0.1, "bad")], ids=str
)
def test_a_closure_is_judged_by_how_far_it_opens(opening, level):
    labels = Labels(passive_rows=["loop"], passive_row_units=["m"])
    result = Result.build(
        time=T,
        samples={"passive_phi": opening * np.sin(T)[:, None]},
        labels=labels,
        status="completed",
    )
    assert verdict(result, "drift").level == level


@pytest.mark.parametrize(("leak", "level"), [(1e-7, "good"), (1e-3, "note"), (1.0, "bad")], ids=str)
def test_the_energy_balance_is_judged_by_what_moved(leak, level):
    result = Result.build(
        time=T,
        samples={"energy": np.sin(T) + leak * T, "supplied_energy": np.sin(T)},
        labels=Labels(),
        status="completed",
    )
    assert verdict(result, "energy").level == level


def test_without_samples_only_the_outcome_is_judged(helix):
    assert [entry.subject for entry in judge(helix(0))] == ["outcome"]


def standing(reaction, **changes):
    """Return a run of two feet with these reactions: normal, along x, along y, of each."""
    feet = ("left", "right")
    rows = tuple(f"{foot}.{row}" for foot in feet for row in ("height", "slip_x", "slip_y"))
    labels = Labels(
        dofs=("x",), dof_units=("m/s",), passive_rows=rows, passive_row_units=("m",) * 6
    )
    return Result.build(
        time=T, samples={"reaction": reaction}, labels=labels, status="completed", **changes
    )


def forces(left=10.0, right=20.0, along=3.0):
    return np.column_stack([c + 0.0 * T for c in (left, along, 0.0, right, 0.0, along)])


def test_feet_that_push_are_told_with_the_weakest_and_the_friction_they_need():
    told = verdict(standing(forces()), "ground")
    assert told == (
        "good",
        "ground",
        "Every contact pushes; the smallest normal force is 10 N at 'left' (t = 0 s); without "
        "slip, the coefficient of friction must be at least 0.3.",
    )


def test_a_foot_that_would_lift_off_is_named_with_the_moment_and_the_pull():
    run = standing(forces(left=10.0 - 4.0 * T))
    told = verdict(run, "ground")
    assert told.level == "warning"
    assert told.text.startswith(
        "Contact 'left' would lift off at t = 2.52 s; the model holds it down, by up to 30 N at "
        "'left', and pulls during 74.9 % of the run."
    )
    assert run.metric("ground_pull") == 30.0


def test_more_friction_than_rubber_has_is_noted():
    told = verdict(standing(forces(along=9.0)), "ground")
    assert told.level == "note"
    assert (
        "the coefficient of friction must be at least 0.9, more than rubber has on dry concrete"
        in told.text
    )


def test_feet_that_share_their_load_are_not_told_as_if_it_were_known():
    run = standing(forces(), provenance={"passive": {"sharing": ["left.height", "right.height"]}})
    assert verdict(run, "ground").text == (
        "Every contact pushes; the smallest normal force is 10 N at 'left' (t = 0 s); without "
        "slip, the coefficient of friction must be at least 0.3. The motion does not determine "
        "how 2 of the contacts share their load; these are the forces of least norm."
    )


def test_a_robot_without_contacts_has_no_ground(helix):
    assert verdict(helix(), "ground") is None
