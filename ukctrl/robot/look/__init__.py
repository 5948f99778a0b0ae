"""What does the robot look like, and where is each part of it at a configuration?

In order: ``rotations``, ``meshes`` (simple shapes as triangles) and ``parts`` (a look, and where
its parts are); ``pose_kernels`` and ``carriers`` (what moves the parts);
``mesh_files``, ``shapes`` (of links), ``urdf_visuals``, ``mjcf_visuals`` and ``visuals`` (what
model files show); ``drawing``, ``proportions``, ``skeleton`` (rods and joints where no file shows
any) and ``linkage_look``; ``pictures`` (what ``[[picture]]`` says); ``look_of`` (all put together).
"""
