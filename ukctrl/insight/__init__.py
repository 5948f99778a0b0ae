"""What a study shows: how often it fails and why, how good it is, and which factors matter.

Everything is worked out from the study's table; only the worst sample and the first that failed
are run again, in full.

    from ukctrl.insight import Insight, write_study_report
    from ukctrl.sweep import Study

    report = write_study_report(Study.load("out/study"), "out/study")
    report.insight.overall.percentile(0.95)
"""

from ukctrl.insight.failures import Separation
from ukctrl.insight.found import Insight
from ukctrl.insight.maps import Map
from ukctrl.insight.page import StudyReport, write_study_report
from ukctrl.insight.replay import Replay
from ukctrl.insight.runs import Axis, Runs
from ukctrl.insight.sensitivity import Sensitivity
from ukctrl.insight.summary import Summary

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
