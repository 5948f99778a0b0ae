"""Schema of ``robots/<name>/robot.toml``: the model, its actuators and its applied forces."""
