"""Where the model of rigid bodies comes from: files, several files, linkages.

In order: ``packages`` (by the rules of ROS) and ``quiet`` (silence for libraries); ``macros`` (of
ROS, expanded); ``source`` (a checked text); on it ``urdf`` (what is read of one, and what is not),
``build`` (the model, by Pinocchio), ``text`` (what another text says that the model does not) and
``joined_models``; ``composite`` and ``maximal`` (a linkage as free bodies) and
``particles``.
"""
