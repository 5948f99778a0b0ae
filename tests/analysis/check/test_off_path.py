"""The table of `check` knows the real start: its peaks are those of the run, the way back included.

A run records what its motors gave and how fast its joints moved, tick by tick.
"""

import numpy as np
import pytest

from ukctrl import Scenario, check, simulate

ARM = """
title = "A two-link arm, off its path"
robot = "two_link"
start = { q = { shoulder = "-40*deg", elbow = "70*deg" } }
timing = { duration = 3.0, control = 0.001, sample = 0.001 }
controller = { use = "servo-baumgarte" }

[[servo]]
kind = "point_follows"
frame = "tool"
axes = "xz"
path = { kind = "expression", components = ["0.6 + 0.1*cos(pi*t)", "0.1 + 0.1*sin(pi*t)"] }
"""
PEAKS = {"rtol": 0.02, "atol": 1e-6}
"""Knots of the way stand a few ticks apart, and the motion behind it is one under no hold."""


def peaks_of(scenario):
    """Return the largest use of each motor and joint, of the table and of the run."""
    found, result = check(scenario).motion.feasibility, simulate(scenario)
    used = found.law or found.inputs
    told = [abs(use.value) for use in (*used, *found.velocities)]
    dofs = [name for name in result.labels.dofs if name in {use.name for use in found.velocities}]
    moved = result["v"][:, [result.labels.dofs.index(name) for name in dofs]]
    return told, np.abs(np.hstack([result["u"], moved])).max(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"controller": {"use": "pd-gravity"}},
        {"controller": {"use": "computed-torque"}},
        {"controller.feedback.beta": 4000.0},
        {"controller": {"use": "servo-pid"}},
        {"start.q.elbow": 1.0, "start.v": {"elbow": -2.0}},
        {"believed.mass_scale": 0.8},
    ],
    ids=["baumgarte", "pd", "computed torque", "underdamped", "pid", "moving", "wrong belief"],
)
def test_peaks_from_a_start_off_the_path_are_those_of_the_run(changes):
    told, came = peaks_of(Scenario.from_toml(ARM).replace(changes))
    np.testing.assert_allclose(told, came, **PEAKS)
