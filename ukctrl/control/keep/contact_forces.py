r"""Forces of contacts that stay where a ground can give them: in friction cones, inside the sole.

Reactions are affine in the input, $\lambda = \lambda_0 + \Lambda u$, so a cone of plane sides is
rows $D \Lambda u \ge l - D \lambda_0$ of the same program as all that is kept. The pyramid of a
point with $n$ faces is inside of the cone: $\mu \cos(\pi/n)\, \lambda_n \ge
\cos\theta_i \lambda_x + \sin\theta_i \lambda_y$. That of a sole, of half length $X$ and half width
$Y$, is what pyramids of four faces along its edges at its four corners give together: the force in
a pyramid, the centre of pressure inside, and a moment about the normal that they leave.

References:
    Caron, Pham & Nakamura, "Stability of surface contacts for humanoid robots: closed-form formulae
    of the contact wrench cone for rectangular support areas", ICRA 2015.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, final

import numpy as np

from ukctrl.control.allocation.reaction_kernels import Moving, moving_of, write_reactions
from ukctrl.control.keep.keep import Cone, Keep, Kept
from ukctrl.control.task import Task
from ukctrl.core.algebra.factorisation import dot
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import Count, Listed, Quantity, Ratio, Text, at_least, spec
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import Attached, Constraint, Rows, Touch
from ukctrl.mechanics.constraints.contact import FACING, IN_FORCE, OPEN, STICKS, UP
from ukctrl.mechanics.contacts import Contacts
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@compiled
def cone_rows(touch: Touch, height: int, slips: int, mu: float, D: Matrix) -> None:
    """Write what a cone asks of the reactions, ``D lam >= 0``; zeros where nothing is asked.

    One that slides is on its cone, and asks for a normal force alone.
    """
    for i in range(D.shape[0]):
        for k in range(D.shape[1]):
            D[i, k] = 0.0
    mode, faces, half = touch.felt[IN_FORCE], len(D) - 1, touch.half
    if mode == OPEN:
        return
    D[0, height] = 1.0
    if mode != STICKS:
        return
    if half[0] == 0.0:
        for i in range(faces):
            angle = 2.0 * np.pi * i / faces
            D[1 + i, height] = mu * np.cos(np.pi / faces)
            D[1 + i, slips], D[1 + i, slips + 1] = -np.cos(angle), -np.sin(angle)
        return
    c, s, inner = touch.felt[FACING], touch.felt[FACING + 1], mu * np.sqrt(0.5)
    up = 1.0 if touch.felt[UP] > 0.0 else -1.0
    for i in range(2):  # along and across the sole
        sign = 1.0
        for k in range(2):
            row, moment = D[1 + 2 * i + k], D[5 + 2 * i + k]
            row[height], moment[height] = inner, half[i]
            along, across = (c, s) if i == 0 else (-s, c)
            row[slips], row[slips + 1] = -sign * along, -sign * across
            # The moment about the other axis moves the centre of pressure along this one.
            along, across = (-s, c) if i == 0 else (c, s)
            moment[height + 1], moment[height + 2] = -sign * up * across, sign * up * along
            sign = -sign
    for k in range(8):
        a, b = 1.0 - 2.0 * (k % 2), 1.0 - 2.0 * (k // 2 % 2)
        turn, row = 1.0 - 2.0 * (k // 4), D[9 + k]
        row[height], row[slips + 2] = inner * (half[0] + half[1]), turn
        # of  turn tz - a (Y fx - turn mu tx) - b (X fy - turn mu ty)
        fx, fy = -a * half[1], -b * half[0]
        tx, ty = a * turn * inner, b * turn * inner
        row[slips], row[slips + 1] = fx * c - fy * s, fx * s + fy * c
        row[height + 1] = up * (tx * s + ty * c)
        row[height + 2] = -up * (tx * c - ty * s)


@compiled
def cone_margins(D: Matrix, shift: Vector, idle: Vector, reaction: Vector, h: Vector) -> None:
    """Write what is left of cones, ``D lam + shift``; ``idle`` of those that ask nothing."""
    for i in range(len(h)):
        total, asks = shift[i], False
        for k in range(len(reaction)):
            total += D[i, k] * reaction[k]
            asks = asks or D[i, k] != 0.0
        h[i] = total if asks else idle[i]


@compiled
def look_inside(h: Vector, margin: Vector, alert: Vector) -> None:
    """Write 1 where some cone is not kept."""
    for i in range(len(h)):
        if not h[i] >= margin[i]:
            alert[0] = 1.0


@allocating
def cone_gains(
    moving: Moving,
    rtol: float,
    D: Matrix,
    free: Vector,
    per_input: Matrix,
    shared: Vector,
    C: Matrix,
    force: Vector,
) -> None:
    """Write what ``D lam`` gains per input, into the last rows of ``C``, and what it is without."""
    write_reactions(moving, rtol, free, per_input, shared)
    first = len(C) - len(D)
    for i in range(len(D)):
        force[i] = dot(D[i], free)
        for k in range(C.shape[1]):
            C[first + i, k] = 0.0
            for r in range(len(free)):
                C[first + i, k] += D[i, r] * per_input[r, k]


@final
class Loads:
    """What is kept of contact forces, of one believed robot.

    Attributes:
        owner: Which table of the file each row belongs to.
        names: What it is called within the block.
        units: Their units.
        least: What ``D lam`` must reach, shape ``(r,)``.
    """

    def __init__(self, cones: Sequence[tuple[int, Cone]]) -> None:
        self._cones = tuple(cone for _, cone in cones)
        rows = [(k, cone, *side) for k, cone in cones for side in cone.sides]
        self.owner = np.array([k for k, *_ in rows], dtype=np.intp)
        self.names = tuple(name for _, _, name, _ in rows)
        self.units = tuple(unit for *_, unit in rows)
        self.margin: Vector = np.array([cone.margin for _, cone, *_ in rows])
        normal = np.array([name.endswith(".normal") for name in self.names])
        self._shift: Vector = np.where(normal, [-cone.least for _, cone, *_ in rows], 0.0)
        self.least: Vector = self.margin - self._shift

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, contacts: Contacts) -> tuple[Matrix, Iterator[Step]]:
        """Return the ``D`` of some robot's contacts, shape ``(r, m)``, and what writes it."""
        D = np.zeros((len(self), len(contacts.directions)))

        def steps() -> Iterator[Step]:
            first = 0
            for cone in self._cones:
                c, last = contacts.names.index(cone.contact), first + len(cone.sides)
                places = int(contacts.heights[c]), int(contacts.slips[c])
                given = contacts.touches[c], *places, cone.mu
                yield Call(cone_rows, *given, D[first:last])
                first = last

        return D, steps()

    def seen_steps(self, contacts: Contacts | None, reaction: Vector, h: Vector) -> Iterator[Step]:
        """Yield what writes how much reactions of a robot leave; NaN: nothing is asked."""
        if contacts is not None:
            D, steps = self.rows(contacts)
            yield from steps
            yield Call(cone_margins, D, self._shift, np.full(len(self), np.nan), reaction, h)

    def steps(
        self, dynamics: Dynamics, a: Vector, u: Vector, h: Vector
    ) -> tuple[Matrix, tuple[Step, ...]]:
        """Return the ``D`` of a robot, and what writes it and how much an input leaves."""
        if dynamics.contacts is None or not len(self):
            return np.zeros((0, len(dynamics.passive))), ()
        reaction = np.zeros(len(dynamics.passive))
        D, steps = self.rows(dynamics.contacts)
        force = dynamics.reaction_steps(a, u, np.zeros(len(a)), reaction)
        left = Call(cone_margins, D, self._shift, self.margin, reaction, h)
        return D, (*force, *steps, left)

    def look_step(self, h: Vector, alert: Vector) -> Step:
        """Return what writes 1 where an input does not keep all."""
        return Call(look_inside, h, self.margin, alert)

    def gains(
        self, dynamics: Dynamics, D: Matrix, before: int
    ) -> tuple[Matrix, Vector, tuple[Step, ...]]:
        """Return what ``D lam`` gains per input, below rows that others write, and without any.

        And what writes it. Shapes are ``(before + r, nu)`` and ``(r,)``.
        """
        C, force = np.zeros((before + len(D), dynamics.robot.nu)), np.zeros(len(D))
        if not len(D):
            return C, force, ()
        moving, m = moving_of(dynamics), D.shape[1]
        found = np.zeros(m), np.zeros((m, C.shape[1])), np.zeros(m)
        rtol = float(dynamics.rank.servo)
        return C, force, (Call(cone_gains, moving, rtol, D, *found, C, force),)


