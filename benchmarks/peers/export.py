"""Write what all contestants get: for every case a URDF, states, demands, and reference torques.

    python benchmarks/peers/export.py DIR [CASE ...]

A case is a scenario of `benchmarks/cases`. Its states lie where the task wants the robot a little
later, so that positions and velocities are in error by a step's worth. Orientations to be held are
constant and met: there all definitions of an orientation's error agree.

`arms` is the catalogue's `coordinated-arms`: its links, as a chain of joints whose end is held. Its
loops, and those of `panda`, are closed: what they start with and how long they last stand in the
case, and the references of every tick of a sampled loop beside it, in an NPZ file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from dense import reference

from ukctrl import Robot, Scenario, simulate
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.allocation.null_space import Posture, SelfMotion
from ukctrl.control.servo import Servo
from ukctrl.core.files.toml import read_spec, read_toml
from ukctrl.mechanics.constraints import Constraint
from ukctrl.mechanics.constraints.contact import Contact
from ukctrl.mechanics.constraints.frames import PointFollows, PoseFollows
from ukctrl.mechanics.constraints.joints import Expression, JointFollows
from ukctrl.mechanics.dynamics import DEFAULT_GAINS, passive_constraints
from ukctrl.robot.models.join_urdfs import join_urdfs
from ukctrl.robot.models.model_source import read_model
from ukctrl.robot.schema.robot_file import RobotFile
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.assemble.start_state import start_state

CASES = Path(__file__).resolve().parents[1] / "cases"
NAMES = ("scara", "panda", "arms", "two_arms", "a1", "humanoid")
STATES = 24
"""States of a case."""
AHEAD = 0.01
"""How much later the task wants the robot where it is [s]."""
ADAPTIVE, FIXED, SAMPLED, ROLLOUT = 6.0, 6.0, 10.0, 2.0
"""How long the closed loops last [s]."""
PERIOD = 1e-3
"""Time between the ticks of a sampled loop [s]."""
ROBOTS = 8
"""Other masses that rollouts have."""
LINKS = 5
ONTO_LINKS = np.tril(np.ones((LINKS, LINKS)))
"""From the angles of the joints to those of the links."""
MOTORS = np.array(
    [[1, -1, 0, 0, 0, 0], [0, 1, -1, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, -1, 1, 0],
     [0, 0, 0, 0, -1, 1]]
)  # fmt: skip
"""The motors of the arms on their links, eq (70)."""
CHAIN = """<link name="link{k}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint{k}" type="revolute"><parent link="link{below}"/><child link="link{k}"/>
<origin xyz="{at} 0 0"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1e9" velocity="1e9"/></joint>"""
"""A link and its joint of the arms: one metre, one kilogram, as robots/coordinated_arms.toml."""
FRAME = """<link name="{name}"/><joint name="{name}_is_fixed" type="fixed"><parent link="link{k}"/>
<child link="{name}"/><origin xyz="{at} 0 0"/></joint>"""


def scenario_of(name: str) -> Scenario:
    """Return a case as a scenario."""
    if name == "arms":
        return Scenario.load("coordinated-arms", {"start.spread": 0.2, "start.solve": True})
    return Scenario.load(CASES / f"{name}.toml")


def model_text(robot: Robot) -> str:
    """Return the URDF that a robot is made of, parts joined."""
    assert robot.path is not None
    if robot.name == "coordinated_arms":
        links = [CHAIN.format(k=k, below=k - 1, at=float(k > 1)) for k in range(1, LINKS + 1)]
        frames = [FRAME.format(name="bar_centre", k=3, at=0.5), FRAME.format(name="end", k=5, at=1)]
        parts = "".join((*links, *frames))
        return f'<robot name="arms"><link name="link0"/>{parts}</robot>'
    spec = read_spec(RobotFile, read_toml(robot.path), robot.path)
    if spec.model is not None:
        return read_model(spec.model).text
    assert spec.part is not None
    return join_urdfs(spec.part, robot.name, spec.floating_base).text


