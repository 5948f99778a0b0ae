"""A scene in the browser: who may look, where things are, what sliders do; and a live run."""

from __future__ import annotations

import base64
import dataclasses as dc
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from extras import needs
from PIL import Image

from tests.shared.command import CLI
from ukctrl import Robot, Scenario, simulate
from ukctrl.cli import main
from ukctrl.core.errors import InputError
from ukctrl.reports.scene import arrow_shapes
from ukctrl.reports.scene.from_results import of_result
from ukctrl.reports.scene.stage import Arrow, Curve
from ukctrl.reports.viewer import server as served
from ukctrl.reports.viewer.display import Display, rgb
from ukctrl.reports.viewer.lines import Arrows, Line, label
from ukctrl.reports.viewer.live import Live
from ukctrl.reports.viewer.server import address, open_server, stop
from ukctrl.reports.viewer.sliders import AtRest
from ukctrl.reports.viewer.smooth import creased
from ukctrl.reports.viewer.timeline import Timeline, show_scene
from ukctrl.robot.look import meshes


@pytest.fixture
def server():
    pytest.importorskip("viser")
    opened = open_server("a test", port=0)
    yield opened
    stop(opened)


@pytest.fixture(scope="module")
def run():
    scenario = Scenario.load("scara-helix", {"timing.duration": 0.5})
    return scenario, simulate(scenario)


def test_only_this_machine_may_look(server):
    port = server.get_port()
    assert address(server) == f"http://{served.HERE}:{port}"
    assert urllib.request.urlopen(address(server), timeout=10).status == 200
    table = Path("/proc/net/tcp").read_text(encoding="utf-8")
    bound = [line.split() for line in table.splitlines()[1:]]
    mine = [each[1] for each in bound if each[1].endswith(f":{port:04X}") and each[3] == "0A"]
    assert mine == [f"0100007F:{port:04X}"]


@pytest.mark.parametrize(("origin", "answer"), [("own", b"101"), ("http://example.org", b"403")])
def test_only_its_own_pages_may_talk_to_it(server, origin, answer):
    port = server.get_port()
    origin = address(server) if origin == "own" else origin
    key = base64.b64encode(os.urandom(16)).decode()
    request = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nOrigin: {origin}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=10) as talk:
        talk.sendall(request.encode())
        assert talk.recv(64).split()[1] == answer


@needs("viser")
def test_it_says_nothing_and_opens_no_tunnel(capsys):
    opened = open_server("quiet", port=0)
    assert opened.request_share_url() is None
    stop(opened)
    said = capsys.readouterr()
    assert said.out == said.err == ""


@needs("viser")
def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 is taken; give another"):
            open_server("x", port=port)


@needs("viser")
@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("127.0.0.1", 70000, "--port must be from 0 to 65535; got 70000"),
        ("192.0.2.1", 0, "--host '192.0.2.1' is no address of this machine"),
        ("nowhere.invalid", 0, "--host 'nowhere.invalid' is no address of this machine"),
    ],
)
def test_addresses_that_cannot_be_had_are_told(host, port, words):
    with pytest.raises(InputError, match=words):
        open_server("x", host, port)


def test_without_the_extra_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "viser", None)
    with pytest.raises(InputError, match=r"pip install 'ukctrl\[view\]'"):
        served.open_server("x", port=0)


