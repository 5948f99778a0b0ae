"""What every disturbance observer must do, on robots of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import (
    ClauseViolation,
    Suite,
    field_names,
    require,
    require_array,
    require_equal,
)
from ukctrl.analysis.conformance.situations import situations
from ukctrl.control.disturbance.disturbance_observer import BoundObserver, DisturbanceObserver
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, InputError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.dynamics import Dynamics

DISTURBANCE = Suite[DisturbanceObserver]("disturbance observer")
"""The clauses for disturbance observers."""
DISTURBANCE.record("A disturbance observer", lambda observer: observer)
STEP = 1e-5
"""How long the robot moves as believed [s]."""
ESTIMATE_RTOL = 0.01
"""What an observer may find then, of what it would find if the robot moved so by itself."""
ROUNDING = 1e-9
"""An acceleration of nothing, of that of the robot."""


class DisturbanceProbe(NamedTuple):
    """An observer, bound to a situation, at the state of its robot."""

    bound: BoundObserver
    dynamics: Dynamics
    memory: Vector
    """Of a start there."""
    u: Vector
    """Some input."""

    def estimate(self, memory: Vector) -> Vector:
        """Return the estimate at the present state, in an array of its own."""
        delta = np.array(self.bound.acceleration(self.dynamics, memory))
        return delta


def _probes(observer: DisturbanceObserver) -> Iterator[DisturbanceProbe]:
    """Yield the observer at states of each situation that it serves."""
    served, rng = False, np.random.default_rng(3)
    for situation in situations():
        try:
            bound = observer.attach(situation.task)
        except (GainError, InputError):
            continue  # limits of other motors, or for a control period alone
        served = True
        for dynamics in situation.states():
            memory = bound.begin(dynamics.snapshot).copy()
            yield DisturbanceProbe(
                bound, dynamics, memory, rng.uniform(-1.0, 1.0, dynamics.robot.nu)
            )
    if not served:
        raise ClauseViolation("it must serve some situation; it refuses all of them.")


@DISTURBANCE.clause
def shapes(observer: DisturbanceObserver) -> None:
    """The estimate is one finite number a velocity; the memory's rate has its shape."""
    for at in _probes(observer):
        require_array("the acceleration", at.estimate(at.memory), at.dynamics.robot.nv)
        rate = at.bound.memory_rate(at.dynamics, at.memory, at.u)
        require_array("the rate of the memory", rate, len(at.memory))


@DISTURBANCE.clause
def finds_nothing_where_there_is_nothing(observer: DisturbanceObserver) -> None:
    """It begins with no estimate, and a robot that moves as believed leaves it so."""
    for at in _probes(observer):
        d, s = at.dynamics, at.dynamics.snapshot
        a = d.acceleration(at.u).copy()
        estimate = max_abs(at.estimate(at.memory))
        tolerance = ROUNDING * (1.0 + max_abs(a) + max_abs(s.v))
        require(estimate <= tolerance, f"it must begin with no estimate; it finds {estimate:.1e}.")
        next_memory = at.memory + STEP * at.bound.memory_rate(d, at.memory, at.u)
        t, q, v = s.t, s.q.copy(), s.v.copy()
        next_q = d.robot.integrate(q, STEP * (v + 0.5 * STEP * a))
        d.move(t + STEP, np.ascontiguousarray(next_q), v + STEP * a)
        raw_estimate, residual = max_abs(at.estimate(at.memory)), max_abs(at.estimate(next_memory))
        d.move(t, q, v)
        require(
            residual <= ESTIMATE_RTOL * raw_estimate + tolerance,
            f"it must find nothing where the robot moves as believed; after {STEP:g} s it finds "
            f"{residual:.1e}, where {raw_estimate:.1e} would be the robot's own acceleration.",
        )


@DISTURBANCE.clause
def leaves_its_arguments_alone(observer: DisturbanceObserver) -> None:
    """Neither the memory, the input nor the robot are changed."""
    for at in _probes(observer):
        d, s = at.dynamics, at.dynamics.snapshot
        arrays = {"memory": at.memory, "u": at.u, "q": s.q, "v": s.v, "M": s.M, "nle": s.nle}
        arrays |= {"a_free": d.a_free, "G": d.G}
        copies = {name: array.copy() for name, array in arrays.items()}
        at.estimate(at.memory)
        at.bound.memory_rate(d, at.memory, at.u)
        at.bound.signals(d, at.memory)
        for name, array in arrays.items():
            require_equal(f"'{name}' before and after", array, copies[name])


@DISTURBANCE.clause
def remembers_in_its_memory_alone(observer: DisturbanceObserver) -> None:
    """The same state and memory give the same estimate, whatever was asked in between."""
    for at in _probes(observer):
        first = at.estimate(at.memory)
        at.estimate(at.memory + 1.0)
        at.bound.memory_rate(at.dynamics, at.memory + 1.0, 2.0 * at.u)
        require_equal("two estimates at one state", at.estimate(at.memory), first)


@DISTURBANCE.clause
def gives_gains_that_it_has(observer: DisturbanceObserver) -> None:
    """Gains for a settling time are its fields."""
    unknown = sorted(observer.gains_for(ErrorSpec(bandwidth=1.0)).keys() - field_names(observer))
    require(not unknown, f"gains_for must give its own fields; got {unknown}.")
