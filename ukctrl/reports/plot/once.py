"""One drawing that is written as SVG and as pixels: most of the time of a figure is its layout.

Matplotlib lays a figure out anew for each kind of file. Here what it draws in points, for the SVG,
is drawn by Agg at the same time, enlarged to pixels.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, TransformedBbox, TransformedPath

Svg: Any = RendererSVG
Agg: Any = RendererAgg  # of both, type checkers know nothing
POINTS = 72
"""Units of an SVG in an inch."""


class Unlike(Exception):
    """A figure has what the two kinds of file draw in different ways, such as an image."""


def draw(figure: Figure, dpi: int) -> tuple[str, Any]:
    """Return the SVG of a figure, without its background, and its pixels `(height, width, 4)`.

    Raises:
        Unlike: They cannot be drawn at once.
    """
    stream = io.StringIO()
    before, background = figure.get_dpi(), figure.get_facecolor()
    try:
        figure.set_dpi(POINTS)
        figure.set_facecolor("none")
        width, height = figure.bbox.size
        scale = dpi / POINTS
        renderer = _Both(
            Svg(width, height, stream, image_dpi=dpi),
            Agg(width * scale, height * scale, dpi),
            Affine2D().scale(scale),
        )
        renderer.fill(Affine2D().scale(width, height), background)
        figure.draw(renderer)
        renderer.svg.finalize()
        return stream.getvalue(), renderer.agg.buffer_rgba()
    finally:
        figure.set_dpi(before)
        figure.set_facecolor(background)


class _Both(RendererBase):
    """Sends everything to an SVG, whose units artists see, and to pixels."""

    def __init__(self, svg: Any, agg: Any, enlarge: Affine2D) -> None:
        super().__init__()
        self.svg, self.agg, self.enlarge = svg, agg, enlarge
        self.width, self.height = svg.width, svg.height
        for name in (
            "open_group", "close_group", "option_image_nocomposite", "flipy",
            "get_canvas_width_height", "get_text_width_height_descent", "get_image_magnification",
        ):  # fmt: skip
            setattr(self, name, getattr(svg, name))

    def fill(self, page: Affine2D, color: Any) -> None:
        """Give the pixels a background."""
        gc = self.agg.new_gc()
        gc.set_linewidth(0.0)
        self.agg.draw_path(gc, Path.unit_rectangle(), page + self.enlarge, color)

    def draw_path(self, gc: Any, path: Any, transform: Any, rgbFace: Any = None) -> None:
        self.svg.draw_path(gc, path, transform, rgbFace)
        self.agg.draw_path(self._enlarged(gc), path, transform + self.enlarge, rgbFace)

    def draw_markers(
        self, gc: Any, marker: Any, shape: Any, path: Any, transform: Any, rgbFace: Any = None
    ) -> None:
        self.svg.draw_markers(gc, marker, shape, path, transform, rgbFace)
        larger, there = shape + self.enlarge, transform + self.enlarge
        self.agg.draw_markers(self._enlarged(gc), marker, larger, path, there, rgbFace)

    def draw_path_collection(self, *given: Any, **more: Any) -> None:
        self.svg.draw_path_collection(*given, **more)
        gc, master, paths, every, offsets, there, *looks = given
        gc, master, there = self._enlarged(gc), master + self.enlarge, there + self.enlarge
        places = paths, every, offsets, there
        self.agg.draw_path_collection(gc, master, *places, *looks, **more)

    def draw_text(self, gc: Any, x: float, y: float, s: str, *font: Any, **more: Any) -> None:
        self.svg.draw_text(gc, x, y, s, *font, **more)
        x, y = self.enlarge.transform((x, y))
        self.agg.draw_text(self._enlarged(gc), x, y, s, *font, **more)

    def draw_image(self, *image: Any, **more: Any) -> None:
        raise Unlike

    def draw_quad_mesh(self, *mesh: Any, **more: Any) -> None:
        raise Unlike

    def draw_gouraud_triangles(self, *triangles: Any, **more: Any) -> None:
        raise Unlike

    def start_rasterizing(self) -> None:
        raise Unlike

    def start_filter(self) -> None:
        raise Unlike

    def _enlarged(self, gc: Any) -> Any:
        """Return how to draw, with the region outside of which nothing is drawn in pixels."""
        region, (path, transform) = gc.get_clip_rectangle(), gc.get_clip_path()
        if region is None and path is None:
            return gc
        larger = self.agg.new_gc()
        larger.copy_properties(gc)
        if region is not None:
            larger.set_clip_rectangle(TransformedBbox(region, self.enlarge))
        if path is not None:
            larger.set_clip_path(TransformedPath(path, transform + self.enlarge))
        return larger
