"""Which files other readers are said to take for another robot; the documentation says the same."""

import re

import pytest
from extras import needs

from tests.shared.documents import DOCS
from ukctrl.analysis.check.parser_differences import (
    MJCF_DIFFERENCES,
    URDF_DIFFERENCES,
    parser_differences,
)
from ukctrl.robot.shape_sources import ShapeSource

pytestmark = needs("mujoco")

MASS = '<geom size=".1" mass="1" pos=".5 0 0"/>'
OTHER = f'<body name="c"><joint name="k" axis="0 1 0"/>{MASS}</body>'
OF_MESH = (
    '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>',
    '<geom type="mesh" mesh="m"/>',
)


def arm(joint="", body="", mass=MASS, above="", beside="", after=""):
    """An arm of one hinge with what is put into its tags, above its bodies, beside and after it."""
    return (
        f"<mujoco>{above}<worldbody>{beside}<body name='b' {body}><joint name='j' axis='0 1 0' "
        f"{joint}/>{mass}</body></worldbody>{after}</mujoco>"
    )


FILES = {
    "the place of a first body without joints": [
        f"<mujoco><worldbody><body {at}>{OTHER}</body></worldbody></mujoco>"
        for at in ('pos="1 0 0"', 'euler="0 0 90"')
    ],
    "a second body of the world": [arm(beside=OTHER)],
    "what stands in <frame> or <replicate>": [
        arm(mass=f'<frame pos="1 0 0">{MASS}</frame>'),
        arm(mass=f'<replicate count="2" offset="1 0 0">{MASS}</replicate>'),
    ],
    "mass and inertia of a mesh without <inertial>": [arm(above=OF_MESH[0], mass=OF_MESH[1])],
    "mass of a geom that touches nothing, without <inertial>": [
        arm(mass=MASS.replace("/>", ' contype="0" conaffinity="0"/>'))
    ],
    "mass of geoms from <default>": [arm(above='<default><geom mass="3"/></default>')],
    "settotalmass": [arm(above='<compiler settotalmass="5"/>')],
    "the range of a slide, where angles are degrees": [arm('type="slide" range="-1 2"')],
    "a range beside ref": [arm('range="0 90" ref="30"'), arm('range="0 90" ref="-3"')],
    "a range with limited = false": [arm('range="-10 10" limited="false"')],
    "damping of a ball joint": [arm('type="ball" damping="2"')],
    "damping of several numbers": [arm('damping="0 3"')],
    "stiffness of a joint": [arm('stiffness="5"'), arm('stiffness="0 5"')],
    "dry friction": [arm('frictionloss="1"')],
    "armature": [arm('armature="0.3"')],
    "actuatorfrcrange": [arm('actuatorfrcrange="-5 7"')],
    "gravcomp": [arm(body='gravcomp="0.5"')],
    "density and viscosity": [
        arm(above='<option density="1000"/>'),
        arm(above='<option viscosity="1"/>'),
    ],
    "gravity": [arm(above='<option gravity="0 0 -3"/>')],
    "gravity switched off": [arm(above='<option><flag gravity="disable"/></option>')],
    "<equality>, but connect": [
        arm(after='<equality><weld body1="b"/></equality>'),
        arm(after='<equality><joint joint1="j"/></equality>'),
    ],
    "springs and dampers of tendons": [
        arm(after=f'<tendon><fixed {what}="1"><joint joint="j" coef="1"/></fixed></tendon>')
        for what in ("stiffness", "damping")
    ],
    "gear of an actuator": [arm(after='<actuator><motor joint="j" gear="50"/></actuator>')],
    "position and velocity servos": [
        arm(after=f'<actuator><{kind} joint="j"/></actuator>') for kind in ("position", "velocity")
    ],
}
ALIKE = [
    arm('range="-10 10" damping="2" pos="0 0 .1"'),
    arm('type="slide" range="-1 2"', above='<compiler angle="radian"/>'),
    arm(
        above=OF_MESH[0],
        mass=f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{OF_MESH[1]}',
        after='<actuator><motor joint="j" ctrlrange="-1 1"/></actuator>',
    ),
    arm(after='<equality><connect body1="b" anchor="0 0 0"/></equality>'),
]


def told(text):
    return [reading.what for reading in parser_differences(ShapeSource(text, None), ())]


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_readers_take_differently_is_told_by_what_stands_in_it(what):
    for text in FILES[what]:
        assert told(text) == [what]


def test_every_row_has_a_file():
    assert list(FILES) == [reading.what for _, reading in MJCF_DIFFERENCES]


@pytest.mark.parametrize("text", ALIKE)
def test_what_all_take_alike_is_not_told(text):
    assert told(text) == []


def test_of_a_urdf_the_rows_are_those_that_its_findings_ask_for():
    text = "<robot name='r'><link name='l'/></robot>"
    got = [
        each.what
        for each in parser_differences(ShapeSource(text, None), ["mimic_joint", "unknown"])
    ]
    assert got == ["the root link", "a mimic joint"]


def test_the_documentation_has_every_row():
    page = (DOCS / "reference" / "robots.md").read_text(encoding="utf-8").replace("`", "")
    rows = {tuple(re.split(r" *\| *", line.strip("| "))) for line in page.splitlines()}
    assert {
        tuple(reading)
        for reading in (*URDF_DIFFERENCES.values(), *(row for _, row in MJCF_DIFFERENCES))
    } <= rows
