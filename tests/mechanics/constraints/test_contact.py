"""Contacts that only push: friction beside all equations at once, what modes last by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.core.algebra.dynamics_kernels import AccelerationMap, EquationOfMotion
from ukctrl.mechanics import unilateral_contacts
from ukctrl.mechanics.constraints import contact as lib
from ukctrl.mechanics.constraints.constraint import ContactArrays, Rows
from ukctrl.mechanics.constraints.contact import CREEPING, OPEN, SLIDING, STICKING

EXACT = {"rtol": 1e-9, "atol": 1e-9}  # random matrices of seven rows
MODES = [OPEN, SLIDING, CREEPING, STICKING]


def tables(heights, mu, felt, slips=None, state=None, half=None):
    """Return the tables of contacts; what a kernel does not read is empty."""
    rows = heights, heights if slips is None else slips
    state, half = (np.zeros((0, 0)) if each is None else each for each in (state, half))
    return unilateral_contacts.ContactTables(*rows, mu, state, felt, half)


# Friction that follows the load


class Sliding:
    """A random robot on three passive rows; contacts press by the first and the last of them."""

    heights = np.array([2, 0])

    def __init__(self, seed, modes, mu, *, n=6, nu=3, again=False):
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((n, n))
        self.M, self.A = half @ half.T + np.eye(n), rng.standard_normal((3, n))
        self.B, self.slip_jacobian = rng.standard_normal((n, nu)), 0.2 * rng.standard_normal((2, n))
        self.f, self.nle, self.b = *rng.standard_normal((2, n)), rng.standard_normal(3)
        if again:  # a row that holds what another one holds
            self.A, self.b = np.vstack([self.A, 2.0 * self.A[1]]), np.append(self.b, 2 * self.b[1])
        self.mu, self.kinematics = np.array(mu), np.zeros((2, 10))
        self.kinematics[:, lib.ACTIVE_MODE] = modes
        self.slip_jacobian[[mode not in (SLIDING, CREEPING) for mode in modes]] = 0.0

    def moved(self, u, frictions=None):
        """Return the acceleration and multipliers under inputs and frictions.

        Without frictions these are what the load of each contact makes of them.
        """
        n, m = len(self.M), len(self.A)
        C, push = self.A.T.copy(), self.f - self.nle + self.B @ u
        if frictions is None:
            for c, h in enumerate(self.heights):
                C[:, h] -= self.mu[c] * self.slip_jacobian[c]
        else:
            push = push - self.slip_jacobian.T @ frictions
        both = np.block([[self.M, -C], [self.A, np.zeros((m, m))]])
        x = np.linalg.lstsq(both, np.concatenate([push, self.b]), rcond=1e-12)[0]
        return x[:n], x[n:]

    def answer(self):
        """Return whether friction fits its load, and the answer to inputs that is written."""
        n, nu = self.B.shape
        wide, L = np.zeros((n, nu + 2)), np.linalg.cholesky(self.M)
        unilateral_contacts.append_friction_columns(self.B, self.slip_jacobian, wide)
        free, _ = self.moved(np.zeros(nu), np.zeros(2))
        each = [self.moved(one, np.zeros(2))[0] - free for one in np.eye(nu)]
        each += [self.moved(np.zeros(nu), one)[0] - free for one in np.eye(2)]
        motors = np.arange(1.0, nu + 3)
        every = AccelerationMap(L, free, np.ascontiguousarray(np.transpose(each)), motors)
        answer = every._replace(G=np.zeros((n, nu)), motors=np.zeros(nu))
        pushed = EquationOfMotion(self.M, self.nle, self.f, wide)
        given = pushed, self.A, 1e-9, tables(self.heights, self.mu, self.kinematics)
        return unilateral_contacts.eliminate_friction(*given, every, answer), answer


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("modes", "mu"),
    [
        ((SLIDING, SLIDING), (0.3, 0.8)), ((STICKING, CREEPING), (0.3, 0.8)),
        ((SLIDING, OPEN), (0.3, 0.8)), ((OPEN, STICKING), (0.3, 0.8)), ((SLIDING, SLIDING),
        (0.0, 0.5)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("again", [False, True])
def test_friction_that_follows_its_load_is_that_of_all_equations_at_once(seed, modes, mu, again):
    robot = Sliding(seed, modes, mu, again=again)
    fits, answer = robot.answer()
    assert fits
    free, _ = robot.moved(np.zeros(3))
    np.testing.assert_allclose(answer.a_free, free, **EXACT)
    each = [robot.moved(one)[0] - free for one in np.eye(3)]
    np.testing.assert_allclose(answer.G, np.transpose(each), **EXACT)
    np.testing.assert_array_equal(answer.motors, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("part", "fits"), [(0.5, True), (0.999, True), (1.001, False), (2, False)])
def test_friction_that_presses_as_hard_as_it_rubs_jams(seed, part, fits):
    """Its load grows by ``mu`` times a number per unit of friction; at one it feeds itself."""
    robot = Sliding(seed, (SLIDING, STICKING), (1.0, 1.0))
    none, one = (robot.moved(np.zeros(3), np.array([w, 0.0]))[1][2] for w in (0.0, 1.0))
    if one < none:
        robot.slip_jacobian *= -1.0
    robot.mu[0] = part / abs(one - none)
    assert robot.answer()[0] == fits


def test_a_jam_names_the_contacts_that_slide():
    own = SimpleNamespace(names=("a", "b", "c", "d"), kinematics=np.zeros((4, 10)))
    own.kinematics[:, lib.ACTIVE_MODE] = [SLIDING, OPEN, CREEPING, STICKING]
    error = unilateral_contacts.UnilateralContacts._jammed(own, 1)
    assert isinstance(error, unilateral_contacts.JammedContact)
    assert str(error) == (
        "contacts 'a', 'c' jam: the more it rubs the harder it presses, and rigid bodies do not "
        "decide whether it sticks at once or opens (Painlevé's paradox). Lower mu, change the "
        'posture, or let the law keep it from sliding: [[keep]] kind = "contact_forces", with a '
        "least force or a larger one."
    )


def test_a_load_pushes_along_its_row_and_against_the_slip():
    robot = Sliding(0, (SLIDING, STICKING), (0.3, 0.8))
    robot.slip_jacobian[1] = 1.0  # which does not slide
    C = np.zeros((3, 6))
    own = tables(robot.heights, robot.mu, robot.kinematics)
    unilateral_contacts.force_directions(robot.A, robot.slip_jacobian, own, C)
    np.testing.assert_array_equal(C[:2], robot.A[:2])
    np.testing.assert_allclose(C[2], robot.A[2] - 0.3 * robot.slip_jacobian[0], rtol=1e-14)


def test_frictions_are_the_reactions_of_the_rows_of_slip():
    felt, mu = np.zeros((4, 10)), np.array([0.5, 0.25, 0.5, 0.5])
    felt[:, lib.ACTIVE_MODE] = [SLIDING, CREEPING, STICKING, OPEN]
    felt[:, lib.SLIP_DIRECTION : lib.SLIP_DIRECTION + 2] = [0.6, -0.8]
    heights, slips = np.array([0, 3, 6, 9]), np.array([1, 4, 7, 10])
    reaction = np.array([10.0, 1, 2, 20.0, 3, 4, 30.0, 5, 6, 40.0, 7, 8])
    internal = np.array([0.0] * 6 + [1.0, 2.0, -6.0] + [0.0] * 3)
    unilateral_contacts.write_friction_forces(tables(heights, mu, felt, slips), internal, reaction)
    np.testing.assert_allclose(
        reaction, [10.0, -3, 4, 20.0, -3, 4, 31.0, 7, 0, 40.0, 7, 8], rtol=1e-14
    )


# What a mode lasts


def margin(mode, *, load=10.0, height=0.3, slip=(0.0, 0.0), towards=(1.0, 0.0), side=(0.0, 0.0),
           mu=0.5, half=(0.0, 0.0), tilt=(0.0, 0.0), facing=(1.0, 0.0)):  # fmt: skip
    """Return what one contact of three lasts; the others are open, a metre above."""
    state, felt = np.zeros((3, 5)), np.zeros((3, 10))
    felt[:, lib.HEIGHT], each, least = 1.0, np.zeros(3), np.zeros(1)
    state[1, lib.TOUCHDOWN_HEIGHT], felt[1, lib.HEIGHT], felt[1, lib.ACTIVE_MODE] = (
        0.1,
        height,
        mode,
    )
    (
        felt[1, lib.SLIP_VELOCITY : lib.SLIP_VELOCITY + 2],
        felt[1, lib.SLIP_DIRECTION : lib.SLIP_DIRECTION + 2],
    ) = slip, towards
    felt[1, lib.HEADING : lib.HEADING + 2] = facing
    heights, slips = np.array([0, 5, 10]), np.array([3, 8, 13])
    reaction = np.full(15, np.nan)
    reaction[5:10] = load, *tilt, *side
    halves = np.zeros((3, 2))
    halves[1] = half
    contacts = tables(heights, np.full(3, mu), felt, slips, state, halves)
    unilateral_contacts.write_margins(contacts, reaction, each, least)
    assert (each[0], each[2]) == (1.0, 1.0)
    assert least[0] == min(1.0, each[1])
    return each[1]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"mode": OPEN}, 0.2),  # over the floor
        ({"mode": OPEN, "half": (0.1, 0.1), "load": np.nan}, 0.2),
        ({"mode": OPEN, "height": 0.05}, -0.05),
        ({"mode": STICKING, "load": 0.5}, 0.25),  # within its cone
        ({"mode": STICKING, "side": (3.0, -4.0)}, 0.0),
        ({"mode": STICKING, "side": (0.0, 6.0)}, -1.0),
        ({"mode": STICKING, "load": -2.0}, -2.0),
        ({"mode": STICKING, "mu": 2.0}, 10.0),  # no more than the load
        ({"mode": SLIDING, "slip": (0.03, -0.04)}, 0.049),
        ({"mode": SLIDING, "slip": (0.0, 0.0)}, -1e-3),
        ({"mode": SLIDING, "slip": (0.0, 0.0), "mu": 0.0}, 10.0),  # it slides on for ever
        ({"mode": SLIDING, "slip": (30.0, 40.0)}, 10.0),
        ({"mode": CREEPING, "slip": (6e-4, 8e-4), "towards": (0.6, 0.8)}, 1e-3),
        ({"mode": CREEPING, "slip": (1e-3, 0.0)}, 1e-3),
        ({"mode": CREEPING, "slip": (3e-3, 0.0)}, -1e-3),  # quick again
        ({"mode": CREEPING, "slip": (-1e-4, 0.0)}, -1e-4 + 1e-9),  # it has turned back
        ({"mode": CREEPING, "slip": (1.5e-3, -1e-4), "towards": (0.0, 1.0)}, -1e-4 + 1e-9),
        # A sole tips over its edges: N m left of load times half its length, and its width.
        ({"mode": STICKING, "half": (0.1, 0.2), "tilt": (0.25, 0.0)}, 0.75),
        ({"mode": STICKING, "half": (0.1, 0.2), "tilt": (-0.25, 1.5)}, 0.5),
        ({"mode": STICKING, "half": (0.1, 0.2), "tilt": (0.25, -1.9)}, 0.1),
        ({"mode": STICKING, "half": (0.1, 0.2), "tilt": (0.25, -1.9), "facing": (0.0, 1.0)}, -0.9),
        ({"mode": STICKING, "half": (0.1, 0.2), "tilt": (0.5, 0.5), "facing": (0.6, 0.8)}, 0.3),
        ({"mode": STICKING, "half": (0.1, 0.1), "tilt": (-1.0, 0.5), "facing": (0.6, 0.8)}, -0.1),
        ({"mode": SLIDING, "slip": (30.0, 40.0), "half": (0.1, 0.2), "tilt": (0.3, 0.0)}, 0.7),
    ],
)  # fmt: skip
def test_what_a_mode_lasts(given, expected):
    assert margin(**given) == pytest.approx(expected, abs=1e-12)


def test_a_point_has_no_edge_to_tip_over():
    free = unilateral_contacts.tipping_margin(np.array([1.0, 5.0, 5.0]), np.zeros(2), np.zeros(10))
    assert free == np.inf


@pytest.mark.parametrize(
    ("mode", "slip", "holds"),
    [(OPEN, 0.0, [1, 0, 0, 0, 0, 1]), (SLIDING, 0.1, [1, 1, 1, 0, 0, 1]),
     (CREEPING, 1e-4, [1, 1, 1, 0, 0, 1]), (CREEPING, 1e-12, [1, 1, 1, 1, 1, 1]),
     (STICKING, 0.0, [1, 1, 1, 1, 1, 1])],
)  # fmt: skip
def test_which_rows_hold_in_a_mode(mode, slip, holds):
    felt, found = np.zeros((1, 10)), np.full(6, 7.0)
    felt[0, lib.ACTIVE_MODE], felt[0, lib.SLIP_VELOCITY + 1] = mode, -slip
    unilateral_contacts.write_active_rows(np.array([[1, 3, 5]]), felt, found)
    np.testing.assert_array_equal(found, holds)


# What is felt of a contact


LIFTS = np.array([[0.2, 0.3], [0.6, 0.8]])


@pytest.mark.parametrize(
    ("t", "period", "lifted"),
    [
        (0.1, 0.0, False), (0.2, 0.0, True), (0.29, 0.0, True), (0.3, 0.0, False),
        (0.7, 0.0, True), (0.8, 0.0, False), (1.25, 0.0, False), (1.25, 1.0, True),
        (7.7, 1.0, True), (7.5, 1.0, False),
    ],
)  # fmt: skip
def test_lifts_are_half_open_and_may_recur(t, period, lifted):
    assert lib.is_in_interval(LIFTS, period, t) == lifted


def noted(mode, *, beta=(0.1, 0.2, 0.03, -0.04), t=0.0, heeds=0.0, creep=(0.6, 0.8)):
    """Return a contact of a row of height, one of tilt and two of slip, and its rows."""
    rng = np.random.default_rng(1)
    rows = Rows.zeros(4, 3)
    rows.A[:], rows.b[:], rows.phi[:], rows.beta[:] = rng.standard_normal((4, 3)), 1.0, 0.5, beta
    turn, axes = np.linalg.qr(rng.standard_normal((3, 3)))[0], np.eye(3)[[1, 2, 0]]
    state = np.array([mode, *creep, 0.0, heeds])
    touch = ContactArrays(
        state, np.full(10, 9.0), np.full(3, 9.0), turn, axes, 0.5, np.zeros(2), True
    )
    before = rows._replace(**{name: getattr(rows, name).copy() for name in ("A", "b", "beta")})
    lib.release_rows(np.array([t]), LIFTS, 1.0, 2, touch, rows)
    return touch, rows, before


@pytest.mark.parametrize("mode", MODES)
def test_what_is_felt_of_a_contact(mode):
    touch, rows, before = noted(mode)
    felt, R, axes = touch.kinematics, touch.rotation, touch.axes
    assert felt[lib.HEIGHT] == 0.5
    assert felt[lib.HEIGHT_RATE] == 0.1
    assert felt[lib.ACTIVE_MODE] == mode
    np.testing.assert_array_equal(felt[lib.SLIP_VELOCITY : lib.SLIP_VELOCITY + 2], [0.03, -0.04])
    np.testing.assert_allclose(felt[lib.HEADING : lib.HEADING + 2], axes[:2] @ R[:, 0], rtol=1e-12)
    assert felt[lib.UPRIGHTNESS] == pytest.approx(axes[2] @ R[:, 2], rel=1e-12)
    towards = [0.6, -0.8] if mode == SLIDING else [0.6, 0.8]  # of others as it was
    np.testing.assert_allclose(
        felt[lib.SLIP_DIRECTION : lib.SLIP_DIRECTION + 2], towards, rtol=1e-12
    )
    rub = towards @ before.A[2:] if mode in (SLIDING, CREEPING) else np.zeros(3)
    np.testing.assert_allclose(touch.slip_jacobian, rub, rtol=1e-12)
    kept = {OPEN: 0, SLIDING: 2, CREEPING: 2, STICKING: 4}[mode]
    for name in ("A", "b", "beta"):
        np.testing.assert_array_equal(getattr(rows, name)[:kept], getattr(before, name)[:kept])
        assert not getattr(rows, name)[kept:].any()
    np.testing.assert_array_equal(rows.phi, [0.5 * (mode != OPEN)] * 2 + [0.5] * 2)


def test_a_contact_that_slides_at_no_speed_keeps_its_direction():
    touch, _, before = noted(SLIDING, beta=(0.0, 0.0, 0.0, 0.0))
    np.testing.assert_array_equal(
        touch.kinematics[lib.SLIP_DIRECTION : lib.SLIP_DIRECTION + 2], [0.6, 0.8]
    )
    np.testing.assert_allclose(touch.slip_jacobian, [0.6, 0.8] @ before.A[2:], rtol=1e-12)


@pytest.mark.parametrize(
    ("t", "heeds", "mode"), [(3.25, 1, OPEN), (3.25, 0, STICKING), (3.5, 1, STICKING)]
)
def test_a_planned_lift_opens_a_contact_that_heeds_it(t, heeds, mode):
    assert noted(STICKING, t=t, heeds=heeds)[0].kinematics[lib.ACTIVE_MODE] == mode
