"""A robustness map shows the border that theory gives, and two ways to sensitivity agree."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep import sweep
from ukctrl.studies.sweep_analysis import SweepAnalysis

ALPHA, BETA = "controller.feedback.alpha", "controller.feedback.beta"
PERIOD, TICKS = 0.1, 400
CLEAR = 0.01
"""How far the spectral radius of every point of the grid is from 1, at least."""
ROBOT = """
title = "A mass on a line, and a force on it"
[lagrangian]
coordinates = { x = "m" }
kinetic = "m/2*v.x**2"
parameters = { m = 2.0 }
inputs = { F = { x = 1.0 } }
"""
TASK = f"""
title = "A mass is brought to rest"
robot = "ROBOT"
start.q = [1.0]
[[servo]]
kind = "expression"
phi = "x"
unit = "m"
[controller]
use = "servo-baumgarte"
[timing]
duration = {PERIOD * TICKS}
control = {PERIOD}
sample = {PERIOD}
[integrator]
method = "RK4"
step = {PERIOD}
"""


@pytest.fixture(name="mass")
def _mass(tmp_path):
    """A mass that a force moves: a double integrator, under a law that is held between ticks."""
    home = tmp_path / "mass"
    home.mkdir()
    (home / "robot.toml").write_text(ROBOT)
    return Scenario.from_toml(TASK.replace("ROBOT", str(home / "robot.toml")))


def radius(alpha, beta):
    """Return the spectral radius of the held loop x'' = -alpha x' - beta x, tick by tick."""
    T = PERIOD
    held = np.array(
        [
            [1.0 - 0.5 * beta * T**2, T - 0.5 * alpha * T**2],
            [-beta * T, 1.0 - alpha * T],
        ]
    )
    return np.abs(np.linalg.eigvals(held)).max()


@pytest.mark.slow
def test_the_map_of_a_held_double_integrator_is_its_stability_region(mass):
    grid = {ALPHA: "2.3:23.3:8", BETA: "21:470:8"}
    study = sweep(mass, [f"{path}={values}" for path, values in grid.items()])
    found = SweepAnalysis.of(study, require={"final_phi": 1.0}).maps[0]
    assert (found.x.path, found.y.path) == (ALPHA, BETA)
    radii = np.array([[radius(a, b) for a in found.x.edges] for b in found.y.edges])
    assert np.abs(radii - 1.0).min() > CLEAR
    np.testing.assert_array_equal(found.share, radii < 1.0)
    # Jury's criterion gives the border in closed form: beta T < 2 alpha, and alpha T < 2.
    a, b = np.meshgrid(found.x.edges, found.y.edges)
    np.testing.assert_array_equal(found.share, (b * PERIOD < 2.0 * a) & (a * PERIOD < 2.0))
    assert 0.1 < found.share.mean() < 0.9


@pytest.mark.slow
def test_given_data_and_a_saltelli_design_agree_on_a_real_scenario():
    base = Scenario.load(
        "two-mass-spring",
        {
            "timing": {"duration": 1.0, "sample": 0.02},
            "start": {"q": (0.1, 1.15), "v": (0.3, 0.1)},
            "controller": {"use": "servo-baumgarte"},
            "integrator": {"method": "RK4", "step": 0.02},
        },
    )
    factors = ["start.q.1=1.12:1.2", f"{ALPHA}=5:15", "believed.parameters.m2=1.8:2.2"]
    sobol = sweep(base, factors, design="saltelli", n=128, jobs=None)
    given = sweep(base, factors, design="random", n=1000, jobs=None)
    ours, theirs = (SweepAnalysis.of(study).sensitivities["value"] for study in (given, sobol))
    assert (ours.method, theirs.method) == ("polynomial", "saltelli")
    for path, share in ours.first.items():
        other = theirs.first[path]
        assert share.low <= other.high
        assert other.low <= share.high


@pytest.mark.slow
@pytest.mark.parametrize("n", [16, 32])
def test_the_only_factor_of_a_run_without_chance_has_all_of_the_variance(n):
    """Means over ranges said 63 % of 32 samples, with an interval from 45 to 81 %."""
    base = Scenario.load("scara-helix", {"timing": {"duration": 0.2}})
    study = sweep(base, ["believed.mass_scale=0.7:1.3"], n=n, jobs=None)
    one = SweepAnalysis.of(study).sensitivities["value"]
    for shares in (one.first, one.total):
        share = shares["believed.mass_scale"]
        assert share.value > 0.95
        assert share.high == pytest.approx(1.0, abs=1e-9)
