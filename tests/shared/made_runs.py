"""Results made by hand: no simulator takes part, so every number in them is known."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result, SignalSeries

AUDIT = [
    {"level": "note", "code": "visual", "subject": "scara.urdf", "message": "no visual is read."},
    {"level": "warning", "code": "effort", "subject": "q4", "message": "'q4' has no effort limit."},
]


def helix(n=401, *, error=0.02, status="completed", controller="servo-baumgarte", **extra):
    """Return a SCARA-like run whose tool error is a decaying oscillation of that size [m]."""
    t = np.linspace(0.0, 20.0, n)
    decay = error * np.exp(-0.25 * t)
    phi = np.stack([decay * np.cos(3 * t), decay * np.sin(3 * t), 0 * t, 0.4 * decay], axis=1)
    rate = np.stack([-0.25 * phi[:, k] for k in range(4)], axis=1)
    reference = np.stack([0.05 * np.sin(t), 0.35 + 0.05 * np.cos(t), 0.02 * t], axis=1)
    q = np.stack([0.3 * np.sin(t), -0.2 * np.cos(t), 0.1 * np.sin(t + 1), 0.02 * t], axis=1)
    v = np.stack([0.3 * np.cos(t), 0.2 * np.sin(t), 0.1 * np.cos(t + 1), 0.02 + 0 * t], axis=1)
    a = np.stack([-0.3 * np.sin(t), 0.2 * np.cos(t), -0.1 * np.sin(t + 1), 0 * t], axis=1)
    u = np.stack([0.3 * np.cos(t), 0.2 * np.sin(t), 0.1 * np.sin(t), 4.905 + 0 * t], axis=1)
    joints = ("q1", "q2", "q3", "q4")
    labels = Labels(
        coordinates=joints,
        coordinate_units=("rad", "rad", "rad", "m"),
        dofs=joints,
        dof_units=("rad/s", "rad/s", "rad/s", "m/s"),
        actuators=("u1", "u2", "u3", "u4"),
        actuator_units=("N m", "N m", "N m", "N"),
        effort_limit=(20.0, 20.0, np.inf, 10.0),
        rows=("tool.x", "tool.y", "tool.z", "tilt"),
        row_units=("m", "m", "m", "rad"),
        row_blocks=("tool", "tool", "tool", "tilt"),
        frames=("tool",),
    )
    samples = {
        "q": q,
        "v": v,
        "a": a,
        "u": u,
        "phi": phi,
        "beta": rate,
        "energy": 0.5 * np.sin(t) ** 2,
        "power": np.sin(t) * np.cos(t),
        "actuator_rate": v,
        "frame_position": (reference + phi[:, :3])[:, None],
        "frame_reference": reference[:, None],
        "reach": np.full(n, 1e-14),
        "rank": np.full(n, 4.0),
        "sigma_min": 0.1 + 0.05 * np.sin(t),
    }
    scenario = {
        "title": "SCARA tool follows a helix",
        "robot": "scara",
        "source": "Xu & Liu 2017",
        "start": {"q": {"q1": 0.5, "q4": 0.0}},
        "servo": [{"kind": "point_follows", "frame": "tool", "offset": [0.0, 0.1, 1e-9]}],
        "controller": {"name": controller, "feedback": {"kind": "baumgarte", "alpha": 0.5}},
        "timing": {"duration": 20.0, "sample": 0.01},
        "integrator": {"method": "DOP853", "rtol": 1e-9},
        "seed": 0,
    }
    provenance = {
        "scenario": "scara-helix",
        "robot": "scara",
        "controller": controller,
        "seed": 0,
        "versions": {"ukctrl": "0.1.0", "numpy": "2.4.6"},
        "timing": {"mean_tick_us": 8.25, "ticks": 31234, "wall_seconds": 1.9},
        "audit": AUDIT,
    }
    given = {
        "time": t,
        "samples": samples,
        "labels": labels,
        "status": status,
        "scenario": scenario,
        "provenance": provenance,
        "signals": {
            "alpha_hat": SignalSeries(
                values=1.0 + np.tanh(t), units="1/s", long_name="adapted gain"
            ),
            "sliding": SignalSeries(
                values=phi[:, :2], units="m", long_name="sliding variable", components=("x", "y")
            ),
        },
    }
    return Result.build(**{**given, **extra})


def rows(time, phi, *, beta=None, blocks=None, units=None, **samples):
    """Return a run that records nothing but its rows, and what is given besides."""
    phi = np.asarray(phi, dtype=float).reshape(len(time), -1)
    m = phi.shape[1]
    labels = Labels(
        rows=[f"row{i}" for i in range(m)],
        row_units=units or ["m"] * m,
        row_blocks=blocks or ["task"] * m,
    )
    samples = {"phi": phi, "beta": np.zeros_like(phi) if beta is None else beta, **samples}
    return Result.build(time=time, samples=samples, labels=labels, status="completed")


def motors(time, u, rate=None, limits=None):
    """Return a run that records nothing but its inputs."""
    u = np.asarray(u, dtype=float).reshape(len(time), -1)
    count = u.shape[1]
    labels = Labels(
        actuators=[f"u{i}" for i in range(count)],
        actuator_units=["N m"] * count,
        effort_limit=limits or [np.inf] * count,
    )
    samples = {"u": u}
    if rate is not None:
        samples["actuator_rate"] = np.asarray(rate, dtype=float).reshape(len(time), -1)
    return Result.build(time=time, samples=samples, labels=labels, status="completed")


def humanoid(n=301, joints=30, limit=40.0):
    """Return a floating-base run with many of everything: 36 freedoms, 5 frames, closures."""
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 6.0, n)
    nv, frames = joints + 6, ("left_foot", "right_foot", "a_hand_with_a_long_name", "_hand", "$x$")
    q = np.concatenate(
        [
            0.4 * t[:, None] * [1.0, 0.0, 0.1],
            np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)),
            np.sin(np.outer(t, rng.uniform(0.5, 3.0, joints))),
        ],
        axis=1,
    )
    v = np.cos(np.outer(t, rng.uniform(0.5, 3.0, nv)))
    u = np.clip(60.0 * np.sin(np.outer(t, rng.uniform(0.5, 3.0, joints))), -limit, limit)
    reference = rng.standard_normal((1, 5, 3)) + 0.4 * t[:, None, None]
    position = reference + 0.01 * np.exp(-t)[:, None, None]
    reference[:, 4] = np.nan
    phi = np.full((n, 17), np.nan)
    phi[:, :15] = (position - np.nan_to_num(reference)).reshape(n, 15)
    names = [f"joint_{i}" for i in range(joints)]
    labels = Labels(
        coordinates=[*(f"root_{x}" for x in ("x", "y", "z", "qx", "qy", "qz", "qw")), *names],
        coordinate_units=["m"] * 3 + ["1"] * 4 + ["rad"] * joints,
        dofs=[*(f"root_{x}" for x in ("vx", "vy", "vz", "wx", "wy", "wz")), *names],
        dof_units=["m/s"] * 3 + ["rad/s"] * (joints + 3),
        actuators=names,
        actuator_units=["N m"] * joints,
        effort_limit=[limit] * joints,
        rows=[f"row{i}" for i in range(17)],
        row_units=["m"] * 17,
        row_blocks=[name for name in frames for _ in range(3)] + ["roll"] * 2,
        passive_rows=("loop.x", "loop.y"),
        passive_row_units=("m", "m"),
        frames=frames,
    )
    lost = (t > 2.0) & (t < 2.6)
    samples = {
        "q": q,
        "v": v,
        "a": np.zeros((n, nv)),
        "u": u,
        "phi": phi,
        "beta": np.nan_to_num(phi),
        "passive_phi": 1e-7 * t[:, None] ** 2 * [1.0, 0.5],
        "passive_beta": 1e-7 * t[:, None] * [1.0, 0.5],
        "passive_force": np.sin(np.outer(t, np.arange(nv))),
        "energy": 100.0 + np.sin(t),
        "supplied_energy": np.sin(t) - 1e-5 * t,
        "frame_position": position,
        "frame_reference": reference,
        "rank": np.where(lost, 16.0, 17.0),
        "sigma_min": 0.001 + np.abs(t - 2.3),
        "reach": np.where(lost, 3e-2, 1e-13),
        "actuator_rate": v[:, 6:],
    }
    return Result.build(time=t, samples=samples, labels=labels, status="completed")


@pytest.fixture(name="helix", scope="session")
def _helix():
    return helix


@pytest.fixture(name="rows")
def _rows():
    return rows


@pytest.fixture(name="motors")
def _motors():
    return motors


@pytest.fixture(name="humanoid", scope="session")
def _humanoid():
    return humanoid()
