"""Several controllers on one scenario: the same plant for all, each with its own belief."""

import csv
import json

import numpy as np
import pytest
import scipy.stats

from ukctrl import Scenario, compare, simulate, write_comparison
from ukctrl.control import ComputedTorque, PdGravity
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.studies.comparison.entry import entry_scenarios
from ukctrl.studies.tuning import Budget

CARDS = ["servo-baumgarte", "computed-torque", "pd-gravity"]


@pytest.fixture(scope="module")
def helix():
    return Scenario.load("scara-helix", {"timing.duration": 2.0})


@pytest.mark.slow
def test_every_controller_runs_on_the_same_start_and_times(helix):
    compared = compare(helix, CARDS)
    assert list(compared.results) == CARDS
    first = compared.results["servo-baumgarte"]
    for result in compared.results.values():
        assert result.status == "completed"
        np.testing.assert_array_equal(result.time, first.time)
        np.testing.assert_array_equal(result["q"][0], first["q"][0])


@pytest.mark.slow
def test_with_a_true_model_the_joint_space_baseline_does_what_servo_control_does(helix):
    compared = compare(helix, CARDS)
    servo, joint = (compared.results[name] for name in CARDS[:2])
    np.testing.assert_allclose(joint["u"], servo["u"], rtol=0.0, atol=1e-6)
    assert compared.results["pd-gravity"].metric("peak_phi") > 1e-4


@pytest.mark.slow
def test_a_wrong_belief_costs_the_model_based_controllers_their_accuracy(helix):
    wrong = helix.replace({"believed": {"mass_scale": 0.8}})
    errors = {name: run.metric("peak_phi") for name, run in compare(wrong, CARDS).results.items()}
    exact = {name: run.metric("peak_phi") for name, run in compare(helix, CARDS).results.items()}
    for name in CARDS[:2]:
        assert errors[name] > 1e-4 > 1e-8 > exact[name]


@pytest.mark.slow
def test_controllers_may_be_objects_and_must_have_different_names(helix):
    soft, stiff = (
        PdGravity(name="soft", kp=100.0, kd=20.0),
        PdGravity(name="stiff", kp=900.0, kd=90.0),
    )
    compared = compare(helix, [soft, stiff, ComputedTorque(kp=100.0, kd=20.0)])
    assert list(compared.results) == ["soft", "stiff", "computed_torque"]
    soft_error, stiff_error = (compared.results[n].metric("rms_phi") for n in ("soft", "stiff"))
    assert stiff_error < soft_error
    with pytest.raises(
        InputError, match=r"named 'soft'.*Entry\(controller=\.\.\., name='soft-2'\)"
    ):
        compare(helix, [soft, soft])


def test_the_hint_at_a_name_that_two_have_can_be_used_as_it_is(helix):
    given = ["a=servo-exact", "a=servo-baumgarte{believed.mass_scale=0.8}"]
    with pytest.raises(InputError) as refused:
        entry_scenarios(helix, given)
    hint = str(refused.value).partition("as in '")[2].removesuffix("'.")
    assert hint == "a-2=servo-baumgarte{believed.mass_scale=0.8}"
    assert list(entry_scenarios(helix, [given[0], hint])) == ["a", "a-2"]


def test_nothing_to_compare_is_an_input_error(helix):
    with pytest.raises(InputError, match=r"^compare needs at least one controller; got none\.$"):
        compare(helix, [])


# Repeats, beliefs, robustness, tuned gains

NOISY = {
    "timing": {"duration": 0.4, "control": 0.01, "sample": 0.01},
    "integrator": {"method": "RK4", "step": 0.005},
    "effect": [{"kind": "noise", "std": 1e-4, "v_std": 1e-2}],
}


@pytest.fixture(scope="module")
def noisy():
    return Scenario.load("scara-helix", NOISY)


