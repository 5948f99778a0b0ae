"""Model predictive control: a linear-quadratic law, and the least change that keeps the limits.

In order: ``horizon_kernels`` (what the law leads to, and what inputs change of it);
``horizon`` (the ticks ahead, their limits); ``qp`` (a quadratic program again and again);
``mpc_diagnostics`` (what is told of it); ``model_predictive`` (the law).
"""
