"""Figures of linear analysis: what stands in them, against loops and poles known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import across, labels, legend, limits, line, marks, shows, ticks, upright

from ukctrl.analysis.linear import linear_figures
from ukctrl.analysis.linear.linear_figures import (
    MAX_CURVES,
    LoopCurve,
    RootLocus,
    bode,
    nyquist,
    pole_map,
    root_locus,
)

W = np.array([1.0, 10.0, 100.0, 1000.0])
INTEGRATOR = LoopCurve("u1", W, 10.0 / (1j * W), 10.0)
"""Falls by 20 dB a decade through 0 dB at 10 rad/s, at -90 degrees everywhere."""
NEVER = LoopCurve("u2", W, np.full(4, 0.1j), np.nan)
"""At -20 dB everywhere, 90 degrees ahead."""


def turning(degrees, name="u"):
    """Return a curve of size one with these phases."""
    angle = np.radians(np.array(degrees))
    return LoopCurve(name, np.arange(1.0, len(angle) + 1.0), np.exp(1j * angle), np.nan)


def test_a_bode_plot_shows_size_and_phase_and_where_each_loop_crosses_one():
    figure = bode([INTEGRATOR, NEVER], 500.0)
    size, phase = figure.axes
    shows(
        size,
        line(W, [20.0, 0.0, -20.0, -40.0], 0, "-", "u1"),
        line([10.0], [0.0], 0, "o"),
        line(W, [-20.0] * 4, 1, "--", "u2"),
        across(0.0, "muted"),
        upright(500.0, "muted", "--"),
    )
    shows(
        phase,
        line(W, [-90.0] * 4, 0),
        line([10.0], [-90.0], 0, "o"),
        line(W, [90.0] * 4, 1, "--"),
        upright(500.0, "muted", "--"),
    )
    assert labels(size) == ("", "|L| [dB]", "log", "linear")
    assert labels(phase) == ("frequency [rad/s]", "phase [deg]", "log", "linear")
    assert legend(figure) == [("u1", 0, "-"), ("u2", 1, "--")]
    assert [ticks(phase.xaxis)[place] for place in W] == ["1", "10", "10²", "10³"]
    limits(size, y=(-45.0, 25.0))
    assert size.get_xlim() == phase.get_xlim()
    assert list(ticks(phase.yaxis)) == [-90.0, -45.0, 0.0, 45.0, 90.0]


def test_a_continuous_loop_has_no_frequency_at_which_it_is_sampled():
    for axes in bode([INTEGRATOR], None).axes:
        assert not [mark for mark in marks(axes) if mark.kind == "upright"]


@pytest.mark.parametrize(
    ("gains", "shown"), [((1e-9, 1e-9), (-80.0, -175.0)), ((1e9, 1.0), (-5.0, 100.0))]
)
def test_what_lies_far_from_0_dB_is_not_shown(gains, shown):
    curve = LoopCurve("u", W[:2], np.array(gains, dtype=complex), np.nan)
    limits(bode([curve], None).axes[0], y=shown)


def test_a_loop_that_is_not_a_number_has_axes_of_its_own_and_one_of_size_zero_is_far_below():
    nowhere = LoopCurve("u", W, np.full(4, np.nan + 0j), np.nan)
    assert np.isfinite(bode([nowhere], None).axes[0].get_ylim()).all()
    nothing = LoopCurve("u", W[:2], np.array([1.0, 0.0], dtype=complex), np.nan)
    size, _ = bode([nothing], None).axes
    limits(size, y=(-80.0, 5.0))
    shows(size, line(W[:2], [0.0, -6000.0], 0, "-", "u"), across(0.0, "muted"))


@pytest.mark.parametrize(
    ("degrees", "drawn", "critical"),
    [
        ([0, -120, -240, -360, -480, -600], [0, -120, -240, -360, -480, -600], [-540, -180]),
        ([100, 40, -20], [-260, -320, -380], []),
        ([80, 140, 200, 260], [80, 140, 200, 260], [180]),
        ([-200, -160], [-200, -160], [-180]),
    ],
)
def test_a_phase_goes_on_without_jumps_and_meets_the_lines_at_half_a_turn(degrees, drawn, critical):
    _, phase = bode([turning(degrees)], None).axes
    curve, *lines = marks(phase)
    np.testing.assert_allclose(curve.where[1], drawn, atol=1e-9)
    assert [(mark.where[1][0], mark.color, mark.look) for mark in lines] == [
        (place, "alert", ":") for place in critical
    ]
    apart = 90.0 if np.ptp(drawn) > 400.0 else 45.0
    places = sorted(ticks(phase.yaxis))
    assert set(np.diff(places)) <= {apart}
    assert not np.mod(places, apart).any()


@pytest.mark.parametrize(
    ("begins", "drawn"),
    [
        ([-269.0, 89.0], [-269.0, -271.0]),  # two triple integrators, a little apart
        ([89.0, -269.0, -180.0], [89.0, 91.0, 180.0]),
        ([-90.0, 90.0, -90.0], [-90.0, 90.0, -90.0]),
        ([-180.0, 180.0, 0.0], [-180.0, -180.0, 0.0]),
    ],
)
def test_the_phases_of_several_curves_begin_within_half_a_turn_of_the_first(begins, drawn):
    curves = [turning([degrees, degrees - 5.0], f"u{degrees}") for degrees in begins]
    _, phase = bode(curves, None).axes
    starts = [mark.where[1][0] for mark in marks(phase) if len(mark.where[1]) == 2][: len(begins)]
    np.testing.assert_allclose(starts, drawn, atol=1e-9)


def test_motors_beyond_the_most_share_no_bode_and_no_nyquist_plot():
    many = [turning([-90, -100], name=f"u{k}") for k in range(MAX_CURVES)]
    far = LoopCurve("far", W, np.full(4, 1e4 + 0j), np.nan)
    figure, plane = bode([*many, far], None), nyquist([*many, far])
    entries = [(f"u{k}", k, ("-", "--", "-.", ":")[k % 4]) for k in range(MAX_CURVES)]
    assert legend(figure) == entries == legend(plane.axes[0])
    limits(figure.axes[0], y=(-5.0, 5.0))


def test_a_motor_whose_name_begins_with_an_underscore_is_named():
    curve = INTEGRATOR._replace(name="_m")
    for holder in (bode([curve], None), nyquist([curve]).axes[0]):
        assert legend(holder) == [("\u200b_m", 0, "-")]


def test_a_nyquist_plot_shows_both_halves_and_what_they_keep_away_from():
    values = np.array([-2.0 - 1.0j, -0.5 - 0.5j, 0.25 - 0.1j])
    curves = [LoopCurve("u1", W[:3], values, 1.0), LoopCurve("u2", W[:3], 2.0 * values, 1.0)]
    (axes,) = nyquist(curves).axes
    circle, disk, *rest = marks(axes)
    assert (circle.kind, circle.color, circle.look) == ("circle", "faint", "--")
    assert [each[0] for each in circle.where] == [0.0, 0.0, 1.0]
    # A disk margin of 1/2 is a gain margin of 5/3 both ways: (2 + 1/2) / (2 - 1/2).
    assert (disk.kind, disk.color, disk.look) == ("circle", "alert", "filled")
    np.testing.assert_allclose(np.ravel(disk.where), [-17.0 / 15.0, 0.0, 8.0 / 15.0])
    both = [(k, sign) for k in (0, 1) for sign in (1.0, -1.0)]
    x, y, dashes = values.real, values.imag, ("-", "--")
    wanted = [
        line((k + 1) * x, sign * (k + 1) * y, k, dashes[k], f"u{k + 1}" if sign > 0 else "")
        for k, sign in both
    ]
    wanted.append(line([-1.0], [0.0], "alert", "x"))
    assert [mark._replace(where=()) for mark in rest] == [m._replace(where=()) for m in wanted]
    for mark, other in zip(rest, wanted, strict=True):
        np.testing.assert_allclose(mark.where, other.where)
    assert legend(axes) == [("u1", 0, "-"), ("u2", 1, "--")]
    assert labels(axes) == ("real part", "imaginary part", "linear", "linear")
    assert axes.get_aspect() == 1.0
    limits(axes, x=(-3.0, 1.8), y=(-2.1, 2.1))


PLANT, ZEROS, CLOSED = (
    np.array(values, dtype=complex) for values in ([-1.0 + 4.0j, -1.0 - 4.0j], [2.0], [-3.0, -5.0])
)


@pytest.mark.parametrize(
    ("period", "name"), [(None, "poles of the loop"), (0.01, "poles of the loop, log(z)/T")]
)
def test_a_pole_map_has_the_plant_on_the_left_and_the_loop_on_the_right(period, name):
    left, right = pole_map(PLANT, ZEROS, CLOSED, period).axes
    shows(
        left,
        line([-1.0, -1.0], [4.0, -4.0], 0, "x", "poles of the plant"),
        line([2.0], [0.0], 1, "o hollow", "zeros"),
        upright(0.0, "alert"),
    )
    shows(right, line([-3.0, -5.0], [0.0, 0.0], 2, "x", name), upright(0.0, "alert"))
    assert legend(left) == [("poles of the plant", 0, "x"), ("zeros", 1, "o hollow")]
    assert legend(right) == [(name, 2, "x")]
    for axes in (left, right):
        assert labels(axes)[:2] == ("real part [1/s]", "imaginary part [rad/s]")
        assert axes.axison
    size = np.sqrt(17.0)  # the farthest from the origin gives the room around all
    limits(left, x=(-1.0 - 0.12 * size, 2.0 + 0.12 * size), y=(-4.6, 4.6))
    limits(right, x=(-5.6, 0.6), y=(-1.725, 1.725))


def test_without_a_loop_the_plant_stands_alone_and_without_poles_there_is_an_axis_all_the_same():
    nothing = np.zeros(0, dtype=complex)
    left, right = pole_map(PLANT, nothing, None, None).axes
    shows(
        left, line([-1.0, -1.0], [4.0, -4.0], 0, "x", "poles of the plant"), upright(0.0, "alert")
    )
    assert legend(right) == []
    assert not right.axison
    for poles in (nothing, np.zeros(2, dtype=complex)):
        left, right = pole_map(poles, nothing, nothing, None).axes
        for axes in (left, right):
            limits(axes, x=(-0.12, 0.12), y=(-0.345, 0.345))


def test_a_pole_at_minus_infinity_takes_no_room():
    """The rate of a pole at z = 0."""
    _, right = pole_map(PLANT, ZEROS, np.array([-np.inf, -3.0 + 0j]), 0.01).axes
    limits(right, x=(-3.36, 0.36))


GAINS = np.array([0.5, 1.0, 4.0])


def locus_of(poles):
    """Return the locus of these poles at all gains, those at gain one being as they are."""
    poles = np.array(poles, dtype=complex)
    return RootLocus("u1", GAINS, poles, poles[1])


def test_a_root_locus_goes_on_at_gain_one_from_dashed_to_whole():
    locus = locus_of(
        [[-1.0 + 1.0j, -1.0 - 1.0j], [-1.0 + 2.0j, -1.0 - 2.0j], [-90.0 + 8.0j, -90.0]]
    )
    figure = root_locus(locus, None)
    axes, _ = figure.axes
    zoom = line([-2.3, 0.1, 0.1, -2.3, -2.3], [-2.6, -2.6, 2.6, 2.6, -2.6], "muted", ":")
    shows(
        axes,
        line([-1.0, -1.0], [1.0, 2.0], 0, "--", "less gain, from 0.5"),
        line([-1.0, -1.0], [-1.0, -2.0], 0, "--"),
        line([-1.0, -90.0], [2.0, 8.0], 1, "-", "more gain, up to 4"),
        line([-1.0, -90.0], [-2.0, 0.0], 1, "-"),
        line([-1.0, -1.0], [2.0, -2.0], "ink", "x", "as it is"),
        upright(0.0, "alert"),
        zoom._replace(where=([-3.1, 2.1, 2.1, -3.1, -3.1], zoom.where[1])),
    )
    assert legend(figure) == [
        ("less gain, from 0.5", 0, "--"),
        ("more gain, up to 4", 1, "-"),
        ("as it is", "ink", "x"),
    ]
    assert labels(axes)[:2] == ("real part [1/s]", "imaginary part [rad/s]")
    size = 2.5 * np.sqrt(5.0)  # of the poles as they are: one that runs away makes no room
    limits(axes, x=(-size, 0.4 * size), y=(-2.4, 2.4))


@pytest.mark.parametrize(
    ("poles", "size", "high"),
    [
        ([[-8.0], [-4.0], [-1.0]], 20.0, 3.0),
        ([[-1.0 + 6.0j], [-1.0], [-1.0]], 2.5 * np.sqrt(37.0), 7.2),
        ([[0.0], [0.0], [0.0]], 0.25, 0.0375),
    ],
)
def test_a_root_locus_shows_the_least_gain_and_the_gain_as_it_is(poles, size, high):
    axes, _ = root_locus(locus_of(poles), None).axes
    limits(axes, x=(-size, 0.4 * size), y=(-high, high))


def test_a_sampled_loop_has_the_unit_circle_for_its_border():
    axes, near = root_locus(locus_of([[0.9], [0.5], [-1.2]]), 0.01).axes
    less, more, now, border, frame = marks(axes)
    assert (frame.color, frame.look) == ("muted", ":")
    assert near.get_aspect() == 1.0
    assert (border.color, border.look) == ("alert", "-")
    x, y = border.where
    np.testing.assert_allclose(np.hypot(x, y), 1.0)
    assert (np.abs(np.diff(np.unwrap(np.arctan2(y, x))).sum()), len(x) > 100) == (
        pytest.approx(2.0 * np.pi),
        True,
    )
    np.testing.assert_array_equal(less.where[0], [0.9, 0.5])
    np.testing.assert_array_equal(more.where[0], [0.5, -1.2])
    np.testing.assert_array_equal(now.where[0], [0.5])
    assert labels(axes)[:2] == ("real part of z", "imaginary part of z")
    assert axes.get_aspect() == 1.0
    limits(axes, x=(-1.3, 1.3), y=(-1.3, 1.3))


def test_a_zoom_shows_the_slow_poles_with_the_border_and_tells_them_apart():
    """Poles faster than the others by more than a factor of four are left to the whole picture."""
    slow = [0.99 + 0.004j, 0.99 - 0.004j, 0.99 + 0.004j, 0.99 - 0.004j, 0.995]
    locus = locus_of([[*slow, 0.5]] * 3)
    _, near = root_locus(locus, 0.01).axes
    (left, right), (low, high) = near.get_xlim(), near.get_ylim()
    assert 0.9 < left < 0.99
    assert 1.0 < right < 1.1
    assert right - left == pytest.approx(high - low)
    assert [text.get_text() for text in near.texts[1:]] == ["|z| = 0.9950", "|z| = 0.9900, 2×"]
    _, near = root_locus(locus_of([[-2.0 + 1.0j, -2.0 - 1.0j, -1.0, -70.0]] * 3), None).axes
    assert near.get_xlim()[0] > -10.0
    assert [text.get_text() for text in near.texts[1:]] == ["-1", "-2 ± 1i"]


def test_of_poles_that_are_as_slow_those_are_told_that_come_first():
    """Sixty poles, half as slow as the others, in an order of their own."""
    order = np.random.default_rng(0).permutation(60)
    poles = np.where(order < 30, -1.0, -2.0) + 1j * np.linspace(0.5, 60.0, 60)
    axes = Figure().subplots()
    axes.set(xlim=(-3.0, 1.0), ylim=(-61.0, 61.0))
    linear_figures._label_poles(axes, poles, sampled=False)
    slow = poles[order < 30]
    wanted = []
    for pole in slow:
        if all(abs(pole - other) >= linear_figures.LABEL_MERGE * 122.0 for other in wanted):
            wanted.append(pole)
    told = [complex(*each.xy) for each in axes.texts]
    assert told == wanted[: linear_figures.MAX_LABELS]
