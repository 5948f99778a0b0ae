"""From an MJCF file to all that makes a robot: compiled by MuJoCo, read from its arrays."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ukctrl.core.errors import ModelError
from ukctrl.robot.actuators import actuation
from ukctrl.robot.forces import Forces, Friction, forces
from ukctrl.robot.joint_layout import blocks_of
from ukctrl.robot.mjcf import equalities, unsupported_contacts
from ukctrl.robot.mjcf import forces as losses
from ukctrl.robot.mjcf.actuators import import_actuators
from ukctrl.robot.mjcf.compare_mujoco import compare_with_mujoco
from ukctrl.robot.mjcf.compile_mjcf import compile_mjcf, library, warnings_into
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.mjcf.geom_shapes import mjcf_shapes
from ukctrl.robot.mjcf.pinocchio_model import from_qpos, names_of, pinocchio_model, velocity_map
from ukctrl.robot.mjcf.supported_fields import unknown_fields
from ukctrl.robot.model_audit import body_diagnostics, warning
from ukctrl.robot.models.model_source import ModelSource
from ukctrl.robot.models.parsed_model import Keyframe, ParsedModel, checked_structure
from ukctrl.robot.rigid.pinocchio_structure import rigid_structure
from ukctrl.robot.robot_base import RobotBase
from ukctrl.robot.schema.robot_file import Options


def read_mjcf(source: ModelSource, options: Options) -> ParsedModel:
    """Return what MuJoCo makes of a file, compared with MuJoCo itself.

    Args:
        source: The file.
        options: What is asked for beside it.

    Raises:
        ModelError: MuJoCo is missing or refuses the file, the file is unsafe, or the robot would be
            another than MuJoCo's.
    """
    mujoco = library()
    m, messages, _ = compile_mjcf(source)
    on = EnabledForces.of(mujoco, m)
    names = names_of(m)
    gravity = np.array(m.opt.gravity) * on.gravity
    for label, values in (("gravity", gravity), ("a place of rest", np.array(m.qpos0))):
        if not np.isfinite(values).all():
            raise ModelError(f"{label} must be finite; got {values.tolist()}.")
    model = pinocchio_model(m, names, gravity, on.limit)
    model.name = source.root.get("model") or "MuJoCo Model"
    losses.set_losses(model, m, on)
    constraints = equalities.import_equalities(m, model, names, blocks_of(model), on)
    structure = checked_structure(model, bool(options.passive or constraints.passive))
    springs = tuple(losses.import_springs(m, structure, on))
    driven = import_actuators(m, names, structure, on, options.servos == "commands")
    reports = [
        *losses.unsupported_forces(m, names, on),
        *constraints.unsupported,
        *driven.unsupported,
        *unsupported_contacts.unsupported_contacts(m, names),
        *unknown_fields(m),
    ]
    findings = [warning("compiler", model.name, text) for text in messages]
    findings += [one.diagnostic for one in reports]
    for b in np.flatnonzero(m.body_weldid):
        inertia = np.diag(m.body_inertia[b])
        findings += body_diagnostics(names.bodies[b], float(m.body_mass[b]), inertia)
    # MuJoCo counts dry friction as a constraint, not as a passive force.
    terms = forces(structure, (), own=springs).terms
    passive = (term for term in terms if not isinstance(term, Friction))
    bare = RobotBase(
        name=model.name,
        title="",
        source="",
        structure=structure,
        actuation=actuation(structure, driven.motors or ()),
        forces=Forces((*passive, *losses.import_force_terms(m, names, structure, on))),
    )
    removed = [one.remove for one in reports if one.remove is not None]
    with warnings_into(mujoco, []):
        compare_with_mujoco(mujoco, m, names, bare, removed, driven)
    if options.gravity is not None:  # else the arrays of the one that was compared serve
        model.gravity.linear = np.array(options.gravity)
        structure = rigid_structure(model)
    return ParsedModel(
        structure,
        motors=driven.motors,
        springs=(*springs, *driven.laws),
        terms=lambda whole: losses.import_force_terms(m, names, whole, on),
        passive=constraints.passive,
        keyframes=_keyframes(m),
        diagnostics=tuple(findings),
        shapes=functools.partial(mjcf_shapes, source.text, source.path),
    )


def _keyframes(m: Any) -> dict[str, Keyframe]:
    """Return the keyframes by their name, those without one by their number."""
    states: dict[str, Keyframe] = {}
    for k in range(m.nkey):
        qpos = np.array(m.key_qpos[k])
        v = velocity_map(m, qpos) @ m.key_qvel[k]
        states[m.key(k).name or f"key{k}"] = Keyframe(from_qpos(m, qpos), v)
    return states
