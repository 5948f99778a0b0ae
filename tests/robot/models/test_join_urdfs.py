"""Robots made of several model files."""

import numpy as np
import pytest

from ukctrl.core.errors import InputError, ModelError, UnknownName
from ukctrl.core.files import catalog
from ukctrl.robot import Payload, Perturbation, Robot

EXACT = {"rtol": 0.0, "atol": 1e-11}  # torques of some 100 N m
PANDA = catalog.root() / "robots" / "panda" / "panda.urdf"
BALL = """<mujoco model="ball"><worldbody><body name="b"><joint name="j"/>
<geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""


@pytest.fixture
def load(tmp_path):
    """Load a robot from the text of its parts."""

    def build(text, **override):
        (tmp_path / "ball.xml").write_text(BALL)
        (tmp_path / "robot.toml").write_text(f'title = "made"\n{text}'.replace("PANDA", str(PANDA)))
        return Robot.load(tmp_path / "robot.toml", override=override)

    return build


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_an_arm_that_is_a_part_moves_as_it_does_alone(rng):
    # The left arm with the bar in its hand, the right one without: the closure is a constraint.
    both, alone = Robot.load("two_pandas"), Robot.load("panda")
    bar = Payload(frame="tool", mass=3.0, com=(0.0, 0.4, 0.0), inertia=(0.1604, 0.0008, 0.1604))
    left, right = alone.perturbed(Perturbation(payload=bar)), alone
    q, v = both.random(rng), rng.standard_normal(14)
    whole = both.snapshot(q, v)
    for robot, part in ((left, slice(0, 7)), (right, slice(7, 14))):
        own = robot.snapshot(q[part], v[part])
        np.testing.assert_allclose(whole.M[part, part], own.M, **EXACT)
        np.testing.assert_allclose(whole.nle[part], own.nle, **EXACT)
    np.testing.assert_allclose(whole.M[:7, 7:], 0.0, **EXACT)


def test_a_part_is_carried_where_it_is_mounted(load, rng):
    robot = load('[[part]]\nmodel = "PANDA"\nposition = [1.0, 2.0, 3.0]\nrpy = ["180*deg", 0, 0]\n')
    q = robot.random(rng)
    hanging, alone = robot.snapshot(q), Robot.load("panda").snapshot(q)
    turn = np.diag([1.0, -1.0, -1.0])
    np.testing.assert_allclose(
        hanging.frame("tool").position,
        [1.0, 2.0, 3.0] + turn @ alone.frame("tool").position,
        **EXACT,
    )
    np.testing.assert_allclose(hanging.gravity, -alone.gravity, **EXACT)


def test_mimic_joints_of_a_part_follow_its_own(load, tmp_path):
    (tmp_path / "hand.urdf").write_text(
        """<robot name="hand"><link name="palm"/>
        <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
        iyz="0"/></inertial></link><link name="b"><inertial><mass value="1"/><inertia ixx="1"
        iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="prismatic"><parent link="palm"/><child link="a"/>
        <limit lower="0" upper="1" effort="1" velocity="1"/></joint>
        <joint name="k" type="prismatic"><parent link="palm"/><child link="b"/>
        <limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="j"/></joint></robot>"""
    )
    robot = load('[[part]]\nmodel = "hand.urdf"\nprefix = "l_"\n[[part]]\nmodel = "hand.urdf"\n')
    assert robot.actuators == ("l_j", "j")
    assert [table["phi"] for table in robot.passive] == [
        "l_k - (1.0*l_j + 0.0)",
        "k - (1.0*j + 0.0)",
    ]


def test_the_first_part_floats_where_the_base_does(load):
    satellite = str(catalog.root() / "robots" / "floating_arm" / "floating_arm.urdf")
    robot = load(
        f'floating_base = true\n[[part]]\nmodel = "{satellite}"\n'
        '[[part]]\nmodel = "PANDA"\nparent = "base"\nprefix = "arm_"\nposition = [0.0, 0.0, 0.2]\n'
    )
    assert robot.nv == 6 + 3 + 7
    assert robot.dofs[:2] == ("root_vx", "root_vy")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('[[part]]\nmodel = "PANDA"\n' * 2, ModelError, "two parts have a link named 'link0'"),
        (
            '[[part]]\nmodel = "PANDA"\nparent = "grond"\n',
            UnknownName,
            r"part\[0\]: no link named 'grond'; did you mean 'ground'",
        ),
        (
            '[[part]]\nmodel = "PANDA"\nparent = "link3"\n',
            UnknownName,
            r"part\[0\]: no link named 'link3'",
        ),
        ('[[part]]\nmodel = "ball.xml"\n', ModelError, "a part must be a URDF; got MJCF"),
        (
            '[[part]]\nmodel = "bal.xml"\n',
            InputError,
            r"part\[0\].model: must be a file that exists",
        ),
        ("part = []\n", InputError, "part"),
        *(
            (
                f'floating_base = true\n[[part]]\nmodel = "PANDA"\n{key} = {value}\n',
                ModelError,
                r"robot\.toml: part\[0\]: with floating_base the first part is the base that "
                r"floats; leave out its parent, position and rpy, and say in the scenario's start "
                r"where it is\.$",
            )
            for key in ("position", "rpy")
            for value in ("[1, 0, 0]", "[0, 1, 0]", "[0, 0, 1]")
        ),
        ('model = "PANDA"\n[[part]]\nmodel = "PANDA"\n', InputError, "got model and part"),
    ],
)
def test_parts_that_make_no_robot_are_refused_by_name(load, text, kind, message):
    with pytest.raises(kind, match=message) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    assert "robot.toml" in str(caught.value)
