"""Studies of runs that keep limits: who crossed one is no winner, and gains must not."""

import csv

import pytest
import tomli_w

from ukctrl import Scenario, compare, tune
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.studies.tuning import Budget, Plants

WALL = {"kind": "expression", "name": "wall", "h": "1.0 - x", "unit": "m", "decay": 0.2}
PUSHED = {"kind": "push", "frame": "point", "force": [4.0, 0.0, 0.0], "start": 0.5}
ALPHA = "controller.feedback.alpha"


@pytest.fixture(scope="module")
def before_a_wall():
    """A mass that is asked to go through a wall, or beside it."""

    def build(to=2.0, **more):
        path = {"kind": "constant", "value": [to, 1.0]}
        table = {
            "title": "a mass before a wall", "robot": "particle", "start": {"q": [0.0, 0.0]},
            "servo": [{"kind": "joint_follows", "name": "place", "joints": ["x", "y"],
                       "path": path}],
            "keep": [WALL], "timing": {"duration": 2.0, "control": 0.02, "sample": 0.02},
            "integrator": {"method": "RK4", "step": 0.02},
            "controller": {"kind": "servo",
                           "feedback": {"kind": "baumgarte", "alpha": 6.0, "beta": 9.0}},
            **more,
        }  # fmt: skip
        return Scenario.from_toml(tomli_w.dumps(table))

    return build


LIGHT = "light=own{believed.mass_scale=0.5}"


def test_who_crossed_a_limit_is_no_winner_over_one_that_did_not(before_a_wall):
    alone = compare(before_a_wall(), ["own", LIGHT])
    assert alone.completed == ("own", "light")
    assert alone.ranked == ("own",)
    first = alone.verdicts[0]
    assert first.level == "warning"
    assert first.text.startswith("'own' alone kept all limits; 'light' crossed 'wall' by ")
    three = compare(before_a_wall(), ["own", LIGHT, "soft=own{controller.feedback.beta=4.0}"])
    assert "All gave up some of the task for limits. Not ranked: 'light' (crossed 'wall' by " in (
        three.verdicts[0].text
    )
    rows = {row.metric: row for row in three.rows}
    assert rows["rms_phi"].best == ("own",)
    assert "light" not in rows["effort"].best  # with half of the effort
    margins = rows["worst_margin.wall"]
    assert margins.best == (max(("own", "soft"), key=lambda name: margins.values[name]),)
    assert rows["limits_crossed"].values == {"own": 0.0, "light": 1.0, "soft": 0.0}


def test_where_all_crossed_all_are_ranked_and_it_is_said(before_a_wall):
    crossed = compare(before_a_wall(), [LIGHT, LIGHT.replace("light", "lighter").replace("5", "4")])
    assert crossed.ranked == ("light", "lighter")
    text = crossed.verdicts[0].text
    assert text.startswith("No controller kept all limits: 'light' crossed 'wall' by ")
    assert "Smallest error (rms): 'light', " in text


def test_a_task_beside_the_limit_is_given_up_by_nobody(before_a_wall):
    free = compare(before_a_wall(to=0.5), ["own", "soft=own{controller.feedback.beta=4.0}"])
    assert "limits" not in free.verdicts[0].text


@pytest.mark.slow
def test_gains_are_tuned_within_a_margin_on_every_plant(before_a_wall, tmp_path):
    budget = {"simulations": 16, "over": {ALPHA: (1.0, 20.0)}, "only": True}
    plants = Plants(count=2, mismatch=0.3)
    unbound = tune(before_a_wall(), Budget(**budget, plants=plants))
    assert not unbound.tuning.limits
    budget |= {"plants": plants, "subject_to": ("worst_margin.wall >= 0",)}
    kept = tune(before_a_wall(), Budget(**budget), folder=tmp_path)
    assert kept.ok
    assert kept.tuning.best.violation == 0.0
    assert kept.tuning.best.cost > unbound.tuning.best.cost  # which went through the wall
    assert any(trial.violation for trial in kept.tuning.trials)
    (said,) = (each.text for each in kept.verdicts if each.subject == "constraints")
    assert said.endswith("candidates keep to worst_margin.wall >= 0 on all 2 plants.")
    history = list(csv.DictReader(kept.history_csv().splitlines()))
    beyond = [float(line["beyond:worst_margin.wall >= 0"]) for line in history]
    assert beyond == [float(line["violation"]) for line in history]
    again = tune(before_a_wall(), Budget(**budget), folder=tmp_path, resume=True)
    assert again.tuning == kept.tuning


def test_where_no_gains_keep_a_margin_the_nearest_is_told(before_a_wall):
    budget = Budget(simulations=4, subject_to=("worst_margin.wall >= 2",), over={ALPHA: (1.0, 9.0)})
    found = tune(before_a_wall(), budget)
    assert not found.ok
    assert "the nearest is beyond worst_margin.wall >= 2 by " in found.verdicts[0].text
    told = [each.text for each in compare(before_a_wall(), ["own"], tuning=budget).verdicts]
    says = "No gains that were tried keep to the constraints: 'own' is beyond worst_margin.wall >= "
    assert any(text.startswith(says) for text in told)


@pytest.mark.parametrize(
    ("keep", "limit", "error", "says"),
    [
        ([WALL], "worst_margin.wal >= 0", UnknownName, "did you mean 'worst_margin.wall'"),
        ([WALL], "limits_crossed.place <= 0", UnknownName, "did you mean 'limits_crossed'"),
        ([], "worst_margin >= 0", InputError, "the scenario keeps nothing: add a \\[\\[keep"),
    ],
)
def test_a_limit_that_nothing_keeps_is_refused_before_any_run(
    before_a_wall, monkeypatch, keep, limit, error, says
):
    monkeypatch.setattr(
        "ukctrl.studies.batch.run_summary.simulate_for_metrics", None
    )  # nothing runs
    budget = Budget(simulations=4, subject_to=(limit,), over={ALPHA: (1.0, 9.0)}, only=True)
    with pytest.raises(error, match=says):
        tune(before_a_wall(keep=keep), budget)
