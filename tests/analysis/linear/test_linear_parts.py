"""The parts of a linear analysis one by one, beside formulas, SciPy and python-control."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import control
import numpy as np
import pytest
from scipy.linalg import expm

from ukctrl import Robot, Scenario
from ukctrl.analysis.linear import analyze, linear_loop, linear_page
from ukctrl.analysis.linear.delay_margin import (
    UnitGainArc,
    UnitGainPoints,
    _DelaySearch,
    delay_margin,
    phase_lag,
)
from ukctrl.analysis.linear.design import _gain_text, _round_gains, designed, largest_period
from ukctrl.analysis.linear.equilibria import _EquilibriumSearch as _EquilibriumSearch
from ukctrl.analysis.linear.equilibria import (
    _Evaluation,
    _newton_step,
    angle_difference,
    equilibria,
)
from ukctrl.analysis.linear.margins import (
    Margins,
    _disk_distance,
    _gain_margin,
    _is_neutral,
    disk_gain,
    disk_phase,
    margins_at,
    mu_upper_bound,
    osborne_scaling,
    scaled_norm,
)
from ukctrl.analysis.linear.operating_point import operating_point
from ukctrl.analysis.linear.response import FrequencyResponse, frequencies
from ukctrl.analysis.linear.sampled_systems import (
    LinearSensors,
    LinearSystem,
    _delay_line,
    _ticks_and_part,
    sampled_plant,
    series,
)
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import InputError

EXACT = {"rtol": 1e-10, "atol": 1e-12}


# Delays under a hold


@pytest.mark.parametrize(
    ("delay", "wanted"),
    [(0.0, (0, 0.0)), (0.25, (0, 0.25)), (1.0, (1, 0.0)), (2.5, (2, 0.5)),
     (3.0 - 1e-12, (3, 0.0)), (3.0 + 1e-12, (3, 0.0))],
)  # fmt: skip
def test_a_delay_is_whole_periods_and_a_part(delay, wanted):
    for period in (1.0, 0.01):
        whole, part = _ticks_and_part(delay * period, period)
        assert (whole, part) == (wanted[0], pytest.approx(wanted[1] * period, abs=1e-12))


def test_inputs_that_are_late_by_different_times_arrive_when_they_should():
    """Against the motion from tick to tick, each input constant between its arrivals."""
    A = np.array([[0.0, 1.0], [-4.0, -0.6]])
    B = np.array([[0.3, 0.0, 1.0], [1.0, 2.0, -1.0]])
    T, delays = 0.4, [0.0, 0.3, 1.0]
    block = sampled_plant(A, B, ("x", "v"), ("a", "b", "c"), T, delays)
    assert block.states == ("x", "v", "b 1 back", "c 1 back", "c 2 back", "c 3 back")
    rng = np.random.default_rng(3)
    u = rng.normal(size=(7, 3))

    def moved(x, w, h):
        """Integrate x' = A x + B w exactly over a time."""
        whole = expm(np.block([[A, (B @ w)[:, None]], [np.zeros((1, 3))]]) * h)
        return whole[:2, :2] @ x + whole[:2, 2]

    x, state = np.array([0.2, -0.1]), np.array([0.2, -0.1, 0.0, 0.0, 0.0, 0.0])
    sent = lambda j, t: 0.0 if t < 0.0 else u[int(t / T + 1e-9), j]  # noqa: E731
    for k in range(7):
        cuts = sorted({0.0, *(d % T for d in delays), T})
        for begin, end in itertools.pairwise(cuts):
            middle = k * T + 0.5 * (begin + end)
            w = np.array([sent(j, middle - delays[j]) for j in range(3)])
            x = moved(x, w, end - begin)
        state = block.A @ state + block.B @ u[k]
        np.testing.assert_allclose(block.C @ state, x, rtol=0.0, atol=1e-12)


def test_systems_in_series_are_those_of_python_control():
    rng = np.random.default_rng(1)
    first, second = (
        LinearSystem(*(rng.normal(size=size) for size in ((n, n), (n, m), (p, n), (p, m))), names)
        for n, m, p, names in ((2, 1, 3, ("a", "b")), (3, 3, 2, ("c", "d", "e")))
    )
    both = series(first, second)
    assert both.states == ("a", "b", "c", "d", "e")
    wanted = control.ss(*second[:4]) * control.ss(*first[:4])
    mine = control.ss(*both[:4])
    for s in (0.3j, 1.0 + 2.0j):
        np.testing.assert_allclose(mine(s), wanted(s), **EXACT)


