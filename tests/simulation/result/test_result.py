"""A result: what it takes, what it refuses, how it is read."""

from __future__ import annotations

import dataclasses as dc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from extras import needs

from ukctrl.core.errors import InputError, ShapeError, UnknownName
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import STATUSES, Result, SignalSeries

CONTRACT = {
    "q": ("time", "coordinate"),
    "v": ("time", "dof"),
    "a": ("time", "dof"),
    "u": ("time", "actuator"),
    "phi": ("time", "row"),
    "beta": ("time", "row"),
    "passive_phi": ("time", "passive_row"),
    "passive_beta": ("time", "passive_row"),
    "passive_force": ("time", "dof"),
    "energy": ("time",),
    "frame_position": ("time", "frame", "axis"),
}


@pytest.mark.slow
@needs("xarray")
def test_the_dataset_has_the_variables_and_dimensions_of_the_contract(helix):
    data = helix().data
    assert {name: data[name].dims for name in CONTRACT} == CONTRACT


@needs("xarray")
def test_every_variable_says_its_unit_and_what_it_is(humanoid):
    for variable in (*humanoid.data.data_vars.values(), humanoid.data["time"]):
        assert variable.attrs["units"]
        assert variable.attrs["long_name"]


@needs("xarray")
def test_mixed_units_stand_beside_the_names(helix):
    data = helix().data
    assert data["q"].attrs["units"] == "rad, m"
    assert data["coordinate_units"].values.tolist() == ["rad", "rad", "rad", "m"]
    assert data["u"].sel(actuator="u4").coords["actuator_units"].item() == "N"


@needs("xarray")
def test_units_follow_by_differentiation(helix):
    data = helix().data
    assert data["a"].attrs["units"] == "rad/s^2, m/s^2"
    assert data["beta"].attrs["units"] == "m/s, rad/s"
    assert data["passive_force"].attrs["units"] == "N m, N"
    assert data["reach"].attrs["units"] == "m/s^2, rad/s^2"


@needs("xarray")
def test_a_controllers_own_signals_stand_under_their_names(helix):
    data = helix().data
    assert data["alpha_hat"].attrs["long_name"] == "adapted gain"
    np.testing.assert_array_equal(data["sliding"].sel(sliding_component="y"), helix()["phi"][:, 1])


def test_without_xarray_the_dataset_says_what_to_install(helix, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError) as caught:
        helix().data  # noqa: B018
    assert str(caught.value) == (
        "Result.data needs xarray, which is not installed; pip install 'ukctrl[tables]'."
    )


def test_what_was_not_recorded_reads_as_nan_and_no_force(rows):
    result = rows([0.0, 1.0], [1.0, 2.0])
    assert result["passive_force"].shape == (2, 0)
    assert np.isnan(result["energy"]).all()
    with pytest.raises(UnknownName, match="no variable named 'rank'"):
        result["rank"]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_result_of_few_samples_is_readable(helix, n):
    result = helix(n)
    assert len(result.samples) == n
    assert len(result.summary()["metrics"]) == len(result.metrics)
    span = {0: "no samples", 1: "0 s in 1 samples", 2: "20 s in 2 samples"}[n]
    assert repr(result) == f"<Result 'scara-helix': completed, {span}>"


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_is_accepted(helix, status):
    assert helix(2, status=status).status == status


def test_an_unknown_status_is_refused_with_the_nearest_one(helix):
    with pytest.raises(UnknownName, match="no status named 'complete'; did you mean 'completed'"):
        helix(2, status="complete")


def test_an_array_of_the_wrong_shape_is_refused():
    labels = Labels(dofs=["a", "b"], dof_units=["rad/s", "rad/s"])
    with pytest.raises(ShapeError, match=r"v must have shape \(3, 2\); got \(3, 1\)"):
        Result.build(
            time=[0.0, 1.0, 2.0], samples={"v": [[0], [0], [0]]}, labels=labels, status="completed"
        )


def test_an_array_of_an_unknown_name_is_refused():
    with pytest.raises(UnknownName, match="no sampled quantity named 'fhi'; did you mean 'phi'"):
        Result.build(time=[], samples={"fhi": []}, labels=Labels(), status="completed")


