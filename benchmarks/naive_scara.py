"""What a user writes today for the SCARA helix: NumPy, SciPy and Pinocchio, formula by formula.

The comparison partner of `scara_helix.py`. It is written with the care of a good student: each
line is one line of the paper (Xu & Liu 2017, eqs (47)-(54)), nothing is computed twice, and
only what the equation needs is asked of Pinocchio.
"""

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp
from scipy.linalg import pinv, sqrtm

OMEGA = 0.4 * np.pi


class NaiveScara:
    """Udwadia-Kalaba control of the SCARA robot, stabilised after Baumgarte."""

    def __init__(self, urdf: str, alpha: float, beta: float) -> None:
        self.model = pin.buildModelFromUrdf(urdf)
        self.data = self.model.createData()
        self.tool = self.model.getFrameId("tool")
        self.alpha, self.beta = alpha, beta

    def reference(self, t: float):
        s, c = np.sin(OMEGA * t), np.cos(OMEGA * t)
        r = np.array([0.05 * s, 0.35 + 0.05 * c, 0.02 * t])
        r_dot = np.array([0.05 * OMEGA * c, -0.05 * OMEGA * s, 0.02])
        r_ddot = np.array([-0.05 * OMEGA**2 * s, -0.05 * OMEGA**2 * c, 0.0])
        return r, r_dot, r_ddot

    def torque(self, t: float, q, v):
        """Return the torque; leaves M and nle in ``self.data``."""
        model, data = self.model, self.data
        pin.computeAllTerms(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        J = pin.getFrameJacobian(model, data, self.tool, pin.LOCAL_WORLD_ALIGNED)[:3]
        drift = pin.getFrameClassicalAcceleration(
            model, data, self.tool, pin.LOCAL_WORLD_ALIGNED
        ).linear
        r, r_dot, r_ddot = self.reference(t)

        A = np.vstack([J, [1.0, 1.0, 1.0, 0.0]])
        b = np.concatenate([r_ddot - drift, [0.0]])
        phi = np.concatenate([data.oMf[self.tool].translation - r, [q[0] + q[1] + q[2]]])
        phi_dot = A @ v - np.concatenate([r_dot, [0.0]])
        b = b - self.alpha * phi_dot - self.beta * phi

        M, Q = data.M, -data.nle
        M_half = np.real(sqrtm(M))
        return M_half @ pinv(A @ np.linalg.inv(M_half)) @ (b - A @ np.linalg.solve(M, Q))

    def rate(self, t: float, y):
        q, v = y[:4], y[4:]
        u = self.torque(t, q, v)
        return np.concatenate([v, np.linalg.solve(self.data.M, u - self.data.nle)])

    def simulate(self, q, v, times, rtol: float, atol: float):
        """Return q, v and u at the output times."""
        solution = solve_ivp(
            self.rate,
            (times[0], times[-1]),
            np.concatenate([q, v]),
            method="DOP853",
            t_eval=times,
            rtol=rtol,
            atol=atol,
        )
        q, v = solution.y[:4].T, solution.y[4:].T
        u = np.array([self.torque(t, *state) for t, *state in zip(times, q, v, strict=True)])
        return q, v, u
