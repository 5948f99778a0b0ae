"""A page of many metrics claims what is false no more often than it says, and finds what is true.

All runs here are drawn, so that hundreds of comparisons take seconds.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from ukctrl.core.statistics import holm, paired_difference, spread
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.comparison.ranking import correct_p_values, correct_rankings, rank_metric


@pytest.fixture
def rng():
    return np.random.default_rng(20260134)


METRICS = (
    "rms_phi", "peak_phi", "final_phi", "rms_beta", "peak_beta", "final_beta", "effort", "peak_u",
    "work", "input_travel", "rms_phi.tool", "peak_phi.tool",
)  # fmt: skip
BAUMGARTE, DUMMY, BETTER = "baumgarte", "dummy", "better"


def drawn(rng, *, repeats, better=0.8, shared=0.3, own=0.1, searches=1, luck=0.0):
    """Return runs of three laws: what a draw does to all, and what it does to each, in logarithms.

    Each search of a law has its luck, which all its repeats share. The dummy is Baumgarte under
    another name; the third has a fifth less of everything.
    """
    of_all = shared * rng.normal(size=repeats)
    runs = {}
    for name, factor in ((BAUMGARTE, 1.0), (DUMMY, 1.0), (BETTER, better)):
        one = own * rng.normal(size=repeats)  # the metrics of a run go together
        of_search = luck * rng.normal(size=(searches, 1, 1))
        rest = 0.03 * rng.normal(size=(searches, len(METRICS), repeats))
        values = factor * np.exp(of_all + one + of_search + rest)
        runs[name] = [
            RunSummary(
                controller=name, repeat=k, seed=k, mismatch=None, status="completed", message="",
                search=s,
                end_time=1.0, metrics=dict(zip(METRICS, values[s, :, k].tolist(), strict=True)),
            )
            for s in range(searches) for k in range(repeats)
        ]  # fmt: skip
    return runs


def claims(runs):
    """Return the rows in which each two laws are told apart."""
    rows, _ = correct_rankings([rank_metric(name, "", runs) for name in METRICS], "rms_phi")
    found = {frozenset(pair): [] for pair in ((BAUMGARTE, DUMMY), (BAUMGARTE, BETTER))}
    for row in rows:
        for pair in row.pairs:
            if pair.supported and frozenset(pair[:2]) in found:
                found[frozenset(pair[:2])].append(row.metric)
    return found[frozenset((BAUMGARTE, DUMMY))], found[frozenset((BAUMGARTE, BETTER))]


COMPARISONS = 200


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [4, 10])
def test_a_law_under_another_name_is_told_apart_no_more_often_than_the_level(rng, repeats):
    false = sum(bool(claims(drawn(rng, repeats=repeats))[0]) for _ in range(COMPARISONS))
    assert false <= scipy.stats.binom.ppf(0.999, COMPARISONS, 0.05)


PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "compare-fairly.md"
PAGES = 400
"""Of which each cell was measured; and is again."""


def stated(first):
    """Return the cells of the page's table whose head begins so, by the numbers of row and column.

    A head with two numbers says how many searches and repeats.
    """
    lines = iter(PAGE.read_text("utf-8").splitlines())
    head = next(line for line in lines if line.startswith(f"| {first} |"))
    columns = [tuple(map(int, re.findall(r"\d+", each))) for each in head.split("|")[2:-1]]
    next(lines)
    rows = [
        line.split("|")[1:-1] for line in itertools.takewhile(lambda line: line[:1] == "|", lines)
    ]
    return {
        (int(row[0].split()[0]) / 100.0, column): float(cell)
        for row in rows
        for column, cell in zip(columns, row[1:], strict=True)
    }


OF_SCATTER, OF_LUCK = stated("a law's own scatter"), stated("luck of a search")
QUICK = {
    (0.1, (10,)),
    (0.02, (5, 10)),
    (0.05, (1, 20)),
}
"""Cells that are looked at with every change."""


def cells(table):
    return [
        pytest.param(*cell, power, marks=() if cell in QUICK else pytest.mark.slow)
        for cell, power in table.items()
    ]


def told(rng, claimed, **given):
    """Return the share of pages on which something is claimed."""
    return sum(bool(claimed(*claims(drawn(rng, **given)))) for _ in range(PAGES)) / PAGES


def agrees(found, stated):
    """Whether two shares, of as many pages each, are of one chance; the page has two digits."""
    chance = 0.5 * (found + stated)
    return abs(found - stated) <= 0.005 + 4.0 * (2.0 * chance * (1.0 - chance) / PAGES) ** 0.5


def test_the_page_says_how_often_a_law_that_is_a_fifth_better_is_found():
    assert len(OF_SCATTER) == 12
    assert len(OF_LUCK) == 24
    assert set(OF_SCATTER) | set(OF_LUCK) >= QUICK


@pytest.mark.slow
@pytest.mark.parametrize(("own", "repeats", "power"), cells(OF_SCATTER))
def test_a_law_that_is_a_fifth_better_is_found_as_often_as_the_page_says(rng, own, repeats, power):
    found = told(rng, lambda _, better: "rms_phi" in better, repeats=repeats[0], own=own)
    assert agrees(found, power), found


@pytest.mark.slow
@pytest.mark.parametrize(("luck", "design", "part"), cells(OF_LUCK))
def test_with_searches_too_and_luck_is_claimed_as_often_as_the_page_says(rng, luck, design, part):
    """One search: how often luck is taken for a difference. Several: how often a better law is
    found, whose copy is told apart from it no more often than the level.
    """
    searches, repeats = design
    given = {"repeats": repeats, "searches": searches, "luck": luck}
    if searches == 1:
        found = told(rng, lambda same, _: same, **given)
    else:
        pages = [claims(drawn(rng, **given)) for _ in range(PAGES)]
        assert sum(bool(same) for same, _ in pages) <= scipy.stats.binom.ppf(0.999, PAGES, 0.05)
        found = sum("rms_phi" in better for _, better in pages) / PAGES
    assert agrees(found, part), found


def test_the_error_has_half_of_the_level_however_many_other_rows_there_are():
    error, others = correct_p_values([0.01], [0.5] * 99)
    assert error == [0.02]
    assert others == [1.0] * 99
    assert correct_p_values([], [0.01, 0.04]) == ([], [0.02, 0.04])
    assert np.isnan(correct_p_values([float("nan")], [0.01])[0][0])


def test_a_claim_of_twice_the_weight_is_corrected_half_as_much():
    assert holm([0.01, 0.01], [2.0, 1.0]) == pytest.approx([0.015, 0.015])
    assert holm([0.01, 0.9], [2.0, 1.0]) == pytest.approx([0.015, 0.9])
    assert holm([0.9, 0.01], [2.0, 1.0]) == pytest.approx([0.9, 0.03])


@pytest.mark.parametrize(
    ("searches", "repeats"), [(3, 10), (5, 5), (2, 8)], ids=["3 of 10", "5 of 5", "2 of 8"]
)
@pytest.mark.parametrize("luck", [0.0, 0.3, 3.0])
def test_intervals_cover_the_chance_of_searches_and_of_plants(rng, searches, repeats, luck):
    """The mean that all searches on all plants would have is 0."""
    covered = 0
    for _ in range(600):
        x = luck * rng.normal(size=(searches, 1)) + rng.normal(size=(1, repeats))
        found = spread(x + 0.3 * rng.normal(size=(searches, repeats)))
        covered += found.low <= 0.0 <= found.high
    assert covered / 600 >= 0.95 - 3.0 * (0.05 * 0.95 / 600) ** 0.5


def test_repeats_of_the_same_searches_alone_are_too_sure(rng):
    """What luck does is no error of the repeats: a test over these alone claims it."""
    naive = crossed = 0
    for _ in range(300):
        d = 0.5 * rng.normal(size=(3, 1)) + 0.1 * rng.normal(size=(3, 10))
        naive += paired_difference(d.mean(axis=0), np.zeros(10)).p < 0.05
        crossed += paired_difference(d, np.zeros_like(d)).p < 0.05
    assert naive > 200
    assert crossed <= scipy.stats.binom.ppf(0.999, 300, 0.05)


def test_one_search_is_students_and_one_repeat_is_that_of_the_searches(rng):
    x = rng.normal(size=7)
    theirs = scipy.stats.ttest_1samp(x, 0.0)
    interval = theirs.confidence_interval()
    for values in (x, x[None, :], x[:, None]):
        found = paired_difference(values, 0.0 * values)
        np.testing.assert_allclose(found[1:], [x.mean(), *interval, theirs.pvalue], rtol=1e-12)
    assert np.isnan(paired_difference(np.ones((1, 1)), np.zeros((1, 1))).p)


def test_the_probability_is_that_of_the_interval_that_ends_at_zero(rng):
    d = 0.3 * rng.normal(size=(4, 1)) + rng.normal(size=(4, 9))
    for shift in (0.1, 0.7, 2.0):
        found = paired_difference(d + shift, np.zeros_like(d))
        assert (found.p < 0.05) == (found.low > 0.0 or found.high < 0.0)
    edge = paired_difference(d, np.zeros_like(d))
    edge = paired_difference(d - edge.low, np.zeros_like(d))
    assert edge.p == pytest.approx(0.05, rel=1e-9)


def test_a_part_that_rounding_hides_beside_the_other_does_no_harm(rng):
    for power in range(-20, 1):
        for mean in (0.3, 1.0, 2.0):
            d = mean + 10.0**power * rng.normal(size=(3, 1)) + rng.normal(size=(1, 8))
            alone = paired_difference(d.mean(axis=0), np.zeros(8)).p
            both = paired_difference(d, np.zeros_like(d)).p
            assert alone * (1.0 - 1e-9) <= both <= 1.0


def test_a_repeat_that_one_search_did_not_finish_counts_for_none():
    x = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])
    assert (spread(x).repeats, spread(x).mean) == (2, 2.5)
    assert paired_difference(x, np.zeros_like(x)).repeats == 2
