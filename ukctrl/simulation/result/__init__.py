"""What does a run leave behind?

In order:

1. ``samples``: arrays over time, with names and units. ``measures``: norms of errors.
2. ``metrics``: named numbers of a run.
3. ``result``: all of it, with the status.
4. ``storage``: files.
"""
