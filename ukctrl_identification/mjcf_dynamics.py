"""MJCF files with other inertial parameters, rotors and friction, and all else as it was.

The files themselves are edited, included ones too: MuJoCo's own writer would round every number of
them to six digits, and unfold what they include. What MuJoCo makes of them says which element is
which body.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.robot.mjcf.file_guard import DIRECTORIES
from ukctrl.robot.mjcf.forces import joint_actuators
from ukctrl.robot.mjcf.pinocchio_model import FREE
from ukctrl_identification.mjcf_elements import MjcfFile
from ukctrl_identification.model_files import (
    ModelDynamics,
    ModelFiles,
    body_inertia,
    insert_xml,
    merged_comment,
    numbers_text,
    remove_node,
    root_of,
    xml_bytes,
)

OVERRIDING = ("inertiafromgeom", "settotalmass", "balanceinertia", "boundmass", "boundinertia")
"""Settings of the compiler by which a body's mass is not what its ``<inertial>`` says."""
NEARLY_PARALLEL = 1e-4
"""Principal axes that are nearer to the body's [rad, m] are given in another order: of those within
1e-6 MuJoCo makes the body's own."""


def mjcf_files(file: MjcfFile, present: dict[str, Vector], dynamics: ModelDynamics) -> ModelFiles:
    """Return the files of a robot made of an MJCF file, whose elements are changed.

    What ``gravcomp`` carries and a fluid drags goes by the new masses, as MuJoCo has it.

    Args:
        file: The file.
        present: Today's bodies, for where the file lets none keep its own.
        dynamics: What is written.

    Raises:
        InputError: The file has no place for something.
    """
    if dynamics.bodies or dynamics.damping:
        _fix_springs(file)
    if dynamics.bodies:
        _write_bodies(file, present, dynamics.bodies)
    joints = {name: j for j, name in enumerate(file.names.joints)}
    for key, by_joint in (
        ("armature", dynamics.armature),
        ("damping", dynamics.damping),
        ("frictionloss", dynamics.dry_friction),
    ):
        for name, value in by_joint.items():
            _write_loss(file, joints[name], key, value)
    return _copied(file)


def _write_bodies(file: MjcfFile, present: dict[str, Vector], bodies: dict[str, Vector]) -> None:
    compilers = list(file.compilers())
    if any(one.hasAttribute(key) for one in compilers for key in OVERRIDING):
        bodies = {**present, **bodies}
        for compiler in compilers:
            for key in filter(compiler.hasAttribute, OVERRIDING):
                compiler.removeAttribute(key)
    m, names = file.model, file.names
    for b in range(1, m.nbody):
        if m.body_jntnum[b] == 0:
            continue
        *others, last = range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b])
        for j in others:
            if np.any(bodies.get(names.joints[j], 0.0)):
                raise InputError(
                    f"{file.path}: joint '{names.joints[j]}' must move no mass by itself, as "
                    f"'{names.joints[last]}' of the same body comes after it; give that one all."
                )
        parameters = bodies.get(names.joints[last])
        if parameters is not None:
            _write_body(file, b, last, parameters)


def _write_body(file: MjcfFile, b: int, joint: int, parameters: Vector) -> None:
    """Give a body to an element, and nothing to what is welded to it."""
    m, names = file.model, file.names
    welded = [int(one) for one in np.flatnonzero(m.body_weldid == b) if one != b]
    _refuse_frames_that_follow(file, b, joint)
    heavy = [one for one in (b, *welded) if m.body_mass[one] > 0.0]
    in_fluid = m.opt.density > 0.0 or m.opt.viscosity > 0.0
    if len(heavy) > 1 and (in_fluid or np.ptp(m.body_gravcomp[heavy])):
        raise InputError(
            f"{file.path}: bodies {', '.join(names.bodies[one] for one in heavy)} are one rigid "
            "body, and a fluid or gravcomp acts on each of them by its own mass; make them one."
        )
    mass, centre, inertia = body_inertia(parameters)
    if m.jnt_type[joint] != FREE:
        centre = centre + m.jnt_pos[joint]
    moments, axes = _principal_axes(inertia, centre)
    inertial = (
        f'\n      <inertial pos="{numbers_text(*centre)}" quat="{numbers_text(*axes)}" '
        f'mass="{numbers_text(mass)}" diaginertia="{numbers_text(*moments)}"/>'
    )
    _replace_inertial(file, b, inertial)
    for one in welded:
        if m.body_mass[one] > 0.0 or m.body_inertia[one].any():
            none = '\n      <inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>'
            _replace_inertial(file, one, merged_comment("body", names.bodies[b]) + none)


