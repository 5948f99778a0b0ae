"""Observers of the catalogue satisfy every clause; each clause is broken by one made for it."""

import re
import typing

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.analysis import conformance
from ukctrl.core.fields import Text, spec
from ukctrl.simulation.observers import (
    AnyObserver,
    Filter,
    MeasurementUpdate,
    Observer,
    StateEstimate,
    TimedState,
)

ON = {name: Scenario.load(name) for name in ("scara-helix", "three-rrr", "quadrotor-hover")}
KINDS = {
    "differences": {},
    "luenberger": {"bandwidth": 100.0},
    "kalman": {"acceleration_std": 1.0},
    "ekf": {"acceleration_std": 1.0, "start_std": 1e-4},
    "ukf": {"acceleration_std": 1.0},
}
MADE = {typing.get_args(typing.get_type_hints(each)["kind"])[0]: each
        for each in typing.get_args(typing.get_args(AnyObserver)[0])}  # fmt: skip


def test_no_observer_of_the_catalogue_is_left_out():
    assert MADE.keys() == KINDS.keys()


@pytest.mark.slow(
    only=[
        "differences-three-rrr",
        "luenberger-three-rrr",
        "kalman-three-rrr",
        "ekf-three-rrr",
        "ukf-three-rrr",
    ]
)
@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("kind", KINDS)
def test_every_observer_conforms(kind, on):
    watched = conformance.ObserverCase(MADE[kind](**KINDS[kind]), ON[on])
    conformance.OBSERVER.examine(watched, kind).confirm()


class Sound(Filter):
    """Positions as they are read, and what speeds there were."""

    fault = "none"

    def __init__(self, motion):
        self.motion, self.asked = motion, 0

    def first(self, at):
        return StateEstimate(at, np.zeros((0, 0)))

    def predicted(self, before, t, u):
        (_, state, _), P = before
        match self.fault:
            case "writes":
                state.v[:] += 1e-3
            case "writes u":
                u *= 2.0
            case "drifts":
                state = state._replace(v=state.v + 1e-2)
            case "negative":
                P = -np.eye(self.motion.state_count)
            case "lopsided":
                P = np.eye(self.motion.state_count)
                P[0, 1] = 0.5
            case "small":
                P = np.eye(2)
        return StateEstimate(TimedState(t, state, u), P)

    def corrected(self, predicted, measurement, y):
        at = predicted.at
        v, S = at.state.v.copy(), np.zeros((0, 0))
        self.asked += 1
        match self.fault:
            case "short":
                v = v[1:]
            case "nan":
                v *= np.nan
            case "counts":
                v = v + 1e-9 * self.asked
            case "own luck":
                v = v + 1e-12 * np.random.default_rng().normal()
            case "wide":
                S = np.eye(1)
        state = at.state._replace(q=y[0].copy(), v=v)
        return MeasurementUpdate(StateEstimate(at._replace(state=state), predicted.P),
                         measurement.innovation(at, y), S)  # fmt: skip

    def gain_at(self, at, period, joints):
        n = len(self.motion.chart.A)
        K = np.eye(n, len(joints.names))
        return {"gain": K[1:], "gain of nan": K * np.nan}.get(self.fault, K)


@spec
class Watching(Observer):
    fault: Text = "none"

    def attach(self, motion, joints, start, period):
        made = Sound(motion)
        made.fault = self.fault
        return made


BROKEN = {
    "record": [(type("Loose", (Watching,), {"__setattr__": object.__setattr__})(), "frozen")],
    "answers_in_shape": [
        (Watching(fault="short"), "the velocity must have shape"),
        (Watching(fault="nan"), "the velocity must be finite"),
        (Watching(fault="small"), "P must have shape"),
        (Watching(fault="negative"), "P must not be negative; an eigenvalue is -1"),
        (Watching(fault="lopsided"), "P must be symmetric"),
        (Watching(fault="wide"), "S must have shape"),
    ],
    "leaves_its_arguments_alone": [
        (Watching(fault="writes"), "'given.*state.v'"),
        (Watching(fault="writes u"), "'given.0'"),
    ],
    "remembers_in_its_estimates_alone": [(Watching(fault="counts"), "from one estimate")],
    "begins_anew": [(Watching(fault="own luck"), "of two runs")],
    "stays_where_nothing_moves": [(Watching(fault="drifts"), "must stay at rest")],
    "answers_what_an_analysis_asks": [
        (Watching(fault="gain"), "it raised ValueError"),
        (Watching(fault="gain of nan"), "must be finite"),
    ],
    "runs": [(Watching(fault="nan"), "a short run diverged")],
}


def test_a_sound_one_in_python_satisfies_them_all():
    watched = conformance.ObserverCase(Watching(), ON["scara-helix"])
    conformance.OBSERVER.examine(watched, "sound").confirm()


def test_every_clause_is_broken_here():
    assert [clause.name for clause in conformance.OBSERVER] == list(BROKEN)


@pytest.mark.parametrize(
    ("name", "observer", "said"),
    [(name, *case) for name, cases in BROKEN.items() for case in cases],
    ids=str,
)
def test_what_breaks_a_clause_is_told(name, observer, said):
    found = conformance.OBSERVER.examine(
        conformance.ObserverCase(observer, ON["scara-helix"]), "it"
    )
    (finding,) = (each for each in found.findings if each.clause == name)
    assert not finding.ok
    assert re.search(said, finding.detail), finding.detail
