"""The page of a reproduction, in the look of a run's report, and the files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import duration, number, sentence
from ukctrl.reports import html_page
from ukctrl.reports.report_table import Kind, ReportTable, TableCell, TableColumn
from ukctrl_papers import claim_text
from ukctrl_papers.claim import Verdict
from ukctrl_papers.paper_result import VERDICTS, Outcome, Reproduction

TEMPLATES = Path(__file__).parent / "templates"


def write_reproduction(reproduction: Reproduction, folder: AnyPath) -> Path:
    """Write `report.html`, `reproduce.json` and the figures, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    images = [picture for outcome in reproduction.outcomes for picture in outcome.pictures]
    texts = {"reproduce.json": f"{reproduction.to_json()}\n", "report.html": html(reproduction)}
    return html_page.write_page("the page", Path(folder), texts, images)


def html(reproduction: Reproduction) -> str:
    """Return the page."""
    context = {
        "title": "Published numbers beside ours",
        "count": f"papers: {len(reproduction.outcomes)}",
        "level": "good" if reproduction.ok else "bad",
        "state": _state_text(reproduction),
        "headline": (
            f"{_agreement_text(*_agreement(reproduction))}. {_difference_text(reproduction)} "
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
        "meanings": ReportTable(
            [TableColumn("", "text"), TableColumn("", "meaning")],
            [
                [TableCell(verdict, claim_text.VERDICT_LEVELS[verdict]), TableCell(text)]
                for verdict, text in VERDICT_MEANINGS.items()
            ],
        ),
        "provenance": html_page.provenance_entries(reproduction.provenance),
    }
    return html_page.render("reproduce.html.j2", context, folder=TEMPLATES)


VERDICT_MEANINGS: Mapping[Verdict, str] = {
    "agrees": "The same within the rounding of the printed digits, or the computation confirms "
    "what is said.",
    "differs: misprint": "The paper means something else than it prints; the corrected form is "
    "confirmed independently.",
    "differs: underspecified": "The paper leaves out what its number depends on.",
    "differs: claim does not hold": "The computation contradicts what the paper says.",
    "not reproducible": "No computation can give it again.",
    "differs": "Not explained: a defect, here or there.",
}


def _state_text(reproduction: Reproduction) -> str:
    if reproduction.interrupted:
        return "stopped early"
    agree, count = _agreement(reproduction)
    whole = agree == count and reproduction.ok
    rest = "every difference explained" if reproduction.ok else "something is not explained"
    return _agreement_text(agree, count) + ("" if whole else f", {rest}")


def _agreement(reproduction: Reproduction) -> tuple[int, int]:
    """Return how many claims agree, and how many there are."""
    agree = sum(outcome.counts.get("agrees", 0) for outcome in reproduction.outcomes)
    return agree, sum(len(outcome.claims) for outcome in reproduction.outcomes)


def _agreement_text(agree: int, count: int) -> str:
    return f"{agree} of {count} claims agree"


def _difference_text(reproduction: Reproduction) -> str:
    """Say what became of the claims that do not agree."""
    bare = sum(
        claim.verdict == "differs" for outcome in reproduction.outcomes for claim in outcome.claims
    )
    failed = sum(len(outcome.failures) for outcome in reproduction.outcomes)
    notes = [f"Differences without an explanation: {bare}."] if bare else []
    notes += [f"Parts that failed: {failed}."] if failed else []
    notes += ["It was stopped before everything was computed."] if reproduction.interrupted else []
    return " ".join(notes) or "The reason for every difference is given."


def _overview(reproduction: Reproduction) -> ReportTable:
    """Return how many claims of each paper have which verdict."""
    counts = [
        [*(outcome.counts.get(verdict, 0) for verdict in VERDICTS), len(outcome.failures)]
        for outcome in reproduction.outcomes
    ]
    return ReportTable.from_rows(
        [TableColumn("paper", "text"), *map(TableColumn, VERDICTS), TableColumn("failed")],
        (
            [TableCell(outcome.key, anchor=outcome.key), *(str(count or "") for count in row)]
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


def claim_table(outcome: Outcome, form: claim_text.Format = number) -> ReportTable:
    """Return every printed number of a paper beside ours, with the verdict.

    Args:
        outcome: What came of the paper.
        form: Writes a number with so many significant digits.
    """
    heads = [
        TableColumn("place", "unit"),
        TableColumn("quantity", "text"),
        TableColumn("paper"),
        TableColumn("ours"),
    ]
    rows = []
    for claim in outcome.claims:
        kind: Kind = "words" if isinstance(claim.ours, str) else "number"
        rows.append(
            [
                TableCell(claim.where),
                TableCell(claim_text.quantity_text(claim), note=_note(claim.note)),
                TableCell(claim_text.printed_text(claim, form) or "–", kind=kind),
                TableCell(claim_text.computed_text(claim, form), kind=kind),
                TableCell(claim_text.difference_text(claim, form)),
                TableCell(claim.verdict, claim_text.VERDICT_LEVELS[claim.verdict]),
            ]
        )
    return ReportTable([*heads, TableColumn("off by"), TableColumn("verdict", "text")], rows)


def _note(text: str) -> str:
    """Return a note as a sentence; a symbol that begins it keeps its letters."""
    first = text.strip().split(" ")[0]
    if len(first) > 1 and first.rstrip(",;:").isalpha():
        return sentence(text)
    return text[:1] + sentence(text)[1:]