@pytest.mark.parametrize("ticks", [0, 1, 3])
def test_what_is_measured_late_comes_so_many_ticks_later(ticks):
    before = LinearSensors(LinearSystem(*np.zeros((3, 0, 0)), np.eye(2), ()), np.eye(2))
    block = _delay_line(ticks, before)
    assert len(block.states) == 2 * ticks
    x, seen = np.zeros(2 * ticks), []
    for k in range(6):
        u = np.array([k + 1.0, -k])
        seen.append(block.C @ x + block.D @ u)
        x = block.A @ x + block.B @ u
    for k in range(6):
        wanted = [k - ticks + 1.0, ticks - k] if k >= ticks else [0.0, 0.0]
        np.testing.assert_array_equal(seen[k], wanted)
    if ticks == 3:
        assert block.states[:3] == ("measured 1, 1 back", "measured 2, 1 back",
                                    "measured 1, 2 back")  # fmt: skip


# Along the frequencies


@pytest.mark.parametrize("period", [None, 0.1])
def test_a_response_is_that_of_python_control_one_by_one_and_along(period):
    rng = np.random.default_rng(2)
    A, B, C = (rng.normal(size=size) for size in ((4, 4), (4, 2), (3, 4)))
    A[0] *= 1e4  # badly scaled
    response = FrequencyResponse(A, B, C, period)
    w = np.array([0.2, 3.0, 20.0])
    p = 1j * w if period is None else np.exp(1j * w * period)
    system = control.ss(A, B, C, np.zeros((3, 2)))
    wanted = np.array([system(one) for one in p])
    np.testing.assert_allclose(response.at_frequencies(w), wanted, rtol=1e-8)
    for one, value in zip(w.tolist(), wanted, strict=True):
        np.testing.assert_allclose(response.at(one), value, rtol=1e-8)
        assert response.value(one) == pytest.approx(value[0, 0], rel=1e-8)


def test_at_a_pole_a_response_is_infinite():
    integrator = FrequencyResponse(np.zeros((1, 1)), np.eye(1), np.eye(1), None)
    assert math.isinf(abs(integrator.value(0.0)))
    assert not np.isfinite(integrator.at_frequencies(np.array([0.0]))).any()


def of_poles(opened, closed, period=None):
    """Return a loop with these poles, real ones and pairs, in blocks."""

    def block(poles):
        A = np.zeros((len(poles), len(poles)))
        for k, pole in enumerate(poles):
            A[k, k] = pole.real
            if pole.imag:
                A[k, k + 1 if pole.imag > 0.0 else k - 1] = pole.imag
        return A

    A = block(np.array(opened, dtype=complex))
    return SimpleNamespace(
        A=A, period=period, broken_at=lambda motor: (A, None, None),
        rates=lambda: np.array(closed, dtype=complex),
    )  # fmt: skip


def test_a_grid_goes_three_decades_beyond_the_slowest_and_the_quickest_pole():
    grid = frequencies(of_poles([-2.0, -50.0], [-1.0, -3.0]))
    assert grid[0] == pytest.approx(1e-3)
    assert grid[-1] == pytest.approx(5e4)
    assert (np.diff(grid) > 0.0).all()
    decade = grid[(grid >= 1.0) & (grid < 10.0)]
    assert len(decade) in (59, 60, 61)
    np.testing.assert_allclose(frequencies(of_poles([-2.0, -50.0], [-1.0, -3.0]), 0), grid)


def test_a_grid_of_slow_poles_is_slow():
    grid = frequencies(of_poles([-0.02], [-0.01]))
    assert (grid[0], grid[-1]) == (pytest.approx(1e-5), pytest.approx(20.0))


def test_a_grid_under_a_hold_ends_at_half_its_rate_and_leaves_out_what_is_over():
    grid = frequencies(of_poles([0.9], [-2.0, -np.inf], period=0.1))
    assert grid[-1] == pytest.approx(np.pi / 0.1)
    assert grid[0] == pytest.approx(-np.log(0.9) / 0.1 * 1e-3)


def test_poles_at_zero_do_not_stretch_a_grid_and_none_at_all_give_one_about_one():
    assert frequencies(of_poles([0.0, 1e-9, -2.0], [-2.0]))[0] == pytest.approx(2e-3)
    empty = frequencies(of_poles([0.0], [0.0]))
    assert (empty[0], empty[-1]) == (pytest.approx(1e-3), pytest.approx(1e3))


