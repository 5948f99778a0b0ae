"""Read every MJCF file below some folders, beside MuJoCo: what is right, told, refused, and why.

    python tools/read_public_mjcf.py FOLDER... [--jobs 2] [--list]
    python tools/read_public_mjcf.py FOLDER... --cost     # time and memory of loading, of 60 files

Folders are those of unpacked packages (``pip download gymnasium dm-control ...``) or repositories.
A file counts if MuJoCo compiles it and it has a joint. It is

- right, if all terms agree with MuJoCo's to 1e-9 at a state that the library did not try, and every
  warning is about how it was read: motors behind servos, or contacts;
- told, if a warning names something that the robot lacks and all the rest agrees;
- refused, if it is no robot for ukctrl;
- wrong, if something differs without a word.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

SECONDS = 300
"""For one file."""
TOGETHER = 15
"""Files that one process reads."""
READ_SO = {"servo_told", "contact_told", "tendon_limit_told", "range_told"}
"""Warnings that take nothing from the robot's own motion within its limits."""
LACKS = {
    "damping_told", "friction_told", "tendon_told", "fluid_told", "flex_told",
    "plugin_told", "plastic_told",
}  # fmt: skip
"""Warnings of passive forces that the robot lacks, which are then not compared."""


def files(folders: list[Path]) -> list[Path]:
    """Return the files whose root is ``<mujoco>``."""
    found = (path for folder in folders for path in sorted(folder.rglob("*.xml")))
    return [path for path in found if b"<mujoco" in path.read_bytes()[:20000]]


def one(path: Path) -> dict[str, object]:
    """Read one file in this process."""
    import mujoco

    try:
        started = time.perf_counter()
        m = mujoco.MjModel.from_xml_path(str(path))
        alone = time.perf_counter() - started
    except Exception as error:
        return {"is": "not MuJoCo's", "why": str(error)[:200]}
    if m.nv == 0:
        return {"is": "no joint"}
    from ukctrl import Robot
    from ukctrl.core.errors import UkctrlError

    started = time.perf_counter()
    try:
        robot = Robot.load(path)
    except UkctrlError as error:
        return {"is": "refused", "why": str(error)[:300]}
    ours = time.perf_counter() - started
    codes = sorted({each.code for each in robot.audit if each.level == "warning"})
    wrong = different(mujoco, m, robot, set(codes))
    also = [code for code in codes if code in READ_SO]
    codes = [code for code in codes if code.endswith("_told") and code not in READ_SO]
    kind = "told" if codes else "right"
    times = {"mujoco": alone, "ukctrl": ours, "nv": m.nv}
    return {"is": "wrong" if wrong else kind, "why": wrong, "codes": codes, "also": also, **times}


def different(mujoco: object, m: object, robot: object, codes: set[str]) -> str:
    """Return what differs from MuJoCo's model of the untouched file; empty if nothing does."""
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data, rng = mujoco.MjData(m), np.random.default_rng(7)
    q = robot.integrate(robot.neutral, rng.uniform(-0.4, 0.4, robot.nv))
    v = rng.uniform(-1.0, 1.0, robot.nv)
    if (robot.nq, robot.nv) != (m.nq, m.nv):
        return "sizes"
    qpos, T = q.copy(), np.eye(m.nv)
    rate = np.zeros(m.nv)
    for j in range(m.njnt):
        at, dof = m.jnt_qposadr[j], m.jnt_dofadr[j]
        if m.jnt_type[j] < 2:
            at += 3 * (m.jnt_type[j] == 0)
            qpos[at : at + 4] = q[[at + 3, at, at + 1, at + 2]]
        if m.jnt_type[j] == 0:
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, qpos[at : at + 4])
            T[dof : dof + 3, dof : dof + 3] = R.reshape(3, 3).T
            rate[dof : dof + 3] = -np.cross(v[dof + 3 : dof + 6], v[dof : dof + 3])
    data.qpos[:], data.qvel[:] = qpos, T.T @ v
    mujoco.mj_forward(m, data)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, M)
    s = robot.snapshot(q, v)

    def off(ours: object, theirs: object) -> float:
        return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-3))

    if not codes & {"tendon_told", "rotor_told"} and off(T.T @ s.M @ T, M) > 1e-9:
        return f"mass matrix by {off(T.T @ s.M @ T, M):.1e}"
    rotors = m.dof_armature * rate
    bias = T.T @ (s.M @ rate - rotors + s.nle)
    if not codes & {"tendon_told", "rotor_told"} and off(bias, data.qfrc_bias) > 1e-9:
        return f"bias by {off(bias, data.qfrc_bias):.1e}"
    if not codes & LACKS:
        rubbed = np.zeros(m.nv)
        for term in robot.forces.terms:
            if type(term).__name__ == "Friction":
                rubbed[term.dofs] -= term.level * np.tanh(v[term.dofs] / term.scale)
        lifted = data.qfrc_gravcomp * m.jnt_actgravcomp[m.dof_jntid]
        passive = T.T @ (s.f - rubbed - rotors)
        theirs = data.qfrc_passive + lifted
        if np.abs(passive - theirs).max() > 1e-9 * max(1.0, np.abs(theirs).max()):
            return f"passive force by {np.abs(passive - theirs).max():.1e}"
    for b in range(m.nbody):
        name = m.body(b).name
        if name and np.abs(s.frame(name).position - data.xpos[b]).max() > 1e-9:
            return f"place of {name}"
    hinges = [j for j in range(m.njnt) if m.jnt_type[j] > 1]
    for j in hinges:
        at = m.jnt_qposadr[j]
        wanted = m.jnt_range[j] if m.jnt_limited[j] else [-np.inf, np.inf]
        if "range_off" not in {f.code for f in robot.audit} and not np.array_equal(
            wanted, [robot.q_lower[at], robot.q_upper[at]]
        ):
            return f"range of {robot.coordinates[at]}"
    return ""


