"""What does a study show? How often it fails and why, how good it is, and which factors matter.

In order: ``study_runs`` (the table as arrays), ``summary`` (each metric), ``failures``,
``sensitivity`` and ``maps`` (what factors have to do with it), ``insight`` (all of it, when asked
for), ``sample_replay`` (samples run again), ``insight_verdicts`` (in words), ``insight_record`` (as
JSON); ``study_tables``, ``sample_figures``, ``share_figures``, ``study_figures`` and ``study_page``
(the page).

Everything is worked out from the study's table; only the worst sample and the first that failed
are run again, in full.

    from ukctrl import Insight, write_study_report
    from ukctrl import Study

    report = write_study_report(Study.load("out/study"), "out/study")
    report.insight.overall.percentile(0.95)
"""

from ukctrl.studies.insight.failures import Separation
from ukctrl.studies.insight.insight import Insight
from ukctrl.studies.insight.maps import Map
from ukctrl.studies.insight.sample_replay import Replay
from ukctrl.studies.insight.sensitivity import Sensitivity
from ukctrl.studies.insight.study_page import StudyReport, write_study_report
from ukctrl.studies.insight.study_runs import Axis, Runs
from ukctrl.studies.insight.summary import Summary

__all__ = [
    "Axis",
    "Insight",
    "Map",
    "Replay",
    "Runs",
    "Sensitivity",
    "Separation",
    "StudyReport",
    "Summary",
    "write_study_report",
]