def test_a_lightly_damped_pole_is_looked_at_closely():
    """0.01 +- 10j: points within 0.03 of its decay rate, and none for 0.4 of damping."""
    for damping, near in ((0.001, True), (0.29, True), (0.31, False)):
        real, imag = -10.0 * damping, 10.0 * math.sqrt(1.0 - damping**2)
        grid = frequencies(of_poles([real + 1j * imag, real - 1j * imag], [-1.0]))
        assert bool((np.abs(grid - imag) < 1e-9).any()) is near
        if near:
            assert np.abs(grid - imag - 0.03 * real).min() < 1e-9


# Delay margins


@pytest.mark.parametrize(
    ("L", "lag"),
    [(-1.0, 0.0), (-1j, np.pi / 2.0), (1.0, np.pi), (1j, 1.5 * np.pi),
     (np.exp(-3j), np.pi - 3.0)],
)  # fmt: skip
def test_how_far_a_loop_may_be_turned_back(L, lag):
    assert phase_lag(complex(L)) == pytest.approx(lag)


def test_the_delay_of_a_continuous_loop_is_its_phase_over_its_frequency(plants):
    """x'' = -k x - d x': L = (d s + k)/s^2."""
    d, k = 5.0, 6.0
    loop = linear_loop(plants.held_mass(d, k))
    w = math.sqrt((d * d + math.sqrt(d**4 + 4.0 * k * k)) / 2.0)
    wanted = math.atan(d * w / k) / w
    assert margins_at(loop, 0).delay == pytest.approx(wanted, rel=1e-8)
    assert delay_margin(loop, 0, np.array([1.0]), []) == math.inf


@pytest.mark.parametrize(("damping", "late"), [(0.07, True), (0.05, False)])
def test_a_delay_that_lies_before_the_start_is_none(plants, damping, late):
    """Its hold alone delays x'' = -6 x - d x' by half a period, which d = 0.06 makes up for."""
    T, w = 0.02, math.sqrt(6.0)
    loop = linear_loop(plants.held_mass(damping, 6.0, timing={"duration": 1.0, "control": T}))
    found = _DelaySearch(loop, 0, np.ones(1))._newton(0.0, w)
    wanted = damping / 6.0 - T / 2.0 if late else math.inf  # of the small phase atan(d w / 6)
    assert found == pytest.approx(wanted, rel=0.02)


def test_a_piece_turned_once_more_is_late_by_a_whole_turn():
    piece = UnitGainArc((0.0, 0.1), (2.0, 4.0), (0.5, 0.7))
    assert piece.delays_after(0) == (0.5, 0.7)
    assert piece.delays_after(2) == pytest.approx((0.5 + 2.0 * math.pi, 0.7 + math.pi))


def level(part, *pairs):
    w, d = np.array(pairs, dtype=float).reshape(-1, 2).T
    return UnitGainPoints(part, w, d)


def test_levels_are_joined_where_their_delays_go_on():
    loop = SimpleNamespace(period=0.1)
    search = _DelaySearch(loop, 0, np.ones(1))
    turn = math.tau / 4.0
    [piece] = search._connect(level(0.0, (4.0, 0.5)), level(0.02, (4.0, 0.52 + turn)))
    assert piece == ((0.0, 0.02), (4.0, 4.0), (0.5, pytest.approx(0.52)))
    assert search._connect(level(0.0, (4.0, 0.5)), level(0.02)) is None
    near, far = 0.5 + 0.09 * turn, 0.5 + 0.11 * turn
    assert search._connect(level(0.0, (4.0, 0.5)), level(0.02, (4.0, near)))
    assert search._connect(level(0.0, (4.0, 0.5)), level(0.02, (4.0, far))) is None
    assert search._connect(level(0.0), level(0.02)) == []


def test_guesses_are_where_the_whole_periods_come_out():
    """On a piece from 1.4 to 2.6 periods: two of them a sixth of the way in from the left..."""
    search = _DelaySearch(SimpleNamespace(period=0.1), 0, np.ones(1))
    piece = UnitGainArc((0.0, 0.1), (3.0, 6.0), (0.17, 0.33))  # 1.7 and 2.3 periods, less the part
    [(delay, w)] = search._initial_guesses(piece, 0)
    assert (delay, w) == (pytest.approx(0.2 + 0.05), pytest.approx(4.5))
    still = UnitGainArc((0.03, 0.03), (5.0, 5.0), (0.231, 0.231))  # 2.01 periods and the part
    [(delay, w)] = search._initial_guesses(still, 0)
    assert (delay, w) == (pytest.approx(0.23), 5.0)
    assert not list(search._initial_guesses(still._replace(delay=(0.235, 0.235)), 0))
    assert not list(search._initial_guesses(still._replace(delay=(-0.2, -0.2)), 0))


