"""What happens in one run? A scenario, its effects, the closed loop, result and verdicts.

In order:

1. ``result``: what a run leaves behind, in numbers and in words. ``effects``: what stands between
   law and robot. ``observers``: what sensors and a model tell of a state.
2. ``scenario``: one experiment, as its file has it. ``events``: when something happens.
3. ``assemble``: robots, rows and law as one closed loop. ``record``: what is recorded of a sample.
   ``step``: that loop from event to event, to its end. ``provenance``: what a result says of its
   making. ``simulate``: one run.
4. ``export``: from a designed controller to one's own control loop.

The way of a scenario through these files, from ``ukctrl run`` to its page, is a table of
`docs/contributing.md`. The rest is parts (constraints, feedbacks, allocations, effects), each asked
through its base class, and tools that these files call by name.
"""
