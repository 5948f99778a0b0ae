"""From an MJCF file to all that makes a robot: compiled by MuJoCo, read from its arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError
from ukctrl.robot.actuators import actuation
from ukctrl.robot.appearance import ShapeKind
from ukctrl.robot.assembly import Assembly
from ukctrl.robot.audit import Finding, body_findings, warning
from ukctrl.robot.forces import Forces, Friction, Term, forces
from ukctrl.robot.look.shapes import Visuals
from ukctrl.robot.mjcf import contacts, equalities
from ukctrl.robot.mjcf import forces as losses
from ukctrl.robot.mjcf.actuators import drive
from ukctrl.robot.mjcf.beside import compare_with_mujoco
from ukctrl.robot.mjcf.compile import compiled, library, warnings_into
from ukctrl.robot.mjcf.switches import Switches
from ukctrl.robot.mjcf.table import unknown_fields
from ukctrl.robot.mjcf.tree import Names, names_of, ours_of, pinocchio_model, velocity_map
from ukctrl.robot.mjcf.visuals import shapes_of
from ukctrl.robot.models.source import Source
from ukctrl.robot.rigid import ModelStructure, rigid_structure
from ukctrl.robot.schema.push_tables import AnyActuator, AnyForce
from ukctrl.robot.structure import Structure


class State(NamedTuple):
    """A keyframe: where a run may start."""

    q: Vector
    v: Vector


class Reading(NamedTuple):
    """What an MJCF file says of a robot."""

    structure: ModelStructure
    """Its Pinocchio model, with the file's gravity, and the names of all that it has."""
    springs: tuple[AnyForce, ...]
    motors: tuple[AnyActuator, ...] | None
    """None: the file has no actuators."""
    passive: tuple[Mapping[str, Any], ...]
    keyframes: Mapping[str, State]
    findings: tuple[Finding, ...]
    compiled: Any
    """The ``MjModel``."""
    names: Names
    on: Switches
    source: Source

    @property
    def shapes(self) -> Callable[[ShapeKind], Visuals]:
        """What returns the shapes of its bodies."""
        return functools.partial(shapes_of, self.source.text, self.source.path)

    def terms(self, structure: Structure) -> list[Term]:
        """Return the forces that no ``[[force]]`` describes, on the final structure."""
        return losses.terms(self.compiled, self.names, structure, self.on)


def read_mjcf(source: Source) -> Reading:
    """Return what MuJoCo makes of a file, compared with MuJoCo itself.

    Raises:
        ModelError: MuJoCo is missing or refuses the file, the file is unsafe, or the robot would be
            another than MuJoCo's.
    """
    mujoco = library()
    m, said = compiled(source)
    on = Switches.of(mujoco, m)
    names = names_of(m)
    gravity = np.array(m.opt.gravity) * on.gravity
    for what, values in (("gravity", gravity), ("a place of rest", np.array(m.qpos0))):
        if not np.isfinite(values).all():
            raise ModelError(f"{what} must be finite; got {values.tolist()}.")
    model = pinocchio_model(m, names, gravity, on.limit)
    model.name = source.root.get("model") or "MuJoCo Model"
    losses.set_losses(model, m, on)
    held = equalities.hold(m, model, names, rigid_structure(model).blocks, on)
    structure = rigid_structure(model)
    springs = tuple(losses.springs(m, structure, on))
    driven = drive(m, names, structure, on)
    told = [
        *losses.told(m, names, on),
        *held.told,
        *driven.told,
        *contacts.told(m, names),
        *unknown_fields(m),
    ]
    findings = [warning("compiler", model.name, text) for text in said]
    findings += [one.finding for one in told]
    for b in np.flatnonzero(m.body_weldid):
        inertia = np.diag(m.body_inertia[b])
        findings += body_findings(names.bodies[b], float(m.body_mass[b]), inertia)
    reading = Reading(
        structure,
        springs,
        driven.motors,
        held.passive,
        _keyframes(m),
        tuple(findings),
        m,
        names,
        on,
        source,
    )
    if model.nv:
        own = forces(structure, (), own=springs).terms
        # MuJoCo counts dry friction as a constraint, not as a passive force.
        passive = (term for term in own if not isinstance(term, Friction))
        bare = Assembly(
            name=model.name,
            title="",
            source="",
            structure=structure,
            actuation=actuation(structure, driven.motors or ()),
            forces=Forces((*passive, *reading.terms(structure))),
        )
        removed = [one.remove for one in told if one.remove is not None]
        with warnings_into(mujoco, []):
            compare_with_mujoco(mujoco, m, names, bare, removed, driven.columns)
    return reading


def _keyframes(m: Any) -> dict[str, State]:
    """Return the keyframes by their name, those without one by their number."""
    states: dict[str, State] = {}
    for k in range(m.nkey):
        qpos = np.array(m.key_qpos[k])
        v = velocity_map(m, qpos) @ m.key_qvel[k]
        states[m.key(k).name or f"key{k}"] = State(ours_of(m, qpos), v)
    return states
