"""The parts of figures: where panels lie, and which box a path is seen in."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

from ukctrl.reports import plot
from ukctrl.reports.plot import panels, path_views, style


def drawn(*columns, height=1.95, keys=()):
    boxes = [panels.Panel(f"panel {k}", lambda axes, room: None, n) for k, n in enumerate(columns)]
    figure = panels.grid(boxes, height=height, keys=keys)
    width, total = figure.get_size_inches()
    return figure, [axes.get_position().bounds * np.tile([width, total], 2) for axes in figure.axes]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [((1,), [0]), ((2,), [0]), ((1, 1), [0, 0]), ((1, 2), [0, 1]), ((2, 1, 1), [0, 1, 1]),
     ((1, 2, 1), [0, 1, 2]), ((1, 1, 1), [0, 0, 1])],
)  # fmt: skip
def test_panels_lie_in_two_columns_row_by_row_without_touching(columns, rows):
    figure, boxes = drawn(*columns)
    width, total = figure.get_size_inches()
    pitch = 1.95 + 0.76
    assert total == pytest.approx(0.42 + (rows[-1] + 1) * pitch - 0.76 + 0.46)
    np.testing.assert_allclose(
        [total - 0.42 - y - h for _, y, _, h in boxes], pitch * np.array(rows), atol=1e-9
    )
    for (x, y, w, h), (u, v, r, s) in itertools.combinations(boxes, 2):
        assert x + w + 0.5 < u or u + r + 0.5 < x or y + h + 0.5 < v or v + s + 0.5 < y
    for (x, y, w, h), n in zip(boxes, columns, strict=True):
        assert h == pytest.approx(1.95)
        assert 0.5 < x < x + w < width
        assert 0.4 < y < y + h + 0.3 < total
        assert (w > 0.8 * width) == (n == 2)
    for (x, y, *_), (u, v, *_) in itertools.pairwise(boxes):
        assert v < y or (v == pytest.approx(y) and u > x)


def test_a_legend_for_all_panels_has_room_above_them():
    keys = [panels.LegendEntry(f"controller {k}", style.PALETTE[k], "-") for k in range(3)]
    (plain, _), (with_keys, _) = drawn(1, 1), drawn(1, 1, keys=keys)
    more = with_keys.get_size_inches()[1] - plain.get_size_inches()[1]
    assert more == pytest.approx(0.2)
    (legend,) = with_keys.legends
    assert [text.get_text() for text in legend.get_texts()] == [f"controller {k}" for k in range(3)]


def test_the_box_of_a_path_holds_it_and_never_vanishes():
    path = np.array([[[0.0, 0.0, 0.0]], [[2.0, 1.0, 0.0]]])
    low, high = path_views._box(path, path)
    np.testing.assert_allclose((low + high) / 2.0, [1.0, 0.5, 0.0], atol=1e-12)
    assert (high[:2] - low[:2]).tolist() == pytest.approx([2.0, 1.0])
    assert high[2] - low[2] == pytest.approx(0.04)
    nowhere = np.full((2, 1, 3), np.nan)
    assert [each.tolist() for each in path_views._box(nowhere, nowhere)] == [[-0.5] * 3, [0.5] * 3]


@pytest.mark.parametrize(
    ("columns", "wide"), [((1,), (2,)), ((2,), (2,)), ((1, 1), (1, 1)), ((), ())]
)
def test_a_panel_that_is_alone_is_wide(columns, wide):
    given = [panels.Panel("a", None, n) for n in columns]
    assert tuple(panel.columns for panel in panels.widen_single(given)) == wide


def test_a_figure_has_a_light_grid_no_frame_whole_numbers_and_plain_text():
    with style.report_style():
        axes = Figure().add_subplot()
        axes.plot([0.0, 1.0], [1e6, 1e6 + 1.0], label="a")
        legend, title = axes.legend(), axes.set_title("$x$")
    assert all(each.get_visible() for each in (*axes.get_xgridlines(), *axes.get_ygridlines()))
    assert axes.get_axisbelow() is True
    assert {side for side, spine in axes.spines.items() if spine.get_visible()} == {
        "left",
        "bottom",
    }
    assert not axes.yaxis.get_major_formatter().get_useOffset()
    assert not legend.get_frame_on()
    assert not title.get_parse_math()


def test_a_letter_without_a_picture_is_no_warning_and_other_warnings_are_passed_on():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with style.report_style():
            warnings.warn("Glyph 19968 (CJK) missing from font(s).", stacklevel=1)
            warnings.warn("mind this", stacklevel=1)
    assert [str(each.message) for each in heard] == ["mind this"]


def test_every_curve_of_an_svg_keeps_two_digits_and_takes_the_fonts_of_the_page(helix):
    from ukctrl import plot

    text = style.svg(plot.draw(helix(), "errors"))
    assert text.startswith('<svg viewBox="')
    assert text.count("<svg ") == 1
    assert 'role="img"' in text
    assert "xlink" not in text
    assert "<metadata" not in text
    assert "DejaVu" not in text
    first = text[text.index("<path") :]
    assert "fill: none" in first[: first.index("/>")]  # the page's own background shows
    curves = re.findall(r' d="([^"]*)"', text)
    assert curves
    assert not any(re.search(r"\.\d\d\d", curve) for curve in curves)


def test_figures_of_what_is_no_error_say_what_they_show():
    said = {name: plot.FIGURES[name].caption for name in ("measured", "passive", "energy", "grip")}
    assert said == {
        "measured": "Error of the law's last measurement. Between two ticks the robot moves and "
        "the measurement is constant.",
        "passive": "Position and velocity errors: the drift of the integration, zero in exact "
        "physics. Beside them, the reaction of each constraint.",
        "energy": "Total energy, and the energy fed in by inputs and outside forces. Their "
        "difference, the unaccounted energy, judges the integration, not the controller.",
        "grip": "Authority of the actuators over the servo rows: rank and smallest singular value "
        "of H = A G, and the demand out of reach.",
    }
