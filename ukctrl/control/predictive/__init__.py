"""Model predictive control: a linear-quadratic law, and the least change that keeps the limits.

In order: ``horizon_kernels`` (what the law leads to, and what inputs change of it);
``horizon`` (the ticks ahead, their limits); ``least_change`` (a quadratic program again and again);
``account`` (what is told of it); ``model_predictive`` (the law).
"""
