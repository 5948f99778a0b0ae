"""What does the robot look like, and where is each part of it at a configuration?

In order: ``pose_kernels``, ``rotations``, ``meshes`` (simple shapes as triangles), ``parts`` (a
look, and where its parts are) and ``carriers`` (what moves them);
``mesh_files``, ``shapes`` (of links), ``urdf_visuals`` and ``visuals`` (what model files show);
``drawing``, ``proportions``, ``skeleton`` (rods and joints where no file shows any) and
``linkage_look``; ``pictures`` (what ``[[picture]]`` says); ``look_of`` (all put together);
``capsule_around`` (the smallest around a link).
"""
