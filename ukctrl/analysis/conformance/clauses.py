"""What conformance is: a list of clauses, each a sentence that a part must satisfy.

Every part that can stand in a file must be a frozen record of its settings.
"""

from __future__ import annotations

import copy
import dataclasses as dc
import pickle
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.extremes import max_abs

T = TypeVar("T")


class Broken(UkctrlError, AssertionError):
    """A clause does not hold; the message says what came instead."""


@dc.dataclass(frozen=True)
class Clause(Generic[T]):
    """One thing that every part of a kind must satisfy.

    Calling it with a part tests it, so a clause can be a parameter of one's own tests.
    """

    name: str
    """Short name, as a word of a command line."""
    sentence: str
    """What must hold."""
    test: Callable[[T], None]

    def __call__(self, part: T) -> None:
        """Test a part.

        Raises:
            Broken: It does not hold.
        """
        self.test(part)

    def __str__(self) -> str:
        """Return the name, which test runners show."""
        return self.name


class Suite(Generic[T]):
    """The clauses for one kind of part, in the order in which they were written."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._clauses: list[Clause[T]] = []

    def clause(self, test: Callable[[T], None]) -> Callable[[T], None]:
        """Add a function as a clause; its name and docstring become the clause's."""
        sentence = " ".join((test.__doc__ or "").split())
        self._clauses.append(Clause(test.__name__.strip("_"), sentence, test))
        return test

    def record(self, what: str, of: Callable[[T], Any]) -> None:
        """Add the clause that ``what`` a part is, or is tried with, is a frozen record."""
        sentence = f"{what} is a frozen record that can be compared, copied and pickled."
        self._clauses.append(Clause("record", sentence, lambda part: require_record(of(part))))

    def __iter__(self) -> Iterator[Clause[T]]:
        """Yield the clauses."""
        return iter(tuple(self._clauses))

    def __len__(self) -> int:
        """Return how many clauses there are."""
        return len(self._clauses)

    def __contains__(self, clause: object) -> bool:
        """Return whether a clause is of this suite."""
        return clause in self._clauses

    def examine(self, part: T, name: str) -> Conformance:
        """Try every clause on a part."""
        return Conformance(self.kind, name, tuple(_tried(clause, part) for clause in self))


class Finding(NamedTuple):
    """What came of one clause."""

    clause: str
    sentence: str
    ok: bool
    detail: str
    """What came instead; empty where the clause holds."""


@dc.dataclass(frozen=True)
class Conformance:
    """Whether a part does what every part of its kind must do."""

    kind: str
    name: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether every clause holds."""
        return all(finding.ok for finding in self.findings)

    def confirm(self) -> None:
        """Do nothing where every clause holds.

        Raises:
            Broken: Some do not; the message lists them.
        """
        lines = [f"{f.clause}: {f.detail}" for f in self.findings if not f.ok]
        if lines:
            raise Broken(f"{self.kind} '{self.name}' does not conform: " + " ".join(lines))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for programs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "ok": self.ok,
            "clauses": [finding._asdict() for finding in self.findings],
        }


def _tried(clause: Clause[T], part: T) -> Finding:
    detail = ""
    try:
        clause(part)
    except (Broken, InputError) as error:
        detail = str(error)
    except Exception as error:  # a fault in a user's part is a finding, not a crash
        from ukctrl.core.files.plugins import blame

        where = blame(error)
        detail = where or f"it raised {type(error).__name__}: {error}."
    return Finding(clause.name, clause.sentence, not detail, detail)


def require(holds: bool, message: str) -> None:
    """Raise `Broken` with a message unless something holds."""
    if not holds:
        raise Broken(message)


def require_array(what: str, value: object, size: int) -> None:
    """Require a finite float64 vector of a length."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        came = f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
        raise Broken(f"{what} must be an array of float64; got {came}.")
    require(value.shape == (size,), f"{what} must have shape ({size},); got {value.shape}.")
    require(bool(np.isfinite(value).all()), f"{what} must be finite; got {value.tolist()}.")


def require_equal(what: str, first: ArrayLike, second: ArrayLike) -> None:
    """Require two arrays of the same bits."""
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape or first.tobytes() != second.tobytes():
        off = (
            f"by up to {max_abs(first - second):.1e}"
            if first.shape == second.shape and first.size
            else f"in shape, {first.shape} and {second.shape}"
        )
        raise Broken(f"{what} must be the same bit for bit; they differ {off}.")


def require_close(what: str, came: ArrayLike, wanted: ArrayLike, atol: float) -> None:
    """Require arrays that agree to ``atol``, relative to the wanted one where that is large."""
    came, wanted = np.asarray(came, dtype=float), np.asarray(wanted, dtype=float)
    require(came.shape == wanted.shape, f"{what}: shapes {came.shape} and {wanted.shape} differ.")
    worst = float(np.max(np.abs(came - wanted) / (1.0 + np.abs(wanted)), initial=0.0))
    require(worst <= atol, f"{what} must agree to {atol:.0e}; they differ by {worst:.1e}.")


def field_names(part: Any) -> set[str]:
    """Return the names of the settings that a part has."""
    return {field.name for field in dc.fields(part)} if dc.is_dataclass(part) else set()


def require_record(part: Any) -> None:
    """Require a frozen dataclass that equals its copy, its pickle and its replacement.

    Raises:
        Broken: It is not.
    """
    kind = type(part).__name__
    require(dc.is_dataclass(part), f"{kind} must be a dataclass; decorate it with @spec.")
    fields = dc.fields(part)
    if fields:
        name = fields[0].name
        try:
            object.__getattribute__(part, "__class__").__setattr__(part, name, getattr(part, name))
        except (dc.FrozenInstanceError, AttributeError, TypeError):
            pass
        else:
            raise Broken(f"{kind} must be frozen; its '{name}' can be set. Decorate it with @spec.")
    require(copy.deepcopy(part) == part, f"{kind} must equal its own copy.")
    require(dc.replace(part) == part, f"{kind} must equal dataclasses.replace of itself.")
    try:
        again = pickle.loads(pickle.dumps(part))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Broken(
            f"{kind} must pickle, so that runs can be spread over processes; {error}."
        ) from error
    require(again == part, f"{kind} must equal what its pickle gives back.")
