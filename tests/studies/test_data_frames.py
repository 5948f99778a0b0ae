"""Results and studies as DataFrames of pandas: the numbers that they hold, under their names."""

from __future__ import annotations

import csv
import io
import sys

import numpy as np
import pytest
from extras import needs

from ukctrl import Result, Scenario, compare, learn, simulate, sweep, tune
from ukctrl.core.errors import InputError
from ukctrl.simulation.result.column_files import csv_columns

SHORT = {"timing.duration": 0.3, "timing.control": 0.01}


@pytest.fixture(name="scenario", scope="module")
def _scenario():
    return Scenario.load("scara-helix", SHORT)


@pytest.fixture(name="everything", scope="module")
def _everything(scenario, tmp_path_factory):
    """One of each that has a table."""
    return {
        "Result": simulate(scenario),
        "Study": sweep(scenario, "believed.mass_scale=0.8,1.2"),
        "Comparison": compare(scenario, ["own", "servo-pid"]),
        "Tuned": tune(scenario, 4),
        "LearningResult": learn(scenario, folder=tmp_path_factory.mktemp("learn")),
    }


@needs("pandas")
def test_every_number_of_a_run_is_a_column_under_its_name(everything, tmp_path):
    result = everything["Result"]
    frame = result.to_pandas()
    np.testing.assert_array_equal(frame.index, result.time)
    assert frame.index.name == "time"
    names = {"q": "coordinates", "v": "dofs", "u": "actuators", "phi": "rows"}
    for quantity, attribute in names.items():
        for k, name in enumerate(getattr(result.labels, attribute)):
            np.testing.assert_array_equal(frame[f"{quantity}.{name}"], result[quantity][:, k])
    np.testing.assert_array_equal(frame["energy"], result["energy"])
    for k, axis in enumerate("xyz"):
        np.testing.assert_array_equal(
            frame[f"frame_position.{result.labels.frames[0]}.{axis}"],
            result["frame_position"][:, 0, k],
        )
    recorded = (*result.samples.arrays, *result.samples.signals)
    count = sum(int(np.prod(result[name].shape[1:])) for name in recorded)
    assert frame.shape == (len(result.time), count)
    assert Result.load(result.save(tmp_path)).to_pandas().equals(frame)


@needs("pandas")
def test_a_study_has_a_row_a_sample_and_a_comparison_one_a_run(everything):
    study, comparison = everything["Study"], everything["Comparison"]
    assert study.to_pandas()["believed.mass_scale"].tolist() == [0.8, 1.2]
    frame = comparison.to_pandas().set_index("controller")
    assert frame.index.tolist() == ["own", "servo-pid"]
    for name, run in comparison.results.items():
        assert frame.loc[name, "rms_phi"] == run.metric("rms_phi")
        assert frame.loc[name, "status"] == run.status


@needs("pandas")
def test_a_search_has_a_row_a_candidate_and_learning_one_a_trial(everything):
    tuned, learnt = everything["Tuned"], everything["LearningResult"]
    costs = [trial.cost for trial in tuned.tuning.trials]
    np.testing.assert_array_equal(tuned.to_pandas()["cost"], costs)
    text = next(csv.reader(io.StringIO(learnt.trials_csv())))
    frame = learnt.to_pandas()
    assert frame.columns.tolist() == text
    assert frame["learnt"].tolist() == list(range(len(frame)))


@pytest.mark.parametrize("name", ["Result", "Study", "Comparison", "Tuned", "LearningResult"])
def test_without_pandas_one_line_says_what_brings_it(name, everything, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    vars(everything[name]).pop("table", None)  # which a study makes once
    with pytest.raises(InputError, match=r"needs pandas, which is not installed; pip install 'ukc"):
        everything[name].to_pandas()


def test_a_table_of_text_has_numbers_where_all_are_and_nan_where_there_is_none():
    columns = csv_columns('a,b,"c,d"\n1.5,x,\ninf,"y,z",2\n')
    assert [*columns] == ["a", "b", "c,d"]
    np.testing.assert_array_equal(columns["a"], [1.5, np.inf])
    assert columns["b"].tolist() == ["x", "y,z"]
    np.testing.assert_array_equal(columns["c,d"], [np.nan, 2.0])
