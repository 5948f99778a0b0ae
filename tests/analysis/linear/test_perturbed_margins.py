"""Every margin beside the loop itself, perturbed by just less and just more than that.

A loop with a hold is carried over one tick from event to event, each input changing when it
arrives; nothing of how the margins are worked out has a part in it.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import block_diag, expm, solve_discrete_are
from scipy.optimize import minimize

from tests.shared.slow import slow_but
from ukctrl import Scenario
from ukctrl.analysis.linear import (
    LinearLoop,
    analyze,
    disk_margin,
    linear_loop,
    margins_at,
    operating_point,
)
from ukctrl.analysis.linear.linear_loop import loop_growth_rate, neutral_count
from ukctrl.analysis.linear.sampled_systems import LinearSystem
from ukctrl.core.files import catalog

LESS, MORE = 0.99, 1.01
SHARES = np.append(np.linspace(0.0, LESS, 25), LESS)
"""Of a margin, at which a loop must be stable."""
BEYOND = (1.0001, 1.001, 1.003, MORE)
"""Of a delay, at one of which it must be lost; longer ones may be stood again."""
HELD = ("panda-elastic", "panda-pose-sampled", "scara-helix-bench")
NO_LOOP = {
    "five-bar",
    "five-bar-drift",
    "five-bar-relative",
    "n-four-bar",
    "projectile",
    "projectile-polar",
    "scara-pick-and-place",
    "swarm-many",
    "two-mass-spring-far",
}
UNSTABLE = {
    "acrobot-swing-up",
    "cart-pole-swing-up",
    "furuta-swing-up",
    "pendubot-swing-up",
    "quadrotor-attitude",
    "quadrotor-upside-down",
    "scara-helix-drift",
    "swarm",
}
EVERY = sorted(set(catalog.names("scenarios")) - NO_LOOP - UNSTABLE)


def held(A, B, time):
    """Return how states and held inputs act after a time."""
    n, m = B.shape
    step = expm(time * np.block([[A, B], [np.zeros((m, n + m))]]))
    return step[:n, :n], step[:n, n:]


def over_a_tick(loop, delays, gains):
    """Return the matrix of the closed loop from one tick to the next, event by event."""
    A, B, T, law = loop.plant.A, loop.plant.B, loop.period, loop.commands
    n, memory = len(A), len(law.A)
    late = [divmod(delay, T) for delay in delays]
    past = [int(ticks) + (part > 0.0) for ticks, part in late]  # of every motor what still waits
    start = np.eye(n + memory + sum(past), dtype=complex)
    x, m, *waiting = np.split(start, np.cumsum([n, memory, *past[:-1]]))
    told = gains[:, None] * (law.C @ m + law.D @ x)
    commands = [np.vstack(each) for each in zip(told, waiting, strict=True)]
    instants = sorted({0.0, T, *(part for _, part in late)})
    moved = x
    for begin, end in itertools.pairwise(instants):
        applied = [
            each[int(ticks) + (begin < part)]
            for each, (ticks, part) in zip(commands, late, strict=True)
        ]
        step, effect = held(A, B, end - begin)
        moved = step @ moved + effect @ np.array(applied)
    kept = [each[:-1] for each in commands]
    return np.vstack([moved, law.A @ m + law.B @ x, *kept])


class Perturbed:
    """A loop with something else at one motor."""

    def __init__(self, loop, motor):
        self.loop, self.motor = loop, motor
        self.idle = neutral_count(loop.rates())

    def size(self, factor=1.0, delay=0.0):
        """Return the growth of the loop [1/s]: below zero where it is stable."""
        loop = self.loop
        gains = np.ones(len(loop.inputs), dtype=complex)
        gains[self.motor] = factor
        if loop.period is None:
            poles = np.linalg.eigvals(loop.A + (loop.B * gains) @ loop.C)
            distance = np.abs(poles)
        else:
            delays = list(loop.delays)
            delays[self.motor] += delay
            poles = np.linalg.eigvals(over_a_tick(loop, delays, gains))
            distance = np.abs(poles - 1.0)
            poles = (np.abs(poles) - 1.0) / loop.period
        rest = np.argsort(distance)[self.idle :]  # what nothing pulls back, nothing does here
        return poles.real[rest].max()

    def turns(self, delay):
        """Return how many pairs of poles a delay without a hold makes unstable."""
        loop = self.loop
        A, b, c = loop.broken_at(self.motor)
        poles = np.concatenate([np.linalg.eigvals(A), loop.poles()])
        poles = poles[np.abs(poles) > 1e-7 * np.abs(poles).max()]
        sizes = np.abs(poles)
        near = [
            p.imag + max(abs(p.real), 1e-6 * abs(p)) * np.linspace(-5.0, 5.0, 200)
            for p in poles
            if p.imag > 0.0
        ]
        top = 1e3 * sizes.max()
        grid = np.concatenate([np.geomspace(1e-4 * sizes.min(), top, 40_000), *near])
        grid = np.sort(grid[(grid > 0.0) & (grid < top)])
        one = np.eye(len(A))
        L = (np.linalg.solve(1j * grid[:, None, None] * one - A, b[:, None])[..., 0]) @ c
        # The argument of this, which is one at both ends, counts them.
        curve = (1.0 + L * np.exp(-1j * grid * delay)) / (1.0 + L)
        return -np.angle(curve[1:] / curve[:-1]).sum() / np.pi / 2.0


def factor_of_disk(delta):
    """Return the factor of gain and phase at a place of the disk."""
    return (1.0 + delta / 2.0) / (1.0 - delta / 2.0)


def check_gain(loop, found):
    for limit, far in ((found.gain_low, 1e-6), (found.gain_high, 1e4)):
        there = limit if 1e-9 < limit < np.inf else far
        for share in SHARES:
            assert loop.size(1.0 + share * (there - 1.0)) < 0.0
        assert there == far or loop.size(1.0 + MORE * (limit - 1.0)) > 0.0


def check_phase(loop, found):
    turn = np.radians(found.phase if np.isfinite(found.phase) else 180.0)
    for share in SHARES:
        assert max(loop.size(np.exp(1j * s * share * turn)) for s in (1.0, -1.0)) < 0.0
    if np.isfinite(found.phase):
        assert max(loop.size(np.exp(1j * s * MORE * turn)) for s in (1.0, -1.0)) > 0.0


def check_disk(loop, found):
    A, b, c = loop.loop.broken_at(loop.motor)
    period, w = loop.loop.period, found.disk_frequency
    p = 1j * w if period is None else np.exp(1j * w * period)
    lost = -1.0 / (c @ np.linalg.solve(p * np.eye(len(A)) - A, b))  # at this factor 1 + f L = 0
    delta = 2.0 * (lost - 1.0) / (lost + 1.0)
    np.testing.assert_allclose(abs(delta), found.disk, rtol=1e-5)
    for turn in np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 24)):
        assert loop.size(factor_of_disk(LESS * found.disk * turn)) < 0.0
    if found.disk < 2.0 / MORE:  # beyond, gains are negative
        assert loop.size(factor_of_disk(MORE * delta)) > 0.0


def check_delay(loop, found):
    if loop.loop.period is None:
        if np.isfinite(found.delay):
            assert abs(loop.turns(LESS * found.delay)) < 0.1
            assert max(loop.turns(more * found.delay) for more in BEYOND) > 0.4
        return
    ticks = found.delay / loop.loop.period if np.isfinite(found.delay) else 12.0
    longest = ticks * loop.loop.period
    fewer = 1 + int(ticks / 100.0)  # every tick that waits is a state, and some wait 1,300
    shares = np.append(SHARES, np.linspace(0.0, LESS, 97))
    for share in np.append(shares[::fewer], LESS):
        assert loop.size(delay=share * longest) < 0.0
    if np.isfinite(found.delay):
        assert max(loop.size(delay=more * longest) for more in BEYOND) > 0.0


def check_all(loop, motor):
    """Put every margin at one motor to the test."""
    found, perturbed = margins_at(loop, motor), Perturbed(loop, motor)
    if found.disk == 0.0:  # the loop is at its limit already
        assert (found.gain_low, found.gain_high, found.phase, found.delay) == (1.0, 1.0, 0.0, 0.0)
        perturbed.idle = 0
        grown = [perturbed.size(factor_of_disk(0.1 * 1j**k)) for k in range(4)]
        assert max(grown) > 1e-3 + 2.0 * abs(perturbed.size())
        return found
    for check in (check_gain, check_phase, check_disk, check_delay):
        check(perturbed, found)
    return found


def draw_plant(rng, T):
    """Draw slow and quick modes, up to the rate of the hold: damped, undamped, growing, at rest."""
    modes = []
    for _ in range(rng.integers(1, 5)):
        w = np.exp(rng.uniform(np.log(1e-2), np.log(6.0))) / T
        damping = 10.0 ** rng.uniform(-3.0, -0.3)
        mode = [
            [[-w * rng.uniform(0.05, 1.0)]],
            [[0.0, 1.0], [0.0, 0.0]],
            [[0.0, w], [-w, -2.0 * damping * w]],
            [[rng.uniform(0.0, 0.3) / T]],
            [[0.0, 0.3 / T], [rng.uniform(0.0, 0.15) / T, -0.1 / T]],
        ]
        modes.append(mode[rng.integers(len(mode))])
    A = block_diag(*modes)
    mix = rng.standard_normal(A.shape)
    return mix @ A @ np.linalg.inv(mix), rng.standard_normal((len(A), rng.integers(1, 4))) / T


def without_memory(K):
    """Return a law that feeds back the plant's states, and remembers nothing."""
    nu, n = K.shape
    return LinearSystem(np.zeros((0, 0)), np.zeros((0, n)), np.zeros((nu, 0)), K, ())


