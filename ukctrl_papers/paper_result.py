"""What came of recomputing papers, and how it is counted and kept."""

from __future__ import annotations

import dataclasses as dc
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from ukctrl.reports.html_page import PageFigure
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none, to_plain_data
from ukctrl_papers.claim import Claim, Verdict

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
CLAIM_FIELDS = (
    "where", "what", "printed", "ours", "unit", "within", "difference", "verdict", "note",
)  # fmt: skip
"""What a file says of a claim, with what follows from it."""


class Failure(NamedTuple):
    """Something that could not be computed."""

    where: str
    """What it was about, and the last place of the paper that was still reached."""
    reason: str


@dc.dataclass(kw_only=True)
class Outcome:
    """What came of one paper; it grows while claims are computed."""

    key: str
    citation: str = ""
    claims: list[Claim] = dc.field(default_factory=list)
    failures: list[Failure] = dc.field(default_factory=list)
    pictures: list[PageFigure] = dc.field(default_factory=list)
    seconds: float = 0.0
    """Time it took to compute [s]."""

    @property
    def ok(self) -> bool:
        """Return whether every claim was computed and every difference is explained."""
        return not self.failures and all(claim.verdict != "differs" for claim in self.claims)

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many claims have which verdict; verdicts that none has are left out."""
        count = Counter(claim.verdict for claim in self.claims)
        return {verdict: count[verdict] for verdict in VERDICTS if count[verdict]}

    @property
    def summary(self) -> str:
        """Return the counts in words: ``12 claims: 9 agree, 3 differ: misprint``."""
        n = len(self.claims)
        words = [f"{count} {_plural(verdict, count)}" for verdict, count in self.counts.items()]
        words += [f"{len(self.failures)} failed"] if self.failures else []
        return f"{n} claim{'' if n == 1 else 's'}: {', '.join(words) or 'nothing computed'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "key": self.key,
            "citation": self.citation,
            "ok": self.ok,
            "counts": dict(self.counts),
            "claims": [attributes_of(claim, *CLAIM_FIELDS) for claim in self.claims],
            "failures": [failure._asdict() for failure in self.failures],
            "seconds": self.seconds,
        }


@dc.dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What came of all papers that were asked for."""

    outcomes: tuple[Outcome, ...]
    interrupted: bool
    """Whether the user stopped it; what was computed until then is there."""
    provenance: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Return whether everything was computed and every difference is explained."""
        return not self.interrupted and all(outcome.ok for outcome in self.outcomes)

    @property
    def summary(self) -> str:
        """Return one line for each paper."""
        return "\n".join(f"{outcome.key}: {outcome.summary}" for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a number that JSON cannot express is None."""
        table = {
            "ok": self.ok,
            "interrupted": self.interrupted,
            "papers": [outcome.to_dict() for outcome in self.outcomes],
            "provenance": dict(self.provenance),
        }
        data: dict[str, Any] = finite_or_none(to_plain_data(table, "reproduction"))
        return data

    def to_json(self) -> str:
        """Return the plain data as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


def _plural(verdict: str, count: int) -> str:
    first, colon, tail = verdict.partition(":")
    if count > 1 and first in ("agrees", "differs"):
        first = first[:-1]
    return first + colon + tail
