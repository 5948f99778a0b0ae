"""Reset of a loop: its arrays as they were before the first of its runs.

The kernels of a loop keep all that they know in arrays, which their tables name. So a loop that has
run can run again, for another seed or other masses, without a table being made anew.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.loop import Loop, attach_effects
from ukctrl.simulation.scenario import Scenario

MAX_NUMBERS = 2**19
"""A loop with more numbers than this is not kept for another run, for the sake of memory."""

# a section that is missing here would leave a loop with the tables of another scenario: each new
# one of Scenario is placed here or taken over by `restart`
TABLE_SECTIONS = (
    "robot", "servo", "keep", "controller", "timing", "start", "integrator", "believed", "monitor",
    "stabilisation", "rank", "sensing", "observer",
)  # fmt: skip
"""Parts of a scenario that decide which tables a loop has, and what is in them."""


@final
class InitialArrays:
    """Initial contents of the arrays of a loop, restored before another run."""

    def __init__(self) -> None:
        # kept alive: the id of what is gone may become that of another object
        self._known: dict[int, Any] = {}
        self._kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._tables: list[KernelSequence] = []
        self.size = 0
        """How many numbers they are."""

    def exclude(self, array: NDArray[Any]) -> None:
        """Do not keep one: every run writes all of it that it reads."""
        self._known[id(array)] = array

    def add(self, *sources: Any) -> None:
        """Keep what arrays hold now that are not known yet.

        Args:
            sources: Steps, calls, arrays, and tuples of them.
        """
        for source in sources:
            if id(source) not in self._known:
                self._known[id(source)] = source
                self._note(source)

    def _note(self, source: Any) -> None:
        if isinstance(source, np.ndarray):
            if source.flags.writeable:
                self.size += source.size
                if self.size <= MAX_NUMBERS:
                    self._kept.append((source, source.copy()))
        elif isinstance(source, tuple):
            self.add(*source)
        elif isinstance(source, KernelSequence):
            self._tables.append(source)
            self.add(source.lines, *source.items)
        elif isinstance(source, BoundKernel):
            self.add(*source.arguments, source.nested)

    @property
    def is_complete(self) -> bool:
        """Whether all of them were kept."""
        return self.size <= MAX_NUMBERS

    def restore(self) -> None:
        """Put it back."""
        for array, initial in self._kept:
            array[...] = initial
        for table in self._tables:
            # a fault that the last run has left would be told of the next
            table.take_fault()


def restart(loop: Loop, initial: InitialArrays, scenario: Scenario, robot: Robot) -> bool:
    """Make a loop ready to run another scenario from its start; return whether it can.

    It can where the scenario differs in nothing but its seed and effects that draw the inertias of
    bodies: all else decides which kernels there are, or is remembered outside their arrays.
    """
    start = loop.scenario.start
    if robot is not loop.robot or not _same_tables(loop.scenario, scenario):
        return False
    if start.spread or start.planned or loop.estimator is not None:
        # another seed is another start, and another first estimate
        return False
    effects = attach_effects(scenario, robot)
    if not (effects.only_redraws_inertia and loop.effects.only_redraws_inertia):
        return False
    # plant and law share one Dynamics only while no effect acts on the plant
    if effects.acts_on_plant != loop.effects.acts_on_plant:
        return False
    initial.restore()
    # kernels read inertias from arrays: other numbers need no other table
    if effects.acts_on_plant and not loop.plant.take_inertias(effects.plants[0].robot):
        return False
    loop.scenario, loop.effects = scenario, effects
    return True


def _same_tables(one: Scenario, second: Scenario) -> bool:
    """Return whether two scenarios differ in their seeds and effects alone, names aside."""
    return all(
        getattr(one, name) is getattr(second, name) or getattr(one, name) == getattr(second, name)
        for name in TABLE_SECTIONS
    )
