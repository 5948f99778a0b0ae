"""Time and memory over the size of a robot, with exponents; print tables, write JSON, a figure.

A chain of n links whose tip follows a circle (a tick of the law), N four-bar loops (a step of the
simulation, and one acceleration), swarms, and minutes of an arm at 1 kHz (whole runs, each in a
process of its own). Beside the first two stand `pinocchio.constraintDynamics` with the same rows,
and MuJoCo's forward dynamics with soft equalities, in turn in one process, on one core. A growth
``t ~ n^p`` is a line through logarithms, from ten links or loops on.

    python benchmarks/scaling.py [--json FILE] [--rounds N] [--only chain|loops|swarm|long]
                                 [--page]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

import mujoco
import numpy as np
import pinocchio as pin
from naive_n_four_bar import NaiveFourBars
from page import DOCS, write_tables

from ukctrl import Dynamics, Robot, Scenario, Task, Vector, simulate

LINKS = (5, 10, 20, 30, 40, 47, 48, 60, 80, 100, 140, 200)
LOOPS = (1, 2, 5, 10, 20, 40, 70, 100)
PARTICLES = (5, 20, 50, 100, 200, 500)
MOST_PARTICLES = 2000
"""What ``--only swarm`` adds: minutes, and some gigabytes."""
MINUTES = (1, 2, 5, 10)
LARGE = 10
"""Links or loops from which on a growth is told: below, what does not grow decides."""
KILOHERTZ = {"control": 0.001, "sample": 0.001}
"""A sample a tick, which ten minutes have 600,000 of: 300 MB."""
LONG_ENOUGH = 0.05
"""Time that one measurement takes at least [s]."""
STEPS = 200
"""Steps of a simulation whose time is told, between two runs of other lengths."""
ANGLE, OMEGA = np.deg2rad(60.0), -1.0
"""State of the loops: the rods' angle [rad] and rate [rad/s]."""
AGREE = 1e-6
"""Accelerations that differ by more, of the largest, are not the same: proximal rows give way."""
CHAIN = """
title = "the tip of a chain follows a circle"
robot = "chain.urdf"
controller = { kind = "servo", feedback = { kind = "baumgarte", alpha = 20.0, beta = 100.0 } }
timing.duration = 1.0
start = { solve = true }
[[servo]]
kind = "point_follows"
frame = "tip"
path = { kind = "circle", center = [0.0, 0.0, 0.5], radius = 0.1, period = 2.0 }
"""
Table = dict[int, dict[str, float]]
LINES = {
    "chain": {
        "tick": "ukctrl: tick of the law",
        "pinocchio": "Pinocchio: constraintDynamics",
        "mujoco": "MuJoCo: forward dynamics",
    },
    "loops": {
        "step": "ukctrl: step of the motion, RK4",
        "acceleration": "ukctrl: acceleration",
        "pinocchio": "Pinocchio: constraintDynamics",
        "mujoco": "MuJoCo: forward dynamics",
    },
}
"""What the figure calls a column."""
AXES = {"chain": "freedoms of a chain, tip on a circle", "loops": "four-bar loops in a row"}


def chain(links: int) -> str:
    """Return a chain of equal links, two metres long, whose axes take turns."""
    length = 2.0 / links
    parts, axes = ['<link name="ground"/>'], ("0 0 1", "0 1 0", "1 0 0")
    for i in range(links):
        parent = f"link{i - 1}" if i else "ground"
        parts.append(
            f'<link name="link{i}"><inertial><origin xyz="0 0 {length / 2}"/><mass value="{length}"'
            f'/><inertia ixx="{length**3}" iyy="{length**3}" izz="{length**3}" ixy="0" ixz="0" '
            f'iyz="0"/></inertial></link><joint name="q{i + 1}" type="revolute"><parent link='
            f'"{parent}"/><child link="link{i}"/><origin xyz="0 0 {length if i else 0.0}"/>'
            f'<axis xyz="{axes[i % 3]}"/><limit lower="-7" upper="7" effort="1e9" velocity="1e9"/>'
            "</joint>"
        )
    parts.append(
        f'<link name="tip"/><joint name="end" type="fixed"><parent link="link{links - 1}"/>'
        f'<child link="tip"/><origin xyz="0 0 {length}"/></joint>'
    )
    return f'<robot name="chain">{"".join(parts)}</robot>'


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call [s], from as many as take long enough."""
    began, count = time.process_time(), 0
    while (spent := time.process_time() - began) < LONG_ENOUGH:
        work()
        count += 1
    return spent / count


def in_turn(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of each work, taking turns [s]."""
    for work in works.values():  # what is compiled or written at first is of none
        seconds(work)
    times = {name: list[float]() for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: statistics.median(own) for name, own in times.items()}


