"""Several laws for one task: each serves where it can, and hands over by event."""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple, Self, final

import numpy as np
from pydantic import Field, model_validator

from ukctrl.control.baselines.joint_space import PdGravity
from ukctrl.control.command import Command, LawBuffers
from ukctrl.control.controller import MAX_SWITCHES, Controller, Law, NoControl, law_name
from ukctrl.control.regulators.pole_placement import PolePlacement
from ukctrl.control.regulators.regulator import Lqi, Lqr
from ukctrl.control.servo import Servo
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Instance, ListSize, Positive, Text, spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints import AnyConstraint, Constraint
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot.applied_force_kernels import set_zero
from ukctrl_laws.swing_up import SwingUp

AnyModeLaw = Annotated[
    Servo | SwingUp | Lqr | Lqi | PolePlacement | PdGravity | NoControl, Field(discriminator="kind")
]
"""Any law that can be entered at any state, told apart by its ``kind``."""


@spec
class SwitchingMode:
    r"""One law of several, and the region in which it serves.

    The region is measured by what the law can promise there: for LQR and LQI the cost that is
    left, $x^\top S x$, in the units of its weights; for other laws the norm of the errors of its
    rows, $\sqrt{|\phi|^2 + |\dot\phi|^2}$. It is entered below ``enter`` and left above ``leave``.
    """

    law: AnyModeLaw | Annotated[Controller, Instance()]
    """The law."""
    name: Text | None = None
    """What reports call it; absent: the law's name or kind."""
    servo: tuple[AnyConstraint | Annotated[Constraint, Instance()], ...] = ()
    """Constraints that this law enforces instead of the task's."""
    enter: Positive | None = None
    """The mode begins when its measure falls below this; required, but for the first mode."""
    leave: Positive | None = None
    """The mode before takes over again when it rises above this; absent: four times ``enter``."""

    @model_validator(mode="after")
    def _check_hysteresis(self) -> Self:
        if self.leave is not None and (self.enter is None or self.leave <= self.enter):
            raise InputError(
                f"leave must be greater than enter, or the modes hand over to each other for "
                f"ever; got {self.leave:g} and {'none' if self.enter is None else self.enter}."
            )
        return self


@spec
class Switching(Controller):
    """Modes in the order in which they follow each other, such as swing-up, then LQR.

    The run begins in the first mode. Each hands over to the next one where that one's region is
    entered, and takes over again where it is left.
    """

    needs_grip: ClassVar[bool] = False

    kind: Literal["switching"] = "switching"
    modes: Annotated[tuple[SwitchingMode, ...], ListSize(2)]
    """The modes, at least two."""

    @model_validator(mode="after")
    def _check_regions(self) -> Self:
        for number, mode in enumerate(self.modes):
            if (mode.enter is None) != (number == 0):
                wrong = "is missing" if number else "is for later modes; the first has none"
                raise InputError(f"modes[{number}].enter: {wrong}.")
        return self

    def start(self, task: Task) -> Law:
        return _SwitchingLaw(self, task)


