"""A figure that was drawn for a page, for the column of a paper: fewer panels beside each other.

Figures of reports are drawn anew at each width (`panels.grid`). Those that scripts draw, such as a
paper's, know one width only; here their panels get other places, and their legends stand below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.reports.plot import style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

STACKED = 4
"""So many panels stand below each other; more of them in two columns."""
LOWEST, HIGHEST, SPATIAL = 1.35, 2.0, 2.6
"""Height of a panel, and of one in space [in]."""
LETTER, HANDLE = 0.58, 3.4
"""Widths of a letter and of what stands before a name in a legend, in sizes of its font."""


def refit_width(figure: Figure, width: float) -> None:
    """Give a figure another width [in], with texts of the same size.

    Args:
        figure: Any; its panels keep their places where it does not say how they stand in a grid.
        width: Wanted.
    """
    wide, high = figure.get_size_inches()
    if abs(wide - width) <= 1e-6:
        return
    panels = _panels(figure)
    if width >= style.NARROW or not panels:
        figure.set_size_inches(width, high)
        return
    columns = 1 if len(panels) <= STACKED else 2
    rows = -(-len(panels) // columns)
    spatial = any(axes.name == "3d" for panel in panels for axes in panel)
    row_height = high / max(_grid(panels[0][0])[0], 1)
    panel_height = SPATIAL if spatial else min(max(0.7 * row_height, LOWEST), HIGHEST)
    legends = sum(axes.get_legend() is not None for panel in panels for axes in panel)
    figure.set_size_inches(width, rows * panel_height + 0.3 * legends)
    if not spatial:
        figure.set_layout_engine("constrained")
    for legend in list(figure.legends):
        _above(figure, legend, 72.0 * width)
    grid = figure.add_gridspec(rows, columns)
    _name(panels)
    for index, panel in enumerate(panels):
        for axes in panel:
            axes.set_subplotspec(grid[index // columns, index % columns])
            axes_legend = axes.get_legend()
            if axes_legend is not None and not spatial:
                _below(axes, axes_legend, 72.0 * width / columns)
    if spatial:
        figure.subplots_adjust(left=0.0, right=0.9, bottom=0.07, top=0.94, hspace=0.2)


def _panels(figure: Figure) -> list[list[Axes]]:
    """Return the axes at each place of the grid, row by row; none where some stand elsewhere."""
    cells: dict[tuple[int, int], list[Axes]] = {}
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        if spec is None or spec.num2 != spec.num1:
            return []
        cells.setdefault((spec.rowspan.start, spec.colspan.start), []).append(axes)
    return [cells[cell] for cell in sorted(cells)]


def _grid(axes: Axes) -> tuple[int, int]:
    spec = axes.get_subplotspec()
    return spec.get_gridspec().get_geometry() if spec is not None else (1, 1)


def _name(panels: list[list[Axes]]) -> None:
    """Name what a panel shows that took its name from the one on its left, or above all."""
    labels: dict[int, str] = {}
    titles: dict[int, str] = {}
    for axes, *_ in panels:
        spec = axes.get_subplotspec()
        if spec is None:
            continue
        row, column = spec.rowspan.start, spec.colspan.start
        labels[row] = axes.get_ylabel() or labels.get(row, "")
        titles[column] = axes.get_title() or titles.get(column, "")
        axes.set_title(titles[column])
        if axes.get_title() and axes.name != "3d":  # what has a title shows the same of another
            axes.set_ylabel(labels[row])


def _above(figure: Figure, legend: Legend, legend_width: float) -> None:
    """Put the legend of all panels above them, in as many columns as there is room [pt]."""
    handles, names, columns = _parts(legend, legend_width)
    legend.remove()
    figure.legend(handles, names, ncols=columns, loc="outside upper center", columnspacing=1.2)


def _below(axes: Axes, legend: Legend, legend_width: float) -> None:
    """Put a legend below its panel, in as many columns as there is room [pt]."""
    from matplotlib.transforms import ScaledTranslation

    handles, names, columns = _parts(legend, legend_width)
    down = 30.0 if axes.get_xlabel() else 18.0
    shift = ScaledTranslation(0.0, -down / 72.0, legend.figure.dpi_scale_trans)
    axes.legend(
        handles=handles, labels=names, ncols=columns, loc="upper center", borderaxespad=0.0,
        bbox_to_anchor=(0.5, 0.0), bbox_transform=axes.transAxes + shift, columnspacing=1.2,
    )  # fmt: skip


def _parts(legend: Legend, legend_width: float) -> tuple[list[Artist], list[str], int]:
    """Return the lines of a legend, their names, and how many there is room for in a row."""
    handles = [handle for handle in legend.legend_handles if handle is not None]
    names = [text.get_text() for text in legend.get_texts()]
    size = float(style.RC["legend.fontsize"])  # type: ignore[arg-type]
    entry_width = size * (LETTER * max(map(len, names), default=0) + HANDLE)
    return handles, names, int(max(1, min(len(names), legend_width // entry_width)))
