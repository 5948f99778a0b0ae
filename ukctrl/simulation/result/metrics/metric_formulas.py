"""What each metric is of the samples of a run, for all rows or for one servo block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ukctrl.simulation.result.measures import (
    energy_imbalance,
    error_norm,
    ground_forces,
    holonomic,
    integral,
    running_integral,
    saturated,
    time_mean,
)
from ukctrl.simulation.result.samples import Samples

SETTLED_FRACTION = 0.02
"""A run has settled when its error stays below this fraction of the initial error ..."""
SETTLED_FLOOR = 1e-4
"""... or below this, whichever is larger [m, rad]: 0.1 mm, or 0.006 degrees."""


def rms(name: str) -> Callable[[Samples, str | None], float]:
    """Return the root mean square over time of the norm of an error."""

    def value(samples: Samples, block: str | None) -> float:
        norm = error_norm(samples, name, block)
        with np.errstate(over="ignore"):
            return float(np.sqrt(time_mean(samples.time, norm * norm)))

    return value


def peak(name: str) -> Callable[[Samples, str | None], float]:
    """Return the largest norm of an error."""

    def value(samples: Samples, block: str | None) -> float:
        norm = error_norm(samples, name, block)
        return float(np.max(norm)) if len(norm) else float("nan")

    return value


def final(name: str) -> Callable[[Samples, str | None], float]:
    """Return the norm of an error at the end."""

    def value(samples: Samples, block: str | None) -> float:
        norm = error_norm(samples, name, block)
        return float(norm[-1]) if len(norm) else float("nan")

    return value


def settling_time(samples: Samples, block: str | None) -> float:
    """Return from when on the error stays small [s]; NaN where it does not."""
    name = "phi" if holonomic(samples, block).size else "beta"
    norm, time = error_norm(samples, name, block), samples.time
    if len(norm) == 0 or not np.isfinite(norm).all():
        return float("nan")
    threshold = max(SETTLED_FRACTION * norm[0], SETTLED_FLOOR)
    outside = np.flatnonzero(norm > threshold)
    if outside.size == 0:
        return 0.0
    last = int(outside[-1])
    if last == len(norm) - 1:
        return float("nan")
    fraction = (norm[last] - threshold) / (norm[last] - norm[last + 1])
    return float(time[last] + fraction * (time[last + 1] - time[last]) - time[0])


def effort(samples: Samples, block: str | None) -> float:
    r"""Return the time integral of $u^\top u$."""
    if not samples.labels.actuators:
        return float("nan")
    with np.errstate(over="ignore"):
        return integral(samples.time, np.sum(samples["u"] ** 2, axis=1))


def peak_u(samples: Samples, block: str | None) -> float:
    """Return the largest magnitude of any one input."""
    u = samples["u"]
    return float(np.max(np.abs(u))) if u.size else float("nan")


def work(samples: Samples, block: str | None) -> float:
    """Return the time integral of the power of the actuators, by magnitude [J]."""
    if "actuator_rate" not in samples or not samples.labels.actuators:
        return float("nan")
    power = np.abs(samples["u"]) * np.abs(samples["actuator_rate"])
    return integral(samples.time, np.sum(power, axis=1))


def input_travel(samples: Samples, block: str | None) -> float:
    """Return how far the inputs go up and down, a second."""
    time, u = samples.time, samples["u"]
    if len(time) < 2 or not u.size:
        return float("nan")
    with np.errstate(over="ignore"):
        return float(np.sum(np.abs(np.diff(u, axis=0))) / (time[-1] - time[0]))


def energy_drift(samples: Samples, block: str | None) -> float:
    """Return the largest imbalance of the energy [J]."""
    imbalance = energy_imbalance(samples)
    return float(np.max(np.abs(imbalance))) if len(imbalance) else float("nan")


def reaction_residual(samples: Samples, block: str | None) -> float:
    """Return the largest passive force that the rows cannot transmit [N, N m]."""
    if "reaction_residual" not in samples or not len(samples):
        return float("nan")
    return float(np.max(samples["reaction_residual"]))


def reaction_work(samples: Samples, block: str | None) -> float:
    """Return the time integral of the power of the reactions, by magnitude [J]."""
    if "reaction_power" not in samples:
        return float("nan")
    return integral(samples.time, np.abs(samples["reaction_power"]))


def friction_loss(samples: Samples, block: str | None) -> float:
    """Return what friction in the constraints took [J]."""
    if "nonideal_force" not in samples or not len(samples):
        return float("nan")
    taken = -np.einsum("ki,ki->k", samples["nonideal_force"], samples["v"])
    return float(running_integral(samples.time, taken)[-1])


def ground_pull(samples: Samples, block: str | None) -> float:
    """Return the largest force by which a contact would have to pull [N]."""
    pulls = [-float(np.min(force.normal)) for force in ground_forces(samples)]
    return max(0.0, *pulls) if pulls else float("nan")


def needed_friction(samples: Samples, block: str | None) -> float:
    """Return the coefficient of friction that keeps contacts from slipping."""
    ratios = [
        float(np.max(force.across[pushed] / force.normal[pushed]))
        for force in ground_forces(samples)
        if (pushed := force.normal > 0.0).any()
    ]
    return max(ratios, default=float("nan"))


def saturated_fraction(samples: Samples, block: str | None) -> float:
    """Return the share of time in which some input is at a limit."""
    if not samples.labels.actuators:
        return float("nan")
    return time_mean(samples.time, saturated(samples).astype(np.float64))
