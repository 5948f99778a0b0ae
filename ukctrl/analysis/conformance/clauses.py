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
from ukctrl.core.tie_breaking import max_abs

T = TypeVar("T")


class ClauseViolation(UkctrlError, AssertionError):
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

    def __call__(self, component: T) -> None:
        """Test a part.

        Raises:
            ClauseViolation: It does not hold.
        """
        self.test(component)

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

    def record(self, label: str, of: Callable[[T], Any]) -> None:
        """Add the clause that ``label`` a part is, or is tried with, is a frozen record."""
        sentence = f"{label} is a frozen record that can be compared, copied and pickled."
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

    def examine(self, component: T, name: str) -> Conformance:
        """Try every clause on a part."""
        return Conformance(
            self.kind, name, tuple(_test_clause(clause, component) for clause in self)
        )


class ClauseResult(NamedTuple):
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
    findings: tuple[ClauseResult, ...]

    @property
    def ok(self) -> bool:
        """Whether every clause holds."""
        return all(finding.ok for finding in self.findings)

    def confirm(self) -> None:
        """Do nothing where every clause holds.

        Raises:
            ClauseViolation: Some do not; the message lists them.
        """
        lines = [f"{f.clause}: {f.detail}" for f in self.findings if not f.ok]
        if lines:
            raise ClauseViolation(f"{self.kind} '{self.name}' does not conform: " + " ".join(lines))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for programs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "ok": self.ok,
            "clauses": [finding._asdict() for finding in self.findings],
        }


def _test_clause(clause: Clause[T], component: T) -> ClauseResult:
    detail = ""
    try:
        clause(component)
    except (ClauseViolation, InputError) as error:
        detail = str(error)
    except Exception as error:  # a fault in a user's part is a finding, not a crash
        from ukctrl.core.files.plugins import plugin_fault

        where = plugin_fault(error)
        detail = where or f"it raised {type(error).__name__}: {error}."
    return ClauseResult(clause.name, clause.sentence, not detail, detail)


def require(holds: bool, message: str) -> None:
    """Raise `ClauseViolation` with a message unless something holds."""
    if not holds:
        raise ClauseViolation(message)


def require_array(label: str, value: object, size: int) -> None:
    """Require a finite float64 vector of a length."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        came = f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
        raise ClauseViolation(f"{label} must be an array of float64; got {came}.")
    require(value.shape == (size,), f"{label} must have shape ({size},); got {value.shape}.")
    require(bool(np.isfinite(value).all()), f"{label} must be finite; got {value.tolist()}.")


def require_equal(label: str, first: ArrayLike, second: ArrayLike) -> None:
    """Require two arrays of the same bits."""
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape or first.tobytes() != second.tobytes():
        off = (
            f"by up to {max_abs(first - second):.1e}"
            if first.shape == second.shape and first.size
            else f"in shape, {first.shape} and {second.shape}"
        )
        raise ClauseViolation(f"{label} must be the same bit for bit; they differ {off}.")


def require_close(label: str, came: ArrayLike, reference: ArrayLike, atol: float) -> None:
    """Require arrays that agree to ``atol``, relative to the wanted one where that is large."""
    came, reference = np.asarray(came, dtype=float), np.asarray(reference, dtype=float)
    require(
        came.shape == reference.shape, f"{label}: shapes {came.shape} and {reference.shape} differ."
    )
    worst = float(np.max(np.abs(came - reference) / (1.0 + np.abs(reference)), initial=0.0))
    require(worst <= atol, f"{label} must agree to {atol:.0e}; they differ by {worst:.1e}.")


def field_names(component: Any) -> set[str]:
    """Return the names of the settings that a part has."""
    return {field.name for field in dc.fields(component)} if dc.is_dataclass(component) else set()


def require_record(component: Any) -> None:
    """Require a frozen dataclass that equals its copy, its pickle and its replacement.

    Raises:
        ClauseViolation: It is not.
    """
    kind = type(component).__name__
    require(dc.is_dataclass(component), f"{kind} must be a dataclass; decorate it with @spec.")
    fields = dc.fields(component)
    if fields:
        name = fields[0].name
        try:
            object.__getattribute__(component, "__class__").__setattr__(
                component, name, getattr(component, name)
            )
        except (dc.FrozenInstanceError, AttributeError, TypeError):
            pass
        else:
            raise ClauseViolation(
                f"{kind} must be frozen; its '{name}' can be set. Decorate it with @spec."
            )
    require(copy.deepcopy(component) == component, f"{kind} must equal its own copy.")
    require(dc.replace(component) == component, f"{kind} must equal dataclasses.replace of itself.")
    try:
        again = pickle.loads(pickle.dumps(component))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ClauseViolation(
            f"{kind} must pickle, so that runs can be spread over processes; {error}."
        ) from error
    require(again == component, f"{kind} must equal what its pickle gives back.")
