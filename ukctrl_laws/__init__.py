"""Laws of one kind of robot, one task or one method, as plug-ins of ``ukctrl``.

The package stands on all of ``ukctrl``, which names its controllers in ``core/entry_points``, as it
takes those of other distributions; its public names in ``__init__`` and ``control/__init__``; its
commands in ``cli/learn`` and ``cli/tune``.

In order: ``io_linearisation`` (rows of high relative degree); ``swing_up`` (energy into
underactuated robots); ``switching`` (several laws for one task); ``thrust_vectoring`` (bodies that
push along one axis); ``predictive`` (limits over a horizon); ``fuzzy`` (the gain of a robust law);
``learning`` (trials of one task).
"""
