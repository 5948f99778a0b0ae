"""Time integration of a state ``(q, v, memory)``, on the manifold of the configuration.

In order: ``system`` (a closed loop as integrators see it: a table from a state to its rates);
``fixed_kernels`` and ``explicit_kernels`` (a step, compiled) with their ``tableaux``;
``held_kernels`` (span after span, compiled); ``explicit`` (one step at a time); ``integrator``
(what all methods are); ``fixed_step``, ``step_over`` (past singular positions) and ``adaptive``.
"""
