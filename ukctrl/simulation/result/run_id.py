"""The id of a run, which each of its files bears: two runs in one folder never pass for one.

A comment says it where a file may have one, else a text beside the picture; `summary.json` has it
among the provenance. Other JSON is what a command prints by ``--json``, and tables of
comma-separated values have no place for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import uuid
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from ukctrl.core.errors import InputError
from ukctrl.core.files.output_folders import remove_file

_SAID = re.compile(rb"run_id\W{1,4}([0-9a-f]{32})")
# quotes within a text of JSON are escaped: none can look like this
_SAID_IN_JSON = re.compile(rb'"run_id": "([0-9a-f]{32})"')
_HEAD = 512
"""Bytes at the beginning of a file among which its id stands, but for JSON."""
_MAX_JSON_BYTES = 1 << 24
"""Bytes of a JSON file in which an id is looked for."""
_PNG_HEADER = 33
"""Bytes of a PNG file before what may follow its size."""


def new_run_id() -> str:
    """Return an id that no other run has."""
    return uuid.uuid4().hex


def run_id_of_texts(texts: Iterable[str]) -> str:
    """Return the id of what consists of these texts: the same ones give the same id."""
    digest = hashlib.sha256()
    for text in texts:
        # with lengths, or texts cut elsewhere would have the same digest
        digest.update(f"{len(text)} {text}".encode())
    return digest.hexdigest()[:32]


def run_id_of_result(provenance: Mapping[str, object]) -> str:
    """Return the id that a result bears; an empty text where it bears none."""
    run_id = str(provenance.get("run_id"))
    return run_id if re.fullmatch("[0-9a-f]{32}", run_id) else ""


def with_run_id(name: str, content: bytes, run_id: str) -> bytes:
    """Return what a file of this name is to hold, its run's id said where its kind can say it."""
    if not run_id:
        return content
    kind = Path(name).suffix
    if kind == ".png":
        text = b"tEXtrun_id\0" + run_id.encode()
        size, check = len(text) - 4, zlib.crc32(text)
        chunk = size.to_bytes(4, "big") + text + check.to_bytes(4, "big")
        return content[:_PNG_HEADER] + chunk + content[_PNG_HEADER:]
    if kind == ".toml":
        return f"# run_id {run_id}\n".encode() + content
    if kind in (".html", ".svg"):
        # behind the first line: a doctype or an XML declaration must stay first
        return content.replace(b"\n", f"\n<!-- run_id {run_id} -->\n".encode(), 1)
    return content


def run_id_of_file(file: Path) -> str:
    """Return the id that a file bears; an empty text where it bears none, or is not there."""
    is_json = file.suffix == ".json"
    with contextlib.suppress(OSError), file.open("rb") as source:
        head = source.read(_MAX_JSON_BYTES if is_json else _HEAD)
        match = (_SAID_IN_JSON if is_json else _SAID).search(head)
        return match[1].decode() if match else ""
    return ""


def check_one_run(folder: Path, run_id: str, names: Iterable[str]) -> None:
    """Make sure that the files beside a `result.nc` are of its run.

    Raises:
        InputError: One of them is of another.
    """
    for name in names:
        owner = run_id_of_file(folder / name)
        if (folder / name).exists() and owner != run_id:
            raise InputError(
                f"'{folder}' must hold the files of one run; its result.nc is of run "
                f"{run_id[:8] or 'none'}, its {name} of run {owner[:8] or 'none'}: one was stopped "
                "while it wrote, or two wrote at once. Run it again, or load result.nc by its name."
            )


def remove_other_runs(folder: Path, run_id: str) -> None:
    """Remove the pages and figures of another run, of which this one has taken the place."""
    for file in (*folder.glob("*.html"), *folder.glob("*.png"), *folder.glob("*.svg")):
        # a file without an id is none of ours
        if run_id_of_file(file) not in ("", run_id):
            remove_file(file)
