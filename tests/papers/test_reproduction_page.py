"""The page of published numbers beside ours: what it counts, says and shows, by papers made up."""

from __future__ import annotations

import json
import math

import pytest

from ukctrl_papers import reproduction_page as page
from ukctrl_papers.claim import Claim
from ukctrl_papers.paper_result import Failure, Outcome, Reproduction

AGREES = Claim(where="Table 1", what="mass", printed=2.0, ours=2.0, unit="kg")
MISPRINT = Claim(
    where="eq (7)", what="sign", printed="+", ours="-", otherwise="differs: misprint",
    note="alpha is the other one",
)  # fmt: skip
BARE = Claim(where="Figure 2", what="period", printed=2.0, ours=3.0, unit="s", note="t is time")
FAILURE = Failure("Figure 3", "no start was found")


def made(*papers, interrupted=False):
    return Reproduction(outcomes=papers, interrupted=interrupted, provenance={"seed": 3})


def paper(key, *claims, failures=(), **more):
    return Outcome(key=key, claims=list(claims), failures=list(failures), **more)


@pytest.mark.parametrize(
    ("reproduction", "ok", "state", "rest"),
    [
        (made(), True, "0 of 0 claims agree", "The reason for every difference is given."),
        (made(paper("a", AGREES, MISPRINT)), True,
         "1 of 2 claims agree, every difference explained",
         "The reason for every difference is given."),
        (made(paper("a", BARE), paper("b", BARE, AGREES)), False,
         "1 of 3 claims agree, something is not explained",
         "Differences without an explanation: 2."),
        (made(paper("a", AGREES, failures=[FAILURE])), False,
         "1 of 1 claims agree, something is not explained",
         "Parts that failed: 1."),
        (made(paper("a", BARE, failures=[FAILURE] * 2), interrupted=True), False, "stopped early",
         "Differences without an explanation: 1. Parts that failed: 2. It was stopped before "
         "everything was computed."),
        (made(paper("a", AGREES), interrupted=True), False, "stopped early",
         "It was stopped before everything was computed."),
    ],
)  # fmt: skip
def test_what_became_of_the_claims_that_do_not_agree(reproduction, ok, state, rest):
    assert reproduction.ok is ok
    assert page._state_text(reproduction) == state
    assert page._difference_text(reproduction) == rest


@pytest.mark.parametrize(
    ("outcome", "summary"),
    [
        (paper("a"), "0 claims: nothing computed"),
        (paper("a", AGREES), "1 claim: 1 agrees"),
        (paper("a", AGREES, AGREES, MISPRINT, MISPRINT, BARE),
         "5 claims: 2 agree, 2 differ: misprint, 1 differs"),
        (paper("a", BARE, BARE, failures=[FAILURE] * 3), "2 claims: 2 differ, 3 failed"),
    ],
)  # fmt: skip
def test_a_paper_is_counted_in_words(outcome, summary):
    assert outcome.summary == summary
    other = paper("b", AGREES)
    assert made(outcome, other).summary == f"a: {summary}\nb: 1 claim: 1 agrees"


def test_an_overview_has_a_row_for_each_paper_and_a_column_for_each_verdict():
    table = page._overview(made(paper("a", AGREES, AGREES, BARE), paper("b", failures=[FAILURE])))
    heads = [column.head for column in table.columns]
    assert heads == ["paper", *page.VERDICTS, "failed"]
    assert set(page.VERDICTS) == set(page.VERDICT_MEANINGS)
    (first, second) = table.rows
    assert (first[0].text, first[0].anchor, second[0].text) == ("a", "a", "b")
    told = [dict(zip(heads, (cell.text for cell in row), strict=True)) for row in table.rows]
    empty = dict.fromkeys(heads, "")
    assert told[0] == empty | {"paper": "a", "agrees": "2", "differs": "1"}
    assert told[1] == empty | {"paper": "b", "failed": "1"}


def test_claims_stand_beside_ours_with_their_units_notes_and_verdicts():
    table = page.claim_table(paper("a", AGREES, MISPRINT, BARE))
    assert [column.head for column in table.columns] == [
        "place", "quantity", "paper", "ours", "off by", "verdict"
    ]  # fmt: skip
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["Table 1", "mass [kg]", "2", "2", table.rows[0][4].text, "agrees"],
        ["eq (7)", "sign", "+", "-", "", "differs: misprint"],
        ["Figure 2", "period [s]", "2", "3", "50 %", "differs"],
    ]
    assert [row[1].note for row in table.rows] == ["", "Alpha is the other one.", "t is time."]
    assert [(row[2].kind, row[3].kind) for row in table.rows] == [
        ("number", "number"), ("words", "words"), ("number", "number")
    ]  # fmt: skip
    assert [row[5].mark for row in table.rows] == ["good", "note", "bad"]
    unprinted = Claim(where="x", what="y", ours=1.0, holds=True)
    assert page.claim_table(paper("a", unprinted)).rows[0][2].text == "–"


def test_a_paper_that_could_not_be_loaded_says_so():
    told = page._paper(paper("a", failures=[FAILURE], seconds=3.2))
    assert told["citation"] == "This paper's claims could not be loaded."
    assert told["claims"] is None
    assert told["failures"] == [FAILURE]
    assert told["summary"].startswith("0 claims: 1 failed. Computed in ")
    known = page._paper(paper("a", AGREES, citation="A. Author, 2020"))
    assert known["citation"] == "A. Author, 2020"
    assert len(known["claims"].rows) == 1


def test_the_page_counts_what_agrees_and_has_a_part_for_every_paper():
    text = page.html(made(paper("a-2020", AGREES, MISPRINT), paper("b-2021", BARE)))
    assert "1 of 3 claims agree. Differences without an explanation: 1." in text
    assert "papers: 2" in text
    for anchor in ("overview", "a-2020", "b-2021", "verdicts", "provenance"):
        assert f'href="#{anchor}"' in text
        assert f'id="{anchor}"' in text
    for words in page.VERDICT_MEANINGS.values():
        assert words in text


def test_numbers_for_programs_are_all_that_json_can_say():
    lost = Claim(where="x", what="y", printed=1.0, ours=math.nan)
    reproduction = made(paper("a", lost, failures=[FAILURE], seconds=0.5), interrupted=True)
    data = json.loads(reproduction.to_json())
    assert (data["ok"], data["interrupted"], data["provenance"]) == (False, True, {"seed": 3})
    (one,) = data["papers"]
    assert (one["key"], one["ok"], one["counts"], one["seconds"]) == (
        "a",
        False,
        {"differs": 1},
        0.5,
    )
    assert one["failures"] == [{"where": "Figure 3", "reason": "no start was found"}]
    (claim,) = one["claims"]
    assert (claim["ours"], claim["printed"], claim["verdict"]) == (None, 1.0, "differs")
