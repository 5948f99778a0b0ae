"""Model text to Pinocchio model: guarded reading, then Pinocchio's own parsers.

A model file may come from a stranger. It is read as UTF-8 text, checked for well-formed XML
without DTD, entities or absurd depth, and only then given to the C++ parsers.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses as dc
import math
import os
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

import pinocchio as pin

from ukctrl.core.errors import ModelError
from ukctrl.core.files import AnyPath
from ukctrl.core.files.toml import one_line
from ukctrl.core.files.unchanged import note

MAX_BYTES = 32 * 2**20
"""Larger model files are refused; the largest humanoid descriptions stay below 1 MB."""
MAX_DEPTH = 256
"""Deeper nesting is refused: the C++ parsers recurse and would exhaust the stack."""
SHORT = 60
"""Characters of a name or number that a message repeats."""

FORMATS = {"robot": "URDF", "mujoco": "MJCF", "sdf": "SDF"}


@dc.dataclass(frozen=True)
class Source:
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


def read(source: AnyPath) -> Source:
    """Read a model from a file, or from its text when that starts with ``<``.

    Raises:
        ModelError: The file is missing, not UTF-8, not XML, unsafe or not a robot model.
    """
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return _checked(source, "model text", None)
    path = Path(source)
    return _checked(_text_of(path), str(path), path)


def read_included(path: Path) -> ET.Element:
    """Return what a model file includes or attaches, under the same checks; see `read`."""
    return _tree(_text_of(path).lstrip("\ufeff \t\r\n"), str(path))


def _text_of(path: Path) -> str:
    note(path)
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


def _checked(text: str, label: str, path: Path | None) -> Source:
    root = _tree(text.lstrip("\ufeff \t\r\n"), label)
    if root.tag not in FORMATS:
        raise ModelError(
            f"{label}: the root element must be <robot> (URDF), <mujoco> (MJCF) or <sdf>; "
            f"got <{one_line(root.tag, SHORT)}>."
        )
    return Source(text.lstrip("\ufeff \t\r\n"), root, label, path)


def _tree(text: str, label: str) -> ET.Element:
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


class Built(NamedTuple):
    """What Pinocchio made of a source."""

    model: Any
    """The ``pinocchio.Model``."""
    warnings: tuple[str, ...]
    """What its parser warned of."""


def build(source: Source, floating_base: bool) -> Built:
    """Return the ``pinocchio.Model`` of a checked URDF or SDF; `ukctrl.robot.mjcf` reads MJCF.

    Mimic tags are not applied here: the joints stay free, and `ukctrl.robot.models.text.mimics`
    turns the relation into a passive constraint.

    Raises:
        ModelError: Pinocchio does not accept the model; the message says why.
    """
    makers = {"URDF": _build_urdf, "SDF": _build_sdf}
    with quiet() as noise:
        try:
            model, reason = makers[source.format](source, floating_base), ""
        except (ValueError, RuntimeError, TypeError, IndexError, KeyError) as error:
            if isinstance(error, ModelError):
                raise
            model, reason = None, _reason(str(error), source)
        said = [one_line(line) for line in noise().splitlines()]
    # A parser that complains but goes on has dropped something, such as a link's inertia.
    complaint = next((line for line in said if line.lower().startswith("error")), "")
    if model is None or complaint:
        reason = complaint.partition(":")[2].strip() or reason
        raise ModelError(
            f"{source.label}: not a valid {source.format} model: {reason.rstrip('.')}."
        )
    warnings = tuple(
        line.partition(":")[2].strip() for line in said if line.lower().startswith("warn")
    )
    return Built(model, warnings)


def _build_urdf(source: Source, floating_base: bool) -> Any:
    text = _without_shapes(source)
    if not floating_base:
        return pin.buildModelFromXML(text)
    taken = {element.get("name") for element in source.root.iter("joint")}
    name = "root" if "root" not in taken else "floating_root"
    return pin.buildModelFromXML(text, pin.JointModelFreeFlyer(), name)


SHAPES = ("visual", "collision", "material")
"""What a URDF says of looks and contacts: the parser refuses a robot where it cannot read one."""


def _without_shapes(source: Source) -> str:
    """Return the text of a URDF without what does not enter the dynamics."""
    if not any(source.root.find(f".//{tag}") is not None for tag in SHAPES):
        return source.text
    root = copy.deepcopy(source.root)
    for parent in (root, *root.findall("link")):
        for child in [child for child in parent if child.tag in SHAPES]:
            parent.remove(child)
    return ET.tostring(root, encoding="unicode")


def numbers(text: str, count: int) -> list[float]:
    """Return the numbers in an attribute; NaN where they are not so many, or not numbers."""
    try:
        read = [float(part) for part in text.split()]
    except ValueError:
        read = []
    return read if len(read) == count else [math.nan] * count


def _build_sdf(source: Source, floating_base: bool) -> Any:
    build_sdf = getattr(pin, "buildModelFromSdf", None)
    if not pin.WITH_SDFORMAT or build_sdf is None:
        raise ModelError(
            f"{source.label}: this build of Pinocchio ({pin.__version__}) cannot read SDF; "
            "convert the model to URDF or MJCF."
        )
    with _as_file(source, ".sdf") as name:
        built = build_sdf(name, pin.JointModelFreeFlyer()) if floating_base else build_sdf(name)
        return built[0] if isinstance(built, tuple) else built


@contextlib.contextmanager
def _as_file(source: Source, suffix: str) -> Iterator[str]:
    """Give the parsers that only read files a file; the original one where there is one."""
    if source.path is not None:
        yield str(source.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        path.write_text(source.text, encoding="utf-8")
        yield str(path)


def _reason(error: str, source: Source) -> str:
    """Return the one line of a C++ exception that says what was wrong."""
    lines = [line.strip() for line in error.replace(source.text, "").splitlines()]
    if "message:" in lines:
        lines = lines[lines.index("message:") + 1 :]
    return one_line(next((line for line in lines if line), "the parser gave no reason"))


@contextlib.contextmanager
def quiet() -> Iterator[Any]:
    """Catch what C++ code prints to the process's stderr; yields a function that reads it."""
    if sys.stderr is not None:
        sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        try:
            saved = os.dup(2)
        except OSError:  # no stderr at all, as under some launchers
            yield lambda: ""
            return
        stack.callback(os.close, saved)
        sink = stack.enter_context(tempfile.TemporaryFile())
        os.dup2(sink.fileno(), 2)
        stack.callback(os.dup2, saved, 2)

        def said() -> str:
            sink.seek(0)
            return sink.read(65536).decode("utf-8", "replace")

        yield said
