"""A servo law for the links, and under it a quick loop for the motors on their springs."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ukctrl.control.controller import Command, Law
from ukctrl.control.elastic.elastic_motors import serves_any
from ukctrl.control.elastic.links import (
    ThroughSprings,
    ThroughSpringsLaw,
    Wanted,
    first,
    sampled,
    second,
)
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.fields import NonNegative, Rate, RateSquared, Seconds, spec
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


@spec
class ElasticSingularPerturbation(ThroughSprings):
    r"""A law for the slow motion, of a robot with rigid joints, and one for the fast, of springs.

    With stiff springs motors and links move as one robot of mass $M + J$, and the servo law's
    input to it is $\tau^* + J a^*$. The springs' own motion is quick, and a damping of the
    stretch $\delta = \theta - q$ makes it die out:

    $$ u = \tau^* + J a^* + K_f (\dot q - \dot\theta) - f, \qquad K_f = 2 \zeta \sqrt{K J} . $$

    The links then miss the servo law's motion by what the springs give way, of the order of
    $K^{-1/2}$ because $K_f$ grows with the stiffness. ``order = 1`` asks for the motion on which
    the stretch gives just the wanted torque, $\delta^* = K^{-1} \tau^*$:

    $$ u = \tau^* + J \left(a^* + K^{-1} \ddot\tau^*\right)
         + K_f \left(K^{-1} \dot\tau^* - \dot\delta\right) - f, $$

    with the derivatives along the servo law's own motion. The links that are on it stay on it,
    whatever the stiffness; the feedback must be twice differentiable.

    References:
        Spong, Khorasani & Kokotovic, "An integral manifold approach to the feedback control of
        flexible joint robots", IEEE J. Robot. Autom. 3(4), 1987.
    """

    kind: Literal["elastic_singular_perturbation"] = "elastic_singular_perturbation"
    zeta: NonNegative = 0.7
    r"""Damping ratio $\zeta$ of a motor on its spring, were the link held."""
    order: Literal[0, 1] = 0
    """Order of the correction for the springs that give way."""
    step: Seconds = 3e-3
    """Step of the differences along the motion, for ``order = 1`` [s]."""

    def start(self, task: Task) -> Law:
        return _Composite(self, task)


class _Composite(ThroughSpringsLaw):
    def __init__(self, spec: ElasticSingularPerturbation, task: Task) -> None:
        super().__init__(spec, spec.kind, serves_any, task)
        joints = self.joints
        self._damping = 2.0 * spec.zeta * np.sqrt(joints.stiffness * joints.inertia)
        self._corrected, self._h = spec.order == 1, spec.step

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s, joints, K = dynamics.snapshot, self.joints, self.joints.stiffness
        wanted = self.links.wanted(s.t, s.q, s.v, memory)
        push = wanted.torque + joints.inertia * wanted.a
        damped = -self.stretch_rate(dynamics)
        if self._corrected:
            rate, bend = self._torque_rates(dynamics, memory, wanted)
            push += joints.inertia * bend / K
            damped += rate / K
        push += self._damping * damped - self.other_force(dynamics)
        return Command(self.motors.input(s, push), wanted.memory_rate)

    def _torque_rates(
        self, dynamics: Dynamics, memory: Vector, wanted: Wanted
    ) -> tuple[Vector, Vector]:
        """Return the first and second derivative of the wanted torque, where it is obeyed."""
        links, h = self.links, self._h
        motion = links.motion(dynamics.snapshot, wanted.a, memory, wanted)
        jerk = first(sampled(lambda tau: links.wanted_after(motion, tau).a, h), h)
        motion = links.bent(motion, jerk, h)
        samples = sampled(lambda tau: links.wanted_after(motion, tau).torque, h)
        return first(samples, h), second(samples, wanted.torque, h)