# Margins


@pytest.mark.parametrize(
    ("alpha", "gain", "phase"),
    [(0.0, 1.0, 0.0), (0.5, 5.0 / 3.0, 28.072486935852957), (1.0, 3.0, 53.13010235415598),
     (2.0, math.inf, 90.0)],
)  # fmt: skip
def test_a_disk_margin_in_gain_and_phase(alpha, gain, phase):
    assert (disk_gain(alpha), disk_phase(alpha)) == (pytest.approx(gain), pytest.approx(phase))
    given = Margins(motor="F", gain_low=0.0, gain_high=math.inf, gain_frequency=math.nan,
                    phase=60.0, phase_frequency=1.0, delay=0.1, disk=alpha,
                    disk_frequency=1.0)  # fmt: skip
    assert (given.disk_gain, given.disk_phase) == (disk_gain(alpha), disk_phase(alpha))


def test_the_size_that_a_disk_margin_bounds():
    """|S - T|/2 with S = 1/(1 + L)."""
    assert _disk_distance(0.0) == 0.5
    assert _disk_distance(1.0) == 0.0
    assert _disk_distance(-1.0) == math.inf
    assert _disk_distance(complex(math.inf)) == 0.5
    L = 0.3 - 0.8j
    assert _disk_distance(L) == pytest.approx(abs(1.0 / (1.0 + L) - L / (1.0 + L)) / 2.0)


@pytest.mark.parametrize(("k", "low", "high"), [(2.0, 0.0, 4.0), (16.0, 0.5, math.inf)])
def test_the_gain_of_a_lag_of_third_order_ends_at_eight(k, low, high):
    """L = k/(s + 1)^3 is real at w = sqrt(3), where it is -k/8."""
    A = -np.eye(3) + np.eye(3, k=1)
    response = FrequencyResponse(A, k * np.eye(3)[:, 2:], np.eye(3)[:1], None)
    found = _gain_margin(response, np.geomspace(1e-2, 1e2, 200))
    np.testing.assert_allclose(found, (low, high, math.sqrt(3.0)), rtol=1e-6)


def test_a_static_loop_of_an_unstable_pole_bounds_the_gain_from_below():
    """L = 3/(s - 1): stable from a gain of 1/3 on, reached at zero frequency."""
    response = FrequencyResponse(np.eye(1), 3.0 * np.eye(1), np.eye(1), None)
    low, high, at = _gain_margin(response, np.geomspace(1e-2, 1e2, 200))
    assert (low, high) == (pytest.approx(1.0 / 3.0, rel=1e-6), math.inf)
    assert at == pytest.approx(1e-4)
    none = _gain_margin(
        FrequencyResponse(-np.eye(1), np.eye(1), np.eye(1), None), np.geomspace(1e-2, 1e2, 99)
    )
    assert none[:2] == (0.0, math.inf)
    assert math.isnan(none[2])


def test_a_scaling_makes_rows_as_large_as_columns():
    M = np.array([[1.0, 100.0], [0.01, 2.0]])
    d = osborne_scaling(M)
    assert d[0] - d[1] == pytest.approx(math.log(0.01))  # both sides come to 1
    assert scaled_norm(M, d) == pytest.approx(np.linalg.norm([[1.0, 1.0], [1.0, 2.0]], 2))
    assert scaled_norm(M, np.zeros(2)) == pytest.approx(np.linalg.norm(M, 2))
    np.testing.assert_array_equal(osborne_scaling(np.diag([3.0, 4.0])), [0.0, 0.0])


def test_a_structured_singular_value_of_one_two_and_rank_one():
    """Of a dyad a b^T it is the sum of |a_i b_i|."""
    assert mu_upper_bound(np.array([[3.0 - 4.0j]])) == 5.0
    a, b = np.array([1.0, 2.0, -1.0j]), np.array([3.0, 0.5j, 0.25])
    assert mu_upper_bound(np.outer(a, b)) == pytest.approx(3.0 + 1.0 + 0.25, rel=1e-5)
    assert mu_upper_bound(np.diag([2.0, 7.0]).astype(complex)) == pytest.approx(7.0)
    assert mu_upper_bound(np.array([[np.inf, 0.0], [0.0, 1.0]], dtype=complex)) == math.inf


