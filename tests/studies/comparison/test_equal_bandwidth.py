"""Comparisons of loops that are equally stiff, and what is told where they are not."""

import json
import math

import numpy as np
import pytest

from ukctrl import Budget, Entry, Scenario, compare, control
from ukctrl.analysis.linear.performance import LoopPerformance
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import InputError
from ukctrl.studies.comparison import equal_bandwidth

SHORT = {"timing": {"duration": 0.1, "sample": 0.01}}


def helix(**more):
    return Scenario.load("scara-helix", {**SHORT, **more})


def subjects(comparison):
    return [verdict.subject for verdict in comparison.verdicts]


def test_loops_designed_alike_are_as_quick_as_each_other():
    laws = ["servo-baumgarte", "servo-pid", "computed-torque", "operational-space"]
    found = compare(helix(), laws, equal=ErrorSpec(bandwidth=60.0))
    stands = found.stands
    np.testing.assert_allclose(list(stands.lowest_bandwidths.values()), 60.0, rtol=1e-3)
    assert stands.similar_bandwidths
    assert "bandwidth" not in subjects(found)
    (fact,) = (fact for fact in found.facts if fact.subject == "bandwidth")
    assert fact.equal
    assert fact.text.startswith("designed for a bandwidth of 60 rad/s with damping 1: 60 ")
    assert found.to_dict()["loops"]["asked"]["bandwidth"] == 60.0


def test_a_loop_that_is_designed_is_made_ready_once(monkeypatch):
    made = []

    class Counted(equal_bandwidth.Loop):
        def __init__(self, scenario):
            made.append(scenario.controller.name)
            super().__init__(scenario)

    monkeypatch.setattr(equal_bandwidth, "Loop", Counted)
    compare(helix(), ["servo-baumgarte", "servo-pid"], equal=ErrorSpec(bandwidth=60.0))
    assert made == ["servo-baumgarte", "servo-pid"]


def test_a_ranking_of_stiffness_is_told_before_anything_runs():
    told = []

    def warn(verdict):
        told.append(verdict)

    def progress(done, of):
        assert told, "the warning comes before the first run"

    entries = ["servo-baumgarte", "stiff=servo-baumgarte{controller.feedback.beta=40000}"]
    found = compare(helix(), entries, warn=warn, progress=progress)
    assert [verdict.subject for verdict in told] == ["bandwidth", "own settings"]
    assert "'servo-baumgarte' 15.5" in told[0].text
    assert "'stiff'" in told[0].text
    assert "bandwidth" in subjects(found)
    assert json.loads(found.to_json())["conditions"]["bandwidth"]["equal"] is False


def loop_of(*bandwidth):
    """Return what is known of a loop with these bandwidths of its rows, and of nothing else."""
    unknown = dict.fromkeys(("disk", "delay", "position_noise", "speed_noise"), math.nan)
    rows = tuple(f"row{k}" for k in range(len(bandwidth)))
    return LoopPerformance(rows=rows, bandwidth=bandwidth, poles=(), **unknown)


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [(None, "--equal bandwidth="), (ErrorSpec(bandwidth=60.0), "All were designed alike")],
)
def test_loops_are_said_to_differ_by_more_than_the_factor_up_to_which_they_are_alike(asked, remedy):
    soft, twice, stiff = loop_of(50.0, 10.0), loop_of(20.0), loop_of(21.0, math.nan)
    alike = equal_bandwidth.LoopSummaries(design_spec=asked, loops={"soft": soft, "twice": twice})
    assert alike.similar_bandwidths
    assert list(alike.warnings()) == []
    apart = equal_bandwidth.LoopSummaries(design_spec=asked, loops={"soft": soft, "stiff": stiff})
    assert not apart.similar_bandwidths
    (tuned,) = apart.warnings(tuned=True)
    assert "tune them" not in tuned.text
    (warning,) = apart.warnings()
    assert (warning.level, warning.subject) == ("warning", "bandwidth")
    assert "differ by more than a factor of 2 ('soft' 10, 'stiff' 21 rad/s)" in warning.text
    assert remedy in warning.text


