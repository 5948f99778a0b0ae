r"""The linear system itself, and what makes it at one state after another.

Passive constraints leave fewer freedoms than velocities. As many velocities as they allow are
chosen to stand for all, $x = (\delta q_i, \delta v_j)$, and the others follow from the rows,
differentiated once and twice:

$$ \delta q = N_q\, \delta q_i, \qquad \delta v = N_v\, \delta v_j + S\, \delta q_i . $$

$N_q$ keeps the rows that hold positions, among them rows on velocities that integrate, such as the
slip of feet that stick; $N_v$ keeps all of them.

With $r = M a + \mathrm{nle} - f - B u - A_p^\top \lambda$ and $g = A_p a - b_p$ the acceleration
changes by $\delta a = -W\, \delta r - M^{-1} A_p^\top (A_p M^{-1} A_p^\top)^+ \delta g + G\,
\delta u$. Derivatives of rigid bodies
and of springs, dampers and friction in joints are exact; those of plants and forces given by
formulas, of springs between frames, of passive rows and of inputs whose grip varies are central
differences of sixth order along the tangent, good to some $10^{-11}$.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.core.algebra.solution_checks import singular_mass_error
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import NotFinite
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.contact import USES_PLAN
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains, passive_constraints
from ukctrl.mechanics.integrability import positional_rows
from ukctrl.mechanics.linearise.constraint_null_space import ConstraintNullSpace
from ukctrl.mechanics.linearise.deviation_map import DeviationMap, write_deviation_map
from ukctrl.mechanics.linearise.directional_differences import DirectionalDifferences
from ukctrl.mechanics.linearise.equilibrium import equilibrium
from ukctrl.mechanics.linearise.linear_system_kernels import (
    LinearArrays,
    differences_if_sliding,
    equation_residual,
    factor_mass,
    write_gained,
    write_linear_system,
)
from ukctrl.mechanics.linearise.plant_jacobians import force_jacobian_steps, split_smooth_forces
from ukctrl.robot import AnyRobot, Robot, applied_force_kernels, as_robot
from ukctrl.robot.snapshot import state_vector


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Linearization:
    """A linear system ``x_dot = A x + B du``; unpacks as ``A, B``."""

    robot: Robot
    A: Matrix
    """Shape ``(n, n)``."""
    B: Matrix
    """Shape ``(n, nu)``."""
    full: Matrix
    """All deviations from the chosen ones, ``(dq, dv) = full x``, shape ``(2 nv, n)``."""
    positions: Indices
    """The velocities along which the configuration's deviations are ``x``'s first entries."""
    velocities: Indices
    """The velocities whose deviations are the other entries."""
    q: Vector
    """Configuration, shape ``(nq,)``."""
    v: Vector
    """Velocity, shape ``(nv,)``."""
    u: Vector
    """Input, shape ``(nu,)``."""
    a: Vector
    """Acceleration there, shape ``(nv,)``; zero at an equilibrium."""

    def __iter__(self) -> Iterator[Matrix]:
        return iter((self.A, self.B))

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the entries of ``x``: velocities, those of rates as ``v.<name>``."""
        dofs = self.robot.dofs
        return (*(dofs[i] for i in self.positions), *(f"v.{dofs[j]}" for j in self.velocities))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.robot.actuators

    def deviation(self, q: Vector, v: Vector) -> Vector:
        """Return ``x`` of a state, shape ``(n,)``."""
        dq, dv = self.robot.difference(self.q, q), v - self.v
        return np.concatenate([dq[self.positions], dv[self.velocities]])

    def poles(self) -> NDArray[np.complex128]:
        """Return the eigenvalues of ``A``, shape ``(n,)`` [1/s]."""
        return np.asarray(np.linalg.eigvals(self.A), dtype=np.complex128)


