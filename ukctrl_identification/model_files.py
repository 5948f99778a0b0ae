"""What is written into model files, and XML that keeps its comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast
from xml.dom import expatbuilder
from xml.dom.minidom import Document, Element, Text

import numpy as np

from ukctrl.core.arrays import Matrix, Vector


class ModelDynamics(NamedTuple):
    """What model files hold of `IdentifiedDynamics`; what is absent stays as it is."""

    bodies: dict[str, Vector]
    """`BODY_PARAMETERS` by joint, shape ``(10,)`` each."""
    armature: dict[str, float]
    """By joint with one freedom [kg m^2 or kg]."""
    damping: dict[str, float]
    """By joint [N m s/rad or N s/m]; of joints with several freedoms zero."""
    dry_friction: dict[str, float]
    """By joint [N m or N], likewise."""


class ModelFiles(NamedTuple):
    """Model files to be written, by their path in the folder of the robot."""

    models: tuple[str, ...]
    """Those that ``robot.toml`` names, in its order."""
    files: dict[str, bytes | Path]
    """Content, or the file that is copied."""


class BodyInertia(NamedTuple):
    """A body as model files say it."""

    mass: float
    centre: Vector
    """Centre of mass, shape ``(3,)`` [m]."""
    inertia: Matrix
    """About the centre of mass, shape ``(3, 3)`` [kg m^2]."""


def body_inertia(parameters: Vector) -> BodyInertia:
    r"""Return mass, centre and $I_c = I - m\,(c^\top c\,\mathbf 1 - c\,c^\top)$ of a body."""
    m, h, (xx, xy, yy, xz, yz, zz) = float(parameters[0]), parameters[1:4], parameters[4:]
    c = h / m if m else np.zeros(3)
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return BodyInertia(m, c, about_origin - m * (c @ c * np.eye(3) - np.outer(c, c)))


def parse_xml(text: str) -> Document:
    """Return a checked model text as a document, comments and undeclared prefixes included."""
    document: Document = expatbuilder.parseString(text, namespaces=False)
    return document


def root_of(document: Document) -> Element:
    """Return the outermost element."""
    return cast("Element", document.documentElement)


def xml_bytes(document: Document) -> bytes:
    """Return a document as a file holds it: comments outside of the model on lines of their own."""
    nodes = [node.toxml() for node in document.childNodes]
    return "\n".join(('<?xml version="1.0" encoding="utf-8"?>', *nodes, "")).encode()


def child_elements(parent: Element | Document, *tags: str) -> Iterator[Element]:
    """Yield the elements directly below one, of some tags or of any."""
    for node in list(parent.childNodes):
        if isinstance(node, Element) and (not tags or node.tagName in tags):
            yield node


def insert_xml(parent: Element, text: str, first: bool = False) -> None:
    """Insert the elements and comments of a text below an element, at its end or its beginning."""
    document: Any = parent.ownerDocument
    before: Any = parent.firstChild if first else None
    for node in list(root_of(parse_xml(f"<all>{text}</all>")).childNodes):
        parent.insertBefore(document.importNode(node, True), before)


def remove_node(node: Element) -> None:
    """Remove an element, and the blank before it."""
    parent: Any = node.parentNode
    blank = node.previousSibling
    if isinstance(blank, Text) and not blank.data.strip():
        parent.removeChild(blank)
    parent.removeChild(node)


def numbers_text(*values: float) -> str:
    """Return numbers as an attribute holds them, to the last bit."""
    return " ".join(repr(float(value)) for value in values)


def merged_comment(noun: str, carrier: str) -> str:
    """Return the comment of a body whose mass another one has, to which it is fixed."""
    shown = carrier.replace("--", "-")  # which no comment may hold
    return f"\n    <!-- mass and inertia are in those of {noun} '{shown}', to which it is fixed -->"
