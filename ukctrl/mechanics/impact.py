r"""Impacts of several contacts with friction, as one complementarity problem.

Over an impact the configuration stays and impulses $p$ change the velocity,
$v^+ = v + M^{-1} J^\top p$. Of every contact that touches, with the relative velocity $u = J v$ of
its rows along the normal ($n$) and along the tangents ($t$), Coulomb's law asks

$$ 0 \le p_n \perp u_n^+ \ge 0, \qquad \lVert p_t \rVert \le \mu p_n, \qquad
   u_t^+ \ne 0 \Rightarrow p_t = -\mu p_n\, u_t^+ / \lVert u_t^+ \rVert , $$

so that it opens, sticks, slides on or slides the other way as the velocity *after* the impact has
it. The energy falls: $\Delta T = u^+ \cdot p - \tfrac12 p^\top J M^{-1} J^\top p \le 0$.

With a restitution $e$ (Poisson) a second impact follows from that state, with
$e\,p_n \le p_n' \perp u_n' \ge 0$ and Coulomb's law for $p'$.

References:
    Pfeiffer & Glocker, *Multibody Dynamics with Unilateral Contacts*, 1996, chapters 8 and 9.
    Acary & Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 2008, chapter 13.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import UkctrlError

TOLERANCE = 1e-9
"""By which a solution may miss the law, in parts of the momentum and the velocities before."""
NEWTON_STEPS, NEWTON_TOLERANCE = 20, 1e-13
"""Steps of Newton's method, and the residual at which it is done."""
ENERGY_TOLERANCE = 1e-11
"""By which the energy may grow, as rounding has it, in parts of twice the kinetic energy."""
SWEEPS, LOCAL_STEPS = 2_049, 8
"""Sweeps over the contacts before an impact counts as unsolved; steps on a cone in each."""
ENUMERATED_CONTACTS = 2
"""Up to so many contacts all combinations of modes are tried; of more, three starts are."""
DIFFERENT = 1e-6
"""Solutions whose velocities differ by more are several."""
RANK_RTOL = 1e-10
"""Part of a row, or of a singular value, that is rounding."""
OPENED, SLID, STUCK = 0, 1, 2
"""What a contact does in an impact."""


class NoImpactSolution(UkctrlError, ArithmeticError):
    """No impulses of the contacts obey Coulomb's law."""


class ImpactBreach(UkctrlError, ArithmeticError):
    """Impulses of an impact that would create energy."""


class ImpactContact(NamedTuple):
    """One contact of an impact, by its rows."""

    normal: Indices
    """The height; of a flat contact, the tilts too, which its normal force holds."""
    tangential: Indices
    """The two slips; of a flat contact, the spin too."""
    mu: float
    """Coefficient of friction."""
    restitution: float = 0.0
    """Part of the impulse of compression that follows in expansion, from 0 to 1."""


class Impact(NamedTuple):
    """What an impact does."""

    velocity: Vector
    """Velocity after it, shape ``(nv,)``."""
    impulse: Vector
    """Impulse along each row, shape ``(m,)`` [N s or N m s]."""
    modes: Indices
    """Opened, slid or stuck, one for each contact."""
    loss: float
    """Energy that contacts have taken [J]."""
    solutions: int
    """Different velocities that obey the law, as many as were met: where corners that slide share
    a load, there may be a continuum."""


class _Problem(NamedTuple):
    """An impact in units of its own: rows of unit length, a kinetic energy of one half."""

    G: Matrix
    """Velocities per impulse."""
    u: Vector
    """Velocities before the impact."""
    contacts: Sequence[ImpactContact]
    least: Vector
    """Least impulse along the normal of each contact."""


class _Mode(NamedTuple):
    """What a contact is tried to do."""

    closed: bool
    """Whether it stays on the ground; else its impulse is the least one."""
    rubs: bool
    """Whether there is friction."""
    direction: Vector | None
    """Where it slides to; None: it sticks."""


class _Modes(NamedTuple):
    """What all contacts are tried to do, and impulses near those that it takes."""

    impulse: Vector
    modes: list[_Mode]


