"""`check` of robots whose law lifts contacts: rows that the ground holds are no fault of motors."""

from pathlib import Path

import numpy as np
import pytest

from ukctrl import Scenario, check
from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.task_motion import task_motion
from ukctrl.mechanics.constraints.contact import SWITCH_DELAY, Contact
from ukctrl.simulation.assemble import Loop

FEET = ("FL", "FR", "RL", "RR")


def scenario(path="[[0.1805, 0.1308, 0.0], [0.1805, 0.1308, 0.03], [0.1805, 0.1308, 0.0]]", **more):
    """A quadruped that lifts a foot from 0.2 s to 0.4 s and sets it down again."""
    lifts = {"FL": "lifts = [[0.2, 0.4]]"}
    contacts = "".join(
        f'[[robot.passive]]\nkind = "contact"\nframe = "{foot}_foot"\nmu = 0.6\n'
        f"{lifts.get(foot, '')}\n"
        for foot in FEET
    )
    text = f"""
        title = "One foot up"
        start = {{ q = {{ root_z = 0.28 }} }}
        timing = {{ duration = 0.6, control = 0.002 }}

        [robot]
        use = "a1"
        {contacts}
        [[servo]]
        kind = "pose_follows"
        frame = "trunk"
        path = {{ kind = "constant", value = [0.0, 0.0, 0.28] }}
        orientation = {{ kind = "constant", rpy = [0.0, 0.0, 0.0] }}

        [[servo]]
        kind = "point_follows"
        frame = "FL_foot"
        path = {{ kind = "min_jerk", points = {path}, times = [0.2, 0.3, 0.4] }}

        [controller]
        use = "servo-baumgarte"
        allocation = {{ on_infeasible = "least_squares" }}
    """
    return Scenario.from_toml(text).replace(more)


@pytest.fixture(scope="module")
def found():
    return check(scenario())


@pytest.mark.slow
def test_a_foot_that_is_lifted_later_stands_in_nobodys_way(found):
    assert found.ok, found.problems
    (warning,) = found.warnings  # true: the centre of mass is on the edge of the three others
    assert "'RR_foot_contact' would lift off" in warning
    degrees = {row.name: row.relative_degree for row in found.start.rows}
    assert set(degrees.values()) == {2}
    assert found.start.servo.rank == found.start.grip.rank == 6
    assert found.motion.ranks.servo.highest == found.motion.ranks.grip.highest == 9
    assert found.motion.ranks.servo.worst > 0.1
    assert any("the ground holds 'FL_foot' until t = 0.2 s" in note for note in found.notes)
    (lifted,) = found.motion.way.lifted
    assert lifted.contact == "FL_foot_contact"
    np.testing.assert_allclose(lifted[1:], [0.2, 0.4], rtol=0.0, atol=2.0 * SWITCH_DELAY)


def test_three_feet_carry_what_four_carried():
    """Statics: the trunk does not move, so the ground pushes with the weight at all times."""
    loop = Loop(scenario())
    lifts = ContactSchedule(loop)
    motion = task_motion(loop, lifts)
    site, names = loop.robot.site("FL_foot"), loop.plant.passive.names
    heights, loads = [], []
    for t, q, v, a in zip(motion.t.tolist(), motion.q, motion.v, motion.a, strict=True):
        dynamics = loop.plant_at(t)
        dynamics.move(t, q, v)
        u = dynamics.least_input(a)
        forces = dynamics.reactions(dynamics.passive_force(a, u))
        heights.append(dynamics.snapshot.point(site)[2])
        loads.append(forces[[names.index(f"{foot}_foot_contact.height") for foot in FEET]])
    loads, up = np.array(loads), (motion.t > 0.2) & (motion.t < 0.4)
    assert not loads[up, 0].any()
    assert (loads[~up, 0] > 10.0).all()
    np.testing.assert_allclose(np.array(heights)[~up], heights[0], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(max(heights) - heights[0], 0.03, rtol=0.0, atol=1e-3)


@pytest.mark.slow
def test_a_law_that_stops_at_the_ground_is_told_what_to_do():
    found = check(scenario(**{"controller.allocation.on_infeasible": "raise"}))
    assert not found.ok
    assert any("least_squares" in text for text in found.problems)


@pytest.mark.slow
def test_a_foot_that_is_counted_on_in_the_air_is_warned_of():
    high = "[[0.1805, 0.1308, 0.0], [0.1805, 0.1308, 0.03], [0.1805, 0.1308, 0.03]]"
    found = check(scenario(high))
    assert any(
        "'FL_foot_contact' is used by the law again at t = 0.4 s" in text and "30 mm above" in text
        for text in found.warnings
    )


@pytest.mark.parametrize(
    ("z", "level", "text"),
    [pytest.param(0.32, "notes", "start above the ground, by up to 40 mm",
                  marks=pytest.mark.slow),
     (0.2, "problems", "start below the ground, by up to 80 mm")],
)  # fmt: skip
def test_a_start_off_the_ground(z, level, text):
    found = check(scenario(**{"start.q.root_z": z}))
    assert any(text in said for said in getattr(found, level))
    assert not any("breaks the passive constraints" in said for said in found.problems)


def test_planned_changes_recur_with_their_period_and_come_surely():
    once = Contact(frame="foot", mu=0.5, lifts=((0.1, 0.3),))
    again = Contact(frame="foot", mu=0.5, lifts=((0.1, 0.3),), period=0.4)
    np.testing.assert_allclose(once.changes(0.0, 1.0), [0.1 + SWITCH_DELAY, 0.3 + SWITCH_DELAY])
    np.testing.assert_allclose(
        again.changes(0.2, 1.0), np.array([0.3, 0.5, 0.7, 0.9]) + SWITCH_DELAY
    )
    assert not Contact(frame="foot", mu=0.5).changes(0.0, 1.0)


def test_a_hand_that_pushes_a_block_is_not_held_by_contacts_that_will_slide():
    page = Path(__file__).parents[3] / "docs" / "gallery" / "contacts_that_push"
    found = check(Scenario.load(page / "push-block.toml"))
    assert found.verdict == "warnings"
    (said,) = [cause for cause in found.causes if "no motor accelerates" in cause.text]
    assert "Contacts 'floor', 'hand' are taken to stick here" in said.cure
    floor = {"kind": "contact", "frame": "bottom", "type": "flat", "sticks": True}
    hand = {"kind": "contact", "frame": "tool", "on": "face", "sticks": True}
    firm = {"robot.passive": [floor, hand]}
    assert check(Scenario.load(page / "push-block.toml", firm)).verdict == "not ready"
