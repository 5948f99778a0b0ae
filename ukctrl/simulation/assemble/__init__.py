"""How do a scenario's robots, rows and law become one closed loop?

In order:

1. ``scenario_robots``: the true robot and the one that the law believes in. ``start_state``: where
   a run begins. ``retimed_rows``: servo rows, with paths that are worked out from the robot.
   ``law_checks``: type, shape and finiteness of every command. ``joint_units``: units of what is
   given by joint.
2. ``plant_sequence``: the true robot, as effects change it, and its integrator. ``start_law``: the
   law, on the robot that it believes in.
3. ``right_hand_side``: from a state to its acceleration, under a continuous or a held input.
   ``loop``: all of it, ready to be stepped.
"""

from ukctrl.simulation.assemble.loop import Loop

__all__ = ["Loop"]
