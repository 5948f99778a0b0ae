"""What a feedback is: a description that binds to rows and then asks for their acceleration."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.error_polynomial import ErrorPolynomial, probed_error_polynomials
from ukctrl.control.task import NO_MEMORY, Signal, TunableGain
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, ShapeError, unknown_name
from ukctrl.core.fields import PerElement, Quantity, spec
from ukctrl.core.program import KernelStep, RobotBuffers
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

RowGain = float | tuple[float, ...] | dict[str, float]
"""One number for all rows, a list with one a row, or a table with one a block of rows or one a row:
``{tool = 100.0}``, or for the joints of a joint law ``{shoulder = 100.0, elbow = 40.0}``."""
RateGain = Annotated[RowGain, PerElement(Quantity("1/s", minimum=0.0))]
StiffnessGain = Annotated[RowGain, PerElement(Quantity("1/s^2", minimum=0.0))]
IntegralGain = Annotated[RowGain, PerElement(Quantity("1/s^3", minimum=0.0))]
PositivePerRow = Annotated[RowGain, PerElement(Quantity(minimum=0.0, open_minimum=True))]
NonNegativePerRow = Annotated[RowGain, PerElement(Quantity(minimum=0.0))]


class FeedbackOutput(NamedTuple):
    """What a feedback asks of the allocation at one state."""

    rows: Rows
    """The rows that are asked for: those of the task, or others made of them."""
    demand: Vector
    """Their acceleration, one number a row."""
    memory_rate: Vector
    """Time derivative of the feedback's memory."""
    share: float = 1.0
    """How far to go from the input that asks for nothing to the one that gives the demand."""


class FeedbackBuffers(NamedTuple):
    """Where a feedback writes what it asks for."""

    rows: Rows
    """The rows; those of the task, where it never asks for others."""
    demand: Vector
    """Shape ``(m,)``."""
    memory_rate: Vector
    """Shape of the memory."""
    demand_share: Vector
    """Shape ``(1,)``."""

    def write(self, output: FeedbackOutput) -> None:
        """Write what a function of Python asks for."""
        if self.rows is not output.rows:
            for array, values in zip(self.rows, output.rows, strict=True):
                array[:] = values
        self.demand[:], self.memory_rate[:], self.demand_share[0] = output[1:]


class ErrorBound(NamedTuple):
    """An error and the bound that theory puts on it, now: ``error <= bound``."""

    surface_error: float
    """Size of the error of velocity level."""
    surface_bound: float
    position_error: float
    """Size of the error of position level; zero where no row has one."""
    position_bound: float


