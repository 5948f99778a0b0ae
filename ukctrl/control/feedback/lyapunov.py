r"""The decrease of a Lyapunov function, demanded as one scalar row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, final

import numpy as np

from ukctrl.control.feedback.feedback import Ask, Feedback, ModelFeedback, PositivePerRow
from ukctrl.control.feedback.surface import Decay, Surface, SurfaceFeedback
from ukctrl.control.task import Signal
from ukctrl.core.algebra.rank_policy import Threshold
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InfeasibleConstraint
from ukctrl.core.fields import NonNegative, Positive, Rate, spec
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

VANISHED = (
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

    def promised(self) -> Decay:
        """Return what the law promises."""
        return Decay(max(self.tube, self.uncertainty / self.kappa), self.kappa, self.rate)

    def attach(self, stack: Stack) -> ModelFeedback:
        return _Lyapunov(self, stack)


@final
class _Lyapunov(SurfaceFeedback):
    def __init__(self, spec: Lyapunov, stack: Stack) -> None:
        super().__init__(Surface(stack, spec.rate, spec.weight), spec.promised(), ("V",))
        self._spec, self._rows = spec, stack.names

    def _row(self, rows: Rows) -> tuple[Rows, float]:
        """Return the one row, with ``b`` of a motion that leaves the surface alone, and |z|."""
        z = self._surface.error(rows)
        size = float(np.linalg.norm(z))
        n = self._surface.scale * z / size if size > 0.0 else np.zeros(len(z))
        b = n @ (rows.b - self._surface.rate * rows.beta)
        return Rows((n @ rows.A)[None, :], np.array([b]), np.array([size]), _NO_PHI), size

    def ask(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Ask:
        law = self._spec
        row, size = self._row(rows)
        inside = min(size / law.tube, 1.0)
        share = inside**2 * (3.0 - 2.0 * inside)
        if share > 0.0 and _grip(row, dynamics) < law.least_grip:
            miss = abs(float(row.b[0] - row.A[0] @ dynamics.a_free) - law.kappa * size)
            raise InfeasibleConstraint(self._rows, [miss], 0, 1, VANISHED)
        return Ask(row, row.b - law.kappa * size, self._still, share)

    def signals(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Mapping[str, Signal]:
        row, size = self._row(rows)
        grip = _grip(row, dynamics) if size > 0.0 else np.nan
        signal = Signal(grip, "1", "grip of the inputs on the row of V' = -w")
        return {"grip": signal, **super().signals(rows, memory, dynamics)}


_NO_PHI: Vector = np.full(1, np.nan)


def _grip(row: Rows, dynamics: Dynamics) -> float:
    """Return ``|n' A G|`` as a fraction of ``|n' A| |G|``, which it could be at most."""
    could = float(np.linalg.norm(row.A)) * float(np.linalg.norm(dynamics.G))
    return float(np.linalg.norm(row.A @ dynamics.G)) / could if could > 0.0 else 0.0
