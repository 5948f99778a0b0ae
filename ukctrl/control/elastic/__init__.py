"""Control of links that their motors drive through springs.

In order:

1. ``elastic_motors``: what every such law asks of the joints, and the way to their motors.
2. ``derivatives_along_motion`` and ``rigid_link_servo``: what the springs should do, and how that
   goes on.
3. ``elastic_row_laws``: by rows. ``elastic_tracking``: along a planned motion.
"""
