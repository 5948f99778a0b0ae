"""Every sentence about a search, whole, beside the trials that lead to it."""

from __future__ import annotations

import math

import pytest

from ukctrl.core.verdict import Verdict
from ukctrl.studies.tuning import Gain, GainSearch, HeldOut, TuningTrial
from ukctrl.studies.tuning.cost import MAX_VIOLATION
from ukctrl.studies.tuning.tuning_verdicts import verdicts

GAIN = Gain("controller.kp", 10.0, 1.0, 100.0)


def trial(cost=1.0, kp=10.0, **given):
    given = {"reached": 1.0, "status": "completed", "stage": "sobol", **given}
    return TuningTrial(gains={"controller.kp": kp}, cost=cost, **given)


FAILED = trial(math.inf, 10.0, reached=0.25, status="diverged", message="it left every bound.")
FURTHER = trial(math.inf, 20.0, reached=0.5, status="diverged", violation=math.inf)


def broken(*beyond, cost=1.0, kp=20.0):
    return trial(cost, kp, violation=sum(beyond), beyond=beyond)


def tuned(*trials, budget=None, **given):
    given = {"entry": "law", "gains": (GAIN,), "cost": "rms_phi", "seed": 0, **given}
    plants = given.get("plants", 1)
    return GainSearch(budget=budget or plants * len(trials), trials=trials, **given)


def said(tuning, held_out=None, stopped=False):
    return {each.subject: each for each in verdicts(tuning, held_out, stopped)}


