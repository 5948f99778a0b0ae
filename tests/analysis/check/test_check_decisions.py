"""What `check` decides at the start and along the motion, each on both sides of its border."""

from __future__ import annotations

import dataclasses as dc
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.analysis.check import start_diagnostics
from ukctrl.analysis.check.check_result import Diagnostic
from ukctrl.analysis.check.contact_phases import immovable_rows, project_rows
from ukctrl.analysis.check.diagnostics import (
    _coincides,
    order_by_cause,
    relax_sticking,
    root_causes,
)
from ukctrl.analysis.check.motion_end import diagnose_end, row_conflict
from ukctrl.analysis.check.motion_ranks import _max_rank_in_phase, _row_history, motion_ranks
from ukctrl.analysis.check.sentences import diagnose
from ukctrl.analysis.check.task_motion import TaskMotion, task_motion
from ukctrl.analysis.check.timing import (
    max_error_period,
    sampled_error,
    sampled_error_matrix,
    sampled_error_rates,
)
from ukctrl.analysis.internal_dynamics.internal_verdict import null_space_advice
from ukctrl.control import Baumgarte, LeastNorm, Pid, Servo
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.errors import quoted
from ukctrl.mechanics.constraints import Expression, JointFollows, Stack
from ukctrl.mechanics.constraints.contact import HEIGHT, HEIGHT_RATE, MODE, SLIDING
from ukctrl.mechanics.path_inverse_kinematics import follow_path
from ukctrl.mechanics.reference import Constant
from ukctrl.mechanics.relative_degree import RelativeDegree
from ukctrl.robot import JointMotor, Lagrangian, Options
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import StartState, Timing
from ukctrl.uk import RankReport


def masses(count, *, motors=(), k=0.0, passive=()):
    """Return masses of 1 kg on a line, each tied to the next, with motors at some of them."""
    names = [f"x{i}" for i in range(1, count + 1)]
    pulls = [f"k/2*({b} - {a})**2" for a, b in itertools.pairwise(names)]
    return Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(names, "m"),
            kinetic=" + ".join(f"v.{name}**2/2" for name in names),
            potential=" + ".join(pulls) or "0*x1",
            parameters={"k": k},
        ),
        Options(
            actuator=[JointMotor(name=f"F{i}", joint=f"x{i}") for i in motors],
            passive=list(passive),
        ),
    )


def scenario_of(robot, *phi, feedback=None, start=None, duration=1.0, **timing):
    return Scenario(
        title="test",
        robot=robot,
        servo=tuple(Expression(name=f"r{k}", phi=text, unit="m") for k, text in enumerate(phi)),
        start=StartState(q=start or {}),
        controller=Servo(
            feedback=feedback or Baumgarte(alpha=3.0, beta=2.0), allocation=LeastNorm()
        ),
        timing=Timing(duration=duration, **timing),
    )


# The control period


def error(*gains, row="r", integral=False):
    return ErrorPolynomial(row=row, gains=gains, integral=integral)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1000.01, 10.0), (20.0, 100.0), (2.0, 100.0), (0.5, 40.0)]
)
def test_the_longest_period_is_that_of_the_closed_form(alpha, beta):
    """h < min(2/alpha, 2 alpha/beta), for poles at 1000 and 0.01 1/s as for a pair."""
    wanted = min(2.0 / alpha, 2.0 * alpha / beta)
    assert max_error_period(error(beta, alpha)) == pytest.approx(wanted, rel=1e-6)


def test_a_rate_is_kept_up_to_a_period_of_the_closed_form():
    """A single integrator under u = -k y: z = 1 - k h; its rate is a half where
    |1 - k h| = exp(-k h/2), past the fold at k h = 1.
    """
    from scipy.optimize import brentq

    kh = brentq(lambda x: (x - 1.0) - np.exp(-0.5 * x), 1.0, 2.0)
    assert max_error_period(error(4.0), 0.0, 2.0) == pytest.approx(kh / 4.0, rel=1e-6)


def test_what_never_decays_has_no_period_and_what_is_slow_the_longest_looked_for():
    assert max_error_period(error(-1.0)) == 0.0
    assert max_error_period(error(0.0, 4.0)) == 0.0
    assert max_error_period(error(1e-5)) == 1e3


def test_the_held_error_of_one_and_two_integrators():
    """y1 = y0 + h w, and (y, y') by h: [[1 - b h^2/2, h - a h^2/2], [-b h, 1 - a h]]."""
    h, a, b = 0.2, 3.0, 5.0
    np.testing.assert_allclose(sampled_error_matrix(error(4.0), h), [[1.0 - 4.0 * h]])
    wanted = [[1.0 - b * h * h / 2.0, h - a * h * h / 2.0], [-b * h, 1.0 - a * h]]
    np.testing.assert_allclose(sampled_error_matrix(error(b, a), h), wanted, atol=1e-14)
    # An integral that the law advances: s1 = s0 + h y0, and w = -c s - b y.
    c = 0.7
    wanted = [[1.0, h], [-c * h, 1.0 - b * h]]
    np.testing.assert_allclose(
        sampled_error_matrix(error(c, b, integral=True), h), wanted, atol=1e-14
    )
    # Late by a whole period: y1 = y0 + h w0, with w0 what was asked for a period ago.
    poles = np.exp(np.array(sampled_error_rates(error(2.0), h, 1.0)) * h)
    np.testing.assert_allclose(sorted(poles), sorted(np.roots([1.0, -1.0, 2.0 * h])), atol=1e-12)


