"""A tuned controller as a card, whose title and source name what it was tuned for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ukctrl.simulation.result.plain_files import card_text
from ukctrl.studies.tuning.tuning_record import Tuning

_TUNED, _GAINS = re.compile(r", tuned for .*$"), re.compile(r"; gains from \d+ simulations.*$")
"""What an earlier search has written."""


def tuned_card(controller: Mapping[str, Any], tuning: Tuning, scenario: str) -> str:
    """Return the text of a card with tuned gains.

    Args:
        controller: Its table, with the tuned gains.
        tuning: How they were found.
        scenario: On which scenario.
    """
    title = _TUNED.sub("", str(controller.get("title") or tuning.entry))
    source = _GAINS.sub("", str(controller.get("source") or "ukctrl"))
    limits = f", subject to {', '.join(tuning.limits)}" if tuning.limits else ""
    plants = f" on {tuning.plants} plants ({tuning.aggregate})" if tuning.plants > 1 else ""
    spent = f"gains from {tuning.simulations} simulations of {scenario}{plants}, seed {tuning.seed}"
    return card_text(
        controller, title=f"{title}, tuned for {tuning.cost}{limits}", source=f"{source}; {spent}"
    )
