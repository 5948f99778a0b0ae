"""What a stopped search leaves behind, so that the same search can go on from it."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from ukctrl.batch import Crew
from ukctrl.errors import InputError
from ukctrl.scenario import Scenario
from ukctrl.storage import finite_or_none, write_atomically
from ukctrl.tuning.record import Trial, Tuning
from ukctrl.tuning.search import Budget, tune

FILE = "trials.json"


class Kept(NamedTuple):
    """The trials of one controller, and what they are worth anything for."""

    digest: str
    """Of scenario, controller, cost and version: for others the costs would be others."""
    trials: tuple[Trial, ...]


class TuningStopped(KeyboardInterrupt):
    """The user has stopped a comparison before there was anything to compare, but not to keep."""

    def __init__(self, kept: Mapping[str, Kept], wanted: int) -> None:
        super().__init__("stopped by the user while tuning")
        self.kept = kept
        """What was tried, by the names of the controllers."""
        self.wanted = wanted
        """How many simulations were asked for."""


def kept_of(
    scenarios: Mapping[str, Scenario],
    tunings: Mapping[str, Tuning],
    cost: str,
    known: Mapping[str, Kept],
) -> dict[str, Kept]:
    """Return all that is known now: the trials of a search, and earlier ones that agree with it.

    Args:
        scenarios: What was tuned, by name.
        tunings: What was found, by name.
        cost: What was to be made small.
        known: Trials of an earlier search.
    """
    found: dict[str, Kept] = {}
    for name, scenario in scenarios.items():
        digest = _digest(scenario, cost)
        before = known.get(name, Kept(digest, ()))
        old = before.trials if before.digest == digest else ()
        new = tunings[name].trials if name in tunings else ()
        card = next((trial for trial in new if trial.stage == "card"), None)
        if card is None:  # without it nothing tells whether old and new go together
            new = old or new
        elif _agrees(old, card):
            tried = {tuple(sorted(trial.gains.items())) for trial in new}
            more = [trial for trial in old if tuple(sorted(trial.gains.items())) not in tried]
            new = (*new, *more)
        if new:
            found[name] = Kept(digest, new)
    return found


def believed(
    scenarios: Mapping[str, Scenario],
    budget: Budget,
    known: Mapping[str, Kept],
    crew: Crew,
) -> dict[str, tuple[Trial, ...]]:
    """Return those of the known trials that this search would find again.

    They must be of the same scenario, controller, cost and version. And since the files that
    these name may have changed, the card is run anew, and must cost what it did, to the last digit.

    Raises:
        KeyboardInterrupt: The user has stopped it.
    """
    same = {
        name: known[name].trials
        for name, scenario in scenarios.items()
        if name in known and known[name].digest == _digest(scenario, budget.cost)
    }
    if not same:
        return {}
    cards = tune(scenarios, dc.replace(budget, simulations=1), crew=crew)
    if len(cards) < len(scenarios):
        raise KeyboardInterrupt
    return {
        name: (found.trials[0], *(same[name] if _agrees(same.get(name, ()), found.best) else ()))
        for name, found in cards.items()
    }


def write_kept(folder: Path, kept: Mapping[str, Kept]) -> Path:
    """Write the trials to `trials.json` in a folder, which is made when it does not exist.

    Raises:
        InputError: The folder cannot be written to.
    """
    data = {
        name: {
            "digest": entry.digest,
            "trials": [{**trial._asdict(), "gains": dict(trial.gains)} for trial in entry.trials],
        }
        for name, entry in kept.items()
    }
    text = json.dumps(finite_or_none(data), indent=2, allow_nan=False, ensure_ascii=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / FILE, f"{text}\n".encode())
    except OSError as error:
        raise InputError(f"cannot write the trials to '{folder}': {error}.") from error
    return folder / FILE


def read_kept(folder: Path) -> dict[str, Kept]:
    """Read the `trials.json` of a folder; nothing where there is none, or none that can be read."""
    try:
        data = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return {
            str(name): Kept(str(entry["digest"]), Tuning.trials_from(entry))
            for name, entry in data.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # they only save time


def forget_kept(folder: Path) -> None:
    """Remove the `trials.json` of a folder, once the search has come to its end.

    Raises:
        InputError: The folder cannot be written to.
    """
    try:
        (folder / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot remove '{folder / FILE}': {error}.") from error


def _digest(scenario: Scenario, cost: str) -> str:
    told = [version("ukctrl"), cost.strip(), scenario.to_table()]
    text = json.dumps(told, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _agrees(trials: tuple[Trial, ...], card: Trial) -> bool:
    """Tell whether the card was tried among these, with the same outcome."""
    return any(trial.gains == card.gains and trial.rank == card.rank for trial in trials)