def aside(command: list[str], limit: float) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder that is dropped with the log that MuJoCo leaves there."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=folder)


def apart(paths: list[Path]) -> list[dict[str, object]]:
    """Read files in a process of their own, which may crash: then at the next in another."""
    results: list[dict[str, object]] = []
    while left := paths[len(results) :]:
        command = [sys.executable, str(Path(__file__).resolve()), "--read", *map(str, left)]
        reason = "took too long"
        try:
            limit = SECONDS + 5 * len(left)
            ended = aside(command, limit)
            output, reason = ended.stdout, ended.stderr[-300:]
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode()
        results += [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if len(results) < len(paths):
            results.append({"is": "crash", "why": reason})
    return results[: len(paths)]


LOAD = {
    "mujoco": "import mujoco; load = lambda path: mujoco.MjModel.from_xml_path(path)",
    "pinocchio": "import pinocchio; load = pinocchio.buildModelFromMJCF",
    "ukctrl": "from ukctrl import Robot; load = Robot.load",
}
COST = """
import resource, sys, tempfile, time, pathlib
{load}
rss = lambda: int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
with tempfile.TemporaryDirectory() as folder:
    small = pathlib.Path(folder, "a.xml")
    small.write_text("<mujoco model='a'><worldbody><body name='b'><joint name='j'/>"
                     "<geom size='1'/></body></worldbody></mujoco>")
    load(str(small))
before, start = rss(), time.perf_counter()
kept = load(sys.argv[1])
print(time.perf_counter() - start, max(rss() - before, 0))
"""


def cost(paths: list[Path]) -> None:
    """Print what loading takes beside MuJoCo and Pinocchio, each in a process of its own."""
    told: dict[str, list[list[float]]] = {name: [] for name in LOAD}
    for path in paths:
        each = []
        for load in LOAD.values():
            words = [sys.executable, "-c", COST.format(load=load), str(path)]
            ended = aside(words, SECONDS)
            each.append([*map(float, ended.stdout.split())] if ended.returncode == 0 else [])
        if each[0] and each[2]:
            for name, numbers in zip(LOAD, each, strict=True):
                told[name].append(numbers or [np.nan, np.nan])
    ours, mujoco = np.array(told["ukctrl"]), np.array(told["mujoco"])
    for name, numbers in told.items():
        time_, memory = np.nanmedian(numbers, axis=0)
        print(f"{name:10} {1e3 * time_:8.1f} ms {memory / 2**20:8.1f} MB (median)", end="")
        ratio = np.nanmedian(ours[:, 0] / np.array(numbers)[:, 0])
        print(f", ukctrl takes {ratio:.1f} times as long")
    more = np.median(ours[:, 1] - mujoco[:, 1]) / 2**20
    print(f"{len(ours)} files; ukctrl keeps {more:.1f} MB more than MuJoCo (median)")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--read", nargs="+", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--cost", action="store_true")
    asked = parser.parse_args()
    asked.folders = [folder.resolve() for folder in asked.folders]
    if asked.read:  # what is loaded and compiled once does not count
        from ukctrl import Robot

        Robot.build("<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>")
    for path in asked.read or ():
        print(json.dumps(one(path)), flush=True)
    if asked.read:
        return
    if asked.cost:
        paths = files(asked.folders)
        cost(paths[:: max(1, len(paths) // 60)])
        return
    totals: collections.Counter[str] = collections.Counter()
    causes: collections.Counter[str] = collections.Counter()
    read_so: collections.Counter[str] = collections.Counter()
    ratios = []
    for folder in asked.folders:
        paths = files([folder])
        with ThreadPoolExecutor(asked.jobs) as pool:
            chunks = [paths[k : k + TOGETHER] for k in range(0, len(paths), TOGETHER)]
            results = [result for chunk in pool.map(apart, chunks) for result in chunk]
        counts = collections.Counter(str(result["is"]) for result in results)
        totals += counts
        print(f"{folder.name:32}", dict(counts), flush=True)
        for path, result in zip(paths, results, strict=True):
            why = result.get("codes") if result["is"] == "told" else result.get("why")
            if isinstance(why, str):
                why = why.replace(f"{path}: ", "")
            if result["is"] in ("told", "refused", "wrong", "crash"):
                causes[f"{result['is']}: {why}"[:200]] += 1
            if result["is"] == "right":
                read_so.update(result["also"])
            if "mujoco" in result:
                ratios.append(result["ukctrl"] / result["mujoco"])
            if asked.list:
                print("   ", result["is"], path.relative_to(folder), why or "")
    print(dict(totals))
    for cause, count in causes.most_common():
        print(f"{count:5}  {cause}")
    print("of those that are right, have warnings of how they are read:", dict(read_so))
    if ratios:
        print(f"loading takes {np.median(ratios):.2f} times as long as MuJoCo alone (median)")


if __name__ == "__main__":
    main()
