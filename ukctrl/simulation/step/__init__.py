"""How does an assembled loop advance in time?

In order: ``reset`` (arrays of a loop as they were before its first run), ``plant_tables`` (kernel
sequences for tick, sample, arrival and guard of one plant), ``linked_sequence`` (such a sequence as
one function, where it runs for long), ``stepper`` (integrates from event to event) and
``simulation_run`` (to the end, or to what stops it).
"""
