"""Strange input of every kind that `ukctrl` reads: good files, changed by chance and by malice.

Everything is a function of a seed and a number, so that one input can be made again by itself.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

SECRET = "sesame-7c1f0a"
"""Stands in a file that inputs name and that nothing may ever show."""
FLAG = "code-ran"
"""The file that foreign code would leave behind."""
CODE = f"open({FLAG!r}, 'w').write('x')"
MODULES = [
    "json",
    "sympy",
    "typing",
    "random",
    "ukctrl",
    "multiprocessing",
    "loky",
    "numpy",
    "scipy",
    "pandas",
    "h5netcdf",
    "pickle",
    "dataclasses",
    "inspect",
    "sitecustomize",
    "usercustomize",
    "pinocchio",
    "numba",
    "distributed",
    "rich",
    "tomllib",
]
"""Names of modules that a folder from a stranger may hold, in the hope that they are imported."""

NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "0",
    "-0.0",
    "-1",
    "1e308",
    "-1e308",
    "1e-308",
    "5e-324",
    "1e400",
    "9223372036854775808",
    "99999999999999999999999999",
    "1_000",
    "0x7f",
    "0.1",
    "1e9",
    "3",
    "1e-9",
    "true",
    "[]",
    "{}",
    "''",
    "1979-05-27T07:32:00Z",
]
TEXTS = (
    "", " ", "\t", "x" * 100_000, "\u202egnp.exe", "é̶" * 50, "\ud7ff", "\u2028", "\x7f",
    "../../../etc/passwd", "/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/environ",
    "secret.txt", "../secret.txt", ".", "..", "/", "~", "~root", "file:" + "///etc/passwd",
    "nul", "con",
    "package://json/json.py", "zoo:../../secret", "zoo:ur5", "http://a.invalid/x",
    "\\\\host\\share",
    "{0.__class__.__mro__}", "%s%n%x", "${HOME}", "$(touch code-ran)", "`touch code-ran`",
    "| touch code-ran", "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>",
    "[red]markup[/red]", "[/]", "[link=https://example.org]x[/link]", "=1+cmd|' /C calc'!A0",
    "__import__('os').system('touch code-ran')", "().__class__.__base__.__subclasses__()",
    f'"""; {CODE}; """', f"'; {CODE}; '", f"\\\"\"\"\n{CODE}\n\"\"\"", "./law.py:Law",
    "./json.py:Law",
    "9**9**9**9**9", "(" * 3000, "sin(" * 300 + "t" + ")" * 300, "-" * 5000 + "1", "1/0", "0*inf",
    "t" + "+t" * 20_000, "x" + "." * 500, "1e999*deg", "20°", "1kHz", "1 m/s**99999",
    "factorial(t)",
    "lambda: 0", "t if t else t", "[t for t in t]", "t.__class__", "self", "class", "def",
    "import os",
    "\U0001f916", "a" * 300, "q" * 70_000, "*", "&x", "~~~",
    "!!python/object/apply:os.system ['id']",
)  # fmt: skip
KEYS = (
    "a", "", "__class__", "__init__", "x" * 5000, "\u202e", "use", "kind", "class", "model", "\n",
    "'; drop", "0", "name", "\U0001f916", "file",
)  # fmt: skip
LEAF = re.compile(r"(?<=[=\[,{ ])(?:\"[^\"\n]*\"|'[^'\n]*'|-?\d[\d.e_+-]*|true|false)(?=[\s,\]}])")
"""A value of a TOML text."""
WORD = re.compile(r"\"[^\"\n]*\"")
"""A value of XML or JSON."""


class Input(NamedTuple):
    """What is given to `ukctrl`: a folder of files stands already, these are the arguments."""

    kind: str
    argv: tuple[str, ...]


class Source(NamedTuple):
    """Good files to begin with."""

    workspace: Path
    """Robots, cards and scenarios."""
    folders: Path
    """Results of every kind of command, a folder each: run, compare, sweep, tune, export."""


def make(source: Source, seed: int, number: int, folder: Path) -> Input:
    """Make one strange input in a folder, which is new."""
    chance = Random(f"{seed}:{number}")
    shutil.copytree(source.workspace, folder, dirs_exist_ok=True)
    (folder.parent / "secret.txt").write_text(SECRET, encoding="utf-8")
    (folder / "secret.txt").write_text(SECRET, encoding="utf-8")
    (folder / "law.py").write_text(f"{CODE}\nclass Law: pass\n", encoding="utf-8")
    for name in chance.sample(MODULES, chance.choice((0, 1, 3))):
        (folder / f"{name}.py").write_text(CODE, encoding="utf-8")
    kind = chance.choice(tuple(KINDS))
    return Input(kind, KINDS[kind](chance, source, folder))


def quoted(text: str) -> str:
    """Return a text as TOML, JSON and XML write it, more or less."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\u{ord(c[0]):04x}", escaped) + '"'


