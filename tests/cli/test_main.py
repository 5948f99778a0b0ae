"""The command line, from outside: exit codes, files, signals, pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from extras import needs

from tests.shared.command import CLI
from tests.shared.slow import slow_but
from ukctrl import Result
from ukctrl.cli import main
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.reports import plot

RUN = (
    "from ukctrl.reports import plot; every = plot.available; "
    f"plot.available = lambda result: every(result)[:1]; {CLI}"
)
"""The same with one figure of a run in its report: drawing takes longest, and has its own tests."""
FILES = {"result.nc", "summary.json", "scenario.toml", "report.html"}
SHORT = ("--set", "timing.duration=0.2")
BRIEF = ("--set", "timing.duration=5")
PATIENCE = 60.0
"""Longer than this counts as hanging [s]."""


class Ended(NamedTuple):
    """What a command has left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def ukctrl(tmp_path, monkeypatch, capfd):
    """Run a command in this process, in an empty folder; return what it prints and its code.

    Its reports have one figure of a run, as those of `RUN`.
    """
    every = plot.available
    monkeypatch.setattr(plot, "available", lambda result: every(result)[:1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capfd.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_files(folder: Path) -> Result:
    """Check that the files of a run are whole, and return the result."""
    assert {path.name for path in folder.iterdir()} >= FILES
    check_whole(folder)
    return Result.load(folder)


def check_whole(folder: Path) -> None:
    """Check that every file that is there is whole, and that none was left half written."""
    for path in folder.iterdir():
        assert not path.name.startswith("."), f"'{path.name}' was left behind"
        content = path.read_bytes()
        if path.suffix == ".png":
            assert content.endswith(b"IEND\xaeB`\x82")
        elif path.suffix == ".html":
            assert content.rstrip().endswith(b"</html>")
        elif path.suffix == ".json":
            json.loads(content)
        elif path.suffix == ".toml":
            tomllib.loads(content.decode())
        else:
            Result.load(path)


# What every command prints and returns


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--help"), ("-h",)])
def test_help_is_no_failure(ukctrl, arguments):
    ended = ukctrl(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert "Usage: ukctrl" in ended.out


def test_the_version_is_one_line(ukctrl):
    ended = ukctrl("--version")
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"ukctrl \S+.*\n", ended.out)


def test_list_names_everything_of_the_catalogue(ukctrl):
    ended = ukctrl("list")
    assert (ended.code, ended.err) == (0, "")
    for name in ("scara", "servo-baumgarte", "scara-helix"):
        assert re.search(rf"^  {name} ", ended.out, re.MULTILINE)
    listed = json.loads(ukctrl("list", "--json").out)
    assert set(listed) == {"robots", "controllers", "scenarios"}
    assert listed["scenarios"]["scara-helix"] == "SCARA tool follows a helix"
    assert list(json.loads(ukctrl("list", "robots", "--json").out)) == ["robots"]


@pytest.mark.slow(only=["check", "compare"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("check", "scara-helix-drift"),
        ("run", "scara-helix-drift", *SHORT),
        ("compare", "scara-helix", *SHORT, "-c", "servo-pid", "-c", "servo-gauss",
         "-c", "computed-torque", "-c", "servo-exact", "-c", "pd-gravity"),
        ("init", "mine"),
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_what_is_printed_fits_into_80_columns(ukctrl, arguments):
    ended = ukctrl(*arguments, *(("--out", "out") if arguments[0] in ("run", "compare") else ()))
    assert ended.code == 0, ended.err
    told = ended.err.startswith("ukctrl: Bandwidths differ by more than a factor of 2 (")
    assert told == (arguments[0] == "compare")
    assert ended.err.count("\n") == told
    assert max(map(len, ended.out.splitlines())) <= 80
    assert "\x1b" not in ended.out
    assert not re.search(r"[ \t]$", ended.out, re.MULTILINE)


@pytest.mark.slow
def test_check_says_what_stands_in_the_way(ukctrl, tmp_path):
    (tmp_path / "lame.toml").write_text(LAME, encoding="utf-8")
    ended = ukctrl("check", "lame.toml")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.startswith("lame: not ready\n")
    assert "\nproblem: " in ended.out
    found = json.loads(ukctrl("check", "lame.toml", "--json").out)
    assert found["ok"] is False
    assert found["problems"]
    assert ukctrl("check", "scara-helix").code == 0
    assert json.loads(ukctrl("check", "scara-helix", "--json").out)["ok"] is True


LAME = """\
title = "A floating base has no motors of its own"
robot = "floating_arm"

[[servo]]
kind  = "linear_velocity"
coefficients = { root_vx = 1.0 }
path  = { kind = "constant", value = [0.1] }

[controller]
use = "servo-first-order"

[timing]
duration = 1.0
"""


# What a run leaves behind


@pytest.mark.slow
def test_a_run_leaves_its_files(ukctrl, tmp_path):
    ended = ukctrl("run", "scara-helix", *SHORT, "--out", "results/first")
    assert (ended.code, ended.err) == (0, "")
    folder = tmp_path / "results" / "first"
    result = check_files(folder)
    assert {path.suffix for path in folder.iterdir()} == {".nc", ".json", ".toml", ".html", ".png"}
    assert result.status == "completed"
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert list(summary) == [
        "scenario", "robot", "controller", "status", "message", "verdict", "verdict_reasons",
        "metrics", "provenance",
    ]  # fmt: skip
    assert (summary["scenario"], summary["robot"]) == ("scara-helix", "scara")
    assert summary["metrics"]["peak_phi"] < 1e-8
    assert "report  results/first/report.html\n" in ended.out


@pytest.mark.slow
@needs("xarray")
def test_every_variable_of_a_result_has_its_dimensions_a_unit_and_a_name(ukctrl):
    import xarray as xr

    ukctrl("run", "scara-helix", *SHORT, "--out", "out")
    wanted = {
        "q": ("time", "coordinate"),
        "v": ("time", "dof"),
        "a": ("time", "dof"),
        "u": ("time", "actuator"),
        "phi": ("time", "row"),
        "beta": ("time", "row"),
        "passive_phi": ("time", "passive_row"),
        "passive_beta": ("time", "passive_row"),
        "passive_force": ("time", "dof"),
        "energy": ("time",),
        "frame_position": ("time", "frame", "axis"),
    }
    with xr.open_dataset("out/result.nc", engine="h5netcdf") as data:
        for name, dims in wanted.items():
            assert data[name].dims == dims
        for name, variable in data.data_vars.items():
            assert variable.attrs["units"], name
            assert variable.attrs["long_name"], name
        assert data.sizes["time"] == 21
        assert data["frame"].values.tolist() == ["tool"]
        assert data["row"].values.tolist() == ["tool.x", "tool.y", "tool.z", "orientation"]


def test_json_is_all_that_is_printed_for_programs(ukctrl, tmp_path):
    ended = ukctrl("run", "scara-helix", *SHORT, "--out", "out", "--json")
    assert (ended.code, ended.err) == (0, "")
    written = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert json.loads(ended.out) == written
    ended = ukctrl("compare", "scara-helix", *SHORT, "-c", "servo-pid", "--out", "c", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [entry["name"] for entry in json.loads(ended.out)["controllers"]] == ["servo-pid"]


@pytest.mark.slow
def test_quiet_prints_nothing_at_all(ukctrl, tmp_path):
    assert ukctrl("run", "scara-helix", *SHORT, "--quiet") == (0, "", "")
    check_files(tmp_path / "out" / "scara-helix")
    assert ukctrl("compare", "scara-helix", *SHORT, "-c", "servo-pid", "-q") == (0, "", "")
    assert (tmp_path / "out" / "scara-helix-compare" / "report.html").is_file()


@pytest.mark.slow
def test_a_comparison_leaves_a_page_and_every_result(ukctrl, tmp_path):
    ended = ukctrl(
        "compare", "scara-helix", *SHORT, "-c", "servo-pid", "-c", "pd-gravity", "--out", "c"
    )
    assert ended.code == 0
    assert ended.err.startswith("ukctrl: Bandwidths differ by more than a factor of 2 (")
    assert "Bandwidths" not in ended.out
    *_, page = ended.out.splitlines()
    assert "\nSmallest error (rms) in 'tool': " in ended.out
    assert re.fullmatch(r"report  c/report.html, with \d warnings? and \d notes?", page)
    for name in ("servo-pid", "pd-gravity"):
        assert Result.load(tmp_path / "c" / name).status == "completed"
    assert {"report.html", "compare.json", "compare.csv"} <= {
        path.name for path in (tmp_path / "c").iterdir()
    }


@pytest.mark.slow
def test_a_scenario_cannot_choose_where_its_results_go(ukctrl, tmp_path):
    text = LAME.replace('title = "', 'name = "../../../outside"\ntitle = "')
    (tmp_path / "sly.toml").write_text(text, encoding="utf-8")
    ended = ukctrl("run", "sly.toml", *SHORT)
    assert (ended.code, ended.err) == (1, "")
    (folder,) = (tmp_path / "out").iterdir()
    assert folder.name == "outside"
    check_files(folder)


BAD_ENDS = {
    "diverged": (
        "scara-helix-baumgarte",
        "--set", "integrator={method='semi_implicit_euler', step=0.5}",
        "--set", "timing={duration=60.0, sample=0.5}",
    ),
    "drifted": ("scara-helix-drift", "--set", "monitor.max_phi=0.025"),
    "infeasible": ("lame.toml",),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("status", BAD_ENDS)
def test_a_run_that_ends_badly_returns_1_and_leaves_its_files(ukctrl, tmp_path, status):
    (tmp_path / "lame.toml").write_text(LAME, encoding="utf-8")
    ended = ukctrl("run", *BAD_ENDS[status], "--out", "out")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.splitlines()[0].endswith(f": {status}")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == status
    assert summary["message"]
    assert {path.name for path in (tmp_path / "out").iterdir()} >= FILES
    assert Result.load(tmp_path / "out").status == status


# Signals


def wait_for(pattern: str, folder: Path, process: subprocess.Popen[str], count: int = 1) -> None:
    """Wait until the process has made so many files whose names match."""
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob(pattern))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def endless(own_law, tmp_path):
    """Start a command on runs of a law that says when it has begun, and that last for hours."""
    card = f"{CARD}fault = 'tells'\nat = 0.35\n"
    for name in ("hold", "still"):
        (tmp_path / "controllers" / f"{name}.toml").write_text(card, encoding="utf-8")
    hours = "timing={duration=10000, control=0.001, sample=0.1}"

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command, *rest = arguments
        fixed = ("my-scenario", "--set", hours, "--trust", "--out", "out")
        return start(command, *fixed, *rest, cwd=tmp_path)

    return begin


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(["SIGTERM"], ["SIGINT", "SIGTERM", "SIGHUP"]))
def test_a_run_that_is_stopped_keeps_what_it_has(endless, tmp_path, name):
    process = endless("run", "-c", "hold")
    wait_for("begun-*", tmp_path, process)
    process.send_signal(signal.Signals[name])
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, "")
    assert out.startswith("my-scenario: interrupted\n")
    assert "stopped by the user at t = " in out
    result = check_files(tmp_path / "out")
    assert result.status == "interrupted"
    assert 0.3 <= result.time[-1] < 10_000.0
    assert np.isfinite(result["u"]).all()


@pytest.mark.slow
def test_a_comparison_that_is_stopped_keeps_what_it_has(endless, tmp_path):
    process = endless("compare", "-c", "hold", "-c", "still")
    wait_for("begun-*", tmp_path, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, "")
    assert re.search(r"status +interrupted( +interrupted)?\n", out)
    assert Result.load(tmp_path / "out" / "hold").status == "interrupted"
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8").rstrip().endswith("html>")


@pytest.mark.slow
def test_a_search_that_is_stopped_keeps_what_was_tried_and_is_gone_on_with(tmp_path):
    command = (
        "compare", "scara-helix", "-c", "servo-baumgarte", "--tune", "200", "--jobs", "1",
        "--set", "timing.duration=0.5", "--out", "out", "--quiet",
    )  # fmt: skip
    process = start(*command, cwd=tmp_path)
    wait_for("out/runs.jsonl", tmp_path, process)
    while not (tmp_path / "out" / "runs.jsonl").read_bytes().count(b"\n"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "")
    said = re.fullmatch(
        r"ukctrl: (\d+) simulations are kept in out.runs\.jsonl, and the same command goes on from "
        r"them\.\n",
        err,
    )
    assert said, err
    kept = (tmp_path / "out" / "runs.jsonl").read_text(encoding="utf-8")
    assert len(kept.splitlines()) == int(said[1]) > 0


@pytest.mark.slow
def test_runs_in_other_processes_hand_over_what_they_have_when_stopped(endless, tmp_path):
    process = endless("compare", "-c", "hold", "-c", "still", "--jobs", "2")
    wait_for("begun-*", tmp_path, process, count=2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, "")
    assert re.search(r"status +interrupted +interrupted\n", out)
    for name in ("hold", "still"):
        result = Result.load(tmp_path / "out" / name)
        assert result.status == "interrupted"
        assert result.time[-1] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", slow_but(range(1), range(20)))
def test_a_signal_at_any_moment_leaves_no_broken_file(tmp_path, seed):
    process = start("run", "scara-helix", *BRIEF, "--out", "out", cwd=tmp_path)
    wait_for("out", tmp_path, process)  # made when signals are heard, before the loop starts
    time.sleep(random.Random(seed).uniform(0.0, 2.5))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 1)
    assert "Traceback" not in err
    result = check_files(tmp_path / "out")
    # A signal after the last sample comes too late to change anything.
    assert result.status == ("completed" if len(result.time) == 501 else "interrupted")


def test_a_signal_while_an_object_is_deleted_waits_for_the_next_sample():
    class Handle:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    reached = []

    def loop(progress):
        try:
            Handle()  # the signal comes while it is deleted; what __del__ raises is ignored
            reached.append("the next sample")
            progress(0.0, 1.0)
        except KeyboardInterrupt:
            return "interrupted"
        return "completed"

    with interruptible(loop.__code__) as stop:
        assert loop(stop.checked(lambda t, duration: None)) == "interrupted"
    assert reached


STRUCK = """
import os, signal, sys

class Strike:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Strike())
from ukctrl.cli import main
main(sys.argv[2:])
"""
"""Sends itself a Ctrl-C when it begins to import the module that its first argument names."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    slow_but(["ukctrl.simulation.simulate"], ["numpy", "pydantic", "ukctrl.simulation.simulate"]),
)
def test_a_signal_before_the_run_is_one_line(tmp_path, module):
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, module, "run", "scara-helix", "--out", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    said = "ukctrl: stopped by the user before there was anything to keep.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_signal_while_the_robot_is_loaded_ends_the_run_at_its_first_sample(tmp_path):
    line = ["pinocchio", "run", "scara-helix", "--out", "out"]
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, *line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "scara-helix: interrupted\n  stopped by the user at t = 0" in done.stdout


@pytest.mark.slow
def test_a_signal_that_the_parent_ignores_stays_ignored(tmp_path):
    command = [sys.executable, "-c", RUN, "run", "scara-helix", "--out", "out", "--quiet"]
    script = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
    process = subprocess.Popen(
        [sys.executable, "-c", f"{script}os.execv(sys.argv[1], sys.argv[1:])", *command, *BRIEF],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for("out", tmp_path, process)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")


# Pipes and terminals


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_failure(tmp_path):
    process = start("run", "scara-helix", *SHORT, "--json", "--out", "out", cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    assert (process.wait(PATIENCE), err) == (0, "")
    check_files(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_an_output_that_cannot_be_written_is_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", CLI, "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            timeout=PATIENCE,
        )
    assert (done.returncode, done.stderr) == (2, "ukctrl: No space left on device.\n")


@pytest.mark.slow
def test_a_narrow_encoding_is_no_failure(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RUN, "run", "scara-helix", *SHORT, "--set", "title=Ελιξ"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"peak_u" in done.stdout


SOON = (
    "from ukctrl.cli.terminal import progress_bars as bars; "
    "bars.DELAY_SECONDS = bars.REFRESH_SECONDS = 0.0; "
)
"""Lets a short run show its progress as a long one would."""


@pytest.mark.slow
def test_no_progress_reaches_a_pipe(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SOON + RUN, "run", "scara-helix", *SHORT],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    assert b"\r" not in done.stdout


@pytest.mark.slow
def test_a_terminal_gets_progress_but_no_control_characters_from_files(tmp_path):
    title = "title='''[red]sly[/nope]\\u001b]0;title\\u0007'''".replace("'''", '"""')
    arguments = ["run", "scara-helix", *SHORT, "--set", title]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-c", SOON + RUN, *arguments])
    shown = bytearray()
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how a terminal ends
            break
        if not piece:
            break
        shown += piece
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown.decode(errors="replace")
    assert b"of 0.2 s" in shown
    assert b"[red]sly[/nope]\\x1b]0;title\\x07" in shown
    assert b"\x1b]0;" not in shown
    assert b"\x07" not in shown
    assert b"completed" in shown


# A user's own law

LAW = '''\
"""Gravity compensation, until a fault."""

import os
from pathlib import Path

import numpy as np

from ukctrl import Command, Controller, Law
from ukctrl.core.fields import Text, Time, spec


@spec
class Hold(Controller):
    fault: Text = "none"
    at: Time = 0.1

    def start(self, task):
        if self.fault == "start":
            raise ZeroDivisionError("no start")
        return HoldLaw(self, task)


class HoldLaw(Law):
    def __init__(self, gains, task):
        super().__init__(task)
        self.gains = gains

    def step(self, dynamics, memory):
        s, fault = dynamics.snapshot, self.gains.fault
        u = s.B.T @ s.gravity
        if s.t < self.gains.at:
            return Command(u, memory)
        if fault == "undefined":
            u = np.full(len(u), np.nan)
        elif fault == "shape":
            u = np.zeros(len(u) + 1)
        elif fault == "raises":
            raise KeyError("first\\nsecond")
        elif fault == "tells":
            Path(f"begun-{os.getpid()}").touch()
        return Command(u, memory)
'''
CARD = 'title = "Holds itself up"\nkind = "./law.py:Hold"\n'


@pytest.fixture
def own_law(ukctrl, tmp_path):
    """A workspace with a law of the user's own, under `controllers/hold.toml`."""
    assert ukctrl("init", ".").code == 0
    (tmp_path / "controllers" / "law.py").write_text(LAW, encoding="utf-8")
    (tmp_path / "controllers" / "hold.toml").write_text(CARD, encoding="utf-8")
    return ukctrl


@pytest.mark.slow
def test_a_law_of_ones_own_runs_when_it_is_trusted(own_law, tmp_path):
    command = ("my-scenario", *SHORT, "-c", "hold")
    refused = own_law("run", *command)
    assert refused.code == 2
    assert "--trust" in refused.err
    ended = own_law("run", *command, "--trust", "--out", "first")
    assert (ended.code, ended.err) == (0, "")
    summary = json.loads((tmp_path / "first" / "summary.json").read_text(encoding="utf-8"))
    assert summary["controller"] == "hold"
    ended = own_law(
        "compare", "my-scenario", *SHORT, "-c", "hold", "-c", "my-controller", "--trust", "--quiet"
    )
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        ("undefined", "diverged", r"must return 2 finite inputs; got \[nan nan\]|speed nan"),
        ("shape", "diverged", r"must return 2 finite inputs|u must have shape \(2,\); got \(3,\)"),
        ("raises", "interrupted", r"KeyError: 'first"),
    ],
)
@pytest.mark.parametrize("control", ["0.001", "continuous"])
def test_a_law_that_fails_ends_the_run_with_what_there_is(
    own_law, tmp_path, fault, status, says, control
):
    text = (tmp_path / "scenarios" / "my-scenario.toml").read_text(encoding="utf-8")
    if control == "continuous":
        text = re.sub(r"^control .*\n", "", text, flags=re.MULTILINE)
    (tmp_path / "scenarios" / "my-scenario.toml").write_text(text, encoding="utf-8")
    ended = own_law(
        "run", "my-scenario", "-c", "hold", "--set", f"controller.fault={fault}", "--trust",
        "--out", "out",
    )  # fmt: skip
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.startswith(f"my-scenario: {status}\n")
    result = check_files(tmp_path / "out")
    assert result.status == status
    assert re.search(says, result.message)
    np.testing.assert_allclose(result.time[-1], 0.09, atol=0.011)
    assert np.isfinite(result["u"]).all()


