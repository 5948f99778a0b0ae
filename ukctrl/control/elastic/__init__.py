"""Control of links that their motors drive through springs.

In order:

1. ``elastic_motors``: what every such law asks of the joints, and the way to their motors.
2. ``ahead_kernels`` and ``links``: what the springs should do, and how that goes on.
3. ``laws``: by rows. ``tracking``: along a planned motion.
"""
