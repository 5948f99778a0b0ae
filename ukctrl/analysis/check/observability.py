r"""Whether an observer can see the state along a motion: of the linear system at several moments.

At a moment a mode is seen where no eigenvector of $A$ is hidden from what is measured, $H$. How
near one is to that is Hautus's smallest singular value,

$$ \sigma = \min_{\lambda \in \mathrm{eig} A} \sigma_n
   \begin{bmatrix} A - \lambda I \\ H \end{bmatrix}, $$

with speeds in units of $\omega$ times those of positions and time in $1/\omega$, $\omega^2$ the
size of what positions do to accelerations, at least 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.check.check_result import Diagnostic
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.analysis.linear.zeros import unobservable_modes
from ukctrl.core.arrays import Matrix
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.observers.measurements import TimedState

SAMPLES = 6
"""Looked at along a motion, its ends included."""
WEAK_SIGMA = 1e-3
"""A smaller value is worth a warning: noise in what is measured is a thousandfold in the state."""


class ObservabilitySample(NamedTuple):
    """What an observer sees at a moment."""

    t: float
    unobservable: tuple[str, ...]
    """States of the modes that nothing measured shows."""
    sigma: float
    """How far the nearest mode is from that."""


def observability_samples(loop: Loop, motion: TaskMotion) -> Iterator[ObservabilitySample]:
    """Yield what the observer of a scenario sees along its motion, or at its start without one."""
    estimator = loop.estimator
    if estimator is None:
        return
    believed = estimator.filter.motion
    moments = [(loop.t0, loop.state.q, loop.state.v)]
    if len(motion.t):
        chosen = np.unique(np.linspace(0, len(motion.t) - 1, SAMPLES).round().astype(int))
        moments = [(float(motion.t[k]), motion.q[k], motion.v[k]) for k in chosen]
    biases, names = believed.biases, estimator.bias_names()
    for t, q, v in moments:
        u = believed.resting_input(t, q, v)
        linear, state = believed.linear(t, q, v, u), IntegratorState(q, v, np.zeros(biases))
        n = len(linear.A)
        A = np.zeros((n + biases, n + biases))
        A[:n, :n] = linear.A
        full, at = believed.tangent_basis(t, state), TimedState(t, state, u)
        full = np.vstack([full, np.zeros((len(believed.process_noise_indices), n + biases))])
        H = np.concatenate([measurement.slopes(at, full) for measurement in estimator.measurements])
        hidden = unobservable_modes(A, H, (*linear.states, *(f"bias of {name}" for name in names)))
        sigma = hautus_sigma(A, H, len(linear.positions), n)
        yield ObservabilitySample(t, tuple(dict.fromkeys(mode.states for mode in hidden)), sigma)


def hautus_sigma(A: Matrix, H: Matrix, positions: int, states: int) -> float:
    """Return how far the mode that is seen least is from being hidden.

    Args:
        A: Of positions, speeds and biases.
        H: What is measured of them.
        positions: How many there are.
        states: And together with speeds.
    """
    rate = max(1.0, float(np.sqrt(max_abs(A[positions:states, :positions]))))
    size = np.ones(len(A))
    size[positions:states] = rate
    A, H = A * size / size[:, None] / rate, H * size
    eye = np.eye(len(A))
    pencils = [np.vstack([A - pole * eye, H]) for pole in np.linalg.eigvals(A)]
    return min(float(np.linalg.svd(one, compute_uv=False)[-1]) for one in pencils)


def observability_diagnostics(samples: list[ObservabilitySample]) -> Iterator[Diagnostic]:
    """Yield what these looks mean for an observer."""
    if not samples:
        return
    blind = next((look for look in samples if look.unobservable), None)
    worst = min(samples, key=lambda look: look.sigma)
    measure = "Measure more: sensing.joints, sensing.speeds, sensing.camera or sensing.imu."
    if blind is not None:
        text = (
            f"the observer does not see {' and '.join(blind.unobservable)} at t = {blind.t:.4g} s: "
            "nothing that is measured changes with it, and its estimate is the model's alone."
        )
        yield Diagnostic("warning", "observer", text, blind.t, measure)
    elif worst.sigma < WEAK_SIGMA:
        text = (
            f"the observer hardly sees some of the state at t = {worst.t:.4g} s: the smallest "
            f"singular value of what shows a mode falls to {worst.sigma:.2g}."
        )
        yield Diagnostic("warning", "observer", text, worst.t, measure)
    else:
        text = (
            f"the observer sees the whole state at all moments looked at, {len(samples)}: the "
            f"smallest singular value of what shows a mode is {worst.sigma:.2g}."
        )
        yield Diagnostic("note", "observer", text)
