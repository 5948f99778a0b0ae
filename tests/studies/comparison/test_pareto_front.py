"""What laws can do whatever their gains: fronts, and who beats whom on which part of them.

All runs here are drawn or made by a formula, so that every number in them is known.
"""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
import scipy.stats

from ukctrl.core.errors import InputError
from ukctrl.studies.batch.run_store import SimulationRecord
from ukctrl.studies.comparison.comparison_tables import front_table
from ukctrl.studies.comparison.front_figure import draw_fronts
from ukctrl.studies.comparison.front_settings import Front
from ukctrl.studies.comparison.pareto_front import FrontPoint, Fronts, LawFront
from ukctrl.studies.comparison.ranking import correct_p_values

METRICS = ("rms_phi", "input_travel")
BANDWIDTHS = np.geomspace(1.0, 100.0, 16)


@pytest.fixture(name="rng")
def _rng():
    return np.random.default_rng(20260135)


def done(error, cost, status="completed"):
    return SimulationRecord(
        status, "", 1.0, True, {"rms_phi": error, "input_travel": cost, "effort": 1.0}
    )


def law(draws, *, factor=1.0, power=1.0, bandwidths=BANDWIDTHS, own=None):
    """Return a law whose error falls with its bandwidth, and whose cost is ten times that.

    Args:
        draws: What each repeat does to all laws, shape ``(repeats,)``.
        factor: Of the error.
        power: With which the error falls.
        bandwidths: Of its points.
        own: What each run does besides, shape ``(points, repeats)``.
    """
    own = np.ones((len(bandwidths), len(draws))) if own is None else own
    points = []
    for w, row in zip(bandwidths, own, strict=True):
        runs = [done(factor * d * x / w**power, 10.0 * w) for d, x in zip(draws, row, strict=True)]
        points.append(FrontPoint.of({"bandwidth": float(w)}, runs, "", METRICS))
    return LawFront(tuple(points))


def fronts(**laws):
    return Fronts(metrics=METRICS, units=("m", "N m/s"), over={}, laws=laws)


def decided(found):
    return found.decided(correct_p_values([duel.p for duel in found.duels], [])[0])


def test_a_front_is_what_no_other_point_beats_in_both_metrics():
    runs = {
        "a": (3.0, 1.0),
        "b": (2.0, 2.0),
        "worse": (2.5, 3.0),
        "c": (1.0, 4.0),
        "tie": (2.0, 2.5),
    }
    points = [
        FrontPoint.of({"k": k}, [done(*pair)] * 2, "", METRICS)
        for k, pair in enumerate(runs.values())
    ]
    failed = FrontPoint.of({"k": 9}, [done(0.1, 0.1), done(0.1, 0.1, "diverged")], "", METRICS)
    refused = FrontPoint.of({"k": 10}, [], "no real poles.", METRICS)
    beyond = done(0.1, 0.1)
    beyond = beyond._replace(metrics={**beyond.metrics, "limits_crossed": 1.0})
    crossed = FrontPoint.of({"k": 11}, [done(0.1, 0.1), beyond], "", METRICS)
    found = LawFront((*points, failed, refused, crossed)).front
    assert [point.gains["k"] for point in found] == [0, 1, 3]


def test_a_law_a_fifth_better_everywhere_is_ahead_on_all_of_the_front(rng):
    draws = np.exp(0.5 * rng.normal(size=8))
    noise = np.exp(0.02 * rng.normal(size=(2, 16, 8)))
    found = fronts(a=law(draws, own=noise[0]), b=law(draws, factor=1.25, own=noise[1]))
    duels = decided(found)
    assert len(duels) == 8
    assert {(d.lower, d.supported) for d in duels} == {("a", True)}
    np.testing.assert_allclose([d.more for d in duels], 0.25, atol=0.06)
    first, second = (verdict.text for verdict in found.verdicts(duels))
    assert first == "At equal input_travel 'a' is nowhere beaten in rms_phi. 'b' is somewhere."
    assert second.startswith("'a' beats 'b' at 10 to 1000, which has 2")


def test_fronts_that_cross_are_told_part_by_part(rng):
    draws = np.exp(0.5 * rng.normal(size=8))
    found = fronts(a=law(draws, factor=0.3, power=0.5), b=law(draws))
    duels = decided(found)
    first, second = (verdict.text for verdict in found.verdicts(duels))
    assert first == "At equal input_travel every law is beaten in rms_phi by another somewhere."
    assert second.startswith("'a' beats 'b' at 10 to ")
    assert "; 'b' beats 'a' at " in second


def test_between_points_a_front_is_straight_in_logarithms_and_says_how_far_it_may_be_off():
    steep = law(np.ones(3))
    values, off = steep.at(123.0, 0.0)
    np.testing.assert_allclose(np.exp(values), 10.0 / 123.0, rtol=1e-12)
    assert off < 1e-12
    assert steep.at(9.0, 0.0) is None

    def curve(w):
        return np.log(w) ** 2 / 4.0 - 3.0 * np.log(w)

    every = [[done(float(np.exp(curve(w))), w)] * 2 for w in np.geomspace(1.0, 200.0, 6)]
    bent = LawFront(tuple(FrontPoint.of({}, runs, "", METRICS) for runs in every))
    for w in (2.0, 20.0, 100.0):
        values, off = bent.at(w, 0.0)
        assert abs(values[0] - curve(w)) <= off


