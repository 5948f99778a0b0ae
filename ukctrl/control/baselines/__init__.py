"""Classical laws that servo control is compared with.

In order: ``joint_space``, ``time_delay``, ``passivity``, along joint motions; ``task_space``, by
rows.
"""
