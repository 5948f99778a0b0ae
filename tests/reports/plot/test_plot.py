"""Figures of any result: they exist when there is something to see, and never overflow."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

from ukctrl.core.errors import UnknownName
from ukctrl.reports import plot
from ukctrl.reports.plot import line_labels, style
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

# Files of fonts that Matplotlib left open in another test may be gathered up in one of these.
pytestmark = pytest.mark.filterwarnings("error", "ignore:unclosed file .*FontPath:ResourceWarning")


def legends(figure):
    return [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]


def test_a_plain_run_has_the_plain_figures(helix):
    assert plot.available(helix()) == ("path", "errors", "inputs", "motion", "signals", "energy")


def test_closures_and_lost_rank_bring_their_own_figures(humanoid):
    assert set(plot.available(humanoid)) >= {"passive", "grip"}


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 401])
def test_every_figure_of_a_run_is_drawn_from_few_samples_or_many(helix, n):
    result = helix(n)
    for name in plot.available(result):
        ET.fromstring(style.svg(plot.draw(result, name)))


@pytest.fixture(name="laid_out", scope="module")
def _laid_out(helix, humanoid):
    """Return every figure of a plain run and of a large robot, by name, laid out."""
    drawn = [
        (name, plot.draw(run, name)) for run in (helix(), humanoid) for name in plot.available(run)
    ]
    for _, figure in drawn:
        figure.draw_without_rendering()
    return drawn


@pytest.mark.slow
def test_no_legend_names_more_than_a_few_of_many_lines(laid_out):
    assert len(laid_out) >= 12
    for _, figure in laid_out:
        for legend in legends(figure):
            assert len(legend.get_texts()) <= line_labels.FULL_LEGEND + 1


@pytest.mark.slow
def test_no_legend_reaches_into_the_title_of_its_panel(laid_out):
    for name, figure in laid_out:
        for axes in figure.axes:
            if axes.get_legend() is not None:
                title = axes.texts[0].get_window_extent()
                assert axes.get_legend().get_window_extent().x0 > title.x1, (name, axes)


@pytest.mark.slow
def test_no_text_is_cut_off_at_the_edges_of_a_figure(laid_out):
    for name, figure in laid_out:
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert drawn.x0 >= -0.02, name
        assert drawn.y0 >= -0.02, name
        assert drawn.x1 <= width + 0.02, name
        assert drawn.y1 <= height + 0.02, name


def test_without_samples_there_is_no_figure(helix):
    assert plot.available(helix(0)) == ()


def test_a_run_that_recorded_nothing_has_no_figure():
    empty = Result.build(time=[0.0, 1.0], samples={}, labels=Labels(), status="completed")
    assert plot.available(empty) == ()


@pytest.mark.slow
def test_what_is_not_finite_or_enormous_is_left_out(helix):
    result = helix(status="diverged")
    arrays = {name: array.copy() for name, array in result.samples.arrays.items()}
    for array in arrays.values():
        array[-1], array[-2], array[-3] = np.nan, np.inf, -1e300
    broken = helix(status="diverged", samples=arrays)
    for name in plot.available(broken):
        style.svg(plot.draw(broken, name))


@pytest.mark.slow
def test_drawing_leaves_the_users_own_settings_alone(helix):
    with matplotlib.rc_context({"lines.linewidth": 7.0}):
        before = dict(matplotlib.rcParams)
        style.png(plot.errors(helix()))
        assert dict(matplotlib.rcParams) == before


@pytest.mark.slow
def test_drawing_needs_no_pyplot():
    script = (
        "import sys\n"
        "from ukctrl import plot\n"
        "from ukctrl.reports.plot import style\n"
        "from ukctrl.simulation.result.result import Labels, Result\n"
        "labels = Labels(rows=['a'], row_units=['m'], row_blocks=['b'])\n"
        "r = Result.build(time=[0, 1], samples={'phi': [[1], [2]]}, labels=labels,"
        " status='completed')\n"
        "assert plot.available(r) == ('errors',)\n"
        "style.png(plot.errors(r))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_an_unknown_figure_is_answered_with_the_nearest_one(helix):
    with pytest.raises(UnknownName, match="no figure named 'paths'; did you mean 'path'"):
        plot.draw(helix(2), "paths")


@pytest.mark.slow
def test_the_same_result_gives_the_same_picture(helix):
    assert style.svg(plot.errors(helix())) == style.svg(plot.errors(helix()))


def test_the_flat_views_of_the_path_have_equal_axes(helix):
    figure = plot.path(helix())
    figure.draw_without_rendering()
    for axes in figure.axes:
        (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
        width, height = axes.get_window_extent().size
        np.testing.assert_allclose((x1 - x0) / width, (y1 - y0) / height, rtol=1e-9)


@pytest.mark.parametrize("size", [0.0, 1e-4, 1.0])
@pytest.mark.parametrize("far", [0.0, 1e6, 1e12, 1e17, 1e60, 9e99])
def test_a_path_is_drawn_however_far_away_it_is(far, size):
    time = np.linspace(0.0, 1.0, 50)
    moved = far + size * np.stack([np.sin(time), np.cos(time), time], axis=1)
    labels = Labels(frames=["tool"])
    samples = {"frame_position": moved[:, None], "phi": np.zeros((50, 0))}
    result = Result.build(time=time, samples=samples, labels=labels, status="completed")
    figure = plot.path(result)
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert np.ptp(axes.get_xlim()) > 0.0
        assert np.ptp(axes.get_ylim()) > 0.0


def test_a_curve_never_leaves_its_panel(helix):
    for axes in plot.inputs(helix()).axes:
        low, high = axes.get_ylim()
        for line in axes.get_lines():
            assert low <= np.min(line.get_ydata())
            assert np.max(line.get_ydata()) <= high


def test_numbers_on_the_axes_of_an_svg_are_not_shortened(rows):
    time = np.linspace(0.0, 0.02, 30)
    result = rows(time, np.sin(300.0 * time))
    assert ">0.0125<" in style.svg(plot.errors(result))


@pytest.mark.slow
def test_colours_of_the_page_replace_those_of_the_figure(helix):
    svg = style.svg(plot.errors(helix()))
    assert "var(--series-0)" in svg
    assert "var(--ink)" in svg
    assert style.PALETTE[0] not in svg
