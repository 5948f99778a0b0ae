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
from ukctrl.mechanics.constraints.contact import CREEPS, MODE, OPEN, SLIDES
from ukctrl.simulation.loop import Loop

AT_LIMIT = 1e-9
"""An input this near to its limit, beside it, is at its limit."""
SIDES = {1.0: "upper", -1.0: "lower"}
MODES = {OPEN: "is open", SLIDES: "slides", CREEPS: "slides"}


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
    kept: tuple[str, ...] = ()
    sides = dict[str, str]()
    memory = loop.law.memory if point.memory is None else point.memory
    told = loop.law.signals(loop.belief, memory).get("binding")
    if told is not None:
        of = zip(told.components, np.sign(np.ravel(told.value)).tolist(), strict=False)
        sides = {name: SIDES[side] for name, side in of if side}
    if keeper is not None:
        bound = np.flatnonzero(keeper.account.binding > 0.0)
        kept = tuple(keeper.names[i] for i in bound)
        rate = loop.belief.snapshot.v @ loop.belief.snapshot.B
        sides |= _at(names, u, *loop.belief.robot.input_bounds(rate), 1.0)
    held, bench = np.zeros(len(u), dtype=bool), dict[str, str]()
    s = loop.truth.snapshot
    bounds = loop.conditions.bounds(s.v @ s.B)
    if bounds is not None:
        bench = _at(names, u, *bounds, -1.0)
        held = np.array([name in bench for name in names])
    return (
        ActiveSet(kept, tuple(sides.items()), tuple(bench.items()), _contacts(point)),
        held,
    )


def _at(
    names: tuple[str, ...], u: Vector, low: Vector, high: Vector, sign: float
) -> dict[str, str]:
    """Return which inputs are at their limits, or, with ``sign = -1``, beyond them."""
    found = dict[str, str]()
    for side, over, limit in (("upper", u - high, high), ("lower", low - u, low)):
        near = sign * AT_LIMIT * np.maximum(np.abs(limit), 1.0)
        at = np.isfinite(limit) & (over >= -near)
        found |= {names[k]: side for k in np.flatnonzero(at)}
    return found


def _contacts(point: OperatingPoint) -> tuple[tuple[str, str], ...]:
    modes = ((name, float(state[MODE])) for name, state in point.contacts.items())
    return tuple((name, MODES[mode]) for name, mode in modes if mode in MODES)
