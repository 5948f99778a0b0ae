"""The films of the page: each limit kept, and the same run without, in which it is drawn too."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path

from tables import KINDS, run

from ukctrl import Scenario, record, simulate

SIZE, RATE = (330, 240), 10.0


def draw(folder: Path) -> None:
    """Film the runs."""
    for name in KINDS:
        kept, free = run(name), run(name, kept=False)
        scenario = {**free.scenario, "keep": kept.scenario["keep"]}
        for which, result in (("", kept), ("-without", dc.replace(free, scenario=scenario))):
            record(result, folder / f"limits-kept-{name}{which}.webp", fps=RATE, size=SIZE)
    fastest = simulate(Scenario.load("three-rrr-fastest"))
    path = folder / "limits-kept-fastest.webp"
    record(fastest, path, fps=RATE, size=SIZE, show=["inputs"])
