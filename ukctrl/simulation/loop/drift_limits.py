"""What ends a run early: constraints that come apart further than a scenario allows."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.core.errors import UkctrlError
from ukctrl.core.extremes import first_largest
from ukctrl.simulation.loop.recorder import Recorder
from ukctrl.simulation.scenario import Monitor


class Drifted(UkctrlError, RuntimeError):
    """A constraint came apart further than the scenario's monitor allows."""


@final
class Watch:
    """The limits of a scenario's monitor.

    Args:
        monitor: The limits.
        passive: Whether the robot has passive constraints.
    """

    def __init__(self, monitor: Monitor, passive: bool) -> None:
        self._limits = [("phi", monitor.max_phi)] if monitor.max_phi is not None else []
        if passive:
            self._limits.append(("passive_phi", monitor.max_passive_phi))
            self._limits.append(("passive_beta", monitor.max_passive_beta))

    def check(self, recorder: Recorder) -> None:
        """Look at the last sample.

        Raises:
            Drifted: It is beyond a limit.
        """
        k = recorder.count - 1
        for name, limit in self._limits:
            off = np.nan_to_num(recorder.arrays[name][k])
            if np.linalg.norm(off) > limit:
                known = recorder.labels()
                rows = known.passive_rows if name.startswith("passive") else known.rows
                raise Drifted(
                    f"{name} reached {np.linalg.norm(off):.2e} at t = {recorder.time[k]:.6g} s, "
                    f"most on row '{rows[first_largest(np.abs(off))]}'; the monitor allows "
                    f"{limit:.2e}."
                )
