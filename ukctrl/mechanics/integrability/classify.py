r"""Holonomic or nonholonomic: which velocity constraints can be integrated.

A constraint on velocities, $A(q, t)\, v + c(q, t) = 0$, may be the derivative of one on positions
in disguise. By the theorem of Frobenius it is exactly when the directions that it allows are
closed under the Lie bracket; for one row $\omega = A\, dq + c\, dt$ that is
$\omega \wedge d\omega = 0$, and for three coordinates the condition that textbooks print.

The decision is taken at states drawn at random. Rows in text are evaluated there with 160 digits:
what is not zero is then proved not to be, and what is zero to 25 digits at random states is zero
but for an accident of measure zero. Rows that are not text are evaluated in floating point; the
answer says so. Where there is time, `ukctrl.mechanics.integrability.integrals` integrates the rows.
"""

from __future__ import annotations

import dataclasses as dc
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints.constraint import Attached
from ukctrl.mechanics.integrability.brackets import (
    Contradiction,
    Growth,
    NoState,
    Scheme,
    Space,
    growth,
)
from ukctrl.mechanics.integrability.integrals import ClosedForm, closed_forms
from ukctrl.mechanics.integrability.sampled_rows import FLOATING, Sampled, curved, settling
from ukctrl.mechanics.integrability.spaces import Texts, many_digits, read_rows

if TYPE_CHECKING:
    from ukctrl.robot import Robot

Kind = Literal["holonomic", "nonholonomic", "partly", "undecided"]
Evidence = Literal["digits", "floating point", "none"]

SECONDS = 4.0
"""Time allowed for a classification, and as much again for closed forms."""
MOST_ALONE = 40
"""With more freedoms than this, rows are classified together only."""


@dc.dataclass(frozen=True, kw_only=True)
class RowIntegrability:
    """One row among others."""

    name: str
    """Its name, or its text."""
    kind: Kind
    """Whether it follows from position constraints, given the other rows."""
    alone: Kind
    """The same of the row by itself."""
    factor: str = ""
    """Integrating factor of the row, where found; velocities times it are a derivative."""
    integral: str = ""
    """What is constant along every motion that obeys the row, where found."""


@dc.dataclass(frozen=True, kw_only=True)
class Integrability:
    r"""What rows on velocities leave of the positions.

    ``rank`` independent rows contain ``integrable`` independent ones that are derivatives of
    position constraints; the others, ``nonholonomic``, restrict velocities only.
    """

    kind: Kind
    """``partly``: some combinations of the rows integrate and some do not."""
    rank: int
    integrable: int
    nonholonomic: int
    growth: tuple[int, ...]
    """Directions that the rows allow, then with one bracket, with two, and so on."""
    rows: tuple[RowIntegrability, ...]
    evidence: Evidence
    """``digits``: evaluated with 160 digits at random states. ``floating point``: numerical
    evidence only."""
    witness: str = ""
    """Why the rows do not integrate: the first bracket that leaves them, or the textbook form."""
    reason: str = ""
    """Why nothing is decided, or not all."""

    @property
    def degree(self) -> int:
        """Return the degree of nonholonomy: how many allowed directions a bracket must have at
        most to reach everything that can be reached; 1 where the rows are holonomic.
        """
        return len(self.growth)

    def sentence(self) -> str:
        """Return the answer in words."""
        if self.kind == "undecided":
            return f"undecided: {self.reason}"
        if self.growth == (0,):
            text = "they fix every velocity, and so integrate by counting"
        elif self.kind == "holonomic":
            text = "they integrate to position constraints"
        else:
            count = f"{self.nonholonomic} of {self.rank} independent velocity and passive rows"
            steps = " -> ".join(str(size) for size in self.growth)
            text = f"{count} cannot be integrated (directions {steps}, degree {self.degree})"
        evidence = "; numerical evidence" if self.evidence == "floating point" else ""
        return f"{text}{evidence}"


