"""Contacts that only push: they open, slide, stick and strike, beside closed forms."""

import dataclasses as dc
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.shared.free_bodies import completed, free, inertial, run_of
from ukctrl import Robot, Runtime, Scenario, check, control, simulate
from ukctrl.core.errors import InputError, StartError
from ukctrl.mechanics import reference
from ukctrl.mechanics.constraints import ComFollows, Contact
from ukctrl.mechanics.constraints.contact import ACTIVE_MODE
from ukctrl.robot import Options
from ukctrl.robot.schema.force_tables import GivenForce, JointMotor
from ukctrl.robot.schema.robot_file import ExtraFrame
from ukctrl.simulation.export.export_controller import export_controller
from ukctrl.simulation.result.verdicts import judge
from ukctrl.simulation.scenario import IntegratorOptions, StartState, Timing

PAGE = Path(__file__).parents[2] / "docs" / "gallery" / "contacts_that_push"
G = 9.81
MASS = 2.0
INTEGRATED = {"rtol": 0.0, "atol": 2e-8}  # rtol 1e-9 over a second
FOUND = {"rtol": 0.0, "atol": 1e-9}  # a root, to the tolerance of the motion


BOX = f'<robot name="box"><link name="box">{inertial(MASS, 0.1, 0.2, 0.3)}</link></robot>'
FOOT = ExtraFrame(name="foot", parent="box", position=(0.0, 0.0, -0.1))
CONTACT = {"kind": "contact", "frame": "foot", "type": "flat"}


def box(mu, **more):
    return free(BOX, {**CONTACT, "mu": mu, **more}, frame=[FOOT])


def changes(run, *which):
    return [each for each in run.provenance["contacts"]["first"] if each[2] in which]


METHODS = [{"method": "DOP853"}, {"method": "RK4", "step": 1e-3}, {"method": "Radau"}]


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each["method"])
def test_a_block_slides_and_stops_where_friction_has_taken_its_speed(method):
    mu, v0 = 0.3, np.array([2.0, 1.0])
    speed = np.linalg.norm(v0)
    start = [0, 0, 0.1, 0, 0, 0, 1], [*v0, 0, 0, 0, 0]
    run = completed(run_of(box(mu), *start, integrator=IntegratorOptions(**method)))
    stop = speed / (mu * G)
    ((t, _, _),) = changes(run, "sticks")
    np.testing.assert_allclose(t, stop, **INTEGRATED)
    gone = np.minimum(run.time, stop)
    way = (speed * gone - 0.5 * mu * G * gone**2)[:, None] * v0 / speed
    np.testing.assert_allclose(run["q"][:, :2], way, **INTEGRATED)
    force = dict(zip(run.labels.passive_rows, run["reaction"][10], strict=True))
    rubs = -mu * MASS * G * v0 / speed
    np.testing.assert_allclose(force["foot_contact.height"], MASS * G, **INTEGRATED)
    np.testing.assert_allclose(
        [force["foot_contact.slip_x"], force["foot_contact.slip_y"]], rubs, **INTEGRATED
    )
    assert run["reaction_residual"].max() < 1e-9
    assert run.metric("energy_drift") < 1e-7
    np.testing.assert_allclose(run["reaction"][-1, 3:5], 0.0, **INTEGRATED)  # it stands


def test_a_block_on_a_slope_holds_below_the_angle_of_friction_and_slides_above():
    mu = 0.5
    for slope, holds in ((0.9 * np.arctan(mu), True), (1.1 * np.arctan(mu), False)):
        normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
        turn = [0, np.sin(0.5 * slope), 0, np.cos(0.5 * slope)]
        tilted = box(mu, ground={"normal": normal.tolist()})
        run = completed(run_of(tilted, [*(0.1 * normal), *turn], np.zeros(6)))
        a = 0.0 if holds else G * (np.sin(slope) - mu * np.cos(slope))
        down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
        expected = 0.1 * normal + 0.5 * a * run.time[:, None] ** 2 * down
        np.testing.assert_allclose(run["q"][:, :3], expected, **INTEGRATED)


SOLE = {"mu": 2.0, "sole": [0.10, 0.16]}  # the mass is 0.1 m above


@pytest.mark.parametrize(("yaw", "half"), [(0.0, 0.05), (0.5 * np.pi, 0.08), (np.pi, 0.05)])
@pytest.mark.parametrize("part", [0.99, 1.01])
def test_a_sole_stands_on_a_slope_until_the_weight_passes_its_edge(yaw, half, part):
    slope = np.arctan(part * half / 0.1)
    turned = Rotation.from_euler("y", slope)
    normal = turned.apply([0.0, 0.0, 1.0])
    turn = (turned * Rotation.from_euler("z", yaw)).as_quat()
    run = run_of(
        box(**SOLE, ground={"normal": normal.tolist()}), [*(0.1 * normal), *turn], np.zeros(6)
    )
    if part < 1.0:
        assert completed(run).provenance["contacts"]["changes"] == 0
    else:
        assert run.status == "diverged"
        assert "'foot_contact' tips over an edge of its sole at t = 0 s" in run.message


