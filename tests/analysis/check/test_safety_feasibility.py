"""`check` of limits that the law keeps: where along the exact task some input keeps them beside it.

The tool of an arm goes along x by $x(t)$; with $h = w - x$ the rows can be served exactly where
$\\ddot h + 2 p \\dot h + p^2 h \\ge 0$ and $h \\ge 0$, for nothing else decides over $x$.
"""

import json

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.analysis.check.check_report import write_check
from ukctrl.control import Baumgarte, Servo
from ukctrl.control.safety import FormulaLimit
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import JointMotor, Lagrangian, Options
from ukctrl.simulation.scenario import StartState, Timing

FROM, TO, LASTS = 0.5, 0.7, 1.0


def scenario(*keeps, robot='"two_link"', path="min_jerk"):
    """An arm whose tool goes along x, with half-spaces that end it: (name, x, way, decay)."""
    blocks = "".join(
        f'[[keep]]\nname = "{name}"\nkind = "half_space"\nframe = "tool"\npoint = [{x}, 0.0, 0.0]\n'
        f"normal = [{way}, 0.0, 0.0]\ndecay = {decay}\n"
        for name, x, way, decay in keeps
    )
    points = f"points = [[{FROM}, 0.0], [{TO}, 0.0]], duration = {LASTS}"
    return Scenario.from_toml(f"""
        title = "Along x"
        robot = {robot}
        start = {{ q = {{ shoulder = "40*deg", elbow = "-100*deg" }}, solve = true }}
        timing = {{ duration = {LASTS} }}
        controller = {{ use = "servo-baumgarte" }}

        [[servo]]
        kind = "point_follows"
        frame = "tool"
        axes = "xz"
        path = {{ kind = "{path}", {points} }}

        {blocks}
    """)


def expected(wall, decay, t):
    """Return where the path is feasible, and what it leaves, in closed form."""
    s, p = t / LASTS, 1.0 / decay
    x = FROM + (TO - FROM) * (10 * s**3 - 15 * s**4 + 6 * s**5)
    x_dot = (TO - FROM) / LASTS * (30 * s**2 - 60 * s**3 + 30 * s**4)
    x_ddot = (TO - FROM) / LASTS**2 * (60 * s - 180 * s**2 + 120 * s**3)
    h = wall - x
    return (h >= 0.0) & (-x_ddot - 2.0 * p * x_dot + p * p * h >= 0.0), h


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wall", "decay"), [(0.8, 0.1), (0.71, 0.1), (0.71, 0.02), (0.65, 0.1), (0.65, 0.3)]
)
def test_a_path_towards_a_wall_is_feasible_where_its_barrier_says(wall, decay):
    found = check(scenario(("wall", wall, -1.0, decay)))
    t, left = found.motion.curves.t, found.motion.left
    feasible, h = expected(wall, decay, t)
    np.testing.assert_allclose(left.slack[:, 0], h, rtol=0.0, atol=1e-9)
    edges = np.abs(np.diff(feasible.astype(int))).sum()
    assert (left.feasible != feasible).sum() <= edges  # a knot at an edge may fall to either side
    np.testing.assert_allclose(found.motion.kept.share, feasible.mean(), rtol=0.0, atol=0.01)
    named = {name for stretch in found.motion.kept.stretches for name in stretch.limits}
    assert named == (set() if feasible.all() else {"wall"})


@pytest.mark.slow
def test_what_it_costs_is_told_where_no_limit_is_crossed():
    """The row gives up what its acceleration is beyond the barrier's, here along x alone."""
    found = check(scenario(("wall", 0.71, -1.0, 0.1)))
    (stretch,) = found.motion.kept.stretches
    s, p = found.motion.curves.t / LASTS, 10.0
    x_dot = (TO - FROM) / LASTS * (30 * s**2 - 60 * s**3 + 30 * s**4)
    x_ddot = (TO - FROM) / LASTS**2 * (60 * s - 180 * s**2 + 120 * s**3)
    beyond = x_ddot + 2.0 * p * x_dot - p * p * expected(0.71, 0.1, s * LASTS)[1]
    np.testing.assert_allclose(stretch.gives_up, beyond.max(), rtol=1e-4)
    assert not stretch.crossed
    assert not stretch.conflict
    assert any(
        "no input serves the task and keeps all limits ('wall')" in text for text in found.warnings
    )


