"""MJCF: compiled by MuJoCo itself, and its arrays read into a robot, or told."""