def test_poles_of_the_held_error_come_the_slowest_first():
    poles = sampled_error_rates(error(8.0, 6.0), 0.01)
    assert [round(pole.real) for pole in poles] == [-2, -4]
    first, second = sampled_error_rates(error(100.0, 2.0), 0.01)
    assert first.imag < 0.0 < second.imag


def test_the_row_that_bears_the_shortest_period_is_named():
    """Rows of alpha 3, beta 2 and alpha 30, beta 20: 2/30 s; the first of several alike."""
    gains = {"alpha": (3.0, 30.0, 30.0), "beta": (2.0, 20.0, 20.0)}
    rows, start = ("x1", "x2 - 0.1", "x3"), {"x2": 0.1}
    robot = masses(3, motors=(1, 2, 3))
    loop = Loop(scenario_of(robot, *rows, feedback=Baumgarte(**gains), start=start, control=0.01))
    found = sampled_error(loop)
    assert (found.row, found.period, found.delay) == ("r1", 0.01, 0.0)
    assert found.longest == pytest.approx(2.0 / 30.0, rel=1e-6)
    slow = (30.0 - np.sqrt(900.0 - 80.0)) / 2.0
    np.testing.assert_allclose(found.poles, [-slow, slow - 30.0])
    assert found.decay == pytest.approx(slow)
    np.testing.assert_allclose(found.sampled, sampled_error_rates(error(20.0, 30.0), 0.01))
    assert found.sampled_decay == pytest.approx(-found.sampled[0].real)
    assert found.recommended == pytest.approx(max_error_period(error(20.0, 30.0), 0.0, 0.8 * slow))


def test_continuous_control_has_a_longest_period_and_no_held_poles():
    found = sampled_error(Loop(scenario_of(masses(1, motors=(1,)), "x1")))
    assert (found.period, found.sampled, found.sampled_decay) == (None, (), None)
    assert found.longest == pytest.approx(2.0 / 3.0, rel=1e-6)


def test_rows_without_feedback_have_no_period():
    still = Baumgarte(alpha=0.0, beta=0.0)
    assert sampled_error(Loop(scenario_of(masses(1, motors=(1,)), "x1", feedback=still))) is None
    some = Baumgarte(alpha=(0.0, 4.0), beta=(0.0, 3.0))
    loop = Loop(scenario_of(masses(2, motors=(1, 2)), "x1", "x2", feedback=some))
    assert sampled_error(loop).row == "r1"
    pid = Pid(kp=3.0, kd=3.0, ki=1.0)
    assert (
        len(sampled_error(Loop(scenario_of(masses(1, motors=(1,)), "x1", feedback=pid))).poles) == 3
    )


def test_errors_that_do_not_decay_have_poles_all_the_same():
    r"""Undamped, and with damping alone, in continuous time and under a hold $h$.

    The held error's $z^2 + (a + b - 2) z + 1 - a + b$, with $a = \alpha h$ and
    $b = \beta h^2/2$, has $|z|^2 = 1 + b$ where $a = 0$, and 1 and $1 - a$ where $b = 0$.
    """
    h, alpha, beta = 0.01, 3.0, 50.0

    def found(**gains):
        robot, feedback = masses(1, motors=(1,)), Baumgarte(**gains)
        loop = Loop(scenario_of(robot, "x1", feedback=feedback, control=h, sample=h))
        return sampled_error(loop)

    undamped = found(alpha=0.0, beta=beta)
    np.testing.assert_allclose(undamped.poles, [-1j * np.sqrt(beta), 1j * np.sqrt(beta)])
    assert (undamped.row, undamped.longest) == ("r0", 0.0)
    growth = np.log(1.0 + beta * h**2 / 2.0) / (2.0 * h)
    assert undamped.sampled_decay == pytest.approx(-growth, rel=1e-9)
    damped = found(alpha=alpha, beta=0.0)
    assert (damped.decay, damped.longest) == (0.0, 0.0)
    np.testing.assert_allclose(damped.poles, [0.0, -alpha])
    np.testing.assert_allclose(damped.sampled, [0.0, np.log(1.0 - alpha * h) / h], atol=1e-9)


# At the start


def report(rank, dependent=()):
    return RankReport(rank, (), dependent, 1.0, 0.0)


def degree(name, value, at_least=2, note=""):
    return RelativeDegree(name=name, value=value, at_least=at_least, note=note)


def ranks_said(*given):
    """Return problems, what they amount to, and notes."""
    found = list(start_diagnostics.rank_diagnostics(*given))
    return tuple(
        [said.text for said in found if said.subject == subject]
        for subject in ("degree", "held", "start")
    )


def test_rows_that_no_motor_accelerates_are_told_together_and_the_way_out_once():
    degrees = (
        degree("a", 4), degree("b", 2), degree("c", 4), degree("d", None, 3), degree("e", 6),
        degree("f", 4),
    )  # fmt: skip
    problems, counted, notes = ranks_said(report(5, ("f",)), report(3), degrees, None, " Do this.")
    assert problems == [
        "no motor accelerates rows 'a', 'c': their relative degree is 4. Do this.",
        "no motor accelerates row 'd': its relative degree is at least 3.",
        "no motor accelerates row 'e': its relative degree is 6.",
    ]
    assert counted == [
        "the motors hold 3 of 5 independent servo rows at the start: the rest has a higher "
        "relative degree, or is beyond the actuation."
    ]
    assert notes == ["servo rows 'f' depend on the others; they are kept if consistent."]


