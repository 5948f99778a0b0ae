"""What a run leaves behind: samples, status, provenance, metrics, and its files.

`result["u"]` is a NumPy array, `result.metric("rms_phi")` a number and `result.data` the
labelled xarray dataset; only the last one imports xarray.
"""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.core.errors import unknown_name
from ukctrl.simulation.result import measures, storage
from ukctrl.simulation.result import metrics as _metrics
from ukctrl.simulation.result.plain_files import finite_or_none, plain, writable
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.samples import Samples, Signal

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["STATUSES", "Labels", "Result", "Signal", "Status"]

Status = Literal["completed", "diverged", "infeasible", "drifted", "interrupted"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""`completed`: reached the end. `diverged`: the state stopped being finite or bounded, or the
controller answered with numbers that are not finite or too many or few. `infeasible`: the servo
constraint asked for what no input gives. `drifted`: a passive constraint came apart.
`interrupted`: stopped from outside, or by an error that a controller raised."""


@dc.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    """One finished, failed or interrupted run.

    Make one with [`Result.build`][ukctrl.Result.build] or read one back
    with [`Result.load`][ukctrl.Result.load].
    """

    status: Status
    """How the run ended; one of [`STATUSES`][ukctrl.simulation.result.result.STATUSES]."""
    message: str
    """Why it ended so, in a sentence; empty when there is nothing to say."""
    scenario: Mapping[str, Any]
    """The fully resolved scenario, as it would stand in a TOML file."""
    provenance: Mapping[str, Any]
    """Where the numbers come from: names, versions, seed, time stamps, timing, audit."""
    samples: Samples
    """The arrays."""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise unknown_name("status", str(self.status), STATUSES)

    @staticmethod
    def build(
        *,
        time: ArrayLike,
        samples: Mapping[str, ArrayLike],
        labels: Labels,
        status: Status,
        message: str = "",
        signals: Mapping[str, Signal] | None = None,
        scenario: Mapping[str, Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> Result:
        """Check and freeze what a run recorded.

        Args:
            time: Sampling times, shape `(n,)` [s]; n may be 0.
            samples: Arrays by the names of `samples.FIELDS`, time first.
            labels: The names and units along every axis.
            status: How the run ended.
            message: Why it ended so.
            signals: What the controller recorded about itself, by name.
            scenario: The fully resolved scenario. Entries that are None are left out, as TOML
                has no such value.
            provenance: Free, but the report knows `scenario`, `robot` and `controller` (names),
                `versions` (a mapping), `seed`, `created`, `machine`, `gains` (`"given"` or
                `"tuned"`), `timing` (`mean_tick_us`, `ticks`, `wall_seconds`) and `audit`
                (mappings with `level`, `code`, `subject` and `message`).

        Raises:
            ShapeError: An array does not have the shape that its labels imply.
            UnknownName: The status or the name of an array is none of those that exist.
            InputError: A value of `scenario` or `provenance` cannot be written to a file.
        """
        return Result.of(
            Samples.build(time, samples, labels, signals),
            status=status,
            message=message,
            scenario=scenario or {},
            provenance=provenance or {},
        )

    @staticmethod
    def of(
        samples: Samples,
        *,
        status: Status,
        message: str,
        scenario: Mapping[str, Any],
        provenance: Mapping[str, Any],
    ) -> Result:
        """Return the result with these samples; the rest is as in `build`."""
        return Result(
            status=status,
            message=writable(message),
            scenario=plain(scenario, "scenario"),
            provenance=plain(provenance, "provenance"),
            samples=samples,
        )

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return one variable as a read-only array, time first."""
        return self.samples[name]

    def __repr__(self) -> str:
        n, names = len(self.samples), self.names
        span = f"{self.time[-1] - self.time[0]:g} s in {n} samples" if n else "no samples"
        return f"<Result {names['scenario'] or 'of a run'!r}: {self.status}, {span}>"

    @property
    def time(self) -> NDArray[np.float64]:
        """Sampling times, shape `(n,)` [s]."""
        return self.samples.time

    @property
    def labels(self) -> Labels:
        """The names and units along every axis."""
        return self.samples.labels

    @property
    def switches(self) -> tuple[float, ...]:
        """When the controller switched from one mode to another [s]; empty for one law."""
        return tuple(float(t) for t in self.provenance.get("switches") or ())

    @functools.cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric by name; NaN where it does not exist for this run."""
        timing = self.provenance.get("timing")
        return _metrics.compute(self.samples, timing if isinstance(timing, Mapping) else None)

    def metric(self, name: str) -> float:
        """Return one metric, such as `"rms_phi"` or, for one servo block, `"rms_phi.tool"`.

        Raises:
            UnknownName: There is no such metric.
        """
        if name not in self.metrics:
            raise unknown_name("metric", name, self.metrics, limit=40)
        return self.metrics[name]

    @functools.cached_property
    def data(self) -> xr.Dataset:
        """The labelled dataset, as in `result.nc`."""
        return storage.dataset(self._record())

    @property
    def names(self) -> dict[str, str]:
        """Names of the scenario, the robot and the controller; empty where unknown."""
        return {
            key: str(self.provenance.get(key) or "") or _name_in(self.scenario, key)
            for key in ("scenario", "robot", "controller")
        }

    @property
    def title(self) -> str:
        """The scenario's title, or its name."""
        return str(self.scenario.get("title") or "") or self.names["scenario"] or "A run"

    def summary(self) -> dict[str, Any]:
        """Return what `summary.json` holds: names, status, metrics and provenance.

        Numbers that are not finite are None, as JSON has no NaN.
        """
        return {
            **self.names,
            "status": self.status,
            "message": self.message,
            "metrics": {name: finite_or_none(value) for name, value in self.metrics.items()},
            **self._reactions(),
            "provenance": finite_or_none(self.provenance),
        }

    def _reactions(self) -> dict[str, Any]:
        """Return the largest reaction of every passive constraint, where there are any."""
        peaks = measures.reaction_peaks(self.samples)
        entries = [peak._asdict() | {"value": finite_or_none(peak.value)} for peak in peaks]
        return {"reactions": entries} if entries else {}

    def identical(self, other: Result) -> bool:
        """Whether both runs hold the same bits in every array, under the same names."""
        ours, theirs = _every_array(self.samples), _every_array(other.samples)
        return (
            self.status == other.status
            and self.labels == other.labels
            and ours.keys() == theirs.keys()
            and all(
                array.shape == theirs[name].shape and array.tobytes() == theirs[name].tobytes()
                for name, array in ours.items()
            )
        )

    def save(self, directory: str | Path) -> Path:
        """Write `result.nc`, `summary.json` and `scenario.toml`, each in one atomic step.

        Returns:
            The directory, which is made when it does not exist.
        """
        return storage.save(self._record(), self.summary(), Path(directory))

    @staticmethod
    def load(path: str | Path) -> Result:
        """Read a result back from the directory it was saved in, or from its `result.nc`.

        Raises:
            InputError: There is no result, or it cannot be read.
        """
        return Result(**storage.load(Path(path)))

    def _record(self) -> storage.Record:
        return storage.Record(
            samples=self.samples,
            title=self.title,
            status=self.status,
            message=self.message,
            scenario=self.scenario,
            provenance=self.provenance,
        )


def _every_array(samples: Samples) -> dict[str, NDArray[np.float64]]:
    return {name: samples[name] for name in ("time", *samples.arrays, *samples.signals)}


def _name_in(scenario: Mapping[str, Any], key: str) -> str:
    """Return the best name the scenario itself has for its robot, its controller or itself."""
    entry = scenario if key == "scenario" else scenario.get(key)
    if isinstance(entry, Mapping):
        keys = ("name", "title") if key == "scenario" else ("name", "use", "title", "kind")
        return next((str(entry[k]) for k in keys if entry.get(k)), "")
    return str(entry) if isinstance(entry, str) else ""
