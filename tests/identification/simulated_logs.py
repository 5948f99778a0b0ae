"""Logs of robots that are known: random trees and the catalogue's, by Pinocchio's own dynamics."""

import numpy as np
import pinocchio as pin

from ukctrl import Robot
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.measured_motion import Motion
from ukctrl_identification.passive_motion import completed_motion, independent_velocities


def random_tree(rng, bodies=5, floating=False):
    """Return the text of a URDF: a tree of joints about random axes, with bodies that exist."""
    links, joints = ['<link name="base"/>'], []
    if floating:
        links = [f'<link name="base">{random_inertial(rng)}</link>']
    for k in range(bodies):
        links.append(f'<link name="link{k}">{random_inertial(rng)}</link>')
        parent = "base" if k == 0 else f"link{rng.integers(max(0, k - 2), k)}"
        kind = "prismatic" if rng.random() < 0.25 else "revolute"
        axis = rng.normal(size=3)
        xyz, rpy = rng.uniform(-0.4, 0.4, 3), rng.uniform(-1.5, 1.5, 3)
        joints.append(
            f'<joint name="joint{k}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="link{k}"/><origin xyz="{text(xyz)}" rpy="{text(rpy)}"/>'
            f'<axis xyz="{text(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-2" upper="2" effort="100" velocity="10"/></joint>'
        )
    return f'<robot name="tree">{"".join(links)}{"".join(joints)}</robot>'


def random_inertial(rng):
    """Return the inertia of a few point masses, which some body has."""
    masses, points = rng.uniform(0.1, 1.0, 6), rng.normal(scale=0.15, size=(6, 3))
    m, com = masses.sum(), masses @ points / masses.sum()
    r = points - com
    inertia = (masses[:, None, None] * (
        (r**2).sum(axis=1)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :])
    ).sum(axis=0)  # fmt: skip
    names = {
        "ixx": (0, 0),
        "ixy": (0, 1),
        "ixz": (0, 2),
        "iyy": (1, 1),
        "iyz": (1, 2),
        "izz": (2, 2),
    }
    entries = " ".join(f'{name}="{float(inertia[at])!r}"' for name, at in names.items())
    mass = f'<mass value="{float(m)!r}"/>'
    return f'<inertial><origin xyz="{text(com)}"/>{mass}<inertia {entries}/></inertial>'


def text(values):
    return " ".join(repr(float(value)) for value in values)


class Sines:
    """A motion of sums of sines, and its derivatives."""

    def __init__(self, rng, size, count=5, base=0.15, amplitude=0.6):
        self.a = rng.normal(size=(count, size)) * amplitude / np.arange(1, count + 1)[:, None]
        self.w = 2.0 * np.pi * base * np.arange(1, count + 1)
        self.phase = rng.uniform(0.0, 2.0 * np.pi, (count, size))

    def __call__(self, t, order):
        turned = self.w[None, :, None] * t[:, None, None] + self.phase + order * np.pi / 2.0
        return np.sum(self.a * self.w[:, None] ** order * np.sin(turned), axis=1)


def moving(robot, rng, n=600, duration=10.0, amplitude=0.6, home=None):
    """Return a motion of a robot, on its passive constraints; efforts are not set."""
    t = np.linspace(0.0, duration, n)
    home = (robot.neutral if robot.home is None else robot.home) if home is None else home
    constraints = passive_constraints(robot)
    if not constraints:
        sines = Sines(rng, robot.nv, amplitude=amplitude)
        if robot.nq == robot.nv:
            q = home + sines(t, 0)
            return Motion(t, q, sines(t, 1), sines(t, 2), np.full((n, robot.nv), np.nan))
        q = np.array([robot.integrate(home, x) for x in sines(t, 0)])
        v, a = rng.normal(
            size=(2, n, robot.nv)
        )  # any velocity is one: samples stand for themselves
        return Motion(t, q, v, a, np.full((n, robot.nv), np.nan))
    stack = Stack(constraints, robot, key="passive")
    A = stack.write(robot.snapshot(home, np.zeros(robot.nv))).A
    pushed = [int(i) for i in np.flatnonzero(robot.actuation.acts_on.any(axis=1))]
    independent, _ = independent_velocities(A, pushed)
    sines = Sines(rng, len(independent), amplitude=amplitude)
    sines.phase -= sines.phase  # it begins where home is
    q = np.tile(home, (n, 1))
    v, a = np.zeros((2, n, robot.nv))
    x = sines(t, 0)
    for order, out in ((1, v), (2, a)):
        out[:, independent] = sines(t, order)
    for k in range(n):
        dv = np.zeros(robot.nv)
        dv[independent] = x[k] - x[0]
        q[k] = robot.integrate(home, dv)
    motion = Motion(t, q, v, a, np.full((n, robot.nv), np.nan))
    return completed_motion(robot, motion, independent.tolist(), home)


