"""Studies: what their samples are, and what is recorded of them."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.errors import InputError
from ukctrl.sweep import Factor, Levels, Log, Normal, Plan, Study, Uniform, Whole, sweep


@pytest.fixture(scope="module")
def helix():
    return Scenario.load("scara-helix", {"timing.duration": 0.05})


@pytest.mark.parametrize(
    ("text", "spread"),
    [
        ("k=1,2,5", Levels((1, 2, 5))),
        ("k=30*deg, 180*deg", Levels((np.pi / 6, np.pi))),
        ("k=chen,least_norm", Levels(("chen", "least_norm"))),
        ("k=[0, 1],[2, 3]", Levels(([0, 1], [2, 3]))),
        ("k=true,false", Levels((True, False))),
        ("k=1:10", Uniform(1.0, 10.0)),
        ("k=-90*deg:90*deg:5", Uniform(-np.pi / 2, np.pi / 2, 5)),
        ("k=log:1:100:3", Log(1.0, 100.0, 3)),
        ("k=whole:1:6", Whole(1, 6)),
        ("k=normal:10:0.5", Normal(10.0, 0.5)),
    ],
)
def test_a_factor_is_read_from_text(text, spread):
    factor = Factor.parse(text)
    assert factor == Factor("k", spread)
    assert Factor.from_dict(factor.to_dict()).to_dict() == factor.to_dict()


def test_a_study_on_disk_is_the_study_in_memory(helix, tmp_path):
    study = sweep(helix, ["start.spread=0,0.01", "start.t=0:1:2"], repeats=2, folder=tmp_path)
    assert study.finished
    assert list(study.table["start.t"]) == [0.0, 0.0, 1.0, 1.0] * 2
    assert Study.load(tmp_path).table.equals(study.table)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "journal.jsonl",
        "study.csv",
        "study.json",
        "study.parquet",
    ]


def test_a_sample_replayed_gives_the_same_numbers(helix):
    study = sweep(helix, ["start.spread=0.001:0.01"], n=3)
    again = simulate(study.scenario_of(2))
    assert again.metric("rms_phi") == study.table["rms_phi"][2]
    assert again.metric("effort") == study.table["effort"][2]


def test_a_folder_with_another_study_is_left_alone(helix, tmp_path):
    sweep(helix, ["start.t=0,1"], folder=tmp_path)
    with pytest.raises(InputError, match="holds a study already"):
        sweep(helix, ["start.t=0,1"], folder=tmp_path)
    with pytest.raises(InputError, match="holds another study"):
        sweep(helix, ["start.t=0,2"], folder=tmp_path, resume=True)


def test_saltelli_is_in_the_order_of_sobol_indices():
    factors = [Factor.parse("a=0:1"), Factor.parse("b=1:3"), Factor.parse("c=-1:1")]
    plan = Plan.of(factors, design="saltelli", n=4, seed=3)
    rows = np.array([list(plan.values(k).values()) for k in range(plan.count)], dtype=float)
    A, B, *mixed = rows.reshape(5, 4, 3)
    assert plan.count == 20
    for i, A_B in enumerate(mixed):
        expected = A.copy()
        expected[:, i] = B[:, i]
        np.testing.assert_array_equal(A_B, expected)
