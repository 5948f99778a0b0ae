"""Robots of every shape: fixed and floating base, every joint type, tree and chain."""

import pytest
from extras import needs
from seeds import seeded

from ukctrl.robot import Options, Robot

BODY = """<link name="{name}"><inertial><origin xyz="{com}" rpy="0.3 -0.2 0.5"/>
<mass value="{mass}"/>
<inertia ixx="0.05" iyy="0.06" izz="0.07" ixy="0.004" ixz="-0.003" iyz="0.002"/>
</inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0.1 0.2 -0.3" rpy="0.4 0.1 -0.6"/><axis xyz="{axis}"/>
<limit lower="-2" upper="2.5" effort="7" velocity="3"/></joint>"""


def urdf(*parts):
    return f'<robot name="model">{"".join(parts)}</robot>'


def body(name, mass=1.0, com="0.1 -0.05 0.2"):
    return BODY.format(name=name, mass=mass, com=com)


def joint(name, parent, child, kind="revolute", axis="0 0 1"):
    return JOINT.format(name=name, parent=parent, child=child, kind=kind, axis=axis)


TREE = urdf(
    body("trunk", 5.0),
    body("left_arm"),
    body("left_hand", 0.4),
    body("right_arm", 1.3),
    body("right_hand", 0.5),
    joint("left_shoulder", "trunk", "left_arm"),
    joint("left_wrist", "left_arm", "left_hand", "continuous", "0 1 0"),
    joint("right_shoulder", "trunk", "right_arm", "revolute", "0.6 0 0.8"),
    joint("right_slide", "right_arm", "right_hand", "prismatic", "0 0.6 -0.8"),
)
CART = urdf(
    '<link name="floor"/>',
    body("cart", 3.0),
    body("mast", 0.7),
    body("crank", 0.2),
    joint("cart_joint", "floor", "cart", "planar"),
    joint("lift", "cart", "mast", "prismatic"),
    joint("turn", "mast", "crank", "continuous", "0.6 0.8 0"),
)
PENDULUM = urdf(body("rod"), body("bob"), joint("pivot", "rod", "bob"))
WHEEL = urdf(body("axle"), body("rim"), joint("turn", "axle", "rim", "continuous"))
BALL = """<mujoco model="ball"><worldbody>
<body name="base" pos="0 0 1"><freejoint name="free"/><geom type="box" size="0.1 0.2 0.1" mass="3"/>
<body name="arm" pos="0.3 0 0"><joint name="ball" type="ball"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0.1" size="0.02" mass="0.5"/>
<body name="hand" pos="0.2 0 0.1"><joint name="swing" type="hinge" axis="0 1 0" range="-90 90"/>
<joint name="slide" type="slide" axis="1 0 0"/>
<geom type="capsule" fromto="0 0 0 0.2 0.1 0" size="0.02" mass="0.5"/>
<site name="tip" pos="0.2 0.1 0"/>
</body></body></body></worldbody></mujoco>"""

MAKERS = {
    "scara": lambda: Robot.load("scara"),
    "two_link": lambda: Robot.load("two_link"),
    "floating_arm": lambda: Robot.load("floating_arm"),
    "tree": lambda: Robot.build(TREE),
    "floating_tree": lambda: Robot.build(TREE, Options(floating_base=True)),
    "cart": lambda: Robot.build(CART),
    "pendulum": lambda: Robot.build(PENDULUM),
    "wheel": lambda: Robot.build(WHEEL),
}
if not needs("mujoco").args[0]:
    MAKERS["ball"] = lambda: Robot.build(BALL)


@pytest.fixture(scope="session")
def robots():
    return {name: make() for name, make in MAKERS.items()}


@pytest.fixture(params=list(MAKERS))
def robot(request, robots):
    return robots[request.param]


rng = seeded(3)


@pytest.fixture
def state(robot, rng):
    return robot.random(rng), rng.standard_normal(robot.nv)


@pytest.fixture(scope="session")
def text():
    """Give the builders of URDF text to tests."""

    class Text:
        pass

    made = Text()
    made.urdf, made.body, made.joint = urdf, body, joint
    made.tree, made.cart, made.ball = TREE, CART, BALL
    return made
