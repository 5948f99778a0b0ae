"""What happens between the law and the robot at a state, and when does something happen?

In order:

1. ``scenario_robots``; ``start_state``: where it begins; ``optimised_rows``, ``timed_rows``: the
   rows, with paths that are worked out from the robot. ``law_checks``: what a law must answer.
   ``late_inputs``: those on their way to the robot. ``contact_events``: modes of contacts, and
   impacts. ``spans``: from which moment to which nothing happens.
2. ``plants_over_time``: the true robot, as effects change it, and its integrator.
3. ``law_start``: the law, on the robot that it believes in. ``rates``: from a state to its
   acceleration. ``rate_slopes``: their Jacobian.
4. ``row_grip``, ``sample_kernels``, ``recorder``, ``joint_error``: what is kept of a sample.
5. ``closed_loop``: robots and law made ready, and all that happens as tables.
6. ``around``: many spans by machine code. ``rewind``: what runs have left, put back. ``running``:
   from span to span. ``simulation``: to the end, or to what stops it. ``provenance``: what a
   result says of its making.
"""

from ukctrl.simulation.loop.closed_loop import Loop

__all__ = ["Loop"]
