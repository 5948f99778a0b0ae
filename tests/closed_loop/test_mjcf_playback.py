"""Scenarios of MJCF robots, and the same motor inputs played in MuJoCo itself."""

from __future__ import annotations

import numpy as np
import pytest
import tomli_w

from ukctrl import Robot, Scenario, simulate
from ukctrl.robot.mjcf.pinocchio_model import from_qpos, to_qpos, velocity_map

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco model="arm"><compiler angle="radian"/><option density="1.2" viscosity="2e-5"/>
<default><joint damping="0.4 0.1 0.05" armature="0.02"/></default><worldbody>
<body name="base" pos="0 0 0.2" euler="0.3 0 0"><geom size="0.01" pos="0 0 -1"/>
<body name="upper" pos="0 0 0.1" gravcomp="0.4"><joint name="yaw" axis="0 0 1"/>
<joint name="pitch" axis="0 1 0" ref="0.4" stiffness="5 2 1" springref="0.1"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04"/>
<body name="lower" pos="0.4 0 0"><joint name="elbow" axis="0 1 0" pos="0.02 0 0"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.03"/><site name="tip" pos="0.3 0 0.1"/>
</body></body></body></worldbody>
<tendon><fixed name="t" stiffness="2" springlength="0.1"><joint joint="pitch" coef="1"/>
<joint joint="elbow" coef="-0.5"/></fixed></tendon>
<actuator><motor joint="yaw" gear="20" armature="1e-4"/><position joint="pitch" kp="50"/>
<motor name="cord" tendon="t" gear="3"/></actuator>
<keyframe><key name="bent" qpos="0.2 0.5 0.7" qvel="0 0 0"/></keyframe></mujoco>"""
QUADROTOR = """<mujoco model="x2"><option density="1.225" viscosity="1.8e-5" wind="1 0 0"/>
<worldbody><body name="x2"><freejoint name="r"/>
<inertial pos="0 0 0" mass="1.325" diaginertia="0.0405 0.0293 0.0608"/>
<site name="1" pos="-.14 -.18 .05"/><site name="2" pos="-.14 .18 .05"/>
<site name="3" pos=".14 .18 .08"/><site name="4" pos=".14 -.18 .08"/></body></worldbody><actuator>
<motor site="1" gear="0 0 1 0 0 -.02" ctrlrange="0 13"/>
<motor site="2" gear="0 0 1 0 0 .02" ctrlrange="0 13"/>
<motor site="3" gear="0 0 1 0 0 -.02" ctrlrange="0 13"/>
<motor site="4" gear="0 0 1 0 0 .02" ctrlrange="0 13"/></actuator>
<keyframe><key name="hover" qpos="0 0 .3 1 0 0 0" qvel="0.3 0 0 0 0 0"/></keyframe></mujoco>"""
REACH = {
    "arm": (
        ARM, "bent",
        [{"kind": "joint_follows", "joints": ["yaw", "pitch", "elbow"],
          "path": {"kind": "min_jerk", "times": [0.0, 1.0],
                   "points": [[0.2, 0.5, 0.7], [-0.3, 0.9, 0.2]]}}],
    ),
    "quadrotor": (
        QUADROTOR, "hover",
        [{"kind": "point_follows", "frame": "x2", "axes": "z",
          "path": {"kind": "min_jerk", "times": [0.0, 1.0], "points": [[0.3], [0.8]]}},
         {"kind": "orientation_follows", "frame": "x2",
          "path": {"kind": "constant", "rpy": [0.0, 0.0, 0.0]}}],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", REACH)
def test_the_inputs_of_a_run_move_mujocos_robot_alike(name, tmp_path):
    text, key, rows = REACH[name]
    path = tmp_path / f"{name}.xml"
    path.write_text(text, encoding="utf-8")
    robot = Robot.load(path)
    table = {
        "title": name, "robot": str(path), "start": {"keyframe": key}, "servo": rows,
        "controller": {"use": "servo-baumgarte"},
        "timing": {"duration": 1.0, "sample": 0.005, "control": 0.005},
        "integrator": {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12},
    }  # fmt: skip
    (tmp_path / "scenario.toml").write_text(tomli_w.dumps(table), encoding="utf-8")
    result = simulate(Scenario.load(tmp_path / "scenario.toml"))
    assert result.status == "completed"
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.integrator, m.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 5e-4
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    data = mujoco.MjData(m)
    data.qpos[:] = to_qpos(m, result["q"][0])
    data.qvel[:] = np.linalg.solve(velocity_map(m, data.qpos), result["v"][0])
    for k, u in enumerate(result["u"][:-1]):
        for _ in range(10):
            B = robot.snapshot(from_qpos(m, data.qpos)).B
            data.qfrc_applied[:] = velocity_map(m, data.qpos).T @ B @ u
            mujoco.mj_step(m, data)
        np.testing.assert_allclose(from_qpos(m, data.qpos), result["q"][k + 1], rtol=0.0, atol=1e-6)
    assert np.abs(result["q"][-1] - result["q"][0]).max() > 0.4
