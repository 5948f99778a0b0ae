"""What does the literature print, and what do we get?

One folder a paper, imported when asked for, such as `papers.scara`; each holds a `Paper` whose
claims are computed when asked for.

    from ukctrl import papers, write_reproduction

    reproduction = papers.recompute(["scara"])
    print(reproduction.summary)
    write_reproduction(reproduction, "out")

In order:

1. ``claim``: what a published number is, beside ours. ``digits``: its numbers as texts.
2. ``registry``, ``outcome``, ``recompute``: which papers there are, and what comes of them.
3. ``reproduction_page``: its page and files.
4. ``canvas``, ``catalogued``, ``parallelogram``: what several papers draw on, run, and model.
5. The papers: ``pseudoinverses``, ``recursive``, ``review``, ``scara``, ``servo``.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from ukctrl.papers.claim import Claim, Drawing, Paper, Verdict
from ukctrl.papers.outcome import Failure, Outcome, Reproduction
from ukctrl.papers.recompute import recompute
from ukctrl.papers.registry import KEYS, load, papers
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


def __getattr__(name: str) -> ModuleType:
    if name not in (*KEYS, "digits", "parallelogram"):
        raise AttributeError(f"module 'ukctrl.papers' has no attribute '{name}'")
    return importlib.import_module(f"ukctrl.papers.{name}")
