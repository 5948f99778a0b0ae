"""What is typed, and what does the terminal show?

In order:

1. ``arguments``, ``options``: from what is typed to scenarios, cards and folders.
2. ``terminal``: what is shown. ``places``: where runs are made. ``workspace``: a user's own, and
   the schemas of its files.
3. ``completion``: what a Tab gives. ``catalogue``: what there is, and what kind it is.
4. One file a command: ``view``, ``run``, ``check``, ``analyze``, ``compare``, ``tune``,
   ``learn``, ``sweep``, ``report``, ``export``, ``reproduce``, ``list``; ``files`` has `init` and
   `schema`.
5. ``panels``: heads and completions of their parameters. ``main``: the command line; ``__main__``
   calls it for ``python -m ukctrl.cli``.
"""

from ukctrl.cli.main import main

__all__ = ["main"]
