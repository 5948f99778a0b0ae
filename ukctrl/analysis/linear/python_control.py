"""Linear systems as python-control takes them, and the names of their signals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix

if TYPE_CHECKING:
    import control


def signal_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of inputs or outputs without the dots that python-control has for itself.

    >>> signals(("tool.x", "q1"))
    ('tool_x', 'q1')
    """
    plain = [name.replace(".", "_") for name in names]
    return tuple(
        name if plain.count(name) == 1 else f"{name}_{plain[: k + 1].count(name)}"
        for k, name in enumerate(plain)
    )


class SignalNames(NamedTuple):
    """The names of a system's states, inputs and outputs."""

    states: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]


def state_space(
    name: str, A: Matrix, B: Matrix, C: Matrix, period: float | None, named: SignalNames
) -> control.StateSpace:
    """Return ``A, B, C`` as a system of python-control: of ticks where there is a period [s]."""
    import control

    D = np.zeros((len(C), B.shape[1]))
    signal_names = {kind: list(names) for kind, names in named._asdict().items()}
    return control.ss(A, B, C, D, dt=period or 0, name=name, **signal_names)
