"""Regulators about an equilibrium or along a motion.

``riccati``: optimal gains. ``regulator``: what those about an equilibrium share; ``lqr``,
``pole_placement``. ``tvlqr``: along a motion.
"""