def solve_impact(
    M: Matrix,
    v: Vector,
    A: Matrix,
    residual: Vector,
    contacts: Sequence[ImpactContact],
    rest_speed: float,
) -> Impact:
    r"""Return the velocity after an impact and what each contact does.

    Args:
        M: Mass matrix, shape ``(nv, nv)``.
        v: Velocity before, shape ``(nv,)``.
        A: Rows of all contacts that touch, and rows that hold throughout, shape ``(m, nv)``.
        residual: Velocities of the rows before, shape ``(m,)``.
        contacts: Which rows are whose; those of none hold both ways.
        rest_speed: A contact that would leave the ground, or slip, no faster stays [m/s]: a
            projection on its rows, in the metric of ``M``, takes what is left.

    Raises:
        NoImpactSolution: No impulses obey the law.
        ImpactBreach: The energy would grow, which a restitution can do beside friction.
    """
    L = np.linalg.cholesky(M)
    W = _free_rows(np.linalg.solve(L, A.T).T, contacts)
    momentum = float(np.linalg.norm(L.T @ v))
    if momentum == 0.0:
        return Impact(v.copy(), np.zeros(len(A)), np.full(len(contacts), STUCK), 0.0, 1)
    unit = _row_units(W, contacts)
    X, speed = W / unit[:, None], unit * momentum
    problem = _Problem(X @ X.T, residual / speed, contacts, np.zeros(len(contacts)))
    impulse, solutions = _solve(problem)
    restitution = np.array([contact.restitution for contact in contacts])
    if restitution.any():
        pressed = np.array([impulse[contact.normal[0]] for contact in contacts])
        compressed = problem.u + problem.G @ impulse
        rebound, more = _solve(
            problem._replace(u=compressed, least=restitution * np.maximum(pressed, 0.0))
        )
        impulse, solutions = impulse + rebound, max(solutions, more)
    after = problem.u + problem.G @ impulse
    # of contacts alone: rows that a clock moves may feed energy
    work = 0.5 * float(impulse @ (problem.u + after))
    if work > ENERGY_TOLERANCE:
        raise ImpactBreach(
            f"the impact would create energy, {2.0 * work:.2g} of the kinetic energy before it, as "
            "restitution beside friction can. Lower restitution."
        )
    after *= speed
    modes, still = _rest(after, contacts, rest_speed)
    slack = _pseudo_inverse(W[still]) @ after[still]
    loss = 0.5 * float(slack @ slack) - work * momentum**2
    velocity = v + np.linalg.solve(L.T, X.T @ impulse * momentum - slack)
    return Impact(velocity, impulse * momentum / unit, modes, loss, solutions)


def project_velocity(M: Matrix, v: Vector, A: Matrix, residual: Vector) -> Vector:
    r"""Return the velocity nearest to another, in the metric of the masses, that obeys rows.

    $v - M^{-1} A^\top (A M^{-1} A^\top)^+ \rho$ with the rows' residual velocities $\rho$.
    """
    L = np.linalg.cholesky(M)
    W = np.linalg.solve(L, A.T).T
    return v - np.linalg.solve(L.T, _pseudo_inverse(W) @ residual)


def _pseudo_inverse(G: Matrix) -> Matrix:
    return np.asarray(np.linalg.pinv(G, rcond=RANK_RTOL), dtype=np.float64)


def _free_rows(W: Matrix, contacts: Sequence[ImpactContact]) -> Matrix:
    """Return mass-weighted rows of contacts without their part along rows that hold throughout."""
    own = np.concatenate([[*contact.normal, *contact.tangential] for contact in contacts])
    free = np.zeros_like(W)
    free[own] = W[own]
    _, sigma, Vt = np.linalg.svd(np.delete(W, own, axis=0), full_matrices=False)
    Q = Vt[sigma > RANK_RTOL * max(sigma, default=0.0)]
    free -= (free @ Q.T) @ Q
    # of a row that they determine only rounding is left, which its unit would make a row
    free[np.linalg.norm(free, axis=1) <= RANK_RTOL * np.linalg.norm(W, axis=1)] = 0.0
    return free


def _row_units(W: Matrix, contacts: Sequence[ImpactContact]) -> Vector:
    """Return units of rows that make them of unit length: a length and an angle a contact."""
    size, unit = np.linalg.norm(W, axis=1), np.ones(len(W))
    for normal, tangential, *_ in contacts:
        # a cone joins the force along the normal and those across: one unit for the three
        for group in ([normal[0], *tangential[:2]], [*normal[1:], *tangential[2:]]):
            unit[group] = max(size[group], default=0.0) or 1.0
    return unit


