"""Steps of fixed length, their halving and the way over singular positions, by closed forms."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.mechanics.integrate.fixed_step_integrator import FixedStepIntegrator, step_doubling
from ukctrl.mechanics.integrate.fixed_step_kernels import (
    ERROR,
    PATH_LENGTH,
    SPEED_LIMIT,
    add_error_estimate,
    count_step,
)
from ukctrl.mechanics.integrate.integrator import IntegrationFailed, check_bounded, locate_event
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.mechanics.integrate.singularity_crossing import (
    CROSSING_LENGTHS,
    MAX_NAMED,
    MAX_STALLED_STEPS,
    STALL_STEPS,
    TOLERANCE_FACTORS,
    SingularityCrossing,
)

EXACT = {"rtol": 1e-13, "atol": 1e-13}
LINE = np.array([[0, 0, 0, 1]])
PLANE = SimpleNamespace(structure=SimpleNamespace(manifold_table=LINE))


class Oscillator:
    """``a = -4 q + t^3``, and a memory that sums positions."""

    A = np.array([[0.0, 1.0, 0.0], [-4.0, 0.0, 0.0], [1.0, 0.0, 0.0]])

    def __init__(self, power=0.0):
        self.times, self.power = [], power

    def rates(self, t, q, v, memory):
        self.times.append(t)
        return -4.0 * q + self.power * t**3, q.copy()


class Pushed:
    """``a`` as a function of the time alone, and no memory."""

    def __init__(self, push):
        self.push = push

    def rates(self, t, q, v, memory):
        return np.array([self.push(t)]), np.zeros(0)


START = IntegratorState(np.array([0.7]), np.array([-0.2]), np.array([0.1]))
REST = IntegratorState(np.zeros(1), np.zeros(1), np.zeros(0))


def integrator(system, method, step, **options):
    of = OdeSystem.from_function(
        system.rates, PLANE, START if isinstance(system, Oscillator) else REST
    )
    return FixedStepIntegrator(of, method, step, **options)


def test_a_step_of_order_four_is_the_exponential_to_the_fourth_power():
    h = 0.3
    ((_, reached),) = integrator(Oscillator(), "RK4", h).advance(0.0, START, h, [h])
    series = sum(np.linalg.matrix_power(h * Oscillator.A, k) / math.factorial(k) for k in range(5))
    np.testing.assert_allclose(np.concatenate(reached), series @ np.concatenate(START), **EXACT)


def test_a_step_of_order_four_sees_the_time_as_simpsons_rule_does():
    """Which is exact for t^3: the integral over [1, 1.4] by hand."""
    ((_, reached),) = integrator(Pushed(lambda t: t**3), "RK4", 1.0).advance(1.0, REST, 1.4, [1.4])
    np.testing.assert_allclose(reached.v, [(1.4**4 - 1.0) / 4.0], **EXACT)


def test_a_symplectic_step_takes_the_new_velocity_and_the_old_position():
    h, (q, v, m) = 0.3, START
    ((_, reached),) = integrator(Oscillator(), "semi_implicit_euler", h).advance(0.0, START, h, [h])
    new = v - 4.0 * h * q
    np.testing.assert_allclose(np.concatenate(reached), [*(q + h * new), *new, *(m + h * q)])


@pytest.mark.parametrize(
    ("length", "target", "count"),
    [(0.1, 0.3, 3), (0.1, 0.31, 4), (0.1, 0.29, 3), (0.5, 0.3, 1), (0.3 / (1 + 1e-12), 0.3, 1)],
)
def test_steps_are_the_fewest_equal_ones_that_are_short_enough(length, target, count):
    system = Oscillator()
    solver = integrator(system, "semi_implicit_euler", length)
    ((time, _),) = solver.advance(0.0, START, target, [target])
    # A look takes two halves besides: of them those at the beginning of a whole step are dropped.
    begins = sorted(
        {round(t / (target / count)) for t in system.times if _whole(t, target / count)}
    )
    assert (time, begins) == (target, list(range(count)))


def _whole(t, h):
    return abs(t / h - round(t / h)) < 1e-9


def test_every_output_is_a_step_of_its_own():
    outputs = [0.05, 0.2, 0.21]
    solver = integrator(Pushed(lambda t: 2.0), "RK4", 0.1)
    for (time, state), expected in zip(
        solver.advance(0.0, REST, 0.21, outputs), outputs, strict=True
    ):
        assert time == expected
        np.testing.assert_allclose([*state.q, *state.v], [time**2, 2.0 * time], **EXACT)


def test_a_correction_is_what_the_next_step_starts_from():
    solver = integrator(
        Pushed(lambda t: 1.0), "RK4", 0.1, correction=lambda t, q, v: (np.array([t]), 0.0 * v)
    )
    for time, state in solver.advance(0.0, REST, 0.2, [0.1, 0.2]):
        np.testing.assert_array_equal([*state.q, *state.v, *state.memory], [time, 0.0])


def test_a_guard_ends_on_the_far_side_of_its_crossing():
    """q = t^2 passes 0.02 between two outputs, at its root."""
    solver = integrator(Pushed(lambda t: 2.0), "RK4", 0.1)
    found = list(solver.advance(0.0, REST, 0.3, [0.1, 0.2, 0.3], lambda t, s: 0.02 - s.q[0]))
    assert [len(found), found[0][0]] == [2, 0.1]
    end, state = found[-1]
    np.testing.assert_allclose(end, math.sqrt(0.02), rtol=1e-12)
    assert state.q[0] >= 0.02
    np.testing.assert_allclose([*state.q, *state.v], [end**2, 2.0 * end], **EXACT)


@pytest.mark.parametrize("value", [0.0, math.nan, -1.0])
def test_a_guard_that_is_not_positive_at_an_output_ends_there(value):
    def guard(t, state):
        return 1.0 if t < 0.1 else value

    found = list(
        integrator(Pushed(lambda t: 2.0), "RK4", 0.1).advance(0.0, REST, 0.2, [0.1, 0.2], guard)
    )
    assert len(found) == 1
    np.testing.assert_allclose(found[0][0], 0.1, rtol=1e-12)


def test_a_crossing_is_found_to_a_fraction_of_its_step_or_to_rounding():
    def at(t):
        return IntegratorState(np.array([t]), np.zeros(1), np.zeros(0))

    found = locate_event(lambda t, s: 2.0 - t * s.q[0], at, 1.0, 2.0)
    assert 0.0 <= found - math.sqrt(2.0) <= 1e-13
    # Far from zero there is no middle between neighbours: the later of the two.
    far = np.nextafter(1e9, 2e9)
    assert locate_event(lambda t, s: 1e9 + 1e-9 - t, at, 1e9, far) == far
    assert locate_event(lambda t, s: -1.0, at, 3.0, 3.0) == 3.0


@pytest.mark.parametrize(
    ("q", "v", "memory"),
    [
        (0.0, SPEED_LIMIT, 0.0), (0.0, -SPEED_LIMIT, 0.0), (0.0, math.nan, 0.0),
        (math.inf, 0.0, 0.0), (math.nan, 0.0, 0.0), (0.0, 0.0, math.nan), (0.0, 0.0, -math.inf),
    ],
)  # fmt: skip
def test_a_state_that_is_not_finite_or_too_fast_ends_a_run(q, v, memory):
    check_bounded(
        1.0, IntegratorState(np.array([1e300, 0.0]), np.array([0.99e5]), np.array([-1e300]))
    )
    state = IntegratorState(np.array([0.0, q]), np.array([0.0, v]), np.array([0.0, memory]))
    with pytest.raises(IntegrationFailed) as caught:
        check_bounded(1.5, state)
    speed = "nan" if math.isnan(v) else f"{abs(v):.1e}"
    assert str(caught.value) == f"the motion grew without bound: speed {speed} at t = 1.5 s."


def looked_at(order, before, halved, after):
    """Return the path and the error of one step, which stands for itself."""
    found = step_doubling(order, 1, 1, 0)
    assert count_step(found)
    found.v_old[:], found.v[:] = before, halved
    add_error_estimate(found, np.array([after]))
    return found.sums[PATH_LENGTH], found.sums[ERROR]


@pytest.mark.parametrize(("order", "factor"), [(1, 2.0), (4, 16.0 / 15.0)])
def test_halving_gives_richardsons_estimate(order, factor):
    path, error = looked_at(order, 0.3, 0.52, 0.5)
    np.testing.assert_allclose([path, error], [0.2, factor * 0.02], **EXACT)


def test_the_halved_steps_of_a_run_are_steps_of_its_method():
    """Of a = t over [2, 2.1], the two halves differ from the whole step by h^2/4."""
    solver, h = integrator(Pushed(lambda t: t), "semi_implicit_euler", 0.1), 0.1
    list(solver.advance(2.0, REST, 2.1, [2.1]))
    error, path = solver.step_doubling_error
    np.testing.assert_allclose(error, 2.0 * h**2 / 4.0, **EXACT)
    np.testing.assert_allclose(path, 2.0 * h, **EXACT)


def test_a_long_run_is_looked_at_some_hundred_times_and_counted_whole():
    asked, h, count = [], 1e-3, 4000

    def push(t):
        asked.append(t)
        return 1.0 + t

    solver = integrator(Pushed(push), "semi_implicit_euler", h)
    *_, (_, reached) = solver.advance(0.0, REST, h * count, [h * count])
    assert 51 < (len(asked) - count) / 2 < 300
    error, path = solver.step_doubling_error
    np.testing.assert_allclose(path, reached.v[0], rtol=0.03)
    np.testing.assert_allclose(error, 0.5 * h**2 * count, rtol=0.03)
    begins = [round(t / h, 3) for t in asked[:9]]
    assert begins == [0.0, 0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 2.5]  # all of the first


def test_what_a_halved_step_meets_on_its_way_ends_no_run():
    def push(t):
        if t == 0.05:
            raise ZeroDivisionError
        return 1.0

    solver = integrator(Pushed(push), "semi_implicit_euler", 0.1)
    ((_, reached),) = solver.advance(0.0, REST, 0.1, [0.1])
    np.testing.assert_allclose(reached.v, 0.1, **EXACT)
    assert solver.step_doubling_error == (0.0, 0.0)
    assert solver.system.steps.take_fault() is None


@pytest.mark.parametrize(
    ("halved", "after", "path", "error"),
    [
        (1.0, 1.0, 1.0, 0.0),  # nothing changes
        (1.0 + 1e-13, 1.0, 1.0, 0.0),  # but for rounding
        (1.0 + 1e-11, 1.0, 1.0, 1e-11 * 16.0 / 15.0),
        (math.nan, 1.0, 0.0, 0.0),
        (math.inf, 1.0, 0.0, 0.0),
    ],
)
def test_rounding_and_what_is_not_finite_is_no_error(halved, after, path, error):
    np.testing.assert_allclose(looked_at(4, 0.0, halved, after), [path, error], rtol=1e-4)


def test_a_velocity_that_changes_by_rounding_alone_has_no_path():
    assert looked_at(4, 1.0, 1.0 + 5e-14, 1.0 + 1e-13)[0] == 0.0


class Steps:
    """A solver that takes steps of given lengths."""

    def __init__(self, lengths, t=0.0):
        self.lengths, self.t = list(lengths), t
        self.status, self.y = "running", np.array([t])

    def step(self):
        self.t_old, self.y_old = self.t, self.y
        self.t += self.lengths.pop(0)
        self.y = np.array([self.t])


def watched(lengths, begin, stop=10.0, longest=1.0, last="running", names=("a",)):
    """Watch steps; return the watcher's last answer, and which step it was."""
    over = SingularityCrossing(begin, lambda t, y: y + 100.0, names, stop, longest)
    solver = Steps(lengths)
    for number in range(1, len(lengths) + 1):
        solver.step()
        if number == len(lengths):
            solver.status = last
        answer, crossed = over.check_step(solver)
        if crossed:
            return number, answer
        assert answer is solver
    return None, solver