@pytest.mark.parametrize(("mu", "tips"), [(0.49, False), (0.51, True)])
def test_a_sole_that_brakes_too_hard_tips(mu, tips):
    run = run_of(box(mu, sole=SOLE["sole"]), [0, 0, 0.1, 0, 0, 0, 1], [1.0, 0, 0, 0, 0, 0])
    assert ("tips over an edge" in run.message) is tips


def test_a_sole_that_comes_down_askew_is_told_to_be_four_points():
    lean = 0.05
    turn = [np.sin(0.5 * lean), 0.0, 0.0, np.cos(0.5 * lean)]
    run = run_of(box(0.5), [0, 0, 0.15, *turn], np.zeros(6))
    assert "comes down at t = 0.1" in run.message
    assert "leaning by 0.05 rad" in run.message
    assert "corners as four contacts" in run.message


LIFT = f"""<robot name="lift"><link name="world"/><link name="mass">{inertial(MASS, 1, 1, 1)}</link>
<joint name="z" type="prismatic"><parent link="world"/><child link="mass"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1e30" velocity="1e30"/></joint></robot>"""


def lift(force, mu=0.0):
    given = [GivenForce(joint="z", force=force)]
    robot = Robot.build(LIFT, Options(actuator=[], force=given))
    return dc.replace(robot, passive=({"kind": "contact", "frame": "mass", "mu": mu},))


def test_a_mass_takes_off_when_the_pull_has_reached_its_weight():
    rate = 40.0  # of the pull [N/s]
    run = completed(run_of(lift(f"{rate}*t"), [0.0], [0.0]))
    leaves = MASS * G / rate
    ((t, _, _),) = changes(run, "opens")
    np.testing.assert_allclose(t, leaves, **FOUND)
    flown = np.maximum(run.time - leaves, 0.0)
    np.testing.assert_allclose(run["q"][:, 0], rate / MASS * flown**3 / 6.0, **INTEGRATED)
    np.testing.assert_allclose(
        run["reaction"][:, 0], np.maximum(MASS * G - rate * run.time, 0.0), **INTEGRATED
    )
    np.testing.assert_array_equal(run["passive_holds"][:, 0], run.time < leaves)
    assert run.metric("ground_pull") == 0.0


def test_a_mass_that_a_wave_throws_flies_and_lands():
    omega, pull = 6.0, 1.5 * MASS * G
    run = completed(run_of(lift(f"{pull}*sin({omega}*t)"), [0.0], [0.0], sample=1e-3))
    up, down, *_ = changes(run, "opens", "strikes")
    np.testing.assert_allclose(up[0], np.arcsin(1.0 / 1.5) / omega, **FOUND)
    # z'' = 1.5 g sin(w t) - g from rest at take-off: the landing is a root of its integral
    w, t0 = omega, up[0]
    z = lambda t: (  # noqa: E731
        1.5 * G / w * np.cos(w * t0) * (t - t0)
        - 1.5 * G / w**2 * (np.sin(w * t) - np.sin(w * t0))
        - 0.5 * G * (t - t0) ** 2
    )
    assert down[2] == "strikes"
    np.testing.assert_allclose(z(down[0]), 0.0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS[:2], ids=lambda each: each["method"])
def test_a_block_that_falls_loses_exactly_its_energy_and_stays(method):
    height = 0.2
    start = [0, 0, 0.1 + height, 0, 0, 0, 1], np.zeros(6)
    run = completed(run_of(box(0.5), *start, integrator=IntegratorOptions(**method)))
    ((t, _, _),) = changes(run, "strikes")
    np.testing.assert_allclose(t, np.sqrt(2.0 * height / G), **INTEGRATED)
    lost = run.provenance["contacts"]["impact_loss"]
    np.testing.assert_allclose(lost, MASS * G * height, atol=1e-6)
    np.testing.assert_allclose(run["energy"][0] - run["energy"][-1], lost, atol=1e-6)
    np.testing.assert_allclose(run["q"][-1, 2], 0.1, **INTEGRATED)
    assert run.metric("energy_drift") < 1e-6


