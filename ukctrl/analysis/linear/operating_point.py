"""Where a scenario is looked at: its start, a moment of its run, or any state."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Literal, final

from ukctrl.core.arguments import argument_error
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.linearise import equilibrium
from ukctrl.robot import Robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.loop import output_times
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.effects import RunContext
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.step.simulation_run import SimulationRun

At = Literal["start"] | float
"""``"start"``, or a time of the run [s]."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class OperatingPoint:
    """A state and an input."""

    t: float
    """Time [s]."""
    q: Vector
    """Configuration, shape ``(nq,)``."""
    v: Vector
    """Velocity, shape ``(nv,)``."""
    u: Vector
    """Input, shape ``(nu,)``."""
    memory: Vector | None = None
    """Memory of the law; None: the one it starts with."""
    source: str = "as given"
    """Where state and input come from, in words."""
    contacts: Mapping[str, Vector] = dc.field(default_factory=dict)
    """What each contact that only pushes does, see `ContactArrays.mode`; absent: it stands, unless
    the law plans to lift it then."""


def plant_at(scenario: Scenario, t: float) -> Robot:
    """Return the true robot of a scenario with the effects that act on it at a time [s]."""
    timing, t0 = scenario.timing, scenario.start.t
    context = RunContext(true_robot(scenario.robot), t0, timing.duration, timing.control)
    plants = AttachedEffects(scenario.effect, context, scenario.seed).plants
    return [plant.robot for plant in plants if plant.start <= max(t, t0)][-1]


def operating_point(
    scenario: Scenario, at: At = "start", *, ready: Loop | None = None
) -> OperatingPoint:
    """Return a state of a scenario's run, with the input there.

    At the start it is the input that holds the robot where it rests and can be held, else the
    controller's first; where the controller has none, the one that leaves least acceleration.

    Args:
        scenario: The scenario.
        at: ``"start"``, or a time, up to which the scenario is run [s].
        ready: The scenario ready to run, where it has been made so already.

    Raises:
        InputError: The scenario does not fit its robot, or the run ends before that time.
    """
    if isinstance(at, bool | str | None) and at != "start":
        raise argument_error("at", "'start', a time [s], or an OperatingPoint", at)
    return _start_point(scenario, ready) if isinstance(at, str) else _run_point(scenario, at)


def _start_point(scenario: Scenario, ready: Loop | None) -> OperatingPoint:
    t = scenario.start.t
    robot = plant_at(scenario, t)
    passive = passive_constraints(robot)
    q, v, _ = start_state(
        scenario.start,
        robot,
        (*passive, *servo_constraints(scenario)),
        scenario.seed,
        scenario.rank,
    )
    if passive:
        q, v, *_ = consistent_state(Stack(passive, robot), q, v, t, rank=scenario.rank)
    # Held at rest where some input can, else the first command, else least acceleration.
    if not v.any():
        try:
            u = equilibrium(robot, q, t)
            return OperatingPoint(t=t, q=q, v=v, u=u, source="the start, held at rest")
        except InputError:
            pass
    try:
        loop = ready or Loop(scenario)
        loop.plant.move(t, q, v)
        u = loop.command(t, *loop.effects.sense(t, q, v), loop.state.memory).u.copy()
        s = loop.plant.snapshot
        rate = s.v @ s.B
        u = loop.effects.apply_continuous_drives(
            t, loop.effects.apply_tick_drives(t, u, rate), rate
        )
        return OperatingPoint(t=t, q=q, v=v, u=u, source="the start, with the first input")
    except (UkctrlError, ArithmeticError):
        source = "the start, with the input that leaves least acceleration"
        return OperatingPoint(
            t=t, q=q, v=v, u=_least_acceleration_input(robot, t, q, v), source=source
        )


def _least_acceleration_input(robot: Robot, t: float, q: Vector, v: Vector) -> Vector:
    dynamics = Dynamics(robot)
    dynamics.move(t, q, v)
    return dynamics.least_input(0.0 * v)


def _run_point(scenario: Scenario, t: float) -> OperatingPoint:
    """Run up to a time and look."""
    begin, end = scenario.start.t, scenario.start.t + scenario.timing.duration
    if not begin < t <= end:
        raise InputError(
            f"the time to look at must be within the run, above {begin:g} s and at most {end:g} s; "
            f"got {t:g} s."
        )
    loop = Loop(scenario)
    loop.t1, loop.outputs = t, output_times(begin, t, scenario.timing.sample)
    run = SimulationRun(loop, Recorder(loop))
    run.allocate()
    status, message = run.run(lambda reached, duration: None)
    if status != "completed":
        raise InputError(
            f"the run must reach t = {t:g} s to be looked at there; it ended as '{status}': "
            f"{message}"
        )
    recorder, contact_set = run.recorder, loop.plant.contacts
    contacts = (
        {}
        if contact_set is None
        else dict(zip(contact_set.names, contact_set.mode.copy(), strict=True))
    )
    q, v, u = (recorder.last(name).copy() for name in ("q", "v", "u"))
    return OperatingPoint(
        t=t,
        q=q,
        v=v,
        u=u,
        memory=recorder.memory.copy(),
        source=f"the run at t = {t:g} s",
        contacts=contacts,
    )
