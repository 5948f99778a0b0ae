"""Play the motor inputs of a scenario in MuJoCo itself, and say how far the two motions part.

    python tools/play_in_mujoco.py tools/public_robots/ur5e.toml
    python tools/play_in_mujoco.py tools/public_robots/ur5e.toml --robot ur5e.xml
    python tools/play_in_mujoco.py tools/public_robots/shadow_hand.toml --smooth

The scenario's robot is an MJCF file, and its ``timing.control`` a zero-order hold whose period is
``timing.sample``, so that the inputs between samples are known. They are MuJoCo's controls, and act
through its own transmissions; a servo becomes the motor behind it. Its integrator is RK4 with a
step of 0.1 ms. What MuJoCo has as soft constraints alone (dry friction, equalities, contacts, ends
of ranges), no hard model can follow: ``--smooth`` leaves it out of the file, for both.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np

from ukctrl import Robot, Scenario, simulate
from ukctrl.robot.mjcf.actuators import import_actuators
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.mjcf.pinocchio_model import from_qpos, names_of, to_qpos, velocity_map
from ukctrl.robot.rigid.pinocchio_structure import PinocchioStructure
from ukctrl.simulation.assemble.scenario_robots import true_robot

STEP = 1e-4
"""Of MuJoCo's integrator [s]."""


@contextlib.contextmanager
def smooth(path: Path) -> Iterator[Path]:
    """Write a file without what MuJoCo has as soft constraints beside another, and remove it."""
    spec = mujoco.MjSpec.from_file(str(path))
    for each in (*spec.joints, *spec.tendons):
        each.frictionloss, each.limited = 0.0, 0
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for equality in list(spec.equalities):
        spec.delete(equality)
    with tempfile.NamedTemporaryFile("w", suffix=".xml", dir=path.parent) as file:
        file.write(spec.to_xml())
        file.flush()
        yield Path(file.name)


def motors_of(m: mujoco.MjModel, robot: Robot) -> list[int]:
    """Make motors of all actuators, with our inputs as controls; return MuJoCo's number of each."""
    assert isinstance(robot.structure, PinocchioStructure)
    columns = import_actuators(m, names_of(m), robot.structure, EnabledForces.of(mujoco, m)).columns
    for i, scale in columns:
        m.actuator_gaintype[i] = m.actuator_biastype[i] = m.actuator_dyntype[i] = 0
        m.actuator_gainprm[i], m.actuator_biasprm[i] = 0.0, 0.0
        m.actuator_gainprm[i, 0] = scale
    m.actuator_ctrllimited[:] = m.actuator_forcelimited[:] = 0
    return [i for i, _ in columns]


def play(scenario: Scenario, robot: Robot) -> str:
    """Return how far the motions part at most [rad or m], and what became of ours."""
    result = simulate(scenario)
    m = mujoco.MjModel.from_xml_path(str(robot.path))
    data, motors = mujoco.MjData(m), motors_of(m, robot)
    m.opt.integrator, m.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    data.qpos[:] = to_qpos(m, result["q"][0])
    data.qvel[:] = np.linalg.solve(velocity_map(m, data.qpos), result["v"][0])
    each = round((result.time[1] - result.time[0]) / STEP)
    worst, where, pushed = 0.0, "", 0
    for k, u in enumerate(result["u"][:-1]):
        data.ctrl[motors] = u
        for _ in range(each):
            mujoco.mj_step(m, data)
            pushed += data.nefc > 0
        off = robot.difference(result["q"][k + 1], from_qpos(m, data.qpos))
        if np.abs(off).max() > worst:
            worst, where = float(np.abs(off).max()), robot.dofs[int(np.abs(off).argmax())]
    last = float(result.time[-1])
    moved = np.abs(robot.difference(result["q"][0], result["q"][-1])).max()
    soft = f", {pushed} steps with soft constraints" if pushed else ""
    apart = f"{worst:.1e} apart at '{where}' within {last:g} s"
    return f"{result.status}: {apart}, in which joints move by {moved:.2g}{soft}"


def loaded(path: Path, file: Path | None) -> tuple[Scenario, Robot]:
    """Return a scenario and its robot, of another file where one is given."""
    told = tomllib.loads(path.read_text(encoding="utf-8"))["robot"]
    key = "robot" if isinstance(told, str) else "robot.use"
    scenario = Scenario.load(path, {} if file is None else {key: str(file.resolve())})
    return scenario, true_robot(scenario.robot)


def main() -> None:
    """Play the scenarios that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--robot", type=Path, help="the MJCF file, in place of the scenario's")
    parser.add_argument("--smooth", action="store_true")
    chosen = parser.parse_args()
    scenario, robot = loaded(chosen.scenario, chosen.robot)
    with contextlib.ExitStack() as stack:
        if chosen.smooth:
            file = stack.enter_context(smooth(Path(str(robot.path))))
            scenario, robot = loaded(chosen.scenario, file)
        print(f"{chosen.scenario}: {play(scenario, robot)}")


if __name__ == "__main__":
    main()
