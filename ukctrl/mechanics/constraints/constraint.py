"""What a constraint is: something that returns rows ``A a = b``; and what the kinds share.

A `Constraint` is a frozen description, readable from a file. Attached to a robot it becomes an
`BoundConstraint`, which has resolved names and writes its rows at a state. The same rows are
passive when physics enforces them and servo when the controller must: the constraint does not know.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast, final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector, lazy_zeros
from ukctrl.core.caches import IdentityCache
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.fields import spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints.kinematics import frame_motion
from ukctrl.mechanics.reference import Reference
from ukctrl.robot.snapshot import FrameMotion

if TYPE_CHECKING:
    from ukctrl.core.expression.constraint_rows import DerivedRows
    from ukctrl.robot import Robot, Snapshot


class Rows(NamedTuple):
    """The rows of a constraint at one state."""

    A: Matrix
    """Constraint matrix, shape ``(m, nv)``: ``A a = b``."""
    b: Vector
    """Constraint vector, shape ``(m,)`` [unit of phi per s^2]."""
    beta: Vector
    """Velocity error ``A v - c``, shape ``(m,)`` [unit of phi per s]."""
    phi: Vector
    """Position error, shape ``(m,)``; NaN where a row is nonholonomic."""

    @staticmethod
    def zeros(m: int, nv: int) -> Rows:
        """Return rows to write into."""
        return Rows(lazy_zeros(m, nv), np.zeros(m), np.zeros(m), np.zeros(m))

    def part(self, where: slice) -> Rows:
        """Return a view of some of the rows."""
        return Rows(self.A[where], self.b[where], self.beta[where], self.phi[where])


class BoundConstraint(abc.ABC):
    """A constraint attached to one robot: names are resolved, rows can be written."""

    block: str
    """What the rows are called together, such as the frame they hold."""
    names: tuple[str, ...]
    """One name a row."""
    units: tuple[str, ...]
    """Unit of ``phi``, row by row (of ``beta`` for a nonholonomic row)."""
    holonomic: tuple[bool, ...]
    """Whether the row has a position level."""
    touch: ContactArrays | None = None
    """What a contact that only pushes does; None: it is none."""

    def name_rows(self, block: str, units: Mapping[str, str], holonomic: bool = True) -> None:
        """Name the block, and its rows by what tells them apart, such as an axis.

        Args:
            block: What the rows are called together.
            units: Unit of each row, by what its name adds to the block's.
            holonomic: Whether the rows have a position level.
        """
        self.block = block
        self.names = tuple(f"{block}.{row}" for row in units)
        self.units = tuple(units.values())
        self.holonomic = (holonomic,) * len(units)

    def steps(self, snapshot: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        """Return what writes the rows at the state that a snapshot has then.

        A constraint of one's own may leave this alone and override `write`; then no compiled loop
        can run it.
        """
        return (lambda: self.write(snapshot, rows),)

    def write(self, snapshot: Snapshot, rows: Rows) -> None:
        """Write the rows at a state. ``A`` comes zeroed or as this method left it."""
        KernelSequence(self.steps(snapshot, rows))()

    def slip(self) -> SlidingVelocity | None:
        """Return the velocity at which it slides or turns, along the axes that it leaves free.

        None where it does neither.
        """
        return None

    def trace(self) -> FrameTrace | None:
        """Return where a named frame was and should have been at the last `write`, for plots.

        None where no frame is held; the arrays are those of this object.
        """
        return None

    def formulas(self) -> DerivedRows | None:
        """Return the rows as symbols; None where they are not written as text."""
        return None


class ContactArrays(NamedTuple):
    """A contact that only pushes: what it does now, and what is felt of it."""

    mode: Vector
    """Shape ``(5,)``; written by whoever decides over the mode."""
    kinematics: Vector
    """Shape ``(10,)``; written with the rows."""
    slip_jacobian: Vector
    """Slip per velocity along its direction, shape ``(nv,)``; zeros where it does not slide."""
    rotation: Matrix
    """Orientation of the frame that touches."""
    axes: Matrix
    """Tangents and normal of the plane, as its rows."""
    mu: float
    sole_half_size: Vector
    """Half length and width of the sole, zeros of a point, shape ``(2,)`` [m]."""
    has_planned_lifts: bool
    """Whether the controller counts on its being open now and then."""
    restitution: float = 0.0
    """Part of an impact's impulse that follows when the contact springs back."""


