"""How other readers take what a model file says, where they are known to differ.

Measured with Pinocchio 4.1.0, MuJoCo 4.0.1 and Drake 1.51.1 (a plant in discrete time).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ukctrl.robot.mjcf.geom_shapes import MESH
from ukctrl.robot.mjcf.pinocchio_model import BALL, SLIDE
from ukctrl.robot.models.model_source import read_model
from ukctrl.robot.shape_sources import ShapeSource


class ParserDifference(NamedTuple):
    """One thing that a file says, as each reader takes it."""

    what: str
    ukctrl: str
    pinocchio: str
    mujoco: str
    drake: str


URDF_DIFFERENCES: Mapping[str, ParserDifference] = {
    "": ParserDifference(
        "the root link", "fixed; free with floating_base", "fixed", "fixed",
        "free, unless it is called world",
    ),
    "range_not_read": ParserDifference(
        "the range of a continuous joint", "none", "none", "none", "kept",
    ),
    "half_a_range": ParserDifference(
        "lower or upper alone", "the other is 0", "the other is 0", "unlimited",
        "the other is infinite",
    ),
    "no_effort_limit": ParserDifference("no effort limit", "none", "refused", "none", "none"),
    "no_velocity_limit": ParserDifference("no velocity limit", "none", "refused", "none", "none"),
    "mimic_joint": ParserDifference(
        "a mimic joint", "held exactly, without a motor", "a free joint, unless mimic=True",
        "a soft equality", "a constraint",
    ),
    "planar_axis": ParserDifference(
        "the axis of a planar joint", "its own xy plane", "its own xy plane", "normal to the plane",
        "normal to the plane",
    ),
    "joint_friction": ParserDifference(
        "dry friction", "part of the plant", "kept; rnea leaves it out", "soft: a weight slides",
        "not read",
    ),
}  # fmt: skip
"""By the code of what the audit finds; the first is of every file."""


Differs = Callable[[Any, Any], Any]
"""Whether a file has something, by its ``mujoco.MjSpec`` and its ``MjModel``."""
GRAVITY_OFF = 1 << 7
"""MuJoCo's bit of a flag that switches gravity off."""
STANDARD_GRAVITY = (0.0, 0.0, -9.81)


def _is_displaced(m: Any, b: int) -> Any:
    return np.any(m.body_pos[b]) or np.any(m.body_quat[b] != (1.0, 0.0, 0.0, 0.0))


def _limited(m: Any, kind: int) -> Any:
    return (m.jnt_type == kind) & m.jnt_limited


def _mass_from_geometry(spec: Any, m: Any) -> Any:
    """Tell of every geom whether it gives its body mass, which no ``<inertial>`` says."""
    inertial_ids = {body.id for body in spec.bodies if body.explicitinertial}
    return ~np.isin(m.geom_bodyid, [0, *inertial_ids])


