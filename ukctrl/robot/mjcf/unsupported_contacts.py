"""What of a compiled model could touch what: contacts are not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ukctrl.robot.mjcf.pinocchio_model import FREE, MjcfNames
from ukctrl.robot.mjcf.supported_fields import UnsupportedFeature, remark, unsupported


def unsupported_contacts(m: Any, names: MjcfNames) -> Iterator[UnsupportedFeature]:
    """Say that bodies pass through each other, where the file lets them touch."""
    static = np.array([m.body_weldid[b] == 0 for b in range(m.nbody)])
    kind, affinity, at = m.geom_contype, m.geom_conaffinity, static[m.geom_bodyid]
    moving = [g for g in range(m.ngeom) if (kind[g] or affinity[g]) and not at[g]]
    ground = [g for g in range(m.ngeom) if (kind[g] or affinity[g]) and at[g]]
    floats = bool(np.any(m.jnt_type == FREE))
    touching = floats and any(
        kind[a] & affinity[b] or kind[b] & affinity[a] for a in moving for b in ground
    )
    if touching:
        first = names.joints[int(np.flatnonzero(m.jnt_type == FREE)[0])]
        yield unsupported(
            "contact_told",
            first,
            "contacts are not in the robot: what moves freely falls through the ground, and "
            'bodies pass through each other; write [[passive]] tables of kind = "contact" in '
            "robot.toml.",
        )
    elif moving:
        yield remark(
            "contact_told",
            "contact",
            "contacts are not read; bodies pass through each other.",
        )
