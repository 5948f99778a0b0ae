"""Contacts that open, slide, stick and strike, one decision at a time, of a puck on the ground."""

from __future__ import annotations

import numpy as np
import pytest

from tests.shared.free_bodies import free, inertial
from ukctrl.core.errors import StartError
from ukctrl.mechanics.constraints.contact import (
    CREEP_DIRECTION,
    CREEPING,
    HEIGHT,
    MODE,
    OPEN,
    SLIDING,
    SLIP_DIRECTION,
    SLIP_VELOCITY,
    STICKING,
    TOUCHDOWN_HEIGHT,
)  # fmt: skip
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.simulation.events import contact_events as lib
from ukctrl.simulation.events.contact_events import (
    ContactChattering,
    ContactEvents,
    ContactTipping,
    NoConsistentMode,
)

MASS, MU = 2.0, 0.5
PUCK = f'<robot name="puck"><link name="puck">{inertial(MASS, 0.1, 0.2, 0.3)}</link></robot>'
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def puck(mu=MU, **more):
    return Dynamics(free(PUCK, {"kind": "contact", "frame": "puck", "mu": mu} | more))


POINT, SMOOTH = puck(), puck(0.0)
SOLE = puck(type="flat", sole=[0.2, 0.1])


def at(dynamics, height=0.0, v=(0.0, 0.0, 0.0), lean=0.0, turning=(0.0, 0.0, 0.0)):
    """Return a state of the puck: its point of contact is its centre of mass."""
    robot = dynamics.robot
    move = np.array([0.0, 0.0, height, 0.0, lean, 0.0])
    return IntegratorState(
        robot.integrate(robot.neutral, move), np.array([*v, *turning]), np.zeros(1)
    )


def begun(dynamics, **given):
    events, (q, v, _) = ContactEvents([]), at(dynamics, **given)
    events.set_initial_modes(dynamics, 0.0, q, v)
    own = dynamics.contacts
    return events, own, own.mode[0]


# The start


@pytest.mark.parametrize(
    ("dynamics", "given", "mode", "floor"),
    [
        (POINT, {}, STICKING, None),
        (SMOOTH, {}, SLIDING, None),
        (POINT, {"height": 0.9e-9, "v": (0.9e-9, 0.0, 0.9e-9)}, STICKING, None),
        (POINT, {"v": (1.1e-9, 0.0, 0.0)}, SLIDING, None),
        (POINT, {"height": -0.9e-6}, STICKING, None),
        (POINT, {"height": 0.1}, OPEN, -1e-11),
        (POINT, {"height": 0.1, "v": (0.0, 0.0, -1.0)}, OPEN, -1e-11),
        (POINT, {"v": (0.0, 0.0, 0.1)}, OPEN, -1e-11),  # it leaves the ground
        (POINT, {"v": (0.0, 0.0, -0.1)}, OPEN, 1e-11),  # it strikes at once
        (POINT, {"height": -1e-7, "v": (0.0, 0.0, -0.1)}, OPEN, -1e-7 + 1e-11),
    ],
)
def test_a_contact_begins_as_its_height_and_speed_have_it(dynamics, given, mode, floor):
    events, own, state = begun(dynamics, **given)
    assert state[MODE] == mode
    if floor is not None:
        assert state[TOUCHDOWN_HEIGHT] == pytest.approx(floor, abs=1e-15)
    word = {OPEN: "opens", SLIDING: "slides", STICKING: "sticks"}[mode]
    assert events.report() == {
        "begin": {"puck_contact": word}, "changes": 0, "impacts": 0, "ambiguous_impacts": [],
        "impact_loss": 0.0, "first": [],
    }  # fmt: skip
    assert own.names == ("puck_contact",)


def test_a_start_below_the_ground_is_refused():
    with pytest.raises(StartError) as caught:
        begun(POINT, height=-0.025)
    assert str(caught.value) == (
        "contact 'puck_contact' must start on the ground or above; it is 0.025 m below. Raise the "
        "start, or let start.solve = true put it there."
    )


