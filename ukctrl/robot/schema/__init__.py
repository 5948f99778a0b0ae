"""Schema of ``robots/<name>/robot.toml``: the model, actuators, applied forces and looks.

In order: ``linkage_tables``; ``plant_tables`` (formulas, functions, particles); ``force_tables``
(actuators and forces); ``picture_fields`` and ``picture_tables`` (looks); ``robot_file`` (the
whole).
"""
