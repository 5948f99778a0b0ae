"""The right-hand side of a closed loop, as steps: from a state to its acceleration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ukctrl.control.command import LawBuffers
from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import matvec_transposed
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import OdeSystem, copy_state
from ukctrl.robot import Snapshot
from ukctrl.simulation.assemble.law_checks import LawChecks
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.effects.kernel_effects import DriveOutput
from ukctrl.simulation.effects.signal_chain import is_finite


@compiled
def copy_leading(source: Vector, target: Vector) -> None:
    """Copy the first entries of an array, as many as both have."""
    # a metered memory is longer than that of the law by one entry, the energy
    for i in range(min(len(source), len(target))):
        target[i] = source[i]


@compiled
def copy_minimum(one: Vector, second: Vector, target: Vector) -> None:
    """Copy the smaller of two numbers."""
    target[0] = min(one[0], second[0])


def believed_steps(
    truth: Dynamics, belief: Dynamics, effects: AttachedEffects, tick: LawBuffers
) -> Iterator[KernelStep]:
    """Yield what evaluates the believed robot where the law sees the true one."""
    # one Dynamics for both: the steps of the plant have evaluated it
    if belief is truth:
        return
    s, b = truth.snapshot, belief.snapshot
    q, v, steps = effects.sensor_steps(s.clock, s.q, s.v)
    yield from steps
    yield BoundKernel(copy_state, s.clock, q, v, b.clock, b.q, b.v)
    yield from belief.steps_for(tick.steps)


def accepted_input(effects: AttachedEffects, s: Snapshot, u: Vector) -> DriveOutput:
    """Return what becomes of a command at a tick, before any delay, and what writes it.

    Args:
        effects: What stands between the law and the robot.
        s: The true robot, evaluated before.
        u: The command, shape ``(nu,)``.
    """
    return _with_actuator_rate(effects.tick_drives, s, u)


def applied_input(effects: AttachedEffects, s: Snapshot, u: Vector) -> DriveOutput:
    """Return what of an accepted command acts at a state, and what writes it, likewise."""
    return _with_actuator_rate(effects.continuous_drives, s, u)


def _with_actuator_rate(
    chain: Callable[[Vector, Vector, Vector], DriveOutput], s: Snapshot, u: Vector
) -> DriveOutput:
    rate = np.zeros(len(u))
    u, steps = chain(s.clock, u, rate)
    # no drive reads B' v then, and it need not be written
    if not steps:
        return u, steps
    return u, (BoundKernel(matvec_transposed, s.v, s.B, rate), *steps)


def command_steps(tick: LawBuffers, s: Snapshot, answers: LawChecks) -> Iterator[KernelStep]:
    """Yield what asks the law at a state of the believed robot, and checks its answer."""
    u, rate = tick.u, tick.memory_rate
    yield from tick.steps.items
    # checked before it acts, so that the message names the law and not the integrator
    yield BoundKernel(is_finite, u, fault=lambda code: answers.input_error(s.t, s.q, s.v, u))
    if len(rate):
        yield BoundKernel(
            is_finite, rate, fault=lambda code: answers.memory_rate_error(s.t, s.q, s.v, rate)
        )


def continuous_system(
    truth: Dynamics,
    belief: Dynamics,
    tick: LawBuffers,
    effects: AttachedEffects,
    answers: LawChecks,
    *,
    metered: bool,
) -> OdeSystem:
    """Return the loop under continuous control.

    Args:
        truth: The true robot.
        belief: The believed one.
        tick: What the law answers at its states.
        effects: What stands between the law and the robot.
        answers: Complains about the law.
        metered: Whether the energy fed to the robot is integrated behind the law's memory.
    """
    s, b, a = truth.snapshot, belief.snapshot, np.zeros(truth.robot.nv)
    k = len(tick.memory)
    memory, rate = tick.memory, tick.memory_rate
    if metered:
        memory, rate = np.zeros(k + 1), np.zeros(k + 1)
    u, drives = applied_input(effects, s, tick.u)

    def steps() -> Iterator[KernelStep]:
        # of large robots G is left out unless the law reads it, since it costs more than the rows
        # of a task
        yield from truth.steps_for(tick.steps)
        if metered:
            yield BoundKernel(copy_leading, memory, tick.memory)
        yield from believed_steps(truth, belief, effects, tick)
        yield from command_steps(tick, b, answers)
        yield from drives
        yield truth.response_step(u, a, tick.steps)
        if metered:
            yield BoundKernel(copy_leading, tick.memory_rate, rate)
            yield truth.power_step(a, u, rate[k:])

    return OdeSystem(truth.robot, (s.clock, s.q, s.v, memory), (a, rate), KernelSequence(steps()))


def held_system(truth: Dynamics, u: Vector, drives: Iterable[KernelStep] = ()) -> OdeSystem:
    """Return the plant under an input that is held; its memory is the energy fed to it.

    Args:
        truth: The true robot.
        u: The input, written by whoever holds it, or by the drives.
        drives: What writes it at a state.
    """
    s, rate = truth.snapshot, np.zeros(1)
    a, steps = truth.under(u, drives)
    sequence = (*steps, truth.power_step(a, u, rate))
    return OdeSystem(
        truth.robot, (s.clock, s.q, s.v, np.zeros(1)), (a, rate), KernelSequence(sequence)
    )


def acceleration_steps(
    truth: Dynamics, u: Vector, a: Vector, drives: Iterable[KernelStep] = ()
) -> Iterator[KernelStep]:
    """Yield what writes the acceleration under an input, and the answer to any other as well."""
    # G as well: the answer to any input is a_free + G u
    yield from truth.steps.items
    yield from drives
    yield BoundKernel(block_diagonal.apply_input_blockwise, truth.ties, truth.a_free, truth.G, u, a)
