"""Holonomic or nonholonomic: which velocity constraints can be integrated."""
