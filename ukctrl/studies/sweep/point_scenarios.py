"""From the values of a sample to its scenario, gains worked out where terms are among them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from ukctrl.analysis.linear.design import designed
from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS, ErrorSpec
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep.sampling_plan import SEED_PATH, cards_first


@final
class PointScenarios:
    """Scenarios of one study, by what is changed in its base.

    A term, such as ``bandwidth``, is no value of the scenario: the gains of the point's controller
    follow from it, with everything else of the point as it is but the seed, which stays that of the
    base. So all repeats of a point have the same gains.

    Args:
        base: What all samples share.
        base_file: File that names among the values are relative to.
        trust: Whether Python code that the values name may run.
    """

    def __init__(self, base: Scenario, base_file: Path | None = None, trust: bool = False) -> None:
        self._base, self._base_file, self._trust = base, base_file, trust
        self._gains: dict[str, Mapping[str, Any]] = {}

    def scenario(self, changes: Mapping[str, object]) -> Scenario:
        """Return the scenario with these changes.

        Raises:
            InputError: They do not go together, or the controller has no such gains.
        """
        return self._with_changes(self.values(changes))

    def values(self, changes: Mapping[str, object]) -> dict[str, object]:
        """Return the changes as ``--set`` takes them: gains in place of terms.

        Raises:
            InputError: As for `scenario`.
        """
        terms, plain = split_terms(changes)
        if not terms:
            return plain
        fixed = {path: value for path, value in plain.items() if path != SEED_PATH}
        key = json.dumps([terms, fixed], sort_keys=True, default=str)
        if key not in self._gains:
            self._gains[key] = designed(self._with_changes(fixed), ErrorSpec(**terms)).gains
        return cards_first({**self._gains[key], **plain})

    def check_values(self, changes: Mapping[str, object]) -> Scenario:
        """Return the scenario with the gains of its card, after a look at the terms.

        Raises:
            InputError: A value does not fit; whether a controller has such gains nobody asks.
        """
        terms, plain = split_terms(changes)
        if terms:
            ErrorSpec(**terms)
        return self._with_changes(plain)

    def _with_changes(self, changes: Mapping[str, object]) -> Scenario:
        return self._base.replace(cards_first(changes), beside=self._base_file, trust=self._trust)


def split_terms(changes: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, object]]:
    """Return the terms among changes, and the others."""
    terms = {path: value for path, value in changes.items() if path in ERROR_SPEC_FIELDS}
    return terms, {path: value for path, value in changes.items() if path not in ERROR_SPEC_FIELDS}
