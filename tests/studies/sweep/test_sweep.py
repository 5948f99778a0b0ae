"""Studies: what their samples are, and what is recorded of them."""

from __future__ import annotations

import errno

import numpy as np
import pytest
from studies import assert_same, columns_of, rows

from ukctrl import Scenario, simulate
from ukctrl.core.errors import InputError
from ukctrl.studies.journal import Journal
from ukctrl.studies.sweep import (
    Factor,
    IntegerRange,
    Levels,
    Log,
    Normal,
    RetentionPolicy,
    SamplingPlan,
    Study,
    Uniform,
    sweep,
)
from ukctrl.studies.sweep.sample_record import SampleRecord


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
        ("k=whole:1:6", IntegerRange(1, 6)),
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
    assert list(study.columns["start.t"]) == [0.0, 0.0, 1.0, 1.0] * 2
    assert_same(Study.load(tmp_path).columns, study.columns)
    names = {"journal.jsonl", "study.csv", "study.json"}
    assert {path.name for path in tmp_path.iterdir()} - {"study.parquet"} == names


def test_a_sample_replayed_gives_the_same_numbers(helix):
    study = sweep(helix, ["start.spread=0.001:0.01"], n=3)
    again = simulate(study.scenario_of(2))
    assert again.metric("rms_phi") == study.columns["rms_phi"][2]
    assert again.metric("effort") == study.columns["effort"][2]


def test_a_folder_with_another_study_is_left_alone(helix, tmp_path):
    sweep(helix, ["start.t=0,1"], folder=tmp_path)
    with pytest.raises(InputError, match="holds a study already"):
        sweep(helix, ["start.t=0,1"], folder=tmp_path)
    with pytest.raises(InputError, match="holds another study"):
        sweep(helix, ["start.t=0,2"], folder=tmp_path, resume=True)


def test_saltelli_is_in_the_order_of_sobol_indices():
    factors = [Factor.parse("a=0:1"), Factor.parse("b=1:3"), Factor.parse("c=-1:1")]
    plan = SamplingPlan.of(factors, design="saltelli", n=4, seed=3)
    rows = np.array([list(plan.values(k).values()) for k in range(plan.count)], dtype=float)
    A, B, *mixed = rows.reshape(5, 4, 3)
    assert plan.count == 20
    for i, A_B in enumerate(mixed):
        expected = A.copy()
        expected[:, i] = B[:, i]
        np.testing.assert_array_equal(A_B, expected)


def row(sample, **changes):
    made = SampleRecord(sample, {"a": 1.0}, 5, "completed", "", 0.1, {"rms_phi": 0.1 * sample})
    return made._replace(**changes)


def sample_journal(path):
    return Journal(path, SampleRecord, "sweep", range(5))


def plan(*texts, **options):
    return SamplingPlan.of([Factor.parse(text) for text in texts], **options)


def test_without_a_design_lists_make_a_grid_and_ranges_a_sequence():
    assert plan("a=1,2", "b=0:1:3").design == "grid"
    assert plan("a=1,2", "b=0:1:3").count == 6
    assert plan("a=1,2", "b=0:1").design == "sobol"
    assert plan("a=1,2", n=5).design == "sobol"
    assert plan("a=0:1").n == 64
    assert plan(n=7).design == "random"


def test_the_last_factor_of_a_grid_varies_first():
    grid = plan("a=1,2", "b=x,y,z")
    assert [tuple(grid.values(k).values()) for k in range(4)] == [
        (1, "x"),
        (1, "y"),
        (1, "z"),
        (2, "x"),
    ]


@pytest.mark.parametrize("design", ["random", "sobol"])
def test_more_points_leave_the_first_as_they_are(design):
    few, many = (plan("a=0:1", "b=log:1:9", n=n, design=design, seed=4) for n in (5, 50))
    assert few.is_extended_by(many)
    assert not many.is_extended_by(few)
    for k in range(5):
        assert few.values(k) == many.values(k)
        assert few.seed_of(k) == many.seed_of(k)


