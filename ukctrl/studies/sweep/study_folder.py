"""Making sure that a folder is ready for a study, and holds no other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ukctrl.core.errors import InputError
from ukctrl.core.fields import written
from ukctrl.studies.sweep.study import DESCRIPTION, About

MOST_DIFFERENCES = 3
"""Differences that a message lists."""


def open_folder(folder: Path, about: About, resume: bool) -> None:
    """Make the folder ready for a study, or make sure that the study there is this one.

    A study whose design allows it may have grown.

    Raises:
        InputError: It holds a study and none is to be resumed, or another one, or it cannot be
            written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / DESCRIPTION).exists():
            about.write(folder)
            return
        if not resume:
            raise InputError(
                f"'{folder}' holds a study already. Go on with it by --resume (resume=True), "
                "remove it, or give another folder."
            )
        differences = list(_differences(About.read(folder), about))
        if differences:
            left_out = len(differences) - MOST_DIFFERENCES
            more = f" (and {left_out} more)" if left_out > 0 else ""
            raise InputError(
                f"'{folder}' holds another study: {', '.join(differences[:MOST_DIFFERENCES])}"
                f"{more}. Repeat what it was begun with, or give another folder."
            )
        about.write(folder)
    except OSError as error:
        raise InputError(f"cannot write the study to '{folder}': {error.strerror}.") from error


def _differences(old: About, new: About) -> Iterator[str]:
    """Yield in words what two studies differ in."""
    before, after = old.to_dict(), new.to_dict()
    if old.plan.grows_to(new.plan):
        before |= new.plan.to_dict()
    for table in (before, after):
        table["factors"] = {entry["path"]: {**entry} for entry in table["factors"]}
        table.pop("samples")
        table.pop("beside", None)  # where names are looked up is no part of what they mean
        table.pop("files", None)
    for path, digest in (old.files or {}).items():
        if (new.files or {}).get(path, digest) != digest:
            yield f"the file '{path}' has changed"
    ours, theirs = dict(_leaves("", before)), dict(_leaves("", after))
    for path in dict.fromkeys((*ours, *theirs)):
        if path not in theirs:
            yield f"{path} was {written(ours[path])} and is not given"
        elif path not in ours:
            yield f"{path} was not given and is {written(theirs[path])}"
        elif ours[path] != theirs[path]:
            yield f"{path} was {written(ours[path])} and is {written(theirs[path])}"


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield every plain value below a table, with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}".removeprefix("."), item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _leaves(f"{path}.{number}", item)
    else:
        yield path.removeprefix("scenario."), value
