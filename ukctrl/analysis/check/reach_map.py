r"""Which part of a plane a frame can reach, and what keeps it from the rest.

Point after point of a grid, from the start's outwards, configurations are looked for that put the
origin of the frame there and keep the passive constraints, from those of the neighbours and from
some that are drawn. Of those that were found the one counts that comes furthest:

1. within the ranges of the joints,
2. with nothing beyond a limit that the law keeps, at rest,
3. held at rest by inputs within the motors' limits, $0 = a_\mathrm{free} + G u$, that keep the
   forces of contacts where the law keeps them.

A point that is not found is no proof that there is no way; orientations are left to themselves.
"""

from __future__ import annotations

import dataclasses as dc
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.analysis.check.planned_lifts import Lifts
from ukctrl.analysis.check.reach_search import AWAY, FOUND, KIND, Search
from ukctrl.analysis.check.task_motion import motion_of
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, UkctrlError, unknown_name
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.result.plain_files import picked
from ukctrl.simulation.scenario import Scenario

AXES = "xyz"
POINTS = 41
"""Of the longer side of a map."""
MOST_POINTS = 400
TRIED = 4
"""Of the configurations that were drawn so many are tried at every point."""
BESIDE = 0.5
"""How far a map goes around the start where the robot has loops, of which none are drawn [m]."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class ReachMap:
    """Which part of a plane a frame can reach."""

    frame: str
    axes: tuple[str, str]
    """Of the plane, ``"x"``, ``"y"`` or ``"z"``."""
    first: Vector
    """Places along the first axis, shape ``(n,)`` [m]."""
    second: Vector
    """Along the second, shape ``(m,)`` [m]."""
    across: float
    """Where the plane is along the third [m]."""
    reasons: tuple[str, ...]
    """What is said of a point: ``"reached"``, and why others are not."""
    cells: NDArray[np.int64]
    """Which of them is said of each, shape ``(m, n)``."""
    start: tuple[float, float]
    """Where the frame is at the start, in the plane [m]."""
    path: Matrix
    """Where the exact task leads it, in the plane, shape ``(k, 2)`` [m]; empty where it is not
    known."""

    def shares(self) -> dict[str, float]:
        """Return which part of the points is reached, and for which reason others are not."""
        counts = np.bincount(self.cells.ravel(), minlength=len(self.reasons)) / self.cells.size
        order = sorted(range(len(counts)), key=lambda k: (self.reasons[k] != FOUND, -counts[k]))
        return {self.reasons[k]: float(counts[k]) for k in order if counts[k] or k == 0}

    def fact(self) -> str:
        """Return it in words."""
        shares = self.shares()
        reached = shares.pop(FOUND, 0.0)
        ends = zip(self.axes, (self.first, self.second), strict=True)
        where = " and ".join(f"{axis} from {at[0]:.4g} m to {at[-1]:.4g} m" for axis, at in ends)
        third = next(axis for axis in AXES if axis not in self.axes)
        rest = ", ".join(f"{reason} {100.0 * part:.3g} %" for reason, part in shares.items())
        return (
            f"'{self.frame}' comes to {100.0 * reached:.3g} % of {where} at {third} = "
            f"{self.across:.4g} m{'; ' if rest else ''}{rest}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for programs."""
        table = picked(self, "frame", "axes", "across", "reasons", "start")
        arrays = picked(self, "first", "second", "cells", "path")
        table |= {name: array.tolist() for name, array in arrays.items()}
        return table | {"shares": self.shares()}


@one_blas_thread()
def reach_map(
    scenario: Scenario,
    frame: str,
    over: Mapping[str, tuple[float, float]] | None = None,
    points: int = POINTS,
) -> ReachMap:
    """Return which part of a plane a frame of a scenario's robot can reach.

    Args:
        scenario: The scenario, with what its law keeps.
        frame: The frame.
        over: Ranges along axes of the world, such as ``{"x": (0.2, 0.9), "z": (0.0, 0.8)}``; of the
            third axis a range of one place says where the plane is. Absent: the two along which the
            frame comes furthest, through the start.
        points: Along the longer side.

    Raises:
        InputError: The scenario does not fit its robot, or the ranges make no plane.
        UnknownName: There is no such frame.
    """
    loop = Loop(scenario)
    robot = loop.robot
    if frame not in robot.frames:
        raise unknown_name("frame (in reach)", frame, robot.frames)
    if not 2 <= points <= MOST_POINTS:
        raise InputError(f"points must be between 2 and {MOST_POINTS}; got {points}.")
    search = Search(loop, frame)
    plane = _plane(search, over or {}, points)
    cells, reasons = _filled(search, plane)
    i, j = (AXES.index(axis) for axis in plane.axes)
    here = search.place(loop.state.q)
    return ReachMap(
        frame=frame,
        axes=plane.axes,
        first=plane.first,
        second=plane.second,
        across=plane.across,
        reasons=reasons,
        cells=cells,
        start=(float(here[i]), float(here[j])),
        path=_path(loop, search)[:, [i, j]],
    )


