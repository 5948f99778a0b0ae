"""Every claim of every paper is still what it was: its number, its verdict, its explanation."""

from __future__ import annotations

import pytest

from tests.papers.paper_claims import FIELDS, ROUNDING, kept, number, parts, place, row

NUMBERS = ("printed", "ours", "within")
KEPT = list(kept())


LONG = (
    "scara.motion_claims.stabilised_claims",
    "recursive.clearance.gap_claims",
    "recursive.three_rrr_claims.acceleration_claims",
    "recursive.three_rrr_claims.structure_claims",
    "review.classification.claims",
    "scara.motion_claims.drift_claims",
)
"""Parts that take some seconds each; of their papers there are others."""


def _marked(key, part):
    long = place(part) in LONG
    return pytest.param(key, part, id=place(part), marks=[pytest.mark.slow] if long else [])


@pytest.mark.parametrize(("key", "part"), [_marked(key, part) for key, part in parts()])
def test_every_claim_is_what_it_was(key, part):
    found = [row(key, part, claim) for claim in part()]
    expected = [one for one in KEPT if one["part"] == place(part)]
    assert [one["what"] for one in found] == [one["what"] for one in expected]
    for now, was in zip(found, expected, strict=True):
        for field in FIELDS:
            assert same(now[field], was[field]) if field in NUMBERS else now[field] == was[field]


def test_the_table_has_every_part_and_no_other():
    assert {one["part"] for one in KEPT} == {place(part) for _, part in parts()}


def test_every_difference_is_explained():
    assert [one["what"] for one in KEPT if one["verdict"] == "differs"] == []
    assert [one["what"] for one in KEPT if one["verdict"] != "agrees" and not one["note"]] == []


def same(now, was):
    """Return whether two values of the table are one: the same words, or near numbers."""
    now, was = number(now), number(was)
    if isinstance(now, str) or isinstance(was, str):
        return now == was
    return now == pytest.approx(was, rel=1e-5, abs=ROUNDING, nan_ok=True)
