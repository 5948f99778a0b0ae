"""A judgement in words: how good the news is, what it is about, and the sentence."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["good", "note", "warning", "bad"]


class Verdict(NamedTuple):
    """One judgement of a run, a study or a scenario."""

    level: Level
    """How good the news is; ``bad`` is what must not be, ``note`` what is worth knowing."""
    subject: str
    """What it is about, in a word."""
    text: str
