r"""Baselines in task space: the classical laws whose formula is the servo controller's.

With one motor a freedom, $B = I$, the servo input in a metric $R$ is a law with a name of its own:
operational space is $R = M^{-1}$, resolved acceleration $R = M^{-2}$. They are built as that, so
that there is one formula; the tests compare them with the textbooks'.
"""

from __future__ import annotations

from typing import Literal

from ukctrl.control.allocation.input_metric import MetricName
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.allocation.null_space import AnyNullSpace, Damping, SelfMotion
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

    def _servo(self, metric: MetricName, null_space: AnyNullSpace | None) -> Servo:
        allocation = LeastNorm(metric=metric, null_space=null_space)
        return Servo(feedback=self.feedback(), allocation=allocation)


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
    null_space: AnyNullSpace | None = Damping(gain=1.0)
    r"""What $\tau_0$ is."""

    def start(self, task: Task) -> Law:
        return self._servo("gauss", self.null_space).start(task)


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
    null_space: AnyNullSpace | None = SelfMotion(kd=10.0)
    """What $a_0$ comes from; ``self_motion`` is Hsu's."""

    def start(self, task: Task) -> Law:
        return self._servo("resolved_acceleration", self.null_space).start(task)
