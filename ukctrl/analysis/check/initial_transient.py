r"""The way from a start off the rows back to them: a transient of the law's error dynamics.

The law makes it itself, on the true robot, without the rest of the bench, so that a limit shows
what is asked for and not what is left of it. Where the error of every row is linear, it has died
away once its slowest pole has taken `SETTLING_TIME_CONSTANTS` time constants; otherwise the way is
the whole run. So it is where the rows leave freedoms open: what these do afterwards depends on how
they began.
"""

from __future__ import annotations

import dataclasses as dc
from typing import final

import numpy as np

from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.task_motion import MAX_DOFS, TaskMotion
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import UkctrlError
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.simulate import simulate

CONSISTENCY_TOLERANCE = 1e-6
"""A start this close to the constraints counts as on them [unit of phi, of beta]."""
SETTLING_TIME_CONSTANTS = 10.0
"""Time constants after which an error is gone: below 0.1 % even with a double pole."""
MAX_SAMPLES = 2000
"""States of a way that are looked at, no more than one a control period."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class InitialTransient:
    """The way from the start to the rows."""

    motion: TaskMotion
    end: float
    """When the error has died away [s]; the end of the run where that is not known."""
    u: Matrix
    """What the law asks of the motors, shape ``(k, nu)``."""
    covers_run: bool
    """Whether it is all of the run, and so the motion itself."""
    failure: str
    """Why it breaks off before it is over; empty where it does not."""


def starts_off_rows(loop: Loop, lifts: ContactSchedule | None = None) -> bool:
    """Return whether a scenario starts off its servo rows, those that are served there."""
    loop.plant.move(loop.t0, loop.state.q, loop.state.v)
    served = lifts.phases[0].rows if lifts else loop.servo
    rows = served.write(loop.plant.snapshot)
    return bool((np.abs(np.nan_to_num([rows.phi, rows.beta])) > CONSISTENCY_TOLERANCE).any())


def initial_transient(
    loop: Loop, goal: TaskMotion, lifts: ContactSchedule | None = None
) -> InitialTransient | None:
    """Return the way from the start to the rows; None from a start that is on them, or where the
    law cannot take a step.

    Args:
        loop: The scenario, ready to run.
        goal: The motion that the task asks for.
        lifts: Which rows are served when; absent: all of them always.
    """
    if loop.robot.nv > MAX_DOFS or not starts_off_rows(loop, lifts):
        return None
    timing = loop.scenario.timing
    dying = min(timing.duration, _settling_time(loop))
    duration = timing.duration if goal.kind == "law" else dying
    interval = max(timing.control or 0.0, duration / MAX_SAMPLES)
    if timing.control:
        interval = timing.control * round(interval / timing.control)
        duration = max(duration, timing.control)
    try:
        timing = dc.replace(timing, duration=duration, sample=min(interval, duration))
        result = simulate(dc.replace(loop.scenario, timing=timing, effect=()), robot=loop.robot)
    except (UkctrlError, ArithmeticError):
        return None  # told elsewhere
    if not len(result.time):
        return None
    motion = TaskMotion(kind="law", t=result.time, q=result["q"], v=result["v"], a=result["a"])
    return InitialTransient(
        motion=motion,
        end=loop.t0 + dying,
        u=result["u"],
        covers_run=duration >= loop.scenario.timing.duration and result.status == "completed",
        failure=result.message,
    )


def _settling_time(loop: Loop) -> float:
    """Return how long the slowest error takes to die away [s]; without end where it does not, or
    where its law is not linear.
    """
    polynomials = loop.scenario.controller.error_polynomials(loop.law.stack)
    rates = [-max(pole.real for pole in polynomial.poles) for polynomial in polynomials]
    slowest = min(rates, default=0.0)
    return (
        SETTLING_TIME_CONSTANTS / slowest
        if slowest > 0.0 and len(rates) == len(loop.law.stack)
        else np.inf
    )
