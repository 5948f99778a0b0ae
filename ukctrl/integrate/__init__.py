"""Time integration of a state ``(q, v, memory)``, on the manifold of the configuration.

Two families behind one face, `Integrator.advance`: SciPy's adaptive methods, and methods of a
fixed step.
"""

from __future__ import annotations

from ukctrl.integrate.adaptive import Adaptive
from ukctrl.integrate.base import IntegrationFailed, Integrator, State, System
from ukctrl.integrate.fixed_step import FixedStep
from ukctrl.integrate.held import Held, HeldStep

__all__ = [
    "Adaptive",
    "FixedStep",
    "Held",
    "HeldStep",
    "IntegrationFailed",
    "Integrator",
    "State",
    "System",
]
