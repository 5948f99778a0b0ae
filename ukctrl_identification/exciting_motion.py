r"""Exciting motions: those whose efforts tell most about a robot's parameters, within its limits.

Independent joints move by Fourier series from rest to rest; what is least is a criterion of the
covariance of the base parameters (Swevers et al. 1997; Gautier & Khalil, "Exciting trajectories for
the identification of base inertial parameters of robots", Int. J. Robotics Research 11, 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.control.safety import Inequality
from ukctrl.control.task import Task
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.arrays import Vector
from ukctrl.core.number_text import number
from ukctrl.mechanics.reference import HarmonicSum
from ukctrl.robot import Robot
from ukctrl_identification.base_parameters import excitation
from ukctrl_identification.design_options import DesignOptions
from ukctrl_identification.design_problem import DesignProblem
from ukctrl_identification.effort_information import EffortEquations
from ukctrl_identification.fourier_series import FourierSeries
from ukctrl_identification.independent_joints import IndependentJoints, States
from ukctrl_identification.motion_limits import MotionUsage


class ComparedMotion(NamedTuple):
    """What another motion within the same limits would tell."""

    name: str
    series: FourierSeries
    """Displacements from the start."""
    ratio: float
    """Its deviations beside those of the exciting motion, by the criterion; infinite where it does
    not tell all parameters."""
    deviations: Vector
    """Expected standard deviation of each base parameter, shape ``(b,)``."""


class ExcitingMotion(NamedTuple):
    """An exciting motion, and what it is good for."""

    joints: IndependentJoints
    series: FourierSeries
    """Their displacements from the start."""
    options: DesignOptions
    equations: EffortEquations
    """What it tells."""
    formulas: tuple[str, ...]
    """Each base parameter in parameters of links and joints."""
    deviations: Vector
    """Expected standard deviation of each from the samples of one period, shape ``(b,)``."""
    condition: float
    """Condition number of the columns at unit length, rows in units of their noise."""
    others: tuple[ComparedMotion, ...]
    """Motions by hand and at random."""
    usage: tuple[MotionUsage, ...]
    """How near it comes to each limit."""
    keep: tuple[Inequality, ...] = ()
    """What it keeps beside the limits of the robot."""

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.joints.robot

    def path(self, names: Sequence[str], begin: float = 0.0) -> HarmonicSum:
        """Return the reference of some of the independent joints.

        Args:
            names: The joints.
            begin: When the period begins [s].
        """
        at = [self.joints.names.index(name) for name in names]
        return self.series.part(at).path(self.joints.positions()[at], begin)

    def states(self, times: Vector) -> States:
        """Return the motion of all joints at growing instants from the start on [s]."""
        states = self.joints.along(self.series, times)
        assert states is not None
        return states

    def most_used(self) -> MotionUsage | None:
        """Return the limit of the robot that is used most; None where it has none."""
        parts = [one for one in self.usage if not one.unit]
        return max(parts, key=lambda one: one.used - one.allowed) if parts else None

    def sentence(self) -> str:
        """Return the motion in words."""
        hand, random = (number(one.ratio) for one in self.others)
        text = (
            f"one period of {self.series.period:.4g} s tells {len(self.formulas)} base parameters, "
            f"condition number {self.condition:.3g}; deviations of a motion by hand are {hand} "
            f"times as large, of a random one {random} times"
        )
        most = self.most_used()
        return text if most is None else f"{text}; most used: {most.limit}, {most.used:.0%}"


def exciting_motion(
    joints: IndependentJoints,
    options: DesignOptions,
    keep: Sequence[Inequality] = (),
    task: Task | None = None,
) -> ExcitingMotion:
    """Return the motion that tells most of a robot within its limits.

    Args:
        joints: The independent joints, at the start.
        options: What it shall be.
        keep: What it keeps at or above zero beside the robot's own limits.
        task: What that is bound to.

    Raises:
        InputError: There is no such motion.
    """
    with one_blas_thread():
        problem = DesignProblem(joints, options, keep, task)
        series, equations = problem.best(), problem.equations
        cost, R = problem.cost(series), equations.triangle(problem.along(series))
        ratios = [np.exp(problem.cost(one) - cost) for one in problem.drawn]
        # of an even number the worse of the two in the middle
        random = problem.drawn[int(np.argsort(ratios, kind="stable")[(len(ratios) - 1) // 2])]
        others = tuple(
            ComparedMotion(
                name, one, float(np.exp(problem.cost(one) - cost)),
                problem.deviations(equations.triangle(problem.along(one))),
            )
            for name, one in (("by hand", problem.by_hand), ("random", random))
        )  # fmt: skip
        return ExcitingMotion(
            joints, series, options, equations,
            tuple(equations.base.formulas(problem.regression.parameters)),
            problem.deviations(R), excitation(R).condition, others, problem.usage(series),
            tuple(keep),
        )  # fmt: skip