def _rest(
    after: Vector, contacts: Sequence[ImpactContact], rest_speed: float
) -> tuple[Indices, list[int]]:
    """Return what contacts do after an impact, and the rows that do not move from then on."""
    modes, still = np.full(len(contacts), OPENED), list[int]()
    for c, (normal, tangential, mu, _) in enumerate(contacts):
        if after[normal[0]] <= rest_speed:
            sticks = mu > 0.0 and np.linalg.norm(after[tangential[:2]]) <= rest_speed
            modes[c] = STUCK if sticks else SLID
            still += [*normal, *tangential] if sticks else [*normal]
    return modes, still


def _solve(problem: _Problem) -> tuple[Vector, int]:
    """Return impulses that obey Coulomb's law, and how many velocities do as far as was tried.

    Of several, those that leave the least energy: a choice that no order of contacts changes.

    Raises:
        NoImpactSolution: None was met.
    """
    G, u, contacts = problem.G, problem.u, problem.contacts
    order = range(len(contacts))
    searches: list[Iterable[_Modes]] = [_sweeps(problem, np.zeros(len(u)), order)]
    if len(contacts) <= ENUMERATED_CONTACTS:
        searches += [[modes] for modes in _combinations(problem)]
    else:
        stuck = -_pseudo_inverse(G) @ u
        searches += [_sweeps(problem, p, order[::-1]) for p in (np.zeros(len(u)), stuck)]
    solutions: list[tuple[float, Vector]] = []
    for search in searches:
        answers = (_newton(problem, modes) for modes in search)
        impulse = next((p for p in answers if _obeys(problem, p)), None)
        if impulse is not None and all(
            (impulse - p) @ G @ (impulse - p) > DIFFERENT**2 for _, p in solutions
        ):
            solutions.append((float(impulse @ (2.0 * u + G @ impulse)), impulse))
    if not solutions:
        raise NoImpactSolution(
            f"no impulses of {len(contacts)} contacts that touch obey Coulomb's law, as far as "
            "was tried. Lower mu or restitution."
        )
    return min(solutions, key=lambda one: one[0])[1], len(solutions)


def _sweeps(problem: _Problem, p: Vector, order: Sequence[int]) -> Iterator[_Modes]:
    """Yield the modes that sweeps over the contacts come to, each solved beside the others.

    Projected Gauss-Seidel, which converges slowly and tells the modes soon; `_newton` does the
    rest.
    """
    G, u = problem.G, problem.u
    inverses: list[tuple[Indices, Matrix, Matrix, float]] = []
    for normal, tangential, *_ in problem.contacts:
        rows: Indices = np.concatenate([normal, tangential])
        inverse, normal_inverse = (
            _pseudo_inverse(G[np.ix_(each, each)]) for each in (rows, normal)
        )
        stiffest = float(np.linalg.norm(G[np.ix_(tangential[:2], tangential[:2])], 2))
        inverses.append((rows, inverse, normal_inverse, 1.0 / stiffest if stiffest > 0.0 else 0.0))
    for sweep in range(1, SWEEPS):
        for c in order:
            normal, tangential, mu, _ = problem.contacts[c]
            rows, inverse, normal_inverse, step = inverses[c]
            slip, least = tangential[:2], problem.least[c]
            free = u[rows] + G[rows] @ p - G[np.ix_(rows, rows)] @ p[rows]
            if free[0] >= 0.0 and least == 0.0:
                p[rows] = 0.0
                continue
            impulse = -inverse @ free
            size = float(np.linalg.norm(impulse[len(normal) : len(normal) + 2]))
            if impulse[0] >= least and size <= mu * impulse[0]:
                p[rows] = impulse
                continue
            p[tangential[2:]] = 0.0
            for _ in range(LOCAL_STEPS):
                p[normal] -= normal_inverse @ (u[normal] + G[normal] @ p)
                if p[normal[0]] < least:
                    p[normal] = [least, *([0.0] * (len(normal) - 1))]
                friction = p[slip] - step * (u[slip] + G[slip] @ p)
                size, most = float(np.linalg.norm(friction)), mu * float(p[normal[0]])
                p[slip] = friction * (most / size) if size > most else friction
        # at powers of two
        if sweep & (sweep - 1) == 0:
            yield _modes_of(problem, p)


