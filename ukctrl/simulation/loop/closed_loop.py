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

from ukctrl.control.controller import Law
from ukctrl.control.tick import Command
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import Call, Step, Steps
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.system import State, System
from ukctrl.mechanics.linearise.plant_slopes import has_slopes
from ukctrl.mechanics.start import Start
from ukctrl.robot import Robot
from ukctrl.simulation.effects import Bench
from ukctrl.simulation.effects.bound import Conditions
from ukctrl.simulation.effects.records import MeasuredAndCommanded
from ukctrl.simulation.loop.contact_events import ContactEvents
from ukctrl.simulation.loop.late_inputs import LateInputs
from ukctrl.simulation.loop.law_checks import Answers
from ukctrl.simulation.loop.law_start import start_of, started_law
from ukctrl.simulation.loop.plants_over_time import Plants, passive_gains
from ukctrl.simulation.loop.rate_slopes import commanded_slopes, held_slopes
from ukctrl.simulation.loop.rates import (
    Seen,
    accepted,
    advance_memory,
    answer,
    applied,
    asked,
    commanded,
    copy_common,
    held,
    same_state,
)
from ukctrl.simulation.loop.recorder import Recorder, Taken
from ukctrl.simulation.loop.sample_kernels import count_up
from ukctrl.simulation.loop.scenario_robots import believed_robot, true_robot
from ukctrl.simulation.loop.spans import SAME
from ukctrl.simulation.loop.start_state import start_state
from ukctrl.simulation.loop.timed_rows import timed_servo
from ukctrl.simulation.observers import Sensing
from ukctrl.simulation.observers.estimator import Estimator, Given
from ukctrl.simulation.scenario import Scenario


@compiled
def is_positive(margin: Vector) -> bool:
    """Return whether a law stays in its mode."""
    return bool(margin[0] > 0.0)


