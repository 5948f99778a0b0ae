"""Arrays of one robot and the kernels that write them, made once for each robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar, final

from ukctrl.core.caches import IdentityCache
from ukctrl.core.program.kernel_sequence import KernelSequence, KernelStep

Key = TypeVar("Key")
Arrays = TypeVar("Arrays")


@final
class RobotBuffers(Generic[Key, Arrays]):
    """Arrays that depend on the state of a robot, with the steps that write them there.

    Args:
        build: Returns the arrays for a robot, and what writes them at the state that it has then.
    """

    def __init__(self, build: Callable[[Key], tuple[Arrays, Iterable[KernelStep]]]) -> None:
        def make(robot: Key) -> tuple[Arrays, KernelSequence]:
            arrays, steps = build(robot)
            return arrays, KernelSequence(steps)

        self._by_robot = IdentityCache(make)

    def __call__(self, robot: Key) -> Arrays:
        """Write the arrays at the state of a robot and return them; the next call overwrites."""
        arrays, steps = self._by_robot(robot)
        steps()
        return arrays

    def steps(self, robot: Key) -> tuple[Arrays, tuple[KernelStep, ...]]:
        """Return where the arrays are, and what writes them at the state that it has then."""
        arrays, steps = self._by_robot(robot)
        return arrays, steps.items
