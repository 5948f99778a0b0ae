r"""The closed loop of a scenario near a state, and its loop transfer functions at the motors.

Broken at its motors, the loop is one system from the inputs that are applied to those that the law
commands, $\delta u_c = -L\,\delta u$. Closing all motors but one gives the loop transfer function
$L_i$ that the margins of motor $i$ are read from.
"""

from __future__ import annotations

import dataclasses as dc
import math
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.analysis.linear.linear_law import (
    ActiveSet,
    LinearLaw,
    active_set,
    linear_law,
    with_observer,
)
from ukctrl.analysis.linear.linear_plant import LinearPlant, linear_plant
from ukctrl.analysis.linear.operating_point import At, OperatingPoint, operating_point
from ukctrl.analysis.linear.python_control import SignalNames, signal_names, state_space
from ukctrl.analysis.linear.sampled_systems import (
    LinearSystem,
    linear_sensors,
    sampled_plant,
    sensor_parts,
    series,
)
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.linearise import zero_order_hold
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.effects.effect import InputEffect, RunContext, kind_of
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario

if TYPE_CHECKING:
    import control


MEMORY = "memory"
"""How the names of the law's own states begin."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class LinearLoop:
    """A scenario's loop near a state, open at the motors."""

    plant: LinearPlant
    period: float | None
    """Period of the hold [s]; None under continuous control."""
    delays: tuple[float, ...]
    """By how much each input arrives late [s]; zeros without a hold."""
    commands: LinearSystem
    """Sensors and law, from the plant's states, at the ticks of a hold, to the commands; of an
    observer, also from the inputs that act then."""
    notes: tuple[str, ...]
    """What the linear system leaves out."""
    active: ActiveSet = dc.field(default_factory=ActiveSet)
    """Which limits are active, and held."""
    smooth: bool = True
    """Whether the law is smooth there: else its slopes, and so the poles, are of the step that the
    differences take."""

    @cached_property
    def _open_loop(self) -> LinearSystem:
        plant = self.plant
        if self.period is None:
            straight = np.eye(len(plant.A)), np.zeros(plant.B.shape)
            body = LinearSystem(plant.A, plant.B, *straight, plant.states)
        else:
            heard = self.commands.B.shape[1] > len(plant.A)
            args = plant.A, plant.B, plant.states, plant.inputs, self.period, self.delays
            body = sampled_plant(*args, heard=heard)
        return series(body, self.commands)

    @property
    def A(self) -> Matrix:
        """Of the open loop, shape ``(n, n)``: to rates, or to the next tick of a hold."""
        return self._open_loop.A

    @property
    def B(self) -> Matrix:
        """From the applied inputs, shape ``(n, nu)``."""
        return self._open_loop.B

    @property
    def C(self) -> Matrix:
        """To the commanded inputs, shape ``(nu, n)``."""
        return self._open_loop.C

    def force_inputs(self, directions: Matrix) -> Matrix:
        """Return how pushes move the states of the open loop, as `B` does of the inputs.

        Args:
            directions: By which each moves the plant's states a second, shape ``(k, p)``.
        """
        moved: Matrix = np.zeros((len(self.A), directions.shape[1]))
        if self.period is not None:
            directions = zero_order_hold(self.plant.A, directions, self.period)[1]
        moved[: len(directions)] = directions
        return moved

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states: the plant's, those of delays and sensors, the law's memory."""
        return self._open_loop.states

    @property
    def delay(self) -> float:
        """By how much inputs arrive late, those that do least [s]."""
        return min(self.delays, default=0.0)

    def delayed(self, motor: int, extra: float) -> LinearLoop:
        """Return the loop of a hold with the input of one motor late by so much more [s].

        The delay may be any length: one that ends between ticks changes the input there.

        Raises:
            InputError: The loop has no hold; a delay then has no finite number of states.
        """
        if self.period is None:
            raise InputError("a loop must have a hold to have states with a delay; it has none.")
        delays = list(self.delays)
        delays[motor] += extra
        return dc.replace(self, delays=tuple(delays))

    def at_period(self, period: float | None) -> LinearLoop:
        """Return the loop under another hold [s], as late in periods, or without hold and delay.

        Raises:
            InputError: Sensors or an observer have states, which are made for the period.
        """
        A, B, C, D, names = self.commands
        if not all(name.startswith(MEMORY) for name in names) or B.shape[1] > len(self.plant.A):
            raise InputError("a loop must have no sensors with states for another period.")
        if self.period is not None:
            A, B = (A - np.eye(len(A))) / self.period, B / self.period
        if period is not None:
            A, B = np.eye(len(A)) + period * A, period * B
        ratio = period / self.period if period is not None and self.period is not None else 0.0
        delays = tuple(ratio * delay for delay in self.delays)
        commands = LinearSystem(A, B, C, D, names)
        return dc.replace(self, period=period, delays=delays, commands=commands)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the motors."""
        return self.plant.inputs

    @property
    def closed(self) -> Matrix:
        """The matrix of the closed loop, shape ``(n, n)``."""
        closed: Matrix = self.A + self.B @ self.C
        return closed

    def poles(self) -> NDArray[np.complex128]:
        """Return the poles of the closed loop: ``s`` [1/s], or ``z`` where there is a hold."""
        return np.asarray(np.linalg.eigvals(self.closed), dtype=np.complex128)

    def rates(self) -> NDArray[np.complex128]:
        """Return the poles as rates, ``log(z)/T`` where there is a hold [1/s]."""
        return as_rates(self.poles(), self.period)

    def broken_at(self, motor: int) -> tuple[Matrix, Vector, Vector]:
        """Return ``A, b, c`` of ``L_i = c (s I - A)^-1 b``: one motor open, the others closed."""
        loop_mask = np.ones(len(self.inputs))
        loop_mask[motor] = 0.0
        A: Matrix = self.A + (self.B * loop_mask) @ self.C
        return A, self.B[:, motor], -self.C[motor]

    def transfer(self, motor: int) -> control.StateSpace:
        """Return the loop transfer function at a motor for python-control, with names.

        Its input is the motor's, its output what the loop returns, with the sign that makes
        ``1 + L`` the return difference.
        """
        A, b, c = self.broken_at(motor)
        name = signal_names(self.inputs)[motor]
        named = SignalNames(self.states, [name], [f"returned_{name}"])
        return state_space(f"loop_at_{name}", A, b[:, None], c[None], self.period, named)

    def transfers(self) -> control.StateSpace:
        """Return the loop transfer matrix with all motors open, for python-control."""
        names = signal_names(self.inputs)
        named = SignalNames(self.states, names, [f"returned_{name}" for name in names])
        return state_space("loop", self.A, self.B, -self.C, self.period, named)

    def to_control(self) -> control.StateSpace:
        """Return the closed loop for python-control: from disturbances of the inputs to outputs."""
        C = np.zeros((len(self.plant.C), len(self.A)))
        C[:, : self.plant.C.shape[1]] = self.plant.C
        named = SignalNames(
            self.states, signal_names(self.inputs), signal_names(self.plant.outputs)
        )
        return state_space("closed_loop", self.closed, self.B, C, self.period, named)


