r"""Measures over time: the size of errors, energy balance, reactions.

A norm $\lVert\varphi\rVert$ is Euclidean over the rows **as numbers in SI units**: one metre
counts as much as one radian. A servo block whose rows share one unit has a clean unit of its own.
[`ukctrl.simulation.result.metrics`][] makes scalars of these curves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.tie_breaking import max_abs
from ukctrl.simulation.result.quantities import reaction_unit
from ukctrl.simulation.result.samples import Samples

ALONG_THE_GROUND = ("slip_x", "slip_y", "along", "across")
"""Rows of contacts and of wheels whose reactions lie in the ground's plane."""
SUM_BLOCK = 2**16
"""Long sums are formed from parts of this many terms."""
LIMIT_RTOL = 1e-9
"""What is this close to its limit, relatively, is at it: an input or a joint, on either side."""


def time_mean(time: Array, values: Array) -> float:
    r"""Return $\frac1T\int_0^T y\,dt$; the value itself when the samples span no time."""
    if len(time) == 0:
        return float("nan")
    span = float(time[-1] - time[0])
    return integral(time, values) / span if span > 0.0 else float(values[-1])


def integral(time: Array, values: Array) -> float:
    r"""Return $\int_0^T y\,dt$ by the trapezoidal rule; NaN without samples."""

    def trapezoids(first: int, last: int) -> Array:
        both = values[first + 1 : last + 1] + values[first:last]
        return np.asarray(np.diff(time[first : last + 1]) * both / 2.0)

    return pairwise_sum(trapezoids, 0, len(time) - 1) if len(time) else float("nan")


def pairwise_sum(terms: Callable[[int, int], Array], first: int, last: int) -> float:
    """Return the sum of terms, to the bit that of `np.sum`: in halves, down to a part.

    Args:
        terms: Gives those from one number up to another.
        first: Number of the first term.
        last: One more than that of the last.
    """
    if last - first <= SUM_BLOCK:
        return float(np.sum(terms(first, last)))
    half = (last - first) // 2
    # NumPy sums by eights: blocks cut elsewhere would add up to other last bits
    middle = first + half - half % 8
    return pairwise_sum(terms, first, middle) + pairwise_sum(terms, middle, last)


def running_integral(time: Array, values: Array) -> Array:
    r"""Return $\int_0^t y\,dt$ at every sample, of order 4 in the sampling step.

    The trapezoidal rule with its end correction $-\tfrac{h^2}{12}(\dot y_{k+1}-\dot y_k)$, the
    derivatives taken from the samples themselves.
    """
    if len(time) < 2:
        return np.zeros(len(time))
    whole, n = np.zeros(len(time)), len(time) - 1
    # samples at one time have no slope between them
    corrected = n >= 2 and bool((time[1:] > time[:-1]).all())
    for first in range(0, n, SUM_BLOCK):
        last = min(first + SUM_BLOCK, n)
        at, ends = slice(first, last), slice(first + 1, last + 1)
        step = time[ends] - time[at]
        increments = 0.5 * step * (values[ends] + values[at])
        # the slope at a sample needs the one before and the one after it
        if corrected:
            low, high = max(first - 1, 0), min(last + 2, n + 1)
            slope = np.gradient(values[low:high], time[low:high], edge_order=2)
            increments -= step**2 / 12.0 * np.diff(slope[first - low : last + 1 - low])
        if first:
            # carried into the first term: the bits of one sum over the whole run
            increments[0] += whole[first]
        whole[ends] = np.cumsum(increments)
    return whole


def holonomic_rows(samples: Samples, block: str | None = None) -> NDArray[np.intp]:
    """Return the indices of the rows that have a `phi`: not all of its samples are NaN."""
    rows = samples.labels.block_rows(block)
    return rows[_recorded(samples, "phi")[rows]]


def _recorded(samples: Samples, name: str) -> NDArray[np.bool_]:
    """Return for every entry of a quantity whether some sample of it is a number."""
    return samples.once(("recorded", name), lambda: np.any(~np.isnan(samples[name]), axis=0))


