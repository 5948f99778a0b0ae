r"""Holonomic or nonholonomic: which velocity constraints can be integrated.

A constraint on velocities, $A(q, t)\, v + c(q, t) = 0$, may be the derivative of one on positions
in disguise. By the theorem of Frobenius it is exactly when the directions that it allows are
closed under the Lie bracket; for one row $\omega = A\, dq + c\, dt$ that is
$\omega \wedge d\omega = 0$, and for three coordinates the condition that textbooks print.

The decision is taken at states drawn at random. Rows in text are evaluated there with 160 digits:
what is not zero is then proved not to be, and what is zero to 25 digits at random states is zero
but for an accident of measure zero. Rows that are not text are evaluated in floating point; the
answer says so. Where there is time, `ukctrl_papers.integrability.first_integrals` integrates the
rows.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import first_largest
from ukctrl.mechanics.constraints.constraint import BoundConstraint
from ukctrl.mechanics.integrability import (
    DOUBLE_PRECISION,
    MAX_DRAWS,
    N_STATES,
    SECONDS,
    ContradictoryRow,
    DifferenceScheme,
    GrowthVector,
    NoAdmissibleState,
    NumericRows,
    growth_vector,
)
from ukctrl_papers.integrability.first_integrals import FirstIntegrals, first_integrals, read_rows
from ukctrl_papers.integrability.multiprecision_rows import (
    DIGITS,
    Draw,
    MultiprecisionRows,
)

if TYPE_CHECKING:
    from ukctrl.core.expression.constraint_rows import DerivedRows
    from ukctrl.robot import Robot

Kind = Literal["holonomic", "nonholonomic", "partly", "undecided"]
Evidence = Literal["digits", "floating point", "none"]

N_CONSTRAINED_STATES = 6
"""States to try where position rows hold: the way onto those ends at singular positions more often
than chance would have it."""
GRADIENT_TOLERANCE = 1e-6
"""A gradient that turns by more than this, at one state, belongs to a row that is curved."""
MAX_STANDALONE_FREEDOMS = 40
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
    space = MultiprecisionRows(derived, names, names, rates)
    labels = [" ".join(text.split()) for text in texts]
    verdict = _classified(space, names, labels, seconds)
    # brackets are of linear rows; others are looked at one by one
    for index in [i for i, linear in enumerate(space.linear) if not linear]:
        turns = gradient_turns(derived[index], 0, (len(names), len(names)), None)
        verdict = _add_nonlinear_row(verdict, index, turns)
    return _add_first_integrals(verdict, texts, names, seconds) if closed_form else verdict


def classify_parts(
    blocks: Sequence[BoundConstraint],
    robot: Robot,
    *,
    seconds: float = SECONDS,
    closed_form: bool = False,
) -> Integrability | None:
    """Classify the rows of attached constraints together; None without a row on velocities.

    Args:
        blocks: The constraints; those on positions may make rows on velocities integrable.
        robot: The robot they are attached to.
        seconds: Processor time allowed.
        closed_form: Whether to look for integrals too.

    Raises:
        InputError: No velocity meets all the rows, or no state makes sense of them.
    """
    numeric = NumericRows(blocks, robot)
    if numeric.holonomic.all():
        return None
    states = N_CONSTRAINED_STATES if numeric.holonomic.any() else N_STATES
    labels = [name for block in blocks for name in block.names]
    formulas = [block.formulas() for block in blocks]
    # brackets mix all rows: with one that has no formula none is of use
    texts = [rows for rows in formulas if rows is not None]
    if len(texts) < len(blocks):
        return _classified(numeric, robot.dofs, labels, seconds, states)
    draw = numeric.configuration
    space = MultiprecisionRows(texts, robot.coordinates, robot.dofs, robot.rates, draw)
    verdict = _classified(space, robot.dofs, labels, seconds, states)
    rows = [(derived, row) for derived in texts for row in range(derived.m)]
    for index in [i for i, linear in enumerate(space.linear) if not linear]:
        turns = gradient_turns(*rows[index], (robot.nq, robot.nv), draw)
        verdict = _add_nonlinear_row(verdict, index, turns)
    if closed_form and robot.rates == tuple(f"v.{name}" for name in robot.coordinates):
        # as derived, not as written: names of parameters are numbers there
        sources = [str((derived.phi or derived.beta)[row]) for derived, row in rows]
        return _add_first_integrals(verdict, sources, robot.coordinates, seconds)
    return verdict


def _classified(
    space: MultiprecisionRows | NumericRows,
    dofs: Sequence[str],
    labels: Sequence[str],
    seconds: float,
    states: int = N_STATES,
) -> Integrability:
    import mpmath

    # of processor time: on a busy machine no more stays open
    deadline = time.thread_time() + seconds
    evidence: Evidence = "digits" if isinstance(space, MultiprecisionRows) else "floating point"
    with mpmath.workdps(DIGITS):
        scheme = space.scheme() if isinstance(space, MultiprecisionRows) else DOUBLE_PRECISION
        try:
            chosen = [i for i, usable in enumerate(space.linear) if usable]
            best = _generic_growth(space, chosen, states, scheme, deadline)
        except ContradictoryRow as error:
            raise InputError(
                f"no velocity meets all constraints: '{labels[chosen[error.args[0]]]}' contradicts "
                "the others."
            ) from None
        except NoAdmissibleState:
            raise InputError(
                "the constraints have no finite real value at any state tried; check the domains "
                "of log, sqrt, asin and acos, and divisions."
            ) from None
        together = _row_kinds(best, scheme, chosen, len(labels))
        alone: list[Kind] = ["undecided"] * len(labels)
        for i in chosen:
            if len(labels) == 1:
                alone[i] = together[i]
            elif len(dofs) <= MAX_STANDALONE_FREEDOMS and time.thread_time() < deadline:
                alone[i] = _standalone_kind(space, i, states, scheme, deadline)
    integrable = len(dofs) + 1 - best.dimensions[-1]
    broken = best.rank - integrable
    witness = ""
    if best.witness is not None:
        i, j, bracket = best.witness
        broken_rows = np.asarray(best.rows @ bracket, dtype=np.float64)
        at, names = first_largest(np.abs(broken_rows)), (*dofs, "t")
        witness = (
            f"[{names[i]}, {names[j]}]: the bracket of the directions with these two free breaks "
            f"'{labels[chosen[at]]}' by {broken_rows[at]:.3g}"
        )
    kind: Kind = "holonomic" if broken == 0 else "partly" if integrable else "nonholonomic"
    reason = ""
    if not best.closed:
        kind = "undecided"
        reason = (
            f"at least {broken} of {best.rank} rows are nonholonomic; brackets of more than "
            f"{len(best.dimensions)} directions were not tried"
            if broken
            else "the time allowed ran out"
        )
    return Integrability(
        kind=kind,
        rank=best.rank,
        integrable=integrable,
        nonholonomic=broken,
        growth=tuple(size - 1 for size in best.dimensions),  # time always goes on
        rows=tuple(
            RowIntegrability(name=name, kind=together[i], alone=alone[i])
            for i, name in enumerate(labels)
        ),
        evidence=evidence,
        witness=witness,
        reason=reason,
    )


def _generic_growth(
    space: MultiprecisionRows | NumericRows,
    chosen: Sequence[int],
    states: int,
    scheme: DifferenceScheme,
    deadline: float,
) -> GrowthVector:
    """Return the growth where most is reached: a state drawn by bad luck reaches less.

    Raises:
        ContradictoryRow: No velocity meets all rows at any of the states.
    """
    rng = np.random.default_rng(0)
    growths, refused = [], None
    for _ in range(states):
        try:
            growths.append(growth_vector(space, chosen, space.draw(rng), scheme, deadline))
        except ContradictoryRow as error:
            refused = error
            continue
        # no state reaches more than everything
        if growths[-1].dimensions[-1] == len(growths[-1].basis):
            break
    if not growths and refused is not None:
        raise refused
    return max(growths, key=lambda each: (each.rank, each.dimensions[-1], each.closed))


def _row_kinds(
    best: GrowthVector, scheme: DifferenceScheme, chosen: Sequence[int], count: int
) -> list[Kind]:
    kinds: list[Kind] = ["undecided"] * count
    for index, broken in zip(chosen, best.violated_rows(max(scheme.zero, 1e-12)), strict=True):
        if broken:
            kinds[index] = "nonholonomic"
        elif best.closed:
            kinds[index] = "holonomic"
    return kinds


def _standalone_kind(
    space: MultiprecisionRows | NumericRows,
    row: int,
    states: int,
    scheme: DifferenceScheme,
    deadline: float,
) -> Kind:
    try:
        # by Frobenius one bracket settles a single row
        reached = _generic_growth(space, [row], states, scheme._replace(depth=2), deadline)
    except (ContradictoryRow, NoAdmissibleState):
        return "undecided"
    if len(reached.dimensions) > 1:
        return "nonholonomic"
    return "holonomic" if reached.closed else "undecided"


def gradient_turns(
    derived: DerivedRows, row: int, sizes: tuple[int, int], draw: Draw | None
) -> bool | None:
    """Tell whether a row's gradient turns along the velocities that it allows at one state.

    Args:
        derived: Rows in text.
        row: Which of them.
        sizes: Numbers of coordinates and of velocities.
        draw: Draws a configuration; absent: any numbers will do.

    Returns:
        None where no velocity that obeys the row was found, or its gradient never turns.
    """
    nq, nv = sizes
    rng = np.random.default_rng(2)

    def at(q: Vector, v: Vector, t: float) -> tuple[float, Vector]:
        values = derived.evaluate(q.tolist(), v.tolist(), t)
        A = np.array(values[row * nv : (row + 1) * nv])
        return float(values[derived.m * (nv + 1) + row]), A

    def allowed(q: Vector, v: Vector, t: float) -> Vector | None:
        for _ in range(MAX_DRAWS):
            value, A = at(q, v, t)
            if abs(value) < 1e-12:
                return A
            # Newton's step along the gradient
            v -= A * value / (A @ A)
        return None

    for _ in range(MAX_DRAWS):
        v, t = rng.uniform(-1.0, 1.0, nv), float(rng.uniform(0.1, 1.5))
        with contextlib.suppress(UkctrlError, ArithmeticError, ValueError):
            q = rng.uniform(0.2, 1.5, nq) if draw is None else draw(rng, t)
            first = allowed(q, v, t)
            second = allowed(q, v + 0.3 * rng.uniform(-1.0, 1.0, nv), t)
            if first is None or second is None:
                continue
            one, two = first / np.linalg.norm(first), second / np.linalg.norm(second)
            if np.linalg.norm(one - (one @ two) * two) > GRADIENT_TOLERANCE:
                return True
    return None


def _add_nonlinear_row(verdict: Integrability, index: int, turns: bool | None) -> Integrability:
    """Count a row that is not linear in the velocities.

    One that integrates is linear in them where it holds: its gradient does not turn.
    """
    row = verdict.rows[index]
    kind: Kind = "nonholonomic" if turns else "undecided"
    rows = list(verdict.rows)
    rows[index] = dc.replace(row, kind=kind, alone=kind)
    if not turns:
        reason = f"'{row.name}' is not linear in the velocities, and no state shows what it allows"
        return dc.replace(verdict, kind="undecided", rows=tuple(rows), reason=reason)
    whole: Kind = verdict.kind
    if verdict.kind != "undecided":
        whole = "partly" if verdict.integrable else "nonholonomic"
    return dc.replace(
        verdict,
        kind=whole,
        rank=verdict.rank + 1,
        nonholonomic=verdict.nonholonomic + 1,
        rows=tuple(rows),
        witness=verdict.witness or f"'{row.name}' is curved in the velocities",
    )


def _add_first_integrals(
    verdict: Integrability, texts: Sequence[str], coordinates: Sequence[str], seconds: float
) -> Integrability:
    """Add integrals, factors and the textbook form of the witness, where they are found in time."""
    answer: FirstIntegrals | None = first_integrals(
        texts, coordinates, [row.alone == "holonomic" for row in verdict.rows], seconds
    )
    if answer is None:
        return verdict
    rows = tuple(
        dc.replace(row, factor=factor, integral=integral)
        for row, (factor, integral) in zip(verdict.rows, answer.integrals, strict=True)
    )
    return dc.replace(verdict, rows=rows, witness=answer.witness or verdict.witness)
