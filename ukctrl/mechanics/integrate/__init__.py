"""Time integration of a state ``(q, v, memory)``, on the manifold of the configuration.

Two families behind one face, `Integrator.advance`. The parts: ``integrator`` (what both are), and
on it ``adaptive`` (SciPy's methods), ``fixed_step`` and ``held_step`` (one step in less time).
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
