"""Tendons of a compiled model: fixed ones as formulas of the joints, the others told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ukctrl.robot.joint_layout import JointBlock
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.mjcf.supported_fields import UnsupportedElements, UnsupportedFeature, report
from ukctrl.robot.schema.force_tables import GivenForce

WRAP_JOINT = 1
"""MuJoCo's number of a part of a fixed tendon."""


def tendon_ratios(m: Any, tendon: int) -> dict[int, float] | None:
    """Return how far a fixed tendon goes with every joint, by its number; None of other tendons."""
    ratios: dict[int, float] = {}
    first = int(m.tendon_adr[tendon])
    for w in range(first, first + int(m.tendon_num[tendon])):
        if m.wrap_type[w] != WRAP_JOINT:
            return None
        joint = int(m.wrap_objid[w])
        ratios[joint] = ratios.get(joint, 0.0) + float(m.wrap_prm[w])
    return {joint: ratio for joint, ratio in ratios.items() if ratio}


def tendon_length_formula(
    ratios: dict[int, float], blocks: tuple[JointBlock, ...], rate: bool = False
) -> str:
    """Return the length of a fixed tendon, or its rate, as a formula."""
    names = {j: f"v.{blocks[j].dofs[0]}" if rate else blocks[j].coordinates[0] for j in ratios}
    return " + ".join(f"({ratio!r})*{names[j]}" for j, ratio in ratios.items()) or "0"


def name_of(m: Any, tendon: int) -> str:
    """Return what a tendon is called."""
    return m.tendon(tendon).name or f"tendon{tendon}"


def _tendons_with(m: Any, *names: str) -> set[int]:
    return {
        i for i in range(m.ntendon) for name in names if np.any(getattr(m, f"tendon_{name}")[i])
    }


def _read(m: Any, tendon: int) -> bool:
    """Return whether spring and damper of a tendon are read: fixed, linear, relaxed at a point."""
    low, high = m.tendon_lengthspring[tendon]
    polynomial = m.tendon_stiffnesspoly[tendon].any() or m.tendon_dampingpoly[tendon].any()
    slack = bool(m.tendon_stiffness[tendon]) and low != high
    plastic = m.tendon_plasticadr[tendon] >= 0
    return tendon_ratios(m, tendon) is not None and not (polynomial or slack or plastic)


def tendon_springs(
    m: Any, blocks: tuple[JointBlock, ...], on: EnabledForces
) -> Iterator[GivenForce]:
    """Yield what springs and dampers of fixed tendons do to every joint."""
    for tendon in sorted(_tendons_with(m, "stiffness", "damping")):
        ratios = tendon_ratios(m, tendon)
        if not ratios or not _read(m, tendon):
            continue
        stiffness = float(m.tendon_stiffness[tendon]) * on.spring
        damping = float(m.tendon_damping[tendon]) * on.damper
        l_free = float(m.tendon_lengthspring[tendon, 0])
        stretch, rate = (
            tendon_length_formula(ratios, blocks),
            tendon_length_formula(ratios, blocks, rate=True),
        )
        for joint, ratio in ratios.items():
            text = f"-({ratio!r})*({stiffness!r}*({stretch} - ({l_free!r})) + {damping!r}*({rate}))"
            if stiffness or damping:
                yield GivenForce(joint=blocks[joint].dofs[0], force=text)


def unsupported_tendons(m: Any, on: EnabledForces) -> Iterator[UnsupportedFeature]:
    """Name what of the tendons is not in the robot."""
    unread = {i for i in range(m.ntendon) if not _read(m, i)}
    effects = {
        "springs": unread & _tendons_with(m, "stiffness", "stiffnesspoly") if on.spring else set(),
        "dampers": unread & _tendons_with(m, "damping", "dampingpoly") if on.damper else set(),
        "friction": _tendons_with(m, "frictionloss") if on.friction else set(),
        "rotor inertia": _tendons_with(m, "armature"),
    }
    acting = sorted(set().union(*effects.values()))
    limited = _tendons_with(m, "limited") if on.limit else set()
    limited |= _tendons_with(m, "actfrclimited")

    def slacken(model: Any) -> None:
        for name in ("stiffness", "stiffnesspoly", "damping", "dampingpoly"):
            getattr(model, f"tendon_{name}")[sorted(unread)] = 0.0
        model.tendon_armature[:] = 0.0

    effect_text = ", ".join(name for name, items in effects.items() if items)
    yield from report(
        UnsupportedElements(
            "tendon_told",
            [name_of(m, i) for i in acting],
            f"the robot lacks the {effect_text} of tendon {{names}}: its joints move as if slack; "
            "write springs, or a [[passive]] constraint, in robot.toml.",
            slacken,
        ),
        UnsupportedElements(
            "tendon_limit_told",
            [name_of(m, i) for i in sorted(limited)],
            "the limits of tendon {names} are not in the robot: nothing says that a motion, or a "
            "motor, goes beyond them.",
        ),
    )