def test_points_have_the_distributions_that_were_asked_for():
    from scipy.stats import kstest, loguniform, norm, uniform

    drawn = plan("a=2:3", "b=log:1:100", "c=normal:5:2", n=1000, design="random", seed=1)
    a, b, c = np.array([list(drawn.values(k).values()) for k in range(1000)]).T
    # A true hypothesis is rejected once in a thousand times; the seed is fixed.
    assert kstest(a, uniform(2.0, 1.0).cdf).pvalue > 1e-3
    assert kstest(b, loguniform(1.0, 100.0).cdf).pvalue > 1e-3
    assert kstest(c, norm(5.0, 2.0).cdf).pvalue > 1e-3
    whole = plan("d=whole:1:6", n=600, design="random")
    assert {whole.values(k)["d"] for k in range(600)} == set(range(1, 7))


def test_every_sample_has_a_seed_of_its_own_that_its_number_alone_decides():
    few, many = plan("a=1,2", repeats=3), plan("a=1,2,3,4", repeats=3)
    seeds = [many.seed_of(k) for k in range(many.count)]
    assert len(set(seeds)) == many.count
    assert [few.seed_of(k) for k in range(few.count)] == seeds[: few.count]
    assert plan("a=1,2", seed=1).seed_of(0) != seeds[0]
    assert plan("seed=7,8").seed_of(1) == 8


def test_another_card_comes_before_what_is_changed_in_it():
    changes = plan("controller.feedback.alpha=1,2", "controller.use=a,b").scenario_changes(0)
    assert list(changes).index("controller.use") < list(changes).index("controller.feedback.alpha")


def test_a_journal_keeps_every_bit(tmp_path):
    odd = row(3, message="a 'b'\t\u2028 \U0001f916", metrics={"x": 0.1 + 0.2, "y": -5e-324})
    rest = row(1, reached=float("nan"), metrics={"x": float("inf"), "y": float("nan")})
    with sample_journal(tmp_path / "j") as journal:
        journal.append(odd)
        journal.append(rest)
        journal.append(row(3, status="failed"))  # it is recorded already
        assert journal.missing() == [0, 2, 4]
        first, second = journal.rows()
    assert second == odd
    assert (first.sample, first.metrics["x"]) == (1, float("inf"))
    assert np.isnan([first.reached, first.metrics["y"]]).all()


def test_a_torn_or_spoilt_line_is_run_again_and_no_other(tmp_path):
    path = tmp_path / "j"
    with sample_journal(path) as journal:
        for sample in range(3):
            journal.append(row(sample))
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(whole[0] + bytes(40) + b"\n" + whole[2] + whole[1][:20])
    with sample_journal(path) as journal:
        assert journal.missing() == [1, 3, 4]
        journal.append(row(1))
        assert [each.sample for each in journal.rows()] == [0, 1, 2]
    assert path.read_bytes().endswith(whole[2] + whole[1])


def test_two_sweeps_do_not_write_into_one_folder(tmp_path):
    with (
        sample_journal(tmp_path / "j"),
        pytest.raises(InputError, match="another sweep is writing to"),
    ):
        sample_journal(tmp_path / "j")


def test_another_study_is_told_by_what_differs(helix, tmp_path):
    begun = {"folder": tmp_path, "design": "random"}
    sweep(helix, ["start.t=0:1"], n=2, **begun)
    with pytest.raises(InputError, match=r"factors\.start\.t\.high was 1\.0 and is 2\.0\. Repeat"):
        sweep(helix, ["start.t=0:2"], n=2, resume=True, **begun)
    other = helix.replace({"timing.sample": 0.02})
    with pytest.raises(InputError, match=r"timing\.sample was 0\.01 and is 0\.02"):
        sweep(other, ["start.t=0:1"], n=2, resume=True, **begun)
    with pytest.raises(InputError, match="n was 2 and is 1"):
        sweep(helix, ["start.t=0:1"], n=1, resume=True, **begun)


