"""References: paths r(t) and orientations R(t), each with its exact derivatives.

Every kind reads from a table such as ``{ kind = "circle", center = [0.3, 0.0, 0.2], radius = 0.1,
period = 2.0 }`` and is also an ordinary class: ``Circle(center=(0.3, 0.0, 0.2), radius=0.1,
period=2.0)``. ``path(t)`` samples it; ``path.compile()`` returns the fast function for loops.

In order: ``taylor``, ``rotations``, ``rest_to_rest`` and ``csv_columns``; ``reference`` (what a
path is); ``piecewise_polynomial``, ``formula_path`` and ``function_path``; ``closed_form``,
``planar`` and ``waypoints``; ``timing_options``, ``composite_paths`` and ``orientation``.
`Optimised` is of the package ``ukctrl_optimal``, `Exciting` of ``ukctrl_identification``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ukctrl.mechanics.reference.reference import Path, Reference, Sample

# First, for the union below loads parts of other distributions, which derive from it.
# isort: split
from ukctrl.mechanics.reference.closed_form import Constant, Harmonic, HarmonicSum, Line, Polynomial
from ukctrl.mechanics.reference.composite_paths import (
    AnyReference,
    Repeated,
    Retimed,
    Stacked,
    TimeScaled,
)
from ukctrl.mechanics.reference.formula_path import Expression
from ukctrl.mechanics.reference.orientation import (
    AboutAxis,
    AnyOrientation,
    ConstantOrientation,
    OrientationPath,
    OrientationReference,
    OrientationSample,
    OrientationWaypoints,
    RetimedOrientation,
    RollPitchYaw,
    TimeScaledOrientation,
)
from ukctrl.mechanics.reference.planar import Circle, Helix, Lemniscate
from ukctrl.mechanics.reference.waypoints import MinJerk, RestToRest, Spline, Table

if TYPE_CHECKING:
    from ukctrl_identification.exciting_path import Exciting
    from ukctrl_optimal.optimised_path import Optimised

__all__ = [
    "AboutAxis",
    "AnyOrientation",
    "AnyReference",
    "Circle",
    "Constant",
    "ConstantOrientation",
    "Exciting",
    "Expression",
    "Harmonic",
    "HarmonicSum",
    "Helix",
    "Lemniscate",
    "Line",
    "MinJerk",
    "Optimised",
    "OrientationPath",
    "OrientationReference",
    "OrientationSample",
    "OrientationWaypoints",
    "Path",
    "Polynomial",
    "Reference",
    "Repeated",
    "RestToRest",
    "Retimed",
    "RetimedOrientation",
    "RollPitchYaw",
    "Sample",
    "Spline",
    "Stacked",
    "Table",
    "TimeScaled",
    "TimeScaledOrientation",
]


PLANNED = {
    "Exciting": "ukctrl_identification.exciting_path",
    "Optimised": "ukctrl_optimal.optimised_path",
}
"""Paths that are worked out from a robot, and the modules beside ``ukctrl`` that have them."""


def __getattr__(name: str) -> Any:
    if name not in PLANNED:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(PLANNED[name]), name)
