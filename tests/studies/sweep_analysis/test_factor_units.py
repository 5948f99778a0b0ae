"""The units that figures of a study give to its factors."""

import pytest
from pictures import heading

from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep import sweep
from ukctrl.studies.sweep_analysis.factor_units import factor_unit, with_unit
from ukctrl.studies.sweep_analysis.sample_figures import scatter_figure
from ukctrl.studies.sweep_analysis.sweep_analysis import SweepAnalysis


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("timing.control", "s"),
        ("controller.feedback.kp", "1/s^2"),
        ("bandwidth", "rad/s"),
        ("damping", ""),  # a plain number
        ("effect.noise.std", ""),  # of hinges and slides alike
        ("effect.0.std", ""),
        ("effect.input_delay.time", "s"),
        ("seed", ""),
        ("no.such.path", ""),
    ],
)
def test_a_factor_has_the_unit_of_its_field(path, unit):
    assert factor_unit(Scenario.load("scara-helix-bench"), path) == unit


def test_an_axis_of_a_factor_names_its_unit_and_one_without_has_none():
    assert with_unit("timing.control", "s") == "timing.control [s]"
    assert with_unit("seed", "") == "seed"


def test_a_study_that_was_swept_draws_its_factors_with_units():
    factors = ["timing.control=1e-3,2e-3", "seed=1,2"]
    brief = Scenario.load("scara-helix", {"timing.duration": 0.02})
    insight = SweepAnalysis.of(sweep(brief, factors))
    assert {axis.path: axis.unit for axis in insight.runs.axes} == {
        "timing.control": "s", "seed": "",
    }  # fmt: skip
    figure = scatter_figure("rms_phi", insight.unit, insight.merit, insight.runs.axes)
    assert [heading(axes) for axes in figure.axes] == ["timing.control [s]", "seed"]
