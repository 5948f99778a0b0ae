"""Random robots of every kind that can be identified, from one seed each."""

import numpy as np
import pinocchio as pin

from tests.identification.simulated_logs import built, random_inertial, random_tree, text
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl_identification.passive_motion import independent_velocities

KINDS = ("tree", "passive joints", "closed chain", "redundant closure", "elastic joints")
LEAST_CLEARANCE = 0.15
"""Of the smallest singular value of passive rows by dependent velocities [m]."""
ANGLES = (0.0, 0.9, -1.3, 0.7)
"""Of the joints of a planar chain from the ground, at which its ends meet [rad]."""


def random_robot(seed):
    """Return a robot of the kind that a seed stands for, and which kind that is."""
    rng, kind = np.random.default_rng(1000 + seed), KINDS[seed % len(KINDS)]
    make = {
        "tree": lambda: built(random_tree(rng, int(rng.integers(2, 7)))),
        "passive joints": lambda: underactuated(rng),
        "closed chain": lambda: closed_chain(rng),
        "redundant closure": lambda: planar_loop(rng),
        "elastic joints": lambda: elastic(rng),
    }
    robot = make[kind]()
    while not is_clear(robot):
        robot = make[kind]()
    return robot, kind


def is_clear(robot):
    """Whether closures are far from singular positions, and motors move all that is free."""
    if not robot.passive:
        return True
    stack = Stack(passive_constraints(robot), robot, key="passive")
    A = stack.write(robot.snapshot(robot.neutral, np.zeros(robot.nv))).A
    pushed = np.flatnonzero(robot.actuation.acts_on.any(axis=1)).tolist()
    independent, dependent = independent_velocities(A, pushed)
    sigma = np.linalg.svd(A[:, dependent], compute_uv=False)
    return set(independent) <= set(pushed) and sigma[len(dependent) - 1] > LEAST_CLEARANCE


def motors(names):
    return [{"kind": "joint", "joint": name} for name in names]


def underactuated(rng):
    """Return a tree of which one joint or two have no motor."""
    count = int(rng.integers(3, 6))
    free = set(rng.choice(count, size=int(rng.integers(1, 3)), replace=False).tolist())
    driven = [f"joint{k}" for k in range(count) if k not in free]
    return built(random_tree(rng, count), actuator=motors(driven))


def elastic(rng):
    count = int(rng.integers(2, 5))
    joints = [f"joint{k}" for k in range(count)]
    springs = {
        key: dict(zip(joints, rng.uniform(low, high, count).tolist(), strict=True))
        for key, low, high in (
            ("stiffness", 2e3, 1e4), ("damping", 0.5, 3.0), ("motor_inertia", 0.05, 0.3),
        )
    }  # fmt: skip
    return built(random_tree(rng, count), elastic=springs)


def closed_chain(rng):
    """Return two branches that a ball joint closes, with motors of all joints or of three."""
    tree = random_tree(rng, 6)
    model = pin.buildModelFromXML(tree)
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    leaves = [k for k in range(6) if f'parent link="link{k}"' not in tree]
    one = leaves[-1]
    two = next(k for k in (*leaves[:-1], *range(6)) if k != one)
    places = [data.oMf[model.getFrameId(f"link{k}")] for k in (one, two)]
    tip = places[0].act(rng.uniform(-0.3, 0.3, 3))
    frames = [
        {"name": f"end{i}", "parent": f"link{k}", "position": place.actInv(tip).tolist()}
        for i, (k, place) in enumerate(zip((one, two), places, strict=True))
    ]
    ball = {"kind": "closure", "name": "ball", "frames": ["end0", "end1"], "type": "point"}
    every = [f"joint{k}" for k in range(6)]
    driven = every if rng.random() < 0.5 else every[:3]
    return built(tree, frame=frames, passive=[ball], actuator=motors(driven))


def planar_loop(rng):
    """Return a planar chain whose end a ball joint holds: one of three rows says nothing new."""
    links, joints, lengths = ['<link name="base"/>'], [], rng.uniform(0.3, 0.6, 4)
    for k, angle in enumerate(ANGLES):
        links.append(f'<link name="link{k}">{random_inertial(rng)}</link>')
        xyz = (0.0 if k == 0 else lengths[k - 1], 0.0, 0.0)
        joints.append(
            f'<joint name="joint{k}" type="revolute">'
            f'<parent link="{"base" if k == 0 else f"link{k - 1}"}"/><child link="link{k}"/>'
            f'<origin xyz="{text(xyz)}" rpy="{text((0.0, 0.0, angle))}"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        )
    tree = f'<robot name="loop">{"".join(links)}{"".join(joints)}</robot>'
    model = pin.buildModelFromXML(tree)
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    tip = data.oMf[model.getFrameId("link3")].act(np.array([lengths[3], 0.0, 0.0]))
    frames = [
        {"name": "tip", "parent": "link3", "position": [float(lengths[3]), 0.0, 0.0]},
        {"name": "pin", "parent": "base", "position": tip.tolist()},
    ]
    ball = {"kind": "closure", "name": "ball", "frames": ["tip", "pin"], "type": "point"}
    return built(
        tree, frame=frames, passive=[ball], actuator=motors(["joint0", "joint1"]),
        gravity=(0.0, -9.81, 0.0),
    )  # fmt: skip
