"""What does the robot look like, and where is each part of it at a configuration?

In order: ``visual_model`` (a look), ``pose_kernels`` and ``visual_frames`` (where its parts are,
and what moves them); ``mesh_collector``, ``body_proportions``, ``skeleton`` (rods and joints where
no file shows any) and ``linkage_visual``; ``picture_visuals`` (what ``[[picture]]`` says);
``mesh_budget`` (what a page can bear of model files); ``build_visuals`` (all put together).
"""
