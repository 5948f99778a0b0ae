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
from ukctrl.reports.scene.from_results import of_result
from ukctrl.reports.viewer import server as served
from ukctrl.reports.viewer.display import Display, rgb
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