@final
class Linearizer:
    """Linearises a robot at one state after another.

    Args:
        robot: The robot.
        rank: When passive rows count as dependent.
        rough: Whether nine digits will do where there are differences, for less time.
        contacts: What contacts that only push do, by name; absent: they stand, unless the law plans
            to lift them.

    Attributes:
        position_rows: Indices of the passive rows that hold positions.
    """

    def __init__(
        self,
        robot: Robot,
        rank: RankPolicy = RUN_RANK,
        *,
        rough: bool = False,
        contacts: Mapping[str, Vector] = MappingProxyType({}),
    ) -> None:
        self.robot = robot
        # Along the tangent the errors of the rows stay zero, so what stabilises them has no part.
        self._dynamics = Dynamics(robot, rank, StabilisationGains(0.0, 0.0))
        unilateral = self._dynamics.contacts
        if unilateral is not None:
            unilateral.copy_modes(contacts)
            # modes that are given are not overruled by a plan
            unilateral.mode[[name in contacts for name in unilateral.names], USES_PLAN] = 0.0
        self.position_rows = np.flatnonzero(
            positional_rows(Stack(passive_constraints(robot), robot).attached, robot)
        )
        self._exact, self._others = split_smooth_forces(robot.forces)
        varies = bool(self._others) or robot.actuation.varies
        # what has no closed form is differenced: other forces, a B that varies, passive rows
        self._moves = varies or bool(len(self._dynamics.passive))
        d, s, self._a_there = self._dynamics, self._dynamics.snapshot, np.zeros(robot.nv)
        self._u, self._a, self._lam = (
            np.zeros(robot.nu),
            np.zeros(robot.nv),
            np.zeros(len(d.passive)),
        )
        residual, f, rows = np.zeros(robot.nv + len(d.passive)), np.zeros(robot.nv), d.passive.rows
        force_steps = (step for term in self._others for step in term.steps(s, f))
        args = f, s.B, self._u, d.nonideal, rows.A, rows.b, self._lam, self._a, residual
        steps = (
            *d.look_steps,
            BoundKernel(applied_force_kernels.set_zero, f),
            *force_steps,
            BoundKernel(equation_residual, *args),
        )
        self._rest = DirectionalDifferences(s, steps, residual, rough=rough)
        self._sequences: dict[Any, Any] = {}
        self._slip = DirectionalDifferences(s, d.look_steps, rows.beta, rough=rough)
        self._rubbing: DirectionalDifferences | None = None
        if (
            unilateral is not None
        ):  # friction that follows the load: all of the answer by differences
            answer = BoundKernel(
                block_diagonal.apply_input_blockwise, d.ties, d.a_free, d.G, self._u, self._a_there
            )
            self._rubbing = DirectionalDifferences(
                s, (*d.steps.items, answer), self._a_there, rough=rough
            )

    def at(
        self, t: float, q: Vector, v: Vector, u: Vector, like: Linearization | None = None
    ) -> Linearization:
        """Return the linear system at a state, which must be on the passive constraints.

        Args:
            t: Time [s].
            q: Configuration, shape ``(nq,)``.
            v: Velocity, shape ``(nv,)``.
            u: Input, shape ``(nu,)``.
            like: Take the coordinates of this one, for systems along a motion; absent: those that
                the passive rows leave best determined here.
        """
        d, s = self._dynamics, self._dynamics.snapshot
        if like is None:
            d.move(t, q, v)
            chosen = self._independent_coordinates()
        else:
            chosen = like.positions, like.velocities
        key = chosen[0].tobytes(), chosen[1].tobytes()
        if key not in self._sequences:
            given = np.zeros(1), np.zeros(len(s.q)), np.zeros(len(s.v)), np.zeros(self.robot.nu)
            linear, steps = self.system(given[:3], given[3], chosen)
            self._sequences[key] = given, linear, KernelSequence(steps)
        given, linear, sequence = self._sequences[key]
        for array, values in zip(given, (t, q, v, u), strict=True):
            array[:] = values
        sequence()
        return Linearization(
            robot=self.robot,
            A=linear.A.copy(),
            B=linear.B.copy(),
            full=linear.map.full.copy(),
            positions=chosen[0],
            velocities=chosen[1],
            q=np.array(q),
            v=np.array(v),
            u=np.array(u),
            a=linear.a.copy(),
        )

    def system(
        self,
        state: tuple[Vector, Vector, Vector],
        u: Vector,
        chosen: tuple[Indices, Indices],
    ) -> tuple[LinearArrays, Iterator[KernelStep]]:
        """Return where the linear system at a state is, and what writes it as that is then.

        Args:
            state: Time, configuration and velocity.
            u: Input.
            chosen: Positions and velocities that stand for all.
        """
        linear = LinearArrays.zeros(self.robot.nv, self.robot.nu, self._map(*chosen))
        return linear, self._system_steps(state, u, chosen, linear)

    def _system_steps(
        self,
        state: tuple[Vector, Vector, Vector],
        u: Vector,
        chosen: tuple[Indices, Indices],
        out: LinearArrays,
    ) -> Iterator[KernelStep]:
        d, s, full, lam = self._dynamics, self._dynamics.snapshot, out.map.full, self._lam
        yield from _copies((*state, u), (s.clock, s.q, s.v, self._u))
        yield from d.steps.items
        yield BoundKernel(block_diagonal.apply_input_blockwise, d.ties, d.a_free, d.G, u, out.a)
        yield from s.force_derivative_steps(out.a, *out.needed)
        yield from force_jacobian_steps(self._exact, s, *out.pushed)
        if len(lam):
            yield from d.multiplier_steps(out.a, u, np.zeros(len(out.a)), lam)
        # after the multipliers: differences leave the rows elsewhere
        yield self._map_step(chosen, out.map)
        more = np.zeros((len(out.a) + len(lam), full.shape[1]))
        if self._moves:
            yield BoundKernel(copy_into, out.a, self._a)
            yield self._rest.step(full, more)
        yield BoundKernel(write_gained, d.L, more, out)
        # sliding friction ties forces to reactions: all of it by differences
        if self._rubbing is not None and d.contacts is not None:
            slips = d.contacts.slip_jacobians, d.contacts.mu
            yield self._rubbing.inside(differences_if_sliding, *slips, full, out.gained)
        blocks, brackets = self.robot.structure.manifold_table, np.zeros((len(s.v), len(s.v)))
        yield BoundKernel(write_linear_system, blocks, s.v, brackets, d.G, *chosen, out)

    def _independent_coordinates(self) -> tuple[Indices, Indices]:
        """Return the positions and velocities that the passive rows leave best determined."""
        d = self._dynamics
        A_p, rtol = d.passive.rows.A, d.rank.passive
        j = ConstraintNullSpace(d.L, A_p, rtol).independent_velocities
        # every row holds a position: one choice serves velocities and positions
        if len(self.position_rows) == len(A_p):
            return j, j
        return ConstraintNullSpace(d.L, A_p[self.position_rows], rtol).independent_velocities, j

    def deviation_map(
        self, clock: Vector, q: Vector, v: Vector, like: Linearization
    ) -> tuple[Matrix, Iterator[KernelStep]]:
        """Return where ``full`` of a system with the coordinates of another is, and its steps.

        Args:
            clock: Time, shape ``(1,)`` [s].
            q: Configuration, shape ``(nq,)``.
            v: Velocity, shape ``(nv,)``.
            like: The other.
        """
        made = self._map(like.positions, like.velocities)
        return made.full, self._map_steps((clock, q, v), (like.positions, like.velocities), made)

    def _map(self, i: Indices, j: Indices) -> DeviationMap:
        return DeviationMap.zeros(self.robot.nv, len(self._dynamics.passive), len(i), len(j))

    def _map_steps(
        self,
        state: tuple[Vector, Vector, Vector],
        chosen: tuple[Indices, Indices],
        out: DeviationMap,
    ) -> Iterator[KernelStep]:
        d, s = self._dynamics, self._dynamics.snapshot
        yield from _copies(state, (s.clock, s.q, s.v))
        yield from (*s.steps.items, *d.passive.steps(s).items)
        yield BoundKernel(factor_mass, s.M, d.L, fault=singular_mass_error)
        yield self._map_step(chosen, out)

    def _map_step(self, chosen: tuple[Indices, Indices], out: DeviationMap) -> KernelStep:
        d = self._dynamics
        rows = d.L, d.passive.rows.A, self.position_rows, float(d.rank.passive)
        return self._slip.inside(write_deviation_map, *rows, chosen, out, fault=_lost_freedoms)


