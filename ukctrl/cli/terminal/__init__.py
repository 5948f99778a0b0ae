"""What does the command line show, and how is it stopped?

In order: `lines.py` lays out texts, tables and verdicts for a terminal or a pipe; a `..._text.py`
for each command says what it prints; `summaries.py` has those that are short; `sweep_progress.py`
shows how far a sweep is; `stop.py` watches for Ctrl-C.
"""

from ukctrl.cli.terminal.analyze_text import show_analysis
from ukctrl.cli.terminal.check_text import show_check
from ukctrl.cli.terminal.compare_text import show_comparison
from ukctrl.cli.terminal.conformance_text import show_conformance
from ukctrl.cli.terminal.export_text import show_export
from ukctrl.cli.terminal.lines import clean, write, write_json
from ukctrl.cli.terminal.reproduce_text import show_reproduction
from ukctrl.cli.terminal.stop import progress, stoppable, working
from ukctrl.cli.terminal.study_text import show_study, show_unstarted
from ukctrl.cli.terminal.summaries import show_catalogue, show_result, show_workspace
from ukctrl.cli.terminal.sweep_progress import sweep_progress
from ukctrl.cli.terminal.tune_text import show_fuzzy, show_tuned

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
