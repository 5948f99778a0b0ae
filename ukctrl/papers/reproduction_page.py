"""The page of a reproduction, in the look of a run's report, and the files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import duration, number, sentence
from ukctrl.papers import digits
from ukctrl.papers.claim import Verdict
from ukctrl.papers.outcome import VERDICTS, Outcome, Reproduction
from ukctrl.reports import web_page
from ukctrl.reports.table import Cell, Column, Kind, Table


def write_reproduction(reproduction: Reproduction, folder: AnyPath) -> Path:
    """Write `report.html`, `reproduce.json` and the figures, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    images = [picture for outcome in reproduction.outcomes for picture in outcome.pictures]
    texts = {"reproduce.json": f"{reproduction.to_json()}\n", "report.html": html(reproduction)}
    return web_page.write_page("the page", Path(folder), texts, images)


def html(reproduction: Reproduction) -> str:
    """Return the page."""
    claims = [claim for outcome in reproduction.outcomes for claim in outcome.claims]
    agree = sum(claim.verdict == "agrees" for claim in claims)
    context = {
        "title": "Published numbers beside ours",
        "count": f"papers: {len(reproduction.outcomes)}",
        "level": "good" if reproduction.ok else "bad",
        "state": _state(reproduction),
        "headline": (
            f"{agree} of {len(claims)} claims agree. {_rest(reproduction)} "
            "Every number of ours was computed for this page."
        ),
        "contents": [
            ("overview", "Overview"),
            *((outcome.key, outcome.key) for outcome in reproduction.outcomes),
            ("verdicts", "What the verdicts mean"),
            ("provenance", "Provenance"),
        ],
        "overview": _overview(reproduction),
        "papers": [_paper(outcome) for outcome in reproduction.outcomes],
        "meanings": Table(
            [Column("", "text"), Column("", "meaning")],
            [
                [Cell(verdict, digits.LEVELS[verdict]), Cell(text)]
                for verdict, text in MEANINGS.items()
            ],
        ),
        "provenance": web_page.provenance_entries(reproduction.provenance),
    }
    return web_page.render("reproduce.html.j2", context)


MEANINGS: Mapping[Verdict, str] = {
    "agrees": "The same within the rounding of the printed digits, or the computation confirms "
    "what is said.",
    "differs: misprint": "The paper means something else than it prints; the corrected form is "
    "confirmed independently.",
    "differs: underspecified": "The paper leaves out what its number depends on.",
    "differs: claim does not hold": "The computation contradicts what the paper says.",
    "not reproducible": "No computation can give it again.",
    "differs": "Not explained: a defect, here or there.",
}


def _state(reproduction: Reproduction) -> str:
    if reproduction.interrupted:
        return "stopped early"
    return "every difference explained" if reproduction.ok else "something is not explained"


def _rest(reproduction: Reproduction) -> str:
    """Say what became of the claims that do not agree."""
    bare = sum(
        claim.verdict == "differs" for outcome in reproduction.outcomes for claim in outcome.claims
    )
    failed = sum(len(outcome.failures) for outcome in reproduction.outcomes)
    said = [f"Differences without an explanation: {bare}."] if bare else []
    said += [f"Parts that failed: {failed}."] if failed else []
    said += ["It was stopped before everything was computed."] if reproduction.interrupted else []
    return " ".join(said) or "The reason for every difference is given."


def _overview(reproduction: Reproduction) -> Table:
    """Return how many claims of each paper have which verdict."""
    counts = [
        [*(outcome.counts.get(verdict, 0) for verdict in VERDICTS), len(outcome.failures)]
        for outcome in reproduction.outcomes
    ]
    return Table.of(
        [Column("paper", "text"), *map(Column, VERDICTS), Column("failed")],
        (
            [Cell(outcome.key, anchor=outcome.key), *(str(count or "") for count in row)]
            for outcome, row in zip(reproduction.outcomes, counts, strict=True)
        ),
    )


def _paper(outcome: Outcome) -> dict[str, object]:
    return {
        "key": outcome.key,
        "citation": outcome.citation or "This paper's claims could not be loaded.",
        "summary": f"{sentence(outcome.summary)} Computed in {duration(outcome.seconds)}.",
        "claims": claim_table(outcome) if outcome.claims else None,
        "failures": outcome.failures,
        "figures": outcome.pictures,
    }


def claim_table(outcome: Outcome, form: digits.Format = number) -> Table:
    """Return every printed number of a paper beside ours, with the verdict.

    Args:
        outcome: What came of the paper.
        form: Writes a number with so many significant digits.
    """
    heads = [Column("place", "unit"), Column("quantity", "text"), Column("paper"), Column("ours")]
    rows = []
    for claim in outcome.claims:
        kind: Kind = "words" if isinstance(claim.ours, str) else "number"
        rows.append(
            [
                Cell(claim.where),
                Cell(digits.quantity(claim), aside=_note(claim.note)),
                Cell(digits.printed(claim, form) or "–", kind=kind),
                Cell(digits.ours(claim, form), kind=kind),
                Cell(digits.difference(claim, form)),
                Cell(claim.verdict, digits.LEVELS[claim.verdict]),
            ]
        )
    return Table([*heads, Column("off by"), Column("verdict", "text")], rows)


def _note(text: str) -> str:
    """Return a note as a sentence; a symbol that begins it keeps its letters."""
    first = text.strip().split(" ")[0]
    if len(first) > 1 and first.rstrip(",;:").isalpha():
        return sentence(text)
    return text[:1] + sentence(text)[1:]
