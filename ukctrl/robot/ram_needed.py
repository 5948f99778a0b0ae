"""Whether this machine has the working memory that a robot needs."""

from __future__ import annotations

from ukctrl.core.errors import ModelError
from ukctrl.core.own_processes import memory

TABLES = 4
"""Tables of ``nv**3`` numbers in every ``pinocchio.Data``: its second derivatives of the inverse
dynamics. They are allocated, and touched, whether anyone asks for them or not."""
COPIES = 3
"""How many ``pinocchio.Data`` a run has at a time."""


def refuse_what_does_not_fit(nv: int, label: str) -> None:
    """Refuse a robot that would fill the memory: the system would kill the process without a word.

    Raises:
        ModelError: It has too many freedoms for this machine.
    """
    needed, there = 8.0 * TABLES * COPIES * float(nv) ** 3, memory()
    if needed > there:
        most = int((there / (8.0 * TABLES * COPIES)) ** (1.0 / 3.0))
        raise ModelError(
            f"{label}: a robot with {nv} freedoms needs about {needed / 1e9:.0f} GB of memory, and "
            f"this machine has {there / 1e9:.0f} GB, enough for {most}. Take fewer parts."
        )
