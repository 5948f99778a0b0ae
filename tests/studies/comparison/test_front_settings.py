"""Fronts of real laws: the same plants for all, a stop and going on."""

import pytest

from ukctrl import Budget, Front, Scenario, compare
from ukctrl.core.errors import InputError
from ukctrl.studies.comparison.comparison_page import write_comparison
from ukctrl.studies.tuning import SimulationJournal

BENCH = {
    "timing": {"duration": 0.1, "control": 0.005, "sample": 0.005},
    "integrator": {"method": "RK4", "step": 0.005},
    "effect": [{"kind": "noise", "std": 2e-5, "v_std": 2e-3}],
}
METRICS = ("rms_phi.tool", "input_travel")
FRONT = Front(metrics=METRICS, over={"bandwidth": (5.0, 100.0)}, points=6)
LAWS = ["servo-baumgarte", "again=servo-baumgarte", "servo-sliding", "servo-exact"]


@pytest.fixture(name="noisy", scope="module")
def _noisy():
    return Scenario.load("scara-helix", BENCH)


@pytest.fixture(name="found", scope="module")
def _found(noisy):
    return compare(noisy, LAWS, repeats=3, mismatch=[0.1], front=FRONT)


@pytest.mark.slow
def test_every_law_has_the_same_settings_and_one_without_a_design_its_own(found):
    laws = found.fronts.laws
    assert [p.gains for p in laws["again"].points] == [
        p.gains for p in laws["servo-baumgarte"].points
    ]
    assert [set(p.gains) for p in laws["servo-sliding"].points] == [{"bandwidth", "damping"}] * 6
    refused = [p for p in laws["servo-sliding"].points if p.refused]
    assert refused
    assert all(p.gains["damping"] < 1.0 or "gain" in p.refused for p in refused)
    (exact,) = laws["servo-exact"].points  # which has no gains at all
    assert exact.gains == {}
    assert all(len(p.runs) == 3 for law in laws.values() for p in law.points if not p.refused)


def test_the_same_card_twice_is_not_told_apart_at_any_level(found):
    duels = [d for d in found.duels if {d.lower, d.higher} == {"servo-baumgarte", "again"}]
    assert duels
    assert not any(duel.supported for duel in duels)
    told = [v.text for v in found.verdicts if v.subject == "front"]
    assert any("'servo-baumgarte' from 'again'" in text for text in told[1:]) or len(told) == 1


def test_a_front_is_of_the_repeats_at_the_largest_mismatch(found, noisy):
    mine = found.fronts.laws["servo-baumgarte"].points[2]
    law = next(iter(compare(noisy, ["servo-baumgarte"]).results.values())).scenario["controller"]
    assert law["feedback"]["kind"] == "baumgarte"
    from ukctrl.analysis.linear.design import designed
    from ukctrl.control.error_dynamics_spec import ErrorSpec
    from ukctrl.simulation.simulate import simulate
    from ukctrl.studies.tuning.plants import mismatch_effects, with_mismatch

    base = noisy.replace({"controller": {"use": "servo-baumgarte"}})
    off = with_mismatch(base, mismatch_effects(noisy, [0.1])[0.1])
    gains = designed(base, ErrorSpec(**mine.gains)).gains
    again = simulate(off.replace({**gains, "seed": found.seeds[1]}))
    assert mine.values[0, 1] == again.metric("rms_phi.tool")
    assert mine.values[1, 1] == again.metric("input_travel")


def test_its_files_are_written_beside_the_page(found, tmp_path):
    write_comparison(found, tmp_path)
    assert (tmp_path / "compare_front.png").is_file()
    lines = (tmp_path / "fronts.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 3 * 6 + 1
    assert "At equal input_travel" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_stop_keeps_what_is_done_and_the_same_goes_on_from_there(noisy, tmp_path):
    laws = ["servo-baumgarte", "servo-pid"]

    def progress(at, total):
        if at > total - 8.5:
            raise KeyboardInterrupt

    with SimulationJournal(tmp_path / "fronts.jsonl") as journal:
        stopped = compare(noisy, laws, repeats=2, front=FRONT, journal=journal, progress=progress)
        kept = len(journal)
    assert stopped.conditions.stopped
    assert 0 < kept < 24
    with SimulationJournal(tmp_path / "fronts.jsonl") as journal:
        done = compare(noisy, laws, repeats=2, front=FRONT, journal=journal)
        assert len(journal) == 24 + 4  # the repeats of both laws too
    whole = compare(noisy, laws, repeats=2, front=FRONT)
    assert done.fronts.to_csv() == whole.fronts.to_csv()


def test_a_metric_that_no_run_has_is_told_before_the_front_is_run(noisy):
    with pytest.raises(InputError, match=r"'rms_phi.tol'; did you mean 'rms_phi.tool'"):
        compare(noisy, LAWS[:1], repeats=1, front=("rms_phi.tol", "effort"))


def test_a_front_and_a_search_contradict_each_other(noisy):
    with pytest.raises(InputError, match="give one"):
        compare(noisy, LAWS, front=METRICS, tuning=Budget(simulations=4))
