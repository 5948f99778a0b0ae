"""The runs behind the page's numbers and figures."""

from __future__ import annotations

import functools

import by_hand
import numpy as np

from ukctrl import Loop, Result, Scenario, control, simulate

M1 = M2 = 1.0
K, C, T = 5.0, 1.0, 2.0
"""The mass on the car: masses [kg], spring [N/m], damper [N s/m], time of the path [s]."""
ANGLES = (-10.0, -5.0, 0.0, 5.0, 10.0, 30.0, 60.0)
STEPS = (0.1, 0.05, 0.025)
PLAIN = {"controller": {"use": "servo-baumgarte"}}


def car(degrees: float, damper: float = C, **changes: object) -> Scenario:
    """Return the mass on the car on another rail."""
    parameters = {"alpha": float(np.radians(degrees)), "c": damper}
    robot = {"use": "mass_on_car", "lagrangian": {"parameters": parameters}}
    return Scenario.load("mass-on-car").replace({"robot": robot, **changes})


def nominal(scenario: Scenario, along: control.Inversion | None = None) -> control.NominalMotion:
    """Return the motion that a scenario's controller works out."""
    alone = control.Feedforward(along=along or scenario.controller.along)
    return Loop(scenario.replace({"controller": alone})).law.nominal


def at(motion: control.NominalMotion, times: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return q, v and u at times."""
    states = [motion.state(t) for t in times.tolist()]
    q, v = (np.array(part) for part in zip(*states, strict=True))
    return q, v, np.array([motion.input(t) for t in times.tolist()])


ARMS = {
    "elastic-arm-middle": by_hand.Arm((1.0, 1.0), (1.0, 1.0), 20.0, 0.5, 0.4, (1,)),
    "elastic-arm-tip": by_hand.Arm((1.0, 1.0), (1.0, 1.0), 20.0, 0.5, 1.0, (1,)),
    "elastic-two-link": by_hand.Arm((1.0, 0.5, 0.5), (4.0, 1.0, 1.0), 5.0, 0.25, 0.5, (0, 1)),
}
PATHS = {
    "elastic-arm-middle": by_hand.rest_to_rest([-0.98], [0.98], 2.0),
    "elastic-arm-tip": by_hand.rest_to_rest([-1.4], [1.4], 2.0),
    "elastic-two-link": by_hand.rest_to_rest([1.2, -0.4], [1.2, 0.4], 1.0),
}
TIMES = {
    "elastic-arm-middle": np.linspace(0.0, 4.0, 201),
    "elastic-arm-tip": np.linspace(-1.5, 4.5, 301),
    "elastic-two-link": np.linspace(-0.5, 2.0, 251),
}


@functools.cache
def planned(name: str) -> tuple[np.ndarray, ...]:
    """Return q, v and u of an arm's motion as ukctrl works it out."""
    return at(nominal(Scenario.load(name)), TIMES[name])


@functools.cache
def independent(name: str) -> tuple[np.ndarray, ...]:
    """Return the same by hand."""
    arm, path, t = ARMS[name], PATHS[name], TIMES[name]
    if name == "elastic-arm-middle":
        return arm.forwards(path, t, 2.0)
    return arm.bounded(path, t, t[0] - 1.5, t[-1] + 2.0)


def apart(ours: tuple[np.ndarray, ...], theirs: tuple[np.ndarray, ...]) -> list[float]:
    """Return the largest differences of q and v, and of u beside its size."""
    differences = [float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True)]
    differences[2] /= float(np.abs(theirs[2]).max())
    return differences


@functools.cache
def car_apart(degrees: float, damper: float) -> list[float]:
    """Return how far s, its rate and F are from the reduced equation, or the closed form."""
    t = np.linspace(0.0, 3.0, 61)
    step = 0.0125 if 0.0 < abs(degrees) < 8.0 else 0.05
    q, v, u = at(nominal(car(degrees, damper), control.ServoDae(step=step)), t)
    if damper:
        hand = by_hand.car_inner(t, M1, M2, K, damper, float(np.radians(degrees)), T)
    else:
        hand = by_hand.car_flat(t, M1, M2, K, T)
    return apart((q[:, 1], v[:, 1], u[:, 0]), hand)


@functools.cache
def convergence(stages: int) -> tuple[list[float], list[float]]:
    """Return errors by step: of the spring on a rail of 30 degrees, of F on a level one."""
    t = np.array([0.5, 1.0, 1.5, 2.0])
    inner = by_hand.car_inner(t, M1, M2, K, C, float(np.radians(30.0)), T)[0]
    force = by_hand.car_flat(t, M1, M2, K, T)[2]
    of_spring, of_force = [], []
    for step in STEPS:
        along = control.ServoDae(step=step, stages=stages)
        q, *_ = at(nominal(car(30.0), along), t)
        of_spring.append(float(np.abs(q[:, 1] - inner).max()))
        *_, u = at(nominal(car(0.0, 0.0), along), t)
        of_force.append(float(np.abs(u[:, 0] - force).max()))
    return of_spring, of_force


MASS = "believed.mass_scale"


@functools.cache
def mismatched(law: str, scale: float) -> Result:
    """Return the tip's run when the controller believes in other masses."""
    scenario = Scenario.load("elastic-arm-tip").replace({"believed": {"mass_scale": scale}})
    along = scenario.controller.along
    if law == "feedforward":
        return simulate(scenario.replace({"controller": control.Feedforward(along=along)}))
    return simulate(scenario)
