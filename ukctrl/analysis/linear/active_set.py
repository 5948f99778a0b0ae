"""Which limits are active where a loop is linearised: there the law's gain is that of the rest.

A kept row that binds, a motor at its limit and a contact that is open or slides stay so near the
state, as long as none of them only just does: then the answer of the law's program, and that of the
robot, are smooth, and their slopes are those with the active set held.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.linear.operating_point import OperatingPoint
from ukctrl.core.arrays import Flags, Vector
from ukctrl.core.errors import quoted
from ukctrl.mechanics.constraints.contact import CREEPING, MODE, OPEN, SLIDING
from ukctrl.simulation.assemble import Loop

LIMIT_TOLERANCE = 1e-9
"""An input this near to its limit, beside it, is at its limit."""
SIDES = {1.0: "upper", -1.0: "lower"}
MODES = {OPEN: "is open", SLIDING: "slides", CREEPING: "slides"}


class ActiveSet(NamedTuple):
    """What binds at a state."""

    kept: tuple[str, ...] = ()
    """Rows that the law keeps, and that change its input."""
    motors: tuple[tuple[str, str], ...] = ()
    """Motors at a limit that the law keeps, each with the side."""
    bench: tuple[tuple[str, str], ...] = ()
    """Motors at a limit of the bench, of which the law knows nothing, each with the side."""
    contacts: tuple[tuple[str, str], ...] = ()
    """Contacts that do not stick, each with what it does."""

    @property
    def words(self) -> str:
        """All of it; empty where nothing is active."""
        return "; ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.kept:
            yield f"{quoted(self.kept)} {'binds' if len(self.kept) == 1 else 'bind'}"
        for name, side in self.motors:
            yield f"motor '{name}' is at its {side} limit"
        for name, side in self.bench:
            yield f"motor '{name}' is held at its {side} limit by the bench"
        for name, mode in self.contacts:
            yield f"contact '{name}' {mode}"

    def notes(self) -> Iterator[str]:
        """Yield what is left out for it."""
        if any(self):
            yield (
                "what is active is held, as it is for small deviations: the loop, its margins and "
                "gains are those of the rest. Zeros, and modes beyond motors or not in rows, are "
                "the plant's, whatever the law keeps."
            )
        if self.bench:
            yield (
                f"the loop does not reach motor {quoted(name for name, _ in self.bench)}: beyond "
                "its limit no command changes the input."
            )


def active_set(loop: Loop, point: OperatingPoint, u: Vector) -> tuple[ActiveSet, Flags]:
    """Return what is active after a step of the law, and which motors the bench holds.

    Args:
        loop: The scenario, ready to run; its law has just been asked.
        point: What the law was asked at.
        u: Its command, shape ``(nu,)``.
    """
    keeper, names = loop.law.keeper, loop.robot.actuators
    active_rows: tuple[str, ...] = ()
    sides = dict[str, str]()
    memory = loop.law.memory if point.memory is None else point.memory
    signal = loop.law.signals(loop.believed_model, memory).get("binding")
    # A bounded allocation tells its limits itself; the safety filter does not.
    if signal is not None:
        of = zip(signal.components, np.sign(np.ravel(signal.value)).tolist(), strict=False)
        sides = {name: SIDES[side] for name, side in of if side}
    if keeper is not None:
        bound = np.flatnonzero(keeper.diagnostics.active > 0.0)
        active_rows = tuple(keeper.names[i] for i in bound)
        rate = loop.believed_model.snapshot.v @ loop.believed_model.snapshot.B
        sides |= _limit_sides(names, u, *loop.believed_model.robot.input_bounds(rate), 1.0)
    saturation, bench = np.zeros(len(u), dtype=bool), dict[str, str]()
    s = loop.plant.snapshot
    bounds = loop.effects.bounds(s.v @ s.B)
    if bounds is not None:
        bench = _limit_sides(names, u, *bounds, -1.0)
        saturation = np.array([name in bench for name in names])
    return (
        ActiveSet(active_rows, tuple(sides.items()), tuple(bench.items()), _contacts(point)),
        saturation,
    )


def _limit_sides(
    names: tuple[str, ...], u: Vector, low: Vector, high: Vector, sign: float
) -> dict[str, str]:
    """Return which inputs are at their limits, or, with ``sign = -1``, beyond them."""
    sides = dict[str, str]()
    for side, over, limit in (("upper", u - high, high), ("lower", low - u, low)):
        near = sign * LIMIT_TOLERANCE * np.maximum(np.abs(limit), 1.0)
        at = np.isfinite(limit) & (over >= -near)
        sides |= {names[k]: side for k in np.flatnonzero(at)}
    return sides


def _contacts(point: OperatingPoint) -> tuple[tuple[str, str], ...]:
    modes = ((name, float(state[MODE])) for name, state in point.contacts.items())
    return tuple((name, MODES[mode]) for name, mode in modes if mode in MODES)
