r"""Contacts that open, slide, stick and strike: which modes hold from one moment on.

A contact that touches down takes an impact with all that touch, see `mechanics/impact.py`.
Contacts that would have to pull let go, and one whose force leaves its cone slides.

References:
    Pfeiffer & Glocker, *Multibody Dynamics with Unilateral Contacts*, 1996.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.algebra.multipliers import mass_weighted_unit_rows
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import StartError, UkctrlError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints.contact import (
    ACTIVE_MODE,
    CREEP_DIRECTION,
    CREEPING,
    HEIGHT,
    HEIGHT_RATE,
    MODE,
    OPEN,
    SLIDING,
    SLIP_DIRECTION,
    SLIP_VELOCITY,
    STICKING,
    TOUCHDOWN_HEIGHT,
    UPRIGHTNESS,
)
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.impact import OPENED, SLID, project_velocity, solve_impact
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.mechanics.load_sharing import internal_forces, least_used_cones
from ukctrl.mechanics.unilateral_contacts import CREEP_SPEED, UnilateralContacts, tipping_margin

TOUCH_TOLERANCE = 1e-9
"""A start this near to the ground touches it [m], or is at rest on it [m/s]."""
PENETRATION_TOLERANCE = 1e-6
"""A start further below the ground than this is none [m]."""
REOPEN_DEPTH = 1e-11
"""How far below where it opened a contact is down again [m]."""
REST_SPEED = 1e-4
"""A contact that an impact would make leave the ground, or slip, no faster than this stays [m/s]: a
body that rocks or bounces comes to rest."""
FLAT_TOLERANCE = 1e-2
"""A flat contact that comes down leaning by more does not come down on its plane [rad]."""
CONE_RTOL = 1e-9
"""Part of reactions that is none."""
ZENO_CHANGES, ZENO_SECONDS = 200, 1e-3
"""So many changes within so short a time never end [s]."""
MAX_RECORDED_CHANGES = 1000
"""Changes that are recorded one by one."""
AS_POINTS = "To go on from there, give its corners as four contacts of type 'point'."
WORDS = {OPEN: "opens", SLIDING: "slides", CREEPING: "slides", STICKING: "sticks"}


class NoConsistentMode(UkctrlError, ArithmeticError):
    """No way for the contacts to hold, slide or open agrees with the forces."""


class ContactChattering(UkctrlError, ArithmeticError):
    """Contacts change their modes faster and faster, without end."""


class ContactTipping(UkctrlError, ArithmeticError):
    """A flat contact turns about an edge of its sole, which its rows do not let it."""


class ModeChange(NamedTuple):
    """One contact that changes its mode."""

    t: float
    contact: str
    becomes: str
    """Opens, slides, sticks, or strikes: touches down."""


@final
class ContactEvents:
    """Contact mode transitions of a true robot over a run.

    Args:
        beliefs: Contacts of robots that the law believes in, which follow.
    """

    def __init__(self, beliefs: Sequence[UnilateralContacts]) -> None:
        self._others = beliefs
        self._times: deque[float] = deque(maxlen=ZENO_CHANGES)
        self.initial_modes: dict[str, str] = {}
        self.changes: list[ModeChange] = []
        self.count = 0
        self.impact_loss = 0.0
        """Energy that impacts have taken [J]."""
        self.impacts = 0
        self.ambiguous_impacts: list[float] = []
        """When Coulomb's law had several solutions [s]."""

    def report(self) -> dict[str, Any]:
        """Return what a result says of it."""
        changes = [[*change] for change in self.changes]
        return {
            "begin": self.initial_modes,
            "changes": self.count,
            "impacts": self.impacts,
            "ambiguous_impacts": self.ambiguous_impacts[:MAX_RECORDED_CHANGES],
            "impact_loss": self.impact_loss,
            "first": changes,
        }

    def set_initial_modes(self, dynamics: Dynamics, t: float, q: Vector, v: Vector) -> None:
        """Find how contacts are at the start: open above the ground, else closed.

        Raises:
            StartError: One is below the ground.
        """
        contacts = _contacts(dynamics)
        contacts.mode[:, MODE] = STICKING
        dynamics.look(t, q, v)
        for c, name in enumerate(contacts.names):
            height, rate = contacts.kinematics[c, HEIGHT], contacts.kinematics[c, HEIGHT_RATE]
            if height < -PENETRATION_TOLERANCE:
                raise StartError(
                    f"contact '{name}' must start on the ground or above; it is {-height:.2g} m "
                    "below. Raise the start, or let start.solve = true put it there."
                )
            slips = np.linalg.norm(contacts.kinematics[c, SLIP_VELOCITY : SLIP_VELOCITY + 2])
            # one that comes down is open, and strikes at once
            if max(height, abs(rate)) > TOUCH_TOLERANCE:
                contacts.mode[c, MODE] = OPEN
                contacts.mode[c, TOUCHDOWN_HEIGHT] = (
                    height + REOPEN_DEPTH if height <= TOUCH_TOLERANCE and rate < 0.0 else 0.0
                )
                # a guard that is zero would end the mode at once: it begins a little above
                contacts.mode[c, TOUCHDOWN_HEIGHT] -= (
                    REOPEN_DEPTH if height > TOUCH_TOLERANCE or rate > 0.0 else 0.0
                )
            elif contacts.mu[c] == 0.0 or slips > TOUCH_TOLERANCE:
                contacts.mode[c, MODE] = SLIDING
        modes = zip(contacts.names, contacts.mode[:, MODE].tolist(), strict=True)
        self.initial_modes = {name: WORDS[mode] for name, mode in modes}
        self._copy_modes_to_beliefs(contacts)

    def consistent_state(
        self,
        dynamics: Dynamics,
        t: float,
        state: IntegratorState,
        evaluate: Callable[[float, IntegratorState], float],
    ) -> IntegratorState:
        """Return the state from which to go on, with modes that hold there.

        Args:
            dynamics: The true robot.
            t: Time [s].
            state: The state; where a contact strikes, its velocity changes, and the energy fed to
                the robot, its last memory.
            evaluate: Writes what contacts feel under the input of a state, and returns the least
                of their margins.

        Raises:
            NoConsistentMode: None is found.
            ContactChattering: They change without end.
            ContactTipping: A sole stands on an edge.
        """
        contacts = _contacts(dynamics)
        # each pass changes one mode: contradictory ones (Painlevé) would go round for ever
        for _ in range(16 + 8 * len(contacts)):
            lasts = evaluate(t, state) > 0.0
            # least norm may put a force outside of its cone that others of the same effect do not
            if self._share_load(dynamics, contacts):
                lasts = evaluate(t, state) > 0.0
            if lasts:
                return state
            state = self._change_modes(dynamics, contacts, t, state)
            self._copy_modes_to_beliefs(contacts)
        pairs = zip(contacts.names, contacts.mode[:, MODE].tolist(), strict=True)
        modes = ", ".join(f"'{name}' {WORDS[mode]}" for name, mode in pairs)
        raise NoConsistentMode(
            f"no modes of the contacts agree with the forces at t = {t:.6g} s; tried last: "
            f"{modes}. Friction may jam there (Painlevé), or the law answers each mode by forces "
            "that end it."
        )

    @staticmethod
    def _share_load(dynamics: Dynamics, contacts: UnilateralContacts) -> bool:
        """Let points that stand use least of their cones; return whether forces change."""
        before = contacts.internal_forces.copy()
        contacts.internal_forces[:] = 0.0
        modes, mu = contacts.kinematics[:, ACTIVE_MODE], contacts.mu
        stands = (modes == STICKING) | ((modes == SLIDING) & (mu == 0.0))
        # of a sole the centre of pressure matters too, and what slides rubs by its load
        shares = stands & (contacts.tilt_row_counts == 0)
        if shares.sum() >= 2:
            rows, lengths = mass_weighted_unit_rows(dynamics.L, dynamics.passive.rows.A)
            others = np.flatnonzero(~shares).tolist()
            for normal, tangential, *_ in contacts.impact_contacts(others):
                lengths[normal] = lengths[tangential] = 0.0
            points = contacts.impact_contacts(np.flatnonzero(shares).tolist())
            contacts.internal_forces[:] = least_used_cones(
                contacts.reaction - before, internal_forces(rows, lengths), points
            )[0]
        return not np.array_equal(before, contacts.internal_forces)

    def _copy_modes_to_beliefs(self, contacts: UnilateralContacts) -> None:
        for belief in self._others:
            belief.copy_modes(contacts.modes)

    def _change_modes(
        self, dynamics: Dynamics, contacts: UnilateralContacts, t: float, state: IntegratorState
    ) -> IntegratorState:
        """Change the modes that are over: all that touch down together, else the worst one."""
        landing = np.flatnonzero((contacts.mode[:, MODE] == OPEN) & (contacts.margins <= 0.0))
        if landing.size:
            # together: impacts one after the other would depend on the order of the contacts
            return self._impact(dynamics, contacts, t, state, landing.tolist())
        c = int(np.argmin(contacts.margins))
        at, felt = contacts.mode[c], contacts.kinematics[c]
        pressed = contacts.reaction[contacts.height_rows[c]]
        slip = felt[SLIP_VELOCITY : SLIP_VELOCITY + 2]
        speed = float(np.linalg.norm(slip))
        tangential = contacts.reaction[contacts.slip_rows[c] : contacts.slip_rows[c] + 2]
        margin = tipping_margin(
            contacts.reaction[contacts.height_rows[c] :], contacts.sole_half_sizes[c], felt
        )
        if pressed > 0.0 and margin <= 0.0:
            raise ContactTipping(
                f"contact '{contacts.names[c]}' tips over an edge of its sole at t = {t:.6g} s: "
                "the "
                f"centre of pressure has left it. {AS_POINTS} Or keep it inside: [[keep]] "
                "kind = 'contact_forces'."
            )
        grips = max_abs(tangential) > CONE_RTOL * max_abs(contacts.reaction)
        if not pressed > 0.0 and not (at[MODE] == STICKING and contacts.mu[c] > 0.0 and grips):
            # below where it opened: at that very height rounding would close it again
            at[MODE], at[TOUCHDOWN_HEIGHT] = OPEN, min(0.0, felt[HEIGHT]) - REOPEN_DEPTH
            self._note(t, contacts.names[c], "opens")
        elif at[MODE] == STICKING:
            # what holds its slip may be what pulls: it opens next if it still does
            at[MODE] = CREEPING
            at[CREEP_DIRECTION : CREEP_DIRECTION + 2] = -tangential / max(
                float(np.linalg.norm(tangential)), 1e-300
            )
            self._note(t, contacts.names[c], "slides")
        elif at[MODE] == SLIDING:
            at[CREEP_DIRECTION : CREEP_DIRECTION + 2] = felt[SLIP_DIRECTION : SLIP_DIRECTION + 2]
            at[MODE] = CREEPING
        # hysteresis: a slip below CREEP_SPEED has no direction but the one it had, and sliding ends
        # there; it begins at twice that
        elif speed >= 2.0 * CREEP_SPEED:
            at[MODE] = SLIDING
        else:
            at[MODE] = STICKING
            self._note(t, contacts.names[c], "sticks")
            return self._stop_slip(dynamics, t, state)
        return state

    def _note(self, t: float, contact: str, becomes: str) -> None:
        """Record a change.

        Raises:
            ContactChattering: There are too many.
        """
        self._times.append(t)
        self.count += 1
        if len(self.changes) < MAX_RECORDED_CHANGES:
            self.changes.append(ModeChange(float(t), contact, becomes))
        if len(self._times) == ZENO_CHANGES and t - self._times[0] < ZENO_SECONDS:
            raise ContactChattering(
                f"contact '{contact}' chatters at t = {t:.6g} s: {ZENO_CHANGES} changes of "
                "contacts "
                f"within {ZENO_SECONDS:g} s (Zeno). What comes after their limit is not found; "
                "damp the "
                "motion, hold the input (timing.control), or keep the contact forces inside."
            )

    def _stop_slip(self, dynamics: Dynamics, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state whose velocity obeys the rows of the present modes."""
        q, v, memory = state
        A, _, beta, _ = dynamics.look(t, q, v)
        M = dynamics.snapshot.M
        v_plus = project_velocity(M, v, A, beta)
        return IntegratorState(q, v_plus, self._book(M, v, v_plus, memory))

    @staticmethod
    def _book(M: Matrix, v: Vector, v_plus: Vector, memory: Vector) -> Vector:
        """Return a memory that knows of a jump's energy, so that the balance closes."""
        fed = memory.copy()
        # a memory may have no entry for it
        fed[-1:] += 0.5 * float(v_plus @ M @ v_plus - v @ M @ v)
        return fed

    def _impact(
        self,
        dynamics: Dynamics,
        contacts: UnilateralContacts,
        t: float,
        state: IntegratorState,
        landing: list[int],
    ) -> IntegratorState:
        """Return the state after an impact, with the modes of the contacts that it leaves."""
        q, v, memory = state
        for c in landing:
            tilt = float(np.arccos(min(1.0, abs(contacts.kinematics[c, UPRIGHTNESS]))))
            if contacts.tilt_row_counts[c] and tilt > FLAT_TOLERANCE:
                raise ContactTipping(
                    f"contact '{contacts.names[c]}' comes down at t = {t:.6g} s leaning by "
                    f"{tilt:.2g} rad, on an edge and not on its plane. {AS_POINTS}"
                )
            self._note(t, contacts.names[c], "strikes")
        before = contacts.mode[:, MODE].copy()
        touching = [*np.flatnonzero(before != OPEN).tolist(), *landing]
        # all rows of all that touch: whether it slides after the impact, its velocity then tells
        contacts.mode[touching, MODE] = STICKING
        A, _, beta, _ = dynamics.look(t, q, v)
        M = dynamics.snapshot.M
        impact = solve_impact(M, v, A, beta, contacts.impact_contacts(touching), REST_SPEED)
        self.impact_loss += impact.loss
        self.impacts += 1
        if impact.solutions > 1:
            self.ambiguous_impacts.append(float(t))
        state = IntegratorState(q, impact.velocity, self._book(M, v, impact.velocity, memory))
        dynamics.look(t, q, state.v)
        for c, outcome in zip(touching, impact.modes, strict=True):
            at, felt = contacts.mode[c], contacts.kinematics[c]
            slip = felt[SLIP_VELOCITY : SLIP_VELOCITY + 2]
            speed = float(np.linalg.norm(slip))
            if outcome == OPENED:
                at[MODE], at[TOUCHDOWN_HEIGHT] = OPEN, min(0.0, felt[HEIGHT]) - REOPEN_DEPTH
            elif outcome == SLID:
                creeps = contacts.mu[c] > 0.0 and speed <= CREEP_SPEED
                at[MODE] = CREEPING if creeps else SLIDING
                at[CREEP_DIRECTION : CREEP_DIRECTION + 2] = slip / max(speed, 1e-300)
            word = WORDS[float(at[MODE])]
            if outcome == OPENED or (before[c] != OPEN and word != WORDS[float(before[c])]):
                self._note(t, contacts.names[c], word)
        return state


def _contacts(dynamics: Dynamics) -> UnilateralContacts:
    contacts = dynamics.contacts
    if contacts is None:
        raise TypeError("the robot must have contacts that only push.")
    return contacts
