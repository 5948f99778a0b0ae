"""Which contacts a law plans to lift when, and which rows of the task the ground holds meanwhile.

While a contact stands that the law lifts later, no input moves rows on what touches: they are the
ground's, and none of the motors' shortcomings. So everything that is said of rows is said of those
that are served at the time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.contact import ACTIVE_MODE, HEIGHT, MODE, OPEN, SLIDING
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.assemble import Loop
from ukctrl.uk import rank_report

ZERO_ROW_RTOL = 1e-9
"""A row shorter than this fraction of what it would be without projection is none."""


def project_rows(dynamics: Dynamics, A: Matrix) -> tuple[Matrix, Vector, Vector]:
    """Return rows in mass-weighted velocities along what the passive rows leave free, what their
    lengths would be without these, and the margins of the passive rows' rank.
    """
    from scipy.linalg import solve_triangular

    whole = solve_triangular(dynamics.L, A.T, lower=True, check_finite=False).T
    lengths, margins = np.linalg.norm(whole, axis=1), np.zeros(2)
    if len(dynamics.passive):
        basis, margins = _passive_basis(dynamics)
        whole = whole - (whole @ basis.T) @ basis
    return whole, lengths, margins


def _passive_basis(dynamics: Dynamics) -> tuple[Matrix, Vector]:
    """Return an orthonormal basis of what passive rows hold, as rows, and their margins.

    The smallest singular value that counts, and the largest that does not.
    """
    rows, rank = dynamics.passive.rows.A, dynamics.passive_rank
    weighted, _ = mass_weighted_rows(dynamics.L, rows, np.zeros((1, len(rows))))
    _, sigma, Vt = np.linalg.svd(weighted, full_matrices=False)
    return Vt[:rank], rank_gap(sigma, rank)


def rank_gap(sigma: Matrix, rank: int) -> Matrix:
    """Return the last singular value that counts and the first that does not, shape ``(..., 2)``;
    zero where there is none.
    """
    none = np.zeros((*sigma.shape[:-1], 1))
    return np.concatenate([none, sigma, none], axis=-1)[..., rank : rank + 2]


TIME_TOLERANCE = 1e-6
"""A time nearer to a change is not looked at, but the change itself [s]."""


class LiftInterval(NamedTuple):
    """An interval in which the law counts on a contact being open."""

    contact: str
    start: float
    stop: float


class ContactPhase(NamedTuple):
    """A time in which the same contacts are lifted."""

    start: float
    stop: float
    open_contacts: tuple[str, ...]
    """The contacts that the law counts on being open."""
    rows: Stack
    """The rows of the task without the blocks that the ground holds."""
    ground_blocks: tuple[str, ...]
    """These blocks."""

    @property
    def middle(self) -> float:
        """Half way [s]."""
        return 0.5 * (self.start + self.stop)


class Touchdown(NamedTuple):
    """A contact that the law counts on again."""

    contact: str
    t: float
    height: float
    """Over the ground, along the task's motion [m]."""