def test_a_law_that_cannot_start_is_blamed_by_file_and_line(own_law):
    ended = own_law(
        "run", "my-scenario", "-c", "hold", "--set", "controller.fault=start", "--trust"
    )
    line = "ukctrl: law.py, line 19, in start: ZeroDivisionError: no start.\n"
    assert ended == (2, "", line)


# The resolved scenario


def prepare_catalogue(_: Path) -> tuple[str, ...]:
    return ("scara-helix", "-c", "servo-pid", "--set", "timing.control=0.01")


def prepare_workspace(folder: Path) -> tuple[str, ...]:
    believed = '[believed]\nmass_scale = 1.2\nrobot = "my-arm"\n'
    path = folder / "scenarios" / "my-scenario.toml"
    path.write_text(f"{path.read_text(encoding='utf-8')}{believed}", encoding="utf-8")
    return ("my-scenario",)


def prepare_table(folder: Path) -> tuple[str, ...]:
    rows = [f"{t},{0.65 - 0.1 * t * t},{0.1 * t}" for t in np.linspace(0.0, 1.0, 11)]
    (folder / "scenarios" / "path.csv").write_text("\n".join(["t,x,z", *rows]), encoding="utf-8")
    return ("my-scenario", "--set", 'servo.tool.path={kind="table", file="path.csv"}')


