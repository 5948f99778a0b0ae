"""Time integration of a state ``(q, v, memory)``, on the manifold of the configuration.

In order: ``ode_system`` (a closed loop as integrators see it: a table from a state to its rates);
``fixed_step_kernels`` and ``runge_kutta_kernels`` (a step, compiled) with their
``butcher_tableaux``; ``interval_kernels`` (a run's intervals, compiled); ``explicit_solver`` (one
step at a time); ``integrator`` (what all methods are); ``fixed_step_integrator``,
``singularity_crossing`` (past singular positions) and ``adaptive_integrator``.
"""
