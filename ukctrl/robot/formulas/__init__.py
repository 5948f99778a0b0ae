"""Robots without a model file: a Lagrangian in text, or Python functions, in plain coordinates.

In order: ``plant`` (both, and what they have in common);
``formula_structure`` (and what it was made from); ``build_plant``.
"""
