"""A platform on three legs, driven at its feet, whose pose follows a path."""

PLATFORM = """
title = "A platform on three legs"
[robot]
use = "three_rrr"
[[robot.linkage.repeat.leg.motor]]
name = "foot{i}"
bodies = ["ground", "upper{i}"]
rotor_inertia = 0.02
limit = 3.0
MOTORS
[start]
solve = true
[[servo]]
kind = "joint_follows"
name = "platform"
joints = ["platform_x", "platform_y", "platform_angle"]
"""


def platform_text(rest, motors=""):
    """Return the text of its scenario: what is said of the path and after it, and more motors."""
    return PLATFORM.replace("MOTORS", motors) + rest
