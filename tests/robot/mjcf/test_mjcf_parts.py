"""Actuators, equalities, keyframes and what is told of MJCF files, beside MuJoCo and by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from pydantic import TypeAdapter

from ukctrl import Robot
from ukctrl.core.errors import InputError, ModelError
from ukctrl.mechanics.constraints import AnyConstraint
from ukctrl.robot import Options, Perturbation
from ukctrl.robot.mjcf import forces
from ukctrl.robot.mjcf.supported_fields import TABLE, supported_fields, unknown_fields
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.scenario import StartState

mujoco = pytest.importorskip("mujoco")
ARM = """<mujoco model="m"><compiler angle="radian"/>{head}<worldbody>{world}
<body name="a" pos="0 0 1" {body}><joint name="j" axis="0 1 0" {joint}/>
<geom type="sphere" pos="0.2 0 0" size="0.1" mass="1"/><site name="s" pos="0.1 0 0" quat="1 2 3 4"/>
<body name="b" pos="0.4 0 0"><joint name="k" axis="0 1 0"/><geom size="0.05" pos="0.1 0 0.1"/>
<site name="end" pos="0.3 0 0"/></body></body>
<body name="c" pos="0 1 0"><joint name="ball" type="ball" {ball}/>
<geom size="0.1" pos="0 0 0.1"/></body>
<body name="f" pos="0 2 0"><joint name="r" type="free" {free}/><geom size="0.1 0.2 0.3" type="box"/>
</body></worldbody>{tail}</mujoco>"""
TENDON = (
    '<tendon><fixed name="t"><joint joint="j" coef="2"/><joint joint="k" coef="-0.5"/></fixed>'
    '<spatial name="p"><site site="s"/><site site="end"/></spatial></tendon>'
)


def arm(**parts):
    none = dict.fromkeys(("head", "world", "body", "joint", "ball", "free", "tail"), "")
    return ARM.format(**none | parts)


def warned(model, options=None):
    robot = Robot.build(model, options)
    return {f.code: f for f in robot.audit if f.level == "warning"}


DRIVES = {
    "motor": '<motor name="m" joint="j" gear="3"/>',
    "general": '<general name="m" joint="j" gainprm="2" gear="-3"/>',
    "tendon": '<motor name="m" tendon="t" gear="3"/>',
    "site": '<motor name="m" site="s" gear="1 2 3 0.1 0.2 0.3"/>',
    "ball": '<motor name="m" joint="ball" gear="1 2 3"/>',
    "ball in the parent": '<motor name="m" jointinparent="ball" gear="1 2 3"/>',
    "free": '<motor name="m" joint="r" gear="1 2 3 4 5 6"/>',
    "free in the parent": '<motor name="m" jointinparent="r" gear="1 2 3 4 5 6"/>',
}


@pytest.mark.parametrize("kind", DRIVES)
def test_a_motor_pushes_as_mujocos_does(kind):
    text = arm(tail=f"{TENDON}<actuator>{DRIVES[kind]}</actuator>")
    robot, m = Robot.build(text, Options(force=())), mujoco.MjModel.from_xml_string(text)
    rng, data = np.random.default_rng(1), mujoco.MjData(m)
    q = robot.integrate(robot.neutral, rng.uniform(-1.0, 1.0, robot.nv))
    data.qpos[:] = q[[0, 1, 5, 2, 3, 4, 6, 7, 8, 12, 9, 10, 11]]
    data.ctrl[0] = 0.7
    mujoco.mj_forward(m, data)
    push = 0.7 * robot.snapshot(q).B[:, 0]
    R = data.body("f").xmat.reshape(3, 3)
    push[5:8] = R @ push[5:8]  # along the world's axes, as MuJoCo has a free joint's velocity
    np.testing.assert_allclose(push, data.qfrc_actuator, atol=1e-12)
    assert robot.actuators == ("m",)


LIMITS = {
    "none": ('joint="j"', (-np.inf, np.inf)),
    "control": ('joint="j" ctrlrange="-1 2"', (-1.0, 2.0)),
    "force": ('joint="j" forcerange="-4 6" gear="3"', (-4.0, 6.0)),
    "both": ('joint="j" ctrlrange="-1 20" forcerange="-4 6"', (-1.0, 6.0)),
    "not clamped": ('joint="j" ctrlrange="-1 2" ctrllimited="false"', (-np.inf, np.inf)),
}


@pytest.mark.parametrize("kind", LIMITS)
def test_a_motor_gives_what_control_and_force_allow(kind):
    given, expected = LIMITS[kind]
    robot = Robot.build(arm(tail=f"<actuator><motor {given}/></actuator>"))
    assert robot.input_bounds([0.0]) == expected
    assert robot.actuators == ("j",)


def test_the_effort_of_a_joint_limits_its_motor_on_both_sides():
    joint = 'actuatorfrcrange="-5 7"'
    driven = Robot.build(arm(joint=joint, tail='<actuator><motor joint="j" gear="-2"/></actuator>'))
    assert driven.input_bounds([0.0]) == (-3.5, 2.5)
    bare = Robot.build(arm(joint=joint))
    assert [side[0] for side in bare.input_bounds(np.zeros(2))] == [-5.0, 7.0]
    options = Options(actuator=[{"kind": "joint", "joint": "j", "gear": 0.5}])
    assert Robot.build(arm(joint=joint), options).input_bounds([0.0]) == (-10.0, 14.0)


def test_a_servo_is_told_and_read_as_the_motor_behind_it():
    tail = """<actuator><position name="p" joint="j" kp="30" kv="2" ctrlrange="-1 1" gear="2"
    forcerange="-9 9"/><velocity name="v" joint="k" kv="4"/></actuator>"""
    robot = Robot.build(arm(tail=tail))
    assert robot.actuators == ("p", "v")
    assert [side.tolist() for side in robot.input_bounds(np.zeros(2))] == [
        [-9.0, -np.inf],
        [9.0, np.inf],
    ]
    np.testing.assert_array_equal(robot.snapshot(robot.neutral).B[:2], [[2.0, 0.0], [0.0, 1.0]])
    message = next(f.message for f in robot.audit if f.code == "servo_told")
    assert "'p', 'v'" in message
    assert "a controller takes the law's place" in message


TOLD = {

    "a ball's cone": ({"ball": 'range="0 1"'}, "range_told"),
    "friction of a free joint": ({"free": 'frictionloss="1"'}, "friction_told"),
    "uneven damping of a free joint": ({"free": 'damping="1 2 3"'}, "damping_told"),
    "a tendon's path": ({"tail": TENDON.replace('"p"', '"p" stiffness="3"')}, "tendon_told"),
    "a tendon's rotor": ({"tail": TENDON.replace('"t"', '"t" armature="3"')}, "tendon_told"),
    "a tendon's slack": (
        {"tail": TENDON.replace('"t"', '"t" stiffness="3" springlength="0 1"')}, "tendon_told",
    ),
    "a tendon's limit": ({"tail": TENDON.replace('"t"', '"t" range="0 1"')}, "tendon_limit_told"),
    "a muscle": (
        {"tail": f'{TENDON}<actuator><muscle tendon="p" lengthrange="0 1"/></actuator>'},
        "actuator_told",
    ),
    "a seen site": (
        {"tail": '<actuator><motor site="s" refsite="end" gear="1"/></actuator>'}, "actuator_told",
    ),
    "a damper": (
        {"tail": '<actuator><damper joint="j" kv="1" ctrlrange="0 1"/></actuator>'},
        "actuator_told",
    ),
    "two motors of one limit": (
        {"joint": 'actuatorfrcrange="-5 7"',
         "tail": '<actuator><motor joint="j"/><motor joint="j"/></actuator>'},
        "joint_effort_told",
    ),
    "a rotor on a tendon": (
        {"tail": f'{TENDON}<actuator><motor tendon="t" armature="2"/></actuator>'}, "rotor_told",
    ),
    "an ellipsoid in a fluid": (
        {"head": '<option density="1"/><default><geom fluidshape="ellipsoid"/></default>'},
        "fluid_told",
    ),
    "the ground": ({"world": '<geom type="plane" size="1 1 1"/>'}, "contact_told"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_what_is_not_read_is_told_as_a_warning(case):
    parts, code = TOLD[case]
    found = warned(arm(**parts))
    assert set(found) - {"contact_told", "servo_told"} | {code} == {code}
    assert code in found
    assert len(found[code].message) > 60


QUIET = {
    "switched off": {"head": '<option><flag constraint="disable"/></option>',
                     "free": 'frictionloss="1"', "tail": TENDON.replace('"t"', '"t" range="0 1"')},
    "a still tendon": {"tail": TENDON},
    "no fluid": {"head": '<default><geom fluidshape="ellipsoid"/></default>'},
    "friction": {"joint": 'frictionloss="1"', "ball": 'frictionloss="0.5"'},
    "a mocap body": {"world": '<body name="hand" mocap="true"/>'},
}  # fmt: skip


@pytest.mark.parametrize("case", QUIET)
def test_what_takes_nothing_away_warns_of_nothing(case):
    assert not set(warned(arm(**QUIET[case])))


TIED = {
    "connect": '<connect name="e" body1="b" body2="c" anchor="0.1 0.2 0.3"/>',
    "connect to the ground": '<connect name="e" body1="b" anchor="0.1 0.2 0.3"/>',
    "connect of sites": '<connect name="e" site1="s" site2="end"/>',
    "weld": '<weld name="e" body1="b" body2="f" relpose="0.1 0.2 0.3 1 0.2 0.3 0.4"/>',
    "weld at an anchor": '<weld name="e" body1="c" body2="f" anchor="0.1 0.2 0.3"/>',
    "weld of places alone": '<weld name="e" body1="c" body2="f" torquescale="0"/>',
    "joint": '<joint name="e" joint1="j" joint2="k" polycoef="0.1 2 0.3 0.4 0.5"/>',
    "joint alone": '<joint name="e" joint1="j" polycoef="0.2 0 0 0 0"/>',
    "tendon": '<tendon name="e" tendon1="t" polycoef="0.2 0 0 0 0"/>',
}


@pytest.mark.parametrize("kind", TIED)
def test_an_equality_is_a_passive_constraint_that_misses_as_mujocos_does(kind):
    """Places and joints as they are; of a turn by less than pi, its quaternion's imaginary part."""
    text = arm(
        joint='ref="0.3"', tail=f"{TENDON}<equality>{TIED[kind]}</equality>",
        head='<option><flag contact="disable"/></option>',
    )  # fmt: skip
    robot, m = Robot.build(text), mujoco.MjModel.from_xml_string(text)
    rng, data = np.random.default_rng(1), mujoco.MjData(m)
    q = robot.integrate(robot.neutral, rng.uniform(-0.7, 0.7, robot.nv))
    data.qpos[:] = q[[0, 1, 5, 2, 3, 4, 6, 7, 8, 12, 9, 10, 11]]
    mujoco.mj_forward(m, data)
    (table,) = robot.passive
    rows = TypeAdapter(AnyConstraint).validate_python(dict(table)).rows(robot.snapshot(q))
    theirs = data.efc_pos[: data.ne]
    np.testing.assert_allclose(np.linalg.norm(rows.phi[:3]), np.linalg.norm(theirs[:3]), rtol=1e-9)
    if len(rows.phi) == 6:  # 4 sigma, beside the imaginary part alone
        twist, turn = np.linalg.norm(theirs[3:]), np.linalg.norm(rows.phi[3:])
        np.testing.assert_allclose(turn, 4.0 * np.tan(0.25 * 2.0 * np.arcsin(twist)), rtol=1e-9)
    assert len(rows.phi) == (3 if kind == "weld of places alone" else data.ne)
    assert np.abs(rows.A).max() > 0.0


