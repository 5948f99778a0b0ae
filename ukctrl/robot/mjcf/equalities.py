"""``<equality>`` of a compiled model as ``[[passive]]`` constraints, which hold exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ukctrl.robot.joint_layout import JointBlock
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.mjcf.pinocchio_model import MjcfNames, rotation_from_quaternion
from ukctrl.robot.mjcf.supported_fields import UnsupportedFeature, unsupported
from ukctrl.robot.mjcf.tendons import tendon_length_formula, tendon_ratios
from ukctrl.robot.model_audit import note

CONNECT, WELD, JOINT, TENDON = range(4)
"""MuJoCo's types of equalities that are read, by their number."""
BODY = 1
"""MuJoCo's number of a body as the end of an equality; else it is a site."""
UNREAD = {TENDON: "path of a tendon", 4: "flex", 5: "flexvert", 6: "flexstrain", 7: "distance"}
MIN_COEFFICIENT = 1e-12
"""Coefficients below this are zero."""


class ImportedEqualities(NamedTuple):
    """What the equalities of a model became."""

    passive: tuple[dict[str, Any], ...]
    """``[[passive]]`` tables."""
    unsupported: tuple[UnsupportedFeature, ...]


def import_equalities(
    m: Any, model: Any, names: MjcfNames, blocks: tuple[JointBlock, ...], on: EnabledForces
) -> ImportedEqualities:
    """Return the equalities as constraints; ends that no frame marks become frames of ``model``."""
    passive: list[dict[str, Any]] = []
    reports: list[UnsupportedFeature] = []
    used_names = {*names.bodies, *names.sites, *names.joints}
    for i in range(m.neq):
        name = m.eq(i).name or f"equality{i}"
        while name in used_names:
            name += "_"
        used_names.add(name)
        if not (m.eq_active0[i] and on.equality):
            reports.append(
                UnsupportedFeature(
                    note("equality_off", name, f"equality '{name}' is switched off in the file.")
                )
            )
            continue
        kind = int(m.eq_type[i])
        polynomial = _polynomial(m, i, name, blocks) if kind in (JOINT, TENDON) else None
        if polynomial is not None:
            passive.append(polynomial)
        elif kind in (CONNECT, WELD):
            closure = _closure(m, i, name, model, names)
            if closure is None:
                message = (
                    f"equality '{name}' holds two places of one body; it holds by itself, or never."
                )
                reports.append(UnsupportedFeature(note("equality_idle", name, message)))
            else:
                passive.append(closure)
        else:
            reports.append(
                unsupported(
                    "equality_told",
                    name,
                    f"equality '{name}' between {UNREAD.get(kind, 'unknown')}s is not in the "
                    "robot, which moves as if it were not there; write a [[passive]] "
                    "constraint in robot.toml.",
                )
            )
    return ImportedEqualities(tuple(passive), tuple(reports))


def _polynomial(m: Any, i: int, name: str, blocks: tuple[JointBlock, ...]) -> dict[str, Any] | None:
    r"""Return $x_1 - x_{1,0} - \sum_k c_k (x_2 - x_{2,0})^k = 0$ of joints or fixed tendons."""
    offset = _offset(m, i, int(m.eq_obj1id[i]), blocks)
    second = int(m.eq_obj2id[i])
    second_offset = _offset(m, i, second, blocks) if second >= 0 else "0"
    if offset is None or second_offset is None:
        return None
    powers = ["", f"*({second_offset})", *(f"*({second_offset})**{k}" for k in range(2, 5))]
    coefficients = [float(value) for value in m.eq_data[i, : len(powers)]]
    if second < 0:
        coefficients = coefficients[:1]
    added = [
        f"({value!r}){power}"
        for value, power in zip(coefficients, powers, strict=False)
        if abs(value) > MIN_COEFFICIENT
    ]
    first = (
        tendon_ratios(m, int(m.eq_obj1id[i]))
        if m.eq_type[i] == TENDON
        else {int(m.eq_obj1id[i]): 1.0}
    )
    units = {blocks[j].coordinate_units[0] for j in first or ()}
    phi = f"{offset} - ({' + '.join(added) or '0'})"
    unit = units.pop() if len(units) == 1 else "1"
    return {"kind": "expression", "name": name, "phi": phi, "unit": unit}


def _offset(m: Any, i: int, number: int, blocks: tuple[JointBlock, ...]) -> str | None:
    """Return how far a joint or a fixed tendon is from where the file has it."""
    if m.eq_type[i] == TENDON:
        ratios = tendon_ratios(m, number)
        if ratios is None:
            return None
        text, zero = tendon_length_formula(ratios, blocks), float(m.tendon_length0[number])
    else:
        text, zero = blocks[number].coordinates[0], float(m.qpos0[m.jnt_qposadr[number]])
    return f"{text} - ({zero!r})" if zero else text


def _closure(m: Any, i: int, name: str, model: Any, names: MjcfNames) -> dict[str, Any] | None:
    """Return the closure between the ends of a connect or a weld; None where they are one body.

    MuJoCo, "Computation: Constraint model": a weld's relative pose and its anchor are two frames
    that coincide, the first body's and the second's.
    """
    weld = m.eq_type[i] == WELD
    ends = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    data = np.array(m.eq_data[i])
    called = names.bodies if m.eq_objtype[i] == BODY else names.sites
    kind = pin.FrameType.BODY if m.eq_objtype[i] == BODY else pin.FrameType.OP_FRAME
    at = [
        model.frames[0 if called[e] == "world" else model.getFrameId(called[e], kind)] for e in ends
    ]
    if at[0].parentJoint == at[1].parentJoint:
        return None
    frames = [called[end] for end in ends]
    if m.eq_objtype[i] == BODY:
        frames = [f"{name}_1", f"{name}_2"]
        positions = (data[3:6], data[0:3]) if weld else (data[0:3], data[3:6])
        turns = (rotation_from_quaternion(data[6:10]) if weld else np.eye(3), np.eye(3))
        for frame, end, position, rotation in zip(frames, at, positions, turns, strict=True):
            pose = end.placement * pin.SE3(rotation, np.array(position))
            pin_frame = pin.Frame(frame, end.parentJoint, 0, pose, pin.FrameType.OP_FRAME)
            model.addFrame(pin_frame, False)
    turning = weld and data[10] > 0.0
    closure = "weld" if turning else "point"
    return {"kind": "closure", "name": name, "frames": tuple(frames), "type": closure}