LIMIT = {"limits": ("peak_u <= 3",)}
OUTCOMES = [
    (
        (FAILED, FAILED), {}, "bad",
        "None of 2 candidates completed; the furthest got to 25 % of the run: it left every bound.",
    ),
    (
        (FAILED, FURTHER), {}, "bad",
        "None of 2 candidates completed; the furthest got to 50 % of the run: diverged.",
    ),
    (
        (broken(0.5, kp=10.0), broken(0.1)), LIMIT, "bad",
        "None of 2 candidates keeps to the constraints; the nearest is beyond peak_u <= 3 by 10 %.",
    ),
    (
        (broken(0.5, 0.0, MAX_VIOLATION, 0.02, kp=10.0),),
        {"limits": ("work <= 1", "peak_u <= 2", "effort <= 3", "worst_margin >= 0"), "plants": 2},
        "bad", "None of 1 candidates keeps to the constraints on all 2 plants; the nearest is "
        "beyond work <= 1 by 50 %, effort <= 3, which has no value, worst_margin >= 0 by 0.02.",
    ),
    (
        (trial(1.0), trial(2.0, 20.0)), {}, "note",
        "None of 2 candidates is better than the card itself.",
    ),
    (
        (FAILED, trial(2.0, 20.0)), {}, "good",
        "Cost 2 with 2 simulations; the card's gains failed.",
    ),
    (
        (broken(0.5, kp=10.0), trial(2.0, 20.0)), LIMIT, "good",
        "Cost 2 within the constraints, with 2 simulations; the card's gains broke them.",
    ),
    (
        (trial(4.0), trial(1.0, 20.0), trial(2.0, 30.0)), {"plants": 3}, "good",
        "Cost 4 became 1, 75 % less, with 9 simulations.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("trials", "given", "level", "text"), OUTCOMES)
def test_what_came_of_a_search(trials, given, level, text):
    assert said(tuned(*trials, **given))["outcome"] == Verdict(level, "outcome", text)


CARD, BETTER = trial(4.0), trial(1.0, 20.0)


@pytest.mark.parametrize(
    ("budget", "stopped", "text"),
    [
        (2, False, None),
        (2, True, "Stopped by the user once the search was done; --resume completes the rest."),
        (
            3, True,
            "Stopped by the user after 2 of 3 simulations; the same command with --resume goes on.",
        ),
    ],
)  # fmt: skip
def test_a_search_that_was_stopped_says_how_far_it_is(budget, stopped, text):
    found = said(tuned(CARD, BETTER, budget=budget), stopped=stopped).get("stopped")
    assert found == (text and Verdict("warning", "stopped", text))


@pytest.mark.parametrize(
    ("trials", "given", "level", "text"),
    [
        (
            (CARD, BETTER, broken(0.1)), {}, "good",
            "2 of 3 candidates keep to peak_u <= 3.",
        ),
        (
            (CARD, BETTER), {"plants": 2}, "good",
            "2 of 2 candidates keep to peak_u <= 3 on all 2 plants.",
        ),
        (
            (broken(0.1),), {}, "note",
            "Allow more, widen the ranges (--over), spend more (--budget), or try another law.",
        ),
    ],
)  # fmt: skip
def test_how_many_keep_to_the_constraints(trials, given, level, text):
    found = said(tuned(*trials, **LIMIT, **given))["constraints"]
    assert found == Verdict(level, "constraints", text)
    assert "constraints" not in said(tuned(CARD, BETTER))


def test_how_many_did_not_complete():
    text = "1 of 4 candidates did not complete (25 %)."
    assert said(tuned(CARD, BETTER, BETTER, FAILED))["failures"] == ("note", "failures", text)
    assert "failures" not in said(tuned(CARD, BETTER))


@pytest.mark.parametrize(("kp", "at_border"), [(1.0, 1), (1.05, 1), (1.2, 0), (90.0, 0), (99, 1)])
def test_a_gain_at_an_end_of_its_range_is_warned_of(kp, at_border):
    found = said(tuned(CARD, trial(1.0, kp))).get("range")
    assert bool(at_border) == (found is not None)
    assert not at_border or found == Verdict(
        "warning", "range",
        "At an end of its range: kp. A better value may lie beyond, or the cost omits the price "
        "of such a gain; widen the range (--over), or add effort, noise or a constraint.",
    )  # fmt: skip


ELSEWHERE = "Cost on average on plants that the search did not use: tuned"
PARTLY = trial(math.inf, 20.0, each=(1.0, math.inf, 2.0), status="diverged")
HELD = [  # the card's trial on held-out plants, the tuned one's, level, sentence, overfitted
    (trial(4.0), trial(1.0), "good", f"{ELSEWHERE} 1, card 4; tuning gave 1.", False),
    (trial(4.0), trial(1.24), "good", f"{ELSEWHERE} 1.24, card 4; tuning gave 1.", False),
    (trial(4.0), trial(1.26), "warning", f"{ELSEWHERE} 1.26, card 4; tuning gave 1.", True),
    (trial(8.0), trial(2.0), "good", f"{ELSEWHERE} 2, card 8; tuning gave 1.", False),
    (trial(1.0), trial(2.0), "bad", f"{ELSEWHERE} 2, card 1; tuning gave 1.", True),
    (
        trial(4.0), PARTLY, "bad",
        f"{ELSEWHERE} completed 2 of 3, card 4; tuning gave 1.", False,
    ),
    (
        PARTLY, trial(1.0), "good",
        f"{ELSEWHERE} 1, card completed 2 of 3; tuning gave 1.", False,
    ),
    (
        trial(4.0), broken(0.2, kp=10.0), "bad",
        f"{ELSEWHERE} 1, card 4; tuning gave 1; beyond peak_u <= 3 by 20 %.", True,
    ),
    (
        broken(0.3, cost=4.0, kp=10.0), broken(0.2, kp=10.0), "warning",
        f"{ELSEWHERE} 1, card 4; tuning gave 1; beyond peak_u <= 3 by 20 %.", False,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("card", "better", "level", "text", "overfitted"), HELD)
def test_what_tuned_gains_are_worth_elsewhere(card, better, level, text, overfitted):
    found = said(tuned(CARD, BETTER, **LIMIT), HeldOut(card=card, tuned=better))
    assert found["held out"] == Verdict(level, "held out", text)
    tip = (
        "The gains are overfitted to the plants of the search: tune on more plants (--ensemble), "
        "or with the same mismatch (--mismatch)."
    )
    assert found.get("overfitted") == (
        Verdict("warning", "overfitted", tip) if overfitted else None
    )


def test_the_worst_of_held_out_plants_is_told_as_such():
    held = HeldOut(card=trial(4.0), tuned=trial(1.0))
    found = said(tuned(CARD, BETTER, aggregate="worst"), held)["held out"].text
    assert found.startswith(
        "Cost of the worst on plants that the search did not use: tuned 1, card 4"
    )


def test_a_search_without_a_success_has_nothing_to_hold_out():
    found = said(tuned(FAILED, FURTHER), HeldOut(card=FAILED, tuned=FURTHER))
    assert set(found) == {"outcome", "failures"}