def _modes_of(problem: _Problem, p: Vector) -> _Modes:
    """Return the modes that impulses tell."""
    modes = []
    for c, (normal, tangential, mu, _) in enumerate(problem.contacts):
        load, friction = p[normal[0]], p[tangential[:2]]
        size = float(np.linalg.norm(friction))
        rubs = mu * load > 0.0
        direction = -friction / size if rubs and size >= (1.0 - 1e-7) * mu * load else None
        modes.append(_Mode(bool(load > problem.least[c]), bool(rubs), direction))
    return _Modes(p.copy(), modes)


def _combinations(problem: _Problem) -> Iterator[_Modes]:
    """Yield every combination of modes; slips in four directions, from which they turn."""
    G, u = problem.G, problem.u
    choices = []
    for c, (_, tangential, mu, _) in enumerate(problem.contacts):
        slip, least = tangential[:2], problem.least[c]
        size = float(np.linalg.norm(u[slip]))
        along = u[slip] / size if size > 0.0 else np.array([1.0, 0.0])
        across = np.array([-along[1], along[0]])
        moves = [
            d
            for d in (along, -along, across, -across)
            if np.any(np.abs(G[slip][:, slip] @ d) > RANK_RTOL)
        ]
        rubbing = [_Mode(True, True, d) for d in (None, *moves)] if mu > 0.0 else []
        choice = rubbing or [_Mode(True, False, None)]
        if mu > 0.0 and least > 0.0:
            choice += [mode._replace(closed=False) for mode in rubbing]
        else:
            choice.append(_Mode(False, False, None))
        choices.append(choice)
    for modes in itertools.product(*choices):
        yield _Modes(np.zeros(len(u)), list(modes))


def _newton(problem: _Problem, guess: _Modes) -> Vector:
    """Return what Newton's method makes of modes; of redundant impulses those nearest a guess."""
    G, m = problem.G, len(problem.u)
    p, identity, last = guess.impulse.copy(), np.eye(m), np.inf
    slides = any(mode.direction is not None for mode in guess.modes)
    for step in range(NEWTON_STEPS):
        u = problem.u + G @ p
        F, D = p.copy(), identity.copy()
        for c, (normal, tangential, mu, _) in enumerate(problem.contacts):
            mode, n, slip = guess.modes[c], normal[0], tangential[:2]
            if mode.closed:
                F[normal], D[normal] = u[normal], G[normal]
            else:
                F[n] -= problem.least[c]
            if not mode.rubs:
                continue
            if mode.direction is None:
                F[tangential], D[tangential] = u[tangential], G[tangential]
                continue
            d, speed = mode.direction, float(np.linalg.norm(u[slip]))
            # the first step keeps the direction that is tried
            if step and speed > 0.0:
                d = u[slip] / speed
                turn = np.eye(2) - np.outer(d, d)
                D[slip] += mu * p[n] / speed * turn @ G[slip]
            F[slip] += mu * p[n] * d
            D[slip, n] += mu * d
        size = float(np.abs(F).max())
        done = step and size <= NEWTON_TOLERANCE * max(1.0, float(np.abs(p).max()))
        # one step solves what is linear; modes that contradict each other do not converge
        if done or (step and not slides) or (step > 3 and not size < 0.5 * last):
            return p
        p -= np.linalg.lstsq(D, F, rcond=RANK_RTOL)[0]
        last = size
    return p


def _obeys(problem: _Problem, p: Vector) -> bool:
    """Return whether impulses obey Coulomb's law, whatever modes they were found by."""
    u = problem.u + problem.G @ p
    misses = []
    for c, (normal, tangential, mu, _) in enumerate(problem.contacts):
        load, rate, slip, friction = (
            p[normal[0]],
            u[normal[0]],
            u[tangential[:2]],
            p[tangential[:2]],
        )
        speed = float(np.linalg.norm(slip))
        misses += [
            problem.least[c] - load,
            -rate,
            min(load - problem.least[c], rate),
            float(np.linalg.norm(friction)) - mu * load,
            float(np.linalg.norm(friction * speed + mu * load * slip)),
        ]
        # a sole turns where it is not pressed, and spins where it slides
        turns = [*normal[1:]] if load > problem.least[c] + TOLERANCE else []
        spins = [*tangential[2:]] if mu * load > 0.0 and speed <= TOLERANCE else []
        misses += [abs(u[row]) for row in [*turns, *spins]]
        loose = {*normal[1:], *tangential[2:]}.difference(turns, spins)
        misses += [abs(p[row]) for row in loose]
    return bool(max(misses) <= TOLERANCE * max(1.0, float(np.abs(p).max())))
