"""What is saved is what is read, and nothing half-written is ever left behind."""

from __future__ import annotations

import json
import os
import tomllib

import h5netcdf
import numpy as np
import pytest
from extras import needs

from ukctrl.core.errors import InputError
from ukctrl.simulation.result import result_files
from ukctrl.simulation.result.atomic_files import toml_text
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result, SignalSeries


def refuse_constants(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("n", [0, 1, 2, 401])
def test_what_is_loaded_is_what_was_saved(helix, tmp_path, n):
    result = helix(n, message="all went well.")
    again = Result.load(result.save(tmp_path))
    assert result.identical(again)
    assert again.labels == result.labels
    assert again.message == "all went well."
    assert again.scenario == result.scenario
    assert again.provenance == result.provenance
    np.testing.assert_equal(again.metrics, result.metrics)
    assert again.samples.signals["sliding"].components == ("x", "y")


def test_a_result_of_everything_survives(humanoid, tmp_path):
    assert humanoid.identical(Result.load(humanoid.save(tmp_path)))


def test_a_result_of_nothing_survives(tmp_path):
    result = Result.build(time=[], samples={}, labels=Labels(), status="interrupted")
    assert result.identical(Result.load(result.save(tmp_path)))


@pytest.mark.slow
@needs("xarray")
@pytest.mark.parametrize("n", [0, 1, 401])
def test_the_file_opened_with_xarray_is_the_dataset(helix, tmp_path, n):
    import xarray as xr

    result = helix(n)
    result.save(tmp_path)
    with xr.open_dataset(tmp_path / "result.nc", engine="h5netcdf") as opened:
        xr.testing.assert_identical(opened.load(), result.data)


def test_the_netcdf_file_itself_can_be_named(helix, tmp_path):
    result = helix(5)
    assert result.identical(Result.load(result.save(tmp_path) / "result.nc"))


def test_the_summary_is_strict_json_of_the_contract(helix, tmp_path):
    helix(0, status="interrupted", message="stopped.").save(tmp_path)
    text = (tmp_path / "summary.json").read_text(encoding="utf-8")
    summary = json.loads(text, parse_constant=refuse_constants)
    assert list(summary) == [
        "scenario", "robot", "controller", "status", "message", "verdict", "verdict_reasons",
        "metrics", "provenance",
    ]  # fmt: skip
    assert summary["status"] == "interrupted"
    assert summary["metrics"]["rms_phi"] is None
    assert summary["metrics"]["mean_tick_us"] == 8.25


def test_the_scenario_file_holds_the_same_numbers(helix, tmp_path):
    result = helix(2)
    result.save(tmp_path)
    assert tomllib.loads((tmp_path / "scenario.toml").read_text("utf-8")) == result.scenario


@pytest.mark.slow
def test_a_scenario_larger_than_an_hdf5_attribute_used_to_allow_is_kept(helix, tmp_path):
    waypoints = [[0.1 * i, -1.0 / (i + 1)] for i in range(20_000)]
    result = helix(2, scenario={"waypoints": waypoints})
    assert Result.load(result.save(tmp_path)).scenario["waypoints"] == waypoints


def test_lists_of_numbers_stand_on_one_line_and_texts_stay_as_they_are():
    table = {
        "offset": [0.0, 1e-9],
        "points": [[1, 2], [3.5, 4]],
        "names": ["a", "b"],
        "text": "[\n    1,\n]",
        "mixed": [1, "[\n    2,\n]"],
    }
    text = toml_text(table)
    assert tomllib.loads(text) == table
    assert "offset = [0.0, 1e-09]" in text
    assert "    [1, 2],\n" in text


@pytest.mark.parametrize("text", ["Grüße, 世界 🤖", "a\0b", "tab\tand\nline", "\udc80"])
def test_any_text_can_be_saved(helix, tmp_path, text):
    labels = Labels(rows=[text], row_units=["m"], row_blocks=["task"])
    result = Result.build(
        time=[0.0],
        samples={"phi": [[1.0]]},
        labels=labels,
        status="completed",
        message=text,
        scenario={"title": text, "waypoint": {"name": text}},
        provenance={"note": text},
        signals={"x": SignalSeries(values=[1.0], long_name=text)},
    )
    again = Result.load(result.save(tmp_path))
    assert again.scenario == result.scenario
    assert again.message == result.message


def test_saving_again_replaces_what_was_there(helix, tmp_path):
    helix(5).save(tmp_path)
    helix(7).save(tmp_path)
    assert len(Result.load(tmp_path).samples) == 7
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "result.nc", "scenario.toml", "summary.json"
    ]  # fmt: skip


def test_a_save_that_fails_leaves_the_old_files_and_no_debris(helix, tmp_path, monkeypatch):
    old = helix(5)
    old.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(source, target, **folders):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"cannot write the result to .* No space left"):
        helix(7).save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_ctrl_c_while_saving_leaves_no_debris(helix, tmp_path, monkeypatch):
    def stop(source, target, **folders):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        helix(7).save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_are_as_readable_as_the_users_mask_allows(helix, tmp_path):
    before = os.umask(0o027)
    try:
        helix(2).save(tmp_path)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}


def test_a_file_in_the_place_of_the_folder_is_an_input_error(helix, tmp_path):
    place = tmp_path / "taken"
    place.write_text("I was here first")
    with pytest.raises(InputError, match="cannot write the result to"):
        helix(2).save(place)


def test_no_result_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no result at .* must be a folder with a result.nc"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"not HDF5", b"\x89HDF\r\n\x1a\n" + bytes(100)], ids=["empty", "text", "cut"]
)
def test_a_damaged_file_is_one_clear_line(tmp_path, content):
    (tmp_path / "result.nc").write_bytes(content)
    with pytest.raises(InputError, match=r"^'.*result\.nc' is not a readable result: .*\.$") as e:
        Result.load(tmp_path)
    assert "\n" not in str(e.value)


def test_a_file_cut_short_is_one_clear_line(helix, tmp_path):
    helix(401).save(tmp_path)
    file = tmp_path / "result.nc"
    file.write_bytes(file.read_bytes()[:20_000])
    with pytest.raises(InputError, match="is not a readable result"):
        Result.load(tmp_path)


OF_ANOTHER = (
    "the result must have ukctrl_format 1 or less; got {}. Read it with the version of ukctrl that "
    "wrote it."
)


def test_a_netcdf_file_of_another_program_is_refused(tmp_path):
    with h5netcdf.File(tmp_path / "result.nc", "w") as file:
        file.dimensions["t"] = 1
        file.create_variable("x", ("t",), data=[1.0])
    with pytest.raises(InputError) as caught:
        Result.load(tmp_path)
    assert str(caught.value) == OF_ANOTHER.format("none")


def test_a_file_of_a_later_version_is_refused(helix, tmp_path, monkeypatch):
    monkeypatch.setattr(result_files, "FORMAT", 2)
    helix(2).save(tmp_path)
    monkeypatch.setattr(result_files, "FORMAT", 1)
    with pytest.raises(InputError) as caught:
        Result.load(tmp_path)
    assert str(caught.value) == OF_ANOTHER.format("2")
