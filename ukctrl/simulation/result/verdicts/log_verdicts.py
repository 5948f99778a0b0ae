"""Verdicts on a run beside the log of a real robot: how far apart they are."""

from __future__ import annotations

from collections.abc import Iterator

from ukctrl.core.number_text import number, si
from ukctrl.core.tie_breaking import first_largest
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result.logged_channels import log_differences
from ukctrl.simulation.result.run_record import RunRecord

PLAYED = {
    "references": "the controller followed the logged motion of",
    "inputs": "the robot was left to the logged inputs of",
    "task": "the task went on from the first state of",
}
WORDS = {"q": "position", "v": "velocity", "u": "input"}


def log_verdicts(result: RunRecord) -> Iterator[Verdict]:
    """Yield where a run is furthest from its log, and what is worth knowing of the log."""
    facts = result.provenance.get("log")
    if not facts or not len(result.samples):
        return
    differences, clauses = log_differences(result.samples), []
    # units apart: a radian is not less than a metre
    for key in dict.fromkeys((one.quantity, one.unit) for one in differences):
        alike = [one for one in differences if (one.quantity, one.unit) == key]
        worst = alike[first_largest([one.rms for one in alike])]
        clauses.append(f"{WORDS[key[0]]} of '{worst.name}' {si(worst.rms, worst.unit)}")
    start, end = (number(float(result.time[k]), 4) for k in (0, -1))
    text = (
        f"From t = {start} to {end} s {PLAYED[facts['play']]} {facts['source']}. Largest "
        f"difference from the log, rms: {', '.join(clauses) or 'nothing is in both'}."
    )
    yield Verdict("note", "log", text)
    for note in facts["notes"]:
        yield Verdict("note", "log", note)
