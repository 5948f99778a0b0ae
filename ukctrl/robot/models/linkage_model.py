r"""From a `Linkage` to what every robot is made of: a model, closures, motors.

Each body hangs from the ground on a chain of its own, two slides and a turn, whose carriers have
no mass. So its mass matrix is exactly $\mathrm{diag}(m, m, I)$, and all that is made for trees of
bodies (frames, closures, springs, plots, perturbations) serves linkages as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Vector
from ukctrl.robot.schema.force_tables import TorqueBetween
from ukctrl.robot.schema.linkage_tables import GROUND, AnyJoint, Linkage, Point, Revolute, place

EXPECTED_CODES = frozenset({"massless_joint", "no_actuator"})
"""Codes of what the audit finds on every carrier; they say nothing about this linkage."""

UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Axes of a linkage in the plane ``xz``: its y axis is the world's z axis."""


class LinkageModel(NamedTuple):
    """A linkage written out."""

    model: Any
    """The ``pinocchio.Model``."""
    passive: tuple[dict[str, Any], ...]
    """One ``[[passive]]`` table a joint; two for a slide."""
    actuator: tuple[TorqueBetween, ...]
    """The motors."""
    home: Vector
    """Where the bodies were drawn, shape ``(nq,)``."""


def linkage_model(linkage: Linkage, name: str) -> LinkageModel:
    """Write a linkage out as a tree of free bodies and what ties them together.

    Raises:
        InputError: Its repeated modules do not fit together.
    """
    linkage = linkage.expanded()
    model = pin.Model()
    model.name = name
    ground = pin.SE3(UPRIGHT if linkage.plane == "xz" else np.eye(3), np.zeros(3))
    _add_frame(model, GROUND, 0, ground)
    for point, at in linkage.ground.items():
        _add_frame(model, f"{GROUND}.{point}", 0, ground * _shift(at))
    for body in linkage.body:
        joint, placement = 0, ground
        for of, moves in (
            ("x", pin.JointModelPX()),
            ("y", pin.JointModelPY()),
            ("angle", pin.JointModelRZ()),
        ):
            joint = model.addJoint(joint, moves, placement, f"{body.name}_{of}")
            model.addJointFrame(joint)
            placement = pin.SE3.Identity()
        rotors = sum(m.rotor_inertia for m in linkage.motor if m.bodies[1] == body.name)
        inertia = body.inertia + rotors
        moments = inertia * np.eye(3)  # those about axes in the plane never matter
        model.appendBodyToJoint(joint, pin.Inertia(body.mass, np.zeros(3), moments), placement)
        _add_frame(model, body.name, joint, placement)
        for point, at in body.points.items():
            _add_frame(model, f"{body.name}.{point}", joint, _shift(at))
    return LinkageModel(
        model,
        tuple(table for joint in linkage.joint for table in _joint_constraints(linkage, joint)),
        tuple(
            TorqueBetween(
                name=motor.name,
                frames=motor.bodies,
                axis=(0.0, 0.0, 1.0),
                limit=motor.limit,
                rate_limit=motor.rate_limit,
                corner_speed=motor.corner_speed,
                no_load_speed=motor.no_load_speed,
            )
            for motor in linkage.motor
        ),
        np.array([number for body in linkage.body for number in body.at]),
    )


def _add_frame(model: Any, name: str, joint: int, placement: Any) -> None:
    model.addFrame(pin.Frame(name, joint, 0, placement, pin.FrameType.BODY))


def _shift(at: Point) -> Any:
    return pin.SE3(np.eye(3), np.array([at[0], at[1], 0.0]))


def _joint_constraints(linkage: Linkage, joint: AnyJoint) -> list[dict[str, Any]]:
    first, second = joint.points
    named = {"name": joint.name} if joint.name else {}
    if isinstance(joint, Revolute):
        return [{"kind": "closure", "type": "planar_point", "frames": [first, second], **named}]
    name = joint.name or f"{first}_on_{second}"
    (a, at_a), (b, at_b) = place(linkage, first), place(linkage, second)
    along = f"{_angle(b)} + {joint.direction!r}"
    (xa, ya), (xb, yb) = _world(a, at_a), _world(b, at_b)
    across = f"cos({along})*({ya} - ({yb})) - sin({along})*({xa} - ({xb}))"
    turn = f"{_angle(a)} - {_angle(b)} - {joint.angle!r}"
    return [
        {"kind": "expression", "name": f"{name}.across", "phi": across, "unit": "m"},
        {"kind": "expression", "name": f"{name}.turn", "phi": turn, "unit": "rad"},
    ]


def _angle(body: str) -> str:
    return "0" if body == GROUND else f"{body}_angle"


def _world(body: str, at: tuple[float, float]) -> tuple[str, str]:
    """Return the formulas of a point's place in the plane."""
    x, y = (f"({number!r})" for number in at)
    if body == GROUND:
        return x, y
    turn = f"{body}_angle"
    return (
        f"{body}_x + {x}*cos({turn}) - {y}*sin({turn})",
        f"{body}_y + {x}*sin({turn}) + {y}*cos({turn})",
    )