class _NoRows(Constraint):
    """Stands in a stack for what is not kept by rows of accelerations."""

    def attach(self, robot: Robot) -> Attached:
        return _Nothing()


class _Nothing(Attached):
    def __init__(self) -> None:
        self.name_rows("forces", {})

    def steps(self, snapshot: Snapshot, rows: Rows) -> Sequence[Step]:
        return ()


@spec
class ContactForces(Keep):
    r"""Contacts push, within their friction cones and their soles: $D \lambda \ge 0$ [N, N m].

    A cone is a pyramid inside of it. Kept at the ticks; between them by what ``margin`` leaves.
    ``decay`` says nothing here, for the inputs change forces at once.
    """

    kind: Literal["contact_forces"] = "contact_forces"
    contacts: Annotated[tuple[Text, ...], Listed()] | None = None
    """Names of passive contacts with ``mu``; absent: all of them."""
    mu: Ratio | None = None
    """Coefficient of friction that is counted on; absent: that of each contact."""
    faces: Annotated[Count, at_least(3)] = 8
    """Sides of the pyramid of a point; that of a sole has four, along its edges."""
    least: Annotated[float, Quantity("N", minimum=0.0)] = 0.0
    """Least force along the normal [N]."""

    def keeps(self, task: Task) -> Kept:
        stack = Stack(passive_constraints(task.robot), task.robot)
        known = {part.block: part.touch for part in stack.attached if part.touch is not None}
        if not known:
            raise InputError(
                f"contact_forces need passive contacts with mu; robot '{task.robot.name}' has none."
            )
        for name in self.contacts or ():
            if name not in known:
                raise unknown_name("contact", name, known)
        cones = tuple(self._cone(name, known[name]) for name in self.contacts or known)
        block = self.name or "contact_forces"
        return Kept(block, _NoRows(name=block), (), cones=cones)

    def _cone(self, name: str, touch: Touch) -> Cone:
        mu, flat = touch.mu if self.mu is None else self.mu, bool(touch.half.any())
        return Cone(name, mu, self.faces, flat, self.least, self.margin)
