"""Metric: a named scalar of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ukctrl.simulation.result.samples import Samples

Value = Callable[[Samples, str | None], float]
"""A number of a run, for all rows or for one servo block."""


class Metric(NamedTuple):
    """One named scalar of a run; less of it is better, unless it says so."""

    unit: str
    """Unit, where `phi`, `beta` and `u` stand for the units of the rows and the inputs."""
    description: str
    formula: str
    """LaTeX."""
    function: Value | None
    """Its value; None for what comes from the timing."""
    per_block: bool = False
    about_controller: bool = True
    """False where it judges the integration: no merit of a controller that has less of it."""
    about_task: bool = False
    """True where it judges how the servo rows are met; a run without any has none."""
    per_keep: bool = False
    """Whether it exists for the blocks of what the law keeps, too."""
    more_is_better: bool = False


def metric_of(unit: str, formula: str, **flags: bool) -> Callable[[Value], Metric]:
    """Return what makes a metric of a function, whose docstring says what it is."""

    def made(value: Value) -> Metric:
        text = " ".join((value.__doc__ or "").split()).removesuffix(".")
        return Metric(unit, text[:1].lower() + text[1:], formula, value, **flags)

    return made
