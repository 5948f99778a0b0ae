r"""The decrease of a Lyapunov function, demanded as one scalar row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, final

import numpy as np

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.feedback.feedback import (
    Feedback,
    FeedbackBuffers,
    ModelFeedback,
    PositivePerRow,
)
from ukctrl.control.feedback.sliding_surface import (
    DecayBound,
    SlidingSurface,
    SurfaceFeedback,
    surface_gains,
    weighted_error,
)
from ukctrl.control.task import Signal
from ukctrl.core.algebra.rank_policy import Threshold
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InfeasibleConstraint
from ukctrl.core.fields import NonNegative, Positive, Rate, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

VANISHED_ROW_ADVICE = (
    "The one row that makes V = |s|^2 / 2 decrease vanishes here: no input changes V in the "
    "direction that the error has. Start elsewhere, weigh the rows otherwise, or hold rows that "
    "the motors reach."
)


@spec
class Lyapunov(Feedback):
    r"""Ask only that $V = \tfrac12 s^\top P s$ decreases, $\dot V = -2 \kappa V$: one row for all.

    With $s = \beta + \lambda\phi$, $z = P^{1/2} s$ and $n = P^{1/2} z / |z|$ the row is

    $$ n^\top A\, a = n^\top (b - \lambda\beta) - \kappa |z| . $$

    The allocation meets it with the least input, so the motors push along the error and nowhere
    else, and one motor may serve several rows. Its singular places are two. Where no input
    changes $V$, the run ends as ``infeasible``. And where $s = 0$ there is no direction to push in:
    within $|z| \le$ ``tube`` the input fades out, and the error drifts until the tube's wall turns
    it back.

    If the wrong model leaves at most ``uncertainty`` of the acceleration along $n$, then $|z|$
    ends within $R = \max(\mathrm{tube}, \mathrm{uncertainty}/\kappa)$, at the speed $\kappa$.

    References:
        Udwadia, "A new approach to stable optimal control of complex nonlinear dynamical
        systems", J. Appl. Mech. 81, 031001, 2014.
    """

    kind: Literal["lyapunov"] = "lyapunov"
    assumed: ClassVar[tuple[str, ...]] = ("uncertainty", "weight", "least_grip")
    kappa: Positive
    r"""Decay of $|z|$ [1/s]; $\dot V = -2\kappa V$."""
    rate: Rate
    r"""$\lambda$, the decay of $\phi$ once $z$ is zero [1/s]."""
    tube: Positive
    r"""Radius in $|z|$ within which the demand fades out [weighed unit of the rows per s]."""
    uncertainty: NonNegative = 0.0
    """Bound of the acceleration that the wrong model leaves along the row, for the promise
    [weighed unit of the rows per s^2]."""
    weight: PositivePerRow = 1.0
    """Weight of the rows, the diagonal of $P$ [1/unit^2]."""
    least_grip: Threshold = 1e-6
    r"""The row counts as vanished where $|n^\top A G|$ is less than this of $|n^\top A| |G|$."""

    def promised(self) -> DecayBound:
        """Return what the law promises."""
        return DecayBound(max(self.tube, self.uncertainty / self.kappa), self.kappa, self.rate)

    def attach(self, stack: Stack) -> ModelFeedback:
        return _BoundLyapunov(self, stack)

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float] | None:
        """Return gains for the errors outside of the tube; None below a damping of 1."""
        return surface_gains(terms)


@final
class _BoundLyapunov(SurfaceFeedback):
    def __init__(self, spec: Lyapunov, stack: Stack) -> None:
        super().__init__(SlidingSurface(stack, spec.rate, spec.weight), spec.promised(), ("V",))
        self._spec, self._rows = spec, stack.names

    def steps(
        self, rows: Rows, memory: Vector, dynamics: Dynamics, buffers: FeedbackBuffers
    ) -> Iterable[KernelStep]:
        law, surface, row = self._spec, self._surface, buffers.rows

        def vanished(code: int) -> Exception:
            miss = abs(float(buffers.demand[0] - row.A[0] @ dynamics.a_free))
            return InfeasibleConstraint(self._rows, [miss], 0, 1, VANISHED_ROW_ADVICE)

        numbers = float(law.kappa), float(law.tube), float(law.least_grip)
        args = rows, surface.rate, surface.scale, dynamics.G, *numbers
        yield BoundKernel(
            lyapunov_demand, *args, row, buffers.demand, buffers.demand_share, fault=vanished
        )

    def signals(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Mapping[str, Signal]:
        row, surface = Rows.zeros(1, len(dynamics.a_free)), self._surface
        grip = write_lyapunov_row(rows, surface.rate, surface.scale, dynamics.G, row)
        grip = grip if row.beta[0] > 0.0 else np.nan
        signal = Signal(grip, "1", "grip of the inputs on the row of V' = -w")
        return {"grip": signal, **super().signals(rows, memory, dynamics)}


@allocating
def write_lyapunov_row(rows: Rows, rate: Vector, scale: Vector, G: Matrix, row: Rows) -> float:
    r"""Write the one row $n^\top A\, a = n^\top (b - \lambda\beta)$ and $|z|$ as its ``beta``.

    Returns the grip, ``|n' A G|`` as a fraction of ``|n' A| |G|``, which it could be at most.
    """
    z = np.empty(len(rows.b))
    size = weighted_error(rows.beta, rows.phi, rate, scale, z)
    row.b[0], row.beta[0], row.phi[0] = 0.0, size, np.nan
    n, nu = G.shape
    for c in range(n):
        row.A[0, c] = 0.0
    for i in range(len(z)):
        along = scale[i] * z[i] / size if size > 0.0 else 0.0
        row.b[0] += along * (rows.b[i] - rate[i] * rows.beta[i])
        for c in range(n):
            row.A[0, c] += along * rows.A[i, c]
    pushed, long, wide = 0.0, 0.0, 0.0
    for c in range(n):
        long += row.A[0, c] * row.A[0, c]
    for k in range(nu):
        share = 0.0
        for c in range(n):
            share += row.A[0, c] * G[c, k]
            wide += G[c, k] * G[c, k]
        pushed += share * share
    could = np.sqrt(long) * np.sqrt(wide)
    return float(np.sqrt(pushed) / could) if could > 0.0 else 0.0


@compiled
def lyapunov_demand(
    rows: Rows,
    rate: Vector,
    scale: Vector,
    G: Matrix,
    kappa: float,
    tube: float,
    least_grip: float,
    row: Rows,
    demand: Vector,
    share: Vector,
) -> bool:
    """Write the one row, its demand and its share; return whether it can be met at all."""
    grip = write_lyapunov_row(rows, rate, scale, G, row)
    size = row.beta[0]
    inside = min(size / tube, 1.0)
    # 3 s^2 - 2 s^3 joins with a slope of zero at both ends, so that the input has no corner
    share[0] = inside * inside * (3.0 - 2.0 * inside)
    demand[0] = row.b[0] - kappa * size
    # at the centre of the tube nothing is asked for, and a row that vanishes there is no fault
    return not (share[0] > 0.0 and grip < least_grip)
