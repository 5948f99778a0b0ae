"""Whether a controller still answers what it answered in a simulation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ukctrl.core.errors import InputError
from ukctrl.simulation.handover.runtime import Runtime


class Replay(NamedTuple):
    """A controller beside the table of a run."""

    ticks: int
    """How many inputs were compared."""
    worst: float
    """Largest difference of an input [N m, N]; exactly 0 where it is the simulated controller."""
    at: float
    """When [s]."""
    mean_us: float
    """Mean time of a step, by the wall, but for the first, which may compile [us]."""

    def __str__(self) -> str:
        """Return it as a sentence."""
        same = "every input is the simulated one, bit for bit"
        agreement = (
            same if self.worst == 0.0 else f"inputs differ by {self.worst:.3g} at {self.at:g} s"
        )
        return f"{self.ticks} ticks: {agreement}; {self.mean_us:.0f} us a step."


def replay(runtime: Runtime, motion: str | Path) -> Replay:
    """Step a controller through the measured states of a run, and compare its inputs.

    Args:
        runtime: The controller; it is restarted.
        motion: The run's `motion.csv`, with one sample a tick.

    Raises:
        InputError: The table is not of this robot, or cannot be read.
    """
    path = Path(motion)
    try:
        with path.open(encoding="utf-8") as file:
            header = file.readline().strip().split(",")
            table = dict(zip(header, np.loadtxt(file, delimiter=",", ndmin=2).T, strict=True))
    except (OSError, ValueError) as error:
        raise InputError(f"'{path}' is not a readable table: {error}.") from error
    names = {
        "q": [f"q.{name}" for name in runtime.coordinates],
        "v": [f"v.{name}" for name in runtime.dofs],
        "u": [f"u.{name}" for name in runtime.inputs],
    }
    instead = {"q": "q_measured", "v": "v_measured", "u": "u_commanded"}
    columns = {}
    for key, wanted in names.items():
        seen = [name.replace(key, instead[key], 1) for name in wanted]
        chosen = seen if set(seen) <= set(table) else wanted
        missing = [name for name in ("time", *chosen) if name not in table]
        if missing:
            raise InputError(
                f"'{path}' must have a column '{missing[0]}'; it is of another robot, or no table "
                "of a motion."
            )
        columns[key] = np.column_stack([table[name] for name in chosen])
    runtime.restart()
    worst, at, spent = 0.0, float("nan"), list[float]()
    times = table["time"]
    times = times[: int(np.count_nonzero(times < runtime.end))]  # at the end no tick is due
    for t, q, v, u in zip(times.tolist(), columns["q"], columns["v"], columns["u"], strict=False):
        began = time.perf_counter()
        answer = runtime.step(t, q, v)
        spent.append(time.perf_counter() - began)
        difference = float(np.abs(answer - u).max(initial=0.0))
        if difference > worst:
            worst, at = difference, t
    return Replay(len(times), worst, at, 1e6 * float(np.mean(spent[1:] or spent or [0.0])))
