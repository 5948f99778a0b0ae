"""The true robot over the time of a run: one plant after another."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.core.algebra.answer_checks import RankPolicy
from ukctrl.mechanics.dynamics import Dynamics, Gains
from ukctrl.mechanics.integrate import Held, Integrator, State, System
from ukctrl.simulation.effects.bound import Plant
from ukctrl.simulation.loop.prepare import integrator
from ukctrl.simulation.scenario import Scenario


@final
class Plants:
    """The true robot, piece by piece, with the integrator of each piece.

    Args:
        plants: The robots, and from when on they are so.
        rank: When passive rows count as dependent.
        gains: How errors of the passive rows decay.
    """

    def __init__(self, plants: tuple[Plant, ...], rank: RankPolicy, gains: Gains) -> None:
        self._plants = plants
        self._dynamics = tuple(Dynamics(plant.robot, rank, gains) for plant in plants)
        self._integrators: tuple[Integrator, ...] = ()
        self._at = 0

    def integrated_by(self, scenario: Scenario, system: System, held: Held | None) -> None:
        """Make the integrators of a closed loop; ``held`` is as for `prepare.integrator`."""
        self._integrators = tuple(
            integrator(scenario, system, each, held) for each in self._dynamics
        )

    @property
    def dynamics(self) -> Dynamics:
        """The plant in force."""
        return self._dynamics[self._at]

    @property
    def integrator(self) -> Integrator:
        """What integrates its motion."""
        return self._integrators[self._at]

    @property
    def since(self) -> float:
        """Since when it is in force [s]."""
        return self._plants[self._at].start

    @property
    def changes(self) -> list[float]:
        """When another one follows [s]."""
        return [plant.start for plant in self._plants[1:]]

    def at(self, t: float) -> Dynamics:
        """Return the plant that is in force at a time, whatever the run has reached."""
        begun = sum(plant.start <= t for plant in self._plants)
        return self._dynamics[max(begun, 1) - 1]

    def advance(self, t: float, state: State) -> State:
        """Go on with the next plant, at a state whose last memory is the energy fed so far.

        What the next plant has more of energy in this state was fed to it.
        """
        before = self._energy(t, state)
        self._at += 1
        fed = self._energy(t, state) - before
        memory = state.memory.copy()
        memory[-1] += fed if np.isfinite(fed) else 0.0  # a plant of functions may not know it
        return State(state.q, state.v, memory)

    def _energy(self, t: float, state: State) -> float:
        dynamics = self.dynamics
        dynamics.move(t, state.q, state.v)
        return sum(dynamics.snapshot.energy())
