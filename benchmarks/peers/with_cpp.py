"""C++ on Pinocchio's headers, see `with_cpp.cpp`: built here once, and called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from loops import SAMPLE, STEP
from protocol import Case, Contestant, serve
from scipy.integrate import RK45
from scipy.integrate._ivp import dop853_coefficients as dop853

SOURCE = Path(__file__).with_suffix(".cpp")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-w", "-shared", "-fPIC")
FLAGS += ("-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS")
BLOCK = 1000
"""Ticks of one call from Python."""


def built() -> ctypes.CDLL:
    """Return the library, built where its source is not the one built last."""
    mark = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:12]
    target = Path(sys.prefix) / f"peer-{mark}.so"
    if not target.exists():
        headers = Path(pin.__file__).parents[4] / "include"
        print("building with_cpp.cpp, once; this takes minutes", file=sys.stderr, flush=True)
        line = ["g++", *FLAGS, "-I", headers, "-I", headers / "eigen3", SOURCE]
        subprocess.run([*line, "-o", target], check=True)
    library = ctypes.CDLL(str(target))
    library.make.restype = ctypes.c_void_p
    return library


def numbers(*parts: Any) -> Any:
    """Return numbers in one piece of memory."""
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])


def at(array: Any) -> Any:
    """Return where an array is; it stays there as long as this is known."""
    return array.ctypes.data_as(ctypes.c_void_p)


def pose(place: pin.SE3) -> Any:
    """Return twelve numbers."""
    return numbers(place.rotation, place.translation)


def table(task: Any) -> Any:
    """Return references, twenty-four numbers each."""
    count = len(task["position"])
    names = ("position", "rotation", "velocity", "acceleration")
    return np.ascontiguousarray(np.hstack([task[name].reshape(count, -1) for name in names]))


class Method(ctypes.Structure):
    """What `Method` is there."""

    _fields_ = (
        ("stages", ctypes.c_int),
        ("order", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("A", "B", "C", "E", "E3", "P")),
    )


def method(name: str) -> tuple[Method, list[Any]]:
    """Return SciPy's tables of a method, and the arrays that hold them."""
    of = dop853 if name == "dop853" else RK45
    A, C = np.zeros((16, 16)), np.zeros(16)
    A[: of.A.shape[0], : of.A.shape[1]], C[: len(of.C)] = of.A, of.C
    if of is dop853:
        kept = [A, of.B, C, of.E5, of.E3, of.D]
    else:
        kept = [A, of.B, C, of.E, np.zeros(0), of.P.T]
    kept = [np.ascontiguousarray(each) for each in kept]
    places = [each.ctypes.data if each.size else None for each in kept]
    return Method(len(of.B), 7 if of is dop853 else 4, *places), kept


