"""Published numbers beside ours: what ``ukctrl reproduce`` recomputes.

One module a paper; each holds a `Paper` whose claims are computed when asked for.

    from ukctrl.papers import recompute, write_reproduction

    reproduction = recompute(["scara"])
    print(reproduction.summary)
    write_reproduction(reproduction, "out")
"""

from ukctrl.papers.claim import Claim, Drawing, Paper, Verdict
from ukctrl.papers.outcome import Failure, Outcome, Reproduction
from ukctrl.papers.recompute import recompute
from ukctrl.papers.registry import load, papers
from ukctrl.papers.reproduction_page import write_reproduction

__all__ = [
    "Claim",
    "Drawing",
    "Failure",
    "Outcome",
    "Paper",
    "Reproduction",
    "Verdict",
    "load",
    "papers",
    "recompute",
    "write_reproduction",
]
