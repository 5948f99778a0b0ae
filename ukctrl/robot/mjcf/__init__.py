"""MJCF: compiled by MuJoCo itself, its arrays read into a robot, and what is not read told.

The parts, in order: ``guard`` (what a file may make MuJoCo open and build), ``compile``, ``table``
(all that a compiled model has: read, or told), ``tree`` (joints, bodies and frames), ``switches``
(what the file turns off), ``tendons``, ``forces``, ``equalities``, ``actuators``, ``contacts``,
``visuals`` (its geoms),
``beside`` (the comparison with MuJoCo's own numbers) and ``read`` (all of it together).
"""
