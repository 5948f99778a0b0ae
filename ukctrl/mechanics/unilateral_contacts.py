r"""Contacts that only push, of a robot: friction that follows the load, and what ends a mode.

A contact that slides rubs with $\mu \lambda_n$ against its slip. To the robot that is one more
motor, whose input follows from the reactions: these are affine in it and in the inputs $u$, so

$$ w = \mu \lambda_n, \quad \lambda_n = \lambda_0 + \Lambda u + \Lambda_w w \quad\Rightarrow\quad
   w = (I - \mu \Lambda_w)^{-1} \mu\, (\lambda_0 + \Lambda u), $$

and the robot goes on answering its input affinely. Where $\det(I - \mu \Lambda_w) \le 0$ the
contact would jam: it slides on with no acceleration, or rigid bodies leave several (Painlevé).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra.decompositions import determinant, inverse, svd
from ukctrl.core.algebra.dynamics_kernels import AccelerationMap, EquationOfMotion
from ukctrl.core.algebra.factorisation import copy_into, dot, solve_lower, solve_lower_columns
from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import UkctrlError, quoted
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import ContactArrays
from ukctrl.mechanics.constraints.contact import (
    ACTIVE_MODE,
    CREEPING,
    HEADING,
    HEIGHT,
    OPEN,
    SLIDING,
    SLIP_DIRECTION,
    SLIP_VELOCITY,
    STICKING,
    TOUCHDOWN_HEIGHT,
    USES_PLAN,
)
from ukctrl.mechanics.impact import ImpactContact

CREEP_SPEED = 1e-3
"""Below this speed the direction of friction stays what it was [m/s]; above twice that it follows
the slip again."""
STICK_SPEED = 1e-9
"""A contact that creeps back faster than this has stopped [m/s]."""
MIN_FRICTION_DETERMINANT = 1e-9
"""A determinant that is no larger leaves no friction that fits its own load."""


class JammedContact(UkctrlError, ArithmeticError):
    """A contact that slides would press the harder the more it rubs: no acceleration follows."""


@compiled
def append_friction_columns(B: Matrix, rub: Matrix, B_wide: Matrix) -> None:
    """Write what inputs and frictions push, side by side."""
    nu = B.shape[1]
    for i in range(B.shape[0]):
        for k in range(nu):
            B_wide[i, k] = B[i, k]
        for c in range(len(rub)):
            B_wide[i, nu + c] = -rub[c, i]


@compiled
def is_sliding(mode: float) -> bool:
    """Return whether a contact in this mode slides."""
    return mode in (SLIDING, CREEPING)


class ContactTables(NamedTuple):
    """What kernels read of all contacts, a line each."""

    height_rows: Indices
    slip_rows: Indices
    mu: Vector
    mode: Matrix
    kinematics: Matrix
    sole_half_sizes: Matrix


@allocating
def eliminate_friction(
    pushed: EquationOfMotion,
    A: Matrix,
    rtol: float,
    contacts: ContactTables,
    wide_answer: AccelerationMap,
    answer: AccelerationMap,
) -> bool:
    """Write the answer to the motors alone, of that to motors and frictions; False: it jams."""
    heights, mu, felt = contacts.height_rows, contacts.mu, contacts.kinematics
    B, L, G, nu = pushed.B, wide_answer.L, wide_answer.G, answer.G.shape[1]
    n, columns = B.shape
    for i in range(n):
        for k in range(nu):
            answer.G[i, k] = G[i, k]
    for k in range(nu):
        answer.motors[k] = wide_answer.motors[k]
    sliding = np.empty(len(mu), dtype=np.int64)
    count = 0
    for c in range(len(mu)):
        if mu[c] > 0.0 and is_sliding(felt[c, ACTIVE_MODE]):
            sliding[count] = c
            count += 1
    # nothing slides with friction: the rows' answer stands
    if count == 0:
        return True
    # the normal forces are linear in the input: load at zero input, answers per input and per unit
    # of friction
    W, scale = mass_weighted_rows(L, A, np.ones((1, len(A))))
    U, sigma, Vt = svd(W)
    force, push = np.empty(n), B.copy()
    for i in range(n):
        force[i] = pushed.f[i] - pushed.nle[i]
    solve_lower(L, force)
    solve_lower_columns(L, push)
    load, answers = np.zeros(count), np.zeros((count, columns))
    for c in range(n):  # what the rows transmit, mass-weighted
        moved, moves = -force[c], np.zeros(columns)
        for d in range(c, n):
            moved += L[d, c] * answer.a_free[d]
            for k in range(columns):
                moves[k] += L[d, c] * G[d, k]
        for s in range(count):
            h, weight = heights[sliding[s]], 0.0
            # the pseudoinverse of the rows: where they are redundant, loads of least norm
            for r in range(len(sigma)):
                if sigma[r] > rtol * sigma[0]:
                    weight += U[h, r] / sigma[r] * Vt[r, c]
            weight *= scale[0, h]
            load[s] += weight * moved
            for k in range(columns):
                answers[s, k] += weight * (moves[k] - push[c, k])
    # friction is mu times a load that friction changes: solved for all sliding contacts at once
    S = np.eye(count)
    for s in range(count):
        load[s] *= mu[sliding[s]]
        for k in range(columns):
            answers[s, k] *= mu[sliding[s]]
        for r in range(count):
            S[s, r] -= answers[s, nu + sliding[r]]
    # Painleve's paradox: friction lets no acceleration, or several, obey the rows
    if not determinant(S) > MIN_FRICTION_DETERMINANT:
        return False
    solved = inverse(S)
    for i in range(n):
        for s in range(count):
            moved = G[i, nu + sliding[s]]
            answer.a_free[i] += moved * dot(solved[s], load)
            for k in range(nu):
                answer.G[i, k] += moved * dot(solved[s], answers[:, k])
    return True


@compiled
def force_directions(A: Matrix, rub: Matrix, contacts: ContactTables, C: Matrix) -> None:
    """Write along what each row's multiplier pushes: its own row, and the friction with a load."""
    copy_into(A, C)
    heights, mu, felt = contacts.height_rows, contacts.mu, contacts.kinematics
    for c in range(len(mu)):
        if is_sliding(felt[c, ACTIVE_MODE]):
            for i in range(A.shape[1]):
                C[heights[c], i] -= mu[c] * rub[c, i]