# Designs


def test_gains_are_rounded_and_written_to_six_digits():
    assert _round_gains(1234567.0) == 1234570.0
    assert _round_gains((0.12345678, 2.0)) == (0.123457, 2.0)
    assert _gain_text(0.12345678) == "0.123457"
    assert _gain_text((1.0, 2.5)) == "[1, 2.5]"


def test_a_design_comes_as_arguments_of_the_command(plants):
    found = designed(plants.held_mass(1.0, 1.0), ErrorSpec(settling=2.0, damping=0.7))
    assert [text.split("=")[0] for text in found.arguments()] == [
        "controller.feedback.alpha", "controller.feedback.beta",
    ]  # fmt: skip
    alpha, beta = found.gains.values()
    assert alpha / (2.0 * math.sqrt(beta)) == pytest.approx(0.7, rel=1e-5)
    assert (found.terms, found.notes) == (ErrorSpec(settling=2.0, damping=0.7), ())


def test_a_regulator_that_cannot_settle_so_quickly_is_told_how_quick_it_is(plants):
    """A pole that falls over is brought back about a cart no quicker than it would fall."""
    task = plants.scenario(plants.cart_pole(), controller={"kind": "lqr", "q": (0.0, 0.0)})
    with pytest.raises(
        InputError, match=r"settling in 0\.01 s .*: the decay .* at most.* for less"
    ):
        designed(task, ErrorSpec(settling=0.01))


@pytest.mark.parametrize("disk", [-0.1, 2.0])
def test_a_disk_margin_out_of_range_cannot_be_kept(plants, disk):
    with pytest.raises(InputError, match=f"at least 0 and below 2; got {disk:g}"):
        largest_period(plants.held_mass(5.0, 6.0), disk=disk)


SERVO = {"kind": "servo", "feedback": {"kind": "baumgarte", "alpha": 0.5, "beta": 6.0}}


@pytest.mark.parametrize(
    ("plant", "disk", "what"),
    [
        ("cart_pole", 0.0, "stability"),  # the pole falls beside the held cart
        ("cart_pole", 0.1, "a disk margin of 0.1"),
        ("mass", 1.9, "a disk margin of 1.9"),
    ],
)
def test_what_short_periods_do_not_keep_has_no_longest(plants, plant, disk, what):
    scenario = plants.scenario(getattr(plants, plant)(), controller=SERVO)
    says = (
        rf"^the loop must keep {what} at short periods for a longest one to exist; at \S+ s it "
        r"does not\. Change the gains first, or ask for less\.$"
    )
    with pytest.raises(InputError, match=says):
        largest_period(scenario, disk=disk)


# Points and equilibria


def test_a_point_says_where_it_comes_from(plants):
    at_rest = operating_point(plants.scenario(plants.cart_pole()))
    assert at_rest.source == "the start, held at rest"
    np.testing.assert_allclose(at_rest.u, [0.0], atol=1e-12)
    moving = plants.held_mass(5.0, 6.0, start={"v": {"x": 0.2}})
    first = operating_point(moving)
    assert first.source == "the start, with the first input"
    np.testing.assert_allclose(first.u, [-1.0])
    later = operating_point(moving, 0.5)
    assert (later.t, later.source) == (0.5, "the run at t = 0.5 s")
    # x'' + 5 x' + 6 x = 0: x = 0.2 (exp(-2 t) - exp(-3 t)).
    wanted = 0.2 * (math.exp(-1.0) - math.exp(-1.5))
    np.testing.assert_allclose(later.q, [wanted], rtol=1e-6)
    whole = operating_point(moving, 1.0)
    assert whole.t == 1.0


@pytest.mark.parametrize("t", [0.0, -1.0, 1.5])
def test_a_time_outside_of_the_run_is_refused(plants, t):
    with pytest.raises(InputError, match=f"above 0 s and at most 1 s; got {t:g} s"):
        operating_point(plants.held_mass(5.0, 6.0), t)


