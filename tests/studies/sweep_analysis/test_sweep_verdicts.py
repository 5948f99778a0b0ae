"""Every sentence about a study, whole, beside the figures that lead to it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.core.statistics import Estimate
from ukctrl.core.verdict import Verdict
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor, SuccessRate, ThresholdSplit
from ukctrl.studies.sweep_analysis.metric_summary import FailureReason, Percentile, Summary
from ukctrl.studies.sweep_analysis.sample_replay import SampleReplay
from ukctrl.studies.sweep_analysis.sensitivity import Sensitivity
from ukctrl.studies.sweep_analysis.sweep_verdicts import headline, sensitivity_words, verdicts

NAN, INF = np.nan, np.inf


def exactly(value, low=NAN, high=NAN):
    return Estimate(value, low, high)


def summary(known=10, failed=0, without=0, half=0.002, most=0.004, low=NAN, high=NAN):
    levels = (Percentile(0.5, exactly(half)), Percentile(0.95, exactly(most, low, high)))
    return Summary(
        metric="rms_phi", known=known, failed=failed, without=without, mean=half, deviation=0.0,
        percentiles=levels, best=0.001, worst=0.005, worst_sample=3,
    )  # fmt: skip


class Samples(SimpleNamespace):
    """The samples of a study, as far as sentences look at them."""

    def __len__(self):
        return len(self.status)


def study(status=("completed",) * 10, planned=None, design="random", seeds=(0,), **given):
    """Return what a study shows, made by hand: ten samples that completed, and nothing else."""
    status = np.array(status)
    done = status == "completed"
    shown = {
        "study": SimpleNamespace(
            about=SimpleNamespace(plan=SimpleNamespace(count=planned or len(status)))
        ),
        "runs": Samples(
            status=status, completed=done, design=design, varied=given.pop("varied", ()),
            seed=np.resize(seeds, len(status)), unbelievable=given.pop("unbelievable", []),
        ),
        "cost": SimpleNamespace(text="rms_phi"), "unit": "m", "unit_of": lambda name: "m",
        "overall": summary(), "completed": exactly(done.mean()), "require": {},
        "succeeded": exactly(done.mean()), "sensitivities": {}, "separations": (), "reasons": (),
        "correlations": {}, "strongest": None,
    }  # fmt: skip
    return SimpleNamespace(**{**shown, **given})


def said(insight, subject, replays=()):
    return [each for each in verdicts(insight, replays) if each.subject == subject]


def one(insight, subject):
    found = said(insight, subject)
    return found[0] if found else None


def sensitive(first, total=None, of="value", method="saltelli"):
    shares = [{path: exactly(v) for path, v in each.items()} for each in (first, total or {})]
    return Sensitivity("rms_phi", of, method, *shares, used=10)


HEADLINES = [
    (
        {},
        "Samples completed: 10 of 10; rms_phi: 2 mm in the median, at most 4 mm in 95 %.",
    ),
    (
        {"overall": summary(most=INF)},
        "Samples completed: 10 of 10; rms_phi: 2 mm in the median, too many failed to say in 95 %.",
    ),
    (
        {"overall": summary(half=INF, most=INF, known=2), "status": ["completed"] * 2 + ["failed"]},
        "Samples completed: 2 of 3.",
    ),
    (
        {"overall": summary(half=INF, known=1), "status": ["completed", "failed"]},
        "Samples completed: 1 of 2; rms_phi is 1 mm.",
    ),
    (
        {"strongest": "a", "sensitivities": {"rank": sensitive({"a": 0.021, "b": 0.0})}},
        "Samples completed: 10 of 10; rms_phi: 2 mm in the median, at most 4 mm in 95 %; what "
        "matters most: 'a'.",
    ),
    (
        {"strongest": "a", "sensitivities": {"rank": sensitive({"a": 0.02, "b": 0.0})}},
        "Samples completed: 10 of 10; rms_phi: 2 mm in the median, at most 4 mm in 95 %.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "text"), HEADLINES)
def test_what_a_reader_of_a_study_wants_first(given, text):
    assert headline(study(**given)) == text


@pytest.mark.parametrize(
    ("design", "more"),
    [
        ("random", ""),
        ("sobol", ""),
        ("saltelli", " With samples missing, the design 'saltelli' loses its properties."),
        ("grid", " With samples missing, the design 'grid' loses its properties."),
    ],
)
def test_a_study_with_gaps_says_so(design, more):
    text = f"10 of 11 samples are finished; what follows is of these.{more}"
    assert one(study(planned=11, design=design), "samples") == ("warning", "samples", text)
    assert one(study(design=design), "samples") is None
    chosen = (
        "The points of a grid are chosen, not drawn: shares and percentiles describe these points "
        "alone, and have no confidence intervals."
    )
    note = Verdict("note", "grid", chosen) if design == "grid" else None
    assert one(study(design=design), "grid") == note


REASONS = (FailureReason("diverged", "it left every bound.", 2, 4),)
DONE = [
    (["completed"] * 4, exactly(1.0, 0.5, 1.0), "good",
     "Samples completed: 4 of 4 (95 % confidence: 50 to 100 %)."),
    (["completed"] * 4, exactly(1.0), "good", "Samples completed: 4 of 4."),
    (["completed"] * 2 + ["diverged"] * 2, exactly(0.5), "warning",
     "Samples completed: 2 of 4; diverged: 2. Most often: it left every bound (sample 4)."),
    (["completed"] + ["diverged"] * 2 + ["infeasible"], exactly(0.25), "bad",
     "Samples completed: 1 of 4; diverged: 2, infeasible: 1. Most often: it left every bound "
     "(sample 4)."),
]  # fmt: skip


@pytest.mark.parametrize(("status", "share", "level", "text"), DONE)
def test_how_many_samples_completed(status, share, level, text):
    found = one(study(status=status, completed=share, reasons=REASONS), "completed")
    assert found == Verdict(level, "completed", text)


@pytest.mark.parametrize(("share", "level"), [(1.0, "good"), (0.5, "warning"), (0.49, "bad")])
def test_how_many_keep_what_is_required(share, level):
    insight = study(require={"rms_phi": 0.003, "peak_phi": 0.5}, succeeded=exactly(share, 0.4, 1.0))
    text = (
        f"{100.0 * share:.0f} % of the samples completed with rms_phi ≤ 0.003 m, peak_phi ≤ 0.5 m "
        "(95 % confidence: 40 to 100 %)."
    )
    assert one(insight, "required") == Verdict(level, "required", text)
    assert one(study(), "required") is None


HALF, WORST = "rms_phi: up to 2 mm in half of the samples", "5 mm in the worst that completed."
MERITS = [
    (summary(), f"{HALF}, up to 4 mm in 95 %, {WORST}"),
    (
        summary(low=0.003, high=0.0045),
        f"{HALF}, up to 4 mm in 95 % (95 % confidence: 3 mm to 4.5 mm), {WORST}",
    ),
    (
        summary(low=0.003),
        f"{HALF}, up to 4 mm in 95 % (95 % confidence: 3 mm and no upper bound), {WORST}",
    ),
    (
        summary(low=0.003, high=INF, failed=1),
        f"{HALF}, up to 4 mm in 95 % (95 % confidence: 3 mm to what failed), {WORST} Samples that "
        "failed or have no value rank as worst.",
    ),
    (
        summary(without=1),
        f"{HALF}, up to 4 mm in 95 %, {WORST} Samples that failed or have no value rank as worst.",
    ),
    (
        summary(most=INF, failed=2),
        f"{HALF}, {WORST} There is no bound for 95 %, because more than 5 % failed or have no "
        "value.",
    ),
    (
        summary(half=INF, most=INF, failed=9, known=2),
        f"rms_phi: {WORST} There is no bound for 95 %, because more than 5 % failed or have no "
        "value.",
    ),
]


@pytest.mark.parametrize(("overall", "text"), MERITS)
def test_how_large_the_cost_is_over_the_samples(overall, text):
    assert one(study(overall=overall), "merit") == Verdict("note", "merit", text)


def test_one_sample_has_no_percentiles():
    assert one(study(overall=summary(known=1)), "merit") is None


FIRST = {"a": 0.5, "b": 0.3, "c": 0.021, "d": 0.02}
INFLUENCES = [
    (
        sensitive(FIRST, method="polynomial"),
        "The variance of 'rms_phi' comes from 'a' (50 %, worse where it is larger), 'b' (30 %, "
        "better where it is larger), 'c' (2.1 %). By Sobol indices of a "
        "polynomial of the factors.",
    ),
    (
        Sensitivity("rms_phi", "value", "polynomial", {"a": Estimate(0.76, 0.6, 1.0)},
                    {"a": Estimate(0.76, 0.6, 1.0)}, 16, 0.24),
        "The variance of 'rms_phi' comes from 'a' (76 % (60 to 100), worse where it is larger). "
        "24 % is unexplained: jumps, waves, interactions or chance. By Sobol indices of a "
        "polynomial of the factors.",
    ),
    (
        Sensitivity("rms_phi", "value", "polynomial", {"a": Estimate(0.3, 0.0, 1.0)},
                    {"a": Estimate(0.3, 0.0, 1.0)}, 16, 0.7),
        "The samples do not tell which factors matter for 'rms_phi': the best polynomial of the "
        "factors leaves 70 % of its variance unexplained. Take more samples.",
    ),
    (
        sensitive(FIRST, of="rank", method="grid"),
        "The variance of the rank of 'rms_phi' comes from 'a' (50 %, worse where it is larger), "
        "'b' (30 %, better where it is larger), 'c' (2.1 %). By exact shares over the points of "
        "the grid.",
    ),
    (
        sensitive({"a": 0.5, "b": 0.29}, {"a": 0.6, "b": 0.4}),
        "The variance of 'rms_phi' comes from 'a' (50 % alone, 60 % with others, worse where it "
        "is larger), 'b' (29 % alone, 40 % with others, better where it is larger). 21 % comes "
        "from interactions of factors. By Sobol indices.",
    ),
    (
        sensitive({"a": 0.5, "b": 0.31}, {"a": 0.6, "b": 0.4}),
        "The variance of 'rms_phi' comes from 'a' (50 % alone, 60 % with others, worse where it is "
        "larger), 'b' (31 % alone, 40 % with others, better where it is larger). By Sobol indices.",
    ),
    (
        sensitive({"a": 0.02, "b": 0.0}),
        "No factor accounts for 'rms_phi'. By Sobol indices.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sensitivity", "text"), INFLUENCES)
def test_which_factors_matter(sensitivity, text):
    slopes = {path: exactly(rho) for path, rho in zip("abcd", (0.3, -0.3, 0.2, NAN), strict=True)}
    insight = study(sensitivities={sensitivity.of: sensitivity}, correlations=slopes)
    assert one(insight, "factors") == Verdict("note", "factors", text)


def test_what_success_depends_on_has_no_direction():
    slopes = {"a": exactly(0.9)}
    text = sensitivity_words(study(correlations=slopes), sensitive({"a": 0.5}, of="success"))
    assert text == "The variance of success comes from 'a' (50 %)."


def test_too_few_samples_tell_no_factor():
    text = "The samples are too few, or too similar, to show which factors matter."
    assert one(study(varied=("a",)), "factors") == Verdict("note", "factors", text)
    assert one(study(), "factors") is None
    assert one(study(status=["completed"], varied=("a",)), "factors") is None


def separation(path, clear, score=0.5, names=False):
    def rate(label, share):
        return SuccessRate(label, 10, int(10 * share), exactly(share))

    rates = (rate("one", 0.9), rate("two", 0.05), rate("three", 0.5))
    split = (
        None if names else ThresholdSplit(threshold=1.5, below=rate("", 0.9), above=rate("", 0.25))
    )
    return FailureFactor(path, rates, score, clear, split)


NOBODY = "No single factor separates failed from good samples with statistical confidence."
SEPARATED = [
    (
        [separation("a", True), separation("b", True, names=True), separation("c", True)],
        [
            ("warning", "Samples that succeeded, by 'a': 90 % of 10 up to 1.5, 25 % of 10 above."),
            ("warning", "Samples that succeeded, by 'b': 5 % at two, 90 % at one."),
        ],
    ),
    (
        [separation("a", False), separation("b", False)],
        [("note", f"{NOBODY} The nearest: 'a': 90 % of 10 up to 1.5, 25 % of 10 above.")],
    ),
    ([separation("a", False, 0.0)], [("note", NOBODY)]),
    ([], []),
]  # fmt: skip


@pytest.mark.parametrize(("separations", "expected"), SEPARATED)
def test_what_separates_failed_from_good_samples(separations, expected):
    found = said(study(separations=separations), "failures")
    assert [(each.level, each.text) for each in found] == expected


REPLAYS = [
    (
        SampleReplay("worst", 3, "worst", True, "", False), "good",
        "The worst, sample 3, run again gives the table's numbers exactly.",
    ),
    (
        SampleReplay("failed", 4, "failed", False,
        "it ended as 'completed', the table has 'diverged'."),
        "warning",
        "The first that failed, sample 4, run again differs: it ended as 'completed', the table "
        "has 'diverged'.",
    ),
    (
        SampleReplay("worst", 3, "", False, "it cannot be run: no robot."), "warning",
        "The worst, sample 3, was not run again: it cannot be run: no robot.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("replay", "level", "text"), REPLAYS)
def test_what_came_of_running_a_sample_again(replay, level, text):
    assert said(study(), "replay", [replay]) == [Verdict(level, "replay", text)]


@pytest.mark.parametrize(
    ("seeds", "random", "design", "count"),
    [
        ((0, 1), True, "saltelli", 1),
        ((0,), True, "saltelli", 0),
        ((0, 1), False, "saltelli", 0),
        ((0, 1), True, "random", 0),
    ],
)
def test_noise_counts_in_the_indices_where_seeds_differ(seeds, random, design, count):
    replays = [SampleReplay("worst", 3, "worst", True, "", random)]
    assert said(study(seeds=seeds, design=design), "noise", replays) == count * [
        Verdict(
            "note", "noise",
            "Every sample has its own seed, so noise adds to every total index. Repeats reduce "
            "this.",
        )
    ]  # fmt: skip
