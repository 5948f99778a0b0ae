r"""Baselines in task space: the classical laws whose formula is the servo controller's.

With one motor a freedom, $B = I$, the servo input in a metric $R$ is a law with a name of its own:
operational space is $R = M^{-1}$, resolved acceleration $R = M^{-2}$. They are built as that, so
that there is one formula; the tests compare them with the textbooks'.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.input_metric import MetricName
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.allocation.null_space import AnyNullSpace, SelfMotion
from ukctrl.control.baselines.joint_space import SecondOrderGains
from ukctrl.control.controller import Controller, Law
from ukctrl.control.feedback.feedback import RateGain, StiffnessGain
from ukctrl.control.servo import Servo
from ukctrl.control.task import Task
from ukctrl.core.fields import spec


@spec
class TaskSpace(SecondOrderGains, Controller):
    """What the task-space baselines share."""

    kp: StiffnessGain
    """Gain of the task error, one number, one a row or one a block [1/s^2]."""
    kd: RateGain
    """Gain of its rate [1/s]."""

    null_space: AnyNullSpace | None = SelfMotion(kd=10.0)
    r"""What moves the robot where the task leaves it free: $\tau_0$, or $a_0$."""

    metric: ClassVar[MetricName]
    """Of the servo law that it is."""

    @property
    def row_allocation(self) -> Allocation:
        return self.row_law.allocation

    @property
    def row_law(self) -> Servo:
        allocation = LeastNorm(metric=self.metric, null_space=self.null_space)
        return Servo(feedback=self.feedback(), allocation=allocation)

    def start(self, task: Task) -> Law:
        return self.row_law.start(task)


@spec
class OperationalSpace(TaskSpace):
    r"""Operational-space control: $\tau = J^\top F + (I - J^\top \bar J^\top)\, \tau_0$.

    $$ F = \Lambda (\ddot x^* - \dot J v) + \bar J^\top \mathrm{nle}, \qquad
       \Lambda = (J M^{-1} J^\top)^{-1}, \qquad \bar J = M^{-1} J^\top \Lambda, $$

    with $\ddot x^* = \ddot x_r - k_d \dot e - k_p e$. The task is decoupled, and $\tau_0$ acts in
    its dynamically consistent null space. This is the servo controller in the metric ``gauss``.

    References:
        Khatib, "A unified approach for motion and force control of robot manipulators: the
        operational space formulation", IEEE J. Robot. Autom. 3(1), 1987.
    """

    kind: Literal["operational_space"] = "operational_space"
    metric: ClassVar[MetricName] = "gauss"


@spec
class ResolvedAcceleration(TaskSpace):
    r"""Resolved acceleration: $\tau = M \ddot q^* + \mathrm{nle} - f$.

    $$ \ddot q^* = J^+ (\ddot x^* - \dot J v) + (I - J^+ J)\, a_0, \qquad
       \ddot x^* = \ddot x_r - k_d \dot e - k_p e . $$

    Of all joint accelerations that serve the task, the nearest to $a_0$. This is the servo
    controller in the metric ``resolved_acceleration``.

    References:
        Luh, Walker & Paul, "Resolved-acceleration control of mechanical manipulators", IEEE
        Trans. Autom. Control 25(3), 1980; Hsu, Hauser & Sastry, J. Robot. Syst. 6(2), 1989.
    """

    kind: Literal["resolved_acceleration"] = "resolved_acceleration"
    metric: ClassVar[MetricName] = "resolved_acceleration"
