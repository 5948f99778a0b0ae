"""One look for every figure: colours that the colour-blind can tell apart, light grid, SI units.

Figures are plain `matplotlib.figure.Figure` objects on the Agg canvas. Nothing here touches
pyplot, so nothing opens a window, leaks, or changes a user's own settings.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ukctrl.core.errors import unknown_name
from ukctrl.core.subprocess_safety import is_command

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#b5649b", "#c98a00", "#3f9fd4", "#7a5cc7", "#7d6b5d")
"""After Okabe and Ito, the light ones darkened to be seen on white."""
DASHES = ("-", "--", "-.", ":")
INK, MUTED, GRID, FAINT, ALERT = "#1b2430", "#5b6672", "#e3e7ec", "#b9c1ca", "#c8352b"
WIDTH = 9.6
"""Width of every figure of a page [in]."""
NARROW = 5.0
"""Narrower figures have one column [in]."""
WIDTHS: Mapping[str, float] = {"column": 85.0 / 25.4, "page": 178.0 / 25.4}
"""Widths of figures in papers of one and of two columns [in]."""
DPI = 150
RC = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "path.simplify_threshold": 0.2,
    "pdf.fonttype": 42,  # whole letters, that an editor of a paper can search and change
    "svg.fonttype": "none",
    "svg.hashsalt": "ukctrl",
    "text.color": INK,
    "text.parse_math": False,  # names come from files: a dollar sign is a dollar sign
    "xtick.color": FAINT,
    "xtick.labelcolor": MUTED,
    "xtick.labelsize": 8.0,
    "ytick.color": FAINT,
    "ytick.labelcolor": MUTED,
    "ytick.labelsize": 8.0,
}


@functools.cache
def _settings() -> Any:
    """Return every setting of a figure: nothing comes from a file in the working folder."""
    from matplotlib import rcParamsDefault

    default: Any = rcParamsDefault
    return {key: default[key] for key in default if not key.startswith("backend")} | RC


@contextlib.contextmanager
def report_style() -> Iterator[None]:
    """Draw in the style of the reports; afterwards the caller's own settings are back."""
    if _StyleState.is_on:
        yield
        return
    import matplotlib
    from matplotlib import artist

    if is_command():  # else a third of the import is lists of properties for texts of help
        artist.kwdoc = lambda artist: ""

    with matplotlib.rc_context(_settings()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box is what it shows
        _StyleState.is_on = True
        try:
            yield
        finally:
            _StyleState.is_on = False


class _StyleState:
    is_on = False
    """Whether the settings are those of the reports; to set them takes 10 ms."""
    width = WIDTH


def width() -> float:
    """Return how wide figures are drawn at present [in]."""
    return _StyleState.width


@contextlib.contextmanager
def figure_width(name: str | None) -> Iterator[None]:
    """Draw figures as wide as a paper's column or page, with texts of the same size.

    Args:
        name: ``column``, ``page``, or None: as for a report.

    Raises:
        UnknownName: There is no such width.
    """
    if name is not None and name not in WIDTHS:
        raise unknown_name("width of a figure", name, WIDTHS)
    old_width, _StyleState.width = _StyleState.width, WIDTH if name is None else WIDTHS[name]
    try:
        yield
    finally:
        _StyleState.width = old_width


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Make a function draw in the style of the reports."""

    @functools.wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> T:
        with report_style():
            return draw(*args, **kwargs)

    return in_style


PNG_OPTIONS: Mapping[str, Any] = {
    "metadata": {"Software": None},
    "pil_kwargs": {"compress_level": 3},
    "format": "png",
}
"""How PNG files are written."""


def png(figure: Figure) -> bytes:
    """Return the figure as a PNG file."""
    stream = io.BytesIO()
    with report_style():
        figure.savefig(stream, **PNG_OPTIONS)
    return stream.getvalue()


def svg(figure: Figure) -> str:
    """Return the figure as an `<svg>` element whose colours and fonts follow the page around it."""
    stream = io.StringIO()
    with report_style():
        figure.savefig(stream, format="svg", facecolor="none")
    return _page_svg(stream.getvalue())


def time_mark(bounds: tuple[float, float, float, float], start: float, end: float) -> str:
    """Return what marks a panel over time for the script of a page.

    Args:
        bounds: Left, top, width and height of the panel, as fractions of the figure.
        start: Time at its left edge [s].
        end: At its right edge.
    """
    return ":".join(["time", *(f"{share:.5f}" for share in bounds), f"{start:.9g}", f"{end:.9g}"])


def _page_svg(text: str) -> str:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style type=.*?</style>", "", text, count=1, flags=re.DOTALL)  # in page.css
    text = text.replace("xlink:href=", "href=")
    mark = r'<g id="time:([-+.:\deE]+)"'
    text = re.sub(mark, lambda found: f'<g data-time="{found[1].replace(":", " ")}"', text)
    # A page of several figures would have each of these names several times.
    text = re.sub(r'<g id="[\w.]+_\d+"', "<g", text)
    # A hundredth of a point is enough for a curve.
    text = re.sub(r' d="[^"]*"', lambda curve: re.sub(r"(\.\d\d)\d+", r"\1", curve[0]), text)
    opening = r'<svg viewBox="\1" role="img">'
    text = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', opening, text, count=1)
    for index, color in enumerate(PALETTE):
        # Letters in a line's colour: darker on white, as thin strokes must be to be read.
        text = re.sub(rf'(<text style="[^"]*fill: ){color}', rf"\1var(--words-{index})", text)
        text = text.replace(color, f"var(--series-{index})")
    roles = {"ink": INK, "muted": MUTED, "grid": GRID, "faint": FAINT, "alert": ALERT}
    for role, color in roles.items():
        text = text.replace(color, f"var(--{role})")
    return re.sub(r"(font(?:-family)?: [^;\"]*?)'DejaVu Sans'[^;\"]*", r"\1var(--font)", text)
