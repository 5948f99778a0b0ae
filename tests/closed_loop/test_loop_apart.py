"""The compiled loop beside one in Python: SciPy's steps, Pinocchio's dynamics, and `Law.command`.

Only the law is ukctrl's. The two loops take the same steps, so that they differ by rounding alone
for as long as that has not grown; the bounds hold for motions of a fifth of a second. What a law
answers has judges of its own.
"""

from __future__ import annotations

import collections
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Loop, Scenario, simulate
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints

ROUNDING = {"rtol": 0.0, "atol": 1e-11}
"""The same steps of the same dynamics, by other formulas [m, rad, 1/s]: a rounding of 1e-15 in each
of two hundred steps, a hundred times over for what a law and an acceleration make of it."""
DURATION = 0.2
LONGEST = 0.05
"""The longest step of an adaptive method [s]; left out, ukctrl takes one that suits the outputs."""


class Plant:
    """A robot by Pinocchio alone, its passive rows by KKT where there are any."""

    def __init__(self, loop: Loop) -> None:
        robot = loop.robot
        self.model, self.data = robot.model, robot.model.createData()
        self.B, self.alpha_beta = robot.snapshot(loop.state.q).B.copy(), None
        passive = passive_constraints(robot)
        self.passive = Stack(passive, robot) if passive else None
        self.robot, self.gains = robot, loop.law.task.gains

    def acceleration(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        force = self.B @ u
        if self.passive is None:
            return np.array(pin.aba(self.model, self.data, q, v, force))
        rows = self.passive.write(self.robot.snapshot(q, v, t=t))
        A, phi = rows.A, np.nan_to_num(rows.phi)
        b = rows.b - self.gains.alpha * rows.beta - self.gains.beta * phi
        M = np.array(pin.crba(self.model, self.data, q))
        M = np.triu(M) + np.triu(M, 1).T
        rest = force - pin.nonLinearEffects(self.model, self.data, q, v)
        nothing = np.zeros((len(A), len(A)))
        both = np.block([[M, -A.T], [A, nothing]])
        return np.linalg.lstsq(both, np.concatenate([rest, b]), rcond=1e-10)[0][: len(v)]


class Motion(NamedTuple):
    q: np.ndarray
    v: np.ndarray


def ready(name, changes):
    duration = {"timing.duration": DURATION, "timing.sample": DURATION / 10}
    loop = Loop(Scenario.load(name, duration | changes))
    return loop, Plant(loop), simulate(loop.scenario)


def compared(run, motion):
    assert run.status == "completed"
    assert run.provenance["loop"]["compiled"]
    np.testing.assert_allclose(run["q"], motion.q, **ROUNDING)
    np.testing.assert_allclose(run["v"], motion.v, **ROUNDING)


def rk4(rate, t, y, h):
    k1 = rate(t, y)
    k2 = rate(t + h / 2, y + h / 2 * k1)
    k3 = rate(t + h / 2, y + h / 2 * k2)
    k4 = rate(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


CONTINUOUS = {
    "DOP853 with an integral": ("scara-helix", {
        "controller.use": "servo-pid", "start.v": {"q1": 0.1}, "integrator": {
            "method": "DOP853", "rtol": 1e-9, "atol": 1e-11, "max_step": LONGEST,
        },
    }),
    "RK45": ("panda-pose", {
        "integrator": {"method": "RK45", "rtol": 1e-7, "atol": 1e-9, "max_step": LONGEST},
    }),
    "RK4": ("ur5-pose", {"integrator": {"method": "RK4", "step": 1e-3}}),
    "a closed chain": ("coordinated-arms-squeeze", {
        "integrator": {"method": "RK45", "rtol": 1e-7, "atol": 1e-9, "max_step": LONGEST},
    }),
}  # fmt: skip


@pytest.mark.parametrize(("name", "changes"), CONTINUOUS.values(), ids=CONTINUOUS)
def test_under_continuous_control_it_is_scipys(name, changes):
    loop, plant, run = ready(name, changes)
    nq, nv = loop.robot.nq, loop.robot.nv

    def rate(t, y):
        q, v, memory = y[:nq], y[nq : nq + nv], y[nq + nv :]
        command = loop.law.command(t, q, v, memory)
        a = plant.acceleration(t, q, v, command.u)
        return np.concatenate([v, a, command.memory_rate])

    y = np.concatenate([*loop.state])
    how = loop.scenario.integrator
    if how.method == "RK4":
        per_sample, states = round(DURATION / 10 / how.step), [y]
        for k in range(10 * per_sample):
            y = rk4(rate, k * how.step, y, how.step)
            states.append(y)
        states = np.array(states[::per_sample])
    else:
        limits = {"rtol": how.rtol, "atol": how.atol, "max_step": LONGEST}
        states = solve_ivp(rate, (0.0, DURATION), y, how.method, run.time, **limits).y.T
    compared(run, Motion(states[:, :nq], states[:, nq : nq + nv]))


HELD = {
    "RK4": ("panda-pose-sampled", {"effect": []}, 0),
    "RK4, inputs two ticks late": (
        "panda-pose-sampled", {"effect": [{"kind": "input_delay", "ticks": 2}]}, 2
    ),
    "with an integral": ("scara-helix", {
        "controller.use": "servo-pid", "timing.control": 1e-3, "start.v": {"q1": 0.1},
        "integrator": {"method": "RK4", "step": 1e-3},
    }, 0),
}  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "late"), HELD.values(), ids=HELD)
def test_under_a_hold_it_is_ticks_and_a_queue(name, changes, late):
    loop, plant, run = ready(name, changes)
    q, v, memory = loop.state
    h, n = loop.scenario.timing.control, len(v)
    waiting = collections.deque([np.zeros(loop.robot.nu)] * late)
    states = []
    for k in range(round(DURATION / h) + 1):
        command = loop.law.command(k * h, q, v, memory)
        memory = memory + h * command.memory_rate
        waiting.append(command.u.copy())
        states.append((q, v))
        u = waiting.popleft()

        def rate(t, y, u=u):
            return np.concatenate([y[n:], plant.acceleration(t, y[:n], y[n:], u)])

        y = rk4(rate, k * h, np.concatenate([q, v]), h)
        q, v = y[:n], y[n:]
    kept = states[:: round(DURATION / 10 / h)]
    compared(run, Motion(*(np.array(each) for each in zip(*kept, strict=True))))


