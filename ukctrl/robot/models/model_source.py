"""Guarded reading of model files.

A model file may come from a stranger. It is read as UTF-8 text and checked for well-formed XML
without DTD, entities or absurd depth, and only then given to a parser in C++.
"""

from __future__ import annotations

import dataclasses as dc
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from xml.parsers import expat

from ukctrl.core.errors import InputError, ModelError
from ukctrl.core.files import AnyPath
from ukctrl.core.files.catalog import MACRO_ENDING
from ukctrl.core.files.file_stamps import record_read
from ukctrl.core.message_text import one_line

MAX_BYTES = 32 * 2**20
"""Larger model files are refused; the largest humanoid descriptions stay below 1 MB."""
MAX_DEPTH = 256
"""Deeper nesting is refused: the C++ parsers recurse and would exhaust the stack."""
SHORT = 60
"""Characters of a name or number that a message repeats."""

XACRO_PATTERN = re.compile(r"<xacro:|\$[({]")
"""What xacro replaces; a file without it is a URDF as it stands."""
FORMATS = {"robot": "URDF", "mujoco": "MJCF", "sdf": "SDF"}


@dc.dataclass(frozen=True)
class ModelSource:
    """A checked model text."""

    text: str
    root: ET.Element
    label: str
    """File name, or what stands for it in messages."""
    path: Path | None
    """The file, when there is one."""

    @property
    def format(self) -> str:
        """Return ``URDF``, ``MJCF`` or ``SDF``."""
        return FORMATS[self.root.tag]


class XacroOptions(NamedTuple):
    """How macro files are expanded."""

    arguments: Mapping[str, bool | float | str] = MappingProxyType({})
    """Values of ``<xacro:arg>``."""
    packages: Sequence[Path] = ()
    """Folders in which packages are looked for first."""
    trust: bool = False
    """Whether the expressions of a file, which are Python, may run."""


NO_MACROS = XacroOptions()


def read_model(source: AnyPath, macros: XacroOptions = NO_MACROS) -> ModelSource:
    """Read a model from a file, or from its text when that starts with ``<``.

    Raises:
        ModelError: The file is missing, not UTF-8, not XML, unsafe or not a robot model.
        InputError: It has macros, and is not trusted or xacro not installed.
    """
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return _checked(source, "model text", None)
    path = Path(source)
    text = _text_of(path)
    if is_program(path, text):
        if not macros.trust:
            raise InputError(
                f"{path}: the expressions of a .xacro file are Python, which a file may not run "
                "by itself; read it, then say --trust (trust=True) to expand it."
            )
        from ukctrl.robot.models.xacro import expand_xacro

        text = expand_xacro(path, macros.arguments, macros.packages)
    return _checked(text, str(path), path)


def read_included(path: Path) -> ET.Element:
    """Return what a model file includes or attaches, under the same checks; see `read_model`."""
    return _parse_xml(_text_of(path).lstrip("\ufeff \t\r\n"), str(path))


def _text_of(path: Path) -> str:
    record_read(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{one_line(str(path))}: cannot be read: {reason}.") from None
    if len(raw) > MAX_BYTES:
        raise ModelError(f"{path}: must be at most {MAX_BYTES // 2**20} MB.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(
            f"{path}: must be UTF-8 text; byte {error.start} is not. Save it as UTF-8."
        ) from None


def is_program(path: Path, text: str) -> bool:
    """Return whether a model file has macros or expressions, which xacro replaces."""
    return path.suffix == MACRO_ENDING and XACRO_PATTERN.search(text) is not None


def _checked(text: str, label: str, path: Path | None) -> ModelSource:
    root = _parse_xml(text.lstrip("\ufeff \t\r\n"), label)
    if root.tag not in FORMATS:
        raise ModelError(
            f"{label}: the root element must be <robot> (URDF), <mujoco> (MJCF) or <sdf>; "
            f"got <{one_line(root.tag, SHORT)}>."
        )
    return ModelSource(text.lstrip("\ufeff \t\r\n"), root, label, path)


def _parse_xml(text: str, label: str) -> ET.Element:
    """Parse XML with expat, refusing DTDs (entity bombs) and absurd depth while parsing."""
    builder, depth = ET.TreeBuilder(), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ModelError(f"{label}: elements are nested deeper than {MAX_DEPTH} levels.")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def doctype(*_: object) -> None:
        raise ModelError(
            f"{label}: must not contain <!DOCTYPE> or entities; a robot model needs none."
        )

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = doctype
    parser.buffer_text = True
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        raise ModelError(
            f"{label}: must be well-formed XML; line {error.lineno}: "
            f"{expat.errors.messages[error.code]}."
        ) from None
    return builder.close()


def numbers(text: str, count: int) -> list[float]:
    """Return the numbers in an attribute; NaN where they are not so many, or not numbers."""
    try:
        read = [float(token) for token in text.split()]
    except ValueError:
        read = []
    return read if len(read) == count else [math.nan] * count
