r"""How much of the exact task's motion is feasible with what the law keeps.

At a moment of that motion the inputs that serve the rows are $u_0 + N z$, with the smallest input
$u_0$ of inverse dynamics and $H N = 0$. It is feasible where one of them is within the motors'
limits and obeys all rows to keep, as the law itself asks them of its input, $C u \ge l$, and
nothing is beyond its limit already. Where none is, the least that the rows must give up is that of
the input nearest to $H u = H u_0$ among those that obey; where no input at all obeys, the limits
contradict each other, whatever the task asks.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import NamedTuple, final

import numpy as np

from ukctrl.analysis.check.kept_rows import Asked, Asking, idle_directions, serving
from ukctrl.analysis.check.planned_lifts import Lifts
from ukctrl.analysis.check.task_motion import Motion
from ukctrl.control.allocation.within_limits import Box, least_squares, nearest, stacked
from ukctrl.control.keep.keeper import Keeper
from ukctrl.control.keep.program import above, conflicting_set
from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.extremes import first_largest
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.loop import Loop

INSIDE = 1e-9
"""A quantity above minus this [unit] is kept."""
SLACK = 1e-7
"""By so much of its terms a row may be missed: a motion is known no better."""
MOST_NAMED = 3
"""Of more limits in a conflict the first are named."""


@dc.dataclass(frozen=True, kw_only=True)
class Stretch:
    """A time in which no input serves the task and keeps everything."""

    start: float
    stop: float
    """From the first moment of the motion that is not feasible to the last [s]."""
    limits: tuple[str, ...]
    """What is kept and leaves no input, at the first moment and at the worst."""
    motors: tuple[str, ...]
    """Motors whose limits are part of that."""
    gives_up: float
    """The most that the rows must give up, as a norm over them [m/s^2, rad/s^2]; NaN where no input
    keeps everything."""
    worst_at: float
    """When [s]."""
    conflict: bool
    """Whether limits contradict each other somewhere in it, whatever the task asks."""
    crossed: bool
    """Whether the task is beyond one of these limits somewhere in it."""

    @property
    def by(self) -> str:
        """What binds, in brackets; empty where it is not known."""
        named = [f"'{name}'" for name in self.limits[:MOST_NAMED]]
        named += [f"motor '{name}'" for name in self.motors[: MOST_NAMED - len(named)]]
        return f" ({', '.join(named)})" if named else ""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Left:
    """What the motion leaves of every quantity, for figures; arrays of ``k`` knots."""

    h: Matrix
    """Shape ``(k, n)``; NaN where it is not known."""
    feasible: Flags | None
    """Shape ``(k,)``; None where it is not known."""
    names: tuple[str, ...]
    blocks: tuple[str, ...]
    units: tuple[str, ...]
    margins: tuple[float, ...]
    forces: int
    """From which place on they are forces of contacts, which the input decides: those of the input
    that serves the task, or of the one that costs it least."""


@dc.dataclass(frozen=True, kw_only=True)
class KeptAlong:
    """How much of the motion is feasible with what the law keeps."""

    share: float
    """Of its time."""
    stretches: tuple[Stretch, ...]
    """Where it is not, in time."""
    contacts: tuple[str, ...]
    """Contacts whose forces are kept."""

    def fact(self) -> str:
        """Return it in words."""
        if not self.stretches:
            return "all of the motion is feasible with what is kept"
        longest = max(self.stretches, key=lambda each: each.stop - each.start)
        more = len(self.stretches) - 1
        others = f" and {more} more times" if more > 1 else " and once more" if more else ""
        return (
            f"{100.0 * self.share:.3g} % of the motion is feasible with what is kept; it is not "
            f"from t = {longest.start:.4g} s to {longest.stop:.4g} s{longest.by}{others}"
        )


class _Moment(NamedTuple):
    """One knot of the motion."""

    h: Vector
    feasible: bool
    crossed: bool
    gives_up: float
    """A norm over the rows; NaN where no input keeps all."""
    conflict: bool


@final
class _Look:
    """The motion, moment by moment.

    Args:
        loop: The scenario, ready to run.
        motion: The motion.
        needed: The smallest inputs along it, shape ``(k, nu)``.
        bounds: Limits of the inputs along it.
        lifts: Which rows are served when.
    """

    def __init__(
        self,
        loop: Loop,
        motion: Motion,
        needed: Matrix,
        bounds: tuple[Matrix, Matrix],
        lifts: Lifts,
    ) -> None:
        keeper = loop.law.keeper
        assert keeper is not None
        self._loop, self._motion, self._needed, self._lifts = loop, motion, needed, lifts
        self._low, self._high = bounds
        self.asking = Asking(keeper, loop)

    def moment(self, k: int) -> _Moment:
        """Look at a knot."""
        dynamics, u, H = self._at(k)
        asked, limits, least = self._asked(k, dynamics, u)
        crossed = bool((asked.h < -INSIDE).any())
        inside = bool((limits.low <= u).all() and (u <= limits.high).all())
        if not (inside and (asked.C @ u >= least).all()):
            x = None if crossed else serving(H, u, limits, asked.C, least)
            if x is None:
                room = stacked(limits, above(asked.C, least))
                x = least_squares(H, H @ u, room)
                if x is None:
                    conflict = not crossed and nearest(room, -u) is None
                    return _Moment(asked.left(u), False, crossed, np.nan, conflict)
                gives_up = float(np.linalg.norm(H @ (x - u)))
                return _Moment(asked.left(x), False, crossed, gives_up, False)
            u = x
        return _Moment(asked.left(u), not crossed, crossed, 0.0, False)

    def blamed(self, k: int) -> tuple[list[str], list[str]]:
        """Return what is kept that leaves no input at a knot, and the motors that have a part."""
        dynamics, u, H = self._at(k)
        asked, limits, least = self._asked(k, dynamics, u)
        keeper, robot = self.asking.keeper, self._loop.robot
        crossed = [name for name, h in zip(keeper.names, asked.h, strict=True) if h < -INSIDE]
        names = self.asking.names(dynamics)
        N, C = idle_directions(H), asked.C
        if crossed:
            return crossed, []
        if nearest(stacked(limits, above(C, least)), -u) is None:
            N = np.eye(len(u))
        if not N.shape[1]:
            short = (limits.low > u) | (u > limits.high)
            motors = [robot.actuators[i] for i in np.flatnonzero(short)]
            return [names[i] for i in np.flatnonzero(C @ u < least)], motors
        room = Box(N, limits.low - u, limits.high - u)
        at_limits, rows = conflicting_set(room, C @ N, least - C @ u)
        return [names[i] for i in rows], [robot.actuators[i] for i in at_limits]

    def _at(self, k: int) -> tuple[Dynamics, Vector, Matrix]:
        """Return the robot at a knot, its smallest input, and the rows' answer to inputs."""
        t, motion = float(self._motion.t[k]), self._motion
        dynamics = self._loop.truth_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        A = self._lifts.at(t).served.write(dynamics.snapshot).A
        return dynamics, self._needed[k], dynamics.servo_matrix(A)

    def _asked(self, k: int, dynamics: Dynamics, u: Vector) -> tuple[Asked, Box, Vector]:
        """Return what is asked at a knot, with limits and bounds ``C u >= least``, a little wider
        than they are.
        """
        low, high = self._low[k], self._high[k]
        asked = self.asking.at(dynamics, u, low, high)
        size = np.abs(asked.least) + np.abs(asked.free) + np.abs(asked.C) @ np.abs(u)
        wide = SLACK * (1.0 + np.abs(u))
        limits = Box(np.eye(len(u)), low - wide, high + wide)
        return asked, limits, asked.least - asked.free - SLACK * (size + SLACK)


