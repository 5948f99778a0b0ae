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

from ukctrl.control.allocation.reaction_kernels import (
    ReactionDynamics,
    reaction_dynamics,
    write_reactions,
)
from ukctrl.control.safety.inequality import BoundInequality, FrictionCone, Inequality
from ukctrl.control.task import Task
from ukctrl.core.algebra.factorisation import dot
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import Count, ListSize, Quantity, Ratio, Text, at_least, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, ContactArrays, Rows
from ukctrl.mechanics.constraints.contact import ACTIVE_MODE, HEADING, OPEN, STICKING, UPRIGHTNESS
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.unilateral_contacts import UnilateralContacts

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@compiled
def cone_rows(touch: ContactArrays, height: int, slips: int, mu: float, D: Matrix) -> None:
    """Write what a cone asks of the reactions, ``D lam >= 0``; zeros where nothing is asked.

    One that slides is on its cone, and asks for a normal force alone.
    """
    for i in range(D.shape[0]):
        for k in range(D.shape[1]):
            D[i, k] = 0.0
    mode, faces, half = touch.kinematics[ACTIVE_MODE], len(D) - 1, touch.sole_half_size
    # an open contact transmits nothing, and asks for nothing
    if mode == OPEN:
        return
    D[0, height] = 1.0
    # a sliding one is on its cone by the friction law: the normal force alone is asked for
    if mode != STICKING:
        return
    # a point has a pyramid of friction; a sole rows for its edges and for the turn about its normal
    # too
    if half[0] == 0.0:
        for i in range(faces):
            angle = 2.0 * np.pi * i / faces
            # the pyramid inscribed in the cone: its edges touch, its faces are inside
            D[1 + i, height] = mu * np.cos(np.pi / faces)
            D[1 + i, slips], D[1 + i, slips + 1] = -np.cos(angle), -np.sin(angle)
        return
    c, s, inner = touch.kinematics[HEADING], touch.kinematics[HEADING + 1], mu * np.sqrt(0.5)
    up = 1.0 if touch.kinematics[UPRIGHTNESS] > 0.0 else -1.0
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
            # either way along and across
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
        # a contact that is open asks for nothing: it stands at its margin
        h[i] = total if asks else idle[i]


@compiled
def check_cones(h: Vector, margin: Vector, alert: Vector) -> None:
    """Write 1 where some cone is not kept."""
    for i in range(len(h)):
        if not h[i] >= margin[i]:
            alert[0] = 1.0