@pytest.fixture(scope="module")
def repeated(noisy):
    stiff = "stiff=pd-gravity{controller.kd=300}"  # k_d T / I of the wrist far above 2: diverges
    light = "light=servo-pid{believed.mass_scale=0.8}"
    return compare(noisy, ["servo-pid", light, stiff], repeats=6, mismatch=[0.0, 0.3])


@pytest.mark.slow
def test_every_controller_meets_the_same_seeds_and_the_first_is_the_scenarios(repeated, noisy):
    seeds = {name: [run.seed for run in runs] for name, runs in repeated.runs.items()}
    assert len(set(map(tuple, seeds.values()))) == 1
    assert repeated.seeds[0] == noisy.seed
    assert len(set(repeated.seeds)) == 6
    levels = {(run.controller, run.mismatch) for run in repeated.outcomes}
    assert levels == {(name, level) for name in repeated.results for level in (None, 0.3)}


@pytest.mark.slow
def test_a_repeat_is_the_run_of_its_seed(repeated, noisy):
    again = simulate(noisy.replace({"controller": {"use": "servo-pid"}, "seed": repeated.seeds[3]}))
    outcome = repeated.runs["servo-pid"][3]
    assert outcome.metrics["rms_phi"] == again.metric("rms_phi")
    assert repeated.results["servo-pid"].identical(
        simulate(noisy.replace({"controller": {"use": "servo-pid"}}))
    )


def test_the_noise_is_the_same_for_all(repeated):
    # What a law measures less what is there, tick by tick: the noise of that repeat.
    off = [
        (run["q_measured"] - run["q"])[:20]
        for name, run in repeated.results.items()
        if name != "stiff"
    ]
    np.testing.assert_allclose(off[0], off[1], rtol=0.0, atol=1e-15)


def test_an_interval_and_a_test_stand_behind_every_claim(repeated):
    values = {
        name: np.array([run.metrics["rms_phi"] for run in runs])
        for name, runs in repeated.runs.items()
    }
    row = next(row for row in repeated.rows if row.metric == "rms_phi")
    found = scipy.stats.ttest_rel(values["light"], values["servo-pid"])
    pair = row.pair("light", "servo-pid")
    np.testing.assert_allclose(pair.difference.p, found.pvalue, rtol=1e-9)
    mean, high = row.spreads["light"].mean, row.spreads["light"].high
    low, upper = scipy.stats.t.interval(
        0.95, 5, values["light"].mean(), scipy.stats.sem(values["light"])
    )
    np.testing.assert_allclose((2.0 * mean - high, high), (low, upper), rtol=1e-9)
    assert pair.p >= 2.0 * pair.difference.p  # of all that the page claims, the error has half
    assert pair.supported == (pair.p < 0.05)


def test_one_that_diverges_is_told_and_stops_no_other(repeated):
    assert repeated.completed == ("servo-pid", "light")
    words = [v.text for v in repeated.verdicts if v.level == "bad"]
    assert len(words) == 1
    assert words[0].startswith("'stiff' completed 0 of 6 repeats (6 diverged) and is not ranked.")


def test_a_mismatch_moves_the_truth_and_not_the_belief(repeated, noisy):
    robust = repeated.robustness
    assert robust.levels == (0.0, 0.3)
    first, last = robust.entries["servo-pid"]
    assert (first.runs, last.runs, last.completed) == (6, 6, 6)
    assert last.median > 2.0 * first.median
    mine = {"kind": "mismatch", "name": "robustness", "mass": 0.3, "inertia": 0.3}
    law = {"controller": {"use": "servo-pid"}, "seed": repeated.seeds[2]}
    again = simulate(noisy.replace({**law, "effect": [mine, *NOISY["effect"]]}))
    outcome = next(
        run
        for run in repeated.outcomes
        if (run.controller, run.repeat, run.mismatch) == ("servo-pid", 2, 0.3)
    )
    assert outcome.metrics["rms_phi"] == again.metric("rms_phi")


