"""The same laws as C code that CasADi generates, of the terms that adam-robotics writes in CasADi.

One expression from a state to its torques, common terms shared, compiled for this machine. It knows
no rank: rows that are lost would divide by zero.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import adam
import adam.casadi
import casadi as ca
import numpy as np
from adam.model.std_factories.std_joint import StdJoint
from protocol import Case, Contestant, serve

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
BLOCK = 1000
"""Ticks of one call from Python."""
TICKS = r"""
/* All states in turn: of each q, v and the reference, then the torques. */
enum { ARGUMENTS = %d, RESULTS = %d, INTEGERS = %d, NUMBERS = %d };
void ticks(casadi_int calls, casadi_int states, casadi_int n, casadi_int nr, const double *q,
           const double *v, const double *ref, double *u)
{
    static casadi_int iw[INTEGERS + 1];
    static double w[NUMBERS + 1];
    casadi_int k;
    for (k = 0; k < calls; k++) {
        const casadi_int i = k %% states;
        const double *given[ARGUMENTS] = {q + n * i, v + n * i, ref + nr * i};
        double *found[RESULTS] = {u + n * i};
        tick(given, found, iw, w, 0);
    }
}
"""


def motion_subspace(joint: StdJoint) -> Any:
    """Return what a joint's speed does; adam-robotics 0.5.0 gives sliding ones 12 numbers."""
    if joint.type != "prismatic":
        return given(joint)
    return joint.math.vertcat(joint.axis, joint.math.zeros(3))


given, StdJoint.motion_subspace = StdJoint.motion_subspace, motion_subspace


def turned(R: Any) -> Any:
    """Return the rotation vector of a rotation below a half turn."""
    axis = 0.5 * ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    square = ca.dot(axis, axis)
    angle = ca.atan2(ca.sqrt(square), 0.5 * (ca.trace(R) - 1.0))
    return ca.if_else(square < 1e-16, 1.0 + square / 6.0, angle / ca.sqrt(square)) * axis


def law(case: Case) -> Any:
    """Return a function of ``q``, ``v`` and 24 numbers of a reference: the torques."""
    (task,), names, rule = case["tasks"], case["joints"], case["rule"]
    robot = adam.casadi.KinDynComputations(
        case.urdf, names, gravity=np.array([*case["gravity"], 0.0, 0.0, 0.0])
    )
    robot.set_frame_velocity_representation(adam.Representations.MIXED_REPRESENTATION)
    n, base, still = len(names), ca.SX.eye(4), ca.SX.zeros(6)
    q, v, ref = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("ref", 24)
    M = robot.mass_matrix(base, q)[6:, 6:]
    nle = robot.bias_force(base, q, still, v)[6:]
    J = robot.jacobian(task["frame"], base, q)[:, 6:]
    place = robot.forward_kinematics(task["frame"], base, q)
    twist = J @ v
    drift = ca.jtimes(twist, q, v)
    R = ca.reshape(ref[3:12], 3, 3)  # row by row there, column by column here: its transpose
    error = ca.vertcat(place[:3, 3] - ref[:3], turned(place[:3, :3] @ R))
    gains = case["gains"]
    wanted = ref[18:24] - gains["alpha"] * (twist - ref[12:18]) - gains["beta"] * error - drift
    A, b = J[task["rows"], :], wanted[task["rows"]]
    if rule["kind"] == "unique":
        u = M @ ca.solve(A, b) + nle
    else:
        still_load = robot.gravity_term(base, q)[6:]
        wish = rule["kp"] * (ca.DM(rule["q"]) - q) - rule["kd"] * v + still_load
        D, LT, order = ca.ldl(M)
        X = ca.ldl_solve(ca.horzcat(A.T, wish - nle), D, LT, order)
        S = A @ X[:, :-1]
        D, LT, order = ca.ldl(S)
        u = wish + A.T @ ca.ldl_solve(b - A @ X[:, -1], D, LT, order)
    return ca.Function("tick", [q, v, ref], [u], {"cse": True})


def prepare(case: Case) -> Contestant:
    """Generate the code, and build it."""
    made = law(case)
    sizes = made.sz_arg(), made.sz_res(), made.sz_iw(), made.sz_w()
    with tempfile.TemporaryDirectory() as place:
        code = ca.CodeGenerator("tick.c", {"with_header": False})
        code.add(made)
        code.generate(f"{place}/")
        source = Path(place, "tick.c")
        source.write_text(source.read_text() + TICKS % sizes)
        subprocess.run(["cc", *FLAGS, "tick.c", "-o", "tick.so", "-lm"], cwd=place, check=True)
        library = ctypes.CDLL(str(Path(place, "tick.so")))
    (task,) = case.references()
    columns = ("position", "rotation", "velocity", "acceleration")
    references = np.hstack([task[name].reshape(case.count, -1) for name in columns])
    tables = [np.ascontiguousarray(x) for x in (case["q"], case["v"], references)]
    u = np.zeros_like(tables[0])

    def ticks(calls: int) -> Any:
        numbers = (calls, case.count, u.shape[1], references.shape[1])
        places = (ctypes.c_void_p(table.ctypes.data) for table in (*tables, u))
        library.ticks(*(ctypes.c_longlong(n) for n in numbers), *places)
        return u

    return Contestant(lambda k: ticks(case.count)[k], {}, lambda: ticks(BLOCK), BLOCK)


def versions() -> str:
    """Return what ran."""
    return f"CasADi {ca.__version__}, adam-robotics {version('adam-robotics')}"


if __name__ == "__main__":
    serve(prepare, versions)
