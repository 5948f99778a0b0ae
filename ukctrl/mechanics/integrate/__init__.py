"""Time integration of a state ``(q, v, memory)``, on the manifold of the configuration.

Two families behind one face, `Integrator.advance`. In order: ``integrator`` (what both are), and
on it ``step_over`` (past singular positions), ``adaptive`` (SciPy's methods), ``fixed_step`` and
``held_step`` (one step in less time).
"""