def error_level(samples: Samples, block: str | None = None) -> str:
    """Return ``"phi"`` where some row has one, else ``"beta"``: by which errors are judged."""
    return "phi" if holonomic_rows(samples, block).size else "beta"


def error_norm(samples: Samples, name: str, block: str | None = None) -> Array:
    r"""Return $\lVert\varphi\rVert$ or $\lVert\beta\rVert$ over time, shape `(n,)`.

    Nonholonomic rows have no `phi` and count in `beta` alone. Without any row the norm is NaN.

    Args:
        samples: The arrays of the run.
        name: `"phi"`, `"beta"`, `"passive_phi"` or `"passive_beta"`.
        block: The servo block to restrict it to.
    """
    rows = np.arange(samples[name].shape[1])
    if name == "phi":
        rows = holonomic_rows(samples, block)
    elif name == "beta":
        rows = samples.labels.block_rows(block)
    elif name == "passive_phi":
        rows = np.flatnonzero(_recorded(samples, name))
    return samples.once((name, *rows.tolist()), lambda: _norm(samples, name, rows))


def _norm(samples: Samples, name: str, rows: NDArray[np.intp]) -> Array:
    if not rows.size:
        return np.full(len(samples), np.nan)

    def norm(chunk: Samples) -> Array:
        values = chunk[name][:, rows]
        # the last sample of a diverged run may be enormous
        with np.errstate(over="ignore"):
            return np.asarray(np.sqrt(np.sum(values * values, axis=1)))

    return samples.over_time(norm)


def energy_imbalance(samples: Samples) -> Array:
    r"""Return the energy that came from nowhere, $E(t) - E(0) - \int_0^t P\,dt$ [J], shape `(n,)`.

    $P$ is the power of everything that may change the total energy: inputs, non-conservative
    given forces, and passive constraints that move with time. Its integral is taken from the
    integrator when the run recorded it (`supplied_energy`), else from the samples of `power`.
    """
    energy = samples["energy"]
    if "supplied_energy" in samples:
        supplied = samples["supplied_energy"]
    elif "power" in samples:
        supplied = running_integral(samples.time, samples["power"])
    else:
        return np.full(len(samples), np.nan)
    return energy - energy[:1] - (supplied - supplied[:1])


def power_sampling_error(samples: Samples) -> float:
    r"""Return how much of `energy_imbalance` may come of samples of power far apart [J].

    The largest difference that leaving out every other sample makes; zero where the run recorded
    the integral itself.
    """
    if "supplied_energy" in samples or "power" not in samples or len(samples) < 5:
        return 0.0
    half = running_integral(samples.time[::2], samples["power"][::2])
    return max_abs(running_integral(samples.time, samples["power"])[::2] - half)


def inputs_at_limit(samples: Samples) -> NDArray[np.bool_]:
    """Return for every sample which inputs are at or beyond a limit, shape `(n, nu)`.

    Those are the bounds that the run recorded, or else the limits of the actuators. A limit of zero
    means in most robot models that nobody set it, and does not count.
    """
    return samples.over_time(_at_limit)


def _at_limit(samples: Samples) -> NDArray[np.bool_]:
    u = samples["u"]
    if "u_upper" in samples:
        low, high = samples["u_lower"], samples["u_upper"]
        # A motor that turns at its no-load speed has no torque left: there both bounds meet.
        size = np.maximum(
            *(np.abs(np.nan_to_num(bound, posinf=0.0, neginf=0.0)) for bound in (low, high))
        )
        near = LIMIT_RTOL * size
        reached: NDArray[np.bool_] = (u >= high - near) | (u <= low + near)
        return reached
    limit = np.array(samples.labels.effort_limit, dtype=np.float64)
    limit[~(limit > 0.0)] = np.inf
    at_limit: NDArray[np.bool_] = np.abs(u) >= limit * (1.0 - LIMIT_RTOL)
    return at_limit


