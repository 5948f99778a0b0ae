"""From a designed controller to one's own control loop.

``runtime``: a class, and its self-check. ``ros``: a trajectory. ``hand_over``: tables, a folder.
"""