@pytest.mark.slow
def test_the_results_do_not_depend_on_the_number_of_jobs(repeated, noisy):
    stiff = "stiff=pd-gravity{controller.kd=300}"
    light = "light=servo-pid{believed.mass_scale=0.8}"
    again = compare(noisy, ["servo-pid", light, stiff], repeats=6, mismatch=[0.3], jobs=2)
    assert [run.seed for run in again.outcomes] == [run.seed for run in repeated.outcomes]
    for ours, theirs in zip(again.outcomes, repeated.outcomes, strict=True):
        for metric, value in ours.metrics.items():
            if metric != "mean_tick_us":  # the wall time
                np.testing.assert_array_equal(value, theirs.metrics[metric])
    for name, result in again.results.items():
        assert result.identical(repeated.results[name])


def test_the_files_hold_every_run_and_every_statistic(repeated, tmp_path):
    write_comparison(repeated, tmp_path)
    lines = list(csv.DictReader((tmp_path / "runs.csv").open(encoding="utf-8")))
    assert len(lines) == 3 * 6 * 2
    data = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))
    entry = data["controllers"][1]
    assert entry["believed"]["mass_scale"] == 0.8
    assert entry["completed"] == 6
    light = [line for line in lines if (line["controller"], line["mismatch"]) == ("light", "")]
    errors = [float(line["rms_phi"]) for line in light]
    np.testing.assert_allclose(entry["metrics"]["rms_phi"], np.mean(errors), rtol=1e-12)
    np.testing.assert_allclose(entry["statistics"]["rms_phi"]["worst"], max(errors), rtol=1e-12)
    assert data["repeats"]["seeds"] == list(repeated.seeds)
    assert data["mismatch"]["controllers"]["stiff"][1]["completed"] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "mass_scale" in page
    assert (tmp_path / "compare_mismatch.png").is_file()


def told_of_repeats(compared):
    return next(fact.text for fact in compared.facts if fact.subject == "repeats")


@pytest.mark.slow
def test_where_nothing_is_random_repeats_change_nothing_and_are_not_run(helix):
    short = helix.replace({"timing.duration": 0.2})
    compared = compare(short, CARDS[:2], repeats=20)
    assert len(compared.outcomes) == 2
    assert told_of_repeats(compared) == (
        "nothing in the scenario is random: repeats change nothing, and each ran once"
    )
    moved = compare(short, CARDS[:2], mismatch=[0.0, 0.2], repeats=3)
    assert len(moved.outcomes) == 2 + 6
    assert told_of_repeats(moved) == (
        "one run each of the scenario as it is, where nothing is random; with a mismatch 3 of each"
    )
    steady = short.replace({"effect": [{"kind": "payload", "frame": "tool", "mass": 0.2}]})
    assert len(compare(steady, CARDS[:2], repeats=3).outcomes) == 2
    moved = short.replace({"start.spread": 0.01})
    assert len(compare(moved, CARDS[:2], repeats=3).outcomes) == 6


@pytest.mark.slow
def test_a_law_that_fails_does_not_stop_the_others(helix):
    @spec
    class Faulty(ComputedTorque):
        def start(self, task):
            raise ZeroDivisionError("no gain is left")

    short = helix.replace({"timing.duration": 0.2})
    compared = compare(short, [Faulty(name="faulty", kp=1.0, kd=1.0), *CARDS[:2]])
    assert [run.status for run in compared.results.values()] == [
        "interrupted",
        "completed",
        "completed",
    ]
    assert "ZeroDivisionError: no gain is left" in compared.results["faulty"].message
    assert compared.rows[0].values.keys() == compared.results.keys()


def test_what_does_not_fit_is_an_input_error_that_names_the_entry(helix):
    with pytest.raises(InputError, match="shaky: gain 'alpha' must have one number a row"):
        compare(helix, ["shaky=servo-baumgarte{controller.feedback.alpha=[1, 2]}"])