def any_saturated(samples: Samples) -> NDArray[np.bool_]:
    """Return for every sample whether some input is at or beyond its limit, shape `(n,)`.

    A limit that the allocation kept, `binding`, counts too: it may be narrower than the motor's.
    """
    some: NDArray[np.bool_] = np.any(inputs_at_limit(samples), axis=1)
    # a law of one's own may have another signal of this name
    if "binding" in samples and samples["binding"].shape == samples["u"].shape:
        some |= np.any(motors_at_limits(samples) != 0.0, axis=1)
    return some


def motors_at_limits(samples: Samples) -> Array:
    """Return what the allocation says of motors at limits: 1 upper, -1 lower; shape `(n, nu)`.

    Where a safety filter has changed its input nobody was held at these limits: then 0.
    """
    sides = samples["binding"].copy()
    if "keep_binding" in samples:
        sides[(samples["keep_binding"] != 0.0).any(axis=1)] = 0.0
    return sides


class ReactionPeak(NamedTuple):
    """The largest reaction of one passive constraint."""

    block: str
    """Name of the constraint."""
    value: float
    """Largest Euclidean norm over time of its rows of this unit."""
    unit: str


def reaction_norms(samples: Samples) -> dict[tuple[str, str], Array]:
    """Return the length of every passive constraint's reaction over time, by name and unit.

    A constraint that transmits a force and a torque has an entry for each.
    """
    labels = samples.labels
    if "reaction" not in samples or not len(samples):
        return {}
    units = [reaction_unit(unit) for unit in labels.passive_row_units]
    of = list(zip(labels.passive_row_blocks, units, strict=True))
    rows = {key: [i for i, row in enumerate(of) if row == key] for key in dict.fromkeys(of)}
    return {key: samples.over_time(_length("reaction", at)) for key, at in rows.items()}


def _length(name: str, columns: list[int]) -> Callable[[Samples], Array]:
    return lambda part: np.linalg.norm(part[name][:, columns], axis=1)


def reaction_peaks(samples: Samples) -> tuple[ReactionPeak, ...]:
    """Return the largest force and the largest torque of every passive constraint."""
    return tuple(
        ReactionPeak(block, float(np.max(size)), unit)
        for (block, unit), size in reaction_norms(samples).items()
    )


class GroundForce(NamedTuple):
    """Ground force on one contact or wheel over time."""

    block: str
    """Name of the passive constraint."""
    normal: Array
    """Force along the ground's normal, below zero where it pulls, shape ``(n,)`` [N]."""
    tangential_force: Array
    """Size of the force along the ground, shape ``(n,)`` [N]; zero where it slides freely."""
    closed: NDArray[np.bool_]
    """Whether it touches, shape ``(n,)``; always where the ground holds both ways."""
    is_sliding: NDArray[np.bool_]
    """Whether it touches and slides, though the ground has friction, shape ``(n,)``."""


def ground_forces(samples: Samples) -> tuple[GroundForce, ...]:
    """Return the forces of the ground: the reactions of `Contact` and `Rolling`.

    Their rows are known by name: ``height`` has the force along the normal.
    """
    labels = samples.labels
    if "reaction" not in samples or not len(samples):
        return ()
    row = {name: i for i, name in enumerate(labels.passive_rows)}
    peaks = []
    for block in dict.fromkeys(labels.passive_row_blocks):
        height = row.get(f"{block}.height")
        if height is not None:
            names = (f"{block}.{name}" for name in ALONG_THE_GROUND)
            across = [row[name] for name in names if name in row]
            size = samples.over_time(_length("reaction", across))
            closed, slips = _holds(samples, [height]), _holds(samples, across)
            normal = samples["reaction"][:, height]
            # ground without friction lets slide as well, but without any force
            slides = closed & ~slips & (size > 0.0)
            peaks.append(GroundForce(block, normal, size, closed, slides))
    return tuple(peaks)


def _holds(samples: Samples, rows: list[int]) -> NDArray[np.bool_]:
    """Return whether rows hold, shape ``(n,)``: some of contacts that only push may not."""
    if "passive_holds" not in samples:
        return np.ones(len(samples), dtype=bool)
    return samples.over_time(lambda part: np.all(part["passive_holds"][:, rows] > 0.0, axis=1))
