"""Names, units and kinematics of the coordinates of every joint.

Pinocchio stores a configuration ``q`` of length ``nq`` and a velocity ``v`` of length ``nv``.
Each joint owns one block of both; this module names the entries of the blocks and states
how ``q`` changes under ``v``, as text that the expression language can differentiate.
"""

from __future__ import annotations

import dataclasses as dc
import keyword
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import ModelError
from ukctrl.core.expression.syntax import FUNCTIONS

JointManifold = Literal["line", "circle", "planar", "spherical", "free"]
"""Manifold of one block: R^n, the unit circle, SE(2), SO(3) as a quaternion, SE(3).

`ukctrl.robot.manifold_kernels` move it, and number them in this order.
"""

RESERVED = frozenset({"t", "v", "d", "pi", "deg", *FUNCTIONS})
"""Names with a meaning of their own in formulas; a joint of that name gets an underscore."""


@dc.dataclass(frozen=True, kw_only=True)
class JointBlock:
    """The coordinates and velocities of one joint."""

    name: str
    """Name in the model file."""
    joint: int
    """Pinocchio's joint index."""
    shape: JointManifold
    iq: int
    """First index in ``q``."""
    iv: int
    """First index in ``v``."""
    coordinates: tuple[str, ...]
    dofs: tuple[str, ...]
    rates: tuple[str, ...]
    """Text of the time derivative of each coordinate."""
    coordinate_units: tuple[str, ...]
    dof_units: tuple[str, ...]
    rotor: bool = False
    """Whether it is the motor of an elastic joint, and no joint itself."""

    @classmethod
    def scalar(
        cls, name: str, unit: str, iq: int, iv: int, *, joint: int = 0, rotor: bool = False
    ) -> JointBlock:
        """Return the block of one plain coordinate, in ``"rad"`` or ``"m"``."""
        return cls(
            name=name,
            joint=joint,
            shape="line",
            iq=iq,
            iv=iv,
            coordinates=(name,),
            dofs=(name,),
            rates=(f"v.{name}",),
            coordinate_units=(unit,),
            dof_units=(f"{unit}/s",),
            rotor=rotor,
        )

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.dofs)

    def angles(self, q: Matrix) -> Matrix:
        """Return its positions over a motion, one a velocity; a continuous joint counts turns.

        Args:
            q: Configurations of the whole robot in their order, shape ``(k, nq)``; the block must
                be a line or a circle.
        """
        if self.shape == "circle":
            turns: Matrix = np.unwrap(np.arctan2(q[:, self.iq + 1], q[:, self.iq]))
            return turns[:, None]
        return q[:, self.iq : self.iq + self.nq]


def identifier(name: str) -> str:
    """Return the name as it is written in formulas: a Python identifier.

    >>> identifier("shoulder-pan.1"), identifier("3rd"), identifier("lambda")
    ('shoulder_pan_1', '_3rd', 'lambda_')
    """
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if text[0].isdigit():
        text = "_" + text
    return text + "_" if keyword.iskeyword(text) or text in RESERVED else text


def blocks_of(model: Any) -> tuple[JointBlock, ...]:
    """Return the block of every joint, in the order of ``q``.

    Args:
        model: A ``pinocchio.Model`` without composite joints.

    Raises:
        ModelError: A joint type is not supported, or two joints end up with one name.
    """
    blocks = tuple(
        _block(str(model.names[index]), index, model.joints[index])
        for index in range(1, model.njoints)
    )
    owners: dict[str, str] = {}
    for block in blocks:
        for text in dict.fromkeys((*block.coordinates, *block.dofs)):
            if text in owners:
                raise ModelError(
                    f"joints '{block.name}' and '{owners[text]}' would share the name '{text}' in "
                    "formulas; rename one of them in the model file."
                )
        for text in (*block.coordinates, *block.dofs):
            owners[text] = block.name
    return blocks


def _block(name: str, index: int, joint: Any) -> JointBlock:
    short = joint.shortname().removeprefix("JointModel")
    make = _MAKERS.get(short)
    if make is None:
        raise ModelError(
            f"joint '{name}' has the type '{short}', which is not supported. Supported: "
            f"{', '.join(sorted(_MAKERS))}."
        )
    shape, coordinates, dofs, rates, q_units, v_units = make(identifier(name))
    return JointBlock(
        name=name,
        joint=index,
        shape=shape,
        iq=joint.idx_q,
        iv=joint.idx_v,
        coordinates=coordinates,
        dofs=dofs,
        rates=rates,
        coordinate_units=q_units,
        dof_units=v_units,
    )


