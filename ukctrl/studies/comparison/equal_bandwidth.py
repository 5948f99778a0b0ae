"""What the loops of a comparison do for the task, made equal where asked, and told before a run.

A stiff law follows better than a soft one, whatever its name. So the ranking of a comparison is
one of laws only where their loops are as quick as each other; and where one knows, or lacks, what
the others do not, it is one of that.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ukctrl.analysis.linear.design import GainDesignError, designed
from ukctrl.analysis.linear.performance import LoopPerformance, loop_performance
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import InputError, UkctrlError, quoted
from ukctrl.core.number_text import number, range_text
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.result.atomic_files import finite_or_none
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.comparison.fairness import FairnessCondition

BANDWIDTH_RATIO = 2.0
"""Bandwidths further apart than by this factor are not those of equal loops."""


class LoopSummaries(NamedTuple):
    """The loops of a comparison before it runs."""

    design_spec: ErrorSpec | None = None
    """What all were designed for; None: the gains of the cards, or tuned ones."""
    loops: Mapping[str, LoopPerformance] = MappingProxyType({})
    """What is known of each at its start."""
    errors: Mapping[str, str] = MappingProxyType({})
    """Why nothing is known of the others."""
    assumed_bounds: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """What a law takes as known of the uncertainty, by its fields, or has practised."""
    saturated_motors: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Motors whose limit a law's first command is beyond."""

    @property
    def lowest_bandwidths(self) -> dict[str, float]:
        """Bandwidth of the slowest row of each loop, where it is known and there is one [rad/s]."""
        bandwidths = {name: loop.slowest for name, loop in self.loops.items()}
        return {name: w for name, w in bandwidths.items() if not math.isnan(w)}

    @property
    def similar_bandwidths(self) -> bool:
        """Whether no bandwidth is more than `BANDWIDTH_RATIO` times another."""
        bandwidths = self.lowest_bandwidths.values()
        return not bandwidths or max(bandwidths) <= BANDWIDTH_RATIO * min(bandwidths)

    def bandwidth_condition(self) -> FairnessCondition:
        """Return how quick the loops are, and whether that is equal for all."""
        bandwidths = self.lowest_bandwidths
        if not bandwidths:
            return FairnessCondition("bandwidth", True, "not known of any loop")
        text = f"{range_text(bandwidths.values())} rad/s, of the slowest row of each"
        if self.design_spec is not None:
            text = f"designed for {self.design_spec}: {text}"
        return FairnessCondition("bandwidth", self.similar_bandwidths, text)

    def warnings(self, tuned: bool = False) -> Iterator[Verdict]:
        """Yield what is unfair before anything has run; ``tuned``: gains have been searched for."""
        bandwidths = self.lowest_bandwidths
        if not self.similar_bandwidths:
            listing = ", ".join(f"'{name}' {number(w)}" for name, w in bandwidths.items())
            remedy = "" if tuned else "Design all alike with --equal bandwidth=..., or tune them."
            if self.design_spec is not None:
                remedy = (
                    "All were designed alike; the hold or the start lowers the bandwidth of some."
                )
            text = (
                f"Bandwidths differ by more than a factor of {number(BANDWIDTH_RATIO)} ({listing} "
                f"rad/s): the ranking is of gains as much as of laws. {remedy}"
            )
            yield Verdict("warning", "bandwidth", text.rstrip())
        if 0 < len(self.assumed_bounds) < len(self.loops) + len(self.errors):
            listing = "; ".join(
                f"'{name}' {', '.join(bounds)}" for name, bounds in self.assumed_bounds.items()
            )
            text = f"These laws know bounds of the uncertainty that the others do not: {listing}."
            yield Verdict("note", "knowledge", text)
        if len(self.saturated_motors) == 1 and len(self.loops) > 1:
            ((name, motors),) = self.saturated_motors.items()
            text = (
                f"'{name}' alone exceeds the limits of {quoted(motors)} from the start: with "
                "these limits it is another law, without them the comparison is of motors."
            )
            yield Verdict("warning", "limits", text)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data; numbers that are not finite are None."""
        plain: dict[str, Any] = finite_or_none(
            {
                "asked": None if self.design_spec is None else dc.asdict(self.design_spec),
                "loops": {name: loop.to_dict() for name, loop in self.loops.items()},
                "unknown": dict(self.errors),
                "told": {name: list(names) for name, names in self.assumed_bounds.items()},
                "limited": {name: list(names) for name, names in self.saturated_motors.items()},
            }
        )
        return plain


def design_equal(
    variants: Mapping[str, Scenario], terms: ErrorSpec
) -> tuple[dict[str, Scenario], dict[str, Loop]]:
    """Return the scenarios with the gains that bring errors about as asked, and their loops.

    Raises:
        InputError: Some have no such gains, each of which is named with the reason.
    """
    equal: dict[str, Scenario] = {}
    ready: dict[str, Loop] = {}
    refused: dict[str, str] = {}
    for name, variant in variants.items():
        try:
            equal[name] = variant.replace(designed(variant, terms).gains)
            ready[name] = Loop(equal[name])
        except GainDesignError:
            refused[name] = "its gains do not follow from that."
        except (UkctrlError, ArithmeticError) as error:
            if is_machine_failure(error):
                raise
            refused[name] = str(error)
    if refused:
        causes = " ".join(f"'{name}': {cause}" for name, cause in refused.items())
        raise InputError(
            f"all must be designed for {terms}; {quoted(tuple(refused))} cannot be. {causes} Leave "
            "them out, or ask for other terms."
        )
    return equal, ready


def summarise_loops(
    variants: Mapping[str, Scenario],
    design_spec: ErrorSpec | None = None,
    loops_ready: Mapping[str, Loop] = MappingProxyType({}),
) -> LoopSummaries:
    """Return how the loops stand before any run, of which some may be ready."""
    loops: dict[str, LoopPerformance] = {}
    unknown: dict[str, str] = {}
    limited: dict[str, tuple[str, ...]] = {}
    for name, variant in variants.items():
        try:
            ready = loops_ready.get(name) or Loop(variant)
            loops[name] = loop_performance(variant, ready)
            limited[name] = _saturated_motors(ready)
        except Exception as error:  # a law of one's own may raise anything: its run tells
            if is_machine_failure(error):
                raise
            unknown[name] = str(error)
    bounds_by_name = {
        name: bounds for name, one in variants.items() if (bounds := one.controller.told)
    }
    motors = {name: saturated for name, saturated in limited.items() if saturated}
    return LoopSummaries(design_spec, loops, unknown, bounds_by_name, motors)


def _saturated_motors(loop: Loop) -> tuple[str, ...]:
    """Return the motors that the first command asks for more than they can give."""
    q, v, memory = loop.state
    u = loop.law.command(loop.t0, q, v, memory).u
    limits = loop.robot.effort_limit
    motors = np.flatnonzero((limits > 0.0) & (np.abs(u) > limits))
    return tuple(loop.robot.actuators[k] for k in motors)