@compiled
def write_friction_forces(contacts: ContactTables, internal: Vector, reaction: Vector) -> None:
    """Write the frictions of contacts that slide as the reactions of their rows of slip.

    ``internal`` forces, which move nothing, are added first.
    """
    for i in range(len(reaction)):
        reaction[i] += internal[i]
    heights, slips, mu, _, felt, _ = contacts
    for c in range(len(mu)):
        if is_sliding(felt[c, ACTIVE_MODE]):
            for i in range(2):
                reaction[slips[c] + i] = -mu[c] * reaction[heights[c]] * felt[c, SLIP_DIRECTION + i]


@compiled
def write_margins(
    contacts: ContactTables, reaction: Vector, margins: Vector, min_margin: Vector
) -> None:
    """Write a number that is positive while the mode of a contact lasts, and the least of them.

    An open one lasts until it is down, a closed one while it is pressed; one that sticks while it
    is within its cone, one that slides while it is not slow, one that creeps until it stops or is
    not slow any more; and a sole while its centre of pressure is inside.
    """
    heights, slips, mu, state, felt, half = contacts
    min_margin[0] = np.inf
    for c in range(len(mu)):
        mode, along, across = (
            felt[c, ACTIVE_MODE],
            felt[c, SLIP_VELOCITY],
            felt[c, SLIP_VELOCITY + 1],
        )
        speed, load = np.sqrt(along * along + across * across), reaction[heights[c]]
        if mode == OPEN:
            margins[c] = felt[c, HEIGHT] - state[c, TOUCHDOWN_HEIGHT]
        else:
            margins[c] = load
        if mode == STICKING:
            friction = np.sqrt(reaction[slips[c]] ** 2 + reaction[slips[c] + 1] ** 2)
            margins[c] = min(margins[c], mu[c] * load - friction)
        # hysteresis: sliding turns to creeping below CREEP_SPEED, and back above twice that
        elif mode == SLIDING and mu[c] > 0.0:
            margins[c] = min(margins[c], speed - CREEP_SPEED)
        elif mode == CREEPING:
            # a creeping contact sticks once its slip has turned back
            on = felt[c, SLIP_DIRECTION] * along + felt[c, SLIP_DIRECTION + 1] * across
            margins[c] = min(margins[c], min(on + STICK_SPEED, 2.0 * CREEP_SPEED - speed))
        if mode != OPEN:
            margins[c] = min(margins[c], tipping_margin(reaction[heights[c] :], half[c], felt[c]))
        min_margin[0] = min(min_margin[0], margins[c])


@compiled
def tipping_margin(reaction: Vector, half: Vector, felt: Vector) -> float:
    """Return the moment left before a flat contact tips over an edge of its sole [N m].

    Infinite where it has none. The multipliers are those from ``height`` on.
    """
    # a point cannot tip
    if half[0] == 0.0:
        return np.inf
    c, s = felt[HEADING], felt[HEADING + 1]
    along, across = c * reaction[1] + s * reaction[2], c * reaction[2] - s * reaction[1]
    # the centre of pressure must stay within the sole along both of its edges
    return float(min(reaction[0] * half[0] - abs(along), reaction[0] * half[1] - abs(across)))


