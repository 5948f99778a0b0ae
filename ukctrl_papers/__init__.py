"""What does the literature print, and what do we get?

One folder a paper, imported when asked for, such as `papers.scara`; each holds a `Paper` whose
claims are computed when asked for.

    from ukctrl import papers, write_reproduction

    reproduction = papers.recompute(["scara"])
    print(reproduction.summary)
    write_reproduction(reproduction, "out")

The package stands on all of `ukctrl`, which names it in three files: ``__init__`` for the public
names `papers`, `motion`, `pseudoinverse`, `classify` and `write_reproduction`, ``cli/reproduce``
for the command, ``analysis/check/start_diagnostics`` for the rows on velocities.

In order:

1. ``pseudoinverse`` and ``motion``: the inverses and the equations of motion that the literature
   offers, on plain arrays. ``integrability``: which velocity constraints integrate.
2. ``claim``: what a published number is, beside ours. ``claim_text``: its numbers as texts.
3. ``registry``, ``paper_result``, ``recompute``: which papers there are, and what comes of them.
4. ``reproduction_page``: its page and files, from `templates/`. ``reproduce_text``: what the
   terminal shows. ``command``: the work of ``ukctrl reproduce``.
5. ``figure_grid``, ``catalogue_runs``, ``parallelogram``: what several papers draw on, run, and
   model.
6. The papers: ``pseudoinverses``, ``recursive``, ``review``, ``scara``, ``servo``.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from ukctrl_papers.claim import Claim, Drawing, Paper, Verdict
from ukctrl_papers.paper_result import Failure, Outcome, Reproduction
from ukctrl_papers.recompute import recompute
from ukctrl_papers.registry import KEYS, load, papers
from ukctrl_papers.reproduction_page import write_reproduction

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
    if name not in (*KEYS, "parallelogram"):
        raise AttributeError(f"module 'ukctrl_papers' has no attribute '{name}'")
    return importlib.import_module(f"ukctrl_papers.{name}")
