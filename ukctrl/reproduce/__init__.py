"""Published numbers beside ours: what ``ukctrl reproduce`` recomputes.

One module a paper; each holds a `Paper` whose claims are computed when asked for.
"""

from ukctrl.reproduce.base import Claim, Paper, Verdict

__all__ = ["Claim", "Paper", "Verdict"]
