r"""Contacts that only push, of a robot: friction that follows the load, and what ends a mode.

A contact that slides rubs with $\mu \lambda_n$ against its slip. To the robot that is one more
motor, whose input follows from the reactions: these are affine in it and in the inputs $u$, so

$$ w = \mu \lambda_n, \quad \lambda_n = \lambda_0 + \Lambda u + \Lambda_w w \quad\Rightarrow\quad
   w = (I - \mu \Lambda_w)^{-1} \mu\, (\lambda_0 + \Lambda u), $$

and the robot goes on answering its input affinely. Where $\det(I - \mu \Lambda_w) \le 0$ the
contact would jam: no acceleration follows (Painlevé).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import final

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into, solve_lower, solve_lower_columns
from ukctrl.core.algebra.kernels import Answer, Pushed
from ukctrl.core.algebra.row_space import mass_weighted
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import UkctrlError, quoted
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import Touch
from ukctrl.mechanics.constraints.contact import (
    CREEPS,
    FACING,
    FLOOR,
    HEEDS,
    HEIGHT,
    IN_FORCE,
    OPEN,
    SLIDES,
    SLIP,
    STICKS,
    TOWARDS,
)

SLOW = 1e-3
"""Below this speed the direction of friction stays what it was [m/s]; above twice that it follows
the slip again."""
STOPPED = 1e-9
"""A contact that creeps back faster than this has stopped [m/s]."""
JAMS = 1e-9
"""A determinant that is no larger leaves no friction that fits its own load."""


class Jammed(UkctrlError, ArithmeticError):
    """A contact that slides would press the harder the more it rubs: no acceleration follows."""


@compiled
def beside_motors(B: Matrix, rub: Matrix, every: Matrix) -> None:
    """Write what inputs and frictions push, side by side."""
    nu = B.shape[1]
    for i in range(B.shape[0]):
        for k in range(nu):
            every[i, k] = B[i, k]
        for c in range(len(rub)):
            every[i, nu + c] = -rub[c, i]


@compiled
def is_sliding(mode: float) -> bool:
    """Return whether a contact in this mode slides."""
    return mode in (SLIDES, CREEPS)


@allocating
def with_friction(
    pushed: Pushed,
    A: Matrix,
    rtol: float,
    heights: Indices,
    mu: Vector,
    felt: Matrix,
    every: Answer,
    answer: Answer,
) -> bool:
    """Write the answer to the motors alone, of that to motors and frictions; False: it jams."""
    B, L, G, nu = pushed.B, every.L, every.G, answer.G.shape[1]
    n, columns = B.shape
    for i in range(n):
        for k in range(nu):
            answer.G[i, k] = G[i, k]
    for k in range(nu):
        answer.motors[k] = every.motors[k]
    sliding = np.empty(len(mu), dtype=np.int64)
    count = 0
    for c in range(len(mu)):
        if mu[c] > 0.0 and is_sliding(felt[c, IN_FORCE]):
            sliding[count] = c
            count += 1
    if count == 0:
        return True
    W, inverse = mass_weighted(L, A, np.ones((1, len(A))))
    U, sigma, Vt = np.linalg.svd(W, False)
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
            h, part = heights[sliding[s]], 0.0
            for r in range(len(sigma)):
                if sigma[r] > rtol * sigma[0]:
                    part += U[h, r] / sigma[r] * Vt[r, c]
            part *= inverse[0, h]
            load[s] += part * moved
            for k in range(columns):
                answers[s, k] += part * (moves[k] - push[c, k])
    S = np.eye(count)
    for s in range(count):
        load[s] *= mu[sliding[s]]
        for k in range(columns):
            answers[s, k] *= mu[sliding[s]]
        for r in range(count):
            S[s, r] -= answers[s, nu + sliding[r]]
    if not np.linalg.det(S) > JAMS:
        return False
    level, per_input = np.linalg.solve(S, load), np.linalg.solve(S, answers)
    for i in range(n):
        for s in range(count):
            moved = G[i, nu + sliding[s]]
            answer.a_free[i] += moved * level[s]
            for k in range(nu):
                answer.G[i, k] += moved * per_input[s, k]
    return True


@compiled
def force_directions(
    A: Matrix, rub: Matrix, heights: Indices, mu: Vector, felt: Matrix, C: Matrix
) -> None:
    """Write along what each row's multiplier pushes: its own row, and the friction with a load."""
    copy_into(A, C)
    for c in range(len(mu)):
        if is_sliding(felt[c, IN_FORCE]):
            for i in range(A.shape[1]):
                C[heights[c], i] -= mu[c] * rub[c, i]


