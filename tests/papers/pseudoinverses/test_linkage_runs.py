"""The pseudoinverse paper: its counts, its formulas, and how its simulations fail."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl_papers import parallelogram
from ukctrl_papers.pseudoinverses import PAPER, flops, formulas, linkage_runs, table_claims
from ukctrl_papers.pseudoinverses.linkage_runs import LinkageCase, run_case
from ukctrl_papers.pseudoinverses.printed_tables import TABLE_1

QUICK = [*flops.claims(), *formulas.claims()]


@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: f"{claim.where}: {claim.what}")
def test_every_count_and_formula_is_right_or_its_fault_is_known(claim):
    assert claim.verdict != "differs"
    assert claim.verdict == "agrees" or claim.note


def test_the_three_entries_of_table_6_with_the_missing_pseudoinverse():
    wrong = [c.ours for c in QUICK if c.where == "Table 6, eq (43)"]
    assert wrong == [1461, 346590, 1173284]


def test_six_rows_of_tables_2_to_5_take_one_size_for_the_other():
    rows = [c for c in QUICK if c.where in {"Table 2", "Table 3", "Table 4", "Table 5"}]
    wrong = [c for c in rows if ": " in c.what and c.verdict != "agrees"]
    assert [c.where for c in wrong] == ["Table 2"] * 3 + ["Table 3"] * 2 + ["Table 4"]
    at_equal_sizes = (9, 9)
    for equation, counts in flops.BY_ASSUMPTION.items():
        summed = sum(count(*at_equal_sizes) for count in counts)
        assert summed == flops.total_flops(equation, *at_equal_sizes)


@pytest.mark.parametrize("equation", ["31", "35", "41"])
@pytest.mark.parametrize("size", [(1, 1), (7, 4), (4, 7), (30, 12)])
def test_the_tables_of_operations_add_up_for_every_size(equation, size):
    assert flops.total_flops(equation, *size) == TABLE_1[equation](*size)


def test_the_eleventh_singular_value_goes_to_zero_with_the_sine_of_the_angle():
    assert formulas.eleventh_singular_value() == pytest.approx(0.53452, abs=5e-6)
    assert formulas.eleventh_singular_value(1e-2) == pytest.approx(
        formulas.eleventh_singular_value(), rel=1e-4
    )


@pytest.mark.parametrize("method", linkage_runs.PAPER_METHODS)
@pytest.mark.parametrize("integrator", ["LSODA", "VODE Adams"])
def test_with_mild_stabilisation_every_method_follows_the_closed_form(method, integrator):
    outcome = run_case(
        LinkageCase(method=method, integrator=integrator, alpha=10.0, beta=10.0, horizon=5.0)
    )
    assert outcome.table_text == "Correct"
    assert outcome.error < 2e-6
    assert outcome.psi_squared < 1e-13


@pytest.mark.slow
def test_a_threshold_at_the_tolerance_stalls_a_run_that_a_larger_one_lets_pass():
    # At TOL = 1e-8 rounding decides whether the violation ever meets the threshold, and when.
    how = {"tolerance": 1e-10, "alpha": 1000.0, "beta": 100.0, "horizon": 3.0}
    at_tolerance, above = run_case(LinkageCase(**how)), run_case(LinkageCase(threshold=1e-5, **how))
    assert at_tolerance.end_status == "stalls"
    assert at_tolerance.reached < 0.1
    assert above.table_text == "Correct"


def test_a_stiff_method_needs_a_threshold_above_the_steps_of_its_jacobian():
    gains = {"alpha": 10.0, "beta": 10.0, "integrator": "Radau", "horizon": 0.5}
    assert run_case(LinkageCase(**gains)).end_status == "stalls"
    assert run_case(LinkageCase(threshold=1e-3, **gains)).table_text == "Correct"


def test_without_stabilisation_the_violation_grows_and_the_motion_goes_wrong():
    outcome = run_case(LinkageCase(threshold=1e-3))
    assert outcome.end_status == "completed"
    assert outcome.correct_until < linkage_runs.HORIZON
    assert outcome.table_text.startswith("Correct up to")


@pytest.mark.slow
def test_a_start_above_the_ground_line_passes_aligned_states_and_goes_wrong():
    outcome = run_case(
        LinkageCase(start=-linkage_runs.START, alpha=10.0, beta=10.0, threshold=1e-3, horizon=12.0)
    )
    assert outcome.table_text != "Correct"


def test_off_the_manifold_a_full_rank_leaves_the_linkage_no_freedom():
    rng = np.random.default_rng(0)
    q, v = parallelogram.closed_configuration(linkage_runs.START)
    open_by = 1e-6
    y = np.concatenate([q + open_by * rng.standard_normal(12), v])
    kept = linkage_runs.LinkageEquation(LinkageCase(threshold=1e-4))(0.0, y)[14]
    lost = linkage_runs.LinkageEquation(LinkageCase(threshold=1e-9))(0.0, y)[14]
    expected = parallelogram.angular_acceleration(linkage_runs.START)
    assert abs(kept - expected) < 1e-4
    assert abs(lost - expected) > 1.0


def test_an_unstabilised_violation_grows_sixfold_per_second_whatever_the_span():
    factors = [table_claims.growth_rate(*span) for span in [(5.0, 7.0), (6.0, 8.0)]]
    np.testing.assert_allclose(factors, 5.8, rtol=0.05)


def test_an_unstabilised_run_stalls_when_the_twelfth_singular_value_meets_the_threshold():
    found = linkage_runs.violation_history(LinkageCase())
    assert found.t[-1] < linkage_runs.HORIZON
    assert found.twelfth[-1] == pytest.approx(LinkageCase().tolerance, rel=0.5)
    assert found.twelfth[found.t < found.t[-1] - 1.0].max() < 0.3 * LinkageCase().tolerance


@pytest.mark.slow
def test_every_claim_of_the_paper_has_a_verdict_that_is_explained():
    for claim in (claim for part in PAPER.claims for claim in part()):
        assert claim.verdict != "differs", claim
        assert claim.verdict == "agrees" or claim.note, claim


@pytest.mark.parametrize("rate", [0.5, 2.0, 4.5, 6.5, 9.0, 15.0, -2.0, -4.5, -9.0])
def test_the_closed_form_of_a_pendulum_is_its_motion_swinging_and_turning_over(rate):
    square, start = 5.0, -0.7  # k from 0.2 to 3.4
    times = np.linspace(0.0, 3.0, 31)
    angle, speed = parallelogram.pendulum_motion(times, square, start, rate)

    def rates(t, y):
        return [y[1], -square * np.cos(y[0])]

    motion = solve_ivp(rates, (0.0, 3.0), [start, rate], "DOP853", times, rtol=1e-12, atol=1e-12).y
    np.testing.assert_allclose(np.cos(angle - motion[0]), 1.0, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(speed, motion[1], rtol=0.0, atol=1e-7)
    if abs(rate) > 2.0 * np.sqrt(square):
        np.testing.assert_allclose(angle, motion[0], rtol=0.0, atol=1e-7)