def test_on_a_floating_base_a_step_is_one_in_the_chart():
    """RK4 for xi, with q = q0 exp(xi) and v = J(xi) dxi/dt, where J is Pinocchio's.

    That is not as exact as ours where a joint turns by a milliradian, as it does in a step here.
    """
    changes = {"integrator": {"method": "RK4", "step": 2e-3}}
    loop, plant, run = ready("quadrotor-lemniscate", changes)
    q, v, _ = loop.state
    n, h, states = len(v), 2e-3, []
    model = plant.model
    for k in range(round(DURATION / h) + 1):
        states.append((q, v))

        def rate(t, y, start=q):
            here = pin.integrate(model, start, y[:n])
            a = plant.acceleration(t, here, y[n:], loop.law.command(t, here, y[n:]).u)
            J = pin.dIntegrate(model, start, y[:n])[1]
            return np.concatenate([np.linalg.solve(J, y[n:]), a])

        y = rk4(rate, k * h, np.concatenate([np.zeros(n), v]), h)
        q, v = pin.integrate(model, q, y[:n]), y[n:]
    kept = states[:: round(DURATION / 10 / h)]
    motion = Motion(*(np.array(each) for each in zip(*kept, strict=True)))
    assert run.status == "completed"
    np.testing.assert_allclose(run["q"], motion.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(run["v"], motion.v, rtol=0.0, atol=1e-9)