def prepare_law(folder: Path) -> tuple[str, ...]:
    (folder / "controllers" / "law.py").write_text(LAW, encoding="utf-8")
    (folder / "controllers" / "hold.toml").write_text(CARD, encoding="utf-8")
    return ("my-scenario", "-c", "hold", "--set", "controller.at=7*ms", "--trust")


def prepare_model(_: Path) -> tuple[str, ...]:
    return ("my-scenario", "--set", "robot=../robots/my-arm/my-arm.urdf")


@pytest.mark.slow(only=["catalogue"])
@pytest.mark.parametrize(
    "prepare",
    [prepare_catalogue, prepare_workspace, prepare_table, prepare_law, prepare_model],
    ids=lambda prepare: prepare.__name__.removeprefix("prepare_"),
)
def test_the_resolved_scenario_gives_the_same_bits_from_any_folder(
    ukctrl, tmp_path, monkeypatch, prepare
):
    assert ukctrl("init", ".").code == 0
    ended = ukctrl("run", *prepare(tmp_path), *SHORT, "--out", "first")
    assert (ended.code, ended.err) == (0, "")
    elsewhere = tmp_path / "elsewhere" / "deep"
    elsewhere.mkdir(parents=True)
    (tmp_path / "first" / "scenario.toml").rename(elsewhere / "again.toml")
    monkeypatch.chdir(elsewhere)
    trust = ("--trust",) if prepare is prepare_law else ()
    ended = ukctrl("run", "again.toml", *trust, "--out", "second")
    assert (ended.code, ended.err) == (0, "")
    first, second = Result.load(tmp_path / "first"), Result.load(elsewhere / "second")
    assert len(first.time) == 21
    assert first.identical(second)
    assert first.scenario == second.scenario