def test_robots_that_the_law_believes_in_follow():
    other = puck().contacts
    q, v, _ = at(POINT, height=0.1)
    ContactEvents([other]).set_initial_modes(POINT, 0.0, q, v)
    assert other.mode[0, MODE] == OPEN


# Impacts


def struck(dynamics, t=1.5, **given):
    """Let an open contact touch down; return what it becomes, the velocity and what is lost."""
    events, own, state = begun(dynamics, height=0.1)
    begin = at(dynamics, **given)
    dynamics.look(t, begin.q, begin.v)
    own.margins[0] = 0.0
    after = events._change_modes(dynamics, own, t, begin)
    np.testing.assert_array_equal(after.q, begin.q)
    kinetic = 0.5 * MASS * (begin.v[:3] @ begin.v[:3] - after.v[:3] @ after.v[:3])
    assert events.impact_loss == pytest.approx(kinetic, rel=1e-9, abs=1e-15)
    assert after.memory[-1] == pytest.approx(-events.impact_loss, rel=1e-12)
    return state[MODE], after.v[:3], [(one.t, one.becomes) for one in events.changes], own


def test_an_impact_takes_the_speed_into_the_ground_and_within_the_cone_that_along_it():
    mode, v, changes, _ = struck(POINT, v=(0.3, -0.4, -1.5))  # 0.5 < mu 1.5
    assert mode == STICKING
    np.testing.assert_allclose(v, 0.0, **CLOSE)
    assert changes == [(1.5, "strikes")]


def test_an_impact_outside_of_the_cone_takes_mu_times_as_much_along_the_ground():
    mode, v, changes, own = struck(POINT, v=(0.6, -0.8, -1.5))  # 1 > mu 1.5
    assert mode == SLIDING
    np.testing.assert_allclose(v, [0.6 * 0.25, -0.8 * 0.25, 0.0], **CLOSE)
    np.testing.assert_allclose(
        own.mode[0, CREEP_DIRECTION : CREEP_DIRECTION + 2], [0.6, -0.8], **CLOSE
    )
    assert changes == [(1.5, "strikes")]


def test_an_impact_on_smooth_ground_takes_nothing_along_it():
    mode, v, _, _ = struck(SMOOTH, v=(0.6, -0.8, -1.5))
    assert mode == SLIDING
    np.testing.assert_allclose(v, [0.6, -0.8, 0.0], **CLOSE)


def test_a_body_that_hardly_moves_comes_to_rest():
    mode, v, _, _ = struck(POINT, v=(0.9e-4, 0.0, -0.5e-4))  # gentle: it sticks, whatever the cone
    assert mode == STICKING
    np.testing.assert_allclose(v, 0.0, rtol=0.0, atol=1e-15)
    mode, v, _, _ = struck(POINT, v=(0.0, 0.0, 0.9e-4))
    assert mode == STICKING
    mode, v, _, _ = struck(POINT, v=(1.6e-4, 0.0, -1.4e-4))  # it would slip on at 0.9e-4
    assert mode == STICKING
    np.testing.assert_allclose(v, 0.0, rtol=0.0, atol=1e-15)
    mode, v, _, _ = struck(POINT, v=(2.5e-4, 0.0, -1.4e-4))
    assert mode == CREEPING  # slower than a millimetre a second
    np.testing.assert_allclose(v, [1.8e-4, 0.0, 0.0], rtol=1e-6, atol=1e-12)


def test_a_sole_comes_down_on_its_plane_or_not_at_all():
    mode, v, _, _ = struck(SOLE, v=(0.0, 0.0, -1.0), lean=0.9e-2)
    assert mode == STICKING
    np.testing.assert_allclose(v, 0.0, **CLOSE)
    with pytest.raises(ContactTipping) as caught:
        struck(SOLE, v=(0.0, 0.0, -1.0), lean=1.5e-2)
    assert str(caught.value) == (
        "contact 'puck_contact' comes down at t = 1.5 s leaning by 0.015 rad, on an edge and not "
        "on its plane. To go on from there, give its corners as four contacts of type 'point'."
    )
    struck(POINT, v=(0.0, 0.0, -1.0), lean=0.5)  # a point has none


