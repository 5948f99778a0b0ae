r"""A started law near a state, as a linear system from what it measures to its command.

An observer goes from what is measured, and the input that was held, to its estimate. With the gain
$K$ that it has, or would settle at here,

$$ \hat x_k = (I - K H)\,(F \hat x_{k-1} + \Gamma u_{k-1}) + K y_k, \qquad y = H_m\,\delta, $$

where $\delta$ are all measured deviations, and $F$, $\Gamma$ are of the believed robot; an observer
without a model has others in their place.

Where limits are active the law's gain is that of the rest: a kept row that binds, a motor at its
limit and a contact that is open or slides stay so near the state, as long as none of them only just
does: then the answers of law and robot are smooth, and their slopes are those with the active set
held.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.linear.operating_point import OperatingPoint
from ukctrl.analysis.linear.sampled_systems import LinearSensors, LinearSystem, series
from ukctrl.control.controller import Law
from ukctrl.core.algebra.finite_differences import STEP, jacobian
from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.errors import InputError, UkctrlError, quoted
from ukctrl.core.files.toml import error_context
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints.contact import CREEPING, MODE, OPEN, SLIDING
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.observers.estimates import TimedState
from ukctrl.simulation.observers.estimator import Estimator

FINE_STEP_RATIO = 0.1
"""Slopes are compared with those at this fraction of the step."""
SMOOTH_RTOL = 1e-3
"""Slopes that differ by more than this fraction are those of a law that is not smooth there."""


class LinearLaw(NamedTuple):
    """Deviations of a law's command, ``du = K x + K_m dm`` and ``dm' = F x + F_m dm``."""

    u: Vector
    """The command at the state itself."""
    K: Matrix
    K_m: Matrix
    F: Matrix
    F_m: Matrix
    nonsmoothness: float
    """By which fraction the slopes depend on the step; small where the law is smooth."""
    set_changes: bool
    """Whether what the law keeps binds otherwise for the smallest deviations that were tried."""


def linear_law(law: Law, belief: Dynamics, point: OperatingPoint, directions: Matrix) -> LinearLaw:
    """Linearise a law by differences of its step.

    The modes of a law that switches stay as they are, and so does the rest of its memory.

    Args:
        law: The law, started.
        belief: The robot that it believes in; it is moved about.
        point: What the law measures, and its memory.
        directions: Deviations ``(dq, dv)`` to look along, shape ``(2 nv, k)``.

    Raises:
        InputError: The law has no command there, or at a state nearby.
    """
    robot, n, k = belief.robot, belief.robot.nv, directions.shape[1]
    memory = law.memory if point.memory is None else point.memory
    # Modes of a law that switches have no slope.
    m = 0 if law.switches else len(memory)
    bound = np.zeros(0) if law.keeper is None else law.keeper.diagnostics.active
    patterns = set[bytes]()

    def answer(d: Vector) -> Vector:
        x = directions @ d[:k]
        belief.move(point.t, robot.integrate(point.q, x[:n]), point.v + x[n:])
        recalled = memory.copy()
        recalled[:m] += d[k:]
        command = law.step(belief, recalled)
        patterns.add(bound.tobytes())
        return np.concatenate([command.u, np.asarray(command.memory_rate)[:m]])

    try:
        nominal = answer(np.zeros(k + m))
        slopes = jacobian(answer, k + m)
        patterns.clear()
        finer = jacobian(answer, k + m, FINE_STEP_RATIO * STEP)
    except (UkctrlError, ArithmeticError) as error:
        raise InputError(
            f"the law must have a command at {point.source} to be looked at: {error}"
        ) from None
    size = max(max_abs(slopes), 1e-12)
    rough = max_abs(slopes - finer) / size
    nu = robot.nu
    return LinearLaw(
        u=nominal[:nu],
        K=slopes[:nu, :k],
        K_m=slopes[:nu, k:],
        F=slopes[nu:, :k],
        F_m=slopes[nu:, k:],
        nonsmoothness=rough if rough > SMOOTH_RTOL else 0.0,
        set_changes=len(patterns) > 1,
    )


def with_observer(
    sensors: LinearSensors, estimator: Estimator, point: OperatingPoint, u: Vector, period: float
) -> LinearSensors:
    """Return the way to the estimate; the inputs that were held come behind the plant's states.

    Args:
        sensors: The way from the plant's states to what is measured.
        estimator: The observer.
        point: Where it is looked at, as it is measured.
        u: The input there.
        period: Between ticks [s].

    Raises:
        InputError: The observer has no steady gain there.
    """
    steady, nu = estimator.linear_measurement, len(u)
    at = TimedState(point.t, IntegratorState(point.q, point.v, np.zeros(0)), u)
    linear = estimator.filter.motion.linear(point.t, point.q, point.v, u)
    with error_context("observer"):
        A, B, K = estimator.filter.near(at, period, steady)
    B = np.hstack([K @ steady.slopes(at, sensors.full), B])
    names = tuple(f"estimated {name}" for name in linear.states)
    observer = LinearSystem(A, B, A, B, names)
    return LinearSensors(series(_pass_through(sensors.block, nu), observer), linear.full)


def _pass_through(block: LinearSystem, nu: int) -> LinearSystem:
    """Return a system with inputs beside its own that it hands on."""
    A, B, C, D, names = block
    feedthrough = np.block([[D, np.zeros((len(D), nu))], [np.zeros((nu, D.shape[1])), np.eye(nu)]])
    none = np.zeros((len(A), nu)), np.zeros((nu, len(A)))
    return LinearSystem(A, np.hstack([B, none[0]]), np.vstack([C, none[1]]), feedthrough, names)


LIMIT_TOLERANCE = 1e-9
"""An input this near to its limit, beside it, is at its limit."""
SIDES = {1.0: "upper", -1.0: "lower"}
MODES = {OPEN: "is open", SLIDING: "slides", CREEPING: "slides"}


class ActiveSet(NamedTuple):
    """What binds at a state."""

    kept: tuple[str, ...] = ()
    """Rows that the law keeps, and that change its input."""
    motors: tuple[tuple[str, str], ...] = ()
    """Motors at a limit that the law keeps, each with the side."""
    bench: tuple[tuple[str, str], ...] = ()
    """Motors at a limit of the bench, of which the law knows nothing, each with the side."""
    contacts: tuple[tuple[str, str], ...] = ()
    """Contacts that do not stick, each with what it does."""

    @property
    def words(self) -> str:
        """All of it; empty where nothing is active."""
        return "; ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.kept:
            yield f"{quoted(self.kept)} {'binds' if len(self.kept) == 1 else 'bind'}"
        for name, side in self.motors:
            yield f"motor '{name}' is at its {side} limit"
        for name, side in self.bench:
            yield f"motor '{name}' is held at its {side} limit by the bench"
        for name, mode in self.contacts:
            yield f"contact '{name}' {mode}"

    def notes(self) -> Iterator[str]:
        """Yield what is left out for it."""
        if any(self):
            yield (
                "active limits are held, as for small deviations: loop, margins and gains are "
                "those of the remaining inputs. Zeros, uncontrollable and unobservable modes are "
                "those of the plant without limits."
            )
        if self.bench:
            yield (
                f"the loop does not reach motor {quoted(name for name, _ in self.bench)}: beyond "
                "its limit no command changes the input."
            )


def active_set(loop: Loop, point: OperatingPoint, u: Vector) -> tuple[ActiveSet, Flags]:
    """Return what is active after a step of the law, and which motors the bench holds.

    Args:
        loop: The scenario, ready to run; its law has just been asked.
        point: What the law was asked at.
        u: Its command, shape ``(nu,)``.
    """
    keeper, names = loop.law.keeper, loop.robot.actuators
    active_rows: tuple[str, ...] = ()
    sides = dict[str, str]()
    memory = loop.law.memory if point.memory is None else point.memory
    signal = loop.law.signals(loop.believed_model, memory).get("binding")
    # A bounded allocation tells its limits itself; the safety filter does not.
    if signal is not None:
        of = zip(signal.components, np.sign(np.ravel(signal.value)).tolist(), strict=False)
        sides = {name: SIDES[side] for name, side in of if side}
    if keeper is not None:
        bound = np.flatnonzero(keeper.diagnostics.active > 0.0)
        active_rows = tuple(keeper.names[i] for i in bound)
        rate = loop.believed_model.snapshot.v @ loop.believed_model.snapshot.B
        sides |= _limit_sides(names, u, *loop.believed_model.robot.input_bounds(rate), 1.0)
    saturation, bench = np.zeros(len(u), dtype=bool), dict[str, str]()
    s = loop.plant.snapshot
    bounds = loop.effects.bounds(s.v @ s.B)
    if bounds is not None:
        bench = _limit_sides(names, u, *bounds, -1.0)
        saturation = np.array([name in bench for name in names])
    return (
        ActiveSet(active_rows, tuple(sides.items()), tuple(bench.items()), _contacts(point)),
        saturation,
    )


def _limit_sides(
    names: tuple[str, ...], u: Vector, low: Vector, high: Vector, sign: float
) -> dict[str, str]:
    """Return which inputs are at their limits, or, with ``sign = -1``, beyond them."""
    sides = dict[str, str]()
    for side, over, limit in (("upper", u - high, high), ("lower", low - u, low)):
        near = sign * LIMIT_TOLERANCE * np.maximum(np.abs(limit), 1.0)
        at = np.isfinite(limit) & (over >= -near)
        sides |= {names[k]: side for k in np.flatnonzero(at)}
    return sides


def _contacts(point: OperatingPoint) -> tuple[tuple[str, str], ...]:
    modes = ((name, float(state[MODE])) for name, state in point.contacts.items())
    return tuple((name, MODES[mode]) for name, mode in modes if mode in MODES)