class SlidingVelocity(NamedTuple):
    """The velocity ``J v`` at which a constraint slides or turns."""

    J: Matrix
    """Shape ``(k, nv)``."""
    steps: tuple[KernelStep, ...]
    """What writes it, after the rows have been written."""


class FrameTrace(NamedTuple):
    """A frame's place on its path, in arrays that the constraint overwrites."""

    frame: str
    position: Vector
    path: Vector
    """Where it should be along some axes, as its first entries."""
    axes: Indices
    """Those axes."""

    @property
    def reference(self) -> Vector:
        """Where it should be, shape ``(3,)``; NaN along the axes that are left free."""
        position = np.full(3, np.nan)
        position[self.axes] = self.path[: len(self.axes)]
        return position


@spec
class Constraint(abc.ABC):
    """A holonomic or nonholonomic constraint, as a user writes it."""

    has_constant_matrix: ClassVar[bool] = False
    """Whether ``A`` of its rows is the same at all states, and written before any."""

    name: str = ""
    """Name of the block of rows; absent: the frame it names, or its kind."""

    @property
    def miss(self) -> float:
        """By how much what it asks for may miss what the robot can do; see `Reference.miss`."""
        return 0.0

    @property
    def planned(self) -> Reference | None:
        """The path where it is worked out from the robot; None of others."""
        return None

    @abc.abstractmethod
    def attach(self, robot: Robot) -> BoundConstraint:
        """Resolve names on a robot.

        Raises:
            UnknownName: A frame, joint or coordinate does not exist on this robot.
        """

    @property
    def stands(self) -> str | None:
        """Frame that it keeps where it is, by rows on its velocity; None where it keeps none so."""
        return None

    def changes(self, start: float, stop: float) -> Sequence[float]:
        """Return when, between two times, other rows of it hold by a plan of the controller [s]."""
        return ()

    @final
    def rows(self, snapshot: Snapshot) -> Rows:
        r"""Return the rows at a state: $A a = b$, $\beta = A v - c$ and $\phi$.

        For a loop, use a `Stack`, which resolves names once.
        """
        attached = self.attach(cast("Robot", snapshot.robot))
        rows = Rows.zeros(len(attached.names), snapshot.robot.nv)
        attached.write(snapshot, rows)
        return rows


@final
class Stack:
    """Constraints one above the other, attached to a robot.

    ``write`` fills and returns the same arrays each time; copy what must outlive the call.

    Args:
        constraints: The constraints, from top to bottom.
        robot: The robot.
        key: What files call them; complaints begin with it, such as ``servo[1]: ...``.
        passive: How many of them come first that the file does not count: the robot's own.

    Raises:
        InputError: A constraint does not fit the robot.
    """

    def __init__(
        self,
        constraints: Sequence[Constraint],
        robot: Robot,
        key: str = "servo",
        passive: int = 0,
    ) -> None:
        self.robot = robot
        self.constraints = constraints
        attached = []
        for number, constraint in enumerate(constraints, start=-passive):
            with error_context(f"{key}[{number}]"):
                attached.append(constraint.attach(robot))
        self.attached = _uniquely_named(attached)
        names = [name for block in self.attached for name in block.names]
        self.names = tuple(names)
        self.units = tuple(unit for block in self.attached for unit in block.units)
        self.blocks = tuple(block.block for block in self.attached for _ in block.names)
        self.holonomic = np.array(
            [h for block in self.attached for h in block.holonomic], dtype=bool
        )
        # one table, of which each constraint writes its own lines in place
        self.rows = Rows.zeros(len(names), robot.nv)
        self._parts: list[tuple[BoundConstraint, Rows]] = []
        self._steps: IdentityCache[Snapshot, KernelSequence] = IdentityCache(self._of_parts)
        start = 0
        for block in self.attached:
            stop = start + len(block.names)
            self._parts.append((block, self.rows.part(slice(start, stop))))
            start = stop

    def __len__(self) -> int:
        return len(self.names)

    def write(self, snapshot: Snapshot) -> Rows:
        """Write all rows at a state."""
        self.steps(snapshot)()
        return self.rows

    def steps(self, snapshot: Snapshot) -> KernelSequence:
        """Return what writes all rows at the state that a snapshot has then."""
        return self._steps(snapshot)

    def _of_parts(self, snapshot: Snapshot) -> KernelSequence:
        return KernelSequence(
            step for block, rows in self._parts for step in block.steps(snapshot, rows)
        )

    def traces(self) -> list[FrameTrace]:
        """Return the traces of all constraints that hold a frame, as of the last `write`."""
        traces = [block.trace() for block in self.attached]
        return [trace for trace in traces if trace is not None]


