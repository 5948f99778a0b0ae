"""Every metric against its closed form, and at the edges where no closed form exists."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukctrl.core.errors import UnknownName
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.quantities import FIELDS, Labels
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.result_files import netcdf_variables
from ukctrl.simulation.result.samples import SignalSeries
from ukctrl.simulation.result.verdicts import judge

EXACT = {"rtol": 1e-13, "atol": 0.0}
QUADRATURE = {"rtol": 2e-5}  # 2001 samples, trapezoidal rule
CROSSING = {"rtol": 1e-5}  # linear interpolation between samples

T = np.linspace(0.0, 20.0, 2001)
DOCS = Path(__file__).parents[4] / "docs" / "reference" / "results.md"


def test_the_rms_of_a_decay_is_its_closed_form(rows):
    size, rate = 0.3, 0.25
    found = rows(T, size * np.exp(-rate * T)).metric("rms_phi")
    exact = size * np.sqrt((1.0 - np.exp(-2.0 * rate * 20.0)) / (2.0 * rate * 20.0))
    np.testing.assert_allclose(found, exact, **QUADRATURE)


def test_peak_and_final_error_of_a_decay_are_its_ends(rows):
    result = rows(T, 0.3 * np.exp(-0.25 * T))
    np.testing.assert_allclose(result.metric("peak_phi"), 0.3, **EXACT)
    np.testing.assert_allclose(result.metric("final_phi"), 0.3 * np.exp(-5.0), **EXACT)


def test_the_norm_over_the_rows_is_euclidean(rows):
    result = rows(T, np.outer(np.ones_like(T), [3.0, 0.0, 4.0]))
    for name in ("rms_phi", "peak_phi", "final_phi"):
        np.testing.assert_allclose(result.metric(name), 5.0, **EXACT)


def test_the_rms_weighs_samples_by_the_time_they_stand_for(rows):
    # 0 until t = 1, then 2 until t = 10, sampled unevenly: nine tenths of the time at 2.
    time = np.array([0.0, 1.0, 1.0, 10.0])
    np.testing.assert_allclose(
        rows(time, [0.0, 0.0, 2.0, 2.0]).metric("rms_phi"), np.sqrt(0.9 * 4.0), **EXACT
    )


def test_each_servo_block_has_metrics_of_its_own(rows):
    phi = np.outer(np.ones_like(T), [3.0, 4.0, 12.0])
    result = rows(T, phi, blocks=["tool", "tool", "tilt"], beta=2.0 * phi)
    np.testing.assert_allclose(result.metric("peak_phi.tool"), 5.0, **EXACT)
    np.testing.assert_allclose(result.metric("peak_phi.tilt"), 12.0, **EXACT)
    np.testing.assert_allclose(result.metric("rms_beta.tool"), 10.0, **EXACT)
    np.testing.assert_allclose(result.metric("peak_phi"), 13.0, **EXACT)


def test_nonholonomic_rows_count_in_beta_and_not_in_phi(rows):
    phi = np.stack([3.0 + 0 * T, np.full_like(T, np.nan)], axis=1)
    beta = np.outer(np.ones_like(T), [3.0, 4.0])
    result = rows(T, phi, beta=beta, blocks=["tool", "roll"])
    np.testing.assert_allclose(result.metric("peak_phi"), 3.0, **EXACT)
    np.testing.assert_allclose(result.metric("peak_beta"), 5.0, **EXACT)
    assert np.isnan(result.metric("rms_phi.roll"))
    np.testing.assert_allclose(result.metric("rms_beta.roll"), 4.0, **EXACT)


def test_a_decay_settles_when_it_has_fallen_to_a_fiftieth(rows):
    result = rows(T, 0.3 * np.exp(-0.5 * T))
    np.testing.assert_allclose(result.metric("settling_time"), np.log(50.0) / 0.5, **CROSSING)


def test_the_settling_time_counts_from_the_first_sample(rows):
    late = rows(T + 100.0, 0.3 * np.exp(-0.5 * T))
    np.testing.assert_allclose(late.metric("settling_time"), np.log(50.0) / 0.5, **CROSSING)


def test_a_run_that_leaves_the_band_again_has_not_settled_before(rows):
    phi = np.where((T > 12.0) & (T < 13.0), 0.1, 0.0)
    phi[0] = 0.3
    np.testing.assert_allclose(rows(T, phi).metric("settling_time"), 13.0, atol=0.011)


def test_a_run_that_starts_on_its_constraints_has_settled_at_once(rows):
    assert rows(T, 1e-9 * np.sin(T)).metric("settling_time") == 0.0


def test_a_run_that_drifts_away_never_settles(rows):
    assert np.isnan(rows(T, 0.01 * T).metric("settling_time"))


def test_without_any_phi_the_settling_time_is_that_of_beta(rows):
    beta = 0.3 * np.exp(-0.5 * T)[:, None]
    result = rows(T, np.full((len(T), 1), np.nan), beta=beta)
    np.testing.assert_allclose(result.metric("settling_time"), np.log(50.0) / 0.5, **CROSSING)


def test_the_effort_of_two_sines_over_whole_periods_is_the_sum_of_their_mean_squares(motors):
    time = np.linspace(0.0, 4.0 * np.pi, 2001)
    u = np.stack([3.0 * np.sin(time), 2.0 * np.cos(time)], axis=1)
    np.testing.assert_allclose(
        motors(time, u).metric("effort"), 4.0 * np.pi * (9.0 + 4.0) / 2.0, **QUADRATURE
    )


def test_the_peak_input_is_the_largest_magnitude_of_any_one(motors):
    assert motors(T, np.stack([3.0 * np.cos(T), -5.0 + 0 * T], axis=1)).metric("peak_u") == 5.0


def test_work_gives_no_credit_for_what_flows_back(motors):
    # u = sin, rate = cos: the net work over a period is zero, the exchanged work 2 J.
    time = np.linspace(0.0, 2.0 * np.pi, 4001)
    result = motors(time, np.sin(time), rate=np.cos(time))
    np.testing.assert_allclose(result.metric("work"), 2.0, **QUADRATURE)


def test_work_is_unknown_without_the_rates_of_the_actuators(motors):
    assert np.isnan(motors(T, np.sin(T)).metric("work"))


def test_a_sine_travels_four_times_its_height_every_turn(motors):
    time = np.linspace(0.0, 10.0, 4001)  # the turning points are samples
    run = motors(time, 3.0 * np.sin(2.0 * np.pi * time))
    np.testing.assert_allclose(run.metric("input_travel"), 4.0 * 3.0, rtol=1e-12)
    chatter = 3.0 + np.resize([0.0, 0.01], len(time))  # hardly seen in the effort
    np.testing.assert_allclose(motors(time, chatter).metric("input_travel"), 4.0, rtol=1e-12)


def test_a_ramp_through_its_limit_is_saturated_half_of_the_time(motors):
    u = np.minimum(T / 10.0, 1.0)
    np.testing.assert_allclose(
        motors(T, u, limits=[1.0]).metric("saturated_fraction"), 0.5, atol=5e-4
    )


@pytest.mark.parametrize("limit", [np.inf, 0.0], ids=["unlimited", "limit never set"])
def test_an_input_without_a_limit_is_never_saturated(motors, limit):
    assert motors(T, 100.0 * np.sin(T), limits=[limit]).metric("saturated_fraction") == 0.0


def test_the_largest_opening_of_a_closure_is_found(rows):
    labels = Labels(passive_rows=["a", "b"], passive_row_units=["m", "m"])
    from ukctrl.simulation.result.result import Result

    result = Result.build(
        time=T,
        samples={"passive_phi": np.outer(T, [3e-7, 4e-7])},
        labels=labels,
        status="completed",
    )
    np.testing.assert_allclose(result.metric("peak_passive_phi"), 1e-5, **EXACT)


def balance(n, leak=0.0, **extra):
    """Return a run that exchanges energy and loses track of that much power [W]."""
    from ukctrl.simulation.result.result import Result

    time = np.linspace(0.0, 10.0, n)
    samples = {"energy": np.sin(time) ** 2 + leak * time, "power": np.sin(2.0 * time), **extra}
    return Result.build(time=time, samples=samples, labels=Labels(), status="completed")


def test_the_energy_balance_finds_a_planted_leak():
    drift = balance(2001, leak=1e-3).metric("energy_drift")
    np.testing.assert_allclose(drift, 1e-3 * 10.0, rtol=1e-5)


def test_the_energy_balance_is_of_fourth_order_in_the_sampling_step():
    coarse, fine = (balance(n).metric("energy_drift") for n in (101, 201))
    assert 3.5 < np.log2(coarse / fine) < 4.5


def test_the_energy_that_the_integrator_counted_is_preferred_to_the_samples():
    time = np.linspace(0.0, 10.0, 11)
    counted = balance(11, supplied_energy=np.sin(time) ** 2)
    np.testing.assert_allclose(counted.metric("energy_drift"), 0.0, atol=1e-14)


def test_the_tick_time_comes_from_the_provenance(helix):
    assert helix().metric("mean_tick_us") == 8.25


def test_one_sample_has_the_metrics_of_that_instant(helix):
    result = helix(1)
    np.testing.assert_allclose(result.metric("rms_phi"), 0.02 * np.sqrt(1.16), **EXACT)
    np.testing.assert_allclose(result.metric("final_phi"), 0.02 * np.sqrt(1.16), **EXACT)
    assert result.metric("effort") == 0.0
    assert result.metric("peak_u") == 4.905


def test_without_samples_every_metric_of_the_arrays_is_nan(helix):
    values = helix(0).metrics
    assert {name for name, value in values.items() if not np.isnan(value)} == {"mean_tick_us"}


@pytest.mark.filterwarnings("error")
def test_enormous_last_samples_raise_no_warning(rows):
    phi = 0.01 * T
    phi[-1] = 1e200
    assert np.isinf(rows(T, phi).metric("peak_phi"))


UNDERFLOW = 1e-150
"""Squares of smaller errors are zero in double precision."""


@pytest.mark.slow
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6),
    st.permutations(range(3)),
    st.floats(0.1, 10.0),
)
def test_error_metrics_ignore_the_order_of_rows_and_scale_with_them(values, order, factor):
    from ukctrl.simulation.result.result import Result

    def run(phi):
        labels = Labels(rows=list("abc"), row_units=["m"] * 3, row_blocks=["x"] * 3)
        return Result.build(
            time=[0.0, 1.0], samples={"phi": phi, "beta": phi}, labels=labels, status="completed"
        )

    phi = np.reshape(values, (2, 3))
    one, other = run(phi), run(factor * phi[:, order])
    for name in ("rms_phi", "peak_phi", "final_phi", "rms_beta", "peak_beta", "final_beta"):
        expected = factor * one.metric(name)
        np.testing.assert_allclose(other.metric(name), expected, rtol=1e-12, atol=UNDERFLOW)


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=30))
def test_the_rms_lies_between_nothing_and_the_peak(values):
    from ukctrl.simulation.result.result import Result

    labels = Labels(rows=["a"], row_units=["m"], row_blocks=["x"])
    result = Result.build(
        time=np.arange(len(values)),
        samples={"phi": np.reshape(values, (-1, 1))},
        labels=labels,
        status="completed",
    )
    assert 0.0 <= result.metric("rms_phi") <= result.metric("peak_phi") * (1.0 + 1e-12)


def test_a_misspelt_metric_is_answered_with_the_nearest_one(helix):
    with pytest.raises(UnknownName, match=r"no metric named 'rms_fi'; did you mean 'rms_phi'\?"):
        helix().metric("rms_fi")


def test_units_are_those_of_the_rows_and_inputs_at_hand(helix):
    labels = helix().labels
    assert metrics.unit_in("rms_phi", labels) == "m, rad"
    assert metrics.unit_in("rms_phi.tool", labels) == "m"
    assert metrics.unit_in("peak_beta.tilt", labels) == "rad/s"
    assert metrics.unit_in("effort", labels) == "(N m, N)^2 s"
    assert metrics.describe("work", labels).unit == "J"
    assert metrics.describe("rms_phi", labels).unit == "m, rad"
    assert metrics.describe("rms_phi.tool", labels).unit == "m"
    assert metrics.describe("rms_phi").unit == "phi"


@pytest.mark.parametrize("name", ["rms_fi", "work.tool"])
def test_only_metrics_that_exist_can_be_described(name):
    with pytest.raises(UnknownName, match="no metric named"):
        metrics.describe(name)


def test_every_metric_of_a_run_can_be_described(helix):
    for name in helix().metrics:
        assert metrics.describe(name).description


def test_what_is_the_last_the_largest_or_the_smallest_is_called_so(helix):
    said = {name: metrics.describe(name).description for name in ("final_phi", "peak_passive_phi")}
    assert said == {
        "final_phi": "position-level error of the servo rows at the last sample",
        "peak_passive_phi": "largest position-level error of the passive rows, such as the gap of "
        "a closed loop",
    }
    names = ("reaction", "reaction_residual", "passive_sigma_dropped", "u_upper")
    assert [FIELDS[name].long_name for name in names] == [
        "multiplier of the passive row: what it transmits; of a closure, force and torque on its "
        "first frame in the axes of its second",
        "passive force that the rows cannot transmit, |F - A_p' lam|",
        "largest singular value of the passive rows that does not count",
        "largest input that the drive gives",
    ]
    limit = netcdf_variables(helix().samples)["effort_limit"]
    assert limit.attributes["long_name"] == "largest magnitude of input"


def table_rows(heading):
    """Return the first cells of the table below a heading of the reference page."""
    section = DOCS.read_text(encoding="utf-8").split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_the_reference_lists_every_metric_in_its_order():
    assert table_rows("Metrics") == list(metrics.METRICS)


def test_the_reference_lists_every_variable():
    assert set(table_rows("Variables of `result.nc`")) == {"time", "effort_limit", *FIELDS}


def test_an_input_at_a_limit_that_the_allocation_keeps_is_saturated(motors):
    run = motors(T, 0.5 * np.ones(len(T)), limits=[1.0])
    assert run.metric("saturated_fraction") == 0.0
    binding = SignalSeries(values=np.where(T < 5.0, 1.0, 0.0)[:, None], components=("u0",))
    kept = Result.build(
        time=T,
        samples={"u": run["u"]},
        signals={"binding": binding},
        labels=run.labels,
        status="completed",
    )
    np.testing.assert_allclose(kept.metric("saturated_fraction"), 0.25, atol=5e-4)
    verdict = next(each for each in judge(kept) if each.subject == "limits")
    assert "Some input is at a limit of the allocation during 25" in verdict.text


def test_limits_are_crossed_where_more_than_rounding_is_lacking():
    kept = np.array([[0.5, 2e-6, 1e-3], [-2e-6, -0.5e-6, -0.5e-3], [np.nan, 1.0, 2.0]])
    result = Result.build(
        time=[0.0, 1.0, 2.0], samples={"keep": kept}, status="completed",
        labels=Labels(
            keep_rows=["wall", "joint", "foot"], keep_row_units=["m", "rad", "N"],
            keep_row_blocks=["wall", "ends", "ends"], keep_row_missed_units=["m", "rad", "N"],
        ),
    )  # fmt: skip
    assert result.metric("limits_crossed") == result.metric("limits_crossed.wall") == 1.0
    assert result.metric("limits_crossed.ends") == 0.0
    assert result.metric("worst_margin.ends") == -0.5e-3
    assert not metrics.less_is_better("worst_margin.wall")
    assert metrics.less_is_better("limits_crossed.wall")
