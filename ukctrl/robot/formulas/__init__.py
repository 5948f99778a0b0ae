"""Robots without a model file: a Lagrangian in text, or Python functions, in plain coordinates."""
