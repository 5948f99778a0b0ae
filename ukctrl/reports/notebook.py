"""Cards in a notebook: in one frame that may run its own scripts alone, and fetch nothing."""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.errors import UkctrlError, unknown_name
from ukctrl.core.number_text import unit_text
from ukctrl.reports import plot, web_page
from ukctrl.reports.plot import panels, style
from ukctrl.reports.run_page import Tile, tiles
from ukctrl.reports.scene.from_results import of_result
from ukctrl.reports.scene.from_robot import of_robot
from ukctrl.reports.table import Table
from ukctrl.robot import Robot
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.storage import variables
from ukctrl.simulation.result.verdicts import headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ukctrl.reports.scene.stage import Scene

FIGURES = ("errors", "inputs", "motion")
"""The first of these that has something to show stands in the card of a run."""
TALLEST = 1200
"""A card that needs more room scrolls [px]."""
WIDE = 960.0
"""A card is about so wide [px], and its figure as high as its shape says."""


def html(shown: Result | Robot) -> str:
    """Return the card of a run or of a robot."""
    if isinstance(shown, Robot):
        held = len(shown.passive)
        return card(
            shown.title or shown.name,
            f"{shown.nv} freedoms, {shown.nu} inputs"
            + (f", {held} passive constraint{'s' * (held > 1)}" if held else ""),
            scene=lambda: of_robot(shown),
        )
    name = next((name for name in FIGURES if name in plot.available(shown)), None)
    return card(
        shown.title,
        headline(shown),
        badge=(shown.status_level, shown.status),
        tiles=tiles(shown)[:4],
        figure=None if name is None else lambda: plot.draw(shown, name),
        scene=lambda: of_result(shown),
    )


def card(
    title: str,
    lead: str,
    *,
    badge: tuple[str, str] | None = None,
    tiles: Sequence[Tile] = (),
    lines: Sequence[tuple[str, str, str]] = (),
    table: Table | None = None,
    figure: Callable[[], Figure] | None = None,
    scene: Callable[[], Scene | None] | None = None,
) -> str:
    """Return a card as HTML that may stand in any page.

    What cannot be drawn is left out: a card never fails.

    Args:
        title: Its heading.
        lead: A sentence below it.
        badge: Level and text of a mark before it.
        tiles: Key numbers.
        lines: Verdicts: level, subject and text.
        table: What else it tells.
        figure: Makes a figure.
        scene: Makes what moves.
    """
    svg = _tried(lambda: None if figure is None else style.both(figure())[0])
    text = web_page.render(
        "card.html.j2",
        {
            "title": title,
            "lead": lead,
            "badge_of": badge,
            "tiles": tiles,
            "lines": [{"level": a, "subject": b, "text": c} for a, b, c in lines],
            "entries": table,
            "svg": svg,
        },
        _tried(lambda: None if scene is None else web_page.stage(scene())),
    )
    height = 110 + 410 * ("<canvas>" in text) + 150 * bool(tiles) + _height(svg)
    height += 40 * (len(lines) + (0 if table is None else 1 + len(table.rows)))
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(text)}" title="{escape(title)}" '
        f'style="width:100%;height:{min(height, TALLEST)}px;border:0;border-radius:8px">'
        f"{escape(title)}: {escape(lead)}</iframe>"
    )


def _height(svg: str | None) -> int:
    """Return how high a figure is in a card [px]."""
    box = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg or "")
    return 0 if box is None else round(WIDE * float(box[2]) / float(box[1])) + 20


def figure_of(result: Result, name: str) -> Figure:
    """Return a figure of `_figure_of`, which shows itself below a notebook's cell."""
    figure = _figure_of(result, name)
    # Matplotlib shows figures that pyplot has made, and these are made without it.
    figure.__dict__["_repr_png_"] = lambda: style.png(figure)
    return figure


def _figure_of(result: Result, name: str) -> Figure:
    """Return a figure of a run, or one of a single quantity over time.

    Raises:
        UnknownName: There is neither.
    """
    quantities = [*FIELDS, *result.samples.signals]
    if name in plot.available(result):
        return plot.draw(result, name)
    if name not in quantities:
        known = dict.fromkeys([*quantities, *plot.FIGURES])
        raise unknown_name("quantity or figure", name, known)
    if name not in result.samples:
        raise unknown_name(
            "quantity in this result", name, [n for n in quantities if n in result.samples]
        )
    return _quantity(result, name)


@style.styled
def _quantity(result: Result, name: str) -> Figure:
    values = np.asarray(result[name], dtype=float)
    flat = values.reshape(len(values), -1)
    table = variables(result.samples)
    signal = result.samples.signals.get(name)
    names = [""]
    for dim, size in zip(table[name].dims[1:], values.shape[1:], strict=True):
        own = [str(one) for one in table[dim].values] if dim in table else []
        own = own or [str(k) for k in range(size)]
        names = [f"{before} {one}".strip() for before in names for one in own]
    units = signal.units if signal is not None else ""
    each = [units] * len(names)
    if signal is None:
        known = FIELDS[name].units(result.labels)
        per = len(names) // max(len(known), 1)
        each = [unit for unit in known for _ in range(per)] if known else each
    drawn = []
    for unit in dict.fromkeys(each):
        at = [k for k, own in enumerate(each) if own == unit]

        def draw(axes: Axes, room: float, at: list[int] = at, unit: str = unit) -> None:
            panels.lines(axes, result.time, flat[:, at], [names[k] or name for k in at], room)
            shown = unit_text(unit)
            axes.set_ylabel(f"{name} [{shown}]" if shown else name)
            panels.fit(axes, flat[:, at])

        drawn.append(panels.Panel(table[name].attributes["long_name"], draw))
    return panels.grid(panels.alone_wide(drawn))


class View:
    """A scene that shows itself: in a notebook as a card, else as a page in the browser."""

    def __init__(self, title: str, scene: Scene | None) -> None:
        self.scene, self._title = scene, title

    def _repr_html_(self) -> str:
        return card(self._title, "", scene=lambda: self.scene)

    def open(self) -> Path:
        """Write the page into a file for temporary things, open it, and return where it is."""
        text = web_page.render(
            "card.html.j2",
            {"title": self._title, "lead": "", "badge_of": None, "tiles": (), "lines": (),
             "entries": None, "svg": None},
            web_page.stage(self.scene),
        )  # fmt: skip
        with tempfile.NamedTemporaryFile(
            "w", prefix="ukctrl-", suffix=".html", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(Path(file.name).as_uri())
        return Path(file.name)


def show(shown: Result | Robot, q: ArrayLike | None = None) -> View:
    """Return the view of a run, or of a robot at a configuration; outside notebooks, open it."""
    if isinstance(shown, Robot):
        at = None if q is None else np.asarray(q, dtype=float)
        view = View(shown.title or shown.name, of_robot(shown, at))
    else:
        view = View(shown.title, of_result(shown))
    if not _in_notebook():
        view.open()
    return view


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _tried(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (UkctrlError, ArithmeticError, ImportError, LookupError, OSError, ValueError):
        return None
