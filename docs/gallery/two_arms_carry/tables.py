"""The tables of the page: the bar's path, its inner force, and the routes that verify it."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from makers_tables import about_x, panda_tool
from markdown_text import below, fixed, table
from numpy.typing import NDArray

from ukctrl import Result, Robot, Scenario, catalog, simulate

NAME = "two-arms-carry"
HELD = 1e-10
"""What feedback leaves of the rows of the task and of the grip, in double precision [m, rad]."""
SHARED = 1e-9
"""The grip's force at states that agree to `HELD`, of some 10 N [N, N m]."""
ACCELERATION = 1e-7
"""The same through the light wrists' inertias, of 0.01 kg m^2 [rad/s^2]."""
BAR = about_x(np.pi) @ np.array([[1.0, 0, 0, 0], [0, 1, 0, -0.4], [0, 0, 1, 0], [0, 0, 0, 1]])
"""The bar in the left hand."""
VARIANTS: dict[str, dict[str, object]] = {
    "pressed with 20 N": {},
    "left alone": {"controller.allocation": {"kind": "least_norm"}},
    "pulled with 20 N": {"controller.allocation.null_space.value": -20.0},
}


@functools.cache
def run(variant: str = "pressed with 20 N") -> Result:
    """Run the scenario with another inner force."""
    return simulate(Scenario.load(NAME).replace(VARIANTS[variant]))


def base(side: float) -> NDArray[np.float64]:
    """Return the pose of an arm's base."""
    T = np.eye(4)
    T[1, 3] = side
    return T


def bar(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bar's pose by the maker's table of the left arm."""
    return base(0.4) @ panda_tool(q[:7]) @ BAR


def grip_gap(q: NDArray[np.float64]) -> float:
    """Return how far the right hand is from its end of the bar, by the tables of both arms."""
    end = bar(q) @ base(-0.4) @ about_x(np.pi)
    off = np.linalg.inv(end) @ base(-0.4) @ panda_tool(q[7:])
    return float(max(np.abs(off[:3, 3]).max(), np.abs(pin.log3(off[:3, :3])).max()))


def constrained() -> float:
    """Return how far accelerations are from Pinocchio's constraint dynamics [rad/s^2]."""
    robot, result = Robot.load("two_pandas"), run()
    model = robot.structure.model.copy()
    hand, held = (robot.site(name) for name in ("right_tool", "bar_right"))
    places = [pin.SE3(site.rotation, site.translation) for site in (held, hand)]
    weld = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D, model, held.joint, places[0], hand.joint, places[1],
        pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    models = pin.StdVec_RigidConstraintModel()
    models.append(weld)
    datas = pin.StdVec_RigidConstraintData()
    datas.append(weld.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 0.0, 1)
    worst = 0.0
    for k in range(0, len(result.time), 10):
        q, v, u = result["q"][k], result["v"][k], result["u"][k]
        a = pin.constraintDynamics(model, data, q, v, u, models, datas, settings)
        worst = max(worst, float(np.abs(a - result["a"][k]).max()))
    return worst


def own_equation() -> tuple[float, float]:
    """Return how far the grip's force and moment are from what the right arm alone says.

    Its motion needs other torques than its motors give; a wrench on its hand makes up for that.
    """
    panda = catalog.root() / "robots" / "panda" / "panda.urdf"
    model = pin.buildModelFromUrdf(str(panda))
    data, result = model.createData(), run()
    tool = model.getFrameId("tool")
    force = moment = 0.0
    for k in range(0, len(result.time), 10):
        q, v, a, u = (result[name][k, 7:] for name in ("q", "v", "a", "u"))
        J = pin.computeFrameJacobian(model, data, q, tool, pin.ReferenceFrame.LOCAL)
        wrench = np.linalg.lstsq(J.T, pin.rnea(model, data, q, v, a) - u, rcond=None)[0]
        gap = np.abs(wrench - result["reaction"][k])
        force, moment = max(force, float(gap[:3].max())), max(moment, float(gap[3:].max()))
    return force, moment


def routes() -> str:
    """Return what was compared, and how far apart it is."""
    result = run()
    task = Scenario.load(NAME).servo[0]
    position = turn = grip = 0.0
    for t, q in zip(result.time, result["q"], strict=True):
        T = bar(q)
        position = max(position, float(np.abs(T[:3, 3] - task.path(t)[0]).max()))
        off = pin.log3(task.orientation(t).R.T @ T[:3, :3])
        turn, grip = max(turn, float(np.abs(off).max())), max(grip, grip_gap(q))
    force, moment = own_equation()
    rows = [
        ["place of the bar", "the maker's table for the left arm", f"{below(position, HELD)} m"],
        ["orientation of the bar", "the same", f"{below(turn, HELD)} rad"],
        ["right hand on its end of the bar", "the maker's table for both arms",
         f"{below(grip, HELD)} m, rad"],
        ["accelerations under the recorded inputs", "Pinocchio's constraint dynamics",
         f"{below(constrained(), ACCELERATION)} rad/s²"],
        ["force and moment at the grip", "equation of motion of the right arm alone",
         f"{below(force, SHARED)} N, {below(moment, SHARED)} N m"],
    ]  # fmt: skip
    return table(["quantity", "compared with", "largest difference"], rows)


def forces() -> str:
    """Return what the bar carries inside under three wishes, and what it costs."""
    rows = []
    limit = Robot.load("two_pandas").effort_limit
    for name in VARIANTS:
        result = run(name)
        y = result["reaction"][:, list(result.labels.passive_rows).index("grip.y")]
        used = 100.0 * np.abs(result["u"]) / limit
        rows.append(
            [name, f"{fixed(y.min(), 2)} to {fixed(y.max(), 2)}", f"{used.max():.0f} %",
             f"{result.metric('effort'):.0f}", below(result.metric("peak_phi"), HELD)]
        )  # fmt: skip
    head = [
        "the bar is", "force of the bar on the right hand, outwards [N]", "of a motor's torque",
        "effort [(N m)² s]", "largest error of the task [m, rad]",
    ]  # fmt: skip
    return table(head, rows)


TABLES = {"routes": routes, "forces": forces}
FACTS: dict[str, Callable[[], str]] = {}
