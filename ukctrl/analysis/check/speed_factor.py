"""At which part of its speed a motion keeps every limit, tried.

Motors and speeds of joints bound the factor in closed form, see `ukctrl.analysis.check.timing`.
Ranges of joints, rates of inputs, contacts and what the law keeps are tried at motions of other
speeds, $q(rt), r v, r^2 a$, until one keeps all and the next does not.
"""

from __future__ import annotations

import dataclasses as dc
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.input_feasibility import (
    alternative_input_exists,
    contact_loads,
    input_bounds_along,
    input_usage,
    joint_usage,
    law_inputs,
    required_inputs,
)
from ukctrl.analysis.check.safety_feasibility import LIMIT_TOLERANCE, safety_feasibility
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.program import KernelSequence
from ukctrl.simulation.assemble import Loop

MAX_TRIED_KNOTS = 50
"""Knots of the motion that are tried while the factor is searched; those about it have all."""
MARGIN = 0.01
"""A printed factor keeps all limits at so much less, and does not at so much more."""
SEARCH_RATIO = 1.004
"""Ratio of the slowest motion that does not keep all limits to the fastest that does."""
MIN_FACTOR = 1e-2
"""A slower motion is one that stands."""


class SpeedFactor(NamedTuple):
    """A part of a motion's speed, and what binds at it."""

    rate: float
    t: float
    """When, in the time of the motion as it is [s]."""
    binding: tuple[str, ...]


class Breach(NamedTuple):
    """What a motion does not keep."""

    binding: str
    t: float
    """When [s]."""


def tried_factor(loop: Loop, motion: TaskMotion, bound: SpeedFactor) -> SpeedFactor:
    """Return the factor at which a motion keeps every limit, no more than motors allow.

    Args:
        loop: The scenario, ready to run, no contact of which is lifted by plan.
        motion: The motion as it is.
        bound: What motors and speeds of joints allow.
    """
    preload, every = _preload(loop, motion), 1 + (len(motion.t) - 1) // MAX_TRIED_KNOTS

    def breach(rate: float, step: int = every) -> SpeedFactor | None:
        coarse = _thinned(motion, step)
        added = None if preload is None else preload[::step]
        found = first_breach(loop, at_speed(coarse, rate), added)
        if found is None:
            return None
        t = float(motion.t[0] + (found.t - motion.t[0]) * rate)
        return SpeedFactor(rate, t, (found.binding,))

    low, high, binding = 0.0, bound.rate, bound
    if bound.rate <= 0.0 or breach((1.0 - MARGIN) * bound.rate, step=1) is None:
        return bound
    tried = min(1.0, bound.rate)
    while low == 0.0:
        if tried < MIN_FACTOR:  # not even at rest, or as good as that
            return binding._replace(rate=0.0)
        found = breach(tried)
        if found is None:
            low = tried
        else:
            high, tried, binding = tried, 0.5 * tried, found
    while high > SEARCH_RATIO * low:
        tried = float(np.sqrt(low * high))
        found = breach(tried)
        if found is None:
            low = tried
        else:
            high, binding = tried, found
    # The knots between those that were tried may ask for more.
    while (found := breach((1.0 - MARGIN) * low, step=1)) is not None:
        low, binding = (1.0 - MARGIN) * low, found
        if low < MIN_FACTOR:
            return binding._replace(rate=0.0)
    return binding._replace(rate=low)


def at_speed(motion: TaskMotion, rate: float) -> TaskMotion:
    """Return a motion at a part of its speed, above zero."""
    t = motion.t[0] + (motion.t - motion.t[0]) / rate
    return dc.replace(motion, t=t, v=rate * motion.v, a=rate**2 * motion.a)


def first_breach(loop: Loop, motion: TaskMotion, preload: Matrix | None = None) -> Breach | None:
    """Return what a motion does not keep, the first in time of a kind; None where it keeps all.

    Args:
        loop: The scenario, ready to run.
        motion: The motion, at whatever speed.
        preload: What its law adds to the smallest inputs, which moves nothing, shape ``(k, nu)``.
    """
    velocities, positions = joint_usage(loop, motion)
    needed, _ = required_inputs(loop, motion)
    low, high = input_bounds_along(loop, motion)
    inputs, rates = input_usage(loop, motion.t, needed, low, high)
    kinds = ("range of", positions), ("speed of", velocities), ("rate of motor", rates)
    for kind, uses in kinds:
        for use in uses:
            if use.since is not None:
                return Breach(f"{kind} '{use.name}'", use.since)
    over = [use for use in inputs if use.since is not None]
    if over and not alternative_input_exists(loop, motion, needed, low, high):
        assert over[0].since is not None
        return Breach(f"motor '{over[0].name}'", over[0].since)
    safety, _ = safety_feasibility(loop, motion, needed, (low, high), ContactSchedule(loop))
    for interval in safety.stretches if safety is not None else ():
        names = (*interval.limits, *interval.motors)
        return Breach(f"kept '{names[0]}'" if names else "what is kept", interval.start)
    if not np.isfinite(needed).all():
        return None
    applied = needed if preload is None else needed + preload
    return _lost_contact(loop, motion, applied, () if safety is None else safety.contacts)


def _lost_contact(
    loop: Loop, motion: TaskMotion, u: Matrix, served: tuple[str, ...]
) -> Breach | None:
    """Return which contact lifts, slips or tips first, of those whose forces are not kept."""
    for load in contact_loads(loop, motion, u):
        if load.lifts is not None and load.name not in served:
            return Breach(f"contact '{load.name}'", load.lifts)
    if loop.plant.contacts is None:
        return None
    steps: dict[int, tuple[Vector, Vector, KernelSequence]] = {}
    for k, t in enumerate(motion.t.tolist()):
        dynamics = loop.plant_at(t)
        contacts = dynamics.contacts
        assert contacts is not None
        if id(dynamics) not in steps:
            a, push = np.zeros(loop.robot.nv), np.zeros(loop.robot.nu)
            sequence = KernelSequence(tuple(dynamics.margin_steps(a, push)))
            steps[id(dynamics)] = a, push, sequence
        a, push, sequence = steps[id(dynamics)]
        dynamics.move(t, motion.q[k], motion.v[k])
        push[:] = u[k]
        a[:] = dynamics.acceleration(push)
        sequence()
        for name, margin in zip(contacts.names, contacts.margins.tolist(), strict=True):
            if margin < -LIMIT_TOLERANCE and name not in served:
                return Breach(f"contact '{name}'", t)
    return None


def _preload(loop: Loop, motion: TaskMotion) -> Matrix | None:
    """Return what the law adds to the smallest inputs of the motion as it is."""
    if not loop.plant.passive.attached:
        return None
    law, _ = law_inputs(loop, motion)
    needed, _ = required_inputs(loop, motion)
    return law - needed if np.isfinite(law).all() and np.isfinite(needed).all() else None


def _thinned(motion: TaskMotion, step: int) -> TaskMotion:
    """Return a motion at every so many of its knots."""
    t, q, v, a = (x[::step] for x in (motion.t, motion.q, motion.v, motion.a))
    return dc.replace(motion, t=t, q=q, v=v, a=a)
