"""Exported step: what is handed over, as a sequence of kernels between named inputs and outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ukctrl.control.task import TunableGain
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.program import KernelSequence


class Port(NamedTuple):
    """What a step reads or writes: numbers with names and units."""

    symbol: str
    """What it is called: q, v, u."""
    meaning: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    array: Vector
    """Where the steps have it."""
    start: Vector
    """What it is before the first step."""


class Braking(NamedTuple):
    """Inputs ``-D v`` within limits, by which motors brake their own speeds."""

    D: Matrix
    """Shape ``(nu, nv)``."""
    low: Vector
    """Shape ``(nu,)``."""
    high: Vector
    """Shape ``(nu,)``."""


class ExportedStep(NamedTuple):
    """What one call does: takes the inputs, runs the steps, and gives the outputs."""

    subject: str
    """What it is a step of: a controller, or a plant."""
    steps: KernelSequence
    take: Any
    """Kernel that judges the inputs and copies them: of ``state``, the time and the inputs."""
    state: tuple[Any, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    refusal: str
    """What is said of inputs that are not taken."""
    braking: Braking | None = None
    """How motors may brake where a controller has no inputs; None where none can."""
    contacts: tuple[str, ...] = ()
    """Contacts that only push, of which it can be told."""
    modes: tuple[Matrix, ...] = ()
    """What they do, of each robot of a law."""
    sticking: tuple[float, ...] = ()
    """What a contact does that sticks: without friction it slides."""
    gains: tuple[TunableGain, ...] = ()
    """Those that may be changed between steps."""
