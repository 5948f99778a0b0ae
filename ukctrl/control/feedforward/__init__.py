"""Motions worked out before the run, and the laws that hold to them.

In order: ``nominal_motion_kernels`` and ``nominal_motion``, with the input that makes it;
``inversion``, from the rows, whatever the relative degree; ``feedforward_laws``, what follows it.
"""
