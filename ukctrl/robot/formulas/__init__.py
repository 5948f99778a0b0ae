"""Robots without a model file: a Lagrangian in text, or Python functions, in plain coordinates.

In order: ``equation_plants`` (both, and what they have in common);
``coordinate_structure`` (and what it was made from); ``build_plant``.
"""
