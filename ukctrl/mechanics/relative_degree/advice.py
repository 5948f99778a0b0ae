"""Which laws and motions serve rows of a high relative degree, as messages name them."""

from __future__ import annotations

from ukctrl.robot import ElasticJoints, Robot

SERVO_ADVICE = "the card 'servo-baumgarte'"
"""What follows rows that have no joint motion."""
ELASTIC_KINDS = (
    'kind = "elastic_linearisation", "elastic_singular_perturbation", "elastic_cascade" or '
    '"elastic_tracking"'
)
"""The laws whose motors move links through elastic joints without damping."""
DAMPED_KINDS = 'kind = "elastic_singular_perturbation" or "elastic_cascade"'
"""Those of them that take springs with damping too."""
LINEARISE = 'kind = "io_linearisation"'
"""The law that differentiates rows as often as needed."""
HIGHEST_OF_DAE = 4
"""Rows of a higher relative degree make a DAE that collocation does not solve."""
PLANNED = 'kind = "feedforward" or "tvlqr" with along.kind ='
"""The controllers that follow a motion worked out before the run."""


def elastic_kinds(joints: ElasticJoints) -> str:
    """Return the laws whose motors move links through these springs."""
    return DAMPED_KINDS if joints.damping.any() else ELASTIC_KINDS


def elastic_advice(robot: Robot) -> str:
    """Return what moves links through elastic joints; empty where there are none."""
    if robot.elastic is None:
        return ""
    kinds = elastic_kinds(robot.elastic)
    return f"Motors reach it through the springs of elastic joints: use {kinds}."


def recommend_law(
    internal: int | None, extended: bool, highest: int | None, rows: int, inputs: int
) -> str:
    """Return what follows rows of a high relative degree.

    Args:
        internal: How many states the rows leave as internal dynamics; None where it is not known.
        extended: Whether the inputs come out of the rows only together, after further derivatives.
        highest: The highest relative degree of a row; None where it is not known.
        rows: How many rows there are.
        inputs: How many inputs.
    """
    methods = []
    if not extended:
        methods.append(
            LINEARISE if internal == 0 else f"{LINEARISE}, if the internal dynamics are stable"
        )
    plans = ['"flat"'] if internal == 0 else []
    if highest is None or highest <= HIGHEST_OF_DAE:
        plans.append('"servo_dae"')
        if internal != 0:
            plans.append('"stable_inversion"')
    if plans and rows == inputs:
        methods.append(f"a motion worked out before the run, {PLANNED} {' or '.join(plans)}")
    if methods:
        return f"Use {'; or '.join(methods)}."
    if rows < inputs:
        return (
            f"Hold what the inputs leave free by further rows, {inputs} in all: then a motion can "
            f"be worked out before the run, {PLANNED} {' or '.join(plans)}."
        )
    return "Hold other rows."
