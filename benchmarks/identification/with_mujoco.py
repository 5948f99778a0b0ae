"""The Panda's log identified by `mujoco.sysid`: rollouts of short windows, its own optimizer.

Unknown are the pseudo-inertias of all links by its parametrisation, so that they are always those
of bodies, and damping, dry friction and the offset of every joint. A rollout starts at the measured
state and is driven by the measured torques for a fifth of a second; errors of positions and
velocities are weighted by their size at the start, and once more by what the first fit leaves.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import mujoco
import numpy as np
from mujoco import sysid
from protocol import Clock, Samples, answer

STRIDE, WINDOW = 4, 50
"""Samples in a step, over which torques are averaged, and steps of a rollout."""
ITERATIONS = (40, 20)
"""Of the two fits, at most."""
START = {"damping": 0.5, "frictionloss": 0.2, "offset": 0.0}
BOUNDS = {"damping": (0.0, 10.0), "frictionloss": (0.0, 5.0), "offset": (-2.0, 2.0)}
"""Of every joint [N m s/rad, N m, N m]."""
STRETCH = np.array([0.05, 20.0])
"""Bounds of what stretches a body."""


def spec_of(urdf: str, period: float) -> mujoco.MjSpec:
    """Return the same URDF with motors and sensors; limits and contacts are left out."""
    root = ET.parse(urdf).getroot()
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", balanceinertia="false")
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.option.timestep, spec.option.integrator = period, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    disabled = mujoco.mjtDisableBit
    spec.option.disableflags = disabled.mjDSBL_CONTACT | disabled.mjDSBL_LIMIT
    for joint in spec.joints:
        motor = spec.add_actuator(name=joint.name, target=joint.name)
        motor.trntype, motor.biastype = mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtBias.mjBIAS_AFFINE
        motor.gainprm[0] = 1.0
    for kind in ("JOINTPOS", "JOINTVEL"):
        for joint in spec.joints:
            sensor = spec.add_sensor(name=f"{kind}_{joint.name}", objname=joint.name)
            sensor.type = getattr(mujoco.mjtSensor, f"mjSENS_{kind}")
            sensor.objtype = mujoco.mjtObj.mjOBJ_JOINT
    return spec


def unknowns(spec: mujoco.MjSpec) -> sysid.ParameterDict:
    """Return the parameters, at the model's values."""
    found, model = sysid.ParameterDict(), spec.compile()
    for body in (model.body(k).name for k in range(1, model.nbody)):
        found.add(sysid.body_inertia_param(
            spec, model, body, sysid.InertiaType.Pseudo, stretch_bound_mult=STRETCH,
            modifier=lambda spec, p, body=body: write_inertia(spec, body, p),
        ))  # fmt: skip
    for joint in spec.joints:
        for name, start in START.items():
            found.add(sysid.Parameter(
                f"{joint.name}_{name}", start, *BOUNDS[name],
                modifier=lambda spec, p, joint=joint.name, name=name: write(spec, joint, name, p),
            ))  # fmt: skip
    return found


def write_inertia(spec: mujoco.MjSpec, body: str, parameter: sysid.Parameter) -> None:
    """Write a body's pseudo-inertia into the model.

    `sysid` makes the body's `iquat` no number, which the compiler of MuJoCo 4.0.0 takes for axes
    that were given: it then finds no inertia.
    """
    sysid.apply_body_inertia(spec, body, parameter)
    spec.body(body).iquat[:] = (1.0, 0.0, 0.0, 0.0)


def write(spec: mujoco.MjSpec, joint: str, name: str, parameter: sysid.Parameter) -> None:
    """Write a joint's parameter into the model."""
    if name == "offset":  # what the sensor shows beside what the motor does
        spec.actuator(joint).biasprm[0] = -parameter.value[0]
    elif name == "damping":
        spec.joint(joint).damping[0] = parameter.value[0]
    else:
        spec.joint(joint).frictionloss = parameter.value[0]


def windows(samples: Samples, spec: mujoco.MjSpec) -> list[sysid.SystemTrajectory]:
    """Return the windows of what is fitted."""
    model, split = spec.compile(), int(samples["split"])
    n = split // STRIDE * STRIDE
    t, q, v = (samples[name][:n:STRIDE] for name in ("t", "q", "v"))
    tau = samples["tau"][:n].reshape(len(t), STRIDE, -1).mean(axis=1)
    mapping = sysid.TimeSeries.compute_all_sensor_mapping(model)
    found = []
    for first in range(0, len(t) - WINDOW, WINDOW):
        own = slice(first, first + WINDOW)
        time = t[own] - t[first]
        found.append(sysid.SystemTrajectory(
            model, sysid.TimeSeries(time, tau[own]),
            sysid.TimeSeries(time, np.hstack([q[own], v[own]]), mapping),
            sysid.create_initial_state(model, q[first], v[first]), None,
        ))  # fmt: skip
    return found


def fitted(samples: Samples, spec: mujoco.MjSpec, clock: Clock) -> Any:
    """Return the parameters."""
    found, measured = unknowns(spec), windows(samples, spec)
    weights = np.ones(2 * len(spec.joints))

    def difference(params: Any, predicted: Any, measured: Any, *_: Any, **__: Any) -> Any:
        error = (predicted.data - measured.data[1:]) * weights
        return error, predicted, measured

    def residual(x: np.ndarray, params: Any) -> Any:
        error = sysid.model_residual(
            x, params, lambda p: sysid.apply_param_modifiers(p, spec), measured,
            modify_residual=difference, n_threads=1, resample_true=False,
        )[0]  # fmt: skip
        # windows of one candidate after the other: a column each is wanted of candidates
        columns = x.shape[1] if x.ndim > 1 else 1
        error = error.T.reshape(columns, -1).T
        return [error if x.ndim > 1 else error.ravel()], None, None

    for iterations in ITERATIONS:
        error = residual(found.as_vector(), found)[0][0].reshape(-1, len(weights)) / weights
        weights = 1.0 / np.sqrt((error**2).mean(axis=0))
        found, _ = sysid.optimize(
            found, residual, "scipy_parallel_fd", x_scale="jac", max_iters=iterations
        )
        clock.lap("optimizer")
    return found


def log(samples: Samples, clock: Clock) -> dict[str, Any]:
    """Return the torques that the model asks for where nothing was fitted."""
    spec = spec_of(str(samples["urdf"]), STRIDE * float(samples["t"][1] - samples["t"][0]))
    clock.lap("loading")
    model = sysid.apply_param_modifiers(fitted(samples, spec, clock), spec)
    data, unseen = mujoco.MjData(model), slice(int(samples["split"]), None)
    q, v, a = (samples[name][unseen] for name in ("q", "v", "a"))
    tau = np.empty_like(q)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        tau[k] = data.qfrc_inverse - model.actuator_biasprm[:, 0]
    return {"bodies": tau}


if __name__ == "__main__":
    answer({"log": log}, f"mujoco {mujoco.__version__}, numpy {np.__version__}")
