"""The elements of an MJCF file, included ones too, and which body, joint or actuator each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.dom.minidom import Document, Element

from ukctrl.core.errors import InputError
from ukctrl.core.files.file_stamps import recording_reads
from ukctrl.robot.mjcf.compile_mjcf import CompiledMjcf, compile_mjcf, library
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.mjcf.file_guard import refuse_unsafe
from ukctrl.robot.mjcf.pinocchio_model import MjcfNames, names_of
from ukctrl.robot.models.model_source import read_model
from ukctrl_identification.model_files import child_elements, parse_xml, root_of

REPEATING = ("replicate", "flexcomp", "composite")
"""Elements that stand for bodies that no element of the file is; so does ``attach`` more than once.
"""


class MjcfFile:
    """The files of one model, their elements, and what MuJoCo makes of them."""

    def __init__(self, path: Path) -> None:
        """Read a model that has been loaded before.

        Args:
            path: The main file.
        """
        with recording_reads() as files:
            source = read_model(path)
            refuse_unsafe(source)
        self.path = path.resolve()
        self.files = tuple(dict.fromkeys(stamp.path.resolve() for stamp in files))
        self.documents: dict[Path, Document] = {self.path: parse_xml(source.text)}
        self.compiled: CompiledMjcf = compile_mjcf(source)
        self.model: Any = self.compiled.model
        self.names: MjcfNames = names_of(self.model)
        self.enabled = EnabledForces.of(library(), self.model)
        self.attached: list[Element] = []
        """Root elements of the models that are attached, each once."""
        self.bodies: dict[int, Element] = {}
        """Elements by the number of their body."""
        self.whole = True
        """Whether every body is an element."""
        self._find_bodies()

    @property
    def root(self) -> Element:
        """The root element of the main file."""
        return root_of(self.documents[self.path])

    def elements(self, parent: Element, *tags: str) -> Iterator[Element]:
        """Yield the elements below one in the order of the file, included ones in their place."""
        for element in child_elements(parent):
            if element.tagName == "include":
                yield from self.elements(self._document_root(element), *tags)
            elif not tags or element.tagName in tags:
                yield element

    def _document_root(self, element: Element) -> Element:
        """Return the root of the file that an element includes, or knows as a model."""
        name = element.getAttribute("file")
        beside = next(
            path for path, document in self.documents.items() if document is element.ownerDocument
        )
        tried = [(folder / name).resolve() for folder in (self.path.parent, beside.parent)]
        path = next(path for path in tried if path.is_file())
        if path not in self.documents:
            self.documents[path] = parse_xml(path.read_text(encoding="utf-8-sig").lstrip())
        return root_of(self.documents[path])

    def _find_bodies(self) -> None:
        found: list[Element] = []

        def walk(elements: Iterable[Element], root: Element) -> None:
            for element in elements:
                if element.tagName == "attach":
                    model = self._attached_root(element, root)
                    walk(self._attached_bodies(element, model), model)
                elif element.tagName in REPEATING:
                    self.whole = False
                elif element.tagName in ("body", "frame"):
                    found.extend([element] if element.tagName == "body" else [])
                    walk(self.elements(element), root)

        for world in self.elements(self.root, "worldbody"):
            walk(self.elements(world), self.root)
        numbers = range(1, self.model.nbody)
        if self.whole and len(found) == len(numbers):
            self.bodies = dict(zip(numbers, found, strict=True))
        else:
            by_name = {self.model.body(b).name: b for b in numbers}
            named = ((by_name.get(one.getAttribute("name")), one) for one in found)
            self.bodies = {number: one for number, one in named if number is not None}

    def _attached_root(self, element: Element, root: Element) -> Element:
        """Return the root of the model that an ``<attach>`` of another one names."""
        named = (
            model
            for assets in self.elements(root, "asset")
            for model in self.elements(assets, "model")
            if model.getAttribute("name") == element.getAttribute("model")
        )
        return self._document_root(next(named))

    def _attached_bodies(self, element: Element, root: Element) -> Iterator[Element]:
        """Yield what stands in the place of an ``<attach>``; nothing where that is unclear."""
        if root in self.attached or element.hasAttribute("frame"):
            self.whole = False
            return
        self.attached.append(root)
        name = element.getAttribute("body")
        for world in self.elements(root, "worldbody"):
            if not name:
                yield from self.elements(world)
            for body in world.getElementsByTagName("body") if name else ():
                if body.getAttribute("name") == name:
                    yield body

    def body(self, number: int) -> Element:
        """Return the element of a body.

        Raises:
            InputError: Another element stands for it.
        """
        if number not in self.bodies:
            raise InputError(
                f"{self.path}: body '{self.names.bodies[number]}' must have an element of its own "
                "for numbers of its own; write it as a <body>, not by way of <replicate>, or an "
                "<attach> of a model that is attached twice."
            )
        return self.bodies[number]

    def joint(self, number: int) -> Element:
        """Return the element of a joint."""
        body = int(self.model.jnt_bodyid[number])
        joints = self._joints(self.body(body))
        return list(joints)[number - int(self.model.body_jntadr[body])]

    def _joints(self, parent: Element) -> Iterator[Element]:
        for element in self.elements(parent, "joint", "freejoint", "frame"):
            if element.tagName == "frame":
                yield from self._joints(element)
            else:
                yield element

    def actuator(self, number: int) -> Element:
        """Return the element of an actuator.

        Raises:
            InputError: It is of another model that is attached.
        """
        found = [
            one
            for root in self._model_roots()
            for part in self.elements(root, "actuator")
            for one in self.elements(part)
        ]
        name = self.model.actuator(number).name
        if len(found) == self.model.nactuator and name.endswith(found[number].getAttribute("name")):
            return found[number]
        named = [one for one in found if name and one.getAttribute("name") == name]
        if not named:
            raise InputError(
                f"{self.path}: actuator '{name or number}' must be an element of the file to lose "
                "the rotor or the damping that it has."
            )
        return named[0]

    def compilers(self) -> Iterator[Element]:
        """Yield the elements that set the compiler, of attached models too."""
        for root in self._model_roots():
            yield from self.elements(root, "compiler")

    def _model_roots(self) -> Iterator[Element]:
        yield self.root
        yield from self.attached
