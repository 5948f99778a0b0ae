"""Result of a run: samples, status, provenance, metrics, and its files.

`result["u"]` is a NumPy array, `result.metric("rms_phi")` a number and `result.data` the
labelled xarray dataset; only the last one imports xarray.
"""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import did_you_mean
from ukctrl.core.files import AnyPath
from ukctrl.core.notebook_repr import NotebookRepr
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import result_files, sample_measures
from ukctrl.simulation.result.atomic_files import finite_or_none, to_plain_data, utf8_text
from ukctrl.simulation.result.column_files import data_frame
from ukctrl.simulation.result.logged_channels import log_differences, log_metrics, logged_samples
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.run_record import STATUSES, RunRecord, Status
from ukctrl.simulation.result.samples import Samples, SignalSeries
from ukctrl.simulation.result.verdicts import RunVerdict, judge, run_verdict

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["STATUSES", "Labels", "Result", "SignalSeries", "Status"]


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result(RunRecord, NotebookRepr):
    """One finished, failed or interrupted run.

    Make one with [`Result.build`][ukctrl.Result.build] or read one back
    with [`Result.load`][ukctrl.Result.load]. In a notebook it shows itself.
    """

    repr_module: ClassVar[str] = "ukctrl.reports.notebook_card"

    @staticmethod
    def build(
        *,
        time: ArrayLike,
        samples: Mapping[str, ArrayLike],
        labels: Labels,
        status: Status,
        message: str = "",
        signals: Mapping[str, SignalSeries] | None = None,
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
        return Result.from_samples(
            Samples.build(time, samples, labels, signals),
            status=status,
            message=message,
            scenario=scenario or {},
            provenance=provenance or {},
        )

    @staticmethod
    def from_samples(
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
            message=utf8_text(message),
            scenario=to_plain_data(scenario, "scenario"),
            provenance=to_plain_data(provenance, "provenance"),
            samples=samples,
        )

    if not TYPE_CHECKING:  # for which it would have every attribute

        def __getattr__(self, name: str) -> Any:
            # only asked for what is no attribute
            samples = self.__dict__.get("samples")
            advice = did_you_mean(name, [n for n in dir(Result) if n[0] != "_"])
            if samples is not None and name in samples:
                advice = f"; write result['{name}']."
            raise AttributeError(f"a Result has no attribute '{name}'{advice}")

    def __repr__(self) -> str:
        n, names = len(self.samples), self.names
        span = f"{self.time[-1] - self.time[0]:g} s in {n} samples" if n else "no samples"
        return f"<Result {names['scenario'] or 'of a run'!r}: {self.status}, {span}>"

    @functools.cached_property
    def data(self) -> xr.Dataset:
        """The labelled dataset, as in `result.nc`.

        Raises:
            InputError: xarray is not installed.
        """
        return result_files.dataset(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return all samples as a DataFrame by `time` [s]: one column for each number, such as
        ``u.elbow``, ``phi.tool.x`` or ``energy``.

        Raises:
            InputError: pandas is not installed.
        """
        return data_frame("Result.to_pandas", result_files.sample_columns(self.samples), "time")

    @functools.cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every verdict that the recorded data allow, as [`judge`][ukctrl.judge] returns them."""
        return judge(self)

    @functools.cached_property
    def belief(self) -> RunVerdict:
        """The verdict on the whole, with its reasons: whether the run is to be believed."""
        return run_verdict(self, self.verdicts)

    @functools.cached_property
    def logged(self) -> Samples | None:
        """The log of a real robot that the run was played against, at the run's times.

        NaN stands for what was not logged; None: there is no log.
        """
        return logged_samples(self.samples)

    @functools.cached_property
    def log_metrics(self) -> dict[str, float]:
        """Every metric of that log by name; empty where there is none."""
        return {} if self.logged is None else log_metrics(self.logged)

    @property
    def status_level(self) -> Level:
        """How good the news of its status is: a run that is not to be believed is never good."""
        ended = {"completed": self.belief.level, "interrupted": self.belief.level}
        return ended.get(self.status, "bad")

    def summary(self) -> dict[str, Any]:
        """Return what `summary.json` holds: names, status, verdict, metrics and provenance.

        Numbers that are not finite are None, as JSON has no NaN.
        """
        return {
            **self.names,
            "status": self.status,
            "message": self.message,
            "verdict": self.belief.verdict,
            "verdict_reasons": [reason._asdict() for reason in self.belief.reasons],
            "metrics": {name: finite_or_none(value) for name, value in self.metrics.items()},
            **self._reactions(),
            **self._log(),
            "provenance": finite_or_none(self.provenance),
        }

    def _reactions(self) -> dict[str, Any]:
        """Return the largest reaction of every passive constraint, where there are any."""
        peaks = sample_measures.reaction_peaks(self.samples)
        entries = [peak._asdict() | {"value": finite_or_none(peak.value)} for peak in peaks]
        return {"reactions": entries} if entries else {}

    def _log(self) -> dict[str, Any]:
        """Return the metrics of a log, and how far the run is from it, where there is one."""
        if self.logged is None:
            return {}
        differences = [one._asdict() for one in log_differences(self.samples)]
        return {"log": finite_or_none({"metrics": self.log_metrics, "differences": differences})}

    def plot(self, name: str) -> Any:
        """Return the Matplotlib figure of a quantity over time, such as ``"u"``, or one of the
        page, such as ``"path"``.

        Raises:
            UnknownName: There is nothing of this name; the message says what there is.
        """
        return self.load_repr_module().figure_of(self, name)

    def show(self) -> Any:
        """Show the robot move: in a notebook below the cell, else as a page in the browser."""
        return self.load_repr_module().show(self)

    def identical(self, reference: Result) -> bool:
        """Whether both runs hold the same bits in every array, under the same names."""
        ours, theirs = _every_array(self.samples), _every_array(reference.samples)
        return (
            self.status == reference.status
            and self.labels == reference.labels
            and ours.keys() == theirs.keys()
            and all(
                # bytes, since NaN equals no NaN, and 0.0 equals -0.0
                array.shape == theirs[name].shape and array.tobytes() == theirs[name].tobytes()
                for name, array in ours.items()
            )
        )

    @explain_argument_errors
    def save(self, directory: AnyPath) -> Path:
        """Write `result.nc`, `summary.json` and `scenario.toml`, each in one atomic step.

        Returns:
            The directory, which is made when it does not exist.
        """
        return result_files.save(self, self.summary(), Path(directory))

    @staticmethod
    @explain_argument_errors
    def load(path: AnyPath) -> Result:
        """Read a result back from the directory it was saved in, or from its `result.nc`.

        Raises:
            InputError: There is no result, or it cannot be read.
        """
        return Result(**result_files.load(Path(path)))


def _every_array(samples: Samples) -> dict[str, NDArray[np.float64]]:
    return {name: samples[name] for name in ("time", *samples.arrays, *samples.signals)}
