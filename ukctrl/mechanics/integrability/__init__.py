"""Holonomic or nonholonomic: which velocity constraints can be integrated.

In order: ``brackets`` (Lie brackets of rows) and ``spaces`` (what rows
span, in text or sampled); ``integrals`` and ``sampled_rows`` (what a row integrates to);
``classify``, which gives the verdict.
"""