DEADBEAT_TOLERANCE = 1e-8
"""A pole ``z`` this near zero is over at once, within rounding."""


def as_rates(poles: NDArray[np.complex128], period: float | None) -> NDArray[np.complex128]:
    """Return poles as rates, ``log(z)/T`` [1/s]; one at ``z = 0`` is over at once, ``-inf``."""
    if period is None:
        return poles
    rates = np.full(len(poles), -np.inf, dtype=np.complex128)
    lasts = np.abs(poles) > DEADBEAT_TOLERANCE
    rates[lasts] = np.log(poles[lasts]) / period
    return rates


ZERO_SCATTER, ZERO_MEAN_RTOL = 1e-10, 1e-9
"""What scatters multiple poles at zero, and how near to it their mean stays all the same."""
MAX_JORDAN_CHAIN = 4
"""Poles at zero that hang on each other; more come in several chains."""


def neutral_count(rates: NDArray[np.complex128]) -> int:
    """Return how many modes neither grow nor decay, as those of what nothing pulls back.

    Rounding scatters ``k`` poles at zero over a circle of about its ``k``-th root; their mean is
    not moved.
    """
    order, still, scale = _zero_rates(rates)
    return still + int(np.count_nonzero(np.abs(order[still:].real) <= ZERO_MEAN_RTOL * scale))


def growing_count(rates: NDArray[np.complex128]) -> int:
    """Return how many modes grow."""
    order, still, scale = _zero_rates(rates)
    return int(np.count_nonzero(order[still:].real > ZERO_MEAN_RTOL * scale))


def growth_rate(rates: NDArray[np.complex128]) -> float:
    """Return the rate of the mode that grows most or decays least, 0 where it does neither [1/s].

    Minus infinity where all is over at once.
    """
    order, still, scale = _zero_rates(rates)
    growth_rates = order[still:].real
    growth_rates = np.where(np.abs(growth_rates) <= ZERO_MEAN_RTOL * scale, 0.0, growth_rates)
    max_growth = float(growth_rates.max(initial=-math.inf))
    return max(max_growth, 0.0) if still else max_growth