@pytest.mark.parametrize(("value", "told"), [(4, ["2 states remain."]), (None, [])])
def test_states_that_rows_fix_nearby_are_not_counted_where_a_row_loses_its_grip(value, told):
    whole = SimpleNamespace(extended=True, orders=None, internal=2, sentence="2 states remain.")
    given = report(1), report(0), (degree("a", value),), whole, ""
    assert ranks_said(*given)[2] == told


@pytest.mark.parametrize("level", ["bad", "note"])
def test_rows_that_motors_hold_one_by_one_but_not_together_are_too_many(level):
    degrees = (degree("a", 2), degree("b", 2), degree("c", 2))
    given = report(3), report(2), degrees, None, "", level
    [found] = start_diagnostics.rank_diagnostics(*given)
    told = "Let the task ask for no more rows than motors hold together, or add a motor."
    assert found.subject == "held"
    assert found.remedy == (told if level == "bad" else "")


def test_rows_that_motors_hold_are_no_problem():
    degrees = (degree("a", 1), degree("b", 2))
    assert ranks_said(report(2), report(2), degrees, None, "") == ([], [], [])


@pytest.mark.parametrize(
    ("extended", "orders", "internal", "expected"),
    [
        (True, (4, 2), 0, (["Together. Instead."], [], [])),
        (True, None, 0, (["no motor accelerates row 'a': its relative degree is 4. Instead."],
                         [], [])),
        (False, (4, 2), 3, (["no motor accelerates row 'a': its relative degree is 4. Instead."],
                            [], ["Together."])),
    ],
)  # fmt: skip
def test_rows_that_motors_hold_together_after_more_derivatives(
    extended, orders, internal, expected
):
    whole = SimpleNamespace(
        extended=extended, orders=orders, internal=internal, sentence="Together."
    )
    given = report(1), report(1), (degree("a", 4),), whole, " Instead."
    assert ranks_said(*given) == expected


@pytest.mark.parametrize(
    ("driven", "motors", "word"),
    [(1, 2, "under"), (2, 2, "fully"), (2, 3, "redundantly"), (1, 1, "under")],
)
def test_how_motors_drive_two_freedoms(driven, motors, word):
    dynamics = SimpleNamespace(
        reached=lambda: np.zeros((3, driven)), robot=SimpleNamespace(nu=motors)
    )
    assert start_diagnostics.actuation_class(dynamics, 2) == word


def test_inputs_beyond_their_limits_are_told_with_both_numbers():
    bounds = (np.array([-1.0, -2.0, -3.0, -1.0]), np.array([1.0, 2.0, 3.0, 1.0]))
    seen = []
    robot = SimpleNamespace(
        actuators=("a", "b", "c", "d"), input_bounds=lambda rate: (seen.append(rate), bounds)[1]
    )
    snapshot = SimpleNamespace(v=np.array([1.0, 2.0]), B=np.array([[1.0], [0.5]]))
    truth = SimpleNamespace(robot=robot, snapshot=snapshot)
    found = start_diagnostics.input_limit_violations({"a": 1.0, "b": 2.5, "c": -3.25}, truth)
    assert {name: said.text for name, said in found.items()} == {
        "b": "input 'b' starts at 2.5, above its limit 2.",
        "c": "input 'c' starts at -3.25, below its limit -3.",
    }
    np.testing.assert_array_equal(seen, [[2.0]])


def row(name, phi, beta, unit="m"):
    return SimpleNamespace(name=name, phi=phi, beta=beta, unit=unit)


OFF = "Feedback must bring it back, or set start.solve = true."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row("a", 0.9e-6, -0.9e-6)], []),
        ([row("a", 2e-6, 0.0), row("b", 0.0, 0.0)],
         ["the start is off the constraints, most on row 'a': phi = 2e-06 m, beta = 0 m/s. "
          f"{OFF}"]),
        ([row("a", 0.1, 0.0), row("b", 0.0, -0.2, "rad"), row("c", 0.2, 0.0)],
         ["the start is off the constraints, most on row 'b': phi = 0 rad, beta = -0.2 rad/s. "
          f"{OFF}"]),
        ([row("a", np.nan, 0.5), row("b", np.nan, 0.0)],
         [f"the start is off the constraints, most on row 'a': beta = 0.5 m/s. {OFF}"]),
    ],
)  # fmt: skip
def test_a_start_off_the_rows_is_told_by_its_worst(rows, said):
    assert [each.text for each in start_diagnostics.start_error_note(tuple(rows))] == said


@pytest.mark.parametrize("law", ["servo-exact", "servo-baumgarte"])
def test_a_law_without_feedback_stays_off_as_is_said_before(law):
    changes = {"controller": {"use": law}, "start.q": [0.1, 0.2, 0.1, 0.1], "start.solve": False}
    scenario = Scenario.load("scara-helix", {**changes, "timing.duration": 1.0})
    report, result = check(scenario), simulate(scenario)
    stays = result.metric("final_phi") > 0.3
    assert stays == (law == "servo-exact")
    lacking = "feeds no error of 'tool.x', 'tool.y', 'tool.z', 'orientation' back"
    assert any(lacking in text for text in report.warnings) == stays


