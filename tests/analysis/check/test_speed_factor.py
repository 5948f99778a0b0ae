"""A speed factor that `check` prints is tried at 1 % either side, by dynamics of the test's own.

The inputs and reactions of a motion solve ``M a + nle - f = B u + A' lambda``; where motors are
more than freedoms a linear program asks for some within their limits.
"""

from __future__ import annotations

import numpy as np
import pytest
import tomli_w
from scipy.linalg import orth
from scipy.optimize import linprog

from ukctrl import Scenario, check
from ukctrl.analysis.check.speed_factor import at_speed
from ukctrl.analysis.check.task_motion import task_motion
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.simulation.assemble import Loop

TOLERANCE = 1e-6
"""Of forces and speeds, against rounding [N, N m, rad/s]."""


def broken(loop, motion):
    """Return by name what a motion breaks, of motors, speeds, ranges and contacts that press."""
    robot, names = loop.robot, set()
    stack = Stack(passive_constraints(robot), robot)
    speed, low, high = robot.velocity_limit, robot.q_lower, robot.q_upper
    if (np.abs(motion.v) > speed + TOLERANCE).any():
        names.add("speed")
    if ((motion.q < low - TOLERANCE) | (motion.q > high + TOLERANCE)).any():
        names.add("range")
    feet = [i for i, name in enumerate(stack.names) if name.endswith(".height")]
    mu = loop.plant.contacts.mu if loop.plant.contacts is not None else np.full(len(feet), np.inf)
    for t, q, v, a in zip(motion.t.tolist(), motion.q, motion.v, motion.a, strict=True):
        snapshot = loop.plant_at(t).snapshot
        snapshot.move(q, v, t)
        A, B = stack.write(snapshot).A, snapshot.B
        load = snapshot.M @ a + snapshot.nle - snapshot.f
        free = np.eye(robot.nv)
        if len(A):
            Q = orth(A.T)
            free -= Q @ Q.T  # what passive constraints cannot bear
        H, d = free @ B, free @ load
        bounds = loop.effects.bounds(v @ B) or robot.input_bounds(v @ B)
        u = np.linalg.pinv(H, rcond=1e-9) @ d
        if ((u < bounds[0] - TOLERANCE) | (u > bounds[1] + TOLERANCE)).any():
            U, s, Vt = np.linalg.svd(H)
            r = int((s > 1e-9 * s[0]).sum())
            box = np.column_stack(bounds)
            serves = linprog(
                np.zeros(robot.nu), A_eq=Vt[:r], b_eq=(U.T @ d)[:r] / s[:r], bounds=box
            )
            if serves.status == 2:
                names.add("motor")
        if feet:
            force = np.linalg.lstsq(A.T, load - B @ u, rcond=None)[0]
            for foot, friction in zip(feet, mu.tolist(), strict=True):
                pushes, rubs = force[foot], np.hypot(force[foot + 1], force[foot + 2])
                if pushes < -TOLERANCE or rubs > friction * max(pushes, 0.0) + TOLERANCE:
                    names.add("contact")
    return names


NAMES = ["ur5-pose", "panda-pose", "stretched-arm", "scara-weak-motors", "three-rrr-fastest",
         "panda-priorities", "mobile-manipulator", "scara-pick-and-place", "two-arms-carry",
         "a1-squat"]  # fmt: skip
"""Those of the catalogue whose motion something limits, and whose law keeps nothing."""


