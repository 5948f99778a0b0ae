"""The verb `tune`: what it finds, judges, keeps and writes."""

from __future__ import annotations

import csv
import json
import math
import re
import tomllib

import numpy as np
import pytest
from command import ended

from ukctrl import Budget, Scenario, simulate, tune, write_tuned
from ukctrl.core.errors import InputError
from ukctrl.studies.tuning import Plants

SMALL = {
    "timing": {"duration": 0.3, "control": 0.01, "sample": 0.01},
    "integrator": {"method": "RK4", "step": 0.01},
    "start.spread": 0.02,
}
OVER = {"controller.feedback.alpha": (2.0, 200.0), "controller.feedback.beta": (10.0, 5000.0)}


@pytest.fixture(name="helix", scope="module")
def _helix():
    return Scenario.load("scara-helix", {**SMALL, "controller": {"use": "servo-baumgarte"}})


@pytest.fixture(name="tuned", scope="module")
def _tuned(helix):
    budget = Budget(
        simulations=48,
        cost="rms_phi + 1e-6*input_travel",
        subject_to=("peak_u <= 200",),
        over=OVER,
        only=True,
        plants=Plants(count=3, mismatch=0.3, aggregate="worst", held_out=3),
    )
    return tune(helix, budget)


def test_the_tuned_gains_are_better_where_they_were_tuned_and_elsewhere(tuned):
    assert tuned.ok
    assert tuned.tuning.after < tuned.tuning.before
    assert tuned.held_out.tuned.cost < tuned.held_out.card.cost
    assert len(tuned.held_out.tuned.each) == 3
    assert tuned.verdicts[0].level == "good"
    assert re.match(r"Cost .* became .* less, with 48 simulations\.", tuned.verdicts[0].text)


def test_the_costs_are_those_of_the_runs_on_these_plants(helix, tuned):
    best = tuned.tuning.best
    for plants, trial in ((tuned.plants.training(helix), best),
                          (tuned.plants.validation(helix), tuned.held_out.tuned)):  # fmt: skip
        costs = []
        for plant in plants:
            run = simulate(plant.replace(best.gains))
            costs.append(run.metric("rms_phi") + 1e-6 * run.metric("input_travel"))
            assert run.metric("peak_u") <= 200.0
        np.testing.assert_allclose(trial.each, costs, rtol=1e-12)
        assert trial.cost == max(trial.each)