def odd(chance: Random) -> str:
    """Return an odd value, as it is written in a file."""
    if chance.random() < 0.4:
        return chance.choice(NUMBERS)
    if chance.random() < 0.1:
        depth = chance.choice((3, 50, 2000))
        return "[" * depth + "1" + "]" * depth
    return quoted(chance.choice(TEXTS))


def mutated(chance: Random, path: Path, value: re.Pattern[str]) -> None:
    """Change a text file: some of its values, some of its lines, or some of its bytes."""
    text = path.read_text(encoding="utf-8")
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        how, places = chance.random(), list(value.finditer(text))
        lines = text.splitlines(keepends=True)
        if how < 0.6 and places:
            place = chance.choice(places)
            text = text[: place.start()] + odd(chance) + text[place.end() :]
        elif how < 0.75 and lines:
            here = chance.randrange(len(lines))
            new = chance.choice(
                (
                    "",
                    lines[here] * 2,
                    chance.choice(lines),
                    f"{quoted(chance.choice(KEYS))} = {odd(chance)}\n",
                    f"[[{quoted(chance.choice(KEYS))}]]\n",
                )
            )
            text = "".join([*lines[:here], new, *lines[here + 1 :]])
        else:
            text = scrambled(chance, text.encode("utf-8", "surrogateescape")).decode(
                "utf-8", "surrogateescape"
            )
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def scrambled(chance: Random, data: bytes) -> bytes:
    """Change some bytes."""
    here, size = chance.randrange(len(data) + 1), chance.choice((1, 4, 64, 1000))
    piece = data[here : here + size]
    noise = chance.randbytes(len(piece))
    end = data[here + size :]
    return data[:here] + chance.choice((b"", piece * 2, noise, b"\0" * size, b"\xff")) + end


def last_words(chance: Random) -> list[str]:
    """Return options that any command may get."""
    words = ["--set", f"timing.duration={chance.choice(('0.01', '0.02'))}"]
    return words if chance.random() < 0.8 else []


def task(chance: Random) -> list[str]:
    """Return a command on the scenario of the workspace."""
    few = ["--jobs", "1"] if chance.random() < 0.9 else []
    return [
        *chance.choice(
            (
                ["check", "task"],
                ["check", "task", "--json"],
                ["run", "task", "--out", "out", "--quiet", *last_words(chance)],
                ["run", "task", "--out", "out", "--no-report", *last_words(chance)],
                ["analyze", "task", "--out", "out"],
                ["export", "task", "--period", "0.01", "--out", "out", *last_words(chance)],
                ["compare", "task", "-c", "card", "-c", "computed-torque", "--out", "out", *few],
                [
                    "sweep",
                    "task",
                    "--vary",
                    "controller.feedback.alpha=10,20",
                    "--out",
                    "out",
                    *few,
                ],
            )
        )
    ]


def of_files(*names: str, value: re.Pattern[str] = LEAF) -> Callable[..., tuple[str, ...]]:
    """Return what changes one of these files of the workspace and runs a command on the task."""

    def made(chance: Random, source: Source, folder: Path) -> tuple[str, ...]:
        del source
        mutated(chance, folder / chance.choice(names), value)
        return tuple(task(chance))

    return made


def of_bars(chance: Random, source: Source, folder: Path) -> tuple[str, ...]:
    """Change a plant of formulas, or a task on it."""
    del source
    mutated(chance, folder / chance.choice(("robots/bars/robot.toml", "scenarios/bars.toml")), LEAF)
    return tuple("bars" if word == "task" else word for word in task(chance))


def of_results(chance: Random, source: Source, folder: Path) -> tuple[str, ...]:
    """Change a file of a finished run or study, and make its page again or go on with it."""
    which = chance.choice(sorted(path.name for path in source.folders.iterdir()))
    shutil.copytree(source.folders / which, folder / "out")
    files = sorted(path for path in (folder / "out").rglob("*") if path.is_file())
    path = chance.choice(files)
    if chance.random() < 0.1:
        path.unlink()
    elif chance.random() < 0.1:
        path.unlink()
        path.symlink_to(chance.choice(("/dev/zero", "../../secret.txt", "/etc/passwd", path.name)))
    elif path.suffix in (".json", ".jsonl", ".toml", ".csv"):
        mutated(chance, path, LEAF if path.suffix == ".toml" else WORD)
    else:
        path.write_bytes(scrambled(chance, path.read_bytes()))
    again = {"sweep": ["--resume", "--vary", "controller.feedback.alpha=10,20"]}
    if which in again and chance.random() < 0.4:
        return ("sweep", "task", *again[which], "--out", "out", "--no-report")
    return ("report", "out")


