"""A motion from a file: what is followed is what was recorded."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.core.errors import InputError
from ukctrl.simulation.export.export_controller import motion_table
from ukctrl.simulation.result.column_files import write_csv

HELIX = {"timing.duration": 0.4, "timing.sample": 0.002}


@pytest.fixture(scope="module", name="recorded")
def _recorded(tmp_path_factory):
    """A run, the file that export would write of it, and the scenario."""
    scenario = Scenario.load("scara-helix", HELIX)
    result = simulate(scenario)
    file = tmp_path_factory.mktemp("recorded") / "motion.csv"
    write_csv(motion_table(result), file)
    return scenario, result, file


def along(file, kind="feedforward"):
    return {"controller": {"kind": kind, "along": {"kind": "recorded", "file": str(file)}}}


def test_recorded_inputs_make_the_recorded_motion(recorded):
    scenario, original, file = recorded
    result = simulate(scenario.replace(along(file) | {"timing.control": 0.002}))
    # an input is held at its value in the middle of the tick: an error of second order
    np.testing.assert_allclose(result["q"], original["q"], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(result["q_planned"], original["q"], rtol=0.0, atol=1e-12)


def test_a_regulator_brings_the_robot_back_to_the_recorded_motion(recorded):
    scenario, original, file = recorded
    away = scenario.replace(along(file, "tvlqr") | {"start.q.q4": 0.01, "start.solve": False})
    away = away.replace({"controller.Q": {"q": 1e5, "v": 10.0}})
    result = simulate(away)
    error = np.abs(result["q"] - original["q"]).max(axis=1)
    assert error[0] == pytest.approx(0.01)
    assert error[-1] < 1e-3


def test_a_motion_may_start_where_it_was_recorded(recorded):
    scenario, original, file = recorded
    planned = scenario.replace(along(file) | {"start": {"planned": True}})
    np.testing.assert_allclose(simulate(planned)["q"][0], original["q"][0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: {k: v for k, v in table.items() if k != "u.u2"}, "no column named 'u.u2'"),
        (lambda table: {k: v[:100] for k, v in table.items()},
         "must last as long as the run, from 0 to 0.4 s; it lasts from 0 to 0.198 s"),
        (lambda table: table | {"time": table["time"] ** 1.1}, "time must have even steps; they"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused(change, words, recorded, tmp_path):
    scenario, original, _ = recorded
    write_csv(change(motion_table(original)), tmp_path / "bad.csv")
    with pytest.raises(InputError, match=words):
        simulate(scenario.replace(along(tmp_path / "bad.csv")))