def grid(t0: float, t1: float, interval: float) -> array[float]:
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
        self.conditions = met = self._met(scenario)
        believed = believed_robot(self.robot, scenario.believed)
        rank, gains = scenario.rank, passive_gains(scenario.stabilisation, scenario.integrator)
        self._plants = Plants(met.plants, rank, gains)
        self.truth = self._plants.dynamics
        sees = not met.senses and scenario.observer is None
        plans = self.truth.contacts is not None and self.truth.contacts.planned
        same = believed is self.robot and not met.acts_on_plant and sees and not plans
        self.belief = self.truth if same else Dynamics(believed, rank, gains)
        rows = timed_servo(scenario, self.robot)
        servo = Stack(rows, self.robot)
        every = (*self.truth.passive.constraints, *rows)
        q, v, self.moved = start_state(
            scenario.start, self.robot, every, scenario.seed, scenario.rank
        )
        self.law: Law = started_law(scenario, believed, q, v, planning)
        if scenario.start.planned:
            planned = start_of(scenario, self.law)
            moved = Start(*planned, self.robot.difference(q, planned[0]), planned[1] - v)
            q, v, self.moved = *planned, moved.moved(self.robot)
        self.estimator = self._estimator(believed, q, v)
        self._answers = Answers(scenario.controller, self.law, self.robot.nu)
        self.state = State(q, v, self.law.memory)
        self.outputs = grid(self.t0, self.t1, timing.sample)
        self.recorder = Recorder(
            self.truth,
            servo,
            self.law,
            len(self.outputs),
            scenario.monitor,
            met,
            self.belief,
            self.estimator,
        )
        self.switches: list[float] = []
        """When the law switched [s]."""
        self.held: Vector = np.zeros(self.robot.nu)
        """The input that a zero-order hold keeps."""
        self._sampled = timing.control is not None
        self._direct = not met.drives
        jumps = self.law.switches or self.truth.contacts is not None
        self._metered = (met.acts_on_plant or jumps) and not self._sampled
        """Whether the energy fed to the robot is integrated behind the law's memory."""
        self.seen = Seen(np.full(1, self.t0), q.copy(), v.copy())
        self.memory: Vector = np.array(self.law.memory, dtype=np.float64)
        """The law's memory at its last tick, where it is sampled."""
        self.ticked = np.zeros(1, dtype=np.int64)
        """How often it has ticked."""
        self.contacts: ContactEvents | None = None
        """What becomes of contacts that only push; None where there are none."""
        if self.truth.contacts is not None:
            ahead = self.law.keeper.robots if self.law.keeper is not None else ()
            others = {id(each.contacts): each.contacts for each in (self.belief, *ahead)}
            led = [own for own in others.values() if own not in (None, self.truth.contacts)]
            self.contacts = ContactEvents([own for own in led if own is not None])
        self._late = self._late_inputs()
        self.arrive = self._late.arrive(self.held)
        """Lets the next delayed input act."""
        self.tick = self.law.tick(self.belief)
        self.tick.check = self._check
        self._plants.integrated_by(scenario, self._system, self.rate_slopes)

    def _met(self, scenario: Scenario) -> Conditions:
        bench = Bench(self.robot, self.t0, scenario.timing.duration, scenario.timing.control)
        return Conditions(scenario.effect, bench, scenario.seed)

    def _estimator(self, believed: Robot, q: Vector, v: Vector) -> Estimator | None:
        """Return what estimates the state for the law, where there is something."""
        scenario = self.scenario
        if scenario.observer is None:
            return None
        sensing, period = scenario.sensing or Sensing(), scenario.timing.control
        given = Given(scenario.observer, sensing, scenario.effect, scenario.seed, scenario.rank)
        bench = Bench(self.robot, self.t0, scenario.timing.duration, period)
        return Estimator(given, believed, bench, (self.t0, q, v))

    def _system(self, plant: Dynamics) -> System:
        """Return the loop around a plant."""
        if self._sampled:
            return held(plant, *applied(self.conditions, plant.snapshot, self.held))
        return commanded(
            plant, self.belief, self.tick, self.conditions, self._answers, metered=self._metered
        )

    def sampling(self, plant: Dynamics, system: System, *, tells: bool) -> Steps:
        """Return what keeps a sample at the state in the port of the loop around a plant.

        Args:
            plant: The true robot.
            system: The loop around it.
            tells: Whether law or effects have something to tell beside.
        """
        s, b, tick = plant.snapshot, self.belief.snapshot, self.tick
        u, drives = applied(self.conditions, s, self.held if self._sampled else tick.u)
        asked_at, a, first = s.clock, system.port.a, [*system.steps.every, *drives]
        if not system.steps.run_all_of(plant.motor_steps):
            first += plant.motor_steps.every
        measured = Seen(b.clock, b.q, b.v)
        if self._sampled:
            measured, a = self.seen, np.zeros(plant.robot.nv)
            asked_at = measured.clock
            first = [*answer(plant, u, a, drives)]
            if tells and self.belief is not plant:
                other = self.conditions.senses or self.estimator is not None
                q, v = (measured.q, measured.v) if other else (s.q, s.v)
                first += [
                    Call(same_state, s.clock, q, v, b.clock, b.q, b.v),
                    *self.belief.steps.every,
                ]
        energy = system.port.memory[-1:] if self._sampled or self._metered else None
        read = (measured.q, measured.v) if self.estimator is None else self.estimator.measured
        met = MeasuredAndCommanded(*read, tick.u, self._plants.since)
        taken = Taken(plant, a, u, asked_at, energy, met, tells)
        return Steps((*first, *self.recorder.steps(taken)))

    def ticking(self, plant: Dynamics) -> Steps:
        """Return what happens at a tick of a sampled law, at the state in the plant's snapshot."""
        s, b, seen, memory = plant.snapshot, self.belief.snapshot, self.seen, self.memory
        met, tick = self.conditions, self.tick
        q, v, sensors = met.sensing(s.clock, s.q, s.v)
        if self.estimator is not None:
            u, a, felt = self.held, np.zeros(plant.robot.nv), tuple[Step, ...]()
            if self.estimator.feels:
                acting, drives = applied(met, s, u)
                felt = tuple(answer(plant, acting, a, drives))
            q, v, estimates = self.estimator.reading(s.clock, (s.q, s.v, a), q, v, u)
            sensors = (*sensors, *felt, *estimates)
        steps: list[Step] = [
            Call(count_up, self.ticked),
            Call(advance_memory, s.clock, seen.clock, memory, tick.memory_rate),
            *sensors,
            Call(same_state, s.clock, q, v, *seen),
        ]
        if self.law.switches:
            margin = np.ones(1)
            guard = Steps(self.law.guard_steps(self.belief, memory, margin))
            steps += [
                Call(same_state, *seen, b.clock, b.q, b.v),
                *self.belief.steps_for(guard),
                *guard.every,
                Call(is_positive, margin, fault=lambda code: self._settle()),
            ]
        steps.append(Call(copy_common, memory, tick.memory))
        if self.belief is plant or not self._direct:
            steps += plant.steps_for(tick.steps)
        if self.belief is not plant:
            place = Call(same_state, *seen, b.clock, b.q, b.v)
            steps += [place, *self.belief.steps_for(tick.steps)]
        steps += asked(tick, b, self._answers)
        u, drives = accepted(met, s, tick.u)
        last = self._late.send(u) if met.delay else Call(copy_common, u, self.held)
        return Steps((*steps, *drives, last))

    @cached_property
    def due(self) -> Sequence[float]:
        """When the law ticks, as effects on the clock have it; never under continuous control."""
        period = self.scenario.timing.control
        if period is None:
            return ()
        planned = grid(self.t0, self.t1, period)[:-1]
        return self.conditions.ticks(planned, self.t1 - SAME * period)

    def _late_inputs(self) -> LateInputs:
        """Return room for the inputs that a delay keeps back."""
        delay, period = self.conditions.delay, self.scenario.timing.control or 0.0
        return LateInputs(delay, SAME * period, self.due if delay else (), self.robot.nu)

    def _settle(self) -> None:
        """Let the law switch where it must, at a tick."""
        seen, belief = self.seen, self.belief
        belief.move(float(seen.clock[0]), seen.q, seen.v)
        memory = self.law.settled(belief, self.memory)
        if memory is not self.memory:
            self.switches.append(float(seen.clock[0]))
            self.memory[:] = memory

    def _check(self, command: Command) -> None:
        """Check what a law of Python answers where the loop asks it."""
        s = self.belief.snapshot
        self._answers.check(s.t, s.q, s.v, command)

    def rates(self, t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the acceleration and the memory's rate: the right-hand side of the loop."""
        a, rate = self._plants.integrator.system.rates(t, q, v, memory)
        return a.copy(), rate.copy()

    def rate_slopes(self, t: float, q: Vector, v: Vector, memory: Vector) -> Matrix | None:
        """Return the Jacobian of `rates` with ``(dq, v, memory)``, where it is known.

        None where effects stand between law and robot, or the robot has no closed form.
        """
        known = self._direct and not self.conditions.senses and self.contacts is None
        if not known or not has_slopes(self.truth):
            return None
        if self.law.keeper is not None and not self._sampled:
            return None
        if self._sampled:
            return held_slopes(self.truth, t, q, v, self.held)
        if self._metered:
            return None
        return commanded_slopes(self.truth, self.belief, self.law, t, q, v, memory)

    def step_halving(self) -> dict[str, Any]:
        """Return what halved steps say of a fixed one, where there is one."""
        share = self._plants.step_halving()
        if share is None:
            return {}
        return {"step_halving": {"share": share, "method": self.scenario.integrator.method}}

    def truth_at(self, t: float) -> Dynamics:
        """Return the true robot of a time, as the effects on it have it then."""
        return self._plants.at(t)

    def plan_lifts(self) -> None:
        """Let the true robot's contacts be open where the law plans to lift them; for looks before
        the run.
        """
        self._plants.plan_lifts()

    def take_contacts(self, states: Mapping[str, Vector]) -> None:
        """Let contacts do what those of these names do elsewhere: the true ones, and those that the
        law believes in but where it plans to lift them.
        """
        own, keeper = self.truth.contacts, self.law.keeper
        if own is None or not states:
            return
        own.follow(states)
        for robot in (self.belief, *(keeper.robots if keeper is not None else ())):
            if robot.contacts not in (None, own):
                robot.contacts.follow(own.states)

    def command(self, t: float, q: Vector, v: Vector, memory: Vector) -> Command:
        """Step the law at a measured state; the true robot must have been moved to the true one."""
        if self.belief is not self.truth:
            self.belief.move(t, q, v)
        return self.law.step(self.belief, memory)

    def _guard(self, t: float, state: State) -> float:
        """Return the law's guard at a state."""
        q, v, memory = state
        if self.conditions.senses and not self._sampled:
            q, v = self.conditions.sense(t, q, v)
        self.belief.move(t, q, v)
        return self.law.guard(self.belief, memory[: len(self.law.memory)])
