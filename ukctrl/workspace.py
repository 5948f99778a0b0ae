"""A user's own workspace, and the schemas that editors check its files with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ukctrl.errors import InputError, unknown_name

ROBOT = """\
title   = "Planar arm with two links"
source  = "a starting point: replace the model by your own URDF, MJCF or SDF"
model   = "my-arm.urdf"                    # beside this file
gravity = [0.0, 0.0, -9.81]                # [m/s^2]

[[actuator]]
kind  = "joint"
joint = "shoulder"

[[actuator]]
kind  = "joint"
joint = "elbow"
"""

URDF = """\
<robot name="my-arm">
  <link name="world"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.25 0 0"/><mass value="2.0"/>
      <inertia ixx="0.002" iyy="0.042" izz="0.042" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0.2 0 0"/><mass value="1.0"/>
      <inertia ixx="0.001" iyy="0.014" izz="0.014" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <parent link="world"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3.1" upper="3.1" effort="60" velocity="6"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3.1" upper="3.1" effort="30" velocity="6"/>
  </joint>
  <joint name="tip" type="fixed">
    <parent link="lower"/><child link="tool"/><origin xyz="0.4 0 0"/>
  </joint>
</robot>
"""

CONTROLLER = """\
title      = "My servo controller"
kind       = "servo"
feedback   = { kind = "baumgarte", alpha = 20.0, beta = 100.0 }   # [1/s], [1/s^2]
allocation = { kind = "least_norm", metric = "effort" }
"""

SCENARIO = """\
title = "My arm draws a circle"
robot = "my-arm"                           # robots/my-arm/robot.toml

[start]
q     = { shoulder = "-60*deg", elbow = "90*deg" }
solve = true                               # move this guess onto the constraints

[[servo]]
kind  = "point_follows"
frame = "tool"
axes  = "xz"
path  = { kind = "expression", components = ["0.55 + 0.1*cos(pi*t)", "0.1*sin(pi*t)"] }   # [m]

[controller]
use = "my-controller"                      # controllers/my-controller.toml
feedback.alpha = 30.0                      # overrides the card [1/s]
feedback.beta  = 225.0                     # [1/s^2]

[timing]
duration = 4.0                             # [s]
sample   = 0.01                            # output interval [s]
control  = 0.001                           # zero-order-hold period [s]

[integrator]
method = "RK4"
step   = 0.001                             # [s]
"""

FILES = {
    "robots/my-arm/robot.toml": ROBOT,
    "robots/my-arm/my-arm.urdf": URDF,
    "controllers/my-controller.toml": CONTROLLER,
    "scenarios/my-scenario.toml": SCENARIO,
}


def create(directory: Path) -> list[Path]:
    """Make a workspace and return its files.

    Raises:
        InputError: The folder holds something already.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"'{directory}' must be a new or empty folder; it is not.")
    created = []
    for name, text in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        created.append(path)
    return created


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a file format: ``scenario``, ``controller`` or ``robot``."""
    from pydantic import TypeAdapter

    from ukctrl.control import AnyController
    from ukctrl.robot import RobotFile
    from ukctrl.scenario import Scenario

    formats: dict[str, Any] = {
        "scenario": Scenario,
        "controller": AnyController,
        "robot": RobotFile,
    }
    if kind not in formats:
        raise unknown_name("file format", kind, formats)
    return TypeAdapter(formats[kind]).json_schema()