@pytest.mark.parametrize(
    "name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])]
)
def test_a_factor_keeps_all_one_percent_below_it_and_not_one_above(name):
    loop = Loop(Scenario.load(name))
    motion = task_motion(loop)
    timing = check(loop.scenario).motion.timing
    assert timing.rate > 0.0
    assert broken(loop, at_speed(motion, 0.99 * timing.rate)) == set()
    found = broken(loop, at_speed(motion, 1.01 * timing.rate))
    assert found == {timing.binding[0].partition(" ")[0]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a1-lean", "ur5-post"])
def test_what_is_beyond_a_kept_limit_at_rest_is_so_at_every_speed(name):
    found = check(Scenario.load(name))
    assert found.motion.timing.rate == 0.0
    [kept] = found.motion.timing.binding
    assert any("goes beyond" in text and kept.removeprefix("kept ") in text
               for text in found.warnings)  # fmt: skip


URDF = """<robot name="lift"><link name="base"/>
<link name="load"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="z" type="prismatic"><parent link="base"/><child link="load"/><axis xyz="0 0 1"/>
<limit lower="-0.5" upper="{upper}" effort="100" velocity="50"/></joint></robot>"""
ROBOT = 'title = "lift"\nmodel = "lift.urdf"\n'
WALL = {"kind": "expression", "name": "ceiling", "h": "0.3 - z", "unit": "m", "decay": 0.2}


def lift(folder, upper=1.0, keep=(), amplitude=0.2, effect=(), motor=""):
    """A load of 2 kg that swings up and down as a sine, ``w = 2 rad/s``."""
    home = folder / "robots" / "lift"
    home.mkdir(parents=True)
    (home / "lift.urdf").write_text(URDF.format(upper=upper))
    (home / "robot.toml").write_text(ROBOT + motor)
    path = {"kind": "expression", "components": [f"{amplitude}*sin(2*t)"]}
    table = {
        "title": "lift", "robot": "lift", "start": {"solve": True},
        "servo": [{"kind": "joint_follows", "joints": ["z"], "path": path}],
        "keep": list(keep), "effect": list(effect), "controller": {"use": "servo-baumgarte"},
        "timing": {"duration": 3.2},
    }  # fmt: skip
    (folder / "lift.toml").write_text(tomli_w.dumps(table))
    return Scenario.load(folder / "lift.toml")


def test_the_motor_of_a_lift_bears_what_its_closed_form_says(tmp_path):
    """``m (g + A w^2 r^2)`` is 100 N at r."""
    timing = check(lift(tmp_path)).motion.timing
    assert timing.rate == pytest.approx(np.sqrt((100.0 / 2.0 - 9.81) / 0.8), rel=1e-3)


@pytest.mark.parametrize("viscous", [10.0, 400.0, 4000.0])
def test_friction_that_is_too_much_at_full_speed_leaves_a_slower_one(tmp_path, viscous):
    """``m g + sqrt((m A w^2 r^2)^2 + (d A w r)^2)`` is 100 N at r."""
    rubbed = {"kind": "friction", "viscous": viscous}
    timing = check(lift(tmp_path, effect=[rubbed])).motion.timing
    inertia, friction, left = 2.0 * 0.8, viscous * 0.4, 100.0 - 2.0 * 9.81
    square = (np.hypot(friction**2 / 2.0, inertia * left) - friction**2 / 2.0) / inertia**2
    assert timing.rate == pytest.approx(np.sqrt(square), rel=1e-3)
    assert timing.binding == ("motor 'z'",)


def test_a_torque_that_falls_with_speed_bounds_the_factor_as_its_closed_form_says(tmp_path):
    """The motor drives nothing beyond 0.9 m/s; below 0.85 it bears a thousandth of its limit."""
    motor = '[[actuator]]\nkind = "joint"\njoint = "z"\nname = "z"\nlimit = 2e4\n'
    motor += "corner_speed = 0.85\nno_load_speed = 0.9\n"
    timing = check(lift(tmp_path, motor=motor)).motion.timing
    x = np.linspace(0.0, 2.0 * np.pi, 100_001)

    def keeps(r):
        u, v = 2.0 * (9.81 - 0.8 * r**2 * np.sin(x)), 0.4 * r * np.cos(x)
        share = np.clip((0.9 - np.abs(v)) / 0.05, 0.0, 1.0)
        return bool((np.abs(u) <= np.where(u * v > 0.0, 2e4 * share, 2e4)).all())

    assert keeps(0.99 * timing.rate)
    assert not keeps(1.01 * timing.rate)


def test_a_range_that_the_path_leaves_is_left_at_every_speed(tmp_path):
    timing = check(lift(tmp_path, upper=0.15)).motion.timing
    assert (timing.rate, timing.binding) == (0.0, ("range of 'z'",))


def test_a_kept_set_bounds_the_factor_as_its_closed_form_says(tmp_path):
    r"""With poles at ``p = -1 / decay`` the row asks for
    $\ddot h + 2 p \dot h + p^2 h \ge 0$, of $h = 0.3 - A \sin x$ at $\dot x = w r$.
    """
    timing = check(lift(tmp_path, keep=[WALL])).motion.timing
    assert timing.binding == ("kept 'ceiling'",)
    x, p = np.linspace(0.0, 2.0 * np.pi, 100_001), 1.0 / 0.2

    def keeps(r):
        w = 2.0 * r
        h, dh, ddh = 0.3 - 0.2 * np.sin(x), -0.2 * w * np.cos(x), 0.2 * w**2 * np.sin(x)
        return bool((ddh + 2.0 * p * dh + p**2 * h >= 0.0).all())

    assert keeps(0.99 * timing.rate)
    assert not keeps(1.01 * timing.rate)
