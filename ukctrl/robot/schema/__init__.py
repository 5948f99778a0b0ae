"""Schema of ``robots/<name>/robot.toml``: the model, its actuators and its applied forces.

In order: ``linkage_tables``; ``plant_tables`` (formulas, functions, particles); ``push_tables``
(actuators and forces); ``robot_file`` (the whole).
"""
