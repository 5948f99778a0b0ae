"""Escape codes: in a terminal of a user who wants them, and nowhere else, by any command."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tests.shared.command import NO_COMPILING
from ukctrl.cli.main import COMMANDS

SHORT = ("--set", "timing.duration=0.2")
ARM = ("scara-helix", *SHORT)
QUICK = [
    (),
    ("--version",),
    ("--help",),
    *((name, "--help") for job in COMMANDS.values() for name in job),
    ("nonsense",),
    ("run", "scara-helx"),
    ("run", "scara-helix", "--nonsense"),
    ("init", "mine"),
    ("list", "robots", "arm", "--long"),
    ("list", "zoo", "nothing"),
    ("schema", "controller"),
    ("check", *ARM, "--all"),
    ("check", "two_link"),
    ("run", *ARM, "--out", "run"),
]
SOME = [QUICK[2], *QUICK[-11:]]
"""Of these, help of one command and every way to print."""
LONG = [
    ("run", *ARM, "--out", "run"),
    ("run", "scara-helix-drift", "--set", "monitor.max_phi=0.025", "--out", "drift"),
    ("view", "two_link", "--record", "arm.png", "--size", "64x48"),
    ("compare", *ARM, "-c", "servo-pid", "-c", "pd-gravity", "--repeats", "3", "--jobs", "1",
     "--out", "compare"),
    ("report", "run"),
    ("analyze", *ARM, "--out", "analyze"),
    ("tune", *ARM, "--budget", "4", "--jobs", "1", "--out", "tune"),
    ("sweep", *ARM, "--vary", "seed=1,2", "--jobs", "1", "--out", "sweep"),
    ("export", *ARM, "--period", "0.01", "--out", "export"),
    ("reproduce", "recursive", "--out", "reproduce"),
]  # fmt: skip
"""Together every command, and what goes wrong."""
EACH = (
    NO_COMPILING
    + """
import sys
from ukctrl.cli import main
from ukctrl.cli.terminal import progress_bars as bars
from ukctrl.reports import plot
bars.DELAY_SECONDS = bars.REFRESH_SECONDS = 0.0
every = plot.available
plot.available = lambda result: every(result)[:1]
for arguments in eval(sys.argv[1]):
    print(f"<{' '.join(arguments)}>", flush=True)
    try:
        main(arguments)
    except SystemExit as ended:
        print(f"<code {ended.code or 0}>", flush=True)
"""
)
UNSET = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "CLICOLOR_FORCE", "COLORTERM")


def shown(folder, commands, *, terminal: bool, **settings: str) -> str:
    """Return what commands show, one after the other."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    env = {**kept, "TERM": "xterm-256color", "COLUMNS": "80", **settings}
    command = [sys.executable, "-c", EACH, repr(commands)]
    if not terminal:
        done = subprocess.run(command, env=env, cwd=folder, capture_output=True, timeout=300)
        return (done.stdout + done.stderr).decode()
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(sys.executable, command, env)
    told = bytearray()
    while True:
        try:
            piece = os.read(end, 65536)
        except OSError:  # how a terminal ends
            break
        told += piece
    os.waitpid(pid, 0)
    os.close(end)
    return told.decode()


def by_command(text: str) -> dict[str, str]:
    pieces = text.split("\n<")
    return {
        piece.partition(">")[0].lstrip("<"): piece for piece in pieces if "code" not in piece[:5]
    }


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("terminal", "settings"),
    [
        (False, {}),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}),
        pytest.param(True, {"TERM": "dumb"}, marks=pytest.mark.slow),
    ],
    ids=["pipe", "NO_COLOR beside FORCE_COLOR", "TERM=dumb"],
)
def test_no_command_shows_an_escape_code(tmp_path, long, terminal, settings):
    commands = LONG if long else SOME if terminal else QUICK
    text = shown(tmp_path, commands, terminal=terminal, **settings).replace("\r\n", "\n")
    for command, piece in by_command(text).items():
        assert "\x1b" not in piece, f"{command}: {piece!r}"
    codes = [int(line[6:-1]) for line in text.splitlines() if line.startswith("<code")]
    assert len(codes) == len(commands)
    assert max(codes) <= 2
    assert ("of 0.2 s" in text) is terminal  # how far a run is


@pytest.mark.slow
def test_a_terminal_gets_colours(tmp_path):
    text = shown(tmp_path, [("run", "--help"), *SOME], terminal=True).replace("\r\n", "\n")
    coloured = {command for command, piece in by_command(text).items() if "\x1b[" in piece}
    assert {"run --help", "list robots arm --long", "check two_link"} <= coloured
    assert "nonsense" not in coloured