def test_whole_turns_of_joints_do_not_count_and_metres_do():
    robot = Robot.load("scara")
    off = angle_difference(robot, np.zeros(4), np.array([2.0 * np.pi + 0.1, -7.0, 3.0, 7.0]))
    np.testing.assert_allclose(off, [0.1, 2.0 * np.pi - 7.0, 3.0, 7.0], atol=1e-12)


def look(J, F, along=None):
    J = np.atleast_2d(J)
    n = J.shape[1]
    return _Evaluation(q=np.zeros(n), u=np.zeros(1), F=np.array(F), J=J, unit=np.ones(len(J)),
                 directions=np.eye(n) if along is None else along)  # fmt: skip


def test_a_search_steps_as_newton_does_and_no_farther_than_its_stride():
    from ukctrl.analysis.linear.equilibria import MAX_STEP

    np.testing.assert_allclose(_newton_step(look(np.diag([2.0, 4.0]), [0.2, -0.4])), [-0.1, 0.1])
    far = _newton_step(look(np.diag([1.0, 1.0]), [-1e3, 5e2]))
    np.testing.assert_allclose(far, [MAX_STEP, -0.5 * MAX_STEP])
    np.testing.assert_allclose(_newton_step(look([[1.0, 1.0]], [-0.2])), [0.1, 0.1])  # the smallest
    scaled = look([[1.0]], [-0.2])._replace(unit=np.array([4.0]))
    np.testing.assert_allclose(_newton_step(scaled), [0.05])
    assert _newton_step(look(np.zeros((1, 0)), [1.0], np.zeros((3, 0)))).tolist() == [0.0, 0.0, 0.0]
    assert look([[1.0]], [-0.7]).residual == 0.7


def test_a_robot_that_rests_nowhere_is_told_what_is_left(plants):
    """A mass that a constant force pulls, without and with a row that cannot be met."""
    from ukctrl.robot import Lagrangian

    pulled = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="v.x**2/2 + v.y**2/2",
            potential="2*y",
            inputs={"F": {"x": 1.0}},
        )
    )
    free = plants.scenario(pulled)
    with pytest.raises(InputError) as told:
        equilibria(free, on_task=False, guesses=1, hold=["x"])
    assert "from the start no equilibrium is found" in str(told.value)
    assert str(told.value).endswith(" of the accelerations. Release x.")
    with pytest.raises(InputError, match="from the start and 2 guesses around it no .* Start near"):
        equilibria(free, guesses=3)


# The page


def margins(motor, disk):
    return Margins(motor=motor, gain_low=0.25, gain_high=math.inf, gain_frequency=math.nan,
                   phase=60.0, phase_frequency=12.0, delay=0.0125, disk=disk,
                   disk_frequency=3.0)  # fmt: skip


def test_the_table_of_margins_has_their_units():
    table = linear_page.margin_table([margins("F", 1.0)])
    heads = ["motor", "gain", "phase [deg]", "at [rad/s]", "delay [ms]", "disk margin",
             "its gain", "its phase [deg]"]  # fmt: skip
    assert [column.head for column in table.columns] == heads
    text = str(table.rows)
    for cell in ("'F'", "'0.25 to ∞'", "'60'", "'12'", "'12.5'", "'1'", "'3'", "'53.1'"):
        assert cell in text


def test_the_motors_with_the_least_margins_are_shown_first():
    loop = SimpleNamespace(inputs=tuple("abcdefghij"))
    found = SimpleNamespace(margins=tuple(margins(*one) for one in
                                          (("a", 1.0), ("b", 0.2), ("c", 0.5))))  # fmt: skip
    assert linear_page._worst_motors(found, loop) == [1, 2, 0]
    most = linear_page.linear_figures.MAX_CURVES
    assert linear_page._worst_motors(SimpleNamespace(margins=()), loop) == list(range(most))
    two = SimpleNamespace(inputs=("a", "b"))
    assert linear_page._worst_motors(SimpleNamespace(margins=()), two) == [0, 1]


def test_a_curve_is_the_loop_transfer_function_and_marks_its_crossing(plants):
    """L = (5 s + 6)/s^2."""
    loop = linear_loop(plants.held_mass(5.0, 6.0))
    name, w, values, crossing = linear_page._curve(
        SimpleNamespace(margins=(margins("F", 1.0),)), loop, 0
    )
    assert (name, crossing) == ("F", 12.0)
    np.testing.assert_allclose(values, (5j * w + 6.0) / (1j * w) ** 2, rtol=1e-8)
    assert math.isnan(linear_page._curve(SimpleNamespace(margins=()), loop, 0)[3])


