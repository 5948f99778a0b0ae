"""Regulators about an equilibrium.

In order: ``riccati`` (optimal gains); ``state_deviation`` (from an equilibrium, or a motion);
``regulator`` (what all share; LQR and LQI);
``pole_placement``.
"""
