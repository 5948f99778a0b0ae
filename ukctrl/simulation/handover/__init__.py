"""From a designed controller to one's own control loop.

In order: ``belief`` (what a law is started on, as a file); ``runtime`` (a class, and its
self-check); ``fresh_process`` (the same by another process); ``ros`` (a trajectory);
``hand_over`` (tables, a folder).
"""