def test_equalities_that_cannot_act_are_told_in_a_note():
    tail = """<equality><connect name="off" body1="b" anchor="0 0 0" active="false"/>
    <weld name="still" body1="w" body2="world"/></equality>"""
    robot = Robot.build(arm(tail=tail, world='<body name="w"/>'))
    assert robot.passive == ()
    assert {f.code for f in robot.audit} >= {"equality_off", "equality_idle"}


KEYS = """<keyframe><key name="home" qpos="0.1 0.2 0 1 0 0 1 2 3 0 0 1 0"
qvel="1 2 3 4 5 6 7 8 9 10 11"/><key/></keyframe>"""


def test_a_run_starts_at_a_keyframe(tmp_path):
    (tmp_path / "arm.xml").write_text(arm(tail=KEYS), encoding="utf-8")
    robot = Robot.load(tmp_path / "arm.xml")
    q, v = robot.keyframes["home"]
    np.testing.assert_array_equal(q, [0.1, 0.2, 1, 0, 0, 0, 1, 2, 3, 0, 1, 0, 0])
    # Half a turn about y: the world's x and z are the body's, the other way round.
    np.testing.assert_allclose(v, [1, 2, 3, 4, 5, -6, 7, -8, 9, 10, 11])
    assert set(robot.keyframes) == {"home", "key1"}
    start = start_state(StartState(keyframe="home", q={"j": 0.5}), robot, [])
    np.testing.assert_allclose(start[0], [0.5, *q[1:]])
    np.testing.assert_allclose(start[1], v)
    for name, message in (("hom", "did you mean 'home'"), ("home", "has no keyframes")):
        other = Robot.build(arm()) if name == "home" else robot
        with pytest.raises(InputError, match=message):
            start_state(StartState(keyframe=name), other, [])


