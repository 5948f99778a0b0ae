"""Figures as files for papers: formats, widths, fonts, and what is drawn at all."""

from __future__ import annotations

import io
import itertools
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from tests.shared.slow import slow_but
from ukctrl import plot
from ukctrl.core.errors import UnknownName
from ukctrl.reports import html_page, run_page
from ukctrl.reports.plot import column_layout, figure_files, series, style
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result
from ukctrl_papers.figure_grid import figure_grid

WIDTHS = {"column": 85.0, "page": 178.0}
"""[mm]"""


@pytest.mark.slow
def test_nobody_asks_and_a_figure_is_drawn_once_for_the_page_and_a_png(helix):
    calls = []

    def draw():
        calls.append(style.width())
        return plot.errors(helix())

    picture = html_page.page_figure("errors", "Errors", "", draw)
    assert (list(picture.files), calls) == (["png"], [style.WIDTH])
    with figure_files.figure_formats(["pdf"]):
        picture = html_page.page_figure("errors", "Errors", "", draw)
    assert (list(picture.files), calls[1:]) == (["pdf"], [style.WIDTH])
    with (
        figure_files.figure_formats(width="column"),
        figure_files.figure_formats(["svg", "pdf", "svg"]),
    ):
        picture = html_page.page_figure("errors", "Errors", "", draw)
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
    pdf = figure_files.save(figure, tmp_path / f"{name}.pdf").read_bytes()
    box = re.search(rb"MediaBox \[ 0 0 ([\d.]+) ", pdf)
    assert float(box[1]) == pytest.approx(72.0 * wanted, abs=0.01)
    assert b"/FontFile2" in pdf  # TrueType, embedded
    assert b"/Type3" not in pdf
    text = figure_files.save(figure, tmp_path / f"{name}.svg").read_text()
    root = ET.fromstring(text)
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(72.0 * wanted, abs=0.01)
    assert "<text" not in text  # letters are outlines
    assert not re.search(r"(?:href=.|url[(].?)http", text)
    sizes = {word.get_fontsize() for word in figure.findobj(Text) if word.get_text()}
    assert sizes
    assert 7.0 <= min(sizes) <= max(sizes) <= 9.0
    png = figure_files.save(figure, tmp_path / f"{name}.png")
    assert imread(png).shape[1] == pytest.approx(300.0 * wanted, abs=1.0)


@pytest.mark.slow
def test_a_report_has_the_files_that_are_asked_for_and_none_of_before(helix, tmp_path):
    run_page.write_report(helix(), tmp_path)
    before = {path.stem for path in tmp_path.glob("*.png")}
    with figure_files.figure_formats(["pdf", "svg"], "page"):
        run_page.write_report(helix(), tmp_path)
    assert not [*tmp_path.glob("*.png")]
    assert {path.stem for path in tmp_path.glob("*.pdf")} == before
    assert {path.stem for path in tmp_path.glob("*.svg")} == before


def test_a_figure_whose_drawing_knows_but_one_width_gets_the_one_asked_for():
    from matplotlib.figure import Figure

    with figure_files.figure_formats(["pdf"], "page"):
        picture = html_page.page_figure("one", "", "", lambda: Figure(figsize=(9.0, 3.0)))
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
    with pytest.raises(UnknownName, match=says), figure_files.figure_formats(**given):
        pass


def test_a_file_without_a_known_ending_is_refused(helix, tmp_path):
    with pytest.raises(UnknownName, match="format of a figure"):
        figure_files.save(plot.errors(helix()), tmp_path / "errors.jpg")


@pytest.fixture
def sheet():
    """Return a paper's figure of two rows and two columns, with legends and names as scripts do."""
    figure, axes = figure_grid(2, 2, 5.0, "left", "right")
    for k, ax in enumerate(axes.flat):
        ax.plot([0.0, 20.0], [0.0, k + 1.0], label="the line that is drawn")
        ax.plot([0.0, 20.0], [1.0, k + 2.0], label="and another one")
    axes[0, 0].set_ylabel("angle [rad]")
    axes[1, 0].set_ylabel("stroke [m]")
    axes[0, 1].legend(ncols=4, loc="center")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=6, loc="outside upper center")
    return figure


def test_panels_of_a_paper_stand_below_each_other_in_a_column(sheet):
    column_layout.refit_width(sheet, style.WIDTHS["column"])
    sheet.draw_without_rendering()
    boxes = [axes.get_position() for axes in sheet.axes]
    assert all(low.y1 < high.y0 for high, low in itertools.pairwise(boxes))
    assert all(box.width > 0.7 for box in boxes)
    assert [axes.get_ylabel() for axes in sheet.axes] == ["angle [rad]"] * 2 + ["stroke [m]"] * 2
    assert [axes.get_title() for axes in sheet.axes] == ["left", "right"] * 2


