"""Figures as files: PNG beside a page, and PDF and SVG for papers, with their letters.

Whoever writes a page asks for files once, around it: `with files.asked(["pdf"], "column")`. What
nobody asks for is not drawn.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ukctrl.core.errors import unknown_name
from ukctrl.core.files import AnyPath
from ukctrl.reports.plot import column_layout, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")
PAPER_DPI = 300
"""Dots per inch of a PNG of a paper's width."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "png": {"dpi": PAPER_DPI, **style.PNG_OPTIONS},
    "pdf": {"format": "pdf", "metadata": {"CreationDate": None}, "facecolor": "white"},
    "svg": {
        "format": "svg",
        "metadata": {"Date": None, "Creator": None, "Format": None, "Type": None},
        "facecolor": "white",
    },
}
"""How files for papers are written; they tell no time."""


class _FigureFormats(NamedTuple):
    formats: tuple[str, ...] = ("png",)
    width: str | None = None


_formats = _FigureFormats()


@contextlib.contextmanager
def figure_formats(
    formats: Sequence[str] | None = None, width: str | None = None
) -> Iterator[None]:
    """Write the figures of all pages meanwhile in these formats, and for that width of a paper.

    Args:
        formats: Of `png`, `pdf` and `svg`; None: as it is.
        width: ``column`` (85 mm) or ``page`` (178 mm); None: as it is.

    Raises:
        UnknownName: There is no such format, or no such width.
    """
    global _formats
    for name, choices in ((formats or (), FORMATS), ((width,) if width else (), style.WIDTHS)):
        for entry in name:
            if entry not in choices:
                label = "format of a figure" if choices is FORMATS else "width of a figure"
                raise unknown_name(label, str(entry), choices)
    old_formats = _formats
    chosen = tuple(dict.fromkeys(formats)) if formats else old_formats.formats
    _formats = _FigureFormats(chosen, width or old_formats.width)
    try:
        yield
    finally:
        _formats = old_formats


def draw_formats(draw: Callable[[], Figure]) -> tuple[str, dict[str, bytes]]:
    """Return a figure for a page, an `<svg>` element, and its files by their endings."""
    figure = draw()
    svg = style.svg(figure)
    if _formats.width is not None:
        with style.figure_width(_formats.width):
            figure = draw()
            with style.report_style():
                column_layout.refit_width(figure, style.width())
    return svg, {form: figure_bytes(figure, form) for form in _formats.formats}


def figure_bytes(figure: Figure, form: str) -> bytes:
    """Return a figure as a file: a PDF with its fonts, an SVG whose letters are outlines.

    Raises:
        UnknownName: There is no such format.
    """
    if form not in FORMATS:
        raise unknown_name("format of a figure", form, FORMATS)
    if form == "png" and figure.get_figwidth() == style.WIDTH:
        return style.png(figure)
    import matplotlib

    stream = io.BytesIO()
    with (
        style.report_style(),
        matplotlib.rc_context({"svg.fonttype": "path"}),
    ):  # the same everywhere
        figure.savefig(stream, **OPTIONS[form])
    return stream.getvalue()


def save(figure: Figure, path: AnyPath) -> Path:
    """Write a figure to a file whose ending says the format.

    Raises:
        UnknownName: There is no such format.
        InputError: The folder cannot be written to.
    """
    from ukctrl.simulation.result.atomic_files import output_folder, write_atomically

    file = Path(path)
    text = figure_bytes(figure, file.suffix.removeprefix("."))
    with output_folder("the figure", file.parent):
        write_atomically(file, text)
    return file
