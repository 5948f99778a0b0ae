"""The table of the page: a film of every scenario of the catalogue, and what it shows."""

from __future__ import annotations

from collections.abc import Callable

from ukctrl import Scenario, catalog

COLUMNS = 3
STILL = {"two-mass-spring-far": "its motor cannot do the task: it ends as it begins"}
"""Scenarios without a film, and why."""


def sheet() -> str:
    """Return all scenarios with their films."""
    names = catalog.names("scenarios")
    rows = [names[k : k + COLUMNS] for k in range(0, len(names), COLUMNS)]
    lines = [f"|{' |' * COLUMNS}", f"|{'---|' * COLUMNS}"]
    for row in rows:
        filler = [""] * (COLUMNS - len(row))
        titles = [" ".join(Scenario.load(name).title.split()).replace("|", "/") for name in row]
        films = [
            STILL.get(name, f"![{title}](figures/contact-sheet-{name}.webp)")
            for name, title in zip(row, titles, strict=True)
        ]
        words = [f"`{name}`: {title}" for name, title in zip(row, titles, strict=True)]
        lines += [f"| {' | '.join([*each, *filler])} |" for each in (films, words)]
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {"sheet": sheet}
FACTS: dict[str, Callable[[], str]] = {
    "count": lambda: str(len(catalog.names("scenarios"))),
}
