"""The closed loop: a scenario's robots and law made ready, its right-hand side, its limits.

The only place that sees both the true robot and the believed one.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ukctrl.control.command import Command
from ukctrl.control.controller import Law
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.consistent_state import ConsistentState
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.law_checks import LawChecks
from ukctrl.simulation.assemble.plant_sequence import PlantSequence, stabilisation_gains
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.assemble.right_hand_side import (
    MeasuredState,
    acceleration_steps,
    accepted_input,
    advance_memory,
    applied_input,
    command_steps,
    continuous_system,
    copy_leading,
    copy_state,
    held_system,
)
from ukctrl.simulation.assemble.scenario_robots import believed_robot, true_robot
from ukctrl.simulation.assemble.start_law import planned_start, start_law
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.effects import RunContext
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.effects.effect_recorder import EffectSample
from ukctrl.simulation.events.contact_events import ContactEvents
from ukctrl.simulation.events.event_schedule import TIME_RTOL
from ukctrl.simulation.events.input_delay import InputDelayLine
from ukctrl.simulation.observers import Sensing
from ukctrl.simulation.observers.estimator import Estimator, ObserverSetup
from ukctrl.simulation.record.recorder import Recorder, SampleSource
from ukctrl.simulation.record.sample_kernels import increment
from ukctrl.simulation.scenario import Scenario


@compiled
def is_positive(margin: Vector) -> bool:
    """Return whether a law stays in its mode."""
    return bool(margin[0] > 0.0)


def output_times(t0: float, t1: float, interval: float) -> array[float]:
    """Return output times: every interval, and the end."""
    count = math.floor((t1 - t0) / interval)  # by rounding one less, or one more: the end is t1
    times = array("d", (t0 + k * interval for k in range(count + 1)))
    if t1 - times[-1] <= 1e-9 * interval:
        times[-1] = t1
    else:
        times.append(t1)
    return times


class Loop:
    """A scenario, made ready to run.

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
        timing = scenario.timing
        self.t0, self.t1 = scenario.start.t, scenario.start.t + timing.duration
        self.effects = effects = self._attach_effects(scenario)
        believed = believed_robot(self.robot, scenario.believed)
        rank, gains = (
            scenario.rank,
            stabilisation_gains(scenario.stabilisation, scenario.integrator),
        )
        self._plants = PlantSequence(effects.plants, rank, gains)
        self.plant = self._plants.dynamics
        sees = not effects.senses and scenario.observer is None
        plans = self.plant.contacts is not None and self.plant.contacts.has_planned_lifts
        # one Dynamics serves plant and law where nothing tells them apart: a tick's work is done
        # once
        same = believed is self.robot and not effects.acts_on_plant and sees and not plans
        self.believed_model = self.plant if same else Dynamics(believed, rank, gains)
        rows = servo_constraints(scenario, self.robot)
        servo = Stack(rows, self.robot)
        constraints = (*self.plant.passive.constraints, *rows)
        q, v, self.start_shift = start_state(
            scenario.start, self.robot, constraints, scenario.seed, scenario.rank
        )
        self.law: Law = start_law(scenario, believed, rows, q, v, planning)
        if scenario.start.planned:
            planned = planned_start(scenario, self.law)
            moved = ConsistentState(*planned, self.robot.difference(q, planned[0]), planned[1] - v)
            q, v, self.start_shift = *planned, moved.correction_sizes(self.robot)
        self.estimator = self._estimator(believed, q, v)
        self._law_checks = LawChecks(scenario.controller, self.law, self.robot.nu)
        self.state = IntegratorState(q, v, self.law.memory)
        self.outputs = output_times(self.t0, self.t1, timing.sample)
        self.recorder = Recorder(
            self.plant,
            servo,
            self.law,
            len(self.outputs),
            scenario.monitor,
            effects,
            self.believed_model,
            self.estimator,
        )
        self.switches: list[float] = []
        """When the law switched [s]."""
        self.held_input: Vector = np.zeros(self.robot.nu)
        """The input that a zero-order hold keeps."""
        self._sampled = timing.control is not None
        self._without_drives = not effects.drives
        jumps = self.law.switches or self.plant.contacts is not None
        # where velocities jump, samples of power miss energy: integrated then, else a quadrature
        self._integrates_energy = (effects.acts_on_plant or jumps) and not self._sampled
        """Whether the energy fed to the robot is integrated behind the law's memory."""
        self.measured_state = MeasuredState(np.full(1, self.t0), q.copy(), v.copy())
        self.memory: Vector = np.array(self.law.memory, dtype=np.float64)
        """The law's memory at its last tick, where it is sampled."""
        self.tick_count = np.zeros(1, dtype=np.int64)
        """How often it has ticked."""
        self.contacts: ContactEvents | None = None
        """What becomes of contacts that only push; None where there are none."""
        if self.plant.contacts is not None:
            predictions = self.law.keeper.predicted_robots if self.law.keeper is not None else ()
            models = {
                id(dynamics.contacts): dynamics.contacts
                for dynamics in (self.believed_model, *predictions)
            }
            led = [model for model in models.values() if model not in (None, self.plant.contacts)]
            self.contacts = ContactEvents([model for model in led if model is not None])
        self._input_delay = self._late_inputs()
        self.arrival_step = self._input_delay.arrive(self.held_input)
        """Lets the next delayed input act."""
        self.tick = self.law.tick(self.believed_model)
        self.tick.check_command = self._check
        self._plants.make_integrators(scenario, self._system)

    def _attach_effects(self, scenario: Scenario) -> AttachedEffects:
        bench = RunContext(self.robot, self.t0, scenario.timing.duration, scenario.timing.control)
        return AttachedEffects(scenario.effect, bench, scenario.seed)

    def _estimator(self, believed: Robot, q: Vector, v: Vector) -> Estimator | None:
        """Return what estimates the state for the law, where there is something."""
        scenario = self.scenario
        if scenario.observer is None:
            return None
        sensing, period = scenario.sensing or Sensing(), scenario.timing.control
        setup = ObserverSetup(
            scenario.observer, sensing, scenario.effect, scenario.seed, scenario.rank
        )
        bench = RunContext(self.robot, self.t0, scenario.timing.duration, period)
        return Estimator(setup, believed, bench, (self.t0, q, v))

    def _system(self, plant: Dynamics) -> OdeSystem:
        """Return the loop around a plant."""
        if self._sampled:
            return held_system(plant, *applied_input(self.effects, plant.snapshot, self.held_input))
        return continuous_system(
            plant,
            self.believed_model,
            self.tick,
            self.effects,
            self._law_checks,
            metered=self._integrates_energy,
        )

    def sample_steps(self, plant: Dynamics, system: OdeSystem, *, tells: bool) -> KernelSequence:
        """Return what keeps a sample at the state in the port of the loop around a plant.

        Args:
            plant: The true robot.
            system: The loop around it.
            tells: Whether law or effects have something to tell beside.
        """
        s, b, tick = plant.snapshot, self.believed_model.snapshot, self.tick
        u, drives = applied_input(self.effects, s, self.held_input if self._sampled else tick.u)
        asked_at, a, first = s.clock, system.arrays.a, [*system.steps.items, *drives]
        if not system.steps.contains_all(plant.motor_steps):
            first += plant.motor_steps.items
        measured = MeasuredState(b.clock, b.q, b.v)
        if self._sampled:
            measured, a = self.measured_state, np.zeros(plant.robot.nv)
            asked_at = measured.clock
            first = [*acceleration_steps(plant, u, a, drives)]
            if tells and self.believed_model is not plant:
                is_measured = self.effects.senses or self.estimator is not None
                q, v = (measured.q, measured.v) if is_measured else (s.q, s.v)
                first += [
                    BoundKernel(copy_state, s.clock, q, v, b.clock, b.q, b.v),
                    *self.believed_model.steps.items,
                ]
        energy = system.arrays.memory[-1:] if self._sampled or self._integrates_energy else None
        read = (measured.q, measured.v) if self.estimator is None else self.estimator.measured
        effect_sample = EffectSample(*read, tick.u, self._plants.start_time)
        source = SampleSource(plant, a, u, asked_at, energy, effect_sample, tells)
        return KernelSequence((*first, *self.recorder.steps(source)))

    def tick_steps(self, plant: Dynamics) -> KernelSequence:
        """Return what happens at a tick of a sampled law, at the state in the plant's snapshot."""
        s, b, measurement, memory = (
            plant.snapshot,
            self.believed_model.snapshot,
            self.measured_state,
            self.memory,
        )
        effects, tick = self.effects, self.tick
        q, v, sensors = effects.sensor_steps(s.clock, s.q, s.v)
        if self.estimator is not None:
            u, a, felt = self.held_input, np.zeros(plant.robot.nv), tuple[KernelStep, ...]()
            if self.estimator.measures_acceleration:
                acting, drives = applied_input(effects, s, u)
                felt = tuple(acceleration_steps(plant, acting, a, drives))
            q, v, estimates = self.estimator.reading(s.clock, (s.q, s.v, a), q, v, u)
            sensors = (*sensors, *felt, *estimates)
        steps: list[KernelStep] = [
            BoundKernel(increment, self.tick_count),
            BoundKernel(advance_memory, s.clock, measurement.clock, memory, tick.memory_rate),
            *sensors,
            BoundKernel(copy_state, s.clock, q, v, *measurement),
        ]
        if self.law.switches:
            margin = np.ones(1)
            guard = KernelSequence(self.law.guard_steps(self.believed_model, memory, margin))
            steps += [
                BoundKernel(copy_state, *measurement, b.clock, b.q, b.v),
                *self.believed_model.steps_for(guard),
                *guard.items,
                BoundKernel(is_positive, margin, fault=lambda code: self._switch_law()),
            ]
        steps.append(BoundKernel(copy_leading, memory, tick.memory))
        if self.believed_model is plant or not self._without_drives:
            steps += plant.steps_for(tick.steps)
        if self.believed_model is not plant:
            copy_step = BoundKernel(copy_state, *measurement, b.clock, b.q, b.v)
            steps += [copy_step, *self.believed_model.steps_for(tick.steps)]
        steps += command_steps(tick, b, self._law_checks)
        u, drives = accepted_input(effects, s, tick.u)
        last = (
            self._input_delay.send(u)
            if effects.delay
            else BoundKernel(copy_leading, u, self.held_input)
        )
        return KernelSequence((*steps, *drives, last))

    @cached_property
    def tick_times(self) -> Sequence[float]:
        """When the law ticks, as effects on the clock have it; never under continuous control."""
        period = self.scenario.timing.control
        if period is None:
            return ()
        planned = output_times(self.t0, self.t1, period)[:-1]
        return self.effects.ticks(planned, self.t1 - TIME_RTOL * period)

    def _late_inputs(self) -> InputDelayLine:
        """Return room for the inputs that a delay keeps back."""
        delay, period = self.effects.delay, self.scenario.timing.control or 0.0
        return InputDelayLine(
            delay, TIME_RTOL * period, self.tick_times if delay else (), self.robot.nu
        )

    def _switch_law(self) -> None:
        """Let the law switch where it must, at a tick."""
        measurement, belief = self.measured_state, self.believed_model
        belief.move(float(measurement.clock[0]), measurement.q, measurement.v)
        memory = self.law.settled(belief, self.memory)
        if memory is not self.memory:
            self.switches.append(float(measurement.clock[0]))
            self.memory[:] = memory

    def _check(self, command: Command) -> None:
        """Check what a law of Python answers where the loop asks it."""
        s = self.believed_model.snapshot
        self._law_checks.check(s.t, s.q, s.v, command)

    def rates(self, t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the acceleration and the memory's rate: the right-hand side of the loop."""
        a, rate = self._plants.integrator.system.rates(t, q, v, memory)
        return a.copy(), rate.copy()

    def step_halving(self) -> dict[str, Any]:
        """Return what halved steps say of a fixed one, where there is one."""
        share = self._plants.step_halving()
        if share is None:
            return {}
        return {"step_halving": {"share": share, "method": self.scenario.integrator.method}}

    def plant_at(self, t: float) -> Dynamics:
        """Return the true robot of a time, as the effects on it have it then."""
        return self._plants.at(t)

    def plan_lifts(self) -> None:
        """Let the true robot's contacts be open where the law plans to lift them; for looks before
        the run.
        """
        self._plants.plan_lifts()

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
            if robot.contacts not in (None, contacts):
                robot.contacts.copy_modes(contacts.modes)

    def command(self, t: float, q: Vector, v: Vector, memory: Vector) -> Command:
        """Step the law at a measured state; the true robot must have been moved to the true one."""
        if self.believed_model is not self.plant:
            self.believed_model.move(t, q, v)
        return self.law.step(self.believed_model, memory)

    def _guard(self, t: float, state: IntegratorState) -> float:
        """Return the law's guard at a state."""
        q, v, memory = state
        if self.effects.senses and not self._sampled:
            q, v = self.effects.sense(t, q, v)
        self.believed_model.move(t, q, v)
        return self.law.guard(self.believed_model, memory[: len(self.law.memory)])
