"""Recompute papers claim by claim, keeping what there is when something fails or is stopped."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.errors import UkctrlError
from ukctrl.reports import html_page
from ukctrl_papers.claim import ClaimGenerator, Paper
from ukctrl_papers.paper_result import Failure, Outcome, Reproduction
from ukctrl_papers.registry import check_key, load, papers

MessageCallback = Callable[[str], None]
"""Called with what is being computed."""


def recompute(
    keys: Sequence[str] = (), *, progress: MessageCallback = lambda words: None
) -> Reproduction:
    """Recompute papers and compare their numbers with ours.

    A claim that raises is reported and ends its part of the paper only; Ctrl-C ends everything,
    and what was computed until then is returned.

    Args:
        keys: Which papers; none means all.
        progress: Told what is being computed, after each claim.

    Raises:
        UnknownName: A paper does not exist.
    """
    chosen = [check_key(key) for key in keys] or papers()
    outcomes: list[Outcome] = []
    interrupted = False
    try:
        with one_blas_thread():  # inside, where an interrupt of its imports is caught
            for key in chosen:
                outcomes.append(Outcome(key=key))
                _compute_paper(outcomes[-1], progress)
    except KeyboardInterrupt:
        interrupted = True
    from ukctrl.simulation.provenance import (
        software_versions,  # slow, and of no use to a misspelt name
    )

    return Reproduction(
        outcomes=tuple(outcomes), interrupted=interrupted, provenance=software_versions()
    )


def _compute_paper(outcome: Outcome, progress: MessageCallback) -> None:
    began = time.perf_counter()
    try:
        progress(outcome.key)
        try:
            paper = load(outcome.key)
        except Exception as error:  # whatever a paper's module does, the other papers are computed
            # pydantic makes an error of its own of Ctrl-C while it builds a class
            if "KeyboardInterrupt" in "".join(traceback.format_exception(error)):
                raise KeyboardInterrupt from error
            outcome.failures.append(Failure("the claims themselves", _reason(error)))
            return
        outcome.citation = paper.citation
        for generator in paper.claims:
            _compute_claims(outcome, generator, progress)
        _draw_figures(outcome, paper, progress)
    finally:
        outcome.seconds = time.perf_counter() - began


def _compute_claims(outcome: Outcome, generator: ClaimGenerator, progress: MessageCallback) -> None:
    reached = ""
    try:
        for claim in generator():
            # Told first, which ends it after Ctrl-C: a run cut short gives a wrong number.
            progress(f"{outcome.key}: {claim.where}, {claim.what}")
            _ = claim.verdict, claim.difference  # a value that cannot be compared fails here
            outcome.claims.append(claim)
            reached = f", after {claim.where} ({claim.what})"
    except Exception as error:
        outcome.failures.append(Failure(f"{_claims_title(generator)}{reached}", _reason(error)))


def _draw_figures(outcome: Outcome, paper: Paper, progress: MessageCallback) -> None:
    try:
        for drawing in paper.figures() if paper.figures else ():
            progress(f"{outcome.key}: {drawing.title}")
            name = f"{outcome.key}-{drawing.name}"
            try:
                image = html_page.page_figure(name, drawing.title, drawing.caption, drawing.draw)
            except Exception as error:
                outcome.failures.append(Failure(drawing.title, _reason(error)))
            else:
                outcome.pictures.append(image)
    except Exception as error:
        outcome.failures.append(Failure("the figures", _reason(error)))


def _claims_title(generator: ClaimGenerator) -> str:
    """Return what a part says that it computes."""
    words = (getattr(generator, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")
    return words or getattr(generator, "__name__", "claims").replace("_", " ")


def _reason(error: Exception) -> str:
    """Return what went wrong, and where unless the message is meant for people."""
    message = " ".join(str(error).split())
    if isinstance(error, UkctrlError):
        return message
    *_, last = traceback.extract_tb(error.__traceback__)
    location = f"{Path(last.filename).name}, line {last.lineno}"
    return f"{type(error).__name__}: {message}".rstrip(": ").rstrip(".") + f" ({location})."
