"""Figures as files for papers: formats, widths, fonts, and what is drawn at all."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread

from tests.shared.slow import slow_but
from ukctrl import plot
from ukctrl.core.errors import UnknownName
from ukctrl.papers.canvas import canvas
from ukctrl.reports import run_page, web_page
from ukctrl.reports.plot import files, narrow, style

WIDTHS = {"column": 85.0, "page": 178.0}
"""[mm]"""


@pytest.mark.slow
def test_nobody_asks_and_a_figure_is_drawn_once_for_the_page_and_a_png(helix):
    calls = []

    def draw():
        calls.append(style.width())
        return plot.errors(helix())

    picture = web_page.picture("errors", "Errors", "", draw)
    assert (list(picture.files), calls) == (["png"], [style.WIDTH])
    with files.asked(["pdf"]):
        picture = web_page.picture("errors", "Errors", "", draw)
    assert (list(picture.files), calls[1:]) == (["pdf"], [style.WIDTH])
    with files.asked(width="column"), files.asked(["svg", "pdf", "svg"]):
        picture = web_page.picture("errors", "Errors", "", draw)
    assert list(picture.files) == ["svg", "pdf"]
    assert calls[2:] == [style.WIDTH, pytest.approx(85.0 / 25.4)]
    assert 'viewBox="0 0 691.2' in picture.svg  # that of the page stays as wide as the page


@pytest.mark.slow(but=["path-column"])
@pytest.mark.parametrize(
    ("name", "width"),
    slow_but(
        [("path", "column"), ("errors", "page"), ("motion", "column")],
        list(itertools.product(["path", "errors", "inputs", "motion"], WIDTHS)),
    ),
)
def test_files_for_papers_have_the_width_and_letters_of_a_readable_size(
    helix, tmp_path, name, width
):
    figure = plot.draw(helix(), name, width)
    wanted = WIDTHS[width] / 25.4
    pdf = files.save(figure, tmp_path / f"{name}.pdf").read_bytes()
    box = re.search(rb"MediaBox \[ 0 0 ([\d.]+) ", pdf)
    assert float(box[1]) == pytest.approx(72.0 * wanted, abs=0.01)
    assert b"/FontFile2" in pdf  # TrueType, embedded
    assert b"/Type3" not in pdf
    text = files.save(figure, tmp_path / f"{name}.svg").read_text()
    root = ET.fromstring(text)
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(72.0 * wanted, abs=0.01)
    assert text.count("src: url(data:font/woff;base64,") == 2  # normal and bold
    assert not re.search(r"(?:href=.|url[(].?)http", text)
    sizes = {float(size) for size in re.findall(r"font-size: ([\d.]+)px", text)}
    assert sizes
    assert 7.0 <= min(sizes) <= max(sizes) <= 9.0
    png = files.save(figure, tmp_path / f"{name}.png")
    assert imread(png).shape[1] == pytest.approx(300.0 * wanted, abs=1.0)


@pytest.mark.slow
def test_a_report_has_the_files_that_are_asked_for_and_none_of_before(helix, tmp_path):
    run_page.write_report(helix(), tmp_path)
    before = {path.stem for path in tmp_path.glob("*.png")}
    with files.asked(["pdf", "svg"], "page"):
        run_page.write_report(helix(), tmp_path)
    assert not [*tmp_path.glob("*.png")]
    assert {path.stem for path in tmp_path.glob("*.pdf")} == before
    assert {path.stem for path in tmp_path.glob("*.svg")} == before


def test_a_figure_whose_drawing_knows_but_one_width_gets_the_one_asked_for():
    from matplotlib.figure import Figure

    with files.asked(["pdf"], "page"):
        picture = web_page.picture("one", "", "", lambda: Figure(figsize=(9.0, 3.0)))
    box = re.search(rb"MediaBox \[ 0 0 ([\d.]+) ([\d.]+)", picture.files["pdf"])
    np.testing.assert_allclose([*map(float, box.groups())], [504.567, 216.0], atol=0.01)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"formats": ["jpg"]}, "no format of a figure named 'jpg'"),
        ({"width": "colum"}, "did you mean 'column'"),
    ],
)
def test_what_there_is_no_format_or_width_for_is_refused(given, says):
    with pytest.raises(UnknownName, match=says), files.asked(**given):
        pass


def test_a_file_without_a_known_ending_is_refused(helix, tmp_path):
    with pytest.raises(UnknownName, match="format of a figure"):
        files.save(plot.errors(helix()), tmp_path / "errors.jpg")


@pytest.fixture
def sheet():
    """Return a paper's figure of two rows and two columns, with legends and names as scripts do."""
    figure, axes = canvas(2, 2, 5.0, "left", "right")
    for k, ax in enumerate(axes.flat):
        ax.plot([0.0, 20.0], [0.0, k + 1.0], label="the line that is drawn")
        ax.plot([0.0, 20.0], [1.0, k + 2.0], label="and another one")
    axes[0, 0].set_ylabel("angle [rad]")
    axes[1, 0].set_ylabel("stroke [m]")
    axes[0, 1].legend(ncols=4, loc="center")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=6, loc="outside upper center")
    return figure


def test_panels_of_a_paper_stand_below_each_other_in_a_column(sheet):
    narrow.fit(sheet, style.WIDTHS["column"])
    sheet.draw_without_rendering()
    boxes = [axes.get_position() for axes in sheet.axes]
    assert all(low.y1 < high.y0 for high, low in itertools.pairwise(boxes))
    assert all(box.width > 0.7 for box in boxes)
    assert [axes.get_ylabel() for axes in sheet.axes] == ["angle [rad]"] * 2 + ["stroke [m]"] * 2
    assert [axes.get_title() for axes in sheet.axes] == ["left", "right"] * 2


def test_legends_of_a_paper_fit_into_a_column(sheet):
    narrow.fit(sheet, style.WIDTHS["column"])
    sheet.draw_without_rendering()
    legends = [*sheet.legends, *(axes.get_legend() for axes in sheet.axes if axes.get_legend())]
    assert len(legends) == 2
    for legend in legends:
        box = legend.get_window_extent()
        assert box.x0 >= 0.0
        assert box.x1 <= sheet.bbox.width
        for axes in sheet.axes:
            assert not axes.bbox.padded(-1.0).overlaps(box)


def test_a_figure_that_is_wide_enough_keeps_its_panels(sheet):
    before = [axes.get_subplotspec() for axes in sheet.axes]
    narrow.fit(sheet, style.WIDTHS["page"])
    assert [axes.get_subplotspec() for axes in sheet.axes] == before
    assert sheet.get_figwidth() == style.WIDTHS["page"]
