"""Write what all contestants get: for every case a URDF, states, demands, and reference torques.

    python benchmarks/peers/export.py DIR [CASE ...]

A case is a scenario of `benchmarks/cases`. Its states lie where the task wants the robot a little
later, so that positions and velocities are in error by a step's worth. Orientations to be held are
constant and met: there all definitions of an orientation's error agree.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from dense import reference

from ukctrl import Robot, Scenario
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.allocation.null_space import SelfMotion
from ukctrl.control.servo import Servo
from ukctrl.core.files.toml import read_spec, read_toml
from ukctrl.mechanics.constraints import Constraint
from ukctrl.mechanics.constraints.frames import PointFollows, PoseFollows
from ukctrl.mechanics.constraints.ground import Contact
from ukctrl.mechanics.constraints.joints import Expression, JointFollows
from ukctrl.mechanics.dynamics import GAINS, passive_constraints
from ukctrl.robot.models.joined_models import joined
from ukctrl.robot.models.source import read
from ukctrl.robot.schema.robot_file import RobotFile
from ukctrl.simulation.loop.closed_loop import true_robot
from ukctrl.simulation.loop.start_state import start_state

CASES = Path(__file__).resolve().parents[1] / "cases"
NAMES = ("scara", "panda", "two_arms", "a1", "humanoid")
STATES = 24
"""States of a case."""
AHEAD = 0.01
"""How much later the task wants the robot where it is [s]."""


def scenario_of(name: str) -> Scenario:
    """Return a case as a scenario."""
    return Scenario.load(CASES / f"{name}.toml")


def model_text(robot: Robot) -> str:
    """Return the URDF that a robot is made of, parts joined."""
    assert robot.path is not None
    spec = read_spec(RobotFile, read_toml(robot.path), robot.path)
    if spec.model is not None:
        return read(spec.model).text
    assert spec.part is not None
    return joined(spec.part, robot.name, spec.floating_base).text


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
    assert allocation.metric == "resolved_acceleration"
    assert isinstance(own, SelfMotion)
    assert robot.is_euclidean
    return {"kind": "resolved", "kp": own.kp, "kd": own.kd, "q": start.tolist()}


def case(name: str) -> dict[str, Any]:
    """Return a case, without its URDF."""
    scenario = scenario_of(name)
    robot, controller = true_robot(scenario.robot), scenario.controller
    assert isinstance(controller, Servo)
    passive = passive_constraints(robot)
    times = np.linspace(0.0, scenario.timing.duration, STATES, endpoint=False)
    states = []
    for k, t in enumerate(times):
        start = scenario.replace({"start.t": float(t) + AHEAD}).start
        q, v, _ = start_state(start, robot, (*passive, *scenario.servo), seed=k)
        states.append((q, v))
    tasks, joints = [], []
    for constraint in scenario.servo:
        if isinstance(constraint, JointFollows):
            joints.append(joint_task(constraint, times))
        elif isinstance(constraint, Expression):  # SCARA: the sum of the angles turns the tool
            tasks[-1]["rows"].append(5)
        else:
            tasks.append(frame_task(robot, constraint, times, states))
    rows = sum(len(task["rows"]) for task in tasks) + sum(len(task["joints"]) for task in joints)
    contacts = [c for c in passive if isinstance(c, Contact)]
    assert len(contacts) == len(passive)
    feedback = controller.feedback
    made = {
        "name": name,
        "title": scenario.title,
        "scenario": str(CASES / f"{name}.toml"),
        "urdf": f"{name}.urdf",
        "floating": not robot.is_euclidean,
        "gravity": robot.model.gravity.linear.tolist(),
        "dofs": robot.nv,
        "rows": rows,
        "joints": [str(joint) for joint in robot.actuators] if name != "scara" else
        ["q1", "q2", "q3", "q4"],
        "gains": {"alpha": feedback.alpha, "beta": feedback.beta},
        "tasks": tasks,
        "joint_tasks": joints,
        "contacts": [{"frame": c.frame, "type": c.type} for c in contacts],
        "contact_gains": {"alpha": GAINS.alpha, "beta": GAINS.beta},
        "rule": rule_of(controller, rows == robot.nu == robot.nv, robot, states[0][0]),
        "t": times.tolist(),
        "q": [q.tolist() for q, _ in states],
        "v": [v.tolist() for _, v in states],
    }  # fmt: skip
    return made


def export(name: str, folder: Path) -> Path:
    """Write a case and its URDF; return the case's file."""
    made = case(name)
    folder.mkdir(parents=True, exist_ok=True)
    text = model_text(true_robot(scenario_of(name).robot))
    (folder / made["urdf"]).write_text(text, encoding="utf-8")
    file = folder / f"{name}.json"
    file.write_text(json.dumps(made))
    made["u"], made["a"] = reference(file)
    file.write_text(json.dumps(made))
    return file


if __name__ == "__main__":
    for each in sys.argv[2:] or NAMES:
        export(each, Path(sys.argv[1]))
