"""What is written of a search, cell by cell, beside the trials that it is made of."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import tomllib

import pytest
from printed_lines import plain
from sound_tables import texts

from ukctrl.cli.terminal.studies_text import tuned_lines
from ukctrl.core.number_text import first_sentence
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep import Factor
from ukctrl.studies.tuning import (
    Gain,
    GainSearch,
    HeldOut,
    Plants,
    Tuned,
    TuningTrial,
    tuned_card,
    tuning_page,
)
from ukctrl.studies.tuning.tuning_page import (
    card_name,
    cost_table,
    gain_table,
    html,
    metric_table,
    search_conditions,
    write_tuned,
)

ALPHA, BETA = "controller.feedback.alpha", "controller.feedback.beta"
GAINS = (Gain(ALPHA, 5.0, 1.0, 100.0), Gain(BETA, 2.0, 0.0, 4.0, "uniform"))
SCENARIO = Scenario.load("two-mass-spring", {"controller": {"use": "servo-baumgarte"}})


def trial(cost, alpha, beta, **given):
    given = {"reached": 1.0, "status": "completed", "stage": "sobol", **given}
    return TuningTrial(gains={ALPHA: alpha, BETA: beta}, cost=cost, **given)


CARD = trial(
    0.4, 5.0, 2.0, stage="card", violation=0.25, beyond=(0.25,), each=(0.2, 0.4)
)  # fmt: skip
BEST = trial(0.1, 99.0, 1.0, beyond=(0.0,), each=(0.1, 0.05))
FAILED = trial(
    math.inf, 20.0, 1.5, reached=0.5, status="diverged", violation=math.inf, each=(0.3, math.inf)
)


def search(*trials, **given):
    given = {
        "entry": "law", "cost": "rms_phi", "limits": ("peak_u <= 40",), "budget": 9, "plants": 2,
        "aggregate": "worst", "seed": 17, **given,
    }  # fmt: skip
    return GainSearch(gains=GAINS, trials=trials or (CARD, FAILED, BEST), **given)


ENSEMBLE = Plants(count=2, mismatch=0.1, aggregate="worst", held_out=2)
ALONE = search(trial(0.4, 5.0, 2.0), trial(0.6, 3.0, 2.0), plants=1, limits=(), budget=2)


def tuned(tuning=None, *, plants=ENSEMBLE, results=(), held_out=None):
    return Tuned(
        scenario=SCENARIO, tuning=tuning or search(), plants=plants, results=dict(results),
        held_out=held_out,
    )  # fmt: skip


def test_every_gain_stands_with_its_range_and_the_end_that_it_came_to():
    table = gain_table(search())
    heads = ["gain", "card", "tuned", "range searched", "scale"]
    assert [column.head for column in table.columns] == heads
    assert texts(table) == [
        ["feedback.alpha", "5", "99", "1 to 100", "logarithmic"],
        ["feedback.beta", "2", "1", "0 to 4", "linear"],
    ]
    chosen = [row[2] for row in table.rows]
    assert [(cell.mark, cell.note, cell.note_failed) for cell in chosen] == [
        ("strong", "at an end", True),
        ("strong", "", True),
    ]


@pytest.mark.parametrize(
    ("alpha", "beta", "ends"),
    # 2 % of a range in its own scale: log(1.09)/log(100) = 0.0187, log(1.1)/log(100) = 0.0207
    [(1.09, 0.1, [ALPHA]), (1.1, 0.07, [BETA]), (91.0, 3.9, []), (92.0, 3.93, [ALPHA, BETA]),
     (10.0, 2.0, [])],
)  # fmt: skip
def test_an_end_is_near_in_the_scale_of_the_range(alpha, beta, ends):
    assert list(search(trial(1.0, alpha, beta)).at_border) == ends


def test_costs_stand_where_the_gains_were_tuned_and_on_held_out_plants():
    held_out = HeldOut(
        trial(0.5, 5.0, 2.0, each=(0.5, 0.7), violation=0.5, beyond=(0.5,)),
        trial(math.inf, 99.0, 1.0, each=(0.1, math.inf), violation=0.0),
    )
    table = cost_table(tuned(held_out=held_out))
    assert texts(table) == [
        ["average cost", "tuned on", "0.3", "0.075", "−75 %"],
        ["worst cost", "tuned on", "0.4", "0.1", "−75 %"],
        ["peak_u <= 40", "tuned on", "beyond by 25 %", "kept", ""],
        ["average cost", "held out", "0.6", "–", ""],
        ["worst cost", "held out", "0.7", "–", ""],
        ["peak_u <= 40", "held out", "beyond by 50 %", "–", ""],
    ]
    assert {row[3].mark for row in table.rows} == {"strong"}
    for trials in ((CARD._replace(each=()), BEST), (CARD, BEST._replace(each=()))):
        several = texts(cost_table(tuned(search(*trials))))
        assert [row[0] for row in several][:2] == ["average cost", "worst cost"]
    assert texts(cost_table(tuned(ALONE, plants=Plants()))) == [
        ["cost", "tuned on", "0.4", "0.4", "+0 %"]
    ]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(1.0, 1.5, "+50 %"), (0.0, 1.0, ""), (math.inf, 1.0, ""), (1.0, 100.9, "+9990 %"),
     (1.0, 101.5, "")],
)  # fmt: skip
def test_a_change_is_told_where_it_says_something(before, after, change):
    one = search(trial(before, 5.0, 2.0), plants=1, limits=())
    elsewhere = HeldOut(trial(before, 5.0, 2.0), trial(after, 99.0, 1.0))
    assert texts(cost_table(tuned(one, held_out=elsewhere)))[1][-1] == change


def test_metrics_before_and_after_are_those_of_the_controller(helix):
    runs = {"card": helix(error=0.02), "tuned": helix(error=0.01)}
    table = metric_table(runs)
    names = [row[0].text for row in table.rows]
    assert names[:1] == ["rms_phi"]
    assert "rms_phi.tool" in names
    assert not {"energy_drift", "mean_tick_us", "status"} & set(names)
    (row,) = (row for row in texts(table) if row[0] == "peak_phi.tool")
    assert row == ["peak_phi.tool", "m", "0.02", "0.01", "−50 %"]
    whole = {row[0].text for row in metric_table(runs, blocks=False).rows}
    assert whole == {name for name in names if "." not in name}


def test_a_run_that_failed_has_a_status_and_no_metrics(helix):
    runs = {"card": helix(status="diverged"), "tuned": helix(error=0.01)}
    rows = texts(metric_table(runs))
    assert rows[0] == ["status", "", "diverged", "completed", ""]
    assert {row[2] for row in rows[1:]} == {"–"}
    assert ["peak_phi.tool", "m", "–", "0.01", ""] in rows
    neither = {name: helix(status="diverged") for name in runs}
    assert texts(metric_table(neither)) == [["status", "", "diverged", "diverged", ""]]
    assert metric_table({"card": helix()}) is None


def test_how_it_was_searched():
    facts = dict(search_conditions(tuned()))
    assert facts == {
        "method": "the card's gains, a Sobol sequence over the ranges, then the simplex of Nelder "
        "and Mead",
        "searched for": "the gains by themselves",
        "cost": "rms_phi",
        "constraints": "peak_u <= 40",
        "budget": "6 of 9 simulations, 3 candidates on 2 plants",
        "seed": "17, not used by any repeat of a comparison",
        "plants": "masses, inertias or parameters off by up to 10 %; a seed of noise and start for "
        "each",
        "cost of a candidate": "that of the worst over the plants",
    }
    varied = Plants(count=3, vary=(Factor.parse("timing.control=1:2"),))
    facts = dict(search_conditions(tuned(plants=varied)))
    assert facts["plants"] == "timing.control varied; a seed of noise and start for each"
    assert facts["cost of a candidate"] == "the average over the plants"
    facts = dict(search_conditions(tuned(ALONE, plants=Plants())))
    assert facts["constraints"] == "none"
    assert facts["budget"] == "2 of 2 simulations, 2 candidates on one plant"
    assert not {"plants", "cost of a candidate"} & set(facts)
    facts = dict(search_conditions(tuned(ALONE, plants=Plants(held_out=4))))
    assert facts["plants"] == "a seed of noise and start for each"
    assert "cost of a candidate" not in facts


def test_the_history_has_a_line_a_candidate():
    head, *lines = csv.reader(io.StringIO(tuned().history_csv()))
    assert head == [
        "candidate", "simulations", "stage", ALPHA, BETA, "cost", "violation", "reached", "status",
        "lowest", "beyond:peak_u <= 40", "cost:0", "cost:1",
    ]  # fmt: skip
    assert lines == [
        [
            "0",
            "2",
            "card",
            "5.0",
            "2.0",
            "0.4",
            "0.25",
            "1.0",
            "completed",
            "",
            "0.25",
            "0.2",
            "0.4",
        ],
        ["1", "4", "sobol", "20.0", "1.5", "", "", "0.5", "diverged", "", "", "0.3", ""],
        [
            "2",
            "6",
            "sobol",
            "99.0",
            "1.0",
            "0.1",
            "0.0",
            "1.0",
            "completed",
            "0.1",
            "0.0",
            "0.1",
            "0.05",
        ],
    ]
    head, *lines = csv.reader(io.StringIO(tuned(ALONE, plants=Plants()).history_csv()))
    assert head[-1] == "lowest"
    assert [line[-1] for line in lines] == ["0.4", "0.4"]
    assert [line[1] for line in lines] == ["1", "2"]


def test_the_record_is_strict_and_whole(helix):
    runs = {"card": helix(status="diverged"), "tuned": helix(error=0.01)}
    held_out = HeldOut(CARD, FAILED)
    made = tuned(results=runs, held_out=held_out)
    record = json.loads(made.to_json())
    assert record["scenario"] == "two-mass-spring"
    assert record["controller"] == "law"
    assert (record["finished"], record["feasible"]) == (True, True)
    assert (record["budget"], record["simulations"], record["training_seed"]) == (9, 6, 17)
    assert (record["before"], record["after"]) == (0.4, 0.1)
    assert (record["plants"], record["aggregate"]) == (2, "worst")
    assert record["constraints"] == ["peak_u <= 40"]
    assert record["mismatch"] == 0.1
    assert record["gains"][0] == {
        "path": ALPHA, "value": 5.0, "low": 1.0, "high": 100.0, "scale": "log", "tuned": 99.0,
        "room": None, "widened": 0,
    }  # fmt: skip
    assert record["at_border"] == [ALPHA]
    assert record["trials"][1] == {
        "gains": {ALPHA: 20.0, BETA: 1.5}, "cost": None, "reached": 0.5, "status": "diverged",
        "stage": "sobol", "violation": None, "beyond": [], "each": [0.3, None], "message": "",
    }  # fmt: skip
    assert record["held_out"] == {
        "card": {
            "cost": 0.4, "worst": 0.4, "violation": 0.25, "status": "completed",
            "each": [0.2, 0.4],
        },
        "tuned": {
            "cost": None, "worst": None, "violation": None, "status": "diverged",
            "each": [0.3, None],
        },
    }  # fmt: skip
    assert record["runs"]["card"]["status"] == "diverged"
    assert record["runs"]["tuned"]["metrics"]["peak_phi.tool"] == 0.01
    assert record["verdicts"] == [{"subject": v.subject, "text": v.text} for v in made.verdicts]
    stopped = json.loads(tuned(search(CARD, plants=1), plants=Plants()).to_json())
    assert (stopped["finished"], stopped["feasible"], stopped["held_out"]) == (False, False, None)
    assert "constraints" not in tuned(ALONE, plants=Plants()).to_dict()
    assert (search().to_dict()["plants"], search().to_dict()["aggregate"]) == (2, "worst")
    assert not {"plants", "aggregate"} & set(ALONE.to_dict())


def test_what_a_candidate_is_worth():
    assert (CARD.worst, CARD.average) == (0.4, pytest.approx(0.3, rel=1e-15))
    assert trial(0.7, 1.0, 1.0).costs == (0.7,)
    assert [CARD.feasible, BEST.feasible, FAILED.feasible] == [False, True, False]
    # Deb's order: feasible ones by cost, then by violation, then by how far they got.
    further = FAILED._replace(reached=0.75)
    nearer, costlier = CARD._replace(violation=0.125, cost=9.0), BEST._replace(cost=0.2)
    order = [BEST, costlier, nearer, CARD, further, FAILED]
    assert sorted({id(one): one for one in order[::-1]}.values(), key=lambda one: one.rank) == order
    made = search()
    assert (made.candidates, made.simulations, made.finished) == (4, 6, False)
    assert (made.before, made.after, made.best) == (0.4, 0.1, BEST)
    assert search(CARD, CARD, CARD, BEST).finished


@pytest.mark.parametrize(("results", "best", "ok"), [(True, BEST, True), (False, BEST, False),
                                                     (True, CARD, False)])  # fmt: skip
def test_a_search_is_well_where_it_ended_with_gains_that_keep_to_everything(
    helix, results, best, ok
):
    runs = {"card": helix(), "tuned": helix()} if results else {}
    assert tuned(search(best), results=runs).ok is ok


def test_a_card_says_what_it_was_tuned_for_once():
    table = SCENARIO.to_table()["controller"] | {"title": "Mine", "source": "a book"}
    text = tuned_card(table, search(), "masses")
    card = tomllib.loads(text)
    spent = "gains from 6 simulations of masses on 2 plants (worst), seed 17"
    assert card["title"] == "Mine, tuned for rms_phi, subject to peak_u <= 40"
    assert card["source"] == f"a book; {spent}"
    again = tomllib.loads(tuned_card(card, ALONE, "masses"))
    assert again["title"] == "Mine, tuned for rms_phi"
    assert again["source"] == "a book; gains from 2 simulations of masses, seed 17"
    bare = tomllib.loads(tuned_card({**table, "title": "", "source": ""}, ALONE, "masses"))
    assert bare["title"] == "law, tuned for rms_phi"
    assert bare["source"].startswith("ukctrl; gains from")
    assert tomllib.loads(tuned().card())["feedback"]["alpha"] == 99.0


def test_the_page_has_every_part_that_there_is_something_for(helix):
    runs = {"card": helix(), "tuned": helix(error=0.01)}
    made = tuned(results=runs)
    page = html(made, ())
    sections = re.findall(r'<section id="(\w+)"', page)
    linked = re.findall(r'<a href="#(\w+)">', page)
    assert sections == linked == ["outcome", "metrics", "card", "conditions"]
    assert '<a href="#metrics">Metrics before and after</a>' in page
    for verdict in made.verdicts:
        for part in first_sentence(verdict.text):  # what follows the first unfolds
            assert part.replace("'", "&#39;").replace("<", "&lt;") in page
    for text in ("Cost: rms_phi", "law.toml", "99", "6 simulations", SCENARIO.title):
        assert text in page
    assert "mean_tick_us" not in page  # of one run, and no condition
    nothing = search(FAILED, plants=1)
    page = html(tuned(nothing, plants=Plants()), ())
    assert re.findall(r'<section id="(\w+)"', page) == ["outcome", "card", "conditions"]
    assert "tuned for" not in page


def test_the_figures_of_a_search_say_what_they_show(helix, monkeypatch):
    for module, names in (
        (tuning_page.overlay, ("errors", "inputs")),
        (tuning_page.tuning_figures, ("search_figure", "gain_figure")),
        (tuning_page.html_page, ("page_figure",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, lambda *given: given[1:3])
    drawn = tuning_page.pictures(tuned(results={"card": helix(), "tuned": helix(error=0.01)}))
    assert drawn == [
        (
            "The search",
            "Cost of every candidate, simulation by simulation, and the lowest so far of those "
            "that keep to the constraints. Crosses at the upper edge have no cost: a run did not "
            "complete.",
        ),
        (
            "Gains explored",
            "The cost of the same candidates over each gain. A minimum at an end of the range "
            "means that the range is too narrow, or that the cost omits something.",
        ),
        (
            "Errors before and after",
            "The scenario as its file has it, with the card's gains and with the tuned ones.",
        ),
        (
            "Inputs before and after",
            "The input of each actuator, with the card's gains and with the tuned ones.",
        ),
    ]
    assert len(tuning_page.pictures(tuned())) == 2


def test_names_from_strangers_stay_text_on_the_page_of_a_search():
    made = tuned(search(entry="<script>alert(1)</script>", cost="<i>"))
    page = html(made, ())
    assert "<script>alert" not in page
    assert "<i>" not in page
    assert "&lt;i&gt;" in page
    assert "<" not in card_name(made)


def test_a_card_without_merit_is_not_written_and_an_old_one_does_not_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("ukctrl.studies.tuning.tuning_page.pictures", lambda made: ())
    page = write_tuned(tuned(), tmp_path)
    assert page == tmp_path / "tune.html"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"tune.html", "tune.json", "history.csv", "law.toml"}
    write_tuned(tuned(search(FAILED, plants=1), plants=Plants()), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names - {"law.toml"}


def test_what_the_terminal_says_of_a_search(helix, tmp_path):
    runs = {"card": helix(), "tuned": helix(error=0.01)}
    made = tuned(results=runs)
    lines = "\n".join(plain(tuned_lines(made, "my masses", tmp_path)))
    assert "  cost     rms_phi on 2 plants, worst\n" in lines
    assert "  limits   peak_u <= 40\n" in lines
    assert "  budget   6 of 9 simulations\n" in lines
    assert f"next    ukctrl run 'my masses' -c {tmp_path}/law.toml" in lines
    assert f"card    {tmp_path}/law.toml" in lines
    stopped = "\n".join(plain(tuned_lines(tuned(ALONE, plants=Plants()), "masses", tmp_path)))
    assert "  cost     rms_phi\n" in stopped
    assert "limits" not in stopped
    assert f"card    {tmp_path}/law.toml" in stopped
    assert "next    " not in stopped
    failed = "\n".join(plain(tuned_lines(tuned(search(FAILED)), "masses", tmp_path)))
    assert "card    " not in failed


@pytest.mark.parametrize(
    ("card", "tuned", "text"),
    [
        (2.0, 1.0, "−50 %"), (2.0, 2.5, "+25 %"), (2.0, 0.008, "−99.6 %"), (2.0, 6e-4, "−99.97 %"),
        (2.0, 0.0, "−100 %"), (0.0, 1.0, ""), (math.nan, 1.0, ""), (1.0, math.nan, ""),
    ],
)  # fmt: skip
def test_a_change_of_nearly_all_is_not_told_as_all(card, tuned, text):
    assert tuning_page._change_row("rms_phi", "m", card, tuned)[-1] == text