LEG = f"""<robot name="leg"><link name="world"/><link name="hip">{inertial(3.0, 1, 1, 1)}</link>
<link name="thigh"><inertial><origin xyz="0 0 -0.1"/><mass value="1.0"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="shank"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
<inertia ixx="0.005" iyy="0.005" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="z" type="prismatic"><parent link="world"/><child link="hip"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1e30" velocity="1e30"/></joint>
<joint name="hip_joint" type="revolute"><parent link="hip"/><child link="thigh"/><axis xyz="0 1 0"/>
<limit lower="-9" upper="9" effort="1e30" velocity="1e30"/></joint>
<joint name="knee" type="revolute"><parent link="thigh"/><child link="shank"/>
<origin xyz="0 0 -0.2"/><axis xyz="0 1 0"/>
<limit lower="-9" upper="9" effort="1e30" velocity="1e30"/></joint></robot>"""


def test_a_leg_that_lands_loses_the_energy_of_the_velocity_that_is_projected_out():
    foot = ExtraFrame(name="foot", parent="shank", position=(0.0, 0.0, -0.2))
    leg = Robot.build(LEG, Options(actuator=[], frame=[foot]))
    leg = dc.replace(leg, passive=({"kind": "contact", "frame": "foot", "mu": 5.0},))
    start = [0.45, 0.5, -0.9], [0.0, 0.3, 0.1]
    run = completed(run_of(leg, *start, duration=0.14, sample=1e-3))
    ((t, _, _),) = changes(run, "strikes")
    # The state just before, of the robot in the air.
    free_leg = dc.replace(leg, passive=())
    flown = completed(run_of(free_leg, *start, duration=float(t), sample=float(t)))
    s = free_leg.snapshot(flown["q"][-1], flown["v"][-1])
    A, M, v = s.frame("foot").J[[0, 2]], s.M, s.v
    after = v - np.linalg.solve(M, A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A @ v))
    lost = 0.5 * v @ M @ v - 0.5 * after @ M @ after
    assert lost > 0.1
    np.testing.assert_allclose(run.provenance["contacts"]["impact_loss"], lost, rtol=1e-7)
    assert run.metric("energy_drift") < 1e-7


def standing(z, v):
    """Return a leg whose task is to stand, that starts so high and rises so fast."""
    leg = leg_on_foot()
    hip = 0.2 * np.cos(0.5) + 0.2 * np.cos(0.4)  # the foot stands at z = 0
    law = control.Servo(feedback=control.Baumgarte(alpha=20.0, beta=100.0))
    stays = reference.Constant(value=[0.3])
    return Scenario(
        title="up", robot=leg, controller=law, servo=(ComFollows(axes="z", path=stays),),
        start=StartState(q=(hip + z, 0.5, -0.9), v=(v, 0.0, 0.0)),
        timing=Timing(duration=0.05, sample=0.01, control=0.001),
    )  # fmt: skip


def leg_on_foot():
    foot = ExtraFrame(name="foot", parent="shank", position=(0.0, 0.0, -0.2))
    motors = [JointMotor(joint="hip_joint"), JointMotor(joint="knee")]
    leg = Robot.build(LEG, Options(actuator=motors, frame=[foot]))
    return dc.replace(leg, passive=({"kind": "contact", "frame": "foot", "mu": 0.7},))


def test_a_task_that_asks_a_foot_to_pull_is_told_that_it_is_open():
    """Not that its rows be dropped, nor of reactions, for there are none."""
    leg = leg_on_foot()
    law = control.Servo(feedback=control.Baumgarte(alpha=20.0, beta=100.0))
    hip = 0.2 * np.cos(0.5) + 0.2 * np.cos(0.4)  # the foot stands at z = 0
    falls = reference.Expression(components=("0.3 - 15*t**2",))
    down = Scenario(
        title="down", robot=leg, controller=law,
        servo=(ComFollows(axes="z", path=falls),), start=StartState(q=(hip, 0.5, -0.9)),
        timing=Timing(duration=0.1, sample=0.01, control=0.001),
    )  # fmt: skip
    run = simulate(down)
    assert run.status == "infeasible", run.message
    assert "no motor pushes off there: 'foot_contact'. Slow the motion down" in run.message
    assert run.message.endswith("[[keep]] kind = 'contact_forces', with a least force.")
    at_apex = simulate(down.replace({"keep": [{"kind": "contact_forces"}]}))
    assert at_apex.message.endswith("with a larger least force.")
    pushed = simulate(down.replace({"keep": [{"kind": "contact_forces", "least": 5.0}]}))
    assert pushed.status == "completed", pushed.message  # as is advised
    told = next(each for each in judge(run) if each.subject == "reactions")
    assert told.level == "good", told.text


