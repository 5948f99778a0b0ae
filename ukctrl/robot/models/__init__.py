"""Where the model of rigid bodies comes from: files, several files, linkages.

In order: ``ros_packages`` (by the rules of ROS) and ``captured_stderr`` (silence for libraries);
``xacro`` (of ROS, expanded); ``model_source`` (a checked text); on it ``urdf`` (what is read of
one, and what is not), ``build_model`` (the model, by Pinocchio) and ``join_urdfs``;
``linkage_model`` (a linkage as free bodies) and ``particle_model``; ``parsed_model`` (what all of
them make of a file).
"""
