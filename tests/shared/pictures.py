"""What a Matplotlib figure shows, as plain data for tests.

Every artist that says something is a `Mark`: what it is, where, in which colour of the reports, and
by which name. Taste is left out: widths, sizes, transparency. Marks come in the order in which they
are drawn, the ones below first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, Rectangle

from ukctrl.reports.plot import style

ROLES = {color: place for place, color in enumerate(style.PALETTE)} | {
    style.INK: "ink",
    style.MUTED: "muted",
    style.GRID: "grid",
    style.FAINT: "faint",
    style.ALERT: "alert",
}
"""Colours of the reports by what they are for; those of curves by their place."""
IN_DATA = {(True, True): "line", (True, False): "upright", (False, True): "across"}
"""Lines whose one coordinate alone is data reach over the whole panel."""


class Mark(NamedTuple):
    """One artist."""

    kind: str
    where: tuple
    """Arrays of coordinates."""
    color: object
    look: str = ""
    """Dash and marker."""
    name: str = ""


def line(x, y, color, look="-", name=""):
    """Return a curve, or markers at points."""
    return Mark("line", (x, y), color, look, name)


def upright(x, color, look="-"):
    """Return a vertical line through the panel."""
    return Mark("upright", ([x, x], [0.0, 1.0]), color, look)


def across(y, color, look="-"):
    """Return a horizontal line through the panel."""
    return Mark("across", ([0.0, 1.0], [y, y]), color, look)


def span(left, right, color):
    """Return a shade over the panel's whole height."""
    return Mark("upright", ([left, right], [0.0, 1.0]), color, "filled")


def bar(left, right, low, high, color):
    """Return a rectangle."""
    return Mark("box", ([left, right], [low, high]), color, "filled")


def area(x, low, high, color):
    """Return what is shaded between two curves."""
    corners = np.array([[*x, *x], [*low, *high]], dtype=float).T
    seen = corners[np.isfinite(corners).all(axis=1)]
    return Mark("area", tuple(np.unique(seen, axis=0).T), color, "filled")


def text(words, x, y, color):
    """Return words at a place."""
    return Mark("text", ([x], [y]), color, "", words)


def role(color):
    """Return what a colour is for."""
    known = to_hex(color)
    return ROLES.get(known, known)


def marks(axes):
    """Return what stands in a panel but its heading."""
    artists = sorted(axes.get_children(), key=lambda artist: artist.get_zorder())
    found = [_mark(axes, artist) for artist in artists if artist.get_visible()]
    return [mark for mark in found if mark is not None and mark.look]


def texts(axes):
    """Return the words in a panel but its heading."""
    return [
        text(each.get_text(), *each_at, role(each.get_color()))
        for each in axes.texts
        if (each_at := getattr(each, "xy", each.get_position())) != (0, 1)
    ]


def heading(axes):
    """Return the words above a panel."""
    titles = [each.get_text() for each in axes.texts if getattr(each, "xy", None) == (0, 1)]
    return titles[0] if titles else axes.get_title()


def labels(axes):
    """Return the names of both axes and their scales."""
    return axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale(), axes.get_yscale()


def legend(holder):
    """Return the entries of the legend of a panel or a figure: name, colour and look."""
    if hasattr(holder, "legends"):
        (box,) = holder.legends
    else:
        box = holder.get_legend()
    if box is None:
        return []
    return [
        (words.get_text(), role(handle.get_color()), _look(handle))
        for words, handle in zip(box.get_texts(), box.legend_handles, strict=True)
    ]


def ticks(axis):
    """Return the words at an axis within its limits, by their places."""
    low, high = sorted(axis.get_view_interval())
    places = [float(place) for place in axis.get_majorticklocs()]
    words = axis.get_major_formatter().format_ticks(places)
    return {
        place: word
        for place, word in zip(places, words, strict=True)
        if low <= place <= high or np.isclose(place, [low, high], rtol=1e-9, atol=0.0).any()
    }


def shows(axes, *wanted):
    """Assert that these marks stand in a panel, in this order, and nothing else."""
    found = marks(axes)
    assert [mark._replace(where=()) for mark in found] == [
        mark._replace(where=()) for mark in wanted
    ]
    for mark, other in zip(found, wanted, strict=True):
        agree(mark.where, other.where)


def agree(found, wanted):
    """Assert that coordinates are the same, but for rounding."""
    for here, there in zip(found, wanted, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9)


def limits(axes, x=None, y=None):
    """Assert the limits of a panel."""
    for found, given in ((axes.get_xlim(), x), (axes.get_ylim(), y)):
        if given is not None:
            np.testing.assert_allclose(found, given, rtol=1e-9, atol=1e-12)


def _mark(axes, artist):
    name = str(artist.get_label())
    name = "" if name.startswith("_") else name
    if artist in axes.lines:
        kind = IN_DATA[artist.get_transform().contains_branch_seperately(axes.transData)]
        where = tuple(np.asarray(side, dtype=float) for side in artist.get_data())
        return Mark(kind, where, role(artist.get_color()), _look(artist), name)
    if artist in axes.collections:
        return _collection(axes, artist, name)
    if artist in axes.patches:
        return _patch(axes, artist, name)
    return None


def _look(artist):
    dash = (
        artist.get_linestyle()
        if len(artist.get_xdata()) != 1 or artist.get_marker() in ("None", "")
        else ""
    )
    dash = "" if dash == "None" else dash
    marker = artist.get_marker() if artist.get_marker() not in ("None", None) else ""
    hollow = " hollow" if marker and _is_empty(artist) else ""
    step = " step" if artist.get_drawstyle() == "steps-post" else ""
    beyond = "" if artist.get_clip_on() else " unclipped"
    return f"{dash}{marker}{hollow}{step}{beyond}"


def _is_empty(artist):
    face = artist.get_markerfacecolor()
    return artist.get_fillstyle() == "none" or (isinstance(face, str) and face == "none")


def _collection(axes, artist, name):
    if hasattr(artist, "get_coordinates"):
        shown = np.ma.filled(np.ma.asarray(artist.get_array(), dtype=float), np.nan)
        corners = artist.get_coordinates()
        where = corners[0, :, 0], corners[:, 0, 1], shown.ravel()
        return Mark(
            "mesh", where, artist.cmap.name, f"{artist.norm.vmin:g} to {artist.norm.vmax:g}"
        )
    corners = np.concatenate([path.vertices for path in artist.get_paths()] or [np.zeros((0, 2))])
    corners = np.unique(corners, axis=0)
    known = artist.get_transform().contains_branch_seperately(axes.transData)
    kind = "area" if all(known) else IN_DATA[known]
    return Mark(kind, tuple(corners.T), role(artist.get_facecolor()[0]), "filled", name)


def _patch(axes, patch, name):
    filled = patch.get_fill() and patch.get_facecolor()[3] > 0.0
    color = role(patch.get_facecolor() if filled else patch.get_edgecolor())
    look = "filled" if filled else patch.get_linestyle()
    if isinstance(patch, Circle):
        return Mark("circle", ([patch.center[0]], [patch.center[1]], [patch.radius]), color, look)
    if isinstance(patch, Rectangle):
        (left, low), (right, high) = patch.get_bbox().get_points()
        known = patch.get_data_transform().contains_branch_seperately(axes.transData)
        kind = "box" if all(known) else IN_DATA[known]
        return Mark(kind, ([left, right], [low, high]), color, look, name)
    return None
