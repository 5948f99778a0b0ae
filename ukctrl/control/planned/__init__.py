"""Motions worked out before the run, and the laws that hold to them."""