def _replace_inertial(file: MjcfFile, b: int, text: str) -> None:
    element = file.body(b)
    for inertial in list(file.elements(element, "inertial")):
        remove_node(inertial)
    insert_xml(element, text, first=True)


def _refuse_frames_that_follow(file: MjcfFile, b: int, joint: int) -> None:
    """Refuse a free body whose coordinates are those of its principal axes, which would move."""
    m, spec = file.model, file.compiled.spec
    if m.jnt_type[joint] != FREE or b in m.body_parentid[1:]:
        return
    align = next(one.align for one in spec.joints if one.id == joint)
    aligned = spec.compiler.alignfree if align.value > 1 else bool(align.value)
    if aligned:
        raise InputError(
            f"{file.path}: the frame of body '{file.names.bodies[b]}' follows its inertia; write "
            'align="false" in its free joint, and identify it again.'
        )


def _principal_axes(inertia: Matrix, centre: Vector) -> tuple[Vector, Vector]:
    """Return the principal moments, and the quaternion (w, x, y, z) of their axes."""
    from scipy.spatial.transform import Rotation

    is_diagonal = not (inertia - np.diag(np.diag(inertia))).any()
    if is_diagonal and not 0.0 < np.abs(centre).max() < NEARLY_PARALLEL:
        return np.diag(inertia), np.array([1.0, 0.0, 0.0, 0.0])
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 0] *= np.linalg.det(axes)
    if np.abs(axes - np.eye(3)).max() < NEARLY_PARALLEL:
        moments, axes = np.roll(moments, 1), np.roll(axes, 1, axis=1)
    return moments, Rotation.from_matrix(axes).as_quat(scalar_first=True)


def _fix_springs(file: MjcfFile) -> None:
    """Write springs and dampers that MuJoCo works out from the inertia as the numbers they are."""
    m = file.model
    for joint in file.compiled.spec.joints:
        if np.any(joint.springdamper):
            element, dof = file.joint(joint.id), int(m.jnt_dofadr[joint.id])
            element.setAttribute("springdamper", "0 0")
            element.setAttribute("stiffness", numbers_text(m.jnt_stiffness[joint.id]))
            element.setAttribute("damping", numbers_text(m.dof_damping[dof]))


def _write_loss(file: MjcfFile, joint: int, key: str, value: float) -> None:
    """Write rotor inertia, damping or dry friction of a joint, and take it from its actuators."""
    m, element = file.model, file.joint(joint)
    if element.tagName == "freejoint":
        return  # which has none
    powers = key == "damping" and m.dof_dampingpoly[m.jnt_dofadr[joint]].any()
    element.setAttribute(key, numbers_text(*([value, 0.0, 0.0] if powers else [value])))
    for i, dof in joint_actuators(m):
        if dof == m.jnt_dofadr[joint] and key != "frictionloss":
            powers = key == "damping" and m.actuator_dampingpoly[i].any()
            if getattr(m, f"actuator_{key}")[i] or powers:
                file.actuator(i).setAttribute(key, "0 0 0" if powers else "0")


def _copied(file: MjcfFile) -> ModelFiles:
    """Return all files in the folders that they lie in, beside each other."""
    top = Path(os.path.commonpath([path.parent for path in file.files]))
    folder = file.path.parent
    spec = file.compiled.spec

    def relative(path: Path, start: Path) -> str:
        return Path(os.path.relpath(path.resolve(), start.resolve())).as_posix()

    for compiler in file.elements(file.root, "compiler"):
        for key in DIRECTORIES:
            if Path(compiler.getAttribute(key)).is_absolute():
                compiler.setAttribute(key, relative(Path(compiler.getAttribute(key)), folder))
    for document in file.documents.values():
        if root_of(document) in file.attached:
            continue  # whose names start elsewhere
        for element in document.getElementsByTagName("*"):
            named = {k: v for k, v in element.attributes.items() if k.startswith("file")}
            for key, value in named.items():
                if Path(value).is_absolute():
                    inner = {"texture": spec.texturedir, "include": "", "model": ""}
                    start = folder / inner.get(element.tagName, spec.meshdir)
                    element.setAttribute(key, relative(Path(value), start))
    files: dict[str, bytes | Path] = {}
    for path in file.files:
        edited = file.documents.get(path)
        content = path if edited is None else xml_bytes(edited)
        files[path.relative_to(top).as_posix()] = content
    return ModelFiles((file.path.relative_to(top).as_posix(),), files)
