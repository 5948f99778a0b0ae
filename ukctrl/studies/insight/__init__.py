"""What does a study show? How often it fails and why, how good it is, and which factors matter.

In order: `study_runs.py` (the table as arrays), `summary.py` (each metric), `failures.py`,
`sensitivity.py` and `maps.py` (what factors have to do with it), `insight.py` (all of it, when
asked for), `insight_verdicts.py` (in words), `insight_record.py` (as JSON), `study_tables.py`,
`study_figures.py` (by `sample_figures.py` and `share_figures.py`) and `study_page.py` (the page),
`sample_replay.py` (samples run again).

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