def tries(succeeds=lambda t, h, looser: True):
    """A `Begin` that keeps what it was asked for."""
    asked = []

    def begin(t, y, h, looser):
        asked.append((t, float(y[0]), h, looser))
        done = succeeds(t, h, looser)
        return SimpleNamespace(status="running" if done else "failed", t=t + h)

    return asked, begin


CRAWL = [0.1, 0.4, *[1e-5] * (STALL_STEPS + 5)]


def test_a_crawl_is_crossed_from_the_last_long_step_moved_onto_the_closures():
    asked, begin = tries()
    number, solver = watched(CRAWL, begin)
    assert number == 2 + STALL_STEPS
    # From where the crawl began, the end of the long step, with a fifth of its length: 0.08.
    (first, *others) = asked
    np.testing.assert_allclose(first, [0.5, 100.5, 0.2 * 0.4, 1.0])
    assert not others
    assert solver.t == pytest.approx(0.58)


def test_one_short_step_less_is_no_crawl():
    asked, begin = tries()
    assert watched([*CRAWL[: 1 + STALL_STEPS], 0.4, *CRAWL[2 : 1 + STALL_STEPS]], begin)[0] is None
    assert not asked


def test_a_step_just_short_enough_counts():
    lengths = [1.0, *[0.999e-3] * STALL_STEPS]
    assert watched(lengths, tries()[1])[0] == 1 + STALL_STEPS
    assert watched([1.0, *[1.001e-3] * STALL_STEPS], tries()[1])[0] is None