class AttachedFeedback:
    """What all feedbacks are that are bound to rows: they offer `output`, or the `steps` of it."""

    names: tuple[str, ...] = ()
    """The rows that it asks for; none: those of the task."""
    changes_rows: bool = True
    """Whether it may ask for other rows than those of the task, or for a share of a demand."""
    has_integrals: bool = False
    """Whether its memory begins with the integral of each row's error, a larger one of which asks
    for less."""
    gains: tuple[TunableGain, ...] = ()
    """Those that may be changed while it runs."""
    _outputs: RobotBuffers[Dynamics, tuple[Rows, Vector, FeedbackBuffers]] | None = None

    def output(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> FeedbackOutput:
        """Return what to ask for, at the state of ``dynamics`` where ``rows`` were written."""
        if self._outputs is None:
            m, k = len(rows.b), len(memory)
            self._outputs = RobotBuffers(lambda robot: self._build(m, k, robot))
        (rows_in, memory_in, out), _ = self._outputs.steps(dynamics)
        for array, values in zip((*rows_in, memory_in), (*rows, memory), strict=True):
            array[:] = values
        self._outputs(dynamics)
        # the next call overwrites these buffers
        if out.rows is not rows_in:
            rows = Rows(*(array.copy() for array in out.rows))
        return FeedbackOutput(
            rows, out.demand.copy(), out.memory_rate.copy(), float(out.demand_share[0])
        )

    def _build(
        self, m: int, k: int, dynamics: Dynamics
    ) -> tuple[tuple[Rows, Vector, FeedbackBuffers], Iterable[KernelStep]]:
        n = dynamics.robot.nv
        rows, memory = Rows.zeros(m, n), np.zeros(k)
        # rows that stay as they are stay the same arrays, and nobody copies them
        out_rows = Rows.zeros(len(self.names), n) if self.changes_rows else rows
        out = FeedbackBuffers(out_rows, np.zeros(len(out_rows.b)), np.zeros(k), np.ones(1))
        return (rows, memory, out), self.steps(rows, memory, dynamics, out)

    def steps(
        self, rows: Rows, memory: Vector, dynamics: Dynamics, buffers: FeedbackBuffers
    ) -> Iterable[KernelStep]:
        """Return what writes what `output` returns, at the state that ``dynamics`` has then."""
        if type(self).output is AttachedFeedback.output:
            raise NotImplementedError(f"{type(self).__name__} must have a method output.")
        return (lambda: buffers.write(self.output(rows, memory, dynamics)),)


class BoundFeedback(AttachedFeedback, abc.ABC):
    """A feedback bound to the rows of a task, which are all that it looks at."""

    changes_rows = False
    memory: Vector = NO_MEMORY
    """Memory at the start of a run; empty unless it remembers."""

    @abc.abstractmethod
    def demand(self, rows: Rows, memory: Vector) -> Vector:
        """Return the row acceleration to ask for, shape ``(m,)``."""

    def memory_rate(self, rows: Rows, memory: Vector) -> Vector:
        """Return the time derivative of the memory, of its shape; none by itself."""
        return np.zeros(len(memory))

    def begin(self, t: float, rows: Rows) -> Vector:
        """Return the memory at the start of a run."""
        return self.memory

    def output(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> FeedbackOutput:
        """Return what to ask for.

        Raises:
            ShapeError: The demand is not one number a row.
        """
        demand = self.demand(rows, memory)
        if demand.shape != rows.b.shape:  # a single number would pass for all rows
            raise ShapeError(
                f"feedback '{type(self).__name__}' must return a demand of shape {rows.b.shape}; "
                f"got {demand.shape}."
            )
        return FeedbackOutput(rows, demand, self.memory_rate(rows, memory))

    def signals(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Mapping[str, Signal]:
        """Return what is worth recording."""
        return {}

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        """Return the equation of each row's error, as its demands tell; empty if not linear."""
        return probed_error_polynomials(stack, self.memory, self.demand, self.memory_rate)


class ModelFeedback(AttachedFeedback, abc.ABC):
    """A feedback bound to rows that also needs the believed robot, and promises a bound.

    What it knows of the start of the run stands in its memory.
    """

    units: tuple[str, str]
    """Units of the surface error and of the position error."""

    @abc.abstractmethod
    def begin(self, t: float, rows: Rows) -> Vector:
        """Return the memory at the start of a run, where the task's rows are these."""

    @abc.abstractmethod
    def promise(self, t: float, rows: Rows, memory: Vector) -> ErrorBound:
        """Return the error and its bound, which holds while the assumptions do."""

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        """Return none: what it asks for depends on more than the rows."""
        return ()

    def signals(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Mapping[str, Signal]:
        """Return what is worth recording: the promise, error and bound."""
        promise = self.promise(dynamics.snapshot.t, rows, memory)
        rate, at = self.units
        return {
            "surface_error": Signal(promise.surface_error, rate, "error on the law's surface"),
            "surface_bound": Signal(promise.surface_bound, rate, "bound promised for it"),
            "position_error": Signal(promise.position_error, at, "error of position level"),
            "position_bound": Signal(promise.position_bound, at, "bound promised for it"),
        }


@spec
class Feedback(abc.ABC):
    """How a servo controller answers an error of its rows."""

    assumed: ClassVar[tuple[str, ...]] = ()
    """Fields that are no gains but what the law takes as known: a search for gains leaves them."""
    told: ClassVar[tuple[str, ...]] = ()
    """Of these, those by which it knows how wrong the model may be."""

    @abc.abstractmethod
    def attach(self, stack: Stack) -> BoundFeedback | ModelFeedback:
        """Bind to the rows of a task.

        Raises:
            GainError: A gain does not fit them, or breaks what its law assumes.
        """

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float] | None:
        """Return the gains that bring an error about as asked; None where none follow."""
        return None


def row_gains(gain: RowGain, stack: Stack, name: str) -> Vector:
    """Return the gain of each row.

    Raises:
        GainError: A list does not have one number a row.
        UnknownName: A table names a block or a row that the task does not have.
    """
    m = len(stack)
    if isinstance(gain, dict):
        return _row_gains_by_name(gain, stack, name)
    if isinstance(gain, tuple):
        if len(gain) != m:
            raise GainError(f"gain '{name}' must have one number a row, {m}; got {len(gain)}.")
        return np.array(gain, dtype=np.float64)
    return np.full(m, gain)


def _row_gains_by_name(gain: dict[str, float], stack: Stack, name: str) -> Vector:
    rows = tuple(row.rpartition(".")[2] for row in stack.names)
    # of blocks wherever it can be: rows of several blocks may share a name
    by_row = not gain.keys() <= set(stack.blocks) and bool(gain.keys() & set(rows))
    label, names = ("servo row", rows) if by_row else ("block of servo rows", stack.blocks)
    for key in gain:
        if key not in names:
            raise unknown_name(f"{label} (in gain '{name}')", key, set(names))
    missing = [key for key in names if key not in gain]
    if missing:
        noun = "row" if by_row else "block"
        raise GainError(f"gain '{name}' must name every {noun}; '{missing[0]}' is missing.")
    if by_row and len(set(rows)) < len(rows):
        twice = next(row for row in rows if rows.count(row) > 1)
        raise GainError(
            f"gain '{name}' must tell rows apart; several are named '{twice}'. Give a "
            "list with one number a row."
        )
    return np.array([gain[key] for key in names], dtype=np.float64)
