"""What a browser is told of a scene, call by call: lines, arrows, bodies, controls and time."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import errno
import sys
import time
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from tests.shared.plain_look import PlainLook
from ukctrl import Robot, Scenario
from ukctrl.core.errors import InputError
from ukctrl.mechanics.at_rest import closed, home
from ukctrl.reports.plot import style
from ukctrl.reports.scene import arrow_shapes, extent
from ukctrl.reports.scene.stage import Actor, Arrow, Curve, Scene
from ukctrl.reports.viewer import live as live_view
from ukctrl.reports.viewer import server as served
from ukctrl.reports.viewer.display import FIELD, SQUARES, Display, rgb
from ukctrl.reports.viewer.lines import Arrows, Line, label
from ukctrl.reports.viewer.live import Live
from ukctrl.reports.viewer.sliders import AtRest
from ukctrl.reports.viewer.timeline import Timeline, add_switches, add_words, show_scene
from ukctrl.robot.look import meshes
from ukctrl.robot.look.parts import Part, Poses

UP = (0.0, 0.0, 1.0)


class Added:
    """Stands for a scene of viser: keeps what is added to it, by name, as handles."""

    def __init__(self):
        self.scene, self.handles = self, {}

    def __getattr__(self, kind):
        def add(name="", *given, **looks):
            visible = looks.get("visible", True)
            made = SimpleNamespace(kind=kind, given=given, looks=looks, visible=visible)
            return self.handles.setdefault(name if isinstance(name, str) and name else kind, made)

        return add


class Controls:
    """Stands for the controls of viser: keeps them by their label, with what they call."""

    def __init__(self):
        self.handles, self.folders, self.theme = {}, [], {}
        self.main_panel = SimpleNamespace(dock_right=lambda: None)

    def _add(self, name, value=None, **looks):
        made = SimpleNamespace(value=value, visible=True, **looks)
        made.on_click = made.on_update = lambda call: setattr(made, "call", call)
        return self.handles.setdefault(name, made)

    def reset(self):
        self.handles.clear()

    def configure_theme(self, **theme):
        self.theme = theme

    def add_button(self, name, icon):
        return self._add(name, icon=icon)

    def add_slider(self, name, low, high, step, value):
        return self._add(name, value, min=low, max=high, step=step)

    def add_dropdown(self, name, choices, initial_value):
        return self._add(name, initial_value, choices=choices)

    def add_checkbox(self, name, value):
        return self._add(name, value)

    def add_html(self, text):
        return self._add("html", text)

    @contextlib.contextmanager
    def add_folder(self, name, **looks):
        self.folders.append((name, looks))
        yield


class Browser:
    """Stands for a server of viser."""

    def __init__(self):
        self.scene, self.gui, self.initial_camera = Added(), Controls(), SimpleNamespace()
        self.clients = {}
        self.atomic, self.get_clients = contextlib.nullcontext, lambda: self.clients


@pytest.fixture
def browser():
    return Browser()


# Lines and arrows


@pytest.mark.parametrize(
    ("text", "shown"),
    [(" ~\x1f\n", " ~??"), ("é\u00ff\u0100π", "é\u00ff??"), ("x" * 61, "x" * 60)],
)
def test_texts_have_the_letters_that_a_browser_needs_no_server_for(text, shown):
    there = Added()
    label(there, "/name", text, visible=False)
    made = there.handles["/name"]
    assert (made.kind, made.given) == ("add_label", (shown,))
    assert made.looks == {"visible": False, "anchor": "bottom-left"}


def curve(kind, points, color="#0072b2"):
    return Curve(name="tool", points=np.array(points), kind=kind, color=color, group="robot")


def test_a_trail_in_a_browser_grows_to_where_its_dot_is():
    there, nowhere = Added(), [np.nan] * 3
    trail = curve("trail", [[0.0, 0, 0], [2.0, 0, 0], nowhere, [4.0, 1, 0], [4.0, 3, 0]])
    shown = Line(there, 7, trail, 2.0)
    dot, name = (there.handles[f"/curve-7/dot{end}"] for end in ("", "/name"))
    assert (dot.kind, dot.given) == ("add_icosphere", (0.018,))
    assert dot.looks == {"color": (0, 114, 178)}
    assert (name.given, name.visible) == (("tool",), False)

    shown.place(trail, 0, 0.0, seen=True, named=True)  # no way yet: its dot alone
    line = there.handles["/curve-7/line"]
    assert line.kind == "add_line_segments"
    assert line.looks == {"thickness": 3.0, "thickness_units": "screen"}
    np.testing.assert_array_equal(line.given[0], [[[0.0, 0, 0], [0, 0, 0]]])
    assert line.given[1] == (0, 114, 178)
    assert (name.visible, line.visible, dot.visible) == (True, True, True)

    shown.place(trail, 0, 0.25, seen=True, named=False)
    np.testing.assert_array_equal(line.points, [[[0.0, 0, 0], [0.5, 0, 0]]])
    assert line.points.dtype == np.float32
    np.testing.assert_array_equal(dot.position, [0.5, 0, 0])
    shown.place(trail, 1, 0.5, seen=True, named=False)  # towards a gap
    np.testing.assert_array_equal(line.points, [[[0.0, 0, 0], [2, 0, 0]]])
    assert (dot.visible, name.visible) == (False, False)
    shown.place(trail, 3, 0.5, seen=False, named=False)
    ends = [[[0.0, 0, 0], [2, 0, 0]], [[4, 1, 0], [4, 2, 0]]]
    np.testing.assert_array_equal(line.points, ends)
    assert (dot.visible, line.visible) == (False, False)


def test_a_trail_that_begins_nowhere_is_a_point_at_the_origin_until_it_is_somewhere():
    there, trail = Added(), curve("trail", [[np.nan] * 3, [1.0, 0, 0], [2.0, 0, 0]])
    shown = Line(there, 0, trail, 1.0)
    shown.place(trail, 0, 0.0, seen=True, named=True)
    line = there.handles["/curve-0/line"]
    np.testing.assert_array_equal(line.given[0], np.zeros((1, 2, 3)))
    line.points = before = object()
    shown.place(trail, 0, 0.5, seen=True, named=True)
    assert line.points is before
    shown.place(trail, 1, 1.0, seen=True, named=True)
    np.testing.assert_array_equal(line.points, [[[1.0, 0, 0], [2, 0, 0]]])


def test_a_reference_in_a_browser_is_a_pale_tube_that_is_made_once():
    there = Added()
    wanted = curve("reference", [[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0]], color="none")
    shown = Line(there, 0, wanted, 2.0)
    dot = there.handles["/curve-0/dot"]
    assert dot.given == (0.025,)
    assert dot.looks == {"color": (183, 193, 204), "opacity": 0.4, "cast_shadow": False}
    assert shown.name is None
    shown.place(wanted, 0, 0.0, seen=True, named=True)
    line = there.handles["/curve-0/line"]
    assert line.kind == "add_mesh_simple"
    assert (line.looks["opacity"], line.looks["cast_shadow"]) == (0.28, False)
    vertices = line.given[0]
    np.testing.assert_allclose(np.hypot(vertices[:, 1], vertices[:, 2]), 0.017, rtol=1e-9)
    assert (vertices[:, 0].min(), vertices[:, 0].max()) == (0.0, 2.0)
    there.handles.clear()
    shown.place(wanted, 1, 0.5, seen=False, named=True)
    assert there.handles == {}
    assert line.visible is False
    longer = curve("reference", [[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0], [5.0, 0, 0]])
    shown.place(longer, 1, 0.5, seen=True, named=True)
    assert there.handles["/curve-0/line"].given[0][:, 0].max() == 5.0
    muted = Added()
    Line(muted, 0, curve("reference", [[0.0, 0, 0]], color=""), 1.0)
    assert muted.handles["/curve-0/dot"].looks["color"] == (91, 102, 114)


def test_arrows_in_a_browser_are_straight_for_forces_and_arcs_for_torques():
    there = Added()

    def arrow(unit, *vectors, group="inputs"):
        tail = np.tile([1.0, 2.0, 3.0], (len(vectors), 1))
        return Arrow(name=unit, tail=tail, vector=np.array(vectors), unit=unit, group=group)

    every = [
        arrow("N", [0.0, 0, 4], [0.0, 0, 2], [0.0, 0, 0]),
        arrow("N m", [0.0, 0, 0], [0.0, 0, 3], [0.0, 0, 0]),
        arrow("N", [9.0, 0, 0], [9.0, 0, 0], [9.0, 0, 0], group="reactions"),
    ]
    shown = Arrows(there, "inputs", 2.0, every)
    forces, heads, arcs = (there.handles[f"/inputs/{one}"] for one in ("forces", "heads", "arcs"))
    thick = 2.0 * arrow_shapes.THICK
    assert [one.kind for one in (forces, heads, arcs)] == [
        "add_arrows", "add_arrows", "add_line_segments"
    ]  # fmt: skip
    assert {one.given[1] for one in (forces, heads, arcs)} == {rgb(arrow_shapes.COLORS["inputs"])}
    sizes = {"head_radius": 2.6 * thick, "head_length": 6.0 * thick, "visible": False}
    assert forces.looks == pytest.approx(sizes | {"shaft_radius": thick})
    assert heads.looks == pytest.approx(sizes | {"shaft_radius": 0.5 * thick})
    assert arcs.looks == pytest.approx({"thickness": 1.6 * thick, "visible": False})

    shown.place(every, 0, seen=True)
    assert (forces.visible, heads.visible, arcs.visible) == (True, False, False)
    full = 2.0 * arrow_shapes.LONGEST
    np.testing.assert_allclose(forces.points, [[[1, 2, 3], [1, 2, 3 + full]]], rtol=1e-6)
    shown.place(every, 1, seen=True)
    assert (forces.visible, heads.visible, arcs.visible) == (True, True, True)
    np.testing.assert_allclose(forces.points, [[[1, 2, 3], [1, 2, 3 + 0.5 * full]]], rtol=1e-6)
    pieces, ((back, front),) = arcs.points, heads.points
    assert pieces.shape == (arrow_shapes.ARC - 1, 2, 3)
    np.testing.assert_array_equal(pieces[1:, 0], pieces[:-1, 1])
    away = np.linalg.norm(pieces[:, :, :2] - [1, 2], axis=2)
    np.testing.assert_allclose(away, 2.0 * arrow_shapes.RADIUS, rtol=1e-5)
    np.testing.assert_allclose(pieces[:, :, 2], 3.0, rtol=1e-6)
    ahead = pieces[-1, 1] - pieces[-1, 0]
    np.testing.assert_allclose(front - back, 1.1 * 2.0 * arrow_shapes.HEAD * ahead
                               / np.linalg.norm(ahead), atol=1e-5)  # fmt: skip
    np.testing.assert_allclose((front - pieces[-1, 1]) / 10.0, pieces[-1, 1] - back, atol=1e-5)
    for k, seen in ((2, True), (1, False)):
        shown.place(every, k, seen)
        assert not any(one.visible for one in (forces, heads, arcs))


# Bodies, the floor and the camera


BOX = meshes.box(0.1, 0.2, 0.3)


def scene(*parts, position=None, stretch=None, curves=(), arrows=(), time=(0.0, 1.0, 3.0), **more):
    """Return a scene of one actor, whose carriers move along x, one moment after the other."""
    count = 1 + max((part.carrier for part in parts), default=0)
    n = len(time)
    if position is None:
        position = np.zeros((n, count, 3))
        position[:, :, 0] = np.arange(float(n))[:, None]
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (n, count, 1))
    poses = Poses(position, turn, np.ones((n, count)) if stretch is None else stretch)
    carriers = ("world", *(f"c{k}" for k in range(1, count)))
    look = PlainLook(parts=parts, carriers=carriers, robot=None)
    actor = Actor(name="a", look=look, poses=poses, **more.pop("actor", {}))
    given = {"title": "T", "low": np.zeros(3), "high": np.full(3, 3.0), "ground": None, **more}
    return Scene(
        time=np.array(time), actors=(actor,), curves=tuple(curves), arrows=tuple(arrows), **given
    )


def box_of(**looks):
    return Part(**{"name": "p", "mesh": BOX, "carrier": 0, **looks})


@pytest.mark.parametrize(
    ("time", "moment"),
    [(-1.0, (0, 0.0)), (0.0, (0, 0.0)), (0.5, (0, 0.5)), (1.0, (1, 0.0)), (1.5, (1, 0.25)),
     (3.0, (2, 0.0)), (9.0, (2, 0.0))],
)  # fmt: skip
def test_a_time_is_so_far_between_two_moments(time, moment, browser):
    display = Display(browser, scene(box_of()))
    assert display._moment(time) == moment
    display.show(time)
    assert display.time == time
    (frame,) = display.actors[0].frames
    np.testing.assert_allclose(frame.position, [moment[0] + moment[1], 0.0, 0.0])


@pytest.mark.parametrize("up", [UP, (0.0, 1.0, 0.0)])
@pytest.mark.parametrize("size", [(2.0, 2.0, 2.0), (9.0, 1.0, 1.0), (1.0, 1.0, 9.0)])
def test_a_camera_begins_where_it_sees_the_whole_box_and_little_more(size, up, browser):
    low = np.array([1.0, -2.0, 0.5])
    high = low + size
    Display(browser, scene(box_of(), low=low, high=high, up=up))
    camera = browser.initial_camera
    assert (camera.up, camera.fov) == (up, 0.49)
    middle = 0.5 * (low + high)
    np.testing.assert_allclose(camera.look_at, middle)
    away = camera.position - middle
    far = np.linalg.norm(away)
    np.testing.assert_allclose([camera.near, camera.far], [0.01 * far, 200.0 * far])
    right, above, toward = extent.view(low, high, up)
    np.testing.assert_allclose(away / far, toward)
    corners = np.array(np.meshgrid(*zip(low - middle, high - middle, strict=True))).reshape(3, 8)
    # The face of a box around the scene that is nearest to the eye fills the window's height, or
    # its width of 1.3 heights, but for three parts in a hundred of the distance.
    nearest = far / 1.03 - (toward @ corners).max()
    seen = nearest * np.tan(0.5 * FIELD)
    wide, high = ((axis @ corners).max() for axis in (right, above))
    assert max(wide / 1.3, high) == pytest.approx(seen)


@pytest.mark.parametrize(
    ("size", "cell"), [(2.9, 0.5), (3.0, 1.0), (6.0, 2.0), (14.9, 2.0), (15.0, 5.0), (30.0, 10.0)]
)
def test_squares_of_the_floor_have_a_round_size_and_lie_below_what_stands_on_it(
    size, cell, browser
):
    low = np.array([0.6 * cell, -1.4 * cell, 0.0])
    shown = scene(box_of(), low=low - 0.5 * size, high=low + 0.5 * size, ground=0.25)
    display = Display(browser, shown)
    looks = browser.scene.handles["/floor"].looks
    assert looks["cell_size"] == pytest.approx(cell)
    assert looks["section_size"] == pytest.approx(5.0 * cell)
    assert looks["fade_distance"] == pytest.approx(12.0 * size)
    assert looks["infinite_grid"] is True
    assert (looks["cell_color"], looks["section_color"]) == SQUARES[False]
    np.testing.assert_allclose(looks["position"], [cell, -cell, 0.25 - 2e-3 * size])
    display.set_dark(True)
    floor = browser.scene.handles["/floor"]
    assert (floor.cell_color, floor.section_color) == SQUARES[True]
    assert browser.gui.theme["dark_mode"] is True
    display.set_dark(False)
    assert (floor.cell_color, floor.section_color) == SQUARES[False]


def test_without_a_floor_none_is_drawn_and_the_light_is_ours(browser):
    display = Display(browser, scene(box_of()))
    display.set_dark(True)
    handles = browser.scene.handles
    assert "/floor" not in handles
    assert handles["configure_default_lights"].looks == {"enabled": False}
    assert handles["/sky"].kind == "add_light_hemisphere"
    assert handles["/sun"].looks == {"intensity": 2.4, "cast_shadow": True}
    assert "reset" in handles


def test_bodies_have_their_colours_their_opacity_and_a_shadow_where_they_are_dense(browser):
    empty = meshes.Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    parts = (
        box_of(color="#010203", opacity=0.8),
        box_of(carrier=1, text="M"),
        box_of(carrier=1, mesh=empty, text="gone"),
        box_of(carrier=2, opacity=0.4, color="none"),
    )
    display = Display(browser, scene(*parts))
    handles = browser.scene.handles
    bodies = [handles[f"/actor-0/{place}/mesh"] for place in ("0/0", "1/1", "2/3")]
    told = [
        (body.looks["color"], body.looks["opacity"], body.looks["cast_shadow"]) for body in bodies
    ]
    assert told == [
        ((1, 2, 3), 0.8, True), (rgb(""), None, True), (rgb(""), 0.4, False)
    ]  # fmt: skip
    assert all(body.looks["side"] == "double" for body in bodies)
    assert "/actor-0/1/2/mesh" not in handles
    assert [handles[f"/actor-0/1/{k}/text"].given for k in (1, 2)] == [("M",), ("gone",)]
    assert [label.given for label in display.actors[0].labels] == [("c1",), ("c2",)]
    frame = handles["/actor-0/1"]
    assert frame.looks == {
        "show_axes": False, "axes_length": pytest.approx(0.3),
        "axes_radius": pytest.approx(9e-3), "origin_radius": pytest.approx(18e-3),
    }  # fmt: skip
    pale = Browser()
    Display(pale, scene(*parts, actor={"opacity": 0.5, "color": "#ffffff"}))
    looks = pale.scene.handles["/actor-0/0/0/mesh"].looks
    assert (looks["color"], looks["opacity"], looks["cast_shadow"]) == ((255,) * 3, 0.4, False)


def test_what_is_nowhere_is_hidden_and_what_stretches_is_scaled(browser):
    position = np.zeros((3, 2, 3))
    position[1, 1] = np.nan
    stretch = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 0.0]])
    shown = scene(box_of(), box_of(carrier=1), position=position, stretch=stretch)
    display = Display(browser, shown)
    still, rope = (body for _, body in display.actors[0].bodies)
    assert rope.scale == (1.0, 1.0, 2.0)
    assert not hasattr(still, "scale")  # what has its own size is left alone
    for moment, visible in ((0.0, True), (1.0, False), (3.0, True)):
        display.show(moment)
        assert [frame.visible for frame in display.actors[0].frames] == [True, visible]
    assert rope.scale == (1.0, 1.0, 1e-6)  # a length of zero is none that a browser takes


def test_everything_of_a_scene_but_the_robot_may_be_hidden(browser):
    points = np.zeros((3, 3))
    arrow = Arrow(name="u", tail=points, vector=points, unit="N", group="inputs")
    curves = [
        Curve(name="c", points=points, kind=kind, color="", group=group)
        for kind, group in (("reference", "reference"), ("trail", "robot"), ("trail", "pid"))
    ]
    shown = scene(box_of(carrier=1), curves=curves, arrows=[arrow], actor={"group": "believed"})
    display = Display(browser, shown)
    assert display.groups == {
        "believed": True, "pid": True, "reference": True, "trail": True, "inputs": False,
        "names": False, "frames": False,
    }  # fmt: skip
    root, carrier = browser.scene.handles["/actor-0"], browser.scene.handles["/actor-0/1"]
    for group in ("believed", "frames", "names"):
        for visible in (True, False):
            display.set_visible(group, visible)
            assert display.groups[group] is visible
            on = {"believed": root.visible, "frames": getattr(carrier, "show_axes", None),
                  "names": display.actors[0].labels[0].visible}  # fmt: skip
            assert on[group] is visible
    lines = [display.curves[k].line for k in range(3)]
    display.set_visible("pid", False)
    assert [line.visible for line in lines] == [True, True, False]
    display.set_visible("trail", False)
    assert [line.visible for line in lines] == [True, False, False]
    display.set_visible("pid", True)
    assert [line.visible for line in lines] == [True, False, False]


def test_windows_that_are_open_follow_the_camera(browser):
    client = SimpleNamespace(camera=SimpleNamespace(), atomic=contextlib.nullcontext)
    display = Display(browser, scene(box_of()))
    browser.clients[0] = client
    display.look_at(np.zeros(3), np.full(3, 8.0))
    np.testing.assert_array_equal(client.camera.look_at, np.full(3, 4.0))
    np.testing.assert_array_equal(client.camera.position, browser.initial_camera.position)
    assert (client.camera.up_direction, client.camera.fov) == (UP, FIELD)


# Time


@pytest.fixture
def timeline_of(browser):
    """Return a function that makes a timeline of a scene with some times; its thread sleeps."""
    made = []

    def make(*time, **given):
        display = Display(browser, scene(box_of(), time=time))
        made.append(Timeline(display, browser, **given))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize(
    ("span", "speed"),
    [(0.3, "0.1x"), (0.4, "0.1x"), (0.41, "0.25x"), (1.9, "0.5x"), (2.0, "1x"), (20.0, "1x"),
     (20.5, "2x"), (40.5, "5x"), (200.5, "20x"), (2000.0, "100x"), (1e6, "100x")],
)  # fmt: skip
def test_a_motion_takes_from_four_to_twenty_seconds_at_first(span, speed, timeline_of, browser):
    timeline_of(0.0, span)
    speeds = browser.gui.handles["speed"]
    assert speeds.value == speed
    assert speeds.choices == (
        "0.1x", "0.25x", "0.5x", "1x", "2x", "5x", "10x", "20x", "50x", "100x"
    )  # fmt: skip


def test_the_slider_of_time_goes_from_the_start_to_the_end_in_a_thousand_steps(
    timeline_of, browser
):
    timeline_of(2.0, 3.0, 6.0)
    slider = browser.gui.handles["time [s]"]
    assert (slider.min, slider.max, slider.step, slider.value) == (2.0, 6.0, 0.004, 2.0)
    browser.gui.reset()
    timeline_of(2.0, 2.0)
    assert browser.gui.handles["time [s]"].step == 1e-9
    browser.gui.reset()
    made = timeline_of(0.0, 1.0, live=True, end=50.0)
    assert browser.gui.handles["time [s]"].max == 50.0
    assert browser.gui.handles["speed"].value == "5x"
    assert not made.loop.visible


def test_time_stays_within_what_is_known(timeline_of, browser):
    timeline = timeline_of(2.0, 3.0, 6.0)
    for asked, there in ((-1.0, 2.0), (9.0, 6.0), (4.5, 4.5)):
        timeline.go(asked)
        assert timeline.display.time == timeline.slider.value == there
    assert timeline.loop.visible
    assert timeline.loop.value is True
    button = browser.gui.handles["Play"]
    assert (button.label, button.icon) == ("Play", "player-play")
    timeline.slider.value = 3.5
    timeline.slider.call(SimpleNamespace(client=None))  # it was set here
    assert timeline.display.time == 4.5
    timeline.slider.call(SimpleNamespace(client=1))
    assert timeline.display.time == 3.5


def test_a_run_that_comes_is_followed_until_somebody_takes_over(timeline_of, browser):
    timeline = timeline_of(0.0, 1.0, live=True, end=50.0)
    for known, following in ((2.0, True), (4.0, False)):
        longer = scene(box_of(), time=(0.0, 1.0, known))
        timeline.display.extend(longer)
        timeline.grow()
        assert timeline.display.time == (known if following else 1.5)
        timeline.slider.value = 1.5
        timeline.slider.call(SimpleNamespace(client=1))
        assert timeline.following is False
    timeline.slider.value = 9.0  # more than is known yet
    timeline.slider.call(SimpleNamespace(client=1))
    assert timeline.display.time == 4.0


def wait_until(holds, seconds=20.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_playing_ends_at_the_end_where_it_does_not_begin_again(timeline_of, browser):
    timeline = timeline_of(0.0, 1.0, 1.3)
    button, timeline.loop.value = browser.gui.handles["Play"], False
    timeline._speed.value = "20x"
    button.call(None)
    assert timeline.playing
    wait_until(lambda: not timeline.playing)
    assert timeline.display.time == timeline.slider.value == 1.3
    wait_until(lambda: button.label == "Play")
    timeline._speed.value = "0.001x"
    timeline.play()  # from the start again
    assert (button.label, button.icon) == ("Pause", "player-pause")
    assert timeline.display.time < 1.0
    button.call(None)
    assert (timeline.playing, button.label) == (False, "Play")
    before = timeline.display.time
    timeline.slider.value = 0.7
    timeline.play()
    timeline.slider.call(SimpleNamespace(client=1))  # who sets the time stops it
    assert not timeline.playing
    assert before < 0.7


def test_a_run_that_is_played_to_where_it_is_now_is_followed_again(timeline_of):
    timeline = timeline_of(0.0, 1.0, live=True, end=9.0)
    timeline.go(0.9)
    timeline._speed.value = "20x"
    timeline.play()
    assert timeline.following is False
    wait_until(lambda: timeline.following)
    assert timeline.playing is False
    assert timeline.display.time == 1.0


def test_switches_hide_what_they_name(browser):
    curve_of = curve("trail", np.zeros((3, 3)))
    display = Display(browser, scene(box_of(), curves=[curve_of], actor={"group": "believed"}))
    add_switches(browser, display, "limits")
    handles = browser.gui.handles
    assert {name: box.value for name, box in handles.items()} == {
        "limits": True, "ghost": True, "trail": True, "names": False, "axes": False, "dark": False
    }  # fmt: skip
    handles["ghost"].call(SimpleNamespace(target=SimpleNamespace(value=False)))
    assert display.groups["believed"] is False
    assert display.groups["trail"] is True
    handles["dark"].call(SimpleNamespace(target=SimpleNamespace(value=True)))
    assert browser.gui.theme["dark_mode"] is True
    assert browser.gui.folders == [("Show", {})]


def test_words_beside_a_scene_are_text(browser):
    add_words(browser, "a < b", ["1 & 2.", "more"])
    assert browser.gui.handles["html"].value == (
        "<div style='padding:2px 12px 6px;font-size:12px'><b style='font-size:14px'>a &lt; b</b>"
        "<p style='margin:2px 0;opacity:.75'>1 &amp; 2.</p>"
        "<p style='margin:2px 0;opacity:.75'>more</p></div>"
    )


@pytest.mark.parametrize(
    ("host", "shown"),
    [("0.0.0.0", "127.0.0.1"), ("", "127.0.0.1"), ("::", "127.0.0.1"), ("::1", "[::1]"),
     ("192.0.2.7", "192.0.2.7")],
)  # fmt: skip
def test_an_address_is_one_that_a_browser_takes(host, shown):
    server = SimpleNamespace(get_host=lambda: host, get_port=lambda: 8085)
    assert served.address(server) == f"http://{shown}:8085"


def test_a_page_of_ours_bears_no_sign_of_its_maker(browser):
    served.set_dark(browser, False)
    assert browser.gui.theme == {
        "dark_mode": False, "show_logo": False, "show_share_button": False,
        "brand_color": (0, 114, 178),
    }  # fmt: skip


class Serving(Browser):
    """Stands for viser's server: keeps what it is made with, and says what it serves at."""

    made: ClassVar[list] = []
    elsewhere = 0

    def __init__(self, **given):
        super().__init__()
        self.given, self.stopped = given, 0
        self.serve = sys.modules["websockets.asyncio.server"].serve
        Serving.made.append(self)

    def get_port(self):
        return self.given["port"] + Serving.elsewhere

    def stop(self):
        self.stopped += 1