# Modes that are over


def over(
    dynamics, mode, *, load, held=(0.0, 0.0), tilt=None, v=(0.0, 0.0, 0.0), towards=(1.0, 0.0)
):
    """Return what becomes of a contact in a mode under a load and forces along the ground."""
    events, own, state = begun(dynamics)
    begin = at(dynamics, v=v)
    state[MODE], state[CREEP_DIRECTION : CREEP_DIRECTION + 2] = mode, towards
    dynamics.look(2.5, begin.q, begin.v)
    own.reaction[:] = 0.0
    own.reaction[own.height_rows[0]] = load
    own.reaction[own.slip_rows[0] : own.slip_rows[0] + 2] = held
    if tilt is not None:
        own.reaction[own.height_rows[0] + 1 : own.height_rows[0] + 3] = tilt
    own.margins[0] = -1.0
    after = events._change_modes(dynamics, own, 2.5, begin)
    return state, after, [(one.contact, one.becomes) for one in events.changes], own


def test_a_contact_that_is_pulled_opens():
    for mode, held in ((STICKING, (0.0, 0.0)), (SLIDING, (9.0, 0.0)), (CREEPING, (9.0, 0.0))):
        state, _, changes, _ = over(POINT, mode, load=-1.0, held=held)
        assert (state[MODE], state[TOUCHDOWN_HEIGHT]) == (OPEN, -1e-11)
        assert changes == [("puck_contact", "opens")]
    assert over(POINT, STICKING, load=0.0)[0][MODE] == OPEN
    assert over(SMOOTH, STICKING, load=-1.0, held=(9.0, 0.0))[0][MODE] == OPEN


def test_a_contact_that_cannot_hold_begins_to_creep_against_what_held_it():
    state, _, changes, _ = over(POINT, STICKING, load=10.0, held=(3.0, -4.0))
    assert state[MODE] == CREEPING
    np.testing.assert_allclose(
        state[CREEP_DIRECTION : CREEP_DIRECTION + 2], [-0.6, 0.8], rtol=1e-12
    )
    assert changes == [("puck_contact", "slides")]
    # Where it is pulled as well, what holds it may be what pulls.
    assert over(POINT, STICKING, load=-1.0, held=(3.0, -4.0))[0][MODE] == CREEPING
    assert over(POINT, STICKING, load=-1.0, held=(1e-10, 0.0))[0][MODE] == OPEN


def test_a_contact_that_slides_slowly_creeps_on_in_its_direction():
    state, after, changes, own = over(POINT, SLIDING, load=1.0, v=(3e-4, -4e-4, 0.0))
    assert state[MODE] == CREEPING
    np.testing.assert_allclose(state[CREEP_DIRECTION : CREEP_DIRECTION + 2], [0.6, -0.8], rtol=1e-9)
    np.testing.assert_array_equal(own.kinematics[0, SLIP_VELOCITY : SLIP_VELOCITY + 2], after.v[:2])
    np.testing.assert_allclose(
        own.kinematics[0, SLIP_DIRECTION : SLIP_DIRECTION + 2], [0.6, -0.8], rtol=1e-9
    )
    assert changes == []


def test_a_contact_that_creeps_slides_when_it_is_quick_and_sticks_when_it_has_stopped():
    state, after, changes, _ = over(POINT, CREEPING, load=1.0, v=(2e-3, 0.0, 0.0))
    assert (state[MODE], changes) == (SLIDING, [])
    assert after.v[0] == 2e-3
    state, after, changes, _ = over(POINT, CREEPING, load=1.0, v=(1.9e-3, 1e-5, 0.0))
    assert (state[MODE], changes) == (STICKING, [("puck_contact", "sticks")])
    np.testing.assert_allclose(after.v, 0.0, rtol=0.0, atol=1e-15)
    assert after.memory[-1] == pytest.approx(-0.5 * MASS * (1.9e-3**2 + 1e-10), rel=1e-9)


