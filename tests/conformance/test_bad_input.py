"""Bad input ends in one clear line and exit code 2: no traceback, nothing executed, no hanging.

The cases are the tables in ``bad/*.toml``, which change or replace files of the good workspace in
``bad/base``, and below those whose files are too large or too odd to write down.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.shared.command import NO_COMPILING
from ukctrl.cli import main

BAD = Path(__file__).parent / "bad"
TASK = "scenarios/task.toml"
URDF = "robots/arm/arm.urdf"
SWAPPED = {
    "robot": "robots/arm/robot.toml",
    "linkage": "robots/bars/robot.toml",
    "model": URDF,
}
"""The file that a table's swaps are about, where it is not the task."""
PATIENCE = 60.0
"""Longer than this counts as hanging [s]; it is no measure of speed."""


class Case(NamedTuple):
    """One refusal."""

    name: str
    spoil: Callable[[Path], object]
    """Spoils the workspace."""
    says: tuple[str, ...]
    """Parts of the one line."""
    argv: tuple[str, ...] = ("check", "task")


def written(case: dict[str, Any], file: str) -> Callable[[Path], None]:
    """Return what makes the changes that a table describes."""

    def spoil(folder: Path) -> None:
        for name, text in case.get("write", {}).items():
            (folder / name).write_text(text, encoding="utf-8")
        if "swap" in case:
            swap(folder / case.get("file", file), *case["swap"])
        if "formula" in case:
            block = f"[[servo]]\nkind = 'expression'\nname = 'speed'\n{case['formula']}\n"
            swap(folder / TASK, "[controller]", f"{block}[controller]")

    return spoil


