"""Regulators about an equilibrium.

``riccati``: optimal gains. ``regulator``: what all share; LQR and LQI. ``pole_placement``.
"""