def test_contacts_that_start_above_the_ground_or_below_it_are_told():
    def told(*heights, rate=0.0):
        felt = np.zeros((len(heights), 10))
        felt[:, HEIGHT], felt[:, HEIGHT_RATE] = heights, rate
        names = tuple("abcd"[: len(heights)])
        contacts = SimpleNamespace(names=names, kinematics=felt)
        loop = SimpleNamespace(
            plant=SimpleNamespace(contacts=contacts), start_is_solvable=lambda: True,
            raises_without_grip=law["raises"],
        )  # fmt: skip
        lifts = SimpleNamespace(needs=lambda names: bool(names) and law["needs"])
        return list(start_diagnostics.contact_height_diagnostics(loop, lifts))

    def said(*heights, **more):
        return [(each.level, each.text) for each in told(*heights, **more)]

    law = {"needs": False, "raises": True}
    assert said(0.0, 0.9e-9, -0.9e-6) == []
    assert said(0.25, 0.0, 0.5, -0.025) == [
        ("note",
            "contacts 'a', 'c' start above the ground, by up to 0.5 m; the check assumes that "
            "they are closed."),
        ("bad", "contacts 'd' start below the ground, by up to 25 mm. Raise the start, or set "
         "start.solve = true."),
    ]  # fmt: skip
    nothing = SimpleNamespace(plant=SimpleNamespace(contacts=None))
    assert list(start_diagnostics.contact_height_diagnostics(nothing, None)) == []
    for raises, level in ((True, "bad"), (False, "warning")):
        law.update(needs=True, raises=raises)
        (high,) = told(0.25, 0.0)
        assert high.level == level
        assert high.text.startswith("contacts 'a' start above the ground, by up to 0.25 m: open")
        assert high.remedy == "Set start.solve = true, which puts them on the ground."
    ((_, rising),) = said(0.0, rate=0.2)
    assert rising.startswith("contacts 'a' start leaving the ground, at up to 0.2 m/s: open")
    assert said(0.0, rate=-0.2) == []  # it strikes at once, and is closed then


def test_closures_that_the_start_breaks_are_told_by_their_worst_row():
    monitor = SimpleNamespace(max_passive_phi=0.01, max_passive_beta=0.1)
    how = "Correct it, or set start.solve = true."

    def said(phi, beta):
        rows = SimpleNamespace(phi=np.array(phi), beta=np.array(beta))
        stack = SimpleNamespace(rows=rows, names=("a", "b"))
        return [each.text for each in start_diagnostics.closure_violations(stack, monitor)]

    assert said([0.006, np.nan], [0.06, -0.06]) == []
    first, second = said([0.005, -0.02], [0.3, 0.1])
    most = "the start breaks the passive constraints, most in row"
    assert first == f"{most} 'b': phi = -0.02. {how}"
    assert second == f"{most} 'a': beta = 0.3. {how}"


def test_passive_rows_that_share_a_load_are_told():
    assert diagnose("start: share", "note", {"names": "'a', 'b'"}).text == (
        "the motion does not determine how passive rows 'a', 'b' share their load; their "
        "reactions are those of least norm."
    )


@pytest.mark.parametrize("proved", [True, False])
def test_which_rows_integrate(monkeypatch, proved):
    """With proof, or by numbers alone, which leave open what they do not see to integrate."""
    if not proved:
        monkeypatch.setattr(start_diagnostics, "CLASSIFIER", "ukctrl_absent.classify")
    robot = Robot.build(
        Lagrangian(coordinates=dict.fromkeys("xyz", "m"), kinetic="v.x**2 + v.y**2 + v.z**2")
    )
    rows = [
        Expression(phi="z - 1", name="level"), Expression(psi="v.x", name="still"),
        Expression(psi="v.z - z*v.y", name="turn"),
    ]  # fmt: skip
    passive, servo = Stack(rows[:1], robot), Stack(rows, robot)
    found, integrable, notes = start_diagnostics.classify_velocity_rows(passive, servo)
    assert (found is not None, len(notes) > 0) == (proved, proved)
    assert integrable == {"level": True, "still": True, "turn": True}
    assert start_diagnostics.classify_velocity_rows(passive, passive) == (None, {}, [])
    servo = Stack([Expression(psi="x*v.y - y*v.z", name="area")], robot)
    _, integrable, _ = start_diagnostics.classify_velocity_rows(Stack((), robot), servo)
    assert integrable == {"area": False if proved else None}


def falling(*motors, allocation=None, weight="0*x", phi="x", potential="g*y"):
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="v.x**2/2 + v.y**2/2",
            potential=potential,
            parameters={"g": 9.81},
        ),
        Options(actuator=[JointMotor(name=f"F{name}", joint=name) for name in motors]),
    )
    loop = Loop(scenario_of(robot, phi))
    if allocation is not None:
        given = {"controller": Servo(feedback=Baumgarte(alpha=3.0, beta=2.0),
                                     allocation=allocation)}  # fmt: skip
        loop = Loop(loop.scenario.replace(given))
    return start_diagnostics.free_fall_note(loop, np.zeros(2))


def test_a_freedom_that_gravity_moves_though_a_motor_could_hold_it():
    """The law holds x alone, and the motor of y rests."""
    [said] = falling("x", "y")
    assert said.text == (
        "1 of 2 freedoms are held; the other 1 moves freely under gravity: "
        f"{null_space_advice()}, or more rows."
    )


@pytest.mark.parametrize(
    ("motors", "given"),
    [
        ("x", {}),  # no motor could hold it
        ("xy", {"potential": "g*x"}),  # gravity pulls along the row
        ("xy", {"phi": "x + y"}),  # gravity pulls along what is free, and is asked below
        ("xy", {"potential": "0*g*y"}),
    ],
)
def test_where_nothing_falls_that_could_be_held(motors, given):
    found = falling(*motors, **given)
    assert bool(found) is (given == {"phi": "x + y"})