def _uniquely_named(blocks: list[BoundConstraint]) -> list[BoundConstraint]:
    """Number blocks that came with the same name, and their rows with them."""
    counts: dict[str, int] = {}
    for block in blocks:
        # a number is added to the second of a name, as users refer to the first
        counts[block.block] = counts.get(block.block, 0) + 1
        if counts[block.block] == 1:
            continue
        old, block.block = block.block, f"{block.block}_{counts[block.block]}"
        if block.block in counts:
            raise InputError(f"two constraints are named '{block.block}'; give each its own name.")
        block.names = tuple(name.replace(old, block.block, 1) for name in block.names)
    return blocks


@final
class SampledPath:
    """Where a path is, written into an array that kernels read.

    Attributes:
        values: Value and derivatives, flat, as of the last time; see `ukctrl.mechanics.reference`.
    """

    def __init__(self, path: Callable[[float], Sequence[float]], count: int) -> None:
        self._path = path
        self.values: Vector = np.zeros(count)

    def step(self, clock: Vector) -> KernelStep:
        """Return what writes it, at the time that the clock shows then."""
        # a compiled path stays in the table; any other is called back
        if isinstance(self._path, CompiledFormula):
            return self._path.as_step((clock,), self.values)
        return lambda: self.move(float(clock[0]))

    def move(self, t: float) -> None:
        """Write where it is at a time."""
        self.values[:] = self._path(t)


def sample_path(path: Reference, size: int, label: str, axes: str = "") -> SampledPath:
    """Return the compiled path, or say that it has the wrong number of components."""
    if path.size != size:
        each = f', one for each of axes = "{axes}"' if axes else ""
        cure = ' Hold all of "xyz", or write a path of these alone: kind = "expression".'
        instead = cure if axes and path.size == 3 else ""
        raise InputError(f"{label} must have {size} components{each}; got {path.size}.{instead}")
    return SampledPath(path.compiled, 3 * size)


class FrameProbe:
    """One frame, evaluated at a snapshot; ``motion`` has all arrays.

    Args:
        robot: The robot.
        frame: Its name.
        offset: Where its origin is instead, in the frame [m].
    """

    def __init__(self, robot: Robot, frame: str, offset: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        site = robot.site(frame)
        self.frame = frame
        # once: a point of a body is a frame of it
        shifted = site.translation + site.rotation @ np.array(offset)
        self._place = site.place._replace(translation=shifted)
        self.R, self.p = np.zeros((3, 3)), np.zeros(3)
        self.J = np.zeros((6, robot.nv))
        self.velocity, self.drift = np.zeros(6), np.zeros(6)
        self.motion = FrameMotion(self.p, self.R, self.J, self.velocity, self.drift)

    def step(self, s: Snapshot) -> BoundKernel:
        """Return what evaluates at the state that the snapshot has then."""
        return BoundKernel(frame_motion, s.joints, *self._place, self.motion)

    def move(self, s: Snapshot) -> None:
        """Evaluate at the snapshot; the arrays are reused."""
        frame_motion(s.joints, *self._place, self.motion)