def test_a_root_locus_follows_its_branches(plants):
    """s^2 + k (5 s + 6) = 0 for gains k of the loop, from 0.02 to 50."""
    loop = linear_loop(plants.held_mass(5.0, 6.0))
    locus = linear_page._locus(loop, 0)
    assert locus.name == "F"
    assert (locus.gains[0], locus.gains[-1]) == (pytest.approx(0.02), pytest.approx(50.0))
    assert 1.0 in locus.gains
    for k, poles in zip(locus.gains.tolist(), locus.poles, strict=True):
        np.testing.assert_allclose(poles.sum(), -5.0 * k, rtol=1e-8)
        np.testing.assert_allclose(poles.prod(), 6.0 * k, rtol=1e-8)
    steps = np.abs(np.diff(locus.poles, axis=0))
    swapped = np.abs(locus.poles[1:, ::-1] - locus.poles[:-1])
    assert (steps.sum(axis=1) <= swapped.sum(axis=1) + 1e-9).all()
    np.testing.assert_allclose(sorted(locus.nominal.real), [-3.0, -2.0])


def test_the_contents_of_a_page_are_what_it_has(monkeypatch, plants):
    seen = {}
    monkeypatch.setattr(
        linear_page.html_page, "render", lambda template, context: seen.update(context) or ""
    )
    from ukctrl.analysis.linear import analyze

    timing = {"duration": 1.0, "control": 0.01}
    images = [SimpleNamespace(name="poles", title="Poles and zeros")]
    linear_page._html(analyze(plants.held_mass(5.0, 6.0, timing=timing)), images)
    assert seen["contents"] == [("margins", "Margins"), ("poles", "Poles and zeros"),
                                ("facts", "Facts")]  # fmt: skip
    facts = dict(seen["facts"])
    assert (facts["motors"], facts["rows"]) == ("F", "place")
    assert facts["loop"].endswith("states, held for 0.01 s")
    assert facts["states"] == "x, v.x"
    assert (seen["stability"], seen["level"]) == ("stable", "good")
    assert seen["margins"] is not None
    linear_page._html(analyze(Scenario.load("projectile")), images)
    assert seen["contents"] == [("poles", "Poles and zeros"), ("facts", "Facts")]
    assert (seen["stability"], seen["level"], seen["margins"]) == ("no loop", "note", None)
    assert "loop" not in dict(seen["facts"])
    assert dict(seen["facts"])["rows"] == "none"


# What neither grows nor decays


def test_a_loop_is_on_the_edge_where_another_gain_would_make_its_modes_decay():
    # s^2 + s + k: with k = 0 a mode stays, with any other gain it decays
    A, b, c = np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([0.0, 1.0]), np.array([1.0, 0.0])
    loop = SimpleNamespace(
        period=None, rates=lambda: np.array([0.0, -1.0 + 0j]), broken_at=lambda motor: (A, b, c)
    )
    assert _is_neutral(loop, 0)
    # a mode that the motor does not move stays whatever the gain
    unmoved = SimpleNamespace(
        period=None,
        rates=lambda: np.array([0.0, -1.0 + 0j]),
        broken_at=lambda motor: (np.diag([0.0, -1.0]), b, np.array([1.0, 1.0])),
    )
    assert not _is_neutral(unmoved, 0)


def test_a_search_for_rest_moves_nothing_that_is_held(plants):
    start = {"q": {"x": 0.3, "angle": 0.2}}
    search = _EquilibriumSearch(plants.scenario(plants.cart_pole(), start=start), ["x"], False)
    first, *others = search.guesses(6, seed=3)
    np.testing.assert_array_equal(first, [0.3, 0.2])
    assert [guess[0] for guess in others] == [0.3] * 5
    assert len({guess[1] for guess in others}) == 5


@pytest.mark.slow(only=["scara-helix-pd-gravity-True"])
@pytest.mark.parametrize(
    ("name", "controller", "looped"),
    [
        ("scara-helix", "servo-baumgarte", True),
        ("scara-helix", "pd-gravity", True),
        ("five-bar-drift", None, False),
    ],
)
def test_what_has_a_controller_has_a_loop(name, controller, looped):
    changes = {} if controller is None else {"controller": {"use": controller}}
    found = analyze(Scenario.load(name, changes))
    assert (found.loop is not None) == looped
    assert ("no loop: the scenario has no controller." in found.notes) != looped