def test_a_failure_is_crossed_at_once_from_the_step_before():
    asked, begin = tries()
    number, solver = watched([0.1, 0.4, 0.0], begin, last="failed")
    assert number == 3
    ((t, y, h, looser),) = asked
    np.testing.assert_allclose([t, y, looser], [0.1, 100.1, 1.0])
    assert h == min(0.4 * length for length in CROSSING_LENGTHS if 0.9 * 0.4 * length > 0.4)
    assert solver.t > 0.5


def test_a_first_step_that_fails_has_nothing_to_go_back_to():
    assert watched([0.0], tries()[1], last="failed")[0] is None


def test_longer_and_looser_steps_are_tried_until_one_passes():
    wanted = CROSSING_LENGTHS[4] * 0.4
    asked, begin = tries(
        lambda t, h, looser: looser == TOLERANCE_FACTORS[2] and h >= wanted * (1 - 1e-12)
    )
    number, _ = watched(CRAWL, begin)
    assert number == 2 + STALL_STEPS
    assert [looser for *_, looser in asked] == sorted(looser for *_, looser in asked)
    t, y, h, looser = asked[-1]
    np.testing.assert_allclose([t, y, h, looser], [0.5, 100.5, wanted, TOLERANCE_FACTORS[2]])
    # Both ends of the long step are tried, its far end first, and no step that ends before 0.5.
    assert [t for t, *_ in asked[: len(CROSSING_LENGTHS)]] == pytest.approx(
        [0.5] * len(CROSSING_LENGTHS)
    )
    assert asked[len(CROSSING_LENGTHS)][0] == pytest.approx(0.1)
    assert all(t + 0.9 * h > 0.5 for t, _, h, _ in asked)


