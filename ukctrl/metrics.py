r"""Named scalars of a run, each with its formula and unit.

A norm adds metres to radians ([`ukctrl.measures`][]), so judge mixed tasks by the metrics of
their blocks, `rms_phi.tool`.

Integrals over time use the trapezoidal rule on the samples. A metric that does not exist for
a run (no rows, no samples, not recorded) is NaN, and `null` in `summary.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ukctrl.errors import unknown_name
from ukctrl.measures import (
    energy_imbalance,
    error_norm,
    ground_forces,
    holonomic,
    integral,
    rows_of,
    running_integral,
    saturated,
    time_mean,
)
from ukctrl.samples import FIELDS, Labels, Samples, common_unit, per_second

__all__ = [
    "METRICS",
    "Metric",
    "compute",
    "describe",
    "unit_in",
]

SETTLED_FRACTION = 0.02
"""A run has settled when its error stays below this fraction of the initial error ..."""
SETTLED_FLOOR = 1e-4
"""... or below this, whichever is larger [m, rad]: 0.1 mm, or 0.006 degrees."""


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


def _input_travel(samples: Samples, block: str | None) -> float:
    time, u = samples.time, samples["u"]
    if len(time) < 2 or not u.size:
        return float("nan")
    with np.errstate(over="ignore"):
        return float(np.sum(np.abs(np.diff(u, axis=0))) / (time[-1] - time[0]))


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


def _ground_pull(samples: Samples, block: str | None) -> float:
    pulls = [-float(np.min(force.normal)) for force in ground_forces(samples)]
    return max(0.0, *pulls) if pulls else float("nan")


def _needed_friction(samples: Samples, block: str | None) -> float:
    ratios = [
        float(np.max(force.across[pushed] / force.normal[pushed]))
        for force in ground_forces(samples)
        if (pushed := force.normal > 0.0).any()
    ]
    return max(ratios, default=float("nan"))


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
        "input_travel": Metric(
            "u/s",
            "how far the inputs move from sample to sample, in total per second: what noise and "
            "chattering ask of the motors",
            r"\frac{1}{T} \sum_j \sum_k \lvert u_k(t_{j+1}) - u_k(t_j) \rvert",
            _input_travel,
        ),
        "ground_pull": Metric(
            "N",
            "largest force by which a contact would have to pull, which no ground does",
            r"\max_{t,k} \max(0, -\lambda_{n,k})",
            _ground_pull,
        ),
        "needed_friction": Metric(
            "1",
            "coefficient of friction that keeps every contact from slipping while it pushes",
            r"\max_{t,k} \lVert \lambda_{t,k} \rVert / \lambda_{n,k}",
            _needed_friction,
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
            "fraction of the time in which some input is at or beyond its limit, or at one that "
            "the allocation keeps",
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
    rows = rows_of(labels, name.partition(".")[2] or None)
    at_position = [labels.row_units[i] for i in rows]
    known = {
        "phi": common_unit(at_position),
        "beta": common_unit(per_second(entry) for entry in at_position),
        "passive_phi": common_unit(labels.passive_row_units),
        "force": common_unit(FIELDS["reaction_residual"].units(labels)),
        "u": common_unit(labels.actuator_units),
        "u/s": common_unit(per_second(entry) for entry in labels.actuator_units),
        "(u)^2 s": f"({common_unit(labels.actuator_units)})^2 s",
    }
    return known.get(unit, unit)
