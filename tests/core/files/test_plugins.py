"""Users' files run once, again when they have changed, and in every process that needs them."""

from __future__ import annotations

import sys

import pytest

from ukctrl import Scenario
from ukctrl.core.errors import InputError
from ukctrl.core.files.plugins import load_module, loaded_files, reload_files
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask
from ukctrl.studies.batch.task_runner import TaskRunner

LAW = """
from ukctrl.control import ComputedTorque
from ukctrl import spec


@spec
class Mine(ComputedTorque):
    'A law in a file of its own.'
"""


def test_a_file_runs_once_and_again_when_it_has_changed(tmp_path):
    path = tmp_path / "law.py"
    path.write_text("value = []\n", encoding="utf-8")
    first = load_module(path)
    assert load_module(path) is first
    path.write_text("value = [1]\n", encoding="utf-8")
    assert load_module(path).value == [1]
    assert first.value == []


def test_a_file_that_python_does_not_read_is_refused(tmp_path):
    path = tmp_path / "law.txt"
    path.write_text("value = 1", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_module(path)
    assert str(refused.value) == f"'{path}' must be a Python file ending in .py."
    path.unlink()
    with pytest.raises(InputError) as refused:
        load_module(path)
    assert str(refused.value) == f"no file '{path}'."


def test_another_process_can_run_the_files_that_this_one_has_run(tmp_path):
    path = tmp_path / "law.py"
    path.write_text("value = 3\n", encoding="utf-8")
    module = load_module(path)
    found = [entry for entry in loaded_files() if entry[1] == str(path)]
    assert found == [(module.__name__, str(path))]
    del sys.modules[module.__name__]
    reload_files(found)
    assert sys.modules[module.__name__].value == 3


@pytest.mark.slow
def test_a_law_of_a_users_file_runs_in_other_processes(tmp_path):
    (tmp_path / "law.py").write_text(LAW, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        "kind = './law.py:Mine'\nkp = 100.0\nkd = 20.0\n", encoding="utf-8"
    )
    changes = {"timing.duration": 0.2, "controller": {"use": str(tmp_path / "mine.toml")}}
    scenario = Scenario.load("scara-helix", changes, trust=True)
    outcomes: dict[int, RunSummary] = {}
    with TaskRunner(2) as crew:
        crew.run([SimulationTask(scenario=scenario, controller="mine")] * 2, outcomes.__setitem__)
    assert [run.status for run in outcomes.values()] == ["completed"] * 2
