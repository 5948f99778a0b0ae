"""The plant of a scenario as a step: an input is held, and the state is the one a period later."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.mechanics.integrate.fixed_step_integrator import FixedStepIntegrator
from ukctrl.mechanics.integrate.fixed_step_kernels import FixedStepper, fixed_steps, is_bounded
from ukctrl.mechanics.integrate.integrator import IntegrationFailed
from ukctrl.mechanics.integrate.interval_kernels import STEP_RTOL
from ukctrl.mechanics.integrate.ode_system import System
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.effects.effect import ClockEffect, InputEffect, kind_of
from ukctrl.simulation.export.exported_step import ExportedStep, Port
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario

OFF_GRID, DIVERGED = -3, -4
"""What kernels return of a time or an input that is not taken, and of a speed without bound."""
GRID_RTOL = 1e-6
"""A step begins at a multiple of the period, to this part of it."""


class StepGrid(NamedTuple):
    """When steps begin: ``begin + n_done period``, as the ticks of a run."""

    begin: float
    """[s]"""
    period: float
    """[s]"""
    n_done: Vector
    """Steps behind, shape ``(1,)``."""


class SteppedState(NamedTuple):
    """The state between steps; the memory is the energy that was fed."""

    q: Vector
    v: Vector
    memory: Vector


@compiled
def take_input(grid: StepGrid, held: Vector, t: float, u: Vector) -> int:
    """Hold an input; return 0, or `OFF_GRID` where it or its time is not the next one."""
    start = grid.begin + grid.n_done[0] * grid.period
    zero = 0.0  # but NaN where an entry is not finite
    for k in range(len(held)):
        held[k] = u[k]
        zero += 0.0 * u[k]
    return 0 if zero == 0.0 and abs(t - start) <= GRID_RTOL * grid.period else OFF_GRID


@compiled
def advance_plant(port: System, fixed: FixedStepper, grid: StepGrid, state: SteppedState) -> int:
    """Overwrite a state by that a period later, in steps as a run takes them."""
    # times as a run has them, so that bits are equal: not what a caller's clock has added up
    start, stop = (
        grid.begin + grid.n_done[0] * grid.period,
        grid.begin + (grid.n_done[0] + 1.0) * grid.period,
    )
    count = max(1, int(-((-(stop - start) / fixed.max_step + STEP_RTOL) // 1.0)))
    copy_into(state.q, fixed.q)
    copy_into(state.v, fixed.v)
    copy_into(state.memory, fixed.memory)
    done = fixed_steps(port, fixed, start, (stop - start) / count, count)
    if done < 0:
        return done
    if done < count or not is_bounded(fixed.q, fixed.v, fixed.memory):
        return DIVERGED
    # last: a step that fails leaves the state as it was
    copy_into(fixed.q, state.q)
    copy_into(fixed.v, state.v)
    copy_into(fixed.memory, state.memory)
    grid.n_done[0] += 1.0
    return 0


def plant_step(scenario: Scenario) -> ExportedStep:
    """Return the step of a scenario's true robot, at its start.

    Its inputs are those of the motors, before what the scenario's effects make of them; friction,
    closures and forces that depend on time are part of it.

    Raises:
        InputError: The loop is not sampled; the integrator has no fixed step; the robot changes, or
            has contacts that open; or an effect acts at the ticks.
    """
    period, chosen = scenario.timing.control, scenario.integrator
    if period is None:
        raise InputError(
            "a plant is handed over with the period of its steps; give timing.control."
        )
    if chosen.step is None:
        raise InputError(
            "a plant is handed over with steps of a fixed length; set integrator.method = 'RK4' "
            "and integrator.step, such as a tenth of the control period."
        )
    loop = Loop(scenario)
    plant, effects, robot = loop.plant, loop.effects, loop.robot
    if plant.contacts is not None:
        raise InputError(
            f"contacts {quoted(plant.contacts.names)} open and close, which Python decides; a "
            "plant that is handed over has none with mu."
        )
    if loop.plants.change_times:
        raise InputError(
            f"the robot changes at t = {loop.plants.change_times[0]:g} s; leave the effect that "
            "does it out of a plant that is handed over."
        )
    _, at_ticks = effects.tick_drives(plant.snapshot.clock, loop.held_input, np.zeros(robot.nu))
    if at_ticks or effects.delay > 0.0:
        of_inputs = InputEffect, ClockEffect
        kinds = tuple(kind_of(one) for one in scenario.effect if isinstance(one, of_inputs))
        raise InputError(
            f"an effect on the inputs acts at the ticks ({quoted(kinds)}); that is part of the "
            "loop, and not of the plant: leave it out."
        )
    integrator = loop.plants.integrator
    assert isinstance(integrator, FixedStepIntegrator)
    grid = StepGrid(loop.t0, period, np.zeros(1))
    state = SteppedState(loop.state.q.copy(), loop.state.v.copy(), np.zeros(1))
    step = BoundKernel(
        advance_plant,
        integrator.system.arrays,
        integrator.without_estimates,
        grid,
        state,
        fault=lambda code: IntegrationFailed("the motion has no bound, or no acceleration."),
    )
    structure, actuation = robot.structure, robot.actuation
    return ExportedStep(
        "plant",
        KernelSequence((step,)),
        take_input,
        (grid, loop.held_input),
        (
            Port("u", "inputs that are held", robot.actuators, actuation.units, loop.held_input,
                 np.zeros(robot.nu)),
        ),
        (
            Port("q", "configuration at the end of the step", robot.coordinates,
                 structure.coordinate_units, state.q, state.q.copy()),
            Port("v", "velocity then", robot.dofs, structure.dof_units, state.v, state.v.copy()),
        ),
        "u is not finite, or t is not the end of the last step",
    )  # fmt: skip


def plant_rows(result: Result) -> Matrix:
    """Return the steps of a run, a row each: time, input, and the state at the end of the step.

    The last is left out: its end is that of the run, which need not be a multiple of the period.
    """
    applied = "u_commanded" if "u_commanded" in result else "u"
    starts = slice(0, max(len(result.time) - 2, 0))
    ends = slice(1, 1 + starts.stop)
    return np.column_stack(
        [result.time[starts], result[applied][starts], result["q"][ends], result["v"][ends]]
    )
