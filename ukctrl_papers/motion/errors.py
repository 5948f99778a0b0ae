"""Errors of equations of motion: what the arrays do not determine, or a form cannot take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ukctrl.core.errors import UkctrlError, quoted


class UndeterminedMotion(UkctrlError, RuntimeError):
    """Some coordinates have neither mass nor rows that would determine their acceleration."""

    def __init__(self, coordinates: Sequence[str], missing: int, advice: str) -> None:
        self.coordinates, self.missing = tuple(coordinates), missing
        noun = "combination" if missing == 1 else "combinations"
        super().__init__(
            f"no equation determines {missing} {noun} of the accelerations of "
            f"{quoted(coordinates)}: [M; A] must have full column rank. {advice}"
        )


class UnsuitableForm(UkctrlError, RuntimeError):
    """An equation of motion loses all accuracy on these matrices, which others can take."""


class DependentRows(UnsuitableForm):
    """An equation of motion needs independent rows, and some follow from the others."""

    def __init__(self, form: str, rows: Sequence[str], forms: Iterable[str]) -> None:
        self.rows = tuple(rows)
        super().__init__(
            f"form '{form}' needs independent rows, and the others imply {quoted(rows)}. "
            f"Leave out what is implied, or use a form that accepts them: {', '.join(forms)}."
        )
