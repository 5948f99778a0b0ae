"""The tables of the page."""

from __future__ import annotations

import re

import numpy as np
from experiments import (
    ANGLES,
    ARMS,
    M1,
    M2,
    MASS,
    PATHS,
    PLAIN,
    STEPS,
    C,
    K,
    apart,
    car,
    car_apart,
    convergence,
    independent,
    mismatched,
    planned,
)
from kinds import kinds
from markdown_text import below, minus, table, within

from ukctrl import Dynamics, InputError, Loop, Robot, Scenario, control, simulate, uk

SLOW = True
ROUNDING = 1e-11
"""A smaller error is made of rounding, which Newton's method sums over its steps [m, N]."""
STEEP, FORCE = 30.0, 1e-9
"""From this angle on, in degrees, the force has no quick start, and its bound."""
CAR, ARM = (1e-9, 1e-9, 1e-6), (1e-7, 1e-5, 1e-5)
"""Bounds of q, v and u: what seven stages leave of quintic paths and their springs in steps of
50 ms; a power of the step is lost with every derivative, and the arms swing faster than the car."""


def power(value: float) -> str:
    """Return a small number with one digit, or that it is rounding."""
    if value < ROUNDING:
        return below(value, ROUNDING)
    digit, exponent = f"{value:.0e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digit}·10{raised}"


ROUTES = {
    "elastic-arm-middle": "spring's equation, DOP853",
    "elastic-arm-tip": "spring's equation, solve_bvp",
    "elastic-two-link": "spring's equation, solve_bvp",
}


def agreement() -> str:
    """Return how far each motion is from the independent one."""
    rows = [
        [system, route, *map(below, car_apart(*rail), CAR)]
        for system, route, rail in (
            ("mass on car, level, no damper", "closed form of the flat output", (0.0, 0.0)),
            ("mass on car, level, damper", "spring's equation, DOP853", (0.0, 1.0)),
            ("mass on car, 30°", "spring's equation, Radau", (30.0, 1.0)),
        )
    ]
    for name, route in ROUTES.items():
        found = apart(planned(name), independent(name))
        rows.append([f"`{name}`", route, *map(below, found, ARM)])
    return table(["system", "by hand", "q [m, rad]", "v [m/s, rad/s]", "u, beside its peak"], rows)


def angles() -> str:
    """Return the grip on the mass, and the inversion, over the rail's angle."""
    rows = []
    for degrees in ANGLES:
        given = car(degrees).robot
        changed = {"lagrangian": given["lagrangian"]}
        dynamics = Dynamics(Robot.load(given["use"], override=changed))
        dynamics.move(0.0, np.zeros(2), np.zeros(2))
        A = np.array([[1.0, 0.0]])
        H = float(uk.servo_matrix(A, dynamics.G, dynamics.rank)[0, 0])
        sine = np.sin(np.radians(degrees)) ** 2
        formula = M2 * sine / (M1 * M2 + M2**2 * sine)
        plain = simulate(car(degrees, **PLAIN))
        off = car_apart(degrees, 1.0)
        rows.append(
            [
                minus(f"{degrees:.0f}°"), f"{H:.4g}", f"{formula:.4g}", plain.status,
                below(off[0], CAR[0]), below(off[2], FORCE if degrees >= STEEP else CAR[2]),
            ]
        )  # fmt: skip
    return table(
        ["angle", "H [1/kg]", "formula", "plain law", "s apart [m]", "F apart, beside its peak"],
        rows,
    )


def orders() -> str:
    """Return errors of the steps, and what they fall with."""
    rows = []
    for stages in (1, 2, 3, 4, 5):
        spring, force = convergence(stages)
        row = [f"{stages}" + (" (backward Euler)" if stages == 1 else "")]
        for errors in (spring, force):
            row += [power(x) for x in errors]
            clear = [value for value in errors if value > ROUNDING]
            order = np.log2(clear[0] / clear[-1]) / (len(clear) - 1) if len(clear) > 1 else None
            row.append("rounding" if order is None else f"{order:.1f}")
        rows.append(row)
    names = [f"{step:g} s" for step in STEPS]
    spring = [f"s, h = {names[0]}", names[1], names[2], "order"]
    force = [f"F, h = {names[0]}", names[1], names[2], "order"]
    return table(["stages", *spring, *force], rows)


def refusals() -> str:
    """Return what happens without an inversion, or with the wrong one."""
    rows = []
    for name in ("mass-on-car", "elastic-arm-middle", "elastic-arm-tip", "elastic-two-link"):
        scenario = Scenario.load(name)
        plain = simulate(scenario.replace(PLAIN))
        told = plain.status
        if plain.status == "diverged":
            told = within(plain.time[-1], 0.0, 1.0, "diverged within a second")
        try:
            Loop(scenario.replace({"controller.along": control.ServoDae()}))
            marched = "solved"
        except InputError:
            marched = "refused: grows without bound"
        zeros = minus(f"{-K / C:.2f}") if name == "mass-on-car" else eigenvalues(name)
        rows.append([f"`{name}`", zeros, told, marched])
    return table(
        ["scenario", "internal eigenvalues at the start [1/s]", "plain law", "`servo_dae`"], rows
    )


def eigenvalues(name: str) -> str:
    """Return the internal eigenvalues of an arm at rest, from the equation by hand."""
    arm, path = ARMS[name], PATHS[name]
    rate, e, t = arm.inner(path), 1e-6, np.array([-0.1])
    columns = [(rate(t, e * d) - rate(t, -e * d))[:, 0] / (2.0 * e) for d in np.eye(2)]
    first, second = np.linalg.eigvals(np.array(columns).T)
    if abs(first.imag) > 1e-6:
        return minus(f"{first.real:.2f} ± {abs(first.imag):.2f}j")
    low, high = sorted((first.real, second.real))
    return minus(f"{low:.2f}, {high:+.2f}")


def mismatch() -> str:
    """Return the tip's error with and without feedback, over the masses that are believed in."""
    rows = []
    for scale in (0.9, 0.95, 1.0, 1.05, 1.1):
        row = [f"{scale:g}"]
        for law in ("feedforward", "tvlqr"):
            run = mismatched(law, scale)
            for metric in ("peak_phi", "final_phi"):
                value = 1000.0 * run.metric(metric)
                row.append(f"{value:.3g}" if value > 1e-3 else "below 0.001")
        rows.append(row)
    head = [
        "feed-forward alone: peak [mm]",
        "at the end [mm]",
        "with LQR: peak [mm]",
        "at the end [mm]",
    ]
    return table([f"`{MASS}`", *head], rows)


def refusal() -> str:
    """Return what the plain law says on the level rail, but for a miss that is rounding."""
    run = simulate(car(0.0, **PLAIN))
    return f"{run.status}: {re.sub(r'worst miss [^;]*; ', '', run.message)}"


def late() -> str:
    """Return what a start too late is told."""
    try:
        Loop(Scenario.load("elastic-arm-tip").replace({"start.t": -0.2}))
    except InputError as error:
        return str(error)
    raise RuntimeError("the start is not too late")


TABLES = {
    "agreement": agreement,
    "kinds": kinds,
    "angles": angles,
    "orders": orders,
    "refusals": refusals,
    "mismatch": mismatch,
}
FACTS = {"refusal": refusal, "late": late}
