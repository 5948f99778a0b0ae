"""Panels, and several results in them: names, colours, limits, legends, and thinning."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import area, heading, labels, legend, limits, line, marks, shows, ticks
from scipy.optimize import isotonic_regression

from ukctrl.reports.plot import line_labels, overlay, panels, style
from ukctrl.reports.plot.overlay import QuantileBand
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

T = np.array([0.0, 1.0, 2.0])
NAN = np.nan
DASHES = ("-", "--", "-.", ":")


@pytest.fixture(name="axes")
def _axes():
    return Figure(figsize=(8.0, 3.0)).add_subplot()


# Lines


def test_lines_are_scaled_named_and_coloured_in_order(axes):
    values = np.array([[1.0, 4.0], [2.0, 1e200], [3.0, 6.0]])
    panels.lines(axes, T, values, ["a", "_b"], room=8.0, scale=10.0)
    shows(
        axes,
        line(T, [10.0, 20.0, 30.0], 0, "-", "a"),
        line(T, [40.0, NAN, 60.0], 1, "-", "\u200b_b"),
    )
    assert legend(axes) == [("a", 0, "-"), ("\u200b_b", 1, "-")]


@pytest.mark.parametrize("count", [8, 49])
def test_of_more_lines_than_can_be_named_the_five_liveliest_are_above_the_others(axes, count):
    size = np.array([1.0, 9.0, 2.0, 8.0, 7.0, 3.0, 6.0, 5.0, *([1.0] * 41)])[:count]
    values = np.outer([0.0, 0.5, 1.0], size) + 100.0 * np.arange(count)[::-1]
    values[1, 0] = NAN
    panels.lines(axes, T, values, [f"q{k}" for k in range(count)], room=20.0, scale=2.0)
    named = range(8) if count == 8 else [1, 3, 4, 6, 7]
    faint = [k for k in range(count) if k not in named]
    rest = [line([], [], "faint", "-", "+44")] if faint else []
    shows(
        axes,
        *(line(T, 2.0 * values[:, k], "faint") for k in faint),
        *(line(T, 2.0 * values[:, k], i, "-", f"q{k}") for i, k in enumerate(named)),
        *rest,
    )
    entries = [(f"q{k}", i, "-") for i, k in enumerate(named)]
    assert legend(axes) == entries + ([("+44", "faint", "-")] if faint else [])


def test_of_equally_lively_lines_the_first_are_named_however_they_are_rounded(axes):
    """A line counts as lively as it is, though it has gaps."""
    noise = 1e-12 * np.random.default_rng(3).standard_normal(40)
    values = np.outer([0.0, 1.0, -1.0, NAN, 0.5], 3.0 + noise)
    values[:, 0] *= 0.5
    panels.lines(axes, np.arange(5.0), values, [f"q{k}" for k in range(40)], room=20.0)
    assert [name for name, *_ in legend(axes)] == ["q1", "q2", "q3", "q4", "q5", "+35"]


def test_a_single_sample_is_a_dot(axes):
    panels.lines(axes, T[:1], np.arange(8.0)[None], [f"q{k}" for k in range(8)], room=8.0)
    assert {mark.look for mark in marks(axes)} == {"o"}
    empty = Figure().add_subplot()
    panels.lines(empty, T[:0], np.zeros((0, 8)), [f"q{k}" for k in range(8)], room=8.0)
    assert len(empty.lines) == 8


@pytest.mark.parametrize(("count", "most"), [(1, 2400), (20, 1200), (100, 400)])
def test_many_long_lines_are_thinned_more(axes, count, most):
    time = np.linspace(0.0, 1.0, 10_000)
    values = np.sin(np.outer(time, 3.0 + np.arange(count)))
    panels.lines(axes, time, values, [f"q{k}" for k in range(count)], room=8.0)
    sizes = [len(drawn.get_xdata()) for drawn in axes.lines]
    assert max(sizes) <= most + 2
    assert max(sizes) > 0.5 * most


@pytest.mark.parametrize(
    ("names", "room", "hidden", "columns"),
    [
        (["a", "b", "c"], 3.0, 0, 3),
        (["a", "b", "c"], 1.0, 0, 2),
        (["a", "b"], 3.0, 7, 3),
        (["a"], 0.1, 0, 1),
        (["a", "b", "c", "d"], 0.1, 0, 0),
        (["a", "b", "c", "d", "e"], 1.9, 0, 0),  # two rows of many are hard to search
        (["a", "b" * 20], 1.0, 0, 0),
        ([""], 3.0, 0, 0),
    ],
)
def test_a_legend_names_all_or_leaves_the_names_to_the_ends(axes, names, room, hidden, columns):
    """A name takes 0.068 in a letter and 0.33 in for its line, in two rows at most."""
    for k, name in enumerate(names):
        axes.plot(T, T, color=style.PALETTE[k], label=name)
    line_labels.legend(axes, room, hidden)
    wanted = [(name, k, "-") for k, name in enumerate(names)]
    wanted += [(f"+{hidden}", "faint", "-")] if hidden else []
    assert legend(axes) == (wanted if columns else [])
    if columns:
        assert axes.get_legend()._ncols == columns


def test_names_at_the_ends_have_their_lines_colours_and_keep_clear_of_each_other(axes):
    ends = [1.0, 1.0, 0.0, 0.99]
    for k, end in enumerate(ends):
        axes.plot(T, [0.5, 0.5, end], color=style.PALETTE[k], label=f"joint{k}")
    axes.set_ylim(0.0, 1.0)
    line_labels.label_line_ends(axes, width=4.0, height=2.0)
    assert [text.get_text() for text in axes.texts] == [f"joint{k}" for k in range(4)]
    assert [text.get_color() for text in axes.texts] == list(style.PALETTE[:4])
    at = sorted(text.xyann[1] for text in axes.texts)
    assert np.diff(at).min() >= line_labels.ROW / 2.0 - 1e-12
    assert 0.0 <= at[0] <= at[-1] <= 1.0
    np.testing.assert_allclose([text.xy[1] for text in axes.texts], ends)


def test_a_line_whose_last_value_is_missing_is_named_at_the_last_one_that_is_known(axes):
    for missing in (None, NAN):  # as lists and tables have it
        axes.plot(T, [0.25, 0.75, missing], label=f"up to {missing}")
    axes.plot(T, [None] * 3, label="nowhere")
    axes.set_ylim(0.0, 1.0)
    line_labels.label_line_ends(axes, width=4.0, height=2.0)
    np.testing.assert_allclose([text.xy[1] for text in axes.texts], [0.75, 0.75, 0.0])


def test_places_stay_where_they_are_or_move_apart_by_the_least():
    np.testing.assert_allclose(line_labels.spread_labels([0.2, 0.9, 0.5], 0.1), [0.2, 0.9, 0.5])
    np.testing.assert_allclose(line_labels.spread_labels([0.5, 0.5], 0.1), [0.45, 0.55])
    np.testing.assert_allclose(line_labels.spread_labels([1.0, 1.0, 0.0], 0.2), [0.8, 1.0, 0.0])
    assert line_labels.spread_labels([], 0.1).size == 0


def test_names_are_as_near_to_their_lines_as_least_squares_allow():
    rng = np.random.default_rng(0)
    for size in range(1, 9):
        wanted = np.sort(rng.uniform(0.3, 0.7, size))
        steps = 0.03 * np.arange(size)
        nearest = isotonic_regression(wanted - steps).x + steps
        np.testing.assert_allclose(
            line_labels.spread_labels(wanted, 0.03), nearest, rtol=0.0, atol=1e-14
        )


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, []), (8, [8]), (12, [6, 6]), (36, [7, 7, 8, 7, 7]), (400, [400])]
)
def test_many_lines_go_into_panels_that_can_name_them(count, sizes):
    parts = line_labels.split_columns(range(count))
    assert sorted(map(len, parts)) == sorted(sizes)
    assert [k for part in parts for k in part] == list(range(count))


# Limits and scales


@pytest.mark.parametrize(
    ("values", "beside", "scale", "low", "high"),
    [
        ([1.0, 3.0], [], 1.0, 0.88, 3.12),
        ([1.0, 3.0], [5.0], 1.0, 0.76, 5.24),
        ([1.0, 3.0], [-1.0, 2.0], 1.0, -1.24, 3.24),
        ([1.0, 3.0], [], -2.0, -6.24, -1.76),
        ([[1.0, NAN], [3.0, -1e200]], [], 1.0, 0.88, 3.12),
        ([0.0, 0.0], [], 1.0, -0.56, 0.56),
        ([5.0, 5.0], [], 1.0, 5.0 - 0.0056, 5.0 + 0.0056),
        ([-5.0, -5.0], [], 1.0, -5.0 - 0.0056, -5.0 + 0.0056),
        ([4.999, 5.001], [], 1.0, 5.0 - 0.0056, 5.0 + 0.0056),
        ([1e-15, 0.0], [], 1.0, 5e-16 - 0.56e-12, 5e-16 + 0.56e-12),
        ([NAN], [], 1.0, -0.56, 0.56),
    ],
)
def test_all_that_is_finite_is_seen_and_a_constant_looks_constant(
    axes, values, beside, scale, low, high
):
    panels.fit_y_axis(axes, np.array(values), beside, scale)
    np.testing.assert_allclose(axes.get_ylim(), (low, high), rtol=1e-9)


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize(
    ("values", "beside", "low", "high"),
    [
        ([1e-3, 1.0], [], 1e-3, 10.0),  # a hundredth of the way up from the lowest
        ([2e-3] * 50 + [5.0] * 50, [], 1e-3, 10.0),
        ([1e-9] + [1.0] * 999, [], 0.1, 10.0),
        ([1e-9] + [1.0] * 999, [1e-9], 1e-10, 10.0),
        ([1e-30] * 500 + [1.0], [], 1e-16, 10.0),
        ([-1.0, 0.0, NAN, np.inf, 0.5], [], 0.1, 1.0),
        ([95.0, 95.0], [], 10.0, 1000.0),
        ([2.0, 2.0], [], 1.0, 10.0),
        ([1e-8, 5.0] + [5.0] * 450_000, [], 1.0, 10.0),
    ],
)
def test_decades_hold_the_curves_but_not_their_needle_thin_dips(
    axes, axis, values, beside, low, high
):
    panels.log_scale(axes, np.array(values), beside, axis=axis)
    shown = axes.get_ylim() if axis == "y" else axes.get_xlim()
    np.testing.assert_allclose(shown, (low, high), rtol=1e-9)
    assert labels(axes)[2:] == (("log", "linear") if axis == "x" else ("linear", "log"))
    side = axes.yaxis if axis == "y" else axes.xaxis
    words = ticks(side)
    assert 1 <= len(words) <= 7
    for place, word in words.items():
        assert word == panels.decade(place)
    assert not len(side.get_minorticklocs())


@pytest.mark.parametrize("axis", ["x", "y"])
def test_decades_of_nothing_positive_are_a_zero(axes, axis):
    panels.log_scale(axes, np.array([0.0, -1.0, NAN]), axis=axis)
    side, shown = (axes.yaxis, axes.get_ylim()) if axis == "y" else (axes.xaxis, axes.get_xlim())
    assert ticks(side) == {0.0: "0"}
    assert shown == (-0.5, 0.5)
    assert labels(axes)[2:] == ("linear", "linear")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-9, "10⁻⁹"),
        (1e12, "10¹²"),
        (0.1, "10⁻¹"),
        (100.0, "10²"),
        (1.0, "1"),
        (10.0, "10"),
        (0.0, "0"),
    ],
)
def test_powers_of_ten_are_written_as_such(value, text):
    assert panels.decade(value) == text


@pytest.mark.parametrize(
    ("values", "apart"),
    [
        ([1.0, 20.0], False),
        ([1.0, 20.1], True),
        ([0.0, 100.0], False),
        ([-1.0, 9.0], False),
        ([], False),
    ],
)
def test_values_far_apart_are_positive_and_more_than_a_factor_of_twenty(values, apart):
    assert panels.spans_decades(np.array(values)) is apart


@pytest.mark.parametrize(
    ("name", "limit", "text"),
    [
        ("a  b\nc", 22, "a b c"),
        ("x" * 22, 22, "x" * 22),
        ("x" * 23, 22, "x" * 21 + "…"),
        ("_x", 22, "\u200b_x"),
        ("abc", 2, "a…"),
    ],
)
def test_names_are_short_enough_for_a_legend(name, limit, text):
    assert panels.shorten(name, limit) == text


@pytest.mark.parametrize("n", [2400, 2401, 5000, 100_003])
def test_thinning_keeps_ends_order_and_peaks_of_every_interval(n):
    time = np.arange(float(n))
    values = np.where(np.arange(n) % 97 == 0, time, -time)
    x, y = panels.thin(time, values)
    assert len(x) <= (n if n <= 2400 else 2402)
    assert (x[0], x[-1], y.min(), y.max()) == (0.0, n - 1.0, values.min(), values.max())
    np.testing.assert_array_equal(y, values[x.astype(int)])
    length = -(-n // 1200)
    for k in range(0, n, 50 * length):  # an interval's own extremes
        part, kept = values[k : k + length], y[(x >= k) & (x < k + length)]
        assert (kept.min(), kept.max()) == (part.min(), part.max()) or n <= 2400


def test_corners_are_of_points_that_are_somewhere():
    points = np.array(
        [[[1.0, 2.0, 3.0]], [[NAN, -9.0, 0.0]], [[4.0, 0.0, 1e200]], [[0.0, 5.0, 1.0]]]
    )
    low, high = panels.bounding_box([points])
    np.testing.assert_array_equal([low, high], [[0.0, 2.0, 1.0], [1.0, 5.0, 3.0]])
    assert panels.bounding_box([points[1:3]]) is None
    low, high = panels.bounding_box([points], most=4.0)
    np.testing.assert_array_equal([low, high], [[1.0, 2.0, 3.0]] * 2)
    for ends in ((0.0, 1.0), (1.0, 0.0)):  # more than are looked at together
        many = np.linspace(*ends, 30_003)[:, None, None] * np.ones((1, 1, 3))
        np.testing.assert_array_equal(panels.bounding_box([many]), [[0.0] * 3, [1.0] * 3])


# A grid


def test_a_grid_gives_every_panel_its_heading_its_label_and_room_for_a_legend():
    rooms = []
    drawn = [panels.Panel("ab", lambda axes, room: rooms.append(room), k) for k in (1, 2)]
    figure = panels.grid(drawn, x_label="x [m]")
    assert [heading(axes) for axes in figure.axes] == ["ab", "ab"]
    assert [axes.get_xlabel() for axes in figure.axes] == ["x [m]"] * 2
    widths = [axes.get_position().width * style.WIDTH for axes in figure.axes]
    np.testing.assert_allclose(rooms, np.array(widths) - 0.27)
    assert not figure.legends
    plain = panels.grid(drawn)
    assert {axes.get_xlabel() for axes in plain.axes} == {"time [s]"}


def test_keys_are_drawn_as_what_they_stand_for():
    keys = [
        panels.LegendEntry("curve", style.PALETTE[0], "--"),
        panels.LegendEntry("_mark", style.ALERT, "", "D", hollow=True),
        panels.LegendEntry("n" * 40, style.INK, "", "*"),
    ]
    figure = panels.grid([panels.Panel("", lambda axes, room: None)], keys=keys)
    assert legend(figure) == [
        ("curve", 0, "--"),
        ("\u200b_mark", "alert", "D hollow"),
        ("n" * 33 + "…", "ink", "*"),
    ]


@pytest.mark.parametrize(
    ("count", "letters", "rows"), [(4, 5, 1), (10, 5, 2), (2, 34, 1), (3, 34, 2)]
)
def test_keys_take_as_many_rows_as_their_names_need(count, letters, rows):
    keys = [panels.LegendEntry("n" * letters, style.INK, "-")] * count
    empty = [panels.Panel("", lambda axes, room: None)]
    more = (
        panels.grid(empty, keys=keys).get_size_inches()[1] - panels.grid(empty).get_size_inches()[1]
    )
    assert more == pytest.approx(0.2 * rows)


# Several results


def made(phi, beta=None, u=(0.0, 0.0, 0.0), status="completed", time=T, **changes):
    """Return a run with two servo blocks of a row each, and one motor."""
    names = {
        "rows": ("x", "turn"),
        "row_units": ("m", "rad"),
        "row_blocks": ("tool", "tilt"),
        "actuators": ("u1",),
        "actuator_units": ("N m",),
    }
    u = np.array(u, dtype=float).reshape(len(time), -1)
    phi = np.column_stack([phi, np.zeros(len(time))])
    beta = 10.0 * phi if beta is None else np.column_stack([beta, np.zeros(len(time))])
    samples = {"phi": phi, "beta": beta, "u": u}
    given = Labels(**{**names, **changes})
    return Result.build(time=time, samples=samples, labels=given, status=status)


def test_errors_of_several_results_have_a_panel_for_all_rows_and_for_each_block():
    runs = {"pd": made([1e-3, 0.0, 1e-4]), "servo": made([0.1, 0.2, 0.3])}
    figure = overlay.errors(runs)
    assert [(heading(axes), axes.get_ylabel()) for axes in figure.axes] == [
        ("|φ| of all rows", "error [m, rad]"),
        ("|β| of all rows", "error [m/s, rad/s]"),
        ("|φ| of tool", "error [m]"),
        ("|β| of tool", "error [m/s]"),
        ("|φ| of tilt", "error [rad]"),
        ("|β| of tilt", "error [rad/s]"),
    ]
    assert legend(figure) == [("pd", 0, "-"), ("servo", 1, "--")]
    for k, factor in ((0, 1.0), (1, 10.0), (2, 1.0), (3, 10.0)):
        shows(
            figure.axes[k],
            line(T, factor * np.array([1e-3, 1e-300, 1e-4]), 0),
            line(T, factor * np.array([0.1, 0.2, 0.3]), 1, "--"),
        )
        limits(figure.axes[k], x=(0.0, 2.0), y=np.array([1e-5, 1.0]) * factor)
        assert figure.axes[k].get_yscale() == "log"
    shows(figure.axes[4], line(T, [1e-300] * 3, 0), line(T, [1e-300] * 3, 1, "--"))


@pytest.mark.parametrize(
    ("blocks", "panels_of_blocks"),
    [("a", 0), ("ab", 2), ("abcd", 4), ("abcde", 0)],
)
def test_many_servo_blocks_or_one_have_no_panels_of_their_own(blocks, panels_of_blocks):
    n = len(blocks)
    names = {
        "rows": [f"r{k}" for k in range(n)],
        "row_units": ["m"] * n,
        "row_blocks": list(blocks),
    }
    samples = {"phi": np.ones((3, n)), "beta": np.full((3, n), NAN)}
    run = Result.build(time=T, samples=samples, labels=Labels(**names), status="completed")
    figure = overlay.errors({"one": run})
    assert len(figure.axes) == 1 + panels_of_blocks
    assert heading(figure.axes[0]) == "|φ| of all rows"


def test_a_result_without_a_block_is_missing_from_its_panel_alone():
    other = made([1.0, 1.0, 1.0], row_blocks=("tool", "other"))
    figure = overlay.errors({"first": made([0.1, 0.1, 0.1]), "second": other})
    sizes = {heading(axes): len(axes.lines) for axes in figure.axes}
    assert (sizes["|φ| of tool"], sizes["|φ| of tilt"]) == (2, 1)


def test_of_repeats_the_middle_is_drawn_with_a_band():
    runs = {"pd": made([0.1, 0.1, 0.1]), "servo": made([0.2, 0.2, 0.2])}
    times = np.array([0.0, 2.0])
    spread = QuantileBand(
        times, np.array([0.01, 0.02]), np.array([0.03, 0.04]), np.array([0.05, 1e200])
    )
    bands = {"pd": {"phi": spread, "beta.tool": spread}, "servo": {}}
    figure = overlay.errors(runs, bands)
    band = area([0.0], [0.01], [0.05], 0)
    for k, other in ((0, 0.2), (3, 2.0)):
        shade, middle, plain = marks(figure.axes[k])
        assert (shade.kind, shade.color, shade.look) == ("area", 0, band.look)
        assert middle == line(times, spread.middle, 0)._replace(where=middle.where)
        np.testing.assert_array_equal(middle.where, [times, spread.middle])
        np.testing.assert_array_equal(plain.where, [T, [other] * 3])
    shows(figure.axes[2], line(T, [0.1] * 3, 0), line(T, [0.2] * 3, 1, "--"))


def test_the_band_lies_between_its_ends():
    times = np.array([0.0, 2.0])
    spread = QuantileBand(
        times, np.array([0.01, 0.02]), np.array([0.03, 0.04]), np.array([0.05, 0.06])
    )
    figure = overlay.errors({"pd": made([0.1, 0.1, 0.1])}, {"pd": {"phi": spread}})
    shows(
        figure.axes[0],
        area(times, spread.low, spread.high, 0),
        line(times, spread.middle, 0),
    )


def test_each_input_is_drawn_for_all_results_and_fits_those_that_completed():
    runs = {
        "pd": made([1.0] * 3, u=[1.0, 2.0, 3.0]),
        "gone": made([1.0] * 3, u=[1.0, 2.0, 900.0], status="diverged"),
        "servo": made([1.0] * 3, u=[-1.0, NAN, -3.0], actuators=("other",)),
    }
    figure = overlay.inputs(runs)
    (axes,) = figure.axes
    shows(axes, line(T, [1.0, 2.0, 3.0], 0), line(T, [1.0, 2.0, 900.0], 1, "--"))
    assert (heading(axes), labels(axes)) == ("u1", ("time [s]", "u [N·m]", "linear", "linear"))
    assert legend(figure) == [("pd", 0, "-"), ("gone", 1, "--"), ("servo", 2, "-.")]
    limits(axes, x=(0.0, 2.0), y=(0.88, 3.12))
    assert axes.get_position().width > 0.8


def test_where_none_completed_all_are_seen():
    (axes,) = overlay.inputs({"gone": made([1.0] * 3, u=[1.0, 2.0, 3.0], status="diverged")}).axes
    limits(axes, y=(0.88, 3.12))


@pytest.mark.parametrize(
    ("count", "titles"), [(8, [f"u{k}" for k in range(8)]), (9, ["|u|, all actuators"])]
)
def test_of_many_inputs_their_norm_is_drawn(count, titles):
    u = np.outer([1.0, 2.0, 3.0], np.full(count, 2.0 / 3.0))
    names = {"actuators": [f"u{k}" for k in range(count)], "actuator_units": ["V"] * count}
    figure = overlay.inputs({"pd": made([1.0] * 3, u=u, **names)})
    assert [heading(axes) for axes in figure.axes] == titles
    assert {axes.get_ylabel() for axes in figure.axes} == {"u [V]" if count == 8 else "|u|"}
    size = np.array([2.0, 4.0, 6.0]) if count == 9 else u[:, 0]
    shows(figure.axes[0], line(T, size, 0))
    gone = made([1.0] * 3, u=100.0 * u, status="diverged", **names)
    axes, *_ = overlay.inputs({"pd": made([1.0] * 3, u=u, **names), "gone": gone}).axes
    shows(axes, line(T, size, 0), line(T, 100.0 * size, 1, "--"))
    limits(axes, y=size[1] + 0.56 * (size[2] - size[0]) * np.array([-1.0, 1.0]))


def test_the_ninth_result_has_the_first_colour_again_with_the_first_dash():
    keys = overlay.keys_of([f"c{k}" for k in range(9)])
    assert [key.name for key in keys] == [f"c{k}" for k in range(9)]
    assert [key.color for key in keys] == [style.PALETTE[k % 8] for k in range(9)]
    assert [key.dash for key in keys] == [DASHES[k % 4] for k in range(9)]
