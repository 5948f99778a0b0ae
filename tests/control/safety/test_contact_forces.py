"""What is kept of contact forces: cones of points and soles, beside independent solutions."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from seeds import seeded

from ukctrl import Robot, Scenario, simulate
from ukctrl.control.safety.contact_forces import cone_rows
from ukctrl.mechanics.constraints.constraint import ContactArrays
from ukctrl.mechanics.constraints.contact import ACTIVE_MODE, HEADING, STICKING, UPRIGHTNESS
from ukctrl.mechanics.dynamics import Dynamics

MU = 0.6


rng = seeded(20)


def rows_of(half, count, turn=None):
    """Return the rows on (height, tilt_x, tilt_y, slip_x, slip_y, spin), or a point's on three."""
    turn, felt = np.eye(3) if turn is None else turn, np.zeros(10)
    felt[ACTIVE_MODE], felt[UPRIGHTNESS] = STICKING, turn[2, 2]
    felt[HEADING : HEADING + 2] = turn[:2, 0]
    place = turn, np.eye(3), MU, np.array(half)
    touch = ContactArrays(np.zeros(5), felt, np.zeros(1), *place, has_planned_lifts=False)
    D = np.zeros((count, 6 if half[0] else 3))
    cone_rows(touch, 0, 3 if half[0] else 1, MU, D)
    return D


@pytest.mark.parametrize("faces", [3, 4, 8, 15])
def test_a_pyramid_is_inside_of_its_cone_and_touches_it(rng, faces):
    D = rows_of((0.0, 0.0), 1 + faces)
    force = rng.standard_normal((200, 3))
    force[:, 0] = np.abs(force[:, 0])
    inside = (force @ D.T >= 0.0).all(axis=1)
    across = np.linalg.norm(force[:, 1:], axis=1)
    assert (across[inside] <= MU * force[inside, 0] * (1.0 + 1e-12)).all()
    safe = across <= MU * np.cos(np.pi / faces) * force[:, 0] * (1.0 - 1e-12)
    assert inside[safe].all()
    angle = np.pi / faces * (2 * rng.integers(faces) + 1)
    edge = np.array([1.0, MU * np.cos(angle), MU * np.sin(angle)])
    np.testing.assert_allclose((D @ edge).min(), 0.0, atol=1e-12)


def wrench(forces, corners, turn):
    """Return the reactions of a flat contact's rows under forces at the corners of its sole."""
    places = np.array([turn @ corner for corner in corners])
    total, moment = forces.sum(axis=0), np.cross(places, forces).sum(axis=0)
    up = turn[2, 2]
    # The rows of tilt push along z x t_i: y, and -x.
    return np.array([total[2], up * moment[1], -up * moment[0], total[0], total[1], moment[2]])


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_a_sole_takes_what_its_corners_take_and_no_more(rng, up):
    half = 0.12, 0.05
    yaw = rng.uniform(-np.pi, np.pi)
    c, s = np.cos(yaw), np.sin(yaw)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]) @ np.diag([1.0, up, up])
    corners = [np.array([x * half[0], y * half[1], 0.0]) for x in (1, -1) for y in (1, -1)]
    D, inner = rows_of(half, 17, turn), MU / np.sqrt(2.0)
    axes = np.array([[c, s, 0.0], [-s, c, 0.0]])
    faces = np.vstack([sign * axis for axis in axes for sign in (1.0, -1.0)])
    for _ in range(10):
        normal = rng.uniform(0.0, 1.0, 4)
        local = rng.uniform(-1.0, 1.0, (4, 2)) * inner * normal[:, None]
        forces = local @ axes + normal[:, None] * [0.0, 0.0, 1.0]
        assert (D @ wrench(forces, corners, turn) >= -1e-12).all()
    # And a wrench has forces at the corners exactly where the rows hold.
    units = [np.outer(np.eye(4)[k], np.eye(3)[i]) for k in range(4) for i in range(3)]
    grasp = np.column_stack([wrench(unit, corners, turn) for unit in units])
    A_ub = -np.kron(np.eye(4), np.column_stack([-faces[:, :2], np.full(4, inner)]))
    inside = 0
    for _ in range(10):
        sizes = 1.0, half[0], half[1], inner, inner, 0.5 * inner * sum(half)
        lam = rng.uniform(-1.0, 1.0, 6) * sizes
        lam[0] = 1.0
        found = linprog(np.zeros(12), A_ub, np.zeros(len(A_ub)), grasp, lam, bounds=(None, None))
        assert (found.status == 0) == bool((D @ lam >= -1e-9).all())
        inside += found.status == 0
    assert inside < 10


def feet(mu):
    names = (f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR"))
    return tuple({"kind": "contact", "frame": name, "mu": mu} for name in names)


def standing(mu, faces):
    """An A1 that stands on a ground that has more friction than it counts on."""
    changes = {
        "robot": {"use": "a1", "passive": list(feet(10.0 * mu))},
        "servo": [
            {
                "kind": "pose_follows", "frame": "trunk",
                "path": {"kind": "constant", "value": [0.0, 0.0, 0.28]},
                "orientation": {"kind": "constant", "rpy": [0.0, 0.0, 0.0]},
            }
        ],
        "keep": [{"kind": "contact_forces", "mu": mu, "faces": faces}],
        "timing": {"duration": 0.004, "control": 0.002, "sample": 0.002},
    }  # fmt: skip
    return Scenario.load("a1-squat", changes)


def test_forces_of_a_standing_quadruped_are_those_of_a_second_order_cone_program():
    """The torques of least norm that stand still within true cones, by another solver.

    Pyramids are inside, so no better than that; with more faces they come to it.
    """
    mu = 0.05
    run = simulate(standing(mu, faces=64))
    assert run.status == "completed", run.message
    robot = dc.replace(Robot.load("a1"), passive=feet(1.0))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, run["q"][0], np.zeros(robot.nv))
    s, A = dynamics.snapshot, dynamics.passive.rows.A
    # nle - f = B u + A' lam: 18 equations in 12 torques and 12 forces
    E, e = np.hstack([s.B, A.T]), s.nle - s.f
    u0 = np.linalg.lstsq(E, e, rcond=None)[0]
    null = np.linalg.svd(E)[2][18:].T

    def cones(z):
        lam = (u0 + null @ z)[12:].reshape(4, 3)
        return mu * lam[:, 0] - np.hypot(lam[:, 1], lam[:, 2])

    def cost(z):
        return float(np.sum((u0 + null @ z)[:12] ** 2))

    free = simulate(standing(mu, faces=64).replace({"keep": []}))
    assert free.metric("needed_friction") > 2.0 * mu  # else nothing binds
    found = minimize(
        cost, np.zeros(6), method="SLSQP", constraints={"type": "ineq", "fun": cones},
        options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    assert found.success, found.message
    ours, best = float(np.sum(run["u"][0] ** 2)), found.fun
    assert ours >= best * (1.0 - 1e-6)
    assert ours <= best * (1.0 + 5e-3)
    np.testing.assert_allclose(
        run["reaction"][0], (u0 + null @ found.x)[12:], atol=0.02 * run["reaction"][0].max()
    )
