"""What a study tries before it starts, what it records, and when it is gone on with."""

from __future__ import annotations

import dataclasses as dc
import importlib
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from extras import needs
from studies import ALPHA, BASE, assert_same, base_of, plan_of

import ukctrl.studies.sweep.dry_run as try_out
from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.core.files import catalog
from ukctrl.studies.batch.task import RetryPolicy
from ukctrl.studies.journal import SYNC_SECONDS, Journal
from ukctrl.studies.sweep import Factor, Levels, Study
from ukctrl.studies.sweep.sample_record import SampleRecord, read_samples
from ukctrl.studies.sweep.study import StudyDescription
from ukctrl.studies.sweep.study_table import rows_of, table_of, write_tables
from ukctrl.studies.sweep.sweep import prepare_folder

SWEEP = importlib.import_module("ukctrl.studies.sweep.sweep")


# Before a study starts


class Gathered:
    """A crew that begins samples here, or is stopped, or whose machine fails."""

    def __init__(self, going=True, fails=False):
        self.policy, self.going, self.fails = (
            RetryPolicy(in_processes=True, chunk_seconds=1.0),
            going,
            fails,
        )
        self.given = []

    def run(self, tasks, take, progress, *, care):
        self.given.append((care, progress))
        if self.fails:
            raise MachineFailure("gone")
        for k, task in enumerate(tasks):
            take(k, task(lambda fraction: None))
        return self.going


def test_samples_are_tried_where_they_will_run_and_not_for_ever():
    crew = Gathered()
    try_out.dry_run(base_of(f"{ALPHA}=1:9", n=4), crew, "progress")
    ((care, progress),) = crew.given
    assert (care, progress) == (RetryPolicy(in_processes=True, timeout=60.0), "progress")
    with pytest.raises(KeyboardInterrupt):
        try_out.dry_run(base_of(f"{ALPHA}=1:9", n=4), Gathered(going=False), None)
    try_out.dry_run(base_of(f"{ALPHA}=1:9", n=4), Gathered(fails=True), None)


def test_every_value_of_a_list_and_the_first_middle_and_last_sample_are_tried(monkeypatch):
    begun = []
    monkeypatch.setattr(try_out, "Loop", begun.append)
    base = base_of(f"{ALPHA}=1:9", "timing.sample=0.05,0.1", n=5, design="random")
    try_out.dry_run(base, Gathered(), None)
    expected = [base.plan.values(k)[ALPHA] for k in (0, 2, 4)]
    assert [one.controller.feedback.alpha for one in begun] == expected
    begun.clear()
    try_out.dry_run(base_of(f"{ALPHA}=1:9", n=1), Gathered(), None)
    assert len(begun) == 1


def test_one_sample_that_can_begin_is_enough(monkeypatch):
    def begin(scenario):
        if scenario.controller.feedback.alpha != good:
            raise InputError(f"not with {scenario.controller.feedback.alpha}")

    monkeypatch.setattr(try_out, "Loop", begin)
    base = base_of(f"{ALPHA}=1,2,3")
    good = 3.0
    try_out.dry_run(base, Gathered(), None)
    good = 7.0
    with pytest.raises(InputError, match=r"^not with 1\.0$"):  # the first says why
        try_out.dry_run(base, Gathered(), None)


def test_a_fault_of_ones_own_code_is_a_reason_and_one_of_the_machine_is_none(monkeypatch):
    def begin(scenario):
        raise error

    monkeypatch.setattr(try_out, "Loop", begin)
    error = ValueError("odd")
    with pytest.raises(InputError, match=r"^ValueError: odd$"):
        try_out.dry_run(base_of(f"{ALPHA}=1,2"), Gathered(), None)
    error = MemoryError("none")
    with pytest.raises(MemoryError):
        try_out.dry_run(base_of(f"{ALPHA}=1,2"), Gathered(), None)


def test_of_a_long_list_the_first_two_hundred_values_are_tried():
    values = ",".join(["1"] * 200)
    with pytest.raises(InputError, match="alpha"):
        try_out.dry_run(base_of(f"{ALPHA}={values[:-1]}-1,1"), Gathered(), None)
    try_out.dry_run(base_of(f"{ALPHA}={values},-1"), Gathered(), None)


# Records


ROWS = [
    SampleRecord(0, {"k": 1.5, "name": "x"}, 5, "completed", "", 0.5, {"rms_phi": 0.1 + 0.2}, "ok"),
    SampleRecord(2, {"k": 2.5, "name": [1, 2]}, 7, "diverged", "left", math.nan,
        {"work": math.inf, "rms_phi.b": -math.inf, "rms_phi.a": math.nan, "peak_phi.a": 2.0}),
]  # fmt: skip
FACTORS = (Factor.parse("k=1:3"), Factor("name", Levels(("x", [1, 2]))), Factor.parse("seed=5,7"))