def swap(path: Path, old: str, new: str) -> None:
    """Replace the one place where a text stands in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"'{old}' must stand in {path.name} once"
    path.write_text(text.replace(old, new), encoding="utf-8")


def tables() -> Iterator[Case]:
    """Yield the cases of ``bad/*.toml``."""
    for path in sorted(BAD.glob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            known = {"name", "write", "swap", "file", "formula", "says", "argv"}
            assert not case.keys() - known, f"{path.name}: {case['name']}"
            spoil = written(case, SWAPPED.get(path.stem, TASK))
            argv = tuple(case.get("argv", ("check", "task")))
            yield Case(case["name"], spoil, tuple(case["says"]), argv)


def put(name: str, content: bytes | str) -> Callable[[Path], object]:
    """Return what writes one file."""
    data = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(data)


def grow(name: str, old: str, new: str) -> Callable[[Path], object]:
    """Return what swaps a text for one that is too long for a table."""
    return lambda folder: swap(folder / name, old, new)


def link(name: str, target: str) -> Callable[[Path], object]:
    """Return what replaces a file by a symbolic link."""

    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return spoil


def pipe(name: str) -> Callable[[Path], object]:
    """Return what replaces a file by a pipe, from which reading would wait for ever."""

    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return spoil


def folder(name: str) -> Callable[[Path], object]:
    """Return what replaces a file by a folder."""

    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return spoil


def formula(text: str) -> Callable[[Path], None]:
    """Return what adds a constraint with this formula."""
    return written({"formula": f"phi = '{text}'"}, TASK)


GOOD = (BAD / "base" / TASK).read_text(encoding="utf-8")
BODY = '["0.55 + 0.1*cos(pi*t)", "0.1*sin(pi*t)"]'
CHAIN = "".join(
    f'<link name="l{i + 1}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
    f'ixz="0" iyz="0"/></inertial></link><joint name="j{i}" type="continuous"><parent link="l{i}"/>'
    f'<child link="l{i + 1}"/></joint>'
    for i in range(20_000)
)

GENERATED = [
    Case("an empty file", put(TASK, ""), ("task: title: is missing.",)),
    Case("half a file", put(TASK, GOOD[:400]), ("task.toml: not valid TOML", "at end of document")),
    Case("a key twice", put(TASK, "title = 'a'\ntitle = 'b'"), ("task.toml: not valid TOML",)),
    Case("a NUL in the file", put(TASK, GOOD + "\0"), ("task.toml: not valid TOML",)),
    Case("text that is not UTF-8", put(TASK, b"title = '\xfc'"), ("must be UTF-8 text; byte 9",)),
    Case("text in UTF-16", put(TASK, GOOD.encode("utf-16")), ("must be UTF-8 text",)),
    Case("a picture", put(TASK, b"\x89PNG\r\n\x1a\n" + bytes(200)), ("must be UTF-8 text",)),
    Case("a colour in a key", put(TASK, '"a\\u001b[31m" = 1'), ("task: a\\x1b[31m: unknown key",)),
    Case("a line break in a key", put(TASK, '"a\\nb" = 1'), ("task: a b: unknown key",)),
    Case("1 MB of brackets", put(TASK, "a = " + "[" * 2**20), ("nested too deeply",)),
    Case("1 MB of tables", put(TASK, "a = " + "{a=" * 2**18), ("nested too deeply",)),
    Case("1 MB of headers", put(TASK, "[" * 2**20), ("not valid TOML",)),
    Case("1 MB of dots", put(TASK, "a" + ".a" * 2**19 + " = 1"), ("at most 32 parts",)),
    Case("1 MB of one key", put(TASK, "a" * 2**20 + " = 1"), ("unknown key",)),
    Case("1 MB of unknown keys", put(TASK, "\n".join(f"k{i}=1" for i in range(90_000))), ("k0",)),
    Case("10 MB", put(TASK, b"#" * 10_000_000), ("must be at most 4 MB",)),
    Case("a million digits", put(TASK, "seed = " + "9" * 10**6), ("not valid TOML",)),
    Case(
        "an integer beyond every float",
        grow(TASK, "duration = 0.1", "duration = 1" + "0" * 400),
        ("task: timing.duration: must be a finite number",),
    ),
    Case(
        "a gain with 4000 digits",
        grow(TASK, "alpha = 20.0", "alpha = " + "7" * 4000),
        ("task: controller.feedback.alpha: must be a finite number",),
    ),
    Case("a title of 1 MB", put(TASK, f"title = 3\nrobot = '{'a' * 2**20}'"), ("task: ",)),
    Case(
        "a name of 1 MB",
        grow(TASK, 'robot = "arm"', f'robot = "{"a" * 2**20}"'),
        ("task: robot: no robot named 'aaaa", "..."),
    ),
    Case(
        "a path of 1 MB",
        grow(TASK, 'robot = "arm"', f'robot = "{"a/" * 2**19}"'),
        ("task: robot: no file '", "..."),
    ),
    Case(
        "parts of a path nested a hundred deep",
        grow(
            TASK,
            f'{{ kind = "expression", components = {BODY} }}',
            '{ kind = "repeated", period = 1, path = ' * 100 + "{}" + " }" * 100,
        ),
        ("task: servo[0].path",),
    ),
    Case(
        "a formula of 1 MB",
        formula("1+" * 2**19 + "1"),
        ("task: servo[1]", "at most 4096 characters"),
    ),
    Case(
        "a formula of brackets", formula("(" * 2**19), ("task: servo[1]", "at most 4096 characters")
    ),
    Case("a formula nested deeply", formula("(" * 900 + "1" + ")" * 900), ("task: servo[1]",)),
    Case("a formula of signs", formula("-" * 5000 + "shoulder"), ("task: servo[1]",)),
    Case("a formula of powers", formula("**".join(["shoulder"] * 150)), ("task: servo[1]",)),
    Case(
        "a formula that doubles itself",
        formula("exp(" * 60 + "shoulder" + ")" * 60),
        ("task: servo[1]",),
    ),
    Case("a task that is a folder", folder(TASK), ("no scenario named 'task'",)),
    Case("a task that is a pipe", pipe(TASK), ("no scenario named 'task'",)),
    Case("a task that links to itself", link(TASK, "task.toml"), ("no scenario named 'task'",)),
    Case("a task that links to nothing", link(TASK, "gone.toml"), ("no scenario named 'task'",)),
    Case("a card that is a folder", folder("controllers/card.toml"), ("no controller named",)),
    Case("a card that is a pipe", pipe("controllers/card.toml"), ("no controller named",)),
    Case("a model that is a pipe", pipe(URDF), ("model: must be a file that exists",)),
    Case("a model that links to itself", link(URDF, "arm.urdf"), ("model: must be a file",)),
    Case("a model that is not UTF-8", put(URDF, b"<robot name='\xfc'/>"), ("arm.urdf", "UTF-8")),
    Case("a model in UTF-16", put(URDF, "<robot/>".encode("utf-16")), ("arm.urdf: ",)),
    Case("a model with a NUL", put(URDF, b"<robot name='a\0b'/>"), ("arm.urdf: ",)),
    Case("a model of 1 MB of tags", put(URDF, "<robot>" * 150_000), ("arm.urdf: ",)),
    Case("a model of 30 MB", put(URDF, b"<!--" + b"-a" * 15_000_000 + b"-->"), ("arm.urdf: ",)),
    Case(
        "a model that is an endless chain",
        put(URDF, f'<robot name="arm"><link name="l0"/>{CHAIN}</robot>'),
        ("arm.urdf: ",),
    ),
]

CASES = [*tables(), *GENERATED]
PROCESSES = [
    "a misspelt option",
    "a misspelt scenario",
    "1 MB of brackets",
    "a duration in degrees",
    "a misspelt frame",
    "a formula that imports",
    "code that is not trusted",
    "trusted code that raises when it is imported",
    "two links of one name",
    "a mass that is not a number",
    "a joint to a link that does not exist",
    "an entity bomb",
]
"""Cases that also run as whole processes, where native libraries can write past Python."""


class Hanging(BaseException):
    """A command has taken so long that it may never end."""


@contextlib.contextmanager
def impatience() -> Iterator[None]:
    """Raise `Hanging` out of Python code, and end the tests should native code hang."""

    def stop(number: int, frame: object) -> None:
        raise Hanging

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    faulthandler.dump_traceback_later(3 * PATIENCE, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A copy of the good workspace, as the current folder."""
    shutil.copytree(BAD / "base", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def named(name: str) -> Case:
    """Return the case of this name."""
    return next(case for case in CASES if case.name == name)


def check_refusal(case: Case, folder: Path, code: object, out: str, err: str) -> None:
    """Check what every refusal has in common, and what this one says."""
    assert "Traceback" not in err
    assert code == 2, err
    assert out == ""
    assert err.startswith("ukctrl: ")
    assert err.endswith("\n")
    line = err[:-1]
    assert line.isprintable(), "one line, and nothing that a terminal would obey"
    assert len(line) < 1000
    missing = [part for part in case.says if part not in line]
    assert not missing, line
    assert not (folder / "canary").exists()


def test_the_cases_have_names_of_their_own():
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    assert len(names) >= 80


@pytest.mark.slow
def test_the_workspace_itself_is_good(workspace, capfd):
    with pytest.raises(SystemExit) as ended:
        main(["check", "task"])
    assert ended.value.code == 0, capfd.readouterr().err


@pytest.mark.slow(
    only=[
        "more bodies than any machine has memory for",
        "a factor of a joint that does not exist",
        "a factor in a unit that the robot does not have there",
        "1 MB of unknown keys",
        "a model of 30 MB",
        "passive that is a number",
        "a metric of the feedback that does not exist",
        "a contact of no type",
        "a path of 1 MB",
        "a formula of 1 MB",
        "a model that is an endless chain",
        "searches of nothing",
    ]
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_is_refused_in_one_line(case, workspace, capfd):
    if "--cluster" in case.argv:
        pytest.importorskip("distributed")
    case.spoil(workspace)
    with impatience(), pytest.raises(SystemExit) as ended:
        main(list(case.argv))
    out, err = capfd.readouterr()
    check_refusal(case, workspace, ended.value.code, out, err)


FORKS = f"""
import gc, json, os, sys
{NO_COMPILING}
from ukctrl.cli import main
try:
    main(["check", "task"])
except SystemExit:
    sys.stdout.flush()
gc.freeze()  # or every process would look at all of it when it ends
for folder, argv in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for number, end in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{{folder}}.{{end}}", os.O_CREAT | os.O_WRONLY), number)
        main(argv)
    print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Checks a good task, which loads all that the cases need, and then gives each its own process."""


@pytest.mark.slow
def test_is_refused_by_a_process_of_its_own(workspace, tmp_path_factory):
    cases, folders = [named(name) for name in PROCESSES], tmp_path_factory.mktemp("spoilt")
    asked = []
    for k, case in enumerate(cases):
        shutil.copytree(BAD / "base", folders / str(k))
        case.spoil(folders / str(k))
        asked.append((str(folders / str(k)), case.argv))
    done = subprocess.run(
        [sys.executable, "-c", FORKS, json.dumps(asked)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    codes = [int(line.split()[-1]) for line in done.stdout.splitlines() if "ended with" in line]
    assert len(codes) == len(cases), done.stderr
    for case, code, (folder, _) in zip(cases, codes, asked, strict=True):
        out, err = (Path(f"{folder}.{end}").read_text() for end in ("out", "err"))
        check_refusal(case, Path(folder), code, out, err)


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may read everything")
@pytest.mark.parametrize("name", [TASK, "controllers/card.toml", URDF])
def test_a_file_that_may_not_be_read_is_refused(name, workspace, capfd):
    (workspace / name).chmod(0)
    with pytest.raises(SystemExit) as ended:
        main(["check", "task"])
    out, err = capfd.readouterr()
    check_refusal(
        Case(name, put(name, ""), (Path(name).name,)), workspace, ended.value.code, out, err
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(workspace, capfd):
    workspace.chmod(0o500)
    with pytest.raises(SystemExit) as ended:
        main(["run", "task", "--out", "out"])
    out, err = capfd.readouterr()
    check_refusal(Case("", put("", ""), ("--out 'out'",)), workspace, ended.value.code, out, err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("Windows line ends", GOOD.replace("\n", "\r\n").encode()),
        ("a byte order mark", b"\xef\xbb\xbf" + GOOD.encode()),
        ("a comment that is not ASCII", b"# \xc3\xbc\n" + GOOD.encode()),
        ("no line end at the end", GOOD.rstrip().encode()),
    ],
)
def test_is_no_reason_to_refuse(name, content, workspace, capfd):
    del name
    (workspace / TASK).write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        main(["check", "task"])
    assert ended.value.code == 0, capfd.readouterr().err


def test_one_broken_card_does_not_hide_the_others(workspace, capfd):
    (workspace / "controllers" / "broken.toml").write_text("title = ")
    with pytest.raises(SystemExit) as ended:
        main(["list"])
    out, err = capfd.readouterr()
    assert (ended.value.code, err) == (0, "")
    assert "A servo controller" in out
    assert "broken" in out
    assert "not valid TOML" in out