@pytest.mark.slow
def test_limits_that_leave_no_input_between_them_are_named_along_the_path():
    """One is to be left slowly while the other must be braked for at once: no x'' does both."""
    near, slow = ("near", 0.645, -1.0, 0.02), ("slow", 0.6, 1.0, 2.0)
    found = check(scenario(near, slow))
    conflicts = [stretch for stretch in found.motion.kept.stretches if stretch.conflict]
    assert conflicts
    assert set(conflicts[0].limits) == {"near", "slow"}
    text = next(text for text in found.warnings if "contradict each other" in text)
    assert "'near'" in text
    assert "'slow'" in text


def test_motors_that_are_too_weak_have_a_part_in_it():
    weak = """{ use = "two_link", actuator = [
        { kind = "joint", joint = "shoulder", limit = 20.0 },
        { kind = "joint", joint = "elbow", limit = 1.0 } ] }"""
    found = check(scenario(("wall", 0.9, -1.0, 0.1), robot=weak))
    motors = {name for stretch in found.motion.kept.stretches for name in stretch.motors}
    assert "elbow" in motors


def test_another_input_than_the_smallest_may_keep_everything():
    """The least torques push the feet apart; on ice the cones choose among those that serve."""
    found = check(Scenario.load("a1-ice", {"timing.duration": 0.1}))
    assert found.verdict == "ready"
    assert found.motion.kept.share == 1.0
    assert "contact_forces" in " ".join(found.motion.left.blocks)
    assert np.nanmin(found.motion.left.slack) > -1e-4  # N


def test_the_page_draws_what_is_left_and_the_data_have_it(tmp_path):
    found = check(scenario(("wall", 0.65, -1.0, 0.1)))
    page = write_check(found, tmp_path).read_text()
    assert "Limits kept" in page
    assert (tmp_path / "kept.png").is_file()
    data = json.loads((tmp_path / "check.json").read_text())
    (stretch,) = data["kept"]["stretches"]
    assert stretch["limits"] == ["wall"]
    assert len(data["curves"]["kept"]) == len(data["curves"]["kept_feasible"])


@pytest.mark.slow
def test_without_anything_to_keep_nothing_is_said():
    found = check(scenario())
    assert found.motion.kept is None
    assert found.motion.left is None


def led_past_a_wall(decay, mass, control):
    """A cart that starts 2 m before a wall and is led half a metre beyond it, motor 30 N."""
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m"}, kinetic="m*v.x**2/2", potential="0*x",
                   parameters={"m": mass}),
        Options(actuator=[JointMotor(name="F", joint="x", limit=30.0)]),
    )  # fmt: skip
    return Scenario(
        title="led", robot=robot,
        servo=(JointFollows(joints=("x",), path=Constant(value=(1.0,))),),
        controller=Servo(feedback=Baumgarte(alpha=40.0, beta=400.0)),
        keep=(FormulaLimit(name="wall", h="0.5 - x", decay=decay),),
        start=StartState(q={"x": -1.5}),
        timing=Timing(duration=2.0, control=control, sample=0.004),
    )  # fmt: skip


@pytest.mark.parametrize(("decay", "mass", "control", "is_kept"), [
    (0.1, 3.0, 0.004, False), (0.05, 3.0, 0.004, False), (0.1, 3.0, None, False),
    (0.5, 3.0, 0.004, True), (0.1, 0.3, 0.004, True),
])  # fmt: skip
def test_that_a_limit_is_kept_is_said_only_where_a_run_keeps_it(decay, mass, control, is_kept):
    """Motors stop a cart in v^2 m / 2F; a longer decay, as is advised, brakes early enough."""
    scenario = led_past_a_wall(decay, mass, control)
    margin = simulate(scenario).metric("worst_margin")
    assert (margin >= 0.0) == is_kept
    [text] = [text for text in check(scenario).warnings if "goes beyond 'wall'" in text]
    assert ("the limit is kept, and" in text) == is_kept
    assert (f"crosses it too, by {-margin:.3g} at" in text) != is_kept