def test_the_table_knows_every_field_of_the_compiled_model():
    m = mujoco.MjModel.from_xml_string(arm(tail=TENDON + KEYS))
    assert list(unknown_fields(m)) == []
    for element, part in TABLE.items():
        names = " ".join((part.read, part.unsupported, part.idle)).split()
        assert len(set(names)) == len(names)
        owner = m.opt if element == "opt" else m
        assert [name for name in supported_fields(element) if not hasattr(owner, name)] == []


def test_a_field_of_a_later_mujoco_is_told():
    class Later:
        opt = type("Option", (), {"gravity": np.ones(3), "buoyancy": 2.0})()
        jnt_backlash = np.array([0.0, 0.1])
        jnt_idle = np.zeros(2)
        jnt_range = np.ones((2, 2))

    (told,) = unknown_fields(Later())
    assert told.diagnostic.subject == "jnt_backlash"
    assert "ukctrl: 'jnt_backlash', 'opt.buoyancy' of the compiled model" in told.diagnostic.message


def test_a_robot_that_is_not_mujocos_is_refused_by_the_joint(monkeypatch):
    monkeypatch.setattr(forces, "set_losses", lambda model, m, on: None)
    with pytest.raises(ModelError, match="passive force at 'j' differs from MuJoCo's by"):
        Robot.build(arm(joint='damping="0.5"'))
    with pytest.raises(ModelError, match="mass matrix at 'k' differs from MuJoCo's by"):
        Robot.build(arm().replace('name="k"', 'name="k" armature="0.5"'))


