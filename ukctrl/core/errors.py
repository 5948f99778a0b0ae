"""Every error that ukctrl raises on purpose.

A message says what must hold, what came, and what to do. Programs read the attributes,
people read the message.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class UkctrlError(Exception):
    """Base class: ``except UkctrlError`` catches all that ukctrl raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Come from another process as it was, whatever its constructor asks for."""
        return UkctrlError.__new__, (type(self), *self.args), self.__dict__


class PartWarning(UserWarning):
    """A part of another distribution is left out, because it cannot be used."""


class InputError(UkctrlError, ValueError):
    """A file, an option or an argument that a user wrote is not acceptable."""


class UnknownName(InputError):
    """A name does not exist where it was looked up."""


class ArgumentError(InputError, TypeError):
    """An argument is of a type that the function does not take."""


class ExpressionError(InputError):
    """A formula in text is outside the language or cannot be differentiated."""


class ModelError(InputError):
    """A robot model cannot be read, or lacks what the dynamics need."""


class ShapeError(UkctrlError, ValueError):
    """An array does not have the shape its neighbours imply."""


class GainError(UkctrlError, ValueError):
    """A gain is outside the range its control law allows."""


class StartError(InputError):
    """The start state does not satisfy the constraints it must satisfy."""


class SingularMass(UkctrlError, RuntimeError):
    """The mass matrix is not positive definite."""


class NotFinite(UkctrlError, ArithmeticError):
    """A number that the motion goes on from is not finite."""


class MachineFailure(UkctrlError, RuntimeError):
    """What computes has failed, and not what it computes: a process was killed, memory was full."""


MAX_MISS = 1e9
"""A larger miss of an acceleration [m/s^2, rad/s^2] is no number to act on."""


class ConflictingConstraints(UkctrlError, RuntimeError):
    """Passive rows contradict each other: no acceleration satisfies them all."""

    def __init__(self, rows: Sequence[str], miss: Sequence[float]) -> None:
        self.rows, self.miss = tuple(rows), tuple(miss)
        super().__init__(
            f"passive rows {quoted(rows)} contradict the others{_worst(miss)}; "
            "no acceleration satisfies them all. Remove or correct one of them."
        )


class InfeasibleConstraint(UkctrlError, RuntimeError):
    """The actuators cannot produce the acceleration that a servo constraint asks for."""

    CLOSEST = 'accept the closest motion with on_infeasible = "least_squares"'
    ADVICE = f"Drop those rows, add an actuator, or {CLOSEST}."
    SINGULAR = (
        "No motor is to blame: no motion changes these rows independently of the others here. The "
        "robot is in a singular position, or two rows ask for different things. Lead the path "
        f"around it, drop a row, or {CLOSEST}."
    )

    def __init__(
        self,
        rows: Sequence[str],
        miss: Sequence[float],
        rank: int,
        count: int,
        advice: str | None = None,
    ) -> None:
        self.rows, self.miss, self.rank, self.count = tuple(rows), tuple(miss), rank, count
        self.advice = advice
        size = f"rank {rank} of {count} rows"
        super().__init__(
            f"servo rows {quoted(rows)} are out of the actuators' reach{_worst(miss, size)}. "
            f"{advice or self.ADVICE}"
        )


def _worst(miss: Sequence[float], *more: str) -> str:
    """Return the worst miss in brackets; without it where the motion has grown beyond numbers."""
    worst = [f"worst miss {max(miss):.1e}"] if all(abs(m) < MAX_MISS for m in miss) else []
    return f" ({'; '.join([*worst, *more])})" if worst or more else ""


def quoted(names: Iterable[str]) -> str:
    """Return ``'a', 'b'`` for the names."""
    return ", ".join(f"'{name}'" for name in names)


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` when a known name is close, or two alike, else nothing."""
    close = difflib.get_close_matches(str(name), list(candidates), n=3, cutoff=0.6)
    ratios = [difflib.SequenceMatcher(None, one, str(name)).ratio() for one in close]
    near = sorted(one for one, ratio in zip(close, ratios, strict=True) if ratio == ratios[0])
    numbered = any(map(str.isdigit, "".join(near)))
    near = near if len(near) == 2 and not numbered else close[:1]  # of joint1 to joint7 one
    return f"; did you mean {' or '.join(quoted([one]) for one in near)}?" if close else "."


def unknown_name(noun: str, name: str, candidates: Iterable[str], limit: int = 12) -> UnknownName:
    """Build the error for a name that does not exist, with the near miss and the valid names.

    Args:
        noun: What was looked up, such as ``"frame"``.
        name: The name that came.
        candidates: The names that exist.
        limit: How many of them the message lists at most.
    """
    names = sorted(candidates)
    shown = ", ".join(names[:limit]) or "none"
    ending = ", ..." if len(names) > limit else "."
    return UnknownName(
        f"no {noun} named '{name}'{did_you_mean(name, names)} Known: {shown}{ending}"
    )
