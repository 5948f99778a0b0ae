"""The command `view`: what it shows of what, where it says so, and what it refuses.

What would simulate or draw is replaced by a record of what it is given.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ukctrl.cli import view as command
from ukctrl.cli.main import main
from ukctrl.core.errors import InputError
from ukctrl.reports import notebook_card
from ukctrl_film import command as films
from ukctrl_film.camera import Camera

MASSES = "two-mass-spring"


@pytest.fixture(name="said")
def _said(monkeypatch, tmp_path, capsys):
    """Give how a command ends: its code, and what it prints."""
    monkeypatch.chdir(tmp_path)

    def end(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["view", *arguments])
        return ended.value.code, capsys.readouterr()

    return end


@pytest.fixture(name="record")
def _record(monkeypatch):
    """Replace a function by one that keeps the arguments of its calls by their names."""

    def replace(place, answer=None):
        module, _, name = place.rpartition(".")
        owner, calls = importlib.import_module(module), []
        signature = inspect.signature(getattr(owner, name))

        def record(*given, **named):
            calls.append(dict(signature.bind(*given, **named).arguments))
            return answer

        monkeypatch.setattr(owner, name, record)
        return calls

    return replace


FILM = "ukctrl_film.command.record"


def test_a_film_is_made_as_the_options_say(said, record):
    films = record(FILM)
    options = ["--fps", "12", "--size", "64x48", "--camera", "30,20,2", "--speed", "0.5",
               "--strip", "3", "--show", "inputs, reactions"]  # fmt: skip
    code, printed = said("two_link", "--record", "a.png", *options)
    assert (code, printed.out) == (0, "film    a.png\n")
    code, printed = said("two_link", "--record", "b.png", "--quiet")
    assert (code, printed.out) == (0, "")
    full, plain = films
    assert full["shown"].actors[0].name == plain["shown"].actors[0].name == "two_link"
    assert {name: full[name] for name in full if name not in ("shown", "progress")} == {
        "path": Path("a.png"), "fps": 12, "size": (64, 48), "speed": 0.5, "strip": 3,
        "camera": Camera(azimuth=30.0, elevation=20.0, zoom=2.0), "show": ["inputs", "reactions"],
    }  # fmt: skip
    assert {name: plain[name] for name in plain if name not in ("shown", "progress")} == {
        "path": Path("b.png"), "fps": 30, "size": (1280, 720), "speed": 1.0, "strip": 0, "show": [],
    }  # fmt: skip


@pytest.mark.parametrize("text", ["64", "64x", "x48", "0x48", "64x0", "-1x48", "64x48x2", "6.4x4"])
def test_a_size_is_two_whole_numbers(text, said, record):
    record(FILM)
    code, printed = said("two_link", "--record", "a.png", "--size", text)
    assert code == 2
    assert f"--size must be WIDTHxHEIGHT, such as 1280x720; got '{text}'." in printed.err


def test_without_the_package_of_films_the_command_says_what_to_install(said, monkeypatch):
    def absent(name, path, target=None):
        if name == "ukctrl_film":
            raise ModuleNotFoundError(name=name)

    monkeypatch.delitem(sys.modules, "ukctrl_film")
    monkeypatch.delitem(sys.modules, "ukctrl_film.command")
    monkeypatch.setattr(sys, "meta_path", [SimpleNamespace(find_spec=absent), *sys.meta_path])
    code, printed = said("two_link", "--record", "a.png")
    assert code == 2
    told = " ".join(printed.err.split())
    assert "this command is in the package ukctrl_film, which comes with ukctrl" in told


def test_progress_of_a_film_is_in_hundredths(monkeypatch):
    told = []

    class Bar:
        def __init__(self, *given):
            assert given == ("film", True, "%")

        def __enter__(self):
            return lambda *done: told.append(done)

        def __exit__(self, *raised):
            return None

    monkeypatch.setattr(films, "progress_bar", Bar)
    monkeypatch.setattr(FILM, lambda shown, path, progress: progress(0.25))
    films.record_scene(None, Path("a.gif"), {}, True)
    assert told == [(25.0, 100.0)]


@pytest.mark.parametrize(
    ("option", "target", "what"),
    [
        ("--controller", "two_link", "a robot"),
        ("--set", "two_link", "a robot"),
        ("--controller", "runs", "the folder of a result"),
        ("--set", "runs", "the folder of a result"),
    ],
)
def test_only_a_scenario_takes_another_controller_or_other_values(option, target, what, said):
    Path("runs").mkdir()
    code, printed = said(target, option, "a=1")
    assert (code, printed.err) == (
        2, f"ukctrl: {option} goes with a scenario; '{target}' is {what}.\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "display", "opened"),
    [((), True, 1), (("--no-open",), True, 0), ((), False, 0), (("--quiet",), True, 1)],
)
def test_the_page_of_a_robot_opens_where_there_is_a_screen(
    options, display, opened, said, monkeypatch, tmp_path
):
    addresses = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", addresses.append)
    monkeypatch.setattr(command, "_has_display", lambda: display)
    code, printed = said("two_link", *options)
    (page,) = tmp_path.glob("ukctrl-*.html")
    assert (code, printed.err) == (0, "")
    assert printed.out == ("" if options == ("--quiet",) else f"page    {page}\n")
    assert addresses == [page.as_uri()] * opened
    assert '"joints":[{"name":"' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("error", [notebook_card.webbrowser.Error, OSError])
def test_a_browser_that_cannot_be_opened_leaves_the_page(error, said, monkeypatch, tmp_path):
    def fail(address):
        raise error

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", fail)
    monkeypatch.setattr(command, "_has_display", lambda: True)
    code, printed = said("two_link")
    assert (code, printed.err) == (0, "")
    assert list(tmp_path.glob("ukctrl-*.html"))


def test_the_options_of_a_scenario_reach_its_run(said, monkeypatch):
    scenes = []
    scene = SimpleNamespace(title="A run")
    monkeypatch.setattr(command, "_scene", lambda *given: scenes.append(given) or scene)
    pages = []
    monkeypatch.setattr(
        notebook_card.SceneView,
        "open",
        lambda view, **options: pages.append((view.scene, options)) or Path("page.html"),
    )
    code, _ = said(MASSES, "-c", "own", "--set", "seed=3", "--trust", "--quiet", "--no-open")
    assert code == 0
    assert scenes == [(MASSES, False, False, "own", ["seed=3"], True, True)]
    assert pages == [(scene, {"in_browser": False})]


@pytest.mark.parametrize(
    ("system", "kernel", "variable", "there"),
    [
        ("posix", "Linux", "", False),
        ("posix", "Linux", "DISPLAY", True),
        ("posix", "Linux", "WAYLAND_DISPLAY", True),
        ("posix", "Linux", "BROWSER", True),
        ("posix", "Darwin", "", True),
        ("nt", "", "", True),
    ],
)
def test_a_screen_is_told_by_the_system(system, kernel, variable, there, monkeypatch):
    environment = {"DISPLAY": "", "TERM": "xterm"} | ({variable: ":0"} if variable else {})
    stand_in = SimpleNamespace(
        environ=environment, name=system, uname=lambda: SimpleNamespace(sysname=kernel)
    )
    monkeypatch.setattr(command, "os", stand_in)
    assert command._has_display() is there


# What there is to see


@pytest.fixture(name="runs")
def _runs(monkeypatch, tmp_path):
    """Make folders of runs, whose results are their paths."""
    monkeypatch.chdir(tmp_path)
    refused = []
    monkeypatch.setattr(
        "ukctrl.simulation.result.untrusted_hdf5.probe_in_subprocess", refused.append
    )
    load = classmethod(lambda cls, path: f"of {path}")
    monkeypatch.setattr("ukctrl.simulation.result.result.Result.load", load)

    def make(*folders):
        for folder in folders:
            Path("there", folder).mkdir(parents=True, exist_ok=True)
            Path("there", folder, "result.nc").touch()
        return Path("there"), refused

    return make


def test_a_folder_holds_a_run_or_those_of_a_comparison_in_the_order_of_their_names(runs):
    folder, refused = runs("b", "a")
    assert command._load_results(folder) == {"a": "of there/a", "b": "of there/b"}
    assert refused == [folder / "a/result.nc", folder / "b/result.nc"]
    runs(*"ihgfedc")
    assert list(command._load_results(folder)) == list("abcdefgh")  # eight colours
    runs(".")
    assert command._load_results(folder) == {"": "of there"}


def test_a_comparison_with_one_run_is_that_run(runs):
    folder, _ = runs("alone")
    assert command._load_results(folder) == {"": "of there/alone"}


@pytest.mark.parametrize("study", [False, True])
def test_a_folder_without_runs_is_refused(study, tmp_path):
    if study:
        (tmp_path / "study.json").touch()
    with pytest.raises(InputError) as refused:
        command._load_results(tmp_path)
    told = " A study has no motion to show; run one of its samples." if study else ""
    assert str(refused.value) == (
        f"'{tmp_path}' must hold a run (result.nc), a comparison's runs, or a robot (robot.toml); "
        f"it has none.{told}"
    )


def test_what_has_no_samples_and_no_robot_is_refused(runs, record, monkeypatch):
    folder, _ = runs(".")
    asked = record("ukctrl.reports.scene.run_scene.runs_scene")
    with pytest.raises(InputError, match="there: there is nothing to see; it has no samples and"):
        command._scene(str(folder), True, False, None, None, False, True)
    assert asked == [{"results": {"": "of there"}, "robots": {}}]


def test_a_run_that_was_simulated_is_shown_with_its_own_robot(record, monkeypatch):
    simulated = SimpleNamespace(name="the robot")
    asked = record("ukctrl.reports.scene.run_scene.runs_scene", "the scene")
    monkeypatch.setattr(command, "_simulate", lambda *given: (given, simulated))
    scene = command._scene("x", False, False, "c", ["s"], True, False)
    assert scene == "the scene"
    given = ("x", "c", ["s"], True, False)
    assert asked == [{"results": {"": given}, "robots": {"": simulated}}]


@pytest.mark.parametrize("status", ["completed", "diverged"])
def test_a_run_that_does_not_end_well_is_shown_and_says_so(status, record, capsys):
    result = SimpleNamespace(status=status, message="it left every bound")
    runs = record("ukctrl.simulation.simulate.simulate", result)
    shown, robot = command._simulate(MASSES, None, ["timing.duration=0.25"], False, True)
    assert shown is result
    ((given),) = runs
    assert given["scenario"].timing.duration == 0.25
    assert given["robot"] is robot
    told = "" if status == "completed" else f"ukctrl: {MASSES} diverged: it left every bound\n"
    assert capsys.readouterr().err == told
