"""Small robots for exciting motions, and what Pinocchio says of a motion of theirs."""

import functools

import numpy as np
import pinocchio as pin

from tests.identification.simulated_logs import built
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl_identification.exciting_design import design
from ukctrl_identification.exciting_options import ExcitingOptions

INERTIAL = (
    '<inertial><origin xyz="{com}"/><mass value="{m}"/>'
    '<inertia ixx="{i}" iyy="{j}" izz="{k}" ixy="0.001" ixz="0" iyz="0.0005"/></inertial>'
)


def link(name, com, m, i=0.02, j=0.03, k=0.025):
    return f'<link name="{name}">{INERTIAL.format(com=com, m=m, i=i, j=j, k=k)}</link>'


def joint(name, parent, child, xyz, axis, limits, dynamics=""):
    kind = "revolute" if "lower" in limits else "continuous"
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/><limit {limits}/>{dynamics}</joint>'
    )


ARM = "".join([
    '<robot name="arm"><link name="base"/>',
    link("turret", "0.01 0.02 0.1", 4.0), link("upper", "0.15 0.01 0.02", 2.5),
    link("lower", "0.12 -0.01 0.01", 1.2),
    joint("waist", "base", "turret", "0 0 0.2", "0 0 1",
          'lower="-2.5" upper="2.5" effort="20" velocity="3"'),
    joint("shoulder", "turret", "upper", "0.05 0 0.2", "0 1 0",
          'lower="-1.6" upper="1.2" effort="45" velocity="2.5"',
          '<dynamics damping="0.5" friction="0.8"/>'),
    joint("elbow", "upper", "lower", "0.35 0 0", "0 1 0",
          'lower="-2.2" upper="2.2" effort="12" velocity="4"'),
    "</robot>",
])  # fmt: skip
"""Three joints with all limits, and friction in one of them."""

FREE = 'effort="30" velocity="6"'
BOUND = 'lower="-2.9" upper="2.9" effort="30" velocity="6"'
FIVE_BAR = "".join([
    '<robot name="five_bar"><link name="base"/>',
    link("left1", "0.15 0.01 0", 1.0), link("left2", "0.2 0 0", 0.7),
    link("right1", "0.14 0 0", 1.1), link("right2", "0.19 0.01 0", 0.8),
    '<link name="left_tip"/><link name="right_tip"/>',
    joint("left_foot", "base", "left1", "0 0 0", "0 0 1", FREE),
    joint("left_knee", "left1", "left2", "0.3 0 0", "0 0 1", BOUND),
    joint("right_foot", "base", "right1", "0.3 0 0", "0 0 1", BOUND),
    joint("right_knee", "right1", "right2", "0.3 0 0", "0 0 1", BOUND),
    '<joint name="l" type="fixed"><parent link="left2"/><child link="left_tip"/>'
    '<origin xyz="0.4 0 0"/></joint>',
    '<joint name="r" type="fixed"><parent link="right2"/><child link="right_tip"/>'
    '<origin xyz="0.4 0 0"/></joint>',
    "</robot>",
])  # fmt: skip
"""Two legs in a plane, whose tips are one; its feet have motors, and the left one turns freely."""


def arm(**options):
    return built(ARM, **options)


def five_bar():
    """Return the linkage with its tip above the feet, knees outwards."""
    left, right = np.array([0.3 * np.cos(2.2), 0.3 * np.sin(2.2)]), 0.3 * np.array([1.0, 0.0])
    right = right + 0.3 * np.array([np.cos(0.9), np.sin(0.9)])
    across = right - left
    up = np.array([-across[1], across[0]]) / np.linalg.norm(across)
    tip = 0.5 * (left + right) + np.sqrt(0.16 - 0.25 * across @ across) * up
    knees = [np.arctan2(*(tip - knee)[::-1]) for knee in (left, right)]
    home = {
        "left_foot_cos": np.cos(2.2), "left_foot_sin": np.sin(2.2), "left_knee": knees[0] - 2.2,
        "right_foot": 0.9, "right_knee": knees[1] - 0.9,
    }  # fmt: skip
    closure = {"kind": "closure", "frames": ("left_tip", "right_tip"), "type": "planar_point"}
    motors = tuple({"kind": "joint", "joint": foot} for foot in ("left_foot", "right_foot"))
    return built(
        FIVE_BAR, passive=(closure,), gravity=(0.0, -9.81, 0.0), actuator=motors,
        home={name: float(value) for name, value in home.items()},
    )  # fmt: skip


@functools.cache
def arm_motion():
    """Return an exciting motion of the arm."""
    return design(arm(), ExcitingOptions(duration=6.0, starts=2))


@functools.cache
def five_bar_motion():
    """Return an exciting motion of the linkage, whose left foot has a range alone."""
    options = ExcitingOptions(duration=4.0, harmonics=4, starts=1, range={"left_foot": 0.6})
    return design(five_bar(), options)


def inverse_dynamics(robot, states):
    """Return what motors and reactions together do without friction, ``(n, nv)``, by Pinocchio."""
    model, data = robot.model, robot.model.createData()
    return np.array([
        pin.rnea(model, data, q, v, a) for q, v, a in zip(states.q, states.v, states.a, strict=True)
    ])  # fmt: skip


def regressors(motion, states):
    """Return ``Y`` at each instant, ``(n, nv, p)``, with the columns of friction."""
    robot, regression = motion.robot, motion.equations.regression
    model, data = robot.model, robot.model.createData()
    Y = np.zeros((len(states.q), robot.nv, len(regression.parameters)))
    for n, (q, v, a) in enumerate(zip(states.q, states.v, states.a, strict=True)):
        Y[n, :, : regression.inertial] = pin.computeJointTorqueRegressor(model, data, q, v, a)
        for k, one in enumerate(regression.parameters[regression.inertial :], regression.inertial):
            i = robot.dofs.index(one.owner)
            Y[n, i, k] = {
                "coulomb": np.tanh(v[i] / regression.velocity_scale[i]), "viscous": v[i],
                "offset": 1.0,
            }[one.symbol]  # fmt: skip
    return Y


def passive_rows(robot, q, v):
    """Return ``A``, ``b`` and ``phi`` of the passive constraints at a state."""
    stack = Stack(passive_constraints(robot), robot, key="passive")
    rows = stack.write(robot.snapshot(q, v))
    return rows.A.copy(), rows.b.copy(), rows.phi.copy()
