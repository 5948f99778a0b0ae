"""How linear analysis is printed."""

from __future__ import annotations

import cmath
import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, clean, files, hanging, table_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ukctrl.analysis.linear import (
        Design,
        Equilibrium,
        HiddenMode,
        LargestPeriod,
        LinearAnalysis,
        Margins,
    )

MOST = 12
"""Poles, motors and gains of more than these are in the files alone."""
STYLE = {"stable": "bold green", "neutral": "bold yellow", "unstable": "bold red"}
ALIKE = 2e-3
"""Poles that differ by less than this fraction are printed as one."""


def analysis_lines(
    found: LinearAnalysis,
    folder: Path,
    equilibria: Sequence[Equilibrium] = (),
    design: Design | None = None,
    period: LargestPeriod | None = None,
    card: Path | None = None,
) -> list[Line]:
    """Return the verdict, the table and where the files are."""
    style = STYLE.get(found.stability or "", "bold")
    head, colon, rest = found.verdict.partition(":")
    lines: list[Line] = []
    lines += hanging(f"{clean(found.scenario)}: ", f"{head}{colon}{rest}", "bold", style)
    plant, loop = found.plant, found.loop
    facts = [
        ("robot", f"{found.robot}, controller {found.controller}"),
        ("point", plant.point.source + _others(equilibria)),
        (
            "plant",
            f"states: {len(plant.A)}, motors: {len(plant.inputs)}, rows: {len(plant.outputs)}",
        ),
        ("poles", _poles(plant.poles())),
    ]
    if plant.inputs and plant.outputs:
        facts.append(
            ("zeros", _poles(found.zeros, max(map(abs, plant.poles().tolist()), default=0.0)))
        )
    if found.unreached:
        facts.append(("beyond motors", _modes(found.unreached)))
    if found.unseen:
        facts.append(("not in rows", _modes(found.unseen)))
    if loop is not None:
        hold = "" if loop.period is None else f", held for {loop.period:g} s"
        late = f", {loop.delay:g} s late" if loop.delay else ""
        if loop.active.words:
            facts.append(("active", loop.active.words))
        facts.append(("loop", f"{len(loop.A)} states{hold}{late}"))
        facts.append(("loop poles", _poles(loop.rates())))
    if found.disk is not None:
        facts.append(("all at once", f"disk margin {found.disk:.3g}"))
    for name, value in facts:
        lines += hanging(f"  {name:<14}", value, "cyan")
    if found.margins:
        lines += ["", *_margins(found.margins)]
    if period is not None:
        margin = f"a disk margin of {period.disk:g}" if period.disk else "stability"
        text = f"{period.period:.6g} s keeps {margin}; beyond it is lost"
        lines += hanging(f"  {'longest hold':<14}", text, "cyan")
    if design is not None:
        lines += _design(design, card)
    for note in (*found.notes, *(design.notes if design is not None else ())):
        lines += hanging("note: ", note, "bold")
    lines += files(folder, ("report", "analysis.html"), ("data", "analysis.json"))
    return lines


def as_table(
    found: LinearAnalysis,
    equilibria: Sequence[Equilibrium],
    design: Design | None,
    period: LargestPeriod | None,
    card: Path | None = None,
) -> dict[str, object]:
    """Return everything that was found as plain data."""
    table: dict[str, object] = found.to_dict()
    table["equilibria"] = [
        {
            "q": each.point.q.tolist(),
            "u": each.point.u.tolist(),
            "family": each.family,
            "distance": each.distance,
        }
        for each in equilibria
    ]
    if design is not None:
        table["design"] = {
            **{name: value for name, value in dc.asdict(design.terms).items() if value is not None},
            "gains": dict(design.gains),
            "set": design.arguments(),
            "card": None if card is None else str(card),
        }
    if period is not None:
        table["longest_period"] = period._asdict()
    return table


def _others(equilibria: Sequence[Equilibrium]) -> str:
    if not equilibria:
        return ""
    first, *rest = equilibria
    family = f", one of a family of {first.family} directions" if first.family else ""
    return family + (f"; {len(rest)} more further away" if rest else "")


def _poles(values: NDArray[np.complex128], least: float = 0.0) -> str:
    """Return poles, those that grow most first, alike ones and conjugates together."""
    from ukctrl.analysis.linear.linear_loop import without_rounding

    every: list[complex] = without_rounding(values).tolist()
    left = sorted(filter(cmath.isfinite, every), key=lambda p: (-p.real, abs(p.imag)))
    over = len(every) - len(left)
    scale = max((abs(p) for p in left), default=least) or 1.0
    scale = max(scale, least)
    texts = []
    while left:
        first = left[0]
        size = ALIKE * max(abs(first), 1e-3 * scale)
        same = [p for p in left if cmath.isclose(_upper(p), _upper(first), rel_tol=0, abs_tol=size)]
        left = [p for p in left if p not in same]
        texts.append(_pole(_upper(first), len(same), max(size, 1e-6 * scale)))
    if len(texts) > MOST:
        texts = [*texts[:MOST], f"and {len(texts) - MOST} more"]
    if over:
        texts.append(f"{over} over at once")
    return f"{', '.join(texts)} 1/s" if texts else "none"


def _upper(pole: complex) -> complex:
    return complex(pole.real, abs(pole.imag))


def _pole(pole: complex, count: int, size: float) -> str:
    real = 0.0 if abs(pole.real) <= 1e-3 * size else pole.real
    if abs(pole.imag) <= size:
        return f"{real:.3g}" + (f" ({count} of them)" if count > 1 else "")
    pair = f"{real:.3g} +- {pole.imag:.3g}j"
    return pair + (f" ({count // 2} pairs)" if count > 3 else "")


def _modes(modes: Sequence[HiddenMode]) -> str:
    return "; ".join(
        f"{mode.number} with s = {_pole(_upper(mode.pole), 1, 1e-9)} 1/s, in {mode.states}"
        for mode in modes[:MOST]
    )


def _margins(margins: Sequence[Margins]) -> list[Line]:
    """Return the margins of the motors that have least."""
    from ukctrl.analysis.linear.linear_page import margin_table
    from ukctrl.core.extremes import places
    from ukctrl.reports.table import first_columns

    order = places(each.disk for each in margins)
    least = sorted(sorted(range(len(margins)), key=lambda k: order[k])[:MOST])
    lines = table_lines(first_columns(margin_table([margins[k] for k in least]), 6))
    if len(margins) > MOST:
        lines += hanging("  ", f"and {len(margins) - MOST} motors with more, in the files")
    return lines


def _design(design: Design, card: Path | None) -> list[Line]:
    wanted = f"for {design.terms}:"
    lines: list[Line] = hanging(f"  {'gains':<14}", wanted, "cyan")
    lines += [[f"    --set {clean(each)}"] for each in design.arguments()]
    if card is not None:
        lines += hanging(f"  {'card':<14}", str(card), "cyan")
    return lines
