"""Tables of runs: the same scenario under several controllers."""

from ukctrl.study.comparing import compare
from ukctrl.study.entry import Entry

__all__ = ["Entry", "compare"]
