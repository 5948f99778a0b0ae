"""What the review of the Udwadia-Kalaba equation prints is confirmed, or its fault is known."""

from collections import Counter

import pytest

from ukctrl_papers.review import PAPER

PARTS = {f"{part.__module__.rpartition('.')[2]}.{part.__name__}": part for part in PAPER.claims}


@pytest.mark.slow(only=["flexible.claims"])
@pytest.mark.parametrize("part", PARTS)
def test_every_difference_is_explained(part):
    found = list(PARTS[part]())
    assert found
    assert not [claim for claim in found if claim.verdict == "differs"]
    assert all(claim.note for claim in found if claim.verdict != "agrees")


@pytest.mark.slow
def test_what_does_not_hold_is_three_claims():
    verdicts = Counter(claim.verdict for part in PAPER.claims for claim in part())
    assert verdicts["differs: claim does not hold"] == 3
    assert verdicts["not reproducible"] == 1