def test_parts_are_where_the_scene_says_at_every_moment(server, run):
    scene = of_result(run[1])
    display = Display(server, scene)
    for k in (0, len(scene.time) // 2, len(scene.time) - 1):
        display.show(float(scene.time[k]))
        for shown, actor in zip(display.actors, scene.actors, strict=True):
            places = np.array([frame.position for frame in shown.frames])
            turns = np.array([frame.wxyz for frame in shown.frames])
            np.testing.assert_allclose(places, actor.poses.position[k], atol=1e-12)
            np.testing.assert_allclose(turns, actor.poses.quaternion[k], atol=1e-12)
    trail = next(i for i, curve in enumerate(scene.curves) if curve.kind == "trail")
    end = scene.curves[trail].points[-1]
    np.testing.assert_allclose(display.curves[trail].dot.position, end, atol=1e-6)
    assert len(display.curves[trail].line.points) == len(scene.time)


def test_between_two_moments_it_goes_evenly(server, run):
    scene = of_result(run[1])
    display = Display(server, scene)
    display.show(0.5 * float(scene.time[3] + scene.time[4]))
    middle = 0.5 * (scene.actors[0].poses.position[3] + scene.actors[0].poses.position[4])
    places = np.array([frame.position for frame in display.actors[0].frames])
    np.testing.assert_allclose(places, middle, atol=1e-12)


def test_what_is_hidden_is_not_seen(server, run):
    display = Display(server, of_result(run[1]))
    assert {"reference", "trail", "inputs", "names", "frames"} <= set(display.groups)
    display.set_visible("trail", False)
    display.set_visible("names", True)
    kinds = [curve.kind for curve in display.scene.curves]
    assert not display.curves[kinds.index("trail")].line.visible
    assert display.curves[kinds.index("reference")].line.visible
    assert all(label.visible for label in display.actors[0].labels)


def test_time_is_set_played_and_begun_again(server, run):
    scene = of_result(run[1])
    display = Display(server, scene)
    timeline = Timeline(display, server)
    timeline.go(1e9)
    assert display.time == scene.time[-1]
    timeline.play()
    assert timeline.playing
    assert display.time <= scene.time[-1]
    timeline.pause()
    client = SimpleNamespace()
    timeline.slider._impl.value = 0.2
    timeline._set(SimpleNamespace(client=client))
    assert display.time == 0.2
    timeline.close()


def test_a_slider_moves_the_robot_as_its_look_says(server):
    robot = Robot.load("panda")
    shown = AtRest(server, robot)
    assert len(shown.sliders) == robot.nv
    for dof, slider in shown.sliders.items():
        assert slider.min >= robot.q_lower[dof] - 1e-4
        assert slider.max <= robot.q_upper[dof] + 1e-4
    shown.set(3, -1.0)
    assert shown.q[3] == -1.0
    poses = robot.look().poses(shown.q[None], np.zeros(1))
    places = [frame.position for frame in shown.display.actors[0].frames]
    np.testing.assert_allclose(places, poses.position[0], atol=1e-12)
    assert shown.sliders[3].value == -1.0


def test_what_closes_a_loop_follows_the_slider(server):
    robot = Robot.load("five_bar_relative")
    shown = AtRest(server, robot)
    before = shown.q.copy()
    shown.set(0, float(before[0]) + 0.2)
    rows = shown._stack.write(robot.snapshot(shown.q))
    assert shown.q[0] == pytest.approx(before[0] + 0.2)
    assert np.abs(rows.phi).max() < 1e-9  # closure by Newton's method, in metres
    assert np.abs(shown.q - before)[1:].max() > 0.05


def test_names_of_strangers_stay_text(server, run):
    scene = of_result(run[1])
    title = "<img src=x onerror=alert(1)>"
    timeline = show_scene(server, dc.replace(scene, title=title, notes=(title,)))
    timeline.close()
    html = [
        handle.content
        for handle in server.gui._gui_input_handle_from_uuid.values()
        if hasattr(handle, "content")
    ]
    assert not any("<img" in text for text in html)


def test_a_run_that_is_watched_has_the_same_bits(server, run):
    scenario, plain = run
    live = Live(server, scenario)
    live._next = -np.inf
    watched = simulate(scenario, watch=live)
    assert watched.identical(plain)
    assert live.fault == ""
    live.finish(of_result(watched))


def test_limits_are_seen_while_a_run_comes(server, monkeypatch):
    monkeypatch.setattr("ukctrl.reports.viewer.live.SHORTEST", 0.0)
    monkeypatch.setattr("ukctrl.reports.viewer.live.SHARE", np.inf)
    scenario = Scenario.load("ur5-post", {"timing.duration": 0.3})
    live = Live(server, scenario)
    live._next = -np.inf
    assert simulate(scenario, watch=live).status == "completed"
    assert live.fault == ""
    robot, kept = live._display.scene.actors
    assert kept.group == "limits"
    low, high = live._seen_box  # the arm has left what was seen of it at home
    size = float((high - low).max())
    reach = robot.poses.position.reshape(-1, 3)
    assert (low - 0.2 * size < reach).all()
    assert (reach < high + 0.2 * size).all()
    assert len(kept.poses.position) == len(robot.poses.position) > 1
    of_run = of_result(simulate(scenario)).actors[-1]
    assert [part.color for part in kept.look.parts] == [part.color for part in of_run.look.parts]
    np.testing.assert_allclose(kept.poses.position[-1], of_run.poses.position[-1], atol=1e-9)


def test_a_picture_that_fails_does_not_cost_the_run(server, run, monkeypatch):
    scenario, plain = run
    live = Live(server, scenario)

    def broken(*_):
        raise ValueError("no picture")

    monkeypatch.setattr(live, "_take", broken)
    assert simulate(scenario, watch=live).identical(plain)
    assert live.fault == "no picture"


def test_edges_stay_sharp_and_round_sides_smooth():
    assert len(creased(meshes.box(1.0, 1.0, 1.0)).vertices) == 24
    ball = meshes.sphere(1.0)
    assert len(creased(ball).vertices) <= len(ball.vertices)


class Added:
    """Stands for a scene of viser: keeps what is added to it, by name, as handles."""

    def __init__(self):
        self.scene, self.handles = self, {}

    def __getattr__(self, kind):
        def add(name, *given, **looks):
            visible = looks.get("visible", True)
            made = SimpleNamespace(kind=kind, given=given, looks=looks, visible=visible)
            return self.handles.setdefault(name, made)

        return add


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


def test_colours_that_are_none_are_the_bodys():
    assert rgb("#0072b2") == (0, 114, 178)
    assert rgb("url(http://example.org)") == rgb("")


@needs("viser")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["view", "panda", "-c", "pd-gravity"],
            "--controller goes with a scenario; 'panda' is a rob",
        ),
        (["view", "pandda"], "did you mean"),
        (
            ["view", ".", "--no-open"],
            "must hold a run (result.nc), a comparison's runs, or a robot",
        ),
        (["view", "panda", "--port", "-1"], "--port must be from 0 to 65535; got -1"),
        (["view", "panda", "--record", "x.png", "--size", "big"], "--size must be WIDTHxHEIGHT"),
        (["view", "panda", "--record", "x.png", "--camera", "behind"], "a camera is 'front'"),
        (["view", "panda", "--record", "x.avi"], "a film or picture ends in '.mp4'"),
        (["run", "scara-helix", "--port", "0"], "--port goes with --view"),
    ],
)
def test_the_command_says_what_does_not_fit(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_the_command_records_pictures_and_films(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["--size", "96x64", "--camera", "30,20"]
    run = ["two-mass-spring", "--set", "timing.duration=0.5"]
    for arguments in (
        ["two_link", "--record", "robot.png"],
        [*run, "--record", "strip.png", "--strip", "3"],
        [*run, "--record", "film.gif", "--fps", "10", "--speed", "0.5"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["view", *arguments, *small])
        assert ended.value.code == 0
        assert arguments[arguments.index("--record") + 1] in capsys.readouterr().out
    for name, count in (("robot.png", 1), ("strip.png", 1), ("film.gif", 11)):
        with Image.open(tmp_path / name) as picture:
            assert (picture.size, getattr(picture, "n_frames", 1)) == ((96, 64), count)


@pytest.mark.slow
@needs("viser")
def test_the_command_serves_until_it_is_stopped(tmp_path):
    command = [sys.executable, "-c", CLI, "view", "two_link", "--no-open", "--port", "0"]
    started = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = started.stdout.readline()
    where = line.split()[1]
    assert where.startswith(f"http://{served.HERE}:")
    assert urllib.request.urlopen(where, timeout=10).status == 200
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert (started.returncode, out, err) == (0, "", "")