_Names = tuple[str, ...]
_Made = tuple[JointManifold, _Names, _Names, _Names, _Names, _Names]


def _scalar(q_unit: str) -> Callable[[str], _Made]:
    def make(n: str) -> _Made:
        return "line", (n,), (n,), (f"v.{n}",), (q_unit,), (f"{q_unit}/s",)

    return make


def _circle(n: str) -> _Made:
    rates = (f"-{n}_sin*v.{n}", f"{n}_cos*v.{n}")
    return "circle", (f"{n}_cos", f"{n}_sin"), (n,), rates, ("1", "1"), ("rad/s",)


def _planar(n: str) -> _Made:
    c, s, vx, vy, w = f"{n}_cos", f"{n}_sin", f"v.{n}_vx", f"v.{n}_vy", f"v.{n}_w"
    rates = (f"{c}*{vx} - {s}*{vy}", f"{s}*{vx} + {c}*{vy}", f"-{s}*{w}", f"{c}*{w}")
    return (
        "planar",
        (f"{n}_x", f"{n}_y", c, s),
        (f"{n}_vx", f"{n}_vy", f"{n}_w"),
        rates,
        ("m", "m", "1", "1"),
        ("m/s", "m/s", "rad/s"),
    )


def _quaternion_rates(n: str) -> tuple[str, str, str, str]:
    """Return half the quaternion product ``q (omega, 0)``, ``omega`` in the body frame."""
    x, y, z, w = (f"{n}_q{s}" for s in "xyzw")
    a, b, c = (f"v.{n}_w{s}" for s in "xyz")
    return (
        f"({w}*{a} + {y}*{c} - {z}*{b})/2",
        f"({w}*{b} + {z}*{a} - {x}*{c})/2",
        f"({w}*{c} + {x}*{b} - {y}*{a})/2",
        f"-({x}*{a} + {y}*{b} + {z}*{c})/2",
    )


def _spherical(n: str) -> _Made:
    return (
        "spherical",
        tuple(f"{n}_q{s}" for s in "xyzw"),
        tuple(f"{n}_w{s}" for s in "xyz"),
        _quaternion_rates(n),
        ("1",) * 4,
        ("rad/s",) * 3,
    )


def _free(n: str) -> _Made:
    x, y, z, w = (f"{n}_q{s}" for s in "xyzw")
    a, b, c = (f"v.{n}_v{s}" for s in "xyz")
    rates = (
        f"(1 - 2*({y}*{y} + {z}*{z}))*{a} + 2*({x}*{y} - {z}*{w})*{b} + 2*({x}*{z} + {y}*{w})*{c}",
        f"2*({x}*{y} + {z}*{w})*{a} + (1 - 2*({x}*{x} + {z}*{z}))*{b} + 2*({y}*{z} - {x}*{w})*{c}",
        f"2*({x}*{z} - {y}*{w})*{a} + 2*({y}*{z} + {x}*{w})*{b} + (1 - 2*({x}*{x} + {y}*{y}))*{c}",
        *_quaternion_rates(n),
    )
    return (
        "free",
        (f"{n}_x", f"{n}_y", f"{n}_z", x, y, z, w),
        (*(f"{n}_v{s}" for s in "xyz"), *(f"{n}_w{s}" for s in "xyz")),
        rates,
        ("m", "m", "m", "1", "1", "1", "1"),
        ("m/s",) * 3 + ("rad/s",) * 3,
    )


# Universal, translation and ZYX joints are left out: no model file gives them, and Pinocchio's dJ
# is wrong for joints whose axes move inside the joint.
_MAKERS: dict[str, Callable[[str], _Made]] = {
    **dict.fromkeys(
        ("RX", "RY", "RZ", "RevoluteUnaligned", "HX", "HY", "HZ", "HelicalUnaligned"),
        _scalar("rad"),
    ),
    **dict.fromkeys(("PX", "PY", "PZ", "PrismaticUnaligned"), _scalar("m")),
    **dict.fromkeys(("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned"), _circle),
    "Planar": _planar,
    "Spherical": _spherical,
    "FreeFlyer": _free,
}
