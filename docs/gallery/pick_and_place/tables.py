"""The tables of the page: errors while a workpiece is carried, and the routes that verify it."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from markdown_text import below, error, fixed, table

from ukctrl import Result, Scenario, catalog, simulate

NAME = "scara-pick-and-place"
PICK, PLACE, END = 0.7, 3.1, 4.2
"""When the workpiece is taken and let go, and when the run ends [s]."""
HELD = 1e-7
"""What integration to a relative 1e-9 leaves of 0.4 m, beside a feedback that is exact [mm]."""
SAME_STATE = 1e-11
"""Two routes to the same number at the same state, of some 10 N m, differ by rounding."""
WORKPIECE = pin.Inertia(1.0, np.array([0.0, 0.0, -0.05]), 0.001 * np.eye(3))
"""What the gripper takes, in the axes of the tool."""
BAUMGARTE: dict[str, object] = {
    "use": "servo-baumgarte",
    "feedback": {"alpha": 120.0, "beta": 4800.0},
}
BODY = {"frame": "tool", "mass": 1.0, "com": (0.0, 0.0, -0.05), "inertia": (0.001, 0.001, 0.001)}
LAWS: dict[str, dict[str, object]] = {
    "`servo-pid`": {},
    "`servo-baumgarte`, the same gains without the integral": {"controller": BAUMGARTE},
    "the same, believing that the workpiece is always there": {
        "controller": BAUMGARTE,
        "believed": {"payload": BODY},
    },
}


@functools.cache
def run(law: str = "`servo-pid`") -> Result:
    """Run the scenario under a law."""
    return simulate(Scenario.load(NAME).replace(LAWS[law]))


def miss(result: Result) -> np.ndarray:
    """Return the distance of the tool from its path [m]."""
    return np.asarray(np.linalg.norm(result["phi"][:, :3], axis=1))


def laws() -> str:
    """Return the largest errors before, while and after the workpiece is carried."""
    rows = []
    for name in LAWS:
        result = run(name)
        t, off = result.time, 1e3 * miss(result)
        spans = ((0.0, PICK), (PICK, PLACE), (PLACE, END + 0.01))
        worst = [float(off[(t >= a) & (t < b)].max()) for a, b in spans]
        last = float(off[np.argmin(np.abs(t - PLACE))])
        cells = [error(value, HELD, lambda x: fixed(x, 2)) for value in (*worst, last)]
        rows.append([name, *cells])
    head = [
        "law", "before [mm]", "carrying [mm]", "after [mm]", "where the workpiece is let go [mm]"
    ]  # fmt: skip
    return table(head, rows)


def arm(carries: bool) -> pin.Model:
    """Return Pinocchio's own reading of the arm, with or without the workpiece on its tool."""
    model = pin.buildModelFromUrdf(str(catalog.root() / "robots" / "scara" / "scara.urdf"))
    if carries:
        model.appendBodyToJoint(model.njoints - 1, WORKPIECE, pin.SE3.Identity())
    return model


def routes() -> str:
    """Return what was compared, and how far apart it is."""
    result = run()
    gaps = {}
    for carries, words in ((False, "empty"), (True, "carrying")):
        model = arm(carries)
        data = model.createData()
        held = (result.time >= PICK) & (result.time < PLACE)
        worst = 0.0
        for k in np.flatnonzero(held == carries):
            needed = pin.rnea(model, data, result["q"][k], result["v"][k], result["a"][k])
            worst = max(worst, float(np.abs(needed - result["u"][k]).max()))
        gaps[words] = worst
    q = result["q"]
    x = -0.2 * np.sin(q[:, 0]) - 0.25 * np.sin(q[:, 0] + q[:, 1])
    y = 0.2 * np.cos(q[:, 0]) + 0.25 * np.cos(q[:, 0] + q[:, 1])
    place = np.column_stack([x, y, q[:, 3]])
    path = Scenario.load(NAME).servo[0].path
    wanted = np.array([path(t)[0] for t in result.time])
    apart = float(np.abs(np.linalg.norm(place - wanted, axis=1) - miss(result)).max())
    rows = [
        [
            f"inputs, {words}",
            "Newton-Euler (Pinocchio) on the motion",
            f"{below(gap, SAME_STATE)} N m, N",
        ]
        for words, gap in gaps.items()
    ]
    rows.append(
        [
            "distance of the tool from its path",
            "the law of cosines",
            f"{below(apart, SAME_STATE)} m",
        ]
    )
    return table(["quantity", "compared with", "largest difference"], rows)


def motors() -> str:
    """Return how much of its limit every motor needs."""
    result = run()
    most = np.abs(result["u"]).max(axis=0)
    rows = [
        [f"`{name}`", fixed(float(u), 1), f"{limit:.0f}", unit]
        for name, u, limit, unit in zip(
            result.labels.actuators, most, result.labels.effort_limit,
            result.labels.actuator_units, strict=True,
        )
    ]  # fmt: skip
    return table(["motor", "needs", "limit", "unit"], rows)


TABLES = {"laws": laws, "routes": routes, "motors": motors}
FACTS: dict[str, Callable[[], str]] = {}
