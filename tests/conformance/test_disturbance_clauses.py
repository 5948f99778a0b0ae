"""Every clause for disturbance observers is broken by one made for it, which is told so."""

import numpy as np
import pytest

from ukctrl.analysis import conformance
from ukctrl.control import BoundObserver, DisturbanceObserver
from ukctrl.core.fields import Number, spec


class Sound(BoundObserver):
    """By velocity, in Python."""

    def begin(self, snapshot):
        return snapshot.v.copy()

    def acceleration(self, dynamics, memory):
        return 20.0 * (dynamics.snapshot.v - memory)

    def memory_rate(self, dynamics, memory, u):
        return dynamics.acceleration(u) + self.acceleration(dynamics, memory)


class Short(Sound):
    def acceleration(self, dynamics, memory):
        return super().acceleration(dynamics, memory)[:1]

    def memory_rate(self, dynamics, memory, u):
        return np.zeros(len(memory))


class Eager(Sound):
    def acceleration(self, dynamics, memory):
        return super().acceleration(dynamics, memory) + 1.0


class Blind(Sound):
    """It takes for a disturbance what the motors do."""

    def memory_rate(self, dynamics, memory, u):
        return dynamics.a_free + Sound.acceleration(self, dynamics, memory)


class Careless(Sound):
    def memory_rate(self, dynamics, memory, u):
        u *= 2.0
        return super().memory_rate(dynamics, memory, 0.5 * u)


class Forgetful(Sound):
    """It remembers what it was asked last, beside its memory."""

    def __init__(self):
        self.last = 0.0

    def acceleration(self, dynamics, memory):
        found = super().acceleration(dynamics, memory) + self.last
        self.last = 1e-3 * float(np.abs(memory).max())
        return found


@spec
class Observer(DisturbanceObserver):
    rate: Number = 1.0

    def attach(self, task):
        return Sound()


class Clocked(Sound):
    """It counts time in its memory, and takes for a disturbance what that is off."""

    def begin(self, snapshot):
        return np.append(snapshot.v, snapshot.t)

    def acceleration(self, dynamics, memory):
        s = dynamics.snapshot
        return Sound.acceleration(self, dynamics, memory[:-1]) + 1e3 * (s.t - memory[-1])

    def memory_rate(self, dynamics, memory, u):
        rate = dynamics.acceleration(u) + self.acceleration(dynamics, memory)
        return np.append(rate, 1.0)


def of(bound):
    """Return an observer that starts as this."""

    @spec
    class Broken(DisturbanceObserver):
        def attach(self, task):
            return bound()

    return Broken()


@spec
class Strange(Observer):
    def gains_for(self, terms):
        return {"pace": 1.0}


BROKEN = {
    "shapes": (of(Short), "the acceleration"),
    "finds_nothing_where_there_is_nothing": (of(Blind), "moves as believed"),
    "leaves_its_arguments_alone": (of(Careless), "'u' before and after"),
    "remembers_in_its_memory_alone": (of(Forgetful), "two estimates at one state"),
    "gives_gains_that_it_has": (Strange(), "pace"),
}


def test_a_sound_one_in_python_satisfies_them_all():
    conformance.DISTURBANCE.examine(Observer(), "sound").confirm()


def test_time_goes_on_where_a_robot_moves_as_believed():
    (clause,) = (one for one in conformance.DISTURBANCE if one.name.startswith("finds_nothing"))
    clause(of(Clocked))


def test_every_clause_is_broken_here():
    assert {clause.name for clause in conformance.DISTURBANCE} == {"record", *BROKEN}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_clause_is_told(name):
    observer, said = BROKEN[name]
    (clause,) = (one for one in conformance.DISTURBANCE if one.name == name)
    with pytest.raises(conformance.ClauseViolation, match=said):
        clause(observer)


def test_one_that_begins_with_an_estimate_is_told():
    (clause,) = (one for one in conformance.DISTURBANCE if one.name.startswith("finds_nothing"))
    with pytest.raises(conformance.ClauseViolation, match="begin with no estimate"):
        clause(of(Eager))
