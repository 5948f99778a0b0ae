"""A robot's affine answer to its input, at one state after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra import (
    block_diagonal,
    dynamics_kernels,
    input_authority,
    least_norm_input,
    stabilisation,
)
from ukctrl.core.algebra.adjoint_input import (
    MIN_FREEDOMS,
    PassiveDirections,
    apply_input_by_columns,
    checked_adjoint_input,
    input_response,
)
from ukctrl.core.algebra.column_space import ColumnSpace, column_space
from ukctrl.core.algebra.constrained_acceleration import (
    CURRENT_RANK,
    passive_rows_consistent,
    ranked_acceleration,
)
from ukctrl.core.algebra.factorisation import independent_rows
from ukctrl.core.algebra.gram_acceleration import gram_buffers
from ukctrl.core.algebra.gram_factor import MIN_GRAM_ROWS, gram_factor_buffers
from ukctrl.core.algebra.gram_input import input_buffers
from ukctrl.core.algebra.multipliers import fast_multipliers, multipliers, undetermined_multipliers
from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.algebra.solution_checks import conflict_error, singular_mass_error
from ukctrl.core.arrays import Indices, Matrix, Vector, lazy_zeros
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import NotFinite, ShapeError
from ukctrl.core.fields import spec
from ukctrl.core.files.toml import error_context, read_spec
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.core.program.bound_kernel import FaultHandler
from ukctrl.mechanics.constraints import AnyConstraint, Constraint, Rows, Stack
from ukctrl.mechanics.nonideal_forces import (
    NonidealForce,
    NonidealTable,
    nonideal_forces,
    split_nonideal,
)
from ukctrl.mechanics.unilateral_contacts import UnilateralContacts
from ukctrl.robot import Robot, applied_force_kernels
from ukctrl.uk import RankReport, rank_report_from


class StabilisationGains(NamedTuple):
    r"""How the error of a passive row decays.

    $\ddot\varphi + \alpha\dot\varphi + \beta\varphi = 0$; a nonholonomic row has no $\varphi$ and
    obeys $\dot\beta + \alpha\beta = 0$.
    """

    alpha: float = 40.0
    """[1/s]."""
    beta: float = 400.0
    """[1/s^2]."""


DEFAULT_GAINS = StabilisationGains()
"""Critical damping at 20 1/s."""


@spec
class PassiveTables:
    """The ``[[passive]]`` tables of a robot, as constraints."""

    passive: tuple[AnyConstraint, ...] = ()


def passive_constraints(robot: Robot) -> tuple[Constraint, ...]:
    """Return the constraints that physics enforces on a robot, read from its file.

    Raises:
        InputError: A table of its file is no constraint.
    """
    label = f"robot '{robot.name}'"
    tables = {"passive": tuple(split_nonideal(table)[0] for table in robot.passive)}
    return read_spec(PassiveTables, tables, label).passive


def _nonideal(robot: Robot, passive: Stack) -> list[NonidealForce]:
    """Return what the passive constraints exert beside their reactions."""
    forces: list[NonidealForce] = []
    for number, (table, block) in enumerate(zip(robot.passive, passive.attached, strict=True)):
        label = f"robot '{robot.name}': passive[{number}]"
        options = read_spec(NonidealTable, split_nonideal(table)[1], label)
        with error_context(label):
            forces += nonideal_forces(options, block, robot)
    return forces


@compiled
def external_power(
    ties: Indices,
    M: Matrix,
    nle: Vector,
    f: Vector,
    B: Matrix,
    v: Vector,
    stored: Vector,
    reacts: bool,
    a: Vector,
    u: Vector,
    fed: Vector,
) -> None:
    """Write the power of motors, applied forces without springs, and reactions; see `Dynamics`."""
    fed[0] = stored[applied_force_kernels.POWER]
    for i in range(len(v)):
        # with rows M a + nle is cheaper than adding reactions; without, f + B u cancels nothing
        if reacts:  # what moves it beside them is what the reactions do
            fed[0] += block_diagonal.block_momentum_entry(nle[i], ties, M, a, i) * v[i]
        else:
            fed[0] += (f[i] + block_diagonal.block_product_entry(0.0, ties, B, u, i)) * v[i]


@final
class Dynamics:
    r"""The equation of motion of a robot and its passive constraints, ``a = a_free + G u``.

    Plant and law each hold one: the plant's is made of the true robot, the law's of the believed
    one; where both are the same robot they share it, and the work is done once. The arrays are
    zero until `move` is called for the first time, and overwritten by it.

    Attributes:
        robot: The robot.
        snapshot: The robot at the current state.
        passive: The passive constraints; ``passive.rows.b`` includes their stabilisation.
        rank: When passive rows count as dependent.
        gains: How errors of the passive rows decay.
        L: Cholesky factor of the mass matrix, shape ``(nv, nv)``.
        ties: Which freedoms share entries of ``M`` and ``B``; see
            `ukctrl.core.algebra.block_diagonal`.
        separate: Whether there are several such groups.
        a_free: Acceleration at zero input, shape ``(nv,)``.
        G: Acceleration per unit input, shape ``(nv, nu)``.
        motors: What each motor does to the free robot, ``|M^-1 B_k|``, shape ``(nu,)``.
        ranks: The rank of the passive rows at the state, and the highest so far.
        nonideal: What the passive constraints exert beside their reactions, such as friction,
            shape ``(nv,)``.
        steps: What evaluates all of it at the state of ``snapshot``: first ``free_steps``, of large
            robots all but ``G`` and ``motors``, which are worth leaving out where nobody reads
            them, and then ``motor_steps``.
        margins: The smallest singular value of the passive rows that counts as constraining, and
            the largest that does not; of rows of unit length in mass-weighted coordinates.
        contacts: The passive contacts that only push; None where there are none.
        directions: Along what the multipliers of the passive rows push, shape ``(m, nv)``: the
            rows, but for contacts that slide.

    Args:
        robot: The robot.
        rank: When rows count as dependent.
        gains: How errors of the passive rows decay.
        heeds_lifts: Whether contacts are open where the controller plans to lift them; those of
            the true robot are where forces let them go.
    """

    def __init__(
        self,
        robot: Robot,
        rank: RankPolicy = RUN_RANK,
        gains: StabilisationGains = DEFAULT_GAINS,
        *,
        heeds_lifts: bool = True,
    ) -> None:
        self.robot = robot
        self.passive = Stack(
            passive_constraints(robot), robot, key=f"robot '{robot.name}': passive"
        )
        self._pushes = _nonideal(robot, self.passive)
        touching = any(block.touch is not None for block in self.passive.attached)
        self.contacts = UnilateralContacts(self.passive, heeds_lifts) if touching else None
        contacts = self.contacts
        self.directions = self.passive.rows.A if contacts is None else contacts.force_directions
        self.rank, self.gains = rank, gains
        self.snapshot = robot.snapshot(robot.neutral)
        n = robot.nv
        self.L, self.a_free, self.G = lazy_zeros(n, n), np.zeros(n), lazy_zeros(n, robot.nu)
        self.motors: Vector = np.zeros(robot.nu)
        self.margins, self.ranks = np.zeros(2), np.zeros(2, dtype=np.int64)
        self._inputs = robot.nu
        self._count = len(self.passive)
        self.ties = robot.ties if not self._count else block_diagonal.single_block(n, robot.nu)
        self.separate = n > 0 and bool(self.ties[0, block_diagonal.END] < n)
        # adjoint route: with many freedoms, G costs more than all rows of a task together; it needs
        # the directions that orthonormal passive rows leave, which the Gram route does not write
        self._rows_first = robot.nu > 0 and n >= MIN_FREEDOMS and not self.separate
        self._rows_first = self._rows_first and self._count < MIN_GRAM_ROWS and contacts is None
        row_count = self._count if self._rows_first else 0
        pushed = robot.actuation.acts_on if self._rows_first else np.zeros((0, 2))
        self._actuated_entries: Indices = np.ascontiguousarray(np.argwhere(pushed), dtype=np.int64)
        self._held_directions = PassiveDirections(
            np.zeros((row_count, n)), np.zeros(row_count), self.ranks
        )
        self.nonideal = np.zeros(n)
        self._b_p, self._a_0 = np.zeros((2, self._count)), np.zeros(n)
        self._residual_tolerances = np.zeros(self._count)
        self._pushing = KernelSequence(self._push_steps() if self._pushes else ())
        self.free_steps = KernelSequence(self._steps())
        motors = self.L, self.snapshot.B, self._held_directions, self.G, self.motors
        self.motor_steps = KernelSequence(
            (BoundKernel(input_response, *motors),) if self._rows_first else ()
        )
        self.steps = KernelSequence((*self.free_steps.items, *self.motor_steps.items))

    def move(self, t: float, q: Vector, v: Vector) -> None:
        """Evaluate at another state.

        Raises:
            SingularMass: The mass matrix is not positive definite there.
            ConflictingConstraints: No acceleration satisfies all passive rows.
        """
        s = self.snapshot
        s.q[:] = q
        s.v[:] = v
        s.clock[0] = t
        self.steps()

    def take_inertias(self, robot: Robot) -> bool:
        """Go on with a robot that differs in the inertias of its bodies alone, where it does.

        This one's own robot becomes it, which nobody else may have.
        """
        self.snapshot.forget()
        return self.robot.take_inertias(robot)

    def _steps(self) -> Iterator[KernelStep]:
        s = self.snapshot
        yield from s.steps.items
        if self._rows_first:
            none = np.zeros((len(self.a_free), 0))
            yield from self._acceleration_map(s.f, none, self.a_free, none)
        else:
            yield from self._acceleration_map(s.f, s.B, self.a_free, self.G)

    def steps_for(self, steps: KernelSequence) -> Sequence[KernelStep]:
        """Return what evaluates as much of it as some steps read that run then."""
        # on the adjoint route G is made only for steps that read it
        read = steps.reads(self.G, self.motors)
        return (self.steps if read else self.free_steps).items

    def response_step(self, u: Vector, a: Vector, steps: KernelSequence) -> KernelStep:
        """Return what writes ``a_free + G u`` for ``u`` as it is, after `steps_for` them."""
        if self._rows_first and not steps.reads(self.G, self.motors):
            pushed = self.L, self.snapshot.B, self._actuated_entries, self._held_directions
            return BoundKernel(apply_input_by_columns, *pushed, self.a_free, u, a)
        return BoundKernel(
            block_diagonal.apply_input_blockwise, self.ties, self.a_free, self.G, u, a
        )

    def input_step(
        self,
        demand: least_norm_input.ServoProblem,
        reach: float,
        u: Vector,
        miss: Vector,
        fault: FaultHandler,
        *,
        is_constant: bool = False,
    ) -> KernelStep:
        """Return what writes the least input for a demand, by the kernel that suits the robot.

        Arguments are those of `ukctrl.core.algebra.least_norm_input.checked_input`, and what a code
        below zero leads to; and whether ``A`` is the same at all states.
        """
        # by the adjoint if nobody reads G and effort is the metric; else blockwise, else dense
        if self._rows_first and demand.G is self.G and not demand.R.size:
            nobody = demand._replace(G=np.zeros((len(self.L), 0)), motors=np.zeros(0))

            def with_motors(code: int) -> BaseException | None:
                self.motor_steps()
                return fault(code)

            adjoint_args = (
                self._actuated_entries,
                nobody,
                self.snapshot.B,
                self._held_directions,
                reach,
                u,
                miss,
            )
            return BoundKernel(checked_adjoint_input, *adjoint_args, fault=with_motors)
        # a swarm: body by body, in time and memory that grow with the bodies
        if self.separate:
            kept = block_diagonal.kept_owners(len(demand.A) if is_constant else 0)
            block_args = self.ties, kept, demand, reach, u, miss
            return BoundKernel(block_diagonal.blockwise_input, *block_args, fault=fault)
        m, n = demand.A.shape
        buffers = input_buffers(m, n, len(u), len(demand.R) > 0)
        return BoundKernel(
            least_norm_input.checked_input, buffers, demand, reach, u, miss, fault=fault
        )

    def under(
        self, u: Vector, drives: Iterable[KernelStep] = ()
    ) -> tuple[Vector, Iterator[KernelStep]]:
        """Return where the acceleration under an input is, and what writes it for ``u`` as it is.

        It takes less than the answer to any input. ``nonideal`` and the passive rows are written
        too, and ``L`` where there are such rows.

        Args:
            u: Input, shape ``(nu,)``.
            drives: What writes it, once the snapshot is evaluated.
        """
        a: Vector = np.zeros(len(self.a_free))
        return a, self._under(u, tuple(drives), a)

    def _under(self, u: Vector, drives: tuple[KernelStep, ...], a: Vector) -> Iterator[KernelStep]:
        s, pushed, none = self.snapshot, np.zeros(len(a)), np.zeros((len(a), 0))
        # without drives and rows the inertia suffices: one Cholesky, and no G
        yield from s.steps.items if drives or self._count else s.inertia_steps()
        yield from drives
        yield BoundKernel(block_diagonal.apply_input_blockwise, self.ties, s.f, s.B, u, pushed)
        # without rows one LDL factor gives the acceleration in half of the time
        if self._count or self.separate:
            yield from self._acceleration_map(pushed, none, a, none)
        else:
            factor = np.zeros_like(self.L)
            yield BoundKernel(
                dynamics_kernels.forward_dynamics,
                s.M,
                s.nle,
                pushed,
                factor,
                a,
                fault=singular_mass_error,
            )

    def _acceleration_map(
        self, f: Vector, B: Matrix, a_free: Vector, G: Matrix
    ) -> Iterator[KernelStep]:
        """Yield what writes the answer to forces that are there then and inputs through ``B``."""
        s, rank, gains = self.snapshot, self.rank, self.gains
        pushed = dynamics_kernels.EquationOfMotion(s.M, s.nle, f, B)
        answer = dynamics_kernels.AccelerationMap(self.L, a_free, G, self.motors[: B.shape[1]])
        if not self._count:
            if self.separate:
                yield BoundKernel(
                    block_diagonal.blockwise_acceleration,
                    self.ties,
                    pushed,
                    answer,
                    fault=singular_mass_error,
                )
            else:
                yield BoundKernel(
                    dynamics_kernels.unconstrained_acceleration,
                    pushed,
                    answer,
                    fault=singular_mass_error,
                )
            return
        yield from self.passive.steps(s).items
        if self._pushes:
            total = np.zeros(len(f))
            yield from self._pushing.items
            yield BoundKernel(applied_force_kernels.add_into, f, self.nonideal, total)
            pushed = pushed._replace(f=total)
        A, b, rate, error = self.passive.rows
        yield BoundKernel(
            stabilisation.write_stabilised_rhs, *map(float, gains), b, rate, error, self._b_p
        )
        passive = dynamics_kernels.PassiveRows(
            A, self._b_p, float(rank.passive), self._a_0, self.margins
        )
        # the Gram route only where the number of rows lets them be independent, and nobody needs
        # directions
        clear = self._count <= len(f) and self._count < MIN_GRAM_ROWS and not self._rows_first
        force_steps: tuple[KernelStep, ...] = ()
        if self.contacts is not None:
            args = pushed, A, float(rank.passive), answer
            pushed, answer, column_step, frictions = self.contacts.friction_elimination_steps(*args)
            yield column_step
            force_steps = frictions, self.contacts.force_step(A)
        buffers = gram_buffers(len(f), self._count if clear else 0, pushed.B.shape[1])
        directions = self._held_directions
        yield BoundKernel(
            ranked_acceleration,
            buffers,
            pushed,
            passive,
            answer,
            directions,
            gram_factor_buffers(len(f), self._count),
            fault=singular_mass_error,
        )
        agreed = s.v, passive, rate, error, float(rank.reach), self.ranks, self._residual_tolerances
        yield BoundKernel(passive_rows_consistent, *agreed, fault=self._contradiction)
        yield from force_steps

    def _push_steps(self) -> Iterator[KernelStep]:
        yield BoundKernel(applied_force_kernels.set_zero, self.nonideal)
        for push in self._pushes:
            yield from push.steps(self.snapshot, self.nonideal)

    def _contradiction(self, code: int) -> Exception:
        # The kernel adds up in another order, so its row may lie a rounding below the bound here.
        miss = np.abs(self.passive.rows.A @ self._a_0 - self._b_p[0])
        return conflict_error(miss, (1.0 - 1e-6) * self._residual_tolerances, self.passive.names)

    def look(self, t: float, q: Vector, v: Vector) -> Rows:
        """Evaluate the snapshot, the passive rows and `nonideal` alone, at any state.

        The rows come without their stabilisation. The answer to the input stays as it was.
        """
        self.snapshot.move(q, v, t)
        rows = self.passive.write(self.snapshot)
        self._pushing()
        return rows

    @property
    def look_steps(self) -> tuple[KernelStep, ...]:
        """What does what `look` does, at the state in the snapshot."""
        s = self.snapshot
        return *s.steps.items, *self.passive.steps(s).items, *self._pushing.items

    @property
    def rubs(self) -> bool:
        """Whether some passive constraint is not ideal."""
        return bool(self._pushes)

    def acceleration(self, u: Vector) -> Vector:
        """Return ``a_free + G u``, shape ``(nv,)``.

        Raises:
            ShapeError: ``u`` does not have one entry for each actuator.
            NotFinite: An entry of ``u`` is not finite.
        """
        if u.size != self._inputs:
            raise ShapeError(f"u must have shape ({self._inputs},); got {u.shape}.")
        a: Vector = np.empty(len(self.a_free))
        if not block_diagonal.apply_input_blockwise(self.ties, self.a_free, self.G, u, a):
            raise NotFinite(f"u must be finite; got {u}.")
        return a

    # Authority of the motors

    def lengths(self, A: Matrix) -> input_authority.AuthorityScales:
        """Return what the grip of rows is compared with: what motors do to the free robot.

        Args:
            A: Rows at the current state, shape ``(m, nv)``.
        """
        return input_authority.authority_scales_from(self.L, A, self.motors)

    def grip(self, A: Matrix, names: Sequence[str]) -> input_authority.InputAuthority:
        """Return the motors' authority over rows at this state; see `ukctrl.uk.input_authority`."""
        return input_authority.input_authority(
            self.L, A, self.G, self.lengths(A), self.rank.servo, names
        )

    def firm(self, A: Matrix, grips: Vector) -> int:
        """Return the rank of rows whose grip is firm, or 0; write that of each, ``(m,)``."""
        return int(input_authority.surely_full_rank(self.L, A, self.G, self.motors, grips))

    def servo_report(self, A: Matrix, names: Sequence[str]) -> RankReport:
        """Return of which rows the motors have grip, each beside the others, and by how much."""
        return rank_report_from(self.servo_matrix(A), names, *self.held(A))

    def held(self, A: Matrix) -> tuple[int, NDArray[np.int64]]:
        """Return how many rows the motors hold, each beside the others, and an order of them."""
        order = np.arange(len(A))
        if len(A) > input_authority.MAX_JOINT_ROWS and self.firm(A, np.empty(len(A))):
            return len(A), order
        rank = input_authority.controllable_rows(
            self.L, A, self.G, self.lengths(A), self.rank.servo, order
        )
        return int(rank), order

    def reached(self) -> Matrix:
        """Return an orthonormal basis of what the motors reach, shape ``(nv, k)``.

        In mass-weighted accelerations ``L' a``; a direction counts whose `grip` is not lost.
        """
        return self._reach().basis

    def _reach(self) -> ColumnSpace:
        none: Matrix = np.zeros((0, len(self.L)))
        return column_space(self.L.T @ self.G, self.lengths(none).motors, self.rank.servo)

    def least_input(self, a: Vector) -> Vector:
        """Return the smallest input whose acceleration is nearest to ``a``, shape ``(nu,)``.

        Nearest in Gauss's sense, as the mass matrix measures it.
        """
        return self._reach().solve(self.L.T @ (a - self.a_free))

    def least_push(self, force: Matrix) -> Matrix:
        """Return the smallest inputs that move the robot most nearly as generalised forces would.

        Args:
            force: Shape ``(nv,)``, or ``(nv, k)`` for several of them.
        """
        pushes: Matrix = np.asarray(np.linalg.solve(self.L, force))
        return self._reach().solve(pushes)

    def servo_matrix(self, A: Matrix) -> Matrix:
        """Return ``H = A G``, shape ``(m, nu)``; rows of which the grip is lost are zero."""
        H: Matrix = A @ self.G
        input_authority.zero_uncontrolled_rows(H, self.lengths(A), self.rank.servo)
        return H

    # Reactions and power

    @property
    def passive_rank(self) -> int:
        """Directions that the passive rows constrain."""
        return int(self.ranks[CURRENT_RANK])

    def passive_report(self) -> RankReport:
        """Return which passive rows are independent at the current state, and by how much.

        Of rows of unit length in mass-weighted coordinates, as the rank is decided in the loop.
        """
        rows, names = self.passive.rows, self.passive.names
        if not self._count:
            return RankReport(0, (), (), 0.0, 0.0)
        weighted, _ = mass_weighted_rows(self.L, rows.A, self._b_p)
        order = np.empty(self._count, dtype=np.int64)
        independent_rows(weighted, self.rank.passive, order)
        count = self.passive_rank
        independent, dropped = sorted(order[:count].tolist()), sorted(order[count:].tolist())
        return RankReport(
            rank=count,
            independent=tuple(names[i] for i in independent),
            dependent=tuple(names[i] for i in dropped),
            smallest_kept=float(self.margins[0]),
            largest_dropped=float(self.margins[1]),
        )

    def power(self, a: Vector, u: Vector) -> float:
        """Return the power fed to the robot by motors, applied forces and reactions [W].

        Springs are not counted, because their energy is part of the robot's.
        """
        fed: Vector = np.zeros(1)
        external_power(*self._power_arguments(), a, u, fed)
        return float(fed[0])

    def power_step(self, a: Vector, u: Vector, fed: Vector) -> KernelStep:
        """Return what writes `power` at the acceleration and input that are there then."""
        return BoundKernel(external_power, *self._power_arguments(), a, u, fed)

    def _power_arguments(
        self,
    ) -> tuple[Indices, Matrix, Vector, Vector, Matrix, Vector, Vector, bool]:
        s = self.snapshot
        return self.ties, s.M, s.nle, s.f, s.B, s.v, s.stored, self._count > 0

    def passive_force(self, a: Vector, u: Vector) -> Vector:
        """Return the generalised force of the passive constraints, ``M a + nle - f - B u``.

        It is the reaction and what is not ideal.
        """
        s = self.snapshot
        return s.M @ a + s.nle - s.f - s.B @ u

    def reactions(self, force: Vector) -> Vector:
        """Return the multipliers of the passive rows that transmit a `passive_force`.

        Of least norm where rows are redundant; `undetermined_multipliers` tells which ones that
        concerns.
        """
        ideal = force - self.nonideal
        return multipliers(self.L, self.directions, ideal, self.passive_rank)

    def reaction_steps(
        self, a: Vector, u: Vector, force: Vector, reaction: Vector
    ) -> Iterator[KernelStep]:
        """Yield what writes `passive_force` and its `reactions` at the answer to an input.

        Frictions of contacts that slide stand as the reactions of their rows of slip.
        """
        yield from self.multiplier_steps(a, u, force, reaction)
        if self.contacts is not None:
            yield self.contacts.friction_step(reaction)

    def multiplier_steps(
        self, a: Vector, u: Vector, force: Vector, reaction: Vector
    ) -> Iterator[KernelStep]:
        """Yield the same but for frictions of contacts that slide."""
        s = self.snapshot
        yield BoundKernel(dynamics_kernels.constraint_reaction, s.M, s.nle, s.f, s.B, a, u, force)

        def shared(code: int) -> None:
            reaction[:] = self.reactions(force)

        pushed = self.L, self.directions, force, self.nonideal, self.ranks, reaction
        yield BoundKernel(fast_multipliers, *pushed, fault=shared)

    def margin_steps(self, a: Vector, u: Vector) -> Iterator[KernelStep]:
        """Yield what writes the margins of contacts that only push, at the answer to an input."""
        if self.contacts is not None:
            yield from self.reaction_steps(a, u, np.zeros(len(a)), self.contacts.reaction)
            yield self.contacts.margin_step()

    def sharing(self) -> tuple[str, ...]:
        """Return the names of the passive rows whose multipliers no motion determines."""
        shared = undetermined_multipliers(self.L, self.passive.rows.A, self.passive_rank)
        return tuple(self.passive.names[i] for i in np.flatnonzero(shared))
