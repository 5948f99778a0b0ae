"""Holonomic or nonholonomic: which velocity constraints can be integrated.

In order: ``multiprecision_rows`` (rows in text, with many digits, for the brackets of
`ukctrl.mechanics.integrability`); ``first_integrals`` (what a row integrates to); ``classify``,
which gives the verdict.
"""
