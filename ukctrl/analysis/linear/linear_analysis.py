"""Everything that linear analysis says of a scenario, in one answer."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.analysis.linear.linear_loop import (
    LinearLoop,
    growth_rate,
    linearise_loop,
    loop_growth_rate,
    neutral_count,
)
from ukctrl.analysis.linear.linear_plant import LinearPlant, linear_plant
from ukctrl.analysis.linear.margins import Margins, disk_margin, margins_at
from ukctrl.analysis.linear.operating_point import At, OperatingPoint, operating_point
from ukctrl.analysis.linear.zeros import HiddenMode, uncontrollable_modes, unobservable_modes
from ukctrl.control.controller import law_name
from ukctrl.control.regulators.riccati import pole_text
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import UkctrlError
from ukctrl.core.tie_breaking import first_largest, first_smallest, max_abs
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none
from ukctrl.simulation.scenario import AnyScenario, as_scenario

Stability = Literal["stable", "neutral", "unstable"]
REST_TOLERANCE = 1e-7
"""Velocities and accelerations below this are those of rest [rad/s, m/s, rad/s^2, m/s^2]."""
NO_MARGIN = 1e-6
"""A disk margin below this is none."""
THIN_DISK_MARGIN = 0.5
"""A disk margin below this is thin: a factor of 1.67 of gain, or 28 deg."""
MAX_MOTORS = 60
"""Of a robot with more motors the margin of all at once is left out, which would take minutes."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class LinearAnalysis:
    """What `analyze` found."""

    scenario: str
    robot: str
    controller: str
    plant: LinearPlant
    loop: LinearLoop | None
    """None where the robot has no motors or the law no command there."""
    zeros: NDArray[np.complex128]
    """Invariant zeros from the motors to the servo rows [1/s]."""
    unreached: tuple[HiddenMode, ...]
    """Modes of the plant that no motor moves."""
    unseen: tuple[HiddenMode, ...]
    """Modes of the plant that no servo row shows."""
    margins: tuple[Margins, ...]
    """At each motor, the others closed; empty where the loop is not stable."""
    disk: float | None
    """Disk margin of all motors at once; None where it is not known."""
    disk_frequency: float | None
    """Where it is reached [rad/s]."""
    notes: tuple[str, ...]
    """What to keep in mind."""

    @property
    def stability(self) -> Stability | None:
        """Of the closed loop; None without one."""
        if self.loop is None:
            return None
        worst = loop_growth_rate(self.loop)
        return "unstable" if worst > 0.0 else "neutral" if worst == 0.0 else "stable"

    def __repr__(self) -> str:
        return f"<LinearAnalysis of {self.scenario!r}: {self.verdict}>"

    @property
    def verdict(self) -> str:
        """What matters most, in a sentence."""
        return _verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for programs; complex numbers as pairs."""
        plant, loop = self.plant, self.loop
        record: dict[str, Any] = {
            **attributes_of(self, "scenario", "robot", "controller", "verdict", "stability"),
            "point": {
                **attributes_of(plant.point, "source", "t", "q", "v", "u"),
                "acceleration": plant.linear.a,
            },
            "plant": {
                **_system(plant, plant.outputs),
                "poles": _sort_poles(plant.poles()),
                "zeros": _sort_poles(self.zeros),
                "unreached": [mode._asdict() for mode in self.unreached],
                "unseen": [mode._asdict() for mode in self.unseen],
            },
            "loop": None,
            "margins": [dc.asdict(margin) for margin in self.margins],
            "disk_margin": self.disk,
            "disk_frequency": self.disk_frequency,
            "notes": self.notes,
        }
        if loop is not None:
            record["loop"] = {
                **_system(loop, loop.inputs),
                "period": loop.period,
                "active": loop.active._asdict(),
                "delay": loop.delay,
                "poles": _sort_poles(loop.poles()),
                "rates": _sort_poles(loop.rates()),
            }
        plain: dict[str, Any] = finite_or_none(record)
        return plain


@explain_argument_errors
@one_blas_thread()
def analyze(scenario: AnyScenario, at: At | OperatingPoint = "start") -> LinearAnalysis:
    """Return what linear analysis says of a scenario near a state.

    Args:
        scenario: The scenario, its name, or the path of its file.
        at: ``"start"``, a time of the run [s], or a state, such as that of an
            [`Equilibrium`][ukctrl.linear.Equilibrium].

    Raises:
        InputError: The scenario does not fit its robot, its controller cannot serve the task, or it
            cannot be looked at there.
    """
    scenario = as_scenario(scenario)
    ready = Loop(scenario) if scenario.controller.acts else None
    point = at if isinstance(at, OperatingPoint) else operating_point(scenario, at, ready=ready)
    loop: LinearLoop | None = None
    notes: list[str] = []
    if ready is None:
        notes.append("no loop: the scenario has no controller.")
    else:
        try:
            loop = linearise_loop(scenario, ready, point)
        except (UkctrlError, ArithmeticError) as error:
            notes.append(f"no loop: {error}")
    plant = linear_plant(scenario, point) if loop is None else loop.plant
    if loop is not None:
        notes += loop.notes
    notes += _rest_notes(plant)
    margins: tuple[Margins, ...] = ()
    together: tuple[float, float] | None = None
    if loop is not None and loop_growth_rate(loop) <= 0.0:
        margins = tuple(margins_at(loop, motor) for motor in range(len(loop.inputs)))
        # One motor without a margin leaves none to all; of many motors mu takes minutes.
        if any(margin.disk == 0.0 for margin in margins):
            together = 0.0, math.nan
        elif len(loop.inputs) <= MAX_MOTORS:
            together = disk_margin(loop)
    zeros = plant.zeros() if plant.inputs and plant.outputs else np.zeros(0, np.complex128)
    return LinearAnalysis(
        scenario=scenario.name or scenario.title,
        robot=plant.linear.robot.name,
        controller=law_name(scenario.controller),
        plant=plant,
        loop=loop,
        zeros=zeros,
        unreached=uncontrollable_modes(plant.A, plant.B, plant.states),
        unseen=unobservable_modes(plant.A, plant.C, plant.states) if plant.outputs else (),
        margins=margins,
        disk=together[0] if together else None,
        disk_frequency=together[1] if together else None,
        notes=tuple(notes),
    )


def _at_rest(plant: LinearPlant) -> bool:
    v, a = plant.point.v, plant.linear.a
    return bool(max_abs(v) <= REST_TOLERANCE and max_abs(a) <= REST_TOLERANCE)


def _rest_notes(plant: LinearPlant) -> list[str]:
    """Say where a state is not one of rest, so that poles are those of an instant."""
    if _at_rest(plant):
        return []
    moment = "the poles hold for this moment alone"
    if max_abs(plant.point.v) > REST_TOLERANCE:
        return [
            f"the robot moves here: {moment}; poles of an equilibrium hold later too (--at "
            "equilibrium)."
        ]
    return [f"the robot is at rest here, but its input accelerates it: {moment}."]


def stability_text(loop: LinearLoop) -> str:
    """Return whether a loop is stable, and the rate of the mode that decides it."""
    rates, worst = loop.rates(), loop_growth_rate(loop)
    tail = "" if _at_rest(loop.plant) else " at this moment"
    tail += f" while {loop.active.words}" if loop.active.words else ""
    if worst > 0.0:
        shown = pole_text(complex(rates[first_largest(rates.real)]))
        return f"unstable{tail}: a mode grows with s = {shown} 1/s"
    if worst == 0.0:
        return f"neutral{tail}: {neutral_count(rates)} of {len(rates)} modes neither grow nor decay"
    return f"stable{tail}: the slowest mode decays with {-worst:.3g} 1/s"


def _verdict(analysis: LinearAnalysis) -> str:
    loop, tail = analysis.loop, "" if _at_rest(analysis.plant) else " at this moment"
    if loop is None:
        worst = growth_rate(analysis.plant.poles())
        text = f"a mode grows with {worst:.3g} 1/s" if worst > 0.0 else "no mode grows"
        return f"no loop; of the plant alone {text}{tail}."
    text = stability_text(loop)
    if loop_growth_rate(loop) > 0.0:
        hidden = [mode for mode in analysis.unreached if mode.grows]
        reason = f" No motor moves the one in {hidden[0].states}." if hidden else ""
        return f"{text}.{reason}"
    if not analysis.margins:
        return f"{text}."
    min_margin = analysis.margins[first_smallest([margin.disk for margin in analysis.margins])]
    if min_margin.disk < NO_MARGIN:
        return f"{text}; motor '{min_margin.motor}' has no margin."
    thin = "thin, " if min_margin.disk < THIN_DISK_MARGIN else ""
    gain = (
        "any gain"
        if math.isinf(min_margin.disk_gain)
        else f"a factor of {min_margin.disk_gain:.3g}"
    )
    return (
        f"{text}; the least disk margin is {thin}{min_margin.disk:.3g} at motor "
        f"'{min_margin.motor}' ({gain}, or {min_margin.disk_phase:.3g} deg)."
    )


def _system(of: LinearPlant | LinearLoop, outputs: Sequence[str]) -> dict[str, Any]:
    names = {"states": of.states, "inputs": of.inputs, "outputs": outputs}
    return {**names, "A": of.A, "B": of.B, "C": of.C}


def _sort_poles(values: NDArray[np.complex128]) -> list[complex]:
    return sorted(values.tolist(), key=lambda z: (-z.real, z.imag))