@compiled
def write_frictions(
    heights: Indices, slips: Indices, mu: Vector, felt: Matrix, reaction: Vector
) -> None:
    """Write the frictions of contacts that slide as the reactions of their rows of slip."""
    for c in range(len(mu)):
        if is_sliding(felt[c, IN_FORCE]):
            for i in range(2):
                reaction[slips[c] + i] = -mu[c] * reaction[heights[c]] * felt[c, TOWARDS + i]


@compiled
def write_margins(
    heights: Indices,
    slips: Indices,
    mu: Vector,
    state: Matrix,
    felt: Matrix,
    half: Matrix,
    reaction: Vector,
    each: Vector,
    least: Vector,
) -> None:
    """Write a number that is positive while the mode of a contact lasts, and the least of them.

    An open one lasts until it is down, a closed one while it is pressed; one that sticks while it
    is within its cone, one that slides while it is not slow, one that creeps until it stops or is
    not slow any more; and a sole while its centre of pressure is inside.
    """
    least[0] = np.inf
    for c in range(len(mu)):
        mode, along, across = felt[c, IN_FORCE], felt[c, SLIP], felt[c, SLIP + 1]
        speed, load = np.sqrt(along * along + across * across), reaction[heights[c]]
        if mode == OPEN:
            each[c] = felt[c, HEIGHT] - state[c, FLOOR]
        else:
            each[c] = load
        if mode == STICKS:
            held = np.sqrt(reaction[slips[c]] ** 2 + reaction[slips[c] + 1] ** 2)
            each[c] = min(each[c], mu[c] * load - held)
        elif mode == SLIDES and mu[c] > 0.0:
            each[c] = min(each[c], speed - SLOW)
        elif mode == CREEPS:
            on = felt[c, TOWARDS] * along + felt[c, TOWARDS + 1] * across
            each[c] = min(each[c], min(on + STOPPED, 2.0 * SLOW - speed))
        if mode != OPEN:
            each[c] = min(each[c], inside_sole(reaction[heights[c] :], half[c], felt[c]))
        least[0] = min(least[0], each[c])


@compiled
def inside_sole(reaction: Vector, half: Vector, felt: Vector) -> float:
    """Return the moment left before a flat contact tips over an edge of its sole [N m].

    Infinite where it has none. The multipliers are those from ``height`` on.
    """
    if half[0] == 0.0:
        return np.inf
    c, s = felt[FACING], felt[FACING + 1]
    along, across = c * reaction[1] + s * reaction[2], c * reaction[2] - s * reaction[1]
    return float(min(reaction[0] * half[0] - abs(along), reaction[0] * half[1] - abs(across)))


@compiled
def write_holds(blocks: Indices, felt: Matrix, holds: Vector) -> None:
    """Write 1 for every passive row, and 0 for those that their contact has let go.

    ``blocks`` has the row of the height, the first of slip and that behind the last of a contact.
    """
    for i in range(len(holds)):
        holds[i] = 1.0
    for c in range(len(blocks)):
        mode = felt[c, IN_FORCE]
        first = blocks[c, 0] if mode == OPEN else blocks[c, 1] if is_sliding(mode) else blocks[c, 2]
        for i in range(first, blocks[c, 2]):
            holds[i] = 0.0


