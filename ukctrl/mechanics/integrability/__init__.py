"""Holonomic or nonholonomic: which velocity constraints can be integrated.

In order: ``lie_brackets`` (Lie brackets of rows) and ``multiprecision_rows`` (what rows
span, in text or sampled); ``first_integrals`` and ``numeric_rows`` (what a row integrates to);
``classify``, which gives the verdict.
"""