def test_legends_of_a_paper_fit_into_a_column(sheet):
    column_layout.refit_width(sheet, style.WIDTHS["column"])
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
    column_layout.refit_width(sheet, style.WIDTHS["page"])
    assert [axes.get_subplotspec() for axes in sheet.axes] == before
    assert sheet.get_figwidth() == style.WIDTHS["page"]


def of_panels(rows, columns, high, legends=0):
    """Return a figure of panels in a grid, some of which have a legend."""
    figure, axes = figure_grid(rows, columns, high)
    for k, ax in enumerate(axes.flat):
        ax.plot([0.0, 1.0], [0.0, 1.0], label=f"line {k}")
        if k < legends:
            ax.legend()
    return figure


@pytest.mark.parametrize(
    ("rows", "columns", "high", "legends", "fitted"),
    [
        (1, 1, 2.5, 0, 1.75),  # seven tenths of the height that it had
        (2, 2, 5.0, 0, 4 * 1.75),  # four below each other
        (2, 2, 5.0, 2, 4 * 1.75 + 0.6),
        (1, 2, 1.5, 0, 2 * 1.35),  # a panel is not too low,
        (1, 2, 9.0, 1, 2 * 2.0 + 0.3),  # and not too high
        (5, 1, 12.5, 0, 3 * 1.75),  # five in two columns
        (2, 3, 5.0, 0, 3 * 1.75),
    ],
)
def test_a_narrow_figure_is_as_high_as_its_panels_below_each_other(
    rows, columns, high, legends, fitted
):
    figure = of_panels(rows, columns, high, legends)
    column_layout.refit_width(figure, style.WIDTHS["column"])
    np.testing.assert_allclose(figure.get_size_inches(), [style.WIDTHS["column"], fitted])
    count = rows * columns
    wide = 1 if count <= 4 else 2
    specs = [axes.get_subplotspec() for axes in figure.axes]
    assert [(spec.rowspan.start, spec.colspan.start) for spec in specs] == [
        divmod(k, wide) for k in range(count)
    ]
    assert specs[0].get_gridspec().get_geometry() == (-(-count // wide), wide)


def test_a_figure_whose_panels_stand_in_no_grid_keeps_them():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.0))
    figure.add_axes((0.1, 0.2, 0.5, 0.6))
    column_layout.refit_width(figure, 3.0)
    np.testing.assert_allclose(figure.get_size_inches(), [3.0, 3.0])
    assert figure.axes[0].get_position().bounds == pytest.approx((0.1, 0.2, 0.5, 0.6))
    wide = Figure(figsize=(8.0, 3.0))
    grid = wide.add_gridspec(2, 2)
    wide.add_subplot(grid[0, :])
    assert column_layout._panels(wide) == []
    beside = Figure(figsize=(8.0, 3.0))
    first = beside.add_subplot(1, 2, 2)
    other, twin = beside.add_subplot(1, 2, 1), first.twinx()
    assert column_layout._panels(beside) == [[other], [first, twin]]
    assert column_layout._grid(first) == (1, 2)


def test_a_figure_in_space_has_higher_panels_without_a_layout():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.0))
    for k in (1, 2):
        figure.add_subplot(1, 2, k, projection="3d")
    column_layout.refit_width(figure, style.WIDTHS["column"])
    assert figure.get_figheight() == pytest.approx(2 * 2.6)
    shares = figure.subplotpars
    assert (shares.left, shares.right, shares.bottom, shares.top, shares.hspace) == (
        0.0, 0.9, 0.07, 0.94, 0.2
    )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "room", "columns"),
    [(["ab"] * 3, 1e6, 3), (["ab"] * 3, 1.0, 1), (["abcde"], 1e6, 1)],
)
def test_a_legend_has_as_many_columns_as_there_is_room_for(names, room, columns):
    figure = of_panels(1, 1, 3.0)
    axes = figure.axes[0]
    legend = axes.legend([*axes.lines] * len(names), names)
    handles, told, found = column_layout._parts(legend, room)
    assert (len(handles), told, found) == (len(names), names, columns)
    size = float(style.RC["legend.fontsize"])
    each = size * (0.58 * max(map(len, names)) + 3.4)
    if len(names) > 1:
        for share, count in ((1.99, 1), (2.01, 2)):
            assert column_layout._parts(legend, share * each)[2] == count


