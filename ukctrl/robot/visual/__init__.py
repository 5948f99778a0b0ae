"""What does the robot look like, and where is each part of it at a configuration?

In order: ``pose_kernels``, ``quaternions``, ``primitive_meshes`` (simple shapes as triangles),
``visual_model`` (a look, and where its parts are) and ``visual_frames`` (what moves them);
``mesh_files``, ``link_shapes`` (of links), ``urdf_visuals`` and ``model_shapes`` (what model files
show); ``mesh_collector``, ``body_proportions``, ``skeleton`` (rods and joints where no file shows
any) and ``linkage_visual``; ``picture_visuals`` (what ``[[picture]]`` says); ``build_visuals`` (all
put together); ``fitted_capsule`` (the smallest around a link).
"""
