r"""Named scalars of a run, each with its formula and unit.

A norm adds metres to radians, so judge mixed tasks by the metrics of their blocks, `rms_phi.tool`.

Integrals over time use the trapezoidal rule on the samples. A metric that does not exist for a run
(no rows, no samples, not recorded) is NaN, and `null` in `summary.json`.

In order: ``metric`` (what one is), ``inequality_metrics`` (of what the law keeps) and
``metric_table`` (all of them).
"""

from __future__ import annotations

from collections.abc import Mapping

from ukctrl.core.errors import unknown_name
from ukctrl.simulation.result.metrics.metric import Metric
from ukctrl.simulation.result.metrics.metric_table import METRICS
from ukctrl.simulation.result.quantities import FIELDS, Labels, common_unit, per_second
from ukctrl.simulation.result.samples import Samples

__all__ = [
    "METRICS",
    "Metric",
    "block_metric_names",
    "compute",
    "describe",
    "less_is_better",
    "unit_in",
]


def compute(samples: Samples, timing: Mapping[str, object] | None = None) -> dict[str, float]:
    """Return every metric of a run, those of single blocks (`rms_phi.tool`) last.

    Args:
        samples: The arrays of the run.
        timing: Wall-clock facts, of which `mean_tick_us` and `late_programs` become metrics.
    """
    values: dict[str, float] = {}
    for name, metric in METRICS.items():
        if metric.function is None:
            value = (timing or {}).get(name)
            values[name] = float(value) if isinstance(value, int | float) else float("nan")
        else:
            values[name] = metric.function(samples, None)
    blocks = samples.labels.blocks
    for name in block_metric_names(samples.labels):
        base, _, block = name.partition(".")
        metric = METRICS[base]
        # the block has all rows: its value is known
        if metric.per_block and len(blocks) == 1:
            values[name] = values[base]
        elif metric.function is not None:
            values[name] = metric.function(samples, block)
    return values


def block_metric_names(labels: Labels) -> list[str]:
    """Return the names of all metrics of single blocks: `rms_phi.tool`, `worst_margin.wall`."""
    entries = [(name, metric) for name, metric in METRICS.items() if metric.function is not None]
    rows = [f"{name}.{block}" for block in labels.blocks for name, m in entries if m.per_block]
    keep_names = [
        f"{name}.{block}" for block in labels.keep_blocks for name, m in entries if m.per_keep
    ]
    return [*rows, *keep_names]


def describe(name: str, labels: Labels | None = None) -> Metric:
    """Return what a metric is, given its name with or without a servo block.

    Args:
        name: Such as `rms_phi` or `rms_phi.tool`.
        labels: Where given, the unit is that for this robot and task.

    Raises:
        UnknownName: There is no such metric.
    """
    base, _, block = name.partition(".")
    if base not in METRICS or (block and not (METRICS[base].per_block or METRICS[base].per_keep)):
        raise unknown_name("metric", name, METRICS)
    metric = METRICS[base]
    return metric if labels is None else metric._replace(unit=unit_in(name, labels))


def less_is_better(name: str) -> bool:
    """Tell whether a run is better with less of something: a metric, or what is none."""
    metric = METRICS.get(name.partition(".")[0])
    return metric is None or not metric.more_is_better


def unit_in(name: str, labels: Labels) -> str:
    """Return the unit of a metric for a robot and task with these labels: `m`, or `m, rad`."""
    unit = describe(name).unit
    match unit:
        case "phi" | "beta":
            rows = labels.block_rows(name.partition(".")[2] or None)
            units = [labels.row_units[i] for i in rows]
            return common_unit(units if unit == "phi" else map(per_second, units))
        case "keep":
            indices = labels.kept_rows(name.partition(".")[2] or None)
            return common_unit(labels.keep_row_units[i] for i in indices)
        case "passive_phi":
            return common_unit(labels.passive_row_units)
        case "force":
            return common_unit(FIELDS["reaction_residual"].units(labels))
        case "d":
            return common_unit(FIELDS["disturbance_error"].units(labels))
        case "q" | "v":
            return common_unit(FIELDS[f"{unit}_estimate_error"].units(labels))
        case "u":
            return common_unit(labels.actuator_units)
        case "u/s":
            return common_unit(map(per_second, labels.actuator_units))
        case "(u)^2 s":
            return f"({common_unit(labels.actuator_units)})^2 s"
    return unit