EVERYTHING = arm(
    head='<option density="1.2" wind="1 0 0"/>',
    body='gravcomp="0.5"',
    joint='damping="1 2 3" stiffness="3 2 1" frictionloss="0.1" ref="0.3"',
    ball='stiffness="2"',
    free='armature="0.1" stiffness="3"',
    tail=TENDON.replace('"t"', '"t" stiffness="2" damping="0.1"') + KEYS,
)


def test_forces_of_a_file_go_with_elastic_joints_and_copies():
    springs = {"stiffness": 100.0, "motor_inertia": 0.1}
    options = Options(actuator=[{"kind": "joint", "joint": "j"}], elastic=springs)
    rigid, elastic = Robot.build(EVERYTHING, Options(actuator=())), Robot.build(EVERYTHING, options)
    rng = np.random.default_rng(0)
    q = rigid.integrate(rigid.neutral, rng.uniform(-0.5, 0.5, rigid.nv))
    v = rng.standard_normal(rigid.nv)
    np.testing.assert_array_equal(elastic.neutral, [*rigid.neutral, 0.3])
    alone, sprung = rigid.snapshot(q, v), elastic.snapshot([*q, q[0]], [*v, v[0]])
    np.testing.assert_allclose(sprung.f[:-1], alone.f, rtol=1e-12)
    copied = pickle.loads(pickle.dumps(rigid))
    np.testing.assert_array_equal(copied.snapshot(q, v).f, alone.f)
    drawn = copied.look()
    assert {part.name for part in drawn.parts} == {"a", "b", "c", "f"}
    heavier = rigid.perturbed(Perturbation(mass_scale={"j": 2.0}))
    np.testing.assert_array_equal(heavier.neutral, rigid.neutral)


def test_energy_that_forces_of_a_file_store_has_the_rate_of_their_power():
    """Springs with polynomials, and weights that are carried, against differences in time."""
    robot = Robot.build(
        arm(
            joint='stiffness="3 2 1" springref="0.2"', body='gravcomp="0.7"',
            ball='stiffness="3 2 1"', free='stiffness="2 1 4"',
        ),
        Options(actuator=()),
    )  # fmt: skip
    rng, h = np.random.default_rng(0), 1e-6
    q, v = robot.integrate(robot.neutral, rng.uniform(-0.5, 0.5, robot.nv)), rng.standard_normal(11)
    stored = [robot.snapshot(robot.integrate(q, s * h * v)).stored[0] for s in (-1.0, 1.0)]
    now = robot.snapshot(q, v)
    np.testing.assert_allclose((stored[1] - stored[0]) / (2.0 * h), now.stored[1], rtol=1e-7)
    np.testing.assert_allclose(now.f @ v, -now.stored[1], rtol=1e-12)