def test_no_step_across_reaches_the_end_or_is_longer_than_allowed():
    asked, begin = tries(lambda *_: False)
    watched(CRAWL, begin, stop=0.9, longest=0.35)
    assert asked
    assert max(h for _, _, h, _ in asked) == 0.35
    assert all(t + h < 0.9 for t, _, h, _ in asked)


def test_a_solver_that_shortened_its_step_has_not_crossed():
    def begin(t, y, h, looser):
        return SimpleNamespace(status="running", t=t + 0.9 * h)

    assert watched(CRAWL, begin)[0] is None


def test_a_way_that_was_not_found_is_not_looked_for_again_until_a_long_step():
    asked, begin = tries(lambda *_: False)
    watched(CRAWL, begin)
    once = len(asked)
    watched([*CRAWL, *CRAWL[2:]], begin)
    assert len(asked) == 2 * once
    watched([*CRAWL, *CRAWL[1:]], begin)
    assert len(asked) > 3 * once


@pytest.mark.parametrize("count", [1, MAX_NAMED, MAX_NAMED + 1])
def test_a_run_that_hardly_moves_on_says_where(count):
    names = tuple(f"x{k}" for k in range(count))
    over = SingularityCrossing(lambda *_: None, lambda t, y: y, names, 10.0, 1.0)
    solver = Steps([0.99e-7] * MAX_STALLED_STEPS)
    for _ in range(MAX_STALLED_STEPS - 1):
        solver.step()
        over.check_step(solver)
    solver.step()
    solver.y = np.full(count, 0.25)
    with pytest.raises(IntegrationFailed) as caught:
        over.check_step(solver)
    place = ", ".join(f"x{k} = 0.25" for k in range(min(count, MAX_NAMED)))
    assert str(caught.value) == (
        f"the integrator is down to steps of 1e-07 s at t = {solver.t:.9g} s, and took "
        f"{MAX_STALLED_STEPS} of them, near a singular position of the closures, {place}"
        f"{', ...' if count > MAX_NAMED else ''}, which no longer step crosses within its "
        "tolerance. Use method = 'RK4' with step = 1e-3 and stabilisation.kind = 'projection', or "
        "start elsewhere."
    )


def test_steps_just_long_enough_go_on():
    over = SingularityCrossing(lambda *_: None, lambda t, y: y, ("a",), 10.0, 1.0)
    solver = Steps([1.01e-7] * (MAX_STALLED_STEPS + 1))
    for _ in range(MAX_STALLED_STEPS + 1):
        solver.step()
        assert over.check_step(solver) == (solver, False)
