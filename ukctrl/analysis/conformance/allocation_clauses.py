"""What every allocation must do, on open, closed and redundantly driven robots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import (
    ClauseViolation,
    Suite,
    require,
    require_array,
    require_equal,
)
from ukctrl.analysis.conformance.situations import Situation, situations
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

ALLOCATION = Suite[Allocation]("allocation")
"""The clauses for allocations."""
ALLOCATION.record("An allocation", lambda allocation: allocation)
ROW_RTOL = 1e-6
"""A demand that the motors can give easily is met to this, relatively."""


class AllocationProbe(NamedTuple):
    """An allocation, bound to a situation, at one state."""

    situation: Situation
    allocator: Allocator
    dynamics: Dynamics
    rows: Rows
    demand: Vector


def _probes(allocation: Allocation) -> Iterator[AllocationProbe]:
    served = False
    for situation in situations():
        try:
            allocator = allocation.attach(situation.task, situation.stack.names)
        except (GainError, InputError):
            continue  # settings that name other motors or rows
        served = True
        for dynamics in situation.states():
            rows = situation.stack.write(dynamics.snapshot)
            yield AllocationProbe(situation, allocator, dynamics, rows, rows.b.copy())
    if not served:
        raise ClauseViolation("it must serve some situation; it refuses all of them.")


@ALLOCATION.clause
def shapes(allocation: Allocation) -> None:
    """The input is one finite number a motor."""
    for at in _probes(allocation):
        u = at.allocator.input(at.rows, at.demand, at.dynamics)
        require_array("the input", u, at.dynamics.robot.nu)


@ALLOCATION.clause
def meets_the_rows(allocation: Allocation) -> None:
    """A demand that the motors can give within their limits is met: A (a_free + G u) = demand."""
    for at in _probes(allocation):
        u = at.allocator.input(at.rows, at.demand, at.dynamics)
        a = at.dynamics.a_free + at.dynamics.G @ u
        miss = float(np.linalg.norm(at.rows.A @ a - at.demand))
        size = 1.0 + float(np.linalg.norm(at.demand - at.rows.A @ at.dynamics.a_free))
        require(
            miss <= ROW_RTOL * size,
            f"the rows must be met; on the {at.situation.name} they are missed by {miss:.1e}.",
        )


@ALLOCATION.clause
def leaves_its_arguments_alone(allocation: Allocation) -> None:
    """Neither the rows, the demand nor the robot are changed."""
    for at in _probes(allocation):
        d = at.dynamics
        arrays = {"A": at.rows.A, "b": at.rows.b, "demand": at.demand, "a_free": d.a_free, "G": d.G}
        copies = {name: array.copy() for name, array in arrays.items()}
        at.allocator.input(at.rows, at.demand, d)
        for name, array in arrays.items():
            require_equal(f"'{name}' before and after", array, copies[name])


@ALLOCATION.clause
def depends_on_its_arguments_alone(allocation: Allocation) -> None:
    """The same demand at the same state gives the same input, whatever was asked in between."""
    for at in _probes(allocation):
        first = at.allocator.input(at.rows, at.demand, at.dynamics).copy()
        at.allocator.input(at.rows, 0.9 * at.demand, at.dynamics)
        again = at.allocator.input(at.rows, at.demand, at.dynamics)
        require_equal("two inputs at one state", again, first)


@ALLOCATION.clause
def answers_what_verdicts_ask(allocation: Allocation) -> None:
    """Its behaviour is measured or declared, its levels are the blocks, its exact form serves."""
    for at in _probes(allocation):
        task, stack = at.situation.task, at.situation.stack
        behaviour = allocation.behaviour(task)
        require(
            all(answer in (True, False) for answer in behaviour) and len(behaviour) == 3,
            f"behaviour must answer three questions by True or False; got {behaviour}.",
        )
        named = [block for level in allocation.levels(stack) for block in level]
        blocks = set(stack.blocks)
        require(
            sorted(named) == sorted(blocks),
            f"levels must name every block of rows once, {sorted(blocks)}; got {named}.",
        )
        allocation.exact().attach(task, stack.names)
