"""Dynamics at random, and robots that have them, by Pinocchio alone."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from ukctrl_identification.identified_dynamics import DofFriction, IdentifiedDynamics
from ukctrl_identification.robot_dynamics import bodies_of


def random_body(rng):
    """Return the parameters of six point masses, which some body has."""
    points, masses = rng.uniform(-0.2, 0.2, (6, 3)), rng.uniform(0.1, 1.0, 6)
    pairs = list(zip(masses, points, strict=True))
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in pairs)
    first = masses @ points
    xx, xy, xz, yy, yz, zz = inertia[np.triu_indices(3)]
    return np.array([masses.sum(), *first, xx, xy, yy, xz, yz, zz])


def random_dynamics(robot, rng):
    """Return other bodies, rotors and friction for all that a robot has of them."""
    bodies = {name: random_body(rng) for name, body in bodies_of(robot).items() if body.any()}
    single = [block.dofs[0] for block in robot.blocks if block.nv == 1]
    friction = {}
    for number, name in enumerate(single):
        coulomb, viscous = rng.uniform(0.1, 1.0, 2)
        shape = (
            {},
            {"static": 1.5 * coulomb, "stribeck_velocity": 0.3, "asymmetry": -0.2},
            {"velocity_scale": 0.02},
        )[number % 3]
        friction[name] = DofFriction(coulomb, viscous, **shape)
    armature = {name: float(rng.uniform(0.1, 1.0)) for name in single}
    return IdentifiedDynamics(bodies, armature, friction)


class PinocchioDynamics:
    """The terms of a robot with other numbers, from Pinocchio's own algorithms."""

    def __init__(self, robot, dynamics):
        self.model = pin.Model(robot.model)
        for block in robot.blocks:
            if block.name in dynamics.bodies and dynamics.bodies[block.name].any():
                body = pin.Inertia.FromDynamicParameters(dynamics.bodies[block.name])
                self.model.inertias[block.joint] = body
            for k, dof in enumerate(block.dofs):
                value = dynamics.armature.get(dof)
                if value is not None and block.rotor:
                    body = pin.Inertia(0.0, np.zeros(3), value * np.eye(3))
                    self.model.inertias[block.joint] = body
                elif value is not None:
                    self.model.armature[block.iv + k] = value
        self.data = self.model.createData()

    def mass_matrix(self, q):
        M = np.triu(pin.crba(self.model, self.data, q))
        return M + np.triu(M, 1).T

    def bias(self, q, v):
        return pin.nonLinearEffects(self.model, self.data, q, v).copy()


def assert_same_dynamics(robot, dynamics, came, rng, rtol=1e-12):
    """Assert that a robot has mass matrix, bias and gravity of another one with new numbers."""
    wanted = PinocchioDynamics(robot, dynamics)
    for _ in range(3):
        q, v = robot.random(rng), rng.standard_normal(robot.nv)
        M = wanted.mass_matrix(q)
        size = rtol * np.abs(M).max()
        np.testing.assert_allclose(came.snapshot(q, v).M, M, rtol=0.0, atol=size)
        for speed in (v, np.zeros(robot.nv)):
            bias = wanted.bias(q, speed)
            atol = max(size, rtol * np.abs(bias).max(initial=0.0))
            np.testing.assert_allclose(came.snapshot(q, speed).nle, bias, rtol=0.0, atol=atol)
