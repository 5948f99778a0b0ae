"""Robots without a model file: a Lagrangian in text, or Python functions, in plain coordinates.

The parts, each on those before it: ``plant`` (what both are); ``lagrangian`` and ``functions``;
``recipe`` (what a robot was made from); ``formula_structure``; ``build_plant``.
"""
