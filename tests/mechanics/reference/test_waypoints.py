"""Paths through waypoints pass them smoothly and with least jerk; tables name their faults."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from scipy.interpolate import CubicSpline

from ukctrl.mechanics.reference import AnyReference, MinJerk, Spline, Table

EXACT = {"rtol": 1e-10, "atol": 1e-10}
BESIDE = 1e-9  # time beside a waypoint [s]
CONTINUOUS = {"rtol": 1e-6, "atol": 1e-6}  # change of a smooth function over 2 BESIDE

TIMES = (0.5, 1.0, 2.2, 3.0, 3.7)
POINTS = ((0.0, 1.0), (1.0, -1.0), (0.5, 2.0), (2.0, 0.0), (0.0, 1.0))
KINDS = {
    "min_jerk stop": MinJerk(points=POINTS, times=TIMES),
    "min_jerk pass": MinJerk(points=POINTS, times=TIMES, via="pass"),
    **{
        f"{degree} {ends}": Spline(points=POINTS, times=TIMES, degree=degree, ends=ends)
        for degree in ("cubic", "quintic")
        for ends in ("rest", "natural")
    },
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def path(request):
    return request.param


def test_the_path_passes_its_waypoints(path):
    np.testing.assert_allclose(path.sample(TIMES).r, POINTS, **EXACT)


def test_value_velocity_and_acceleration_are_continuous_at_the_inner_waypoints(path):
    inner = np.array(TIMES[1:-1])
    before, after = path.sample(inner - BESIDE), path.sample(inner + BESIDE)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, **CONTINUOUS)


@pytest.mark.parametrize("kind", ["min_jerk stop", "min_jerk pass", "quintic rest"])
def test_velocity_and_acceleration_vanish_at_both_ends(kind):
    ends = KINDS[kind].sample([TIMES[0], TIMES[-1]])
    np.testing.assert_allclose(ends.r_dot, 0.0, **EXACT)
    np.testing.assert_allclose(ends.r_ddot, 0.0, atol=1e-9)


def test_stopping_min_jerk_rests_at_every_waypoint():
    sample = KINDS["min_jerk stop"].sample(TIMES)
    np.testing.assert_allclose(sample.r_dot, 0.0, **EXACT)
    np.testing.assert_allclose(sample.r_ddot, 0.0, **EXACT)


def test_min_jerk_equals_its_closed_form():
    path = MinJerk(points=(2.0, 5.0), duration=4.0)
    t = np.linspace(0.0, 4.0, 9)
    s = t / 4.0
    np.testing.assert_allclose(
        path.sample(t).r[:, 0], 2.0 + 3.0 * (10 * s**3 - 15 * s**4 + 6 * s**5), **EXACT
    )
    np.testing.assert_allclose(path(2.0).r_dot, 15.0 / 8.0 * 3.0 / 4.0, **EXACT)


def jerk_integral(times, values):
    """Return the integral of the squared third difference of dense samples."""
    step = times[1] - times[0]
    return np.sum((np.diff(values, 3) / step**3) ** 2) * step


@pytest.mark.parametrize("seed", range(5))
def test_no_other_path_through_the_waypoints_has_less_jerk(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal(4)
    knots = (0.0, 1.0, 1.6, 3.0)
    path = MinJerk(points=points, times=knots, via="pass")
    t = np.linspace(0.0, 3.0, 3001)
    best = path.sample(t).r[:, 0]
    # any change that keeps the waypoints, and rest at both ends
    change = np.prod([t - knot for knot in knots], axis=0) * (t * (t - 3.0)) ** 2
    change *= np.polynomial.Polynomial(rng.standard_normal(3))(t)
    for size in (-1e-2, 1e-2, 1.0):
        assert jerk_integral(t, best) < jerk_integral(t, best + size * change)


def test_stopping_costs_more_jerk_than_passing():
    t = np.linspace(0.5, 3.7, 3001)
    stop, through = (KINDS[f"min_jerk {via}"].sample(t).r[:, 0] for via in ("stop", "pass"))
    assert jerk_integral(t, through) < jerk_integral(t, stop)


@pytest.mark.parametrize(("ends", "scipys"), [("rest", "clamped"), ("natural", "natural")])
def test_a_cubic_spline_equals_scipys(ends, scipys):
    expected = CubicSpline(TIMES, POINTS, bc_type=scipys)
    t = np.linspace(TIMES[0], TIMES[-1], 50)
    for order, got in enumerate(Spline(points=POINTS, times=TIMES, ends=ends).sample(t)):
        np.testing.assert_allclose(got, expected(t, nu=order), **EXACT)


@pytest.mark.parametrize(
    ("ends", "polynomial"),
    [
        ("rest", [0.0, 0.0, 0.0, 10.0, -15.0, 6.0]),  # at rest at 0 and at 1
        ("natural", [1.0, -2.0, 3.0]),  # no third and fourth derivative
    ],
)
def test_a_quintic_spline_reproduces_the_polynomial_that_meets_its_end_conditions(ends, polynomial):
    expected = np.polynomial.Polynomial(polynomial)
    knots = (0.0, 0.1, 0.35, 0.7, 1.0)
    path = Spline(points=expected(np.array(knots)), times=knots, degree="quintic", ends=ends)
    t = np.linspace(0.0, 1.0, 21)
    for order, got in enumerate(path.sample(t)):
        np.testing.assert_allclose(got[:, 0], expected.deriv(order)(t), atol=1e-9)


@pytest.mark.parametrize("degree", ["cubic", "quintic"])
def test_a_periodic_spline_goes_round_for_ever_and_closes_smoothly(degree):
    points = [(np.cos(a), np.sin(a)) for a in np.linspace(0.0, 2.0 * np.pi, 9)]
    path = Spline(points=points, times=np.linspace(1.0, 3.0, 9), degree=degree, ends="periodic")
    for t in (1.0, 1.3, 2.9):
        for one, other in zip(path(t), path(t + 6.0), strict=True):
            np.testing.assert_allclose(one, other, **EXACT)
    for one, other in zip(path(3.0 - BESIDE), path(3.0 + BESIDE), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(path(-0.5).r, path(1.5).r, **EXACT)


def test_evenly_spaced_waypoints_need_only_a_duration():
    by_duration = Spline(points=POINTS, duration=2.0)
    by_times = Spline(points=POINTS, times=(0.0, 0.5, 1.0, 1.5, 2.0))
    np.testing.assert_array_equal(by_duration(0.7), by_times(0.7))


def write(folder, text):
    (folder / "path.csv").write_text(text, encoding="utf-8")
    return {"kind": "table", "file": "path.csv"}


def load(spec, folder):
    return TypeAdapter(AnyReference).validate_python(spec, context={"base": folder})


def test_a_table_is_the_spline_through_its_rows(tmp_path):
    text = "# measured\nx, t, y\n" + "".join(
        f"{x}, {t}, {y}\n" for t, (x, y) in zip(TIMES, POINTS, strict=True)
    )
    spec = write(tmp_path, text + "\n")
    t = np.linspace(0.0, 4.0, 20)
    expected = Spline(points=POINTS, times=TIMES, degree="quintic").sample(t)
    for one, other in zip(
        load({**spec, "degree": "quintic"}, tmp_path).sample(t), expected, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    swapped = load({**spec, "columns": ["y", "x"], "degree": "quintic"}, tmp_path).sample(t)
    np.testing.assert_array_equal(swapped.r, expected.r[:, ::-1])


def test_a_table_written_by_a_spreadsheet_is_read(tmp_path):
    (tmp_path / "path.csv").write_bytes(b'\xef\xbb\xbf"time [s]","x"\r\n0,1\r\n1,2\r\n')
    path = Table(file=tmp_path / "path.csv", time="time [s]")
    assert path.size == 1
    np.testing.assert_allclose(path.sample([0.0, 1.0]).r, [[1.0], [2.0]], **EXACT)


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("t,x\n0,1\n1,a\n", {}, "path.csv, line 3, column 'x': must be a finite number; got 'a'."),
        ("t,x\n0,1\n\n1,nan\n", {}, "path.csv, line 4, column 'x': must be a finite number"),
        ("t,x\n0,1\n1,\n", {}, "path.csv, line 3, column 'x': must be a finite number; got ''."),
        ("t,x\n0,1\n1,inf\n", {}, "must be a finite number; got 'inf'."),
        ("t,x\n0,1\n1\n", {}, "path.csv, line 3: must have 2 values, as the header; got 1."),
        ("t,x\n0,1\n0,2\n", {}, "path.csv, line 3: 't' must increase; got 0 after 0."),
        ("t,x\n0,1\n1,2\n0.5,3\n", {}, "path.csv, line 4: 't' must increase; got 0.5 after 1."),
        ("time,x\n0,1\n1,2\n", {}, "path.csv: no column named 't'"),
        ("t,xx\n0,1\n1,2\n", {"columns": ["xy"]}, "no column named 'xy'. Known: t, xx."),
        ("t,pos_x\n0,1\n1,2\n", {"columns": ["pos_y"]}, "did you mean 'pos_x'?"),
        ("t,x,x\n0,1,1\n1,2,2\n", {}, "path.csv: column 'x' appears twice in the header."),
        ("t\n0\n1\n", {}, "path.csv must have a column beside 't'."),
        ("t,x\n0,1\n", {}, "path.csv must have a header and at least two rows of numbers."),
        ("", {}, "path.csv must have a header and at least two rows of numbers."),
        ('t,x\n0,"1\n', {}, "path.csv must be comma-separated text"),
        ("t,x\n0,1\n1,2\n", {"ends": "periodic"}, "a periodic cubic spline must have at least 3"),
        ("t,x\n0,1\n1,2\n2,3\n", {"ends": "periodic"}, "needs a last point that repeats the first"),
    ],
)
def test_a_faulty_table_is_refused_with_file_and_line(tmp_path, text, more, message):
    with pytest.raises(ValidationError) as caught:
        load({**write(tmp_path, text), **more}, tmp_path)
    (error,) = caught.value.errors()
    assert message in error["msg"]
    assert "\n" not in error["msg"]


def test_a_table_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "path.csv").write_bytes(b"\xff\xfe\x00\x01" * 10)
    with pytest.raises(ValidationError, match="must be text in UTF-8"):
        load({"kind": "table", "file": "path.csv"}, tmp_path)


@pytest.mark.parametrize("kind", ["min_jerk", "spline"])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"points": [0, 1]}, "must have either times or duration."),
        ({"points": [0, 1], "times": [0, 1], "duration": 1}, "must have either times or duration."),
        (
            {"points": [0, 1], "times": [0, 1, 2]},
            "times must be as many as the waypoints, 2; got 3.",
        ),
        ({"points": [0, 1], "times": [1, 1]}, "times must increase; got 1 after 1 at place 1."),
        (
            {"points": [0, 1, 2], "times": [0, 2, 1]},
            "times must increase; got 1 after 2 at place 2.",
        ),
        ({"points": [0], "times": [0]}, "must be a list of at least 2; got 1."),
        (
            {"points": [[0], [1, 2]], "duration": 1},
            "must have points of one size; point 1 has size 1, point 2 size 2.",
        ),
        ({"points": [0, 1], "duration": 0}, "must be positive; got 0.0."),
    ],
)
def test_degenerate_waypoints_are_refused(kind, fields, message):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(AnyReference).validate_python({"kind": kind, **fields})
    assert message in caught.value.errors()[0]["msg"]
