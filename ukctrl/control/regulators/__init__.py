"""Regulators about an equilibrium.

In order: ``riccati`` (optimal gains); ``regulator`` (what all share; LQR and LQI);
``pole_placement``.
"""
