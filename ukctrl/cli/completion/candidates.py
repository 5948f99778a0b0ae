"""Names that may stand on the command line: of scenarios, robots, cards and files.

Each function takes what is typed and gives what goes on with it; typer calls it while a command is
typed. Nothing is read that takes long: of a file in the catalogue its first line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import typer

from ukctrl.core.errors import InputError
from ukctrl.core.files import catalog, zoo

Candidates = list[tuple[str, str]]
"""What may come next, each with what it is."""
HEAD_BYTES = 2048
"""In so much of a file its title is looked for [byte]."""
MAX_ENTRIES = 1000
"""Of a folder with more entries the first are offered."""
TITLE = re.compile(r"""^title\s*=\s*(["'])(.*?)\1""", re.MULTILINE)
MODELS = catalog.FILE_ENDINGS


def scenarios(context: typer.Context, incomplete: str) -> Candidates:
    """Return scenarios, and files of one."""
    return [*_catalogue_names("scenarios", incomplete), *_files(incomplete, (".toml",))]


def check_targets(context: typer.Context, incomplete: str) -> Candidates:
    """Return what `check` looks at: scenarios, robots, files of one, and code."""
    return [
        *_catalogue_names("scenarios", incomplete),
        *_robots(incomplete),
        *_files(incomplete, (*MODELS, ".py")),
    ]


def view_targets(context: typer.Context, incomplete: str) -> Candidates:
    """Return what `view` shows: scenarios, robots, files of one, and folders of results."""
    matches = [*_catalogue_names("scenarios", incomplete), *_robots(incomplete)]
    return [*matches, *_files(incomplete, MODELS, folders=True)]


def folders(context: typer.Context, incomplete: str) -> Candidates:
    """Return folders, of results or studies."""
    return list(_files(incomplete, (), folders=True))


def files_and_folders(context: typer.Context, incomplete: str) -> Candidates:
    """Return files and folders, for what is written."""
    return list(_files(incomplete, ("",), folders=True))


def cards(context: typer.Context, incomplete: str) -> Candidates:
    """Return controller cards: beside the scenario, of the workspace, of the catalogue; files."""
    scenario = context.params.get("scenario")
    base_file = None
    if isinstance(scenario, str):
        try:
            base_file = catalog.find("scenarios", scenario)
        except InputError:
            base_file = None
    matches = dict(_catalogue_names("controllers", incomplete, base_file))
    matches |= dict(_catalogue_names("controllers", incomplete))
    return [*matches.items(), *_files(incomplete, (".toml",))]


def entries(context: typer.Context, incomplete: str) -> Candidates:
    """Return what `compare` takes: a card, ``own``, or NAME= before one."""
    name, equals, typed = incomplete.rpartition("=")
    if "{" in name or "{" in typed:
        return []
    matches = [("own", "the scenario's own")] if "own".startswith(typed) else []
    matches += cards(context, typed)
    return [(f"{name}{equals}{value}", title) for value, title in matches]


def _catalogue_names(
    kind: catalog.Kind, incomplete: str, base_file: Path | None = None
) -> Iterator[tuple[str, str]]:
    for name in catalog.names(kind, base_file):
        if name.startswith(incomplete):
            yield name, _title(kind, name, base_file)


def _robots(incomplete: str) -> Iterator[tuple[str, str]]:
    yield from _catalogue_names("robots", incomplete)
    if zoo.root() is None:
        return
    if incomplete.startswith(zoo.PREFIX):
        names = (f"{zoo.PREFIX}{name}" for name in zoo.names())
        yield from ((name, "") for name in names if name.startswith(incomplete))
    elif zoo.PREFIX.startswith(incomplete):
        yield zoo.PREFIX, "robots of the extra zoo"


def _title(kind: catalog.Kind, name: str, base_file: Path | None) -> str:
    """Return the title at the head of a file, read without making a table of the whole."""
    try:
        with catalog.find(kind, name, base_file).open("rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8", "replace")
    except (OSError, InputError):
        return ""
    match = TITLE.search(head)
    return match[2] if match else ""


def _files(
    incomplete: str, endings: tuple[str, ...], *, folders: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield files with some endings, and folders, which the path as typed leads into.

    Folders of no meaning by themselves come once a path is typed.
    """
    start = incomplete.rpartition("/")[2]
    prefix = incomplete[: len(incomplete) - len(start)]
    try:
        inside = sorted(os.scandir(Path(prefix).expanduser()), key=lambda entry: entry.name)
    except (OSError, ValueError, RuntimeError):
        return
    for entry in inside[:MAX_ENTRIES]:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if hidden or not entry.name.startswith(start):
            continue
        if entry.is_dir():
            if folders or prefix or start:
                yield f"{prefix}{entry.name}/", ""
        elif entry.name.endswith(endings) and endings:
            yield f"{prefix}{entry.name}", ""
