"""When does something happen between two steps of the integrator?

In order: ``input_delay`` (a ring buffer of inputs on their way to the robot), ``contact_events``
(contact mode transitions: opening, sliding, sticking, impact) and ``event_schedule`` (the queue of
ticks, arrivals, plant changes and outputs, merged into intervals).
"""