def test_laws_without_such_a_design_are_refused_by_name_and_all_at_once():
    with pytest.raises(InputError) as caught:
        compare(
            helix(),
            ["servo-baumgarte", "servo-exact", "servo-sliding"],
            equal=ErrorSpec(bandwidth=60.0),
        )
    message = str(caught.value)
    assert "'servo-exact', 'servo-sliding' cannot be" in message
    assert "'servo-exact': its gains do not follow from that." in message
    assert "'servo-sliding': gain must be at least" in message
    assert "'servo-baumgarte':" not in message


def test_what_one_law_is_told_of_the_uncertainty_is_said():
    found = compare(helix(), ["servo-baumgarte", "servo-chen-robust"])
    (verdict,) = (v for v in found.verdicts if v.subject == "knowledge")
    assert verdict.text.startswith(
        "These laws know bounds of the uncertainty that the others do not: 'servo-chen"
    )
    assert "rho" in verdict.text


def test_a_limit_that_one_law_alone_is_beyond_is_said():
    """Off by 0.05 rad at the start, a stiff law asks for more than the weak motor has."""
    weak = Scenario.load("scara-weak-motors", {**SHORT, "start.q.q2": -0.9, "start.solve": False})
    stiff = Entry(
        controller=control.Servo(feedback=control.Baumgarte(alpha=4e3, beta=4e6)), name="stiff"
    )
    found = compare(weak, ["servo-baumgarte", stiff])
    assert set(found.stands.saturated_motors) >= {"stiff"}


def test_the_same_law_twice_stands_the_same():
    twice = compare(
        helix(), ["servo-baumgarte", "again=servo-baumgarte"], equal=ErrorSpec(settling=0.2)
    )
    one, other = twice.stands.loops.values()
    assert one == other


BENCH = {
    "timing": {"duration": 0.05, "control": 0.005, "sample": 0.005},
    "integrator": {"method": "RK4", "step": 0.005},
    "effect": [{"kind": "noise", "std": 2e-5, "v_std": 2e-3}],
}


@pytest.mark.slow
def test_all_laws_search_the_same_box_in_the_same_terms():
    budget = Budget(simulations=6, over={"bandwidth": (5.0, 200.0), "damping": (1.0, 2.0)})
    laws = ["servo-baumgarte", "servo-pid", "pd-gravity"]
    found = compare(Scenario.load("scara-helix", BENCH), laws, tuning=budget)
    for tuning in found.tunings.values():
        assert [gain.path for gain in tuning.gains] == ["bandwidth", "damping"]
        assert (tuning.card.stage, tuning.card.changes) == ("card", {})  # as it is
        assert math.isnan(tuning.card.gains["damping"])
        assert all(5.0 <= trial.gains["bandwidth"] <= 200.0 for trial in tuning.trials[1:])
        assert len(tuning.trials) == 6
    best = found.tunings["servo-baumgarte"].best
    terms = ErrorSpec(**best.gains)
    wanted = dict(zip(("beta", "alpha"), terms.second_order(), strict=True))
    for name, value in best.changes.items():
        assert value == pytest.approx(wanted[name.rpartition(".")[2]], rel=1e-5)
    used = found.results["servo-baumgarte"].scenario["controller"]["feedback"]
    assert used["beta"] == best.changes["controller.feedback.beta"]


def test_a_law_without_a_design_cannot_be_searched_in_terms():
    budget = Budget(simulations=4, over={"bandwidth": (5.0, 200.0)})
    with pytest.raises(
        InputError, match="'servo-exact' must be one whose gains follow from a band"
    ):
        compare(Scenario.load("scara-helix", BENCH), ["servo-exact"], tuning=budget)


def test_who_has_tuned_is_not_told_to_tune():
    helix = Scenario.load("scara-helix", {"timing.duration": 0.1})
    budget = Budget(simulations=2)
    found = compare(helix, ["servo-exact", "servo-baumgarte"], tuning=budget, jobs=1)
    [said] = [verdict.text for verdict in found.verdicts if verdict.subject == "bandwidth"]
    assert said.endswith("the ranking is of gains as much as of laws.")
