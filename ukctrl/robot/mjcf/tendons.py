"""Tendons of a compiled model: fixed ones as formulas of the joints, the others told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ukctrl.robot.audit import warning
from ukctrl.robot.layout import Block
from ukctrl.robot.mjcf.switches import Switches
from ukctrl.robot.mjcf.table import Told, lacks, listed, plural
from ukctrl.robot.schema.push_tables import GivenForce

WRAP_JOINT = 1
"""MuJoCo's number of a part of a fixed tendon."""


def pulls(m: Any, tendon: int) -> dict[int, float] | None:
    """Return how far a fixed tendon goes with every joint, by its number; None of other tendons."""
    ratios: dict[int, float] = {}
    first = int(m.tendon_adr[tendon])
    for w in range(first, first + int(m.tendon_num[tendon])):
        if m.wrap_type[w] != WRAP_JOINT:
            return None
        joint = int(m.wrap_objid[w])
        ratios[joint] = ratios.get(joint, 0.0) + float(m.wrap_prm[w])
    return {joint: ratio for joint, ratio in ratios.items() if ratio}


def length(ratios: dict[int, float], blocks: tuple[Block, ...], rate: bool = False) -> str:
    """Return the length of a fixed tendon, or its rate, as a formula."""
    names = {j: f"v.{blocks[j].dofs[0]}" if rate else blocks[j].coordinates[0] for j in ratios}
    return " + ".join(f"({ratio!r})*{names[j]}" for j, ratio in ratios.items()) or "0"


def name_of(m: Any, tendon: int) -> str:
    """Return what a tendon is called."""
    return m.tendon(tendon).name or f"tendon{tendon}"


def _having(m: Any, *names: str) -> set[int]:
    return {
        i for i in range(m.ntendon) for name in names if np.any(getattr(m, f"tendon_{name}")[i])
    }


def _read(m: Any, tendon: int) -> bool:
    """Return whether spring and damper of a tendon are read: fixed, linear, relaxed at a point."""
    low, high = m.tendon_lengthspring[tendon]
    polynomial = m.tendon_stiffnesspoly[tendon].any() or m.tendon_dampingpoly[tendon].any()
    slack = bool(m.tendon_stiffness[tendon]) and low != high
    plastic = m.tendon_plasticadr[tendon] >= 0
    return pulls(m, tendon) is not None and not (polynomial or slack or plastic)


def springs(m: Any, blocks: tuple[Block, ...], on: Switches) -> Iterator[GivenForce]:
    """Yield what springs and dampers of fixed tendons do to every joint."""
    for tendon in sorted(_having(m, "stiffness", "damping")):
        ratios = pulls(m, tendon)
        if not ratios or not _read(m, tendon):
            continue
        stiffness = float(m.tendon_stiffness[tendon]) * on.spring
        damping = float(m.tendon_damping[tendon]) * on.damper
        rest = float(m.tendon_lengthspring[tendon, 0])
        stretch, rate = length(ratios, blocks), length(ratios, blocks, rate=True)
        for joint, ratio in ratios.items():
            text = f"-({ratio!r})*({stiffness!r}*({stretch} - ({rest!r})) + {damping!r}*({rate}))"
            if stiffness or damping:
                yield GivenForce(joint=blocks[joint].dofs[0], force=text)


def told(m: Any, on: Switches) -> Iterator[Told]:
    """Name what of the tendons is not in the robot."""
    unread = {i for i in range(m.ntendon) if not _read(m, i)}
    effects = {
        "springs": unread & _having(m, "stiffness", "stiffnesspoly") if on.spring else set(),
        "dampers": unread & _having(m, "damping", "dampingpoly") if on.damper else set(),
        "friction": _having(m, "frictionloss") if on.friction else set(),
        "rotor inertia": _having(m, "armature"),
    }
    acting = sorted(set().union(*effects.values()))
    if acting:

        def slacken(model: Any) -> None:
            for name in ("stiffness", "stiffnesspoly", "damping", "dampingpoly"):
                getattr(model, f"tendon_{name}")[sorted(unread)] = 0.0
            model.tendon_armature[:] = 0.0

        what = ", ".join(name for name, which in effects.items() if which)
        yield Told(_lacks("tendon_told", [name_of(m, i) for i in acting], what), slacken)
    limited = _having(m, "limited") if on.limit else set()
    limited |= _having(m, "actfrclimited")
    if limited:
        which = [name_of(m, i) for i in sorted(limited)]
        yield lacks(
            "tendon_limit_told",
            which[0],
            f"the limits of the {plural(which, 'tendon', 'tendons')} {listed(which)} are not "
            "in the robot: nothing says that a motion, or a motor, goes beyond them.",
        )


def _lacks(code: str, which: list[str], what: str) -> Any:
    return warning(
        code,
        which[0],
        f"the {plural(which, 'tendon', 'tendons')} {listed(which)} {plural(which, 'has', 'have')} "
        f"{what}, which the robot lacks: its joints move as if "
        f"{plural(which, 'it were', 'they were')} slack; write springs, or a [[passive]] "
        "constraint, in robot.toml.",
    )
