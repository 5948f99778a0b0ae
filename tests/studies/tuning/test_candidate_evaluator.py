"""Candidates on their plants, of which nothing is simulated: order, budget, journal, held out."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.core.errors import InputError
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_store import SimulationRecord, same_record, simulation_key
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask, training_seed
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.tuning import Budget, Objective, Plants, SimulationJournal, gains_of
from ukctrl.studies.tuning import tune as tune_controller
from ukctrl.studies.tuning.candidate_evaluator import Candidate, CandidateEvaluator, KeyedPlant
from ukctrl.studies.tuning.search import tune_all
from ukctrl_laws.fuzzy.fuzzy_gain import FuzzyGainCost
from ukctrl_laws.fuzzy.fuzzy_gain_design import FuzzyGainDesign

ALPHA = "controller.feedback.alpha"
CARD = Scenario.load(
    "two-mass-spring",
    {"timing": {"duration": 0.5, "sample": 0.05}, "controller": {"use": "servo-baumgarte"}},
)


# Simulations, of which none is made


@pytest.fixture(name="simulated")
def _simulated(monkeypatch):
    """Give the runs that are asked for; what comes of them is said by a function."""
    ran = []

    def build(come):
        def run(self, watch):
            ran.append(
                (self.controller, self.scenario, self.strict, self.with_curves, self.with_result)
            )
            return come(self)

        monkeypatch.setattr(SimulationTask, "__call__", run)
        return ran

    return build


def outcome(run, cost=1.0, **given):
    of = {"status": "completed", "message": "", "end_time": 0.5, "metrics": {"rms_phi": cost}}
    return RunSummary(controller=run.controller, repeat=0, seed=0, mismatch=None, **{**of, **given})


def plant(**changes):
    return KeyedPlant.of(CARD.replace(changes))


def bench_of(journal=None, plants=None, limits=()):
    objective = Objective.parse("rms_phi", limits)
    return CandidateEvaluator(
        objective,
        plants or Plants(),
        SimulationJournal() if journal is None else journal,
        TaskRunner(),
    )


def order(alpha=None, *, stage="sobol", plants=None, entry="law"):
    return Candidate(entry, {} if alpha is None else {ALPHA: alpha}, stage, plants or [plant()])


def test_candidates_are_judged_in_their_order_and_what_is_known_is_not_run_again(simulated):
    ran = simulated(lambda run: outcome(run, run.scenario.controller.feedback.alpha))
    journal, told = SimulationJournal(), []
    bench = bench_of(journal)
    orders = [order(3.0), order(2.0, stage="card")]
    trials = bench.score(orders, lambda *done: told.append(done))
    assert [trial.cost for trial in trials] == [3.0, 2.0]
    assert [trial.stage for trial in trials] == ["sobol", "card"]
    assert [trial.gains for trial in trials] == [{ALPHA: 3.0}, {ALPHA: 2.0}]
    assert [trial.each for trial in trials] == [(), ()]
    assert [each[2] for each in ran] == [False, True]  # a card that does not fit is an error
    assert [each[3] for each in ran] == [False, False]
    assert told == [(1.0, 2.0), (2.0, 2.0)]
    told.clear()
    trials = bench.score([order(4.0), order(3.0)], lambda *done: told.append(done))
    assert [trial.cost for trial in trials] == [4.0, 3.0]
    assert len(ran) == 3
    assert told[-1] == (2.0, 2.0)
    assert min(done for done, _ in told) >= 1.0  # what is known counts as done
    bench.score([order(4.0)])
    assert len(ran) == 3
    assert len(journal) == 3


def test_a_candidate_that_failed_on_one_plant_says_how_and_where_it_came(simulated):
    def come(run):
        if run.scenario.seed == 8:
            return outcome(run, status="diverged", message="it left.", end_time=0.125, metrics={})
        return outcome(run, 2.0, is_random=run.scenario.seed == 9)

    simulated(come)
    bench = bench_of(plants=Plants(count=3), limits=["rms_phi <= 1"])
    assert bench.is_random is False
    plants = [plant(seed=seed) for seed in (7, 8, 9)]
    (trial,) = bench.score([order(plants=plants)])
    assert (trial.cost, trial.violation) == (math.inf, math.inf)
    assert (trial.status, trial.message) == ("diverged", "it left.")
    assert trial.each == (2.0, math.inf, 2.0)
    assert trial.reached == pytest.approx(0.75)  # 1, 0.125 of 0.5 s, 1
    assert bench.is_random is True
    bench.score([order(plants=plants[:1])])
    assert bench.is_random is True
    (good,) = bench.score([order(plants=plants[:1])])
    assert (good.violation, good.beyond, good.status) == (1.0, (1.0,), "completed")


def test_gains_that_do_not_go_together_are_infeasible_and_not_run(simulated):
    ran = simulated(outcome)
    (trial,) = bench_of().score([order(-1.0)])
    assert (trial.status, trial.cost, trial.reached) == ("infeasible", math.inf, 0.0)
    assert "alpha" in trial.message
    assert ran == []


def test_what_was_stopped_is_no_trial_and_nothing_is_written_of_it(simulated):
    def come(run):
        if run.scenario.controller.feedback.alpha == 3.0:
            return outcome(run, status="interrupted", message="stopped by the user at 0.1 s.")
        return outcome(run)

    simulated(come)
    journal = SimulationJournal()
    trials = bench_of(journal).score([order(2.0), order(3.0), order(4.0)])
    assert trials[0].cost == 1.0
    assert trials[1:] == [None, None]
    assert len(journal) == 1


@pytest.mark.parametrize(("cost", "kept"), [(1.0, 2), (1.5, 0)])
def test_a_journal_is_believed_where_the_cards_come_out_the_same(simulated, cost, kept):
    costs = [1.0]
    ran = simulated(lambda run: outcome(run, costs[0]))
    journal = SimulationJournal()
    bench = bench_of(journal)
    plants = [plant(seed=1), plant(seed=2)]
    card = order(stage="card", plants=plants)
    bench.score([card])
    costs[0] = cost
    assert bench.verify_journal([card, order(stage="card", entry="new", plants=[plant(seed=5)])])
    assert [each[1].seed for each in ran] == [1, 2, 1]  # the first run of what is known, once
    assert len(journal) == kept
    assert bench_of().verify_journal([card])  # of nothing known nothing is run
    assert len(ran) == 3


def test_a_simulation_is_named_by_plant_entry_and_gains():
    from ukctrl.studies.tuning.candidate_evaluator import _CandidateTask

    named = _CandidateTask(order=order(2.5), indices=(4, 1))
    assert str(named) == f"plant 1 of 'law' with {ALPHA} = 2.5"
    assert (
        str(_CandidateTask(order=order(), indices=(0, 0))) == "plant 0 of 'law' with its own gains"
    )


def test_a_journal_gives_back_every_field(tmp_path):
    path = tmp_path / "journal.jsonl"
    done = SimulationRecord(
        "diverged", "it left.", 0.1 + 0.2, True, {"rms_phi": 1.0 / 3.0, "work": math.nan},
        key="key", description={"entry": "law", "seed": 3},
    )  # fmt: skip
    with SimulationJournal(path) as journal:
        journal.append(done)
        assert len(journal) == 1
    assert json.loads(path.read_text()) == {
        "run": "key", "entry": "law", "seed": 3, "status": "diverged", "message": "it left.",
        "reached": 0.1 + 0.2, "random": True, "metrics": {"rms_phi": 1.0 / 3.0, "work": None},
    }  # fmt: skip
    with path.open("a") as file:
        file.write('{"run": "other"}\nnonsense\n')
    with SimulationJournal(path) as journal:
        assert len(journal) == 1
        found = journal.find("key")
        assert same_record(found, done)
        assert not found.completed
        assert journal.find("nothing") is None
        for field, other in (("status", "drifted"), ("message", "x"), ("reached", 0.3),
                             ("random", False), ("metrics", {"rms_phi": 0.3})):  # fmt: skip
            assert not same_record(found, done._replace(**{field: other}))
        journal.clear()
        assert len(journal) == 0
        assert path.read_text() == ""
        journal.remove()
    assert not path.exists()


def test_a_journal_that_cannot_be_written_to_says_so(tmp_path, monkeypatch):
    done = SimulationRecord("completed", "", 1.0, False, {})
    with SimulationJournal(tmp_path / "journal.jsonl") as journal:

        def full(*given):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(journal, "_write", full)
        with pytest.raises(InputError, match=r"cannot write to the journal '.*': No space left"):
            journal.append(done)


def test_what_is_kept_of_a_run_has_no_wall_time():
    run = SimpleNamespace(controller="a")
    metrics = {"rms_phi": 1.0, "mean_tick_us": 3.0, "rms_phi.gap": 2.0}
    done = SimulationRecord.of(outcome(run, metrics=metrics, is_random=True), 2.0)
    assert done == SimulationRecord(
        "completed", "", 0.25, True, {"rms_phi": 1.0, "rms_phi.gap": 2.0}
    )
    assert done.completed


def test_a_scenario_is_known_by_all_that_it_says():
    assert simulation_key(CARD) == simulation_key(CARD.replace({"seed": CARD.seed}))
    others = ({"seed": 99}, {ALPHA: 77.0}, {"timing.duration": 0.25})
    assert (
        len({simulation_key(CARD), *(simulation_key(CARD.replace(change)) for change in others)})
        == 4
    )
    assert len(simulation_key(CARD)) == 24


def test_a_search_counts_its_simulations_over_plants_and_laws(simulated):
    ran = simulated(
        lambda run: outcome(run, run.scenario.controller.feedback.alpha, is_random=True)
    )
    told = []
    laws = {"a": CARD, "b": CARD.replace({"seed": 5})}
    found = tune_all(
        laws, Budget(simulations=7, plants=Plants(count=2), cost=" rms_phi ",
                     subject_to=("rms_phi <= 9",), over={ALPHA: (1.0, 50.0)}, only=True),
        progress=lambda *done: told.append(done),
    )  # fmt: skip
    assert list(found) == ["a", "b"]
    for name, law in laws.items():
        one = found[name]
        assert (one.entry, one.cost, one.limits, one.budget, one.plants) == (
            name, "rms_phi", ("rms_phi <= 9",), 7, 2,
        )  # fmt: skip
        assert one.seed == training_seed(law.seed, 0)
        assert one.finished
        assert len(one.trials) == 3  # three whole candidates on two plants
        assert [trial.stage for trial in one.trials] == ["card", "sobol", "simplex"]
        assert one.trials[0].gains == {ALPHA: law.controller.feedback.alpha}
    assert len(ran) == 12
    assert told[-1] == (12.0, 12.0)
    done = [each[0] for each in told]
    assert done == sorted(done)


def test_a_law_without_gains_is_tried_once(simulated):
    ran = simulated(outcome)
    bare = CARD.replace({"controller": {"use": "servo-exact"}})
    assert gains_of(bare) == ()
    found = tune_all({"a": bare}, Budget(simulations=9))["a"]
    assert len(found.trials) == len(ran) == 1
    assert found.finished


def test_a_search_that_was_stopped_before_its_card_is_none_and_later_one_is_in_part(simulated):
    count = [0]

    def come(run):
        count[0] += 1
        if count[0] > allowed:
            return outcome(run, status="interrupted", message="stopped by the user at 0.1 s.")
        return outcome(run, 1.0)

    simulated(come)
    allowed = 0
    budget = Budget(simulations=6, over={ALPHA: (1.0, 50.0)}, only=True)
    assert tune_all({"a": CARD}, budget) == {}
    count[0], allowed = 0, 2
    found = tune_all({"a": CARD}, budget)["a"]
    assert [trial.stage for trial in found.trials] == ["card", "sobol"]
    assert not found.finished


def test_what_is_tuned_is_judged_on_held_out_plants_and_run_before_and_after(simulated, tmp_path):
    def come(run):
        result = run.with_result and SimpleNamespace(status="completed", metrics={})
        return outcome(run, run.scenario.controller.feedback.alpha, is_random=True,
                       result=result or None)  # fmt: skip

    ran = simulated(come)
    told = []
    budget = Budget(simulations=4, over={ALPHA: (1.0, 50.0)}, only=True, plants=Plants(held_out=2))
    found = tune_controller(CARD, budget, folder=tmp_path, progress=lambda *d: told.append(d))
    best = found.tuning.best
    assert found.held_out.tuned.gains == best.gains
    assert found.held_out.card.gains == found.tuning.card.gains
    assert found.held_out.card.stage == "held out"
    assert found.held_out.card.each == (CARD.controller.feedback.alpha,) * 2
    assert list(found.results) == ["card", "tuned"]
    last = ran[-2:]
    assert [each[1].controller.feedback.alpha for each in last] == [
        CARD.controller.feedback.alpha, best.gains[ALPHA],
    ]  # fmt: skip
    assert {each[4] for each in last} == {True}
    assert {each[1].seed for each in last} == {CARD.seed}
    assert (found.stopped, found.ok) == (False, True)
    assert {total for _, total in told} == {4 + 2 * 2 + 2}
    assert max(done for done, _ in told) == 8.0
    with pytest.raises(InputError, match="holds a search already; go on with it"):
        tune_controller(CARD, budget, folder=tmp_path)
    before = len(ran)
    again = tune_controller(CARD, budget, folder=tmp_path, resume=True)
    # Run anew are the card, to believe the journal, and both responses.
    assert len(ran) - before == 3
    assert again.tuning.trials == found.tuning.trials


@pytest.mark.parametrize("method", ["simplex", "evolution"])
def test_a_search_that_went_on_beyond_its_ranges_goes_on_from_its_journal_to_the_same(
    simulated, tmp_path, method
):
    """The stiffer the better, without end."""

    def come(run):
        return outcome(run, 1.0 / run.scenario.controller.feedback.beta)

    ran = simulated(come)
    budget = Budget(simulations=40, method=method)
    whole = tune_controller(CARD, budget, folder=tmp_path / "whole").tuning
    bandwidth, _ = whole.gains
    assert bandwidth.widened >= 1
    wide = 10.0 ** (2 + bandwidth.widened)
    assert bandwidth.high == pytest.approx(wide * bandwidth.value, rel=1e-3)
    assert whole.best.gains["bandwidth"] > 100.0 * bandwidth.value
    lines = (tmp_path / "whole/journal.jsonl").read_text(encoding="utf-8").splitlines(True)
    for kept in (1, 20, 23, 31):
        folder = tmp_path / f"killed after {kept}"
        folder.mkdir()
        (folder / "journal.jsonl").write_text("".join(lines[:kept]), encoding="utf-8")
        before = len(ran)
        again = tune_controller(CARD, budget, folder=folder, resume=True).tuning
        assert (again.gains, again.history().tolist()) == (whole.gains, whole.history().tolist())
        assert [trial.changes for trial in again.trials] == [t.changes for t in whole.trials]
        assert len(ran) - before == len(lines) - kept + 3  # the card anew, and both responses


def test_a_gain_in_closed_form_is_told_with_what_it_was_chosen_for():
    scenario = Scenario.load("two-mass-spring", {"controller": {"use": "servo-chen-robust"}})
    text = "start=0:0.1:0.3,  uncertainty=0:0.3:1, horizon=10, price=1e-6"
    choice = FuzzyGainDesign.of(scenario, text)
    assert choice.uncertainty == " ".join(text.split())
    assert choice.card_kappa == scenario.controller.feedback.kappa
    assert isinstance(choice.fuzzy_gain, FuzzyGainCost)
    assert choice.kappa == pytest.approx(choice.fuzzy_gain.kappa, rel=1e-3)
    data = choice.to_dict()
    assert (data["scenario"], data["controller"]) == ("two-mass-spring", "servo-chen-robust")
    assert (data["kappa"], data["card"]) == (choice.fuzzy_gain.kappa, choice.card_kappa)
    assert data["cost"] == choice.fuzzy_gain.cost(choice.fuzzy_gain.kappa)
    prices = [line["price"] / 1e-6 for line in data["prices"]]
    np.testing.assert_allclose(prices, [0.01, 0.1, 1.0, 10.0, 100.0])
    kappas = [line["kappa"] for line in data["prices"]]
    assert kappas == sorted(kappas, reverse=True)  # the dearer effort is, the less gain
    head, *lines = choice.curve_csv().splitlines()
    assert head == "kappa,cost,transient,steady,effort"
    values = np.array([line.split(",") for line in lines], dtype=float)
    np.testing.assert_allclose(values[:, 1], values[:, 2:].sum(axis=1), rtol=1e-12)
    assert values[:, 1].min() >= data["cost"] * (1.0 - 1e-9)
    card = choice.card()
    assert f"kappa from {choice.uncertainty}, in closed form" in card
    assert "kappa of least average cost" in card
    with pytest.raises(InputError, match="--fuzzy chooses the gain of feedback 'chen_robust'"):
        FuzzyGainDesign.of(CARD, text)
