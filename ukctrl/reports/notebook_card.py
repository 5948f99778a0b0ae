"""Cards in a notebook: a page in a frame that may run its own scripts alone, and fetch nothing."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.errors import unknown_name
from ukctrl.reports import html_page, plot, run_page
from ukctrl.reports.plot import series, style
from ukctrl.reports.report_table import ReportTable, TableColumn
from ukctrl.reports.scene.robot_scene import robot_scene
from ukctrl.reports.scene.run_scene import run_scene
from ukctrl.reports.visual.build_visuals import build_visuals
from ukctrl.robot import Robot
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ukctrl.reports.scene.scene import Scene
    from ukctrl.reports.visual.visual_model import VisualModel


def html(shown: Result | Robot | Scenario) -> str:
    """Return the card of a robot, of a scenario, or of a run: its page in a frame."""
    if isinstance(shown, Scenario):
        rows = ReportTable.from_rows(
            [TableColumn("key", "text"), TableColumn("value", "text")], _settings(shown)
        )
        return card(shown.title, f"Scenario {shown.name}".strip(), table=rows)
    if isinstance(shown, Robot):
        count = len(shown.passive)
        return card(
            shown.title or shown.name,
            f"{shown.nv} freedoms, {shown.nu} inputs"
            + (f", {count} passive constraint{'s' * (count > 1)}" if count else ""),
            scene=robot_scene(shown),
        )
    scene = html_page.embed_scene(run_scene(shown))
    return _frame(shown.title, run_page.html(shown, run_page.page_figures(shown), scene))


def _settings(part: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield what a part of a scenario says by its path, without what is left at its default."""
    for field in dc.fields(part):
        value, key = getattr(part, field.name), f"{path}{field.name}"
        usual = field.default if field.default_factory is dc.MISSING else field.default_factory()
        entries = value if isinstance(value, tuple) else ()
        if field.name in ("title", "name") or (field.name != "kind" and value == usual):
            continue
        if isinstance(value, Robot):
            yield key, value.name
        elif dc.is_dataclass(value):
            yield from _settings(value, f"{key}.")
        elif any(map(dc.is_dataclass, entries)):
            for number, entry in enumerate(entries):
                yield from _settings(entry, f"{key}.{getattr(entry, 'name', '') or number}.")
        else:
            yield key, value if isinstance(value, str) else repr(value)


def look(robot: Robot) -> VisualModel:
    """Return what a robot looks like."""
    return build_visuals(robot)


def card(
    title: str, lead: str, *, table: ReportTable | None = None, scene: Scene | None = None
) -> str:
    """Return a card as HTML that may stand in any page.

    Args:
        title: Its heading.
        lead: A sentence below it.
        table: What else it tells.
        scene: What moves.
    """
    return _frame(title, _page(title, lead, table, scene))


def _page(title: str, lead: str, table: ReportTable | None, scene: Scene | None) -> str:
    context = {"title": title, "lead": lead, "entries": table, "contents": ()}
    return html_page.render("card.html.j2", context, html_page.embed_scene(scene))


def _frame(title: str, page: str) -> str:
    style = "width:100%;height:640px;border:0;border-radius:8px"
    text = f'srcdoc="{escape(page)}" title="{escape(title)}" style="{style}"'
    return f'<iframe sandbox="allow-scripts" {text}>{escape(title)}</iframe>'


def figure_of(result: Result, name: str) -> Figure:
    """Return a figure of a run, or one of a single quantity, that shows itself below a cell.

    Raises:
        UnknownName: There is neither.
    """
    quantities = [*FIELDS, *result.samples.signals]
    if name in plot.available(result):
        figure = plot.draw(result, name)
    elif name not in quantities:
        choices = dict.fromkeys([*quantities, *plot.FIGURES])
        raise unknown_name("quantity or figure", name, choices)
    elif name not in result.samples:
        choices = dict.fromkeys(entry for entry in quantities if entry in result.samples)
        raise unknown_name("quantity in this result", name, choices)
    else:
        figure = series.quantity(result, name)
    # Matplotlib shows figures that pyplot has made, and these are made without it.
    figure.__dict__["_repr_png_"] = lambda: style.png(figure)
    return figure


class SceneView:
    """A scene that shows itself: in a notebook as a card, else as a page in the browser."""

    def __init__(self, title: str, scene: Scene | None) -> None:
        self.scene, self._title = scene, title

    def _repr_html_(self) -> str:
        return card(self._title, "", scene=self.scene)

    def open(self, *, in_browser: bool = True) -> Path:
        """Write the page into a temporary file, open it in a browser, and return its path."""
        with tempfile.NamedTemporaryFile(
            "w", prefix="ukctrl-", suffix=".html", delete=False, encoding="utf-8"
        ) as file:
            file.write(_page(self._title, "", None, self.scene))
        if in_browser:
            with contextlib.suppress(webbrowser.Error, OSError):
                webbrowser.open(Path(file.name).as_uri())
        return Path(file.name)


def show(shown: Result | Robot, q: ArrayLike | None = None) -> SceneView:
    """Return the view of a run, or of a robot at a configuration; outside notebooks, open it."""
    if isinstance(shown, Robot):
        at = None if q is None else np.asarray(q, dtype=float)
        view = SceneView(shown.title or shown.name, robot_scene(shown, at))
    else:
        view = SceneView(shown.title, run_scene(shown))
    if not _in_notebook():
        view.open()
    return view


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
