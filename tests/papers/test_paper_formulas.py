"""Formulas of the papers beside others of mechanics, and what their runs are asked to show.

Runs that take seconds or minutes are replaced by answers made by hand.
"""

from __future__ import annotations

import dataclasses as dc
import math
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl_papers.pseudoinverses import table_claims as tables
from ukctrl_papers.pseudoinverses.linkage_runs import PAPER_METHODS, LinkageRun
from ukctrl_papers.pseudoinverses.printed_tables import PRINTED_RUNS, STRONG_GAINS
from ukctrl_papers.recursive import clearance, equations, three_rrr, three_rrr_claims
from ukctrl_papers.scara import formulas, misprints, motion_claims
from ukctrl_papers.scara import runs as scara_runs
from ukctrl_papers.servo import newton_euler

ROUND = {"rtol": 0.0, "atol": 1e-10}
STEP = 1e-4
DIFFERENCE = {"rtol": 0.0, "atol": 1e-5}
"""Of central differences with `STEP` of motions of about one in a second."""


class Run(dict):
    """Stands for the samples of a run."""

    time = np.arange(6.0)


def derivatives(of, t):
    """Return the first and the second derivative of a function of time by central differences."""
    before, now, after = of(t - STEP), of(t), of(t + STEP)
    return (after - before) / (2.0 * STEP), (after - 2.0 * now + before) / STEP**2


# The SCARA robot


AMPLITUDES = np.array([0.4, -0.7, 0.3, 0.05])


def joints(t):
    """Return a motion of the joints, and its two derivatives."""
    q = np.array([0.5, -0.9, 0.2, 0.1]) + AMPLITUDES * np.sin(t + np.arange(4.0))
    return q, AMPLITUDES * np.cos(t + np.arange(4.0)), -AMPLITUDES * np.sin(t + np.arange(4.0))


@pytest.mark.parametrize("t", [0.3, 1.7])
def test_rates_and_rows_are_derivatives_of_the_violation(t):
    q, v, a = joints(t)
    rate, acceleration = derivatives(lambda at: formulas.violation(*joints(at)[:2], at)[0], t)
    np.testing.assert_allclose(formulas.violation(q, v, t)[1], rate, **DIFFERENCE)
    A, b = formulas.rows(q, v, t)
    np.testing.assert_allclose((A @ a - b)[[0, 1, 2, 3]], acceleration, **DIFFERENCE)
    wanted = b - formulas.ALPHA * rate - formulas.BETA * formulas.violation(q, v, t)[0]
    np.testing.assert_allclose(formulas.stabilised(q, v, t), wanted, rtol=0.0, atol=1e-4)


def energy(q, v):
    """Return kinetic and potential energy of the links, from where their centres are [J]."""
    first, second = 1j * np.exp(1j * q[0]), 1j * np.exp(1j * (q[0] + q[1]))
    w1, w2, w3 = v[0], v[0] + v[1], v[:3].sum()
    elbow = 1j * w1 * formulas.L1 * first
    tip = elbow + 1j * w2 * formulas.L2 * second
    speeds = (1j * w1 * formulas.R1 * first, elbow + 1j * w2 * formulas.R2 * second, tip, tip)
    kinetic = 0.5 * sum(m * abs(s) ** 2 for m, s in zip(formulas.MASSES, speeds, strict=True))
    turns = zip(formulas.INERTIAS, (w1, w2, w3, w3), strict=True)
    kinetic += 0.5 * sum(inertia * w**2 for inertia, w in turns)
    kinetic += 0.5 * formulas.MASSES[3] * v[3] ** 2
    return kinetic, formulas.MASSES[3] * formulas.GRAVITY * q[3]