def joined(A, B, period, delay, law):
    """Return the loop of a plant and a law."""
    n, nu = B.shape
    linear = SimpleNamespace(poles=lambda: np.linalg.eigvals(A))
    names = tuple(f"u{k}" for k in range(nu))
    plant = SimpleNamespace(A=A, B=B, states=("",) * n, inputs=names, linear=linear)
    return LinearLoop(plant=plant, period=period, delays=(delay,) * nu, commands=law, notes=())


def draw_loop(rng, held_loop=True):
    """Draw a stable loop: a regulator that is too strong or too weak, filters and delays."""
    while True:
        T = 10.0 ** rng.uniform(-3.0, 0.0)
        A, B = draw_plant(rng, T)
        (n, nu), period = B.shape, T if held_loop else 1e-3 * T
        F, G = held(A, B, period)
        try:
            X = solve_discrete_are(F, G, np.eye(n), 10.0 ** rng.uniform(-3.0, 3.0) * np.eye(nu))
        except ValueError:
            continue
        weight = 10.0 ** rng.uniform(-3.0, 3.0) * np.eye(nu)
        K = -np.linalg.solve(weight + G.T @ X @ G, G.T @ X @ F) * 10.0 ** rng.uniform(-0.5, 0.3)
        a, law = rng.uniform(0.0, 0.8), without_memory(K)
        if rng.random() < 0.4 and held_loop:
            law = LinearSystem(
                a * np.eye(n), (1.0 - a) * np.eye(n), a * K, (1.0 - a) * K, ("",) * n
            )
        late = rng.choice([0.0, 0.0, rng.uniform(0.0, 1.0), 1.0, rng.uniform(0.0, 3.0)])
        loop = joined(A, B, T, late * T, law) if held_loop else joined(A, B, None, 0.0, law)
        if Perturbed(loop, 0).size() < -1e-3 / T:
            return loop


