"""How linear analysis is printed."""

from __future__ import annotations

import cmath
import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, file_lines, hanging_lines, sanitise, table_lines

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

MAX_ENTRIES = 12
"""Poles, motors and gains of more than these are in the files alone."""
STABILITY_STYLE = {"stable": "bold green", "neutral": "bold yellow", "unstable": "bold red"}
POLE_RTOL = 2e-3
"""Poles that differ by less than this fraction are printed as one."""


def analysis_lines(
    analysis: LinearAnalysis,
    folder: Path,
    equilibria: Sequence[Equilibrium] = (),
    design: Design | None = None,
    period: LargestPeriod | None = None,
    card: Path | None = None,
) -> list[Line]:
    """Return the verdict, the table and where the files are."""
    style = STABILITY_STYLE.get(analysis.stability or "", "bold")
    head, colon, detail = analysis.verdict.partition(":")
    lines: list[Line] = []
    lines += hanging_lines(
        f"{sanitise(analysis.scenario)}: ", f"{head}{colon}{detail}", "bold", style
    )
    plant, loop = analysis.plant, analysis.loop
    facts = [
        ("robot", f"{analysis.robot}, controller {analysis.controller}"),
        ("point", plant.point.source + _equilibria_text(equilibria)),
        (
            "plant",
            f"states: {len(plant.A)}, motors: {len(plant.inputs)}, rows: {len(plant.outputs)}",
        ),
        ("poles", _poles(plant.poles())),
    ]
    if plant.inputs and plant.outputs:
        facts.append(
            ("zeros", _poles(analysis.zeros, max(map(abs, plant.poles().tolist()), default=0.0)))
        )
    if analysis.unreached:
        facts.append(("beyond motors", _modes(analysis.unreached)))
    if analysis.unseen:
        facts.append(("not in rows", _modes(analysis.unseen)))
    if loop is not None:
        hold = "" if loop.period is None else f", held for {loop.period:g} s"
        late = f", {loop.delay:g} s late" if loop.delay else ""
        if loop.active.words:
            facts.append(("active", loop.active.words))
        facts.append(("loop", f"{len(loop.A)} states{hold}{late}"))
        facts.append(("loop poles", _poles(loop.rates())))
    if analysis.disk is not None:
        facts.append(("all at once", f"disk margin {analysis.disk:.3g}"))
    for name, value in facts:
        lines += hanging_lines(f"  {name:<14}", value, "cyan")
    if analysis.margins:
        lines += ["", *_margins(analysis.margins)]
    if period is not None:
        margin = f"a disk margin of {period.disk:g}" if period.disk else "stability"
        text = f"{period.period:.6g} s keeps {margin}; beyond it is lost"
        lines += hanging_lines(f"  {'longest hold':<14}", text, "cyan")
    if design is not None:
        lines += _design(design, card)
    for note in (*analysis.notes, *(design.notes if design is not None else ())):
        lines += hanging_lines("note: ", note, "bold")
    lines += file_lines(folder, ("report", "analysis.html"), ("data", "analysis.json"))
    return lines


def analysis_data(
    analysis: LinearAnalysis,
    equilibria: Sequence[Equilibrium],
    design: Design | None,
    period: LargestPeriod | None,
    card: Path | None = None,
) -> dict[str, object]:
    """Return everything that was found as plain data."""
    table: dict[str, object] = analysis.to_dict()
    table["equilibria"] = [
        {
            "q": equilibrium.point.q.tolist(),
            "u": equilibrium.point.u.tolist(),
            "family": equilibrium.family,
            "distance": equilibrium.distance,
        }
        for equilibrium in equilibria
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


def _equilibria_text(equilibria: Sequence[Equilibrium]) -> str:
    if not equilibria:
        return ""
    first, *tail = equilibria
    family = f", one of a family of {first.family} directions" if first.family else ""
    return family + (f"; {len(tail)} more further away" if tail else "")


def _poles(values: NDArray[np.complex128], min_scale: float = 0.0) -> str:
    """Return poles, those that grow most first, alike ones and conjugates together."""
    from ukctrl.analysis.linear.linear_loop import snap_zero_rates

    poles: list[complex] = snap_zero_rates(values).tolist()
    remaining = sorted(filter(cmath.isfinite, poles), key=lambda p: (-p.real, abs(p.imag)))
    over = len(poles) - len(remaining)
    scale = max((abs(p) for p in remaining), default=min_scale) or 1.0
    scale = max(scale, min_scale)
    texts = []
    while remaining:
        first = remaining[0]
        size = POLE_RTOL * max(abs(first), 1e-3 * scale)
        same = [
            p
            for p in remaining
            if cmath.isclose(_upper_half(p), _upper_half(first), rel_tol=0, abs_tol=size)
        ]
        remaining = [p for p in remaining if p not in same]
        texts.append(_pole(_upper_half(first), len(same), max(size, 1e-6 * scale)))
    if len(texts) > MAX_ENTRIES:
        texts = [*texts[:MAX_ENTRIES], f"and {len(texts) - MAX_ENTRIES} more"]
    if over:
        texts.append(f"{over} over at once")
    return f"{', '.join(texts)} 1/s" if texts else "none"


def _upper_half(pole: complex) -> complex:
    return complex(pole.real, abs(pole.imag))


def _pole(pole: complex, count: int, size: float) -> str:
    real = 0.0 if abs(pole.real) <= 1e-3 * size else pole.real
    if abs(pole.imag) <= size:
        return f"{real:.3g}" + (f" ({count} of them)" if count > 1 else "")
    pair = f"{real:.3g} +- {pole.imag:.3g}j"
    return pair + (f" ({count // 2} pairs)" if count > 3 else "")


def _modes(modes: Sequence[HiddenMode]) -> str:
    return "; ".join(
        f"{mode.number} with s = {_pole(_upper_half(mode.pole), 1, 1e-9)} 1/s, in {mode.states}"
        for mode in modes[:MAX_ENTRIES]
    )


def _margins(margins: Sequence[Margins]) -> list[Line]:
    """Return the margins of the motors that have least."""
    from ukctrl.analysis.linear.linear_page import margin_table
    from ukctrl.core.tie_breaking import tie_ranks
    from ukctrl.reports.report_table import first_columns

    order = tie_ranks(margin.disk for margin in margins)
    indices = sorted(sorted(range(len(margins)), key=lambda k: order[k])[:MAX_ENTRIES])
    lines = table_lines(first_columns(margin_table([margins[k] for k in indices]), 6))
    if len(margins) > MAX_ENTRIES:
        lines += hanging_lines(
            "  ", f"and {len(margins) - MAX_ENTRIES} motors with more, in the files"
        )
    return lines


def _design(design: Design, card: Path | None) -> list[Line]:
    target = f"for {design.terms}:"
    lines: list[Line] = hanging_lines(f"  {'gains':<14}", target, "cyan")
    lines += [[f"    --set {sanitise(argument)}"] for argument in design.arguments()]
    if card is not None:
        lines += hanging_lines(f"  {'card':<14}", str(card), "cyan")
    return lines