@compiled
def write_active_rows(blocks: Indices, felt: Matrix, holds: Vector) -> None:
    """Write 1 for every passive row, and 0 for those that their contact has let go.

    ``blocks`` has the row of the height, the first of slip and that behind the last of a contact.
    """
    for i in range(len(holds)):
        holds[i] = 1.0
    for c in range(len(blocks)):
        mode, slip = felt[c, ACTIVE_MODE], felt[c, SLIP_VELOCITY : SLIP_VELOCITY + 2]
        # an open contact has no active row, a sliding one the normal ones alone; others may hold
        # one at rest that does not stick itself
        slips = is_sliding(mode) and math.hypot(slip[0], slip[1]) > STICK_SPEED
        first = blocks[c, 0] if mode == OPEN else blocks[c, 1] if slips else blocks[c, 2]
        for i in range(first, blocks[c, 2]):
            holds[i] = 0.0


@compiled
def flag_shared_loads(
    contacts: ContactTables,
    blocks: Indices,
    internal: Vector,
    ranks: Indices,
    holds: Vector,
    min_margin: Vector,
) -> None:
    """Write zero as the least margin where points that stand may share their load otherwise.

    They may where at least two stand and passive rows depend on each other; ``ranks`` begins with
    the rank of the rows.
    """
    write_active_rows(blocks, contacts.kinematics, holds)
    standing, held, shares = 0, 0, False
    for c in range(len(blocks)):
        mode, is_point = contacts.kinematics[c, ACTIVE_MODE], blocks[c, 1] == blocks[c, 0] + 1
        stands = mode == STICKING or (mode == SLIDING and contacts.mu[c] == 0.0)
        standing += 1 if is_point and stands else 0
    for i in range(len(holds)):
        held += 1 if holds[i] > 0.0 else 0
        shares = shares or internal[i] != 0.0
    if shares or (standing > 1 and ranks[0] < held):
        min_margin[0] = min(min_margin[0], 0.0)


