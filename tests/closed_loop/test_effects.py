"""Effects in the loop, against closed forms and independent simulations."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.linalg import expm

from ukctrl import Command, Controller, Law, Robot, Scenario, UkctrlError, simulate
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import JointMotor, Lagrangian, Options, Perturbation
from ukctrl.simulation.effects import (
    Backlash,
    Bias,
    CarriedPayload,
    Differentiation,
    Disturbance,
    InputDelay,
    InputEffect,
    Jitter,
    JointFriction,
    MeasurementDelay,
    Mismatch,
    MissedTicks,
    Noise,
    Push,
    Quantisation,
    RateLimit,
    Saturation,
)
from ukctrl.simulation.result.result_files import netcdf_variables
from ukctrl.simulation.scenario import Timing

INTEGRATED = {"rtol": 0.0, "atol": 1e-8}  # DOP853 at rtol 1e-9
BALANCED = 1e-9
"""Energy that may be unaccounted for [J]."""


@dc.dataclass(frozen=True)
class Given(Controller):
    """Inputs as a function of what is measured."""

    answer: object = None

    def start(self, task):
        return GivenLaw(task, self.answer)


class GivenLaw(Law):
    def __init__(self, task, answer):
        super().__init__(task)
        self.answer = answer

    def step(self, dynamics, memory):
        s = dynamics.snapshot
        return Command(np.array(self.answer(s.t, s.q, s.v), dtype=float), memory)


SLIDE = Robot.build(Lagrangian(coordinates={"x": "m"}, kinetic="0.5*2.0*v.x**2"))
"""A mass of 2 kg on a line."""
HOLD = (JointFollows(joints=("x",), path=Constant(value=(0.0,))),)


def slide(answer, effects, *, control=None, duration=1.0, x=0.0, v=0.0, robot=SLIDE, **more):
    return simulate(
        Scenario(
            title="a mass on a line",
            robot=robot,
            servo=HOLD,
            controller=Given(answer=answer),
            start={"q": (x,), "v": (v,)},
            timing=Timing(duration=duration, sample=0.01, control=control),
            effect=tuple(effects),
            **more,
        )
    )


def free(effects, **more):
    return slide(lambda t, q, v: [0.0], effects, **more)


def test_a_joint_with_dry_and_viscous_friction_runs_down_as_the_closed_form_says():
    m, F, d, v0 = 2.0, 0.6, 0.8, 1.5
    run = free([JointFriction(coulomb=F, viscous=d, velocity_scale=1e-4)], v=v0, duration=1.5)
    v = (v0 + F / d) * np.exp(-d / m * run.time) - F / d
    stop = m / d * math.log1p(d * v0 / F)
    assert stop > 1.5  # sliding all the time: the hyperbolic tangent is one to rounding
    np.testing.assert_allclose(run["v"][:, 0], v, **INTEGRATED)
    assert run.metric("energy_drift") < BALANCED
    lost = 0.5 * m * (v0**2 - run["v"][-1, 0] ** 2)
    taken = np.trapezoid(run["friction.loss"], run.time)
    assert taken == pytest.approx(lost, rel=1e-4)  # trapezoids on the samples


def test_a_load_below_static_friction_creeps_as_slowly_as_the_closed_form_says():
    Fs, scale, load = 3.0, 1e-3, 1.5
    friction = JointFriction(coulomb=2.0, static=Fs, velocity_scale=scale, stribeck_velocity=0.5)
    run = slide(lambda t, q, v: [load], [friction], duration=0.5)
    creep = scale * math.atanh(load / Fs)  # 0.55 mm/s
    assert run["v"][-1, 0] == pytest.approx(creep, rel=1e-5)  # (creep / v_s)^2 lowers the level
    breaks_loose = slide(lambda t, q, v: [3.2], [friction], duration=0.5)
    least, most = ((3.2 - level) / 2.0 * 0.5 for level in (Fs, 2.0))
    assert least < breaks_loose["v"][-1, 0] < most


def test_the_impulse_of_a_push_is_the_change_of_momentum():
    for shape, share in (("constant", 1.0), ("half_sine", 2.0 / math.pi)):
        push = Push(joint="x", effort=4.0, start=0.333, duration=0.0505, shape=shape)
        for control in (None, 0.01):
            run = free([push], control=control)
            np.testing.assert_allclose(run["v"][run.time < 0.333, 0], 0.0, **INTEGRATED)
            after = run["v"][run.time > 0.333 + 0.0505, 0]
            np.testing.assert_allclose(2.0 * after, share * 4.0 * 0.0505, **INTEGRATED)
            assert run.metric("energy_drift") < BALANCED
            assert run["energy"][-1] > 1e-3  # its work, counted


def test_a_push_at_a_frame_does_the_work_that_the_robot_gains():
    base = Scenario.load("scara-helix", {"timing.duration": 0.4, "monitor.max_phi": 10.0})
    push = Push(frame="tool", force=(3.0, -2.0, 1.0), torque=(0.0, 0.0, 0.4), axes="frame",
                start=0.1, duration=0.1)  # fmt: skip
    run = simulate(base.replace({"effect": [push]}))
    assert run.status == "completed"
    assert run.metric("energy_drift") < BALANCED
    assert run.metric("peak_phi") > 1e-5
    np.testing.assert_array_equal(run["push.force"][15], [3.0, -2.0, 1.0])
    assert not run["push.force"][:10].any()
    assert not run["push.force"][20:].any()


@pytest.mark.parametrize("control", [None, 0.01])
@pytest.mark.parametrize("gap", [0.0, 5e-13, 5e-12, 1e-9])
def test_pushes_that_begin_within_a_rounding_of_each_other_both_act(gap, control):
    pushes = [Push(joint="x", effort=4.0, start=0.25 + k * gap, duration=0.1, name=f"push{k}")
              for k in range(3)]  # fmt: skip
    run = free(pushes, control=control)
    np.testing.assert_allclose(2.0 * run["v"][-1, 0], 3.0 * 4.0 * 0.1, **INTEGRATED)
    assert run.metric("energy_drift") < BALANCED


def test_a_periodic_disturbance_swings_a_free_mass_as_the_closed_form_says():
    f, F = 3.0, 5.0
    run = free([Disturbance(joint="x", effort=F, frequency=f, start=0.25)])
    w, t = math.tau * f, np.maximum(run.time, 0.25)
    v = F / 2.0 / w * (np.cos(w * 0.25) - np.cos(w * t))
    np.testing.assert_allclose(run["v"][:, 0], v, **INTEGRATED)


def test_a_payload_from_the_start_is_a_robot_with_that_mass():
    base = Scenario.load("scara-helix", {"timing.duration": 0.5, "believed.mass_scale": 0.9})
    carried = simulate(base.replace({"effect": [CarriedPayload(frame="tool", mass=1.5)]}))
    loaded = Robot.load("scara").perturbed(Perturbation(payload={"frame": "tool", "mass": 1.5}))
    believed = Robot.load("scara").perturbed(Perturbation(mass_scale=0.9))
    built = dc.replace(base, robot=loaded, believed=None, controller=_Of(base.controller, believed))
    # Only the steps differ in rounding, because the energy is integrated along.
    np.testing.assert_allclose(carried["q"], simulate(built)["q"], rtol=0.0, atol=1e-12)


@dc.dataclass(frozen=True)
class _Of(Controller):
    """A controller that believes in a robot of its own."""

    controller: Controller = None
    robot: Robot = None

    def __init__(self, controller, robot):
        object.__setattr__(self, "controller", controller)
        object.__setattr__(self, "robot", robot)

    def start(self, task):
        law = self.controller.start(dc.replace(task, robot=self.robot))
        return _Apart(law)


class _Apart(Law):
    def __init__(self, law):
        super().__init__(law.task)
        self.law = law

    def step(self, dynamics, memory):
        s = dynamics.snapshot
        return self.law.command(s.t, s.q, s.v)


def test_a_payload_picked_up_and_put_down_leaves_the_velocity_and_the_balance_of_energy():
    base = Scenario.load("scara-helix", {"timing.duration": 0.6})
    body = CarriedPayload(frame="tool", mass=2.0, start=0.203, stop=0.4)
    for control in (None, 0.01):
        held = {"timing.control": control} if control else {}
        run = simulate(base.replace({"effect": [body], **held}))
        assert run.status == "completed"
        assert run.metric("energy_drift") < BALANCED
        np.testing.assert_array_equal(run["payload.mass"][[0, 20, 21, 39, 40, 60]],
                                      [0.0, 0.0, 2.0, 2.0, 0.0, 0.0])  # fmt: skip
        # The force that held 0.5 kg, at 2.5 kg, for 7 ms: no step, but the beginning of a fall.
        fallen = run["v"][21, 3] - run["v"][20, 3]
        assert fallen == pytest.approx(-9.81 * 2.0 / 2.5 * 0.007, rel=0.1)


def test_integration_starts_afresh_where_a_payload_is_picked_up():
    """Against two runs joined by hand: the second one starts where the first has ended."""
    lift = Robot.load("scara")
    base = Scenario.load("scara-helix", {"timing.duration": 0.5, "timing.sample": 0.05})
    whole = simulate(base.replace({"effect": [CarriedPayload(frame="tool", mass=2.0, start=0.25)]}))
    first = simulate(base.replace({"timing.duration": 0.25}))
    loaded = lift.perturbed(Perturbation(payload={"frame": "tool", "mass": 2.0}))
    start = {"q": tuple(first["q"][-1]), "v": tuple(first["v"][-1]), "t": 0.25}
    second = simulate(
        dc.replace(
            base.replace({"timing.duration": 0.25, "start": start}),
            robot=loaded,
            controller=_Of(base.controller, lift),
        )
    )
    np.testing.assert_allclose(whole["q"][5:], second["q"], **INTEGRATED)


def test_a_gap_leaves_the_link_alone_until_its_flank_comes():
    r"""A motor turns at constant speed against a link at rest, across half the gap."""
    arm = Robot.load("flexible_joint_arm")
    gap, speed = 0.2, 1.0
    base = Scenario(
        title="a loose gear",
        robot=arm,
        timing=Timing(duration=0.3, sample=0.01),
        start={"q": {"q2": 0.0}, "v": {"q2_motor": speed}},
        effect=(Backlash(gap=gap),),
    )
    run = simulate(base.replace({"start.v": {"q2": 0.0, "q4": 0.0, "q2_motor": speed,
                                            "q4_motor": 0.0}}))  # fmt: skip
    motor, link = arm.dofs.index("q2_motor"), arm.dofs.index("q2")
    crossing = 0.5 * gap / speed
    before = run.time < crossing - 1e-9
    np.testing.assert_allclose(run["v"][before, motor], speed, **INTEGRATED)
    np.testing.assert_allclose(run["v"][before, link], 0.0, **INTEGRATED)
    assert (run["v"][run.time > crossing + 0.02, link] > 1e-4).all()
    assert run.metric("energy_drift") < 1e-8


def test_a_delayed_input_arrives_exactly_that_late():
    steps = lambda t, q, v: [1.0 + round(t / 0.01)]  # noqa: E731
    run = slide(steps, [InputDelay(ticks=3)], control=0.01, duration=0.2)
    np.testing.assert_allclose(run["u_commanded"][:-1, 0], 1.0 + np.arange(20), atol=1e-12)
    np.testing.assert_allclose(run["u"][3:-1, 0], 1.0 + np.arange(17), atol=1e-12)
    assert not run["u"][:3].any()


def test_a_delay_between_two_ticks_changes_the_input_between_them():
    run = slide(lambda t, q, v: [2.0], [InputDelay(time=0.0137)], control=0.01, duration=0.2)
    late = np.maximum(run.time - 0.0137, 0.0)
    np.testing.assert_allclose(run["v"][:, 0], late, **INTEGRATED)


def test_measurements_are_late_by_exactly_their_ticks():
    run = free([MeasurementDelay(ticks=2)], control=0.01, duration=0.2, v=1.0)
    np.testing.assert_allclose(run["q_measured"][2:-1, 0], run.time[:-3], atol=1e-12)


def discrete_loop(kp, kd, period, delay):
    r"""Return the spectral radius of x'' = u(t - delay), u = -kp x_k - kd v_k held over a period.

    Within a period the held input changes once, at the fraction that the delay has left: the exact
    solution of that, with the waiting inputs as further states.
    """
    whole = math.floor(delay / period + 1e-9)
    rest = delay - whole * period
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [0.5]])

    def held(span):
        block = expm(span * np.block([[A, B], [np.zeros((1, 3))]]))
        return block[:2, :2], block[:2, 2:]

    F, _ = held(period)
    _, new = held(period - rest)
    _, old = held(rest)
    old_share = held(period - rest)[0] @ old
    n = whole + 1  # inputs that wait
    K = np.array([[-kp, -kd]])
    M = np.zeros((2 + n, 2 + n))
    M[:2, :2] = F
    # With no whole period the newest input arrives after `rest`; the one before acts until then.
    if whole == 0:
        M[:2, :2] += new @ K
        M[:2, 2:3] = old_share
    else:
        M[:2, 2 + whole - 1 : 2 + whole] = new
        M[:2, 2 + whole : 3 + whole] = old_share
    M[2:3, :2] = K
    for k in range(1, n):
        M[2 + k, 1 + k] = 1.0
    return float(np.abs(np.linalg.eigvals(M)).max())


def test_a_double_integrator_loses_its_stability_at_the_delay_that_theory_says():
    kp, kd, period = 50.0, 14.0, 2e-3  # over a mass of 2 kg
    # Phase margin of (kp + kd s) / (2 s^2) at its crossover, less half a period of the hold.
    crossover = math.sqrt((kd**2 + math.sqrt(kd**4 + 16.0 * kp**2)) / 8.0)
    margin = math.atan2(kd * crossover, kp) / crossover - 0.5 * period
    radius = {delay: discrete_loop(kp, kd, period, delay * margin) for delay in (0.97, 1.03)}
    assert radius[0.97] < 1.0 < radius[1.03]  # the two theories agree
    for share, unstable in ((0.97, False), (1.03, True)):
        run = slide(
            lambda t, q, v: [-kp * q[0] - kd * v[0]],
            [InputDelay(time=share * margin)],
            control=period, duration=6.0, x=0.1, integrator={"method": "RK4", "step": period},
        )  # fmt: skip
        size = np.abs(run["q"][:, 0])
        grows = size[-150:].max() > size[150:300].max()
        assert grows == unstable
        # and it grows or decays as fast as the largest eigenvalue says
        peaks = [size[k * 100 + 200 : k * 100 + 300].max() for k in range(4)]
        seen = (peaks[-1] / peaks[0]) ** (period / 3.0)
        assert seen == pytest.approx(radius[share], abs=4e-4)


def test_a_saturated_input_is_what_acts_and_its_share_of_the_time_is_right():
    answer = lambda t, q, v: [6.0 * math.sin(math.tau * t)]  # noqa: E731
    run = slide(answer, [Saturation(limit=3.0)], duration=1.0)
    np.testing.assert_allclose(run["u"][:, 0], np.clip(run["u_commanded"][:, 0], -3.0, 3.0))
    # |sin| > 1/2 during two thirds of a period
    assert run.metric("saturated_fraction") == pytest.approx(2.0 / 3.0, abs=0.011)
    assert run.metric("peak_u") == 3.0
    # by hand: the velocity gained in the first half period
    gained = 2.0 * (6.0 / math.tau) * (1.0 - math.cos(math.pi / 6.0)) + 3.0 * (1.0 / 3.0)
    assert run["v"][50, 0] == pytest.approx(gained / 2.0, abs=1e-7)


def test_a_rate_limited_step_is_a_staircase_with_that_slope():
    run = slide(lambda t, q, v: [1.0 if t > 0.05 else 0.0], [RateLimit(rate=4.0)], control=0.01)
    expected = np.clip(4.0 * (run.time - 0.05), 0.0, 1.0)
    np.testing.assert_allclose(run["u"][:-1, 0], expected[:-1], atol=1e-12)


def test_a_law_cannot_tell_a_bias_from_the_truth():
    run = slide(lambda t, q, v: [-200.0 * q[0] - 40.0 * v[0]], [Bias(offset=0.02)], duration=3.0)
    assert run["q"][-1, 0] == pytest.approx(-0.02, abs=1e-6)
    assert run["q_measured"][-1, 0] == pytest.approx(0.0, abs=1e-6)
    assert run.metric("final_phi") == pytest.approx(0.02, abs=1e-6)  # the true error


NOISY = {"timing.duration": 0.2, "timing.control": 1e-3}


def test_the_same_noise_meets_every_controller_and_one_more_effect_changes_no_other():
    base = Scenario.load("scara-helix", NOISY).replace({"effect": [Noise(std=1e-4, v_std=1e-3)]})

    def noise(run):
        return run["q_measured"] - run["q"], run["v_measured"] - run["v"]

    first = simulate(base)
    other = simulate(base.replace({"controller.use": "servo-pid"}))
    push = Push(frame="tool", force=(1.0, 0.0, 0.0), start=0.1, duration=0.01)
    both = simulate(base.replace({"effect": [*base.effect, push]}))
    for run in (other, both):
        for ours, theirs in zip(noise(first), noise(run), strict=True):
            np.testing.assert_allclose(ours[:-1], theirs[:-1], rtol=0.0, atol=1e-15)
    assert not np.array_equal(first["q"], other["q"])
    assert simulate(base).identical(first)
    again = simulate(base.replace({"seed": 1}))
    assert not np.allclose(noise(first)[0], noise(again)[0])


def test_a_jittered_clock_and_missed_ticks_give_the_same_run_every_time():
    clock = [
        Jitter(bound=3e-4),
        MissedTicks(probability=0.3),
        Differentiation(),
        Quantisation(step=1e-4),
    ]
    base = Scenario.load("scara-helix", NOISY).replace({"effect": clock})
    first = simulate(base)
    assert first.status == "completed"
    assert first.identical(simulate(base))
    ticks = first.provenance["timing"]["ticks"]
    assert 110 < ticks < 170  # of 200, 30 % are missed
    assert np.abs(first["q_measured"] / 1e-4 - np.round(first["q_measured"] / 1e-4)).max() < 1e-9


class Halved(InputEffect):
    def attach(self, context, rng):
        return _Half()


class _Half:
    delay = 0.0

    def apply(self, t, u, rate):
        return 0.5 * u

    def bounds(self, rate):
        return None


def test_an_effect_of_ones_own_takes_part():
    run = slide(lambda t, q, v: [4.0], [Halved()], duration=0.5)
    np.testing.assert_allclose(run["v"][:, 0], run.time, **INTEGRATED)
    np.testing.assert_allclose(run["u"], 2.0)


PLUGIN = """
from ukctrl.simulation.effects import Drive, InputEffect
from ukctrl import Positive, spec