def test_a_row_survives_its_line():
    for row in ROWS:
        again = SampleRecord.from_line(row.to_line())
        assert again._replace(metrics=0, reached=0) == row._replace(metrics=0, reached=0)
        np.testing.assert_array_equal(
            [again.reached, *again.metrics.values()], [row.reached, *row.metrics.values()]
        )
        assert list(again.metrics) == list(row.metrics)
    assert [row.completed for row in ROWS] == [True, False]
    line = json.loads(ROWS[1].to_line())
    assert line["reached"] is None
    assert line["metrics"] == {
        "work": "inf", "rms_phi.b": "-inf", "rms_phi.a": None, "peak_phi.a": 2.0,
    }  # fmt: skip


def test_a_table_has_a_column_for_everything_in_one_order(tmp_path):
    table = table_of(FACTORS, ROWS, 2)
    assert list(table) == [
        "sample", "k", "name", "seed", "status", "message", "reached", "verdict",
        "rms_phi", "work", "rms_phi.a", "peak_phi.a", "rms_phi.b",
    ]  # fmt: skip
    assert table["sample"].tolist() == [0, 2]
    assert table["name"].tolist() == ["x", "[1, 2]"]
    assert table["seed"].tolist() == [5, 7]
    assert [str(table[name].dtype) for name in ("sample", "k", "seed", "reached", "work")] == [
        "int64", "float64", "int64", "float64", "float64",
    ]  # fmt: skip
    np.testing.assert_array_equal(table["work"], [math.nan, math.inf])
    first, second = rows_of(FACTORS, table)
    assert first.metrics["rms_phi"] == 0.1 + 0.2
    assert (second.sample, second.seed, second.status, second.message) == (2, 7, "diverged", "left")
    assert second.values == {"k": 2.5, "name": "[1, 2]"}
    write_tables(tmp_path, table)
    lines = (tmp_path / "study.csv").read_text().splitlines()
    assert lines[1] == "0,1.5,x,5,completed,,0.5,ok,0.30000000000000004,,,,"
    assert lines[2] == '2,2.5,"[1, 2]",7,diverged,left,,,,inf,,2.0,-inf'


@needs("pyarrow")
def test_the_parquet_file_is_the_same_table(tmp_path):
    import pyarrow.parquet as pq

    table = table_of(FACTORS, ROWS, 2)
    write_tables(tmp_path, table)
    again = pq.read_table(tmp_path / "study.parquet")
    types = dict.fromkeys(table, "double") | {"sample": "int64", "seed": "int64"}
    types |= dict.fromkeys(("name", "status", "message", "verdict"), "string")
    assert {field.name: str(field.type) for field in again.schema} == types
    for name, column in table.items():
        whole = [None if x != x else x for x in column.tolist()]  # what is missing is null
        assert again[name].to_pylist() == whole


@needs("pandas")
def test_columns_are_a_table_of_pandas(tmp_path):
    study = Study(about=StudyDescription.of(BASE, plan_of(n=3)), columns=table_of(FACTORS, ROWS, 2))
    assert list(study.table) == list(study.columns)
    assert_same({name: study.table[name].to_numpy() for name in study.table}, study.columns)


def test_without_the_extra_a_study_is_whole_but_for_its_table(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    study = Study(about=StudyDescription.of(BASE, plan_of(n=3)), columns=table_of((), ROWS, 2))
    (tmp_path / "study.parquet").touch()  # of an earlier state of the study
    study.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "journal.jsonl", "study.csv", "study.json",
    }  # fmt: skip
    assert_same(Study.load(tmp_path).columns, study.columns)
    with pytest.raises(InputError) as caught:
        study.table  # noqa: B018
    assert str(caught.value) == (
        "Study.table needs pandas, which is not installed; pip install 'ukctrl[tables]'."
    )