@pytest.mark.parametrize(("pull", "told"), [("1e-4", 1), ("1e-7", 0)])
def test_what_gravity_hardly_moves_is_at_rest(pull, told):
    assert len(falling("x", "y", potential=f"{pull}*y + 0*g")) == told


def test_a_freedom_that_the_robots_own_rows_take_is_none_that_falls():
    """Of three coordinates a rail takes one; the law holds another."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m", "z": "m"},
            kinetic="v.x**2/2 + v.y**2/2 + v.z**2/2",
            potential="g*y",
            parameters={"g": 9.81},
        ),
        Options(
            actuator=[JointMotor(name=f"F{name}", joint=name) for name in "xy"],
            passive=[{"kind": "expression", "name": "rail", "phi": "z", "unit": "m"}],
        ),
    )
    [said] = start_diagnostics.free_fall_note(Loop(scenario_of(robot, "x")), np.zeros(3))
    assert said.text.startswith("1 of 2 freedoms are held; the other 1 moves freely under gravity")


# Causes


def along(kind="law", start=0.0, reached=2.0, servo=None, grip=None, curves=None, grows=None):
    ranks = None if curves is None else SimpleNamespace(servo=servo, grip=grip)
    way = SimpleNamespace(kind=kind, start=start, reached=reached)
    stability = None if grows is None else SimpleNamespace(growth=(grows,))
    return SimpleNamespace(way=way, ranks=ranks, curves=curves, stability=stability)


def said(subject, at=None, level="bad"):
    return Diagnostic(level, subject, subject, at)


SIGMA = np.array([[1.0, 0.5], [1.0, 0.01], [1.0, 0.5], [1.0, 0.5]])
CURVES = SimpleNamespace(t=np.array([0.0, 1.0, 2.0, 3.0]), servo=SIGMA, grip=SIGMA[::-1])
TWO, ONE, NONE = (SimpleNamespace(highest=n) for n in (2, 1, 0))
WEAK = {"servo": TWO, "grip": TWO, "curves": CURVES}
TOGETHER = [
    # A note of what the law does without brings about nothing graver.
    (said("degree", level="note"), said("limits", 1.0), {}, False),
    (said("degree", level="note"), said("limits", 1.0, "note"), {}, True),
    (said("weak", level="bad"), said("limits", 1.0, "note"), {}, True),
    (said("off", level="note"), said("approach", 1.0), {}, True),
    # What is said of the whole run has no time to compare.
    (said("motion", 1.0), said("limits"), {}, True),
    # From the end of the motion on, or just before.
    (said("motion"), said("limits", 1.96), {}, True),
    (said("motion"), said("limits", 1.94), {}, False),
    # A singular value that is small there, or at a knot beside.
    (said("ranks"), said("grip", 1.1), WEAK, True),
    (said("ranks"), said("grip", 0.0), WEAK, True),
    (said("ranks"), said("grip", 2.4), WEAK, True),
    (said("ranks"), said("grip", 3.0), WEAK, False),
    (said("ranks"), said("grip", 3.0), WEAK | {"servo": NONE}, True),
    (said("ranks"), said("grip", 1.0), WEAK | {"servo": ONE}, False),
    (said("grip"), said("missed", 0.0), WEAK, False),
    (said("grip"), said("missed", 3.0), WEAK, True),
    (said("grip"), said("missed", 0.0), {}, True),
    # After what is missed.
    (said("missed", 1.0), said("limits", 1.0), {}, True),
    (said("missed", 1.0), said("limits", 0.9), {}, False),
    (said("missed"), said("limits", 0.9), {}, True),
    # What runs away grows: in the second half, of a motion by a law.
    (said("internal"), said("speed", 2.1), {"start": 1.0, "reached": 3.0}, True),
    (said("internal"), said("speed", 1.9), {"start": 1.0, "reached": 3.0}, False),
    (said("internal"), said("speed", 2.1), {"kind": "plan"}, False),
    # It has grown a millionfold after 13.8 of its time constants: from 1.69 s on.
    (said("internal"), said("speed", 1.7), {"start": 1.0, "reached": 3.0, "grows": 20.0}, True),
    (said("internal"), said("speed", 1.6), {"start": 1.0, "reached": 3.0, "grows": 20.0}, False),
    (said("internal"), said("speed", 1.9), {"start": 1.0, "reached": 3.0, "grows": -1.0}, False),
    (said("law"), said("lost", 0.0), {}, True),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "effect", "given", "together"), TOGETHER)
def test_whether_an_effect_comes_with_its_cause(cause, effect, given, together):
    assert _coincides(cause, effect, along(**given)) is together


def test_what_follows_stands_behind_its_cause_the_gravest_first():
    motion, lost = said("motion", level="warning"), said("lost", level="note")
    limits, speed = said("limits", 1.99, "warning"), said("speed", 1.99, "bad")
    alone = said("ground", 0.0, "note")
    every = [alone, lost, motion, limits, speed, limits]
    found = root_causes(every, along())
    assert [cause.text for cause in found] == ["motion", "ground"]
    assert [cause.level for cause in found] == ["bad", "note"]
    assert found[0].follows == (speed, limits, lost)
    assert list(order_by_cause(found, every)) == [motion, speed, limits, lost, alone]


# Ranks


def ranks_of(*sigma, lost=1e-6):
    """Return what is told of diagonal matrices with these entries, a list a knot."""
    A = np.array([np.diag(values) for values in sigma])
    return _row_history(
        A, np.arange(1.0, len(A) + 1.0), ("a", "b"), lost, np.zeros(len(A), dtype=int)
    )[0]


def test_a_rank_is_told_where_it_is_least_and_weakest():
    found = ranks_of((1.0, 0.5), (1.0, 0.25), (0.125, 1.0), (0.125, 1.0))
    assert (found.count, found.highest, found.lowest, found.lowest_at) == (2, 2, 2, 1.0)
    assert (found.worst, found.worst_at, found.worst_row) == (0.125, 3.0, "a")
    assert found.dropped == 0.0


def test_a_rank_that_falls_is_told_where_it_does_first():
    found = ranks_of((1.0, 0.5), (1.0, 1e-7), (1.0, 0.0))
    assert (found.highest, found.lowest, found.lowest_at) == (2, 1, 2.0)
    assert (found.worst_at, found.worst_row) == (2.0, "b")
    assert found.worst <= 1e-6


def test_a_row_that_never_counts_is_dropped():
    found = ranks_of((1.0, 1e-8), (2e-8, 1.0))
    assert (found.highest, found.lowest, found.worst, found.worst_row) == (1, 1, 1.0, "a")
    assert found.dropped == pytest.approx(2e-8)
    none = ranks_of((0.0, 0.0), (1e-9, 0.0))
    assert (none.highest, none.lowest, none.worst, none.worst_row) == (0, 0, 0.0, "")
    assert none.dropped == pytest.approx(1e-9)


def test_of_rows_that_are_as_weak_the_first_is_named():
    assert ranks_of((0.5, 0.5)).worst_row == "a"
    assert ranks_of((0.5 + 1e-6, 0.5)).worst_row == "b"


@pytest.mark.parametrize("order", [1, -1])
def test_where_contacts_stand_fewer_rows_are_served_and_that_is_no_loss(order):
    """Of knots with the same contacts lifted the highest rank counts as what they could have."""
    kinds = np.array([0, 0, 1, 1, 2])[::order]
    sizes = [(1.0, 0.5), (0.5, 1.0), (0.25, 0.0), (0.75, 0.0), (0.0, 0.0)][::order]
    A = np.array([np.diag(values) for values in sizes])
    t = np.arange(1.0, 6.0)[::order]
    found, sigma = _row_history(A, t, ("a", "b"), 1e-6, kinds)
    assert (found.highest, found.lowest) == (2, 2)
    assert (found.worst, found.worst_at, found.worst_row) == (0.25, 3.0, "a")
    expected = [(1.0, 0.5), (1.0, 0.5), (0.25, 0.25), (0.75, 0.75), (1.0, 1.0)][::order]
    np.testing.assert_array_equal(sigma, expected)
    np.testing.assert_array_equal(
        _max_rank_in_phase(np.array([2, 1, 0, 1, 0])[::order], kinds), [2, 2, 1, 1, 0][::order]
    )


def test_a_loss_among_knots_of_one_kind_is_told():
    A = np.array([np.diag(values) for values in [(1.0, 0.5), (0.25, 0.0), (0.0, 0.0)]])
    found, sigma = _row_history(A, np.arange(1.0, 4.0), ("a", "b"), 1e-6, np.array([0, 1, 1]))
    assert (found.highest, found.lowest, found.lowest_at) == (2, 1, 3.0)
    assert (found.worst, found.worst_at) == (0.0, 3.0)
    np.testing.assert_array_equal(sigma, [(1.0, 0.5), (0.25, 0.25), (0.0, 0.0)])


def test_ranks_along_a_line_of_masses():
    """x1 is driven, x2 not; what the third row holds is at its turning point."""
    loop = Loop(scenario_of(masses(3, motors=(1,)), "x1", "x2 + t", "x3**3"))
    t, still = np.array([0.0, 0.5]), np.zeros((2, 3))
    found, curves = motion_ranks(loop, TaskMotion(kind="law", t=t, q=still, v=still, a=still))
    assert (found.mobility, found.driven) == ((3, 3), (1, 1))
    assert (found.servo.highest, found.grip.highest) == (2, 1)
    assert (found.realisation, found.realisation_at) == ("mixed", 0.0)
    assert found.unmoved == ("r2",)
    np.testing.assert_allclose(curves.servo, [[1.0, 1.0, 0.0]] * 2)
    np.testing.assert_allclose(curves.grip, [[1.0, 0.0, 0.0]] * 2, atol=1e-12)
    assert (found.passive.count, found.passive.highest, found.passive.worst_row) == (0, 0, "")


@pytest.mark.parametrize("order", [1, -1])
def test_a_row_that_passive_ones_hold_is_unmoved_also_where_it_vanishes(order):
    """It is x2 times what is held: rounding beside its length at one knot, nothing at the other."""
    link = {"kind": "expression", "name": "link", "phi": "0.7*x1 + 0.3*x3", "unit": "m"}
    loop = Loop(scenario_of(masses(3, motors=(1, 2), passive=[link]), "x2*(0.7*x1 + 0.3*x3)", "x2"))
    q = np.array([[0.3, 0.0, -0.7], [0.3, 3.3, -0.7]])[::order]
    found, _ = motion_ranks(
        loop, TaskMotion(kind="law", t=np.arange(2.0), q=q, v=0.0 * q, a=0.0 * q)
    )
    assert found.unmoved == ("r0",)
    assert (found.servo.highest, found.mobility) == (1, (2, 2))
    assert (found.passive.count, found.passive.highest, found.passive.worst_row) == (1, 1, "link")


def test_a_row_that_is_short_beside_others_is_moved_all_the_same():
    """Units do that; a passive row that holds it leaves nothing of it, whatever its own."""
    tiny, link = 1e-12, {"kind": "expression", "name": "link", "phi": "x2 - x3", "unit": "m"}
    rows = "x1", f"{tiny}*(x1 + 2*x2)", f"{tiny}*(x2 - x3)"
    loop = Loop(scenario_of(masses(3, motors=(1, 2), passive=[link]), *rows))
    t, still = np.array([0.0]), np.zeros((1, 3))
    found, _ = motion_ranks(loop, TaskMotion(kind="law", t=t, q=still, v=still, a=still))
    assert (found.unmoved, found.servo.highest) == (("r2",), 2)
    truth = loop.plant_at(0.0)
    truth.move(0.0, still[0], still[0])
    assert immovable_rows(truth, loop.law.stack).tolist() == [False, False, True]
    whole = project_rows(truth, loop.law.stack.write(truth.snapshot).A)[1]
    np.testing.assert_allclose(whole, [1.0, tiny * np.sqrt(5.0), tiny * np.sqrt(2.0)])


# The motion


def test_a_motion_is_followed_joint_by_joint_where_the_rows_decide_it():
    moves = task_motion(Loop(scenario_of(masses(1, motors=(1,)), "x1 - t**2")))
    assert (moves.kind, moves.early_end, moves.relaxed_blocks) == ("joint motion", None, ())
    np.testing.assert_allclose(moves.t, np.linspace(0.0, 1.0, 301))
    np.testing.assert_allclose(moves.q[:, 0], moves.t**2, atol=1e-9)
    np.testing.assert_allclose(moves.v[:, 0], 2.0 * moves.t, atol=1e-7)
    np.testing.assert_allclose(moves.a[:, 0], 2.0, atol=1e-7)


def test_a_motion_is_the_laws_where_rows_leave_something_open():
    """x2 is left to its spring: x2'' = k (x1 - x2), with x1 = 0 and from 0.1 m."""
    loop = Loop(scenario_of(masses(2, motors=(1,), k=9.0), "x1", start={"x2": 0.1}))
    moves = task_motion(loop)
    assert moves.kind == "law"
    np.testing.assert_allclose(moves.q[:, 1], 0.1 * np.cos(3.0 * moves.t), atol=1e-6)
    np.testing.assert_allclose(moves.a[:, 1], -0.9 * np.cos(3.0 * moves.t), atol=1e-5)


def test_a_path_that_no_motor_makes_is_a_path_alone():
    """The motor pushes x1, and the row is of x2: of relative degree 4."""
    loop = Loop(scenario_of(masses(2, motors=(1,), k=9.0), "x2 - t"))
    moves = task_motion(loop)
    assert moves.kind == "path alone"
    assert moves.reason == (
        "the task leaves freedoms open that no motor decides: 1 of 2 are driven"
    )
    np.testing.assert_allclose(moves.q[:, 1], moves.t, atol=1e-9)


def test_a_law_that_finds_no_start_is_told_which_row_has_none():
    """x1^2 = -1 is met nowhere; beside it a row on velocities, so that the law must move."""
    plain = scenario_of(masses(2, motors=(1, 2)), "x1**2 + 1", start={"x1": 1.0})
    slip = Expression(name="slip", psi="x1*v.x2 - 0.1", unit="m/s")
    moves = task_motion(Loop(dc.replace(plain, servo=(*plain.servo, slip))))
    assert (moves.kind, len(moves.t)) == ("none", 0)
    assert (moves.early_end.why, moves.early_end.rows, moves.early_end.t) == ("reach", ("r0",), 0.0)
    assert moves.reason == moves.early_end.text
    assert moves.reason.startswith("row 'r0' is out of reach from t = 0 s on, by up to 1 m")


def test_a_robot_of_more_than_a_hundred_velocities_is_looked_at_at_its_start_alone():
    def sized(nv):
        law = SimpleNamespace(planned_motion=SimpleNamespace(times="looked at"))
        scenario = SimpleNamespace(servo=("a row",))
        return SimpleNamespace(robot=SimpleNamespace(nq=nv + 1, nv=nv), scenario=scenario, law=law)

    moves = task_motion(sized(101))
    assert moves.reason == "robots with more than 100 velocities are looked at at the start alone"
    assert (moves.kind, moves.q.shape, moves.v.shape) == ("none", (0, 102), (0, 101))
    with pytest.raises(AttributeError, match="t0"):  # it looks at what the law plans
        task_motion(sized(100))


def test_without_rows_there_is_no_motion():
    loop = Loop(Scenario.load("projectile"))
    moves = task_motion(loop)
    assert (moves.kind, len(moves.t)) == ("none", 0)
    assert (moves.q.shape, moves.v.shape) == ((0, loop.robot.nq), (0, loop.robot.nv))
    assert moves.reason == "there is no task; the run itself is the motion"


def line(phi, *more):
    robot = masses(2, motors=(1, 2))
    rows = [Expression(name=f"r{k}", phi=text, unit="m") for k, text in enumerate((phi, *more))]
    return Stack(rows, robot)


def test_a_walk_ends_where_its_row_does():
    """x1^2 = 0.25 - t has no solution after t = 0.25."""
    path = follow_path(line("x1**2 + t - 0.25"), np.array([0.5, 0.0]), np.linspace(0.0, 1.0, 41))
    assert path.end_time == pytest.approx(0.25, abs=0.03)
    assert path.end_time >= 0.25
    np.testing.assert_allclose(path.q[:, 0], np.sqrt(0.25 - path.t), atol=1e-6)
    assert (path.q[:, 1] == 0.0).all()
    assert len(path.t) == len(path.q)


def test_a_walk_that_cannot_begin_has_no_knots():
    path = follow_path(line("x1**2 + t + 0.25"), np.zeros(2), np.array([2.0, 3.0]))
    assert (path.t.size, path.q.shape, path.end_time) == (0, (0, 2), 2.0)


def test_a_leap_is_no_way_on():
    """The row jumps by 0.5 m at t = 0.4: no step of time is short enough; 0.2 m is no leap."""
    times = np.linspace(0.0, 1.0, 5)
    far = follow_path(line("x1 - 0.25 - 0.25*tanh(1e7*(t - 0.4))"), np.zeros(2), times)
    near = follow_path(line("x1 - 0.1 - 0.1*tanh(1e7*(t - 0.4))"), np.zeros(2), times)
    assert far.end_time == pytest.approx(0.4, abs=0.26)
    assert near.end_time is None
    np.testing.assert_allclose(near.q[:, 0], [0.0, 0.0, 0.2, 0.2, 0.2])


def test_rows_of_one_constraint_out_of_reach():
    stop = diagnose_end(line("x1**2 + t - 0.25"), np.array([0.1, 0.0]), 0.3, 1.0, 0)
    assert (stop.why, stop.rows, stop.t) == ("reach", ("r0",), 0.3)
    assert stop.text == ("row 'r0' is out of reach from t = 0.3 s on, by up to 0.75 m (t = 1 s).")


def test_rows_of_several_constraints_contradict_each_other():
    """x1 = 0.1 t and x1 = 0.3 t: the mean is missed by 0.1 t, at most at the end."""
    stop = diagnose_end(line("x1 - 0.1*t", "x1 - 0.3*t", "x2"), np.zeros(2), 0.5, 2.0, 0)
    assert (stop.why, set(stop.rows)) == ("conflict", {"r0", "r1"})
    assert stop.text.endswith(
        "contradict each other from t = 0.5 s on; they are missed by up to 0.2 m (t = 2 s)."
    )


def test_rows_that_can_be_met_end_a_motion_by_a_leap():
    stop = diagnose_end(line("x1 - t"), np.zeros(2), 0.5, 2.0, 0)
    assert (stop.why, stop.rows, stop.t) == ("branch", (), 0.5)
    assert stop.text == (
        "at t = 0.5 s the joints would have to leap: the motion cannot be continued past a "
        "singular position."
    )
    assert diagnose_end(line("x1 - t"), np.zeros(2), 0.5, 2.0, 0, "said").text == "said"


def test_passive_rows_are_blamed_only_where_no_other_is():
    stack = line("x1", "x1 - 1")
    assert diagnose_end(stack, np.zeros(2), 0.0, 1.0, 1).rows == ("r1",)
    assert set(diagnose_end(stack, np.zeros(2), 0.0, 1.0, 2).rows) == {"r0", "r1"}


def test_a_row_with_a_twentieth_of_the_error_has_no_part_in_a_clash():
    """x1 = 0 against x1 = 1, by weights: errors of w^2/(1 + w^2) and 1/(1 + w^2)·w."""
    for weight, rows in ((0.04, ("r1",)), (0.06, ("r1", "r0"))):
        found = row_conflict(line("x1", f"{weight}*(x1 - 1)"), np.zeros(2), 0.0)
        share = weight**2 / (1.0 + weight**2), weight / (1.0 + weight**2)
        assert found.residual == pytest.approx(max(share))
        assert found.rows == rows
        assert found.unit == "m"


def test_a_joint_task_is_walked_in_its_own_coordinates():
    robot = masses(2, motors=(1, 2))
    stack = Stack([JointFollows(joints=("x2",), path=Constant(value=(0.2,)))], robot)
    path = follow_path(stack, np.array([0.3, 0.0]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(path.q, [[0.3, 0.2], [0.3, 0.2]], atol=1e-12)


@pytest.mark.parametrize(
    ("rank", "mu", "named"),
    [(2, (0.5, 0.0, 0.3), ("a", "c")), (1, (0.5, 0.0, 0.3), ()), (2, (0.0, 0.0, 0.0), ())],
)
def test_contacts_are_taken_to_stick_only_where_they_rub_and_sliding_frees_all_rows(
    rank, mu, named
):
    """Three contacts of which some have friction; two rows, that the motors move or not."""
    state, seen = np.zeros((3, 10)), []
    servo = SimpleNamespace(write=lambda _: SimpleNamespace(A=np.eye(2, 4)), names=("x", "y"))
    truth = SimpleNamespace(
        contacts=SimpleNamespace(mu=np.array(mu), names=("a", "b", "c"), mode=state),
        move=lambda *_: seen.append(state[:, MODE].copy()),
        servo_report=lambda *_: SimpleNamespace(rank=rank),
        snapshot=None,
    )
    loop = SimpleNamespace(
        plant=truth, servo=servo, t0=0.0,
        state=SimpleNamespace(q=None, v=None), scenario=SimpleNamespace(rank=RankPolicy()),
    )  # fmt: skip
    bad = Diagnostic("bad", "motion", "rows that nothing moves")
    (said,) = relax_sticking(loop, [bad])
    assert said.level == ("warning" if named else "bad")
    assert (quoted(named) in said.remedy) if named else said == bad
    assert [mode.tolist() for mode in seen] == ([[SLIDING] * 3, [0.0] * 3] if any(mu) else [])
    assert not state.any()
