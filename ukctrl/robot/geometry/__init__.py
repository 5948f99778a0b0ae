"""Which shapes do links have, and which capsule is the smallest around one?

In order: ``quaternions``, ``primitive_meshes`` (simple shapes as triangles), ``mesh_files``,
``link_shapes``, ``urdf_shapes`` and ``model_shapes`` (of the links of model files),
``fitted_capsule``.
"""
