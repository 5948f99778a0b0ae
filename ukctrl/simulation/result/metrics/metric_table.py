"""Every metric: its meaning, unit and formula, and what it is of the samples of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.kind_registry import package_modules
from ukctrl.core.tie_breaking import max_abs
from ukctrl.simulation.result.metrics.inequality_metrics import INEQUALITY_METRICS
from ukctrl.simulation.result.metrics.metric import Metric, Value, metric_of
from ukctrl.simulation.result.sample_measures import (
    any_saturated,
    energy_imbalance,
    error_level,
    error_norm,
    ground_forces,
    integral,
    pairwise_sum,
    running_integral,
    time_mean,
)
from ukctrl.simulation.result.samples import Samples

SETTLED_FRACTION = 0.02
"""A run has settled when its error stays below this fraction of the initial error ..."""
SETTLED_FLOOR = 1e-4
"""... or below this, whichever is larger [m, rad]: 0.1 mm, or 0.006 degrees."""


def _error_metrics(name: str, symbol: str, quantity: str) -> dict[str, Metric]:
    norm = rf"\lVert {symbol} \rVert"
    definitions = {
        "rms": (
            _rms,
            f"root mean square over time of the {quantity}",
            rf"\sqrt{{\frac{{1}}{{T}} \int_0^T {norm}^2 \, dt}}",
        ),
        "peak": (_largest, f"largest {quantity}", rf"\max_t {norm}"),
        "final": (_last, f"{quantity} at the last sample", rf"{norm}(T)"),
    }
    return {
        f"{statistic}_{name}": Metric(
            name, description, formula, _norm_metric(name, number), per_block=True, about_task=True
        )
        for statistic, (number, description, formula) in definitions.items()
    }


def _norm_metric(name: str, number: Callable[[Array, Array], float]) -> Value:
    """Return a number of the norm of an error over time; NaN without samples."""

    def value(samples: Samples, block: str | None) -> float:
        norm = error_norm(samples, name, block)
        return number(samples.time, norm) if len(norm) else float("nan")

    return value


def _rms(time: Array, norm: Array) -> float:
    with np.errstate(over="ignore"):
        return float(np.sqrt(time_mean(time, norm * norm)))


def _largest(time: Array, norm: Array) -> float:
    return float(np.max(norm))


def _last(time: Array, norm: Array) -> float:
    return float(norm[-1])


@metric_of(
    "s",
    r"\min\{t : \lVert\varphi(s)\rVert \le \max(0.02\,\lVert\varphi(0)\rVert, 10^{-4})"
    r"\ \forall s \ge t\}",
    about_task=True,
)
def settling_time(samples: Samples, block: str | None) -> float:
    """Time after which the error stays below 2 % of its initial value, or below 1e-4 if that is
    larger; `beta` is the error if no row has a `phi`; no value if the error never settles.
    """
    norm, time = error_norm(samples, error_level(samples, block), block), samples.time
    if len(norm) == 0 or not np.isfinite(norm).all():
        return float("nan")
    threshold = max(SETTLED_FRACTION * norm[0], SETTLED_FLOOR)
    outside = np.flatnonzero(norm > threshold)
    if outside.size == 0:
        return 0.0
    last = int(outside[-1])
    if last == len(norm) - 1:
        return float("nan")
    # between two samples, so that the time does not go by the sampling interval
    fraction = (norm[last] - threshold) / (norm[last] - norm[last + 1])
    return float(time[last] + fraction * (time[last + 1] - time[last]) - time[0])


@metric_of("(u)^2 s", r"\int_0^T u^\top u \, dt")
def effort(samples: Samples, block: str | None) -> float:
    """Time integral of u'u."""
    if not samples.labels.actuators:
        return float("nan")
    with np.errstate(over="ignore"):
        squares = samples.over_time(lambda part: np.sum(part["u"] ** 2, axis=1))
        return integral(samples.time, squares)


@metric_of("u", r"\max_{t,k} \lvert u_k \rvert")
def peak_u(samples: Samples, block: str | None) -> float:
    """Largest magnitude of any one input."""
    if not samples["u"].size:
        return float("nan")
    return float(np.max(samples.over_time(lambda part: np.max(np.abs(part["u"]), axis=1))))


