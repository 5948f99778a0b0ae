"""The three systems once more, by hand: reduced coordinates, other integrators, nothing of ukctrl.

The rows are solved for the driven coordinates; what is left is a differential equation of the
spring alone. It is integrated by SciPy's DOP853 or Radau, or solved by its `solve_bvp`.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_bvp, solve_ivp

RTOL, ATOL = 1e-11, 1e-12
Path = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Times, shape (k,), to a path and two derivatives, each of shape (rows, k)."""


def rest_to_rest(start: np.ndarray, end: np.ndarray, duration: float) -> Path:
    """Return the path with four vanishing derivatives at both ends, standing still outside."""
    steps = np.polynomial.Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])
    way = (np.asarray(end) - start)[:, None]

    def path(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = np.clip(np.atleast_1d(t) / duration, 0.0, 1.0)
        r, r1, r2 = (steps.deriv(k)(x) / duration**k if k else steps(x) for k in range(3))
        return np.asarray(start)[:, None] + way * r, way * r1, way * r2

    return path


# The mass on the car


def car_flat(t: np.ndarray, m1: float, m2: float, k: float, T: float) -> tuple[np.ndarray, ...]:
    """Return s, its rate and F of the level rail without damper: y is a flat output."""
    steps = np.polynomial.Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])
    x, inside = np.clip(t / T, 0.0, 1.0), (t >= 0.0) & (t <= T)
    y2, y3, y4 = (np.where(inside, steps.deriv(n)(x) / T**n, 0.0) for n in (2, 3, 4))
    return -m2 / k * y2, -m2 / k * y3, (m1 + m2) * y2 + m1 * m2 / k * y4


def car_inner(
    t: np.ndarray, m1: float, m2: float, k: float, c: float, alpha: float, T: float
) -> tuple[np.ndarray, ...]:
    r"""Return s, its rate and F of a rail with a damper.

    $m_2 \sin^2\alpha\, \ddot s + c\, \dot s + k s = -m_2 \cos\alpha\, \ddot y$; of first order on a
    level rail.
    """
    path = rest_to_rest(np.zeros(1), np.ones(1), T)
    heavy, share = m2 * np.sin(alpha) ** 2, m2 * np.cos(alpha)
    steps = np.polynomial.Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])

    def push(at: float) -> float:
        return -share * float(path(np.array([at]))[2][0, 0])

    pieces = [t[t <= T], t[t > T]]  # no step across the jump of the fifth derivative
    options = {"method": "Radau" if heavy else "DOP853", "rtol": RTOL, "atol": ATOL}
    state, states = np.zeros(2 if heavy else 1), []

    def rate(at: float, z: np.ndarray) -> list[float]:
        if not heavy:
            return [(push(at) - k * z[0]) / c]
        return [z[1], (push(at) - k * z[0] - c * z[1]) / heavy]

    for piece, (begin, end) in zip(pieces, ((0.0, T), (T, max(t[-1], T))), strict=True):
        if end > begin:
            way = solve_ivp(rate, (begin, end), state, t_eval=np.unique([*piece, end]), **options)
            states.append(way.y[:, : len(piece)])
            state = way.y[:, -1]
    z = np.hstack(states)
    y2 = path(t)[2][0]
    if heavy:
        s, v = z
        bend = (-share * y2 - k * s - c * v) / heavy
    else:
        s, v = z[0], (-share * y2 - k * z[0]) / c
        y3 = np.where(t <= T, steps.deriv(3)(np.clip(t / T, 0.0, 1.0)) / T**3, 0.0)
        bend = (-share * y3 - k * v) / c
    return s, v, m1 * (y2 - bend * np.cos(alpha)) + m2 * y2


# Arms in the plane whose last joint is elastic


