"""Robots without a model file: a Lagrangian in text, or Python functions, in plain coordinates.

The parts, each on those before it: ``plant`` (both, and what they have in common); ``recipe`` (what
a robot was made from); ``formula_structure``; ``build_plant``.
"""