@metric_of("J", r"\int_0^T \sum_k \lvert u_k \rvert \, \lvert (B^\top v)_k \rvert \, dt")
def work(samples: Samples, block: str | None) -> float:
    """Time integral of the inputs' absolute power: energy that flows back is not subtracted."""
    if "actuator_rate" not in samples or not samples.labels.actuators:
        return float("nan")

    def power(chunk: Samples) -> Array:
        return np.asarray(np.sum(np.abs(chunk["u"]) * np.abs(chunk["actuator_rate"]), axis=1))

    return integral(samples.time, samples.over_time(power))


@metric_of("u/s", r"\frac{1}{T} \sum_j \sum_k \lvert u_k(t_{j+1}) - u_k(t_j) \rvert")
def input_travel(samples: Samples, block: str | None) -> float:
    """Sum of input changes from sample to sample, per second: large with noise or chattering."""
    time, u = samples.time, samples["u"]
    if len(time) < 2 or not u.size:
        return float("nan")
    inputs, flat = u.shape[1], u.reshape(-1)

    def steps(first: int, last: int) -> Array:
        # the same input a sample later; flat, so that a long run is not copied
        return np.abs(flat[first + inputs : last + inputs] - flat[first:last])

    with np.errstate(over="ignore"):
        return float(pairwise_sum(steps, 0, flat.size - inputs) / (time[-1] - time[0]))


@metric_of("N", r"\max_{t,k} \max(0, -\lambda_{n,k})")
def ground_pull(samples: Samples, block: str | None) -> float:
    """Largest pulling force that a contact would need; real ground cannot pull."""
    pulls = [-float(np.min(force.normal)) for force in ground_forces(samples)]
    return max(0.0, *pulls) if pulls else float("nan")


@metric_of("1", r"\max_{t,k} \lVert \lambda_{t,k} \rVert / \lambda_{n,k}")
def needed_friction(samples: Samples, block: str | None) -> float:
    """Smallest coefficient of friction at which no pushing contact slips."""
    ratios = [
        float(np.max(force.tangential_force[pushed] / force.normal[pushed]))
        for force in ground_forces(samples)
        # no coefficient holds what pulls: `ground_pull` tells of that
        if (pushed := force.normal > 0.0).any()
    ]
    return max(ratios, default=float("nan"))


@metric_of("s", r"\sum_k \int_0^T [k \text{ slides}] \, dt")
def sliding_time(samples: Samples, block: str | None) -> float:
    """Sliding time on ground with friction, summed over the contacts."""
    times = [
        integral(samples.time, force.is_sliding.astype(np.float64))
        for force in ground_forces(samples)
    ]
    return sum(times) if times and "passive_holds" in samples else float("nan")


PEAK_PASSIVE_PHI = Metric(
    "passive_phi",
    "largest position-level error of the passive rows, such as the gap of a closed loop",
    r"\max_t \lVert \varphi_p \rVert",
    _norm_metric("passive_phi", _largest),
    about_controller=False,
)


@metric_of("force", r"\max_t \lVert F_p - A_p^\top \lambda - c \rVert", about_controller=False)
def reaction_residual(samples: Samples, block: str | None) -> float:
    """Largest part of the passive force that the passive rows cannot transmit."""
    if "reaction_residual" not in samples or not len(samples):
        return float("nan")
    return float(np.max(samples["reaction_residual"]))


@metric_of("J", r"\int_0^T \lvert \lambda^\top \beta_p \rvert \, dt", about_controller=False)
def reaction_work(samples: Samples, block: str | None) -> float:
    """Absolute work of the reactions on the drift of the passive rows."""
    if "reaction_power" not in samples:
        return float("nan")
    return integral(samples.time, np.abs(samples["reaction_power"]))


@metric_of("J", r"-\int_0^T c^\top v \, dt", about_controller=False)
def friction_loss(samples: Samples, block: str | None) -> float:
    """Energy that non-ideal passive constraints dissipate."""
    if "nonideal_force" not in samples or not len(samples):
        return float("nan")
    power = -np.einsum("ki,ki->k", samples["nonideal_force"], samples["v"])
    return float(running_integral(samples.time, power)[-1])


@metric_of(
    "J", r"\max_t \left\lvert E(t) - E(0) - \int_0^t P \, ds \right\rvert", about_controller=False
)
def energy_drift(samples: Samples, block: str | None) -> float:
    """Largest change of total energy that no input or force accounts for."""
    imbalance = energy_imbalance(samples)
    return max_abs(imbalance) if len(imbalance) else float("nan")


