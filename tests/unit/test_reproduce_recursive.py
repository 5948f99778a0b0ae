"""The recursive paper: every claim is understood, and the verdicts are those we justify."""

import pytest

from ukctrl.papers.recursive import PAPER

pytestmark = pytest.mark.portable


@pytest.fixture(scope="module")
def claims():
    return [claim for part in PAPER.claims for claim in part()]


def test_no_difference_is_left_without_an_explanation(claims):
    assert [claim.what for claim in claims if claim.verdict == "differs"] == []
    assert all(claim.note for claim in claims if claim.verdict != "agrees")


def test_the_differences_are_the_lost_star_and_the_clearance_in_metres(claims):
    differing = [(claim.where, claim.verdict) for claim in claims if claim.verdict != "agrees"]
    assert differing == [
        ("(4.17)-(4.18)", "differs: misprint"),
        ("(4.17)-(4.18)", "differs: misprint"),
        ("section 4, end", "differs: claim does not hold"),
        ("section 4, end", "differs: claim does not hold"),
    ]


def test_without_the_star_the_estimate_is_off_by_percents(claims):
    a, P = (claim.ours for claim in claims if claim.verdict == "differs: misprint")
    assert 1e-2 < a < P


def test_the_openings_tell_acceleration_from_distance(claims):
    growth, softness = (claim.ours for claim in claims if claim.where == "section 4, end")
    assert 3.5 < growth < 5.0  # a steady acceleration gives 4
    assert 95.0 < softness < 101.0  # a virtual mass gives 100


def test_the_structure_of_the_robot_is_the_papers(claims):
    counted = {claim.what: claim for claim in claims if claim.where == "Figure 4"}
    assert all(claim.verdict == "agrees" for claim in counted.values())
    assert len(counted) == 3
