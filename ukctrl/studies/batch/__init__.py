"""How are many runs computed at a time, and what is kept of each?

In order:

1. ``task``: what a task is, how tasks are treated, and what comes of one that is lost.
2. ``mismatch_level``: by how much its robot differs. ``run_summary``: one run as a task, the seed
   that it has, and what is kept of it.
3. ``environment_fingerprint``: whether another process computes the same numbers.
4. ``worker``: what happens where they are computed, and how their owner sees how far they are.
5. ``executors``: where that is: on this machine, or in somebody else's executor.
6. ``thread_safety``: whether threads can compute some.
7. ``task_runner``: computes them in this process, or hands them over, some at a time.
8. ``run_store``: runs in a journal, none of which is made again; ``dask_cluster``: the executor of
   a Dask cluster.
"""