@pytest.mark.parametrize(
    ("z", "v", "said"),
    [(0.03, 0.0, "start above the ground, by up to 30 mm"),
     (0.0, 0.1, "start leaving the ground, at up to 0.1 m/s")],
)  # fmt: skip
def test_a_task_of_feet_in_the_air_is_told_to_put_them_down(z, v, said):
    """In check, and by the run, whose start then has no motor that pushes off."""
    scenario = standing(z, v)
    found, run = check(scenario), simulate(scenario)
    assert not found.ok
    (cause,) = (cause for cause in found.causes if said in cause.text)
    assert cause.level == "bad"
    assert cause.cure.startswith("Set start.solve = true")
    assert run.status == "infeasible"
    assert "They start above the ground: set start.solve = true." in run.message
    assert "actuator" not in run.message.partition("out of")[2].removeprefix(" the actuators'")
    solved = scenario.replace({"start.solve": True})
    assert check(solved).ok
    assert simulate(solved).status == "completed"


def test_a_law_that_gives_way_is_warned_of_feet_in_the_air():
    gives_way = {"controller.allocation.on_infeasible": "least_squares"}
    found = check(standing(0.03, 0.0).replace(gives_way))
    assert any("start above the ground, by up to 30 mm: open" in text for text in found.warnings)


def test_a_box_that_has_stopped_on_four_feet_slides_no_longer():
    """Some of its feet hold it, and the others, which rest, need not stick themselves."""
    feet = [
        ExtraFrame(name=f"c{k}", parent="box", position=(x, y, -0.1))
        for k, (x, y) in enumerate([(0.1, 0.1), (0.1, -0.1), (-0.1, 0.1), (-0.1, -0.1)])
    ]
    passive = [{"kind": "contact", "frame": foot.name, "mu": 0.3} for foot in feet]
    start = [0, 0, 0.1, 0, 0, 0, 1], [1.0, 0, 0, 0, 0, 0]
    run = completed(run_of(free(BOX, *passive, frame=feet), *start))
    stop = 1.0 / (0.3 * G)
    sample = run.time[1] - run.time[0]
    assert run.metric("sliding_time") == pytest.approx(4.0 * stop, abs=4.0 * sample)
    np.testing.assert_array_equal(run["passive_holds"][run.time > stop], 1.0)


def test_a_foot_that_lands_askew_on_ice_slides():
    start = [0, 0, 0.3, 0, 0, 0, 1], [1.0, 0, 0, 0, 0, 0]
    run = completed(run_of(box(0.2), *start))
    fall = np.sqrt(2.0 * 0.2 / G)
    after = 1.0 - 0.2 * G * fall  # the impulse of friction is mu times that of the ground
    (down, _, _), (stop, _, _) = changes(run, "strikes", "sticks")
    np.testing.assert_allclose(stop - down, after / (0.2 * G), **INTEGRATED)


def test_a_ground_that_holds_both_ways_is_what_it_was():
    held = free(BOX, {**CONTACT, "sticks": True}, frame=[FOOT])
    run = completed(run_of(held, [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), duration=0.1))
    assert "passive_holds" not in run.samples
    assert "contacts" not in run.provenance


@pytest.mark.slow
def test_a_plank_rocks_on_two_feet_and_comes_to_rest():
    feet = [
        ExtraFrame(name=name, parent="box", position=(x, 0.0, -0.1))
        for name, x in (("left", -0.3), ("right", 0.3))
    ]
    passive = [{"kind": "contact", "frame": foot.name, "mu": 0.8} for foot in feet]
    plank = free(BOX, *passive, frame=feet)
    angle = 0.05
    z = 0.1 * np.cos(angle) + 0.3 * np.sin(angle)
    start = [0, 0, z, 0, np.sin(0.5 * angle), 0, np.cos(0.5 * angle)]
    run = completed(run_of(plank, start, np.zeros(6)))
    assert len(changes(run, "strikes")) >= 2
    np.testing.assert_allclose(run["v"][-1], 0.0, atol=1e-6)
    assert run["passive_holds"][-1].min() == 1.0
    assert run.metric("energy_drift") < 1e-6
    np.testing.assert_allclose(run["reaction"][-1, [0, 3]], 0.5 * MASS * G, **INTEGRATED)