@final
class Contacts:
    """The contacts of a robot that only push, as arrays that kernels read.

    Attributes:
        names: What their blocks are called.
        mu: Coefficients of friction, shape ``(k,)``.
        half: Half lengths and widths of soles, zeros without, shape ``(k, 2)`` [m].
        state: What each does, shape ``(k, 5)``; see `Touch`.
        felt: What is felt of each, shape ``(k, 10)``, written with the passive rows.
        rub: Slip of those that slide per velocity, shape ``(k, nv)``.
        touches: The same, contact by contact.
        heights: Their rows ``height`` among the passive rows.
        slips: Their rows ``slip_x``.
        flat: How many rows of tilt they have, shape ``(k,)``.
        directions: Along what the multipliers of passive rows push, shape ``(m, nv)``.
        reaction: Multipliers, written by `margin_steps`.
        margins: What they last, shape ``(k,)``, likewise.
        least: The least of them, shape ``(1,)``.

    Args:
        passive: The passive rows of a robot, of which no steps have been made yet.
        heeds: Whether contacts are open where the controller plans to lift them.
    """

    def __init__(self, passive: Stack, heeds: bool) -> None:
        nv, rows = passive.robot.nv, list(passive.names)
        own = [(part, part.touch) for part in passive.attached if part.touch is not None]
        k = len(own)
        self.names = tuple(part.block for part, _ in own)
        self.mu: Vector = np.array([touch.mu for _, touch in own])
        self.half: Matrix = np.array([touch.half for _, touch in own])
        self.planned = any(touch.planned for _, touch in own)
        self.state, self.felt, self.rub = np.zeros((k, 5)), np.zeros((k, 10)), np.zeros((k, nv))
        self.heights: Indices = np.array([rows.index(f"{name}.height") for name in self.names])
        self.slips: Indices = np.array([rows.index(f"{name}.slip_x") for name in self.names])
        ends = self.heights + [len(part.names) for part, _ in own]
        self.flat: Indices = self.slips - self.heights - 1
        self._blocks = np.column_stack([self.heights, self.slips, ends])
        self.directions, self.reaction = np.zeros((len(rows), nv)), np.zeros(len(rows))
        self.touches: list[Touch] = []
        self.margins, self.least = np.zeros(k), np.full(1, np.inf)
        for c, (part, touch) in enumerate(own):
            self.state[c] = touch.state
            self.state[c, HEEDS] = heeds
            now = self.state[c], self.felt[c], self.rub[c]
            part.touch = touch._replace(state=now[0], felt=now[1], rub=now[2])
            self.touches.append(part.touch)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def states(self) -> dict[str, Vector]:
        """What each does, by name; see `Touch.state`."""
        return dict(zip(self.names, self.state, strict=True))

    def follow(self, states: Mapping[str, Vector]) -> None:
        """Do what contacts of these names do elsewhere; planned lifts count as they did."""
        for c, name in enumerate(self.names):
            if name in states:
                self.state[c, :HEEDS] = states[name][:HEEDS]

    def answer_steps(
        self, pushed: Pushed, A: Matrix, rtol: float, answer: Answer
    ) -> tuple[Pushed, Answer, Step, Step]:
        """Return what is pushed and answers with frictions as motors, and what to do before and
        after that answer is written.
        """
        n, nu = pushed.B.shape
        columns = nu + len(self)
        wide = pushed._replace(B=np.zeros((n, columns)))
        every = answer._replace(G=np.zeros((n, columns)), motors=np.zeros(columns))
        before = Call(beside_motors, pushed.B, self.rub, wide.B)
        given = wide, A, rtol, self.heights, self.mu, self.felt, every, answer
        return wide, every, before, Call(with_friction, *given, fault=self._jammed)

    def _jammed(self, code: int) -> Jammed:
        sliding = [is_sliding(mode) for mode in self.felt[:, IN_FORCE].tolist()]
        at = quoted(itertools.compress(self.names, sliding))
        which = f"contacts {at} jam" if sum(sliding) > 1 else f"contact {at} jams"
        return Jammed(
            f"{which}: the more it rubs the harder it presses, and "
            "no acceleration follows (Painlevé's paradox). Lower mu, or change the posture."
        )

    def force_step(self, A: Matrix) -> Step:
        """Return what writes `directions`, after the passive rows ``A`` and an answer."""
        given = self.rub, self.heights, self.mu, self.felt, self.directions
        return Call(force_directions, A, *given)

    def friction_step(self, reaction: Vector) -> Step:
        """Return what completes reactions along `directions` by the frictions that they carry."""
        return Call(write_frictions, self.heights, self.slips, self.mu, self.felt, reaction)

    def holds_step(self, holds: Vector) -> Step:
        """Return what writes which passive rows hold, 1 or 0, shape ``(m,)``."""
        return Call(write_holds, self._blocks, self.felt, holds)

    def margin_step(self) -> Step:
        """Return what writes `margins`, after `reaction`."""
        given = self.heights, self.slips, self.mu, self.state, self.felt, self.half
        return Call(write_margins, *given, self.reaction, self.margins, self.least)
