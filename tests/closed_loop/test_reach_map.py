"""Which part of a plane a frame reaches, beside the closed form of an arm of two links."""

import json

import numpy as np
import pytest

from ukctrl import Scenario, reach_figure, reach_map
from ukctrl.cli import main
from ukctrl.core.errors import InputError, UnknownName

LENGTH, UPPER, LOWER, G = 0.5, 2.0, 1.5, 9.81
"""Of a link, and the masses of both."""
ENDS = {"elbow": (-2.4, 2.0)}
OVER = {"x": (-1.1, 1.1), "z": (-1.1, 1.1)}
NEAR = 0.02
"""Points so near to a border that rounding decides are not compared [m, rad, parts of a torque]."""


def scenario(*blocks, robot='"two_link"'):
    text = f"""
        title = "Reach"
        robot = {robot}
        start = {{ q = {{ shoulder = "40*deg", elbow = "-100*deg" }}, solve = true }}
        timing = {{ duration = 1.0 }}
        controller = {{ use = "servo-baumgarte" }}

        [[servo]]
        kind = "point_follows"
        frame = "tool"
        axes = "xz"
        path = {{ kind = "min_jerk", points = [[0.5, 0.0], [0.7, 0.0]], duration = 1.0 }}
    """
    return Scenario.from_toml("\n".join([text, *blocks]))


WALL = """
[[keep]]
name = "wall"
kind = "half_space"
frame = "tool"
point = [0.6, 0.0, 0.0]
normal = [-1.0, 0.0, 0.0]
"""
WEAK = """{ use = "two_link", actuator = [
    { kind = "joint", joint = "shoulder", limit = 12.0 },
    { kind = "joint", joint = "elbow", limit = 2.5 } ] }"""
RANGE = """{ use = "two_link", limit = [{ joint = "elbow", position = [-1.0, 0.5] },
    { joint = "shoulder", position = [-3.1, 3.1] }] }"""


def solutions(x, z):
    """Return both positions of the elbow, shape ``(2, 2, ...)``, and its bend; NaN out of reach."""
    r = np.hypot(x, z)
    with np.errstate(invalid="ignore", divide="ignore"):
        bend = np.arccos((r**2 - 2.0 * LENGTH**2) / (2.0 * LENGTH**2))
        half, aside = 0.5 * np.array([x, z]), np.sqrt(LENGTH**2 - 0.25 * r**2)
        across = np.array([-z, x]) / r
    return np.array([half + aside * across, half - aside * across]), bend


def points(found):
    x, z = np.meshgrid(found.first, found.second)
    words = np.array(found.reasons)[found.cells]
    return x, z, words


@pytest.mark.slow
def test_an_arm_without_limits_reaches_its_disc():
    found = reach_map(scenario(), "tool", OVER, points=25)
    x, z, words = points(found)
    r = np.hypot(x, z)
    clear = (np.abs(r - 2.0 * LENGTH) > NEAR) & (r > NEAR)
    inside = r < 2.0 * LENGTH
    beyond = np.char.startswith(words, "range of")  # only what folds the elbow past its own range
    np.testing.assert_array_equal((words == "reached")[clear & ~beyond], inside[clear & ~beyond])
    assert set(found.shares()) <= {
        "reached",
        "out of reach",
        "range of 'elbow'",
        "range of 'shoulder'",
    }
    assert (r[beyond] < 0.2).all()
    assert found.start == pytest.approx((0.5, 0.0), abs=1e-9)
    np.testing.assert_allclose(found.path[[0, -1]], [[0.5, 0.0], [0.7, 0.0]], atol=1e-6)


@pytest.mark.slow
def test_a_wall_ends_the_map_where_it_stands():
    found = reach_map(scenario(WALL), "tool", OVER, points=25)
    x, _, words = points(found)
    kept = words == "kept 'wall'"
    assert kept.any()
    assert (x[kept] > 0.6 - 1e-9).all()
    assert (x[words == "reached"] < 0.6 + 1e-9).all()


