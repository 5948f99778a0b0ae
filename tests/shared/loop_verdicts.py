"""Whether `check`, `analyze` and the run contradict each other, over the catalogue and at random.

    python tests/shared/loop_verdicts.py [--catalogue] [--count 300] [--first 0] [--list]

prints the table. A scenario is one of the catalogue's under a random card, period, delay and scale
of its gains, drawn by its seed. What contradicts:

- poles: `check` and `analyze` write other words, or another rate, of the same loop;
- unforeseen: `check` names no problem and no mode that grows, and the run diverges;
- false alarm: `check` says that the hold makes the loop diverge, and a run that starts a little off
  comes back to the other.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses as dc
import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ukctrl import Scenario, analyze, check, simulate
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.simulation.effects.effect import kind_of

BASES = (
    "a1-squat", "coordinated-arms", "crane-planar", "four-mass-chain", "panda-pose",
    "panda-priorities", "quadrotor-hover", "quadrotor-lemniscate", "scara-helix",
    "scara-helix-bench", "stretched-arm", "three-rrr", "three-rrr-redundant", "two-arms-carry",
    "ur5-pose", "flexible-joint-arm-motor", "log-spiral-particle", "mass-on-car",
)  # fmt: skip
"""Scenarios that others are drawn from."""
CARDS = (
    "computed-torque", "operational-space", "resolved-acceleration", "servo-baumgarte",
    "servo-gauss", "servo-pid", "servo-damped", "servo-bounded", "servo-momentum-observer",
    "servo-adaptive-robust", "servo-weighted", "pd-gravity", "pid", "slotine-li", "lqr",
    "time-delay", "tvlqr",
)  # fmt: skip
"""Controllers that a draw takes."""
SECONDS = 0.6
"""Longest run [s]."""
LINEAR = ("input_delay", "differentiation", "friction")
"""Effects without which a loop's poles are others."""
PUSH = 1e-6
"""Deviation of a start by which a false alarm is told [rad or m]."""


CATALOGUE = tuple(
    name for name in catalog.names("scenarios")
    if name not in ("swarm-many", "five-bar", "five-bar-drift", "five-bar-relative", "n-four-bar")
)  # fmt: skip
"""Its scenarios with motors, and with no more freedoms than linear analysis takes."""


class Outcome(NamedTuple):
    """What the three say of one scenario."""

    of: str
    """The scenario, in a few words."""
    readiness: str
    """Of `check`; why where it has no answer."""
    growth: float
    """Rate of the mode that grows most, by `check` [1/s]; NaN where it did not look."""
    status: str
    """Of the run."""
    contradiction: str
    """Empty where there is none."""


def drawn(seed: int) -> tuple[str, dict[str, Any]]:
    """Return the base of a scenario and the changes to it."""
    rng = np.random.default_rng(seed)
    base, card = str(rng.choice(BASES)), str(rng.choice(CARDS))
    changes: dict[str, Any] = {"timing.control": float(f"{np.exp(rng.uniform(-7.6, -3.5)):.2g}")}
    if rng.random() < 0.8:
        changes["controller"] = {"use": card}
        rate = float(f"{np.exp(rng.uniform(1.0, 5.5)):.3g}")
        if card in ("servo-baumgarte", "servo-gauss", "servo-bounded", "servo-weighted"):
            changes["controller.feedback.alpha"] = 2.0 * rate
            changes["controller.feedback.beta"] = rate * rate
        elif card in ("computed-torque", "operational-space", "resolved-acceleration"):
            changes |= {"controller.kp": rate * rate, "controller.kd": 2.0 * rate}
    if rng.random() < 0.25:
        changes["effect"] = [{"kind": "input_delay", "ticks": int(rng.integers(1, 4))}]
    return base, changes


