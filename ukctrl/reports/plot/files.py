"""Figures as files: PNG beside a page, and PDF and SVG for papers, with their fonts.

Whoever writes a page asks for files once, around it: `with files.asked(["pdf"], "column")`. What
nobody asks for is not drawn.
"""

from __future__ import annotations

import base64
import contextlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ukctrl.core.errors import unknown_name
from ukctrl.core.files import AnyPath
from ukctrl.reports.plot import narrow, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")
PAPER_DPI = 300
"""Dots per inch of a PNG of a paper's width."""
NOTHING = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""What an SVG tells of itself."""


class _Asked(NamedTuple):
    formats: tuple[str, ...] = ("png",)
    width: str | None = None


_now = _Asked()


@contextlib.contextmanager
def asked(formats: Sequence[str] | None = None, width: str | None = None) -> Iterator[None]:
    """Write the figures of all pages meanwhile in these formats, and for that width of a paper.

    Args:
        formats: Of `png`, `pdf` and `svg`; None: as it is.
        width: ``column`` (85 mm) or ``page`` (178 mm); None: as it is.

    Raises:
        UnknownName: There is no such format, or no such width.
    """
    global _now
    for name, known in ((formats or (), FORMATS), ((width,) if width else (), style.WIDTHS)):
        for each in name:
            if each not in known:
                what = "format of a figure" if known is FORMATS else "width of a figure"
                raise unknown_name(what, str(each), known)
    before = _now
    chosen = tuple(dict.fromkeys(formats)) if formats else before.formats
    _now = _Asked(chosen, width or before.width)
    try:
        yield
    finally:
        _now = before


def drawn(draw: Callable[[], Figure]) -> tuple[str, dict[str, bytes]]:
    """Return a figure for a page, an `<svg>` element, and its files by their endings."""
    figure = draw()
    if _now == _Asked():
        svg, png = style.both(figure)
        return svg, {"png": png}
    svg = style.svg(figure)
    if _now.width is not None:
        with style.drawn_for(_now.width):
            figure = draw()
            with style.look():
                narrow.fit(figure, style.width())
    return svg, {form: content(figure, form) for form in _now.formats}


def content(figure: Figure, form: str) -> bytes:
    """Return a figure as a file of that format, with the fonts that it uses.

    Raises:
        UnknownName: There is no such format.
    """
    if form not in FORMATS:
        raise unknown_name("format of a figure", form, FORMATS)
    stream = io.BytesIO()
    if form == "png":
        if figure.get_figwidth() == style.WIDTH:
            return style.png(figure)
        with style.look():
            figure.savefig(stream, dpi=PAPER_DPI, **style.QUICK)
        return stream.getvalue()
    nothing: dict[str, Any] = {"CreationDate": None} if form == "pdf" else NOTHING
    with style.look():
        figure.savefig(stream, format=form, metadata=nothing, facecolor="white")
    return stream.getvalue() if form == "pdf" else _with_font(stream.getvalue())


def save(figure: Figure, path: AnyPath) -> Path:
    """Write a figure to a file whose ending says the format.

    Raises:
        UnknownName: There is no such format.
        InputError: The folder cannot be written to.
    """
    from ukctrl.simulation.result.plain_files import folder_for, write_atomically

    file = Path(path)
    text = content(figure, file.suffix.removeprefix("."))
    with folder_for("the figure", file.parent):
        write_atomically(file, text)
    return file


def _with_font(svg: bytes) -> bytes:
    """Return an SVG that carries the letters it uses: its texts stay texts, everywhere the same."""
    from fontTools import subset
    from matplotlib import font_manager

    text = svg.decode()
    letters = "".join(re.findall(r"<text[^>]*>(.*?)</text>", text, flags=re.DOTALL))
    letters = re.sub(r"&#?\w+;", "&<>\"'", letters)
    faces = []
    for weight in ("normal", "bold") if "font-weight: 700" in text else ("normal",):
        named = font_manager.FontProperties(family="DejaVu Sans", weight=weight)
        options = subset.Options(flavor="woff", hinting=False, drop_tables=["FFTM", "GSUB", "GPOS"])
        font = subset.load_font(font_manager.findfont(named), options)
        picker = subset.Subsetter(options)
        picker.populate(text=letters)
        picker.subset(font)
        stream = io.BytesIO()
        subset.save_font(font, stream, options)
        source = f"url(data:font/woff;base64,{base64.b64encode(stream.getvalue()).decode()})"
        face = f"font-family: 'DejaVu Sans'; font-weight: {weight}; src: {source}"
        faces.append(f"@font-face {{ {face} }}")
    fonts = f'<style type="text/css">{" ".join(faces)}</style>'
    opening = re.search(r"<svg [^>]*>", text)
    assert opening is not None
    return f"{text[: opening.end()]}\n{fonts}{text[opening.end() :]}".encode()