def test_a_start_below_the_ground_is_refused_in_words():
    """It is no run that diverges: none has begun."""
    with pytest.raises(StartError, match=r"on the ground or above; it is 0\.05 m below\. Raise"):
        run_of(box(0.5), [0, 0, 0.05, 0, 0, 0, 1], np.zeros(6))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"mu": -0.1}, "mu"),
        ({"mu": 0.5, "sticks": True}, "sticks must be left out"),
        ({"lifts": [[0.0, 1.0]]}, "give mu"),
        ({"mu": 0.5, "lifts": [[1.0, 0.5]]}, "pairs of a start and a later stop"),
        ({"mu": 0.5, "lifts": [[0.2, 0.9]], "period": 0.5}, "within the period"),
        ({"mu": 0.5, "type": "point", "sole": [0.1, 0.1]}, "sole must be that of a flat contact"),
    ],
)
def test_a_contact_that_makes_no_sense_is_refused(more, said):
    robot = free(BOX, {**CONTACT, **more}, frame=[FOOT])
    with pytest.raises(InputError, match=said):
        run_of(robot, [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), duration=0.01)


def test_what_motors_must_keep_has_no_ground():
    with pytest.raises(InputError, match=r"servo\[0\].mu is of a passive contact"):
        dc.replace(Scenario.load("a1-squat"), servo=(Contact(frame="FL_foot", mu=0.5),))


def test_forces_are_kept_of_contacts_that_push_alone():
    with pytest.raises(InputError, match="need passive contacts with mu; robot 'a1' has none"):
        simulate(Scenario.load("a1-squat", {"keep": [{"kind": "contact_forces"}]}))


@pytest.mark.slow
def test_what_keeps_forces_is_handed_over_bit_for_bit(tmp_path):
    scenario = Scenario.load("a1-ice", {"timing.duration": 0.1, "timing.sample": 0.002})
    told = export_controller(scenario, completed(simulate(scenario)), tmp_path)
    assert told.replay.identical, str(told.replay)


@pytest.mark.slow
def test_a_floating_robots_controller_answers_as_in_a_run_that_steps_adaptively(tmp_path):
    changes = {"timing.duration": 1.0, "timing.sample": 0.002}
    scenario = Scenario.load("a1-push", changes)
    told = export_controller(scenario, completed(simulate(scenario)), tmp_path)
    assert told.replay.identical, str(told.replay)


def test_a_controller_that_is_told_what_its_feet_do_answers_as_in_the_run(tmp_path):
    ends = {"timing.duration": 3.8, "timing.sample": 0.002}
    scenario = Scenario.load(PAGE / "a1-lift.toml", ends)
    run = completed(simulate(scenario))
    told = export_controller(scenario, run, tmp_path)
    assert told.replay.identical, str(told.replay)
    runtime = Runtime(scenario)
    assert runtime.contacts[0] == "FL_foot_contact"
    k = 1800  # it has come down, bounced, and is above the ground while the law counts on it
    assert run["passive_holds"][k, 0] == 0.0
    at = run.time[k], run["q"][k], run["v"][k]
    np.testing.assert_array_equal(runtime.step(*at, [0, 2, 2, 2]), run["u"][k])
    runtime.restart()
    assert np.abs(runtime.step(*at) - run["u"][k]).max() > 0.1
    with pytest.raises(InputError, match="0 .open., 1 .slides. and 2 .sticks. for each of 'FL_f"):
        runtime.step(at[0] + 0.002, *at[1:], [0, 2, 2, 3])
    with pytest.raises(InputError, match="the robot has none that only push"):
        Runtime(Scenario.load("scara-helix")).step(0.0, np.zeros(4), np.zeros(4), [2])


def test_a_law_that_ends_every_mode_at_once_is_told_so():
    """It pulls at what stands, and pushes down what flies."""

    class Contrary(control.Law):
        def step(self, dynamics, memory):
            stands = dynamics.contacts.kinematics[0, ACTIVE_MODE] != 0.0
            return control.Command(np.array([30.0 if stands else -30.0]), np.zeros(0))

    @dc.dataclass(frozen=True, kw_only=True)
    class ContraryLaw(control.Controller):
        needs_servo = False

        def start(self, task):
            return Contrary(task)

    robot = dc.replace(Robot.build(LIFT), passive=lift("0").passive)
    run = simulate(
        Scenario(
            title="chatter", robot=robot, controller=ContraryLaw(), start=StartState(q=(0.0,)),
            timing=Timing(duration=0.1, sample=0.01),
        )
    )  # fmt: skip
    assert run.status == "diverged"
    assert "'mass_contact' chatters" in run.message


def test_a_contact_is_one_that_holds_unless_it_says_otherwise():
    assert Contact(frame="foot").mu is None


FREE = '<limit lower="-9" upper="9" effort="1e30" velocity="1e30"/>'


def planar(name, *links):
    """A chain of prismatic and revolute joints, each with a link."""
    urdf, parent = f'<robot name="{name}"><link name="world"/>', "world"
    for joint, kind, axis, origin, body in links:
        urdf += (
            f'<link name="{joint}_link">{body}</link><joint name="{joint}" type="{kind}">'
            f'<parent link="{parent}"/><child link="{joint}_link"/><origin xyz="{origin}"/>'
            f'<axis xyz="{axis}"/>{FREE}</joint>'
        )
        parent = f"{joint}_link"
    return urdf


