"""A servo law for the links, and a position loop for the motors under it."""

from __future__ import annotations

from typing import Literal

from ukctrl.control.controller import Command, Law
from ukctrl.control.elastic.elastic_motors import serves_any
from ukctrl.control.elastic.links import ThroughSprings, ThroughSpringsLaw
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.fields import Rate, RateSquared, spec
from ukctrl.mechanics.dynamics import Dynamics


@spec
class ElasticCascade(ThroughSprings):
    r"""Two loops: the servo law says which torque the springs should have, the motors go there.

    $$ \theta^* = q + K^{-1} \tau^*, \qquad
       u = \tau^* + J (a^* - \alpha (\dot\theta - \dot q) - \beta (\theta - \theta^*))
         - f_\theta . $$

    $a^*$ and $\tau^*$ are the servo law's, of the links driven directly, and $f_\theta$ acts on the
    motors beside input and springs. The stretch $\delta = \theta - q$ then obeys

    $$ \ddot\delta + \alpha \dot\delta
       + \left(\beta + (M^{-1} + J^{-1}) K\right) (\delta - K^{-1} \tau^*) = 0 : $$

    the torque lags by about $\alpha / (\beta + (M^{-1} + J^{-1}) K)$, of the order of $1/K$, which
    is what the links' error is made of. The law is never differentiated, so that any feedback and
    any allocation will do.

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
        super().__init__(spec, spec.kind, serves_any, task)
        self._alpha, self._beta = spec.alpha, spec.beta

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s, inertia = dynamics.snapshot, self.joints.inertia
        wanted = self.links.wanted(s.t, s.q, s.v, memory)
        back = self._alpha * self.stretch_rate(dynamics)
        back += self._beta * self.motor_error(dynamics, wanted.torque)
        push = wanted.torque + inertia * (wanted.a - back) - self.other_force(dynamics)
        return Command(self.motors.input(s, push), wanted.memory_rate)