def on(v: Vector) -> Vector:
    """Return a velocity changed a little in place: of the same state nothing is worked out anew."""
    v[0] += 1e-12
    return v


def constrained(model: Any, ends: list[tuple[Any, ...]], mu: float) -> Callable[..., Any]:
    """Return Pinocchio's acceleration of ``q``, ``v`` under rows that hold points together."""
    kind = pin.ContactType.CONTACT_3D
    made = [pin.RigidConstraintModel(kind, model, *end) for end in ends]
    rows, room = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for row in made:
        rows.append(row)
        room.append(row.createData())
    data, still = model.createData(), np.zeros(model.nv)
    pin.initConstraintDynamics(model, data, rows, room)
    settings = pin.ProximalSettings(1e-12, mu, 10)
    return lambda q, v: pin.constraintDynamics(model, data, q, v, still, rows, room, settings)


def soft(text: str, q: Vector, v: Vector) -> Callable[[], None]:
    """Return MuJoCo's forward dynamics of a model, contacts left out, at a state that changes."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v

    def work() -> None:
        on(data.qvel)
        mujoco.mj_forward(model, data)

    work()
    return work


def mjcf(bodies: str, equalities: str) -> str:
    """Return a model whose equalities hold points together."""
    return (
        f"<mujoco><compiler angle='radian'/><worldbody>{bodies}</worldbody>"
        f"<equality>{equalities}</equality></mujoco>"
    )


def mujoco_chain(links: int) -> str:
    """Return the chain of `chain`, its tip held where it is with all angles zero."""
    length, axes = 2.0 / links, ("0 0 1", "0 1 0", "1 0 0")
    body = ""
    for i in reversed(range(links)):
        body = (
            f"<body name='link{i}' pos='0 0 {length if i else 0.0}'>"
            f"<inertial pos='0 0 {length / 2}' mass='{length}' "
            f"diaginertia='{length**3} {length**3} {length**3}'/>"
            f"<joint axis='{axes[i % 3]}'/>{body}</body>"
        )
    held = f"<connect body1='link{links - 1}' body2='world' anchor='0 0 {length}'/>"
    return mjcf(body, held)


def mujoco_four_bars(loops: int) -> str:
    """Return the model of `four_bars`; the rods stand at zero, the couplers level."""
    inertia = "<inertial pos='0.5 0 0' mass='1' diaginertia='1e-9 0.0833333333 0.0833333333'/>"
    hinge, bodies, held = "<joint axis='0 1 0'/>", "", ""
    for i in range(loops + 1):
        coupler = f"<body name='coupler{i}' pos='1 0 0'>{inertia}{hinge}</body>"
        bodies += f"<body name='rod{i}' pos='{i} 0 0'>{inertia}{hinge}"
        bodies += f"{coupler if i < loops else ''}</body>"
        if i < loops:
            held += f"<connect body1='coupler{i}' body2='rod{i + 1}' anchor='1 0 0'/>"
    return mjcf(bodies, held)


def chain_tick(links: int, rounds: int) -> dict[str, float]:
    """Return the times of a chain: a tick, and Pinocchio's acceleration with its tip held."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "chain.urdf").write_text(chain(links), encoding="utf-8")
        (Path(folder) / "chain.toml").write_text(CHAIN, encoding="utf-8")
        scenario = Scenario.load(Path(folder) / "chain.toml")
        robot = Robot.load(Path(folder) / "chain.urdf")
    rng = np.random.default_rng(links)
    q, v = 0.3 * rng.standard_normal(links), 0.1 * rng.standard_normal(links)
    law = scenario.controller.start(Task(robot=robot, servo=scenario.servo, q=q, v=v))
    law.command(0.0, q, v)
    model = robot.structure.model
    tip = pin.SE3(np.eye(3), np.array([0.0, 0.0, 2.0 / links]))
    theirs = constrained(model, [(links, tip, pin.ReferenceFrame.LOCAL)], 0.0)
    theirs(q, v)
    works = {
        "tick": lambda: law.command(0.0, q, on(v)),
        "pinocchio": lambda: theirs(q, on(v)),
        "mujoco": soft(mujoco_chain(links), q, v),
    }
    return in_turn(works, rounds)


