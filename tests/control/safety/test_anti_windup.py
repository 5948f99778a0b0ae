"""Laws with memory that are held at a limit: they must leave it with their task."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Command, Controller, Law, Scenario, simulate

SCENARIO = """
title = "a joint is kept from where its path leads, for a second"
robot = "two_link"
start.q = { shoulder = 0.4, elbow = 0.9 }
start.solve = true
timing = { duration = 4.0, control = 0.002, sample = 0.01 }
controller = { use = "lqi" }
[[servo]]
kind = "joint_follows"
joints = ["shoulder", "elbow"]
path = { kind = "min_jerk", points = [[0.4, 0.9], [1.1, 1.2], [0.4, 0.9]], duration = 2.0 }
[[keep]]
kind = "joint_limits"
joints = ["shoulder"]
upper = 0.7
deceleration = 20.0
"""
LAWS = {
    "lqi": {"use": "lqi"},
    "pid": {"use": "pid"},
    "adaptive": {"use": "slotine-li-adaptive"},
    "adaptive bound": {"use": "servo-adaptive-robust"},
    "integral sliding": {"use": "servo-integral-sliding"},
    "time delay": {"use": "time-delay"},
    "rows' integral": {"use": "servo-pid"},
    "momentum observer": {"use": "servo-momentum-observer"},
    "acceleration observer": {"use": "servo-acceleration-observer"},
    "modes": {
        "kind": "switching",
        "modes": [{"law": {"use": "lqi"}}, {"law": {"use": "lqr"}, "enter": 1e-9}],
    },
}


def left_at(result):
    """Return when the limit binds for the last time, and when the path is within it again."""
    binds = np.asarray(result["keep_binding"]).any(axis=1)
    shoulder = np.asarray(result["q"])[:, 0] - np.asarray(result["phi"])[:, 0]
    beyond = result.time[shoulder > 0.7]
    return result.time[binds].max(), beyond.max()


@pytest.mark.parametrize("name", LAWS)
def test_a_law_with_memory_leaves_a_limit_with_its_task(name):
    result = simulate(Scenario.from_toml(SCENARIO).replace({"controller": LAWS[name]}))
    assert result.status == "completed"
    last, back = left_at(result)
    assert np.asarray(result["keep_binding"]).any(axis=1).sum() > 50  # or the limit shows nothing
    # an adaptive bound forgets what it learnt on the way to the limit once it is free, by its leak
    assert last < back + (0.4 if name == "adaptive bound" else 0.1)
    assert np.abs(result["phi"][-1]).max() < 2e-3


@dc.dataclass(frozen=True)
class OwnPid(Controller):
    """Integrates the errors of its rows, and says or not what a limit does to that."""

    is_told: bool

    def start(self, task):
        return (OwnLaw if self.is_told else Forgetful)(task)


class Forgetful(Law):
    def __init__(self, task):
        super().__init__(task)
        self.memory = np.zeros(len(self.stack))

    def step(self, dynamics, memory):
        rows = self.stack.write(dynamics.snapshot)
        a = rows.b - 30.0 * rows.beta - 300.0 * rows.phi - 1000.0 * memory
        u = np.linalg.solve(dynamics.G, a - dynamics.a_free)
        return Command(u, rows.phi.copy())


class OwnLaw(Forgetful):
    def anti_windup(self, dynamics, loss, command):
        given_up = self.stack.rows.A @ loss
        return np.where(np.abs(given_up) > 1e-6, 0.0, command.memory_rate)


def test_a_law_of_ones_own_says_what_a_limit_does_to_its_memory():
    left = {}
    for is_told in (False, True):
        scenario = Scenario.from_toml(SCENARIO).replace({"controller": OwnPid(is_told)})
        result = simulate(scenario)
        assert result.status == "completed"
        left[is_told], back = left_at(result)
    assert left[True] < back + 0.1
    assert left[False] > back + 0.4