@pytest.mark.slow
def test_the_files_hold_the_card_its_history_and_the_page(helix, tuned, tmp_path):
    write_tuned(tuned, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    figures = {f"tune_{name}.png" for name in ("search", "gains", "errors", "inputs")}
    assert names == {
        "servo-baumgarte.toml", "history.csv", "tune.json", "tune.html", *figures,
    }  # fmt: skip
    card = tomllib.loads((tmp_path / "servo-baumgarte.toml").read_text(encoding="utf-8"))
    assert card["title"].endswith(
        ", tuned for rms_phi + 1e-6*input_travel, subject to peak_u <= 200"
    )
    assert "gains from 48 simulations of scara-helix on 3 plants (worst)" in card["source"]
    use = {"controller": {"use": str(tmp_path / "servo-baumgarte.toml")}}
    again = simulate(Scenario.load("scara-helix", {**SMALL, **use}))
    assert again.metric("rms_phi") == tuned.results["tuned"].metric("rms_phi")
    rows = list(csv.DictReader((tmp_path / "history.csv").open(encoding="utf-8")))
    assert len(rows) == 16
    assert [int(row["simulations"]) for row in rows] == list(range(3, 49, 3))
    lowest = [float(row["lowest"]) for row in rows if row["lowest"]]
    assert lowest == sorted(lowest, reverse=True)
    assert lowest[-1] == tuned.tuning.after
    data = json.loads((tmp_path / "tune.json").read_text(encoding="utf-8"))
    assert data["after"] == tuned.tuning.after
    assert data["held_out"]["tuned"]["worst"] == tuned.held_out.tuned.cost
    page = (tmp_path / "tune.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 4
    assert "peak_u &lt;= 200" in page


def test_what_cannot_be_met_is_said_and_the_nearest_gains_are_kept(helix):
    found = tune(helix, Budget(simulations=4, subject_to=("peak_u <= 1e-3",), over=OVER, only=True))
    assert not found.ok
    assert not found.stopped
    assert re.search(r"nearest is beyond peak_u <= 1e-3 by .* %", found.verdicts[0].text)
    assert math.isinf(found.tuning.history()[-1])


def test_gains_tuned_to_one_plant_that_lose_on_others_are_called_overfitted():
    from ukctrl.studies.tuning import Gain, GainSearch, HeldOut, TuningTrial, tuning_verdicts

    def trial(alpha, cost):
        return TuningTrial({"controller.a": alpha}, cost, 1.0, "completed", "card")

    tuning = GainSearch(
        entry="law", gains=(Gain("controller.a", 1.0, 0.1, 10.0),), cost="rms_phi", budget=2,
        seed=1, trials=(trial(1.0, 1.0), trial(3.0, 0.1)),
    )  # fmt: skip
    said = [
        v.subject
        for v in tuning_verdicts._validation_verdicts(HeldOut(trial(1, 1.1), trial(3, 2.0)), tuning)
    ]
    assert said == ["held out", "overfitted"]
    said = [
        v.subject
        for v in tuning_verdicts._validation_verdicts(
            HeldOut(trial(1, 1.1), trial(3, 0.11)), tuning
        )
    ]
    assert said == ["held out"]


def test_a_law_without_gains_and_a_path_outside_the_controller_are_refused(helix):
    exact = helix.replace({"controller": {"use": "servo-exact"}})
    with pytest.raises(InputError, match=r"'servo-exact' has no gains to tune; give a range"):
        tune(exact, Budget(simulations=4))
    with pytest.raises(InputError, match="a gain must be in the controller"):
        tune(helix, Budget(simulations=4, over={"believed.mass_scale": (0.5, 2.0)}, only=True))


def command(*options, out):
    return [
        "tune", "scara-helix", "--budget", "12", "--over", "controller.feedback.alpha=2:200",
        "--set", "timing={duration=0.3, control=0.01, sample=0.01}", "--set", "start.spread=0.02",
        "--set", "integrator={method='RK4', step=0.01}", "--jobs", "1", "--out", str(out), *options,
    ]  # fmt: skip


def test_the_command_tells_before_and_after_within_80_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = ended(
        capsys, *command("--ensemble", "3", "--method", "evolution", out=tmp_path)
    )
    assert (code, err) == (0, "")
    lines = out.replace(str(tmp_path), "").splitlines()
    assert max(map(len, lines)) <= 80
    assert re.search(r"^  feedback.alpha +20 +[\d.]+ +2 to 200", out, re.MULTILINE)
    assert re.search(r"^  worst cost +held out", out, re.MULTILINE)
    assert "  budget   12 of 12 simulations" in lines
    assert any(line.startswith("next    ukctrl run scara-helix -c ") for line in lines)


@pytest.mark.slow
def test_the_command_goes_on_with_its_journal_when_told_to(tmp_path, capsys):
    code, first, _ = ended(capsys, *command("--json", out=tmp_path))
    assert code == 0
    code, _, err = ended(capsys, *command("--json", out=tmp_path))
    assert (code, "holds a search already; go on with it (--resume)" in err) == (2, True)
    lines = (tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:60])
    code, again, _ = ended(capsys, *command("--json", "--resume", out=tmp_path))
    assert code == 0
    assert json.loads(again)["trials"] == json.loads(first)["trials"]
    assert sorted((tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)) == sorted(
        lines
    )


def test_the_command_writes_the_gain_of_a_fuzzy_uncertainty_without_a_simulation(tmp_path, capsys):
    given = "start=0:0.1:0.3, uncertainty=0:0.3:1, horizon=20, price=1e-6"
    arguments = ["tune", "scara-helix", "-c", "servo-chen-robust", "--fuzzy", given]
    code, out, err = ended(capsys, *[*arguments, "--out", str(tmp_path)])
    assert (code, err) == (0, "")
    card = tomllib.loads((tmp_path / "servo-chen-robust.toml").read_text(encoding="utf-8"))
    rows = list(csv.DictReader((tmp_path / "fuzzy_gain.csv").open(encoding="utf-8")))
    lowest = min(rows, key=lambda row: float(row["cost"]))
    np.testing.assert_allclose(card["feedback"]["kappa"], float(lowest["kappa"]), rtol=1e-3)
    assert f"kappa   {card['feedback']['kappa']:g} 1/s in closed form" in out
    assert (tmp_path / "fuzzy_gain.png").exists()
