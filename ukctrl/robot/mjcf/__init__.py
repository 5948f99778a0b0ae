"""MJCF: compiled by MuJoCo itself, its arrays read into a robot, and what is not read told.

The parts, in order: ``file_guard`` (what a file may make MuJoCo open and build), ``compile_mjcf``,
``supported_fields`` (all that a compiled model has: read, or told), ``pinocchio_model`` (joints,
bodies and frames), ``disable_flags`` (what the file turns off), ``tendons``, ``forces``,
``equalities``, ``actuators``, ``unsupported_contacts``, ``geom_shapes`` (its geoms),
``compare_mujoco`` (the comparison with MuJoCo's own numbers) and ``read_mjcf`` (all of it
together).
"""