@final
class UnilateralContacts:
    """The contacts of a robot that only push, as arrays that kernels read.

    Attributes:
        names: What their blocks are called.
        mu: Coefficients of friction, shape ``(k,)``.
        restitution: Part of an impact's impulse that follows in expansion, shape ``(k,)``.
        sole_half_sizes: Half lengths and widths of soles, zeros without, shape ``(k, 2)`` [m].
        mode: What each does, shape ``(k, 5)``; see `ContactArrays`.
        kinematics: Height, slip and what follows, shape ``(k, 10)``, written with the passive rows.
        slip_jacobians: Slip of those that slide per velocity, shape ``(k, nv)``.
        arrays: Views of these tables, contact by contact.
        height_rows: Their rows ``height`` among the passive rows.
        slip_rows: Their rows ``slip_x``.
        tilt_row_counts: How many rows of tilt they have, shape ``(k,)``.
        force_directions: Along what the multipliers of passive rows push, shape ``(m, nv)``.
        internal_forces: Multipliers that move nothing, by which contacts that stand share their
            load otherwise than by least norm, shape ``(m,)``.
        reaction: Multipliers, written by `margin_steps`.
        margins: What they last, shape ``(k,)``, likewise.
        smallest_margin: The least of them, shape ``(1,)``.

    Args:
        passive: The passive rows of a robot, of which no steps have been made yet.
        heeds: Whether contacts are open where the controller plans to lift them.
    """

    def __init__(self, passive: Stack, heeds: bool) -> None:
        nv, rows = passive.robot.nv, list(passive.names)
        pairs = [(block, block.touch) for block in passive.attached if block.touch is not None]
        k = len(pairs)
        self.names = tuple(block.block for block, _ in pairs)
        self.mu: Vector = np.array([touch.mu for _, touch in pairs])
        self.restitution: Vector = np.array([touch.restitution for _, touch in pairs])
        self.sole_half_sizes: Matrix = np.array([touch.sole_half_size for _, touch in pairs])
        self.has_planned_lifts = any(touch.has_planned_lifts for _, touch in pairs)
        self.mode, self.kinematics, self.slip_jacobians = (
            np.zeros((k, 5)),
            np.zeros((k, 10)),
            np.zeros((k, nv)),
        )
        self.height_rows: Indices = np.array([rows.index(f"{name}.height") for name in self.names])
        self.slip_rows: Indices = np.array([rows.index(f"{name}.slip_x") for name in self.names])
        ends = self.height_rows + [len(block.names) for block, _ in pairs]
        self.tilt_row_counts: Indices = self.slip_rows - self.height_rows - 1
        self._blocks = np.column_stack([self.height_rows, self.slip_rows, ends])
        self.force_directions, self.reaction = np.zeros((len(rows), nv)), np.zeros(len(rows))
        self.internal_forces = np.zeros(len(rows))
        rows_of = self.height_rows, self.slip_rows
        tables = self.mu, self.mode, self.kinematics, self.sole_half_sizes
        self.tables = ContactTables(*rows_of, *tables)
        self.arrays: list[ContactArrays] = []
        self.margins, self.smallest_margin = np.zeros(k), np.full(1, np.inf)
        for c, (block, touch) in enumerate(pairs):
            self.mode[c] = touch.mode
            # the true robot's contacts open by their forces, whatever the controller has planned
            self.mode[c, USES_PLAN] = heeds
            views = self.mode[c], self.kinematics[c], self.slip_jacobians[c]
            # the kernels of the rows write into views of these tables: one copy of the mode
            block.touch = touch._replace(mode=views[0], kinematics=views[1], slip_jacobian=views[2])
            self.arrays.append(block.touch)

    def __len__(self) -> int:
        return len(self.names)

    def impact_contacts(self, indices: Sequence[int]) -> list[ImpactContact]:
        """Return contacts as an impact takes them, by their rows among the passive ones."""
        return [
            ImpactContact(
                np.arange(self._blocks[c, 0], self._blocks[c, 1]),
                np.arange(self._blocks[c, 1], self._blocks[c, 2]),
                float(self.mu[c]),
                float(self.restitution[c]),
            )
            for c in indices
        ]

    @property
    def modes(self) -> dict[str, Vector]:
        """What each does, by name; see `ContactArrays.mode`."""
        return dict(zip(self.names, self.mode, strict=True))

    def copy_modes(self, states: Mapping[str, Vector]) -> None:
        """Do what contacts of these names do elsewhere; planned lifts count as they did."""
        for c, name in enumerate(self.names):
            if name in states:
                self.mode[c, :USES_PLAN] = states[name][:USES_PLAN]

    def friction_elimination_steps(
        self, pushed: EquationOfMotion, A: Matrix, rtol: float, answer: AccelerationMap
    ) -> tuple[EquationOfMotion, AccelerationMap, KernelStep, KernelStep]:
        """Return what is pushed and answers with frictions as motors, and what to do before and
        after that answer is written.
        """
        n, nu = pushed.B.shape
        columns = nu + len(self)
        wide = pushed._replace(B=np.zeros((n, columns)))
        wide_answer = answer._replace(G=np.zeros((n, columns)), motors=np.zeros(columns))
        column_step = BoundKernel(append_friction_columns, pushed.B, self.slip_jacobians, wide.B)
        args = wide, A, rtol, self.tables, wide_answer, answer
        return (
            wide,
            wide_answer,
            column_step,
            BoundKernel(eliminate_friction, *args, fault=self._jammed),
        )

    def _jammed(self, code: int) -> JammedContact:
        sliding = [is_sliding(mode) for mode in self.kinematics[:, ACTIVE_MODE].tolist()]
        at = quoted(itertools.compress(self.names, sliding))
        subject = f"contacts {at} jam" if sum(sliding) > 1 else f"contact {at} jams"
        return JammedContact(
            f"{subject}: the more it rubs the harder it presses, and rigid bodies do not decide "
            "whether it sticks at once or opens (Painlevé's paradox). Lower mu, change the "
            'posture, or let the law keep it from sliding: [[keep]] kind = "contact_forces", with '
            "a least force or a larger one."
        )

    def force_step(self, A: Matrix) -> KernelStep:
        """Return what writes `directions`, after the passive rows ``A`` and an answer."""
        return BoundKernel(
            force_directions, A, self.slip_jacobians, self.tables, self.force_directions
        )

    def friction_step(self, reaction: Vector) -> KernelStep:
        """Return what completes reactions along `directions` by the frictions that they carry."""
        return BoundKernel(write_friction_forces, self.tables, self.internal_forces, reaction)

    def active_rows_step(self, holds: Vector) -> KernelStep:
        """Return what writes which passive rows hold, 1 or 0, shape ``(m,)``."""
        return BoundKernel(write_active_rows, self._blocks, self.kinematics, holds)

    def sharing_step(self, ranks: Indices, margin: Vector) -> KernelStep:
        """Return what writes zero into a margin where loads may be shared otherwise.

        Args:
            ranks: Begins with the rank of the passive rows.
            margin: Shape ``(1,)``.
        """
        holds = np.zeros(len(self.reaction))
        inputs = self.tables, self._blocks, self.internal_forces, ranks
        return BoundKernel(flag_shared_loads, *inputs, holds, margin)

    def margin_step(self) -> KernelStep:
        """Return what writes `margins`, after `reaction`."""
        outputs = self.margins, self.smallest_margin
        return BoundKernel(write_margins, self.tables, self.reaction, *outputs)
