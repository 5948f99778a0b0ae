"""How are many runs computed at a time, and what is kept of each?

In order:

1. ``task``: what a task is, how tasks are treated, and what comes of one that is lost.
2. ``run_outcome``: one run as a task, the seed that it has, and what is kept of it.
3. ``worker``: what happens where they are computed, and how their owner sees how far they are.
4. ``places``: where that is: on this machine, or in somebody else's executor.
5. ``crew``: computes them in this process, or hands them over, some at a time.
"""