def outcome(of: str, scenario: Scenario) -> Outcome:
    """Return what check, analyze and the run say of a scenario."""
    try:
        found = check(scenario)
    except (UkctrlError, ArithmeticError) as error:
        return Outcome(of, f"no answer: {str(error)[:60]}", np.nan, "", "")
    stability = found.motion.stability
    growth = np.nan if stability is None else max(stability.growth)
    status, contradictions = "", []
    if stability is not None:
        linear = analyze(scenario)
        at_start = stability.growth[0]
        rate = np.nan if linear.loop is None else float(linear.loop.rates().real.max())
        if not linear.verdict.startswith(stability.text):
            contradictions.append("poles")
        if abs(at_start) > 1e-6 * abs(rate) and not np.isclose(at_start, rate, rtol=1e-6):
            contradictions.append("rates")
    # A problem of another kind is one that the run meets in another way.
    of_hold = any(entry.subject in ("loop", "period") and entry.level == "bad"
                  for entry in found.judgements)  # fmt: skip
    grows = of_hold or (stability is not None and stability.log_growth > 1.0)
    if found.ok or of_hold:
        result = simulate(scenario)
        status = result.status
        if found.ok and status == "diverged" and not grows:
            contradictions.append("unforeseen")
        if of_hold and status == "completed" and _returns(scenario):
            contradictions.append("false alarm")
    return Outcome(of, found.verdict, growth, status, ", ".join(contradictions))


def _returns(scenario: Scenario) -> bool:
    """Return whether a start a little off comes nearer, where no effect bounds or rounds."""
    linear = tuple(effect for effect in scenario.effect if kind_of(effect) in LINEAR)
    scenario = dc.replace(scenario, effect=linear)
    nominal = simulate(scenario)
    v = nominal["v"][0] + PUSH * np.eye(len(nominal["v"][0]))[0]
    pushed = {"start.v": v.tolist(), "start.q": nominal["q"][0].tolist(), "start.solve": False}
    off = simulate(scenario.replace(pushed))
    if {nominal.status, off.status} != {"completed"}:
        return False
    distance = np.abs(off["v"] - nominal["v"]).max(axis=1)
    return bool(distance[-1] < distance[0])


def at_random(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Yield the outcomes of some seeds."""
    for seed in seeds:
        base, changes = drawn(seed)
        text = f"{seed}: {base} {' '.join(f'{k}={v}' for k, v in changes.items())}"
        try:
            scenario = Scenario.load(base, changes)
            duration = min(SECONDS, scenario.timing.duration)
            yield outcome(text, scenario.replace({"timing.duration": duration}))
        except UkctrlError as error:
            yield Outcome(text, f"refused: {str(error)[:60]}", np.nan, "", "")


def of_catalogue(scenarios: Iterable[str]) -> Iterator[Outcome]:
    """Yield the outcomes of scenarios as they are, and held for 1 and 2 ms."""
    for name in scenarios:
        for changes in ({}, {"timing.control": 1e-3}, {"timing.control": 2e-3}):
            scenario = Scenario.load(name, changes)
            duration = min(SECONDS, scenario.timing.duration)
            shorter = scenario.replace({"timing.duration": duration})
            yield outcome(f"{name} {changes or 'as it is'}", shorter)


def print_table(outcomes: list[Outcome]) -> None:
    """Print how many of each kind there are."""
    counts = collections.Counter((one.readiness.partition(":")[0], one.status or "-")
                                 for one in outcomes)  # fmt: skip
    print(f"{len(outcomes)} scenarios")
    for (readiness, status), number in sorted(counts.items()):
        print(f"  {readiness:10} run {status:11} {number:4}")
    looked = [one.growth for one in outcomes if np.isfinite(one.growth)]
    print(f"  looked at by poles: {len(looked)}, of which grow {sum(g > 0.0 for g in looked)}, "
          f"worst {max(looked, default=np.nan):.4g} 1/s")  # fmt: skip
    wrong = sum(bool(one.contradiction) for one in outcomes)
    print(f"contradictions: {wrong}")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--catalogue", action="store_true")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    started = time.perf_counter()
    outcomes = []
    seeds = range(given.first, given.first + given.count)
    for one in itertools.chain(
        of_catalogue(CATALOGUE if given.catalogue else ()), at_random(seeds)
    ):
        outcomes.append(one)
        if given.list or one.contradiction:
            print(f"{time.perf_counter() - started:6.0f} s {one.contradiction or 'none':12} "
                  f"{one.readiness:10} {one.growth:10.4g} {one.status:10} {one.of}",
                  flush=True)  # fmt: skip
    print_table(outcomes)
    return int(any(one.contradiction for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