@pytest.mark.parametrize("t", [0.3, 1.7])
def test_mass_and_bias_are_those_of_the_energies_of_the_links(t):
    """Lagrange's equations: M a + C v + G is d/dt (M v) less the slope of the Lagrangian."""
    q, v, a = joints(t)
    for one in (v, *np.eye(4), np.array([1.0, -2.0, 3.0, 4.0])):
        assert 0.5 * one @ formulas.mass(q) @ one == pytest.approx(energy(q, one)[0])
    momentum, _ = derivatives(lambda at: formulas.mass(joints(at)[0]) @ joints(at)[1], t)
    slope = [
        sum(sign * np.diff(energy(q + sign * 1e-6 * e, v)[::-1])[0] for sign in (1.0, -1.0)) / 2e-6
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(
        formulas.mass(q) @ a + formulas.bias(q, v), momentum - slope, rtol=0.0, atol=1e-5
    )


def test_constraint_torques_give_the_accelerations_that_the_rows_ask_for():
    q, v, _ = joints(0.7)
    A, b = formulas.rows(q, v)
    torque = formulas.constraint_torque(q, v, b)
    a = np.linalg.solve(formulas.mass(q), torque - formulas.bias(q, v))
    np.testing.assert_allclose(A @ a, b, **ROUND)


def test_the_tool_is_at_the_end_of_both_links_and_turns_with_all_joints():
    q = joints(0.7)[0]
    place, turn = formulas.tool_pose(q)
    end = 1j * (formulas.L1 * np.exp(1j * q[0]) + formulas.L2 * np.exp(1j * (q[0] + q[1])))
    np.testing.assert_allclose(place, [end.real, end.imag, q[3]], **ROUND)
    axis = np.exp(1j * q[:3].sum())
    np.testing.assert_allclose(turn[:, 0], [axis.real, axis.imag, 0.0], **ROUND)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), **ROUND)
    assert np.linalg.det(turn) == pytest.approx(1.0)


@pytest.mark.parametrize("elbow", [1.0, -1.0])
def test_the_exact_start_is_on_the_path_with_its_velocity(elbow):
    q, v = formulas.exact_start(elbow)
    assert np.sign(q[1]) == elbow
    for miss in formulas.violation(q, v):
        np.testing.assert_allclose(miss, 0.0, **ROUND)


def test_without_stabilisation_errors_go_on_evenly_and_with_it_they_swing_and_decay():
    start = formulas.START_READINGS[formulas.SIGNED_START]
    phi, rate = formulas.violation(start, formulas.V_PRINTED)
    t = np.array([0.0, 2.0])
    np.testing.assert_allclose(formulas.linear_drift(start, t), [phi, phi + 2.0 * rate], **ROUND)

    def error(at):
        return formulas.damped_error(start, np.array([at]))[0]

    np.testing.assert_allclose(error(0.0), phi, **ROUND)
    np.testing.assert_allclose(derivatives(error, 0.0)[0], rate, rtol=0.0, atol=1e-6)
    for at in (0.2, 3.1):
        first, second = derivatives(error, at)
        left = second + formulas.ALPHA * first + formulas.BETA * error(at)
        np.testing.assert_allclose(left, 0.0, atol=1e-4)
    assert formulas.damped_error(start, t).shape == (2, 4)


def test_a_tool_leaves_the_workspace_where_both_links_are_stretched():
    """A made error: the tool goes up the y axis, and reaches the border at that time."""
    longest, end = formulas.L1 + formulas.L2, 12.34

    def error(start, t):
        assert start is formulas.START_READINGS[formulas.LITERAL_START]
        angle = formulas.OMEGA * t
        x = -formulas.RADIUS * np.sin(angle)
        y = longest * t / end - formulas.CENTRE - formulas.RADIUS * np.cos(angle)
        return np.stack([x, y, 0.0 * t, 0.0 * t], axis=1)

    assert formulas.workspace_exit_time(error) == pytest.approx(end, abs=1e-9)