def classify(
    texts: Sequence[str],
    coordinates: Sequence[str],
    *,
    seconds: float = SECONDS,
    closed_form: bool = True,
) -> Integrability:
    r"""Tell whether constraints on velocities can be integrated, for any number of them.

    $$ \omega_i = \sum_j a_{ij}(q, t)\, dq_j + a_{i0}\, dt = 0, \qquad i = 1 \ldots m $$

    are holonomic exactly when $d\omega_i \wedge \omega_1 \wedge \ldots \wedge \omega_m = 0$ for
    all $i$ (Frobenius). For $m = 1$ and three coordinates this is the paper's eq (11).

    >>> classify(["d.x + 2*y*d.y + d.z"], ["x", "y", "z"]).kind
    'holonomic'
    >>> answer = classify(["d.x + 2*z*d.y + d.z"], ["x", "y", "z"])
    >>> answer.kind, answer.growth
    ('nonholonomic', (2, 3))

    Args:
        texts: The constraints: over ``d.x`` and ``d.t`` (Pfaffian), or over ``v.x``; one without
            either is a position constraint, which may make others integrable.
        coordinates: Names of the coordinates.
        seconds: Processor time allowed; whatever is open then is undecided.
        closed_form: Whether to look for integrals and factors too, in as much time again.

    Raises:
        ExpressionError: A text is not in the language.
        InputError: No velocity meets all the constraints, or no state makes sense of them.

    References:
        Zhao, Chen, Zhao, Dong, Udwadia-Kalaba equation for constrained mechanical systems,
        Chin. J. Mech. Eng. 31, 2018, eqs (10)-(17); Bloch,
        Nonholonomic Mechanics and Control, section 2.3 and chapter 4.
    """
    names = tuple(coordinates)
    if not texts or not names:
        raise InputError("classify needs at least one constraint and one coordinate.")
    twice = next((name for name in names if (*names, "t").count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"coordinates must have names of their own, and 't' is the time; got '{twice}' twice."
        )
    rates = tuple(f"v.{name}" for name in names)
    derived = read_rows(texts, names, names, rates)
    space = Texts(derived, names, names, rates)
    labels = [" ".join(text.split()) for text in texts]
    verdict = _classified(space, labels, seconds)
    for index in [i for i, linear in enumerate(space.linear) if not linear]:
        turns = curved(derived[index], 0, (len(names), len(names)), None)
        verdict = _with_nonlinear(verdict, index, turns)
    return _integrated(verdict, texts, names, seconds) if closed_form else verdict


def classify_parts(
    parts: Sequence[Attached], robot: Robot, *, seconds: float = SECONDS, closed_form: bool = False
) -> Integrability | None:
    """Classify the rows of attached constraints together; None without a row on velocities.

    Args:
        parts: The constraints; those on positions may make rows on velocities integrable.
        robot: The robot they are attached to.
        seconds: Processor time allowed.
        closed_form: Whether to look for integrals too.

    Raises:
        InputError: No velocity meets all the rows, or no state makes sense of them.
    """
    if all(holonomic for part in parts for holonomic in part.holonomic):
        return None
    labels = [name for part in parts for name in part.names]
    formulas = [part.formulas() for part in parts]
    texts = [each for each in formulas if each is not None]
    if len(texts) < len(parts):
        return _classified(Sampled(parts, robot), labels, seconds)
    draw = settling(parts, robot)
    space = Texts(texts, robot.coordinates, robot.dofs, robot.rates, draw)
    verdict = _classified(space, labels, seconds)
    each = [(derived, row) for derived in texts for row in range(derived.m)]
    for index in [i for i, linear in enumerate(space.linear) if not linear]:
        turns = curved(*each[index], (robot.nq, robot.nv), draw)
        verdict = _with_nonlinear(verdict, index, turns)
    if closed_form and robot.rates == tuple(f"v.{name}" for name in robot.coordinates):
        # as derived, not as written: names of parameters are numbers there
        sources = [str((derived.phi or derived.beta)[row]) for derived, row in each]
        return _integrated(verdict, sources, robot.coordinates, seconds)
    return verdict


def _classified(space: Texts | Sampled, labels: Sequence[str], seconds: float) -> Integrability:
    deadline = time.thread_time() + seconds
    evidence: Evidence = "digits" if isinstance(space, Texts) else "floating point"
    chosen = [i for i, usable in enumerate(space.linear) if usable]
    with space.arithmetic():
        scheme = many_digits(space) if isinstance(space, Texts) else FLOATING
        try:
            best = _best(space.part(chosen), scheme, deadline)
        except Contradiction as error:
            raise InputError(
                f"no velocity meets all constraints: '{labels[chosen[error.row]]}' contradicts "
                "the others."
            ) from None
        except NoState as error:
            raise InputError(str(error)) from None
        together = _rows_of(best, scheme, chosen, len(labels))
        alone: list[Kind] = ["undecided"] * len(labels)
        for i in chosen:
            if len(labels) == 1:
                alone[i] = together[i]
            elif space.size - 1 <= MOST_ALONE and time.thread_time() < deadline:
                alone[i] = _alone(space.part([i]), scheme, deadline)
    ceiling = space.size
    integrable = ceiling - best.dims[-1]
    broken = best.rank - integrable
    witness = ""
    if best.first is not None:
        i, j, at, value = best.first
        names = space.names
        witness = (
            f"[{names[i]}, {names[j]}]: the bracket of the directions with these two free breaks "
            f"'{labels[chosen[at]]}' by {value:.3g}"
        )
    kind: Kind = "holonomic" if broken == 0 else "partly" if integrable else "nonholonomic"
    reason = ""
    if not best.closed:
        kind = "undecided"
        reason = (
            f"at least {broken} of {best.rank} rows are nonholonomic; brackets of more than "
            f"{len(best.dims)} directions were not tried"
            if broken
            else "the time allowed ran out"
        )
    return Integrability(
        kind=kind,
        rank=best.rank,
        integrable=integrable,
        nonholonomic=broken,
        growth=tuple(size - 1 for size in best.dims),  # time always goes on
        rows=tuple(
            RowIntegrability(name=name, kind=together[i], alone=alone[i])
            for i, name in enumerate(labels)
        ),
        evidence=evidence,
        witness=witness,
        reason=reason,
    )


def _best(space: Space, scheme: Scheme, deadline: float) -> Growth:
    """Return the growth where most is reached: a state drawn by bad luck reaches less.

    Raises:
        Contradiction: No velocity meets all rows at any of the states.
    """
    rng = np.random.default_rng(0)
    growths, refused = [], None
    for _ in range(space.states):
        try:
            growths.append(growth(space, space.draw(rng), scheme, deadline))
        except Contradiction as error:
            refused = error
            continue
        if growths[-1].dims[-1] == space.size:
            break
    if not growths and refused is not None:
        raise refused
    return max(growths, key=lambda each: (each.rank, each.dims[-1], each.closed))


def _rows_of(best: Growth, scheme: Scheme, chosen: Sequence[int], count: int) -> list[Kind]:
    kinds: list[Kind] = ["undecided"] * count
    for index, broken in zip(chosen, best.broken(max(scheme.zero, 1e-12)), strict=True):
        if broken:
            kinds[index] = "nonholonomic"
        elif best.closed:
            kinds[index] = "holonomic"
    return kinds


def _alone(space: Space, scheme: Scheme, deadline: float) -> Kind:
    try:
        reached = _best(space, scheme._replace(depth=2), deadline)
    except (Contradiction, NoState):
        return "undecided"
    if len(reached.dims) > 1:
        return "nonholonomic"
    return "holonomic" if reached.closed else "undecided"


def _with_nonlinear(found: Integrability, index: int, turns: bool | None) -> Integrability:
    """Count a row that is not linear in the velocities.

    One that integrates is linear in them where it holds: its gradient does not turn.
    """
    row = found.rows[index]
    kind: Kind = "nonholonomic" if turns else "undecided"
    rows = list(found.rows)
    rows[index] = dc.replace(row, kind=kind, alone=kind)
    if not turns:
        why = f"'{row.name}' is not linear in the velocities, and no state shows what it allows"
        return dc.replace(found, kind="undecided", rows=tuple(rows), reason=why)
    whole: Kind = found.kind
    if found.kind != "undecided":
        whole = "partly" if found.integrable else "nonholonomic"
    return dc.replace(
        found,
        kind=whole,
        rank=found.rank + 1,
        nonholonomic=found.nonholonomic + 1,
        rows=tuple(rows),
        witness=found.witness or f"'{row.name}' is curved in the velocities",
    )


def _integrated(
    found: Integrability, texts: Sequence[str], coordinates: Sequence[str], seconds: float
) -> Integrability:
    """Add integrals, factors and the textbook form of the witness, where they are found in time."""
    answer: ClosedForm | None = closed_forms(
        texts, coordinates, [row.alone == "holonomic" for row in found.rows], seconds
    )
    if answer is None:
        return found
    rows = tuple(
        dc.replace(row, factor=factor, integral=integral)
        for row, (factor, integral) in zip(found.rows, answer.integrals, strict=True)
    )
    return dc.replace(found, rows=rows, witness=answer.witness or found.witness)
