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

from ukctrl.analysis.linear.design import NoDesign, designed
from ukctrl.analysis.linear.loop_terms import LoopTerms, loop_terms
from ukctrl.control.terms import Terms
from ukctrl.core.errors import InputError, UkctrlError, quoted
from ukctrl.core.number_text import number
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.comparison.fairness import Fact

ALIKE = 2.0
"""Bandwidths further apart than by this factor are not those of equal loops."""


class Stands(NamedTuple):
    """The loops of a comparison before it runs."""

    asked: Terms | None = None
    """What all were designed for; None: the gains of the cards, or tuned ones."""
    loops: Mapping[str, LoopTerms] = MappingProxyType({})
    """What is known of each at its start."""
    unknown: Mapping[str, str] = MappingProxyType({})
    """Why nothing is known of the others."""
    told: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """What a law takes as known of the uncertainty, by its fields, or has practised."""
    limited: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Motors whose limit a law's first command is beyond."""

    @property
    def slowest(self) -> dict[str, float]:
        """Bandwidth of the slowest row of each loop, where it is known and there is one [rad/s]."""
        every = {name: loop.slowest for name, loop in self.loops.items()}
        return {name: w for name, w in every.items() if not math.isnan(w)}

    @property
    def alike(self) -> bool:
        """Whether no bandwidth is more than `ALIKE` times another."""
        found = self.slowest.values()
        return not found or max(found) <= ALIKE * min(found)

    def fact(self) -> Fact:
        """Return how quick the loops are, and whether that is equal for all."""
        found = self.slowest
        if not found:
            return Fact("bandwidth", True, "not known of any loop")
        low, high = min(found.values()), max(found.values())
        text = f"{number(low)} rad/s" if low == high else f"{number(low)} to {number(high)} rad/s"
        if self.asked is not None:
            text = f"designed for {self.asked}: {text}"
        return Fact("bandwidth", self.alike, f"{text}, of the slowest row of each")

    def warnings(self) -> Iterator[Verdict]:
        """Yield what is unfair before anything has run."""
        found = self.slowest
        if not self.alike:
            each = ", ".join(f"'{name}' {number(w)}" for name, w in found.items())
            remedy = "Design all alike with --equal bandwidth=..., or tune them."
            if self.asked is not None:
                remedy = "They were designed alike, and the hold or the start takes of some."
            text = (
                f"Bandwidths differ by more than a factor of {number(ALIKE)} ({each} rad/s): the "
                f"ranking is of stiffness as much as of laws. {remedy}"
            )
            yield Verdict("warning", "bandwidth", text)
        if 0 < len(self.told) < len(self.loops) + len(self.unknown):
            each = "; ".join(f"'{name}' {', '.join(what)}" for name, what in self.told.items())
            text = f"Told of the uncertainty what the others are not: {each}."
            yield Verdict("note", "knowledge", text)
        if len(self.limited) == 1 and len(self.loops) > 1:
            ((name, motors),) = self.limited.items()
            text = (
                f"'{name}' alone asks for more than {quoted(motors)} can give, from the start: "
                "with the limit it is another law, without it the comparison is of motors."
            )
            yield Verdict("warning", "limits", text)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data; numbers that are not finite are None."""
        plain: dict[str, Any] = finite_or_none(
            {
                "asked": None if self.asked is None else dc.asdict(self.asked),
                "loops": {name: loop.to_dict() for name, loop in self.loops.items()},
                "unknown": dict(self.unknown),
                "told": {name: list(what) for name, what in self.told.items()},
                "limited": {name: list(what) for name, what in self.limited.items()},
            }
        )
        return plain


def made_equal(
    variants: Mapping[str, Scenario], terms: Terms
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
        except NoDesign:
            refused[name] = "its gains do not follow from that."
        except (UkctrlError, ArithmeticError) as error:
            refused[name] = str(error)
    if refused:
        each = " ".join(f"'{name}': {why}" for name, why in refused.items())
        raise InputError(
            f"all must be designed for {terms}; {quoted(tuple(refused))} cannot be. {each} Leave "
            "them out, or ask for other terms."
        )
    return equal, ready


def stands(
    variants: Mapping[str, Scenario],
    asked: Terms | None = None,
    loops_ready: Mapping[str, Loop] = MappingProxyType({}),
) -> Stands:
    """Return how the loops stand before any run, of which some may be ready."""
    loops: dict[str, LoopTerms] = {}
    unknown: dict[str, str] = {}
    limited: dict[str, tuple[str, ...]] = {}
    for name, variant in variants.items():
        try:
            ready = loops_ready.get(name) or Loop(variant)
            loops[name] = loop_terms(variant, ready)
            limited[name] = _limited(ready)
        except Exception as error:  # a law of one's own may raise anything: its run tells
            unknown[name] = str(error)
    told = {name: variant.controller.told for name, variant in variants.items()}
    return Stands(
        asked,
        loops,
        unknown,
        {name: what for name, what in told.items() if what},
        {name: motors for name, motors in limited.items() if motors},
    )


def _limited(loop: Loop) -> tuple[str, ...]:
    """Return the motors that the first command asks for more than they can give."""
    q, v, memory = loop.state
    u = loop.law.command(loop.t0, q, v, memory).u
    limits = loop.robot.effort_limit
    beyond = np.flatnonzero((limits > 0.0) & (np.abs(u) > limits))
    return tuple(loop.robot.actuators[k] for k in beyond)