def kept_along(
    loop: Loop,
    motion: Motion,
    needed: Matrix,
    bounds: tuple[Matrix, Matrix],
    lifts: Lifts,
) -> tuple[KeptAlong | None, Left | None]:
    """Return how much of a motion is feasible with what the law keeps, and what that leaves.

    Args:
        loop: The scenario, ready to run.
        motion: The motion that its task asks for.
        needed: The smallest inputs along it, shape ``(k, nu)``; NaN where they are not known.
        bounds: Limits of the inputs along it, shape ``(k, nu)`` each.
        lifts: Which rows are served when.
    """
    keeper = loop.law.keeper
    if keeper is None or not len(motion.t):
        return None, None
    known = motion.dynamic and loop.robot.elastic is None and bool(np.isfinite(needed).all())
    if not known:
        return None, _of_keeper(keeper, np.array(list(_left(loop, keeper, motion))), None)
    look = _Look(loop, motion, needed, bounds, lifts)
    moments = [look.moment(k) for k in range(len(motion.t))]
    feasible = np.array([moment.feasible for moment in moments])
    weights = np.gradient(motion.t) if len(motion.t) > 1 else np.ones(1)
    share = 1.0 - float(weights @ ~feasible / weights.sum())
    stretches = tuple(_stretches(look, motion.t, moments, feasible))
    left = _of_keeper(keeper, np.array([moment.h for moment in moments]), feasible)
    contacts = tuple(dict.fromkeys(name.rpartition(".")[0] for name in keeper.loads.names))
    return KeptAlong(share=share, stretches=stretches, contacts=contacts), left


