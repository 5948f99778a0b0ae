"""Which contacts a law plans to lift when, and which rows of the task the ground holds meanwhile.

While a contact stands that the law lifts later, no input moves rows on what touches: they are the
ground's, and none of the motors' shortcomings. So everything that is said of rows is said of those
that are served at the time.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple, final

import numpy as np

from ukctrl.analysis.check.free_rows import NO_ROW, along_free
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.contact import HEIGHT, IN_FORCE, OPEN
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.loop import Loop

NEARLY = 1e-6
"""A time nearer to a change is not looked at, but the change itself [s]."""


class Lifted(NamedTuple):
    """An interval in which the law counts on a contact being open."""

    contact: str
    start: float
    stop: float


class Phase(NamedTuple):
    """A time in which the same contacts are lifted."""

    start: float
    stop: float
    lifted: tuple[str, ...]
    """The contacts that the law counts on being open."""
    served: Stack
    """The rows of the task without the blocks that the ground holds."""
    held: tuple[str, ...]
    """These blocks."""

    @property
    def middle(self) -> float:
        """Half way [s]."""
        return 0.5 * (self.start + self.stop)


class Landing(NamedTuple):
    """A contact that the law counts on again."""

    contact: str
    t: float
    height: float
    """Over the ground, along the task's motion [m]."""


@final
class Lifts:
    """The phases of a scenario, one after the other; a single one where no contact is lifted.

    From then on the true robot of a loop has its contacts open where the law plans to lift them.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        loop.plan_lifts()
        every = {
            t for part in loop.truth.passive.constraints for t in part.changes(loop.t0, loop.t1)
        }
        self.changes: tuple[float, ...] = tuple(sorted(every))
        """When contacts are lifted, or counted on again [s]."""
        ends, found = (loop.t0, *self.changes, loop.t1), dict[tuple[str, ...], Phase]()
        phases = []
        for start, stop in itertools.pairwise(ends):
            lifted = self._lifted(0.5 * (start + stop))
            known = found.get(lifted) or self._phase(start, stop, lifted)
            found.setdefault(lifted, known)
            phases.append(known._replace(start=start, stop=stop))
        self.phases: tuple[Phase, ...] = tuple(phases)
        self.kinds: tuple[Phase, ...] = tuple(found.values())
        """The first phase of each kind."""

    def __bool__(self) -> bool:
        """Whether anything is lifted."""
        return bool(self.changes)

    def told(self) -> tuple[Lifted, ...]:
        """Return every lift, contact by contact."""
        found = list[Lifted]()
        for name in dict.fromkeys(name for phase in self.phases for name in phase.lifted):
            own = [phase for phase in self.phases if name in phase.lifted]
            for phase in own:
                if found and found[-1].contact == name and found[-1].stop == phase.start:
                    found[-1] = found[-1]._replace(stop=phase.stop)
                else:
                    found.append(Lifted(name, phase.start, phase.stop))
        return tuple(found)

    def at(self, t: float) -> Phase:
        """Return the phase of a time."""
        return next((each for each in self.phases if t < each.stop), self.phases[-1])

    def kinds_at(self, t: Vector) -> Indices:
        """Return the number of the kind of phase at every time, shape ``(k,)``."""
        order = [kind.lifted for kind in self.kinds]
        return np.array([order.index(self.at(each).lifted) for each in t.tolist()], dtype=np.intp)

    def with_changes(self, t: Vector) -> Vector:
        """Return times with the changes among them, and none that nearly is one."""
        apart = np.abs(t[:, None] - np.array(self.changes)[None]).min(axis=1, initial=np.inf)
        return np.union1d(t[apart > NEARLY], self.changes)

    def landings(self, t: Vector, q: Matrix, v: Matrix) -> tuple[Landing, ...]:
        """Return where contacts are when the law counts on them again, along a motion."""
        found = []
        for before, after in itertools.pairwise(self.phases):
            k = int(np.argmin(np.abs(t - after.start)))
            dynamics = self._loop.truth_at(after.start)
            dynamics.move(float(t[k]), q[k], v[k])
            own = dynamics.contacts
            for name in before.lifted:
                if name not in after.lifted and own is not None:
                    height = float(own.felt[own.names.index(name), HEIGHT])
                    found.append(Landing(name, after.start, height))
        return tuple(found)

    def _lifted(self, t: float) -> tuple[str, ...]:
        own = self._looked_at(t).contacts
        if own is None:
            return ()
        return tuple(
            name
            for name, mode in zip(own.names, own.felt[:, IN_FORCE], strict=True)
            if mode == OPEN
        )

    def _looked_at(self, t: float) -> Dynamics:
        dynamics, (q, v, _) = self._loop.truth_at(t), self._loop.state
        dynamics.move(t, q, v)
        return dynamics

    def _phase(self, start: float, stop: float, lifted: tuple[str, ...]) -> Phase:
        """Return a phase, with what the ground leaves of the task then."""
        servo = self._loop.recorder.servo
        if not self.changes:
            return Phase(start, stop, lifted, servo, ())
        dynamics = self._looked_at(0.5 * (start + stop))
        ground = set(servo.blocks)
        ground -= {
            block
            for block, fixed in zip(servo.blocks, unmoved(dynamics, servo), strict=True)
            if not fixed
        }
        parts = zip(servo.attached, servo.constraints, strict=True)
        served = [part for attached, part in parts if attached.block not in ground]
        held = tuple(block for block in dict.fromkeys(servo.blocks) if block in ground)
        return Phase(start, stop, lifted, Stack(served, self._loop.robot), held)


def unmoved(dynamics: Dynamics, stack: Stack) -> Flags:
    """Return which rows nothing changes that the passive constraints leave, shape ``(m,)``."""
    free, lengths, _ = along_free(dynamics, stack.write(dynamics.snapshot).A)
    return np.asarray(np.linalg.norm(free, axis=1) <= NO_ROW * np.maximum(lengths, 1e-300))
