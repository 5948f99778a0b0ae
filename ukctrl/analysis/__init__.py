"""What can be known of a scenario before it runs?

In order:

1. ``linear``: poles, zeros and margins near a state.
2. ``internal_dynamics``: what the task leaves to itself, and whether that runs away.
3. ``check``: does it fit together, can the robot do it, what will go wrong.
4. ``conformance``: whether a part of one's own does what every part must.
"""
