"""What robots, their models, actuators, forces and perturbations refuse: each sentence, whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import equilibrium
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.robot import (
    JointMotor,
    JointSpring,
    Lagrangian,
    Options,
    Payload,
    Perturbation,
    Robot,
    Wrench,
)
from ukctrl.robot.joint_layout import blocks_of

ARM = catalog.root() / "robots" / "floating_arm" / "floating_arm.urdf"
WHEEL = """<mujoco><worldbody><body name="hull"><freejoint name="free"/>
<geom size="1" mass="1"/></body></worldbody></mujoco>"""


def moved_by(*actuators):
    return lambda: Robot.build(ARM, Options(floating_base=True, actuator=actuators))


def perturbed(name="two_link", **changes):
    return lambda: Robot.load(name).perturbed(Perturbation(**changes))


def bead(**changes):
    table = {"coordinates": {"x": "m"}, "kinetic": "m*v.x**2/2", "parameters": {"m": 1.0}}
    return Robot.build(Lagrangian(**table | changes))


def asked(question):
    return lambda: question(bead())


def with_a_joint(kind):
    model = pin.Model()
    model.addJoint(0, kind(), pin.SE3.Identity(), "j")
    return lambda: blocks_of(model)


MANY = [f"x{k}" for k in range(20)]
PULLED = "+".join(f"v.{name}**2" for name in MANY)
REFUSED = {
    "two motors of one name": (
        moved_by(JointMotor(joint="elbow"), JointMotor(joint="elbow")),
        f"{ARM}: actuator names must differ; 'elbow' appears more than once.",
    ),
    "wrench on the world": (
        moved_by(Wrench(name="w", frame="world", force=(1, 0, 0))),
        f"{ARM}: actuator[0]: frame 'world' of actuator 'w' does not move.",
    ),
    "spring on a ball": (
        lambda: Robot.build(WHEEL, Options(force=[JointSpring(joint="free_wx", stiffness=1.0)])),
        "force[0]: joint 'free' has no plain coordinate for a spring (its coordinates are free_x, "
        "free_y, free_z, free_qx, free_qy, free_qz, free_qw); use kind = \"given\" with a formula "
        "instead.",
    ),
    "unknown joint": (
        with_a_joint(pin.JointModelTranslation),
        "joint 'j' has the type 'Translation', which is not supported. Supported: FreeFlyer, HX, "
        "HY, HZ, HelicalUnaligned, PX, PY, PZ, Planar, PrismaticUnaligned, RUBX, RUBY, RUBZ, RX, "
        "RY, RZ, RevoluteUnaligned, RevoluteUnboundedUnaligned, Spherical.",
    ),
    "payload on the ground": (
        perturbed(payload=Payload(frame="world", mass=1.0)),
        "frame 'world' does not move; a payload there does nothing.",
    ),
    "springs that are none": (
        perturbed(stiffness_scale=1.3),
        "stiffness_scale: robot 'two_link' has no elastic joints.",
    ),
    "parameters of bodies": (
        perturbed(parameters={"m1": 1.0}),
        "parameters: robot 'two_link' is a model of rigid bodies and has no parameters; use "
        "mass_scale, inertia_scale, com_shift or payload.",
    ),
    "bodies of formulas": (
        lambda: bead().perturbed(Perturbation(mass_scale=1.1)),
        "mass_scale: robot 'lagrangian' has no bodies but formulas or functions; change their "
        "parameters instead, with parameters = { ... }. Known: m.",
    ),
    "bodies of formulas without parameters": (
        lambda: bead(kinetic="v.x**2", parameters={}).perturbed(Perturbation(gravity=[0, 0, -1])),
        "gravity: robot 'lagrangian' has no bodies but formulas or functions; change their "
        "parameters instead, with parameters = { ... }. Known: none, as yet.",
    ),
    "model of formulas": (
        asked(lambda robot: robot.model),
        "a [lagrangian] plant has no Pinocchio model; use the matrices of its snapshot, or give "
        "the robot a model file.",
    ),
    "centre of mass of formulas": (
        asked(lambda robot: robot.snapshot(robot.neutral).com()),
        "a [lagrangian] plant has no bodies, so no centre of mass; write what must hold with kind "
        '= "expression" in its coordinates.',
    ),
    **{
        f"{what} of formulas": (
            asked(question),
            "a [lagrangian] plant has no bodies whose masses and inertias an adaptive law could "
            "estimate; give the robot a model file.",
        )
        for what, question in {
            "masses": lambda robot: robot.snapshot(robot.neutral).inertial_parameters(),
            "regressor": lambda robot: robot.snapshot(robot.neutral).regressor([0.0], [0.0]),
        }.items()
    },
    "undefined at neutral": (
        lambda: bead(potential="sqrt(x - 1)"),
        "robot 'lagrangian': lagrangian: it has no finite value at x = 0: in 'm*v.x**2/2; sqrt(x - "
        "1)': there is no finite real value at t = 0 s (root of a negative number). Give a neutral "
        "configuration where it has, such as neutral = { x = 1.0 }.",
    ),
    "beyond the largest number": (
        lambda: bead(potential="(x + 1e200)**2*x"),
        "robot 'lagrangian': lagrangian: it has no finite value at x = 0: in 'm*v.x**2/2; (x + "
        "1e200)**2*x': there is no finite real value at t = 0 s (a number is too large). Give a "
        "neutral configuration where it has, such as neutral = { x = 1.0 }.",
    ),
    "floating MJCF": (
        lambda: Robot.build(WHEEL, Options(floating_base=True)),
        "model text: floating_base is for URDF; in MJCF, write <freejoint/> in the body that moves "
        "freely.",
    ),
    "MJCF in parts": (
        lambda: Robot.build('<mujoco><include file="x.xml"/></mujoco>'),
        "model text: file 'x.xml' belongs to a model that is text alone, without a folder; load "
        "the model from its file.",
    ),
    "MJCF of nothing": (
        lambda: Robot.build("<mujoco/>"), "model text: must have at least one joint that moves.",
    ),
    "SDF": (
        lambda: Robot.build('<sdf version="1.7"><model name="m"/></sdf>'),
        f"model text: this build of Pinocchio ({pin.__version__}) cannot read SDF; convert the "
        "model to URDF or MJCF.",
    ),
    "no file": (
        lambda: Robot.build(Path("nowhere.urdf")),
        "nowhere.urdf: cannot be read: No such file or directory.",
    ),
    "no name of a file": (
        lambda: Robot.build("a\0b.urdf"), "a\0b.urdf: cannot be read: embedded null byte.",
    ),
    "weight that no motor carries": (
        lambda: equilibrium(
            Robot.build(
                Lagrangian(coordinates=MANY, kinetic=PULLED, potential="3*x2", inputs={})
            ),
            np.zeros(20),
        ),
        "robot 'lagrangian' must be held at rest by some input at the configuration "
        f"[{', '.join(['0.'] * 20)}]; the inputs leave an acceleration of -1.5 rad/s^2 at 'x2', a "
        "force of -3 N m. Choose a configuration where the forces that no motor carries vanish.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_robot_can_be_or_do_is_refused_whole(case):
    call, sentence = REFUSED[case]
    if "MJCF" in case or case == "spring on a ball":
        pytest.importorskip("mujoco")
    with pytest.raises(UkctrlError) as caught:
        call()
    assert str(caught.value) == sentence


def test_a_parser_without_a_reason_is_said_to_have_none(monkeypatch):
    def silent(*given):
        raise ValueError("")

    monkeypatch.setattr(pin, "buildModelFromXML", silent)
    with pytest.raises(UkctrlError) as caught:
        Robot.build('<robot name="a"/>')
    assert str(caught.value) == ("model text: not a valid URDF model: the parser gave no reason.")
