r"""Inertial measurement of a moment, as the believed robot has it.

With the acceleration under the input that was held, $a = \bar a + G (u + w_u) + E w_a$,

$$ y_a = R^\top (J a + \dot J v - g) + b_a, \qquad y_\omega = R^\top \omega + b_\omega . $$

The pushes $w$ are what the model did not explain since the last tick. They move the robot and are
felt at once, so that noise of the model and of the reading hang together: a filter that feels them
has them in its state, drawn anew at every tick.
"""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.core.algebra import block_diagonal
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.mechanics.constraints.constraint import FrameProbe
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.mechanics.linearise.constraint_null_space import ConstraintNullSpace
from ukctrl.mechanics.linearise.directional_differences import DirectionalDifferences
from ukctrl.robot.snapshot import FrameMotion
from ukctrl.simulation.observers.estimates import TimedState
from ukctrl.simulation.observers.measurements import Measurement
from ukctrl.simulation.observers.motion_model import MotionModel
from ukctrl.simulation.observers.sensing_tables import ImuSensor


@compiled
def write_imu_reading(motion: FrameMotion, a: Vector, gravity: Vector, out: Vector) -> None:
    """Write specific force and rate of turn along a frame's own axes, shape ``(6,)``."""
    for i in range(3):
        out[i], out[3 + i] = 0.0, 0.0
        for k in range(3):
            moved = motion.drift[k] - gravity[k]
            for c in range(len(a)):
                moved += motion.J[k, c] * a[c]
            out[i] += motion.rotation[k, i] * moved
            out[3 + i] += motion.rotation[k, i] * motion.velocity[3 + k]


@final
class ImuMeasurement(Measurement):
    """Inertial measurement: specific force and rate of turn at a frame.

    Args:
        imu: The sensor.
        motion: The believed robot, which knows what else than its state is estimated.
        std: Standard deviations of the readings.
        biased: Which of them have a bias.
        first: Place of the sensor's first bias among all biases.
    """

    def __init__(
        self, imu: ImuSensor, motion: MotionModel, std: Vector, biased: Indices, first: int
    ) -> None:
        robot = motion.robot
        self._motion, self.std = motion, std
        self._dynamics = d = Dynamics(robot, motion.rank, StabilisationGains(0.0, 0.0))
        self._u, self._a, self._both = np.zeros(robot.nu), np.zeros(robot.nv), np.zeros(6)
        probe = FrameProbe(robot, imu.frame)
        self._J, self._R = probe.J, probe.R
        moved = BoundKernel(
            block_diagonal.apply_input_blockwise, d.ties, d.a_free, d.G, self._u, self._a
        )
        feel = BoundKernel(
            write_imu_reading, probe.motion, self._a, np.array(robot.gravity), self._both
        )
        steps = *d.steps.items, moved, probe.step(d.snapshot), feel
        self._steps = KernelSequence(steps)
        # nine digits do for a gain, at a third of the evaluations
        self._along = DirectionalDifferences(d.snapshot, steps, self._both, rough=True)
        triads = imu.parts()
        self._chosen = np.flatnonzero(np.repeat([name in triads for name in "aw"], 3))
        self._off: Matrix = np.eye(len(std))[:, biased]
        self._biases = slice(first, first + len(biased))
        self.names = tuple(f"{imu.frame}.{symbol}_{axis}" for symbol in triads for axis in "xyz")

    def _move(self, at: TimedState) -> None:
        s = self._dynamics.snapshot
        s.clock[0], s.q[:], s.v[:], self._u[:] = at.t, at.state.q, at.state.v, at.u
        self._steps()

    def _pushed(self) -> Matrix:
        """Return what each push adds to the readings, at the state that it was moved to."""
        d, pushes = self._dynamics, self._motion.process_noise_indices
        turned = self._R.T @ self._J[:3]
        through = np.eye(len(self._a))
        # of a push, passive constraints let through a part
        if len(d.passive):
            through = ConstraintNullSpace(
                d.L, d.passive.rows.A, d.rank.passive
            ).acceleration_projector()
        readings = np.zeros((6, len(self._a) + len(self._u)))
        readings[:3] = np.hstack([turned @ through, turned @ d.G])
        return readings[np.ix_(self._chosen, pushes)]

    def read(self, at: TimedState) -> Vector:
        """Return what it reads but for noise, shape ``(m,)``."""
        self._move(at)
        biases, pushes = np.split(at.state.memory, [self._motion.biases])
        read: Vector = self._both[self._chosen] + self._off @ biases[self._biases]
        return read + self._pushed() @ pushes if pushes.any() else read

    def innovation(self, at: TimedState, y: Vector) -> Vector:
        return y - self.read(at)

    def slopes(self, at: TimedState, full: Matrix) -> Matrix:
        self._move(at)
        state, biases, pushes = np.split(full, np.cumsum([2 * len(self._a), self._motion.biases]))
        pushed = self._pushed() @ pushes + self._off @ biases[self._biases]
        slopes: Matrix = self._along(state)[self._chosen] + pushed
        return slopes
