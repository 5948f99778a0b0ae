"""The loop as a linear system, beside closed forms and beside simulations of small deviations."""

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.analysis.linear import linear_loop
from ukctrl.analysis.linear.linear_law import FINE_STEP_RATIO, linear_law
from ukctrl.analysis.linear.operating_point import operating_point
from ukctrl.analysis.linear.sampled_systems import sampled_plant
from ukctrl.control.controller import Command
from ukctrl.core.errors import InputError
from ukctrl.simulation.assemble import Loop

CLOSED = {"rtol": 0.0, "atol": 1e-8}
SMALL = 1e-5
"""Deviations of the simulations; their squares are what the linear system leaves out."""


def test_a_servo_law_gives_every_row_the_poles_of_its_error_dynamics(plants):
    loop = linear_loop(plants.held_mass(alpha=5.0, beta=6.0))
    np.testing.assert_allclose(np.sort(loop.poles().real), [-3.0, -2.0], **CLOSED)
    squat = linear_loop(Scenario.load("panda-priorities"))  # at rest; 1/s^2 + 20 s + 100
    np.testing.assert_allclose(squat.poles(), -10.0, rtol=0.0, atol=1e-3)  # twofold poles


def test_at_a_motor_the_loop_returns_what_the_gains_say(plants):
    loop = linear_loop(plants.held_mass(alpha=5.0, beta=6.0))
    L = loop.transfer(0)
    for s in (1j, 2.0 + 1j):
        np.testing.assert_allclose(L(s), (5.0 * s + 6.0) / s**2, **CLOSED)
    assert (L.input_labels, L.output_labels) == (["F"], ["returned_F"])


def test_breaking_one_motor_of_several_leaves_the_others_closed():
    loop = linear_loop(Scenario.load("coordinated-arms"))
    s, whole = 3j, loop.transfers()(3j)
    one = np.eye(len(loop.inputs))
    for k in range(len(loop.inputs)):
        # 1 + L_k = det(1 + L) / det(1 + L without row and column k)
        rest = np.delete(np.delete(one + whole, k, 0), k, 1)
        wanted = np.linalg.det(one + whole) / np.linalg.det(rest)
        np.testing.assert_allclose(1.0 + loop.transfer(k)(s), wanted, rtol=1e-8)