def _estimate_error(samples: Samples, name: str) -> float:
    """Return the root mean square of an estimate's error but for the last sample, no tick."""
    if name not in samples or len(samples) < 2:
        return float("nan")
    return _rms(samples.time[:-1], np.linalg.norm(samples[name][:-1], axis=1))


@metric_of(
    "q", r"\sqrt{\frac{1}{T} \int_0^T \lVert q \ominus \hat q \rVert^2 dt}", about_controller=False
)
def rms_estimate(samples: Samples, block: str | None) -> float:
    """Root mean square over time of the error of the estimated configuration."""
    return _estimate_error(samples, "q_estimate_error")


@metric_of(
    "v", r"\sqrt{\frac{1}{T} \int_0^T \lVert v - \hat v \rVert^2 dt}", about_controller=False
)
def rms_estimate_v(samples: Samples, block: str | None) -> float:
    """Root mean square over time of the error of the estimated velocity."""
    return _estimate_error(samples, "v_estimate_error")


@metric_of(
    "d", r"\sqrt{\frac{1}{T} \int_0^T \lVert d - \hat d \rVert^2 dt}", about_controller=False
)
def rms_disturbance(samples: Samples, block: str | None) -> float:
    """Root mean square over time of the error of the estimated disturbance, a generalised force."""
    return _estimate_error(samples, "disturbance_error")


@metric_of("1", r"\frac{1}{n N} \sum_k e_k^\top P_k^{-1} e_k", about_controller=False)
def mean_nees(samples: Samples, block: str | None) -> float:
    """Squared estimation error over the observer's covariance, per state: 1 on average if the
    covariance is right, more if it is too small.
    """
    if "nees" not in samples or not np.isfinite(samples["nees"][:-1]).any():
        return float("nan")
    # the last sample is no tick: its estimate is a period old
    return float(np.nanmean(samples["nees"][:-1]))


@metric_of("1", r"\frac{1}{T} \int_0^T [\exists k: \lvert u_k \rvert \ge u_k^{\max}] \, dt")
def saturated_fraction(samples: Samples, block: str | None) -> float:
    """Fraction of the time in which some input is at or beyond its limit, or at a limit of the
    allocation.
    """
    if not samples.labels.actuators:
        return float("nan")
    return time_mean(samples.time, any_saturated(samples).astype(np.float64))


def _plugin_metrics() -> dict[str, Metric]:
    """Return the `METRIC`, by the file's name, of every other module beside this one."""
    modules = package_modules("ukctrl.simulation.result.metrics", without=("metric_table",))
    metrics = {module.__name__.rpartition(".")[2]: vars(module).get("METRIC") for module in modules}
    return {name: metric for name, metric in metrics.items() if metric is not None}


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        **_error_metrics("phi", r"\varphi", "position-level error of the servo rows"),
        **_error_metrics("beta", r"\beta", "velocity-level error of the servo rows"),
        "settling_time": settling_time,
        "effort": effort,
        "peak_u": peak_u,
        "work": work,
        "input_travel": input_travel,
        "ground_pull": ground_pull,
        "needed_friction": needed_friction,
        "sliding_time": sliding_time,
        "peak_passive_phi": PEAK_PASSIVE_PHI,
        "reaction_residual": reaction_residual,
        "reaction_work": reaction_work,
        "friction_loss": friction_loss,
        "energy_drift": energy_drift,
        "saturated_fraction": saturated_fraction,
        **INEQUALITY_METRICS,
        "rms_estimate": rms_estimate,
        "rms_estimate_v": rms_estimate_v,
        "rms_disturbance": rms_disturbance,
        "mean_nees": mean_nees,
        "mean_tick_us": Metric(
            "us",
            "processor time of one controller tick",
            r"\overline{\Delta t}_\mathrm{tick}",
            None,
        ),
        "late_programs": Metric(
            "1",
            "ticks whose program was not solved within a control period on this machine",
            r"\#\{k : \Delta t_{\mathrm{program},k} > h\}",
            None,
        ),
        **_plugin_metrics(),
    }
)
"""Every metric by name, in the order in which tables show them."""
