"""One run as it was recorded: what files hold and verdicts judge."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import unknown_name
from ukctrl.simulation.result import metrics as _metrics
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.samples import Samples

Status = Literal["completed", "diverged", "infeasible", "drifted", "interrupted"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""`completed`: reached the end. `diverged`: the motion could not be continued: it grew without
bound, contacts or modes have no consistent state, or the law's answer was no input. `infeasible`:
the servo constraint asked for what no input gives. `drifted`: beyond a limit of `[monitor]`.
`interrupted`: stopped from outside, or by an error that a controller raised."""
STOPPED = "stopped by the user"
"""How the message of a run begins that somebody has stopped, if only after its last sample."""


@dc.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunRecord:
    """A run, with nothing said about it yet."""

    status: Status
    """How the run ended; one of [`STATUSES`][ukctrl.simulation.result.run_record.STATUSES]."""
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

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return one variable as a read-only array, time first."""
        return self.samples[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a variable."""
        return name in self.samples

    @property
    def stopped_by_user(self) -> bool:
        """Whether the user has stopped it, and with it what would have followed."""
        return self.message.startswith(STOPPED)

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


def _name_in(scenario: Mapping[str, Any], key: str) -> str:
    """Return the best name the scenario itself has for its robot, its controller or itself."""
    entry = scenario if key == "scenario" else scenario.get(key)
    if isinstance(entry, Mapping):
        keys = ("name", "title") if key == "scenario" else ("name", "use", "title", "kind")
        return next((str(entry[k]) for k in keys if entry.get(k)), "")
    return str(entry) if isinstance(entry, str) else ""
