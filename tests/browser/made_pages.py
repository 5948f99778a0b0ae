"""Every kind of page that ukctrl writes, as its commands write them: short runs, few samples."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ukctrl import Result, Robot
from ukctrl.cli import main
from ukctrl.reports.notebook_card import show

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("run scara-helix-bench --set timing.duration=0.5", "report.html"),
    "compare": (
        "compare scara-helix -c servo-baumgarte -c computed-torque -c pd-gravity"
        " --set timing.duration=0.4",
        "report.html",
    ),
    "repeats": (
        "compare scara-helix-bench -c servo-pid -c computed-torque --set timing.duration=0.1"
        " --repeats 3 --mismatch 0,0.1 --jobs 1",
        "report.html",
    ),
    "check": ("check scara-weak-motors", "report.html"),
    "refused": ("check two-mass-spring-far", "report.html"),
    "analyze": ("analyze quadrotor-hover", "analysis.html"),
    "sweep": (
        "sweep scara-helix-bench --vary controller.feedback.kp=140:400 --vary"
        " believed.mass_scale=0.7:1.3 -n 8 --set timing.duration=0.1 --jobs 1",
        "report.html",
    ),
    "tune": (
        "tune scara-helix-bench --over controller.feedback.kp=140:4000 -n 8"
        " --set timing.duration=0.1 --jobs 1",
        "tune.html",
    ),
    "learn": (
        "learn scara-helix -c servo-baumgarte --set timing.control=0.002 --trials 2"
        " --set timing.duration=0.2 --set believed.mass_scale=0.7",
        "learn.html",
    ),
    "reproduce": ("reproduce servo", "report.html"),
}
"""Kinds that a command writes: its words, and its page."""
KINDS = (*COMMANDS, "card", "robot")
"""All: with the card of a run in a notebook, and what `robot.show()` opens."""
MOVING = ("run", "compare", "learn", "card", "robot")
"""Those with a robot in three dimensions."""
PLAYING = ("run", "compare", "learn", "card")
"""Those whose robot moves over time."""
FAST = ("run", "compare")
"""Those that every `make test` looks at; all others `make browser` does, and `make slow`."""


class MadePages:
    """Makes each page once, when a test first asks for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Path] = {}

    def page(self, kind: str) -> Path:
        """Return where a page lies."""
        if kind not in self._made:
            with pytest.MonkeyPatch.context() as patch:
                make: Mapping[str, Callable[..., Path]] = {"card": self._card, "robot": self._robot}
                self._made[kind] = make.get(kind, self._by_command)(kind, patch)
        return self._made[kind]

    def _by_command(self, kind: str, _: pytest.MonkeyPatch) -> Path:
        words, name = COMMANDS[kind]
        said = io.StringIO()
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            contextlib.suppress(SystemExit),
        ):
            main([*words.split(), "--out", str(self._folder / kind)])
        page = self._folder / kind / name
        assert page.is_file(), said.getvalue()
        return page

    def _card(self, *_: object) -> Path:
        """A notebook that shows a result: its page, with the card in a frame."""
        result = Result.load(self.page("run").parent)
        page = self._folder / "card.html"
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A notebook</title>'
        page.write_text(f"{head}<body>{result._repr_html_()}", encoding="utf-8")
        return page

    def _robot(self, _: str, patch: pytest.MonkeyPatch) -> Path:
        opened: list[str] = []
        patch.setattr("webbrowser.open", opened.append)
        patch.setattr("tempfile.tempdir", str(self._folder))
        show(Robot.load("panda"))
        return Path(urlsplit(opened[0]).path)
