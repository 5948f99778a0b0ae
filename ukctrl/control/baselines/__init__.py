"""Classical laws that servo control is compared with.

In order: ``joint_space``, ``passivity``, along joint motions; ``task_space``, by rows.
"""