@pytest.mark.parametrize(
    "effects",
    [
        [],
        [{"kind": "input_delay", "time": 0.004}],
        [{"kind": "input_delay", "ticks": 2}],
        [{"kind": "input_delay", "time": 0.017}],
        [{"kind": "measurement_delay", "ticks": 2}],
        [{"kind": "differentiation"}],
        [{"kind": "measurement_delay", "ticks": 1}, {"kind": "differentiation", "cutoff": 8.0},
         {"kind": "input_delay", "time": 0.013}],
    ],
    ids=["plain", "part", "ticks", "mixed", "measured", "differentiated", "all"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["lqr", "lqi"])
def test_a_simulated_small_deviation_goes_as_the_sampled_loop_says(plants, effects, kind):
    period, ticks = 0.01, 30
    timing = {"duration": ticks * period, "control": period, "sample": period}
    controller = {"kind": kind, "q": (0.0, 0.0)}
    start = {"q": {"x": SMALL, "angle": -2.0 * SMALL}}
    task = plants.scenario(
        plants.cart_pole(), timing=timing, controller=controller, start=start, effect=effects,
        integrator={"rtol": 1e-11, "atol": 1e-15},
    )  # fmt: skip
    upright = plants.scenario(
        plants.cart_pole(), timing=timing, controller=controller, effect=effects
    )
    loop = linear_loop(upright)
    run = simulate(task)
    x = np.zeros(len(loop.A))
    x[:4] = [SMALL, -2.0 * SMALL, 0.0, 0.0]
    for k, name in enumerate(loop.states):  # sensors start with what they see first
        past = {"measured 1": SMALL, "measured 2": -2.0 * SMALL, "x": SMALL, "angle": -2.0 * SMALL}
        label = name.split(", ")[0] if name.startswith("measured") else name.removesuffix(" 1 back")
        if k >= 4 and "back" in name:
            x[k] = past.get(label, 0.0)
    for k in range(ticks):
        found = np.concatenate([run["q"][k], run["v"][k]])
        np.testing.assert_allclose(found, x[:4], rtol=0.0, atol=1e-3 * SMALL)
        x = loop.closed @ x


def test_a_delay_of_part_of_a_period_splits_the_hold_as_in_the_textbook():
    # Astrom & Wittenmark, example 2.4: a double integrator, h = 1, delay 0.5
    block = sampled_plant(
        np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), ("x", "v"), ("u",), 1.0, [0.5]
    )
    wanted = [[1.0, 1.0, 0.375], [0.0, 1.0, 0.5], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(block.A, wanted, **CLOSED)
    np.testing.assert_allclose(block.B[:, 0], [0.125, 0.5, 1.0], **CLOSED)


@pytest.mark.parametrize(("alpha", "beta"), [(5.0, 6.0), (1.0, 4.0)])
def test_a_held_double_integrator_is_stable_up_to_jury_s_limit(plants, alpha, beta):
    limit = min(2.0 / alpha, 2.0 * alpha / beta)
    task = plants.held_mass(alpha, beta, timing={"duration": 10.0, "control": 0.1})
    below = np.abs(linear_loop(task, period=limit * (1.0 - 1e-6)).poles()).max()
    above = np.abs(linear_loop(task, period=limit * (1.0 + 1e-6)).poles()).max()
    assert below < 1.0 < above


def test_what_has_no_linear_part_is_told(plants):
    effects = [{"kind": "noise", "std": 1e-6}, {"kind": "saturation", "limit": 5.0}]
    task = plants.held_mass(5.0, 6.0, timing={"duration": 1.0, "control": 0.01}, effect=effects)
    told = " ".join(linear_loop(task).notes)
    assert "'noise' has no linear part" in told
    assert "'saturation' is left out: inputs count as between its bounds." in told
    assert "every tick is on time" not in told


def test_ticks_that_come_late_are_told_to_count_as_on_time(plants):
    effects = [{"kind": "jitter", "bound": 1e-4}]
    task = plants.held_mass(5.0, 6.0, timing={"duration": 1.0, "control": 0.01}, effect=effects)
    assert linear_loop(task).notes == ("effect 'jitter' is left out: every tick is on time.",)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_law_that_is_not_smooth_is_so_in_every_unit_of_its_command(plants, size):
    r"""The slopes of $\sqrt{|x|}$ over steps $h$ go as $h^{-1/2}$; those of a line stay."""
    task = plants.held_mass(5.0, 6.0)
    belief, point = Loop(task).believed_model, operating_point(task)

    def rough(command):
        def step(dynamics, memory):
            return Command(np.array([size * command(dynamics.snapshot.q[0])]), np.zeros(0))

        law = SimpleNamespace(step=step, memory=np.zeros(0), switches=False, keeper=None)
        return linear_law(law, belief, point, np.eye(2)).nonsmoothness

    wanted = np.sqrt(1.0 / FINE_STEP_RATIO) - 1.0  # about x = 0, where nothing cancels: to rounding
    assert rough(lambda x: np.sign(x) * np.sqrt(abs(x))) == pytest.approx(wanted, rel=1e-9)
    assert rough(lambda x: 7.0 * x) == 0.0


def test_without_motors_there_is_no_loop():
    with pytest.raises(InputError, match="must have motors for a loop"):
        linear_loop(Scenario.load("five-bar"))


def test_a_believed_mass_that_is_wrong_moves_the_poles(plants):
    # u = m_b (-alpha v - beta x) on a mass m: alpha and beta are scaled by m_b/m = 1/2
    task = plants.held_mass(5.0, 6.0).replace(
        {"robot": plants.mass(2.0), "believed": {"parameters": {"m": 1.0}}}
    )
    found = linear_loop(task).poles()
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.roots([1.0, 2.5, 3.0])))
