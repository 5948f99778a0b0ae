"""Closed loops beside Pinocchio's own constraint dynamics, which solves another way."""

import dataclasses as dc

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains, passive_constraints
from ukctrl.robot import Options
from ukctrl.robot.schema.robot_file import ExtraFrame

SAME = {"rtol": 0.0, "atol": 1e-8}  # Pinocchio iterates its proximal solver down to 1e-12
TYPES = {"point": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}


def closed(first, second, kind, rng):
    """The floating arm with two frames tied where they are at a random configuration."""
    arm = Robot.load("floating_arm")
    q = arm.random(rng)
    s = arm.snapshot(q)
    a, b = s.frame(first), s.frame(second)
    offset = b.rotation.T @ (a.position - b.position)
    rpy = pin.rpy.matrixToRpy(b.rotation.T @ a.rotation)
    tie = ExtraFrame(name="tie", parent=second, position=tuple(offset), rpy=tuple(rpy))
    from ukctrl.core.files import catalog

    urdf = catalog.find("robots", "floating_arm").parent / "floating_arm.urdf"
    robot = Robot.build(urdf, Options(floating_base=True, frame=[tie], actuator=[]))
    closure = {"kind": "closure", "frames": [first, "tie"], "type": kind}
    return dc.replace(robot, passive=(closure,)), q


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("first", "second"), [("hand", "world"), ("hand", "base")])
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_of_a_closed_loop_are_pinocchios(first, second, kind, seed):
    rng = np.random.default_rng(seed)
    robot, q = closed(first, second, kind, rng)
    start = consistent_state(
        Stack(passive_constraints(robot), robot), q, rng.standard_normal(robot.nv)
    )
    dynamics = Dynamics(robot, gains=StabilisationGains(0.0, 0.0))
    dynamics.move(0.0, start.q, start.v)
    model = robot.model
    sites = [robot.site(first), robot.site("tie")]
    places = [pin.SE3(site.rotation, site.translation) for site in sites]
    contact = pin.RigidConstraintModel(
        TYPES[kind], model, sites[0].joint, places[0], sites[1].joint, places[1],
        pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    models, parts = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(contact)
    parts.append(contact.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, parts)
    a = pin.constraintDynamics(
        model, data, start.q, start.v, np.zeros(robot.nv), models, parts,
        pin.ProximalSettings(1e-13, 1e-13, 1e-9, 200),
    )  # fmt: skip
    np.testing.assert_allclose(dynamics.a_free, a, **SAME)
