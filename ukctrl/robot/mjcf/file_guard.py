"""What an MJCF file from a stranger may make MuJoCo open and build, before MuJoCo sees it.

MuJoCo opens what a file names, and builds as many bodies as it asks for. Every included or attached
file passes the checks of the file itself; meshes, textures and the like must be ordinary files of
their kind that lie near the model, and what is repeated stays within bounds.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path

from ukctrl.core.errors import ModelError
from ukctrl.core.files.file_stamps import record_read
from ukctrl.core.message_text import quote_text
from ukctrl.robot.geometry.mesh_files import MAX_BYTES, MAX_PARENT_FOLDERS
from ukctrl.robot.models.model_source import ModelSource, numbers, read_included

ASSETS = (
    *(".stl", ".obj", ".msh", ".ply", ".dae", ".glb"),
    *(".png", ".jpg", ".jpeg", ".ktx", ".bin", ".skn"),
)
"""Endings of meshes, textures, height fields and skins."""
INCLUDING_TAGS = ("include", "model")
"""Tags that name another model file."""
DIRECTORIES = ("meshdir", "texturedir", "assetdir")
MEMORY_SIZES = ("memory", "nstack", "njmax", "nconmax")
"""Sizes of MuJoCo's working memory, which it chooses itself here."""
MAX_ELEMENTS = 20_000
"""Most elements of a model with all that it repeats; the largest public ones have a tenth."""
MAX_FILES = 200
"""Most model files that make up one."""
MAX_PIXELS = 2**26
"""Most pixels of a texture, or points of a height field."""
MAX_SIZE = 10_000
"""Most keyframes, and most numbers of a user's own."""


def refuse_unsafe(source: ModelSource) -> None:
    """Refuse a model that names files that are not its own, or would fill the memory.

    Raises:
        ModelError: The message says what.
    """
    files = list(_files(source))
    parents = {path.parent for path, _ in files if path is not None}
    folders = {
        folder
        for _, root in files
        for compiler in root.iter("compiler")
        for name in DIRECTORIES
        if (folder := compiler.get(name))
    }
    elements = 0.0
    for _, root in files:
        elements += _weight(root)
        _refuse_sizes(root)
        for element in root.iter():
            if element.tag not in INCLUDING_TAGS:
                names = [text for key, text in element.attrib.items() if key.startswith("file")]
                for name in names:
                    _refuse_file(source, name, parents, folders)
    if not elements <= MAX_ELEMENTS:
        raise ModelError(
            f"must have at most {MAX_ELEMENTS} elements with all that it repeats; "
            f"got {elements:.0f}."
        )


def _files(source: ModelSource) -> Iterator[tuple[Path | None, ET.Element]]:
    """Yield the file and all that it includes or attaches, each once, checked like itself."""
    yield source.path, source.root
    files: set[Path] = set()
    waiting = [(source.path, source.root)]
    while waiting:
        path, root = waiting.pop()
        for element in root.iter():
            if element.tag not in INCLUDING_TAGS or not (name := element.get("file")):
                continue
            for file in _found(source, name, {path.parent} if path else set(), ("",)):
                if file in files:
                    continue
                files.add(file)
                if len(files) > MAX_FILES:
                    raise ModelError(f"must be made of at most {MAX_FILES} files.")
                inner = read_included(file)
                yield file, inner
                waiting.append((file, inner))


def _refuse_file(
    source: ModelSource, name: str, parents: Iterable[Path], folders: Iterable[str]
) -> None:
    for path in _found(source, name, parents, ("", *folders)):
        if path.suffix.lower() not in ASSETS:
            raise ModelError(f"file {quote_text(name)} must end with one of {', '.join(ASSETS)}.")
        if path.stat().st_size > MAX_BYTES:
            raise ModelError(f"file {quote_text(name)} must be at most {MAX_BYTES // 2**20} MB.")
        record_read(path)


def _found(
    source: ModelSource, name: str, parents: Iterable[Path], folders: Iterable[str]
) -> list[Path]:
    """Return the files that a name may stand for; none where MuJoCo will miss it and say so.

    Raises:
        ModelError: One lies elsewhere or is no ordinary file.
    """
    if source.path is None:
        raise ModelError(
            f"file {quote_text(name)} belongs to a model that is text alone, without a "
            "folder; load the model from its file."
        )
    home = source.path.resolve().parent
    bounds = _bounds(home)
    matches = []
    for parent in {home, *(parent.resolve() for parent in parents)}:
        for folder in folders:
            try:
                path = (parent / folder / name).resolve()
                exists, plain = path.exists(), path.is_file()
            except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links, a long name
                continue
            if not exists:
                continue
            if not any(path.is_relative_to(bound) for bound in bounds):
                raise ModelError(
                    f"file {quote_text(name)} must lie in the model's folder, or at "
                    f"most {MAX_PARENT_FOLDERS} folders above."
                )
            if not plain:
                raise ModelError(f"file {quote_text(name)} must be an ordinary file.")
            matches.append(path)
    return list(dict.fromkeys(matches))


def _bounds(home: Path) -> list[Path]:
    """Return the folders whose files a model may name: its own, and some of those above.

    Public models have meshes beside their folder, ``../stls/hand``. A user's own folder and what
    stands above it belong to no robot.
    """
    user_home = Path(os.path.expanduser("~")).resolve()  # which never fails, unlike `Path.home`
    above = [
        path for path in (home, *home.parents)[: MAX_PARENT_FOLDERS + 1] if len(path.parts) > 2
    ]
    return [home, *(path for path in above if not user_home.is_relative_to(path))]


def _count(element: ET.Element) -> float:
    """Return how often an element comes: ``count`` of replicate, composite and flexcomp."""
    if element.tag not in ("replicate", "composite", "flexcomp") or "count" not in element.attrib:
        return 1.0
    tokens = element.get("count", "").split()
    values = numbers(element.get("count", ""), len(tokens))
    if not all(math.isfinite(value) for value in values):
        raise ModelError(f"count must be whole numbers; got {quote_text(' '.join(tokens))}.")
    return math.prod(max(value, 1.0) for value in values)


def _weight(element: ET.Element) -> float:
    """Return how many elements there will be, with those that are repeated."""
    inner = sum(_weight(child) for child in element)
    repeated = _count(element)
    return 1.0 + repeated * inner if element.tag == "replicate" else repeated * (1.0 + inner)


def _refuse_sizes(root: ET.Element) -> None:
    for element in root.iter():
        sizes = [
            numbers(element.get(key, "0"), 1)[0]
            for pair in (("width", "height"), ("ncol", "nrow"))
            for key in pair
        ]
        pixels = max(sizes[0] * sizes[1], sizes[2] * sizes[3], *sizes)
        if element.tag in ("texture", "hfield") and not pixels <= MAX_PIXELS:
            raise ModelError(
                f"a {element.tag} must have at most {MAX_PIXELS} points; got {pixels:g}."
            )
        if element.tag == "size":
            for key, text in element.attrib.items():
                value = numbers(text, 1)[0]
                if key not in MEMORY_SIZES and not value <= MAX_SIZE:
                    raise ModelError(
                        f"size {key} must be at most {MAX_SIZE}; got {quote_text(text)}."
                    )