def frame_task(robot: Robot, constraint: Constraint, times: np.ndarray, states: Any) -> Any:
    """Return a pose or point task: which of x, y, z, rx, ry, rz, and where they should be."""
    assert isinstance(constraint, PointFollows | PoseFollows)
    samples = [constraint.path(float(t)) for t in times]
    zeros = [0.0, 0.0, 0.0]
    placed = [robot.snapshot(q).frame(constraint.frame).rotation for q, _ in states]
    if isinstance(constraint, PoseFollows):
        placed = [constraint.orientation(float(t)).R for t in times]
    return {
        "frame": constraint.frame,
        "rows": [0, 1, 2, 3, 4, 5] if isinstance(constraint, PoseFollows) else [0, 1, 2],
        "position": [s.r.tolist() for s in samples],
        "rotation": [np.ravel(R).tolist() for R in placed],
        "velocity": [[*s.r_dot.tolist(), *zeros] for s in samples],
        "acceleration": [[*s.r_ddot.tolist(), *zeros] for s in samples],
    }


def joint_task(constraint: JointFollows, times: np.ndarray) -> Any:
    """Return a task of single joints."""
    samples = [constraint.path(float(t)) for t in times]
    return {
        "joints": list(constraint.joints),
        "position": [s.r.tolist() for s in samples],
        "velocity": [s.r_dot.tolist() for s in samples],
        "acceleration": [s.r_ddot.tolist() for s in samples],
    }


def rule_of(controller: Servo, square: bool, robot: Robot, start: np.ndarray) -> Any:
    """Return what decides where the task leaves the motors free."""
    allocation = controller.allocation
    assert isinstance(allocation, LeastNorm)
    if allocation.metric == "effort" and allocation.null_space is None:
        return {"kind": "unique" if square else "effort"}
    own = allocation.null_space
    assert robot.is_euclidean
    assert isinstance(own, SelfMotion | Posture)
    kind = {"resolved_acceleration": "resolved", "gauss": "gauss"}[allocation.metric]
    assert isinstance(own, Posture) == (kind == "gauss")
    return {"kind": kind, "kp": own.kp, "kd": own.kd, "q": start.tolist()}


def arms_task(times: np.ndarray) -> Any:
    """Return the task of the arms: the bar's centre in the plane, and its angle."""
    s, c = np.sin(times), np.cos(times)
    rows = {"position": 0.5 * (1.0 - c), "velocity": 0.5 * s, "acceleration": 0.5 * c}
    made: dict[str, Any] = {"frame": "bar_centre", "rows": [0, 1, 5]}
    for name, height in rows.items():
        values = np.zeros((len(times), 3 if name == "position" else 6))
        values[:, 1] = height
        values[:, 0] = 1.5 if name == "position" else 0.0
        made[name] = values.tolist()
    return made | {"rotation": [np.eye(3).ravel().tolist() for _ in times]}


def contact(of: Contact) -> dict[str, Any]:
    """Return a contact: its rows, those of them that hold a place, and that place."""
    rows = [0, 1, 2] if of.type == "point" else [0, 1, 2, 3, 4, 5]
    return {"frame": of.frame, "type": of.type, "rows": rows, "held_at": [[2, 0.0]]}


def panda_loops(folder: Path) -> dict[str, Any]:
    """Return the loops of `panda-pose-sampled`; write the references of its ticks."""
    scenario = Scenario.load("panda-pose-sampled")
    short = scenario.replace({"timing.duration": AHEAD})
    start = simulate(short)
    (servo,), period = scenario.servo, scenario.timing.control
    assert isinstance(servo, PoseFollows)
    assert period == scenario.integrator.step == PERIOD
    times = PERIOD * np.arange(round(SAMPLED / PERIOD))
    R, omega, omega_dot = servo.orientation.sample(times)
    path = servo.path.sample(times)
    np.savez(
        folder / "panda.npz",
        position=path.r,
        rotation=R,
        velocity=np.hstack([path.r_dot, omega]),
        acceleration=np.hstack([path.r_ddot, omega_dot]),
    )
    runs = [simulate(short.replace({"seed": seed})).provenance for seed in range(ROBOTS)]
    drawn = [run["effects"][0]["drawn"]["mass_scale"] for run in runs]
    return {
        "q": start["q"][0].tolist(),
        "v": start["v"][0].tolist(),
        "mass_scale": [list(scale.values()) for scale in drawn],
        "seconds": {"sampled": SAMPLED, "rollouts": ROLLOUT},
    }