def test_a_journal_holds_each_sample_once_in_the_order_of_numbers(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path, SampleRecord, "sweep", range(4)) as journal:
        journal.append(ROWS[1])
        journal.append(ROWS[0])
        journal.append(ROWS[0]._replace(seed=99))  # recorded already
        assert (len(journal), journal.missing()) == (2, [1, 3])
        assert [row.sample for row in journal.rows()] == [0, 2]
    with path.open("a") as file:
        file.write(ROWS[0]._replace(sample=4).to_line() + "\n")  # of a larger study
        file.write(ROWS[0]._replace(sample=-1).to_line() + "\n")
        file.write(ROWS[0]._replace(sample=2, seed=1).to_line() + "\n")
        file.write("{}\n")
    with Journal(path, SampleRecord, "sweep", range(4)) as journal:
        assert [row.seed for row in journal.rows()] == [5, 7]
        assert len(journal) == 2
    assert [(k, row.seed) for k, row in read_samples(path, 4).items()] == [(0, 5), (2, 7)]
    assert list(read_samples(path, 1)) == [0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"plan": plan_of("k=1:3", n=4)}, None),
        ({"plan": plan_of("k=1:3", n=8)}, None),
        ({"plan": plan_of("k=1:4", n=4)}, "factors.k.high was 3.0 and is 4.0"),
        (
            {"plan": plan_of("k=1:3:2")},
            "factors.k.count was None and is 2, design was 'sobol' and is 'grid', n was 4 and is 2",
        ),
        ({"plan": plan_of("k=1:3", n=4, seed=2)}, "seed was 1 and is 2"),
        ({"versions": {"numpy": "3"}}, "versions.numpy was '2' and is '3'"),
        ({"versions": {"numpy": "2", "scipy": "1"}}, "versions.scipy was not given and is '1'"),
        ({"scenario": {"a": [1, 2]}}, "b was 2 and is not given"),
        ({"scenario": {"a": [1, 5], "b": 2}}, "a.1 was 2 and is 5"),
        ({"files": {"x": "2"}}, "the file 'x' has changed"),
        ({"files": {"y": "2"}}, None),
        ({"base_file": Path("/elsewhere")}, None),
        (
            {"scenario": {"a": [3, 4], "b": 5}, "versions": {"numpy": "3"}},
            "a.0 was 1 and is 3, a.1 was 2 and is 4, b was 2 and is 5 (and 1 more)",
        ),
    ],
)
def test_only_the_same_study_is_gone_on_with(change, says, tmp_path):
    about = StudyDescription(
        scenario={"a": [1, 2], "b": 2}, plan=plan_of("k=1:3", n=4), versions={"numpy": "2"},
        files={"x": "1"},
    )  # fmt: skip
    prepare_folder(tmp_path, about, resume=False)
    before = (tmp_path / "study.json").read_text()
    with pytest.raises(InputError, match="holds a study already"):
        prepare_folder(tmp_path, about, resume=False)
    new = dc.replace(about, **change)
    if says is None:
        prepare_folder(tmp_path, new, resume=True)
        assert StudyDescription.read(tmp_path).to_dict() == json.loads(json.dumps(new.to_dict()))
        return
    with pytest.raises(InputError) as caught:
        prepare_folder(tmp_path, new, resume=True)
    assert str(caught.value) == (
        f"'{tmp_path}' holds another study: {says}. Repeat what it was begun with, or give another "
        "folder."
    )
    assert (tmp_path / "study.json").read_text() == before


def test_a_journal_of_other_work_is_left_alone(tmp_path):
    (tmp_path / "journal.jsonl").touch()
    about = StudyDescription(scenario={}, plan=plan_of("k=1:3", n=4), versions={})
    told = (
        f"'{tmp_path}' holds a journal.jsonl of other work, for there is no study.json beside it; "
        "give another folder."
    )
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        prepare_folder(tmp_path, about, resume=True)


def test_names_among_the_values_are_looked_up_beside_the_file(tmp_path):
    own, ours = tmp_path / "mine.toml", catalog.find("scenarios", "two-mass-spring")
    named, numbers = plan_of("controller.use=a,b"), plan_of("k=1:3", n=2)
    assert StudyDescription.of(BASE, named, own).base_file == own
    assert StudyDescription.of(BASE, named, ours).base_file is None
    assert StudyDescription.of(BASE, numbers, own).base_file is None
    assert StudyDescription.of(BASE, named).base_file is None


def test_what_a_study_says_of_itself():
    about = StudyDescription.of(BASE, plan_of("k=1:3", "m=1,2", n=2, repeats=2))
    study = Study(about=about, columns={"sample": np.arange(1)})
    assert repr(study) == "<Study of k, m: 1 of 4 samples>"
    assert (study.n, study.repeats, study.seed, study.design) == (2, 2, 1, "sobol")
    assert not study.finished
    alone = Study(about=StudyDescription.of(BASE, plan_of(n=3)), columns={"sample": np.arange(3)})
    assert repr(alone) == "<Study of the seed: 3 of 3 samples>"
    assert alone.finished


def test_a_journal_survives_a_power_failure_but_for_its_last_moments(tmp_path, monkeypatch):
    """It is forced to the disk every two seconds of writing, and at its end; a copy is not."""
    clock, synced = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr("os.fsync", lambda number: synced.append(clock[0]))
    with Journal(tmp_path / "journal.jsonl", SampleRecord, "test") as journal:
        for clock[0] in (0.0, SYNC_SECONDS, SYNC_SECONDS + 0.1, 3.0, 2.0 * SYNC_SECONDS + 0.2):
            journal.append(ROWS[0])
    assert synced == [SYNC_SECONDS + 0.1, 2.0 * SYNC_SECONDS + 0.2, 2.0 * SYNC_SECONDS + 0.2]
    journal.close()  # a second time: nothing is left to do
    assert len(synced) == 3
