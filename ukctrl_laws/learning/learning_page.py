"""The page of trials, its figures and tables, the files beside it, and the card of a notebook."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.control.controller import law_name
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import number, unit_text
from ukctrl.reports import html_page, notebook_card
from ukctrl.reports.plot import overlay, panels, style
from ukctrl.reports.report_table import ReportTable, TableColumn
from ukctrl.reports.scene.run_scene import runs_scene
from ukctrl.simulation.result.atomic_files import output_folder
from ukctrl.simulation.result.metrics import unit_in
from ukctrl.studies.tuning.tuning_page import metric_table
from ukctrl_laws.learning.learning_result import END_TRIALS, LearningResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ukctrl.core.arrays import Array

MAX_ROWS = 8
"""With more servo rows than this, their common norm is drawn instead of each."""
_CAPTIONS: Mapping[str, tuple[str, str]] = {
    "learn_trials": (
        "Error, trial by trial",
        "Of all servo rows, on a log scale. A straight line falls by the same share every time; "
        "where it becomes level, what is left does not repeat or cannot be learnt.",
    ),
    "learn_demand": (
        "What was learnt, beside the feedback",
        "What is added to the acceleration that the task asks of each servo row. The first trial "
        "leaves all that the model does not know to the feedback, which needs an error for it; in "
        "the last, what was learnt does that ahead of time, and the feedback has the rest.",
    ),
    "learn_errors": ("Errors of the first and the last trial", "Norms of the task's error."),
    "learn_inputs": ("Inputs of the first and the last trial", "What each actuator does in them."),
}


def write_learning_result(practice: LearningResult, folder: AnyPath) -> Path:
    """Write the card, the page `learn.html` with its figures, `learn.json` and `trials.csv`, and
    the first and the last run, to the folder of the corrections.

    Returns:
        The card's path.

    Raises:
        InputError: The folder cannot be written to.
    """
    home, images = Path(folder), _pictures(practice)
    card = home / f"{practice.name}.toml"
    with output_folder("the trials", home):
        for name, result in practice.results.items():
            result.save(home / name)
    data = json.dumps(practice.to_dict(), indent=2, allow_nan=False)
    texts = {
        card.name: practice.card(),
        "learn.json": f"{data}\n",
        "trials.csv": practice.trials_csv(),
        "learn.html": _page(practice, images, card),
    }
    html_page.write_page("the trials", home, texts, images, _CAPTIONS)
    return card


def next_commands(practice: LearningResult, card: Path) -> list[tuple[str, str]]:
    """Return what to do with a card that is worth it, as commands on the task that was learnt."""
    if not (practice.ok or practice.stopped):
        return []
    task = shlex.quote(str(card.parent / END_TRIALS[0] / "scenario.toml"))
    use = f"-c {shlex.quote(str(card))}"
    return [
        ("run what was learnt", f"ukctrl run {task} {use}"),
        ("learn on from there", f"ukctrl learn {task} {use}"),
        ("set it beside the law as it was", f"ukctrl compare {task} -c own {use}"),
    ]


def html(practice: LearningResult) -> str:
    """Return the card of a notebook."""
    return notebook_card.card(
        practice.scenario.title,
        practice.verdicts[0].text,
        table=trial_table(practice),
        scene=runs_scene(practice.results),
    )


def trial_table(practice: LearningResult) -> ReportTable:
    """Return a line a trial: its errors and inputs, and what is left of the error before it."""
    columns = [TableColumn(head) for head in ("learnt from", *practice.told, "of the error before")]
    rows, last = [], math.nan
    for trial in practice.trials:
        values = [trial.metrics.get(name, math.nan) for name in practice.told]
        share = number(values[0] / last) if math.isfinite(last) and last else ""
        rows.append([str(trial.learnt), *map(number, values), share])
        last = values[0]
    return ReportTable.from_rows(columns, rows)


def _page(practice: LearningResult, images: Sequence[html_page.PageFigure], card: Path) -> str:
    outcome, *verdicts = practice.verdicts
    scenario, learning = practice.scenario, practice.learning
    contents = [("outcome", "Outcome"), *((image.name, image.title) for image in images)]
    metrics = metric_table(practice.results)
    contents += [("metrics", "Metrics before and after")] if metrics else []
    first = practice.results[END_TRIALS[0]]
    context = {
        "title": f"{scenario.title}, trial by trial",
        "what": "learning",
        "controller": law_name(scenario.controller),
        "scenario": scenario.name,
        "spent": f"{len(practice.trials) - 1} trials",
        "outcome": outcome,
        "contents": [*contents, ("card", "The card"), ("conditions", "How it was learnt")],
        "verdicts": verdicts,
        "tables": [("Trials", trial_table(practice))],
        "metrics": metrics,
        "between": "The first trial, before anything was learnt here, and the last",
        "figures": images,
        "card_file": card.name,
        "card": html_page.highlight_toml(practice.card()),
        "uses": next_commands(practice, card),
        "no_card": "",
        "how": "How it was learnt",
        "facts": [
            (
                "trials",
                f"{len(practice.trials) - 1} of {learning.trials}, the same start each time",
            ),
            ("gain", f"{learning.gain:g} of what is left in each trial"),
            ("cutoff", f"{learning.cutoff:g} Hz, above which nothing is learnt"),
            ("lead", f"{learning.lead} ticks"),
        ],
        "provenance": html_page.provenance_entries(first.provenance, "timing"),
    }
    return html_page.render(
        "new_card.html.j2", context, html_page.embed_scene(runs_scene(practice.results))
    )


def _pictures(practice: LearningResult) -> list[html_page.PageFigure]:
    """Draw what there is to draw."""
    shown = {name: run for name, run in practice.results.items() if len(run.samples)}
    draw: dict[str, Callable[[], Figure]] = {}
    if len(practice.trials) > 1:
        draw["learn_trials"] = lambda: _error_figure(practice)
    if len(practice.demands) == len(END_TRIALS):
        draw["learn_demand"] = lambda: _demand_figure(practice)
    if shown:
        draw["learn_errors"] = lambda: overlay.errors(shown)
        draw["learn_inputs"] = lambda: overlay.inputs(shown)
    return [
        html_page.page_figure(name, *_CAPTIONS[name], drawing) for name, drawing in draw.items()
    ]


@style.styled
def _error_figure(practice: LearningResult) -> Figure:
    """Draw the error of each trial, rms and at its largest."""
    metric_names, labels = practice.told[:2], practice.results[END_TRIALS[0]].labels
    keys = [
        panels.LegendEntry(name, color, "-", "o")
        for name, color in zip(metric_names, style.PALETTE, strict=False)
    ]
    at = np.array([trial.learnt for trial in practice.trials])

    def draw(axes: Axes, width: float) -> None:
        from matplotlib.ticker import MaxNLocator

        values = np.array(
            [[t.metrics.get(name, math.nan) for name in metric_names] for t in practice.trials]
        )
        panels.log_scale(axes, values, values)
        for key, y in zip(keys, values.T, strict=True):
            axes.plot(at, y, key.dash, color=key.color, marker=key.marker, clip_on=False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(f"error [{unit_text(unit_in(metric_names[0], labels)) or '1'}]")

    return panels.grid(
        [panels.Panel("error of all servo rows", draw, columns=2)],
        x_label="learnt from so many trials",
        keys=keys,
    )


@style.styled
def _demand_figure(practice: LearningResult) -> Figure:
    """Draw what was learnt and what the feedback adds, for each servo row or all together."""
    first, last = (practice.demands[name] for name in END_TRIALS)
    curves: dict[str, Array] = {
        "feedback, first trial": first.feedback,
        "feedback, last trial": last.feedback,
        "learnt, last trial": last.learned,
    }
    keys, labels = overlay.keys_of(curves), practice.results[END_TRIALS[0]].labels

    def panel(title: str, unit: str, values: Sequence[Array]) -> panels.Panel:
        def draw(axes: Axes, width: float) -> None:
            for key, y in zip(keys, values, strict=True):
                x, y = panels.thin(practice.times, panels.finite_on_paper(y))
                axes.plot(x, y, key.dash, color=key.color)
            panels.fit_y_axis(axes, np.array(values).T)
            axes.set_ylabel(f"added [{unit_text(unit)}]")

        return panels.Panel(panels.shorten(title), draw)

    if len(labels.rows) > MAX_ROWS:
        norms = [np.linalg.norm(curve, axis=1) for curve in curves.values()]
        drawn = [panel("norm of all servo rows", "row/s^2", norms)]
    else:
        drawn = [
            panel(name, f"{labels.row_units[k]}/s^2", [curve[:, k] for curve in curves.values()])
            for k, name in enumerate(labels.rows)
        ]
    return panels.grid(panels.widen_single(drawn), height=1.7, keys=keys)
