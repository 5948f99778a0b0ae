"""What an exciting motion is searched among: series, limits, equations, motions to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.control.safety import Inequality
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl_identification.base_parameters import excitation
from ukctrl_identification.design_options import NOISE_SHARE, DesignOptions, by_joint
from ukctrl_identification.effort_information import (
    EffortEquations,
    criterion,
    free_states,
)
from ukctrl_identification.excitation_search import ExcitationSearch
from ukctrl_identification.fourier_series import FourierSeries, RestingSeries
from ukctrl_identification.independent_joints import IndependentJoints, States
from ukctrl_identification.motion_equations import structural_base
from ukctrl_identification.motion_limits import MotionLimits, MotionUsage
from ukctrl_identification.passive_motion import driven
from ukctrl_identification.regression import Regression

SAMPLES, FINER = 20, 10
"""Instants a period of the highest harmonic at which the search keeps limits at first, later at
twice as many; and by how much closer are those at which the motion is looked at afterwards."""
GUARD = 2e-3
"""What the search leaves of each limit, for what it misses."""
FRICTION_SHARE = 0.02
"""Of a joint's speed, within which its friction changes its sign, as the search sees it."""
SHRINK, MIN_SIZE = 0.9, 1e-3
"""Factors by which a motion is made smaller until it keeps its limits, and the smallest that is
tried."""
ROUNDS, OVERSHOOT, MAX_WIDER = 8, 1.2, 0.05
"""How often the search goes on with wider margins of limits that the motion misses between its
instants, by how much of what it misses they become wider, and by how much at most."""
MIN_STROKE, WIDE_STROKE = 0.01, 0.2
"""Parts of its reach that each joint must move by, to and fro, for a motion to be of use, and for
one that is advised."""
STARTS, CLOSED_STARTS, RANDOM = 4, 2, 9
"""From how many motions is searched, from how many of a closed chain, whose search takes far
longer; and how many random ones are compared with."""