@spec
class Weak(InputEffect):
    share: Positive

    def attach(self, context, rng):
        return WeakDrive(self.share)


class WeakDrive(Drive):
    def __init__(self, share):
        self.share = share

    def apply(self, t, u, rate):
        return self.share * u
"""


def test_a_file_names_an_effect_of_ones_own_which_runs_only_when_trusted(tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN, encoding="utf-8")
    text = Scenario.load("scara-helix", {"timing.duration": 0.1}).to_toml()
    lines = '\n[[effect]]\nkind = "./mine.py:Weak"\nshare = 0.9\n'
    (tmp_path / "task.toml").write_text(text.replace("effect = []\n", "") + lines)
    with pytest.raises(UkctrlError, match=r"effect\[0\].kind: './mine.py:Weak' is Python code"):
        Scenario.load(tmp_path / "task.toml")
    scenario = Scenario.load(tmp_path / "task.toml", {"effect.0.share": 0.8}, trust=True)
    run = simulate(scenario)
    np.testing.assert_allclose(run["u"], 0.8 * run["u_commanded"], rtol=1e-15)
    with pytest.raises(UkctrlError, match="share: must be positive; got -1.0"):
        Scenario.load(tmp_path / "task.toml", {"effect.0.share": -1.0}, trust=True)


def test_effects_survive_the_way_through_a_file_and_are_set_by_their_path():
    effects = [Noise(std={"q1": 1e-4}), Saturation(limit=9.0), InputDelay(ticks=2)]
    base = Scenario.load("scara-helix", NOISY).replace({"effect": effects})
    assert Scenario.from_toml(base.to_toml()).effect == tuple(effects)
    changed = base.replace({"effect.0.std": 2e-4, "effect.saturation.limit": 5.0})
    assert changed.effect[0].std == 2e-4
    assert changed.effect[1].limit == 5.0


def test_a_scenario_refuses_effects_that_contradict_each_other_or_its_timing():
    continuous = Scenario.load("scara-helix")
    sampled = Scenario.load("scara-helix", NOISY)
    for base, effects, says in (
        (continuous, [Noise(std=1.0)], r"effect\[0\]: 'noise' acts at the ticks of a sampled"),
        (sampled, [Saturation(limit=1.0)] * 2, r"effect\[1\]: a scenario must have one effect of"),
        (
            sampled,
            [Noise(std=1.0, name="a"), Bias(offset=0.1, name="a")],
            r"effect\[1\]: effects must have names of",
        ),
    ):
        with pytest.raises(UkctrlError, match=says):
            base.replace({"effect": effects})


def test_the_bench_of_the_catalogue_completes_and_its_report_shows_what_was_in_between(tmp_path):
    from ukctrl.reports import plot
    from ukctrl.simulation.result import verdicts

    run = simulate(Scenario.load("scara-helix-bench", {"timing.duration": 0.1}))
    assert run.status == "completed"
    assert run.metric("energy_drift") < BALANCED
    off = np.abs(run["q_measured"] - run["q"])[:-1, :3]  # the end is no tick
    assert 1e-7 < off.max() < 5 * 2e-6 + 0.5 * math.tau / 2**20
    assert {"inputs", "measured", "signals"} <= set(plot.available(run))
    assert plot.draw(run, "measured").axes
    said = {verdict.subject: verdict.text for verdict in verdicts.judge(run)}
    assert "'payload' never acts: it begins at 2 s, after the run." in said["effects"]
    kept = netcdf_variables(run.samples)
    assert kept["friction.force"].attributes["units"] == "N, N m"
    assert kept["u_commanded"].attributes["long_name"] == "input that the law commanded"
    assert type(run).load(run.save(tmp_path)).identical(run)


def test_what_a_mismatch_drew_stands_in_the_provenance_and_is_what_moves():
    base = Scenario.load("scara-helix", {"timing.duration": 0.1})
    run = simulate(base.replace({"effect": [Mismatch(mass=0.3)]}))
    (entry,) = run.provenance["effects"]
    scale = entry["drawn"]["mass_scale"]
    true = dc.replace(base, robot=Robot.load("scara").perturbed(Perturbation(mass_scale=scale)),
                      controller=_Of(base.controller, Robot.load("scara")))  # fmt: skip
    np.testing.assert_allclose(run["q"], simulate(true)["q"], rtol=0.0, atol=1e-12)


def test_a_saturation_follows_the_speed_of_the_motor_between_ticks():
    motor = {"kind": "joint", "joint": "x", "limit": 4.0, "no_load_speed": 0.5}
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m"}, kinetic="0.5*2.0*v.x**2"),
        Options(actuator=(JointMotor(**motor),)),
    )
    answer = lambda t, q, v: [100.0]  # noqa: E731
    for control in (None, 0.1):
        run = slide(answer, [Saturation()], control=control, robot=robot)
        v = 0.5 * (1.0 - np.exp(-4.0 / 0.5 / 2.0 * run.time))  # 2 v' = 4 (1 - v / 0.5)
        np.testing.assert_allclose(run["v"][:, 0], v, **INTEGRATED)
        np.testing.assert_allclose(run["u"], run["u_upper"], rtol=1e-12)
        assert run.metric("saturated_fraction") == 1.0
        # Under continuous control the power is integrated from the samples, here to order four.
        assert run.metric("energy_drift") < (BALANCED if control else 1e-6)


def test_a_law_with_a_bad_memory_is_named():
    @dc.dataclass(frozen=True)
    class Forgetful(Controller):
        def start(self, task):
            return ForgetfulLaw(task)

    class ForgetfulLaw(Law):
        memory = np.zeros(1)

        def step(self, dynamics, memory):
            late = dynamics.snapshot.t > 0.05
            return Command(np.zeros(4), np.array([np.nan if late else 1.0]))

    for control in (None, 0.01):
        timing = {"timing.duration": 0.2, **({"timing.control": control} if control else {})}
        run = simulate(Scenario.load("scara-helix", timing).replace({"controller": Forgetful()}))
        assert run.status == "diverged"
        assert "controller 'Forgetful' must return a finite memory_rate; got [nan]" in run.message
        assert 3 <= len(run.time) <= 7
