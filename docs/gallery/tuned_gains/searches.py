"""The searches of the page: one law, one budget; other plants, other ways of searching."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from ukctrl import Budget, Plants, Scenario, Tuned, tune, tuning

COST = "rms_phi.tool + 1e-6*input_travel"
OVER: Mapping[str, tuple[float, float]] = {
    "controller.feedback.kp": (10.0, 20000.0),
    "controller.feedback.ki": (10.0, 100000.0),
    "controller.feedback.kd": (1.0, 300.0),
}
MISMATCH, PLANTS, HELD_OUT = 0.3, 6, 40
SIMULATIONS = 240
SEEDS = range(5)


@functools.cache
def scenario() -> Scenario:
    """Return the SCARA on its helix for a second, with encoder noise, sampled at 500 Hz."""
    return Scenario.load(
        "scara-helix",
        {
            "controller": {"use": "servo-pid"},
            "timing": {"duration": 1.0, "control": 0.002, "sample": 0.002},
            "integrator": {"method": "RK4", "step": 0.002},
            "effect": [{"kind": "noise", "std": 2e-5, "v_std": 2e-3}],
        },
    )


@functools.cache
def tuned(count: int, aggregate: str) -> Tuned:
    """Return the gains for so many plants, judged on the same 40 others."""
    plants = Plants(
        count=count,
        mismatch=MISMATCH,
        aggregate="worst" if aggregate == "worst" else "average",
        held_out=HELD_OUT,
    )
    return tune(scenario(), Budget(simulations=SIMULATIONS, cost=COST, over=OVER, plants=plants))


def on(aggregate: str) -> Tuned:
    """Return the search that is called nominal, average or worst."""
    return tuned(1, "average") if aggregate == "nominal" else tuned(PLANTS, aggregate)


@functools.cache
def searched(method: str, seed: int) -> Tuned:
    """Return what one way of searching finds on the worst of the plants, from one seed."""
    plants = Plants(count=PLANTS, mismatch=MISMATCH, aggregate="worst")
    budget = Budget(simulations=SIMULATIONS, cost=COST, over=OVER, plants=plants, method=method)
    return tune(scenario().replace({"seed": seed}), budget)


WAYS = tuple(tuning.METHODS)