@final
class DesignProblem:
    """The problem of one robot.

    Args:
        joints: Its independent joints.
        options: What the motion shall be.
        keep: What it keeps at or above zero.
        task: What that is bound to.

    Attributes:
        limits: What it keeps.
        regression: All columns.
        equations: What it is to tell.
        by_hand: A sine of its own frequency on each joint, as large as the limits allow.
        drawn: Random motions from rest to rest, likewise.

    Raises:
        InputError: The start does not keep the limits, or a name is wrong.
    """

    def __init__(
        self,
        joints: IndependentJoints,
        options: DesignOptions,
        keep: Sequence[Inequality],
        task: Task | None,
    ) -> None:
        self.joints, self.options, robot = joints, options, joints.robot
        travel = by_joint(options.travel, joints.names, np.inf, "range")
        self.limits = MotionLimits(joints, options.margin, travel, keep, task)
        self._space = RestingSeries.of(options.duration, options.harmonics)
        samples = SAMPLES * options.harmonics
        self._fine = np.linspace(0.0, options.duration, FINER * samples, endpoint=False)
        self._times = self._fine[:: FINER // 2]
        # what a joint can have at all: its limit, or its reach by a middle harmonic
        middle = np.pi * (options.harmonics + 1) / options.duration
        most = (1.0 - options.margin) * robot.velocity_limit[joints.dofs]
        self._speeds = np.minimum(most, middle * self.limits.reach())
        friction = np.full(robot.nv, FRICTION_SHARE * float(self._speeds.max()))
        friction[joints.dofs] = FRICTION_SHARE * self._speeds
        self.regression = Regression(robot, friction)
        noise = driven(robot).astype(float)
        drawn = self._random_series()
        probe = free_states(robot, self._reachable(drawn[0]), noise)
        rows = tuple(map(int, joints.dofs))  # whose positions tell those of all others
        base = structural_base(self.regression, probe._replace(rows=rows))
        self.equations = EffortEquations(self.regression, base, noise)
        self._require_start()
        self.by_hand = self._within(self._sines(), self._times)
        self.drawn = [self._within(one, self._times) for one in drawn]
        self.equations = EffortEquations(self.regression, base, self._noise())

    def best(self) -> FourierSeries:
        """Return the best motion that the search finds from that by hand and from random ones.

        Raises:
            InputError: It does not move the joints enough to tell anything.
        """
        starts = STARTS if self.joints.k == self.joints.robot.nv else CLOSED_STARTS
        near = self._within(self._space.series(self._space.coordinates(self.by_hand)), self._times)
        begins = [near, *self.drawn][: self.options.starts or starts]
        candidates = [self._refined(one) for one in begins]
        costs = [self.cost(one) for one in candidates]
        best = candidates[int(np.argmin(costs))]
        self._require_stroke(best)
        if not np.isfinite(min(costs)):
            raise InputError(
                "an exciting motion must tell all base parameters of robot "
                f"'{self.joints.robot.name}'; none that was tried within the limits does. Give it "
                "more range, harmonics or time."
            )
        return best

    def _refined(self, series: FourierSeries) -> FourierSeries:
        """Return what a search from a motion finds, with limits kept between its instants, too."""
        guard = np.full(len(self.limits.limits), GUARD)
        for k in range(ROUNDS):
            times = self._fine[::FINER] if k == 0 else self._times
            search = ExcitationSearch(
                self.equations, self.limits, self._space, self._speeds, times,
                self.options.criterion, guard,
            )  # fmt: skip
            series = search.best_near(series)
            states = self.joints.along(series, self._fine)
            if states is None:
                guard += GUARD
                continue
            slack = self.limits.whole_slack(states, self.equations.rows(states)[1]).min(axis=0)
            if slack.min() >= 0.0:
                return series
            guard += np.clip(-OVERSHOOT * slack, 0.0, MAX_WIDER)
        return self._within(series, self._fine)

    def along(self, series: FourierSeries) -> States:
        """Return a motion that keeps its limits."""
        states = self.joints.along(series, self._times)
        assert states is not None
        return states

    def cost(self, series: FourierSeries) -> float:
        """Return the logarithm of typical deviations; infinite where some are."""
        rows, _ = self.equations.rows(self.along(series))
        information = self.equations.information(rows)
        answer = criterion(information, self.equations.scale(), self.options.criterion)
        return np.inf if answer is None else answer[0]

    def deviations(self, R: Matrix) -> Vector:
        """Return the standard deviation of each base parameter from a log of one period.

        Args:
            R: Rows of a motion as `along` has it, shape ``(m, b)``.
        """
        seen = excitation(R)
        _, values, directions = np.linalg.svd(R / seen.scale)
        samples = self.options.duration / self.options.sample_period
        untold = (np.abs(seen.weak) > 1e-6).any(axis=0)
        with np.errstate(divide="ignore"):
            spread = np.sqrt(((directions / values[:, None]) ** 2).sum(axis=0)) / seen.scale
        return np.where(untold, np.inf, spread * np.sqrt(len(self._times) / samples))

    def usage(self, series: FourierSeries) -> tuple[MotionUsage, ...]:
        """Return how near the best motion comes to each limit."""
        states = self.joints.along(series, self._fine)
        assert states is not None
        return self.limits.usage(states, self.equations.rows(states)[1])

    def _random_series(self) -> list[FourierSeries]:
        rng = np.random.default_rng(self.options.seed)
        size = 2 * self.options.harmonics - 2, self.joints.k
        count = max(RANDOM, self.options.starts or 0)
        return [self._space.series(rng.normal(size=size) * self._speeds) for _ in range(count)]

    def _sines(self) -> FourierSeries:
        """Return a sine on each joint, of the first harmonics in turn."""
        H, k = self.options.harmonics, self.joints.k
        at = np.arange(k) % H
        fastest = self._speeds * self.options.duration / (2.0 * np.pi * (at + 1.0))
        sine = np.zeros((H, k))
        sine[at, np.arange(k)] = np.minimum(fastest, self.limits.reach())
        return FourierSeries(self.options.duration, np.zeros(k), np.zeros((H, k)), sine)

    def _reachable(self, series: FourierSeries) -> States:
        """Return a motion, made smaller until a closed chain can follow it."""
        size = 1.0
        while size > MIN_SIZE:
            states = self.joints.along(series.scaled(size), self._times)
            if states is not None:
                return states
            size *= SHRINK
        raise InputError(
            f"the start of robot '{self.joints.robot.name}' must let its independent joints move; "
            "passive constraints hold them there. Start elsewhere."
        )

    def _require_start(self) -> None:
        """Refuse a start that does not keep the limits at rest."""
        still = np.zeros((1, self.joints.k))
        states = self.joints.states(np.zeros(1), still, still, still)
        assert states is not None
        slack = self.limits.slack(states, self.equations.rows(states)[1])[0]
        worst = int(np.argmin(slack))
        if slack[worst] < 0.0:
            limit = self.limits.limits[worst]
            raise InputError(limit.refusal(float(slack[worst]), self.options.margin))

    def _within(self, series: FourierSeries, times: Vector) -> FourierSeries:
        """Return a motion, made smaller until it keeps all limits.

        Raises:
            InputError: Even a small one does not.
        """
        # joints that may move as they like keep their limits alone up to there
        room, fast = self.limits.reach(), self.joints.robot.velocity_limit[self.joints.dofs]
        peaks = (np.abs(series(times, order)).max(axis=0) for order in range(2))
        with np.errstate(divide="ignore"):
            ends = [limit / peak for limit, peak in zip((room, fast), peaks, strict=True)]
        size = min(1.0, float(np.min(ends)))
        while size > MIN_SIZE:
            states = self.joints.along(series.scaled(size), times)
            if states is not None:
                slack = self.limits.whole_slack(states, self.equations.rows(states)[1])
                if slack.min(initial=0.0) >= 0.0:
                    return series.scaled(size)
            size *= SHRINK
        raise InputError(
            f"an exciting motion of robot '{self.joints.robot.name}' must keep all limits with "
            "their margins; from this start not even a small one does. Start further from them, or "
            "give a longer duration."
        )

    def _noise(self) -> Vector:
        """Return the deviation of the efforts of joints at a sample, shape ``(nv,)``."""
        robot, pushed = self.joints.robot, driven(self.joints.robot)
        names = [name for name, has in zip(robot.dofs, pushed, strict=True) if has]
        B = np.abs(robot.snapshot(self.joints.start).B)
        has_limit = np.isfinite(robot.effort_limit)
        limit = B[:, has_limit] @ robot.effort_limit[has_limit]
        limit[B[:, ~has_limit].any(axis=1)] = np.inf
        if not np.isfinite(limit).all():
            u = self.equations.rows(self.along(self.by_hand))[1]
            limit = np.where(np.isfinite(limit), limit, B @ np.abs(u).max(axis=0))
        result = np.zeros(robot.nv)
        wanted = by_joint(self.options.noise, names, np.nan, "noise")
        result[pushed] = np.where(np.isfinite(wanted), wanted, NOISE_SHARE * limit[pushed])
        return result

    def _require_stroke(self, series: FourierSeries) -> None:
        """Refuse a motion that hardly moves a joint."""
        stroke, duration = np.ptp(series(self._fine), axis=0), self.options.duration
        share = stroke / self.limits.reach()
        worst = int(np.argmin(share))
        if share[worst] < MIN_STROKE:
            raise InputError(
                f"duration must be longer: within the limits, joint '{self.joints.names[worst]}' "
                f"moves by only {share[worst]:.1%} of its range in {duration:g} s, which tells "
                # motors bound accelerations, so that strokes grow with the square of the time
                f"next to nothing; try {duration * np.sqrt(WIDE_STROKE / share[worst]):.2g} s."
            )