@dc.dataclass(frozen=True)
class Arm:
    """Uniform thin bars in a row, the last joint a spring, a point of the last bar held."""

    lengths: tuple[float, ...]
    masses: tuple[float, ...]
    stiffness: float
    damping: float
    reach: float
    """Of the held point along the last bar [m]."""
    axes: tuple[int, ...]
    """World axes that are held: 0 for x, 1 for y."""
    bend: float = 1.0
    """Sign of the elbow, where there is one."""

    def motion(
        self, flex: np.ndarray, rate: np.ndarray, r: np.ndarray, r1: np.ndarray, r2: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return q, v, a and u where the point keeps its path; shapes (n, k) and (n - 1, k)."""
        n, count = len(self.lengths), len(flex)
        q = np.vstack([self._driven(flex, r), flex])
        theta = np.cumsum(q, axis=0)
        along = np.stack([np.cos(theta), np.sin(theta)])  # (2, n, k)
        across = np.stack([-np.sin(theta), np.cos(theta)])
        ends = (*self.lengths[:-1], self.reach)
        J = self._jacobian(across, ends)[list(self.axes)]  # (rows, n, k)
        JT = np.moveaxis(J, 2, 0)
        driven = np.linalg.solve(JT[:, :, : n - 1], (r1 - J[:, -1] * rate).T[..., None])[..., 0].T
        v = np.vstack([driven, rate])
        omega = np.cumsum(v, axis=0)
        M, h = np.zeros((count, n, n)), np.zeros((count, n))
        for i, (length, mass) in enumerate(zip(self.lengths, self.masses, strict=True)):
            arms = (*self.lengths[:i], length / 2.0)
            Jc = np.moveaxis(self._jacobian(across, arms), 2, 0)
            drift = -sum(arm * along[:, j] * omega[j] ** 2 for j, arm in enumerate(arms))
            M += mass * np.einsum("kdi,kdj->kij", Jc, Jc)
            M[:, : i + 1, : i + 1] += mass * length**2 / 12.0
            h += mass * np.einsum("kdi,dk->ki", Jc, drift)
        h[:, -1] += self.stiffness * flex + self.damping * rate
        drift = -sum(end * along[:, j] * omega[j] ** 2 for j, end in enumerate(ends))
        whole = np.zeros((count, 2 * n - 1, 2 * n - 1))
        whole[:, :n, :n] = M
        whole[:, : n - 1, n:] = -np.eye(n - 1)
        whole[:, n:, :n] = JT
        right = np.hstack([-h, (r2 - drift[list(self.axes)]).T])
        x = np.linalg.solve(whole, right[..., None])[..., 0].T
        return q, v, x[:n], x[n:]

    def _jacobian(self, across: np.ndarray, arms: tuple[float, ...]) -> np.ndarray:
        found = np.zeros((2, len(self.lengths), across.shape[2]))
        for j, arm in enumerate(arms):
            found[:, : j + 1] += arm * across[:, j][:, None, :]
        return found

    def _driven(self, flex: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the driven joints: the last two bars are one of another length and direction."""
        last, reach = self.lengths[-2], self.reach
        span = np.sqrt(last**2 + reach**2 + 2.0 * last * reach * np.cos(flex))
        lean = np.arctan2(reach * np.sin(flex), last + reach * np.cos(flex))
        if len(self.lengths) == 2:
            return (np.arcsin(r[0] / span) - lean)[None]
        upper = self.lengths[0]
        elbow = np.arccos((r[0] ** 2 + r[1] ** 2 - upper**2 - span**2) / (2.0 * upper * span))
        elbow = self.bend * elbow
        side = np.arctan2(span * np.sin(elbow), upper + span * np.cos(elbow))
        shoulder = np.arctan2(r[1], r[0]) - side
        return np.vstack([shoulder, elbow - lean])

    def inner(self, path: Path) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return the differential equation of the spring alone."""

        def rate(t: np.ndarray, z: np.ndarray) -> np.ndarray:
            z = np.asarray(z).reshape(2, -1)
            a = self.motion(z[0], z[1], *path(np.atleast_1d(t)))[2]
            return np.vstack([z[1], a[-1]])

        return rate

    def forwards(self, path: Path, t: np.ndarray, jump: float) -> tuple[np.ndarray, ...]:
        """Return q, v and u from rest on, integrated forwards; ``jump`` is when the path ends."""
        rate, states, z = self.inner(path), [], np.zeros(2)
        for part, span in ((t <= jump, (t[0], jump)), (t > jump, (jump, t[-1]))):
            way = solve_ivp(
                lambda at, z: rate(at, z)[:, 0], span, z, method="DOP853", rtol=RTOL, atol=ATOL,
                t_eval=np.unique([*t[part], span[1]]),
            )  # fmt: skip
            states.append(way.y[:, : np.count_nonzero(part)])
            z = way.y[:, -1]
        q, v, _, u = self.motion(*np.hstack(states), *path(t))
        return q.T, v.T, u.T

    def eigenvalues(self, path: Path, t: float) -> np.ndarray:
        """Return those of the spring's equation at rest [1/s], by differences."""
        rate, e = self.inner(path), 1e-6
        at = np.array([t])
        columns = [(rate(at, e * d) - rate(at, -e * d))[:, 0] / (2.0 * e) for d in np.eye(2)]
        return np.sort(np.linalg.eigvals(np.array(columns).T).real)

    def bounded(self, path: Path, t: np.ndarray, begin: float, end: float) -> tuple:
        """Return q, v and u of the motion that stays bounded, by SciPy's collocation."""
        growing = self.eigenvalues(path, begin)[1]
        decaying = self.eigenvalues(path, end)[0]

        def ends(first: np.ndarray, last: np.ndarray) -> np.ndarray:
            return np.array([first[1] - growing * first[0], last[1] - decaying * last[0]])

        mesh = np.linspace(begin, end, 2001)
        found = solve_bvp(
            self.inner(path), ends, mesh, np.zeros((2, len(mesh))), tol=1e-9, max_nodes=200_000
        )
        if not found.success:
            raise RuntimeError(found.message)
        q, v, _, u = self.motion(*found.sol(t), *path(t))
        return q.T, v.T, u.T
