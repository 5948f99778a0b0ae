"""Sections IV and VI: the two masses, and what the figures of the two arms show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.mechanics.relative_degree import relative_degrees
from ukctrl.simulation.assemble import Loop
from ukctrl_papers import catalogue_runs
from ukctrl_papers.claim import Claim, bounded_claim, zero_claim
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.servo import arms, literal_steps, runs
from ukctrl_papers.servo.arms import READINGS

FIGURE_TOLERANCE = 0.5
"""How far a bound may be off that is read off a figure and given to half a newton metre."""
ERROR_TOLERANCE = 1e-8
"""An error below this counts as none [m, rad]."""


def two_mass_claims() -> Iterator[Claim]:
    """Section IV: two masses and a spring."""
    run = runs.masses_run({"start.q": (0.1, 1.3), "start.v": (0.3, -0.2)})
    robot = catalogue_runs.catalogue_robot("two_mass_spring")
    m1, m2, k, length = (robot.parameters[name] for name in ("m1", "m2", "k", "l"))
    stretch = run["q"][:, 1] - run["q"][:, 0] - length
    printed = -(1.0 + m1 / m2) * k * stretch
    yield zero_claim(
        "eq (47)",
        "F = -(1 + m1/m2) k (x2 - x1 - l): largest difference over 2 s",
        run["u"][:, 0] - printed,
        ERROR_TOLERANCE,
        unit="N",
        note="a start off the constraint, so that F varies; m1 = 1, m2 = 2, k = 50, l = 0.5 are "
        "ours, the paper prints no numbers",
    )
    start = robot.snapshot([0.1, 1.1], [0.3, 0.3])
    yield Claim(
        where="section IV",
        what="C B_bar = -1/m1",
        printed=-1.0 / m1,
        ours=float(np.array([-1.0, 1.0]) @ np.linalg.solve(start.M, start.B[:, 0])),
        unit="1/kg",
        within=1e-12,
    )
    yield Claim(
        where="eq (39)",
        what="second diagonal entry of M",
        printed="x2",
        ours="m2" if start.M[1, 1] == m2 else f"{start.M[1, 1]:g}",
        otherwise="differs: misprint",
        note="from the kinetic energy (36), at x2 = 1.1 and m2 = 2",
    )
    exact = runs.masses_run()
    t = exact.time
    fall = 0.3 - k * length / m2 * t
    yield zero_claim(
        "eqs (44)-(47)",
        "from an exact start x2 - x1 = 2 l holds; largest error over 2 s",
        exact["phi"],
        ERROR_TOLERANCE,
        unit="m",
        note="F is constant, and both masses accelerate at -k l/m2: velocities within "
        f"{bound_text(float(np.abs(exact['v'] - fall[:, None]).max()), ERROR_TOLERANCE)} m/s of "
        "that closed form",
    )
    authority, degree = _authority_over_x2()
    yield Claim(
        where="Theorem 1, eq (34)",
        what="a constraint on x2 alone: refused, with the relative degree",
        ours=f"C B_bar = 0, relative degree {degree}",
        holds=authority == 0 and degree == _inverse_order(m1, m2, k),
        note="the fourth derivative is the first with F in it, as the system's matrices say",
    )
    error = inverse_error(m1, m2, k, length)
    yield bounded_claim(
        "section IV",
        "F = (m1 + m2) x2'' + (m1 m2/k) x2'''' moves x2 along a path: error after 2 s",
        error,
        ERROR_TOLERANCE,
        unit="m",
        note="not in the paper; x2 = 1.1 + 0.1 sin 2t from the start that belongs to it, F ahead "
        "of time, integrated by itself",
    )


def _authority_over_x2() -> tuple[int, int | None]:
    """Return how many rows on x2 alone the force moves at once, and their relative degree."""
    loop = Loop(catalogue_runs.catalogue_scenario("two-mass-spring-far"))
    truth, servo, (q, v, _) = loop.plant, loop.servo, loop.state
    truth.move(loop.t0, q, v)
    authority = truth.servo_report(servo.write(truth.snapshot).A, servo.names).rank
    return authority, relative_degrees(truth, servo, loop.t0, q, v)[0].value


def inverse_error(m1: float, m2: float, k: float, length: float) -> float:
    """Return how far x2 is from its path after 2 s under the inverse model of degree 4 [m]."""
    from scipy.integrate import solve_ivp

    def path(t: float, order: int) -> float:
        value = float(0.1 * 2.0**order * np.sin(2.0 * t + order * np.pi / 2.0))
        return value + 1.1 if order == 0 else value

    def near(t: float, order: int) -> float:
        position = path(t, order) + m2 / k * path(t, order + 2)
        return position - length if order == 0 else position

    def rates(t: float, x: Vector) -> Vector:
        force = (m1 + m2) * path(t, 2) + m1 * m2 / k * path(t, 4)
        pull = k * (x[1] - x[0] - length)
        return np.array([x[2], x[3], (force + pull) / m1, -pull / m2])

    start = [near(0.0, 0), path(0.0, 0), near(0.0, 1), path(0.0, 1)]
    end = solve_ivp(rates, (0.0, 2.0), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    return abs(float(end[1]) - path(2.0, 0))


def _inverse_order(m1: float, m2: float, k: float) -> int | None:
    """Return which derivative of x2 is the first with F in it, from the system's matrices."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = [[-k / m1, k / m1], [k / m2, -k / m2]]
    state = np.array([0.0, 0.0, 1.0 / m1, 0.0])
    for order in range(1, 5):
        if state[1] != 0.0:
            return order
        state = A @ state
    return None


