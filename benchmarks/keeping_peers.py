"""Time ticks in which 0, 1, 5 and 20 limits bind beside TSID, Pink and mink; print a table.

    python benchmarks/keeping_peers.py [--install] [--json FILE] [--rounds N]

The task and what is the same of it is told in `peers/limits.py`. Contestants run in processes and
environments of their own, as in `peers.py`, and take turns round by round on the same states: a
time is that of the fastest round, a ratio the median of the rounds' ratios. Before anything is
timed, torques of ukctrl and TSID must move all joints alike, and as many limits must bind as are
meant to.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import peers
import pinocchio as pin
from peers import SHARE, Contestant, interpreters, ratio, spread

from ukctrl import Robot

URDF = Path(__file__).resolve().parent / "cases" / "humanoid" / "humanoid.urdf"
PACKAGES = {
    "tsid": peers.PACKAGES["tsid"],
    "pink": ("pin-pink==4.4.0", "pin==4.1.0", "daqp==0.11.0"),
    "mink": ("mink==1.3.0", "mujoco==4.0.0", "daqp==0.11.0"),
}
BINDING = (0, 1, 5, 20)
"""So many joints are demanded beyond their ends."""
END, SPEED, DECELERATION, EFFORT, PERIOD = 1.0, 2.0, 4.0, 200.0, 0.004
"""Of all joints [rad, rad/s, rad/s^2, N m, s]."""
GAINS = {"alpha": 20.0, "beta": 100.0}
FREE = ("left_shoulder_pitch", "left_shoulder_roll", "left_elbow")
"""Joints that are left to the hand."""
BEYOND = 0.5
"""How far beyond an end a joint is demanded [rad]."""
COUNT = 100
"""States."""
ALIKE = 1e-2
"""Accelerations of ukctrl and TSID differ by no more [rad/s^2]: one sees ahead in the tick, the
other does not."""


def case_of(robot: Robot, binding: int) -> dict[str, Any]:
    """Return a case: states near a posture, some joints at their ends."""
    rng, joints = np.random.default_rng(0), list(robot.dofs)
    held = [name not in FREE for name in joints]
    # From the middle of the list, so that joints between pelvis and hand are among the first.
    ends = sorted(np.flatnonzero(held), key=lambda i: abs(i - joints.index("waist_pitch")))
    at = 0.2 * rng.standard_normal(len(joints))
    at[ends[:binding]] = END
    target = at.copy()
    target[ends[:binding]] = END + BEYOND
    q = at + 0.005 * rng.standard_normal((COUNT, len(joints)))
    q[:, ends[:binding]] = END
    place = robot.snapshot(at).frame("left_hand").position.tolist()
    scenario = f"""
title = "hold"
robot = "@/robot.toml"
start.q = {at.tolist()}
timing = {{ duration = {PERIOD * COUNT}, control = {PERIOD}, sample = {PERIOD} }}
controller.use = "servo-baumgarte"
controller.feedback = {{ alpha = {GAINS["alpha"]}, beta = {GAINS["beta"]} }}
[[servo]]
kind = "point_follows"
frame = "left_hand"
path = {{ kind = "constant", value = {place} }}
[[servo]]
kind = "joint_follows"
joints = {[name for name, own in zip(joints, held, strict=True) if own]}
path = {{ kind = "constant", value = {target[held].tolist()} }}
[[keep]]
kind = "joint_limits"
lower = {-END}
upper = {END}
speed = {SPEED}
deceleration = {DECELERATION}
"""
    return {
        "urdf": "humanoid.urdf", "scenario": scenario, "joints": joints, "held": held,
        "t": [0.0] * COUNT, "q": q.tolist(), "v": np.zeros(q.shape).tolist(),
        "target": target.tolist(), "frame": "left_hand", "place": place, "gains": GAINS,
        "end": END, "speed": SPEED, "acceleration": 1e3, "effort": EFFORT, "period": PERIOD,
    }  # fmt: skip


def checked(case: dict[str, Any], binding: int, answers: dict[str, Any]) -> float:
    """Return by how much accelerations of ukctrl and TSID differ; exit where they should not."""
    model, worst = pin.buildModelFromUrdf(str(URDF)), 0.0
    data, at = model.createData(), np.flatnonzero(np.array(case["target"]) > END)
    for k, (q, v) in enumerate(zip(case["q"], case["v"], strict=True)):
        here = model, data, np.array(q), np.array(v)
        a = {
            name: pin.aba(*here, np.array(answers[name][k])).copy()
            for name in ("ukctrl", "tsid")
            if name in answers
        }
        for name, made in answers.items():
            at_end = a[name] if name in a else np.array(made[k])
            bound = np.flatnonzero(np.abs(at_end[at]) < ALIKE)
            if len(bound) != binding:
                sys.exit(f"{name}: {len(bound)} limits bind of {binding}, state {k}: {at_end[at]}.")
        if len(a) == 2:
            worst = max(worst, float(np.abs(a["ukctrl"] - a["tsid"]).max()))
    if worst > ALIKE:
        sys.exit(f"ukctrl and TSID differ by {worst:.1e} rad/s^2; nothing to compare.")
    return worst


def measured(binding: int, pythons: dict[str, str], rounds: int) -> dict[str, Any]:
    """Return the times of all contestants."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copy(URDF, folder)
        (folder / "robot.toml").write_text(
            'title = "Held"\nmodel = "humanoid.urdf"\n', encoding="utf-8"
        )
        case = case_of(Robot.load(folder / "robot.toml"), binding)
        (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")
        run = [
            Contestant(name, python, folder / "case.json", "limits")
            for name, python in pythons.items()
        ]
        answers = {own.name: own.ask("run tick")[0] for own in run}
        off = checked(case, binding, answers)
        times: dict[str, list[float]] = {own.name: [] for own in run}
        for _ in range(rounds):
            for own in run:
                times[own.name].append(own.ask(f"time tick {SHARE}"))
        for own in run:
            own.close()
    return {
        "off": off,
        "versions": {own.name: own.versions for own in run},
        "us": {name: 1e6 * min(own) for name, own in times.items()},
        "ratio": {name: spread(own, times["ukctrl"]) for name, own in times.items()},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--install", action="store_true", help="make the peers' environments")
    parser.add_argument("--environments", type=Path, default=peers.ROOT / "out" / "peers")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    pythons = interpreters(options.environments, options.install, ("ukctrl",), PACKAGES)
    found = {}
    print(f"| limits that bind | {' | '.join(pythons)} |")
    print("|" + " --- |" * (len(pythons) + 1))
    for binding in BINDING:
        told = found[binding] = measured(binding, pythons, options.rounds)
        cells = [
            f"{told['us'][name]:.3g} µs"
            + (f", {ratio(told['ratio'][name])}" if name != "ukctrl" else "")
            for name in pythons
        ]
        print(f"| {binding} | {' | '.join(cells)} |", flush=True)
    print("; ".join(found[0]["versions"].values()))
    print(f"ukctrl and TSID differ by {max(told['off'] for told in found.values()):.0e} rad/s^2")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