def four_bars(loops: int) -> tuple[Any, list[tuple[Any, ...]]]:
    """Return rods on the ground, each with its coupler, and the points that close the loops."""
    model, turn = pin.Model(), pin.JointModelRY
    body = pin.Inertia(1.0, np.array([0.5, 0.0, 0.0]), np.diag([0.0, 1.0 / 12.0, 1.0 / 12.0]))
    along, rods, couplers = pin.SE3(np.eye(3), np.array([1.0, 0.0, 0.0])), [], []
    for i in range(loops + 1):
        foot = pin.SE3(np.eye(3), np.array([float(i), 0.0, 0.0]))
        rods.append(model.addJoint(0, turn(), foot, f"rod{i}"))
        model.appendBodyToJoint(rods[i], body, pin.SE3.Identity())
        if i < loops:
            couplers.append(model.addJoint(rods[i], turn(), along, f"coupler{i}"))
            model.appendBodyToJoint(couplers[i], body, pin.SE3.Identity())
    return model, [(couplers[i], along, rods[i + 1], along) for i in range(loops)]


def loop_step(loops: int, rounds: int) -> dict[str, float]:
    """Return the times of N four-bars: a step, one acceleration, and Pinocchio's."""
    name = "robot.linkage.repeat.loop.count"
    robot = Robot.load("n_four_bar", override={"linkage": {"repeat": {"loop": {"count": loops}}}})
    q, v = NaiveFourBars(loops).state(ANGLE, OMEGA)
    ours = Dynamics(robot, Scenario.load("n-four-bar").rank)
    ours.move(0.0, q, v)
    model, ends = four_bars(loops)
    theirs = constrained(model, ends, 1e-8)
    angles = [0.0 if joint.startswith("coupler") else ANGLE for joint in model.names[1:]]
    # Rods turn about -y; a coupler stays level on a rod that turns.
    tilt = [-a if a else ANGLE for a in angles]
    rate = [-OMEGA if a else OMEGA for a in angles]
    q_t, v_t = np.array(tilt), np.array(rate)
    rod = robot.dofs.index("rod0_angle")
    a = np.asarray(theirs(q_t, v_t))
    if not abs(-a[0] - ours.a_free[rod]) <= AGREE * abs(a[0]):
        sys.exit(f"N = {loops}: rod0 accelerates by {ours.a_free[rod]}, or {-a[0]} rad/s^2.")
    works = {
        "acceleration": lambda: ours.move(0.0, q, on(v)),
        "pinocchio": lambda: theirs(q_t, on(v_t)),
        "mujoco": soft(mujoco_four_bars(loops), q_t, v_t),
    }
    found = in_turn(works, rounds)
    runs = [
        Scenario.load("n-four-bar", {name: loops, "timing.duration": d, "timing.sample": 0.02})
        for d in (0.02, 0.02 + 0.001 * STEPS)
    ]
    for run in runs:  # what is compiled or written at first is of neither
        simulate(run)
    spent = []
    for _ in range(rounds):
        pair = []
        for run in runs:
            began = time.process_time()
            simulate(run)
            pair.append(time.process_time() - began)
        spent.append((pair[1] - pair[0]) / STEPS)
    return {"step": statistics.median(spent), **found}


