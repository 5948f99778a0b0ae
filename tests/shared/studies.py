"""Made-up studies, and the plans and samples of a small one."""

from __future__ import annotations

import math

import numpy as np

from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep import Factor, SamplingPlan, Study
from ukctrl.studies.sweep.sample_task import SweepInput
from ukctrl.studies.sweep.study import StudyDescription
from ukctrl.studies.sweep_analysis import SweepAnalysis

ALPHA, USE = "controller.feedback.alpha", "controller.use"
MASSES = {"controller": {"use": "servo-baumgarte"}}
SCENARIO = Scenario.load("two-mass-spring", {"timing": {"duration": 0.4, "sample": 0.02}} | MASSES)
BASE = Scenario.load("two-mass-spring", {"timing": {"duration": 0.5, "sample": 0.05}} | MASSES)
DONE = ["completed"] * 5 + ["diverged"]
METRICS = {
    "rms_phi": [1e-3, 2e-3, 3e-3, 4e-3, math.nan, 9e-3],
    "peak_u": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "rms_phi.gap": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "settling_time": [math.nan] * 6,
}


def columns_of(given):
    """Return columns of one length, as of a study: a single value stands in every row."""
    single = str | int | float | None
    (count,) = {len(each) for each in given.values() if not isinstance(each, single)}
    every = {name: [each] * count if isinstance(each, single) else list(each)
             for name, each in given.items()}  # fmt: skip
    texts = {name for name, each in every.items() if any(isinstance(x, str | None) for x in each)}
    return {name: np.array(x, dtype=object if name in texts else None) for name, x in every.items()}


def rows(columns, which):
    """Return some rows of a study's columns: a slice, places, or for each whether it is meant."""
    return {name: column[which] for name, column in columns.items()}


def assert_same(columns, others):
    """Hold two tables to the same columns, names and numbers alike."""
    assert list(columns) == list(others)
    for name, column in columns.items():
        np.testing.assert_array_equal(column, others[name], name)


def plan_of(*texts, **options):
    return SamplingPlan.of([Factor.parse(text) for text in texts], **{"seed": 1, **options})


def base_of(*texts, **options):
    given = {name: options.pop(name) for name in ("timeout", "save_all", "save_failed", "files")
             if name in options}  # fmt: skip
    return SweepInput(scenario=BASE, plan=plan_of(*texts, **options), **given)


def study_of(factors, metrics, status, scenario=SCENARIO, **design):
    plan = plan_of(*factors, **design)
    values = [plan.values(k) for k in range(len(status))]
    columns = {path: [each[path] for each in values] for path in values[0]}
    done = [each == "completed" for each in status]
    given = {
        "sample": np.arange(len(status)), **columns, "seed": 0, "status": status,
        "message": ["" if good else "it left at 0.25 s." for good in done],
        "reached": np.where(done, 0.4, 0.25), **metrics,
    }  # fmt: skip
    return Study(about=StudyDescription.of(scenario, plan), columns=columns_of(given))


def insight_of(**given):
    factors = [f"{ALPHA}=1,2,4", f"{USE}=servo-baumgarte,servo-pid"]
    return SweepAnalysis.of(study_of(factors, METRICS, DONE), **given)


def stop_after(count):
    """Return what a study tells its progress, and what then stops it as Ctrl-C does."""

    def progress(done, total):
        if done >= count:
            raise KeyboardInterrupt

    return progress
