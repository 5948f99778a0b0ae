"""A folder holds one run, and says so where it does not; nothing unfinished stays in it."""

from __future__ import annotations

import dataclasses as dc
import os
import shutil
import subprocess
import sys

import pytest

from ukctrl import Result, Scenario, compare, simulate, sweep, write_comparison
from ukctrl.cli import main
from ukctrl.core.errors import InputError
from ukctrl.reports.run_page import write_report
from ukctrl.simulation.result.atomic_files import UNFINISHED, write_atomically
from ukctrl.simulation.result.run_id import run_id_of_file

SHORT = {"timing.duration": 0.02}
DATA = ("result.nc", "summary.json", "scenario.toml")


@pytest.fixture(scope="module", name="results")
def _results():
    scenario = Scenario.load("scara-helix", SHORT)
    return simulate(scenario), simulate(scenario)


@pytest.mark.slow
def test_two_runs_of_one_scenario_have_two_ids_and_each_file_bears_its_own(results, tmp_path):
    borne = set()
    for k, result in enumerate(results):
        folder = result.save(tmp_path / str(k))
        write_report(result, folder)
        files = sorted(file for file in folder.iterdir() if file.suffix != ".nc")
        assert {file.suffix for file in files} == {".html", ".json", ".png", ".toml"}
        assert {run_id_of_file(file) for file in files} == {result.provenance["run_id"]}
        assert Result.load(folder).provenance == result.provenance
        borne.add(result.provenance["run_id"])
    assert len(borne) == 2


@pytest.mark.slow
@pytest.mark.parametrize("stale", DATA)
def test_files_of_two_runs_are_not_loaded_as_one(results, tmp_path, capsys, stale):
    one, other = (result.save(tmp_path / str(k)) for k, result in enumerate(results))
    shutil.copy(other / stale, one / stale)
    with pytest.raises(InputError, match="must hold the files of one run"):
        Result.load(one)
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(one)])
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert Result.load(one / "result.nc").identical(results[stale == "result.nc"])


def test_a_result_from_before_there_were_ids_is_loaded(results, tmp_path):
    kept = {key: value for key, value in results[0].provenance.items() if key != "run_id"}
    old = dc.replace(results[0], provenance=kept)
    assert Result.load(old.save(tmp_path)).identical(old)
    results[0].save(tmp_path / "new")
    shutil.copy(tmp_path / "summary.json", tmp_path / "new")
    with pytest.raises(InputError, match="of run none"):
        Result.load(tmp_path / "new")


@pytest.mark.slow
def test_an_id_that_is_none_is_not_written_into_a_page(results, tmp_path):
    sly = dc.replace(results[0], provenance={"run_id": "--><script>x</script>"})
    write_report(sly, tmp_path)
    assert "<script>x" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_of_an_earlier_run_goes_with_its_numbers(results, tmp_path):
    """As when a run is killed before its own page is written."""
    write_report(results[0], results[0].save(tmp_path))
    (tmp_path / "mine.png").write_bytes(b"not of a run")
    results[1].save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([*DATA, "mine.png"])


@pytest.mark.slow
def test_the_page_and_the_figures_of_a_comparison_bear_one_id(tmp_path):
    cards = ["servo-baumgarte", "computed-torque"]
    write_comparison(compare(Scenario.load("scara-helix", SHORT), cards), tmp_path)
    files = [file for file in tmp_path.iterdir() if file.suffix in (".html", ".png")]
    (one,) = {run_id_of_file(file) for file in files}
    assert len(files) > 2
    assert one


def test_what_a_killed_process_left_unfinished_goes_and_what_another_writes_stays(tmp_path):
    hold = (
        "import sys, time; from pathlib import Path\n"
        "from ukctrl.simulation.result.atomic_files import atomic_replace\n"
        "with atomic_replace(Path(sys.argv[1])): print(flush=True); time.sleep(60)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", hold, tmp_path / name], stdout=subprocess.PIPE)
        for name in ("dead.nc", "alive.nc")
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == b"\n"
        (alive,) = tmp_path.glob(f".alive.nc.*{UNFINISHED}")
        (dead,) = tmp_path.glob(f".dead.nc.*{UNFINISHED}")
        writers[0].kill()
        writers[0].wait()
        os.mkfifo(tmp_path / f".pipe{UNFINISHED}")  # does not block, wherever it is from
        assert dead.exists()
        write_atomically(tmp_path / "other.json", b"{}")
        assert sorted(os.listdir(tmp_path)) == sorted([alive.name, "other.json"])
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()


def test_a_journal_without_its_study_is_not_taken_for_that_of_another(tmp_path):
    alpha = "controller.feedback.alpha"
    sweep(Scenario.load("scara-helix", SHORT), [f"{alpha}=5:40:2"], folder=tmp_path)
    (tmp_path / "study.json").unlink()
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(InputError, match=r"a journal\.jsonl of other work"):
        sweep(Scenario.load("scara-helix", SHORT), [f"{alpha}=5:40:3"], folder=tmp_path)
    assert (tmp_path / "journal.jsonl").read_bytes() == before
