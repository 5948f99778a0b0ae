"""The right-hand side of a closed loop, as steps: from a state to its acceleration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.control.tick import Tick
from ukctrl.core.algebra import separate
from ukctrl.core.algebra.factorisation import multiplied_across
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import Call, Step, Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.system import System
from ukctrl.robot import Snapshot
from ukctrl.simulation.effects.bound import Conditions
from ukctrl.simulation.effects.chain import is_finite
from ukctrl.simulation.effects.compiled_parts import Driven
from ukctrl.simulation.loop.law_checks import Answers


@compiled
def copy_common(source: Vector, target: Vector) -> None:
    """Copy the first entries of an array, as many as both have."""
    for i in range(min(len(source), len(target))):
        target[i] = source[i]


@compiled
def copy_smaller(one: Vector, other: Vector, target: Vector) -> None:
    """Copy the smaller of two numbers."""
    target[0] = min(one[0], other[0])


@compiled
def advance_memory(clock: Vector, before: Vector, memory: Vector, rate: Vector) -> None:
    """Advance a memory from one tick to the next, whose rate was that of the first of them."""
    for i in range(len(memory)):
        memory[i] += (clock[0] - before[0]) * rate[i]


@compiled
def same_state(
    clock: Vector, q: Vector, v: Vector, other: Vector, other_q: Vector, other_v: Vector
) -> None:
    """Copy a state from one snapshot to another."""
    other[0] = clock[0]
    for i in range(len(q)):
        other_q[i] = q[i]
    for i in range(len(v)):
        other_v[i] = v[i]


class Seen(NamedTuple):
    """What a sampled law measured at its last tick."""

    clock: Vector
    """When, shape ``(1,)`` [s]."""
    q: Vector
    v: Vector


def seen(truth: Dynamics, belief: Dynamics, met: Conditions, tick: Tick) -> Iterator[Step]:
    """Yield what evaluates the believed robot where the law sees the true one."""
    if belief is truth:
        return
    s, b = truth.snapshot, belief.snapshot
    q, v, steps = met.sensing(s.clock, s.q, s.v)
    yield from steps
    yield Call(same_state, s.clock, q, v, b.clock, b.q, b.v)
    yield from belief.steps_for(tick.steps)


def accepted(met: Conditions, s: Snapshot, u: Vector) -> Driven:
    """Return what becomes of a command at a tick, before any delay, and what writes it.

    Args:
        met: What stands between the law and the robot.
        s: The true robot, evaluated before.
        u: The command, shape ``(nu,)``.
    """
    return _driven(met.accepting, s, u)


def applied(met: Conditions, s: Snapshot, u: Vector) -> Driven:
    """Return what of an accepted command acts at a state, and what writes it, likewise."""
    return _driven(met.acting, s, u)


def _driven(way: Callable[[Vector, Vector, Vector], Driven], s: Snapshot, u: Vector) -> Driven:
    rate = np.zeros(len(u))
    made = way(s.clock, u, rate)
    if not made.steps:
        return made
    return made._replace(steps=(Call(multiplied_across, s.v, s.B, rate), *made.steps))


def asked(tick: Tick, s: Snapshot, answers: Answers) -> Iterator[Step]:
    """Yield what asks the law at a state of the believed robot, and checks its answer."""
    u, rate = tick.u, tick.memory_rate
    yield from tick.steps.every
    yield Call(is_finite, u, fault=lambda code: answers.unusable(s.t, s.q, s.v, u))
    if len(rate):
        yield Call(is_finite, rate, fault=lambda code: answers.no_rate(s.t, s.q, s.v, rate))


def commanded(
    truth: Dynamics,
    belief: Dynamics,
    tick: Tick,
    met: Conditions,
    answers: Answers,
    *,
    metered: bool,
) -> System:
    """Return the loop under continuous control.

    Args:
        truth: The true robot.
        belief: The believed one.
        tick: What the law answers at its states.
        met: What stands between the law and the robot.
        answers: Complains about the law.
        metered: Whether the energy fed to the robot is integrated behind the law's memory.
    """
    s, b, a = truth.snapshot, belief.snapshot, np.zeros(truth.robot.nv)
    k = len(tick.memory)
    memory, rate = tick.memory, tick.memory_rate
    if metered:
        memory, rate = np.zeros(k + 1), np.zeros(k + 1)
    u, drives = applied(met, s, tick.u)

    def steps() -> Iterator[Step]:
        yield from truth.steps_for(tick.steps)
        if metered:
            yield Call(copy_common, memory, tick.memory)
        yield from seen(truth, belief, met, tick)
        yield from asked(tick, b, answers)
        yield from drives
        yield truth.response_step(u, a, tick.steps)
        if metered:
            yield Call(copy_common, tick.memory_rate, rate)
            yield truth.power_step(a, u, rate[k:])

    return System(truth.robot, (s.clock, s.q, s.v, memory), (a, rate), Steps(steps()))


def held(truth: Dynamics, u: Vector, drives: Iterable[Step] = ()) -> System:
    """Return the plant under an input that is held; its memory is the energy fed to it.

    Args:
        truth: The true robot.
        u: The input, written by whoever holds it, or by the drives.
        drives: What writes it at a state.
    """
    s, rate = truth.snapshot, np.zeros(1)
    a, steps = truth.under(u, drives)
    every = (*steps, truth.power_step(a, u, rate))
    return System(truth.robot, (s.clock, s.q, s.v, np.zeros(1)), (a, rate), Steps(every))


def answer(truth: Dynamics, u: Vector, a: Vector, drives: Iterable[Step] = ()) -> Iterator[Step]:
    """Yield what writes the acceleration under an input, and the answer to any other as well."""
    yield from truth.steps.every
    yield from drives
    yield Call(separate.acceleration, truth.ties, truth.a_free, truth.G, u, a)
