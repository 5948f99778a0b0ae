"""Which laws and motions serve rows of a high relative degree, as messages name them."""

from __future__ import annotations

from ukctrl.robot import Robot

ELASTIC_KINDS = (
    'kind = "elastic_linearisation", "elastic_singular_perturbation", "elastic_cascade" or '
    '"elastic_tracking"'
)
"""The laws whose motors move links through elastic joints."""
LINEARISE = 'kind = "io_linearisation"'
"""The law that differentiates rows as often as needed."""
PLANNED = 'kind = "feedforward" or "tvlqr" with along.kind ='
"""The controllers that follow a motion worked out before the run."""


def through_springs(robot: Robot) -> str:
    """Return what moves links through elastic joints; empty where there are none."""
    if robot.elastic is None:
        return ""
    return f"Motors reach it through the springs of elastic joints: use {ELASTIC_KINDS}."


def solved_by(internal: int | None, extended: bool) -> str:
    """Return what follows rows of a high relative degree.

    Args:
        internal: How many states the rows leave as internal dynamics; None where it is not known.
        extended: Whether the inputs come out of the rows only together, after further derivatives.
    """
    plans = '"flat" or "servo_dae"' if internal == 0 else '"servo_dae" or "stable_inversion"'
    motion = f"a motion worked out before the run, {PLANNED} {plans}"
    if extended:
        return f"Use {motion}."
    where = "" if internal == 0 else ", if the internal dynamics are stable"
    return f"Use {LINEARISE}{where}; or {motion}."