def case(name: str, folder: Path) -> dict[str, Any]:
    """Return a case, without its URDF; write what its loops need beside it."""
    scenario = scenario_of(name)
    robot, controller, arms = true_robot(scenario.robot), scenario.controller, name == "arms"
    assert isinstance(controller, Servo)
    passive = passive_constraints(robot)
    times = np.linspace(0.0, scenario.timing.duration, STATES, endpoint=False)
    states = []
    for k, t in enumerate(times):
        start = scenario.replace({"start.t": float(t) + AHEAD}).start
        q, v, _ = start_state(start, robot, (*passive, *scenario.servo), seed=k)
        states.append((q, v))
    tasks, joints = ([arms_task(times)] if arms else []), []
    for constraint in () if arms else scenario.servo:
        if isinstance(constraint, JointFollows):
            joints.append(joint_task(constraint, times))
        elif isinstance(constraint, Expression):  # SCARA: the sum of the angles turns the tool
            tasks[-1]["rows"].append(5)
        else:
            tasks.append(frame_task(robot, constraint, times, states))
    rows = sum(len(task["rows"]) for task in tasks) + sum(len(task["joints"]) for task in joints)
    contacts = [contact(c) for c in passive if isinstance(c, Contact)]
    loops: dict[str, Any] = {}
    if arms:  # from the angles of the links to those of the joints
        states = [(np.diff(q, prepend=0.0), np.diff(v, prepend=0.0)) for q, v in states]
        contacts = [{"frame": "end", "rows": [0, 1], "held_at": [[0, 3.0], [1, 0.0]]}]
        loops = {"seconds": {"rk45": ADAPTIVE, "dop853": ADAPTIVE, "rk4": FIXED}}
        loops["q"] = np.deg2rad([60.0, -60.0, 0.0, 60.0, -60.0]).tolist()
        joints_of = [f"joint{k}" for k in range(1, LINKS + 1)]
    else:
        assert len(contacts) == len(passive)
        joints_of = [str(joint) for joint in robot.actuators]
        joints_of = ["q1", "q2", "q3", "q4"] if name == "scara" else joints_of
    loops = panda_loops(folder) if name == "panda" else loops
    feedback = controller.feedback
    made = {
        "name": name,
        "title": scenario.title,
        "scenario": "coordinated-arms" if arms else str(CASES / f"{name}.toml"),
        "urdf": f"{name}.urdf",
        "floating": not robot.is_euclidean,
        "gravity": [0.0, -9.8, 0.0] if arms else robot.model.gravity.linear.tolist(),
        "dofs": robot.nv,
        "rows": rows,
        "joints": joints_of,
        "spread": (ONTO_LINKS.T @ MOTORS).tolist() if arms else np.eye(len(joints_of)).tolist(),
        "gains": {"alpha": feedback.alpha, "beta": feedback.beta},
        "tasks": tasks,
        "joint_tasks": joints,
        "contacts": contacts,
        "contact_gains": {"alpha": DEFAULT_GAINS.alpha, "beta": DEFAULT_GAINS.beta},
        "rule": rule_of(
            controller, rows == robot.nu == robot.nv, robot, np.array(loops.get("q", states[0][0]))
        ),
        "loops": loops,
        "t": times.tolist(),
        "q": [q.tolist() for q, _ in states],
        "v": [v.tolist() for _, v in states],
    }  # fmt: skip
    return made


def export(name: str, folder: Path) -> Path:
    """Write a case and its URDF; return the case's file."""
    folder.mkdir(parents=True, exist_ok=True)
    made = case(name, folder)
    text = model_text(true_robot(scenario_of(name).robot))
    (folder / made["urdf"]).write_text(text, encoding="utf-8")
    file = folder / f"{name}.json"
    file.write_text(json.dumps(made))
    made["u"] = reference(file)
    file.write_text(json.dumps(made))
    return file


if __name__ == "__main__":
    for each in sys.argv[2:] or NAMES:
        export(each, Path(sys.argv[1]))
