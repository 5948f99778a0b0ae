"""The log of a real robot that a run was played against: signals of the run, at its own times.

Each is called after the quantity that it is of, such as ``logged_q``, and has the names of its
entries.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.tie_breaking import max_abs
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.quantities import FIELDS, Labels, common_unit
from ukctrl.simulation.result.sample_measures import time_mean
from ukctrl.simulation.result.samples import Samples, SignalSeries

PREFIX = "logged_"
CHANNELS = ("q", "v", "u", "phi", "beta", "actuator_rate", "frame_position")
"""Quantities that a log can have."""
COMPARED = ("q", "v", "u")
"""Those that sensors say, which are compared one by one."""


class LogDifference(NamedTuple):
    """How far one simulated channel is from what was logged."""

    quantity: str
    """``q``, ``v`` or ``u``."""
    name: str
    """Of the coordinate, velocity or motor."""
    unit: str
    rms: float
    """Root mean square over time."""
    largest: float


def is_logged(name: str) -> bool:
    """Whether a signal is a channel of the log."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX) in CHANNELS


def logged_signals(channels: Mapping[str, Array], labels: Labels) -> dict[str, SignalSeries]:
    """Return the channels of a log as signals of a run.

    Args:
        channels: Arrays by the names of `CHANNELS`, at the run's times and of the same shapes as
            the run's own; entries that were not logged are NaN.
        labels: The run's.
    """
    signals = {}
    for name, array in channels.items():
        field = FIELDS[name]
        entries = itertools.product(*(labels.names[dim] for dim in field.dims))
        if not array.size:  # such as frames where no row holds any
            continue
        signals[PREFIX + name] = SignalSeries(
            values=array.reshape(len(array), -1),
            units=common_unit(field.units(labels)),
            long_name=f"{field.long_name} in the log",
            components=tuple(".".join(entry) for entry in entries),
        )
    return signals


def logged_samples(samples: Samples) -> Samples | None:
    """Return the log beside the samples of a run, as samples; None where there is none."""
    labels, arrays = samples.labels, {}
    for name in CHANNELS:
        shape = tuple(len(labels.names[dim]) for dim in FIELDS[name].dims)
        if PREFIX + name in samples.signals:
            arrays[name] = samples[PREFIX + name].reshape(len(samples), *shape)
    return Samples.build(samples.time, arrays, labels) if arrays else None


def log_metrics(logged: Samples) -> dict[str, float]:
    """Return the metrics of a log, as of a run; NaN where it lacks what they are made of."""
    values = metrics.compute(logged)
    # a missing input is at no limit, nor within its limits
    if not np.isfinite(logged["u"]).all():
        values["saturated_fraction"] = float("nan")
    return values


def log_differences(samples: Samples) -> tuple[LogDifference, ...]:
    """Return how far a run is from its log, channel by channel, as far as they were logged."""
    logged, differences = logged_samples(samples), list[LogDifference]()
    if logged is None or not len(samples):
        return ()
    for quantity in COMPARED:
        field, labels = FIELDS[quantity], samples.labels
        entries = zip(labels.names[field.dims[0]], field.units(labels), strict=True)
        for k, (name, unit) in enumerate(entries):
            e = samples[quantity][:, k] - logged[quantity][:, k]
            if np.isfinite(e).all():
                rms = float(np.sqrt(time_mean(samples.time, e**2)))
                differences.append(LogDifference(quantity, name, unit, rms, max_abs(e)))
    return tuple(differences)
