"""What a controller is, and no control at all: a description that starts as a law, which steps.

A `Controller` holds gains and can be read from a file. ``start`` binds it to the robot it
believes in and to the task; the resulting `Law` holds no state of a run. Memory, such as an
integral, is an array that the caller passes in and integrates, so that the same law serves an
adaptive integrator, which revisits times, and a sampled loop.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.command import Command, LawBuffers
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.control.state_evaluator import StateEvaluator
from ukctrl.control.task import NO_MEMORY, Signal, Task, TunableGain
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.caches import IdentityCache
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import ShapeError, UkctrlError
from ukctrl.core.fields import spec
from ukctrl.core.kind_registry import kind_of
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep, RobotBuffers
from ukctrl.core.verdict import Verdict
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics

LawEvaluator = tuple[LawBuffers, Callable[[float, Vector, Vector], None], Callable[[], Command]]
"""What answers at a measured state, what writes that there, and what returns it."""
MAX_SWITCHES = 8
"""More switches than this at one moment never end."""


class ZenoSwitching(UkctrlError, RuntimeError):
    """The modes of a law hand over to each other at one moment, for ever."""


@compiled
def row_error_norm(beta: Vector, phi: Vector, measure: Vector) -> None:
    """Write the length of the errors of rows, of both levels; those without a position count none.

    A row that is not a number at the level of velocities makes the length none.
    """
    total = 0.0
    for i in range(len(beta)):
        total += beta[i] * beta[i]
        if phi[i] == phi[i]:
            total += phi[i] * phi[i]
    measure[0] = np.sqrt(total)


class PlannedMotion(NamedTuple):
    """A motion worked out before the run, at ``k`` knots."""

    times: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    """Shape ``(k, nq)``."""
    v: Matrix
    """Shape ``(k, nv)``."""
    input: Callable[[float], Vector]
    """The input that makes it, at any time."""


class Law:
    """A controller bound to a robot and a task: it offers `step`, or the `steps` of one."""

    task: Task
    stack: Stack
    """The servo rows that the law enforces, or that its error is measured by."""
    memory: Vector = NO_MEMORY
    """Memory at the start of a run."""
    switches: ClassVar[bool] = False
    """Whether it has modes, and so a `guard`."""
    gains: tuple[TunableGain, ...] = ()
    """Those that may be changed while it runs, where it is handed over."""
    keeper: SafetyFilter | None = None
    """What changes its input where something must be kept; None: nothing does."""

    def __init__(self, task: Task, stack: Stack | None = None) -> None:
        self.task = task
        self.stack = Stack(task.servo, task.robot) if stack is None else stack
        self._evaluator: LawEvaluator | None = None
        self._tick: IdentityCache[Dynamics, LawBuffers] = IdentityCache(self._new_buffers)
        self._error = RobotBuffers(self._error_norm_buffers)

    def begin(self, dynamics: Dynamics) -> Vector:
        """Return the memory of a start at the state of ``dynamics``, where a law takes over."""
        return self.memory

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        """Return the command at the state of ``dynamics``, the believed robot's.

        A law of one's own writes this one; one that offers `steps` has it already.

        Args:
            dynamics: The believed robot at the current state and time.
            memory: The law's memory, which it must not change in place.

        Raises:
            InfeasibleConstraint: The task asks for what the actuators cannot give.
        """
        return self.tick(dynamics).command(memory)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterable[KernelStep]:
        """Return what writes the answer into ``tick``, at the state that ``dynamics`` has then."""
        # a law that overrides `step` is called back from the table; one with `steps` stays in it
        if type(self).step is Law.step:
            raise NotImplementedError(f"{type(self).__name__} must have a step.")
        return (lambda: tick.write_command(self.step(dynamics, tick.memory)),)

    @final
    def tick(self, dynamics: Dynamics) -> LawBuffers:
        """Return the law's answer at the states of a robot; the same one for the same robot."""
        return self._tick(dynamics)

    def _new_buffers(self, dynamics: Dynamics) -> LawBuffers:
        tick = LawBuffers(self.memory, self.task.robot.nu, len(self.stack))
        steps = [*self.steps(dynamics, tick)]
        if self.keeper is not None:
            steps += self.keeper.steps(dynamics, tick)
            loss = self.keeper.diagnostics.acceleration_loss
            steps += self.anti_windup_steps(dynamics, loss, tick)
        tick.steps = KernelSequence(tuple(steps))
        return tick

    def anti_windup(self, dynamics: Dynamics, loss: Vector, command: Command) -> Vector:
        """Return the rate of the memory where a safety filter may have changed the input.

        A law of one's own whose memory integrates errors, adapts to them, or foretells what its
        input does, overrides this; others go on as if nothing had been taken from them.

        Args:
            dynamics: The believed robot at the current state.
            loss: By how much less it accelerates than the law asked for, shape ``(nv,)``; zero
                where nothing binds.
            command: The input after the filter, and the rate that `step` returned.
        """
        return command.memory_rate

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterable[KernelStep]:
        """Return what writes `anti_windup` into the rate in ``tick``; arguments as there."""
        if type(self).anti_windup is Law.anti_windup:
            return ()

        def write() -> None:
            command = Command(tick.u.copy(), tick.memory_rate.copy())
            copy_into(self.anti_windup(dynamics, loss, command), tick.memory_rate)

        return (write,)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what is worth recording beside ``u``; called at output times only."""
        return {}

    def remarks(self) -> Iterable[Verdict]:
        """Return what is worth knowing of it before a run."""
        return ()

    def timing(self) -> Mapping[str, float]:
        """Return wall times since the last call that are worth telling; they differ run by run."""
        return {}

    def guard(self, dynamics: Dynamics, memory: Vector) -> float:
        """Return a number that is positive while the present mode lasts; for a law that switches.

        It must be continuous in the state, for the moment of a switch is found as its root. The
        mode is an entry of the memory whose rate is zero.
        """
        return 1.0

    def switched(self, dynamics: Dynamics, memory: Vector) -> Vector:
        """Return the memory after the switch that is due where the `guard` is not positive.

        The new mode's guard must be positive there, or the law would switch for ever.
        """
        return memory

    def planned_state(self, t: float) -> tuple[Vector, Vector] | None:
        """Return where a motion that was worked out before the run is at a time, as ``q, v``.

        None for a law that has no such motion.
        """
        return None

    @property
    def planned_motion(self) -> PlannedMotion | None:
        """The whole of that motion, with its input; None for a law that has none."""
        return None

    @property
    def poles(self) -> NDArray[np.complex128] | None:
        """Poles of the loop that it closes about its equilibrium: ``s`` [1/s], or ``z`` where the
        input is held; None where it is not designed by them.
        """
        return None

    def error(self, dynamics: Dynamics) -> float:
        r"""Return how far the state is from what the law brings about, for a law that takes over.

        Of a law that does not say otherwise, $\sqrt{|\phi|^2 + |\dot\phi|^2}$ of its rows.
        """
        return float(self._error(dynamics)[0])

    def error_steps(self, dynamics: Dynamics, measure: Vector) -> Iterable[KernelStep]:
        """Return what writes `error` at the state that ``dynamics`` has then, shape ``(1,)``."""
        # an error of one's own is Python: the kernels below would not know of it
        if type(self).error is not Law.error:
            return (lambda: copy_into(np.array([self.error(dynamics)]), measure),)
        rows = self.stack.rows
        write = BoundKernel(row_error_norm, rows.beta, rows.phi, measure)
        return *self.stack.steps(dynamics.snapshot).items, write

    @final
    def _error_norm_buffers(self, dynamics: Dynamics) -> tuple[Vector, Iterable[KernelStep]]:
        measure = np.zeros(1)
        return measure, self.error_steps(dynamics, measure)

    def guard_steps(
        self, dynamics: Dynamics, memory: Vector, margin: Vector
    ) -> Iterable[KernelStep]:
        """Return what writes `guard` at the state and the memory that are there then, ``(1,)``."""
        return (lambda: copy_into(np.array([self.guard(dynamics, memory)]), margin),)

    @final
    def settled(self, dynamics: Dynamics, memory: Vector) -> Vector:
        """Return the memory after every switch that is due; the very same one where none is.

        Raises:
            ZenoSwitching: The guard of every mode that follows is not positive either.
        """
        # with hysteresis one switch suffices; so many at one instant never end (Zeno)
        for _ in range(MAX_SWITCHES):
            if self.guard(dynamics, memory) > 0.0:
                return memory
            memory = self.switched(dynamics, memory)
        raise self.endless_switching(dynamics)

    def settle_steps(self, dynamics: Dynamics, memory: Vector) -> Iterable[KernelStep]:
        """Return what overwrites a memory as `settled` does, at the state that is there then."""
        return (lambda: copy_into(self.settled(dynamics, memory.copy()), memory),)

    @final
    def endless_switching(self, dynamics: Dynamics) -> ZenoSwitching:
        """Return the error of modes that follow each other at one instant."""
        return ZenoSwitching(
            f"the modes of a law must not hand over to each other at once; "
            f"{type(self).__name__.lstrip('_')} switched {MAX_SWITCHES} times at "
            f"t = {dynamics.snapshot.t:.6g} s. Let a mode end later than it begins (hysteresis)."
        )

    @final
    def command(self, t: float, q: Vector, v: Vector, memory: Vector = NO_MEMORY) -> Command:
        """Return the command at a measured state: the call for one's own control loop.

        Args:
            t: Time [s].
            q: Configuration, shape ``(nq,)``, float64.
            v: Velocity, shape ``(nv,)``, float64.
            memory: The law's memory; start with ``law.memory`` and add ``memory_rate * dt``, to
                the command's own ``memory`` where it has one.

        Raises:
            ShapeError: ``q``, ``v`` or the memory does not have its shape; a law with a memory must
                get it.
            InputError: ``q`` or ``v`` is not finite.
        """
        if memory is not self.memory and memory.shape != self.memory.shape:
            raise ShapeError(
                f"memory must have the shape of law.memory, {self.memory.shape}; got "
                f"{memory.shape}. Start with law.memory and add memory_rate * dt at every tick."
            )
        tick, at, answer = self._evaluator or self._new_evaluator()
        if len(memory):
            tick.memory[:] = memory
        at(t, q, v)
        if self.switches:
            return answer()._replace(memory=tick.memory.copy())
        return answer()

    def _new_evaluator(self) -> LawEvaluator:
        """Make a robot for `command`, and all that happens in it as one table."""
        dynamics = Dynamics(self.task.robot, self.task.rank, self.task.gains)
        tick = self.tick(dynamics)
        steps = KernelSequence((*self.before_answer(dynamics), *tick.steps.items))
        self._evaluator = tick, StateEvaluator(dynamics.snapshot, steps).evaluate, tick.read_command
        return self._evaluator

    @final
    def before_answer(self, dynamics: Dynamics) -> Iterator[KernelStep]:
        """Yield what must happen at a measured state before the steps of `tick` answer it.

        The robot is evaluated there, and a law that switches has its mode settled.
        """
        # guards may be Python's, which reads anything: then all is evaluated
        if not self.switches:
            yield from dynamics.steps_for(self.tick(dynamics).steps)
        else:
            yield from dynamics.steps.items
            yield from self.settle_steps(dynamics, self.tick(dynamics).memory)


@spec
class Controller(abc.ABC):
    """A control law with its gains, as a user writes it."""

    needs_servo: ClassVar[bool] = True
    """Whether it is for servo constraints: a scenario must then have some."""
    needs_grip: ClassVar[bool] = True
    """Whether the inputs must accelerate the servo rows at once, without springs in between."""
    assumed: ClassVar[tuple[str, ...]] = ()
    """Fields that are no gains but what the law takes as known: a search for gains leaves them."""

    acts: ClassVar[bool] = True
    """Whether it gives inputs at all, so that its ticks are worth timing."""
    poles_aimed_at: ClassVar[PoleCount | None] = None
    """How many poles `gains_for` means to give the error of each row, of a law where it comes out
    nearly so: it is asked for more or less until the loop has what they would have."""

    name: str = ""
    """Short name; absent: the card's."""
    title: str = ""
    """One line for lists and tables."""
    source: str = ""
    """Where the law and its gains come from."""

    @abc.abstractmethod
    def start(self, task: Task) -> Law:
        """Bind to a robot and a task.

        Raises:
            GainError: A gain does not fit the task.
            InputError: The law cannot serve this task.
        """

    @property
    def row_allocation(self) -> Allocation | None:
        """The allocation by which it gives its rows a demanded acceleration, at every tick.

        None for a law that does not go by rows, or reaches them through springs alone.
        """
        return None

    @property
    def forgets_growth(self) -> bool:
        """Whether it follows a motion, worked out before the run, that is free of what would grow
        in the internal dynamics.
        """
        return False

    @property
    def row_law(self) -> Controller | None:
        """The law by rows that makes the motion which this one follows; None where there is none.

        A law by rows is its own; one through elastic joints moves the links by such a law.
        """
        return None

    @property
    def told(self) -> tuple[str, ...]:
        """By which settings it knows of the plant what its model does not say."""
        return ()

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        """Return the equation that the error of each row obeys; empty where it is not linear.

        Args:
            stack: The rows that its started law enforces.
        """
        return ()

    def gains_for(
        self, terms: ErrorSpec, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        """Return the gains that bring an error about as asked; None where none follow.

        Args:
            terms: What the error of every row is to do.
            inertia: Gives the inertia that each row of the started law has at the start, as if it
                were alone, shape ``(m,)``.

        Returns:
            Values by their path within the controller, such as ``feedback.alpha``.
        """
        return None


def law_name(controller: Controller) -> str:
    """Return what a law is called: its name, else its kind as a file says it, else its class."""
    law = type(controller)
    return controller.name or kind_of(law) or law.__name__


@spec
class NoControl(Controller):
    """Every input stays zero: the controller of a scenario that names none.

    What moves is the mechanism by itself, under gravity, springs and its passive constraints.
    """

    kind: Literal["none"] = "none"
    name: str = "none"
    """Short name."""
    needs_servo: ClassVar[bool] = False
    acts: ClassVar[bool] = False

    def start(self, task: Task) -> Law:
        return _ZeroInputLaw(task)


class _ZeroInputLaw(Law):
    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterable[KernelStep]:
        return ()