class _Plane(NamedTuple):
    axes: tuple[str, str]
    first: Vector
    second: Vector
    across: float

    def point(self, row: int, column: int) -> Vector:
        """Return a point of the grid."""
        i, j = (AXES.index(axis) for axis in self.axes)
        place = np.full(3, self.across)
        place[i], place[j] = self.first[column], self.second[row]
        return place


def _plane(search: Search, over: Mapping[str, tuple[float, float]], points: int) -> _Plane:
    """Return the grid."""
    for axis, (begin, end) in over.items():
        if axis not in tuple(AXES):
            raise unknown_name("axis (in over)", axis, AXES)
        if not (np.isfinite([begin, end]).all() and begin <= end):
            raise InputError(
                f"over must have finite ranges, from low to high; got {axis}={begin:g}:{end:g}."
            )
    here = search.place(search.loop.state.q)
    every = np.array([here, *(search.place(q) for q in search.drawn)])
    low, high = every.min(axis=0), every.max(axis=0)
    if search.robot.passive:
        low, high = here - BESIDE, here + BESIDE
    extent = dict(zip(AXES, np.round(high - low, 6).tolist(), strict=True))
    given = [axis for axis in AXES if axis in over and over[axis][0] < over[axis][1]]
    others = sorted((axis for axis in AXES if axis not in over), key=lambda axis: -extent[axis])
    chosen = sorted([*given, *others[: max(0, 2 - len(given))]])
    if len(chosen) != 2:
        raise InputError(
            "over must leave two axes with a range, and one of one place, such as y=0; got ranges "
            f"of {', '.join(chosen) or 'none'}."
        )
    ends = {
        axis: over.get(axis, (float(low[AXES.index(axis)]), float(high[AXES.index(axis)])))
        for axis in chosen
    }
    longest = max(end - begin for begin, end in ends.values())
    if not longest > 0.0:
        raise InputError("the frame must move for a map of its reach; give ranges by over.")
    first, second = (
        np.linspace(begin, end, max(2, round(points * (end - begin) / longest)))
        for begin, end in ends.values()
    )
    third = next(axis for axis in AXES if axis not in chosen)
    across = over[third][0] if third in over else round(float(here[AXES.index(third)]), 9)
    return _Plane((chosen[0], chosen[1]), first, second, across)


def _filled(search: Search, plane: _Plane) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return what is said of every point, from the nearest to the start outwards."""
    shape = len(plane.second), len(plane.first)
    best: dict[tuple[int, int], tuple[str, str, Vector]] = {}
    start = search.loop.state.q
    seeds = search.drawn[:TRIED]
    here = search.place(start)
    i, j = (AXES.index(axis) for axis in plane.axes)
    row, column = np.abs(plane.second - here[j]), np.abs(plane.first - here[i])
    begin = int(row.argmin()), int(column.argmin())
    queue, seen = deque([begin]), {begin}
    while queue:
        cell = queue.popleft()
        goal = plane.point(*cell)
        near = [best[other][2] for other in _beside(cell, shape) if other in best]
        _improve(search, best, cell, goal, [*near, start, *seeds])
        for other in _beside(cell, shape):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    reached = {cell for cell, said in best.items() if said[0] == FOUND}
    for cell in sorted(seen - reached):  # what the neighbours found since
        near = [best[other][2] for other in _beside(cell, shape) if other in reached]
        _improve(search, best, cell, plane.point(*cell), near)
    reasons = [FOUND, AWAY, *dict.fromkeys(said[1] for said in best.values() if said[0] != FOUND)]
    cells = np.full(shape, 1, dtype=np.int64)
    for cell, (_, reason, _) in best.items():
        cells[cell] = reasons.index(reason)
    return cells, tuple(reasons)


def _improve(
    search: Search,
    best: dict[tuple[int, int], tuple[str, str, Vector]],
    cell: tuple[int, int],
    goal: Vector,
    seeds: list[Vector],
) -> None:
    """Note what comes furthest at a point from some seeds."""
    for seed in seeds:
        said = search.attempt(seed, goal)
        if said is not None and KIND[said[0]] > KIND[best[cell][0] if cell in best else AWAY]:
            best[cell] = said
        if cell in best and best[cell][0] == FOUND:
            return


def _beside(cell: tuple[int, int], shape: tuple[int, int]) -> Iterator[tuple[int, int]]:
    row, column = cell
    for there in ((row, column - 1), (row, column + 1), (row - 1, column), (row + 1, column)):
        if 0 <= there[0] < shape[0] and 0 <= there[1] < shape[1]:
            yield there


def _path(loop: Loop, search: Search) -> Matrix:
    """Return where the exact task leads the frame, shape ``(k, 3)``."""
    try:
        motion = motion_of(loop, Lifts(loop))
    except (UkctrlError, ArithmeticError):
        return np.zeros((0, 3))
    return np.array([search.place(q) for q in motion.q]).reshape(-1, 3)
