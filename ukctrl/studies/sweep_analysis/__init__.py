"""What does a study show? How often it fails and why, how good it is, and which factors matter.

In order: ``study_arrays`` (the table as arrays), ``metric_summary`` (each metric),
``failure_factors``, ``polynomial_chaos``, ``sensitivity`` and ``factor_maps`` (what factors have to
do with it), ``factor_units`` (the units of their values),
``sweep_analysis`` (all of it, when asked for), ``sample_replay`` (samples run again),
``sweep_verdicts`` (in words), ``summary_json`` (as JSON); ``study_tables``, ``sample_figures``,
``sensitivity_figures``, ``study_figures`` and ``study_page`` (the page).

Everything is worked out from the study's table; only the worst sample and the first that failed are
run again, in full.

    from ukctrl import Study, write_study_report

    report = write_study_report(Study.load("out/study"), "out/study")
    report.insight.overall.percentile(0.95)
"""

from ukctrl.studies.sweep_analysis.factor_maps import Map
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor
from ukctrl.studies.sweep_analysis.metric_summary import Summary
from ukctrl.studies.sweep_analysis.sample_replay import SampleReplay
from ukctrl.studies.sweep_analysis.sensitivity import Sensitivity
from ukctrl.studies.sweep_analysis.study_arrays import Axis, StudyArrays
from ukctrl.studies.sweep_analysis.study_page import StudyReport, write_study_report
from ukctrl.studies.sweep_analysis.sweep_analysis import SweepAnalysis

__all__ = [
    "Axis", "FailureFactor", "Map", "SampleReplay", "Sensitivity", "StudyArrays", "StudyReport",
    "Summary", "SweepAnalysis", "write_study_report",
]  # fmt: skip
