"""Where only contacts that stick hold a robot back, which a run may let slide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ukctrl import uk
from ukctrl.analysis.check.findings import Judgement
from ukctrl.core.errors import quoted
from ukctrl.mechanics.constraints.contact import MODE, SLIDES
from ukctrl.simulation.loop import Loop

OF_GRIP = ("degree", "held", "motion", "law", "ranks", "grip", "missed", "unmoved")
"""What is said of rows that the motors do not move."""


def while_stuck(loop: Loop, judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """Yield judgements; problems of rows that the motors move where contacts slide as warnings."""
    said = list(judgements)
    names = _holding(loop) if any(_grave(each) for each in said) else ()
    cure = (
        f"Contacts {quoted(names)} are taken to stick here; where they slide the motors move all "
        "rows. Whether they do, a run tells."
    )
    for each in said:
        yield each._replace(level="warning", cure=cure) if names and _grave(each) else each


def _grave(judgement: Judgement) -> bool:
    return judgement.level == "bad" and judgement.subject in OF_GRIP


def _holding(loop: Loop) -> tuple[str, ...]:
    """Return the contacts with friction, where the motors move all rows once these slide."""
    truth, servo, own = loop.truth, loop.recorder.servo, loop.truth.contacts
    if own is None or not own.mu.any():
        return ()
    modes = own.state.copy()
    try:
        own.state[:, MODE] = SLIDES
        truth.move(loop.t0, loop.state.q, loop.state.v)
        A = servo.write(truth.snapshot).A
        grip = truth.servo_report(A, servo.names)
        moved = grip.rank == uk.rank_report(A, servo.names, loop.scenario.rank.servo).rank
    finally:
        own.state[:] = modes
        truth.move(loop.t0, loop.state.q, loop.state.v)
    return tuple(name for name, mu in zip(own.names, own.mu, strict=True) if mu > 0.0 and moved)
