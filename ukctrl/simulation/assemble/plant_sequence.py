"""Plant sequence: one plant after another over the time of a run, and their integrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.mechanics.constraints.contact import USES_PLAN
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.mechanics.integrate.adaptive_integrator import AdaptiveIntegrator
from ukctrl.mechanics.integrate.fixed_step_integrator import FixedStepIntegrator
from ukctrl.mechanics.integrate.integrator import Integrator
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.mechanics.projection import Projector
from ukctrl.simulation.effects.attached_effects import PlantSegment
from ukctrl.simulation.result.verdicts.error_floor import USUAL_ATOL, USUAL_RTOL
from ukctrl.simulation.scenario import IntegratorOptions as Integration
from ukctrl.simulation.scenario import Scenario, Stabilisation

STEP_SAMPLES = 10.0
"""The longest step of an adaptive method, in output intervals, unless max_step says otherwise."""
MIN_STEPS = 50.0
"""The fewest steps that an adaptive method takes for a run."""
MAX_RATE = 100.0
"""Errors of passive constraints decay no faster than this unless asked to [1/s]."""
MIN_RATE = 5.0
"""Nor slower: an unstabilised closure drifts apart by a factor of six a second and more."""
RATE_STEP = 0.2
"""Decay rate times the length of a fixed step: far inside the stable region of every method."""
REFERENCE_RATE = 20.0
"""Decay rate [1/s] at the usual tolerance; a DOP853 step is proportional to its eighth root."""


@final
class PlantSequence:
    """Plant sequence: the true robot piece by piece, with the integrator of each piece.

    Args:
        plants: The robots, and from when on they are so.
        rank: When passive rows count as dependent.
        gains: How errors of the passive rows decay.
    """

    def __init__(
        self, plants: tuple[PlantSegment, ...], rank: RankPolicy, gains: StabilisationGains
    ) -> None:
        self._plants = plants
        self._dynamics = tuple(
            # true contacts open where forces let them go, whatever the law plans to lift
            Dynamics(plant.robot, rank, gains, heeds_lifts=False)
            for plant in plants
        )
        self._integrators: tuple[Integrator, ...] = ()
        self._at = 0

    def make_integrators(self, scenario: Scenario, system: Callable[[Dynamics], OdeSystem]) -> None:
        """Make the integrators of a closed loop."""
        self._integrators = tuple(
            make_integrator(scenario, system(dynamics), dynamics) for dynamics in self._dynamics
        )

    @property
    def dynamics(self) -> Dynamics:
        """The plant in force."""
        return self._dynamics[self._at]

    def plan_lifts(self) -> None:
        """Let contacts be open where the law plans to lift them, whatever the forces tell."""
        for dynamics in self._dynamics:
            if dynamics.contacts is not None:
                dynamics.contacts.mode[:, USES_PLAN] = 1.0

    @property
    def integrator(self) -> Integrator:
        """Integrator of the plant in force."""
        return self._integrators[self._at]

    def step_halving(self) -> float | None:
        """Return the share that `StepDoubling` finds; None without fixed steps."""
        error, path = np.sum(
            [integrator.step_doubling_error for integrator in self._integrators], axis=0
        ).tolist()
        return float(error / path) if path > 0.0 else None

    @property
    def start_time(self) -> float:
        """Since when it is in force [s]."""
        return self._plants[self._at].start

    @property
    def change_times(self) -> list[float]:
        """Times at which another one follows [s]."""
        return [plant.start for plant in self._plants[1:]]

    def at(self, t: float) -> Dynamics:
        """Return the plant that is in force at a time, whatever the run has reached."""
        count = sum(plant.start <= t for plant in self._plants)
        # before its start the first plant holds
        return self._dynamics[max(count, 1) - 1]

    def advance(self, t: float, state: IntegratorState) -> IntegratorState:
        """Go on with the next plant, at a state whose last memory is the energy fed so far.

        What the next plant has more of energy in this state was fed to it.
        """
        energy, touching = self._energy(t, state), self.dynamics.contacts
        self._at += 1
        if touching is not None and self.dynamics.contacts is not None:
            self.dynamics.contacts.copy_modes(touching.modes)
        # velocities go on as they are: the energy of a body that is picked up counts as fed, or the
        # balance would not close
        fed = self._energy(t, state) - energy
        memory = state.memory.copy()
        # a plant of functions may not know its energy
        memory[-1] += fed if np.isfinite(fed) else 0.0
        return IntegratorState(state.q, state.v, memory)

    def _energy(self, t: float, state: IntegratorState) -> float:
        dynamics = self.dynamics
        dynamics.move(t, state.q, state.v)
        return sum(dynamics.snapshot.energy())


def stabilisation_gains(stabilisation: Stabilisation, chosen: Integration) -> StabilisationGains:
    r"""Return the gains on errors of passive rows, chosen where the scenario does not say.

    Critical damping at a rate $w$, $\alpha = 2w$ and $\beta = w^2$. With steps of length $h$,
    $w = \min(0.2/h, 100\,\mathrm{s}^{-1})$; under error control
    $w = 20\,(10^{-9}/\mathrm{rtol})^{1/8}\,\mathrm{s}^{-1}$, between 5 and 100: faster decay costs
    shorter steps, and a coarse tolerance has bought long ones.
    """
    if stabilisation.kind != "baumgarte":
        return StabilisationGains(0.0, 0.0)
    if stabilisation.alpha is not None and stabilisation.beta is not None:
        return StabilisationGains(stabilisation.alpha, stabilisation.beta)
    rate = stabilisation.rate
    if rate is None and chosen.step is not None:
        # a fixed step bounds the decay by stability; under error control it costs steps: of the
        # five-bar 18000 evaluations at 20 1/s, over 60000 at 100 (decision 0019)
        rate = min(RATE_STEP / chosen.step, MAX_RATE)
    elif rate is None:
        rate = REFERENCE_RATE * (USUAL_RTOL / (chosen.rtol or USUAL_RTOL)) ** 0.125
        rate = min(max(rate, MIN_RATE), MAX_RATE)
    return StabilisationGains(2.0 * rate, rate * rate)


def make_integrator(scenario: Scenario, system: OdeSystem, truth: Dynamics) -> Integrator:
    """Return the integrator that a scenario asks for.

    Args:
        scenario: What asks.
        system: The closed loop.
        truth: The plant.
    """
    chosen, robot = scenario.integrator, truth.robot
    projected = scenario.stabilisation.kind == "projection"
    onto = Projector(truth) if len(truth.passive) else None
    correction = onto if projected else None
    # a step across a singular position asks no guard, and contacts end their modes by one
    onto = None if truth.contacts is not None else onto
    if chosen.step is not None:
        return FixedStepIntegrator(system, chosen.method, chosen.step, correction)
    return AdaptiveIntegrator(
        system,
        robot,
        chosen.method,
        rtol=chosen.rtol or USUAL_RTOL,
        atol=chosen.atol or USUAL_ATOL,
        max_step=chosen.max_step or _longest_step(scenario),
        correction=correction,
        onto=onto,
    )


def _longest_step(scenario: Scenario) -> float:
    """Return the longest step of an adaptive method that may not jump over what happens.

    A robot at rest gives error control nothing to see: without a bound it would step over a
    motion that begins and ends within one step.
    """
    timing = scenario.timing
    return min(STEP_SAMPLES * timing.sample, timing.duration / MIN_STEPS)