MJCF_DIFFERENCES: tuple[tuple[Differs, ParserDifference], ...] = (
    (lambda _, m: m.nbody > 1 and not m.body_jntnum[1] and _is_displaced(m, 1), ParserDifference(
        "the place of a first body without joints", "read", "dropped", "read", "read")),
    (lambda _, m: (m.body_parentid[1:] == 0).sum() > 1, ParserDifference(
        "a second body of the world", "read", "dropped", "read", "read")),
    (lambda spec, _: len(spec.frames) > 0, ParserDifference(
        "what stands in <frame> or <replicate>", "read", "dropped, or refused", "read",
        "dropped")),
    (lambda spec, m: (_mass_from_geometry(spec, m) & (m.geom_type == MESH)).any(), ParserDifference(
        "mass and inertia of a mesh without <inertial>", "of its volume", "1 kg and identity",
        "of its volume", "of its volume; 0 where it has no file")),
    (lambda spec,
    m: (_mass_from_geometry(spec, m) & (m.geom_contype + m.geom_conaffinity == 0)).any(),
     ParserDifference("mass of a geom that touches nothing, without <inertial>", "counts", "0",
     "counts",
             "counts")),
    (lambda spec, _: math.isfinite(spec.default.geom.mass), ParserDifference(
        "mass of geoms from <default>", "read", "from the density", "read", "read")),
    (lambda spec, _: spec.compiler.settotalmass > 0.0, ParserDifference(
        "settotalmass", "read", "not read", "read", "not read")),
    (lambda spec, m: spec.compiler.degree and _limited(m, SLIDE).any(), ParserDifference(
        "the range of a slide, where angles are degrees", "m", "times pi/180", "m", "m")),
    (lambda _, m: (m.jnt_limited & (m.qpos0[m.jnt_qposadr] != 0.0) & (m.jnt_type >= SLIDE)).any(),
     ParserDifference("a range beside ref", "of qpos", "less ref", "of qpos", "of qpos")),
    (lambda _, m: (~m.jnt_limited & m.jnt_range.any(axis=1)).any(), ParserDifference(
        "a range with limited = false", "none", "kept", "none", "none")),
    (lambda _, m: (m.dof_damping[m.jnt_type[m.dof_jntid] == BALL] > 0.0).any(), ParserDifference(
        "damping of a ball joint", "read", "not read", "read", "read")),
    (lambda _, m: m.dof_dampingpoly.any(), ParserDifference(
        "damping of several numbers", "read", "0", "read", "refused")),
    (lambda _, m: m.jnt_stiffness.any() or m.jnt_stiffnesspoly.any(), ParserDifference(
        "stiffness of a joint", "read", "not read", "read", "not read")),
    (lambda _, m: m.dof_frictionloss.any(), URDF_DIFFERENCES["joint_friction"]),
    (lambda _, m: m.dof_armature.any(), ParserDifference(
        "armature", "read", "read", "read", "of joints with a motor")),
    (lambda _, m: m.jnt_actfrclimited.any(), ParserDifference(
        "actuatorfrcrange", "read", "limits of the joint", "read", "not read")),
    (lambda _, m: m.body_gravcomp.any(), ParserDifference(
        "gravcomp", "read", "not read", "read", "not read")),
    (lambda _, m: m.opt.density > 0.0 or m.opt.viscosity > 0.0, ParserDifference(
        "density and viscosity", "read", "not read", "read", "not read")),
    (lambda _, m: np.any(m.opt.gravity != STANDARD_GRAVITY), ParserDifference(
        "gravity", "read", "0 0 -9.81", "read", "read")),
    (lambda _, m: m.opt.disableflags & GRAVITY_OFF, ParserDifference(
        "gravity switched off", "read", "not read", "read", "not read")),
    (lambda _, m: m.eq_type.any(), ParserDifference(
        "<equality>, but connect", "held exactly", "not read", "soft", "not read")),
    (lambda _, m: m.tendon_stiffness.any() or m.tendon_damping.any(), ParserDifference(
        "springs and dampers of tendons", "read of fixed ones", "not read", "read", "not read")),
    (lambda _, m: (m.actuator_gear[:, 0] != 1.0).any(), ParserDifference(
        "gear of an actuator", "force per control", "no actuators", "force per control",
        "rotor inertia alone: the control is the joint's")),
    (lambda _, m: m.actuator_biastype.any(), ParserDifference(
        "position and velocity servos", "motors", "no actuators", "servos",
        "servos of positions; none of velocities")),
)  # fmt: skip
"""What a file may have, and how it is read."""


def parser_differences(model: ShapeSource, codes: Iterable[str]) -> Iterator[ParserDifference]:
    """Yield how others read a model file in which the audit finds something."""
    form = read_model(model.text).format
    if form == "URDF":
        audit_codes = {"", *codes}
        yield from (reading for code, reading in URDF_DIFFERENCES.items() if code in audit_codes)
    if form == "MJCF":
        from ukctrl.robot.mjcf.compile_mjcf import compile_for_shapes

        compilation = compile_for_shapes(model.text, model.path)
        yield from (
            reading
            for differs, reading in MJCF_DIFFERENCES
            if differs(compilation.spec, compilation.model)
        )