class Reference:
    """The robot of a case, its law and its loops."""

    def __init__(self, case: Case) -> None:
        self.library, self.case = built(), case
        self.model = pin.buildModelFromUrdf(case.urdf)
        self.model.gravity.linear = np.array(case["gravity"])
        self.n = self.model.nv
        self.robot = self.made()
        rule, no_closure = case["rule"], {"frame": case["tasks"][0]["frame"], "held_at": []}
        closure = case["contacts"][0] if case["contacts"] else no_closure
        ours, theirs = case["gains"], case["contact_gains"]
        gains = [ours["alpha"], ours["beta"], theirs["alpha"], theirs["beta"]]
        frames = numbers(self.frame(case["tasks"][0]["frame"]), self.frame(closure["frame"]))
        places = [place for _, place in closure["held_at"]] or [0.0, 0.0]
        spread = np.resize(case["spread"], (5, 6))
        self.library.set(
            self.robot, at(numbers(gains, rule.get("kp", 0.0), rule.get("kd", 0.0))), at(frames),
            at(numbers(places)), at(numbers(spread)), at(numbers(rule.get("q", np.zeros(7)))),
        )  # fmt: skip
        self.q, self.v = numbers(case["q"]), numbers(case["v"])
        self.u = np.zeros((case.count, len(case["spread"][0])))
        self.references = table(case.references()[0])

    def made(self, scale: Any = None) -> ctypes.c_void_p:
        """Return a robot whose masses may be other ones."""
        model, scale = self.model, np.ones(self.n) if scale is None else scale
        kinds = [model.joints[k].shortname() for k in range(1, model.njoints)]
        assert set(kinds) <= {"JointModelRZ", "JointModelPZ"}
        assert list(model.parents)[1:] == list(range(self.n))
        slides = np.array([kind == "JointModelPZ" for kind in kinds], dtype=np.int32)
        bodies = list(model.inertias)[1:]
        inertias = [
            numbers(s * body.mass, body.lever, s * body.inertia)
            for s, body in zip(scale, bodies, strict=True)
        ]
        places = numbers(*(pose(place) for place in list(model.jointPlacements)[1:]))
        robot = self.library.make(
            self.n, at(slides), at(places), at(numbers(*inertias)), at(model.gravity.linear.copy())
        )
        return ctypes.c_void_p(robot)

    def frame(self, name: str) -> Any:
        """Return joint and pose of a frame."""
        frame = self.model.frames[self.model.getFrameId(name)]
        return numbers(frame.parentJoint, pose(frame.placement))

    def ticks(self, calls: int) -> Any:
        """Return the torques of all states after so many ticks."""
        refs, count = at(self.references), self.case.count
        self.library.ticks(
            self.robot, self.n, at(self.q), at(self.v), refs, count, calls, at(self.u)
        )
        return self.u

    def arms(self, name: str) -> Any:
        """Return state and torques of the arms."""
        loop, sample = self.case["loops"], ctypes.c_double(SAMPLE)
        seconds, y = loop["seconds"][name], numbers(loop["q"], np.zeros(self.n))
        told = np.zeros((round(seconds / SAMPLE), 6))
        if name == "rk4":
            steps, every = round(seconds / STEP), round(SAMPLE / STEP)
            self.library.rk4(self.robot, at(y), steps, ctypes.c_double(STEP), every, at(told))
            return y, told
        chosen, kept = method(name)
        self.library.adaptive(
            self.robot, ctypes.byref(chosen), ctypes.c_double(1e-9), at(y),
            ctypes.c_double(seconds), sample, at(told),
        )  # fmt: skip
        assert kept
        return y, told

    def sampled(self, plant: ctypes.c_void_p, refs: Any, seconds: float) -> Any:
        """Return state and torques of the Panda."""
        loop, every = self.case["loops"], round(SAMPLE / STEP)
        y, told = numbers(loop["q"], loop["v"]), np.zeros((round(seconds / SAMPLE), 7))
        self.library.sampled(
            self.robot, plant, at(refs), at(y), round(seconds / STEP), ctypes.c_double(STEP), every,
            at(told),
        )  # fmt: skip
        return y, told

    def panda(self) -> dict[str, Any]:
        """Return the loops of the Panda."""
        refs, loop = table(self.case.sampled()[0]), self.case["loops"]
        seconds, nominal = loop["seconds"], self.made()

        def rollouts() -> Any:
            found = []
            for scale in loop["mass_scale"]:
                plant = self.made(scale)
                found.append(self.sampled(plant, refs, seconds["rollouts"]))
                self.library.forget(plant)
            return [y for y, _ in found], [u[-1] for _, u in found]

        def sampled() -> Any:
            return self.sampled(nominal, refs, seconds["sampled"])

        return {"sampled": sampled, "rollouts": rollouts}


def prepare(case: Case) -> Contestant:
    """Make the controller."""
    made, loops = Reference(case), {}
    if case["name"] == "arms":
        names = case["loops"]["seconds"]
        loops = {name: lambda name=name: made.arms(name) for name in names}
    if case["name"] == "panda":
        loops = made.panda()
    return Contestant(lambda k: made.ticks(case.count)[k], loops, lambda: made.ticks(BLOCK), BLOCK)


def versions() -> str:
    """Return what ran."""
    line = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True)
    return f"g++ {line.stdout.strip()} {' '.join(FLAGS[1:3])}, pin {pin.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