@allocating
def cone_input_map(
    moving: ReactionDynamics,
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
class ContactForceRows:
    """What is kept of contact forces, of one believed robot.

    Attributes:
        table_index: Which table of the file each row belongs to.
        names: What it is called within the block.
        units: Their units.
        lower_bound: Lower bound of ``D lam``, shape ``(r,)``.
    """

    def __init__(self, cones: Sequence[tuple[int, FrictionCone]]) -> None:
        self._cones = tuple(cone for _, cone in cones)
        rows = [(k, cone, *side) for k, cone in cones for side in cone.rows]
        self.table_index = np.array([k for k, *_ in rows], dtype=np.intp)
        self.names = tuple(name for _, _, name, _ in rows)
        self.units = tuple(unit for *_, unit in rows)
        self.margin: Vector = np.array([cone.margin for _, cone, *_ in rows])
        normal = np.array([name.endswith(".normal") for name in self.names])
        self._offset: Vector = np.where(
            normal, [-cone.min_normal_force for _, cone, *_ in rows], 0.0
        )
        self.lower_bound: Vector = self.margin - self._offset

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, contacts: UnilateralContacts) -> tuple[Matrix, Iterator[KernelStep]]:
        """Return the ``D`` of some robot's contacts, shape ``(r, m)``, and what writes it."""
        D = np.zeros((len(self), len(contacts.force_directions)))

        def steps() -> Iterator[KernelStep]:
            first = 0
            for cone in self._cones:
                c, last = contacts.names.index(cone.contact), first + len(cone.rows)
                row_indices = int(contacts.height_rows[c]), int(contacts.slip_rows[c])
                args = contacts.arrays[c], *row_indices, cone.mu
                yield BoundKernel(cone_rows, *args, D[first:last])
                first = last

        return D, steps()

    def true_margin_steps(
        self, contacts: UnilateralContacts | None, reaction: Vector, h: Vector
    ) -> Iterator[KernelStep]:
        """Yield what writes how much reactions of a robot leave; NaN: nothing is asked."""
        if contacts is not None:
            D, steps = self.rows(contacts)
            yield from steps
            yield BoundKernel(
                cone_margins, D, self._offset, np.full(len(self), np.nan), reaction, h
            )

    def steps(
        self, dynamics: Dynamics, a: Vector, u: Vector, h: Vector
    ) -> tuple[Matrix, tuple[KernelStep, ...]]:
        """Return the ``D`` of a robot, and what writes it and how much an input leaves."""
        # no contact can open, and nothing is asked for
        if dynamics.contacts is None or not len(self):
            return np.zeros((0, len(dynamics.passive))), ()
        reaction = np.zeros(len(dynamics.passive))
        D, steps = self.rows(dynamics.contacts)
        force = dynamics.reaction_steps(a, u, np.zeros(len(a)), reaction)
        margin_step = BoundKernel(cone_margins, D, self._offset, self.margin, reaction, h)
        return D, (*force, *steps, margin_step)

    def alert_step(self, h: Vector, alert: Vector) -> KernelStep:
        """Return what writes 1 where an input does not keep all."""
        return BoundKernel(check_cones, h, self.margin, alert)

    def input_map(
        self, dynamics: Dynamics, D: Matrix, offset: int
    ) -> tuple[Matrix, Vector, tuple[KernelStep, ...]]:
        """Return what ``D lam`` gains per input, below rows that others write, and without any.

        And what writes it. Shapes are ``(before + r, nu)`` and ``(r,)``.
        """
        C, force = np.zeros((offset + len(D), dynamics.robot.nu)), np.zeros(len(D))
        if not len(D):
            return C, force, ()
        moving, m = reaction_dynamics(dynamics), D.shape[1]
        buffers = np.zeros(m), np.zeros((m, C.shape[1])), np.zeros(m)
        rtol = float(dynamics.rank.servo)
        return C, force, (BoundKernel(cone_input_map, moving, rtol, D, *buffers, C, force),)


class _EmptyConstraint(Constraint):
    """Stands in a stack for what is not kept by rows of accelerations."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _BoundEmptyConstraint()


class _BoundEmptyConstraint(BoundConstraint):
    def __init__(self) -> None:
        self.name_rows("forces", {})

    def steps(self, snapshot: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        return ()


@spec
class ContactForceLimit(Inequality):
    r"""Contacts push, within their friction cones and their soles: $D \lambda \ge 0$ [N, N m].

    A cone is a pyramid inside of it. Kept at the ticks; between them by what ``margin`` leaves.
    ``decay`` says nothing here, for the inputs change forces at once.
    """

    kind: Literal["contact_forces"] = "contact_forces"
    contacts: Annotated[tuple[Text, ...], ListSize()] | None = None
    """Names of passive contacts with ``mu``; absent: all of them."""
    mu: Ratio | None = None
    """Coefficient of friction that is counted on; absent: that of each contact."""
    faces: Annotated[Count, at_least(3)] = 8
    """Sides of the pyramid of a point; that of a sole has four, along its edges."""
    least: Annotated[float, Quantity("N", minimum=0.0)] = 0.0
    """Least force along the normal [N]."""

    def keeps(self, task: Task) -> BoundInequality:
        stack = Stack(passive_constraints(task.robot), task.robot)
        contacts = {
            constraint.block: constraint.touch
            for constraint in stack.attached
            if constraint.touch is not None
        }
        if not contacts:
            raise InputError(
                f"contact_forces need passive contacts with mu; robot '{task.robot.name}' has none."
            )
        for name in self.contacts or ():
            if name not in contacts:
                raise unknown_name("contact", name, contacts)
        cones = tuple(
            self._friction_cone(name, contacts[name]) for name in self.contacts or contacts
        )
        block = self.name or "contact_forces"
        return BoundInequality(block, _EmptyConstraint(name=block), (), cones=cones)

    def _friction_cone(self, name: str, touch: ContactArrays) -> FrictionCone:
        mu, flat = touch.mu if self.mu is None else self.mu, bool(touch.sole_half_size.any())
        return FrictionCone(name, mu, self.faces, flat, self.least, self.margin)