def arm_motion_claims() -> Iterator[Claim]:
    """Section VI, Figures 3 to 8: the motion."""
    loop = Loop(catalogue_runs.catalogue_scenario("coordinated-arms"))
    q, v, _ = loop.state
    loop.plant.move(loop.t0, q, v)
    nv, motors, closures = loop.robot.nv, loop.robot.nu, loop.plant.passive_report().rank
    yield Claim(
        where="section V, Remark 3",
        what="degrees of freedom of the closed chain",
        printed=3.0,
        ours=float(nv - closures),
        note=f"{nv} coordinates less {closures} closure rows; "
        f"{motors} motors leave {motors - nv + closures} free parameters",
    )
    run = runs.arms_run("consistent")
    degrees = np.degrees(run["q"])
    half = int(np.argmin(np.abs(run.time - np.pi)))
    error = runs.largest_motion_error(run)
    bound = bound_text(error, ERROR_TOLERANCE)
    note = f"closed loop against the known motion: {bound} rad over the period"
    for quantity, k, at, value in (
        ("link 1 at the top, vertical", 0, half, 90.0),
        ("link 5 at the top, vertical", 4, half, -90.0),
        ("link 2 at the top, horizontal", 1, half, 0.0),
        ("link 4 at the top, horizontal", 3, half, 0.0),
        ("link 1 is back at its start after a period", 0, -1, float(degrees[0, 0])),
        ("link 2 is back at its start after a period", 1, -1, float(degrees[0, 1])),
    ):
        yield Claim(
            where="section VI, Figures 4-8",
            what=quantity,
            printed=value,
            ours=float(degrees[at, k]),
            unit="deg",
            within=0.1,
            note=note,
        )
    yield zero_claim(
        "section VI, Figure 6",
        "theta3 and its rate and acceleration are zero; largest of them",
        max(float(np.abs(run[name][:, 2]).max()) for name in ("q", "v", "a")),
        ERROR_TOLERANCE,
    )
    start = arms.known_motion(0.0)
    for quantity, values, unit in (
        ("initial angles", np.degrees(start.theta), "deg"),
        ("initial velocities", start.rate, "rad/s"),
        ("initial accelerations", start.acceleration, "rad/s^2"),
    ):
        yield Claim(
            where="Table I, Figure 3",
            what=quantity,
            ours=", ".join(f"{value + 0.0:.3g}" for value in values.round(9)),
            unit=unit,
            otherwise="not reproducible",
            note="the table is lost; l = 1, the text and (60) leave these alone, with L = 3",
        )


