"""Where only contacts that stick hold a robot back, which a run may let slide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ukctrl import uk
from ukctrl.analysis.check.check_result import Diagnostic
from ukctrl.core.errors import quoted
from ukctrl.mechanics.constraints.contact import MODE, SLIDING
from ukctrl.simulation.assemble import Loop

AUTHORITY_SUBJECTS = ("degree", "held", "motion", "law", "ranks", "grip", "missed", "unmoved")
"""What is said of rows that the motors do not move."""


def relax_sticking(loop: Loop, judgements: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield judgements; problems of rows that the motors move where contacts slide as warnings."""
    diagnostics = list(judgements)
    names = (
        _sticking_contacts(loop)
        if any(_is_authority_problem(diagnostic) for diagnostic in diagnostics)
        else ()
    )
    cure = (
        f"Contacts {quoted(names)} are taken to stick here; where they slide the motors move all "
        "rows. Whether they do, a run tells."
    )
    for diagnostic in diagnostics:
        yield (
            diagnostic._replace(level="warning", remedy=cure)
            if names and _is_authority_problem(diagnostic)
            else diagnostic
        )


def _is_authority_problem(judgement: Diagnostic) -> bool:
    return judgement.level == "bad" and judgement.subject in AUTHORITY_SUBJECTS


def _sticking_contacts(loop: Loop) -> tuple[str, ...]:
    """Return the contacts with friction, where the motors move all rows once these slide."""
    truth, servo, contacts = loop.plant, loop.servo, loop.plant.contacts
    if contacts is None or not contacts.mu.any():
        return ()
    modes = contacts.mode.copy()
    try:
        contacts.mode[:, MODE] = SLIDING
        truth.move(loop.t0, loop.state.q, loop.state.v)
        A = servo.write(truth.snapshot).A
        grip = truth.servo_report(A, servo.names)
        moved = grip.rank == uk.rank_report(A, servo.names, loop.scenario.rank.servo).rank
    finally:
        contacts.mode[:] = modes
        truth.move(loop.t0, loop.state.q, loop.state.v)
    return tuple(
        name for name, mu in zip(contacts.names, contacts.mu, strict=True) if mu > 0.0 and moved
    )
