"""The tables of the page: the vehicle's path, and the routes that verify it."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from makers_tables import about_z, ur5_tool
from markdown_text import below, fixed, table
from numpy.typing import NDArray

from ukctrl import Result, Robot, Scenario, simulate

NAME = "mobile-manipulator"
SLOW = True
SAME_STATE = 1e-11
"""Two routes to the same number at the same state, of some 100 N m, differ by rounding."""
INTEGRATED = 1e-8
"""What integration to a relative 1e-9, and Simpson's rule over samples, leave of some m."""
RADIUS, HALF_TRACK = 0.1, 0.25
"""Of the wheels, and half the distance between them [m]."""
REACH = 0.85
"""Of a UR5, from its shoulder to the wrist, by the maker's data sheet [m]."""
ARM, VEHICLE, WHEELS = slice(3, 9), slice(0, 3), slice(9, 11)
"""Where the velocities of the arm, the vehicle and its wheels stand."""


@functools.cache
def run() -> Result:
    """Run the scenario."""
    return simulate(Scenario.load(NAME))


def heading(q: NDArray[np.float64]) -> float:
    """Return the angle of the vehicle [rad]."""
    return float(np.arctan2(q[3], q[2]))


def tool(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the tool's pose by the maker's table, on the vehicle."""
    T = about_z(heading(q))
    T[:2, 3] = q[:2]
    mount = about_z(0.0, 0.3)
    mount[0, 3] = 0.15
    return T @ mount @ ur5_tool(q[4:10])


def rolling() -> NDArray[np.float64]:
    """Return the textbook's rows of a differential drive, in the vehicle's axes."""
    rows = np.zeros((3, 11))
    rows[0, [0, 9, 10]] = 1.0, -0.5 * RADIUS, -0.5 * RADIUS
    rows[1, 1] = 1.0
    rows[2, [2, 9, 10]] = 1.0, 0.5 * RADIUS / HALF_TRACK, -0.5 * RADIUS / HALF_TRACK
    return rows


def dynamics_gap() -> float:
    """Return what the inputs and forces on the wheels leave of the equation of motion [N, N m].

    Newton-Euler gives the force that the motion needs; the motors give their share, and what is
    left has to be a combination of the rolling rows.
    """
    robot, result = Robot.load("mobile_ur5"), run()
    model = robot.structure.model
    data, rows, worst = model.createData(), rolling(), 0.0
    for k in range(0, len(result.time), 10):
        needed = pin.rnea(model, data, result["q"][k], result["v"][k], result["a"][k])
        needed[3:] -= result["u"][k]
        share = np.linalg.lstsq(rows.T, needed, rcond=None)[0]
        worst = max(worst, float(np.abs(needed - rows.T @ share).max()))
    return worst


def odometry() -> float:
    """Return how far the vehicle is from where the turns of its wheels lead [m]."""
    result = run()
    forward = 0.5 * RADIUS * result["v"][:, WHEELS].sum(axis=1)
    turning = 0.5 * RADIUS / HALF_TRACK * (result["v"][:, 10] - result["v"][:, 9])
    # Simpson's rule over pairs of samples
    h = result.time[1] - result.time[0]

    def integral(f: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.append(0.0, np.cumsum(h / 3.0 * (f[:-2:2] + 4.0 * f[1:-1:2] + f[2::2])))

    angle = np.array([heading(q) for q in result["q"]])
    turned = np.abs(integral(turning) - (angle[::2] - angle[0])).max()
    x, y = integral(forward * np.cos(angle)), integral(forward * np.sin(angle))
    away = result["q"][::2, :2] - result["q"][0, :2]
    return float(max(np.abs(away - np.column_stack([x, y])).max(), turned))


def routes() -> str:
    """Return what was compared, and how far apart it is."""
    result, task = run(), Scenario.load(NAME).servo[0]
    position = turn = 0.0
    for t, q in zip(result.time, result["q"], strict=True):
        T = tool(q)
        position = max(position, float(np.abs(T[:3, 3] - task.path(t)[0]).max()))
        off = pin.log3(task.orientation(t).R.T @ T[:3, :3])
        turn = max(turn, float(np.abs(off).max()))
    slip = float(np.abs(result["v"] @ rolling().T).max())
    rows = [
        ["place of the tool", "the maker's table, on the vehicle",
         f"{below(position, INTEGRATED)} m"],
        ["orientation of the tool", "the same", f"{below(turn, SAME_STATE)} rad"],
        ["velocities", "the textbook's rows of a differential drive",
         f"{below(slip, SAME_STATE)} m/s, rad/s"],
        ["equation of motion", "Newton-Euler (Pinocchio), and those rows",
         f"{below(dynamics_gap(), SAME_STATE)} N, N m"],
        ["place of the vehicle", "the turns of its wheels, integrated",
         f"{below(odometry(), INTEGRATED)} m, rad"],
    ]  # fmt: skip
    return table(["quantity", "compared with", "largest difference"], rows)


def use() -> str:
    """Return how much of every motor the run needs."""
    robot, result = Robot.load("mobile_ur5"), run()
    rows = []
    for i, name in enumerate(result.labels.actuators):
        u = float(np.abs(result["u"][:, i]).max())
        v = float(np.abs(result["v"][:, 3 + i]).max())
        rows.append(
            [f"`{name}`", f"{fixed(u, 1)} of {robot.effort_limit[i]:.0f}",
             f"{fixed(v, 2)} of {robot.velocity_limit[3 + i]:.2f}"]
        )  # fmt: skip
    return table(["motor", "torque [N m]", "speed [rad/s]"], rows)


def span() -> str:
    """Return how far the tool gets from where the arm's shoulder was at the start."""
    shoulder = np.array([run()["q"][0, 0] + 0.15, run()["q"][0, 1], 0.3 + 0.089159])
    far = max(np.linalg.norm(tool(q)[:3, 3] - shoulder) for q in run()["q"])
    return f"{far:.2f} m"


def slopes() -> str:
    """Return how far the vehicle turns on its way."""
    angles = np.rad2deg([heading(q) for q in run()["q"]])
    return f"{angles.max():.0f}°"


def axle() -> str:
    """Return what a run says that asks the middle of the axle to follow."""
    changes = {
        "servo.1.frame": "chassis",
        "servo.1.path.start": (0.0, 0.0),
        "servo.1.path.end": (2.0, 0.5),
        "timing.duration": 0.1,
        "integrator": {"method": "RK4", "step": 1e-3},
    }
    result = simulate(Scenario.load(NAME).replace(changes))
    return f"{result.status}: {result.message}"


TABLES = {"routes": routes, "use": use}
FACTS: dict[str, Callable[[], str]] = {"span": span, "turn": slopes, "axle": axle}
