"""Base parameters by a script: Pinocchio's regressor sample by sample, one matrix, least squares.

Memory is allocated once and dependent columns never get there; they are found as usual, by a QR
factorisation of random motions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from protocol import Clock, Samples, answer

RANDOM = 200
"""Motions that tell which columns depend on others."""
DEPENDENT = 1e-8


def independent_columns(model: Any, data: Any) -> np.ndarray:
    """Return inertial parameters of which no other make up the column."""
    rng = np.random.default_rng(0)
    rows = np.vstack([
        pin.computeJointTorqueRegressor(model, data, pin.randomConfiguration(model), *va).copy()
        for va in rng.standard_normal((RANDOM, 2, model.nv))
    ])  # fmt: skip
    lengths = np.linalg.norm(rows, axis=0)
    diagonal = np.abs(np.diag(np.linalg.qr(rows / np.maximum(lengths, 1e-300), mode="r")))
    return np.flatnonzero((lengths > DEPENDENT * lengths.max()) & (diagonal > DEPENDENT))


def fit(samples: Samples, clock: Clock) -> dict[str, Any]:
    """Return which parameters are fitted, and the fit."""
    model = pin.buildModelFromUrdf(str(samples["urdf"]))
    data, nv = model.createData(), model.nv
    q, v, a, tau = (samples[name] for name in ("q", "v", "a", "tau"))
    base = independent_columns(model, data)
    b, n = len(base), len(q)
    clock.lap("columns")
    X = np.zeros((n * nv, b + 3 * nv))
    for k in range(n):
        regressor = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        X[k * nv : (k + 1) * nv, :b] = regressor[:, base]
    rows, joint = X.reshape(n, nv, -1), np.arange(nv)
    rows[:, joint, b + 3 * joint] = np.tanh(v / samples["scale"])
    rows[:, joint, b + 3 * joint + 1] = v
    rows[:, joint, b + 3 * joint + 2] = 1.0
    clock.lap("rows")
    values = np.linalg.lstsq(X, tau.ravel(), rcond=None)[0]
    clock.lap("solution")
    every = np.concatenate([base, 10 * nv + np.arange(3 * nv)])
    return {"independent": every, "values": values}


if __name__ == "__main__":
    answer({"fit": fit}, f"pin {pin.__version__}, numpy {np.__version__}")