def _copies(values: Iterable[Vector], targets: Iterable[Vector]) -> Iterator[KernelStep]:
    return (BoundKernel(copy_into, *pair) for pair in zip(values, targets, strict=True))


def _lost_freedoms(code: int) -> NotFinite:
    return NotFinite(
        "the passive constraints leave another number of freedoms there than at the start, as in a "
        "singular position."
    )


@explain_argument_errors
def linearize(
    robot: AnyRobot,
    q: ArrayLike,
    u: ArrayLike | None = None,
    v: ArrayLike | None = None,
    t: float = 0.0,
) -> Linearization:
    """Return a robot near a state as a linear system; see this package's head.

    Args:
        robot: The robot, its name, or the path of its file.
        q: Configuration on its passive constraints, shape ``(nq,)``.
        u: Input, shape ``(nu,)``; absent: the one that holds the robot at rest there.
        v: Velocity that the constraints allow, shape ``(nv,)``; absent: at rest.
        t: Time [s].

    Raises:
        ShapeError: An argument does not fit the robot.
        InputError: No input is given, and none holds the robot at rest.
    """
    robot = as_robot(robot)
    q = robot.checked_q(q)
    v = robot.checked_v(np.zeros(robot.nv) if v is None else v)
    u = equilibrium(robot, q, t) if u is None else state_vector("u", u, robot.actuators)
    return Linearizer(robot).at(t, q, v, u)


def output_matrix(stack: Stack, linear: Linearization, t: float) -> Matrix:
    """Return how the errors of rows change with all deviations ``(dq, dv)``, shape ``(m, 2 nv)``.

    The error of a row on positions is ``phi``, that of one on velocities ``beta``. Times
    ``linear.full`` it is the ``C`` of an output.
    """
    robot = linear.robot
    n, snapshot = robot.nv, robot.snapshot(linear.q)

    def error(d: Vector) -> Vector:
        snapshot.move(robot.integrate(linear.q, d[:n]), linear.v + d[n:], t)
        rows = stack.write(snapshot)
        return np.where(stack.holonomic, rows.phi, rows.beta)

    return jacobian(error, 2 * n)


def zero_order_hold(A: Matrix, B: Matrix, time: float) -> tuple[Matrix, Matrix]:
    """Return the system a time later with its input held: the matrices of state and input."""
    from scipy.linalg import expm

    n, m = B.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = A, B
    step = expm(time * whole)
    return step[:n, :n], step[:n, n:]
