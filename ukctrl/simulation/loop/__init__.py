"""What happens between the law and the robot at a state, and when does something happen?

In order:

1. ``start_state``: where it begins. ``law_checks``: what a law must answer.
   ``late_inputs``: those on their way to the robot.
2. ``plants_over_time``: the true robot, as effects change it, and its integrator.
3. ``rate_slopes``: their Jacobian. ``row_grip``, ``recorder``, ``joint_error``: what is kept
   of a sample.
4. ``closed_loop``: robots and law made ready, the right-hand side, when to stop.
5. ``spans``: from which moment to which nothing happens.
6. ``provenance``: what a result says of its making.
"""

from ukctrl.simulation.loop.closed_loop import Loop

__all__ = ["Loop"]
