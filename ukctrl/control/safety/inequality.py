"""What a thing to keep is: rows of a constraint, and on which side of each to stay."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator

from ukctrl.control.task import Task
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Distance, Index, NonNegative, Seconds, spec
from ukctrl.mechanics.constraints.constraint import Constraint

RelativeDegreeValue = Literal[0, 1, 2]


class InequalityRow(NamedTuple):
    r"""One quantity that stays at or above zero: $h = s\,\phi + c$; of a lower degree, with $\beta$
    or $A a - b$ instead of $\phi$.
    """

    name: str
    """What it is called within its block; empty for the only one."""
    unit: str
    """Unit of ``h``."""
    row: int
    """Row of the constraint."""
    sign: float
    offset: float
    """$c$ [unit]."""
    relative_degree: RelativeDegreeValue = 2
    """How often ``h`` is differentiated until the input appears: of ``phi`` 2, of ``beta`` 1, of
    what the input moves at once 0."""
    margin: float = 0.0
    """How far from zero to stay [unit]."""
    deceleration: float = 0.0
    """Deceleration within which it must be possible to stop before ``h`` is zero [unit/s^2]; zero:
    an exponential barrier."""


SOLE_ROWS = (
    *((f"friction_{i + 1}", "N") for i in range(4)),
    *((f"pressure_{end}", "N m") for end in ("x_low", "x_high", "y_low", "y_high")),
    *((f"twist_{i + 1}", "N m") for i in range(8)),
)
"""Rows of a flat contact with a sole beside the force along the normal, and their units."""


class FrictionCone(NamedTuple):
    """What is kept of the forces of one contact."""

    contact: str
    mu: float
    faces: int
    has_sole: bool
    """Whether it has a sole."""
    min_normal_force: float
    """Least force along the normal [N]."""
    margin: float

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of every row."""
        faces = tuple((f"friction_{i + 1}", "N") for i in range(self.faces))
        friction_rows = SOLE_ROWS if self.has_sole else faces
        return tuple(
            (f"{self.contact}.{name}", unit) for name, unit in (("normal", "N"), *friction_rows)
        )


class BoundInequality(NamedTuple):
    """What one table of a file keeps."""

    block: str
    """What its rows are called together."""
    constraint: Constraint
    """What writes the rows of which ``h`` is made."""
    sides: tuple[InequalityRow, ...]
    input_rates: Mapping[str, float] = {}
    """Fastest changes of inputs, by motor [N m/s or N/s]."""
    cones: tuple[FrictionCone, ...] = ()
    """Or of what forces."""


def _check_name(name: str) -> str:
    if "." in name:
        raise InputError(f"must be without dots, which part a block from its rows; got '{name}'.")
    return name


@spec
class Inequality(abc.ABC):
    r"""Something that stays at or above zero, as a user writes it.

    With the pole $p = 1/\tau$ an exponential barrier asks for $\ddot h + 2 p \dot h + p^2 h \ge 0$,
    and of a quantity whose first derivative the inputs change for $\dot h + p h \ge 0$.
    """

    name: Annotated[str, AfterValidator(_check_name)] = ""
    """Name of the block; absent: what it is about."""
    decay: Seconds = 0.1
    r"""Time $\tau$ in which a distance to the limit shrinks to a third at the fastest [s]; with a
    hold at least the control period."""
    margin: NonNegative = 0.0
    """How far from the limit to stay [unit of ``h``]."""
    order: Index | None = None
    """Which gives way where not all can be kept: the highest first; absent: its place in the
    file."""
    gives_way: bool = True
    """Whether it may; where one that may not would have to, the run ends."""

    def doubts(self, task: Task) -> Iterable[str]:
        """Return what is worth knowing before a run of what can be kept, and for `check` to say."""
        return ()

    @abc.abstractmethod
    def keeps(self, task: Task) -> BoundInequality:
        """Return what is kept, of the believed robot.

        Raises:
            InputError: It does not fit the robot.
        """


@spec
class LengthInequality(Inequality):
    """Something of which what is left is a length."""

    margin: Distance = 0.0
    """How far from the limit to stay [m]."""


def single_row(
    block: str, constraint: Constraint, margin: float, sign: float = 1.0, unit: str = "m"
) -> BoundInequality:
    """Return what keeps the only row of a constraint above zero, or below."""
    return BoundInequality(
        block, constraint, (InequalityRow("", unit, 0, sign, 0.0, margin=margin),)
    )