@pytest.mark.parametrize("time", [[1.0, 0.0], [0.0, np.nan], [[0.0]]], ids=["back", "nan", "2-d"])
def test_time_must_run_forward(time):
    with pytest.raises(ShapeError, match="time must be a finite vector that never decreases"):
        Result.build(time=time, samples={}, labels=Labels(), status="completed")


def test_labels_must_agree_in_length():
    with pytest.raises(ShapeError, match="row_units must have one entry for each of the 2 rows"):
        Labels(rows=["a", "b"], row_units=["m"], row_blocks=["x", "x"])


@pytest.mark.parametrize("name", ["phi", "row_units", "time", "a/b", ""])
def test_a_signal_must_have_a_name_of_its_own(name):
    with pytest.raises(InputError) as caught:
        Result.build(
            time=[0.0],
            samples={},
            labels=Labels(),
            status="completed",
            signals={name: SignalSeries(values=[1.0])},
        )
    assert str(caught.value) == (
        f"a signal's name must be a word that no other variable has; got '{name}'. Rename the "
        "signal in the controller."
    )


def test_a_signal_must_have_a_value_for_every_sample():
    with pytest.raises(ShapeError, match=r"signal 'x' must have shape \(2,\) or \(2, k\)"):
        Result.build(
            time=[0.0, 1.0],
            samples={},
            labels=Labels(),
            status="completed",
            signals={"x": SignalSeries(values=[1.0])},
        )


def test_the_arrays_are_copies_that_nobody_can_change():
    time = np.array([0.0, 1.0])
    result = Result.build(time=time, samples={}, labels=Labels(), status="completed")
    time[:] = 7.0
    np.testing.assert_array_equal(result.time, [0.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        result.time[0] = 1.0


def test_equal_runs_are_identical_and_one_bit_is_enough_to_differ(helix):
    result, phi = helix(), helix()["phi"].copy()
    assert result.identical(helix())
    phi[7, 1] = np.nextafter(phi[7, 1], 1.0)
    arrays = {**result.samples.arrays, "phi": phi}
    changed = dc.replace(result, samples=dc.replace(result.samples, arrays=arrays))
    assert not result.identical(changed)
    assert not result.identical(helix(400))


def test_two_nans_of_the_same_bits_are_identical(humanoid):
    assert np.isnan(humanoid["phi"]).any()
    assert humanoid.identical(dc.replace(humanoid))


def test_time_stamps_do_not_make_runs_differ(helix):
    assert helix().identical(helix(provenance={"created": "later"}))


def test_the_names_come_from_the_provenance_and_else_from_the_scenario(helix):
    assert helix().names == {
        "scenario": "scara-helix",
        "robot": "scara",
        "controller": "servo-baumgarte",
    }
    bare = helix(2, provenance={}, scenario={"robot": "scara", "controller": {"kind": "lqr"}})
    assert bare.names == {"scenario": "", "robot": "scara", "controller": "lqr"}
    assert bare.title == "A run"


def test_what_no_file_can_hold_is_refused_with_its_place(helix):
    with pytest.raises(InputError, match=r"scenario\.servo\[1\]\.path must be made of text"):
        helix(2, scenario={"servo": [{}, {"path": object()}]})


def test_entries_without_a_value_are_left_out_and_arrays_become_lists(helix):
    scenario = {"a": None, "b": np.array([1.0, 2.0]), "c": Path("x"), "d": (1, np.float64(2.0))}
    kept = helix(2, scenario=scenario).scenario
    assert kept == {"b": [1.0, 2.0], "c": "x", "d": [1, 2.0]}


@pytest.mark.slow
def test_a_metric_costs_neither_xarray_nor_pandas(tmp_path):
    script = (
        "import sys\n"
        "from ukctrl.simulation.result.result import Labels, Result\n"
        "r = Result.build(time=[0, 1], samples={}, labels=Labels(), status='completed')\n"
        f"r.metric('effort'); r.save(r'{tmp_path}'); Result.load(r'{tmp_path}')\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not {"xarray", "pandas", "matplotlib", "sympy", "pinocchio"} & set(done.stdout.split())