# A workspace of one's own


def test_a_new_workspace_works_at_once(ukctrl, tmp_path, monkeypatch):
    ended = ukctrl("init", "mine")
    assert (ended.code, ended.err) == (0, "")
    assert "  cd mine\n" in ended.out
    monkeypatch.chdir(tmp_path / "mine")
    assert ukctrl("check", "my-scenario").code == 0
    ended = ukctrl("run", "my-scenario")
    assert (ended.code, ended.err) == (0, "")
    result = check_files(tmp_path / "mine" / "out" / "my-scenario")
    assert result.metric("peak_phi") < 1e-4
    assert result.metric("saturated_fraction") == 0.0
    listed = json.loads(ukctrl("list", "--json").out)
    assert "my-arm" in listed["robots"]
    assert "my-controller" in listed["controllers"]
    assert "my-scenario" in listed["scenarios"]
    ended = ukctrl("compare", "my-scenario", "-c", "my-controller", "-c", "computed-torque")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
def test_the_check_of_a_large_swarm_fits_on_a_screen(ukctrl):
    swarm = ("check", "swarm-many", "--set", "robot.particles.count=60")
    done = ukctrl(*swarm)
    assert done.code == 0
    words = " ".join(done.out.split())
    assert len(done.out.splitlines()) < 50
    assert "and 100 more that --json lists" in words
    assert "and 108 more that --json lists" in words
    found = json.loads(ukctrl(*swarm, "--json").out)
    assert len(found["rows"]) == len(found["inputs"]) == 120


@pytest.mark.slow
def test_a_solved_start_says_whether_and_how_far_it_moved(ukctrl):
    assert ("start satisfies the constraints as given") in " ".join(
        ukctrl("check", "five-bar").out.split()
    )
    moved = ukctrl("check", "three-rrr")
    assert re.search(r"start +moved to satisfy the constraints, by [\d.e-]+ (m|rad)", moved.out)
