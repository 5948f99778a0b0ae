"""A servo law for the links, and a position loop for the motors under it."""

from __future__ import annotations

from typing import Literal

from ukctrl.control.base import Command, Law, Task
from ukctrl.control.elastic.links import ThroughSprings, ThroughSpringsLaw
from ukctrl.dynamics import Dynamics
from ukctrl.factor import Vector
from ukctrl.fields import Rate, RateSquared, spec
from ukctrl.robot import ElasticJoints


@spec
class ElasticCascade(ThroughSprings):
    r"""Two loops: the servo law says which torque the springs should have, the motors go there.

    $$ \theta^* = q + K^{-1} \tau^*, \qquad
       u = J \left(a^* - \alpha (\dot\theta - \dot q) - \beta (\theta - \theta^*)\right) - f_m . $$

    $a^*$ and $\tau^*$ are the servo law's, of the links driven directly, and $f_m$ is what acts on
    the motors beside the input: springs, friction. The stretch $\delta = \theta - q$ then obeys

    $$ \ddot\delta + \alpha \dot\delta + (\beta + M^{-1} K) (\delta - K^{-1} \tau^*) = 0 : $$

    the torque lags behind by about $\alpha / (\beta + K/M)$, which is what the links' error is
    made of. The law is never differentiated, so that any feedback and any allocation will do.

    References:
        De Luca & Book, "Robots with flexible elements", Springer Handbook of Robotics, 2016,
        section 11.1; Ott, "Cartesian impedance control of redundant and flexible-joint robots",
        Springer 2008.
    """

    kind: Literal["elastic_cascade"] = "elastic_cascade"
    alpha: Rate
    """Gain of the motors' rate against their links [1/s]."""
    beta: RateSquared
    """Gain of the motors' position error [1/s^2]."""

    def start(self, task: Task) -> Law:
        return _Cascade(self, task)


class _Cascade(ThroughSpringsLaw):
    def __init__(self, spec: ElasticCascade, task: Task) -> None:
        super().__init__(spec, spec.kind, _any, task)
        self._alpha, self._beta = spec.alpha, spec.beta

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s, joints = dynamics.snapshot, self.joints
        wanted = self.links.wanted(s.t, s.q, s.v, memory)
        back = self._alpha * self.stretch_rate(dynamics)
        back += self._beta * self.motor_error(dynamics, wanted.torque)
        push = joints.inertia * (wanted.a - back) - s.f[joints.motors]
        return Command(self.motors.input(s, push), wanted.memory_rate)


def _any(joints: ElasticJoints) -> str:
    return ""
