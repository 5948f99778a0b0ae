"""Every metric: its unit, its formula, and what it judges."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ukctrl.core.kinds import modules_of
from ukctrl.simulation.result.metrics import metric_formulas
from ukctrl.simulation.result.metrics.metric import Metric


def _error_metrics(name: str, symbol: str, what: str) -> dict[str, Metric]:
    norm = rf"\lVert {symbol} \rVert"
    return {
        f"rms_{name}": Metric(
            name,
            f"root mean square over time of the {what}",
            rf"\sqrt{{\frac{{1}}{{T}} \int_0^T {norm}^2 \, dt}}",
            metric_formulas.rms(name),
            per_block=True,
            about_task=True,
        ),
        f"peak_{name}": Metric(
            name,
            f"largest {what}",
            rf"\max_t {norm}",
            metric_formulas.peak(name),
            per_block=True,
            about_task=True,
        ),
        f"final_{name}": Metric(
            name,
            f"{what} at the last sample",
            rf"{norm}(T)",
            metric_formulas.final(name),
            per_block=True,
            about_task=True,
        ),
    }


def _added() -> dict[str, Metric]:
    """Return the `METRIC`, by the file's name, of every other module beside this one."""
    modules = modules_of("ukctrl.simulation.result.metrics", without=("metric_table",))
    metrics = {module.__name__.rpartition(".")[2]: vars(module).get("METRIC") for module in modules}
    return {name: metric for name, metric in metrics.items() if metric is not None}


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
            metric_formulas.settling_time,
            about_task=True,
        ),
        "effort": Metric(
            "(u)^2 s", "time integral of u'u", r"\int_0^T u^\top u \, dt", metric_formulas.effort
        ),
        "peak_u": Metric(
            "u",
            "largest magnitude of any one input",
            r"\max_{t,k} \lvert u_k \rvert",
            metric_formulas.peak_u,
        ),
        "work": Metric(
            "J",
            "work that the inputs exchange, with no credit for what they get back",
            r"\int_0^T \sum_k \lvert u_k \rvert \, \lvert (B^\top v)_k \rvert \, dt",
            metric_formulas.work,
        ),
        "input_travel": Metric(
            "u/s",
            "how far the inputs move from sample to sample, in total per second: what noise and "
            "chattering ask of the motors",
            r"\frac{1}{T} \sum_j \sum_k \lvert u_k(t_{j+1}) - u_k(t_j) \rvert",
            metric_formulas.input_travel,
        ),
        "ground_pull": Metric(
            "N",
            "largest force by which a contact would have to pull, which no ground does",
            r"\max_{t,k} \max(0, -\lambda_{n,k})",
            metric_formulas.ground_pull,
        ),
        "needed_friction": Metric(
            "1",
            "coefficient of friction that keeps every contact from slipping while it pushes",
            r"\max_{t,k} \lVert \lambda_{t,k} \rVert / \lambda_{n,k}",
            metric_formulas.needed_friction,
        ),
        "peak_passive_phi": Metric(
            "passive_phi",
            "largest position-level error of the passive rows: how far a closed loop came open",
            r"\max_t \lVert \varphi_p \rVert",
            lambda samples, block: metric_formulas.peak("passive_phi")(samples, None),
            about_controller=False,
        ),
        "reaction_residual": Metric(
            "force",
            "largest part of the passive force that the passive rows cannot transmit",
            r"\max_t \lVert F_p - A_p^\top \lambda - c \rVert",
            metric_formulas.reaction_residual,
            about_controller=False,
        ),
        "reaction_work": Metric(
            "J",
            "energy that the reactions exchange because the passive rows drift",
            r"\int_0^T \lvert \lambda^\top \beta_p \rvert \, dt",
            metric_formulas.reaction_work,
            about_controller=False,
        ),
        "friction_loss": Metric(
            "J",
            "energy that passive constraints take because they are not ideal",
            r"-\int_0^T c^\top v \, dt",
            metric_formulas.friction_loss,
            about_controller=False,
        ),
        "energy_drift": Metric(
            "J",
            "largest change of total energy that no input or force accounts for",
            r"\max_t \left\lvert E(t) - E(0) - \int_0^t P \, ds \right\rvert",
            metric_formulas.energy_drift,
            about_controller=False,
        ),
        "saturated_fraction": Metric(
            "1",
            "fraction of the time in which some input is at or beyond its limit, or at one that "
            "the allocation keeps",
            r"\frac{1}{T} \int_0^T [\exists k: \lvert u_k \rvert \ge u_k^{\max}] \, dt",
            metric_formulas.saturated_fraction,
        ),
        "mean_tick_us": Metric(
            "us",
            "mean wall time of one controller tick",
            r"\overline{\Delta t}_\mathrm{tick}",
            None,
        ),
        **_added(),
    }
)
"""Every metric by name, in the order in which tables show them."""