def pushed_states(robot, rng, n=400, force=5.0):
    """Return states of a robot without passive constraints under random efforts of its motors.

    Accelerations are Pinocchio's; each sample stands for itself.
    """
    model, data = robot.model, robot.model.createData()
    pushed = np.flatnonzero(robot.actuation.acts_on.any(axis=1))
    q = np.array([robot.random(rng) for _ in range(n)])
    v, a = rng.normal(size=(2, n, robot.nv))
    if robot.elastic is not None:  # springs are not stretched by radians
        q[:, robot.elastic.motor_coordinates] = q[:, robot.elastic.link_coordinates]
        q[:, robot.elastic.motor_coordinates] += 1e-3 * rng.normal(size=(n, len(pushed)))
    effort = np.full((n, robot.nv), np.nan)
    effort[:, pushed] = force * rng.normal(size=(n, len(pushed)))
    snapshot = robot.snapshot(q[0], v[0])
    for k in range(n):
        snapshot.move(q[k], v[k])
        a[k] = pin.aba(model, data, q[k], v[k], np.nan_to_num(effort[k]) + snapshot.f)
    return Motion(np.arange(n) * 0.01, q, v, a, effort)


def efforts(robot, motion, friction=None):
    """Return what motors push with along a motion, by Pinocchio; reactions are eliminated densely.

    ``friction`` is (coulomb, viscous, offset, velocity scale) of all velocities.
    """
    model, data, effort = robot.model, robot.model.createData(), np.full(motion.v.shape, np.nan)
    passive = passive_constraints(robot)
    stack = Stack(passive, robot, key="passive") if passive else None
    pushed = np.flatnonzero(robot.actuation.acts_on.any(axis=1))
    snapshot = robot.snapshot(motion.q[0], motion.v[0])
    for k, (q, v, a) in enumerate(zip(motion.q, motion.v, motion.a, strict=True)):
        snapshot.move(q, v)
        force = pin.rnea(model, data, q, v, a) - snapshot.f
        if friction is not None:
            coulomb, viscous, offset, scale = friction
            force = force + coulomb * np.tanh(v / scale) + viscous * v + offset
        rows = stack.write(snapshot).A if stack else np.zeros((0, robot.nv))
        E = np.eye(robot.nv)[:, pushed]
        solution = np.linalg.lstsq(np.hstack([E, rows.T]), force, rcond=None)[0]
        effort[k, pushed] = solution[: len(pushed)]
    return effort


def logged(robot, motion, positions=None):
    """Return an exact log of a motion with efforts."""
    names = robot.coordinates if positions is None else positions
    at = {name: i for i, name in enumerate(robot.coordinates)}
    measured = [i for i in range(robot.nv) if not np.isnan(motion.effort[:, i]).any()]
    return JointLog(
        "simulated", motion.time, {name: motion.q[:, at[name]] for name in names},
        {name: motion.v[:, i] for i, name in enumerate(robot.dofs)},
        {robot.dofs[i]: motion.effort[:, i] for i in measured},
        acceleration={name: motion.a[:, i] for i, name in enumerate(robot.dofs)},
    )  # fmt: skip


def believed(robot, rng):
    """Return the robot with other masses and inertias: what its maker says."""
    from ukctrl.robot.perturbation import Perturbation

    joints = [block.name for block in robot.blocks if not block.rotor]
    factors = dict(zip(joints, rng.uniform(0.6, 1.6, len(joints)).tolist(), strict=True))
    return robot.perturbed(Perturbation(mass_scale=factors, com_shift=(0.01, -0.02, 0.015)))


def built(text, **options):
    from ukctrl.robot.schema.robot_file import Options

    return Robot.build(text, Options(**options))
