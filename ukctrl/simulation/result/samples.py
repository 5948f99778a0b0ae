"""The arrays of one run, checked and frozen."""

from __future__ import annotations

import dataclasses as dc
import functools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, ShapeError, unknown_name
from ukctrl.simulation.result.quantities import AXIS_TEXTS, FIELDS, Labels
from ukctrl.simulation.result.sample_store import SampleStore


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class SignalSeries:
    """One quantity that a controller recorded about itself, such as an adapted gain."""

    values: ArrayLike
    """One value, or one row of values, per sample: shape `(n,)` or `(n, k)`."""
    units: str = "1"
    """Unit of all its components."""
    long_name: str = ""
    """What it is, in words."""
    components: tuple[str, ...] = ()
    """Names of the k components; numbered from 0 when left out."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """The arrays of one run, all with time as their first axis.

    `samples["phi"]` is a read-only float64 array. Made by
    [`Samples.build`][ukctrl.simulation.result.samples.Samples.build].
    """

    time: Array
    """Sampling times, shape `(n,)` [s]."""
    arrays: Mapping[str, Array]
    signals: Mapping[str, SignalSeries]
    labels: Labels
    store: SampleStore | None = None
    """Where they lie, if that is no concern of somebody else."""

    def __getitem__(self, name: str) -> Array:
        # else all of a long run would be in memory once all of it was looked at
        self.release()
        if name == "time":
            return self.time
        if name in self.arrays:
            return self.arrays[name]
        if name in self.signals:
            return np.asarray(self.signals[name].values)
        raise unknown_name("variable", name, ["time", *self.arrays, *self.signals])

    def release(self) -> None:
        """Let go of what was read of a long run; what is looked at again is read again."""
        if self.store is not None:
            self.store.release()

    def over_time(self, function: Callable[[Samples], NDArray[Any]]) -> NDArray[Any]:
        """Return what a function makes of every sample; of a long run, part by part.

        Args:
            function: Gives an array with time as its first axis, each entry from one sample.
        """
        count, step = len(self), len(self) if self.store is None else self.store.step
        if count <= step:
            return function(self)
        # a part of one sample might be summed in another order
        step += count % step == 1
        whole = np.empty(0)
        for first in range(0, count, step):
            chunk = function(self._rows(slice(first, first + step)))
            if not first:
                whole = np.empty((count, *chunk.shape[1:]), chunk.dtype)
            whole[first : first + step] = chunk
        return whole

    @functools.cached_property
    def worked_out(self) -> dict[Any, NDArray[Any]]:
        """What was made of the arrays and will be asked for again; that of a long run is not."""
        return {}

    def once(self, key: Any, function: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return what a function makes of the arrays, which of a short run it makes once.

        Args:
            key: What it is known by.
            function: Its array is not to be changed.
        """
        # of a long run nothing is kept in memory but what is being looked at
        if self.store is not None and not self.store.in_memory:
            return function()
        if key not in self.worked_out:
            self.worked_out[key] = function()
        return self.worked_out[key]

    def _rows(self, rows: slice) -> Samples:
        signals = {
            name: dc.replace(signal, values=np.asarray(signal.values)[rows])
            for name, signal in self.signals.items()
        }
        arrays = {name: array[rows] for name, array in self.arrays.items()}
        return dc.replace(self, time=self.time[rows], arrays=arrays, signals=signals)

    def __contains__(self, name: object) -> bool:
        return name == "time" or name in self.arrays or name in self.signals

    def __len__(self) -> int:
        return len(self.time)

    def __reduce__(self) -> tuple[object, ...]:
        """Let another process have a copy, as frozen as this one."""
        return Samples.build, (self.time, dict(self.arrays), self.labels, dict(self.signals))

    @staticmethod
    def build(
        time: ArrayLike,
        samples: Mapping[str, ArrayLike],
        labels: Labels,
        signals: Mapping[str, SignalSeries] | None = None,
        store: SampleStore | None = None,
    ) -> Samples:
        """Check, copy and freeze the arrays of one run.

        Args:
            time: Sampling times, shape `(n,)` [s], finite and never decreasing; n may be 0.
            samples: Arrays by the names of `FIELDS`. Those that every
                result has but this run did not record may be left out: they read as zeros for
                the passive rows' forces, and as NaN otherwise.
            labels: The names that give every array its shape.
            signals: A controller's own signals.
            store: What the arrays are from: they are frozen already, and need not be copied.

        Raises:
            ShapeError: An array does not have the shape that its labels imply.
            UnknownName: An array has a name that no result knows.
        """
        # arrays of a store are frozen, and too long to copy
        frozen = _frozen if store is None else np.asarray
        instants: Array = frozen(time)
        if instants.ndim != 1 or not np.isfinite(instants).all() or (np.diff(instants) < 0).any():
            raise ShapeError(
                "time must be a finite vector that never decreases; "
                f"got {instants.dtype} of shape {instants.shape}."
            )
        for name in samples:
            if name not in FIELDS:
                raise unknown_name("sampled quantity", name, FIELDS)
        n, names = len(instants), labels.names
        arrays = {}
        for name, field in FIELDS.items():
            shape = (n, *(len(names[dim]) for dim in field.dims))
            if name in samples:
                arrays[name] = _shaped(name, frozen(samples[name]), shape)
            elif field.always:
                absent = 0.0 if name == "passive_force" else np.nan
                arrays[name] = _frozen(np.full(shape, absent))
        checked_signals = {
            name: check_signal(name, signal, n, store is None)
            for name, signal in (signals or {}).items()
        }
        return Samples(
            time=instants,
            arrays=MappingProxyType(arrays),
            signals=MappingProxyType(checked_signals),
            labels=labels,
            store=store,
        )


def _frozen(values: ArrayLike) -> Array:
    array = np.array(values, dtype=np.float64, order="C")
    array.flags.writeable = False
    return array


def _shaped(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape != shape and array.size == 0 and 0 in shape:
        # an empty list has lost its other axes
        array = _frozen(array.reshape(shape))
    if array.shape != shape:
        raise ShapeError(f"{name} must have shape {shape}; got {array.shape}.")
    return array


def check_signal(name: str, signal: SignalSeries, n: int, copied: bool = True) -> SignalSeries:
    """Return a signal of so many samples, frozen and with a name for every component.

    Raises:
        InputError: Its name is none that a file can hold; ShapeError: its shape.
    """
    reserved_names = {
        "time",
        "effort_limit",
        "keep_margin",
        *FIELDS,
        *(text.name for text in AXIS_TEXTS),
    }
    if name in reserved_names or not re.fullmatch(r"[\w.]+", name):
        raise InputError(
            f"a signal's name must be a word that no other variable has; got '{name}'. "
            "Rename the signal in the controller."
        )
    values: Array = _frozen(signal.values) if copied else np.asarray(signal.values)
    if values.ndim not in (1, 2) or len(values) != n:
        raise ShapeError(f"signal '{name}' must have shape ({n},) or ({n}, k); got {values.shape}.")
    count = values.shape[1] if values.ndim == 2 else 0
    components = tuple(signal.components) or tuple(str(i) for i in range(count))
    if len(components) != count:
        raise ShapeError(f"signal '{name}' must name its {count} components; got {components}.")
    return dc.replace(signal, values=values, components=components)