def _of_keeper(keeper: Keeper, h: Matrix, feasible: Flags | None) -> Left:
    return Left(
        h=h,
        feasible=feasible,
        names=keeper.names,
        blocks=keeper.blocks,
        units=keeper.units,
        margins=keeper.labels()["keep_row_margins"],
        forces=len(keeper.barriers.row),
    )


MOST_BLAMED = 20
"""Of more stretches the limits of the longest are named."""


def _stretches(
    look: _Look, t: Vector, moments: list[_Moment], feasible: Flags
) -> Iterator[Stretch]:
    """Yield the parts of a motion that are not feasible."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], feasible, [True]]).astype(int)))
    spans = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    longest = sorted(spans, key=lambda span: t[span[0]] - t[span[1] - 1])[:MOST_BLAMED]
    for begin, end in spans:
        own = moments[begin:end]
        gives = np.array([moment.gives_up for moment in own])
        conflicts = np.array([moment.conflict for moment in own])
        grave = np.where(conflicts, np.inf, np.nan_to_num(gives))
        worst = begin + first_largest(grave)
        limits, motors = dict[str, None](), dict[str, None]()
        for k in dict.fromkeys((begin, worst) if (begin, end) in longest else ()):
            of_limits, of_motors = look.blamed(k)
            limits |= dict.fromkeys(of_limits)
            motors |= dict.fromkeys(of_motors)
        yield Stretch(
            start=float(t[begin]),
            stop=float(t[end - 1]),
            limits=tuple(limits),
            motors=tuple(motors),
            gives_up=float(gives[worst - begin]),
            worst_at=float(t[worst]),
            conflict=bool(conflicts.any()),
            crossed=any(moment.crossed for moment in own),
        )


def _left(loop: Loop, keeper: Keeper, motion: Motion) -> Iterator[Vector]:
    """Yield what is left of every quantity at the knots of a motion, without its inputs."""
    stack, snapshot = keeper.stack_on(loop.robot), loop.truth.snapshot
    for t, q, v, a in zip(motion.t.tolist(), motion.q, motion.v, motion.a, strict=True):
        snapshot.move(q, v, t)
        yield keeper.state_of(stack.write(snapshot), a if motion.dynamic else None)[0]
