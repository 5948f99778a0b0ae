"""The forces on the bar from the equations of Newton and Euler of each link, and nothing else.

They take a run of `coordinated_arms_grip`: its motion and its torques. No mass matrix, no
constraint and no multiplier is used, so that they check what the framework calls the reaction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.simulation.result.result import Result
from ukctrl_papers.servo.arms import BASE_DISTANCE, G0

SampleArray = NDArray[np.float64]
"""One number, or one vector of the plane, a sample."""
GRAVITY_VECTOR = np.array([0.0, -G0])
ABSOLUTE_ANGLES = np.array(
    [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 1, 0]],
    dtype=np.float64,
)
"""From the joints left1, left2, left3, right1, right2 to the paper's absolute angles."""


class RodMotion(NamedTuple):
    """A rod of length 1, mass 1 and moment 1, at every sample."""

    begin: SampleArray
    end: SampleArray
    end_acceleration: SampleArray
    centre: SampleArray
    acceleration: SampleArray
    """Of its centroid [m/s^2]."""
    angular_acceleration: SampleArray
    """Angular acceleration [rad/s^2]."""

    @staticmethod
    def from_start(
        begin: SampleArray,
        begin_acceleration: SampleArray,
        angle: SampleArray,
        rate: SampleArray,
        turning: SampleArray,
    ) -> RodMotion:
        """Return the rod that begins somewhere and points along an absolute angle."""
        along = np.stack((np.cos(angle), np.sin(angle)), axis=1)
        across = np.stack((-np.sin(angle), np.cos(angle)), axis=1)
        bend = across * turning[:, None] - along * (rate**2)[:, None]
        return RodMotion(
            begin,
            begin + along,
            begin_acceleration + bend,
            begin + along / 2,
            begin_acceleration + bend / 2,
            turning,
        )

    def moment(self, about: SampleArray) -> SampleArray:
        """Return the moment that other forces than gravity must have about a point [N m]."""
        return self.angular_acceleration + planar_cross(
            self.centre - about, self.acceleration - GRAVITY_VECTOR
        )


class BarForces(NamedTuple):
    """What the two arms do to the bar, in world axes."""

    bar: RodMotion
    left_force: SampleArray
    """Force of the left arm, shape (n, 2) [N]."""
    right_force: SampleArray
    """Force of the right arm [N]."""
    residual: float
    """How far they miss Newton's and Euler's equation of the bar, which they were not made of."""


def planar_cross(a: SampleArray, b: SampleArray) -> SampleArray:
    """Return the third component of the products of plane vectors."""
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def bar_forces(run: Result) -> BarForces:
    """Return the forces on the bar's ends; each arm gives its own, and the bar checks both."""
    angle, rate, turning = ((run[name] @ ABSOLUTE_ANGLES.T).T for name in ("q", "v", "a"))
    u = run["u"].T
    still = np.zeros((len(run.time), 2))
    one = RodMotion.from_start(still, still, angle[0], rate[0], turning[0])
    two = RodMotion.from_start(one.end, one.end_acceleration, angle[1], rate[1], turning[1])
    bar = RodMotion.from_start(two.end, two.end_acceleration, angle[2], rate[2], turning[2])
    base = still + np.array([BASE_DISTANCE, 0.0])
    five = RodMotion.from_start(base, still, angle[4] + np.pi, rate[4], turning[4])
    four = RodMotion.from_start(
        five.end, five.end_acceleration, angle[3] + np.pi, rate[3], turning[3]
    )
    left_force = -_tip_force(one, two, u[1] - u[2], u[0] - u[2])
    right = -_tip_force(five, four, u[4] - u[3], u[5] - u[3])
    newton = left_force + right + GRAVITY_VECTOR - bar.acceleration
    euler = (
        u[2]
        + u[3]
        + planar_cross(bar.begin - bar.centre, left_force)
        + planar_cross(bar.end - bar.centre, right)
    )
    worst = max(np.abs(newton).max(), np.abs(euler - bar.angular_acceleration).max())
    return BarForces(bar, left_force, right, float(worst))


def _tip_force(
    lower: RodMotion, upper: RodMotion, elbow: SampleArray, base: SampleArray
) -> SampleArray:
    """Return the force on an arm's tip.

    Moments of the upper link about the elbow, and of both links about the base: two equations.

    Args:
        lower: The link at the base.
        upper: The link at the tip.
        elbow: Torques on the upper link [N m].
        base: Torques on both links together.
    """
    arms = np.stack((upper.end - upper.begin, upper.end - lower.begin), axis=1)
    missing = np.stack(
        (
            upper.moment(upper.begin) - elbow,
            lower.moment(lower.begin) + upper.moment(lower.begin) - base,
        ),
        axis=1,
    )
    rows = np.stack((-arms[..., 1], arms[..., 0]), axis=2)
    return np.asarray(np.linalg.solve(rows, missing[..., None])[..., 0])
