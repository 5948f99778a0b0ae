"""Regulators about an equilibrium or along a motion: LQR and its kin, pole placement."""
