"""Operational-space control in tidy NumPy, for libraries that give matrices and no controller."""

from __future__ import annotations

import numpy as np


def log3(R):
    """Return the rotation vector of a rotation of less than half a turn."""
    twice = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = 0.5 * np.sqrt(twice @ twice)
    angle = np.arctan2(sine, 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0))
    return 0.5 * twice * (angle / sine if sine > 1e-9 else 1.0)


def demand(gains, task, k, J, drift, position, rotation, v):
    """Return what the rows ``J a`` shall be: PD on the error, minus the drift."""
    error = np.empty(6)
    error[:3] = position - task["position"][k]
    error[3:] = log3(rotation @ task["rotation"][k].T)
    rate = J @ v - task["velocity"][k]
    return task["acceleration"][k] - gains["alpha"] * rate - gains["beta"] * error - drift


def references(task):
    """Return the references of a task as arrays."""
    made = {name: np.array(task[name]) for name in ("position", "velocity", "acceleration")}
    if "rotation" in task:
        made["rotation"] = np.array(task["rotation"]).reshape(-1, 3, 3)
    return made


def joint_acceleration(A, b, wish):
    """Return the acceleration nearest to a wish that meets ``A a = b``."""
    return wish + A.T @ np.linalg.solve(A @ A.T, b - A @ wish)


def contact_torque(M, nle, B, A_p, b_p, A, b):
    """Return the least torques that meet ``A a = b`` while the contacts hold.

    The contacts' inertia matrix removes them from the equation of motion, the rest is least norm.
    """
    answers = np.linalg.solve(M, np.column_stack([-nle, B, A_p.T]))
    a, G, back = answers[:, 0], answers[:, 1 : 1 + B.shape[1]], answers[:, 1 + B.shape[1] :]
    inertia = A_p @ back
    push = np.linalg.solve(inertia, np.column_stack([b_p - A_p @ a, -A_p @ G]))
    a, G = a + back @ push[:, 0], G + back @ push[:, 1:]
    H = A @ G
    return H.T @ np.linalg.solve(H @ H.T, b - A @ a)