def snap_zero_rates(rates: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return rates of which those are zero that are so but for rounding, and are then the first."""
    order, still, _ = _zero_rates(rates)
    all_rates: NDArray[np.complex128] = np.concatenate([order, rates[~np.isfinite(rates)]])
    all_rates[:still] = 0.0
    return all_rates


def _zero_rates(rates: NDArray[np.complex128]) -> tuple[NDArray[np.complex128], int, float]:
    """Return the finite rates by size, how many of them are zero, and the size of the largest."""
    finite = rates[np.isfinite(rates)]
    order = finite[np.argsort(np.abs(finite))]
    scale = max(1.0, max_abs(finite))
    # The largest cluster within its k-th root of zero whose mean is there.
    for k in range(len(order), 0, -1):
        radius = 3.0 * scale * ZERO_SCATTER ** (1.0 / min(k, MAX_JORDAN_CHAIN))
        if abs(order[k - 1]) < radius and abs(order[:k].mean()) < ZERO_MEAN_RTOL * scale:
            return order, k, scale
    return order, 0, scale


def loop_growth_rate(loop: LinearLoop) -> float:
    """Return the same of a closed loop."""
    return growth_rate(loop.rates())


@explain_argument_errors
def linear_loop(
    scenario: AnyScenario, at: At | OperatingPoint = "start", *, period: float | None = None
) -> LinearLoop:
    """Return the loop of a scenario as a linear system near a state.

    Args:
        scenario: The scenario, its name, or the path of its file.
        at: As for `linear_plant`; the input is always the law's own there.
        period: Another period of the hold [s]; absent: the scenario's.

    Raises:
        InputError: The scenario has no motors or no controller, or the law no command there.
    """
    scenario = as_scenario(scenario)
    if period is not None:
        scenario = scenario.replace({"timing.control": period})
    ready = Loop(scenario)
    point = at if isinstance(at, OperatingPoint) else operating_point(scenario, at, ready=ready)
    return linearise_loop(scenario, ready, point)


def linearise_loop(scenario: Scenario, loop: Loop, point: OperatingPoint) -> LinearLoop:
    """Return the same of a scenario that is ready to run."""
    if not loop.robot.nu:
        raise InputError(f"robot '{loop.robot.name}' must have motors for a loop; it has none.")
    period = scenario.timing.control
    context = RunContext(loop.robot, loop.t0, scenario.timing.duration, period)
    measurement = _measured_point(scenario, context, point)
    loop.set_contact_modes(point.contacts)
    memory = loop.law.memory if point.memory is None else point.memory
    loop.believed_model.move(point.t, measurement.q, measurement.v)
    memory = loop.law.settled(loop.believed_model, memory)
    measurement = dc.replace(measurement, memory=memory)
    u = loop.law.step(loop.believed_model, memory).u.copy()
    loop.plant.move(point.t, point.q, point.v)
    rate = loop.plant.snapshot.v @ loop.plant.snapshot.B
    active, saturation = active_set(loop, measurement, u)
    u = loop.effects.apply_continuous_drives(
        point.t, loop.effects.apply_tick_drives(point.t, u, rate), rate
    )
    plant = linear_plant(scenario, dc.replace(point, u=u))
    sensors = linear_sensors(scenario.effect, plant.linear, context)
    if loop.estimator is not None and period is not None:
        sensors = with_observer(sensors, loop.estimator, measurement, u, period)
    linear = linear_law(loop.law, loop.believed_model, measurement, sensors.full)
    names = tuple(f"{MEMORY} {k + 1}" for k in range(len(linear.F_m)))
    K, K_m, F, F_m = linear.K, linear.K_m, linear.F, linear.F_m
    K[saturation] = K_m[saturation] = (
        0.0  # what a motor has no more of does not change with the command
    )
    if period is None:
        commands = LinearSystem(F_m, F, K_m, K, names)
    else:
        law = LinearSystem(np.eye(len(F_m)) + period * F_m, period * F, K_m, K, names)
        commands = series(sensors.block, law)
    return LinearLoop(
        plant=plant,
        period=period,
        delays=(loop.effects.delay,) * len(plant.inputs),
        commands=commands,
        notes=(*_notes(scenario, context, loop, linear), *active.notes()),
        active=active,
        smooth=not (linear.nonsmoothness or linear.set_changes),
    )


def _measured_point(
    scenario: Scenario, context: RunContext, point: OperatingPoint
) -> OperatingPoint:
    """Return what the law measures where nothing moves: biases are all that is left."""
    q, v = point.q, point.v
    for effect, sensor_model in sensor_parts(scenario.effect, context):
        if sensor_model is not None and sensor_model.is_constant_offset:
            q, v = effect.attach(context, np.random.default_rng(0)).read(point.t, q, v)
    return dc.replace(point, q=q, v=v)


def _notes(scenario: Scenario, context: RunContext, loop: Loop, linear: LinearLaw) -> list[str]:
    law, estimator = loop.law, loop.estimator
    notes = [
        f"effect '{kind_of(effect)}' has no linear part and is left out."
        for effect, sensor_model in sensor_parts(scenario.effect, context)
        if sensor_model is None
    ]
    for effect in scenario.effect:
        kind = kind_of(effect)
        if effect.moves_ticks:
            notes.append(f"effect '{kind}' is left out: every tick is on time.")
        elif isinstance(effect, InputEffect) and not effect.only_delays:
            notes.append(f"effect '{kind}' is left out: inputs count as between its bounds.")
    if estimator is not None:
        notes += estimator.notes()
    if law.switches:
        notes.append("the law switches; the analysis takes the mode that is active here.")
    if linear.set_changes:
        notes.append(
            "a kept limit is just at the border of being active here: the loop differs on the "
            "two sides, and this analysis is between them."
        )
    if linear.nonsmoothness:
        notes.append(
            f"the law is not smooth here: its slopes change by {linear.nonsmoothness:.2g} of the "
            "largest with the step of the differences."
        )
    return notes
