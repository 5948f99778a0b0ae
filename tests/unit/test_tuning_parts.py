"""The parts of a search for gains, each by itself: ranges, plants, budgets, costs, records."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import qmc

from ukctrl.control.fuzzy_gain import FuzzyGain
from ukctrl.core.errors import InputError
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Outcome, Run, held_out_seed, training_seed
from ukctrl.studies.sweep import Factor
from ukctrl.studies.tuning import Budget, Gain, Journal, Objective, Plants, Trial, gains_of
from ukctrl.studies.tuning import tune as tune_controller
from ukctrl.studies.tuning.cost import Judged, Limit
from ukctrl.studies.tuning.evaluate import Bench, Order, Plant
from ukctrl.studies.tuning.fuzzy_choice import FuzzyChoice
from ukctrl.studies.tuning.gains import with_ranges
from ukctrl.studies.tuning.plants import mismatches
from ukctrl.studies.tuning.search import tune_all
from ukctrl.studies.tuning.search_space import Ended, Explored, height
from ukctrl.studies.tuning.tuning_journal import Done, agrees, key_of

ALPHA = "controller.feedback.alpha"
CARD = Scenario.load(
    "two-mass-spring",
    {"timing": {"duration": 0.5, "sample": 0.05}, "controller": {"use": "servo-baumgarte"}},
)


@pytest.mark.parametrize(
    ("gain", "places"),
    [
        (Gain("a", 1.0, 0.1, 10.0), {0.0: 0.1, 0.5: 1.0, 0.75: 3.162, 1.0: 10.0}),
        (Gain("a", 1.0, -4.0, 4.0, "uniform"), {0.0: -4.0, 0.5: 0.0, 0.75: 2.0, 1.0: 4.0}),
        (Gain("a", 1.0, 0.123456, 9.87654), {0.0: 0.1235, 1.0: 9.87654}),
    ],
)
def test_where_a_gain_lies_in_its_range(gain, places):
    for place, value in places.items():
        assert gain.at(place) == value  # four digits, and never beyond an end
        assert gain.place(value) == pytest.approx(place, abs=1e-4)
    assert gain.at(-3.0) == gain.at(0.0)
    assert gain.at(7.0) == gain.at(1.0)
    assert gain.place(gain.high * 1.1) > 1.0


def test_a_range_that_nobody_has_given_is_a_decade_to_both_sides():
    (gain,) = (one for one in gains_of(CARD) if one.path == ALPHA)
    assert (gain.low, gain.high) == (gain.value / 10.0, gain.value * 10.0)
    assert gain.scale == "log"


def ranged(over, scenario=CARD, **given):
    return with_ranges({"a": gains_of(scenario)}, over, {"a": scenario}, **given)["a"]


def test_ranges_reach_into_lists_and_make_gains_of_other_numbers():
    each = CARD.replace({"controller.feedback.alpha": [2.0, 3.0]})
    second = "controller.feedback.alpha.1"
    (gain,) = ranged({second: (1.0, 9.0)}, each, only=True)
    assert gain == Gain(second, 3.0, 1.0, 9.0, "log")
    beyond = {"controller.feedback.alpha.2": (1.0, 9.0)}
    with pytest.raises(InputError, match=r"no gain named 'controller.feedback.alpha.2'"):
        ranged(beyond, each)
    (step,) = ranged({"timing.sample": (0.01, 0.02, "uniform")}, only=True)
    assert step == Gain("timing.sample", 0.05, 0.01, 0.02, "uniform")
    both = ranged({"timing.sample": (0.01, 0.02)})
    assert {ALPHA, "timing.sample"} < {gain.path for gain in both}
    assert ranged({}, only=True) == gains_of(CARD)
    with pytest.raises(InputError, match="no gain named 'title'"):
        ranged({"title": (1.0, 2.0)})


TWO = (Gain("a", 1.0, 0.1, 10.0), Gain("b", 2.0, 0.0, 4.0, "uniform"))


def space_of(candidates=5, gains=TWO):
    asked = []

    def attempt(chosen, stage):
        asked.append((stage, [dict(each) for each in chosen]))
        return [Trial(dict(each), each["a"], 1.0, "completed", stage) for each in chosen]

    return Explored(gains, candidates, 3, attempt), asked


def test_a_budget_counts_candidates_and_what_was_tried_is_not_tried_again():
    space, asked = space_of()
    space.card()
    one, other = {"a": 2.0, "b": 1.0}, {"b": 3.0, "a": 4.0}
    space.spend([one, {"b": 1.0, "a": 2.0}], "sobol")  # the same, at the price of two
    assert asked == [("card", [{"a": 1.0, "b": 2.0}]), ("sobol", [one, {"b": 1.0, "a": 2.0}])]
    assert [trial.stage for trial in space.trials] == ["card", "sobol", "sobol"]
    space.spend([one], "simplex")
    assert len(asked) == 2
    assert space.trials[-1].stage == "simplex"
    with pytest.raises(Ended):
        space.spend([other, {"a": 5.0, "b": 0.0}], "simplex")
    assert asked[-1] == ("simplex", [other])  # there was budget for one alone
    assert len(space.trials) == 5
    assert space.best.gains == {"a": 1.0, "b": 2.0}


def test_heights_of_known_points_cost_nothing():
    space, asked = space_of()
    space.card()
    places = np.array([[0.5, 0.5], [0.75, 0.5], [0.75, 0.5]])
    np.testing.assert_allclose(space.heights(places, "cma"), [1.0, 3.162, 3.162])
    assert asked[1:] == [("cma", [{"a": 3.162, "b": 2.0}])]
    assert len(space.trials) == 2
    np.testing.assert_array_equal(space.heights(places, "cma"), [1.0, 3.162, 3.162])
    assert len(space.trials) == 2


def test_the_sequence_of_a_search_is_sobols_from_its_seed():
    space, _ = space_of(candidates=6)
    points = qmc.Sobol(2, rng=np.random.default_rng(3)).random_base2(3)
    expected = [space.at(place) for place in points]
    assert space.sobol(1, 6) == expected[:6]
    assert space.sobol(3, 4) == expected[2:4]
    assert space.sobol(4, 3) == []
    longer = qmc.Sobol(2, rng=np.random.default_rng(3)).random_base2(4)
    assert space.sobol(9, 9) == [space.at(longer[8])]
    np.testing.assert_allclose(space.place({"a": 100.0, "b": 1.0}), [1.0, 0.25])


def test_heights_order_trials_as_their_ranks_do():
    def trial(cost, violation=0.0, reached=1.0):
        return Trial({}, cost, reached, "completed", "sobol", violation)

    order = [
        trial(0.5), trial(1e80), trial(0.1, 0.25), trial(0.0, 0.5), trial(0.0, 1e12),
        trial(math.inf, math.inf, 0.75), trial(math.inf, math.inf, 0.25), trial(math.inf, 0.0, 0.0),
    ]  # fmt: skip
    heights = [height(each) for each in order]
    assert heights == sorted(heights)
    assert len(set(heights)) == len(heights)
    assert height(order[0]) == 0.5
    assert height(order[2]) == pytest.approx(1.25e90)
    assert [height(each) for each in order[-3:]] == pytest.approx([1.25e100, 1.75e100, 2e100])


def test_what_a_candidate_is_worth_over_plants():
    judged = [
        Judged(1.0, 0.5, 1.0, (0.5, 0.0)), Judged(2.0, 0.25, 1.0, (0.0, 0.25)),
        Judged(6.0, 0.0, 1.0, (0.0, 0.0)),
    ]  # fmt: skip
    average = Plants(count=3).aggregated(judged)
    assert average == Judged(3.0, 0.25, 1.0, (0.5 / 3.0, 0.25 / 3.0))
    worst = Plants(count=3, aggregate="worst")
    assert worst.aggregated(judged) == Judged(6.0, 0.5, 1.0, (0.5, 0.25))
    failed = [*judged[:2], Judged(math.inf, math.inf, 0.25)]
    assert worst.aggregated(failed) == Judged(math.inf, math.inf, 0.25)
    assert Plants(count=3).aggregated(failed) == Judged(math.inf, math.inf, 0.75)


def test_plants_have_seeds_of_their_own_and_values_spread_by_sobol():
    vary = (Factor.parse("timing.control=0.01:0.02"), Factor.parse("integrator.step=0.001:0.002"))
    base = CARD.replace({"integrator": {"method": "RK4", "step": 0.01}})
    plants = Plants(count=3, vary=vary, held_out=2)
    training, validation = plants.training(base), plants.validation(base)
    assert [one.seed for one in training] == [training_seed(base.seed, k) for k in range(3)]
    assert [one.seed for one in validation] == [held_out_seed(base.seed, k) for k in range(2)]
    for made, purpose, size in ((training, 0, 2), (validation, 1, 1)):
        rng = np.random.default_rng([base.seed, purpose])
        points = qmc.Sobol(2, rng=rng).random_base2(size)
        got = [(one.timing.control, one.integrator.step) for one in made]
        expected = [(0.01 + 0.01 * x, 0.001 + 0.001 * y) for x, y in points[: len(made)]]
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    (alone,) = Plants(vary=vary, mismatch=0.5).training(base)
    assert alone == base.replace({"seed": training_seed(base.seed, 0)})
    assert Plants().validation(base) == []
    (off,) = Plants(held_out=1, mismatch=0.25).validation(base)
    (effect,) = off.effect
    assert (effect.name, effect.parameters) == ("robustness", 0.25)  # a robot of formulas
    bodies = mismatches(Scenario.load("scara-helix"), [0.25, 0.5])
    assert {level: (one.mass, one.inertia, one.parameters) for level, one in bodies.items()} == {
        0.25: (0.25, 0.25, 0.0), 0.5: (0.5, 0.5, 0.0),
    }  # fmt: skip
    assert mismatches(CARD, []) == {}
    assert plants.to_dict() == {
        "plants": 3, "mismatch": 0.0, "vary": [one.to_dict() for one in vary],
        "aggregate": "average", "held_out": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bound", "value", "excess"),
    [("4", 3.0, 0.0), ("4", 4.0, 0.0), ("4", 5.0, 0.25), ("0", 0.5, 0.5), ("4", math.nan, 1e6),
     ("4", math.inf, 1e6), ("1e-9", 1.0, 1e6)],
)  # fmt: skip
def test_how_far_a_run_is_beyond_a_bound(bound, value, excess):
    assert Limit.parse(f"peak_u <= {bound}").excess({"peak_u": value}) == excess


def test_a_run_is_judged_by_cost_and_every_bound():
    objective = Objective.parse("rms_phi + 0.5*peak_u", ["peak_u <= 2", "work <= 1"])
    values = {"rms_phi": 1.0, "peak_u": 3.0, "work": 0.5}
    assert objective.judge(True, 1.0, values) == Judged(2.5, 0.5, 1.0, (0.5, 0.0))
    assert objective.judge(False, 0.25, values) == Judged(math.inf, math.inf, 0.25)
    lacking = objective.judge(True, 1.0, values | {"rms_phi": math.nan})
    assert lacking == Judged(math.inf, math.inf, 1.0)


# Simulations, of which none is made


@pytest.fixture(name="simulated")
def _simulated(monkeypatch):
    """Give the runs that are asked for; what comes of them is said by a function."""
    ran = []

    def build(come):
        def run(self, watch):
            ran.append((self.entry, self.scenario, self.strict, self.curves, self.keep))
            return come(self)

        monkeypatch.setattr(Run, "__call__", run)
        return ran

    return build


def outcome(run, cost=1.0, **given):
    of = {"status": "completed", "message": "", "reached": 0.5, "metrics": {"rms_phi": cost}}
    return Outcome(entry=run.entry, repeat=0, seed=0, level=None, **{**of, **given})


def plant(**changes):
    return Plant.of(CARD.replace(changes))


def bench_of(journal=None, plants=None, limits=()):
    objective = Objective.parse("rms_phi", limits)
    return Bench(objective, plants or Plants(), Journal() if journal is None else journal, Crew())


def order(alpha=None, *, stage="sobol", plants=None, entry="law"):
    return Order(entry, {} if alpha is None else {ALPHA: alpha}, stage, plants or [plant()])


def test_candidates_are_judged_in_their_order_and_what_is_known_is_not_run_again(simulated):
    ran = simulated(lambda run: outcome(run, run.scenario.controller.feedback.alpha))
    journal, told = Journal(), []
    bench = bench_of(journal)
    orders = [order(3.0), order(2.0, stage="card")]
    trials = bench.judge(orders, lambda *done: told.append(done))
    assert [trial.cost for trial in trials] == [3.0, 2.0]
    assert [trial.stage for trial in trials] == ["sobol", "card"]
    assert [trial.gains for trial in trials] == [{ALPHA: 3.0}, {ALPHA: 2.0}]
    assert [trial.each for trial in trials] == [(), ()]
    assert [each[2] for each in ran] == [False, True]  # a card that does not fit is an error
    assert [each[3] for each in ran] == [False, False]
    assert told == [(1.0, 2.0), (2.0, 2.0)]
    told.clear()
    trials = bench.judge([order(4.0), order(3.0)], lambda *done: told.append(done))
    assert [trial.cost for trial in trials] == [4.0, 3.0]
    assert len(ran) == 3
    assert told[-1] == (2.0, 2.0)
    assert min(done for done, _ in told) >= 1.0  # what is known counts as done
    bench.judge([order(4.0)])
    assert len(ran) == 3
    assert len(journal) == 3


def test_a_candidate_that_failed_on_one_plant_says_how_and_where_it_came(simulated):
    def come(run):
        if run.scenario.seed == 8:
            return outcome(run, status="diverged", message="it left.", reached=0.125, metrics={})
        return outcome(run, 2.0, random=run.scenario.seed == 9)

    simulated(come)
    bench = bench_of(plants=Plants(count=3), limits=["rms_phi <= 1"])
    assert bench.random is False
    plants = [plant(seed=seed) for seed in (7, 8, 9)]
    (trial,) = bench.judge([order(plants=plants)])
    assert (trial.cost, trial.violation) == (math.inf, math.inf)
    assert (trial.status, trial.message) == ("diverged", "it left.")
    assert trial.each == (2.0, math.inf, 2.0)
    assert trial.reached == pytest.approx(0.75)  # 1, 0.125 of 0.5 s, 1
    assert bench.random is True
    bench.judge([order(plants=plants[:1])])
    assert bench.random is True
    (good,) = bench.judge([order(plants=plants[:1])])
    assert (good.violation, good.beyond, good.status) == (1.0, (1.0,), "completed")


def test_gains_that_do_not_go_together_are_infeasible_and_not_run(simulated):
    ran = simulated(outcome)
    (trial,) = bench_of().judge([order(-1.0)])
    assert (trial.status, trial.cost, trial.reached) == ("infeasible", math.inf, 0.0)
    assert "alpha" in trial.message
    assert ran == []


def test_what_was_stopped_is_no_trial_and_nothing_is_written_of_it(simulated):
    def come(run):
        if run.scenario.controller.feedback.alpha == 3.0:
            return outcome(run, status="interrupted", message="stopped by the user at 0.1 s.")
        return outcome(run)

    simulated(come)
    journal = Journal()
    trials = bench_of(journal).judge([order(2.0), order(3.0), order(4.0)])
    assert trials[0].cost == 1.0
    assert trials[1:] == [None, None]
    assert len(journal) == 1


@pytest.mark.parametrize(("cost", "kept"), [(1.0, 2), (1.5, 0)])
def test_a_journal_is_believed_where_the_cards_come_out_the_same(simulated, cost, kept):
    costs = [1.0]
    ran = simulated(lambda run: outcome(run, costs[0]))
    journal = Journal()
    bench = bench_of(journal)
    plants = [plant(seed=1), plant(seed=2)]
    card = order(stage="card", plants=plants)
    bench.judge([card])
    costs[0] = cost
    assert bench.believe([card, order(stage="card", entry="new", plants=[plant(seed=5)])])
    assert [each[1].seed for each in ran] == [1, 2, 1]  # the first run of what is known, once
    assert len(journal) == kept
    assert bench_of().believe([card])  # of nothing known nothing is run
    assert len(ran) == 3


def test_a_simulation_is_named_by_plant_entry_and_gains():
    from ukctrl.studies.tuning.evaluate import _Simulation

    named = _Simulation(order=order(2.5), place=(4, 1))
    assert str(named) == f"plant 1 of 'law' with {ALPHA} = 2.5"
    assert str(_Simulation(order=order(), place=(0, 0))) == "plant 0 of 'law' with its own gains"


def test_a_journal_gives_back_every_field(tmp_path):
    path = tmp_path / "journal.jsonl"
    done = Done("diverged", "it left.", 0.1 + 0.2, True, {"rms_phi": 1.0 / 3.0, "work": math.nan})
    with Journal(path) as journal:
        journal.add("key", done, {"entry": "law", "seed": 3})
        assert len(journal) == 1
    assert json.loads(path.read_text()) == {
        "run": "key", "entry": "law", "seed": 3, "status": "diverged", "message": "it left.",
        "reached": 0.1 + 0.2, "random": True, "metrics": {"rms_phi": 1.0 / 3.0, "work": None},
    }  # fmt: skip
    with path.open("a") as file:
        file.write('{"run": "other"}\nnonsense\n')
    with Journal(path) as journal:
        assert len(journal) == 1
        found = journal.find("key")
        assert agrees(found, done)
        assert not found.completed
        assert journal.find("nothing") is None
        for field, other in (("status", "drifted"), ("message", "x"), ("reached", 0.3),
                             ("random", False), ("metrics", {"rms_phi": 0.3})):  # fmt: skip
            assert not agrees(found, done._replace(**{field: other}))
        journal.forget()
        assert len(journal) == 0
        assert path.read_text() == ""
        journal.remove()
    assert not path.exists()


def test_a_journal_that_cannot_be_written_to_says_so(tmp_path, monkeypatch):
    done = Done("completed", "", 1.0, False, {})
    with Journal(tmp_path / "journal.jsonl") as journal:

        def full(*given):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(journal, "append", full)
        with pytest.raises(InputError, match=r"cannot write to the journal '.*': No space left"):
            journal.add("key", done, {})


def test_what_is_kept_of_a_run_has_no_wall_time():
    run = SimpleNamespace(entry="a")
    metrics = {"rms_phi": 1.0, "mean_tick_us": 3.0, "rms_phi.gap": 2.0}
    done = Done.of(outcome(run, metrics=metrics, random=True), 2.0)
    assert done == Done("completed", "", 0.25, True, {"rms_phi": 1.0, "rms_phi.gap": 2.0})
    assert done.completed


def test_a_scenario_is_known_by_all_that_it_says():
    assert key_of(CARD) == key_of(CARD.replace({"seed": CARD.seed}))
    others = ({"seed": 99}, {ALPHA: 77.0}, {"timing.duration": 0.25})
    assert len({key_of(CARD), *(key_of(CARD.replace(change)) for change in others)}) == 4
    assert len(key_of(CARD)) == 24


def test_a_search_counts_its_simulations_over_plants_and_laws(simulated):
    ran = simulated(lambda run: outcome(run, run.scenario.controller.feedback.alpha, random=True))
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
        result = run.keep and SimpleNamespace(status="completed", metrics={})
        return outcome(run, run.scenario.controller.feedback.alpha, random=True,
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


def test_a_gain_in_closed_form_is_told_with_what_it_was_chosen_for():
    scenario = Scenario.load("two-mass-spring", {"controller": {"use": "servo-chen-robust"}})
    text = "start=0:0.1:0.3,  uncertainty=0:0.3:1, horizon=10, price=1e-6"
    choice = FuzzyChoice.of(scenario, text)
    assert choice.given == " ".join(text.split())
    assert choice.before == scenario.controller.feedback.kappa
    assert isinstance(choice.found, FuzzyGain)
    assert choice.kappa == pytest.approx(choice.found.kappa, rel=1e-3)
    data = choice.to_dict()
    assert (data["scenario"], data["controller"]) == ("two-mass-spring", "servo-chen-robust")
    assert (data["kappa"], data["card"]) == (choice.found.kappa, choice.before)
    assert data["cost"] == choice.found.cost(choice.found.kappa)
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
    assert f"kappa from {choice.given}, in closed form" in card
    assert "kappa of least average cost" in card
    with pytest.raises(InputError, match="--fuzzy chooses the gain of feedback 'chen_robust'"):
        FuzzyChoice.of(CARD, text)
