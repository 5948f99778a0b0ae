"""Sensors and drives as steps of a table, against their formulas in NumPy; compiled and not."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from ukctrl import Robot, Scenario
from ukctrl.core.errors import NotFinite
from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.robot import JointMotor
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.right_hand_side import accepted_input, applied_input
from ukctrl.simulation.effects import (
    Bias,
    DeadZone,
    Differentiation,
    Drive,
    EncoderPlay,
    InputDelay,
    InputEffect,
    MeasurementDelay,
    Noise,
    Quantisation,
    RateLimit,
    RunContext,
    Saturation,
    Sensor,
    SensorEffect,
)
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.effects.effect import effect_rng
from ukctrl.simulation.effects.sensors import NOISE_BLOCK
from ukctrl.simulation.events.input_delay import InputDelayLine
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.step.stepper import Stepper

TURN = {"rtol": 0.0, "atol": 1e-12}  # angles through cosine, sine and back; lengths of order one
SUMS = {"rtol": 1e-13, "atol": 1e-13}  # products of few factors, in another order
PERIOD = 1e-3
ARM = Robot.load("floating_arm")
"""Joints of every kind that sensors tell apart: a free base, two angles, one without end."""


def bench(robot):
    return RunContext(robot, 0.0, 10.0, PERIOD)


def states(robot, count):
    """Yield a motion that turns around and stands still now and then."""
    rng = np.random.default_rng(5)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    for k in range(count):
        if k % 7 == 0:
            v = rng.standard_normal(robot.nv) * rng.integers(0, 2, robot.nv)
        q = robot.integrate(q, PERIOD * v)
        yield (k + 0.3 * math.sin(k)) * PERIOD, q, v


def by_steps(effects, robot, motion, seed=3):
    """Return what a table of steps reads of a motion."""
    clock, q, v = np.zeros(1), np.zeros(robot.nq), np.zeros(robot.nv)
    q_read, v_read, steps = AttachedEffects(effects, bench(robot), seed).sensor_steps(clock, q, v)
    table, read = KernelSequence(steps), []
    assert table.python_owners == ()
    for t, at_q, at_v in motion:
        clock[0], q[:], v[:] = t, at_q, at_v
        table()
        read.append((q_read.copy(), v_read.copy()))
    return read


def noisy(motion, robot, std, v_std):
    of_q, of_v = effect_rng(3, "noise").spawn(2)
    for _, q, v in motion:
        off, off_v = (stream.standard_normal(robot.nv) for stream in (of_q, of_v))
        yield robot.integrate(q, std * off), v + v_std * off_v


def rounded(motion, step):
    for _, q, v in motion:
        read = q.copy()
        read[7:9] = step * np.round(q[7:9] / step)
        angle = step * np.round(np.arctan2(q[10], q[9]) / step)
        read[9:] = np.cos(angle), np.sin(angle)
        yield read, v


def differentiated(motion, robot, cutoff):
    before = None
    for t, q, v in motion:
        y = v
        if before is not None:
            raw = robot.difference(before[1], q) / (t - before[0])
            share = 1.0 - np.exp(-math.tau * cutoff * (t - before[0]))
            y = before[2] + share * (raw - before[2])
        before = t, q, y
        yield q, y


def delayed(motion, ticks):
    return [motion[max(0, k - ticks)][1:] for k in range(len(motion))]


def loose(motion, robot, gap):
    """The reading is what a slot of this width pushes along, by the sum of all steps."""
    joints, before, place, slot = slice(6, 9), None, np.zeros(3), np.zeros(3)
    for _, q, v in motion:
        if before is not None:
            place = place + robot.difference(before, q)[joints]
        before = q
        moved = np.minimum(np.maximum(slot, place - gap / 2), place + gap / 2)
        stays = np.abs(slot - place) < gap / 2
        slot, off, v_read = moved, np.zeros(robot.nv), v.copy()
        off[joints], v_read[joints] = slot - place, np.where(stays, 0.0, v[joints])
        yield robot.integrate(q, off), v_read


STD, V_STD = np.linspace(1e-4, 9e-4, 9), np.linspace(0.1, 0.9, 9)
SENSORS = {
    "noise": (
        Noise(
            std=dict(zip(ARM.dofs, STD.tolist(), strict=True)),
            v_std=dict(zip(ARM.dofs, V_STD.tolist(), strict=True)),
        ),
        lambda motion: noisy(motion, ARM, STD, V_STD),
    ),
    "bias": (
        Bias(offset=0.01, v_offset=0.3),
        lambda motion: [(ARM.integrate(q, np.full(9, 0.01)), v + 0.3) for _, q, v in motion],
    ),
    "quantisation": (Quantisation(step=0.01), lambda motion: rounded(motion, 0.01)),
    "differentiation": (
        Differentiation(cutoff=30.0),
        lambda motion: differentiated(motion, ARM, 30.0),
    ),
    "plain differentiation": (
        Differentiation(),
        lambda motion: differentiated(motion, ARM, np.inf),
    ),
    "delay": (MeasurementDelay(ticks=3), lambda motion: delayed(motion, 3)),
    "play": (EncoderPlay(gap=2e-3), lambda motion: loose(motion, ARM, 2e-3)),
}


@pytest.mark.parametrize("name", SENSORS)
def test_the_steps_of_a_sensor_read_what_its_formula_says(name):
    effect, formula = SENSORS[name]
    motion = list(states(ARM, 2 * NOISE_BLOCK + 30 if name == "noise" else 60))
    read = by_steps((effect,), ARM, motion)
    expected = list(formula(motion))
    moved = max(np.abs(v - was).max() for (_, v), (_, _, was) in zip(expected, motion, strict=True))
    turned = max(
        np.abs(q - was).max() for (q, _), (_, was, _) in zip(expected, motion, strict=True)
    )
    assert max(moved, turned) > 1e-3  # the formula does something
    scale = 1.0 / PERIOD if "differentiation" in name else 1.0  # of a rounding in an angle
    for (q, v), (q_expected, v_expected) in zip(read, expected, strict=True):
        np.testing.assert_allclose(q, q_expected, **TURN)
        np.testing.assert_allclose(v, v_expected, rtol=0.0, atol=1e-12 * scale)


def test_noise_has_the_numbers_that_a_tick_at_a_time_would_have_drawn():
    robot, std = Robot.load("two_link"), 1e-3
    motion = [(k * PERIOD, np.zeros(2), np.zeros(2)) for k in range(2 * NOISE_BLOCK + 10)]
    read = by_steps((Noise(std=std, v_std=2.0 * std),), robot, motion)
    of_q, of_v = effect_rng(3, "noise").spawn(2)
    for q, v in read:
        np.testing.assert_array_equal(q, std * of_q.standard_normal(2))
        np.testing.assert_array_equal(v, 2.0 * std * of_v.standard_normal(2))


def test_sensors_in_a_row_read_what_the_one_before_has_read():
    every = tuple(effect for name, (effect, _) in SENSORS.items() if name != "differentiation")
    motion = list(states(ARM, 40))
    read = by_steps(every, ARM, motion)
    q_v = [state[1:] for state in motion]
    for effect in every:
        turn = [(t, *state) for (t, _, _), state in zip(motion, q_v, strict=True)]
        q_v = by_steps((effect,), ARM, turn)
    np.testing.assert_array_equal(np.array([*map(np.hstack, read)]), [*map(np.hstack, q_v)])


MOTORS = [
    JointMotor(joint="shoulder", limit=8.0, corner_speed=2.0, no_load_speed=6.0),
    JointMotor(joint="elbow", limit=(-3.0, 5.0)),
]


@pytest.fixture(scope="module")
def driven():
    return Robot.load("two_link", override={"actuator": MOTORS})


def ask(effects, robot, way, commands):
    """Return what a table of steps makes of commands, each with a time and rates."""
    clock, u, rate = np.zeros(1), np.zeros(robot.nu), np.zeros(robot.nu)
    out, steps = getattr(AttachedEffects(effects, bench(robot), 0), way)(clock, u, rate)
    table, made = KernelSequence(steps), []
    assert table.python_owners == ()
    for t, command, w in commands:
        clock[0], u[:], rate[:] = t, command, w
        table()
        made.append(out.copy())
    return np.array(made)


def commands(count):
    rng = np.random.default_rng(8)
    return [
        (k * PERIOD, 9.0 * rng.standard_normal(2), 5.0 * rng.standard_normal(2))
        for k in range(count)
    ]


def test_a_saturation_follows_the_speed_of_a_motor(driven):
    given = commands(200)
    made = ask((Saturation(limit={"shoulder": 7.0}),), driven, "continuous_drives", given)
    falling = 0
    for u, (_, command, w) in zip(made, given, strict=True):
        left = np.clip((6.0 - np.array([-w[0], w[0]])) / 4.0, 0.0, 1.0)
        falling += bool((left < 1.0).any())
        low = np.array([max(-8.0 * left[0], -7.0), -3.0])
        high = np.array([min(8.0 * left[1], 7.0), 5.0])
        np.testing.assert_allclose(u, np.clip(command, low, high), **SUMS)
        bounds = driven.input_bounds(w)
        np.testing.assert_allclose(np.array(bounds)[:, 0], [-8.0 * left[0], 8.0 * left[1]], **SUMS)
    assert 20 < falling < 180


def test_a_dead_zone_takes_its_width_from_both_sides(driven):
    given, width = commands(50), np.array([2.0, 5.0])
    made = ask(
        (DeadZone(width={"shoulder": 2.0, "elbow": 5.0}),), driven, "continuous_drives", given
    )
    expected = [np.sign(u) * np.maximum(np.abs(u) - width, 0.0) for _, u, _ in given]
    np.testing.assert_allclose(made, expected, **SUMS)
    assert 0 < (made == 0.0).sum() < made.size


def test_a_rate_limit_starts_from_the_first_command_and_counts_the_time_that_passed(driven):
    given = [(k * k * PERIOD, u, w) for k, (_, u, w) in enumerate(commands(50))]
    made = ask((RateLimit(rate={"elbow": 150.0}),), driven, "tick_drives", given)
    last, before = given[0][1], 0.0
    for u, (t, command, _) in zip(made, given, strict=True):
        most = np.array([np.inf, 150.0 * (t - before)])
        last, before = np.clip(command, last - most, last + most), t
        np.testing.assert_allclose(u, last, **SUMS)


def test_drives_act_one_after_the_other_and_a_delay_is_no_step(driven):
    given = commands(30)
    effects = (Saturation(), RateLimit(rate=800.0), InputDelay(ticks=2), DeadZone(width=0.5))
    at_ticks = ask(effects, driven, "tick_drives", given)
    passed = [(t, u, w) for (t, _, w), u in zip(given, at_ticks, strict=True)]
    alone = ask((RateLimit(rate=800.0),), driven, "tick_drives", given)
    assert not np.array_equal(at_ticks, alone)
    first = ask((Saturation(),), driven, "continuous_drives", given)
    limited = [(t, u, w) for (t, _, w), u in zip(given, first, strict=True)]
    np.testing.assert_array_equal(
        at_ticks, ask((RateLimit(rate=800.0),), driven, "tick_drives", limited)
    )
    np.testing.assert_array_equal(
        ask(effects, driven, "continuous_drives", passed),
        ask((DeadZone(width=0.5),), driven, "continuous_drives", passed),
    )
    clock, u, rate = np.zeros(1), np.zeros(2), np.zeros(2)
    late = AttachedEffects((InputDelay(ticks=2),), bench(driven), 0)
    out, steps = late.tick_drives(clock, u, rate)
    assert out is u
    assert all(isinstance(step, BoundKernel) for step in steps)


@pytest.mark.parametrize("way", [accepted_input, applied_input])
def test_drives_in_a_loop_are_told_the_rates_of_the_actuators(way):
    robot = Robot.load("two_link", override={"actuator": [JointMotor(joint="elbow", gear=3.0)]})
    s = robot.snapshot(np.array([0.3, 0.2]), np.array([2.0, -0.7]), 0.5)
    asked = []

    class Listens(InputEffect):
        sampled = way is accepted_input

        def attach(self, context, rng):
            return Hears()

    class Hears(Drive):
        def apply(self, t, u, rate):
            asked.append((t, u, rate))
            return 2.0 * u

    u = np.array([1.5])
    out, steps = way(AttachedEffects((Listens(),), bench(robot), 0), s, u)
    KernelSequence(steps)()
    assert (out.tolist(), u.tolist()) == ([3.0], [1.5])
    (t, given, rate) = asked[0]
    assert (t, given.tolist()) == (0.5, [1.5])
    np.testing.assert_allclose(rate, [3.0 * -0.7], **SUMS)


def test_the_memory_of_a_sensor_is_one_whoever_asks():
    met = AttachedEffects((MeasurementDelay(ticks=2),), bench(ARM), 0)
    clock, q, v = np.zeros(1), ARM.neutral, np.zeros(ARM.nv)
    _, v_read, steps = met.sensor_steps(clock, q, v)
    table, seen = KernelSequence(steps), []
    for k in range(6):
        if k % 2:
            seen.append(met.sense(k * PERIOD, q, np.full(ARM.nv, float(k)))[1][0])
        else:
            v[:] = k
            table()
            seen.append(v_read[0])
    assert seen == [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]


class Counts(SensorEffect):
    """A sensor of Python, which keeps what it was given without a copy."""

    def attach(self, context, rng):
        self.__dict__["seen"] = seen = []

        class Reads(Sensor):
            def read(self, t, q, v):
                seen.append((t, q, v))
                if t >= 3.0:
                    return q, v[:1]
                return q, v * (np.nan if t >= 2.0 else 2.0)

        return Reads()


def test_a_sensor_of_python_has_its_place_among_kernels():
    robot, own = Robot.load("two_link"), Counts()
    met = AttachedEffects(
        (Bias(offset=0.1), own, Bias(v_offset=1.0, name="after")), bench(robot), 0
    )
    clock, q, v = np.zeros(1), np.zeros(2), np.ones(2)
    q_read, v_read, steps = met.sensor_steps(clock, q, v)
    table = KernelSequence(steps)
    for t in (0.0, 1.0):
        clock[0], q[:] = t, t
        table()
        np.testing.assert_array_equal(q_read, q + 0.1)
        np.testing.assert_array_equal(v_read, [3.0, 3.0])
    assert [(t, q.tolist()) for t, q, _ in own.seen] == [(0.0, [0.1, 0.1]), (1.0, [1.1, 1.1])]
    clock[0] = 2.0
    with pytest.raises(NotFinite, match="effect 'Counts' must read 2 finite velocities 'v'; got"):
        table()
    clock[0] = 3.0
    with pytest.raises(NotFinite, match=r"2 finite velocities 'v'; got \[1.\] at t = 3 s"):
        table()
    clock[0], v[0] = 2.0, np.inf
    table()  # of what is not finite nothing else is asked


def test_a_sensor_of_kernels_that_overflows_is_named():
    met = AttachedEffects((Bias(v_offset=1e308, name="drift"),), bench(Robot.load("two_link")), 0)
    says = r"effect 'drift' must read 2 finite velocities 'v'; got"
    with np.errstate(over="ignore"), pytest.raises(NotFinite, match=says):
        met.sense(0.0, np.zeros(2), np.full(2, 1e308))


EFFECTS = [
    [Bias(offset=1e-4), Saturation(limit=9.0), DeadZone(width=0.01)],
    [
        *(effect for name, (effect, _) in SENSORS.items() if " " not in name and name != "noise"),
        Noise(std=1e-6), Saturation(limit=9.0), RateLimit(rate=500.0), InputDelay(ticks=1),
        DeadZone(width=0.01),
    ],
]  # fmt: skip


def test_late_inputs_arrive_in_their_order_each_once():
    rng = np.random.default_rng(2)
    ticks = np.cumsum(rng.uniform(0.2, 2.0, 300)) * PERIOD  # any clock, even one of a user's own
    delay, near = 7.3 * PERIOD, 1e-9 * PERIOD
    late, u, held = InputDelayLine(delay, near, ticks, 2), np.zeros(2), np.zeros(2)
    send, arrive = KernelSequence((late.send(u),)), KernelSequence((late.arrive(held),))
    events = sorted([(t, 0, k) for k, t in enumerate(ticks)] + [(t + delay, 1, k) for k, t in
                    enumerate(ticks)])  # fmt: skip
    for _, arrives, k in events:
        if arrives:
            arrive()
            assert held.tolist() == [k, -k]
        else:
            u[:] = k, -k
            send()
    with pytest.raises(RuntimeError, match="kernel 'pop_input' failed"):
        arrive()


def test_there_is_room_for_an_input_that_arrives_as_the_next_is_sent():
    ticks = PERIOD * np.arange(50)
    late, u, held = InputDelayLine(3.0 * PERIOD, 1e-9 * PERIOD, ticks, 1), np.zeros(1), np.zeros(1)
    send, arrive = KernelSequence((late.send(u),)), KernelSequence((late.arrive(held),))
    for k in range(50):
        u[0] = k
        send()  # first, as in a span where both are due
        if k >= 3:
            arrive()
            assert held[0] == k - 3
    send()
    with pytest.raises(RuntimeError, match="kernel 'push_input' failed"):
        send()


COMPILED = pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")


@COMPILED
@pytest.mark.parametrize("effects", EFFECTS, ids=["continuous", "sampled"])
def test_no_effect_of_the_catalogue_puts_python_into_a_loop(effects):
    changes = {"timing.control": PERIOD} if len(effects) > 3 else {}
    loop = Loop(Scenario.load("scara-helix", changes).replace({"effect": effects}))
    assert loop.plants.integrator.system.steps.python_owners == ()
    stepper = Stepper(loop, Recorder(loop))
    assert stepper.tick_table().python_owners == ()
    assert stepper.arrival.python_owners == ()


@pytest.mark.slow
@COMPILED
def test_all_of_it_holds_where_nothing_is_compiled():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "20 passed, 3 skipped" in done.stdout