def test_a_study_whose_robot_or_law_has_changed_is_not_gone_on_with(tmp_path):
    (tmp_path / "law.py").write_text(
        "from ukctrl.control import PdGravity\n\n\nclass Mine(PdGravity):\n    pass\n"
    )
    robot = tmp_path / "arm.toml"
    table = (
        "title = 'one mass'\n[lagrangian]\ncoordinates = { x = 'm' }\n"
        "kinetic = '%s*v.x**2'\ninputs = { F = { x = 1.0 } }\n"
    )
    robot.write_text(table % "0.5")
    text = """
        title = "a mass"
        robot = "./arm.toml"
        servo = [{ kind = "expression", phi = "x", unit = "m" }]
        controller = { kind = "./law.py:Mine", kp = 10.0, kd = 5.0 }
        timing = { duration = 0.1, sample = 0.05 }
    """
    (tmp_path / "task.toml").write_text(text)

    def swept():
        base = Scenario.load(tmp_path / "task.toml", trust=True)
        return sweep(base, ["start.t=0,1"], folder=tmp_path / "out", resume=True, trust=True)

    assert swept().finished
    assert swept().finished
    robot.write_text(table % "1.5")
    with pytest.raises(InputError, match=r"the file '.*arm\.toml' has changed"):
        swept()
    robot.write_text(table % "0.5")
    (tmp_path / "law.py").write_text((tmp_path / "law.py").read_text() + "# better\n")
    with pytest.raises(InputError, match=r"the file '.*law\.py' has changed"):
        swept()


def test_a_full_disk_is_told_with_how_to_go_on(helix, tmp_path, monkeypatch):
    def full(self, line):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "_write", full)
        with pytest.raises(InputError, match=r"No space left on device\. What is recorded"):
            sweep(helix, ["start.t=0,1"], folder=tmp_path)
    assert sweep(helix, ["start.t=0,1"], folder=tmp_path, resume=True).finished


def test_a_study_that_grows_runs_the_new_samples_alone(helix, tmp_path):
    few = sweep(helix, ["start.t=0:1"], n=2, folder=tmp_path)
    before = (tmp_path / "journal.jsonl").read_bytes()
    many = sweep(helix, ["start.t=0:1"], n=4, folder=tmp_path, resume=True)
    assert (tmp_path / "journal.jsonl").read_bytes().startswith(before)
    assert many.finished
    assert_same(few.columns, rows(many.columns, slice(2)))
    assert_same(many.columns, sweep(helix, ["start.t=0:1"], n=4).columns)


@pytest.mark.slow
def test_results_are_kept_whole_on_request(helix, tmp_path):
    study = sweep(helix, ["start.spread=0.001:0.01"], n=5, folder=tmp_path, keep="worst:2")
    kept = {int(path.name) for path in (tmp_path / "results").iterdir()}
    assert kept == set(np.argsort(study.columns["rms_phi"])[-2:])
    sample = min(kept)
    replayed = simulate(study.scenario_of(sample))
    from ukctrl import Result

    assert Result.load(tmp_path / "results" / str(sample)).identical(replayed)


def test_worse_than_any_are_runs_that_did_not_complete(helix):
    come = {
        "rms_phi": [1.0, 3.0, 2.0, 9.0],
        "reached": [0.05, 0.05, 0.01, float("nan")],
        "status": ["completed", "completed", "diverged", "failed"],
    }
    table = columns_of(dict(sweep(helix, ["start.t=0,1,2,3"]).columns) | come)
    assert RetentionPolicy.parse("worst:3").worst(table) == [2, 1, 0]
    assert RetentionPolicy.parse("worst:3:effort").worst(table)[0] == 2


def test_a_sample_that_does_not_fit_is_recorded_and_the_rest_run(helix):
    table = sweep(helix, ["timing.duration=0.05,0.02", "timing.control=0.01,0.04"]).columns
    assert list(table["status"]) == ["completed", "completed", "completed", "failed"]
    assert "control must be at most the duration, 0.02 s; got 0.04 s." in table["message"][3]
    assert np.isnan(table["rms_phi"][3])
