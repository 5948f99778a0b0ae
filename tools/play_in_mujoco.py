"""Play the motor inputs of a scenario in MuJoCo itself, and say how far the two motions part.

    python tools/play_in_mujoco.py SCENARIO.toml...

The scenario's robot is an MJCF file, and its ``timing.control`` a zero-order hold whose period is
``timing.sample``, so that the inputs between samples are known. They act through MuJoCo's own
transmissions; its integrator is RK4 with a step of 0.1 ms, and its laws of servos are off.
"""

from __future__ import annotations

import sys

import mujoco
import numpy as np

from ukctrl import Robot, Scenario, simulate
from ukctrl.robot.mjcf.tree import ours_of, theirs_of, velocity_map

STEP = 1e-4
"""Of MuJoCo's integrator [s]."""


def play(path: str) -> str:
    """Return how far the motions part at most [rad or m], and what became of ours."""
    scenario = Scenario.load(path)
    result = simulate(scenario)
    robot = Robot.load(scenario.robot, beside=path)
    m = mujoco.MjModel.from_xml_path(str(robot.path))
    data, T = mujoco.MjData(m), np.eye(m.nv)
    m.opt.integrator, m.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    data.qpos[:] = theirs_of(m, result["q"][0])
    T = velocity_map(m, data.qpos)
    data.qvel[:] = np.linalg.solve(T, result["v"][0])
    each = round((result.time[1] - result.time[0]) / STEP)
    worst, where = 0.0, ""
    for k, u in enumerate(result["u"][:-1]):
        for _ in range(each):
            q = ours_of(m, data.qpos)
            push = robot.snapshot(q).B @ u
            data.qfrc_applied[:] = velocity_map(m, data.qpos).T @ push
            mujoco.mj_step(m, data)
        off = robot.difference(result["q"][k + 1], ours_of(m, data.qpos))
        if np.abs(off).max() > worst:
            worst, where = float(np.abs(off).max()), robot.dofs[int(np.abs(off).argmax())]
    last = float(result.time[-1])
    moved = np.abs(robot.difference(result["q"][0], result["q"][len(result["q"]) // 2])).max()
    apart = f"{worst:.1e} apart at '{where}' within {last:g} s"
    return f"{result.status}: {apart}, in which joints move by {moved:.2g}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {play(name)}")