@pytest.mark.slow
def test_motors_hold_the_arm_where_statics_say():
    """With the elbow at $x_e$, $\\tau_1 = g (m_1 x_e + m_2 (x_e + x))/2$."""
    found = reach_map(scenario(robot=WEAK), "tool", OVER, points=31)
    x, z, words = points(found)
    (elbows, _), r = solutions(x, z), np.hypot(x, z)
    x_e = elbows[:, 0]
    share = np.maximum(
        np.abs(0.5 * G * (UPPER * x_e + LOWER * (x_e + x))) / 12.0,
        np.abs(0.5 * G * LOWER * (x - x_e)) / 2.5,
    ).min(axis=0)
    clear = (r > 0.35) & (r < 2.0 * LENGTH - NEAR) & (np.abs(share - 1.0) > NEAR)
    np.testing.assert_array_equal((words == "reached")[clear], (share < 1.0)[clear])
    weak = np.char.endswith(words, "too weak")
    np.testing.assert_array_equal(weak[clear], (share > 1.0)[clear])
    assert {"motor 'shoulder' too weak", "motor 'elbow' too weak"} & set(found.reasons)


@pytest.mark.slow
def test_ranges_of_joints_leave_a_ring():
    found = reach_map(scenario(robot=RANGE), "tool", OVER, points=31)
    x, z, words = points(found)
    (_, bend), r = solutions(x, z), np.hypot(x, z)
    clear = (r < 2.0 * LENGTH - NEAR) & (r > NEAR) & (np.abs(bend - 1.0) > NEAR) & (x > 0.0)
    np.testing.assert_array_equal((words == "reached")[clear], (bend < 1.0)[clear])
    assert (words[clear & (bend > 1.0)] == "range of 'elbow'").all()


def test_feet_that_stand_are_left_where_they_are():
    found = reach_map(
        Scenario.load("a1-squat"), "trunk", {"x": (-0.6, 0.6), "z": (0.1, 0.6)}, points=13
    )
    x, z, words = points(found)
    far = np.hypot(np.abs(x) - 0.2, z - 0.0) > 0.5  # farther from any foot than a leg is long
    assert far.any()
    assert not (words == "reached")[far].any()
    assert (words == "reached").any()


@pytest.mark.slow
def test_the_plane_is_the_one_asked_for():
    short = scenario()
    found = reach_map(short, "tool", {"y": (0.0, 0.0), "x": (0.2, 0.8)}, points=5)
    assert (found.axes, found.across) == (("x", "z"), 0.0)
    np.testing.assert_allclose(found.first[[0, -1]], [0.2, 0.8])
    apart = reach_map(short, "tool", {"y": (0.3, 0.3), **OVER}, points=5)
    assert set(apart.shares()) - {"reached"} == {"out of reach"}
    assert apart.shares()["reached"] == 0.0


@pytest.mark.parametrize(
    ("frame", "given", "error", "text"),
    [
        ("tol", {}, UnknownName, "frame .in reach."),
        ("tool", {"w": (0.0, 1.0)}, UnknownName, "axis .in over."),
        ("tool", {"x": (1.0, 0.0)}, InputError, "from low to high"),
        ("tool", {"x": (0.0, np.nan)}, InputError, "finite ranges"),
        ("tool", {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}, InputError, "two axes"),
        ("tool", {"x": (0.0, 0.0), "y": (0.0, 0.0)}, InputError, "two axes"),
        ("base", {}, InputError, "must move for a map"),
    ],
)  # fmt: skip
def test_what_makes_no_map_is_refused(frame, given, error, text):
    with pytest.raises(error, match=text):
        reach_map(scenario(), frame, given)
    with pytest.raises(InputError, match="points must be between"):
        reach_map(scenario(), "tool", points=1)


def test_the_command_draws_it(tmp_path, capfd):
    asked = (
        "check",
        "stretched-arm",
        "--reach",
        "tool",
        "--over",
        "x=0.2:0.9",
        "--over",
        "z=0:0.6",
    )
    with pytest.raises(SystemExit):
        main((*asked, "--out", str(tmp_path)))
    assert "  reach         'tool' comes to" in capfd.readouterr().out
    data = json.loads((tmp_path / "check.json").read_text())
    assert data["reach"]["axes"] == ["x", "z"]
    assert (tmp_path / "reach.png").is_file()
    for wrong in (("--over", "x=0:1"), ("--reach", "tool", "--over", "x=a:1")):
        with pytest.raises(SystemExit) as ended:
            main(("check", "stretched-arm", *wrong))
        assert ended.value.code == 2


def test_the_figure_names_every_reason():
    found = reach_map(scenario(WALL), "tool", OVER, points=9)
    (axes,) = reach_figure(found).axes
    named = " ".join(text.get_text() for text in axes.get_legend().get_texts())
    assert all(reason in named for reason in found.shares())
