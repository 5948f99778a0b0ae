"""From a designed controller to one's own control loop.

In order: ``runtime`` (a class, and its self-check); ``ros`` (a trajectory); ``hand_over`` (tables,
a folder).
"""
