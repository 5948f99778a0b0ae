"""The closed loop of a scenario: its robots and its law, started, and their right-hand side.

The only place that sees both the true robot and the believed one. It keeps what does not change
while it runs, and the input that a zero-order hold keeps; who steps it is in ``simulation/step``.
"""

from __future__ import annotations

import dataclasses as dc
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from ukctrl.control.command import Command
from ukctrl.control.controller import Law
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import error_context
from ukctrl.mechanics.consistent_state import ConsistentState
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.joint_units import check_joint_units
from ukctrl.simulation.assemble.law_checks import LawChecks
from ukctrl.simulation.assemble.plant_sequence import PlantSequence, stabilisation_gains
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.assemble.right_hand_side import (
    applied_input,
    continuous_system,
    held_system,
)
from ukctrl.simulation.assemble.scenario_robots import believed_robot, true_robot
from ukctrl.simulation.assemble.start_law import planned_start, start_law
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.effects import RunContext
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.events.event_schedule import TIME_RTOL
from ukctrl.simulation.observers import Sensing
from ukctrl.simulation.observers.estimator import Estimator, ObserverSetup
from ukctrl.simulation.scenario import Scenario


def output_times(t0: float, t1: float, interval: float) -> array[float]:
    """Return output times: every interval, and the end."""
    # by rounding one less, or one more: the end is t1 below
    count = math.floor((t1 - t0) / interval)
    times = array("d", (t0 + k * interval for k in range(count + 1)))
    # a rest of a rounding is no interval: the last output moves onto the end instead
    if t1 - times[-1] <= TIME_RTOL * interval:
        times[-1] = t1
    else:
        times.append(t1)
    return times


