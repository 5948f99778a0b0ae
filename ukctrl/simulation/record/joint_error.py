"""Joint error: distance of the joints from where the servo constraints would have them."""

from __future__ import annotations

import contextlib

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import StartError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.mechanics.consistent_state import consistent_configuration
from ukctrl.mechanics.constraints import Stack
from ukctrl.simulation.result.samples import SignalSeries


def joint_error(servo: Stack, time: Vector, q: Matrix) -> dict[str, SignalSeries]:
    r"""Return how far each configuration is from the nearest one on the servo constraints.

    Newton's method from $q$ along the smallest motion gives $q_r$ with $\phi(q_r, t) = 0$; the
    error is $q \ominus q_r$, as ``joint_error`` [rad] and ``slide_error`` [m]. Where a task holds
    every freedom, $q_r$ is the theoretical motion. NaN where there is none within reach.
    """
    robot = servo.robot
    snapshot = robot.snapshot(robot.neutral)
    errors: Matrix = np.full((len(time), robot.nv), np.nan)
    for k, t in enumerate(time):
        # kernels take C-contiguous arrays
        q_k = np.ascontiguousarray(q[k])
        # one sample out of reach, or out of the domain of a formula, must not cost the others
        with contextlib.suppress(StartError, DomainError):
            errors[k] = robot.difference(
                consistent_configuration(servo, snapshot, q_k, float(t)), q_k
            )
    signals = {}
    for name, rate, words in (
        ("joint_error", "rad/s", "joint error"),
        ("slide_error", "m/s", "slide error"),
    ):
        at = [i for i, unit in enumerate(robot.dof_units) if unit == rate]
        if at:
            signals[name] = SignalSeries(
                values=errors[:, at],
                units=rate.removesuffix("/s"),
                long_name=words,
                components=tuple(robot.dofs[i] for i in at),
            )
    return signals
