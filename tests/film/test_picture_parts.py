"""Parts of a picture and of a film: words, strokes, arrows, sizes and times, worked out by hand."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest

from tests.shared.plain_look import PlainLook
from ukctrl.core.errors import InputError
from ukctrl.reports import html_page
from ukctrl.reports.plot import path_views, style
from ukctrl.reports.scene import arrow_shapes
from ukctrl.reports.scene.scene import Actor, Arrow, Scene, SceneCurve
from ukctrl.reports.visual.visual_model import Poses, VisualPart
from ukctrl.robot.geometry import primitive_meshes
from ukctrl_film import camera, captions, film, scene_renderer, strokes, triangle_set
from ukctrl_film.camera import Camera
from ukctrl_film.scene_renderer import SceneRenderer, checked_size, round_step
from ukctrl_film.triangle_set import linear_rgb

FRONT = Camera.parse("front")


def scene(*actors, time=(0.0, 1.0, 2.0), title="A scene", arrows=(), curves=()):
    return Scene(
        title=title, time=np.array(time), actors=actors, arrows=tuple(arrows), curves=tuple(curves),
        low=np.full(3, -1.0), high=np.full(3, 1.0), ground=None,
    )  # fmt: skip


def actor(name="a", color="", count=3, text="", place=(0.0, 0.0, 0.0)):
    parts = (VisualPart(name="p", mesh=primitive_meshes.box(0.1, 0.1, 0.1), frame=0, text=text),)
    poses = Poses(
        np.tile(np.array(place), (count, 1, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1, 1)),
        np.ones((count, 1)),
    )  # fmt: skip
    look = PlainLook(parts=parts, frame_names=("world",), robot=None)
    return Actor(name=name, visuals=look, poses=poses, color=color)


def arrow(*vectors, unit="N", group="inputs", name="u", limited=(False,)):
    return Arrow(
        name=name, tail=np.zeros((len(vectors), 3)), vector=np.array(vectors, dtype=float),
        unit=unit, group=group, limited=np.array(limited),
    )  # fmt: skip


# Sizes and times


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(1.0, 1.0), (1.49, 1.0), (1.5, 2.0), (3.49, 2.0), (3.5, 5.0), (7.49, 5.0), (7.5, 10.0),
     (9.9, 10.0)],
)  # fmt: skip
@pytest.mark.parametrize("power", [1e-3, 1.0, 100.0])
def test_squares_of_a_floor_are_1_2_or_5_times_a_power_of_ten(value, rounded, power):
    assert round_step(value * power) == pytest.approx(rounded * power)


@pytest.mark.parametrize(
    ("size", "fits"),
    [((16, 16), True), ((15, 16), False), ((16, 15), False), ((4096, 16), True),
     ((4097, 16), False), ((4000, 2500), True), ((4000, 2501), False)],
)  # fmt: skip
def test_a_picture_has_from_16_to_4096_points_a_side_and_ten_million_in_all(size, fits):
    if fits:
        assert checked_size(size) == size
        return
    with pytest.raises(InputError) as refused:
        checked_size(size)
    assert str(refused.value) == (
        "a picture must be 16 to 4096 points wide and high, and have at most 1e+07 in all; "
        f"got {size[0]} x {size[1]}."
    )


@pytest.mark.parametrize(
    ("span", "fps", "speed", "count", "last"),
    [(2.0, 10.0, 1.0, 21, 2.0), (2.0, 10.0, 2.0, 11, 2.0), (2.0, 3.0, 1.0, 7, 2.0),
     (0.3, 10.0, 1.0, 4, 0.3), (0.35, 10.0, 1.0, 4, 0.3), (2.0, 0.1, 1.0, 1, 0.0),
     (2.0, 240.0, 480.0, 2, 2.0)],
)  # fmt: skip
def test_times_of_a_film_are_even_and_end_with_the_scene_or_just_before(
    span, fps, speed, count, last
):
    times = film.film_times(scene(time=(5.0, 5.0 + span)), fps, speed)
    assert len(times) == count
    np.testing.assert_allclose(times, 5.0 + np.arange(count) * speed / fps, atol=1e-9)
    assert times[-1] == pytest.approx(5.0 + last)
    assert times[-1] <= 5.0 + span


@pytest.mark.parametrize(
    ("time", "fps", "speed", "told"),
    [
        ((0.0, 1.0), 0.09, 1.0, "a film has 0.1 to 240 pictures a second; got 0.09."),
        ((0.0, 1.0), 241.0, 1.0, "a film has 0.1 to 240 pictures a second; got 241."),
        ((0.0, 1.0), np.nan, 1.0, "a film has 0.1 to 240 pictures a second; got nan."),
        ((0.0, 1.0), 9.0, 0.9e-6,
         "the speed of a film must lie between 1e-06 and 1e+06; got 9e-07."),
        ((0.0, 1.0), 9.0, 2e6, "the speed of a film must lie between 1e-06 and 1e+06; got 2e+06."),
        ((1.0, 1.0), 9.0, 1.0, "nothing moves in this scene; ask for a picture, such as '.png'."),
        ((0.0, 1e6), 10.0, 1.0, "a film of 10000001 pictures is too long; ask for a higher speed."),
    ],
)  # fmt: skip
def test_films_that_cannot_be_are_refused(time, fps, speed, told):
    with pytest.raises(InputError) as refused:
        film.film_times(scene(time=time), fps, speed)
    assert str(refused.value) == told


@pytest.mark.parametrize(("count", "times"), [(1, [9.0]), (2, [1.0, 9.0]), (5, [1, 3, 5, 7, 9])])
def test_poses_of_a_strip_are_spread_over_the_time(count, times):
    np.testing.assert_allclose(film._spread(scene(time=(1.0, 2.0, 9.0)), count), times)


@pytest.mark.parametrize(
    ("times", "opacities"), [([0.0], []), ([0.0, 2.0], [0.2]), ([0.0, 0.5, 1.0, 2.0], [0, 1, 2])]
)
def test_earlier_poses_are_paler(times, opacities, monkeypatch):
    painter, seen = SceneRenderer(scene(actor()), (32, 16), FRONT), []
    monkeypatch.setattr(painter, "_blend", lambda *given: seen.append(given[-1]))
    painter.draw(times)
    wanted = [0.2 + 0.55 * k / len(times) for k in range(len(opacities))]
    assert seen == pytest.approx(wanted)


def test_a_picture_is_seen_and_lit_as_in_the_page():
    script = (html_page.TEMPLATES / "scene.js").read_text(encoding="utf-8")
    numbers = dict(re.findall(r"\b([A-Z_]+) = ([\d.]+)[,;]", script))
    for name, ours in (
        ("FIELD", camera.FIELD), ("CREASE", triangle_set.CREASE), ("FULL_TURN",
        arrow_shapes.FULL_TURN)
    ):  # fmt: skip
        assert float(numbers[name]) == ours
    sun = re.search(r"sun\.position\.copy\(new Vector3\(([^)]*)\)", script)[1]
    assert tuple(map(float, sun.split(","))) == scene_renderer.SUN
    looks = (html_page.TEMPLATES / "page.css").read_text(encoding="utf-8")
    assert f"--squares: {scene_renderer.SQUARES};" in looks


def test_views_of_a_path_lie_within_the_figure_beside_each_other():
    for places in (path_views.SIDE_BY_SIDE, path_views.STACKED):
        for left, bottom, width, height in places:
            assert 0.0 <= left < left + width <= 1.0
            assert 0.0 <= bottom < bottom + height <= 1.0
            assert min(width, height) > 0.2
        for one, other in itertools.combinations(places, 2):
            apart = [
                one[k] + one[k + 2] <= other[k] or other[k] + other[k + 2] <= one[k] for k in (0, 1)
            ]
            assert any(apart)


# Words


@pytest.mark.parametrize(
    ("time", "speed", "text"),
    [
        ((0.0, 20.0), 1.0, "1.2 s"),
        ((5.0, 6.0), 1.0, "1.23 s"),
        ((0.0, 0.5), 1.0, "1.235 s"),
        ((0.0, 1e4), 1.0, "1.2 s"),
        ((0.0, 1e-8), 1.0, "1.234568 s"),
        ((1.0, 1.0), 1.0, "1.23 s"),
        ((0.0, 1.0), 0.25, "1.23 s    0.25 x"),
        ((0.0, 1.0), 1234.5, "1.23 s    1.23e+03 x"),
        ((0.0,), 1.0, ""),
    ],
)
def test_the_clock_has_the_digits_that_move(time, speed, text):
    assert captions.clock_text(scene(time=time), 1.2345678, speed) == text


def test_a_text_that_is_too_wide_ends_with_dots():
    letters = captions.font(12)
    text = "one two three four five"
    assert captions._fit_text(text, 12.2, letters.getlength(text)) == text
    for room in (40.0, 60.0, 90.0):
        short = captions._fit_text(text, 12.0, room)
        assert short.endswith("…")
        kept = short[:-1]
        assert text.startswith(kept)
        assert letters.getlength(short) <= room
        longer = text[: len(kept) + 1] if text[len(kept)] != " " else text[: len(kept) + 2]
        assert letters.getlength(longer + "…") > room
    assert captions._fit_text("a\x00b\n  c", 12.0, 1e3) == "a b c"
    assert captions._fit_text("i" * 500, 12.0, 1e6) == "i" * 400
    assert captions._fit_text("wide", 12.0, 0.0) == "…"


def told(shown, size, time=0.0, clock="", show=()):
    return captions.captions(SceneRenderer(shown, size, FRONT, show=show), time, clock)


def test_a_title_stands_above_and_the_clock_below():
    size = 640.0 / 32.0
    edge = 0.9 * size
    title, clock = sorted(told(scene(actor()), (800, 640), clock="1 s"), key=lambda one: one.down)
    assert title == captions.Caption("A scene", edge, edge, size, style.INK, "la")
    assert clock == captions.Caption("1 s", edge, 640.0 - edge, size, style.MUTED, "ls")
    small = told(scene(actor()), (359, 300), clock="1 s")
    assert small == [captions.Caption("1 s", 9.9, 300.0 - 9.9, 11.0, style.MUTED, "ls")]
    assert [word.text for word in told(scene(actor()), (360, 300))] == ["A scene"]
    long = told(scene(actor(), title="w" * 300), (800, 640))[0].text
    room = 800 - 2.0 * edge
    assert captions.font(20).getlength(long) <= room < captions.font(20).getlength(long + "ww")


def test_names_have_their_colours_below_each_other_and_are_no_more_than_eight():
    several = [actor(name=f"law{k}", color="#123456") for k in range(10)]
    found = [word for word in told(scene(actor(), *several), (800, 640)) if "●" in word.text]
    size = 20.0
    assert [word.text for word in found] == [f"● law{k}" for k in range(8)]
    assert {word.color for word in found} == {"#123456"}
    assert {(word.size, word.anchor, word.right) for word in found} == {(18.0, "la", 18.0)}
    rows = [18.0 + (k + 1.6) * 1.35 * size for k in range(8)]
    assert [word.down for word in found] == pytest.approx(rows)
    pushed = scene(actor(), arrows=[arrow([1.0, 0, 0])], time=(0.0,))
    groups = told(pushed, (800, 640), show=("inputs",))
    assert [(word.text, word.color) for word in groups[1:]] == [
        ("● inputs", arrow_shapes.COLORS["inputs"])
    ]


def test_inputs_at_their_limits_and_feet_that_slide_are_named_below_each_other():
    vectors, size = ([1.0, 0, 0],) * 3, 20.0
    arrows = [
        arrow(*vectors, name="m1", limited=(False, True, False)),
        arrow(*vectors, name="m2", limited=(True,)),
        arrow(*vectors, name="foot", group="reactions", limited=(False, True, True)),
    ]
    shown = scene(actor(), arrows=arrows)
    for time, lines in (
        (0.5, ["at its limit: m2"]),
        (1.0, ["at its limit: m1, m2", "slides: foot"]),
        (2.0, ["at its limit: m2", "slides: foot"]),
    ):
        words = told(shown, (800, 640), time, show=("inputs", "reactions"))
        found = [word for word in words if word.color == style.ALERT]
        assert [word.text for word in found] == lines
        assert {(word.right, word.anchor, word.size) for word in found} == {(782.0, "rs", size)}
        downs = [640.0 - 18.0 - 1.35 * size * k for k in range(len(lines))]
        assert [word.down for word in found] == pytest.approx(downs)
    alone = told(shown, (800, 640), 1.0, show=("reactions",))
    assert [word.text for word in alone if word.color == style.ALERT] == ["slides: foot"]


def test_what_parts_have_written_on_them_stands_where_they_are():
    here, away = actor(text="M", place=(0.2, 0.0, 0.3)), actor(text="gone", place=(0, -1e3, 0))
    painter = SceneRenderer(scene(here, away, actor()), (320, 200), FRONT)
    (word,) = captions.captions(painter, 0.0, "")
    right, down, _ = painter.points(np.array([[0.2, 0.0, 0.3]]))[0]
    assert word == captions.Caption("M", right, down, pytest.approx(9.9), style.INK, "mm")


# Strokes


@pytest.fixture(name="sheet")
def _sheet(monkeypatch):
    """Return a sheet whose points are those of the world, and what is covered and blended on it."""
    covered, blended = [], []
    monkeypatch.setattr(
        strokes.raster_kernels, "line_coverage", lambda *given: covered.append(given[:5])
    )
    monkeypatch.setattr(
        strokes.light_kernels, "blend_line", lambda part, *given: blended.append(given[:2])
    )
    plain = SimpleNamespace(focal=100.0)
    sheet = SimpleNamespace(
        scene=scene(), plain=plain, height=450, extent=2.0, finer=2,
        points=lambda world: np.array(world, dtype=float),
    )  # fmt: skip
    canvas = SimpleNamespace(depth="depth", layer=np.ones((2, 2)), coverage="part", light="light")
    return sheet, canvas, covered, blended


@pytest.mark.parametrize("kind", ["trail", "reference"])
def test_a_trail_is_drawn_to_its_dot_and_a_reference_whole(kind, sheet):
    sheet, canvas, covered, blended = sheet
    points = np.array([[0.0, 0, 1], [2.0, 0, 1], [4.0, 4, 1]])
    line = strokes.CurveStroke(
        SceneCurve(name="c", points=points, kind=kind, color="#ff0000", group="robot"), sheet
    )
    line.draw(1.5, canvas, sheet)
    (places, wide, least, finer, depth), (dot, radius, dot_least, *_) = covered
    trail = kind == "trail"
    np.testing.assert_allclose(places, [*points[:2], [3.0, 2.0, 1.0]] if trail else points)
    np.testing.assert_allclose(dot, [[3.0, 2.0, 1e3 if trail else 1.0]])
    assert wide == pytest.approx((0.0032 if trail else 0.0085) * 200.0)
    assert radius == pytest.approx(0.009 * 200.0 / 1e3 if trail else 0.0125 * 200.0)
    assert (least, dot_least) == pytest.approx((0.45, 1.1))  # at half of 900 points
    assert (finer, depth) == (2, "depth")
    ((opacity, color),) = blended
    assert opacity == (1.0 if trail else 0.3)
    np.testing.assert_array_equal(color, linear_rgb("#ff0000"))


@pytest.mark.parametrize(("share", "head"), [(1.0, 1.0), (0.2, 1.0), (0.1, 0.7), (0.05, 0.5)])
def test_the_head_of_a_small_arrow_is_smaller_but_never_gone(share, head, sheet):
    sheet, canvas, covered, blended = sheet
    pushed = arrow([0, 0, 4.0 * share], [0, 0, 4.0], [0, 0, 4.0], limited=(True, False, False))
    stroke = strokes.ArrowStroke(pushed, sheet, {("inputs", "N"): 4.0})
    stroke.draw(0.0, canvas, sheet)
    thick, size = arrow_shapes.THICK * 2.0, arrow_shapes.HEAD * 2.0
    (shaft, wide, least, *_), *cone = covered
    tip = 2.0 * arrow_shapes.LONGEST * share
    np.testing.assert_allclose(shaft, [[0, 0, 0], [0, 0, tip]])
    assert (wide, least) == pytest.approx((thick * 100.0, 0.25))
    assert len(cone) == strokes.CONE == 12
    for k, (piece, radius, *_) in enumerate(cone):
        heights = tip + head * size * np.array([k, k + 1]) / 12.0
        np.testing.assert_allclose(piece[:, 2], heights)
        assert radius == pytest.approx(2.6 * thick * head * (1.0 - k / 12.0) * 100.0)
    assert not canvas.layer.any()  # nothing is in front of it
    ((opacity, color),) = blended
    assert opacity == 1.0
    np.testing.assert_array_equal(color, linear_rgb(arrow_shapes.AT_LIMIT))
    stroke.draw(1.0, canvas, sheet)
    np.testing.assert_array_equal(blended[1][1], linear_rgb(arrow_shapes.COLORS["inputs"]))


def test_what_is_no_force_is_not_drawn(sheet):
    sheet, canvas, covered, blended = sheet
    nothing = strokes.ArrowStroke(arrow(*[[0.0, 0, 0]] * 3), sheet, {("inputs", "N"): 4.0})
    nothing.draw(0.0, canvas, sheet)
    assert (covered, blended) == ([], [])
    assert canvas.layer.all()


# Arrows


@pytest.mark.parametrize(
    ("length", "share"), [(4.0, 1.0), (2.0, 0.5), (9.0, 1.0), (0.0161, 0.0161 / 4), (0.0159, None)]
)
def test_a_force_is_as_long_as_its_share_of_the_largest(length, share):
    tail = np.array([1.0, 2.0, 3.0])
    found = arrow_shapes.arrow_shape(tail, np.array([0.0, length, 0.0]), "N", 4.0, 10.0)
    if share is None:
        assert found is None
        return
    assert found.share == pytest.approx(share)
    np.testing.assert_allclose(found.ahead, [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found.shaft, [[1.0, 2.0, 3.0], [1.0, 2.0 + 2.4 * share, 3.0]])


def test_there_is_no_arrow_where_its_place_or_its_kind_is_none():
    tail = np.array([np.nan, 0.0, 0.0])
    assert arrow_shapes.arrow_shape(tail, np.ones(3), "N", 4.0, 1.0) is None
    assert arrow_shapes.arrow_shape(np.zeros(3), np.ones(3), "N", 0.0, 1.0).share == 1.0


@pytest.mark.parametrize(("share", "count"), [(1.0, 40), (0.5, 20), (0.05, 3)])
@pytest.mark.parametrize("axis", [*np.eye(3).tolist(), [0.6, 0.0, -0.8]])
def test_a_torque_is_an_arc_about_its_axis_from_which_it_turns_on(axis, share, count):
    middle, axis = np.array([1.0, 2.0, 3.0]), np.array(axis)
    arc, ahead, told_share = arrow_shapes.arrow_shape(middle, 4.0 * share * axis, "N m", 4.0, 10.0)
    assert told_share == pytest.approx(share)
    assert len(arc) == count
    out = arc - middle
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 0.75)
    np.testing.assert_allclose(out @ axis, 0.0, atol=1e-12)
    step = 5.0 * share / (count - 1)
    turn = np.cross(out[:-1], out[1:]) @ axis / 0.75**2
    np.testing.assert_allclose(turn, np.sin(step))
    np.testing.assert_allclose((out[:-1] * out[1:]).sum(axis=1) / 0.75**2, np.cos(step))
    last = arc[-1] - arc[-2]
    np.testing.assert_allclose(ahead, last / np.linalg.norm(last))


def test_the_largest_of_a_kind_is_that_of_all_arrows_over_time():
    every = [
        arrow([3.0, 4.0, 0], [np.nan] * 3), arrow([0.0, 0, 6.0]), arrow([1.0, 0, 0], unit="N m"),
        arrow([0.0, 2.0, 0], group="reactions"),
    ]  # fmt: skip
    assert arrow_shapes.largest_by_kind(every) == {
        ("inputs", "N"): 6.0, ("inputs", "N m"): 1.0, ("reactions", "N"): 2.0
    }  # fmt: skip
    assert arrow_shapes.largest_by_kind([]) == {}
    ends = arrow_shapes.arrow_tips(every[1:2] + every[2:3], 10.0)
    np.testing.assert_allclose(ends, [[0.0, 0.0, 2.4 + 0.33]])
    assert arrow_shapes.arrow_tips([], 1.0).shape == (0, 3)