class Loop:
    """Closed loop of a scenario: plant, believed model, law, and their right-hand side.

    Args:
        scenario: What to run.
        robot: Its robot, where it has been loaded before.
        planning: Called while a motion is worked out before the run, with how far it is and its
            duration [s].
    """

    def __init__(
        self,
        scenario: Scenario,
        robot: Robot | None = None,
        planning: Callable[[float, float], None] | None = None,
    ) -> None:
        self.scenario = scenario
        self.robot = true_robot(scenario.robot) if robot is None else robot
        check_joint_units(scenario, self.robot)
        timing = scenario.timing
        self.t0, self.t1 = scenario.start.t, scenario.start.t + timing.duration
        self.outputs = output_times(self.t0, self.t1, timing.sample)
        self.effects = effects = attach_effects(scenario, self.robot)
        believed = believed_robot(self.robot, scenario.believed)
        rank, gains = (
            scenario.rank,
            stabilisation_gains(scenario.stabilisation, scenario.integrator),
        )
        self.plants = PlantSequence(effects.plants, rank, gains)
        plant = self.plant
        sees = not effects.senses and scenario.observer is None
        plans = plant.contacts is not None and plant.contacts.has_planned_lifts
        # One Dynamics serves plant and law where nothing tells them apart, neither an effect nor an
        # observer nor contacts that the law alone opens: the work of a tick is done once.
        same = believed is self.robot and not effects.acts_on_plant and sees and not plans
        self.believed_model = plant if same else Dynamics(believed, rank, gains)
        with error_context("monitor.frames"):
            self.watched_sites = {name: plant.robot.site(name) for name in scenario.monitor.frames}
        """Frames whose positions are recorded beside those of the rows."""
        # paths are timed on the true robot: by their beliefs, laws of a comparison would have
        # different tasks (decision 0146)
        rows = servo_constraints(scenario, self.robot)
        constraints = (*plant.passive.constraints, *rows)
        q, v, self.start_shift = start_state(
            scenario.start, self.robot, constraints, scenario.seed, scenario.rank
        )
        self.law: Law = start_law(scenario, believed, rows, q, v, planning)
        if scenario.start.planned:
            planned = planned_start(scenario, self.law)
            moved = ConsistentState(*planned, self.robot.difference(q, planned[0]), planned[1] - v)
            q, v, self.start_shift = *planned, moved.correction_sizes(self.robot)
        stack = self.law.stack
        self.shares_rows = stack.constraints is rows and stack.robot is self.robot and sees
        """Whether the law evaluates these very rows on the true robot at its true state."""
        # on the believed robot a wrong model would hide the very errors that it makes
        self.servo = stack if self.shares_rows else Stack(rows, self.robot)
        """Servo rows of the true robot, by which errors are measured."""
        self.estimator = self._estimator(believed, q, v)
        self.law_checks = LawChecks(scenario.controller, self.law, self.robot.nu)
        self.state = IntegratorState(q, v, self.law.memory)
        """The state at the start."""
        self.held_input: Vector = np.zeros(self.robot.nu)
        """The input that a zero-order hold keeps."""
        self.sampled = timing.control is not None
        """Whether the law is asked at ticks, not at every state."""
        jumps = self.law.switches or plant.contacts is not None
        # where velocities jump, samples of power miss energy: integrated then, else a quadrature
        self.integrates_energy = (effects.acts_on_plant or jumps) and not self.sampled
        """Whether the energy fed to the robot is integrated behind the law's memory."""
        self.tick = self.law.tick(self.believed_model)
        """What the law answers, and the kernels that ask it."""
        self.tick.check_command = self._check
        # last, for the systems are built of the held input, the tick and the checks above
        self.plants.make_integrators(scenario, self._system)

    def _estimator(self, believed: Robot, q: Vector, v: Vector) -> Estimator | None:
        """Return what estimates the state for the law, where there is something."""
        scenario = self.scenario
        if scenario.observer is None:
            return None
        sensing, period = scenario.sensing or Sensing(), scenario.timing.control
        setup = ObserverSetup(
            scenario.observer, sensing, scenario.effect, scenario.seed, scenario.rank
        )
        context = RunContext(self.robot, self.t0, scenario.timing.duration, period)
        return Estimator(setup, believed, context, (self.t0, q, v))

    def _system(self, plant: Dynamics) -> OdeSystem:
        """Return the loop around a plant."""
        if self.sampled:
            return held_system(plant, *applied_input(self.effects, plant.snapshot, self.held_input))
        return continuous_system(
            plant,
            self.believed_model,
            self.tick,
            self.effects,
            self.law_checks,
            metered=self.integrates_energy,
        )

    @property
    def raises_without_grip(self) -> bool:
        """Whether the law raises where the motors do not move all rows; else it gives way."""
        controller = self.scenario.controller
        if controller.row_allocation is None:
            return controller.needs_grip
        return controller.row_allocation.behaviour(self.law.task).raises_if_infeasible

    def start_is_solvable(self) -> bool:
        """Return whether ``start.solve`` would move this start, left as given, onto all rows."""
        scenario = self.scenario
        constraints = (*self.plant.passive.constraints, *self.servo.constraints)
        if scenario.start.solve:
            return False
        try:
            start = dc.replace(scenario.start, solve=True)
            start_state(start, self.robot, constraints, scenario.seed, scenario.rank)
        except InputError:
            return False
        return True

    @property
    def plant(self) -> Dynamics:
        """The true robot as it is now: a run that changes it goes from one to the next."""
        return self.plants.dynamics

    @cached_property
    def tick_times(self) -> Sequence[float]:
        """When the law ticks, as effects on the clock have it; never under continuous control."""
        period = self.scenario.timing.control
        if period is None:
            return ()
        # no tick at the end of the run: its input would act for no time
        planned = output_times(self.t0, self.t1, period)[:-1]
        return self.effects.ticks(planned, self.t1 - TIME_RTOL * period)

    def _check(self, command: Command) -> None:
        """Check what a law of Python answers where the loop asks it."""
        s = self.believed_model.snapshot
        self.law_checks.check(s.t, s.q, s.v, command)

    def rates(self, t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the acceleration and the memory's rate: the right-hand side of the loop."""
        a, rate = self.plants.integrator.system.rates(t, q, v, memory)
        # the arrays are those of the integrator, and written again at its next stage
        return a.copy(), rate.copy()

    def plant_at(self, t: float) -> Dynamics:
        """Return the true robot of a time, as the effects on it have it then."""
        return self.plants.at(t)

    def set_contact_modes(self, states: Mapping[str, Vector]) -> None:
        """Let contacts do what those of these names do elsewhere: the true ones, and those that the
        law believes in but where it plans to lift them.
        """
        contacts, keeper = self.plant.contacts, self.law.keeper
        if contacts is None or not states:
            return
        contacts.copy_modes(states)
        for robot in (
            self.believed_model,
            *(keeper.predicted_robots if keeper is not None else ()),
        ):
            # a believed model that is the plant has these very contacts, which are set by now
            if robot.contacts not in (None, contacts):
                robot.contacts.copy_modes(contacts.modes)

    def command(self, t: float, q: Vector, v: Vector, memory: Vector) -> Command:
        """Step the law at a measured state; the true robot must have been moved to the true one."""
        if self.believed_model is not self.plant:
            self.believed_model.move(t, q, v)
        return self.law.step(self.believed_model, memory)


def attach_effects(scenario: Scenario, robot: Robot) -> AttachedEffects:
    """Return the effects of a scenario, attached to its true robot."""
    timing = scenario.timing
    context = RunContext(robot, scenario.start.t, timing.duration, timing.control)
    return AttachedEffects(scenario.effect, context, scenario.seed)
