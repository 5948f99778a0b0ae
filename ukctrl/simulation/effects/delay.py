"""How long a delay is: in seconds, or in ticks."""

from __future__ import annotations

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Count, Seconds, spec
from ukctrl.simulation.effects.effect import Bench, Effect


@spec
class Late(Effect):
    """What the delays share."""

    time: Seconds | None = None
    """How late [s]; or else ``ticks``."""
    ticks: Count | None = None
    """How late, in control periods."""

    @model_validator(mode="after")
    def _one_length(self) -> Late:
        if (self.time is None) == (self.ticks is None):
            came = "neither" if self.time is None else "both"
            raise InputError(f"needs either time [s] or ticks; got {came}.")
        return self


def late(delay: Late, bench: Bench) -> float:
    """Return the length of a delay [s].

    Raises:
        InputError: It is as long as the run.
    """
    length = delay.time if delay.time is not None else (delay.ticks or 0) * (bench.period or 0.0)
    if not length < bench.duration:
        raise InputError(
            f"the delay must be shorter than the run, {bench.duration:g} s; got {length:g} s."
        )
    return length