def test_a_rod_that_slides_against_its_lean_jams():
    """Painlevé's rod: 1 + 3 c (c - mu s) < 0 for a slender one of half length l, at its angle."""
    half, mass = 0.5, 1.0
    light = inertial(1e-9, 1e-9, 1e-9, 1e-9)
    rod = planar(
        "rod",
        ("x", "prismatic", "1 0 0", "0 0 0", light),
        ("z", "prismatic", "0 0 1", "0 0 0", light),
        ("tilt", "revolute", "0 1 0", "0 0 0", inertial(mass, 1, mass * half**2 / 3.0, 1)),
    )
    tip = ExtraFrame(name="tip", parent="tilt_link", position=(half, 0.0, 0.0))
    angle = 0.6  # the tip is ahead and down
    for mu, jams in ((0.5, False), (6.0, True)):
        robot = Robot.build(f"{rod}</robot>", Options(actuator=[], frame=[tip]))
        robot = dc.replace(robot, passive=({"kind": "contact", "frame": "tip", "mu": mu},))
        c, s = np.cos(angle), np.sin(angle)
        assert (1.0 + 3.0 * c * (c - mu * s) < 0.0) == jams
        start = [0.0, half * s, angle], [1.0, 0.0, 0.0]
        run = run_of(robot, *start, duration=0.02, sample=1e-3)
        assert (run.status == "diverged") == jams
        assert ("jams" in run.message) == jams


def test_a_hand_pushes_a_block_which_slides_on_when_it_stops():
    """Hand and block are masses on rails; the block's face is touched by a point of the hand."""
    mu, mass, hand = 0.3, 2.0, 1.0
    light = inertial(1e-9, 1e-9, 1e-9, 1e-9)
    urdf = planar("push", ("hand", "prismatic", "1 0 0", "0 0 0.1", inertial(hand, 1, 1, 1)))
    block = planar(
        "", ("bx", "prismatic", "1 0 0", "0 0 0", light),
        ("bz", "prismatic", "0 0 1", "0 0 0", inertial(mass, 1, 1, 1)),
    ).split('<link name="world"/>')[1]  # fmt: skip
    frames = [
        ExtraFrame(name="tip", parent="hand_link", position=(0.0, 0.0, 0.0)),
        ExtraFrame(
            name="face", parent="bz_link", position=(0.0, 0.0, 0.1), rpy=(0.0, -np.pi / 2, 0.0)
        ),
    ]
    push, less = 20.0, 60.0  # of the hand at first [N], and what it loses [N/s]
    given = [GivenForce(joint="hand", force=f"{push} - {less}*t")]
    robot = Robot.build(f"{urdf}{block}</robot>", Options(actuator=[], force=given, frame=frames))
    robot = dc.replace(
        robot,
        passive=(
            {"kind": "contact", "name": "hand", "frame": "tip", "on": "face", "mu": 0.0},
            {"kind": "contact", "name": "floor", "frame": "bz_link", "mu": mu},
        ),
    )
    run = completed(run_of(robot, np.zeros(3), np.zeros(3), duration=0.8))
    rubs, both = mu * mass * G, mass + hand
    off = (push + hand * mu * G) / less  # where the hand alone brakes as the block does
    ((left, _, _),) = [each for each in changes(run, "opens") if each[1] == "hand"]
    np.testing.assert_allclose(left, off, **FOUND)
    at = {name: i for i, name in enumerate(run.labels.dofs)}
    pushed = run.time < off
    t = run.time[pushed]
    v = ((push - rubs) * t - 0.5 * less * t**2) / both
    np.testing.assert_allclose(run["v"][pushed, at["hand"]], v, **INTEGRATED)
    np.testing.assert_allclose(run["v"][pushed, at["bx"]], v, **INTEGRATED)
    force = dict(zip(run.labels.passive_rows, run["reaction"][pushed].T, strict=True))
    alone = hand * (push - less * t - rubs) / both
    np.testing.assert_allclose(force["hand.height"], push - less * t - alone, **INTEGRATED)
    np.testing.assert_allclose(force["floor.slip_x"][1:], -rubs, **INTEGRATED)
    v = ((push - rubs) * off - 0.5 * less * off**2) / both
    x = (0.5 * (push - rubs) * off**2 - less * off**3 / 6.0) / both + 0.5 * v**2 / (mu * G)
    np.testing.assert_allclose(run["q"][-1, at["bx"]], x, **INTEGRATED)
    assert run.metric("energy_drift") < 1e-7


