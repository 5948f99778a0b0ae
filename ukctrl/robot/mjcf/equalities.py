"""``<equality>`` of a compiled model as ``[[passive]]`` constraints, which hold exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ukctrl.robot.audit import note, warning
from ukctrl.robot.layout import Block
from ukctrl.robot.mjcf.forces import Switches
from ukctrl.robot.mjcf.table import Told
from ukctrl.robot.mjcf.tree import Names, turn

CONNECT, WELD, JOINT = range(3)
"""MuJoCo's types of equalities that are read, by their number."""
BODY = 1
"""MuJoCo's number of a body as the end of an equality; else it is a site."""
UNREAD = {3: "tendon", 4: "flex", 5: "flexvert", 6: "flexstrain", 7: "distance"}
TOO_LONG = 1e-12
"""Coefficients below this are zero."""


class Held(NamedTuple):
    """What the equalities of a model became."""

    passive: tuple[dict[str, Any], ...]
    """``[[passive]]`` tables."""
    told: tuple[Told, ...]


def hold(m: Any, model: Any, names: Names, blocks: tuple[Block, ...], on: Switches) -> Held:
    """Return the equalities as constraints; ends that no frame marks become frames of ``model``."""
    passive: list[dict[str, Any]] = []
    told: list[Told] = []
    taken = {*names.bodies, *names.sites, *names.joints}
    for i in range(m.neq):
        name = m.eq(i).name or f"equality{i}"
        while name in taken:
            name += "_"
        taken.add(name)
        if not (m.eq_active0[i] and on.equality):
            told.append(
                Told(note("equality_off", name, f"equality '{name}' is switched off in the file."))
            )
            continue
        kind = int(m.eq_type[i])
        if kind == JOINT:
            passive.append(_joint(m, i, name, blocks))
        elif kind in (CONNECT, WELD):
            passive.append(_closure(m, i, name, model, names))
        else:
            told.append(
                Told(
                    warning(
                        "equality_told",
                        name,
                        f"equality '{name}' between {UNREAD.get(kind, 'unknown')}s is not in the "
                        "robot, which moves as if it were not there; write a [[passive]] "
                        "constraint in robot.toml.",
                    )
                )
            )
    return Held(tuple(passive), tuple(told))


def _joint(m: Any, i: int, name: str, blocks: tuple[Block, ...]) -> dict[str, Any]:
    r"""Return $q_1 - q_{1,0} - \sum_k c_k (q_2 - q_{2,0})^k = 0$."""
    first, second = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    own = blocks[first]
    text = _offset(own.coordinates[0], float(m.qpos0[m.jnt_qposadr[first]]))
    coefficients = [float(value) for value in m.eq_data[i, :5]]
    if second < 0:
        sum_ = [repr(coefficients[0])]
    else:
        zero = float(m.qpos0[m.jnt_qposadr[second]])
        other = _offset(blocks[second].coordinates[0], zero)
        powers = ["", f"*({other})", *(f"*({other})**{k}" for k in range(2, 5))]
        sum_ = [
            f"({value!r}){power}"
            for value, power in zip(coefficients, powers, strict=True)
            if abs(value) > TOO_LONG
        ] or ["0"]
    unit = own.coordinate_units[0]
    phi = f"{text} - ({' + '.join(sum_)})"
    return {"kind": "expression", "name": name, "phi": phi, "unit": unit}


def _offset(name: str, zero: float) -> str:
    return f"{name} - ({zero!r})" if zero else name


def _closure(m: Any, i: int, name: str, model: Any, names: Names) -> dict[str, Any]:
    """Return the closure between the ends of a connect or a weld.

    MuJoCo, "Computation: Constraint model": a weld's relative pose and its anchor are two frames
    that coincide, the first body's and the second's.
    """
    weld = m.eq_type[i] == WELD
    ends = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    data = np.array(m.eq_data[i])
    frames: list[str]
    if m.eq_objtype[i] == BODY:
        at = (data[3:6], data[0:3]) if weld else (data[0:3], data[3:6])
        turns = (turn(data[6:10]) if weld else np.eye(3), np.eye(3))
        frames = []
        for number, (body, position, rotation) in enumerate(zip(ends, at, turns, strict=True), 1):
            frame = f"{name}_{number}"
            parent = names.bodies[body]
            index = 0 if body == 0 else _frame(model, parent)
            place = model.frames[index].placement * pin.SE3(rotation, np.array(position))
            joint = model.frames[index].parentJoint
            model.addFrame(pin.Frame(frame, joint, 0, place, pin.FrameType.OP_FRAME), False)
            frames.append(frame)
    else:
        frames = [names.sites[end] for end in ends]
    turning = weld and data[10] > 0.0
    closure = "weld" if turning else "point"
    return {"kind": "closure", "name": name, "frames": tuple(frames), "type": closure}


def _frame(model: Any, body: str) -> int:
    return int(model.getFrameId(body, pin.FrameType.BODY))
