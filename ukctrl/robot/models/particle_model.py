"""From `Particles` to a model: every particle at the end of a chain of massless slides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from ukctrl.robot.schema.plant_tables import Particles

SLIDES = (("x", pin.JointModelPX), ("y", pin.JointModelPY), ("z", pin.JointModelPZ))
MOMENT = 1e-6
"""About its centre [kg m^2]: it never turns."""


def particle_model(table: Particles) -> Any:
    """Return the ``pinocchio.Model``."""
    model = pin.Model()
    model.name = "particles"
    identity, apart = pin.SE3.Identity(), pin.FrameType.BODY
    model.addFrame(pin.Frame("ground", 0, 0, identity, apart))
    masses = table.mass if isinstance(table.mass, tuple) else (table.mass,) * table.count
    for number, mass in enumerate(masses, start=1):
        joint = 0
        for axis, slide in SLIDES[: table.dimension]:
            joint = model.addJoint(joint, slide(), identity, f"{axis}{number}")
            model.addJointFrame(joint)
        model.appendBodyToJoint(joint, pin.Inertia(mass, np.zeros(3), MOMENT * np.eye(3)), identity)
        model.addFrame(pin.Frame(f"p{number}", joint, 0, identity, apart))
    return model
