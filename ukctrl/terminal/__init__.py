"""What the command line shows, and how it is stopped."""

from ukctrl.terminal.analysing import show_analysis
from ukctrl.terminal.checking import show_check
from ukctrl.terminal.claims import show_reproduction
from ukctrl.terminal.comparing import show_comparison
from ukctrl.terminal.conformance import show_conformance
from ukctrl.terminal.export import show_export
from ukctrl.terminal.lines import clean, write, write_json
from ukctrl.terminal.stop import progress, stoppable, working
from ukctrl.terminal.studies import show_study, show_unstarted
from ukctrl.terminal.summaries import (
    show_catalogue,
    show_result,
    show_workspace,
)
from ukctrl.terminal.sweeping import sweep_progress
from ukctrl.terminal.tuning import show_fuzzy, show_tuned

__all__ = [
    "clean",
    "progress",
    "show_analysis",
    "show_catalogue",
    "show_check",
    "show_comparison",
    "show_conformance",
    "show_export",
    "show_fuzzy",
    "show_reproduction",
    "show_result",
    "show_study",
    "show_tuned",
    "show_unstarted",
    "show_workspace",
    "stoppable",
    "sweep_progress",
    "working",
    "write",
    "write_json",
]
