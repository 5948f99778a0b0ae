"""What a study shows: how often it fails and why, how good it is, and which factors matter.

Everything is worked out from the study's table; only the worst sample and the first that failed
are run again, in full.

    from ukctrl.study_report import Insight, write_study_report
    from ukctrl.study import Study

    report = write_study_report(Study.load("out/study"), "out/study")
    report.insight.overall.percentile(0.95)
"""

from ukctrl.study_report.failures import Separation
from ukctrl.study_report.found import Insight
from ukctrl.study_report.maps import Map
from ukctrl.study_report.page import StudyReport, write_study_report
from ukctrl.study_report.replay import Replay
from ukctrl.study_report.runs import Axis, Runs
from ukctrl.study_report.sensitivity import Sensitivity
from ukctrl.study_report.summary import Summary

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
