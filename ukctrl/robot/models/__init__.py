"""Where the model of rigid bodies comes from: files, several files, linkages.

In order: ``packages`` (by the rules of ROS) and ``quiet`` (silence for libraries); ``macros`` (of
ROS, expanded); ``source`` (a checked text); on it ``urdf`` (what is read of one, and what is not),
``build`` (the model, by Pinocchio) and ``joined_models``; ``maximal`` (a linkage as free bodies)
and ``particles``; ``parsed`` (what all of them make of a file).
"""
