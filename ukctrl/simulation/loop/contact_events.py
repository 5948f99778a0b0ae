r"""Contacts that open, slide, stick and strike: which modes hold from one moment on.

A contact that touches down takes an inelastic impact: with the rows of all contacts that stay
closed, $v^+ = v - M^{-1} C^\top (A M^{-1} C^\top)^+ A v$, where $C = A$ but for contacts that
slide in it. Contacts that would have to pull let go, and one whose impulse leaves its cone slides.

References:
    Pfeiffer & Glocker, *Multibody Dynamics with Unilateral Contacts*, 1996.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import StartError, UkctrlError
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.constraints.contact import (
    ALONG,
    CREEPS,
    FLOOR,
    HEIGHT,
    IN_FORCE,
    MODE,
    OPEN,
    RATE,
    SLIDES,
    SLIP,
    STICKS,
    TOWARDS,
    UP,
)
from ukctrl.mechanics.contacts import SLOW, Contacts, inside_sole
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.system import State

TOUCHES = 1e-9
"""A start this near to the ground touches it [m], or is at rest on it [m/s]."""
BELOW = 1e-6
"""A start further below the ground than this is none [m]."""
DOWN = 1e-11
"""How far below where it opened a contact is down again [m]."""
LEAVES = 1e-4
"""A contact that an impact would make leave the ground, or slip, no faster than this sticks [m/s],
and one no faster than this makes none do so: a body that rocks comes to rest."""
TILTED = 1e-2
"""A flat contact that comes down leaning by more does not come down on its plane [rad]."""
INERT = 1e-9
"""Part of its cone by which an impulse may leave it and stick; part of reactions that is none."""
CHANGES, WITHIN = 200, 1e-3
"""So many changes within so short a time never end [s]."""
KEPT = 1000
"""Changes that are recorded one by one."""
AS_POINTS = "To go on from there, give its corners as four contacts of type 'point'."
WORDS = {OPEN: "opens", SLIDES: "slides", CREEPS: "slides", STICKS: "sticks"}


class NoModeHolds(UkctrlError, ArithmeticError):
    """No way for the contacts to hold, slide or open agrees with the forces."""


class Chatters(UkctrlError, ArithmeticError):
    """Contacts change their modes faster and faster, without end."""


class Tips(UkctrlError, ArithmeticError):
    """A flat contact turns about an edge of its sole, which its rows do not let it."""


class Change(NamedTuple):
    """One contact that changes its mode."""

    t: float
    contact: str
    becomes: str
    """Opens, slides, sticks, or strikes: touches down."""


@final
class ContactEvents:
    """What becomes of the contacts of a true robot over a run.

    Args:
        others: Robots that the law believes in, whose contacts follow.
    """

    def __init__(self, others: Sequence[Contacts]) -> None:
        self._others = others
        self._times: deque[float] = deque(maxlen=CHANGES)
        self.begun: dict[str, str] = {}
        self.changes: list[Change] = []
        self.count = 0
        self.lost = 0.0
        """Energy that impacts have taken [J]."""

    def told(self) -> dict[str, Any]:
        """Return what a result says of it."""
        changes = [[*change] for change in self.changes]
        counted = {"changes": self.count, "impact_loss": self.lost, "first": changes}
        return {"begin": self.begun, **counted}

    def begin(self, dynamics: Dynamics, t: float, q: Vector, v: Vector) -> None:
        """Find how contacts are at the start: open above the ground, else closed.

        Raises:
            StartError: One is below the ground.
        """
        own = _contacts(dynamics)
        own.state[:, MODE] = STICKS
        dynamics.look(t, q, v)
        for c, name in enumerate(own.names):
            height, rate = own.felt[c, HEIGHT], own.felt[c, RATE]
            if height < -BELOW:
                raise StartError(
                    f"contact '{name}' must start on the ground or above; it is {-height:.2g} m "
                    "below. Raise the start, or let start.solve = true put it there."
                )
            slips = np.linalg.norm(own.felt[c, SLIP : SLIP + 2])
            if max(height, abs(rate)) > TOUCHES:  # one that comes down strikes at once
                own.state[c, MODE] = OPEN
                own.state[c, FLOOR] = height + DOWN if height <= TOUCHES and rate < 0.0 else 0.0
                own.state[c, FLOOR] -= DOWN if height > TOUCHES or rate > 0.0 else 0.0
            elif own.mu[c] == 0.0 or slips > TOUCHES:
                own.state[c, MODE] = SLIDES
        modes = zip(own.names, own.state[:, MODE].tolist(), strict=True)
        self.begun = {name: WORDS[mode] for name, mode in modes}
        self._lead(own)

    def settled(
        self,
        dynamics: Dynamics,
        t: float,
        state: State,
        evaluate: Callable[[float, State], float],
    ) -> State:
        """Return the state from which to go on, with modes that hold there.

        Args:
            dynamics: The true robot.
            t: Time [s].
            state: The state; where a contact strikes, its velocity changes, and the energy fed to
                the robot, its last memory.
            evaluate: Writes what contacts feel under the input of a state, and returns the least
                of their margins.

        Raises:
            NoModeHolds: None is found.
            Chatters: They change without end.
            Tips: A sole stands on an edge.
        """
        own = _contacts(dynamics)
        for _ in range(16 + 8 * len(own)):
            if evaluate(t, state) > 0.0:
                return state
            state = self._changed(dynamics, own, t, state)
            self._lead(own)
        now = zip(own.names, own.state[:, MODE].tolist(), strict=True)
        modes = ", ".join(f"'{name}' {WORDS[mode]}" for name, mode in now)
        raise NoModeHolds(
            f"no modes of the contacts agree with the forces at t = {t:.6g} s; tried last: "
            f"{modes}. Friction may jam there (Painlevé), or the law answers each mode by forces "
            "that end it."
        )

    def _lead(self, own: Contacts) -> None:
        for other in self._others:
            other.follow(own.states)

    def _changed(self, dynamics: Dynamics, own: Contacts, t: float, state: State) -> State:
        """Change the modes that are over: all that touch down together, else the worst one."""
        landing = np.flatnonzero((own.state[:, MODE] == OPEN) & (own.margins <= 0.0))
        if landing.size:
            return self._struck(dynamics, own, t, state, landing.tolist())
        c = int(np.argmin(own.margins))
        at, felt = own.state[c], own.felt[c]
        pressed = own.reaction[own.heights[c]]
        slip = felt[SLIP : SLIP + 2]
        speed = float(np.linalg.norm(slip))
        held = own.reaction[own.slips[c] : own.slips[c] + 2]
        left = inside_sole(own.reaction[own.heights[c] :], own.half[c], felt)
        if pressed > 0.0 and left <= 0.0:
            raise Tips(
                f"contact '{own.names[c]}' tips over an edge of its sole at t = {t:.6g} s: the "
                f"centre of pressure has left it. {AS_POINTS} Or keep it inside: [[keep]] "
                "kind = 'contact_forces'."
            )
        grips = max_abs(held) > INERT * max_abs(own.reaction)
        if not pressed > 0.0 and not (at[MODE] == STICKS and own.mu[c] > 0.0 and grips):
            at[MODE], at[FLOOR] = OPEN, min(0.0, felt[HEIGHT]) - DOWN
            self._note(t, own.names[c], "opens")
        elif at[MODE] == STICKS:
            at[MODE] = CREEPS  # what holds its slip may be what pulls: it opens if it still does
            at[ALONG : ALONG + 2] = -held / max(float(np.linalg.norm(held)), 1e-300)
            self._note(t, own.names[c], "slides")
        elif at[MODE] == SLIDES:
            at[ALONG : ALONG + 2] = felt[TOWARDS : TOWARDS + 2]
            at[MODE] = CREEPS
        elif speed >= 2.0 * SLOW:
            at[MODE] = SLIDES
        else:
            at[MODE] = STICKS
            self._note(t, own.names[c], "sticks")
            return self._moved(dynamics, own, t, state)[0]
        return state

    def _note(self, t: float, contact: str, becomes: str) -> None:
        """Record a change.

        Raises:
            Chatters: There are too many.
        """
        self._times.append(t)
        self.count += 1
        if len(self.changes) < KEPT:
            self.changes.append(Change(float(t), contact, becomes))
        if len(self._times) == CHANGES and t - self._times[0] < WITHIN:
            raise Chatters(
                f"contact '{contact}' chatters at t = {t:.6g} s: {CHANGES} changes of contacts "
                f"within {WITHIN:g} s (Zeno). What comes after their limit is not found; damp the "
                "motion, hold the input (timing.control), or keep the contact forces inside."
            )

    def _moved(
        self, dynamics: Dynamics, own: Contacts, t: float, state: State
    ) -> tuple[State, Vector]:
        """Return the state that obeys the rows of the present modes, and the impulses for it."""
        q, v, memory = state
        A, _, beta, _ = dynamics.look(t, q, v)
        C = A.copy()
        for c, mode in enumerate(own.felt[:, IN_FORCE]):
            if mode in (SLIDES, CREEPS):
                C[own.heights[c]] -= own.mu[c] * own.rub[c]
        M = dynamics.snapshot.M
        response = np.linalg.solve(M, C.T)
        impulse = -np.linalg.pinv(A @ response, rcond=dynamics.rank.passive) @ beta
        after = v + response @ impulse
        lost = 0.5 * float(v @ M @ v - after @ M @ after)
        self.lost += lost
        fed = memory.copy()
        fed[-1:] -= lost
        return State(q, after, fed), impulse

    def _struck(
        self, dynamics: Dynamics, own: Contacts, t: float, state: State, landing: list[int]
    ) -> State:
        """Return the state after an impact, with the modes of the contacts that it leaves."""
        touching = [*np.flatnonzero(own.state[:, MODE] != OPEN).tolist(), *landing]
        gentle = bool((own.felt[landing, RATE] >= -LEAVES).all())
        stays, lost = set(touching if gentle else ()), self.lost
        for c in landing:
            tilt = float(np.arccos(min(1.0, abs(own.felt[c, UP]))))
            if own.flat[c] and tilt > TILTED:
                raise Tips(
                    f"contact '{own.names[c]}' comes down at t = {t:.6g} s leaning by {tilt:.2g} "
                    f"rad, on an edge and not on its plane. {AS_POINTS}"
                )
            own.state[c, MODE] = STICKS if own.mu[c] > 0.0 else SLIDES
            self._note(t, own.names[c], "strikes")
        for _ in range(16 + 8 * len(own)):
            self.lost = lost
            after, impulse = self._moved(dynamics, own, t, state)
            closed = own.state[:, MODE] != OPEN
            load = np.where(closed, impulse[own.heights], 0.0)
            free = [c for c in np.flatnonzero(load < 0.0).tolist() if c not in stays]
            if free:
                own.state[min(free, key=lambda c: load[c]), MODE] = OPEN
                continue
            firm = [c for c in np.flatnonzero(closed).tolist() if c not in stays]
            slips = [c for c in firm if self._leaves_cone(own, c, impulse)]
            if slips:
                c = slips[0]
                slip = own.felt[c, SLIP : SLIP + 2]
                speed = float(np.linalg.norm(slip))
                own.state[c, MODE] = SLIDES if speed > SLOW else CREEPS
                held = -impulse[own.slips[c] : own.slips[c] + 2]
                own.state[c, ALONG : ALONG + 2] = held / np.linalg.norm(held)
                continue
            dynamics.look(t, after.q, after.v)
            slow = [c for c in touching if c not in stays and self._hardly_moves(own, c)]
            if not slow:
                break
            stays.update(slow)
            own.state[slow, MODE] = np.where(own.mu[slow] > 0.0, STICKS, SLIDES)
        for c in touching:
            if own.state[c, MODE] == OPEN:
                own.state[c, FLOOR] = min(0.0, own.felt[c, HEIGHT]) - DOWN
                self._note(t, own.names[c], "opens")
        return after

    @staticmethod
    def _leaves_cone(own: Contacts, c: int, impulse: Vector) -> bool:
        held = np.linalg.norm(impulse[own.slips[c] : own.slips[c] + 2])
        most = own.mu[c] * impulse[own.heights[c]]
        sticks = bool(own.state[c, MODE] == STICKS)
        return sticks and bool(held > most * (1.0 + INERT) + 1e-300)

    @staticmethod
    def _hardly_moves(own: Contacts, c: int) -> bool:
        """Return whether a contact that an impact lets go, or slip, hardly moves after it."""
        mode, felt = own.state[c, MODE], own.felt[c]
        if mode == OPEN:
            return bool(felt[RATE] <= LEAVES)
        slips = bool(mode != STICKS and own.mu[c] > 0.0)
        return slips and bool(np.linalg.norm(felt[SLIP : SLIP + 2]) <= LEAVES)


def _contacts(dynamics: Dynamics) -> Contacts:
    own = dynamics.contacts
    if own is None:
        raise TypeError("the robot must have contacts that only push.")
    return own
