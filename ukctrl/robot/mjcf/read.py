"""From an MJCF file to all that makes a robot: compiled by MuJoCo, read from its arrays."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ukctrl.core.errors import ModelError
from ukctrl.robot.actuators import actuation
from ukctrl.robot.assembly import Assembly
from ukctrl.robot.audit import body_findings, warning
from ukctrl.robot.forces import Forces, Friction, forces
from ukctrl.robot.layout import blocks_of
from ukctrl.robot.mjcf import contacts, equalities
from ukctrl.robot.mjcf import forces as losses
from ukctrl.robot.mjcf.actuators import drive
from ukctrl.robot.mjcf.beside import compare_with_mujoco
from ukctrl.robot.mjcf.compile import compiled, library, warnings_into
from ukctrl.robot.mjcf.switches import Switches
from ukctrl.robot.mjcf.table import unknown_fields
from ukctrl.robot.mjcf.tree import names_of, ours_of, pinocchio_model, velocity_map
from ukctrl.robot.mjcf.visuals import shapes_of
from ukctrl.robot.models.parsed import ParsedModel, State, structured
from ukctrl.robot.models.source import Source
from ukctrl.robot.rigid import rigid_structure
from ukctrl.robot.schema.robot_file import Options


def read_mjcf(source: Source, options: Options) -> ParsedModel:
    """Return what MuJoCo makes of a file, compared with MuJoCo itself.

    Args:
        source: The file.
        options: What is asked for beside it.

    Raises:
        ModelError: MuJoCo is missing or refuses the file, the file is unsafe, or the robot would be
            another than MuJoCo's.
    """
    mujoco = library()
    m, said, _ = compiled(source)
    on = Switches.of(mujoco, m)
    names = names_of(m)
    gravity = np.array(m.opt.gravity) * on.gravity
    for what, values in (("gravity", gravity), ("a place of rest", np.array(m.qpos0))):
        if not np.isfinite(values).all():
            raise ModelError(f"{what} must be finite; got {values.tolist()}.")
    model = pinocchio_model(m, names, gravity, on.limit)
    model.name = source.root.get("model") or "MuJoCo Model"
    losses.set_losses(model, m, on)
    held = equalities.hold(m, model, names, blocks_of(model), on)
    structure = structured(model, bool(options.passive or held.passive))
    springs = tuple(losses.springs(m, structure, on))
    driven = drive(m, names, structure, on, options.servos == "commands")
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
    # MuJoCo counts dry friction as a constraint, not as a passive force.
    own = forces(structure, (), own=springs).terms
    passive = (term for term in own if not isinstance(term, Friction))
    bare = Assembly(
        name=model.name,
        title="",
        source="",
        structure=structure,
        actuation=actuation(structure, driven.motors or ()),
        forces=Forces((*passive, *losses.terms(m, names, structure, on))),
    )
    removed = [one.remove for one in told if one.remove is not None]
    with warnings_into(mujoco, []):
        compare_with_mujoco(mujoco, m, names, bare, removed, driven)
    if options.gravity is not None:  # else the arrays of the one that was compared serve
        model.gravity.linear = np.array(options.gravity)
        structure = rigid_structure(model)
    return ParsedModel(
        structure,
        motors=driven.motors,
        springs=(*springs, *driven.laws),
        terms=lambda whole: losses.terms(m, names, whole, on),
        passive=held.passive,
        keyframes=_keyframes(m),
        findings=tuple(findings),
        shapes=functools.partial(shapes_of, source.text, source.path),
    )


def _keyframes(m: Any) -> dict[str, State]:
    """Return the keyframes by their name, those without one by their number."""
    states: dict[str, State] = {}
    for k in range(m.nkey):
        qpos = np.array(m.key_qpos[k])
        v = velocity_map(m, qpos) @ m.key_qvel[k]
        states[m.key(k).name or f"key{k}"] = State(ours_of(m, qpos), v)
    return states
