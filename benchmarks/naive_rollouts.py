"""What a user writes for many rollouts of a Panda: NumPy, SciPy, Pinocchio and a process pool.

The comparison partner of `rollouts.py`: the task of scenarios/panda-pose-sampled.toml. The law is
the formula of Udwadia and Kalaba with a posture in the null space, line by line; between
two ticks the robot is integrated by one step of RK4 with Pinocchio's own forward dynamics.
"""

import numpy as np
import pinocchio as pin
from scipy.linalg import pinv, sqrtm

TURN, SWING, AMPLITUDE = 2.0 * np.pi / 3.0, 2.0 * np.pi / 3.0, np.deg2rad(20.0)
ALPHA, BETA, KP, KD = 20.0, 100.0, 50.0, 10.0
DOWN = pin.rpy.rpyToMatrix(np.pi, 0.0, 0.0)


class NaivePanda:
    """A law that believes a file, and a robot whose masses are other ones."""

    def __init__(self, urdf: str, mass_scale) -> None:
        self.model = pin.buildModelFromUrdf(urdf)
        self.data = self.model.createData()
        self.tool = self.model.getFrameId("tool")
        self.plant = pin.buildModelFromUrdf(urdf)
        for joint, factor in enumerate(mass_scale, start=1):
            body = self.plant.inertias[joint]
            self.plant.inertias[joint] = pin.Inertia(
                factor * body.mass, body.lever, factor * body.inertia
            )
        self.plant_data = self.plant.createData()
        self.still = np.zeros(self.model.nv)

    def reference(self, t: float):
        """Return place, velocity and acceleration; orientation, its velocity and acceleration."""
        s, c = 0.15 * np.sin(TURN * t), 0.15 * np.cos(TURN * t)
        place = np.array([0.45, c, 0.4 + s])
        velocity = TURN * np.array([0.0, -s, c])
        acceleration = -(TURN**2) * np.array([0.0, c, s])
        angle = AMPLITUDE * np.sin(SWING * t)
        R = pin.rpy.rpyToMatrix(angle, 0.0, 0.0) @ DOWN
        omega = np.array([AMPLITUDE * SWING * np.cos(SWING * t), 0.0, 0.0])
        alpha = np.array([-(SWING**2) * angle, 0.0, 0.0])
        return place, velocity, acceleration, R, omega, alpha

    def torque(self, t: float, q, v, q_rest):
        """Return the torque, and how far the tool is off."""
        model, data = self.model, self.data
        pin.computeAllTerms(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, self.still)
        pin.updateFramePlacements(model, data)
        axes = pin.LOCAL_WORLD_ALIGNED
        J = pin.getFrameJacobian(model, data, self.tool, axes)
        drift = pin.getFrameClassicalAcceleration(model, data, self.tool, axes)
        twist, tool = J @ v, data.oMf[self.tool]
        p, p_dot, p_ddot, R_d, omega_d, alpha_d = self.reference(t)

        R = tool.rotation
        w = R.T @ (twist[3:] - omega_d)
        w_drift = R.T @ (drift.angular - alpha_d) - np.cross(R.T @ twist[3:], w)
        phi = np.concatenate([tool.translation - p, pin.log3(R_d.T @ R)])
        phi_dot = np.concatenate([twist[:3] - p_dot, w])
        A = np.vstack([J[:3], R.T @ J[3:]])
        b = -np.concatenate([drift.linear - p_ddot, w_drift]) - ALPHA * phi_dot - BETA * phi

        M, nle = data.M, data.nle
        u0 = KP * (q_rest - q) - KD * v + pin.computeGeneralizedGravity(model, data, q)
        a = np.linalg.solve(M, u0 - nle)
        M_half = np.real(sqrtm(M))
        return u0 + M_half @ pinv(A @ np.linalg.inv(M_half)) @ (b - A @ a), phi

    def rate(self, y, u):
        """Return the rate of ``(q, v)`` under a held torque."""
        n = self.plant.nv
        return np.concatenate([y[n:], pin.aba(self.plant, self.plant_data, y[:n], y[n:], u)])

    def run(self, q, v, duration: float, period: float, every: int):
        """Return q and u at every so many ticks, and the mean square error there."""
        y, kept, errors = np.concatenate([q, v]), [], []
        n = len(q)
        for k in range(round(duration / period)):
            u, phi = self.torque(k * period, y[:n], y[n:], q)
            if k % every == 0:
                kept.append(np.concatenate([y[:n], u]))
                errors.append(phi @ phi)
            k1 = self.rate(y, u)
            k2 = self.rate(y + 0.5 * period * k1, u)
            k3 = self.rate(y + 0.5 * period * k2, u)
            k4 = self.rate(y + period * k3, u)
            y = y + period / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return np.array(kept), float(np.mean(errors))


def rollout(task):
    """Run one sample; what a process pool maps over the samples."""
    urdf, seed, q, v, duration = task
    scale = np.random.default_rng(seed).uniform(0.9, 1.1, 7)
    return NaivePanda(urdf, scale).run(q, v, duration, 1e-3, 10)[1]