@pytest.mark.parametrize(
    ("units", "columns"),
    [(["N m"] * 2, [2]), (["N m", "N"], [1, 1]), (["N m", "N", "V"], [2, 1, 1])],
)
def test_of_an_odd_number_of_inputs_panels_the_first_takes_both_columns(
    units, columns, monkeypatch
):
    names = [f"u{k}" for k in range(len(units))]
    labels = Labels(actuators=names, actuator_units=units, effort_limit=[np.inf] * len(units))
    run = Result.build(
        time=[0.0, 1.0], samples={"u": np.ones((2, len(units)))}, labels=labels,
        status="completed",
    )  # fmt: skip
    drawn = []
    monkeypatch.setattr(
        series.panels, "grid", lambda boxes, **more: drawn.append((boxes, more)) or "a figure"
    )
    assert series.inputs(run) == "a figure"
    ((boxes, more),) = drawn
    assert more == {"height": 2.2}
    assert [box.columns for box in boxes] == columns
    titles = {"N m": "torques", "N": "forces", "V": "inputs"}
    assert [box.title for box in boxes] == [titles[unit] for unit in dict.fromkeys(units)]


def test_the_axis_of_a_rank_counts_in_few_whole_numbers(humanoid):
    figure = series.grip(humanoid)
    axes = next(axes for axes in figure.axes if axes.get_ylabel() == "rank")
    low, high = axes.get_ylim()
    assert (low, high) == (-0.3, 17.3)
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert 3 <= len(ticks) <= 7
    assert all(float(tick).is_integer() for tick in ticks)


def test_what_is_asked_of_figures_holds_for_as_long_as_it_is_asked():
    plain = figure_files._formats
    assert plain == (("png",), None)
    with figure_files.figure_formats(["svg", "pdf", "svg"]):
        assert figure_files._formats == (("svg", "pdf"), None)
        with figure_files.figure_formats(width="column"):
            assert figure_files._formats == (("svg", "pdf"), "column")
            with pytest.raises(KeyError), figure_files.figure_formats(["png"], "page"):  # noqa: PT012
                assert figure_files._formats == (("png",), "page")
                raise KeyError
            assert figure_files._formats == (("svg", "pdf"), "column")
        with figure_files.figure_formats([]):
            assert figure_files._formats == (("svg", "pdf"), None)
    assert figure_files._formats is plain


@pytest.mark.parametrize(
    ("asked", "calls", "kinds"),
    [
        ({}, ["draw", "svg", "png"], {"png": b"png"}),
        ({"formats": ["pdf"]}, ["draw", "svg", "pdf"], {"pdf": b"pdf"}),
        ({"formats": ["svg", "png"], "width": "column"},
         ["draw", "svg", "draw at 3.35", "fit to 3.35", "svg", "png"],
         {"svg": b"svg", "png": b"png"}),
    ],
)  # fmt: skip
def test_a_figure_is_drawn_again_where_another_width_is_asked_for(asked, calls, kinds, monkeypatch):
    done = []

    def note(what, answer=None):
        done.append(what)
        return answer

    def draw():
        wide = style.width()
        return note("draw" if wide == style.WIDTH else f"draw at {wide:.2f}", "a figure")

    monkeypatch.setattr(style, "svg", lambda figure: note("svg", "<svg>"))
    monkeypatch.setattr(
        column_layout, "refit_width", lambda figure, wide: note(f"fit to {wide:.2f}")
    )
    monkeypatch.setattr(
        figure_files, "figure_bytes", lambda figure, form: note(form, form.encode())
    )
    with figure_files.figure_formats(**asked):
        assert figure_files.draw_formats(draw) == ("<svg>", kinds)
    assert done == calls


def test_files_of_a_figure_tell_no_time_and_bring_their_letters_along(tmp_path):
    figure = of_panels(1, 1, 2.0)
    figure.set_size_inches(3.0, 2.0)
    made = {form: figure_files.figure_bytes(figure, form) for form in figure_files.FORMATS}
    assert b"CreationDate" not in made["pdf"]
    text = made["svg"].decode()
    for word in ("<dc:date>", "<dc:creator>", "<dc:format>", "<dc:type"):
        assert word not in text
    ET.fromstring(text)
    assert "<text" not in text  # letters are outlines
    assert imread(io.BytesIO(made["png"])).shape[:2] == (600, 900)  # 300 dots an inch
    path = figure_files.save(figure, tmp_path / "below" / "figure.png")
    assert path.read_bytes() == made["png"]
    with pytest.raises(UnknownName, match="format of a figure"):
        figure_files.figure_bytes(figure, "jpg")


def test_a_figure_as_wide_as_a_page_has_the_pixels_of_a_page(monkeypatch):
    from matplotlib.figure import Figure

    monkeypatch.setattr(style, "png", lambda figure: b"of the page")
    assert figure_files.figure_bytes(Figure(figsize=(style.WIDTH, 2.0)), "png") == b"of the page"
    assert (
        figure_files.figure_bytes(Figure(figsize=(style.WIDTH + 0.1, 2.0)), "png") != b"of the page"
    )
