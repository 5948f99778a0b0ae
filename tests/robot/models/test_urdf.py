"""What URDF files say beyond URDF itself, beside closed forms: mimics, rotors, Drake's tags."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, simulate
from ukctrl.core.errors import ModelError

L1, L2, M1, M2, G = 0.4, 0.3, 1.5, 0.7, 9.81


def arm(kind="revolute", mimic="", more="", range_="lower='-3' upper='3'"):
    """Two point masses at the ends of two links that swing about y, down at zero."""

    def link(name, mass, length):
        return (
            f"<link name='{name}'><inertial><origin xyz='0 0 {-length}'/><mass value='{mass}'/>"
            "<inertia ixx='0' iyy='0' izz='0' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        )

    def joint(name, parent, child, z, inside=""):
        limit = "" if kind == "continuous" else f"<limit {range_} effort='9' velocity='9'/>"
        return (
            f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>"
            f"<origin xyz='0 0 {z}'/><axis xyz='0 1 0'/>{limit}{inside}</joint>"
        )

    return (
        "<robot name='arm' xmlns:drake='http://drake.mit.edu' "
        "xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='base'/>"
        + link("upper", M1, L1) + link("fore", M2, L2)
        + joint("a", "base", "upper", 0.0) + joint("b", "upper", "fore", -L1, mimic)
        + more + "</robot>"
    )  # fmt: skip


def coupled(ratio, offset, rotor=0.0):
    """Return a'' of the arm whose second joint is at ``ratio a + offset``, by Lagrange."""

    def rate(_, y):
        a, w = y
        b, k = ratio * a + offset, 1.0 + ratio
        inertia = M1 * L1**2 + M2 * (L1**2 + L2**2 * k**2 + 2 * L1 * L2 * k * np.cos(b)) + rotor
        slope = -2 * M2 * L1 * L2 * k * np.sin(b) * ratio
        load = (M1 + M2) * G * L1 * np.sin(a) + M2 * G * L2 * k * np.sin(a + b)
        return w, (-load - 0.5 * slope * w**2) / inertia

    return rate


MIMIC = {
    "mimic": "<mimic joint='a' multiplier='{r}' offset='{c}'/>",
    "drake:mimic": "<drake:mimic joint='a' multiplier='{r}' offset='{c}'/>",
}
ROTOR = (
    "<transmission><type>simple</type><joint name='a'/><actuator name='m'>"
    "<drake:rotor_inertia value='2e-4'/><drake:gear_ratio value='50'/></actuator></transmission>"
)


@pytest.mark.parametrize("tag", MIMIC)
@pytest.mark.parametrize("kind", ["revolute", "continuous"])
@pytest.mark.parametrize(("r", "c"), [(-1.0, 0.5), (2.0, 0.1), (-2.0, 0.0)])
def test_a_joint_that_mimics_another_moves_as_one_equation_says(tmp_path, tag, kind, r, c):
    path = tmp_path / "arm.urdf"
    path.write_text(arm(kind, MIMIC[tag].format(r=r, c=c), ROTOR))
    start = "a_cos = 'cos(0.7)', a_sin = 'sin(0.7)'" if kind == "continuous" else "a = 0.7"
    text = f"""
    title = "An arm whose second joint mimics the first"
    robot = '{path}'
    start = {{ q = {{ {start} }}, solve = true, hold = ['a'] }}
    timing = {{ duration = 0.3, sample = 0.1 }}
    integrator = {{ method = "DOP853", rtol = 1e-11, atol = 1e-12 }}
    """
    result = simulate(Scenario.from_toml(text))
    assert result.status == "completed", result.message
    true = solve_ivp(
        coupled(r, c, 50.0**2 * 2e-4), (0.0, 0.3), (0.7, 0.0), "DOP853", result.time,
        rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    q = result["q"]
    if kind == "continuous":
        q = np.arctan2(q[:, 1::2], q[:, 0::2])
    np.testing.assert_allclose(q[:, 0], true.y[0], rtol=0.0, atol=1e-8)
    apart = q[:, 1] - (r * true.y[0] + c)
    np.testing.assert_allclose(np.angle(np.exp(1j * apart)), 0.0, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(result["v"], np.outer(true.y[1], [1.0, r]), rtol=0.0, atol=1e-7)


def test_inertia_of_a_rotor_behind_a_gear_is_in_the_mass_matrix():
    plain, geared = Robot.build(arm()), Robot.build(arm(more=ROTOR))
    more = geared.snapshot(geared.neutral).M - plain.snapshot(plain.neutral).M
    np.testing.assert_allclose(more, np.diag([50.0**2 * 2e-4, 0.0]), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ("<drake:ball_constraint><drake:ball_constraint_body_A name='fore'/>"
         "</drake:ball_constraint>", "Nothing holds the bodies together: write it as [[passive]]"),
        ("<drake:linear_bushing_rpy/>", "Its force is missing: write it as [[force]]"),
        ("<loop_joint name='l' type='spherical'/>", "Nothing closes the loop"),
    ],
)  # fmt: skip
def test_what_would_hold_or_push_is_told_with_what_to_write(tag, words):
    (found,) = (each for each in Robot.build(arm(more=tag)).audit if each.code == "not_read")
    assert found.level == "warning"
    assert words in found.message


@pytest.mark.parametrize(
    "tag", ["<xacro:arm prefix='left'/>", "<drake:joint name='u' type='universal'/>"]
)
def test_what_stands_for_joints_that_the_robot_would_lack_is_an_error(tag):
    with pytest.raises(
        ModelError, match="not read: <.*>.* The robot would lack|.* would lack: exp"
    ):
        Robot.build(arm(more=tag))