SEEDS = slow_but(range(20), range(200))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_loop_with_a_hold_is_stable_just_before_each_margin_and_lost_just_after(seed):
    loop = draw_loop(np.random.default_rng(seed))
    check_all(loop, seed % len(loop.inputs))


@pytest.mark.slow(only=["0", "4", "12", "16"])
@pytest.mark.parametrize("seed", SEEDS[:20:2] + SEEDS[20:])
def test_a_drawn_loop_without_a_hold_is_stable_just_before_each_margin_and_lost_just_after(seed):
    loop = draw_loop(np.random.default_rng(seed), held_loop=False)
    check_all(loop, seed % len(loop.inputs))


@pytest.mark.parametrize(("period", "alpha", "beta"), [(0.01, 88.0, 14800.0), (0.02, 60.0, 900.0)])
def test_the_delay_of_a_held_mass_is_that_at_which_its_ticks_lose_it(plants, period, alpha, beta):
    timing = {"duration": 1.0, "control": period}
    loop = linear_loop(plants.held_mass(alpha, beta, timing=timing))
    check_all(loop, 0)


@pytest.mark.parametrize("quick", [1e3, 1e5, 1e6])
def test_a_quick_drive_before_a_slow_loop_does_not_hide_its_margins(quick):
    # L = (s + 1/2)/(2 s^2) but for the drive: |L| = 1 where w^4 = w^2/4 + 1/16
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -quick]])
    B, K = np.array([[0.0], [0.0], [quick]]), np.array([[-0.25, -0.5, 0.0]])
    loop = joined(A, B, None, 0.0, without_memory(K))
    found = check_all(loop, 0)
    w = np.sqrt((0.25 + np.sqrt(0.0625 + 0.25)) / 2.0)
    np.testing.assert_allclose(found.phase_frequency, w, rtol=2.0 / quick)
    np.testing.assert_allclose(found.delay, np.arctan2(w, 0.5) / w - 1.0 / quick, rtol=2.0 / quick)
    assert loop_growth_rate(loop) < 0.0


