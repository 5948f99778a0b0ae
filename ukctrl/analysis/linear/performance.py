r"""What a loop does for its task, in terms that every law has: bandwidth, poles, margins, noise.

The *bandwidth* of a row is where its sensitivity first comes up to $1/\sqrt 2$: below it the loop
takes away more than 3 dB of what accelerates the row. With a push $d$ that accelerates this row by
1 and no other, it is what the row answers to it, over what a row without any loop would, which
integrates it $r$ times,

$$ S_i(s) = s^r\, c_i (sI - A - BK)^{-1} d , $$

with $r = 2$; a row on velocities has $r = 1$. The push is that of inputs, $d = B g$. Of rows that
the inputs reach through springs it is that of forces on what the rows hold: compared with as many
integrations as there are springs in between, the springs themselves would pass for a stiff loop.
Under a hold it is of $z = e^{j\omega T}$, with the integrations of a held push.

The *noise gain* is what the command does at once where what is measured is off by a unit: the
largest singular values of its slopes, of positions and of speeds. What a filter lets pass later is
in the bandwidth.
"""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.analysis.linear.linear_loop import LinearLoop, linearise_loop, loop_growth_rate
from ukctrl.analysis.linear.margins import Margins, margins_at
from ukctrl.analysis.linear.operating_point import operating_point
from ukctrl.analysis.linear.response import FrequencyResponse
from ukctrl.analysis.linear.sampled_systems import sampled_plant
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.linearise import Linearization
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import Scenario

MARKOV_RTOL = 1e-9
"""Inputs that change a row by less than this fraction of the largest do not reach it."""
GRID_DENSITY = 60
"""Frequencies a decade, between which the sensitivity is taken to be smooth."""
GRID_MARGIN = 100.0
"""How far beyond the poles is looked."""
BANDWIDTH_RTOL = 1e-10
"""Relative width to which a bandwidth is enclosed."""
SENSITIVITY_LIMIT = math.sqrt(0.5)
"""A sensitivity below this is taken away."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class LoopPerformance:
    """A loop near the start of its scenario."""

    rows: tuple[str, ...]
    """Names of the servo rows."""
    bandwidth: tuple[float, ...]
    """Of each row [rad/s]; 0: nothing is taken away, NaN: no motor reaches it."""
    poles: tuple[complex, ...]
    """As rates, the slowest first [1/s]."""
    disk: float
    """The least disk margin of a motor; NaN where the loop is not stable."""
    delay: float
    """The shortest delay of a motor that is too much [s]."""
    position_noise: float
    """Noise gain of what is measured of positions [N m or N, per rad or m]."""
    speed_noise: float
    """Noise gain of what is measured of speeds [N m or N, per rad/s or m/s]."""

    @property
    def decaying(self) -> tuple[complex, ...]:
        """The poles that decay, of each pair the upper one, the slowest first [1/s]."""
        return tuple(s for s in self.poles if s.real < 0.0 <= s.imag and math.isfinite(s.real))

    @property
    def slowest(self) -> float:
        """The bandwidth of the row that has least [rad/s]; NaN where none is known."""
        bandwidths = [w for w in self.bandwidth if not math.isnan(w)]
        return min(bandwidths, default=math.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; complex numbers as pairs."""
        table = dc.asdict(self)
        return {**table, "poles": [[pole.real, pole.imag] for pole in self.poles]}


@one_blas_thread()
def loop_performance(scenario: Scenario, ready: Loop | None = None) -> LoopPerformance:
    """Return what the loop of a scenario is at its start.

    Args:
        scenario: The scenario.
        ready: The scenario ready to run, where it has been made so already.

    Raises:
        InputError: The scenario has no motors or no controller, or the law no command there.
    """
    ready = Loop(scenario) if ready is None else ready
    loop = linearise_loop(scenario, ready, operating_point(scenario, ready=ready))
    rates = sorted(loop.rates().tolist(), key=lambda s: (-s.real, s.imag))
    margins: list[Margins] = []
    if loop_growth_rate(loop) <= 0.0:
        margins = [margins_at(loop, motor) for motor in range(len(loop.inputs))]
    k, straight = len(loop.plant.linear.positions), loop.commands.D
    return LoopPerformance(
        rows=loop.plant.outputs,
        bandwidth=row_bandwidths(loop),
        poles=tuple(map(complex, rates)),
        disk=min((margin.disk for margin in margins), default=math.nan),
        delay=min((margin.delay for margin in margins), default=math.nan),
        position_noise=_max_gain(straight[:, :k]),
        speed_noise=_max_gain(straight[:, k:]),
    )


def _max_gain(slopes: Matrix) -> float:
    return float(np.linalg.norm(slopes, 2)) if slopes.size else 0.0


