"""Controllers of two degrees of freedom: a motion worked out beforehand, and what holds to it."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, final

from ukctrl.control.controller import Command, Controller, Law, PlannedMotion
from ukctrl.control.planned.inversion import AnyInversion
from ukctrl.control.planned.inversion.inversion import Inversion
from ukctrl.control.planned.nominal_motion import Nominal, by_joint_motion, by_law
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Instance, Seconds, spec
from ukctrl.mechanics.dynamics import Dynamics

USUAL_STEP = 0.01
"""Time between the knots of a motion [s], unless something else says it."""


@spec
class Planned(Controller, abc.ABC):
    """What controllers share that follow a motion worked out before the run."""

    needs_grip: ClassVar[bool] = False

    along: AnyInversion | Annotated[Inversion | Controller, Instance()] | None = None
    """How the motion is worked out: an inversion, or a servo law whose own motion is followed;
    absent: inverse kinematics."""
    plan_step: Seconds | None = None
    """Time between the knots of that law's motion, or of inverse kinematics [s]; absent: 0.01. An
    inversion has its own."""

    @property
    def forgets_growth(self) -> bool:
        return self.along is not None and self.along.forgets_growth

    def plan(self, task: Task) -> Nominal:
        """Return the motion to follow.

        Raises:
            InputError: It cannot be worked out so.
            StartError: No state near the start keeps the rows.
        """
        step = USUAL_STEP if self.plan_step is None else self.plan_step
        if self.along is None:
            return by_joint_motion(task, step)
        if not isinstance(self.along, Inversion):
            return by_law(task, self.along, step)
        if self.plan_step is not None:
            raise InputError(
                "controller.plan_step is for the motion of a law, or of inverse kinematics; give "
                "the inversion its own, such as controller.along.step."
            )
        return self.along.solve(task)


class PlannedLaw(Law, abc.ABC):
    """A started law that follows a motion.

    Attributes:
        nominal: The motion.
    """

    def __init__(self, spec: Planned, task: Task) -> None:
        super().__init__(task)
        self.nominal = spec.plan(task)
        # A held input is that of the middle of its tick.
        self._ahead = 0.0 if task.period is None else 0.5 * task.period

    def planned_input(self, t: float) -> Vector:
        """Return the input to give from a time on, shape ``(nu,)``."""
        return self.nominal.input(t + self._ahead)

    @property
    def planned_motion(self) -> PlannedMotion:
        plan = self.nominal
        return PlannedMotion(plan.times, plan.q, plan.v, plan.input)

    def planned_state(self, t: float) -> tuple[Vector, Vector]:
        return self.nominal.state(t)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the input and the state that were planned."""
        robot, t = self.task.robot, dynamics.snapshot.t
        q, v = self.nominal.state(t)
        return {
            "u_planned": Signal(
                self.nominal.input(t), _common(robot.actuator_units), "input of the planned motion"
            ),
            "q_planned": Signal(
                q, _common(robot.coordinate_units), "planned configuration", robot.coordinates
            ),
            "v_planned": Signal(v, _common(robot.dof_units), "planned velocity", robot.dofs),
        }


def _common(units: Sequence[str]) -> str:
    return units[0] if len(set(units)) == 1 else ""


@spec
class Feedforward(Planned):
    r"""The input of a motion worked out before the run, and nothing else: $u = u^*(t)$.

    It shows what the inversion alone is worth. Nothing brings an error back: use ``tvlqr`` on a
    plant that is not known exactly, or does not forget its errors by itself.
    """

    kind: Literal["feedforward"] = "feedforward"

    def start(self, task: Task) -> Law:
        with one_blas_thread():
            return _Feedforward(self, task)


@final
class _Feedforward(PlannedLaw):
    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        return Command(self.planned_input(dynamics.snapshot.t), memory)