@pytest.fixture(name="viser")
def _viser(monkeypatch):
    """Put stand-ins in the place of viser and of what it talks by."""
    talk = SimpleNamespace(serve=lambda *given, **more: more)
    parts = {"viser": SimpleNamespace(ViserServer=Serving), "websockets.asyncio.server": talk,
             "websockets.asyncio": SimpleNamespace(server=talk)}  # fmt: skip
    parts["websockets"] = SimpleNamespace(asyncio=parts["websockets.asyncio"])
    for name, part in parts.items():
        monkeypatch.setitem(sys.modules, name, part)
    monkeypatch.setattr(Serving, "made", [])
    monkeypatch.setattr(Serving, "elsewhere", 0)
    return Serving.made, talk


@pytest.mark.parametrize(("host", "localhost"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_a_server_is_light_silent_and_talks_to_its_own_pages_alone(
    host, localhost, viser, monkeypatch
):
    made, talk = viser
    monkeypatch.setattr(served, "_free_port", lambda *given: 8123)
    serve = talk.serve
    server = served.open_server("A title", host, 0)
    assert made == [server]
    assert server.given == {"host": host, "port": 8123, "label": "A title", "verbose": False}
    assert server.gui.theme["dark_mode"] is False
    assert server.request_share_url("x", y=1) is None
    (own,) = server.serve()["origins"]
    allowed = [f"http://{name}:8123" for name in (served.HERE, "localhost")]
    others = [f"http://{name}:8123" for name in ("192.0.2.1", "arm")]
    assert [bool(own.fullmatch(page)) for page in allowed + others] == [
        True, True, not localhost, not localhost
    ]  # fmt: skip
    for page in ("http://{}:8124", "https://{}:8123", "http://{}/b:8123"):
        assert not own.fullmatch(page.format(served.HERE))
    assert talk.serve is serve  # for others it is as before


def test_a_port_that_somebody_else_took_meanwhile_is_told(viser, monkeypatch):
    monkeypatch.setattr(served, "_free_port", lambda *given: 8123)
    monkeypatch.setattr(Serving, "elsewhere", 1)
    with pytest.raises(InputError) as refused:
        served.open_server("x")
    assert str(refused.value) == (
        "port 8123 of 127.0.0.1 is taken; give another with --port, or 0 for any that is free."
    )
    ((server,), _) = viser
    assert server.stopped == 1


@pytest.mark.parametrize("taken", [0, 3, 20])
def test_the_first_free_port_is_taken_and_any_where_none_of_the_usual_is(taken, monkeypatch):
    asked = []

    class Bound(contextlib.nullcontext):
        def getsockname(self):
            return ("127.0.0.1", asked[-1][0][1] or 50000)

    def create(where, family):
        asked.append((where, family))
        if len(asked) <= taken:
            raise OSError(errno.EADDRINUSE, "taken")
        bound = Bound()
        bound.enter_result = bound
        return bound

    monkeypatch.setattr(served.socket, "create_server", create)
    assert served._free_port("127.0.0.1", None) == (8080 + taken if taken < 20 else 50000)
    assert [where[1] for where, _ in asked] == [*range(8080, 8100), 0][: taken + 1]
    assert {family for _, family in asked} == {served.socket.AF_INET}
    asked.clear()
    if not taken:
        served._free_port("::1", 99)
        assert asked == [(("::1", 99), served.socket.AF_INET6)]


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_has_16_bits(port):
    with pytest.raises(InputError, match=f"--port must be from 0 to 65535; got {port}"):
        served.open_server("x", port=port)


# Sliders of a robot at rest


def test_sliders_have_the_limits_of_their_joints_or_a_half_turn_each_way(browser):
    shown = AtRest(browser, Robot.load("scara"))
    size = shown.display.size
    told = {name: (slider.min, slider.max) for name, slider in browser.gui.handles.items()
            if "[" in name}  # fmt: skip
    turn = (-3.1416, 3.1416)
    along = max(0.5, round(2.0 * size, 1))
    assert told == {
        "q1 [rad]": turn, "q2 [rad]": turn, "q3 [rad]": turn, "q4 [m]": (-along, along)
    }  # fmt: skip
    assert browser.gui.folders[0] == ("Joints", {"expand_by_default": True})
    assert browser.gui.folders[1] == ("Show", {})
    assert all(slider.step == 1e-3 for name, slider in browser.gui.handles.items() if "[" in name)


def test_a_joint_with_one_limit_moves_as_far_on_its_other_side(browser):
    robot = Robot.load("two_link")
    shown = AtRest(browser, robot)
    for limits, told in (
        ((-np.inf, 2.0), (-np.pi, 2.0)),
        ((-np.inf, -2.0), (-2.0 - np.pi, -2.0)),
        ((1.0, np.inf), (1.0, 1.0 + np.pi)),
        ((-9.0, np.inf), (-9.0, np.pi)),
        ((0.5, 0.5), (0.5, 0.501)),
    ):
        lower, upper = robot.q_lower.copy(), robot.q_upper.copy()
        lower[1], upper[1] = limits
        shown.robot = SimpleNamespace(
            dof_units=robot.dof_units, blocks=robot.blocks, q_lower=lower, q_upper=upper
        )
        assert shown._range(1) == pytest.approx(told, abs=1e-4)
        assert shown._range(0) == (-3.2, 3.2)


def test_a_slider_that_somebody_moves_moves_the_robot_and_home_is_a_click_away(browser):
    robot = Robot.load("panda")
    shown = AtRest(browser, robot)
    start = shown.q.copy()
    np.testing.assert_allclose(start, closed(robot, home(robot)))
    slider = shown.sliders[2]
    slider.call(SimpleNamespace(client=None, target=SimpleNamespace(value=0.5)))
    assert shown.q[2] == start[2]
    slider.call(SimpleNamespace(client=1, target=SimpleNamespace(value=0.5)))
    assert shown.q[2] == slider.value == 0.5
    shown.move(start + 9.0)  # sliders end at their limits
    assert [slider.value for slider in shown.sliders.values()] == [
        slider.max for slider in shown.sliders.values()
    ]
    browser.gui.handles["Back home"].call(None)
    np.testing.assert_allclose(shown.q, start)


def test_motors_of_elastic_joints_have_sliders_of_their_own(browser):
    robot = Robot.load("flexible_joint_arm")
    shown = AtRest(browser, robot)
    assert browser.gui.folders[:2] == [
        ("Joints", {"expand_by_default": True}),
        ("Motors of elastic joints", {"expand_by_default": False}),
    ]
    assert list(shown.sliders) == [0, 1, 2, 3]


def test_frames_are_made_when_they_are_asked_for_with_one_text_where_they_coincide(browser):
    robot = Robot.load("two_link")
    shown = AtRest(browser, robot)
    handles, gui = browser.scene.handles, browser.gui.handles
    assert not any(name.startswith("/frame") for name in handles)
    gui["names"].value = True
    gui["names"].call(None)
    names = [name for name in robot.frames if name != "world"]
    frames = [handles[f"/frame-{k}"] for k in range(len(names))]
    texts = [one.given[0] for name, one in handles.items() if name.startswith("/frame")
             and name.endswith("/name")]  # fmt: skip
    assert sorted(name for text in texts for name in text.split(", ")) == sorted(names)
    assert len(texts) < len(names)
    assert all(frame.show_axes is False for frame in frames)
    size = shown.display.size
    assert frames[0].looks == {
        "show_axes": False, "axes_length": pytest.approx(0.08 * size),
        "axes_radius": pytest.approx(0.0025 * size),
    }  # fmt: skip
    assert frames[0].origin_radius == pytest.approx(0.005 * size)
    shown.set(1, 0.7)
    snapshot = robot.snapshot(shown.q)
    for name, frame in zip(names, frames, strict=True):
        at = snapshot.frame(name)
        np.testing.assert_allclose(frame.position, at.position, atol=1e-12)
        turn = extent.rotations(np.array(frame.wxyz))
        np.testing.assert_allclose(turn, at.rotation, atol=1e-12)
    gui["frames"].value, gui["names"].value = True, False
    gui["frames"].call(None)
    assert all(frame.show_axes for frame in frames)
    assert not any(one.visible for name, one in handles.items() if name.endswith("/name")
                   and name.startswith("/frame"))  # fmt: skip
    gui["frames"].value = False
    gui["frames"].call(None)
    before = frames[-1].position
    shown.set(1, 0.1)  # nobody sees them
    assert frames[-1].position is before
    gui["dark"].call(SimpleNamespace(target=SimpleNamespace(value=True)))
    assert browser.gui.theme["dark_mode"] is True


# A run that comes


@pytest.fixture(name="live")
def _live(browser):
    made = Live(browser, Scenario.load("scara-helix", {"timing.duration": 0.5}))
    yield made
    made._timeline.close()


def rows(count, start=0, frames=1):
    t = 1e-3 * (start + np.arange(count))
    return {"time": t, "q": 0.1 * np.sin(t)[:, None] * np.ones(4),
            "frame_position": 0.01 * t[:, None, None] * np.ones((frames, 3))}  # fmt: skip


def test_of_many_moments_of_a_run_every_second_is_kept(live, monkeypatch):
    monkeypatch.setattr(live_view, "MOST", 10)
    live._take(rows(10), ("tool",))
    assert len(live._display.scene.time) == 10
    live._take(rows(2, start=10), ("tool",))
    np.testing.assert_allclose(live._display.scene.time, 1e-3 * np.arange(0, 12, 2))
    live._take(rows(100, start=12), ("tool",))  # at once
    shown = live._display.scene
    wanted = [*range(0, 12, 2), *(12 + np.linspace(0, 99, 10).astype(int))][::2]
    np.testing.assert_allclose(shown.time, 1e-3 * np.array(wanted))
    robot = Robot.load("scara")
    there = robot.look().poses(0.1 * np.sin(shown.time)[:, None] * np.ones(4), shown.time)
    np.testing.assert_allclose(shown.actors[0].poses.position, there.position, atol=1e-12)
    (trail,) = shown.curves
    np.testing.assert_allclose(trail.points, 0.01 * shown.time[:, None] * np.ones(3))
    assert (trail.name, trail.kind, trail.group) == ("tool", "trail", "robot")
    assert live._display.time == shown.time[-1]


def test_moments_that_are_no_numbers_are_left_out(live):
    bad = rows(3)
    bad["q"][1] = np.nan
    live._take(bad, ("tool",))
    np.testing.assert_allclose(live._display.scene.time, [0.0, 2e-3])
    bad["q"][:] = np.inf
    live._take(bad, ("tool",))
    assert len(live._display.scene.time) == 2


def test_trails_of_a_run_have_the_colours_of_figures_and_end_a_thousand_kilometres_away():
    count = len(style.PALETTE) + 1
    given = rows(2, frames=count)
    given["frame_position"][1, 0] = [0.0, 1e6, 0.0]
    found = live_view._trails(given, tuple("abcdefghijk"[:count]))
    assert [trail.color for trail in found] == [*style.PALETTE, style.PALETTE[0]]
    assert [trail.name for trail in found] == list("abcdefghijk"[:count])
    assert np.isnan(found[0].points[1]).all()
    assert np.isfinite(found[0].points[0]).all()


@pytest.mark.parametrize(("beyond", "follows"), [(0.1, False), (0.2, True)])
def test_the_camera_follows_what_leaves_its_box_by_a_part_of_its_size(beyond, follows, live):
    low, high = live._seen_box
    size = (high - low).max()
    given = rows(2)
    given["frame_position"][1, 0] = high
    given["frame_position"][1, 0, 2] += beyond * size
    live._take(given, ("tool",))
    now_low, now_high = live._seen_box
    assert bool(now_high[2] > high[2]) is follows
    assert now_low[2] == low[2]
    if follows:
        assert now_high[2] == pytest.approx(high[2] + beyond * size)


def test_a_scene_that_has_grown_much_is_drawn_anew(live):
    before = live._display
    given = rows(40)
    for far, anew in ((4.0, False), (6.0, True)):
        given["frame_position"][20:, 0, 0] = far * before.size
        live._take(given, ("tool",))
        assert (live._display is not before) is anew
    assert live._display.size > 5.0 * before.size


@pytest.mark.parametrize(("took", "pause"), [(0.001, 0.1), (0.03, 1.0)])
def test_showing_takes_a_small_part_of_the_time_of_a_run(took, pause, live, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(live_view.time, "perf_counter", lambda: clock[0])
    asked = []

    def take(given, frames):
        asked.append((len(given["time"]), frames, np.isnan(given["frame_position"][0]).all()))
        clock[0] += took

    monkeypatch.setattr(live, "_take", take)
    stored = []
    recorder = SimpleNamespace(
        count=0, frames=("tool",),
        since=lambda seen, names: rows(recorder.count - seen - len(stored), seen),
    )  # fmt: skip
    live(recorder)
    assert asked == []  # nothing has come
    recorder.count = 5
    live(recorder)
    assert asked == [(5, ("tool",), False)]
    assert live.spent == pytest.approx(took)
    recorder.count = 9
    for later, taken in ((0.99 * pause, 1), (0.02 * pause, 2)):
        clock[0] += later
        live(recorder)
        assert len(asked) == taken
    assert asked[1][0] == 4
    stored.append("one went to the store between two looks")
    recorder.count, clock[0] = 12, clock[0] + 1.01 * pause
    live(recorder)
    assert asked[2] == (2, ("tool",), True)  # where its trail has a gap
    assert live.spent == pytest.approx(3.0 * took)


def test_a_run_that_has_ended_is_shown_as_any_other(live, browser):
    shown = scene(box_of(), title="done")
    live.finish(None)
    assert "done" not in browser.gui.handles["html"].value
    live.finish(shown)
    assert "done" in browser.gui.handles["html"].value
    assert browser.gui.handles["Play"].label == "Pause"  # it plays


def test_a_scene_without_time_has_no_timeline(browser):
    still = scene(box_of(), time=(0.0,))
    assert show_scene(browser, still) is None
    assert "Play" not in browser.gui.handles
    moving = show_scene(browser, dc.replace(scene(box_of()), title="moves"))
    assert moving.playing
    moving.close()