@final
class _SwitchingLaw(Law):
    switches: ClassVar[bool] = True

    def __init__(self, spec: Switching, task: Task) -> None:
        super().__init__(task)
        self._modes = spec.modes
        self.laws: list[Law] = []
        """The law of each mode."""
        for number, mode in enumerate(spec.modes):
            with error_context(f"modes[{number}]"):
                mode_task = dc.replace(task, servo=mode.servo) if mode.servo else task
                law = mode.law.start(mode_task)
                if law.switches:
                    raise InputError("a mode must be one law; this one switches itself.")
            self.laws.append(law)
        self._leave = [4.0 * (m.enter or 0.0) if m.leave is None else m.leave for m in spec.modes]
        ends = np.cumsum([1, *(law.memory.size for law in self.laws)])
        self._memory_slices = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        self.memory = np.concatenate([[0.0], *(law.memory for law in self.laws)])

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        # memories of modes that do not serve stand still
        yield BoundKernel(set_zero, tick.memory_rate)
        for mode, (law, block) in enumerate(zip(self.laws, self._memory_slices, strict=True)):
            mode_tick = law.tick(dynamics)
            # a mode knows its own block of the memory; the check wants the whole
            mode_tick.check_command = lambda command: tick.check_command(
                Command(command.u, tick.memory_rate)
            )
            in_force = (
                BoundKernel(copy_into, tick.memory[block], mode_tick.memory),
                *mode_tick.steps.items,
                BoundKernel(copy_into, mode_tick.u, tick.u),
                BoundKernel(copy_into, mode_tick.memory_rate, tick.memory_rate[block]),
            )
            yield KernelSequence(in_force).when_equal(tick.memory, mode)

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        for mode, (law, block) in enumerate(zip(self.laws, self._memory_slices, strict=True)):
            mode_tick = law.tick(dynamics)
            in_force = (
                BoundKernel(copy_into, tick.u, mode_tick.u),
                *law.anti_windup_steps(dynamics, loss, mode_tick),
                BoundKernel(copy_into, mode_tick.memory_rate, tick.memory_rate[block]),
            )
            yield KernelSequence(in_force).when_equal(tick.memory, mode)

    def guard_steps(
        self, dynamics: Dynamics, memory: Vector, margin: Vector
    ) -> Iterator[KernelStep]:
        regions, steps = self._regions(dynamics)
        yield from steps
        yield BoundKernel(switch_margin, memory, regions, margin)

    def settle_steps(self, dynamics: Dynamics, memory: Vector) -> Iterator[KernelStep]:
        # a memory that begins by the state is Python's
        if any(len(law.memory) and type(law).begin is not Law.begin for law in self.laws):
            yield from super().settle_steps(dynamics, memory)
            return
        regions, steps = self._regions(dynamics)
        yield from steps
        ends = np.array([block.stop for block in self._memory_slices])
        yield BoundKernel(
            settle_mode,
            memory,
            regions,
            self.memory.copy(),
            ends,
            fault=lambda code: self.endless_switching(dynamics),
        )

    def _regions(self, dynamics: Dynamics) -> tuple[Regions, list[KernelStep]]:
        """Return the regions, and what measures the state for them."""
        measures = np.zeros((len(self.laws), 1))
        enter = np.array([mode.enter or 0.0 for mode in self._modes])
        steps = [
            step
            for law, measure in zip(self.laws[1:], measures[1:], strict=True)
            for step in law.error_steps(dynamics, measure)
        ]
        return Regions(measures, enter, np.array(self._leave)), steps

    def _switch_margins(self, dynamics: Dynamics, mode: int) -> tuple[float, float]:
        """Return how far the state is from entering the next mode, and from leaving this one."""
        onwards = back = np.inf
        if mode + 1 < len(self.laws):
            onwards = self.laws[mode + 1].error(dynamics) - (self._modes[mode + 1].enter or 0.0)
        if mode > 0:
            back = self._leave[mode] - self.laws[mode].error(dynamics)
        return onwards, back

    def guard(self, dynamics: Dynamics, memory: Vector) -> float:
        return min(self._switch_margins(dynamics, int(memory[0])))

    def switched(self, dynamics: Dynamics, memory: Vector) -> Vector:
        mode = int(memory[0])
        onwards, back = self._switch_margins(dynamics, mode)
        # the guard is the smaller margin, so that one has crossed zero
        mode += -1 if back < onwards else 1
        new_memory = memory.copy()
        new_memory[0] = mode
        new_memory[self._memory_slices[mode]] = self.laws[mode].begin(dynamics)  # anew
        return new_memory

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the mode, the measures of the regions, and what the laws record themselves."""
        names = [mode.name or law_name(mode.law) for mode in self._modes]
        words = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        signals = {"mode": Signal(memory[0], "1", f"mode: {words}")}
        for number, (law, block) in enumerate(zip(self.laws, self._memory_slices, strict=True)):
            if number:
                measure = law.error(dynamics)
                signals[f"region_{number}"] = Signal(measure, "1", f"measure for {names[number]}")
            for name, signal in law.signals(dynamics, memory[block]).items():
                signals.setdefault(name, signal)
        return signals


class Regions(NamedTuple):
    """Where modes are entered and left, and how far the state is."""

    measures: Matrix
    """Of every mode, shape ``(k, 1)``."""
    enter: Vector
    """Shape ``(k,)``."""
    leave: Vector
    """Shape ``(k,)``."""


@compiled
def mode_margins(mode: int, regions: Regions) -> tuple[float, float]:
    """Return how far the state is from entering the next mode, and from leaving this one."""
    onwards = back = np.inf
    if mode + 1 < len(regions.enter):
        onwards = regions.measures[mode + 1, 0] - regions.enter[mode + 1]
    if mode > 0:
        back = regions.leave[mode] - regions.measures[mode, 0]
    return onwards, back


@compiled
def switch_margin(memory: Vector, regions: Regions, margin: Vector) -> None:
    """Write how far the state is from a switch: into the next mode, or out of this one."""
    onwards, back = mode_margins(int(memory[0]), regions)
    margin[0] = min(onwards, back)


@compiled
def settle_mode(memory: Vector, regions: Regions, begin: Vector, ends: Indices) -> bool:
    """Switch until the margin is positive; return whether that ends.

    A mode that is entered has its part of the memory, up to ``ends``, as at the start.
    """
    for _ in range(MAX_SWITCHES):
        mode = int(memory[0])
        onwards, back = mode_margins(mode, regions)
        if min(onwards, back) > 0.0:
            return True
        # the smaller margin has crossed zero
        mode += -1 if back < onwards else 1
        memory[0] = mode
        for i in range(ends[mode - 1] if mode > 0 else 1, ends[mode]):
            memory[i] = begin[i]
    return False