def test_a_block_that_a_hand_has_left_slides_as_far_as_friction_lets_it():
    run = completed(simulate(Scenario.load(PAGE / "push-block.toml")))
    ((left, _, _),) = [
        each for each in changes(run, "opens") if each[1] == "hand" and each[0] > 0.1
    ]
    ((stuck, _, _),) = [each for each in changes(run, "sticks") if each[1] == "floor"]
    at, mu = run.labels.dofs.index("block_x"), 0.3
    k = int(np.searchsorted(run.time, left))
    v, since = run["v"][k, at], run.time[k]
    assert v > 0.5
    np.testing.assert_allclose(stuck, since + v / (mu * G), atol=1e-6)
    x = run["q"][:, run.labels.coordinates.index("block_x")]
    np.testing.assert_allclose(x[-1] - x[k], v**2 / (2.0 * mu * G), atol=1e-6)
    assert run["v"][-1, at] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_a_quadruped_lifts_a_foot_when_its_law_counts_on_it_no_more():
    run = completed(simulate(Scenario.load(PAGE / "a1-lift.toml", {"timing.duration": 1.7})))
    ((t, foot, _),) = changes(run, "opens")
    assert (t, foot) == (1.5, "FL_foot_contact")
    assert run["frame_position"][-1, run.labels.frames.index("FL_foot"), 2] > 0.01
    assert run.metric("worst_margin") > -1e-6


@pytest.mark.slow
def test_a_quadruped_trots_in_place():
    run = completed(simulate(Scenario.load(PAGE / "a1-trot.toml")))
    place = run["phi"][:, [i for i, of in enumerate(run.labels.row_blocks) if of == "place"]]
    tilt = run["phi"][:, [i for i, of in enumerate(run.labels.row_blocks) if of == "tilt"]]
    assert np.abs(place).max() < 0.005
    assert np.abs(tilt).max() < 1e-3
    heights = run["passive_holds"][:, ::3]
    two, four = (heights.sum(axis=1) == 2).mean(), (heights.sum(axis=1) == 4).mean()
    assert two > 0.4
    assert four > 0.2
    # every step of a pair is like the one before
    last = run["phi"][-41:], run["phi"][-81:-40]
    np.testing.assert_allclose(*last, atol=2e-4)


@pytest.mark.slow
def test_a_push_that_makes_feet_slip_does_not_where_the_law_stays_in_their_cones():
    kept = completed(simulate(Scenario.load("a1-push", {"timing.duration": 1.0})))
    assert kept["passive_holds"].min() == 1.0
    assert kept.metric("needed_friction") < 0.5
    free = simulate(Scenario.load("a1-push", {"timing.duration": 0.75, "keep": []}))
    assert free["passive_holds"].min() == 0.0


@pytest.mark.slow
def test_on_ice_the_same_squat_goes_without_friction_along_the_ground():
    changed = {"timing.duration": 0.5}
    kept = completed(simulate(Scenario.load("a1-ice", changed)))
    assert kept["passive_holds"].min() == 1.0
    assert kept.metric("needed_friction") < 0.04 + 1e-6
    assert kept.metric("peak_phi") < 1e-4
    free = simulate(Scenario.load("a1-ice", {**changed, "keep": []}))
    assert free["passive_holds"].min() == 0.0


def test_a_foot_that_pulls_only_where_its_slip_is_held_slides_and_does_not_bounce_without_end():
    """Stuck it would pull, open it comes down again: what holds is that it slides."""
    run = completed(simulate(Scenario.load("a1-push", {"keep": [], "timing.duration": 0.7})))
    assert run.metric("sliding_time") > 0.05
    assert run.provenance["contacts"]["changes"] < 100


# Impacts of several contacts


def corners(half, at, **contact):
    """Return a box that floats, with contacts at places given in half its sides."""
    frames = [
        ExtraFrame(name=f"c{i}", parent="box", position=tuple(np.array(each) * half))
        for i, each in enumerate(at)
    ]
    inertia = MASS / 3.0 * ((half**2).sum() - half**2)
    urdf = f'<robot name="box"><link name="box">{inertial(MASS, *inertia)}</link></robot>'
    passive = [{"kind": "contact", "frame": frame.name} | contact for frame in frames]
    return free(urdf, *passive, frame=frames)


HALF = np.array([0.14, 0.05, 0.19])


