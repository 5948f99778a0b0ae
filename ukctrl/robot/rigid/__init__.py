"""Rigid bodies as arrays: their terms in machine code, and how Pinocchio's model becomes them.

In order: ``tree_kernels`` (the terms of bodies), ``regressor_kernels`` (what motions take of them),
``derivative_kernels`` (how they change with the state), ``com_kernels`` (all of them as one mass),
``rigid_snapshot``, ``rigid_structure``,
``pinocchio_tree`` and ``pinocchio_structure``.
"""
