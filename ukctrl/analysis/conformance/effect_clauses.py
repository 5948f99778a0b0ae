"""What every effect must do between a robot and its law."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import (
    ClauseViolation,
    Suite,
    require,
    require_array,
    require_equal,
)
from ukctrl.core.arrays import Vector
from ukctrl.robot import Robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.effects import ClockEffect, Effect, InputEffect, PlantEffect, SensorEffect
from ukctrl.simulation.effects.effect import RunContext, effect_rng
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate

TICKS = 6
PERIOD = 0.005
"""Period of the hold under which an effect is tried [s]."""
LABEL = "tried"
"""Label by which its random numbers go."""


class EffectCase(NamedTuple):
    """An effect and the scenario that it is tried on."""

    effect: Effect
    scenario: Scenario

    @property
    def run(self) -> Scenario:
        """The scenario with this effect alone, short and under a hold."""
        return self.scenario.replace(
            {
                "effect": (self.effect,),
                "timing.duration": TICKS * PERIOD,
                "timing.sample": PERIOD,
                "timing.control": PERIOD,
            }
        )

    def run_context(self, robot: Robot) -> RunContext:
        """Return the run that it is attached to."""
        start = self.scenario.start.t
        return RunContext(robot=robot, start=start, duration=TICKS * PERIOD, period=PERIOD)


EFFECT = Suite[EffectCase]("effect")
"""The clauses for effects."""


def _robot_and_start(exposed: EffectCase) -> tuple[Robot, Vector, Vector]:
    loop = Loop(exposed.scenario)
    return loop.robot, loop.state.q, loop.state.v


def _require_kind(exposed: EffectCase) -> Effect:
    """Return the effect, which must act in one of the places that there are."""
    kinds = (PlantEffect, SensorEffect, InputEffect, ClockEffect)
    names = ", ".join(kind.__name__ for kind in kinds)
    require(isinstance(exposed.effect, kinds), f"it must be derived from one of {names}.")
    return exposed.effect


EFFECT.record("An effect", _require_kind)


def _outputs(exposed: EffectCase, seed: int) -> Iterator[tuple[str, Vector]]:
    """Yield what the effect makes of a row of ticks, and check that it changes no argument."""
    effect = exposed.effect
    robot, q, v = _robot_and_start(exposed)
    context, rng = exposed.run_context(robot), effect_rng(seed, LABEL)
    match effect:
        case SensorEffect():
            sensor = effect.attach(context, rng)
            for k in range(TICKS):
                at = (robot.integrate(q, 0.01 * k * np.ones(robot.nv)), v + 0.1 * k)
                old = [array.copy() for array in at]
                q_read, v_read = sensor.read(context.start + k * PERIOD, *at)
                for name, array, original in zip("qv", at, old, strict=True):
                    require_equal(f"'{name}' before and after a reading", array, original)
                yield "the configuration read", np.array(q_read)
                yield "the velocity read", np.array(v_read)
        case InputEffect():
            drive = effect.attach(context, rng)
            for k in range(TICKS):
                u, rate = 3.0 * np.sin(k + np.arange(robot.nu)), 0.1 * k * np.ones(robot.nu)
                old = [u.copy(), rate.copy()]
                applied = drive.apply(context.start + k * PERIOD, u, rate)
                require_equal("'u' before and after", u, old[0])
                require_equal("'rate' before and after", rate, old[1])
                yield "the input applied", np.array(applied)
        case PlantEffect():
            for since in (context.start, *effect.instants()):
                changed = effect.altered(robot, since, effect_rng(seed, LABEL))
                s = changed.snapshot(q, v, since)
                yield "M, row by row,", s.M.ravel().copy()
                yield "nle - f", s.nle - s.f
        case ClockEffect():
            times: Vector = context.start + PERIOD * np.arange(TICKS, dtype=np.float64)
            yield "the ticks", np.array(effect.ticks(times, context, rng))
        case _:
            raise ClauseViolation("it acts in no known place.")


@EFFECT.clause
def answers_in_shape(exposed: EffectCase) -> None:
    """What it gives is finite and of the shape that it was given, and its arguments stay."""
    robot, _, _ = _robot_and_start(exposed)
    sizes = {
        "the configuration read": robot.nq,
        "the velocity read": robot.nv,
        "the input applied": robot.nu,
        "M, row by row,": robot.nv**2,
        "nle - f": robot.nv,
    }
    for label, came in _outputs(exposed, 0):
        if label in sizes:
            require_array(label, came, sizes[label])


@EFFECT.clause
def repeats_with_its_seed(exposed: EffectCase) -> None:
    """The same seed gives the same bits: every controller of a comparison meets the same."""
    for (label, first), (_, second) in zip(_outputs(exposed, 1), _outputs(exposed, 1), strict=True):
        require_equal(f"{label} with one seed", first, second)


@EFFECT.clause
def keeps_the_names(exposed: EffectCase) -> None:
    """A changed robot has the coordinates, velocities and motors of the true one."""
    if not isinstance(exposed.effect, PlantEffect):
        return
    robot, _, _ = _robot_and_start(exposed)
    for at in (exposed.scenario.start.t, *exposed.effect.instants()):
        changed = exposed.effect.altered(robot, at, effect_rng(0, LABEL))
        for field in ("coordinates", "dofs", "actuators"):
            require(
                getattr(changed, field) == getattr(robot, field),
                f"{field} must stay {getattr(robot, field)}; got {getattr(changed, field)}.",
            )


@EFFECT.clause
def keeps_time(exposed: EffectCase) -> None:
    """Ticks increase and begin with the first; instants are finite times."""
    effect = exposed.effect
    if isinstance(effect, PlantEffect):
        instants = np.array(effect.instants(), dtype=np.float64)
        require_array("its instants", instants, len(instants))
    if isinstance(effect, ClockEffect):
        robot, _, _ = _robot_and_start(exposed)
        context = exposed.run_context(robot)
        times: Vector = context.start + PERIOD * np.arange(TICKS, dtype=np.float64)
        ticks = np.asarray(effect.ticks(times.copy(), context, effect_rng(0, LABEL)))
        require(ticks[0] == times[0], f"the first tick must stay {times[0]:g} s; got {ticks[0]:g}.")
        require(bool((np.diff(ticks) > 0.0).all()), f"ticks must increase; got {ticks.tolist()}.")


@EFFECT.clause
def answers_what_an_analysis_asks(exposed: EffectCase) -> None:
    """A sensor says what is linear about it, or that nothing is: its lateness is a finite time."""
    if not isinstance(exposed.effect, SensorEffect):
        return
    robot, _, _ = _robot_and_start(exposed)
    sensor_model = exposed.effect.linear(exposed.run_context(robot))
    late = 0.0 if sensor_model is None else sensor_model.delay
    require(0.0 <= late < np.inf, f"linear must be late by a finite time; got {late:g} s.")


@EFFECT.clause
def runs(exposed: EffectCase) -> None:
    """A short run with it completes, and repeats its bits."""
    first, second = simulate(exposed.run), simulate(exposed.run)
    require(first.status == "completed", f"a short run {first.status}: {first.message}")
    for name in ("q", "v", "u"):
        require_equal(f"'{name}' of two runs", first[name], second[name])