@final
class ContactSchedule:
    """The phases of a scenario, one after the other; a single one where no contact is lifted.

    From then on the true robot of a loop has its contacts open where the law plans to lift them.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        loop.plants.plan_lifts()
        times = {
            t
            for constraint in loop.plant.passive.constraints
            for t in constraint.changes(loop.t0, loop.t1)
        }
        self.switch_times: tuple[float, ...] = tuple(sorted(times))
        """When contacts are lifted, or counted on again [s]."""
        ends, first_phases = (
            (loop.t0, *self.switch_times, loop.t1),
            dict[tuple[str, ...], ContactPhase](),
        )
        phases = []
        for start, stop in itertools.pairwise(ends):
            lifted = self._lifted(0.5 * (start + stop))
            phase = first_phases.get(lifted) or self._phase(start, stop, lifted)
            first_phases.setdefault(lifted, phase)
            phases.append(phase._replace(start=start, stop=stop))
        self.phases: tuple[ContactPhase, ...] = tuple(phases)
        self.distinct_phases: tuple[ContactPhase, ...] = tuple(first_phases.values())
        """The first phase of each kind."""

    def __bool__(self) -> bool:
        """Whether anything is lifted."""
        return bool(self.switch_times)

    def lift_intervals(self) -> tuple[LiftInterval, ...]:
        """Return every lift, contact by contact."""
        intervals = list[LiftInterval]()
        for name in dict.fromkeys(name for phase in self.phases for name in phase.open_contacts):
            lifted_phases = [phase for phase in self.phases if name in phase.open_contacts]
            for phase in lifted_phases:
                if (
                    intervals
                    and intervals[-1].contact == name
                    and intervals[-1].stop == phase.start
                ):
                    intervals[-1] = intervals[-1]._replace(stop=phase.stop)
                else:
                    intervals.append(LiftInterval(name, phase.start, phase.stop))
        return tuple(intervals)

    def phase_at(self, t: float) -> ContactPhase:
        """Return the phase of a time."""
        return next((phase for phase in self.phases if t < phase.stop), self.phases[-1])

    def phase_indices(self, t: Vector) -> Indices:
        """Return the number of the kind of phase at every time, shape ``(k,)``."""
        order = [kind.open_contacts for kind in self.distinct_phases]
        return np.array(
            [order.index(self.phase_at(instant).open_contacts) for instant in t.tolist()],
            dtype=np.intp,
        )

    def insert_switch_times(self, t: Vector) -> Vector:
        """Return times with the changes among them, and none that nearly is one."""
        apart = np.abs(t[:, None] - np.array(self.switch_times)[None]).min(axis=1, initial=np.inf)
        return np.union1d(t[apart > TIME_TOLERANCE], self.switch_times)

    def touchdowns(self, t: Vector, q: Matrix, v: Matrix) -> tuple[Touchdown, ...]:
        """Return where contacts are when the law counts on them again, along a motion."""
        landings = []
        for phase, next_phase in itertools.pairwise(self.phases):
            k = int(np.argmin(np.abs(t - next_phase.start)))
            dynamics = self._loop.plant_at(next_phase.start)
            dynamics.move(float(t[k]), q[k], v[k])
            contacts = dynamics.contacts
            for name in phase.open_contacts:
                if name not in next_phase.open_contacts and contacts is not None:
                    height = float(contacts.kinematics[contacts.names.index(name), HEIGHT])
                    landings.append(Touchdown(name, next_phase.start, height))
        return tuple(landings)

    def needs(self, contacts: Iterable[str]) -> bool:
        """Return whether the motors move all rows at the start, but not with contacts open."""
        modes, rows = dict.fromkeys(contacts, OPEN), self.phases[0].rows
        return (
            bool(modes)
            and has_full_authority(self._loop, rows)
            and not has_full_authority(self._loop, rows, modes)
        )

    def _lifted(self, t: float) -> tuple[str, ...]:
        contacts = self._dynamics_at(t).contacts
        if contacts is None:
            return ()
        return tuple(
            name
            for name, mode in zip(contacts.names, contacts.kinematics[:, ACTIVE_MODE], strict=True)
            if mode == OPEN
        )

    def _dynamics_at(self, t: float) -> Dynamics:
        dynamics, (q, v, _) = self._loop.plant_at(t), self._loop.state
        dynamics.move(t, q, v)
        return dynamics

    def _phase(self, start: float, stop: float, lifted: tuple[str, ...]) -> ContactPhase:
        """Return a phase, with what the ground leaves of the task then."""
        servo = self._loop.servo
        if not self.switch_times:
            return ContactPhase(start, stop, lifted, servo, ())
        dynamics = self._dynamics_at(0.5 * (start + stop))
        ground = set(servo.blocks)
        ground -= {
            block
            for block, fixed in zip(servo.blocks, immovable_rows(dynamics, servo), strict=True)
            if not fixed
        }
        pairs = zip(servo.attached, servo.constraints, strict=True)
        served = [constraint for attached, constraint in pairs if attached.block not in ground]
        ground_blocks = tuple(block for block in dict.fromkeys(servo.blocks) if block in ground)
        return ContactPhase(start, stop, lifted, Stack(served, self._loop.robot), ground_blocks)


def immovable_rows(dynamics: Dynamics, stack: Stack) -> Flags:
    """Return which rows nothing changes that the passive constraints leave, shape ``(m,)``."""
    free, lengths, _ = project_rows(dynamics, stack.write(dynamics.snapshot).A)
    return np.asarray(np.linalg.norm(free, axis=1) <= ZERO_ROW_RTOL * np.maximum(lengths, 1e-300))


def has_full_authority(
    loop: Loop, servo: Stack | None = None, modes: Mapping[str, float] = MappingProxyType({})
) -> bool:
    """Return whether the motors move all independent servo rows at the start, or those of a stack;
    ``modes`` are of contacts that have others there than now.
    """
    truth, servo, contacts = loop.plant, servo or loop.servo, loop.plant.contacts
    state = np.zeros((0, 0)) if contacts is None else contacts.mode
    before = state.copy()
    try:  # modes are changed, and restored, on the robot that all share
        for name, mode in modes.items():
            assert contacts is not None  # whose modes they are
            state[contacts.names.index(name), MODE] = mode
        truth.move(loop.t0, loop.state.q, loop.state.v)
        A, names = servo.write(truth.snapshot).A, servo.names
        independent = rank_report(A, names, loop.scenario.rank.servo).rank
        return truth.servo_report(A, names).rank == independent
    finally:
        if modes:
            state[:] = before
            truth.move(loop.t0, loop.state.q, loop.state.v)


def sticking_contacts(loop: Loop) -> tuple[str, ...]:
    """Return the contacts with friction, where the motors move all rows once these slide."""
    contacts = loop.plant.contacts
    if contacts is None or not contacts.mu.any():
        return ()
    moved = has_full_authority(loop, modes=dict.fromkeys(contacts.names, SLIDING))
    return tuple(
        name for name, mu in zip(contacts.names, contacts.mu, strict=True) if mu > 0.0 and moved
    )