def test_a_difference_that_sparse_points_may_make_is_not_claimed(rng):
    draws = np.exp(0.5 * rng.normal(size=8))
    sparse = np.geomspace(1.0, 100.0, 3)

    def bent(w):  # the same curve for both, seen at other points
        return law(
            draws,
            bandwidths=w,
            own=np.tile(np.exp(0.2 * np.log(w) ** 2)[:, None], (1, 8)),
            power=2.0,
        )

    found = fronts(dense=bent(BANDWIDTHS), sparse=bent(sparse))
    assert max(duel.more for duel in found.duels) > 0.05
    assert not any(duel.supported for duel in decided(found))


def test_a_law_under_another_name_is_not_told_apart_from_it(rng):
    draws = np.exp(0.5 * rng.normal(size=4))
    own = np.exp(0.1 * rng.normal(size=(16, 4)))
    one, again = law(draws, own=own), law(draws * (1.0 + 1e-9), own=own)
    found = fronts(baumgarte=one, dummy=again, other=law(draws, own=own * 1.2))
    duels = decided(found)
    assert {frozenset((d.lower, d.higher)) for d in duels if d.supported} == {
        frozenset(("baumgarte", "other")), frozenset(("dummy", "other")),
    }  # fmt: skip
    *_, last = found.verdicts(duels)
    assert last.text == "Not distinguishable at any equal input_travel: 'baumgarte' from 'dummy'."


@pytest.mark.slow
@pytest.mark.parametrize("points", [16, 9], ids=["the same points", "other points"])
def test_equal_laws_are_told_apart_on_no_more_fronts_than_the_level(rng, points):
    """Each has noise of its own, as laws that are equal only in what they can do."""
    other, false, count = np.geomspace(1.0, 100.0, points), 0, 200
    for _ in range(count):
        draws = np.exp(0.3 * rng.normal(size=8))
        one = law(draws, own=np.exp(0.1 * rng.normal(size=(16, 8))))
        two = law(draws, bandwidths=other, own=np.exp(0.1 * rng.normal(size=(points, 8))))
        false += any(duel.supported for duel in decided(fronts(a=one, b=two)))
    assert false <= scipy.stats.binom.ppf(0.999, count, 0.05)


def test_single_runs_are_drawn_and_not_tested():
    found = fronts(a=law(np.ones(1)), b=law(np.ones(1), factor=2.0))
    duels = decided(found)
    assert not any(duel.supported for duel in duels)
    (only,) = found.verdicts(duels)
    assert only.text == "One run of each setting: fronts are drawn, and no test stands behind them."


def test_fronts_that_have_no_level_in_common_are_not_compared(rng):
    draws = np.exp(0.1 * rng.normal(size=4))
    found = fronts(a=law(draws), b=law(draws, bandwidths=1e4 * BANDWIDTHS))
    assert found.levels == ()
    (only,) = found.verdicts(found.duels)
    assert only.text == "No two fronts of rms_phi against input_travel can be compared."
    assert front_table(found, ()).rows[0][2].text == "16 of 16"


def test_prices_that_are_the_same_are_one_level(rng):
    draws = np.exp(0.1 * rng.normal(size=4))
    near = np.geomspace(1.0, 1.005, 4)
    found = fronts(a=law(draws, bandwidths=near), b=law(draws, factor=2.0, bandwidths=near))
    assert found.levels == (10.0,)


def test_the_table_the_figure_and_the_file_have_every_law(rng):
    draws = np.exp(0.1 * rng.normal(size=4))
    found = fronts(a=law(draws), b=law(draws, factor=2.0, bandwidths=BANDWIDTHS[:8]))
    table = front_table(found, decided(found))
    assert [column.head for column in table.columns[2:]] == ["a", "b"]
    assert [row[2].mark for row in table.rows[1:]] == ["best"] * 8
    assert table.rows[-1][3].text != "not reached"
    (axes,) = draw_fronts(found).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    head, *lines = csv.reader(io.StringIO(found.to_csv()))
    assert head[:6] == ["controller", "point", "front", "bandwidth", "runs", "completed"]
    assert len(lines) == 16 + 8
    assert found.to_dict(found.duels)["laws"]["a"][0]["front"] is True


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metrics": ("rms_phi", "rms_phi")}, "must be two metrics"),
        ({"metrics": ("rms_phi", "effrt")}, "effrt"),
        ({"metrics": ("rms_phi + effort", "work")}, "plain metrics"),
        ({"metrics": ("rms_phi", "energy_drift")}, "judges the integration"),
        ({"points": 1}, "points must be from 2"),
        ({"over": {"controller.kp": (1.0, 2.0)}}, "the same terms for all laws"),
    ],
)
def test_what_is_no_front_is_refused(options, says):
    with pytest.raises(InputError, match=says):
        Front(**{"metrics": METRICS, **options})


def test_the_range_is_that_of_the_loops_and_ends_where_the_hold_does():
    asked = Front(metrics=METRICS)
    assert asked.ranges({"a": 10.0, "b": 30.0}, None)["bandwidth"] == (1.0, 300.0)
    assert asked.ranges({"a": 10.0, "b": 30.0}, 0.01)["bandwidth"] == (1.0, 100.0)
    own = Front(metrics=METRICS, over={"settling": (0.1, 1.0)})
    assert own.ranges({}, None) == {"settling": (0.1, 1.0), "damping": (0.7, 1.5)}
    with pytest.raises(InputError, match="no loop's bandwidth is known"):
        asked.ranges({}, None)
    with pytest.raises(InputError, match=r"the hold of 10 s is slow"):
        asked.ranges({"a": 10.0}, 10.0)
