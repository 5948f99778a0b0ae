"""Classical laws that servo control is compared with.

``none``: no control. ``joint_space``, ``passivity``: along joint motions. ``task_space``: by rows.
"""
