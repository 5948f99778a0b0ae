"""Perturbed robots against models that were written with the other numbers."""

import numpy as np
import pytest

from ukctrl.core.errors import InputError, UnknownName
from ukctrl.robot import Payload, Perturbation, Robot

EXACT = {"rtol": 0.0, "atol": 1e-12}

MODEL = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="{c1}" rpy="0.1 0.2 0.3"/><mass value="{m1}"/>
<inertia ixx="{i1}" iyy="{i1}" izz="{j1}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.2 0 0.1"/><mass value="{m2}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
{extra}
<joint name="one" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="5" velocity="5"/><dynamics {dynamics}/></joint>
<joint name="two" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0.4 0 0" rpy="0.3 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="5" velocity="5"/></joint></robot>"""
NOMINAL = {
    "m1": 2.0, "m2": 1.0, "i1": 0.02, "j1": 0.03, "c1": "0.2 0 0", "extra": "",
    "dynamics": 'damping="0"',
}  # fmt: skip
TOOL = """<link name="tool">{inertial}</link><joint name="flange" type="fixed">
<parent link="lower"/><child link="tool"/><origin xyz="0.5 0 0" rpy="0 0.7 0"/></joint>"""


def written(**changes):
    return Robot.build(MODEL.format(**{**NOMINAL, **changes}))


def assert_same(one, two, rng):
    q, v = one.random(rng), rng.standard_normal(one.nv)
    a, b = one.snapshot(q, v), two.snapshot(q, v)
    np.testing.assert_allclose(a.M, b.M, **EXACT)
    np.testing.assert_allclose(a.nle, b.nle, **EXACT)
    np.testing.assert_allclose(a.f, b.f, **EXACT)


def test_nothing_perturbed_is_the_same_robot(robot, rng):
    assert_same(robot.perturbed(Perturbation()), robot, rng)


def test_the_original_does_not_change(rng):
    robot, again = written(), written()
    robot.perturbed(Perturbation(mass_scale=2.0, damping=1.0, gravity=(0, 0, 0)))
    assert_same(robot, again, rng)


def test_a_mass_scale_scales_mass_and_inertia(rng):
    heavier = written(m1=3.0, i1=0.03, j1=0.045)
    assert_same(written().perturbed(Perturbation(mass_scale={"one": 1.5})), heavier, rng)


def test_a_mass_scale_for_all_scales_everything(robot, rng):
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    s, heavier = robot.snapshot(q, v), robot.perturbed(Perturbation(mass_scale=1.3)).snapshot(q, v)
    np.testing.assert_allclose(heavier.M, 1.3 * s.M, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(heavier.nle, 1.3 * s.nle, rtol=1e-12, atol=1e-11)


def test_an_inertia_scale_leaves_the_mass(rng):
    assert_same(
        written().perturbed(Perturbation(inertia_scale={"one": 2.0})),
        written(i1=0.04, j1=0.06),
        rng,
    )


def test_a_shift_moves_the_centre_of_mass(rng):
    shifted = written().perturbed(Perturbation(com_shift={"one": (0.01, -0.02, 0.03)}))
    assert_same(shifted, written(c1="0.21 -0.02 0.03"), rng)


def test_friction_and_damping_are_those_of_a_model_that_has_them(rng):
    rough = written(dynamics='damping="0.4" friction="0.2"')
    assert_same(
        written().perturbed(Perturbation(damping={"one": 0.4}, friction={"one": 0.2})), rough, rng
    )


def test_damping_for_all_leaves_a_floating_base_free(robots):
    robot = robots["floating_arm"].perturbed(Perturbation(damping=2.0))
    f = robot.snapshot(robot.neutral, np.ones(robot.nv)).f
    np.testing.assert_array_equal(f, [0.0] * 6 + [-2.0] * 3)


def test_a_payload_is_a_body_fixed_at_its_frame(rng):
    inertial = """<inertial><origin xyz="0.1 0 -0.05"/><mass value="0.7"/>
    <inertia ixx="0.003" iyy="0.004" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial>"""
    empty = written(extra=TOOL.format(inertial=""))
    loaded = written(extra=TOOL.format(inertial=inertial))
    payload = Payload(frame="tool", mass=0.7, com=(0.1, 0.0, -0.05), inertia=(0.003, 0.004, 0.005))
    assert_same(empty.perturbed(Perturbation(payload=payload)), loaded, rng)


def test_gravity_can_be_another(rng):
    robot = written().perturbed(Perturbation(gravity=(0.0, 0.0, -1.62)))
    q = robot.random(rng)
    np.testing.assert_allclose(
        robot.snapshot(q).gravity, 1.62 / 9.81 * written().snapshot(q).gravity, **EXACT
    )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"mass_scale": -1.0}, InputError, "mass_scale: must be positive; got -1.0"),
        ({"mass_scale": {"one": 0.0}}, InputError, "mass_scale: one: must be positive; got 0.0"),
        ({"mass_scale": {"on": 2.0}}, UnknownName, "no joint for mass_scale named 'on'"),
        ({"damping": float("nan")}, InputError, "damping: must be a finite number"),
        ({"com_shift": (1.0, 2.0)}, InputError, "com_shift: must be a list of 3 numbers"),
        ({"friction": {"three": 1.0}}, UnknownName, "no joint named 'three'"),
        ({"payload": Payload(frame="nose", mass=1.0)}, UnknownName, "no frame named 'nose'"),
        ({"payload": {"frame": "lower", "mas": 1.0}}, InputError, "payload.mas: unknown key"),
    ],
)
def test_a_perturbation_that_makes_no_sense_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        written().perturbed(Perturbation(**changes))