@pytest.mark.slow
def test_tuned_gains_are_told_kept_as_cards_and_better_than_the_card(noisy, tmp_path):
    laws = ["servo-baumgarte", "servo-exact"]
    compared = compare(noisy, laws, repeats=3, tuning=Budget(simulations=10, cost="rms_beta"))
    found = compared.tunings["servo-baumgarte"]
    assert found.seed not in compared.seeds
    assert found.after <= found.before
    assert compared.results["servo-baumgarte"].provenance["gains"] == "tuned"
    fact = next(fact for fact in compared.facts if fact.subject == "gains")
    assert fact.equal
    assert fact.text == (
        "tuned with 10 simulations each, for rms_beta, on a seed that no repeat has; "
        "over bandwidth and damping; without gains: 'servo-exact'"
    )
    write_comparison(compared, tmp_path)
    card = {"controller": {"use": str(tmp_path / "tuned" / "servo-baumgarte.toml")}}
    again = simulate(noisy.replace(card))
    assert again.identical(compared.results["servo-baumgarte"])
    assert not (tmp_path / "tuned" / "servo-exact.toml").exists()
    again = compare(noisy, laws, repeats=3, tuning=Budget(simulations=10, cost="rms_beta"))
    assert again.tunings == compared.tunings


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"repeats": 0}, "repeats must be from 1 to"),
        ({"mismatch": [0.1, 1.5]}, "mismatch must be fractions from 0 to below 1"),
        ({"jobs": 0}, "jobs must be at least 1; got 0"),
    ],
)
def test_bad_numbers_are_refused(helix, options, says):
    with pytest.raises(InputError, match=says):
        compare(helix, CARDS[:2], **options)


@pytest.mark.slow
def test_stopping_keeps_whole_repeats_of_all(noisy):
    done = []

    def progress(at, total):
        done.append(at)
        if at > 7.4:  # within the eighth run: the second of the third repeat
            raise KeyboardInterrupt

    laws = ["servo-pid", "servo-baumgarte", "servo-exact"]
    compared = compare(noisy, laws, repeats=5, progress=progress)
    assert compared.conditions.stopped
    assert {name: len(runs) for name, runs in compared.runs.items()} == dict.fromkeys(laws, 2)
    (told,) = [v.text for v in compared.verdicts if v.subject == "stopped"]
    assert "all controllers have 2 of 5 repeats." in told
    assert told_of_repeats(compared).startswith("2 of each (5 were asked for), paired")
    assert len(done) > 7


@pytest.mark.slow
def test_a_stop_tells_what_there_is_of_every_level_of_mismatch(noisy):
    def progress(at, total):
        if at > 11.4:  # within the second run at 20 % of the second repeat
            raise KeyboardInterrupt

    laws = ["servo-pid", "servo-exact"]
    compared = compare(noisy, laws, repeats=9, mismatch=[0.2, 0.1], progress=progress)
    (told,) = [v.text for v in compared.verdicts if v.subject == "stopped"]
    assert "2 of 9 repeats, and of 9 with a mismatch 2 at 10 %, 1 at 20 %." in told


@pytest.mark.parametrize(
    ("changes", "random"),
    [
        ({}, False),
        ({"start.spread": 0.01}, True),
        ({"effect": [{"kind": "payload", "frame": "tool", "mass": 0.1}]}, False),
        ({"effect": [{"kind": "noise", "std": 1e-4}]}, True),
        ({"effect": [{"kind": "quantisation", "step": 1e-4}]}, False),
        ({"effect": [{"kind": "mismatch", "mass": 0.1}]}, True),
        ({"effect": [{"kind": "jitter", "bound": 1e-3}]}, True),
    ],
    ids=["plain", "spread", "payload", "noise", "quantisation", "mismatch", "jitter"],
)
def test_a_run_says_whether_a_seed_had_a_part_in_it(changes, random):
    timing = {"timing.duration": 0.1, "timing.control": 0.01}
    result = simulate(Scenario.load("scara-helix", {**timing, **changes}))
    assert result.provenance["random"] is random
