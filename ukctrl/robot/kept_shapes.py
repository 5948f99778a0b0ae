"""Whether arrays that a file has kept fit each other: compiled code trusts what they point at."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ukctrl.core.errors import ModelError
from ukctrl.robot.assembly import Assembly
from ukctrl.robot.forces import BodySprings
from ukctrl.robot.tree_kernels import (
    CIRCLE,
    FREE,
    IQ,
    IV,
    KIND,
    NV,
    PARENT,
    PLANAR,
    PRISMATIC,
    SCREW,
    SPHERICAL,
    TURN_X,
    TURN_Y,
    TURN_Z,
)

SHAPES: Mapping[str, Mapping[str, str]] = {
    "KeptStructure": {"zero": "q"},
    "Tree": {"joints": "n 5", "subspace": "v 6", "rotations": "n 3 3", "translations": "n 3",
             "inertias": "n 10", "armature": "v"},
    "Bodies": {"parents": "n < n", "gravity": "3", "lower": "q", "upper": "q", "fastest": "v",
               "strongest": "v", "damping": "v", "friction": "v", "frames": "k",
               "carriers": "k < n", "rotations": "k 3 3", "translations": "k 3"},
    "Site": {"joint": "< n", "rotation": "3 3", "translation": "3", "support": "v",
             "columns": "k < v"},
    "Actuation": {"names": "u", "units": "u", "constant": "v u"},
    "InputBounds": dict.fromkeys(("lower", "upper", "rate_limit", "corner", "no_load"), "u"),
    "WrenchColumn": {"reached": "v", "force": "3", "torque": "3"},
    "TorqueColumn": {"reached": "v", "axis": "3", "sign": "v"},
    "FormulaColumn": {"reached": "v", "dofs": "k < v", "texts": "k"},
    "Dampers": {"damping": "v"},
    "Friction": {"dofs": "k < v", "level": "k", "scale": "k"},
    "JointSprings": {"coordinates": "k < q", "dofs": "k < v", "stiffness": "k", "rest": "k"},
    "UnevenJoints": {"coordinates": "k < q", "dofs": "k < v", "rest": "k", "stiffness": "k 2",
                     "damping": "k 2"},
    "BodySprings": {"coordinates": "k < q", "dofs": "k < v", "slides": "k", "rest": "k 4",
                    "stiffness": "k 3"},
    "Carried": {"joints": "k < n", "centres": "k 3", "masses": "k", "reached": "k v"},
    "Fluid": {"joints": "k < n", "centres": "k 3", "axes": "k 3 3", "boxes": "k 3",
              "reached": "k v", "medium": "5"},
    "Given": {"dofs": "k < v", "texts": "k"},
    "ElasticJoints": {"joints": "k", "links": "k < v", "motors": "k < v",
                      "link_coordinates": "k < q", "motor_coordinates": "k < q",
                      **dict.fromkeys(("continuous", "stiffness", "damping", "inertia"), "k")},
}  # fmt: skip
"""Shapes of what a robot is made of, and what its entries are below: ``n`` joints, ``v``
velocities, ``q`` coordinates, ``u`` inputs; ``k`` is any number that fields of one part share."""
JOINTS = {"line": (SCREW, PRISMATIC, TURN_X, TURN_Y, TURN_Z), "circle": (CIRCLE,),
          "planar": (PLANAR,), "spherical": (SPHERICAL,), "free": (FREE,)}  # fmt: skip
"""Kinds of joints that a block of each shape may have."""


def refuse_misfits(robot: Assembly) -> None:
    """Refuse a robot of kept arrays with one that points beyond another, or has another shape.

    Raises:
        ModelError: There is one.
    """
    structure = robot.structure
    sizes = {"n": len(structure.blocks) + 1, "v": structure.nv, "q": structure.nq, "u": robot.nu}
    for part in _parts((structure, robot.actuation, robot.forces)):
        known = dict(sizes)
        for name, wanted in SHAPES.get(type(part).__name__, {}).items():
            if not _fits(np.asarray(getattr(part, name)), wanted, known):
                raise ModelError(f"{type(part).__name__}.{name} must fit the rest of the robot.")
    if robot.home is not None and np.shape(robot.home) != (sizes["q"],):
        raise ModelError("the home must fit the rest of the robot.")
    for term in robot.forces.terms:
        if isinstance(term, BodySprings):
            last = term.coordinates + np.where(term.slides, 6, 3)
            if (last >= sizes["q"]).any() or (term.dofs + 2 >= sizes["v"]).any():
                raise ModelError("BodySprings must fit the rest of the robot.")
    springs = robot.elastic
    if springs and (springs.link_coordinates + springs.continuous >= sizes["q"]).any():
        raise ModelError("ElasticJoints.link_coordinates must fit the rest of the robot.")
    if not all(0 <= index < sizes["u"] for index, _ in robot.actuation.moving):
        raise ModelError("Actuation.moving must fit the rest of the robot.")
    _refuse_other_joints(structure)


def _parts(value: Any) -> Iterator[Any]:
    """Yield everything that a part of a robot is made of."""
    yield value
    if dc.is_dataclass(value):
        value = [getattr(value, field.name) for field in dc.fields(value)]
    if isinstance(value, tuple | list):
        for entry in value:
            yield from _parts(entry)


def _fits(array: Any, wanted: str, known: dict[str, int]) -> bool:
    shape, _, below = wanted.partition("<")
    lengths = shape.split()
    if len(lengths) != array.ndim:
        return False
    for length, size in zip(lengths, array.shape, strict=True):
        if size != (int(length) if length.isdigit() else known.setdefault(length, size)):
            return False
    return not below or bool(((array >= 0) & (array < known[below.strip()])).all())


def _refuse_other_joints(structure: Any) -> None:
    """Refuse joints of a tree that are not those of the blocks, one after the other."""
    iq, iv, parents = 0, 0, structure.bodies.parents
    if structure.tree.joints[0].tolist() != [0, 0, 0, 0, 0] or parents[0]:
        raise ModelError("the world must fit the rest of the robot.")
    for j, block in enumerate(structure.blocks, 1):
        own = structure.tree.joints[j]
        same = block.joint == j and (iq, iv, block.nv) == (own[IQ], own[IV], own[NV])
        same = same and (block.iq, block.iv) == (iq, iv) and own[KIND] in JOINTS[block.shape]
        same = same and own[PARENT] == parents[j] and 0 <= own[PARENT] < j
        iq, iv = iq + block.nq, iv + block.nv
        if not same:
            raise ModelError(f"joint '{block.name}' must fit the rest of the robot.")