def test_peaks_are_the_largest_errors_after_a_time():
    phi = np.array([[0.3, -0.1], [-0.2, 0.05], [0.1, 0.2]])
    run = Run(phi=phi, joint_error=-2.0 * phi, slide_error=phi[:, :1])
    run.time = np.array([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(scara_runs.peak_errors(run), [0.3, 0.2])
    np.testing.assert_array_equal(scara_runs.peak_errors(run, after=1.0), [0.2, 0.2])
    np.testing.assert_array_equal(scara_runs.peak_joint_errors(run), [0.6, 0.4, 0.3])
    np.testing.assert_array_equal(scara_runs.peak_joint_errors(run, after=1.5), [0.2, 0.4, 0.1])


@pytest.mark.parametrize(
    ("status", "end", "verdict"),
    [
        ("singular", 5.0, "differs: misprint"),
        ("singular", 4.99, "differs: misprint"),
        ("singular", 4.98, "differs"),
        ("singular", 5.01, "differs"),
        ("completed", 5.0, "differs"),
    ],
)
def test_the_literal_start_is_a_misprint_where_its_run_ends_at_the_border(
    status, end, verdict, monkeypatch
):
    asked = []
    result = SimpleNamespace(status=status, time=np.array([0.0, end]))
    monkeypatch.setattr(motion_claims, "run", lambda *given: asked.append(given) or result)
    monkeypatch.setattr(formulas, "workspace_exit_time", lambda error: 5.0)
    claim = motion_claims._workspace_claim("a-scenario", formulas.linear_drift, "Figure 1")
    assert asked == [("a-scenario", formulas.LITERAL_START)]
    assert (claim.verdict, claim.printed, claim.ours, claim.unit) == (verdict, "never", 5.0, "s")
    assert claim.note.endswith(f"the simulation ends as '{status}' at {end:.2f} s")


def test_a_difference_is_understood_once_another_route_confirms_our_number():
    assert motion_claims._verified_verdict("differs: misprint", 0.9e-8) == "differs: misprint"
    assert motion_claims._verified_verdict("differs: misprint", 1e-8) == "differs"
    assert [name for name, _ in motion_claims._feasible_starts()] == [
        name for name in formulas.START_READINGS if name != formulas.LITERAL_START
    ]
    assert motion_claims._start_text(formulas.SIGNED_START) == " from (30, -55, 24)"
    assert motion_claims._start_text(formulas.EXACT_LEFT) == " from the exact start, q2 > 0"


# Two arms that hold a bar


def rod(begin, angle, rate, turning, begin_acceleration):
    """Return the ends, the centre and their accelerations of a rod, as complex numbers."""
    along = np.exp(1j * angle)
    bend = (1j * turning - rate**2) * along
    return {
        "begin": begin, "end": begin + along, "centre": begin + 0.5 * along, "turning": turning,
        "far": begin_acceleration + bend, "middle": begin_acceleration + 0.5 * bend,
    }  # fmt: skip


def plane(z):
    return np.stack([z.real, z.imag], axis=1)


def product(a, b):
    return (np.conj(a) * b).imag


def test_forces_on_the_bar_are_those_that_made_its_motion():
    """Tip forces and torques are chosen, and the other torques follow link by link."""
    rng, n = np.random.default_rng(0), 6
    q, v, a = (rng.standard_normal((n, 5)) for _ in range(3))
    down, zero = -1j * newton_euler.G0, np.zeros(n, complex)

    def absolute(values, turn=0.0):
        left = np.cumsum(values[:, :3], axis=1).T
        return [*left, values[:, 3] + values[:, 4] + turn, values[:, 3] + turn]

    angles = zip(absolute(q, 0.0), absolute(v), absolute(a), strict=True)
    (one, two, three, four, five) = list(angles)
    first = rod(zero, *one, zero)
    second = rod(first["end"], *two, first["far"])
    bar = rod(second["end"], *three, second["far"])
    fifth = rod(zero + newton_euler.BASE_DISTANCE, five[0] + np.pi, *five[1:], zero)
    fourth = rod(fifth["end"], four[0] + np.pi, *four[1:], fifth["far"])

    left = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    right = bar["middle"] - down - left  # Newton: a mass of 1 kg
    turn = bar["turning"] - product(bar["begin"] - bar["centre"], left)
    turn -= product(bar["end"] - bar["centre"], right)  # Euler: a moment of 1 kg m^2

    def torques(lower, upper, force, at_tip):
        """Return base and elbow torques of an arm whose tip pushes with that force."""

        def needed(link, about):
            return link["turning"] + product(link["centre"] - about, link["middle"] - down)

        elbow = needed(upper, upper["begin"]) + product(upper["end"] - upper["begin"], force)
        both = needed(lower, lower["begin"]) + needed(upper, lower["begin"])
        both += product(upper["end"] - lower["begin"], force)
        return both + at_tip, elbow + at_tip

    u = np.zeros((n, 6))
    u[:, 2] = rng.standard_normal(n)
    u[:, 3] = turn - u[:, 2]
    u[:, 0], u[:, 1] = torques(first, second, left, u[:, 2])
    u[:, 5], u[:, 4] = torques(fifth, fourth, right, u[:, 3])

    found = newton_euler.bar_forces(Run(q=q, v=v, a=a, u=u))
    np.testing.assert_allclose(found.left_force, plane(left), atol=1e-8)
    np.testing.assert_allclose(found.right_force, plane(right), atol=1e-8)
    for mine, theirs in (("begin", "begin"), ("end", "end"), ("end_acceleration", "far"),
                         ("centre", "centre"), ("acceleration", "middle")):  # fmt: skip
        np.testing.assert_allclose(getattr(found.bar, mine), plane(bar[theirs]), **ROUND)
    assert found.residual < 1e-7
    u[:, 3] += 0.5  # more torque than turns the bar so
    assert newton_euler.bar_forces(Run(q=q, v=v, a=a, u=u)).residual > 0.1


# The 3RRR robot


def test_the_path_of_the_platform_has_its_derivatives():
    for t in (0.3, 2.0):
        s, s_dot, s_ddot = three_rrr.path(t)
        first, second = derivatives(lambda at: three_rrr.path(at)[0], t)
        np.testing.assert_allclose(s_dot, first, **DIFFERENCE)
        np.testing.assert_allclose(s_ddot, second, **DIFFERENCE)
        assert np.abs(s).max() < 0.3


def coordinates(s):
    """Return those of the modules by the triangles of the legs, whose bars are equally long."""
    platform = s[0] + 1j * s[1] + three_rrr.JOINT * np.exp(1j * s[2])
    way = platform - three_rrr.BASE
    bend = np.arccos(0.5 * np.abs(way) / three_rrr.LINK)
    first, second = np.angle(way) + bend, np.angle(way) - bend
    elbow = three_rrr.BASE + three_rrr.LINK * np.exp(1j * first)
    centre = elbow + three_rrr.CENTRE * np.exp(1j * second)
    np.testing.assert_allclose(elbow + three_rrr.LINK * np.exp(1j * second), platform, **ROUND)
    legs = np.stack([first, first, centre.real, centre.imag, second], axis=1)
    return np.append(legs.reshape(-1), s)


def state(s, s_dot):
    """Return the robot's state by differences: rows need nothing of its closed form."""
    T = np.stack(
        [(coordinates(s + d) - coordinates(s - d)) / (2.0 * STEP) for d in STEP * np.eye(3)], axis=1
    )
    _, drift = derivatives(lambda t: coordinates(s + t * s_dot), 0.0)
    return three_rrr.ThreeRrrState(coordinates(s), T @ s_dot, T, drift)


@pytest.fixture(name="here")
def _here():
    return state(*three_rrr.path(0.4)[:2])


def test_rows_of_the_legs_and_the_platform_hold_along_its_path(here):
    s_ddot = three_rrr.path(0.4)[2]
    a = here.T @ s_ddot + here.drift
    A, b = three_rrr.all_rows(here, np.zeros(3))
    assert (A.shape, b.shape) == ((15, 18), (15,))
    np.testing.assert_allclose(A @ here.v, 0.0, atol=1e-6)
    np.testing.assert_allclose(A @ a, b, atol=1e-5)
    assert np.linalg.matrix_rank(A) == 15


def test_motors_give_the_platform_the_acceleration_that_they_are_asked_for(here):
    s_ddot = three_rrr.path(0.4)[2]
    u = three_rrr.torques(here, s_ddot)
    np.testing.assert_allclose(three_rrr.reduced_accelerations(here, u)[15:], s_ddot, **ROUND)
    robot = three_rrr.robot(here, u)
    np.testing.assert_allclose(robot.a[robot.columns["platform"]], s_ddot, atol=1e-4)
    momentum = here.T.T @ three_rrr.mass() @ (here.T @ s_ddot + here.drift)
    np.testing.assert_allclose(u @ here.T[[0, 5, 10]], momentum, **ROUND)  # d'Alembert
    bar = three_rrr.I1 + three_rrr.M1 * three_rrr.CENTRE**2
    leg = [three_rrr.ROTOR, bar, three_rrr.M2, three_rrr.M2, three_rrr.I2]
    M = np.diag([*leg * 3, three_rrr.M_PLATFORM, three_rrr.M_PLATFORM, three_rrr.I_PLATFORM])
    np.testing.assert_array_equal(three_rrr.mass(), M)


def test_what_is_counted_of_its_structure(monkeypatch, here):
    monkeypatch.setattr(three_rrr, "state", state)
    modules, level, rows, outside = three_rrr_claims.structure_claims()
    assert (modules.printed, modules.ours, level.printed, level.ours) == (10, 10, 4, 4)
    assert (rows.ours, rows.verdict) == ("9, 6, 3", "agrees")
    assert (outside.ours, outside.verdict) == (0.0, "agrees")


def test_its_accelerations_are_those_of_three_other_routes(monkeypatch):
    monkeypatch.setattr(three_rrr, "state", state)
    monkeypatch.setattr(three_rrr_claims, "TIMES", np.array([0.4, 1.1]))
    path, reduced, stroke, printed = three_rrr_claims.acceleration_claims()
    for claim in (path, reduced):
        assert claim.ours < 1e-4  # differences have a part in it
    for claim in (stroke, printed):
        assert claim.ours < 1e-11
    assert len({claim.what for claim in (path, reduced, stroke, printed)}) == 4
    worst = three_rrr_claims.TIMES[:1]
    monkeypatch.setattr(three_rrr_claims, "TIMES", worst)
    assert next(iter(three_rrr_claims.acceleration_claims())).ours <= path.ours


def test_pins_of_the_platform_open_by_what_it_is_moved(here):
    y = np.concatenate([here.q, here.v])
    assert clearance._gap(y) < 1e-12
    y[15:17] += [3e-3, 4e-3]
    assert clearance._gap(y) == pytest.approx(5e-3, abs=1e-12)
    y[15:17] -= [3e-3, 4e-3]
    y[17] += 0.02  # all joints lie as far from its centre
    assert clearance._gap(y) == pytest.approx(2.0 * np.abs(three_rrr.JOINT[0]) * np.sin(0.01))


def test_a_robot_with_loose_pins_opens_with_the_square_of_time(here, monkeypatch):
    """Without motors, from the same place: the acceleration of the rows misses by a constant."""
    monkeypatch.setattr(three_rrr, "state", state)
    monkeypatch.setattr(clearance, "END_TIME", 0.04)
    openings = clearance.pin_openings(0.1)
    assert len(openings) == 5
    assert openings[0] < 1e-12
    np.testing.assert_allclose(openings[2:] / openings[1:2], [4.0, 9.0, 16.0], rtol=0.02)
    tenth = clearance.pin_openings(0.01)
    np.testing.assert_allclose(openings[4] / tenth[4], 100.0, rtol=0.05)
    y = np.concatenate([here.q, here.v])
    rate = clearance._rate(y, 1e-5)
    np.testing.assert_array_equal(rate[:18], here.v)
    exact = three_rrr.robot(here, np.zeros(3)).a
    np.testing.assert_allclose(rate[18:], exact, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("growth", "ratio", "verdicts"),
    [
        (4.0, 100.0, ["differs: claim does not hold"] * 2),
        (1.1, 11.0, ["agrees", "agrees"]),
        (1.11, 11.1, ["differs: claim does not hold"] * 2),
    ],
)
def test_a_clearance_would_stay_and_go_with_its_size(growth, ratio, verdicts, monkeypatch):
    def opening(sigma):
        size = 1.0 if sigma == 0.01 else ratio
        return size * np.array([0.0] * 100 + [1.0] + [0.0] * 99 + [growth])

    monkeypatch.setattr(clearance, "pin_openings", opening)
    found = list(clearance.gap_claims())
    assert [claim.ours for claim in found] == pytest.approx([growth, ratio])
    assert [claim.verdict for claim in found] == verdicts


# The tables of pseudoinverses


@pytest.fixture(name="ran")
def _ran(monkeypatch):
    """Replace runs by outcomes made by hand, and keep which cases were asked for."""
    cases = []

    def run(case):
        cases.append(case)
        known = {
            "case": case, "end_status": "completed", "correct_until": 20.0, "reached": 20.0,
            "error": 2e-6, "psi_squared": 4e-8, "steps": 30, "evaluations": 90, "seconds": 0.25,
        }  # fmt: skip
        if case.method == "Greville":
            known |= {"error": 1e-6, "evaluations": 120}
        if case.threshold == 0.0 and case.tolerance == tables.STALLING_TOLERANCE:
            known |= {"end_status": "stalls", "correct_until": 0.5, "reached": 0.6}
        if case.offset:
            known |= {"reached": case.horizon, "psi_squared": 1e-12 * 4.0**case.horizon}
        return LinkageRun(**known)

    monkeypatch.setattr(tables, "run_case", run)
    return cases


def test_every_entry_of_a_table_stands_beside_a_run_of_its_case(ran):
    table = next(each for each in PRINTED_RUNS if each.number == 9)
    found = list(tables._entries(table))
    assert [case.method for case in ran] == list(table.rows)
    assert {(case.tolerance, case.alpha, case.beta) for case in ran} == {
        (table.tolerance, *table.gains)
    }
    by = {(claim.where, claim.what): claim for claim in found}
    greville = table.rows["Greville"]
    where = "Table 9, Greville"
    assert {what: (by[where, what].printed, by[where, what].ours, by[where, what].unit)
            for place, what in by if place == where} == {
        "result": (greville.result, "Correct", ""),
        "sum of psi^2 at the end": (greville.psi_squared, 4e-8, "m^2"),
        "NFUNC": (greville.evaluations, 120, ""),
        "NSTEPS": (greville.steps, 30, ""),
        "CPU": (greville.cpu, 0.25, "s"),
    }  # fmt: skip
    copied = [place for place, claim in by.items() if "copied" in claim.note]
    assert copied == [
        (where, "NSTEPS"), ("Table 9, LS-Householder", "NFUNC"),
        ("Table 9, LS-Householder", "NSTEPS"),
    ]  # fmt: skip
    assert by[where, "CPU"].note == "see the result"
    assert by[where, "result"].note == tables.UNKNOWN_NOTE
    assert {claim.otherwise for claim in found} == {"not reproducible"}
    without = next(each for each in PRINTED_RUNS if each.number == 7)
    short = [claim for claim in tables._entries(without) if claim.where == "Table 7, SVD"]
    assert [claim.what for claim in short] == ["result", "sum of psi^2 at the end"]
    assert not any("copied" in claim.note for claim in tables._entries(without))


def test_what_contradicts_itself_in_table_9():
    steps, speed = tables._inconsistencies()
    row = next(each for each in PRINTED_RUNS if each.number == 9).rows
    assert steps.ours == pytest.approx(row["Greville"].evaluations / row["Greville"].steps)
    assert steps.verdict == "differs: misprint"
    flops = 4 * 12**3 + 8 * 12**3 + 9 * 12**3
    assert speed.ours == pytest.approx(row["SVD"].evaluations * flops / row["SVD"].cpu)
    assert tables.implied_rate() == speed.ours
    assert (speed.unit, speed.verdict) == ("1/s", "differs: underspecified")


def test_what_the_paper_concludes_is_asked_of_the_tables_and_of_runs(ran):
    gram, method, adequate, violation, growth = tables._conclusions()
    ratios = [
        each.rows["LS-Modified GS"].evaluations / each.rows["LS-Householder"].evaluations
        for each in PRINTED_RUNS
        if each.rows["LS-Modified GS"].evaluations and each.rows["LS-Householder"].evaluations
    ]
    assert gram.ours == pytest.approx(max(ratios))
    assert gram.note == f"the smallest is {min(ratios):.2f}"
    assert gram.verdict == ("agrees" if max(ratios) > 1.1 else "differs: claim does not hold")
    assert [case.method for case in ran[: len(PAPER_METHODS)]] == list(PAPER_METHODS)
    assert {(case.tolerance, case.alpha, case.beta) for case in ran[: len(PAPER_METHODS)]} == {
        (1e-8, 10.0, 10.0)
    }
    assert (method.ours, method.verdict) == (pytest.approx(120 / 90), "agrees")
    assert "theta within 1e-05 rad" in method.note
    same, above, early, late = ran[len(PAPER_METHODS) :]
    assert {(case.alpha, case.beta, case.tolerance) for case in (same, above)} == {
        (*STRONG_GAINS, tables.STALLING_TOLERANCE)
    }
    assert (same.threshold, above.threshold) == (0.0, 1e-5)
    assert adequate.ours == "stalls, correct up to 0.5 s"
    assert adequate.verdict == "differs: claim does not hold"
    assert adequate.note.startswith("with a threshold of 1e-5: correct, theta within 1e-05 rad; ")
    assert (violation.ours, violation.unit) == (pytest.approx(2e-4), "m")
    alpha, beta = STRONG_GAINS
    fast = alpha + math.sqrt(alpha**2 - beta**2)
    assert violation.note.startswith(f"the roots are -{beta**2 / fast:.2f} and -{fast:.0f} 1/s")
    assert (early.horizon, late.horizon, early.offset, early.threshold) == (5.0, 8.0, 1e-9, 1e-3)
    assert dc.replace(early, horizon=8.0) == late
    assert early.tolerance == 1e-12
    assert (growth.ours, growth.verdict) == (pytest.approx(2.0), "agrees")


def test_all_claims_of_the_tables_come_in_their_order(ran):
    found = list(tables.claims())
    assert len(ran) == sum(len(each.rows) for each in PRINTED_RUNS) + len(PAPER_METHODS) + 4
    last = [claim.where for claim in found[-7:]]
    assert last[:2] == ["Table 9, Greville", "Table 9, SVD"]
    assert last[2:] == [
        "Conclusions", "Conclusions", "The problem of rank computation", "Figure 2 b", "Figure 2 a"
    ]  # fmt: skip


# What is asked of the SCARA robot's runs


def scara_run(error, name, *, off=0.0, size=1.0):
    """Return a run whose errors follow a closed form, but for a miss [m or rad]."""
    t = np.linspace(0.0, 20.0, 201)
    q0 = formulas.START_READINGS[name]
    A, _ = formulas.rows(q0, formulas.V_PRINTED)
    a = np.linalg.solve(A, formulas.stabilised(q0, formulas.V_PRINTED) + off)
    u = formulas.constraint_torque(
        q0, formulas.V_PRINTED, formulas.stabilised(q0, formulas.V_PRINTED)
    )
    phi = error(q0, t)[:, scara_runs.ROW_ORDER] + off
    turns = size * np.array([3.0, 1.0, 0.5]) * np.cos(t)[:, None]
    run = Run(
        phi=phi, q=q0[None], v=formulas.V_PRINTED[None], a=a[None], u=(u + off)[None],
        joint_error=turns, slide_error=size * np.sin(t)[:, None],
    )  # fmt: skip
    run.time, run.status = t, "completed"
    return run


@pytest.fixture(name="stubbed")
def _stubbed(monkeypatch):
    """Replace what takes long, and keep what was asked for."""
    asked = []
    leaves = SimpleNamespace(what="leaves")
    monkeypatch.setattr(
        motion_claims, "_workspace_claim", lambda *given: asked.append(given) or leaves
    )
    monkeypatch.setattr(formulas, "largest_y_error", lambda: 5e-3)
    return asked


@pytest.mark.parametrize(("off", "verdict"), [(0.0, "differs: underspecified"), (1e-7, "differs")])
def test_the_drift_is_a_straight_line_from_every_start(off, verdict, stubbed, monkeypatch):
    runs = []

    def run(scenario, name):
        runs.append((scenario, name))
        return scara_run(formulas.linear_drift, name, off=off)

    monkeypatch.setattr(motion_claims, "run", run)
    leaves, horizon, *errors, largest = motion_claims.drift_claims()
    assert leaves.what == "leaves"
    assert stubbed == [(scara_runs.DRIFT, formulas.linear_drift, "Figures 2 to 5")]
    assert (horizon.ours, horizon.unit) == (pytest.approx(20.0), "s")
    names = [name for name in formulas.START_READINGS if name != formulas.LITERAL_START]
    assert runs == [(scara_runs.DRIFT, name) for name in names]
    told = [(claim.what.partition(" from ")[0], claim.ours) for claim in errors]
    wanted = []
    for name in names:
        phi = np.abs(
            formulas.linear_drift(formulas.START_READINGS[name], np.linspace(0.0, 20.0, 201)) + off
        )
        worst = phi.max(axis=0)
        wanted += [("largest x error", worst[0]), ("largest y error", worst[1])]
        wanted += [("largest z error", worst[3])] if name == formulas.SIGNED_START else []
    assert told == [(what, pytest.approx(ours, abs=1e-12)) for what, ours in wanted]
    assert {claim.otherwise for claim in errors} == {verdict}
    line = f"the straight line Phi(0) + Phi'(0) t within {'1e-08' if off == 0.0 else '1e-07'}"
    for claim in errors:
        assert claim.note == (
            line if " z " in claim.what else f"{line}; {motion_claims.REASON_NOTE}"
        )
    assert (largest.ours, largest.printed) == (5e-3, formulas.Y_PRINTED)


@pytest.mark.parametrize("off", [0.0, 1e-7])
def test_the_stabilised_motion_decays_and_lowers_what_the_drift_leaves(off, stubbed, monkeypatch):
    runs = []

    def run(scenario, name=formulas.SIGNED_START):
        runs.append((scenario, name))
        drifts = scenario == scara_runs.DRIFT
        error = formulas.linear_drift if drifts else formulas.damped_error
        return scara_run(error, name, off=off, size=1.0 if drifts else 0.2)

    monkeypatch.setattr(motion_claims, "run", run)
    leaves, row, decays, *rest = motion_claims.stabilised_claims()
    assert leaves.what == "leaves"
    assert stubbed == [(scara_runs.STABILISED, formulas.damped_error, "Figures 6 to 10")]
    wanted = formulas.stabilised(formulas.START_READINGS[formulas.SIGNED_START], formulas.V_PRINTED)
    assert (row.printed, row.ours) == (wanted[0], pytest.approx(wanted[0] + off))
    assert row.verdict == ("agrees" if off == 0.0 else "differs")
    t, slowest = np.linspace(0.0, 20.0, 201), 0.0
    for name, q in formulas.START_READINGS.items():
        x = np.abs(formulas.damped_error(q, t)[:, 0] + off)
        slowest = max(
            slowest, x[t >= 10.0].max() / x.max() if name != formulas.LITERAL_START else 0.0
        )
    assert decays.ours == pytest.approx(slowest)
    assert decays.verdict == ("agrees" if off == 0.0 else "differs")
    joints, late = rest[:4], rest[4:]
    assert [claim.what.partition(",")[0] for claim in joints] == [
        f"largest q{k} error" for k in (1, 2, 3, 4)
    ]
    assert [claim.ours for claim in joints] == pytest.approx([0.2] * 4)
    assert {claim.verdict for claim in joints} == {"agrees"}
    decay = np.abs(formulas.damped_error(formulas.START_READINGS[formulas.SIGNED_START], t) + off)[
        :, scara_runs.ROW_ORDER
    ]
    for k, claim in enumerate(late):
        assert claim.what.startswith(f"largest {'xyz'[k]} error from 10 s on")
        assert claim.ours == pytest.approx(decay[t >= 10.0, k].max())
        assert claim.verdict == ("agrees" if claim.ours < 1e-3 else "differs")
    assert len(late) == 3


@pytest.mark.parametrize(("off", "verdict"), [(0.0, "differs: underspecified"), (1e-7, "differs")])
def test_constraint_torques_of_runs_are_those_of_the_formula(off, verdict, monkeypatch):
    def on_path(elbow):
        q, v = formulas.exact_start(elbow)
        u = formulas.constraint_torque(q, v, formulas.rows(q, v)[1]) + off
        later = u + np.array([0.1, 0.2, 2e-9, 3e-9])
        return Run(u=np.stack([u, later]))

    monkeypatch.setattr(motion_claims, "exact_run", on_path)
    monkeypatch.setattr(
        motion_claims,
        "run",
        lambda scenario: scara_run(formulas.damped_error, formulas.SIGNED_START, off=off),
    )
    *starts, turning, sliding, first = motion_claims.torque_claims()
    for k, claim in enumerate(starts):
        elbow = 1.0 if k < 4 else -1.0
        assert claim.what == f"Q_c{k % 4 + 1} on the path at t = 0, q2 {'>' if k < 4 else '<'} 0"
        assert claim.ours == pytest.approx(on_path(elbow)["u"][0, k % 4], abs=1e-11)
        assert (claim.unit, claim.otherwise) == ("N" if k % 4 == 3 else "N m", verdict)
    constant = "agrees" if off == 0.0 else "differs"
    for claim, departs, unit in ((turning, 2e-9, "N m"), (sliding, 3e-9, "N")):
        assert claim.ours == pytest.approx(off + departs, abs=1e-11)
        assert (claim.unit, claim.verdict) == (unit, constant)
    q = formulas.START_READINGS[formulas.SIGNED_START]
    wanted = formulas.constraint_torque(
        q, formulas.V_PRINTED, formulas.stabilised(q, formulas.V_PRINTED)
    )
    assert first.ours == pytest.approx(wanted[0] + off)
    assert first.otherwise == verdict
    assert len(starts) == 8


# What a claim goes by: the largest entry that is off, wherever it is.


@pytest.mark.parametrize(("name", "claim"), [("mass", 0), ("bias", 1)])
def test_a_formula_that_is_wrong_in_its_smallest_entry_is_no_right_one(monkeypatch, name, claim):
    assert all(each.holds for each in misprints.confirmed_formulas())
    formula = getattr(misprints, name)

    def wrong(*given):
        found = np.array(formula(*given))
        found.flat[np.abs(found).argmin()] += 1e-6
        return found

    monkeypatch.setattr(misprints, name, wrong)
    held = [each.holds for each in misprints.confirmed_formulas()]
    assert not held[claim]
    assert sum(held) == len(held) - 1


def test_a_gain_that_is_wrong_in_one_entry_is_no_inverse_and_no_recurrence(monkeypatch):
    names = "both recurrences of the projector", "properties P1 and P4 of the inverse"

    def holds():
        found = {each.what: each.holds for each in equations.projection_claims()}
        return [found[name] for name in names]

    assert holds() == [True, True]
    formula = equations.kalman_gain

    def wrong(*given):
        found = np.array(formula(*given))
        found[0, 0] += 1e-6
        return found

    monkeypatch.setattr(equations, "kalman_gain", wrong)
    assert holds() == [False, False]
