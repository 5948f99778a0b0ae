r"""Named scalars of a run, each with its formula and unit.

A norm $\lVert\varphi\rVert$ is Euclidean over the rows **as numbers in SI units**: one metre
counts as much as one radian. A servo block whose rows share one unit has a clean unit of its
own, so judge mixed tasks by the metrics of their blocks, `rms_phi.tool`.

Integrals over time use the trapezoidal rule on the samples. A metric that does not exist for
a run (no rows, no samples, not recorded) is NaN, and `null` in `summary.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.errors import unknown_name
from ukctrl.samples import FIELDS, Labels, Samples, common_unit, per_second, reaction_unit

__all__ = [
    "METRICS",
    "Metric",
    "Peak",
    "compute",
    "describe",
    "energy_imbalance",
    "error_norm",
    "holonomic",
    "integral",
    "reaction_peaks",
    "reaction_sizes",
    "running_integral",
    "saturated",
    "time_mean",
    "unit_in",
]

Array = NDArray[np.float64]

SETTLED_FRACTION = 0.02
"""A run has settled when its error stays below this fraction of the initial error ..."""
SETTLED_FLOOR = 1e-4
"""... or below this, whichever is larger [m, rad]: 0.1 mm, or 0.006 degrees."""
LIMIT_RTOL = 1e-9
"""An input this close to its limit, relatively, is at its limit."""


def time_mean(time: Array, values: Array) -> float:
    r"""Return $\frac1T\int_0^T y\,dt$; the value itself when the samples span no time."""
    if len(time) == 0:
        return float("nan")
    span = float(time[-1] - time[0])
    return integral(time, values) / span if span > 0.0 else float(values[-1])


def integral(time: Array, values: Array) -> float:
    r"""Return $\int_0^T y\,dt$ by the trapezoidal rule; NaN without samples."""
    return float(np.trapezoid(values, time)) if len(time) else float("nan")


def running_integral(time: Array, values: Array) -> Array:
    r"""Return $\int_0^t y\,dt$ at every sample, of order 4 in the sampling step.

    The trapezoidal rule with its end correction $-\tfrac{h^2}{12}(\dot y_{k+1}-\dot y_k)$, the
    derivatives taken from the samples themselves.
    """
    if len(time) < 2:
        return np.zeros(len(time))
    step = np.diff(time)
    parts = 0.5 * step * (values[1:] + values[:-1])
    if len(time) >= 3 and (step > 0.0).all():
        slope = np.gradient(values, time, edge_order=2)
        parts -= step**2 / 12.0 * np.diff(slope)
    return np.concatenate([[0.0], np.cumsum(parts)])


def holonomic(samples: Samples, block: str | None = None) -> NDArray[np.intp]:
    """Return the indices of the rows that have a `phi`: not all of its samples are NaN."""
    has_phi: NDArray[np.bool_] = np.any(~np.isnan(samples["phi"]), axis=0)
    rows = _rows(samples.labels, block)
    return rows[has_phi[rows]]


def error_norm(samples: Samples, name: str, block: str | None = None) -> Array:
    r"""Return $\lVert\varphi\rVert$ or $\lVert\beta\rVert$ over time, shape `(n,)`.

    Nonholonomic rows have no `phi` and count in `beta` alone. Without any row the norm is NaN.

    Args:
        samples: The arrays of the run.
        name: `"phi"`, `"beta"`, `"passive_phi"` or `"passive_beta"`.
        block: The servo block to restrict it to.
    """
    values = samples[name]
    if name == "phi":
        values = values[:, holonomic(samples, block)]
    elif name == "beta":
        values = values[:, _rows(samples.labels, block)]
    elif name == "passive_phi":
        values = values[:, ~np.isnan(values).all(axis=0)]
    if values.shape[1] == 0:
        return np.full(len(samples), np.nan)
    with np.errstate(over="ignore"):  # the last sample of a diverged run may be enormous
        norm: Array = np.sqrt(np.sum(values * values, axis=1))
    return norm


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


def saturated(samples: Samples) -> NDArray[np.bool_]:
    """Return for every sample whether some input is at or beyond its limit, shape `(n,)`.

    A limit of zero means in most robot models that nobody set it, and does not count.
    """
    limit = np.array(samples.labels.effort_limit, dtype=np.float64)
    limit[~(limit > 0.0)] = np.inf
    at_limit: NDArray[np.bool_] = np.any(np.abs(samples["u"]) >= limit * (1.0 - LIMIT_RTOL), axis=1)
    return at_limit


def _rows(labels: Labels, block: str | None) -> NDArray[np.intp]:
    return np.arange(len(labels.rows)) if block is None else labels.block_rows(block)


def _rms(name: str) -> Callable[[Samples, str | None], float]:
    def rms(samples: Samples, block: str | None) -> float:
        norm = error_norm(samples, name, block)
        with np.errstate(over="ignore"):
            return float(np.sqrt(time_mean(samples.time, norm * norm)))

    return rms


def _peak(name: str) -> Callable[[Samples, str | None], float]:
    def peak(samples: Samples, block: str | None) -> float:
        norm = error_norm(samples, name, block)
        return float(np.max(norm)) if len(norm) else float("nan")

    return peak


def _final(name: str) -> Callable[[Samples, str | None], float]:
    def final(samples: Samples, block: str | None) -> float:
        norm = error_norm(samples, name, block)
        return float(norm[-1]) if len(norm) else float("nan")

    return final


def _settling_time(samples: Samples, block: str | None) -> float:
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


def _effort(samples: Samples, block: str | None) -> float:
    if not samples.labels.actuators:
        return float("nan")
    with np.errstate(over="ignore"):
        return integral(samples.time, np.sum(samples["u"] ** 2, axis=1))


def _peak_u(samples: Samples, block: str | None) -> float:
    u = samples["u"]
    return float(np.max(np.abs(u))) if u.size else float("nan")


def _work(samples: Samples, block: str | None) -> float:
    if "actuator_rate" not in samples or not samples.labels.actuators:
        return float("nan")
    power = np.abs(samples["u"]) * np.abs(samples["actuator_rate"])
    return integral(samples.time, np.sum(power, axis=1))


def _energy_drift(samples: Samples, block: str | None) -> float:
    imbalance = energy_imbalance(samples)
    return float(np.max(np.abs(imbalance))) if len(imbalance) else float("nan")


def _reaction_residual(samples: Samples, block: str | None) -> float:
    if "reaction_residual" not in samples or not len(samples):
        return float("nan")
    return float(np.max(samples["reaction_residual"]))


def _reaction_work(samples: Samples, block: str | None) -> float:
    if "reaction_power" not in samples:
        return float("nan")
    return integral(samples.time, np.abs(samples["reaction_power"]))


def _friction_loss(samples: Samples, block: str | None) -> float:
    if "nonideal_force" not in samples or not len(samples):
        return float("nan")
    taken = -np.einsum("ki,ki->k", samples["nonideal_force"], samples["v"])
    return float(running_integral(samples.time, taken)[-1])


class Peak(NamedTuple):
    """The largest reaction of one passive constraint."""

    block: str
    """Name of the constraint."""
    value: float
    """Largest Euclidean norm over time of its rows of this unit."""
    unit: str


def reaction_sizes(samples: Samples) -> dict[tuple[str, str], Array]:
    """Return the length of every passive constraint's reaction over time, by name and unit.

    A constraint that transmits a force and a torque has an entry for each.
    """
    labels = samples.labels
    if "reaction" not in samples or not len(samples):
        return {}
    units = [reaction_unit(unit) for unit in labels.passive_row_units]
    of = list(zip(labels.passive_row_blocks, units, strict=True))
    reaction = samples["reaction"]
    return {
        entry: np.linalg.norm(reaction[:, [i for i, row in enumerate(of) if row == entry]], axis=1)
        for entry in dict.fromkeys(of)
    }


def reaction_peaks(samples: Samples) -> tuple[Peak, ...]:
    """Return the largest force and the largest torque of every passive constraint."""
    return tuple(
        Peak(block, float(np.max(size)), unit)
        for (block, unit), size in reaction_sizes(samples).items()
    )


def _saturated_fraction(samples: Samples, block: str | None) -> float:
    if not samples.labels.actuators:
        return float("nan")
    return time_mean(samples.time, saturated(samples).astype(np.float64))


class Metric(NamedTuple):
    """One named scalar of a run; less of it is better."""

    unit: str
    """Unit, where `phi`, `beta` and `u` stand for the units of the rows and the inputs."""
    description: str
    formula: str
    """LaTeX."""
    function: Callable[[Samples, str | None], float] | None
    """Value for all rows or for one servo block; None for what comes from the timing."""
    per_block: bool = False
    about_controller: bool = True
    """False where it judges the integration: no merit of a controller that has less of it."""
    about_task: bool = False
    """True where it judges how the servo rows are met; a run without any has none."""


def _error_metrics(name: str, symbol: str, what: str) -> dict[str, Metric]:
    norm = rf"\lVert {symbol} \rVert"
    return {
        f"rms_{name}": Metric(
            name,
            f"root mean square over time of the {what}",
            rf"\sqrt{{\frac{{1}}{{T}} \int_0^T {norm}^2 \, dt}}",
            _rms(name),
            per_block=True,
            about_task=True,
        ),
        f"peak_{name}": Metric(
            name,
            f"largest {what}",
            rf"\max_t {norm}",
            _peak(name),
            per_block=True,
            about_task=True,
        ),
        f"final_{name}": Metric(
            name,
            f"{what} at the last sample",
            rf"{norm}(T)",
            _final(name),
            per_block=True,
            about_task=True,
        ),
    }


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        **_error_metrics("phi", r"\varphi", "position-level error of the servo rows"),
        **_error_metrics("beta", r"\beta", "velocity-level error of the servo rows"),
        "settling_time": Metric(
            "s",
            "time after which the error stays below 2 % of its initial value, or below 1e-4 if "
            "that is larger; of `beta` when no row has a `phi`; none when it never does",
            r"\min\{t : \lVert\varphi(s)\rVert \le \max(0.02\,\lVert\varphi(0)\rVert, 10^{-4})"
            r"\ \forall s \ge t\}",
            _settling_time,
            about_task=True,
        ),
        "effort": Metric("(u)^2 s", "time integral of u'u", r"\int_0^T u^\top u \, dt", _effort),
        "peak_u": Metric(
            "u", "largest magnitude of any one input", r"\max_{t,k} \lvert u_k \rvert", _peak_u
        ),
        "work": Metric(
            "J",
            "work that the inputs exchange, with no credit for what they get back",
            r"\int_0^T \sum_k \lvert u_k \rvert \, \lvert (B^\top v)_k \rvert \, dt",
            _work,
        ),
        "peak_passive_phi": Metric(
            "passive_phi",
            "largest position-level error of the passive rows: how far a closed loop came open",
            r"\max_t \lVert \varphi_p \rVert",
            lambda samples, block: _peak("passive_phi")(samples, None),
            about_controller=False,
        ),
        "reaction_residual": Metric(
            "force",
            "largest part of the passive force that the passive rows cannot transmit",
            r"\max_t \lVert F_p - A_p^\top \lambda - c \rVert",
            _reaction_residual,
            about_controller=False,
        ),
        "reaction_work": Metric(
            "J",
            "energy that the reactions exchange because the passive rows drift",
            r"\int_0^T \lvert \lambda^\top \beta_p \rvert \, dt",
            _reaction_work,
            about_controller=False,
        ),
        "friction_loss": Metric(
            "J",
            "energy that passive constraints take because they are not ideal",
            r"-\int_0^T c^\top v \, dt",
            _friction_loss,
            about_controller=False,
        ),
        "energy_drift": Metric(
            "J",
            "largest change of total energy that no input or force accounts for",
            r"\max_t \left\lvert E(t) - E(0) - \int_0^t P \, ds \right\rvert",
            _energy_drift,
            about_controller=False,
        ),
        "saturated_fraction": Metric(
            "1",
            "fraction of the time in which some input is at or beyond its limit",
            r"\frac{1}{T} \int_0^T [\exists k: \lvert u_k \rvert \ge u_k^{\max}] \, dt",
            _saturated_fraction,
        ),
        "mean_tick_us": Metric(
            "us",
            "mean wall time of one controller tick",
            r"\overline{\Delta t}_\mathrm{tick}",
            None,
        ),
    }
)
"""Every metric by name, in the order in which tables show them."""


def compute(samples: Samples, timing: Mapping[str, object] | None = None) -> dict[str, float]:
    """Return every metric of a run, those of single servo blocks (`rms_phi.tool`) last.

    Args:
        samples: The arrays of the run.
        timing: Wall-clock facts, of which `mean_tick_us` becomes a metric.
    """
    values: dict[str, float] = {}
    for name, metric in METRICS.items():
        if metric.function is None:
            value = (timing or {}).get(name)
            values[name] = float(value) if isinstance(value, int | float) else float("nan")
        else:
            values[name] = metric.function(samples, None)
    for block in samples.labels.blocks:
        for name, metric in METRICS.items():
            if metric.per_block and metric.function is not None:
                values[f"{name}.{block}"] = metric.function(samples, block)
    return values


def describe(name: str, labels: Labels | None = None) -> Metric:
    """Return what a metric is, given its name with or without a servo block.

    Args:
        name: Such as `rms_phi` or `rms_phi.tool`.
        labels: Where given, the unit is that for this robot and task.

    Raises:
        UnknownName: There is no such metric.
    """
    base, _, block = name.partition(".")
    if base not in METRICS or (block and not METRICS[base].per_block):
        raise unknown_name("metric", name, METRICS)
    metric = METRICS[base]
    return metric if labels is None else metric._replace(unit=unit_in(name, labels))


def unit_in(name: str, labels: Labels) -> str:
    """Return the unit of a metric for a robot and task with these labels: `m`, or `m, rad`."""
    unit = describe(name).unit
    rows = _rows(labels, name.partition(".")[2] or None)
    at_position = [labels.row_units[i] for i in rows]
    known = {
        "phi": common_unit(at_position),
        "beta": common_unit(per_second(entry) for entry in at_position),
        "passive_phi": common_unit(labels.passive_row_units),
        "force": common_unit(FIELDS["reaction_residual"].units(labels)),
        "u": common_unit(labels.actuator_units),
        "(u)^2 s": f"({common_unit(labels.actuator_units)})^2 s",
    }
    return known.get(unit, unit)