def whole_run(what: str, count: int) -> dict[str, float]:
    """Return the time and the peak memory of a run (see `sized`), in a process of its own."""
    line = [sys.executable, __file__, f"--{what}", str(count)]
    answer = subprocess.run(line, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


def sized(what: str, count: int) -> Scenario:
    """Return a swarm of so many particles, or so many minutes of an arm at 1 kHz."""
    if what == "particles":
        return Scenario.load("swarm-many", {"robot.particles.count": count})
    return Scenario.load("panda-pose-sampled", {"timing": {**KILOHERTZ, "duration": 60.0 * count}})


def run_here(what: str, count: int) -> None:
    """Run one of them and print what it took."""
    began = time.process_time()
    run = simulate(sized(what, count))
    spent = time.process_time() - began
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = 1024.0 * int(status.split("VmHWM:")[1].split()[0]) / 1e6  # that of the child alone
    if run.status != "completed":
        sys.exit(f"{count} {what}: {run.message}")
    print(json.dumps({"run": spent, "MB": peak}))


def exponent(table: Table, name: str) -> float:
    """Return p of a growth like n^p, over the sizes from `LARGE` on or over all that are less."""
    sizes = [n for n in table if n >= LARGE or max(table) <= LARGE]
    values = [table[n][name] for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def told(title: str, table: Table) -> str:
    """Return a table with the growth of its columns."""
    names = list(next(iter(table.values())))
    lines = [f"{title:>12s}" + "".join(f"{name:>16s}" for name in names)]
    for n, entry in table.items():
        values = (
            f"{entry[k]:13.0f} MB" if k == "MB" else f"{1e6 * entry[k]:13.1f} us" for k in names
        )
        lines.append(f"{n:12d}" + "".join(values))
    lines.append(f"{'n^p, p =':>12s}" + "".join(f"{exponent(table, k):16.2f}" for k in names))
    return "\n".join(lines)


def markdown(kind: str, table: Table) -> str:
    """Return a table for the page [us], the growth of its columns in the last line."""
    names = LINES[kind]
    lines = [f"| {AXES[kind]} | {' | '.join(names.values())} |", "|" + " --- |" * (len(names) + 1)]
    for n, entry in table.items():
        lines.append(f"| {n} | {' | '.join(f'{1e6 * entry[k]:.3g} µs' for k in names)} |")
    growth = (f"$n^{{{exponent(table, k):.2f}}}$" for k in names)
    return "\n".join([*lines, f"| grows as | {' | '.join(growth)} |"])


def draw(measured: dict[str, Table], target: Path) -> None:
    """Draw time over size, and what growing in proportion would be."""
    from matplotlib.figure import Figure

    from ukctrl import plot

    style = plot.style

    with style.look():
        figure = Figure(figsize=(9.6, 4.2), dpi=110, facecolor="white", layout="constrained")
        for ax, (kind, names) in zip(figure.subplots(1, 2), LINES.items(), strict=True):
            table = measured[kind]
            sizes = np.array(list(table))
            for k, (name, label) in enumerate(names.items()):
                times = np.array([1e6 * entry[name] for entry in table.values()])
                theirs = name in ("pinocchio", "mujoco")
                color = style.MUTED if name == "pinocchio" else style.PALETTE[k]
                label = f"{label}, slope {exponent(table, name):.2f}"
                ax.loglog(
                    sizes, times, "--" if theirs else "-", color=color, marker=".", label=label
                )
            first = 1e6 * next(iter(table.values()))["pinocchio"]
            ax.loglog(sizes, 0.5 * first * sizes / sizes[0], ":", color=style.INK, label="slope 1")
            ticks = [n for n in sizes if n not in (47, 48)]
            ax.set_xticks(ticks, [str(n) for n in ticks])
            low, high = ax.get_ylim()
            high *= 5.0  # room for the legend
            marks = [mark for mark in (1, 10, 100, 1000, 10_000) if low <= mark <= high]
            ax.set_yticks(marks, [f"{mark:,}".replace(",", " ") for mark in marks])
            ax.set_ylim(low, high)
            ax.minorticks_off()
            ax.set_xlabel(AXES[kind])
            ax.set_ylabel("time [µs]")
            ax.legend(fontsize=8)
        target.parent.mkdir(exist_ok=True)
        figure.savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("chain", "loops", "swarm", "long"))
    parser.add_argument("--page", action="store_true", help="also write into docs/reference")
    for what in ("particles", "minutes"):
        parser.add_argument(f"--{what}", type=int, help="run so many here, and tell what it took")
    options = parser.parse_args()
    for what in ("particles", "minutes"):
        if count := getattr(options, what):
            run_here(what, count)
            return
    wanted = (options.only,) if options.only else ("chain", "loops", "swarm", "long")
    counts = (*PARTICLES, MOST_PARTICLES) if options.only == "swarm" else PARTICLES
    measured: dict[str, Table] = {}
    if "chain" in wanted:
        measured["chain"] = {n: chain_tick(n, options.rounds) for n in LINKS}
        print(told("links", measured["chain"]), flush=True)
    if "loops" in wanted:
        measured["loops"] = {n: loop_step(n, options.rounds) for n in LOOPS}
        print(told("loops", measured["loops"]), flush=True)
    if "swarm" in wanted:
        measured["swarm"] = {n: whole_run("particles", n) for n in counts}
        print(told("particles", measured["swarm"]), flush=True)
    if "long" in wanted:
        measured["long"] = {n: whole_run("minutes", n) for n in MINUTES}
        print(told("minutes", measured["long"]), flush=True)
    if options.page:
        write_tables({f"scaling_{k}": markdown(k, measured[k]) for k in LINES if k in measured})
        if measured.keys() >= LINES.keys():
            draw(measured, DOCS / "figures" / "scaling.png")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
