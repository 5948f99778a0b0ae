"""Time integration of a state ``(q, v, memory)``, on the manifold of the configuration.

Two families behind one face, `Integrator.advance`: SciPy's adaptive methods, and methods of a
fixed step.
"""

from __future__ import annotations

from ukctrl.mechanics.integrate.adaptive import Adaptive
from ukctrl.mechanics.integrate.fixed_step import FixedStep
from ukctrl.mechanics.integrate.held_step import Held, HeldStep
from ukctrl.mechanics.integrate.integrator import IntegrationFailed, Integrator, State, System

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
