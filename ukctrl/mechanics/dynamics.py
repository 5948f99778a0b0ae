"""A robot's affine answer to its input, at one state after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra import kernels, least_input, separate, stabilisation
from ukctrl.core.algebra.answer_checks import conflicting, singular
from ukctrl.core.algebra.clear_answer import room_for
from ukctrl.core.algebra.clear_input import desk_for
from ukctrl.core.algebra.constrained import ranked_answer, settled
from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.core.algebra.row_gram import MANY_ROWS
from ukctrl.core.algebra.rows_first import LARGE, Held, answer_to, checked_rows_first, motor_answer
from ukctrl.core.arrays import Indices, Matrix, Vector, blank
from ukctrl.core.errors import NotFinite, ShapeError
from ukctrl.core.fields import spec
from ukctrl.core.files.toml import blaming, read_spec
from ukctrl.core.program import Call, Step, Steps
from ukctrl.core.program.call import Fault
from ukctrl.mechanics.constraints import AnyConstraint, Constraint, Rows, Stack
from ukctrl.mechanics.contacts import Contacts
from ukctrl.mechanics.motor_grip import MotorGrip
from ukctrl.mechanics.nonideal import NonIdeal, Push, pushes, split
from ukctrl.mechanics.transmitted import Transmitted
from ukctrl.robot import Robot, push_kernels


class Gains(NamedTuple):
    r"""How the error of a passive row decays.

    $\ddot\varphi + \alpha\dot\varphi + \beta\varphi = 0$; a nonholonomic row has no $\varphi$ and
    obeys $\dot\beta + \alpha\beta = 0$.
    """

    alpha: float = 40.0
    """[1/s]."""
    beta: float = 400.0
    """[1/s^2]."""


GAINS = Gains()
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
    tables = {"passive": tuple(split(table)[0] for table in robot.passive)}
    return read_spec(PassiveTables, tables, label).passive


def _nonideal(robot: Robot, passive: Stack) -> list[Push]:
    """Return what the passive constraints exert beside their reactions."""
    every: list[Push] = []
    for number, (table, part) in enumerate(zip(robot.passive, passive.attached, strict=True)):
        label = f"robot '{robot.name}': passive[{number}]"
        own = read_spec(NonIdeal, split(table)[1], label)
        with blaming(label):
            every += pushes(own, part, robot)
    return every


@final
class Dynamics(MotorGrip, Transmitted):
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
        ties: Which freedoms share entries of ``M`` and ``B``; see `ukctrl.core.algebra.separate`.
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
        gains: Gains = GAINS,
        *,
        heeds_lifts: bool = True,
    ) -> None:
        self.robot = robot
        self.passive = Stack(
            passive_constraints(robot), robot, key=f"robot '{robot.name}': passive"
        )
        self._pushes = _nonideal(robot, self.passive)
        touching = any(part.touch is not None for part in self.passive.attached)
        self.contacts = Contacts(self.passive, heeds_lifts) if touching else None
        own = self.contacts
        self.directions = self.passive.rows.A if own is None else own.directions
        self.rank, self.gains = rank, gains
        self.snapshot = robot.snapshot(robot.neutral)
        n = robot.nv
        self.L, self.a_free, self.G = blank(n, n), np.zeros(n), blank(n, robot.nu)
        self.motors: Vector = np.zeros(robot.nu)
        self.margins, self.ranks = np.zeros(2), np.zeros(2, dtype=np.int64)
        self._inputs = robot.nu
        self._count = len(self.passive)
        self.ties = robot.ties if not self._count else separate.all_tied(n, robot.nu)
        self.separate = n > 0 and bool(self.ties[0, separate.END] < n)
        self._rows_first = robot.nu > 0 and n >= LARGE and not self.separate
        self._rows_first = self._rows_first and self._count < MANY_ROWS and own is None
        kept = self._count if self._rows_first else 0
        pushed = robot.actuation.pushed if self._rows_first else np.zeros((0, 2))
        self._places: Indices = np.ascontiguousarray(np.argwhere(pushed), dtype=np.int64)
        self._held_directions = Held(np.zeros((kept, n)), np.zeros(kept), self.ranks)
        self.nonideal = np.zeros(n)
        self._b_p, self._a_0 = np.zeros((2, self._count)), np.zeros(n)
        self._allowed = np.zeros(self._count)
        self._pushing = Steps(self._push_steps() if self._pushes else ())
        self.free_steps = Steps(self._steps())
        motors = self.L, self.snapshot.B, self._held_directions, self.G, self.motors
        self.motor_steps = Steps((Call(motor_answer, *motors),) if self._rows_first else ())
        self.steps = Steps((*self.free_steps.every, *self.motor_steps.every))

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

    def _steps(self) -> Iterator[Step]:
        s = self.snapshot
        yield from s.steps.every
        if self._rows_first:
            none = np.zeros((len(self.a_free), 0))
            yield from self._answer(s.f, none, self.a_free, none)
        else:
            yield from self._answer(s.f, s.B, self.a_free, self.G)

    def steps_for(self, asked: Steps) -> Sequence[Step]:
        """Return what evaluates as much of it as some steps read that run then."""
        read = asked.reads(self.G, self.motors)
        return (self.steps if read else self.free_steps).every

    def response_step(self, u: Vector, a: Vector, asked: Steps) -> Step:
        """Return what writes ``a_free + G u`` for ``u`` as it is, after `steps_for` them."""
        if self._rows_first and not asked.reads(self.G, self.motors):
            pushed = self.L, self.snapshot.B, self._places, self._held_directions
            return Call(answer_to, *pushed, self.a_free, u, a)
        return Call(separate.acceleration, self.ties, self.a_free, self.G, u, a)

    def input_step(
        self, demand: least_input.Demand, reach: float, u: Vector, miss: Vector, fault: Fault
    ) -> Step:
        """Return what writes the least input for a demand, by the kernel that suits the robot.

        Arguments are those of `ukctrl.core.algebra.least_input.checked_input`, and what a code
        below zero leads to.
        """
        if self._rows_first and demand.G is self.G and not demand.R.size:
            nobody = demand._replace(G=np.zeros((len(self.L), 0)), motors=np.zeros(0))

            def with_motors(code: int) -> BaseException | None:
                self.motor_steps()
                return fault(code)

            given = self._places, nobody, self.snapshot.B, self._held_directions, reach, u, miss
            return Call(checked_rows_first, *given, fault=with_motors)
        if self.separate:
            asked = self.ties, demand, reach, u, miss
            return Call(separate.separate_input, *asked, fault=fault)
        m, n = demand.A.shape
        desk = desk_for(m, n, len(u), len(demand.R) > 0)
        return Call(least_input.checked_input, desk, demand, reach, u, miss, fault=fault)

    def under(self, u: Vector, drives: Iterable[Step] = ()) -> tuple[Vector, Iterator[Step]]:
        """Return where the acceleration under an input is, and what writes it for ``u`` as it is.

        It takes less than the answer to any input. ``nonideal`` and the passive rows are written
        too, and ``L`` where there are such rows.

        Args:
            u: Input, shape ``(nu,)``.
            drives: What writes it, once the snapshot is evaluated.
        """
        a: Vector = np.zeros(len(self.a_free))
        return a, self._under(u, tuple(drives), a)

    def _under(self, u: Vector, drives: tuple[Step, ...], a: Vector) -> Iterator[Step]:
        s, pushed, none = self.snapshot, np.zeros(len(a)), np.zeros((len(a), 0))
        yield from s.steps.every if drives or self._count else s.inertia_steps()
        yield from drives
        yield Call(separate.acceleration, self.ties, s.f, s.B, u, pushed)
        if self._count or self.separate:
            yield from self._answer(pushed, none, a, none)
        else:
            room = np.zeros_like(self.L)
            yield Call(kernels.plain_acceleration, s.M, s.nle, pushed, room, a, fault=singular)

    def _answer(self, f: Vector, B: Matrix, a_free: Vector, G: Matrix) -> Iterator[Step]:
        """Yield what writes the answer to forces that are there then and inputs through ``B``."""
        s, rank, gains = self.snapshot, self.rank, self.gains
        pushed = kernels.Pushed(s.M, s.nle, f, B)
        answer = kernels.Answer(self.L, a_free, G, self.motors[: B.shape[1]])
        if not self._count:
            if self.separate:
                yield Call(separate.separate_answer, self.ties, pushed, answer, fault=singular)
            else:
                yield Call(kernels.plain_answer, pushed, answer, fault=singular)
            return
        yield from self.passive.steps(s).every
        if self._pushes:
            total = np.zeros(len(f))
            yield from self._pushing.every
            yield Call(push_kernels.total, f, self.nonideal, total)
            pushed = pushed._replace(f=total)
        A, b, rate, error = self.passive.rows
        yield Call(stabilisation.stabilised, *map(float, gains), b, rate, error, self._b_p)
        passive = kernels.Passive(A, self._b_p, float(rank.passive), self._a_0, self.margins)
        clear = self._count <= len(f) and self._count < MANY_ROWS and not self._rows_first
        after: tuple[Step, ...] = ()
        if self.contacts is not None:
            given = pushed, A, float(rank.passive), answer
            pushed, answer, before, frictions = self.contacts.answer_steps(*given)
            yield before
            after = frictions, self.contacts.force_step(A)
        room = room_for(len(f), self._count if clear else 0, pushed.B.shape[1])
        held = self._held_directions
        yield Call(ranked_answer, room, pushed, passive, answer, held, fault=singular)
        agreed = s.v, passive, rate, error, float(rank.reach), self.ranks, self._allowed
        yield Call(settled, *agreed, fault=self._contradiction)
        yield from after

    def _push_steps(self) -> Iterator[Step]:
        yield Call(push_kernels.clear, self.nonideal)
        for push in self._pushes:
            yield from push.steps(self.snapshot, self.nonideal)

    def _contradiction(self, code: int) -> Exception:
        # The kernel adds up in another order, so its row may lie a rounding below the bound here.
        miss = np.abs(self.passive.rows.A @ self._a_0 - self._b_p[0])
        return conflicting(miss, (1.0 - 1e-6) * self._allowed, self.passive.names)

    def look(self, t: float, q: Vector, v: Vector) -> Rows:
        """Evaluate the snapshot, the passive rows and `nonideal` alone, at any state.

        The rows come without their stabilisation. The answer to the input stays as it was.
        """
        self.snapshot.move(q, v, t)
        rows = self.passive.write(self.snapshot)
        self._pushing()
        return rows

    @property
    def look_steps(self) -> tuple[Step, ...]:
        """What does what `look` does, at the state in the snapshot."""
        s = self.snapshot
        return *s.steps.every, *self.passive.steps(s).every, *self._pushing.every

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
        if not separate.acceleration(self.ties, self.a_free, self.G, u, a):
            raise NotFinite(f"u must be finite; got {u}.")
        return a
