"""Which papers there are, each found in a module of its own when it is asked for."""

from __future__ import annotations

import importlib
import importlib.util

from ukctrl.core.errors import InputError, unknown_name
from ukctrl_papers.claim import Paper

KEYS = ("scara", "pseudoinverses", "review", "servo", "recursive")
"""The papers in the order in which they are shown; ``ukctrl_papers.KEY`` holds ``PAPER``."""


def papers() -> tuple[str, ...]:
    """Return the keys of the papers whose claims can be computed."""
    return tuple(key for key in KEYS if importlib.util.find_spec(f"ukctrl_papers.{key}"))


def check_key(key: str) -> str:
    """Return the key of a paper that exists.

    Raises:
        UnknownName: There is no such paper.
    """
    if key not in papers():
        raise unknown_name("paper", key, papers())
    return key


def load(key: str) -> Paper:
    """Return a paper.

    Raises:
        UnknownName: There is no such paper.
        InputError: Its module holds no claims.
    """
    module = importlib.import_module(f"ukctrl_papers.{check_key(key)}")
    paper = getattr(module, "PAPER", None)
    if not isinstance(paper, Paper):
        raise InputError(f"'{module.__name__}' must hold PAPER, a Paper; it holds none.")
    return paper
