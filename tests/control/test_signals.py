"""What laws record beside their inputs: names, units and what a reader is told of each."""

from __future__ import annotations

import dataclasses as dc

import pytest

from ukctrl import Scenario
from ukctrl.control import AdaptiveRobust, Lyapunov, Servo
from ukctrl.simulation.assemble import Loop

MISS = "row acceleration missed"
PROMISED = {
    "surface_error": ("1", "error on the law's surface"),
    "surface_bound": ("1", "bound promised for it"),
    "position_error": ("1", "error of position level"),
    "position_bound": ("1", "bound promised for it"),
}
TOLD = {
    "acrobot-swing-up": {
        "mode": ("1", "mode: 0 swing-up, 1 balance"),
        "energy_error": ("J", "energy above that of the goal"),
        "lyapunov": ("J^2", "what the swing-up lowers"),
        "region_1": ("1", "measure for balance"),
    },
    "flexible-joint-arm-motor": {
        "motor_error": ("rad", "motors minus their plan"),
        "link_error": ("rad", "links minus their plan"),
    },
    "four-mass-chain": {
        "relative_degree": ("", "relative degree"),
        "internal_states": ("", "states left as internal dynamics"),
    },
    "panda-elastic": {
        "spring_torque": ("N m", "torque of the springs"),
        "wanted_torque": ("N m", "torque wanted of the springs"),
        "motor_error": ("rad", "motors minus where their springs give it"),
    },
    "panda-priorities": {
        "row_miss": ("1/s^2", MISS),
        "level_miss": ("1/s^2", "missed by the level"),
        "level_sigma": ("1", "smallest singular value left"),
    },
    "quadrotor-lemniscate": {
        "tilt_error": ("rad", "angle from the wanted thrust"),
        "binding": ("1", "limits: upper 1, lower -1"),
        "row_miss": ("1/s^2", MISS),
    },
    "scara-weak-motors": {
        "binding": ("1", "limits: upper 1, lower -1"),
        "row_miss": ("1/s^2", MISS),
        "task_scale": ("1", "share of the demand served"),
    },
    "stretched-arm": {
        "sigma": ("1", "smallest singular value"),
        "miss_bound": ("m/s^2", "bound of the miss"),
        "row_miss": ("m/s^2", MISS),
    },
}


def told(scenario):
    """Return units and words of what the law of a scenario records at the start."""
    loop = Loop(scenario)
    dynamics = loop.plant_at(loop.t0)
    dynamics.move(loop.t0, loop.state.q, loop.state.v)
    signals = loop.law.signals(dynamics, loop.law.memory)
    return {name: (one.units, one.long_name) for name, one in signals.items()}


@pytest.mark.slow(only=["flexible-joint-arm-motor", "four-mass-chain", "panda-elastic"])
@pytest.mark.parametrize("name", TOLD)
def test_a_law_says_what_it_records(name):
    assert told(Scenario.load(name)) == TOLD[name]


@pytest.mark.slow
def test_a_law_that_promises_a_bound_records_it_beside_the_error():
    helix = Scenario.load("scara-helix")
    adaptive = AdaptiveRobust(kappa=6.0, rate=9.0, growth=50.0, leak=0.7, epsilon=0.3)
    learnt = told(dc.replace(helix, controller=Servo(feedback=adaptive)))
    assert learnt == {"alpha_hat": ("", "estimate of the uncertainty's bound"), **PROMISED}
    tube = Servo(feedback=Lyapunov(kappa=6.0, rate=9.0, tube=1e-3))
    grip = ("1", "grip of the inputs on the row of V' = -w")
    assert told(dc.replace(helix, controller=tube)) == {"grip": grip, **PROMISED}