def of_hdf5(chance: Random, source: Source, folder: Path) -> tuple[str, ...]:
    """Change the inside of a result: what it declares, where its numbers are said to be."""
    import h5py
    import numpy as np

    shutil.copytree(source.folders / "run", folder / "out")
    path = folder / "out" / "result.nc"
    with h5py.File(path, "r+") as file:
        name = chance.choice(sorted(file))
        how = chance.choice(("huge", "external", "outside", "soft", "virtual", "attribute", "kind"))
        if how == "attribute":
            key = chance.choice(sorted(file.attrs))
            file.attrs[key] = chance.choice(TEXTS).replace("\0", "") or "x" * 10
        else:
            del file[name]
        if how == "huge":
            size = chance.choice((50_000_000, 10**12, 2**62))
            file.create_dataset(name, shape=(size,), dtype="f8", chunks=(1000,), compression="gzip")
        elif how == "external":
            secret = str(folder / "secret.txt").encode()
            file.create_dataset(name, (1,), dtype="f8", external=[(secret, 0, 8)])
        elif how == "outside":
            file[name] = h5py.ExternalLink(chance.choice(("../secret.nc", "/etc/passwd")), "/time")
        elif how == "soft":
            file[name] = h5py.SoftLink(chance.choice((f"/{name}", "/nowhere", "/time")))
        elif how == "virtual":
            layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
            layout[:] = h5py.VirtualSource("/etc/passwd", "time", shape=(3,))
            file.create_virtual_dataset(name, layout)
        elif how == "kind":
            file.create_dataset(name, data=np.array([b"x" * 10, b"y"]))
    return ("report", "out")


PATHS = [
    "timing.duration",
    "timing.sample",
    "timing.control",
    "controller.feedback.alpha",
    "controller",
    "controller.use",
    "controller.kind",
    "servo",
    "servo.0",
    "servo.0.kind",
    "servo.0.path.components",
    "servo.9.kind",
    "robot",
    "robot.model",
    "start.q.shoulder",
    "start",
    "integrator.rtol",
    "integrator.method",
    "believed.mass_scale",
    "effect",
    "monitor.max_phi",
    "title",
    "x.y.z",
    ".",
    "..",
    "=",
    "robot.actuator.0.name",
]


def of_settings(chance: Random, source: Source, folder: Path) -> tuple[str, ...]:
    """Leave the files alone, and set strange things."""
    del source, folder
    words = task(chance)
    for _ in range(chance.choice((1, 1, 2, 4))):
        value = odd(chance) if chance.random() < 0.6 else chance.choice(TEXTS)
        words += ["--set", f"{chance.choice(PATHS)}={value}".replace("\0", "")]
    return tuple(words)


def of_arguments(chance: Random, source: Source, folder: Path) -> tuple[str, ...]:
    """Give arguments that nobody would."""
    del source, folder
    words = task(chance)
    for _ in range(chance.choice((1, 2, 3))):
        new = chance.choice(
            (*TEXTS, *NUMBERS, "--jobs", "--out", "-c", "--vary", "--trust=no", "--")
        )
        new = chance.choice((new, f"--{new}", f"a{{b={new}}}")).replace("\0", "")
        if new != "--trust":
            words.insert(chance.randrange(len(words) + 1), new)
    return tuple(word[:100_000] for word in words)


def of_studies(chance: Random, source: Source, folder: Path) -> tuple[str, ...]:
    """Ask for strange studies and searches."""
    del source, folder
    spreads = (odd(chance), f"{odd(chance)}:{odd(chance)}", "log:0:1:3", "1:2:1e9", "a..b")
    which = f"{chance.choice(PATHS)}={chance.choice(spreads)}".replace("\0", "")
    if chance.random() < 0.5:
        words = ["sweep", "task", "--vary", which, "--no-report"]
    else:
        cost = chance.choice(("rms_phi", *TEXTS)).replace("\0", "")
        budget = chance.choice(("3", "0", "1e99"))
        words = ["tune", "task", "--over", which, "--budget", budget, "--cost", cost]
    return (*words, "--out", "out", *last_words(chance))


KINDS: dict[str, Callable[[Random, Source, Path], tuple[str, ...]]] = {
    "scenario": of_files("scenarios/task.toml"),
    "robot": of_files("robots/arm/robot.toml"),
    "formula plant": of_bars,
    "model": of_files("robots/arm/arm.urdf", value=WORD),
    "card": of_files("controllers/card.toml"),
    "results": of_results,
    "result.nc": of_hdf5,
    "--set": of_settings,
    "arguments": of_arguments,
    "study": of_studies,
}
"""What may be strange, and how it is made."""