def performance_claims() -> Iterator[Claim]:
    """Section VI: whether the performance is realised."""
    for reading in ("minimum norm", "consistent", "stacked"):
        run = runs.arms_run(reading)
        worst = max(run.metric("peak_phi"), run.metric("peak_passive_phi"))
        yield zero_claim(
            "section VI",
            f"the desired motion is realised, {reading} reading: largest error of task and "
            "closure over the period",
            worst,
            ERROR_TOLERANCE,
            unit="m, rad",
            note=f"torques within {bound_text(runs.torque_difference(reading), ERROR_TOLERANCE)} N "
            "m of the closed form",
        )
    opened = literal_steps.literal_run(False)
    gap = literal_steps.angles_at(opened, literal_steps.READ_OFF_TIME)
    yield Claim(
        where="section II, steps 1)-5)",
        what="word by word, the chain with the computed reaction as a force: closure after 0.8 s",
        printed="closed",
        ours=f"open by {abs(arms.closure_error(gap)[1]):.2f} m in height, breaks down at "
        f"{opened.end:.2f} s",
        otherwise="differs: claim does not hold",
        note="the reaction is computed with motors at rest, and the motors then change it; broken "
        f"down means that a link spins with {literal_steps.BREAKDOWN_RATE:g} rad/s",
    )
    closed = literal_steps.angles_at(literal_steps.literal_run(True), literal_steps.READ_OFF_TIME)
    height = float(np.sin(closed) @ [1.0, 1.0, 0.5, 0.0, 0.0]) - 0.5 * (
        1.0 - np.cos(literal_steps.READ_OFF_TIME)
    )
    yield Claim(
        where="section II, steps 1)-5)",
        what="word by word, the chain really closed: load after 0.8 s",
        printed="on its path",
        ours=f"off by {abs(height):.2f} m and {abs(closed[2]):.2f} rad",
        otherwise="differs: claim does not hold",
        note="the steps contradict the paper's own figures; the reaction must move with the input",
    )
    wrong = np.abs([_closure_error(t) for t in np.linspace(0.0, arms.PERIOD, 361)]).max(axis=0)
    yield Claim(
        where="section II, steps 1)-5)",
        what="closure acceleration along the known motion",
        printed="as the closure demands",
        ours=f"wrong by up to {wrong[0]:.1f} (x) and {wrong[1]:.1f} (y)",
        unit="m/s^2",
        otherwise="differs: claim does not hold",
        note="the reaction is computed before the inputs that it answers",
    )
    contractions = [
        literal_steps.reaction_contraction(t) for t in np.linspace(0.0, arms.PERIOD, 181)
    ]
    yield Claim(
        where="section II, step 4)",
        what="with the reaction of the previous time step instead: error left per step",
        ours=f"{min(contractions):.2f} .. {max(contractions):.2f}",
        holds=max(contractions) < 1.0,
        note="a contraction: a simulation that stores Qc between steps ends at the consistent "
        "reading without anyone noticing",
    )


def _closure_error(t: float) -> Vector:
    theta, rate, _ = arms.known_motion(t)
    A, b = arms.closure_rows(theta, rate)
    return np.asarray(A @ literal_steps.acceleration(t, theta, rate, closed=False) - b)


def torque_claims() -> Iterator[Claim]:
    """Section VI, Figures 9 to 14: the torques."""
    ranges = runs.reading_torques("consistent").ranges
    for k, motor in enumerate(runs.MOTOR_NAMES):
        for side, name in enumerate(("smallest", "largest")):
            yield Claim(
                where=f"section VI, Figure {9 + k}",
                what=f"{name} {motor}, consistent reading",
                printed=float(runs.PRINTED_RANGES[k, side]),
                ours=float(ranges[k, side]),
                unit="N m",
                within=FIGURE_TOLERANCE,
                otherwise="differs: misprint",
                note="probably -4.5, misread: the other eleven bounds agree"
                if (motor, side) == ("u3", 1)
                else "",
            )
    distances = {reading: runs.reading_torques(reading).distance for reading in READINGS}
    yield Claim(
        where="section VI, Figures 9-14",
        what="rms distance of the readings of (71) to the twelve printed bounds",
        ours=", ".join(f"{reading} {distance:.2f}" for reading, distance in distances.items()),
        unit="N m",
        holds=min(distances, key=distances.__getitem__) == "consistent",
        note="the consistent one was plotted: u in the row space of A M^-1 B, with the reaction "
        "that acts with u",
    )
    norms = {
        reading: float(np.linalg.norm(runs.reading_torques(reading).u[0])) for reading in READINGS
    }
    yield Claim(
        where="section VI, after eq (71)",
        what="s = 0 'is the minimum norm choice from all possible choices of u': |u(0)|",
        printed="least",
        ours=", ".join(f"{reading} {norm:.2f}" for reading, norm in norms.items()),
        unit="N m",
        holds=norms["consistent"] <= norms["minimum norm"],
        otherwise="differs: claim does not hold",
        note="all torques that keep task and closure compete; the least is antisymmetric, as the "
        "mechanism is, and the printed ranges are not",
    )
