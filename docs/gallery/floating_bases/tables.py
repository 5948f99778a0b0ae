"""The tables of the page: what the quadrotor and the quadruped did, and what it takes."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from markdown_text import below, fixed, table

from ukctrl import Loop, Result, Robot, Scenario, judge, simulate

SLOW = True
PERIODS = (24.0, 12.0, 6.0, 4.0, 3.0)
"""Of the figure of eight [s]."""
HELD, SAME_STATE, ENERGY = 1e-10, 1e-11, 1e-5
"""What feedback leaves of rows of 1 m beside integration to a relative 1e-9 [m, rad]; two routes to
forces of some 100 N at the same state; and energy of some J that adaptive steps lose [J]."""
FLYING = 6.0
"""The start is forgotten after this [s]."""
PULLING: dict[str, object] = {"controller.allocation": {"kind": "least_norm"}}
TURN_FIRST = [["tilt", "heading"], "thrust"]
ONE_BLOCK: dict[str, object] = {
    "controller.allocation": {"kind": "bounded", "on_limit": "relax", "order": TURN_FIRST}
}
SCALED: dict[str, object] = {"controller.allocation": {"kind": "bounded", "on_limit": "scale"}}
CARD: dict[str, object] = {}
LEGS = ("FL", "FR", "RL", "RR")
SPARED: dict[str, object] = {
    "kind": "internal_force",
    "rows": [f"{leg}_foot_contact.slip_x" for leg in LEGS[:3]]
    + [f"{leg}_foot_contact.slip_y" for leg in ("FL", "RL")],
    "value": [0.0] * 5,
}
SHARES: Mapping[str, dict[str, object]] = {
    "least torque": {},
    "calves weighted fourfold": {
        "controller.allocation.metric": {f"{leg}_calf_joint": 4.0 for leg in LEGS}
    },
    "friction forces held at zero": {"controller.allocation.null_space": SPARED},
}
TWO_SECONDS = {"timing.duration": 2.0}


@functools.cache
def eight(period: float, feedforward: str, *, pulls: bool = False, block: bool = False) -> Result:
    """Run the figure of eight, from rest, for one round after the start."""
    how = PULLING if pulls else ONE_BLOCK if block else CARD
    changes = {
        "servo.body.path.path.period": period,
        "controller.feedforward": feedforward,
        "timing.duration": FLYING + period,
    }
    return simulate(Scenario.load("quadrotor-lemniscate", {**changes, **how}))


@functools.cache
def run(scenario: str) -> Result:
    """Run a scenario of the catalogue."""
    return simulate(Scenario.load(scenario))


@functools.cache
def squat(frequency: float, share: str = "least torque") -> Result:
    """Run two seconds of squats of 8 cm at a frequency [Hz]."""
    terms = [{"amplitude": [0.0, 0.0, 0.04], "frequency": frequency, "phase": "90*deg"}]
    path = {"kind": "harmonic", "offset": [0.0, 0.0, 0.24], "terms": terms}
    changes = {"servo.trunk.path": path, **TWO_SECONDS}
    scenario = Scenario.load("a1-squat", changes)
    return simulate(scenario.replace(SHARES[share]) if SHARES[share] else scenario)


def late(result: Result) -> float:
    """Return the largest error of the place once the start is forgotten [m]."""
    return float(np.linalg.norm(result["phi"][result.time > FLYING], axis=1).max())


def ground(result: Result) -> str:
    """Return what the report says of the ground."""
    return next(verdict.text for verdict in judge(result) if verdict.subject == "ground")


def speeds() -> str:
    """Return the error of the figure of eight against its speed."""
    rows = []
    for period in PERIODS:
        told, rate = eight(period, "acceleration"), eight(period, "rate")
        reference = told["frame_reference"][:, 0]
        speed = np.linalg.norm(np.gradient(reference, told.time, axis=0), axis=1).max()
        up = [1.0 - 2.0 * (q[3] ** 2 + q[4] ** 2) for q in told["q"]]
        lean = np.degrees(np.arccos(min(up)))
        rows.append(
            [
                fixed(period, 0), fixed(speed, 2), fixed(lean, 0),
                fixed(1e3 * late(rate), 3), fixed(1e3 * late(told), 4),
            ]
        )  # fmt: skip
    head = ["period [s]", "top speed [m/s]", "largest lean [deg]", "told the rate alone [mm]"]
    return table([*head, "and the acceleration [mm]"], rows)


def limits() -> str:
    """Return what orders of rows make of propellers that cannot pull."""
    rows = []
    start = Scenario.load("quadrotor-upside-down")
    for words, how, fast in (
        ("least norm: may pull", PULLING, eight(3.0, "acceleration", pulls=True)),
        ("all rows scaled together", SCALED, None),
        ("tilt and heading, then thrust", ONE_BLOCK, eight(3.0, "acceleration", block=True)),
        ("tilt, thrust, heading (the card)", CARD, eight(3.0, "acceleration")),
    ):
        over = simulate(start.replace(how) if how else start)
        u = over["u"]
        rows.append(
            [
                words, f"{fixed(float(u.min()), 1)} to {fixed(float(u.max()), 1)}",
                fixed(float(over.metric("peak_phi")), 2), fixed(over.metric("final_phi"), 4),
                "" if fast is None else fixed(1e3 * late(fast), 2),
            ]
        )  # fmt: skip
    head = ["allocation", "thrusts of the turn-over [N]", "farthest off [m]", "at the end [m]"]
    return table([*head, "figure of eight in 3 s [mm]"], rows)


def hover() -> str:
    """Return the poles of the LQR about hover, by what they move."""
    poles = sorted(Loop(Scenario.load("quadrotor-hover")).law.poles, key=lambda z: (z.real, z.imag))
    texts = [
        f"{pole.real:.3f}" + (f" ± {abs(pole.imag):.3f} i" if abs(pole.imag) > 1e-6 else "")
        for pole in poles
        if pole.imag > -1e-6
    ]
    return ", ".join(texts).replace("-", "−")


def shares() -> str:
    """Return what the six freedoms of the motors do to the friction forces."""
    rows = []
    for words in SHARES:
        result = squat(0.5, words)
        normal = result["reaction"][:, ::3]
        rows.append(
            [
                words, fixed(result.metric("effort"), 1), fixed(result.metric("peak_u"), 2),
                fixed(float(normal.min()), 1), fixed(result.metric("needed_friction"), 3),
                below(result.metric("peak_phi"), HELD),
            ]
        )  # fmt: skip
    head = ["six freedoms", "effort [(N m)² s]", "largest torque [N m]", "least push of a foot [N]"]
    return table([*head, "friction needed", "error [m, rad]"], rows)


def jumps() -> str:
    """Return from which frequency on a squat becomes a jump."""
    rows = []
    for frequency in (0.5, 1.0, 2.0, 2.4, 2.6, 3.0):
        result = squat(frequency)
        normal = result["reaction"][:, ::3]
        down = 0.04 * (2.0 * np.pi * frequency) ** 2
        rows.append(
            [
                fixed(frequency, 1), fixed(down, 1), fixed(float(normal.min()), 1),
                fixed(float(normal.max()), 1), fixed(result.metric("ground_pull"), 1),
            ]
        )  # fmt: skip
    head = ["frequency [Hz]", "peak acceleration [m/s²]", "least force of a foot [N]"]
    return table([*head, "largest [N]", "`ground_pull` [N]"], rows)


def balance() -> str:
    """Return how well reactions balance momentum, by Pinocchio's centroidal dynamics."""
    rows = []
    for name, legs in (("a1-squat", LEGS), ("a1-three-feet", LEGS[1:])):
        result, model = run(name), Robot.load("a1").model
        data, gap = model.createData(), np.zeros(2)
        weight = np.array([0.0, 0.0, 9.81 * pin.computeTotalMass(model)])
        feet = [model.getFrameId(f"{leg}_foot") for leg in legs]
        for k in range(0, len(result.time), 10):
            q, v, a = (np.ascontiguousarray(result[each][k]) for each in "qva")
            pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
            centre = pin.centerOfMass(model, data, q).copy()
            pin.updateFramePlacements(model, data)
            force = result["reaction"][k].reshape(len(feet), 3)[:, [1, 2, 0]]
            arms = np.array([data.oMf[foot].translation - centre for foot in feet])
            linear = force.sum(axis=0) - weight - data.dhg.linear
            angular = np.cross(arms, force).sum(axis=0) - data.dhg.angular
            gap = np.maximum(gap, [np.abs(linear).max(), np.abs(angular).max()])
        rows.append(
            [
                f"`{name}`",
                below(gap[0], SAME_STATE),
                below(gap[1], SAME_STATE),
                below(result.metric("energy_drift"), ENERGY),
            ]
        )
    eight_run = run("quadrotor-lemniscate")
    rows.append(["`quadrotor-lemniscate`", "", "", below(eight_run.metric("energy_drift"), ENERGY)])
    return table(["run", "force [N]", "moment [N m]", "energy [J]"], rows)


TABLES = {
    "speeds": speeds,
    "limits": limits,
    "shares": shares,
    "jumps": jumps,
    "balance": balance,
}
FACTS = {
    "poles": hover,
    "jump": lambda: ground(squat(3.0)),
    "three-feet": lambda: ground(run("a1-three-feet")),
    "three-feet-least": lambda: ground(three_feet_of_least_torque()),
    "hasty": lambda: ground(hasty()),
}


@functools.cache
def three_feet_of_least_torque() -> Result:
    """Run the wave with the least torque."""
    return simulate(Scenario.load("a1-three-feet", PULLING))


@functools.cache
def hasty() -> Result:
    """Run the wave with a trunk that leans away in half the time."""
    return simulate(Scenario.load("a1-three-feet", {"servo.trunk.path.duration": 1.0}))
