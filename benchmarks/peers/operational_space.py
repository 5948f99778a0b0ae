"""Operational-space control in tidy NumPy, for libraries that give matrices and no controller."""

from __future__ import annotations

import numpy as np


def log3(R):
    """Return the rotation vector of a rotation of less than half a turn."""
    twice = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = 0.5 * np.sqrt(twice @ twice)
    angle = np.arctan2(sine, 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0))
    return 0.5 * twice * (angle / sine if sine > 1e-9 else 1.0)


def cross(a, b):
    """Return ``a x b``, sooner than NumPy does."""
    (x, y, z), (p, q, r) = a.tolist(), b.tolist()
    return np.array([y * r - z * q, z * p - x * r, x * q - y * p])


def demand(gains, task, k, J, drift, position, rotation, v):
    """Return what the rows ``J a`` shall be: PD on the error, minus the drift."""
    error = np.empty(6)
    error[:3] = position - task["position"][k]
    error[3:] = log3(rotation @ task["rotation"][k].T)
    twist = J @ v
    rate = twist - task["velocity"][k]
    wanted = task["acceleration"][k] - gains["alpha"] * rate - gains["beta"] * error - drift
    if task["turning"]:  # the error is one that the frame sees
        wanted[3:] += cross(twist[3:], rate[3:])
    return wanted


def joint_acceleration(A, b, wish):
    """Return the acceleration nearest to a wish that meets ``A a = b``."""
    return wish + A.T @ np.linalg.solve(A @ A.T, b - A @ wish)


def gauss_torque(M, nle, A, b, u):
    """Return the torques next to ``u``, in the metric of ``M^-1``, that meet ``A a = b``."""
    answers = np.linalg.solve(M, np.column_stack([u - nle, A.T]))
    return u + A.T @ np.linalg.solve(A @ answers[:, 1:], b - A @ answers[:, 0])


def contact_motion(M, nle, B, A_p, b_p, A, b):
    """Return the least torques that meet ``A a = b`` while the contacts hold, and ``a``.

    The contacts' inertia matrix removes them from the equation of motion, the rest is least norm.
    """
    answers = np.linalg.solve(M, np.column_stack([-nle, B, A_p.T]))
    a, G, back = answers[:, 0], answers[:, 1 : 1 + B.shape[1]], answers[:, 1 + B.shape[1] :]
    inertia = A_p @ back
    push = np.linalg.solve(inertia, np.column_stack([b_p - A_p @ a, -A_p @ G]))
    a, G = a + back @ push[:, 0], G + back @ push[:, 1:]
    H = A @ G
    u = H.T @ np.linalg.solve(H @ H.T, b - A @ a)
    return u, a + G @ u