def test_a_corner_that_strikes_while_another_stands_takes_energy():
    """An independent solver of the impact ends at 0.0338 J, of 1.3045 J before."""
    turn = [0.5943997510384407, 0.38117849676770765, -0.4773477657910125, 0.5230019121013604]
    q, v = [0.0, 0.0, 0.14868656151597945, *turn], [0.777, -0.131, 0.607, 1.5, 3.8, -1.1]
    two = corners(HALF, [(1, -1, -1), (1, -1, 1)], mu=0.7)
    run = completed(run_of(two, q, v, duration=0.014, sample=2e-4))
    ((t, _, _),) = changes(run, "strikes")
    after = int(np.argmax(run.time > t))
    before, kinetic = run["kinetic_energy"].ravel()[after - 1], run["kinetic_energy"].ravel()[after]
    np.testing.assert_allclose([before, kinetic], [1.3045, 0.0338], atol=2e-3)
    lost = run.provenance["contacts"]["impact_loss"]
    # within a sample gravity changes it
    np.testing.assert_allclose(before - kinetic, lost, atol=2e-3)
    assert run.metric("energy_drift") < 1e-9


ALL = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]


def thrown(seed, restitution, duration):
    rng = np.random.default_rng(seed)
    mu = float(rng.choice([0.1, 0.3, 0.6, 1.0]))
    robot = corners(np.array([0.1, 0.15, 0.2]), ALL, mu=mu, restitution=restitution)
    turn = Rotation.random(random_state=seed).as_quat()
    v = [*rng.normal(size=2), 0.0, *(4.0 * rng.normal(size=3))]
    run = completed(run_of(robot, [0.0, 0.0, 0.6, *turn], v, duration=duration, sample=0.005))
    told, energy = run.provenance["contacts"], run["energy"].ravel()
    assert told["impacts"] >= 5
    # by what the integrator may miss in a second
    assert np.diff(energy).max() < 1e-7
    # friction takes the rest
    assert energy[0] - energy[-1] >= told["impact_loss"] - 1e-7
    assert run.metric("energy_drift") < 1e-7
    return run


def test_a_box_that_is_thrown_only_loses_energy():
    thrown(5, 0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(8))
def test_boxes_that_are_thrown_only_lose_energy_and_come_to_rest(seed, restitution):
    run = thrown(seed, restitution, 3.0)
    np.testing.assert_allclose(run["v"][-1], 0.0, atol=1e-6)
    assert abs(run["passive_holds"][-1]).max() == 1.0


def test_a_ball_bounces_to_the_square_of_its_restitution():
    e, height = 0.7, 0.4
    ball = corners(HALF, [(0, 0, 0)], mu=0.0, restitution=e)
    run = completed(run_of(ball, [0, 0, height, 0, 0, 0, 1], np.zeros(6), sample=1e-3))
    hits = [t for t, _, _ in changes(run, "strikes")]
    fall = np.sqrt(2.0 * height / G)
    np.testing.assert_allclose(hits[:2], [fall, fall * (1.0 + 2.0 * e)], atol=1e-8)
    between = (run.time > hits[0]) & (run.time < hits[1])
    np.testing.assert_allclose(run["q"][between, 2].max(), e**2 * height, atol=1e-5)


@pytest.mark.parametrize(
    "contact", [{"mu": 0.3, "type": "flat", "restitution": 0.5}, {"restitution": 0.5}]
)
def test_only_points_that_push_bounce(contact):
    with pytest.raises(InputError, match="restitution must be of a point that only pushes"):
        Contact(frame="foot", **contact)


# Rest


@pytest.mark.parametrize("at", [[(-1, 0, -1), (1, 0, -1)], [(-1, -1, -1), (-1, 1, -1), (1, 0, -1)]])
def test_a_box_at_rest_on_a_slope_slides_nowhere_and_needs_the_friction_of_the_slope(at):
    """Which of its feet carries the force along the slope, no motion tells."""
    slope, mu = 0.3, 0.34
    half = np.array([0.1, 0.1, 0.3])  # high enough for the lower foot to carry nearly all
    normal = [np.sin(slope), 0.0, np.cos(slope)]
    robot = corners(half, at, mu=mu, ground={"normal": normal})
    q = [*(half[2] * np.array(normal)), 0.0, np.sin(0.5 * slope), 0.0, np.cos(0.5 * slope)]
    run = completed(run_of(robot, q, np.zeros(6), duration=0.5))
    assert abs(run["v"]).max() < 1e-9
    assert run.metric("sliding_time") == 0.0
    assert run.metric("needed_friction") == pytest.approx(np.tan(slope), rel=1e-6)
    assert run.provenance["contacts"]["changes"] == 0
    assert run["reaction_residual"].max() < 1e-9
    (ground,) = (verdict for verdict in judge(run) if verdict.subject == "ground")
    assert "without slip, the coefficient of friction must be at least 0.309" in ground.text
    assert ground.level == "good"
