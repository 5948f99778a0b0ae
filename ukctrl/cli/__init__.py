"""What is typed, and what does the terminal show?

In order:

1. ``completion``: what a Tab gives. ``arguments``, ``options``: from what is typed to scenarios,
   cards and folders.
2. ``terminal``: what is shown. ``job_options``: where runs are made. ``workspace``: a user's own,
   and the schemas of its files.
3. ``catalogue``: what there is, and what kind it is.
4. One file a command: ``view``, ``run``, ``check``, ``analyze``, ``compare``, ``tune``, ``learn``,
   ``identify``, ``sweep``, ``report``, ``export``, ``reproduce``, ``list``; ``init_schema`` has
   `init` and `schema`.
5. ``study_file``: their options as
   keys of a file. ``main``: the command line; ``__main__`` calls it for ``python -m ukctrl.cli``.
"""

from ukctrl.cli.main import main

__all__ = ["main"]
