"""Names that may stand on the command line: of scenarios, robots, cards, files and choices.

Each function takes what is typed and gives what goes on with it; typer calls it while a command is
typed. Nothing is read that takes long: of a file in the catalogue its first line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from ukctrl.cli.completion import keys
from ukctrl.cli.completion.index import ROBOT_KINDS, ROOT, index
from ukctrl.core.errors import InputError
from ukctrl.core.files import catalog, zoo

Found = list[tuple[str, str]]
"""What may come next, each with what it is."""
Completion = Callable[[typer.Context, str], Found]
HEAD_BYTES = 2048
"""In so much of a file its title is looked for [byte]."""
MOST_ENTRIES = 1000
"""Of a folder with more entries the first are offered."""
TITLE = re.compile(r"""^title\s*=\s*(["'])(.*?)\1""", re.MULTILINE)
MODELS = catalog.FILE_ENDINGS


def scenarios(context: typer.Context, incomplete: str) -> Found:
    """Return scenarios, and files of one."""
    return [*_named("scenarios", incomplete), *_files(incomplete, (".toml",))]


def checked(context: typer.Context, incomplete: str) -> Found:
    """Return what `check` looks at: scenarios, robots, files of one, and code."""
    return [
        *_named("scenarios", incomplete),
        *_robots(incomplete),
        *_files(incomplete, (*MODELS, ".py")),
    ]


def viewed(context: typer.Context, incomplete: str) -> Found:
    """Return what `view` shows: scenarios, robots, files of one, and folders of results."""
    found = [*_named("scenarios", incomplete), *_robots(incomplete)]
    return [*found, *_files(incomplete, MODELS, folders=True)]


def folders(context: typer.Context, incomplete: str) -> Found:
    """Return folders, of results or studies."""
    return list(_files(incomplete, (), folders=True))


def anywhere(context: typer.Context, incomplete: str) -> Found:
    """Return files and folders, for what is written."""
    return list(_files(incomplete, ("",), folders=True))


def cards(context: typer.Context, incomplete: str) -> Found:
    """Return controller cards: beside the scenario, of the workspace, of the catalogue; files."""
    scenario = _given(context, "scenario")
    beside = None
    if isinstance(scenario, str):
        try:
            beside = catalog.find("scenarios", scenario)
        except InputError:
            beside = None
    found = dict(_named("controllers", incomplete, beside))
    found |= dict(_named("controllers", incomplete))
    return [*found.items(), *_files(incomplete, (".toml",))]


def entries(context: typer.Context, incomplete: str) -> Found:
    """Return what `compare` takes: a card, ``own``, or NAME= before one."""
    name, equals, typed = incomplete.rpartition("=")
    if "{" in name or "{" in typed:
        return []
    found = [("own", "the scenario's own")] if "own".startswith(typed) else []
    found += cards(context, typed)
    return [(f"{name}{equals}{value}", what) for value, what in found]


def settings(context: typer.Context, incomplete: str) -> Found:
    """Return KEY=VALUE: keys of the scenario on the line, level by level, then their values."""
    path, equals, value = incomplete.partition("=")
    place = _place(context)
    if not equals:
        return _descended(place, path)
    found = (v for v in keys.values(*place, path) if v.startswith(value))
    return [(f"{path}={v}", "") for v in found]


def paths(context: typer.Context, incomplete: str) -> Found:
    """Return PATH= of a value that varies or is tuned."""
    return [] if "=" in incomplete else _descended(_place(context), incomplete)


def metrics(context: typer.Context, incomplete: str) -> Found:
    """Return metrics of a run."""
    return [(name, "") for name in index()["metrics"] if name.startswith(incomplete)]


def kinds(context: typer.Context, incomplete: str) -> Found:
    """Return words that `list` finds things by: kinds, and names of what scenarios use."""
    what, kept = _given(context, "what"), index()["tables"]
    kind: list[str] = []
    if what == "robots":
        kind = [word for words in ROBOT_KINDS for word in words.split()]
    elif what == "controllers":
        laws = index()["controllers"]
        kind = [*laws.values(), *laws, *kept["Servo"]["feedback"], *kept["Servo"]["allocation"]]
    elif what == "scenarios":
        kind = [*catalog.names("robots"), *catalog.names("controllers")]
        kind += [*kept[ROOT]["servo"], *kept[ROOT]["effect"]]
    return [(word, "") for word in dict.fromkeys(kind) if word.startswith(incomplete)]


def choices(*texts: str) -> Completion:
    """Return what completes one of some texts."""

    def chosen(context: typer.Context, incomplete: str) -> Found:
        return [(text, "") for text in texts if text.startswith(incomplete)]

    return chosen


def _place(context: typer.Context) -> tuple[str | None, str | None, list[str]]:
    """Return the scenario of the line, the controller that it asks for, and what it sets."""
    scenario, card = _given(context, "scenario"), _given(context, "controller")
    changes = _given(context, "changes") or []
    return (
        scenario if isinstance(scenario, str) else None,
        card if isinstance(card, str) else None,
        [change for change in changes if isinstance(change, str)],
    )


def _given(context: typer.Context, name: str) -> Any:
    return context.params.get(name)


def _descended(place: tuple[str | None, str | None, list[str]], typed: str) -> Found:
    """Return keys; a single one that has others below is gone into at once."""
    found = list(keys.keys(*place, typed))
    while len(found) == 1 and found[0][0].endswith(".") and found[0][0] != typed:
        typed = found[0][0]
        found = list(keys.keys(*place, typed)) or found
    return found


def _named(
    kind: catalog.Kind, incomplete: str, beside: Path | None = None
) -> Iterator[tuple[str, str]]:
    for name in catalog.names(kind, beside):
        if name.startswith(incomplete):
            yield name, _title(kind, name, beside)


def _robots(incomplete: str) -> Iterator[tuple[str, str]]:
    yield from _named("robots", incomplete)
    if zoo.root() is None:
        return
    if incomplete.startswith(zoo.PREFIX):
        every = (f"{zoo.PREFIX}{name}" for name in zoo.names())
        yield from ((name, "") for name in every if name.startswith(incomplete))
    elif zoo.PREFIX.startswith(incomplete):
        yield zoo.PREFIX, "robots of the extra zoo"


def _title(kind: catalog.Kind, name: str, beside: Path | None) -> str:
    """Return the title at the head of a file, read without making a table of the whole."""
    try:
        with catalog.find(kind, name, beside).open("rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8", "replace")
    except (OSError, InputError):
        return ""
    found = TITLE.search(head)
    return found[2] if found else ""


def _files(
    incomplete: str, endings: tuple[str, ...], *, folders: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield files with some endings, and folders, which the path as typed leads into.

    Folders of no meaning by themselves come once a path is typed.
    """
    start = incomplete.rpartition("/")[2]
    prefix = incomplete[: len(incomplete) - len(start)]
    try:
        inside = sorted(os.scandir(Path(prefix).expanduser()), key=lambda each: each.name)
    except (OSError, ValueError, RuntimeError):
        return
    for each in inside[:MOST_ENTRIES]:
        hidden = each.name.startswith(".") and not start.startswith(".")
        if hidden or not each.name.startswith(start):
            continue
        if each.is_dir():
            if folders or prefix or start:
                yield f"{prefix}{each.name}/", ""
        elif each.name.endswith(endings) and endings:
            yield f"{prefix}{each.name}", ""