@pytest.mark.slow
def test_modes_that_no_motor_moves_do_not_hide_how_little_gain_is_enough():
    loop = linear_loop(Scenario.load("mobile-manipulator"))
    for name in ("arm_shoulder_lift", "left_drive"):
        found = check_all(loop, loop.inputs.index(name))
        assert found.gain_low > 0.0


@pytest.mark.parametrize("name", ["two-mass-spring", "flexible-joint-arm-links"])
def test_a_motor_at_which_a_loop_is_neutral_has_no_margin(name):
    found = analyze(Scenario.load(name))
    for motor, margins in enumerate(found.margins):
        assert check_all(found.loop, motor).disk == margins.disk == 0.0
    assert (found.stability, found.disk) == ("neutral", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coordinated-arms", "panda-elastic", "scara-helix-bench"])
def test_all_motors_at_once_stand_every_factor_of_their_disk_and_not_much_more(name):
    loop = linear_loop(Scenario.load(name))
    alpha, w = disk_margin(loop)
    nu, rng = len(loop.inputs), np.random.default_rng(0)
    p = 1j * w if loop.period is None else np.exp(1j * w * loop.period)
    # (S - T)/2 from the closed loop: the open one is infinite where its plant swings undamped
    M = 0.5 * np.eye(nu) + loop.C @ np.linalg.solve(p * np.eye(len(loop.A)) - loop.closed, loop.B)

    def largest(turns):
        values = np.linalg.eigvals(np.exp(1j * turns)[:, None] * M)
        return values[np.abs(values).argmax()]

    def grows(delta):
        poles = np.linalg.eigvals(loop.A + (loop.B * factor_of_disk(delta)) @ loop.C)
        return (poles.real if loop.period is None else np.abs(poles) - 1.0).max() > 0.0

    draws = [rng.uniform(0.0, 2.0 * np.pi, nu) for _ in range(200)]
    assert not any(grows(LESS * alpha * np.exp(1j * turns)) for turns in draws)
    tries = [minimize(lambda turns: -abs(largest(turns)), turns).x for turns in draws[:4]]
    worst = max(tries, key=lambda turns: abs(largest(turns)))
    lost = np.exp(1j * worst) / largest(worst)  # at these factors a pole is at w
    assert alpha * (1.0 - 1e-6) < np.abs(lost).max() < 1.01 * alpha
    assert grows(MORE * lost)
    assert not grows(LESS * lost)


@pytest.mark.slow
@pytest.mark.parametrize("name", [HELD[0], pytest.param(HELD[1], marks=pytest.mark.slow), HELD[2]])
def test_held_scenarios_are_stable_just_before_each_margin_and_lost_just_after(name):
    loop = linear_loop(Scenario.load(name))
    for motor in (0, len(loop.inputs) - 1):
        check_all(loop, motor)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_each_motor_of_the_catalogue_is_stable_just_before_each_margin_and_lost_just_after(name):
    loop = linear_loop(Scenario.load(name))
    for motor in range(len(loop.inputs)):
        check_all(loop, motor)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*EVERY} - {*HELD, "log-spiral-particle-polar"}))
def test_a_hold_put_into_the_catalogue_loses_each_loop_where_the_margins_say(name):
    scenario = Scenario.load(name)
    point = operating_point(scenario, "start")
    loops = (linear_loop(scenario, point, period=T) for T in (2e-2, 5e-3, 1e-3, 2e-4))
    loop = next(loop for loop in loops if loop_growth_rate(loop) <= 0.0)
    for motor in range(len(loop.inputs)):
        check_all(loop, motor)


def test_every_scenario_is_put_to_the_test_or_has_no_margins():
    assert set(catalog.names("scenarios")) >= NO_LOOP | UNSTABLE