@pytest.mark.parametrize(
    ("tilt", "tips"),
    [((0.9, 0.0), False), ((1.0, 0.0), True), ((-1.1, 0.0), True), ((0.0, 0.45), False),
     ((0.0, -0.55), True)],
)  # fmt: skip
def test_a_sole_tips_over_the_edge_that_its_centre_of_pressure_has_left(tilt, tips):
    """It is pressed by 10 N, and its edges are 0.1 m and 0.05 m from its middle."""
    if not tips:
        assert over(SOLE, STICKING, load=10.0, held=(9.0, 0.0), tilt=tilt)[0][MODE] == CREEPING
        return
    with pytest.raises(ContactTipping) as caught:
        over(SOLE, STICKING, load=10.0, tilt=tilt)
    assert str(caught.value) == (
        "contact 'puck_contact' tips over an edge of its sole at t = 2.5 s: the centre of pressure "
        "has left it. To go on from there, give its corners as four contacts of type 'point'. Or "
        "keep it inside: [[keep]] kind = 'contact_forces'."
    )


# Until all modes hold


def test_modes_are_changed_until_they_hold():
    events, own, state = begun(POINT)
    seen, begin = [], at(POINT)
    other = puck().contacts
    events._others = [other]

    def evaluate(t, now):
        seen.append(state[MODE])
        own.margins[0] = -1.0 if state[MODE] == STICKING else 1.0
        own.reaction[:], own.reaction[own.slip_rows[0]] = 0.0, 5.0
        own.reaction[own.height_rows[0]] = 1.0
        return float(own.margins[0])

    after = events.consistent_state(POINT, 0.5, begin, evaluate)
    assert after is begin
    assert seen == [STICKING, CREEPING]
    assert other.mode[0, MODE] == CREEPING


def test_modes_that_never_hold_are_told():
    events, own, state = begun(POINT)
    calls = []

    def evaluate(t, now):
        calls.append(t)
        state[MODE] = SLIDING
        own.margins[0] = -1.0
        own.reaction[own.height_rows[0]] = 1.0
        return -1.0

    with pytest.raises(NoConsistentMode) as caught:
        events.consistent_state(POINT, 0.5, at(POINT, v=(1e-4, 0.0, 0.0)), evaluate)
    assert str(caught.value) == (
        "no modes of the contacts agree with the forces at t = 0.5 s; tried last: 'puck_contact' "
        "slides. Friction may jam there (Painlevé), or the law answers each mode by forces that "
        "end it."
    )
    assert len(calls) == 24


def test_contacts_that_change_faster_and_faster_end_the_run(monkeypatch):
    monkeypatch.setattr(lib, "MAX_RECORDED_CHANGES", 3)
    events = ContactEvents([])
    for k in range(lib.ZENO_CHANGES):  # at the border of what is too fast
        events._note(0.01 + 1.0001e-3 * k / (lib.ZENO_CHANGES - 1), "a", "sticks")
    assert events.count == lib.ZENO_CHANGES
    assert len(events.changes) == 3
    events = ContactEvents([])
    for _ in range(lib.ZENO_CHANGES - 1):
        events._note(0.01, "a", "sticks")
    with pytest.raises(ContactChattering) as caught:
        events._note(0.0105, "b", "slides")
    assert str(caught.value) == (
        "contact 'b' chatters at t = 0.0105 s: 200 changes of contacts within 0.001 s (Zeno). What "
        "comes after their limit is not found; damp the motion, hold the input (timing.control), "
        "or keep the contact forces inside."
    )


def test_what_is_felt_at_the_start_is_the_height():
    _, own, _ = begun(POINT, height=0.1)
    assert own.kinematics[0, HEIGHT] == pytest.approx(0.1)