def row_bandwidths(loop: LinearLoop) -> tuple[float, ...]:
    """Return the bandwidth of each servo row [rad/s]; see the module."""
    pushes = _row_disturbances(loop)
    rates = np.abs(loop.rates())
    rates = rates[np.isfinite(rates) & (rates > 0.0)]
    if not len(rates):
        return tuple(math.nan if push is None else 0.0 for push in pushes)
    low, high = rates.min() / GRID_MARGIN, rates.max() * GRID_MARGIN
    if loop.period is not None:
        high = min(high, math.pi / loop.period)
    count = max(2, math.ceil(GRID_DENSITY * math.log10(max(high / low, 10.0))))
    grid = np.geomspace(min(low, high / 10.0), high, count)
    return tuple(
        math.nan if push is None else _row_bandwidth(loop, push, row, grid)
        for row, push in enumerate(pushes)
    )


class RowDisturbance(NamedTuple):
    """What accelerates one row alone."""

    direction: Vector
    """Of the states of the open loop, shape ``(n,)``."""
    order: int
    """How often it is integrated on its way to the row."""


def _row_disturbances(loop: LinearLoop) -> list[RowDisturbance | None]:
    """Return what accelerates each row alone; None of a row that inputs do not reach."""
    plant = loop.plant
    reach, order = _leading_markov(plant.C, plant.A, plant.B)
    inputs = np.linalg.pinv(reach)
    k = len(plant.linear.positions)
    grip, force_order = _leading_markov(plant.C, plant.A, np.eye(len(plant.A))[:, k:])
    softly = order > force_order
    forces = (
        loop.force_inputs(_force_directions(grip, plant.linear)) if softly.any() else loop.B[:, :0]
    )
    return [
        None
        if not order[i]
        else RowDisturbance(forces[:, i], int(force_order[i]))
        if softly[i]
        else RowDisturbance(loop.B @ inputs[:, i], int(order[i]))
        for i in range(len(plant.C))
    ]


def _leading_markov(C: Matrix, A: Matrix, B: Matrix) -> tuple[Matrix, Indices]:
    """Return by how much inputs change the first derivative of each row that they reach.

    And which derivative that is; 0 of a row that they do not reach.
    """
    leading, order = np.zeros((len(C), B.shape[1])), np.zeros(len(C), dtype=np.int64)
    rows = C
    for r in range(1, len(A) + 1):
        markov = rows @ B
        scale = max_abs(rows) * max_abs(B)
        mask = (order == 0) & (np.abs(markov).max(axis=1, initial=0.0) > MARKOV_RTOL * scale)
        leading[mask], order[mask] = markov[mask], r
        rows = rows @ A
    return leading, order


def _force_directions(grip: Matrix, linear: Linearization) -> Matrix:
    """Return deviations of the states a second by which forces along the rows accelerate each row.

    ``M^-1 J^T (J M^-1 J^T)^+``, where ``J`` is the rows' grip on the velocities; shape ``(n, p)``.
    """
    k, robot = len(linear.positions), linear.robot
    free = linear.full[robot.nv :, k:]
    mass = free.T @ robot.snapshot(linear.q).M @ free
    toward = np.linalg.solve(mass, grip.T)
    pushes: Matrix = np.zeros((len(linear.A), len(grip)))
    pushes[k:] = toward @ np.linalg.pinv(grip @ toward)
    return pushes


def _row_bandwidth(loop: LinearLoop, push: RowDisturbance, row: int, grid: Vector) -> float:
    """Return where a row's sensitivity first is not below `SENSITIVITY_LIMIT`, by bisection
    [rad/s].
    """
    answered, integrated = _sensitivity_parts(loop, push, row)

    def taken_away(frequencies: Vector) -> Flags:
        with np.errstate(all="ignore"):
            ratio = answered.at_frequencies(frequencies) / integrated.at_frequencies(frequencies)
        return np.asarray(np.abs(ratio[:, 0, 0]) < SENSITIVITY_LIMIT)

    below = taken_away(grid)
    if below.all():
        return float(grid[-1])
    k = int(np.argmin(below))
    if k == 0:
        return 0.0
    low, high = float(grid[k - 1]), float(grid[k])
    while high - low > BANDWIDTH_RTOL * high:
        middle = math.sqrt(low * high)
        if taken_away(np.array([middle]))[0]:
            low = middle
        else:
            high = middle
    return high


def _sensitivity_parts(
    loop: LinearLoop, push: RowDisturbance, row: int
) -> tuple[FrequencyResponse, FrequencyResponse]:
    """Return what a row answers to its push, and what it would without any loop."""
    c = np.zeros((1, len(loop.A)))
    c[0, : len(loop.plant.A)] = loop.plant.C[row]
    answered = FrequencyResponse(loop.closed, push.direction[:, None], c, loop.period)
    chain, ends = np.eye(push.order, k=1), np.eye(push.order)
    last = ends[:, -1:]
    if loop.period is not None:
        names = tuple(map(str, range(push.order)))
        hold_model = sampled_plant(chain, last, names, ("1",), loop.period, (0.0,))
        chain, last = hold_model.A, hold_model.B
    return answered, FrequencyResponse(chain, last, ends[:1], loop.period)
