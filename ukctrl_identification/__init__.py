"""From logs of a real robot to a model that one may believe, as a package beside ``ukctrl``.

It stands on all of ``ukctrl``, which has its command in ``cli/identify``.

In order: ``joint_log`` (what sensors said) and ``identified_dynamics`` (what becomes of it).
"""
